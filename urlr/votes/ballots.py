"""The votes that count, as arrays: who chose what over what, shown where, in what time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.ids import positions, read_coded_ids, sorted_uniques
from urlr.model.logistic import Comparisons
from urlr.votes.table import OUTCOMES, REJECTED, SKIPPED, TIE, VoteTable, read_outcomes


@dataclass(frozen=True, slots=True)
class Ballots:
    """One entry per vote that counts, in input order."""

    rows: Comparisons
    """Winners, losers and sides, between items without features yet."""
    weight: Floats
    """(n_rows,)"""
    tie: Mask
    """(n_rows,)"""
    annotator: Codes
    """(n_rows,) position in `names`, -1 for votes without a name."""
    names: pd.Index[Any]
    """(n_annotators,)"""
    seconds: Floats | None
    """(n_rows,) how long the vote took, NaN where unknown; None if the votes do not say."""
    place: Ints
    """(n_rows,) row of the input."""
    n_odd_names: int
    """Votes whose annotator is neither text nor a whole number, and counts as none."""
    n_odd_sides: int
    """Votes that say what was on the left, and it is neither of their items."""

    moments: Floats | None = None
    """(n_rows,) when the vote was cast, in days, NaN unknown; None if the votes do not say."""

    @property
    def has_sides(self) -> bool:
        """Whether any vote says which item was on the left."""
        return bool(self.rows.side.any())

    @property
    def has_names(self) -> bool:
        """Whether any vote has a name."""
        return len(self.names) > 0

    def nameless(self) -> Ballots:
        """Return the same ballots as if they did not say who cast them."""
        nobody = np.full(self.rows.n_rows, -1, np.int32)
        return replace(self, annotator=nobody, names=self.names[:0], n_odd_names=0)

    def without(self, people: pd.Index[Any]) -> Ballots:
        """Return the ballots of all others."""
        out = self.names.isin(people)
        if not out.any():
            return self
        kept = np.flatnonzero(~np.append(out, False)[self.annotator])
        number = np.append(np.where(out, -1, np.cumsum(~out) - 1), -1).astype(np.int32)

        def taken(values: Floats | None) -> Floats | None:
            return None if values is None else values[kept]

        return replace(
            self,
            rows=self.rows.taken(kept),
            weight=self.weight[kept],
            tie=self.tie[kept],
            annotator=number[self.annotator[kept]],
            names=self.names[~out],
            seconds=taken(self.seconds),
            moments=taken(self.moments),
            place=self.place[kept],
        )

    def turned(self, which: Mask) -> Ballots:
        """Return the same ballots, some of them read the other way round."""
        return replace(self, rows=self.rows.turned(which))


def ballots_of(votes: VoteTable, *, sides: bool = True) -> Ballots:
    """Gather the rows that count; without `sides` as if votes did not say what was on the left."""
    place = np.flatnonzero((votes.status != REJECTED) & (votes.status != SKIPPED))
    tie = votes.status[place] == TIE
    frame = votes.frame
    annotator, names, n_odd = _annotators(frame, place)
    side, n_odd_sides = _sides(votes, place) if sides else (np.zeros(place.size), 0)
    rows = Comparisons(
        winner=votes.winner[place],
        loser=votes.loser[place],
        target=np.where(tie, 0.5, 1.0),
        side=side,
        features=np.zeros((len(votes.items), 0)),
    )
    seconds = None
    if "seconds" in frame.columns:
        column = frame["seconds"].iloc[place]
        if column.dtype.kind == "m":
            column = column.dt.total_seconds()
        column = pd.to_numeric(column, errors="coerce")
        seconds = column.to_numpy(np.float64, na_value=np.nan)
        seconds = np.where(np.isfinite(seconds) & (seconds >= 0), seconds, np.nan)
    return Ballots(
        rows,
        votes.weight[place],
        tie,
        annotator,
        names,
        seconds,
        place,
        n_odd,
        n_odd_sides,
        _moments(frame, place),
    )


def _moments(frame: pd.DataFrame, place: Ints) -> Floats | None:
    """When each vote was cast, in days since 1970."""
    if "time" not in frame.columns:
        return None
    column = frame["time"].iloc[place]
    if column.dtype.kind in "if":  # a number says neither since when nor in what unit
        return None
    moments = pd.Series(pd.to_datetime(column, errors="coerce", utc=True, format="ISO8601"))
    seconds = moments.dt.tz_localize(None).to_numpy("datetime64[s]")  # years of four digits fit
    days = seconds.astype(np.float64) / 86_400.0
    return np.where(np.isnat(seconds), np.nan, days)


def names_of(votes: VoteTable) -> pd.Index[Any]:
    """Who cast the votes that count."""
    return _annotators(votes.frame, np.flatnonzero(votes.winner >= 0))[1]


def _annotators(frame: pd.DataFrame, place: Ints) -> tuple[Codes, pd.Index[Any], int]:
    if "annotator" not in frame.columns:
        return np.full(place.size, -1, np.int32), pd.Index([]), 0
    ids = read_coded_ids(frame["annotator"].iloc[place])
    occurs = np.zeros(len(ids.values) + 1, np.bool_)
    occurs[ids.codes] = True
    kept = np.flatnonzero(occurs[:-1])
    number = np.full(len(ids.values) + 1, -1, np.int32)
    number[kept], names = sorted_uniques(ids.values.take(kept))
    return number[ids.codes], names, int(np.count_nonzero(ids.unusable))


def _sides(votes: VoteTable, place: Ints) -> tuple[Floats, int]:
    """1 where the winner was shown on the left, -1 on the right, 0 where that is not known.

    And how often that is because another item is named. `left` holds the id of an item or, where
    the votes have item_a and item_b, a or b.
    """
    frame = votes.frame
    if "left" not in frame.columns:
        return np.zeros(place.size), 0
    column = frame["left"].iloc[place]
    ids = read_coded_ids(column)
    item = np.append(positions(votes.items, ids.values), -1)[ids.codes]
    on_left = item == votes.winner[place]
    known = on_left | (item == votes.loser[place])
    if "item_a" in frame.columns:
        left = read_outcomes(column)
        b_won = read_outcomes(frame["outcome"].iloc[place]) == OUTCOMES.index("b")
        a_or_b = (left == OUTCOMES.index("a")) | (left == OUTCOMES.index("b"))
        won = np.where(b_won, left == OUTCOMES.index("b"), left == OUTCOMES.index("a"))
        on_left, known = np.where(known, on_left, won), known | a_or_b
    odd = int(np.count_nonzero(~known & ~(ids.missing | ids.empty)))
    return np.where(known, np.where(on_left, 1.0, -1.0), 0.0), odd
