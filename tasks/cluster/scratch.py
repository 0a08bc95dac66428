"""Directories that workers spill into: gone with the process that made them, or with the next.

A living process holds a lock in its directory, which ends with it however it ends. So it is told
also where processes of several containers share one directory for temporary files.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "urlr-workers-"
_LOCK = "in-use"


@contextmanager
def scratch_directory() -> Iterator[str]:
    """An empty directory for the block; those of processes that were killed are removed."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _is_left(path / _LOCK):
            shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as place:
        made = Path(place) / "made"
        with made.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made.rename(made.with_name(_LOCK))  # seen by others only once it is held
            yield place


def _is_left(lock: Path) -> bool:
    """Whether nobody holds a lock that somebody has held."""
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # it is held, not ours, or not there yet
        return False
    return True
