"""Nights on a schedule, in this process, until it is told to end."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from flows.ending import done_apart
from flows.messages import message
from flows.night import NightError
from flows.prefect_api import check_api, check_home
from flows.tied import GRACE, Tie
from tasks.scratch import scratch_directory

if TYPE_CHECKING:
    from tasks.settings import Settings

Say = Callable[[str], None]

_PATIENCE = 180.0
"""Seconds that Prefect's server may take to start; 10 to 25 were seen."""
LOADING = 60.0
"""Seconds to wait for modules being imported when told to end; some 3 were seen."""
_STOPPING = 90.0
"""Seconds that a night at work has to end; Prefect kills it after 30."""
_TICK = 0.2


def serve_nightly(settings: Settings, *, cron: str, timezone: str, say: Say) -> None:
    """Run the nightly flow on a schedule until interrupted, at whatever moment."""
    from flows.nightly_command import quiet_environment

    quiet_environment()
    check_home()
    os.environ["URLR_STORE"] = settings.store
    with _files_of_its_own(), _own_address() as own:
        schedule = done_apart(lambda told: _loaded(cron, timezone), patience=LOADING)
        with _server(own, say):
            done_apart(lambda told: check_api(os.environ["PREFECT_API_URL"]), patience=0.0)
            with suppress(KeyboardInterrupt):  # as it is meant to end
                say(message("serving", cron=cron, timezone=timezone, store=settings.store))
                done_apart(
                    lambda told: asyncio.run(_nights(schedule, settings.store, told)),
                    patience=_STOPPING,
                )


async def _nights(schedule: Any, store: str, told: threading.Event) -> None:
    """Let Prefect's runner start nights until told to end; the one at work is cancelled."""
    from prefect.logging.handlers import APILogHandler
    from prefect.runner import Runner

    runner = Runner(name="served", pause_on_shutdown=False, limit=1)
    serving = asyncio.create_task(_served(runner, schedule, store))
    while not (serving.done() or told.is_set()):
        await asyncio.wait({serving}, timeout=_TICK)
    if runner.started:
        await runner.astop()
    else:  # a runner refuses to be stopped while it begins
        serving.cancel()
    await asyncio.wait({serving})
    await APILogHandler.aflush()  # as long as there is a server to take them
    if not told.is_set():
        serving.result()


async def _served(runner: Any, schedule: Any, store: str) -> None:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy

    from flows.nightly import nightly

    await runner.aadd_flow(
        nightly,
        name="served",  # not `nightly`, which deploy/prefect.yaml keeps
        schedule=schedule,
        parameters={"store": store},
        # Where others serve it too: a night that comes while another is at work adds nothing.
        concurrency_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
        ),
    )
    await runner.start(webserver=False)


def _loaded(cron: str, timezone: str) -> Any:
    """Prefect's schedule, once all is imported that serving needs: later nobody waits for it."""
    schedule = _schedule(cron, timezone)
    import prefect.client.orchestration
    import prefect.runner  # noqa: F401

    import flows.nightly  # noqa: F401

    return schedule


def _schedule(cron: str, timezone: str) -> Any:
    """Prefect's schedule; it would itself complain of a time zone only once it is at work."""
    if timezone not in available_timezones():
        raise NightError(message("not_a_time_zone", timezone=timezone))
    from prefect.schedules import Cron

    try:
        return Cron(cron, timezone=timezone, slug="every-night")
    except ValueError as error:
        raise NightError(message("not_a_schedule", cron=cron, why=str(error))) from None


@contextmanager
def _files_of_its_own() -> Iterator[None]:
    """Have temporary files of this process, Prefect's runner's too, where they are removed."""
    before = tempfile.tempdir
    with scratch_directory() as place:
        tempfile.tempdir = place
        try:
            yield
        finally:
            tempfile.tempdir = before


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
    say(message("starting_server"))
    program = shutil.which("prefect", path=str(Path(sys.executable).parent)) or "prefect"
    command = [program, "server", "start", "--host", "127.0.0.1"]
    command += ["--port", address.rpartition(":")[2]]
    started: list[tuple[subprocess.Popen[bytes], Tie]] = []

    def start(told: threading.Event) -> None:
        server = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PREFECT_SERVER_UI_API_URL": f"{address}/api"},
        )
        started.append((server, Tie(server)))
        _wait_for(f"{address}/api/health", server, told)

    try:
        done_apart(start, patience=LOADING)
        say(message("server_pages", address=address))
        yield
    finally:
        for server, tie in started:
            server.terminate()
            try:
                server.wait(GRACE)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            tie.release()


def _wait_for(address: str, server: subprocess.Popen[bytes], told: threading.Event) -> None:
    end = time.monotonic() + _PATIENCE
    while not told.wait(0.3):
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            if server.poll() is not None or time.monotonic() > end:
                raise NightError(message("server_not_started")) from None
