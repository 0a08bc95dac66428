"""Last steps to a feature space: principal components, of the columns or of an RBF kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg

from urlr.arrays import Floats
from urlr.errors import FeatureError
from urlr.messages import message

_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 2**23
"""Entries of a kernel matrix held at a time, 64 MB."""


@dataclass(frozen=True, slots=True)
class PCA:
    """Projections (x - centre)' components on the directions of largest variance, not whitened."""

    kind: ClassVar[str] = "pca"
    plain: ClassVar[dict[str, str]] = {}
    arrays: ClassVar[dict[str, tuple[type, int]]] = {
        "centre": (np.float64, 1),
        "components": (np.float64, 2),
    }

    centre: Floats
    """(n_in,) mean."""
    components: Floats
    """(n_in, n_out) orthonormal columns, the largest loading of each positive."""

    @classmethod
    def fit(cls, values: Floats, n_components: int) -> PCA:
        """Fit to (n_rows, n_in) values; never more components than the numerical rank."""
        n, d = values.shape
        centre = values.mean(axis=0)
        centred = values - centre
        if d <= n:
            _, vectors = _leading(centred.T @ centred, n_components, size=n)
        else:
            _, dual = _leading(centred @ centred.T, n_components, size=d)
            # Nearly orthogonal already; QR makes it exact and keeps the order.
            vectors = np.linalg.qr(centred.T @ dual)[0]
        return cls(centre, np.ascontiguousarray(vectors * signs_of(vectors)))

    @property
    def n_in(self) -> int:
        """Columns expected."""
        return len(self.centre)

    @property
    def n_out(self) -> int:
        """Number of components."""
        return int(self.components.shape[1])

    def apply(self, values: Floats) -> Floats:
        """Return the projections."""
        return (values - self.centre) @ self.components

    def flaw(self) -> str:
        """What is inconsistent, empty if nothing."""
        return "" if len(self.components) == self.n_in else message("components_do_not_fit")


@dataclass(frozen=True, slots=True)
class KernelPCA:
    """Kernel PCA with k(x, z) = exp(-gamma |x - z|^2): k(x, landmarks)' weights - offset.

    Up to `exact_limit` rows the landmarks are the rows and the result is exact. Beyond, Nystroem:
    landmarks are drawn, k is replaced by k(x, L) k(L, L)^-1 k(L, z), and PCA is done on all rows
    in that space. Centring is folded into weights and offset.
    """

    kind: ClassVar[str] = "kernel_pca"
    plain: ClassVar[dict[str, str]] = {"gamma": "float"}
    arrays: ClassVar[dict[str, tuple[type, int]]] = {
        "landmarks": (np.float64, 2),
        "weights": (np.float64, 2),
        "offset": (np.float64, 1),
    }

    gamma: float
    landmarks: Floats
    """(n_landmarks, n_in)."""
    weights: Floats
    """(n_landmarks, n_out)."""
    offset: Floats
    """(n_out,)."""

    @classmethod
    def fit(
        cls,
        values: Floats,
        n_components: int,
        *,
        gamma: float | None = None,
        exact_limit: int = 2000,
        rng: np.random.Generator,
    ) -> KernelPCA:
        """Fit to (n_rows, n_in) values; `gamma` is 1 / (n_in variance) unless given."""
        n, d = values.shape
        if exact_limit < 1:
            raise FeatureError(message("exact_limit_too_small", exact_limit=exact_limit))
        if gamma is None:
            variance = float(values.var()) if values.size else 0.0
            gamma = 1.0 / (d * variance) if variance > 0 else 1.0
        if not (gamma > 0 and np.isfinite(gamma)):
            raise FeatureError(message("unusable_gamma", gamma=gamma))
        if n <= exact_limit:
            landmarks = values.copy()
            kernel = _rbf(landmarks, landmarks, gamma)
            means = kernel.mean(axis=0)
            kernel += means.mean() - means - means[:, np.newaxis]
            # Entries of k are near 1, so rounding hides eigenvalues below n eps.
            spectrum, vectors = _leading(kernel, n_components, size=n, at_least=1.0)
            signs = signs_of(vectors)
            weights = vectors / np.sqrt(spectrum)
            weights -= weights.mean(axis=0)
            offset = means @ weights
        else:
            landmarks = values[np.sort(rng.choice(n, exact_limit, replace=False))]
            own = _rbf(landmarks, landmarks, gamma)
            spectrum, vectors = _leading(own, exact_limit, size=exact_limit, at_least=1.0)
            whiten = vectors / np.sqrt(spectrum)
            mean, scatter = _nystroem_moments(values, landmarks, gamma, whiten)
            _, directions = _leading(scatter, n_components, size=n, at_least=1.0)
            weights = whiten @ directions
            offset = mean @ directions
            signs = signs_of(own @ weights - offset)
        return cls(float(gamma), landmarks, np.ascontiguousarray(weights * signs), offset * signs)

    @property
    def n_in(self) -> int:
        """Columns expected."""
        return int(self.landmarks.shape[1])

    @property
    def n_out(self) -> int:
        """Number of components."""
        return len(self.offset)

    def apply(self, values: Floats) -> Floats:
        """Return the projections."""
        projected = np.empty((len(values), self.n_out))
        for rows in _blocks(len(values), len(self.landmarks)):
            projected[rows] = _rbf(values[rows], self.landmarks, self.gamma) @ self.weights
        projected -= self.offset
        return projected

    def flaw(self) -> str:
        """What is inconsistent, empty if nothing."""
        if self.weights.shape != (len(self.landmarks), len(self.offset)):
            return message("landmarks_do_not_fit")
        return "" if self.gamma > 0 else message("gamma_not_positive")


