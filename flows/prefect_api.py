"""Prefect's API: found, or started for as long as it is needed; and the schedule."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import available_timezones

from flows.night import NightError
from tasks.objects import redacted
from urlr.ids import shown

if TYPE_CHECKING:
    from tasks.settings import Settings

Say = Callable[[str], None]
T = TypeVar("T")
Progress = Callable[[str, float], None]

_PATIENCE = 180.0
"""Seconds that Prefect's server may take to start; 10 to 25 were seen."""


@contextmanager
def with_prefect(progress: Progress) -> Iterator[None]:
    """Prefect's API at PREFECT_API_URL, or one of our own that ends with the block."""
    from flows.nightly_command import quiet_environment

    quiet_environment()
    address = os.environ.get("PREFECT_API_URL")
    what = (
        f"asking Prefect at {shown(redacted(address))}"
        if address
        else "starting Prefect, some 15 s"
    )
    with _told_while_waiting(progress, what):
        check_api(address)
    yield


def check_api(address: str | None) -> None:
    """Raise if Prefect's API gives no answer, or not to us; our own is started by asking."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import PrefectHTTPStatusError

    failure: Exception | None
    try:
        with get_client(sync_client=True) as client:
            failure = client.api_healthcheck()
            if failure is None:
                client.api_version()  # of its health it tells anybody
    except (RuntimeError, PrefectHTTPStatusError) as error:
        failure = error
    if failure is None:
        return
    where = f"Prefect's API at {shown(redacted(address))}" if address else "Prefect's own API"
    if isinstance(failure, PrefectHTTPStatusError) and failure.response.status_code in (401, 403):
        raise NightError(f"{where} refuses us; check PREFECT_API_AUTH_STRING or PREFECT_API_KEY.")
    why = shown(redacted(str(failure)), 200)
    raise NightError(
        f"{where} gives no answer ({why}); check PREFECT_API_URL, or unset it to have one "
        "started for the night."
    )


def outcome_of(state: Any, kind: type[T]) -> T:
    """What a flow ended with; raises what ended it without that."""
    data = getattr(state.data, "result", state.data)
    if isinstance(data, kind):
        return data
    if isinstance(data, BaseException):
        raise data
    raise NightError(f"the flow ended as {state.name} without a result: {state.message}")


def serve_nightly(settings: Settings, *, cron: str, timezone: str, say: Say) -> None:
    """Run the nightly flow on a schedule until interrupted."""
    from flows.nightly_command import quiet_environment

    quiet_environment()
    os.environ["URLR_STORE"] = settings.store
    with _own_address() as own:
        schedule = _schedule(cron, timezone)
        _serve(schedule, settings, own, f"`{cron}` ({timezone})", say)


def _serve(schedule: Any, settings: Settings, own: str | None, when: str, say: Say) -> None:
    with _server(own, say):
        check_api(os.environ["PREFECT_API_URL"])
        from prefect.client.schemas.objects import (
            ConcurrencyLimitConfig,
            ConcurrencyLimitStrategy,
        )

        from flows.nightly import nightly

        # Prefect's own way to end on SIGTERM.
        warnings.filterwarnings("ignore", message="coroutine 'Runner.astop' was never awaited")
        say(f"Nightly at {when} on {settings.store}; stop with Ctrl-C.")
        nightly.serve(
            name="served",  # not `nightly`, which deploy/prefect.yaml keeps
            schedule=schedule,
            parameters={"store": settings.store},
            limit=1,
            # Where others serve it too: a night that comes while another is at work adds nothing.
            global_limit=ConcurrencyLimitConfig(
                limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
            ),
            print_starting_message=False,
            pause_on_shutdown=False,
        )


def _schedule(cron: str, timezone: str) -> Any:
    """Prefect's schedule; it would itself complain of a time zone only once it is at work."""
    if timezone not in available_timezones():
        raise NightError(
            f"--timezone {shown(timezone)} is no time zone; name one such as Europe/Berlin or UTC."
        )
    from prefect.schedules import Cron

    try:
        return Cron(cron, timezone=timezone, slug="every-night")
    except ValueError as error:
        raise NightError(
            f'--cron {shown(cron)}: {shown(error)}; give five fields such as "0 3 * * *".'
        ) from None


@contextmanager
def _own_address() -> Iterator[str | None]:
    """Where a Prefect server is to be started on this machine; None if one is named.

    The environment has it before Prefect is imported, which looks for it only then: a server that
    it started beside ours would not know of the places under limits that ours gave away.
    """
    if os.environ.get("PREFECT_API_URL"):
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    os.environ["PREFECT_API_URL"] = f"{address}/api"
    try:
        yield address
    finally:
        os.environ.pop("PREFECT_API_URL", None)


@contextmanager
def _server(address: str | None, say: Say) -> Iterator[None]:
    """A Prefect server at this address, unless one is named: only a server keeps a schedule."""
    if address is None:
        yield
        return
    say("Starting a Prefect server, some 20 s.")
    program = shutil.which("prefect", path=str(Path(sys.executable).parent)) or "prefect"
    server = subprocess.Popen(
        [program, "server", "start", "--host", "127.0.0.1", "--port", address.rpartition(":")[2]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PREFECT_SERVER_UI_API_URL": f"{address}/api"},
    )
    try:
        _wait_for(f"{address}/api/health", server)
        say(f"Prefect's pages: {address}")
        yield
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            if server.poll() is not None or time.monotonic() > end:
                raise NightError(
                    "the Prefect server did not start; try `prefect server start` by hand, and "
                    "set PREFECT_API_URL."
                ) from None
        time.sleep(0.3)


@contextmanager
def _told_while_waiting(progress: Progress, what: str) -> Iterator[None]:
    """Keep saying what is waited for while the block runs."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(0.2):
            progress(what, 0.0)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
