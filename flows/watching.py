"""Who is told how far a flow is: nobody, or the terminal of whoever started it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]

_watchers: list[Progress] = []


def watched_by(progress: Progress) -> None:
    """Have the progress of flows in this process told to somebody."""
    _watchers[:] = [progress]


def tell(what: str, share: float) -> None:
    """What is being done, and how much of it."""
    for watcher in _watchers:
        watcher(what, share)
