"""Orders as they travel to a worker and back, and every way in which one can fail."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from tasks.cluster.worker import Failure, Outcome
from tasks.messages import message
from tasks.objects import redacted
from urlr.errors import UrlrError
from urlr.sentence import Sentence


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

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(redacted(sentence))


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
        wrong = message("order_not_sent", kind=type(error).__name__, why=str(error))
    raise WorkError(wrong)


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
    said = message("work_raised_without_a_word", kind=failure.kind)
    if failure.text:
        said = message("work_raised", kind=failure.kind, text=failure.text)
    error = WorkError(said)
    error.trace = failure.trace
    return error


def died(times: int, *, held: int, limit: int, advice: str) -> WorkerDied:
    """The error of an order whose worker died, for the first time or again.

    `held` is how many bytes it held if that was why it was ended, `limit` how many it may; else 0.
    """
    often = ""
    if times > 1:
        often = message("died_twice") if times == 2 else message("died_often", times=times)
    most = message("memory_of_the_machine")
    if limit:
        most = message("memory_a_worker", amount=_amount(limit))
    if not held:
        return WorkerDied(message("worker_died", often=often, limit=most, advice=advice))
    return WorkerDied(
        message("worker_out_of_memory", often=often, held=_amount(held), limit=most, advice=advice)
    )


def _amount(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
