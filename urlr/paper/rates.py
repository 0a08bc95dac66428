"""How many edges to prune when nobody says: the paper's rules, which it finds wanting, and ours."""

from __future__ import annotations

from typing import Literal

import numpy as np

from urlr.arrays import Floats, Progress, no_progress
from urlr.graph.comparisons import ComparisonGraph
from urlr.paper.path import OutlierPath, Solver, outlier_path
from urlr.paper.ridge import ridge_coefficients

RateRule = Literal["bic", "aic", "sigma"]

LARGEST_RATE = 0.6
"""Rules look no further along the path: with more outliers than votes "outlier" means nothing."""


def path_and_rate(
    graph: ComparisonGraph,
    prune: float | RateRule,
    *,
    dimension: int,
    ridge: float = 0.001,
    solver: Solver = "auto",
    progress: Progress = no_progress,
) -> tuple[OutlierPath, float]:
    """Follow the path as far as a fixed rate or a rule needs, and say the rate it gives.

    Parameters
    ----------
    prune
        A share of the edges, or a rule: "bic" and "aic" minimise an information criterion along
        the path, "sigma" stops at lambda = 2.5 sigma, sigma from the median residual.
    dimension
        Dimension of the space in which outliers can show, |E| - rank X.
    """
    if not isinstance(prune, str):
        path = outlier_path(graph, rate=prune, ridge=ridge, solver=solver, progress=progress)
        return path, prune
    floor = 2.5 * residual_scale(graph, ridge=ridge) if prune == "sigma" else 0.0
    path = outlier_path(
        graph, rate=LARGEST_RATE, floor=floor, ridge=ridge, solver=solver, progress=progress
    )
    if prune == "sigma":
        count = int(np.count_nonzero(path.entry >= floor)) if floor > 0 else 0
    else:
        count = information_choice(path, prune, dimension=dimension)
        count = min(count, int(LARGEST_RATE * graph.n_edges))
    return path, count / graph.n_edges


def residual_scale(graph: ComparisonGraph, *, ridge: float = 0.001) -> float:
    """Sigma of the least-squares residuals by their median: 1.4826 median |r|."""
    beta = ridge_coefficients(graph, ridge=ridge)
    residual = graph.target - graph.margins(graph.scores(beta))
    return float(1.4826 * np.median(np.abs(residual)))


def information_choice(
    path: OutlierPath, criterion: Literal["bic", "aic"], *, dimension: int
) -> int:
    """Number of edges entered where the criterion is lowest along the path; 0 is least squares.

    BIC is m log(RSS / m) + (k + 1)(log m + 1), AIC m log(RSS / m) + 2 (k + 1), with k outliers,
    m the dimension of the space in which outliers can show and RSS that of the LASSO itself.
    """
    trace = path.trace
    if dimension <= 0:
        return 0
    m = float(dimension)
    loss = m * np.log(np.maximum(trace.rss, 1e-300) / m)
    per_outlier = np.log(m) + 1.0 if criterion == "bic" else 2.0
    value: Floats = loss + (trace.n_outliers + 1) * per_outlier
    return int(trace.n_entered[int(np.argmin(value))])


_CANDIDATES = (0.05, 0.1, 0.15, 0.2, 0.3)
_FOLDS = 5


def held_out_rate(
    search: ComparisonGraph,
    ranked: ComparisonGraph,
    say: Floats,
    *,
    search_ridge: float,
    ridge: float,
    solver: Solver = "auto",
    rng: np.random.Generator,
    progress: Progress = no_progress,
) -> float:
    """Rate that best predicts held-out votes, if better than none by one standard error, else 0.

    Pairs are dealt into five folds; each fold's votes are predicted by a path and a ridge fit on
    the others. Agreement needs no outlier variable of the held-out vote. The standard error is that
    of the difference to no pruning, edge by edge.

    Parameters
    ----------
    search, ranked
        The same edges in the space of the outlier search and of the ranking function.
    say
        (n_edges,) weight of an edge in the judgement; every annotator should have the same in all.
    """
    n = ranked.n_items
    first, second = np.minimum(ranked.winner, ranked.loser), np.maximum(ranked.winner, ranked.loser)
    pair = np.unique(first.astype(np.int64) * n + second, return_inverse=True)[1]
    fold = (rng.permutation(int(pair.max()) + 1) % _FOLDS)[pair]
    decided = ranked.target == 1.0
    agrees = np.zeros((1 + len(_CANDIDATES), ranked.n_edges))
    for held in range(_FOLDS):
        progress("choosing the share to prune", held / _FOLDS)
        out = fold == held
        if not (decided & ~out).any() or not out.any():
            return 0.0
        path = outlier_path(
            search.keep(~out), rate=_CANDIDATES[-1], ridge=search_ridge, solver=solver
        )
        train = ranked.keep(~out)
        for k, rate in enumerate((0.0, *_CANDIDATES)):
            kept = train.keep(~path.pruned(rate))
            beta = ridge_coefficients(kept, ridge=ridge)
            agrees[k, out] = np.sign(ranked.margins(ranked.scores(beta)))[out]
    weight = np.where(decided, say, 0.0)
    gain = (agrees[1:] - agrees[0]) @ weight
    best = int(np.argmax(gain))
    difference = weight * (agrees[1 + best] - agrees[0])
    error = float(np.sqrt(np.sum((difference - difference.mean()) ** 2)))
    return _CANDIDATES[best] if gain[best] > error else 0.0
