"""A line of the table of sizes: what was measured, what it must reach, and whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HEADINGS = ("what", "measured", "must reach", "")


@dataclass(frozen=True, slots=True)
class Line:
    """One thing measured; without a bar it is only reported."""

    what: str
    measured: str
    bar: str = ""
    met: bool | None = None

    def cells(self) -> tuple[str, ...]:
        """Texts in the order of the headings."""
        answer = "" if self.met is None else "met" if self.met else "MISSED"
        return (self.what, self.measured, self.bar, answer)


def at_most(what: str, value: float, bar: float, unit: str, *, note: str = "") -> Line:
    """A line of a figure that must not exceed its bar."""
    said = f"{value:.2f}{unit}"
    return Line(what, f"{said}; {note}" if note else said, f"<= {bar:g}{unit}", value <= bar)


def texts(lines: Sequence[Line], *, headings: bool = False) -> list[str]:
    """The lines as a table of Markdown, which can go into a page as it is."""
    rows = [line.cells() for line in lines]
    if headings:
        rows = [HEADINGS, ("---",) * len(HEADINGS), *rows]
    return [f"| {' | '.join(row)} |" for row in rows]
