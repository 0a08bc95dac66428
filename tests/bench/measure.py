"""Timing, memory and the one table all workloads end in."""

from __future__ import annotations

import ctypes
import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 2.0**20
HEADINGS = (
    *("workload", "size", "ours", "reference", "its time", "ratio", "must reach", "met"),
    *("certificate", "peak memory", "must reach", "met"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `bar` is the largest ratio, `memory_bar` the most bytes, allowed."""

    workload: str
    size: str
    seconds: float
    reference: str = ""
    reference_seconds: float | None = None
    timed_out: bool = False
    """The reference was stopped after `reference_seconds`."""
    bar: float | None = None
    agrees: bool | None = None
    """Whether the order equals the reference's, where that is the bar."""
    violation: float | None = None
    memory: float | None = None
    memory_bar: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.reference_seconds is None else self.seconds / self.reference_seconds

    @property
    def met(self) -> bool | None:
        if self.agrees is not None or self.bar is None or self.ratio is None:
            return self.agrees
        return self.ratio <= self.bar

    @property
    def memory_met(self) -> bool | None:
        return None if self.memory_bar is None else (self.memory or 0.0) <= self.memory_bar

    def cells(self) -> list[str]:
        """Texts in the order of `HEADINGS`."""
        missing = "not measured" if self.reference else ""
        more, less = (">", "<") if self.timed_out else ("", "")
        return [
            self.workload,
            self.size,
            _seconds(self.seconds),
            self.reference,
            more + _seconds(self.reference_seconds) or missing,
            less + _ratio(self.ratio),
            "same order" if self.agrees is not None else _ratio(self.bar, "<= "),
            _answer(self.met),
            "" if self.violation is None else f"{self.violation:.0e}",
            _memory(self.memory),
            _memory(self.memory_bar, "<= "),
            _answer(self.memory_met),
        ]


def table(rows: Sequence[Row]) -> str:
    """The rows under their headings, each column as wide as needed, then the notes."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADINGS))]
    lines.insert(1, ["-" * width for width in widths])
    texts = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
    notes = [f"{row.workload}, {row.size}: {row.note}" for row in rows if row.note]
    return "\n".join([*(text.rstrip() for text in texts), "", *notes])


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds one call took, and what it returned."""
    gc.collect()
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def medians(*functions: Callable[[], Any], repeats: int) -> list[float]:
    """Median seconds of each function, called in turn so that a busy moment hits them alike."""
    seconds = [[timed(function)[0] for function in functions] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*seconds, strict=True)]


def resident() -> tuple[float, float]:
    """Bytes of memory the process holds now, and the most it held since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    now, most = (1024.0 * int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    return now, most


def forget_peak() -> None:
    """Give unused memory back and measure the peak of `resident` anew (Linux, glibc; proc(5))."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def added_memory(function: Callable[[], Any]) -> tuple[float, float]:
    """Bytes a call needs at its peak beyond what was there: by tracemalloc, and resident.

    Compiled code allocates behind the back of tracemalloc; what the allocator holds in reserve
    hides from the resident size. Neither alone is the truth.
    """
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    function()
    traced = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    forget_peak()
    held, _ = resident()
    function()
    return float(traced), resident()[1] - held


class Stages:
    """A `progress` callback that adds up how long each stage takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.stage, self.since = "", time.perf_counter()

    def __call__(self, what: str, share: float) -> None:
        now = time.perf_counter()
        if self.stage:
            self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + now - self.since
        self.stage, self.since = what, now

    def __str__(self) -> str:
        return ", ".join(f"{what} {_seconds(spent)}" for what, spent in self.seconds.items())


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.{2 if value < 10 else 1}f} s"


def _ratio(value: float | None, sign: str = "") -> str:
    if value is None:
        return ""
    return sign + (f"1/{1 / value:.0f}" if value < 0.2 else f"{value:.2f}")


def _memory(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{sign}{value / MIB:,.0f} MiB"


def _answer(met: bool | None) -> str:
    return "" if met is None else "yes" if met else "NO"
