"""Has the feature table broken since the champion was fitted?

Held-out votes do not tell: a champion that is scored by tonight's broken table looks as bad as what
learnt from it. So the champion keeps the scores that it gave to the items it knew, and tonight's
table is held against them and against some of the rows it was made from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tasks.evaluate import OrderTau
from tasks.gate import GateSettings
from tasks.messages import message
from urlr.arrays import Floats, Ints
from urlr.features import FeatureTable, feature_table
from urlr.ids import positions
from urlr.sentence import Sentence

FEWEST_ITEMS = 10
"""Items that must be known for a change to mean anything."""
_MOST_SAME = 0.9
"""Share of known items that must have kept their value in a column."""
_FARTHEST = 1.0
"""Standard deviations by which the middle of a column may move."""


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """Tonight's feature table beside the one that the champion was fitted on."""

    broken: tuple[Sentence, ...]
    """Columns that are of no use any more."""
    moved: tuple[Sentence, ...]
    """Columns whose values are others."""
    same: OrderTau | None
    """Of the champion's scores of the items it knew, with what it says of them by tonight's table;
    None where it can say nothing."""

    def suspicions(self, settings: GateSettings) -> tuple[Sentence, ...]:
        """Why the table is suspect; none if it is not."""
        tau, n_items = (None, 0) if self.same is None else (self.same.tau, self.same.n_items)
        if tau is not None and n_items >= FEWEST_ITEMS and tau < settings.least_same:
            turned = message("known_items_moved", items=n_items, tau=tau)
            return (*self.broken, *self.moved, turned)
        return (*self.broken, *self.moved) if self.broken else ()


def feature_change(
    before: pd.DataFrame, tonight: pd.DataFrame, same: OrderTau | None
) -> FeatureChange:
    """Hold tonight's table against some rows of the one before; both have a column item."""
    old, new = feature_table(before), feature_table(tonight)
    place = positions(new.items, old.items)
    gone: list[str] = []
    no_numbers: list[str] = []
    empty, constant, moved = [], [], []
    for name in old.columns:
        if name not in new.columns:
            (no_numbers if name in new.ignored else gone).append(name)
            continue
        was, now = _column(old, name), _column(new, name)
        if np.isnan(was).all():  # it told nothing before either
            continue
        if np.isnan(now).all():
            empty.append(name)
        elif _is_constant(now) and not _is_constant(was):
            constant.append(name)
        elif text := _moved(name, was, now, place):
            moved.append(text)
    broken = []
    if gone:
        broken.append(message("feature_columns_gone", count=len(gone), names=gone))
    if no_numbers:
        broken.append(message("columns_no_numbers", count=len(no_numbers), names=no_numbers))
    if empty:
        broken.append(message("columns_empty_now", count=len(empty), names=empty))
    if constant:
        broken.append(message("columns_constant_now", count=len(constant), names=constant))
    return FeatureChange(tuple(broken), tuple(moved), same)


def _moved(name: str, was: Floats, now: Floats, place: Ints) -> Sentence | None:
    """Whether values of known items are others now, or those of all lie elsewhere."""
    known = place >= 0
    if np.count_nonzero(known) >= FEWEST_ITEMS:
        old, new = was[known], now[place[known]]
        with np.errstate(invalid="ignore"):
            kept = np.isclose(old, new, rtol=1e-6, atol=1e-12, equal_nan=True)
        if kept.mean() < _MOST_SAME:
            changed = int(np.count_nonzero(~kept))
            return message("values_changed", column=name, changed=changed, items=kept.size)
    spread = float(np.nanstd(was))
    if len(was) >= FEWEST_ITEMS and spread > 0:
        steps = abs(float(np.nanmedian(now)) - float(np.nanmedian(was))) / spread
        if steps > _FARTHEST:
            return message("column_moved", column=name, steps=steps)
    return None


def _column(table: FeatureTable, name: str) -> Floats:
    column: Floats = table.values[:, table.columns.index(name)]
    return column


def _is_constant(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return bool(known.size) and bool(np.all(known == known[0]))


def without_known(scores: pd.Series[Any], known: pd.Index[Any]) -> pd.Series[Any]:
    """Scores of items that are not among those known."""
    return scores[positions(known, pd.Index(scores.index)) < 0]
