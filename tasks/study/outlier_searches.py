"""Other searches for outliers on a comparison graph, with real-valued targets; for the study alone.

All of them look at the same model, y = X beta + gamma + noise. Least squares without gamma leaves
(I - H) y = (I - H) gamma + (I - H) noise, H the projection onto the columns of X: a regression on
the columns of I - H, one per edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from tasks.messages import message
from urlr.arrays import Floats, Ints, Mask
from urlr.errors import ArgumentError, ConvergenceError
from urlr.graph.comparisons import ComparisonGraph
from urlr.paper.method import ITEM_RIDGE
from urlr.paper.path import outlier_path

N_PENALTIES = 100
"""Of IPOD's path: 50, 200 or 400 moved its mean AUC over 16 trials by about a standard error."""
SMALLEST_PENALTY = 0.01
"""Of IPOD's path, times the largest: four fifths of the edges and more have entered by then."""
_STEPS_BEFORE_LIMIT = 8
_MOST_STEPS = 100_000
_NO_SLACK = 1e-9
"""Least 1 - h_ee of an edge that is no bridge."""


@dataclass(frozen=True, slots=True)
class Projected:
    """Least squares on the edges of a graph, prepared once."""

    basis: Floats
    """(n_edges, rank) Q, orthonormal columns that span those of X: H = QQ'."""
    target: Floats
    """(n_edges,) y."""
    length: Floats
    """(n_edges,) sqrt(1 - h_ee), that of column e of I - H; infinite for bridges, which no other
    edge contradicts."""

    def without(self, outlying: Floats) -> Floats:
        """(rank,) least squares on y - gamma."""
        return self.basis.T @ (self.target - outlying)

    def residual(self, fit: Floats) -> Floats:
        """(n_edges,) y - X beta; of `without(gamma)` it is H gamma + (I - H) y."""
        return self.target - self.basis @ fit


def projected(graph: ComparisonGraph) -> Projected:
    """Prepare least squares on a graph whose edges weigh the same."""
    if not (graph.weight == 1.0).all():
        raise ArgumentError(message("weights_other_than_1"))
    features = np.eye(graph.n_items) if graph.features is None else graph.features
    design = features[graph.winner] - features[graph.loser]
    vectors, size, _ = np.linalg.svd(design, full_matrices=False)
    basis = np.ascontiguousarray(vectors[:, size > 1e-9 * size[0]])
    slack = 1.0 - np.sum(basis**2, axis=1)
    length = np.sqrt(np.where(slack > _NO_SLACK, slack, np.inf))
    return Projected(basis, graph.target, length)


def matching_pursuit_order(graph: ComparisonGraph) -> Ints:
    """(n_edges,) edges from most to least suspicious by orthogonal matching pursuit.

    A step takes the column of I - H that goes best with what is left of (I - H) y, columns made
    equally long, and fits all columns taken so far (Pati, Rezaiifar & Krishnaprasad 1993; Tropp &
    Gilbert 2007). What is left lies in the space of I - H, so its product with column e is its
    entry e; and an edge whose gamma is free fits whatever its vote is, that is, drops out. A step
    thus removes the edge with the largest residual over sqrt(1 - h_ee) and fits the others anew:
    with G the inverse Gram matrix of the edges kept, x the removed one and r its residual,

        beta <- beta - G x r / (1 - x'Gx),    G <- G + G x x'G / (1 - x'Gx).

    Edges that remain when all residuals are zero are in their own order.
    """
    problem = projected(graph)
    basis = problem.basis
    inverse = np.eye(basis.shape[1])
    fit = problem.without(np.zeros(graph.n_edges))
    kept = np.ones(graph.n_edges, np.bool_)
    nothing = 1e-9 * float(np.max(np.abs(graph.target), initial=0.0))
    order: list[int] = []
    while kept.any():
        score = np.abs(problem.residual(fit)) / problem.length
        edge = int(np.argmax(np.where(kept, score, -1.0)))
        pull = inverse @ basis[edge]
        slack = 1.0 - float(basis[edge] @ pull)
        if score[edge] <= nothing or slack < _NO_SLACK:
            break
        left = float(problem.target[edge] - basis[edge] @ fit)
        fit = fit - pull * (left / slack)
        inverse += np.outer(pull, pull / slack)
        kept[edge] = False
        order.append(edge)
    rest = np.flatnonzero(kept)
    return np.concatenate([np.array(order, np.int64), rest])


