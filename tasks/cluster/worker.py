"""What happens inside a worker process, on this machine or elsewhere; needs no Prefect.

A local worker loads this module as it starts (Dask calls `dask_setup`). Orders and outcomes travel
as bytes, so that whatever cannot be sent or read fails here, in words, and not inside Dask.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import re
import signal
import sys
import traceback
from dataclasses import dataclass
from typing import Any

from tasks.messages import message
from urlr.errors import UrlrError
from urlr.ids import shown

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMBA")
}
"""Read by the libraries as they load. 12 BLAS jobs took 7.8 s with more threads, 2.9 s so."""
LOUD = (
    *("distributed", "distributed.client", "distributed.gc"),
    *("bokeh", "tornado", "tornado.application"),
)
"""Loggers to which Dask gives a handler that writes to stderr."""

_NEEDED = re.compile(
    r"AWS_.*|DASK_.*|NUMBA_.*|OPENBLAS_.*|PYTHON.*|LC_.*|MALLOC_.*|SSL_CERT_.*|.*_NUM_THREADS"
    r"|PATH|LD_LIBRARY_PATH|VIRTUAL_ENV|HOME|USER|LOGNAME|LANG|TZ|TMPDIR|TEMP|TMP"
    r"|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:https?_proxy|all_proxy|no_proxy)"
)
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that cannot travel as itself: its kind, its text, where it arose."""

    kind: str
    text: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """The failure an error tells of."""
        try:
            text = str(error)
        except Exception as broken:
            text = message("text_cannot_be_made", kind=type(broken).__name__)
        return cls(type(error).__name__, shown(text, _SHOWN), _trace(error))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an order ended: with a result, with an error of ours, or with a failure."""

    result: Any = None
    error: UrlrError | None = None
    failure: Failure | None = None


def dask_setup(worker: object) -> None:
    """Make a fresh local worker quiet, deaf to Ctrl-C, and ignorant of what it does not need.

    Ctrl-C reaches every process of a terminal; the process that started the workers ends them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in LOUD:
        logging.getLogger(name).handlers = [logging.NullHandler()]
    for name in [name for name in os.environ if not _NEEDED.fullmatch(name)]:
        del os.environ[name]
    warm_up(())


def warm_up(modules: tuple[str, ...]) -> None:
    """Import modules once, so that no order waits for it, and cap threads of what is loaded."""
    for name, value in ONE_THREAD.items():
        if name != "NUMBA_NUM_THREADS" or "numba" not in sys.modules:  # numba minds a change
            os.environ[name] = value
    for module in modules:
        importlib.import_module(module)
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def carried_out(order: bytes) -> bytes:
    """Do the work of an order, a pickled pair of function and argument, and pickle its outcome."""
    try:
        work, given = pickle.loads(order)
        outcome = Outcome(result=work(given))
    except BaseException as error:  # also SystemExit: it must not end the worker
        outcome = _failed(error)
    try:
        return pickle.dumps(outcome)
    except Exception as error:  # pickling calls code of the result, which may raise anything
        return pickle.dumps(Outcome(failure=Failure.of(error)))


def _failed(error: BaseException) -> Outcome:
    """An error of ours as itself if it survives the journey, any other as a failure."""
    if isinstance(error, UrlrError):
        try:
            again = pickle.loads(pickle.dumps(error))
        except Exception:  # of whatever kind: then it travels as its text
            return Outcome(failure=Failure.of(error))
        if type(again) is type(error) and str(again) == str(error):
            return Outcome(error=error)
    return Outcome(failure=Failure.of(error))


def _trace(error: BaseException) -> str:
    """Where it arose, without the frames of this module."""
    frames = traceback.extract_tb(error.__traceback__)
    kept = [frame for frame in frames if frame.filename != __file__] or frames
    return "".join(traceback.format_list(kept))[-4000:]


def memory_limit() -> int | None:
    """Bytes that the worker this runs in may hold; None where there is no limit, or no worker."""
    from distributed import get_worker

    try:
        limit = get_worker().memory_manager.memory_limit
    except ValueError:
        return None
    return None if limit is None else int(limit)
