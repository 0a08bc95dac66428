"""How a command is ended from outside."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


_RAISED = ("KeyboardInterrupt", "TerminationSignal")
"""What signals raise, the latter where Prefect listens for them."""
_LEFT: list[threading.Thread] = []
"""Threads of work that was left behind."""


class Ending:
    """Whether a signal came."""

    came = False

    def explains(self, error: Exception) -> bool:
        """Whether an error is what other people's code made of a signal that met it.

        Pydantic, for one, turns what is raised amid its work into an error of its own.
        """
        return self.came or any(name in str(error) for name in _RAISED)


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """Let SIGTERM end the block as Ctrl-C does, so that nothing half done is left behind."""
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return

    def end(number: int, frame: FrameType | None) -> None:
        ending.came = True
        raise KeyboardInterrupt

    heard = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        heard.append(signal.SIGINT)
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def done_apart(work: Callable[[threading.Event], T], *, patience: float) -> T:
    """Do work in a thread of its own, while this one waits where no signal is lost.

    What a signal raises amid other people's code may go lost there: in a destructor, in the
    callback of a weak reference, in an event loop. Work is told by its event instead, and has
    `patience` seconds to end; more signals do not hurry it. Then it is left behind.
    """
    told = threading.Event()
    answer: Future[T] = Future()

    def run() -> None:
        if told.is_set():  # before it had begun
            answer.cancel()
            return
        try:
            answer.set_result(work(told))
        except BaseException as error:
            answer.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        return answer.result()
    except KeyboardInterrupt:
        told.set()
        end = time.monotonic() + patience
        # Not `join`: a thread whose join was interrupted passes for ended.
        while thread.ident is not None and not answer.done() and time.monotonic() < end:
            with suppress(KeyboardInterrupt):
                time.sleep(0.05)
        _LEFT.append(thread)
        raise


def is_work_left() -> bool:
    """Whether work that was left behind is still going on."""
    return any(thread.is_alive() for thread in _LEFT)
