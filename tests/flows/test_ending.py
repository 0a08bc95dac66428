"""Work in a thread of its own while signals come to this process."""

import os
import signal
import threading
import time

import pytest
from waiting import until

from flows.ending import Ending, done_apart, ended_by_signals, is_work_left


def told_by(number: int, work, *, patience: float) -> None:
    """Do work that gets a signal once it has begun; it must end as by Ctrl-C."""

    def signalled(told: threading.Event) -> None:
        os.kill(os.getpid(), number)
        work(told)

    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        done_apart(signalled, patience=patience)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_work_that_is_told_is_waited_for(number):
    ended = []

    def work(told: threading.Event) -> None:
        assert told.wait(60)
        os.kill(os.getpid(), number)  # another does not hurry it
        time.sleep(0.3)
        ended.append(True)

    told_by(number, work, patience=60.0)
    assert ended == [True]


def test_work_that_does_not_end_is_left_behind():
    over = threading.Event()
    told_by(signal.SIGTERM, lambda told: over.wait(60), patience=0.0)
    assert not over.is_set()
    assert is_work_left()
    over.set()
    until(lambda: not is_work_left(), "it has ended")


def test_what_work_gives_or_raises_comes_back():
    assert done_apart(lambda told: 7, patience=0.0) == 7
    with pytest.raises(ZeroDivisionError):
        done_apart(lambda told: 1 // 0, patience=0.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_error_that_other_code_made_of_a_signal_is_told_from_others(number):
    """As pydantic does, which turns whatever is raised amid its work into an error of its own."""
    with ended_by_signals() as ending:
        assert not ending.explains(ValueError("no signal came"))
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        assert ending.explains(ValueError("whatever it is"))


def test_an_error_made_of_a_signal_that_prefect_heard_is_told_by_its_text():
    assert Ending().explains(ValueError("Error calling function `f`: TerminationSignal: "))


def test_ctrl_c_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ended_by_signals() as ending:
            os.kill(os.getpid(), signal.SIGINT)
        assert not ending.came
    finally:
        signal.signal(signal.SIGINT, before)
