"""How far a ranking is from the votes, from the truth, and how well suspicion finds wrong votes.

Two meanings of "Kendall" live here side by side: against *votes* (`kendall_distance`,
`kendall_tau`, `held_out_agreement`), and against a table of *true scores* (`tau_distance`,
`tau_b`, `tau_top`).
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pandas as pd

from urlr.arrays import Floats, Ints, Mask
from urlr.errors import ArgumentError, VoteError
from urlr.ids import positions, read_ids
from urlr.messages import message
from urlr.spelling import clean_column
from urlr.votes.table import OUTCOMES, read_outcomes

Weigh = Literal["votes", "annotators"]
"""Whether every vote counts by its weight, or every annotator counts the same."""


def kendall_distance(
    scores: pd.Series[Any], votes: pd.DataFrame, *, weigh: Weigh = "votes"
) -> float:
    """Weighted share of decisive votes that the scores order wrongly; equal scores count one half.

    Parameters
    ----------
    scores
        Score by item; an item whose score is NaN counts as having none.
    votes
        Columns `winner`, `loser`, or `item_a`, `item_b`, `outcome`, and optionally `weight` (1 if
        absent) and `annotator`. Ties and skips are left out; so are, of the verdicts of a fit,
        all rows that were not used.
    weigh
        "annotators" gives each annotator total weight 1, so that nobody wins by voting often.
        Votes without a name then count together as one annotator.

    Raises
    ------
    VoteError
        If no decisive vote has weight, a voted item has no score, a vote compares an item with
        itself, a weight is negative or not finite, or annotators are asked for and not there.
    """
    decisive = _decisive(votes)
    weights = _weights(decisive, weigh)
    known = scores.dropna()
    items = scored_items(known, "score")
    winner, loser = _places(items, decisive["winner"]), _places(items, decisive["loser"])
    absent = (winner < 0) | (loser < 0)
    if absent.any():
        names = pd.concat([decisive["winner"][winner < 0], decisive["loser"][loser < 0]]).unique()
        raise VoteError(
            message(
                "votes_on_unscored_items",
                count=int(absent.sum()),
                n_votes=len(decisive),
                n_items=len(names),
                items=list(names),
            )
        )
    if (same := int(np.count_nonzero(winner == loser))) > 0:
        raise VoteError(message("self_comparisons", count=same, n_votes=len(decisive)))
    values = known.to_numpy(np.float64)
    won, lost = values[winner], values[loser]
    wrong = np.where(won == lost, 0.5, won < lost)
    return min(1.0, float(wrong @ weights) / float(weights.sum()))


def kendall_tau(scores: pd.Series[Any], votes: pd.DataFrame, *, weigh: Weigh = "votes") -> float:
    """Agreement with the votes from -1 to 1: `1 - 2 * kendall_distance`."""
    return 1.0 - 2.0 * kendall_distance(scores, votes, weigh=weigh)


def held_out_agreement(
    scores: pd.Series[Any], votes: pd.DataFrame, *, weigh: Weigh = "votes"
) -> float:
    """Weighted share of decisive votes that the scores order rightly: `1 - kendall_distance`."""
    return 1.0 - kendall_distance(scores, votes, weigh=weigh)


def tau_b(scores: pd.Series[Any], truth: pd.Series[Any]) -> float:
    """Kendall's tau-b over the items that have both a score and a true score.

    Scores that are all equal say nothing and get 0.

    Raises
    ------
    VoteError
        If fewer than two items have both, or the truth is the same for all of them.
    """
    return _tau_b(*_common(scores, truth))


def tau_distance(scores: pd.Series[Any], truth: pd.Series[Any]) -> float:
    """Share of the pairs with different truth that are ordered wrongly; equal scores count half.

    With `T` such pairs, `C` of them concordant and `D` discordant, this is
    `(1 - (C - D) / T) / 2`, where `C - D` is the numerator of tau-b: O(n log n).

    Raises
    ------
    VoteError
        If fewer than two items have both, or the truth is the same for all of them.
    """
    values, true = _common(scores, truth)
    differing = _untied_pairs(true)
    numerator = round(
        _tau_b(values, true) * math.sqrt(_untied_pairs(values)) * math.sqrt(differing)
    )
    return (1.0 - numerator / differing) / 2.0


def tau_top(scores: pd.Series[Any], truth: pd.Series[Any], *, share: float = 0.1) -> float:
    """Kendall's tau-b over the true top `share` of the items, at least two.

    Items as good as the last of the top belong to it too.

    Raises
    ------
    VoteError
        If fewer than two items have both, or the truth is the same for the whole top.
    """
    if not 0.0 < share <= 1.0:
        raise ArgumentError(message("share_out_of_range", share=share))
    values, true = _common(scores, truth)
    # A share such as 0.1 has no exact binary form; 0.07 of 100 items are 7, not 8.
    size = max(2, math.ceil(share * len(true) - 1e-9))
    top = true >= np.partition(true, len(true) - size)[len(true) - size]
    return _tau_b(values[top], true[top])


def outlier_auc(suspicion: Floats, wrong: Mask) -> float:
    """Chance that a wrong vote is more suspicious than a right one; equal suspicion counts half.

    Parameters
    ----------
    suspicion
        (n_votes,) higher is more suspicious.
    wrong
        (n_votes,) whether the vote is wrong.

    Raises
    ------
    VoteError
        If the lengths differ, a suspicion is NaN, or the votes are all wrong or all right.
    """
    suspicion, wrong = np.asarray(suspicion, np.float64), np.asarray(wrong, np.bool_)
    if suspicion.shape != wrong.shape:
        raise VoteError(message("suspicions_do_not_fit", count=suspicion.size, n_votes=wrong.size))
    if (missing := int(np.count_nonzero(np.isnan(suspicion)))) > 0:
        raise VoteError(message("missing_suspicions", count=missing, n_votes=wrong.size))
    n_wrong = int(np.count_nonzero(wrong))
    n_right = wrong.size - n_wrong
    if n_wrong == 0 or n_right == 0:
        raise VoteError(message("one_kind_of_vote", n_wrong=n_wrong, n_votes=wrong.size))
    ranks = mean_ranks(suspicion)
    return (float(ranks[wrong].sum()) / n_wrong - (n_wrong + 1) / 2) / n_right


def mean_ranks(values: Floats) -> Floats:
    """Ranks from 1 for the least; equal values share the mean of theirs."""
    return np.asarray(pd.Series(values).rank(), np.float64)


def _decisive(votes: pd.DataFrame) -> pd.DataFrame:
    """The decided votes, with columns winner and loser."""
    if "status" in votes.columns:
        votes = votes.loc[votes["status"] == "used"]
    if "outcome" in votes.columns:
        outcome = read_outcomes(votes["outcome"])
        undecided = (outcome == OUTCOMES.index("tie")) | (outcome == OUTCOMES.index("skip"))
        if {"item_a", "item_b"} <= set(votes.columns):
            undecided |= outcome < 0
            b_won = outcome == OUTCOMES.index("b")
            first, second = (votes[name].astype(object) for name in ("item_a", "item_b"))
            winner, loser = first.where(~b_won, second), second.where(~b_won, first)
            votes = votes.assign(winner=winner, loser=loser)
        votes = votes.loc[~undecided]
    if not {"winner", "loser"} <= set(votes.columns):
        raise VoteError(message("no_decided_columns"))
    return votes


def _weights(decisive: pd.DataFrame, weigh: Weigh) -> Floats:
    """Weight of each decisive vote, by annotator if so asked."""
    if weigh not in ("votes", "annotators"):
        raise ArgumentError(message("unknown_weighing", weigh=weigh))
    n_votes = len(decisive)
    weights = np.ones(n_votes)
    if "weight" in decisive.columns:
        weights = decisive["weight"].to_numpy(np.float64, na_value=np.nan)
        bad = int(np.count_nonzero(~np.isfinite(weights) | (weights < 0)))
        if bad > 0:
            raise VoteError(message("unusable_weights", count=bad, n_votes=n_votes))
    if not weights.any():
        raise VoteError(message("no_weight", n_votes=n_votes))
    if weigh == "votes":
        return weights
    if "annotator" not in decisive.columns:
        raise VoteError(message("no_annotators"))
    people, _ = clean_column(decisive["annotator"])
    codes, _ = pd.factorize(people, use_na_sentinel=False)
    total = np.bincount(codes, weights)[codes]
    return np.divide(weights, total, out=np.zeros(n_votes), where=total > 0)


def scored_items(values: pd.Series[Any], what: str) -> pd.Index[Any]:
    """Ids of a table of scores, each once."""
    index = values.index
    if (
        isinstance(index, pd.RangeIndex)
        and index.name is None
        and (index.start, index.step) == (0, 1)
    ):
        raise VoteError(message("scores_of_unnamed_items", what=what))
    items = read_ids(index).values
    if not items.is_unique:
        twice = items[items.duplicated()].unique().tolist()
        raise VoteError(message("items_scored_twice", count=len(twice), what=what, items=twice))
    return items


def _places(items: pd.Index[Any], column: pd.Series[Any]) -> Ints:
    """Place of each row's item among `items`, -1 where absent."""
    codes, names = pd.factorize(column)
    ids = read_ids(pd.Index(names))
    place = np.where(ids.usable, positions(items, ids.values), -1)
    return np.append(place, -1)[codes]


