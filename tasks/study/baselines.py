"""Baselines of the study alone; users import those of `urlr.baselines`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from tasks.messages import message
from urlr.arrays import Floats, Ints, Mask
from urlr.baselines import bradley_terry, win_shares
from urlr.errors import ArgumentError
from urlr.graph.comparisons import ComparisonGraph
from urlr.paper.ridge import ridge_coefficients

N_FOLDS = 5
REGRESSION_RIDGES: Floats = np.logspace(-3, 3, 13)
"""Times the number of items."""
STRENGTH_RIDGES = (0.1, 0.3, 1.0)


def share_regression(graph: ComparisonGraph, *, rng: np.random.Generator) -> Floats:
    """Coefficients of Maj-Vot-2: every item's share of wins regressed on its features.

    The ridge is tuned on items left out, by the squared error of their shares.
    """
    shares = win_shares(graph)
    judged = ~np.isnan(shares)
    share, rows = shares[judged], _features(graph)[judged]
    fold = rng.permutation(len(rows)) % N_FOLDS
    loss = np.zeros(REGRESSION_RIDGES.size)
    for held in range(N_FOLDS):
        out = fold == held
        centre, level = rows[~out].mean(axis=0), share[~out].mean()
        for k, beta in enumerate(_regressed(rows[~out] - centre, share[~out] - level)):
            loss[k] += float(np.sum((share[out] - level - (rows[out] - centre) @ beta) ** 2))
    fits = _regressed(rows - rows.mean(axis=0), share - share.mean())
    return fits[int(np.argmin(loss))]


def bradley_terry_regression(graph: ComparisonGraph, *, rng: np.random.Generator) -> Floats:
    """Coefficients of Bradley-Terry strengths regressed on the features.

    Both ridges are tuned together by the log loss of votes on items left out; a tie is half a vote
    each way.
    """
    features = _features(graph)
    tie = graph.target == 0
    loss = np.zeros(len(STRENGTH_RIDGES) * REGRESSION_RIDGES.size)
    for train, held in _item_folds(graph, rng):
        kept = graph.keep(train)
        fits = [fit for ridge in STRENGTH_RIDGES for fit in _strengths_regressed(kept, ridge)]
        margins = (features @ np.column_stack(fits))[graph.winner[held]]
        margins -= (features @ np.column_stack(fits))[graph.loser[held]]
        halved = 0.5 * tie[held, None] * margins
        loss += graph.weight[held] @ (np.logaddexp(0.0, -margins) + halved)
    of_strengths, of_regression = divmod(int(np.argmin(loss)), REGRESSION_RIDGES.size)
    return _strengths_regressed(graph, STRENGTH_RIDGES[of_strengths])[of_regression]


def _strengths_regressed(graph: ComparisonGraph, ridge: float) -> list[Floats]:
    """Per ridge of the regression, its coefficients.

    Votes do not say how unconnected groups of items compare: the regression is within groups.
    """
    features = _features(graph)
    votes = pd.DataFrame(
        {
            "item_a": graph.winner,
            "item_b": graph.loser,
            "outcome": np.where(graph.target == 0, "tie", "a"),
            "weight": graph.weight,
        }
    )
    strengths = bradley_terry(votes, ridge=ridge)
    group = pd.Series(graph.components()[strengths.index.to_numpy(np.int64)], strengths.index)
    rows = pd.DataFrame(features[strengths.index.to_numpy(np.int64)], index=strengths.index)
    x = (rows - rows.groupby(group).transform("mean")).to_numpy()
    y = (strengths - strengths.groupby(group).transform("mean")).to_numpy()
    return _regressed(x, y)


def _regressed(rows: Floats, target: Floats) -> list[Floats]:
    """Ridge regression for each of `REGRESSION_RIDGES`."""
    values, vectors = np.linalg.eigh(rows.T @ rows)
    pull = vectors.T @ (rows.T @ target)
    return [
        vectors @ (pull / (np.maximum(values, 0.0) + relative * target.size))
        for relative in REGRESSION_RIDGES
    ]


def _item_folds(graph: ComparisonGraph, rng: np.random.Generator) -> Iterator[tuple[Mask, Mask]]:
    """Five times: edges that leave a fifth of the items out, and those that do not."""
    fold = rng.permutation(graph.n_items) % N_FOLDS
    for k in range(N_FOLDS):
        touched = (fold[graph.winner] == k) | (fold[graph.loser] == k)
        if touched.any() and not touched.all():
            yield ~touched, touched


def _features(graph: ComparisonGraph) -> Floats:
    if graph.features is None:
        raise ArgumentError(message("regression_without_features"))
    return graph.features


GAMMAS = (0.1, 0.3, 1.0, 3.0)
"""Widths of the Gaussian kernel tried, divided by twice the number of features."""


def kernel_ridge_scores(
    values: Floats, graph: ComparisonGraph, compared: Ints, *, rng: np.random.Generator
) -> Floats:
    """(n_items,) scores of all items by kernel ridge regression on pairs, with a Gaussian kernel.

        minimise  sum_e w_e (1 - f(x_i) + f(x_j))^2 + mu |f|^2

    Width and ridge are tuned together by the squared error of votes on items left out.

    Parameters
    ----------
    values : (n_items, n_features)
        Standardised features of all items.
    graph
        The pairs.
    compared : (n_compared,)
        Rows of `values` that the graph's items are.
    """
    folds = list(_item_folds(graph, rng))
    best, chosen = np.inf, None
    for gamma in GAMMAS:
        mapped = _kernel_features(values, compared, gamma / (2 * values.shape[1]))
        here = graph.with_features(mapped[compared])
        for ridge in np.logspace(-4, 2, 7):
            loss = 0.0
            for train, held in folds:
                beta = ridge_coefficients(here.keep(train), ridge=float(ridge))
                kept = here.keep(held)
                loss += float(kept.weight @ (1 - kept.margins(kept.scores(beta))) ** 2)
            if loss < best:
                best, chosen = loss, (mapped, here, float(ridge))
    if chosen is None:
        raise ArgumentError(message("pairs_on_one_side_only"))
    mapped, here, ridge = chosen
    return np.asarray(mapped @ ridge_coefficients(here, ridge=ridge))


def _kernel_features(values: Floats, compared: Ints, gamma: float) -> Floats:
    """(n_items, n_compared) features whose products are the kernel's values."""
    kernel = np.exp(-gamma * cdist(values[compared], values[compared], "sqeuclidean"))
    size, vectors = np.linalg.eigh(kernel)
    kept = size > 1e-8 * size[-1]
    whitening = vectors[:, kept] / np.sqrt(size[kept])
    return np.asarray(np.exp(-gamma * cdist(values, values[compared], "sqeuclidean")) @ whitening)
