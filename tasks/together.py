"""Several calls at once, for work that mostly waits: for a disk, or for a bucket to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 8

T = TypeVar("T")
R = TypeVar("R")


def together(call: Callable[[T], R], given: Iterable[T]) -> list[R]:
    """What the call gives for each, in order; the first error is raised once no call runs."""
    with ThreadPoolExecutor(AT_ONCE, "together") as pool:
        return list(pool.map(call, given))
