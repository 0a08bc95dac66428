"""Items whose rank really moved between two rankings: beyond the intervals of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from urlr.arrays import Ints, Mask
from urlr.errors import VoteError
from urlr.ids import positions
from urlr.messages import message


@dataclass(frozen=True, slots=True)
class Moves:
    """Items that moved, the farthest first; all ranks are among the items ranked both times."""

    item: tuple[Any, ...]
    now: tuple[int, ...]
    now_low: tuple[int, ...]
    """Best rank of the 90 % interval."""
    now_high: tuple[int, ...]
    before: tuple[int, ...]
    before_low: tuple[int, ...]
    before_high: tuple[int, ...]
    n_compared: int
    """Items that were ranked both times, with intervals."""
    n_new: int
    """Items that were not ranked before."""
    n_gone: int
    """Items that are not ranked any more."""


def moved(scores_now: pd.DataFrame, scores_before: pd.DataFrame) -> Moves:
    """Find the items whose intervals of rank do not overlap.

    A new item pushes down all below it, which is no news about them. So ranks are counted anew
    among the items of both tables: rank r becomes one more than the number of these items among the
    r - 1 first ones, and the ends of the intervals likewise. Where both tables have the same items
    nothing changes.

    Parameters
    ----------
    scores_now, scores_before
        As `Ranker.scores`: item, rank, rank_low, rank_high, in any order. Items without an interval
        are not compared.

    Raises
    ------
    VoteError
        When a table names an item twice.
    """
    now, before = _Ranks.of(scores_now), _Ranks.of(scores_before)
    then = positions(before.items, now.items)
    both = then >= 0
    was = np.zeros(len(before.items), np.bool_)
    was[then[both]] = True
    here = now.among(both)[:, both]
    there = before.among(was)[:, then[both]]
    items = now.items[both]
    known = now.known[both] & before.known[then[both]]
    (rank, low, high), (old, old_low, old_high) = here, there
    found = np.flatnonzero(known & ((low > old_high) | (high < old_low)))
    gap = np.maximum(low - old_high, old_low - high)[found]
    found = found[np.lexsort((rank[found], -gap, -np.abs(rank - old)[found]))]

    def listed(values: Ints) -> tuple[int, ...]:
        return tuple(values[found].tolist())

    return Moves(
        tuple(items[found].tolist()),
        listed(rank),
        listed(low),
        listed(high),
        listed(old),
        listed(old_low),
        listed(old_high),
        n_compared=int(np.count_nonzero(known)),
        n_new=int(np.count_nonzero(~both)),
        n_gone=len(before.items) - int(np.count_nonzero(both)),
    )


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Ranks with their intervals, best first."""

    items: pd.Index[Any]
    ranks: Ints
    """(3, n_items) rank, rank_low, rank_high."""
    known: Mask
    """(n_items,) items with an interval."""

    @staticmethod
    def of(scores: pd.DataFrame) -> _Ranks:
        items = pd.Index(scores["item"])
        if items.has_duplicates:
            twice = int(items.duplicated().sum())
            raise VoteError(message("scores_name_items_twice", count=twice, n_items=len(items)))
        columns = [scores[name] for name in ("rank", "rank_low", "rank_high")]
        known = ~np.any([column.isna() for column in columns], axis=0)
        own = columns[0].to_numpy(np.int64)
        ranks = [own, *(np.where(known, c.fillna(0), own).astype(np.int64) for c in columns[1:])]
        order = np.argsort(own, kind="stable")
        return _Ranks(items[order], np.stack(ranks)[:, order], known[order])

    def among(self, kept: Mask) -> Ints:
        """(3, n_items) the same counted among the items kept; of the others it means nothing."""
        before = np.concatenate([[0], np.cumsum(kept)])
        rank, low, high = np.clip(self.ranks, 1, max(len(kept), 1))
        own = 1 + before[rank - 1]
        return np.stack([own, 1 + before[low - 1], np.maximum(before[high], own)])
