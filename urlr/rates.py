"""How many edges to prune when nobody says: the rules the paper compares and finds wanting."""

from __future__ import annotations

from typing import Literal

import numpy as np

from urlr.arrays import Floats, Progress, no_progress
from urlr.graph import ComparisonGraph
from urlr.path import OutlierPath, Solver, outlier_path
from urlr.ridge import ridge_coefficients

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
    """Number of edges entered where the criterion is lowest along the path, 0 if before any.

    BIC is m log(RSS / m) + (k + 1)(log m + 1), AIC m log(RSS / m) + 2 (k + 1), with k outliers,
    m the dimension of the space in which outliers can show and RSS that of the LASSO itself.
    """
    trace = path.trace
    if trace.penalty.size == 0 or dimension <= 0:
        return 0
    m = float(dimension)
    loss = m * np.log(np.maximum(trace.rss, 1e-300) / m)
    per_outlier = np.log(m) + 1.0 if criterion == "bic" else 2.0
    value: Floats = loss + (trace.n_outliers + 1) * per_outlier
    return int(trace.n_entered[int(np.argmin(value))])
