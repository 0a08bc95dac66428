"""Waiting for what another process does, with a deadline."""

import time
from collections.abc import Callable

PATIENCE = 600.0
"""Seconds that anything may take before a test fails; a night takes 15 on an idle machine."""


def until(fact: Callable[[], object], what: str = "", *, seconds: float = PATIENCE) -> None:
    """Wait for a fact, not for ever."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, f"not so within {seconds:.0f} s: {what or fact}"
        time.sleep(0.05)
