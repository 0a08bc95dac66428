"""Directories for what is needed a while: gone with the process that made them, or by the next.

Workers spill into them, models and files lie there on their way.

A living process holds a lock in its directory, which ends with it however it ends. So it is told
also where processes of several containers share one directory for temporary files.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "urlr-scratch-"
_LOCK = "in-use"
_STALE = 3600.0
"""Seconds; nobody takes so long to lock what he has just made."""


@contextmanager
def scratch_directory() -> Iterator[str]:
    """An empty directory for the block; those of processes that were killed are removed."""
    remove_left()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as place:
        made = Path(place) / "made"
        with made.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made.rename(made.with_name(_LOCK))  # seen by others only once it is held
            yield place


def remove_left() -> None:
    """Remove directories of processes of ours that were killed."""
    with suppress(OSError):  # where there is no place for temporary files, none is left
        for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            if _is_left(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_left(place: Path) -> bool:
    """Whether nobody holds the lock that somebody has held, or there has been none for long."""
    try:
        if place.lstat().st_uid != os.getuid():
            return False
        with (place / _LOCK).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:  # not yet, or a worker that died last made the directory again
        with suppress(OSError):
            return time.time() - place.stat().st_mtime > _STALE
        return False
    except OSError:  # it is held, or not ours
        return False
    return True
