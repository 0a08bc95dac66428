"""Has the feature table broken since the champion was fitted?

Held-out votes do not tell: a champion that is scored by tonight's broken table looks as bad as what
learnt from it. So the champion keeps the scores that it gave to the items it knew, and tonight's
table is held against them and against some of the rows it was made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tasks.evaluate import OrderTau
from tasks.gate import GateSettings
from tasks.messages import message
from urlr.arrays import Floats, Ints, Mask
from urlr.ids import positions
from urlr.sentence import Sentence
from urlr.space.table import FeatureTable, feature_table

FEWEST_ITEMS = 10
"""Items that must be known for a change to mean anything."""
_MOST_SAME = 0.9
"""Share of known items that must have kept their value in a column."""
_FARTHEST = 1.0
"""Standard deviations by which the middle of a column may move."""
_RARE = 0.1
"""Share of known items that may have a value which all new ones have, for that to be odd."""


@dataclass(frozen=True, slots=True)
class FeatureChange:
    """Tonight's feature table beside the one that the champion was fitted on."""

    broken: tuple[Sentence, ...]
    """Columns that are of no use any more."""
    moved: tuple[Sentence, ...]
    """Columns whose values are others; said also where the table is not suspect."""
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
    before: pd.DataFrame,
    tonight: pd.DataFrame,
    same: OrderTau | None,
    known: pd.Index[Any] | None = None,
) -> FeatureChange:
    """Compare tonight's table with some rows of the one before; both have a column item.

    `known` are all the items that the champion knew; rows of others are compared with theirs.
    """
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
    if known is not None:
        broken += _odd_new_rows(new, positions(known, new.items) < 0, old.columns)
    return FeatureChange(tuple(broken), tuple(moved), same)


def _odd_new_rows(table: FeatureTable, is_new: Mask, columns: Sequence[str]) -> list[Sentence]:
    """Columns in which rows of new items are empty, all the same, or far from all others."""
    n_new = int(np.count_nonzero(is_new))
    if min(n_new, len(is_new) - n_new) < FEWEST_ITEMS:
        return []
    odd = []
    for name in columns:
        if name in table.columns:
            values = _column(table, name)
            if _is_odd(values[is_new], values[~is_new]):
                odd.append(name)
    return [message("new_rows_odd", items=n_new, count=len(odd), names=odd)] if odd else []


def _is_odd(new: Floats, known: Floats) -> bool:
    if np.isnan(new).all():
        return bool(np.isnan(known).mean() < _RARE)
    if np.isnan(known).all():
        return False
    if _is_constant(new):
        value = new[~np.isnan(new)][0]
        return bool((known == value).mean() < _RARE and not _is_constant(known))
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    beyond = (new < low - (high - low)) | (new > high + (high - low))
    return bool(high > low and np.count_nonzero(beyond) > 0.5 * np.count_nonzero(~np.isnan(new)))


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
