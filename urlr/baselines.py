"""What the method is compared with: raw votes, majority voting, Huber-LASSO-FL, Bradley-Terry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from urlr.arrays import Floats, Mask
from urlr.errors import ConvergenceError, VoteError
from urlr.fitting import fit
from urlr.graph.comparisons import ComparisonGraph, comparison_graph, graph_of
from urlr.graph.laplacian import solve_laplacian
from urlr.ids import positions
from urlr.messages import message
from urlr.paper.ranking import Ranking, ranking_coefficients, tuned_ridge
from urlr.paper.ridge import ridge_solve
from urlr.space.maps import original_space
from urlr.space.table import feature_table
from urlr.votes.table import vote_table

Ridge = float | str
_BT_STEPS = 100


def raw(
    votes: pd.DataFrame,
    features: pd.DataFrame,
    *,
    ranking: Ranking = "ridge",
    ridge: Any = "tuned",
    seed: int = 0,
) -> pd.Series[Any]:
    """Raw: the ranking function fitted on all votes, nothing pruned; scores by item."""
    ranker = fit(
        votes, features, method="paper", prune=0.0, ranking=ranking, ridge=ridge, seed=seed
    )
    return ranker.score(features)


def huber_lasso_fl(
    votes: pd.DataFrame,
    features: pd.DataFrame,
    *,
    prune: float = 0.2,
    ridge: Any = "tuned",
    seed: int = 0,
) -> pd.Series[Any]:
    """Huber-LASSO-FL: outliers found without features, then the ranking function fitted."""
    ranker = fit(
        votes,
        features,
        method="paper",
        prune=prune,
        outlier_space="items",
        ridge=ridge,
        seed=seed,
    )
    return ranker.score(features)


def majority_vote_svm(
    votes: pd.DataFrame, features: pd.DataFrame, *, ridge: Any = "tuned", seed: int = 0
) -> pd.Series[Any]:
    """Maj-Vot-1: the minority of every pair dropped, then RankSVM; scores by item."""
    graph, mapped, items = _in_features(votes, features)
    kept = _majority_graph(graph)
    rng = np.random.default_rng(seed)
    mu = tuned_ridge(kept, rng=rng, ranking="svm") if ridge == "tuned" else float(ridge)
    beta = ranking_coefficients(kept, ranking="svm", ridge=mu)
    return pd.Series(mapped @ beta, index=items, name="score")


def majority_vote_regression(
    votes: pd.DataFrame, features: pd.DataFrame, *, ridge: float = 1.0
) -> pd.Series[Any]:
    """Maj-Vot-2: majority, then each item's share of wins regressed on its features.

    Items left without votes take no part in the regression.
    """
    graph, mapped, items = _in_features(votes, features)
    kept = _majority_graph(graph)
    shares = win_shares(kept)
    judged = ~np.isnan(shares)
    share = shares[judged]
    rows = mapped[positions(items, graph.items)[judged]]
    centre = rows.mean(axis=0)
    centred = rows - centre
    beta = ridge_solve(centred.T @ centred, centred.T @ (share - share.mean()), ridge)
    return pd.Series((mapped - centre) @ beta + share.mean(), index=items, name="score")


def win_shares(graph: ComparisonGraph) -> Floats:
    """(n_items,) share of wins among the decided votes on each item; NaN without any."""
    decided, n = graph.target > 0, graph.n_items
    wins = np.bincount(graph.winner[decided], graph.weight[decided], n)
    judged = wins + np.bincount(graph.loser[decided], graph.weight[decided], n)
    shares: Floats = np.divide(wins, judged, out=np.full(n, np.nan), where=judged > 0)
    return shares


def bradley_terry(
    votes: pd.DataFrame, *, ridge: float = 0.001, tolerance: float = 1e-9
) -> pd.Series[Any]:
    """Bradley-Terry strengths (log scale, mean 0) of the compared items, ties as half a win each.

        maximise  sum_e w_e log sigmoid(theta_i - theta_j) - mu/2 |theta|^2

    The small ridge keeps items that never won or never lost finite.
    """
    graph = comparison_graph(votes)
    tie = graph.target == 0
    win_weight = np.where(tie, 0.5 * graph.weight, graph.weight)
    loss_weight = np.where(tie, 0.5 * graph.weight, 0.0)
    theta = np.zeros(graph.n_items)
    goal = tolerance * max(1.0, float(graph.weight.sum()) / graph.n_items)

    def gradient_at(scores: Any) -> Any:
        probability = expit(graph.margins(scores))
        return (
            graph.pull(win_weight * (1 - probability) - loss_weight * probability) - ridge * scores
        )

    gradient = gradient_at(theta)
    for _ in range(_BT_STEPS):
        if float(np.abs(gradient).max()) <= goal:
            return pd.Series(theta - theta.mean(), index=graph.items.rename("item"), name="score")
        probability = expit(graph.margins(theta))
        curvature = graph.weight * probability * (1 - probability)
        step = solve_laplacian(
            graph.winner, graph.loser, curvature, gradient, ridge=ridge, tolerance=1e-6
        )
        length = 1.0
        moved = gradient_at(theta + step)
        # The likelihood is concave: shorten while the slope along the step has turned around.
        while float(moved @ step) < -0.5 * float(gradient @ step) and length > 1e-6:
            length *= 0.5
            moved = gradient_at(theta + length * step)
        theta, gradient = theta + length * step, moved
    size = float(np.abs(gradient).max())
    raise ConvergenceError(
        message("bradley_terry_unsettled", gradient=size, tolerance=goal, n_steps=_BT_STEPS)
    )


def majority(graph: ComparisonGraph) -> Mask:
    """(n_edges,) edges that outweigh the opposite direction; ties stay, equal pairs go."""
    n = graph.n_items
    key = graph.winner.astype(np.int64) * n + graph.loser
    opposite = graph.loser.astype(np.int64) * n + graph.winner
    tie = graph.target == 0
    decided = np.flatnonzero(~tie)
    place = np.searchsorted(key[decided], opposite[decided])
    place = np.minimum(place, decided.size - 1)
    found = key[decided][place] == opposite[decided]
    against = np.where(found, graph.weight[decided][place], 0.0)
    keep: Mask = np.asarray(tie, np.bool_).copy()
    keep[decided] = graph.weight[decided] > against
    return keep


def _majority_graph(graph: ComparisonGraph) -> ComparisonGraph:
    kept = graph.keep(majority(graph))
    if not kept.target.any():
        raise VoteError(message("no_majority"))
    return kept


def _in_features(
    votes: pd.DataFrame, features: pd.DataFrame
) -> tuple[ComparisonGraph, Any, pd.Index[Any]]:
    """Graph in the original space, and that space for every item of the table."""
    table = feature_table(features)
    graph = graph_of(vote_table(votes, known_items=table.items))
    values = table.values[positions(table.items, graph.items)]
    space = original_space(values, table.columns)
    return graph.with_features(space.map(values)), space.map(table.values), table.items
