"""Calls that wait are made side by side, and none is left behind."""

import threading

import pytest

from tasks.together import AT_ONCE, together


def test_results_come_in_the_order_asked_for():
    assert together(lambda k: k * k, range(50)) == [k * k for k in range(50)]


def test_calls_wait_beside_each_other():
    """Each waits for all the others, which no sequence of calls could."""
    met = threading.Barrier(AT_ONCE, timeout=30)
    together(lambda _: met.wait(), range(AT_ONCE))


def test_an_error_is_raised_when_no_call_runs_any_more():
    ended = threading.Event()
    begun = threading.Event()

    def call(k: int) -> None:
        if k == 0:
            begun.wait(30)
            raise OSError("no space left")
        begun.set()
        threading.Event().wait(0.05)
        ended.set()

    with pytest.raises(OSError, match="no space left"):
        together(call, range(2))
    assert ended.is_set()