def _leading(
    matrix: Floats, count: int, *, size: int, at_least: float = 0.0
) -> tuple[Floats, Floats]:
    """Largest eigenvalues, descending, above rounding; and their vectors in columns."""
    n = len(matrix)
    if n == 0 or count < 1:
        return np.zeros(0), np.zeros((n, 0))
    spectrum, vectors = scipy.linalg.eigh(
        matrix, subset_by_index=(max(n - count, 0), n - 1), check_finite=False
    )
    spectrum, vectors = spectrum[::-1], vectors[:, ::-1]
    rank = int(np.count_nonzero(spectrum > size * _EPS * max(spectrum[0], at_least)))
    return spectrum[:rank], vectors[:, :rank]


def signs_of(vectors: Floats) -> Floats:
    """Signs that make the largest entry of each column positive, the first among near ties."""
    if vectors.size == 0:
        return np.ones(vectors.shape[1])
    magnitude = np.abs(vectors)
    first = np.argmax(magnitude >= (1 - 1e-6) * magnitude.max(axis=0), axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _rbf(values: Floats, landmarks: Floats, gamma: float) -> Floats:
    kernel: Floats = values @ landmarks.T
    kernel *= -2
    kernel += np.einsum("ij,ij->i", values, values)[:, np.newaxis]
    kernel += np.einsum("ij,ij->i", landmarks, landmarks)
    np.maximum(kernel, 0, out=kernel)
    with np.errstate(over="ignore"):
        kernel *= -gamma
    np.exp(kernel, out=kernel)
    return kernel


def _blocks(n_rows: int, n_columns: int) -> list[slice]:
    step = max(1, _BLOCK // max(n_columns, 1))
    return [slice(start, start + step) for start in range(0, n_rows, step)]


def _nystroem_moments(
    values: Floats, landmarks: Floats, gamma: float, whiten: Floats
) -> tuple[Floats, Floats]:
    """Mean and scatter about the mean of the rows k(x, L) whiten."""
    near = (_rbf(landmarks, landmarks, gamma) @ whiten).mean(axis=0)
    total = np.zeros(whiten.shape[1])
    scatter = np.zeros((whiten.shape[1], whiten.shape[1]))
    for rows in _blocks(len(values), len(landmarks)):
        # Shifted by the mean at the landmarks, so that little cancels below.
        shifted = _rbf(values[rows], landmarks, gamma) @ whiten - near
        total += shifted.sum(axis=0)
        scatter += shifted.T @ shifted
    shift = total / len(values)
    scatter -= len(values) * np.outer(shift, shift)
    return near + shift, scatter