def _common(scores: pd.Series[Any], truth: pd.Series[Any]) -> tuple[Floats, Floats]:
    """Score and true score of the items that have both."""
    scores, truth = scores.dropna(), truth.dropna()
    place = positions(scored_items(scores, "score"), scored_items(truth, "true score"))
    both = place >= 0
    if np.count_nonzero(both) < 2:
        raise VoteError(
            message(
                "too_few_true_scores",
                count=np.count_nonzero(both),
                n_scores=len(scores),
                n_true=len(truth),
            )
        )
    return scores.to_numpy(np.float64)[place[both]], truth.to_numpy(np.float64)[both]


def _tau_b(values: Floats, true: Floats) -> float:
    if np.all(true == true[0]):
        raise VoteError(message("one_true_score", n_items=len(true)))
    if np.all(values == values[0]):
        return 0.0
    return kendall_tau_b(values, true)


def kendall_tau_b(first: Floats, second: Floats) -> float:
    """Kendall's tau-b of two columns, neither of them constant."""
    from scipy.stats import kendalltau  # half of what loading urlr would take, for this alone

    return float(kendalltau(first, second).statistic)


def _untied_pairs(values: Floats) -> int:
    """Number of pairs with different values."""
    counts = [int(count) for count in np.unique(values, return_counts=True)[1]]
    return math.comb(len(values), 2) - sum(math.comb(count, 2) for count in counts)