def ipod_outliers(problem: Projected, penalty: float, start: Floats) -> Floats:
    """(n_edges,) gamma where Theta-IPOD with the hard threshold comes to rest (She & Owen 2011).

    The iteration is gamma <- Theta(H gamma + (I - H) y), Theta setting to 0 what is not larger
    than penalty sqrt(1 - h_ee). As long as the set of outliers stands it is linear, and its limit
    is beta + M^+ Q_K'(r_K), M = Q_K'Q_K, K the edges kept: least squares without the outliers.
    Once a set has stood for a while the limit is looked at, and taken if the set stands there too;
    else the iteration goes on from where it was.

    Parameters
    ----------
    start
        (n_edges,) gamma to begin with: of several resting points the one nearby is found.
    """
    threshold = penalty * problem.length
    residual = problem.residual(problem.without(start))
    outlier = np.abs(residual) > threshold
    stood, patience = 0, _STEPS_BEFORE_LIMIT
    for _ in range(_MOST_STEPS):
        fit = problem.without(np.where(outlier, residual, 0.0))
        residual = problem.residual(fit)
        now = np.abs(residual) > threshold
        if (now != outlier).any():
            outlier, stood, patience = now, 0, _STEPS_BEFORE_LIMIT
            continue
        stood += 1
        if stood < patience:
            continue
        patience *= 2
        rows = problem.basis[~outlier]
        limit = fit + np.linalg.lstsq(rows.T @ rows, rows.T @ residual[~outlier], rcond=1e-10)[0]
        there = problem.residual(limit)
        if ((np.abs(there) > threshold) == outlier).all():
            return np.where(outlier, there, 0.0)
    raise ConvergenceError(
        message(
            "ipod_did_not_rest", edges=threshold.size, steps=_MOST_STEPS, penalty=float(penalty)
        )
    )


def ipod_order(
    graph: ComparisonGraph, *, robust: Floats | None = None, n_penalties: int = N_PENALTIES
) -> Ints:
    """(n_edges,) edges from most to least suspicious by IPOD with the hard threshold.

    The penalty falls in equal ratios from the largest |r_e| / sqrt(1 - h_ee) of least squares;
    edges are ordered by the largest penalty at which gamma_e is not 0, those of one penalty by
    their residual there, those never reached by their last.

    Parameters
    ----------
    robust
        (n_edges,) residuals of a robust fit, thresholded to begin each penalty with, as She & Owen
        advise where outliers are many: least squares may hide them. None begins with no outlier
        and each later penalty with the outliers of the one before, as one follows a path.
    """
    problem = projected(graph)
    gamma = np.zeros(graph.n_edges)
    score = np.abs(problem.residual(problem.without(gamma))) / problem.length
    entry, size = np.zeros(graph.n_edges), np.zeros(graph.n_edges)
    top = float(score.max())
    for penalty in np.geomspace(top, SMALLEST_PENALTY * top, n_penalties + 1)[1:]:
        if robust is not None:
            gamma = np.where(np.abs(robust) > penalty * problem.length, robust, 0.0)
        gamma = ipod_outliers(problem, float(penalty), gamma)
        score = np.abs(problem.residual(problem.without(gamma))) / problem.length
        new = (gamma != 0) & (entry == 0)
        entry[new], size[new] = penalty, score[new]
    return np.lexsort((-np.where(entry > 0, size, score), -entry))


@dataclass(frozen=True, slots=True)
class ScaledLasso:
    """Where the scaled LASSO stops on the path."""

    penalty: float
    sigma: float
    """Its estimate of the noise."""
    outliers: Mask
    """(n_edges,) edges entered by then."""


def scaled_lasso(graph: ComparisonGraph, *, ridge: float = ITEM_RIDGE) -> ScaledLasso:
    """Where on the path lambda = sigma sqrt(2 log n), sigma^2 = RSS(lambda) / n (Sun & Zhang 2012).

    Both are minimised together, a convex problem, so there is one such place. RSS over all n edges,
    not over the n - rank X dimensions that are left, makes good for columns of I - H that are
    shorter than 1. An outlier adds lambda^2 to the RSS, so no more than n / (2 log n) edges can
    be found: 35 of 435.
    """
    n = graph.n_edges
    factor = 2.0 * float(np.log(n))
    trace = outlier_path(graph, rate=1.0, ridge=ridge).trace
    beyond = n * trace.penalty**2 < factor * trace.rss
    if beyond[0]:
        sigma = float(np.sqrt(trace.rss[0] / n))
        return ScaledLasso(float(np.sqrt(factor)) * sigma, sigma, np.zeros(n, np.bool_))

    def excess(penalty: float) -> float:
        path = outlier_path(graph, rate=1.0, floor=penalty, ridge=ridge)
        return n * penalty**2 - factor * float(
            np.sum(np.clip(path.residual, -penalty, penalty) ** 2)
        )

    penalty = float(trace.penalty[-1])
    if beyond.any():
        first = int(np.argmax(beyond))
        low, high = float(trace.penalty[first]), float(trace.penalty[first - 1])
        penalty = float(optimize.brentq(excess, low, high, xtol=1e-12))
    path = outlier_path(graph, rate=1.0, floor=penalty, ridge=ridge)
    return ScaledLasso(penalty, penalty / float(np.sqrt(factor)), path.entry > 0)
