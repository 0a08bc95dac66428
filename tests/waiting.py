"""Waiting for what another process does, with a deadline."""

import time
from collections.abc import Callable

PATIENCE = 60.0


def until(fact: Callable[[], object], what: str = "", *, seconds: float = PATIENCE) -> None:
    """Wait for a fact, not for ever."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, f"not so within {seconds:.0f} s: {what or fact}"
        time.sleep(0.05)
