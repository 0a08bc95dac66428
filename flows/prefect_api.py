"""Prefect's API: found, or started for as long as it is needed."""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from flows.messages import message
from flows.night import NightError
from flows.tied import Tie
from tasks.objects import no_room_apart, redacted
from tasks.scratch import scratch_directory
from urlr.ids import shown

T = TypeVar("T")
Progress = Callable[[str, float], None]

ANSWER = 15.0
"""Seconds that a Prefect server may take to answer when asked whether it is there, twice."""
FAREWELL = 30.0
"""Seconds that this process may take to end once a Prefect server went away."""


@contextmanager
def with_prefect(progress: Progress) -> Iterator[None]:
    """Prefect's API at PREFECT_API_URL, or one of our own that ends with the block.

    Raises
    ------
    NightError
        It gives no answer, or went away while the block ran; or Prefect cannot keep its files.
    """
    from flows.nightly_command import quiet_environment

    quiet_environment()
    check_home()
    logging.raiseExceptions = False  # Prefect's log would tell the terminal that its API is away
    address = os.environ.get("PREFECT_API_URL")
    what = (
        f"asking Prefect at {shown(redacted(address))}"
        if address
        else "starting Prefect, some 15 s"
    )
    with _told_while_waiting(progress, what):
        if not address:
            _tie_own_server()
        check_api(address)
    from httpx import TransportError

    try:
        yield
    except TransportError as error:
        why = redacted(str(error))
        failure = NightError(message("prefect_went_away", prefect=_named(address), why=why))
        if address:  # one of our own is ended as this process ends
            _end_in_time()
    else:
        return
    raise failure


def check_home() -> None:
    """Before Prefect is loaded, see that it can keep its files; else it warns for minutes.

    Where its directory is not there and cannot be made, it gets one that ends with this process.

    Raises
    ------
    NightError
        The directory that is there, or that PREFECT_HOME names, cannot be written to.
    """
    if "prefect" in sys.modules:
        return
    named = os.environ.get("PREFECT_HOME")
    why: str
    try:
        home = Path(named or "~/.prefect").expanduser()
        home.mkdir(parents=True, exist_ok=True)
        if os.access(home, os.W_OK | os.X_OK):
            return
        why = message("permission_denied")
    except RuntimeError:  # this user has no home
        home, why = Path("~/.prefect"), ""
    except OSError as error:
        why = error.strerror or str(error)
    if named or home.exists():
        raise NightError(message("prefect_home_unwritable", path=home, why=why))
    stack = ExitStack()
    try:
        os.environ["PREFECT_HOME"] = stack.enter_context(scratch_directory())
    except OSError as error:
        raise NightError(no_room_apart(error)) from None
    atexit.register(stack.close)  # after all that Prefect does as Python exits


def _tie_own_server() -> None:
    """Let the server that Prefect starts where none is named end with this process.

    Prefect ends it as Python exits; after SIGKILL it would run on for ever.
    """
    from prefect.server.api.server import SubprocessASGIServer

    class TiedServer(SubprocessASGIServer):
        _tie: Tie | None = None

        def _run_uvicorn_command(self) -> subprocess.Popen[Any]:
            self._release()  # the one before ended by itself, as its port was taken
            process = super()._run_uvicorn_command()
            self._tie = Tie(process)
            return process

        def stop(self) -> None:
            super().stop()
            self._release()

        def _release(self) -> None:
            if self._tie is not None:
                self._tie.release()

    TiedServer()  # the one that Prefect's client will find


def _end_in_time() -> None:
    """End this process soon, when all that is ours has ended and the complaint was made.

    As it ends, Prefect tells its API whatever it has not told yet, one word after the other, and
    waits up to 3 minutes for each.
    """
    timer = threading.Timer(FAREWELL, os._exit, [1])
    timer.daemon = True
    timer.start()


def check_api(address: str | None) -> None:
    """Raise if Prefect's API gives no answer, or not to us; our own is started by asking."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import PrefectHTTPStatusError

    failure: Exception | None
    try:
        with _hasty(address), get_client(sync_client=True) as client:
            failure = client.api_healthcheck()
            if failure is None:
                client.api_version()  # of its health it tells anybody
    except (RuntimeError, PrefectHTTPStatusError) as error:
        failure = error
    if failure is None:
        return
    where = _named(address)
    if isinstance(failure, PrefectHTTPStatusError) and failure.response.status_code in (401, 403):
        raise NightError(message("prefect_refuses", prefect=where))
    why = redacted(str(failure)) or type(failure).__name__
    raise NightError(message("prefect_silent", prefect=where, why=why))


@contextmanager
def _hasty(address: str | None) -> Iterator[None]:
    """Ask the API at this address, and wait for its answer no longer than one can watch.

    With Prefect's own 60 seconds and 5 retries one that takes connections and says nothing is
    waited for over 6 minutes. Our own is started by asking, which has its own deadline.
    """
    if not address:
        yield
        return
    from prefect.settings import (
        PREFECT_API_REQUEST_TIMEOUT,
        PREFECT_API_URL,
        PREFECT_CLIENT_MAX_RETRIES,
        temporary_settings,
    )

    settings = {
        PREFECT_API_URL: address,  # Prefect's own is what the environment held at its import
        PREFECT_API_REQUEST_TIMEOUT: ANSWER,
        PREFECT_CLIENT_MAX_RETRIES: 1,
    }
    with temporary_settings(settings):
        yield


def outcome_of(state: Any, kind: type[T]) -> T:
    """What a flow ended with; raises what ended it without that."""
    data = getattr(state.data, "result", state.data)
    if isinstance(data, kind):
        return data
    if isinstance(data, BaseException):
        raise data
    raise NightError(message("flow_without_result", state=state.name, why=state.message))


def _named(address: str | None) -> str:
    if not address:
        return message("own_prefect")
    return message("prefect_at", address=redacted(address))


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
