"""The ridge of every least-squares and RankSVM method of the study, tuned alike.

A ranking does not care how large its scores are. Squared error does: it asks for a smaller ridge
than the order of the items wants (on images often 1 instead of 3 times the mean diagonal of X'X,
and a distance up to .02 higher in three trials). So the measure is the correlation of held-out
votes with the differences of scores.
"""

from __future__ import annotations

import numpy as np

from urlr.arrays import Floats, Ints
from urlr.graph.comparisons import ComparisonGraph
from urlr.paper.ranking import Ranking, rank_svm_coefficients, ranking_coefficients

RIDGES: Floats = np.logspace(-3, 2, 11)
"""Candidates for least squares, times the mean diagonal of X'X. With whole decades only, Raw lost
up to .03 in distance on images."""
AROUND: Floats = np.logspace(-1, 1, 5)
"""Candidates for RankSVM, times the ridge that least squares is best with on the same votes."""
N_FOLDS = 5
_TOLERANCE = 1e-5


def tuned_ridge(graph: ComparisonGraph, *, ranking: Ranking, rng: np.random.Generator) -> float:
    """Ridge whose scores best foretell the order of votes on items left out."""
    fold = rng.permutation(graph.n_items) % N_FOLDS
    scale = float(np.diag(graph.gram(np.ones(graph.n_edges, np.bool_))).mean())
    best = _best(graph, RIDGES * scale, "ridge", fold)
    return best if ranking == "ridge" else _best(graph, AROUND * best, "svm", fold)


def _best(graph: ComparisonGraph, candidates: Floats, ranking: Ranking, fold: Ints) -> float:
    agreement, length = np.zeros(candidates.size), np.zeros(candidates.size)
    for held in range(N_FOLDS):
        touched = (fold[graph.winner] == held) | (fold[graph.loser] == held)
        if touched.all() or not touched.any():
            continue
        train, test = graph.keep(~touched), graph.keep(touched)
        for k, beta in enumerate(_fits(train, candidates, ranking)):
            margins = test.margins(test.scores(beta))
            agreement[k] += float(test.weight @ (test.target * margins))
            length[k] += float(test.weight @ margins**2)
    correlation = np.where(agreement > 0, agreement / np.sqrt(np.maximum(length, 1e-300)), 0.0)
    return float(candidates[int(np.argmax(correlation))])


def _fits(train: ComparisonGraph, candidates: Floats, ranking: Ranking) -> list[Floats]:
    if ranking == "ridge":
        gram = train.gram(np.ones(train.n_edges, np.bool_))
        values, vectors = np.linalg.eigh(gram)
        pull = vectors.T @ train.project(train.pull(train.weight * train.target))
        return [vectors @ (pull / (np.maximum(values, 0.0) + mu)) for mu in candidates]
    fits: list[Floats] = []
    start = ranking_coefficients(train, ridge=float(candidates[-1]))
    for mu in candidates[::-1]:
        start = rank_svm_coefficients(train, ridge=float(mu), tolerance=_TOLERANCE, start=start)
        fits.append(start)
    return fits[::-1]
