"""What would have come of other shares of the votes set aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from urlr.arrays import Floats, Ints
from urlr.diagnostics.intervals import share_interval
from urlr.diagnostics.rejudging import MOST_VOTES, judgement_of, read_votes, sampled
from urlr.errors import ArgumentError, VoteError
from urlr.ids import positions, sorted_uniques
from urlr.messages import message
from urlr.metrics import kendall_tau_b
from urlr.model.resampling import ranks_of
from urlr.ranker import Ranker
from urlr.settings import FitSettings
from urlr.space.table import feature_table
from urlr.votes.ballots import Ballots, ballots_of
from urlr.votes.table import voted_ids

SHARES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""Tried beside the one that was chosen, of the votes of all but groups that act together, which are
set aside at every share."""
TOP = 10


@dataclass(frozen=True, slots=True)
class Explorer:
    """What comes of each share, rising from 0: one row each."""

    share: Floats
    """(n_shares,) of the votes, or in the paper of the edges."""
    n_pruned: Ints
    """(n_shares,) train votes set aside."""
    agreement: Floats
    """(n_shares,) share of the held-out votes that the ranking predicts; equal scores count one
    half."""
    low: Floats
    """(n_shares,) ends of the 90 % interval, the votes on a pair standing or falling together."""
    high: Floats
    items: pd.Index[Any]
    """(n_items,) those of the train votes and, where features say something of them, of the
    held-out votes."""
    top: Ints
    """(n_shares, 10 or n_items) the best items, as positions in `items`."""
    tau_chosen: Floats
    """(n_shares,) Kendall tau-b with the ranking at the share chosen."""
    chosen: float
    n_held_out: int
    """Decided votes that the agreement rests on."""
    n_train: int
    """Votes that the rankings rest on."""
    n_turned: int
    """Train votes that are read the other way round, at every share."""


def explore(
    train: pd.DataFrame,
    held_out: pd.DataFrame,
    features: pd.DataFrame | None,
    settings: FitSettings,
    *,
    chosen: float,
    like: Ranker | None = None,
) -> Explorer:
    """Rank by the train votes at many shares, and hold each ranking against held-out votes.

    Votes are judged once; each share is then a refit that starts from the one before. Groups that
    act together, where their votes do not count, are not asked about held-out votes either.

    Parameters
    ----------
    train, held_out
        Votes to learn from, and votes to be predicted.
    chosen
        The share that was chosen, to be marked; tried as well.
    like
        A fit to the train votes, whose feature space and ridge are taken: it saves half of the
        time. None chooses them anew, on the train votes.

    Raises
    ------
    VoteError
        If the train votes cannot be ranked, or none of the held-out votes can be predicted.
    FeatureError, ConvergenceError
        As a fit would.
    """
    if not 0.0 <= chosen < 1.0:
        raise ArgumentError(message("not_a_share", name="chosen", value=chosen))
    rng = np.random.default_rng(settings.seed)
    with threadpool_limits(limits=1):
        table = None if features is None else feature_table(features, known=voted_ids(train))
        read = read_votes(sampled(train, MOST_VOTES, rng), table, settings)
        furthest = max(SHARES[-1], chosen)
        judged = judgement_of(read, table, settings, furthest=furthest, like=like)
        least = float(judged.left_out.mean())
        chosen = max(chosen, least)
        shares = np.unique([*(least + (1.0 - least) * np.array(SHARES)), chosen])
        asked = read_votes(held_out, table, settings)
        every = read.items if table is None else _either(read.items, asked.items)
        scores = np.stack([*judged.rankings(shares.tolist(), every, table)])
    ballots = ballots_of(asked).without(judged.not_heard)
    predicted = _predicted_by(ballots, positions(every, asked.items), scores)
    agreement, low, high = predicted.figures.T
    own = scores[int(np.searchsorted(shares, chosen))]
    top = np.argsort(np.stack([ranks_of(row) for row in scores]), axis=1, kind="stable")
    return Explorer(
        share=shares,
        n_pruned=np.array([judged.n_set_aside(share) for share in shares.tolist()], np.int64),
        agreement=agreement,
        low=low,
        high=high,
        items=every,
        top=np.asarray(top[:, :TOP], np.int64),
        tau_chosen=np.array([_tau(row, own) for row in scores]),
        chosen=chosen,
        n_held_out=predicted.n_votes,
        n_train=judged.ballots.rows.n_rows,
        n_turned=judged.n_turned,
    )


@dataclass(frozen=True, slots=True)
class _Agreement:
    n_votes: int
    figures: Floats
    """(n_shares, 3) agreement, low and high."""


def _predicted_by(ballots: Ballots, place: Ints, scores: Floats) -> _Agreement:
    """How well scores, one row per share, predict the decided ones of these votes."""
    winner, loser = place[ballots.rows.winner], place[ballots.rows.loser]
    known = ~ballots.tie & (winner >= 0) & (loser >= 0)
    if not known.any():
        raise VoteError(message("no_predictable_vote", n_votes=known.size))
    winner, loser, weight = winner[known], loser[known], ballots.weight[known]
    first, second = np.minimum(winner, loser), np.maximum(winner, loser)
    pair = np.unique(first * scores.shape[1] + second, return_inverse=True)[1].astype(np.int64)
    figures = []
    for row in scores:
        right = 0.5 + 0.5 * np.sign(row[winner] - row[loser])
        one = share_interval(right, weight, pair)
        figures.append((one.value, one.low, one.high))
    return _Agreement(winner.size, np.array(figures))


def _either(first: pd.Index[Any], second: pd.Index[Any]) -> pd.Index[Any]:
    """Items of one or the other, in their fixed order."""
    return sorted_uniques(first.append(second))[1]


def _tau(scores: Floats, own: Floats) -> float:
    """Kendall tau-b; 1 for the same order, 0 where all scores of one are the same."""
    if np.array_equal(scores, own):
        return 1.0
    if np.ptp(scores) == 0 or np.ptp(own) == 0:
        return 0.0
    return kendall_tau_b(scores, own)
