"""Directories that workers spill into: gone with the process that made them, or with the next."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "urlr-workers-"


@contextmanager
def scratch_directory() -> Iterator[str]:
    """An empty directory for the block; those of processes that were killed are removed."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as place:
        yield place


def _sweep() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        maker = path.name.removeprefix(_PREFIX).partition("-")[0]
        if maker.isdecimal() and not _is_alive(int(maker)):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
