"""Classes as Gaussians in the space of predicted attributes, as Parikh & Grauman (2011) have them.

A class with training images has their mean and covariance. A class nobody showed is told from the
order of the classes alone: per attribute it lies midway between its neighbours, or one average
step beyond the last. An image belongs to the class that makes it most likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from urlr.arrays import Floats, Ints

FLOOR = 1e-3
"""Least variance in any direction, as a share of each attribute's own: two attributes may be told
by the same features, and a likelihood must not hang on the rounding of their difference."""


@dataclass(frozen=True, slots=True)
class ClassModels:
    """One Gaussian per class."""

    classes: Ints
    """(n_models,) codes of the classes."""
    means: Floats
    """(n_models, n_attributes)"""
    covariances: Floats
    """(n_models, n_attributes, n_attributes)"""

    def likelihoods(self, scores: Floats) -> Floats:
        """(n_items, n_models) log likelihoods, but for a constant."""
        found = np.empty((len(scores), len(self.classes)))
        for k, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            root = np.linalg.cholesky(covariance)
            away = np.linalg.solve(root, (scores - mean).T)
            found[:, k] = -0.5 * np.sum(away**2, axis=0) - np.sum(np.log(np.diag(root)))
        return found

    def classified(self, scores: Floats) -> Ints:
        """(n_items,) the most likely class of each row of attribute scores."""
        return np.asarray(self.classes[np.argmax(self.likelihoods(scores), axis=1)])

    def with_unseen(self, unseen: int, ranks: Ints) -> ClassModels:
        """These models and that of a class known by its ranks alone.

        Parameters
        ----------
        unseen
            Code of the class.
        ranks : (n_attributes, n_classes)
            Place of every class in the order of each attribute, a higher rank having more of it.
        """
        mean = np.array(
            [
                placed_mean(self.means[:, k], order[self.classes], int(order[unseen]))
                for k, order in enumerate(ranks)
            ]
        )
        return ClassModels(
            np.append(self.classes, unseen),
            np.vstack([self.means, mean]),
            np.concatenate([self.covariances, self.covariances.mean(axis=0, keepdims=True)]),
        )


def class_models(scores: Floats, label: Ints, classes: Sequence[int]) -> ClassModels:
    """Gaussians of the training images of these classes.

    Thirty images say little of the 66 numbers of a covariance of 11 attributes, so every class
    leans on the covariance within all classes, as if that had been seen on as many more images as
    there are attributes, and one.
    """
    n_attributes = scores.shape[1]
    means = np.array([scores[label == one].mean(axis=0) for one in classes])
    scatters = [
        (scores[label == one] - mean).T @ (scores[label == one] - mean)
        for one, mean in zip(classes, means, strict=True)
    ]
    counts = [int(np.count_nonzero(label == one)) for one in classes]
    freedom = max(1, sum(counts) - len(classes))
    within = np.sum(scatters, axis=0) / freedom
    floor = np.diag(FLOOR * np.diag(within) + np.finfo(np.float64).tiny)
    lean = n_attributes + 1
    covariances = [
        (scatter + lean * within) / (max(0, count - 1) + lean) + floor
        for scatter, count in zip(scatters, counts, strict=True)
    ]
    return ClassModels(np.asarray(classes, np.int64), means, np.array(covariances))


def placed_mean(means: Floats, ranks: Ints, rank: int) -> float:
    """Where a class of this rank lies on one attribute, given classes with means and ranks.

    Where classes share a rank, their average stands for them; an unseen class of their rank is
    put there too, which the order says and Parikh & Grauman leave open.
    """
    if (ranks == rank).any():
        return float(means[ranks == rank].mean())
    below, above = ranks[ranks < rank], ranks[ranks > rank]
    if below.size and above.size:
        lower, upper = means[ranks == below.max()].mean(), means[ranks == above.min()].mean()
        return float(0.5 * (lower + upper))
    step = float(np.mean(np.diff(np.sort(means)))) if means.size > 1 else 0.0
    if below.size:
        return float(means[ranks == below.max()].mean()) + step
    return float(means[ranks == above.min()].mean()) - step
