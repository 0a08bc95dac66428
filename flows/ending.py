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


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that nothing half done is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
        raise
