"""Orders as they travel to a worker and back, and every way in which one can fail."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from tasks.cluster.worker import Failure, Outcome
from urlr.errors import UrlrError
from urlr.ids import shown


class WorkError(UrlrError):
    """The work of one order failed; the text is one plain line."""

    trace: str = ""
    """Where in the work it arose, if it raised something unexpected."""


class WorkerDied(WorkError):  # noqa: N818 - says what happened, as do the next
    """The process that did the work ended under it."""


class TookTooLong(WorkError):  # noqa: N818
    """The work did not end before its deadline."""


class Stopped(WorkError):  # noqa: N818
    """The work was given up because everything stops."""


class ClusterError(UrlrError):
    """The cluster cannot be started, reached or used; the text says what to check."""


def packed(work: Callable[[Any], Any], order: object) -> bytes:
    """A function and what it is given, for `tasks.cluster.worker.carried_out`.

    Raises
    ------
    WorkError
        They cannot be sent.
    """
    try:
        return pickle.dumps((work, order))
    except Exception as error:  # pickling calls code of what is pickled
        why = f"{type(error).__name__}: {shown(error, 200)}"
    raise WorkError(f"the order cannot be sent to a worker ({why}); send plain data.")


def opened(outcome: bytes) -> Any:
    """The result that came back; if it was an error, raise it.

    Raises
    ------
    UrlrError
        Whatever error of ours the work raised, as itself.
    WorkError
        Any other error, or the result cannot be read.
    """
    try:
        found: Outcome = pickle.loads(outcome)
    except Exception as unreadable:  # reading calls code of the result
        raise work_error(Failure.of(unreadable)) from None
    if found.error is not None:
        raise found.error
    if found.failure is not None:
        raise work_error(found.failure)
    return found.result


def work_error(failure: Failure) -> WorkError:
    """A failure as an error of ours."""
    error = WorkError(f"{failure.kind}: {failure.text}" if failure.text else failure.kind)
    error.trace = failure.trace
    return error


def died(times: int, *, held: int, limit: int, advice: str) -> WorkerDied:
    """The error of an order whose worker died, for the first time or again.

    `held` is how many bytes it held if that was why it was ended, `limit` how many it may; else 0.
    """
    often = "" if times == 1 else " (twice)" if times == 2 else f" ({times} times)"
    most = f"{_amount(limit)} a worker" if limit else "what the machine has"
    if held:
        why = f"out of memory: it held {_amount(held)} and the limit is {most}"
    else:
        why = f"likely out of memory: the limit is {most}"
    return WorkerDied(f"its worker died{often}, {why}; {advice}.")


def took_too_long(what: str, deadline: float, but: str = "") -> TookTooLong:
    """The error of work that did not end in so many seconds."""
    return TookTooLong(
        f"{what} did not end within {deadline:,.4g} seconds and was given up{but}; allow more "
        "time, or look for what it waits for."
    )


def _amount(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
