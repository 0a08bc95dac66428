"""Baselines of the study alone; users import those of `urlr.baselines`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from urlr.arrays import Floats, Mask
from urlr.baselines import bradley_terry
from urlr.graph import ComparisonGraph

N_FOLDS = 5
REGRESSION_RIDGES: Floats = np.logspace(-3, 3, 13)
"""Times the number of items."""
STRENGTH_RIDGES = (0.1, 0.3, 1.0)


def share_regression(graph: ComparisonGraph, *, rng: np.random.Generator) -> Floats:
    """Coefficients of Maj-Vot-2: every item's share of wins regressed on its features.

    The ridge is tuned on items left out, by the squared error of their shares.
    """
    features = _features(graph)
    n = graph.n_items
    decided = graph.target > 0
    wins = np.bincount(graph.winner[decided], graph.weight[decided], n)
    losses = np.bincount(graph.loser[decided], graph.weight[decided], n)
    judged = wins + losses > 0
    share = wins[judged] / (wins + losses)[judged]
    rows = features[judged]
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

    Both ridges are tuned together by the log loss of votes on items left out.
    """
    features = _features(graph)
    loss = np.zeros(len(STRENGTH_RIDGES) * REGRESSION_RIDGES.size)
    for train, held in _item_folds(graph, rng):
        kept = graph.keep(train)
        fits = [fit for ridge in STRENGTH_RIDGES for fit in _strengths_regressed(kept, ridge)]
        margins = (features @ np.column_stack(fits))[graph.winner[held]]
        margins -= (features @ np.column_stack(fits))[graph.loser[held]]
        loss += graph.weight[held] @ np.logaddexp(0.0, -margins)
    of_strengths, of_regression = divmod(int(np.argmin(loss)), REGRESSION_RIDGES.size)
    return _strengths_regressed(graph, STRENGTH_RIDGES[of_strengths])[of_regression]


def _strengths_regressed(graph: ComparisonGraph, ridge: float) -> list[Floats]:
    """Per ridge of the regression, its coefficients.

    Votes do not say how unconnected groups of items compare: the regression is within groups.
    """
    features = _features(graph)
    votes = pd.DataFrame({"winner": graph.winner, "loser": graph.loser, "weight": graph.weight})
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
        raise ValueError("a regression needs item features")
    return graph.features
