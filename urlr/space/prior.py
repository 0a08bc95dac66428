"""Last step to the feature space of the default: where a plain ridge is a sensible prior.

A ridge says that all directions of the space matter alike. Two things make that a better guess:
extreme values are pulled in, and components of a Laplace kernel, which bends, stand beside the
straight columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from urlr import kernels
from urlr.arrays import Floats
from urlr.messages import message
from urlr.space.projections import signs_of

_FARTHEST = 3.0
"""Standard deviations beyond which a value counts no more."""
BENT = 0.4
"""Share of the kernel in the prior variance of a score, as fitted."""
_MOST_DIRECTIONS = 300
_LANDMARKS = 500
_SEEN = 20_000
"""Rows that components are found by, drawn where there are more. Of 18,333 items with 512 columns,
4,000 rows gave scores that correlate by .990 with those by all rows, and Kendall's tau with the
truth was .706 against .705."""
_AT_ONCE = 8192
"""Rows that are mapped at a time."""
_MOST_COMPONENTS = 100
_SMALLEST = 1e-4
"""Components with less than this share of the largest one's variance are left out."""


@dataclass(frozen=True, slots=True)
class PriorSpace:
    """Principal directions of the clipped columns, and components of a Laplace kernel.

    k(x, z) = exp(-gamma |x - z|_1), by way of landmarks (Nystroem): k(x, landmarks)' weights -
    offset. A compared item's row has length 1 in the mean, so that the inverse of the ridge is the
    prior variance of a score.
    """

    kind: ClassVar[str] = "prior"
    plain: ClassVar[dict[str, str]] = {"gamma": "float"}
    arrays: ClassVar[dict[str, tuple[type, int]]] = {
        "centre": (np.float64, 1),
        "directions": (np.float64, 2),
        "landmarks": (np.float64, 2),
        "weights": (np.float64, 2),
        "offset": (np.float64, 1),
    }

    gamma: float
    centre: Floats
    """(n_in,) mean of the clipped columns."""
    directions: Floats
    """(n_in, n_directions) principal directions, scaled."""
    landmarks: Floats
    """(n_landmarks, n_in) none if nothing bends."""
    weights: Floats
    """(n_landmarks, n_components)."""
    offset: Floats
    """(n_components,)."""

    @classmethod
    def fit(cls, values: Floats, *, bent: bool, rng: np.random.Generator) -> PriorSpace:
        """Fit to (n_rows, n_in) standardised values; `rng` draws the landmarks."""
        n = len(values)
        centre = np.sum([part.sum(axis=0) for part in _clipped(values)], axis=0) / n
        directions = _directions(values, centre)
        nothing = np.zeros((0, values.shape[1]))
        straight = cls(1.0, centre, directions, nothing, np.zeros((0, 0)), np.zeros(0))
        if not bent or n < 3:
            return straight
        landmarks = seen = values
        if n > _LANDMARKS:
            landmarks = values[np.sort(rng.choice(n, _LANDMARKS, replace=False))]
        if n > _SEEN:
            seen = values[np.sort(rng.choice(n, _SEEN, replace=False))]
        landmarks = np.clip(landmarks, -_FARTHEST, _FARTHEST)
        distance = cdist(landmarks, landmarks, "cityblock")
        typical = float(distance.sum()) / max(1, distance.size - len(distance))
        if not typical > 0:
            return straight
        gamma = 1.0 / typical
        spectrum, vectors = linalg.eigh(np.exp(-gamma * distance))
        whiten = vectors / np.sqrt(np.maximum(spectrum, 1e-10 * spectrum[-1]))
        rows = np.vstack([_kernel(part, landmarks, gamma) for part in _clipped(seen)])
        rows = rows @ whiten
        mean = rows.mean(axis=0)
        rows -= mean
        spectrum, vectors = linalg.eigh(rows.T @ rows)
        strong = np.flatnonzero(spectrum > _SMALLEST * spectrum[-1])[::-1][:_MOST_COMPONENTS]
        vectors = vectors[:, strong]
        vectors *= signs_of(vectors)
        scale = np.sqrt(BENT * len(rows) / float(spectrum[strong].sum()))
        return cls(
            gamma,
            centre,
            directions * np.sqrt(1.0 - BENT),
            np.ascontiguousarray(landmarks),
            np.ascontiguousarray(whiten @ vectors * scale),
            mean @ vectors * scale,
        )

    def unbent(self, mapped: Floats) -> Floats:
        """What `straight` maps to, from what this maps to."""
        return np.asarray(mapped[:, : self.directions.shape[1]] / np.sqrt(1.0 - BENT))

    def straight(self) -> PriorSpace:
        """Return the space without the kernel."""
        if len(self.landmarks) == 0:
            return self
        return replace(
            self,
            directions=self.directions / np.sqrt(1.0 - BENT),
            landmarks=self.landmarks[:0],
            weights=self.weights[:0, :0],
            offset=self.offset[:0],
        )

    @property
    def n_in(self) -> int:
        """Columns expected."""
        return len(self.centre)

    @property
    def n_out(self) -> int:
        """Dimension of the space."""
        return int(self.directions.shape[1]) + len(self.offset)

    def apply(self, values: Floats) -> Floats:
        """Map (n_rows, n_in) standardised values."""
        n = self.directions.shape[1]
        mapped = np.empty((len(values), self.n_out))
        for number, part in enumerate(_clipped(values)):
            rows = slice(number * _AT_ONCE, (number + 1) * _AT_ONCE)
            mapped[rows, :n] = (part - self.centre) @ self.directions
            if len(self.landmarks):
                kernel = _kernel(part, self.landmarks, self.gamma)
                mapped[rows, n:] = kernel @ self.weights - self.offset
        return mapped

    def flaw(self) -> str:
        """What is inconsistent, empty if nothing."""
        if len(self.directions) != self.n_in:
            return message("directions_do_not_fit")
        if self.weights.shape != (len(self.landmarks), len(self.offset)):
            return message("landmarks_do_not_fit")
        if self.landmarks.shape[1] != self.n_in:
            return message("landmarks_of_other_width")
        return "" if self.gamma > 0 else message("gamma_not_positive")


