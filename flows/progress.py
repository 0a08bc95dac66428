"""Progress of one command on stderr: a line that rewrites itself, or now and then a new one."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

_PATIENCE = 1.0
"""Seconds of work before anything is shown on a terminal."""
_REFRESH = 0.1
_PERIOD = 10.0
"""Seconds between two lines where lines stay, as in a log."""


class ProgressLine:
    """Called as line(what, share); quiet at first, and gone from the terminal when it ends."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._rewrites = self._stream.isatty()
        self._start = time.monotonic()
        self._next = self._start + (_PATIENCE if self._rewrites else _PERIOD)
        self._shown = False

    def __call__(self, what: str, share: float) -> None:
        """Show what is being done and how much of it, if it is time to."""
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        self._next = now + (_REFRESH if self._rewrites else _PERIOD)
        done = f" {share:.0%}" if share > 0 else ""
        text = f"urlr: {what}{done} ({now - self._start:.0f} s)"
        self._write(f"\r\x1b[K{text}" if self._rewrites else f"{text}\n")
        self._shown = True

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._rewrites and self._shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # nobody reads any more: no reason to stop working
            self._quiet = True
