"""Tonight's figures beside those of the last nights: what is as usual and what jumped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from tasks.report.digest import Digest

NIGHTS = 7
"""Nights that tonight is held against."""
FEWEST = 3
"""Nights below which nothing is called unusual."""
_SMALLEST_SPREAD = 0.02
"""Spread taken at least, as a share of the middle: figures that never move would jump at a hair."""

Word = Literal["as usual", "jumped up", "jumped down", "too few nights to tell", "not known"]


@dataclass(frozen=True, slots=True)
class Usual:
    """A figure tonight, those of the last nights, and a word."""

    tonight: float | None
    low: float | None
    """Lowest of the last nights."""
    middle: float | None
    high: float | None
    word: Word


def against(tonight: float | None, last: Sequence[float | None]) -> Usual:
    """A jump lies beyond the range of the last nights by more than their spread."""
    tonight = None if tonight is None or not math.isfinite(tonight) else tonight
    known = [value for value in last if value is not None and math.isfinite(value)]
    if not known:
        return Usual(tonight, None, None, None, "not known" if tonight is None else _TOO_FEW)
    low, middle, high = min(known), median(known), max(known)
    spread = max(high - low, _SMALLEST_SPREAD * abs(middle))
    word: Word = "as usual"
    if tonight is None:
        word = "not known"
    elif len(known) < FEWEST:
        word = _TOO_FEW
    elif tonight > high + spread:
        word = "jumped up"
    elif tonight < low - spread:
        word = "jumped down"
    return Usual(tonight, low, middle, high, word)


_TOO_FEW: Literal["too few nights to tell"] = "too few nights to tell"


def whole_nights(earlier: Sequence[Digest], *, most: int = NIGHTS) -> list[Digest]:
    """The last nights that were like every other: not dry, of all attributes, not of a past day."""
    return [one for one in earlier if one.is_whole][-most:]
