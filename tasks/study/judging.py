"""How claims are judged: what is clear, what is near, and the words for what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tasks.study.records import Paired, chosen, paired

HOLDS, PARTLY, FAILS, UNJUDGED = "holds", "holds partly", "does not hold", "cannot be judged"
NEAR = 0.01
"""Distances and taus that differ by less on average are called about equal."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a claim."""

    verdict: str
    measured: str
    why: str = ""


def verdict_of(parts: Sequence[bool]) -> str:
    """All parts: holds; some: partly; none: does not."""
    return HOLDS if all(parts) else PARTLY if any(parts) else FAILS


def lower(rows: pd.DataFrame, better: str, worse: str, **only: Any) -> Paired:
    """By how much one method's distance is lower than another's."""
    return paired(rows, worse, better, **only)


def ahead(gain: Paired) -> bool:
    """Whether a gain is one, and clear."""
    return gain.clear and gain.mean > 0


def between(rows: pd.DataFrame, method: str, first: float, second: float) -> Paired:
    """First place less second on the axis, for one method."""
    mine = chosen(rows, method=method)
    moved = mine.assign(method=mine["at"].map(lambda at: f"at {at:g}"), at=0.0)
    return paired(moved, f"at {first:g}", f"at {second:g}")


def place_of(label: Any) -> float:
    """The place on an axis that a label of an index is."""
    return float(label)


def densities(rows: pd.DataFrame) -> pd.DataFrame:
    """Distances of the image experiment at every density."""
    density = rows[rows["setting"].str.startswith("density")]
    return chosen(density, measure="distance")
