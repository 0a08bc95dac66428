"""The ranking function, fitted on the votes that are kept, in the original feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from urlr.arrays import Floats, Mask
from urlr.errors import ConvergenceError, FeatureError, VoteError
from urlr.graph.comparisons import ComparisonGraph
from urlr.messages import message
from urlr.paper.ridge import gradient_scale, ridge_coefficients, ridge_solve

Ranking = Literal["ridge", "svm"]

_FOLDS = 5
_CANDIDATES = np.logspace(-6, 2, 17)  # times the mean diagonal of X'X
_SVM_ITERATIONS = 200


def ranking_coefficients(
    graph: ComparisonGraph,
    *,
    ranking: Ranking = "ridge",
    ridge: float = 0.001,
    edges: Mask | None = None,
) -> Floats:
    """Fit the ranking function to some edges of the graph, or all, by Eq. beta_RP or by RankSVM."""
    if ranking == "ridge":
        return ridge_coefficients(graph, ridge=ridge, edges=edges)
    return rank_svm_coefficients(graph if edges is None else graph.keep(edges), ridge=ridge)


def rank_svm_coefficients(
    graph: ComparisonGraph,
    *,
    ridge: float = 0.001,
    tolerance: float = 1e-9,
    start: Floats | None = None,
) -> Floats:
    """RankSVM with the squared hinge loss, by Newton steps (Chapelle & Keerthi 2010).

        minimise  1/2 sum_e w_e max(0, 1 - x_e'beta)^2 + mu/2 |beta|^2

    with 1/2 w_e (x_e'beta)^2 for ties, as Parikh & Grauman (2011) treat pairs called similar.

    Raises
    ------
    FeatureError
        Without features.
    """
    if graph.features is None:
        raise FeatureError(message("svm_graph_without_features"))
    tie = graph.target == 0
    everything = np.ones(graph.n_edges, np.bool_)
    goal = tolerance * float(gradient_scale(graph, graph.gram(everything)).max())
    beta = np.zeros(graph.n_features) if start is None else start
    for _ in range(_SVM_ITERATIONS):
        margins = graph.margins(graph.scores(beta))
        active = tie | (margins < 1.0)
        residual = np.where(active, graph.target - margins, 0.0)
        gradient = ridge * beta - graph.project(graph.pull(graph.weight * residual))
        if float(np.abs(gradient).max()) <= goal:
            return beta
        step = ridge_solve(graph.gram(active), -gradient, ridge)
        beta = beta + _convex_step(graph, tie, margins, beta, step, ridge) * step
    size = float(np.abs(gradient).max())
    raise ConvergenceError(
        message("svm_unsettled", gradient=size, tolerance=goal, n_steps=_SVM_ITERATIONS)
    )


def _convex_step(
    graph: ComparisonGraph,
    tie: np.ndarray[tuple[int], np.dtype[np.bool_]],
    margins: Floats,
    beta: Floats,
    step: Floats,
    ridge: float,
) -> float:
    """Length in (0, 1] at which the loss along the step is nearly lowest, by bisection."""
    change = graph.margins(graph.scores(step))

    def slope(length: float) -> float:
        moved = margins + length * change
        residual = np.where(tie | (moved < 1.0), graph.target - moved, 0.0)
        return float(ridge * (beta + length * step) @ step - (graph.weight * residual) @ change)

    end = slope(1.0)
    if end <= 0:
        return 1.0
    steep = -0.1 * slope(0.0)
    low, high = 0.0, 1.0
    while end > steep and high - low > 1e-12:
        middle = 0.5 * (low + high)
        at = slope(middle)
        if at <= 0:
            low = middle
        else:
            high, end = middle, at
    return high


def tuned_ridge(
    graph: ComparisonGraph, *, rng: np.random.Generator, ranking: Ranking = "ridge"
) -> float:
    """Ridge whose scores best predict votes on items left out of the fit.

    Items, not votes, are dealt into five folds: a fold's votes are those that touch one of its
    items, and the fit sees the others. Vote-wise folds would let a campaign or an overfitted item
    validate itself. The measure is the weighted squared error of the held-out votes.

    Raises
    ------
    VoteError
        When no fold leaves votes on both sides.
    """
    if graph.features is None:
        raise FeatureError(message("tuning_without_features"))
    everything = np.ones(graph.n_edges, np.bool_)
    whole = _Moments.of(graph, everything)
    candidates = _CANDIDATES * float(np.diag(whole.gram).mean())
    fold = rng.permutation(graph.n_items) % min(_FOLDS, graph.n_items)
    loss = np.zeros(candidates.size)
    for held in range(int(fold.max()) + 1):
        train = (fold[graph.winner] != held) & (fold[graph.loser] != held)
        if train.all() or not train.any():
            continue
        seen = _Moments.of(graph, train)
        fits = (
            seen.fits(candidates)
            if ranking == "ridge"
            else _svm_fits(graph.keep(train), candidates)
        )
        loss += [whole.loss(beta) - seen.loss(beta) for beta in fits]
    if not loss.any():
        raise VoteError(message("too_few_to_tune", n_edges=graph.n_edges, n_items=graph.n_items))
    return float(candidates[int(np.argmin(loss))])


def _svm_fits(train: ComparisonGraph, candidates: Floats) -> list[Floats]:
    fits: list[Floats] = []
    for mu in candidates[::-1]:
        start = fits[-1] if fits else None
        fits.append(rank_svm_coefficients(train, ridge=float(mu), tolerance=1e-6, start=start))
    return fits[::-1]


@dataclass(frozen=True, slots=True)
class _Moments:
    """All that least squares knows of some edges: a squared error on others is a difference."""

    gram: Floats
    pull: Floats
    total: float

    @staticmethod
    def of(graph: ComparisonGraph, edges: Mask) -> _Moments:
        pull = graph.weight * graph.target * edges
        return _Moments(
            graph.gram(edges), graph.project(graph.pull(pull)), float(pull @ graph.target)
        )

    def loss(self, beta: Floats) -> float:
        """Sum over the edges of w (y - x'beta)^2."""
        return self.total - 2.0 * float(beta @ self.pull) + float(beta @ self.gram @ beta)

    def fits(self, candidates: Floats) -> list[Floats]:
        values, vectors = np.linalg.eigh(self.gram)
        pull = vectors.T @ self.pull
        return [vectors @ (pull / (np.maximum(values, 0.0) + mu)) for mu in candidates]
