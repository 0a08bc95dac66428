"""Steps from raw features to a feature space: fitted once, applied to anything later.

A step is a frozen record of numbers and arrays, so that it can be stored without pickle. Its
`plain` and `arrays` say what it is made of, its `flaw` what is wrong with one read from a file.
Every step maps (n_rows, n_in) to (n_rows, n_out).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from urlr.arrays import Floats, Ints
from urlr.errors import FeatureError
from urlr.messages import message

_COMFORTABLE = 300
"""Columns whose largest magnitude lies beyond 2^+-300 are scaled before they are squared."""
_CONSTANT = 1e-13
"""A spread below this share of the largest magnitude is rounding (some 450 units in the last
place), while a reading of 1e9 that varies by 1e-3 is still a feature."""
_FARTHEST = 1e100
"""Bound on standardised values; squares and sums of such numbers are still finite."""


@dataclass(frozen=True, slots=True)
class Impute:
    """Missing values become the mean of the column, and a 0/1 column says where they were.

    Columns missing in the same rows share an indicator. Indicators come after all columns. A
    column missing everywhere when fitted is dropped.
    """

    kind: ClassVar[str] = "impute"
    plain: ClassVar[dict[str, str]] = {"n_in": "int"}
    arrays: ClassVar[dict[str, tuple[type, int]]] = {
        "kept": (np.int64, 1),
        "means": (np.float64, 1),
        "flagged": (np.int64, 1),
    }

    n_in: int
    kept: Ints
    """(n_kept,) columns with at least one value."""
    means: Floats
    """(n_kept,) mean of what is there."""
    flagged: Ints
    """(n_flagged,) columns whose gaps are indicated, one for each pattern of gaps."""

    @classmethod
    def fit(cls, values: Floats) -> Impute:
        """Fit to (n_rows, n_in) values, NaN where missing."""
        known = ~np.isnan(values)
        count = np.count_nonzero(known, axis=0)
        kept = np.flatnonzero(count)
        flagged = np.flatnonzero((count > 0) & (count < len(values)))
        if len(flagged) > 1:  # columns missing together, as in an embedding, share an indicator
            _, first = np.unique(np.take(known, flagged, axis=1), axis=1, return_index=True)
            flagged = flagged[np.sort(first)]
        if len(kept) < len(count):
            values, known = np.take(values, kept, axis=1), np.take(known, kept, axis=1)
        if len(kept) == 0:
            return cls(len(count), kept, np.zeros(0), flagged)
        power = powers_of(_magnitudes(values))
        shrunk = scaled(values, power)
        means = np.sum(shrunk, axis=0, where=known) / count[kept]
        # Rounding must not push the mean of a constant column off the constant.
        means = np.clip(means, np.fmin.reduce(shrunk), np.fmax.reduce(shrunk))
        return cls(len(count), kept, np.ldexp(means, power), flagged)

    @property
    def n_out(self) -> int:
        """Columns kept and indicators."""
        return len(self.kept) + len(self.flagged)

    def apply(self, values: Floats) -> Floats:
        """Fill the gaps; the very same array if there is nothing to do."""
        filled = values if len(self.kept) == self.n_in else np.take(values, self.kept, axis=1)
        gaps = np.isnan(filled)
        if gaps.any():
            filled = np.where(gaps, self.means, filled)
        if len(self.flagged):
            filled = np.hstack([filled, np.isnan(np.take(values, self.flagged, axis=1))])
        return filled

    def flaw(self) -> str:
        """What is inconsistent, empty if nothing."""
        if not _increasing_below(self.kept, self.n_in) or len(self.means) != len(self.kept):
            return message("means_do_not_fit")
        if (
            not _increasing_below(self.flagged, self.n_in)
            or not np.isin(self.flagged, self.kept).all()
        ):
            return message("indicator_of_no_column")
        return ""


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """Additive chi-square map of histogram features; indicators behind them pass through."""

    kind: ClassVar[str] = "chi_square"
    plain: ClassVar[dict[str, str]] = {"columns": "names", "n_flags": "int", "sample_steps": "int"}
    arrays: ClassVar[dict[str, tuple[type, int]]] = {}

    columns: tuple[str, ...]
    """Names of the mapped columns, which come first."""
    n_flags: int
    """Number of columns behind them that stay as they are."""
    sample_steps: int
    """1, 2 or 3: each column becomes 2 sample_steps - 1 columns."""

    @classmethod
    def fit(cls, columns: Sequence[str], n_flags: int, *, sample_steps: int) -> ChiSquare:
        """Describe the map; there is nothing to learn from the values."""
        if sample_steps not in (1, 2, 3):
            raise FeatureError(message("wrong_sample_steps", sample_steps=sample_steps))
        return cls(tuple(columns), n_flags, sample_steps)

    @property
    def n_in(self) -> int:
        """Mapped columns and indicators."""
        return len(self.columns) + self.n_flags

    @property
    def n_out(self) -> int:
        """Columns of the map and indicators."""
        return len(self.columns) * (2 * self.sample_steps - 1) + self.n_flags

    def apply(self, values: Floats) -> Floats:
        """Map non-negative values; FeatureError if one is negative."""
        from sklearn.kernel_approximation import AdditiveChi2Sampler

        histogram = values[:, : len(self.columns)]
        negative = histogram < 0
        if negative.any():
            where = [self.columns[k] for k in np.flatnonzero(negative.any(axis=0))]
            count = int(np.count_nonzero(negative))
            raise FeatureError(
                message("negative_values", count=count, n_columns=len(where), columns=where)
            )
        if histogram.size == 0:
            return np.zeros((len(values), self.n_out))
        sampler = AdditiveChi2Sampler(sample_steps=self.sample_steps)
        # The sampler doubles its input, which must not overflow.
        mapped = sampler.fit_transform(np.minimum(histogram, 1e300))
        return np.hstack([mapped, values[:, len(self.columns) :]])

    def flaw(self) -> str:
        """What is inconsistent, empty if nothing."""
        return "" if self.sample_steps in (1, 2, 3) else message("sample_steps_out_of_range")


@dataclass(frozen=True, slots=True)
class Standardise:
    """z = (x 2^-power - centre) / spread; constant columns are dropped.

    Finite values of any magnitude give finite z, bounded by 1e100.
    """

    kind: ClassVar[str] = "standardise"
    plain: ClassVar[dict[str, str]] = {"n_in": "int"}
    arrays: ClassVar[dict[str, tuple[type, int]]] = {
        "kept": (np.int64, 1),
        "power": (np.int64, 1),
        "centre": (np.float64, 1),
        "spread": (np.float64, 1),
    }

    n_in: int
    kept: Ints
    """(n_out,) columns that vary."""
    power: Ints
    """(n_out,) binary exponent taken out of the column first; 0 unless its magnitude is extreme."""
    centre: Floats
    """(n_out,) mean."""
    spread: Floats
    """(n_out,) standard deviation, divisor n."""

    @classmethod
    def fit(cls, values: Floats) -> Standardise:
        """Fit to (n_rows, n_in) finite values."""
        n, n_in = values.shape
        if n == 0 or n_in == 0:
            nothing = np.zeros(0, np.int64)
            return cls(n_in, nothing, nothing, np.zeros(0), np.zeros(0))
        magnitudes = _magnitudes(values)
        shrunk = scaled(values, powers_of(magnitudes))
        centre = shrunk.mean(axis=0)
        deviation = shrunk - centre
        shift = deviation.mean(axis=0)
        variance = np.einsum("ij,ij->j", deviation, deviation) / n - shift**2
        return cls.of_moments(centre + shift, variance, magnitudes)

    @classmethod
    def of_moments(cls, centre: Floats, variance: Floats, magnitudes: Floats) -> Standardise:
        """From mean and variance of the columns after `scaled`, and largest |values| before it."""
        power = powers_of(magnitudes)
        spread = np.sqrt(np.maximum(variance, 0.0))
        kept = np.flatnonzero(spread > _CONSTANT * scaled(magnitudes, power))
        return cls(len(centre), kept, power[kept], centre[kept], spread[kept])

    @property
    def n_out(self) -> int:
        """Columns that vary."""
        return len(self.kept)

    def apply(self, values: Floats) -> Floats:
        """Return the z-scores."""
        with np.errstate(over="ignore"):
            taken = values if self.n_out == self.n_in else np.take(values, self.kept, axis=1)
            standard = scaled(taken, self.power) - self.centre
            standard /= self.spread
        return np.clip(standard, -_FARTHEST, _FARTHEST, out=standard)

    def flaw(self) -> str:
        """What is inconsistent, empty if nothing."""
        if not _increasing_below(self.kept, self.n_in):
            return message("kept_columns_out_of_order")
        if not len(self.kept) == len(self.power) == len(self.centre) == len(self.spread):
            return message("centres_do_not_fit")
        if not (self.spread > 0).all() or not (np.abs(self.power) < 1100).all():
            return message("spread_out_of_range")
        return ""


@dataclass(frozen=True, slots=True)
class ArcSinh:
    """arsinh of z-scores: hardly changed near 0, and values far out, as counts have, pulled in."""

    kind: ClassVar[str] = "arcsinh"
    plain: ClassVar[dict[str, str]] = {"n_in": "int"}
    arrays: ClassVar[dict[str, tuple[type, int]]] = {}

    n_in: int

    @property
    def n_out(self) -> int:
        """As many columns as before."""
        return self.n_in

    def apply(self, values: Floats) -> Floats:
        """Pull the values in."""
        return np.arcsinh(values)

    def flaw(self) -> str:
        """Nothing can be inconsistent."""
        return ""


def powers_of(magnitudes: Floats) -> Ints:
    """Binary exponent of each column whose largest |value| is extreme, 0 for the others."""
    exponent = np.frexp(magnitudes)[1].astype(np.int64)
    return np.where(np.abs(exponent) > _COMFORTABLE, exponent, 0)


def scaled(values: Floats, power: Ints) -> Floats:
    """Values with the binary exponents taken out; the very same array if all are 0."""
    return np.ldexp(values, -power) if power.any() else values


def _magnitudes(values: Floats) -> Floats:
    """Largest |value| of each column, ignoring NaN."""
    largest: Floats = np.maximum(np.fmax.reduce(values), -np.fmin.reduce(values))
    return largest


def _increasing_below(places: Ints, limit: int) -> bool:
    return len(places) == 0 or bool(
        places[0] >= 0 and places[-1] < limit and (np.diff(places) > 0).all()
    )