def _clipped(values: Floats) -> Iterator[Floats]:
    """The rows, extreme values pulled in, some at a time."""
    for start in range(0, len(values), _AT_ONCE):
        yield np.clip(values[start : start + _AT_ONCE], -_FARTHEST, _FARTHEST)


def _kernel(values: Floats, landmarks: Floats, gamma: float) -> Floats:
    """(n_rows, n_landmarks) Laplace kernel."""
    distance = kernels.distances(values, np.ascontiguousarray(landmarks.T))
    distance *= -gamma
    return np.exp(distance, out=distance)


def _directions(values: Floats, centre: Floats) -> Floats:
    """Principal directions, mean squared row length 1.

    By the Gram matrix where there are more rows than columns: a fifth of the time.
    """
    n, d = values.shape
    if n > d:
        gram = np.zeros((d, d))
        for part in _clipped(values):
            part -= centre
            gram += part.T @ part
        squares, vectors = linalg.eigh(gram, check_finite=False)
        singular, vectors = np.sqrt(np.maximum(squares[::-1], 0.0)), vectors[:, ::-1]
    else:
        centred = np.clip(values, -_FARTHEST, _FARTHEST) - centre
        _, singular, right = linalg.svd(centred, full_matrices=False, check_finite=False)
        vectors = right.T
    strong = singular > 1e-6 * max(float(singular.max(initial=0.0)), 1e-300)
    strong[_MOST_DIRECTIONS:] = False
    vectors = vectors[:, strong]
    variance = singular[strong] ** 2 / n
    total = float(variance.sum())
    return np.ascontiguousarray(vectors * (signs_of(vectors) / np.sqrt(total or 1.0)))
