"""Facts about columns that are seen a piece of rows at a time, and the gaps filled from them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from urlr.arrays import Floats, Ints
from urlr.space.steps import Impute


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What filling the gaps of a table needs to know about some of its rows."""

    n_rows: int
    known: Ints
    """(n_columns,) how many rows have a value."""
    means: Floats
    """(n_columns,) mean of the values that are there, 0 where there is none."""
    low: Floats
    """(n_columns,) smallest value, infinite where there is none."""
    high: Floats
    """(n_columns,) largest value, minus infinite where there is none."""
    gaps: tuple[bytes, ...]
    """(n_columns,) digest of which rows lack a value; columns that lack the same share it."""

    @classmethod
    def of(cls, values: Floats) -> ColumnFacts:
        """Facts of (n_rows, n_columns) values, NaN where missing."""
        missing = np.isnan(values)
        impute = Impute.fit(values)
        means = np.zeros(values.shape[1])
        means[impute.kept] = impute.means
        packed = np.ascontiguousarray(np.packbits(missing, axis=0).T)
        return cls(
            len(values),
            len(values) - np.count_nonzero(missing, axis=0),
            means,
            np.fmin.reduce(values, axis=0, initial=np.inf),
            np.fmax.reduce(values, axis=0, initial=-np.inf),
            tuple(hashlib.sha256(column.tobytes()).digest() for column in packed),
        )


def impute_of(pieces: Sequence[ColumnFacts]) -> Impute:
    """What `Impute.fit` gives for all rows of the pieces together, means up to rounding.

    The order of the pieces counts in the last digits; equal pieces in equal order give equal bits.
    """
    n_in = len(pieces[0].known)
    known = np.sum([piece.known for piece in pieces], axis=0, dtype=np.int64)
    n_rows = sum(piece.n_rows for piece in pieces)
    kept = np.flatnonzero(known)
    means = np.zeros(n_in)
    with np.errstate(over="ignore"):  # of equal values near the largest float, by rounding
        for piece in pieces:  # shares of means, not sums, which may overflow
            means += piece.means * (piece.known / np.maximum(known, 1))
    low, high = extremes_of(pieces)
    means = np.clip(means, low, high)
    flagged: dict[tuple[bytes, ...], int] = {}
    for column in np.flatnonzero((known > 0) & (known < n_rows)):
        flagged.setdefault(tuple(piece.gaps[column] for piece in pieces), int(column))
    return Impute(n_in, kept, means[kept], np.array(list(flagged.values()), np.int64))


def extremes_of(pieces: Sequence[ColumnFacts]) -> tuple[Floats, Floats]:
    """Smallest and largest value of each column over all pieces."""
    low: Floats = np.min([piece.low for piece in pieces], axis=0)
    high: Floats = np.max([piece.high for piece in pieces], axis=0)
    return low, high
