"""How well wrong votes are found, without ground truth: some are turned around on purpose.

In a copy of the votes a few are turned around at random, and the copy is judged like any votes.
Votes that were wrong before count as untouched, and a wrong vote that is turned around becomes a
right one that counts as turned; both lower the figure, so that it is a cautious one. No care is
taken to turn only votes that can be found: on a pair that is nearly equal nothing can tell. Votes
of groups that act together, where these do not count, are no part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from urlr.arrays import Floats, Mask
from urlr.diagnostics.intervals import Interval, auc_interval
from urlr.diagnostics.rejudging import MOST_VOTES, judgement_of, read_votes, sampled
from urlr.errors import ArgumentError, VoteError
from urlr.messages import message
from urlr.ranker import Ranker
from urlr.settings import FitSettings
from urlr.space.table import FeatureTable, feature_table
from urlr.votes.ballots import Ballots, ballots_of
from urlr.votes.table import VoteTable, voted_ids

SHARE = 0.05
"""Of the decided votes that are turned around."""
FIRST = 0.2
"""Part of the order of suspicion in which they are looked for."""

_ENOUGH = 50
"""Votes to turn around, where there are enough: 90 % intervals were then 0.04 to 0.07 wide."""
_LARGEST_SHARE = 0.1
"""More would be another crowd than the one that is to be judged."""
_FEWEST = 5
"""Fewer turned around would tell nothing."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    """How well votes that were turned around on purpose, in a copy, are found."""

    n_votes: int
    """Decided votes of the copy."""
    n_flipped: int
    auc: Interval
    """Chance that a flipped vote comes before an untouched one in the order of suspicion."""
    recall: float
    """Share of the flipped votes among the first 20 % of the order."""
    lift: float | None
    """How many times more flipped votes were set aside, at the chosen rate, than chance would;
    None where none was set aside."""


def self_test(
    votes: pd.DataFrame | VoteTable,
    features: pd.DataFrame | None,
    settings: FitSettings,
    *,
    share: float = SHARE,
    like: Ranker | None = None,
    rng: np.random.Generator,
) -> SelfTest:
    """Turn some votes around in a copy, and see how well the method finds them.

    Parameters
    ----------
    votes, features, settings
        As given to the fit; votes that were read already are not read again.
    share
        Of the decided votes, to be turned around; 50 votes where there are 500 or more, and at
        most a tenth of them.
    like
        The fit to the votes as they are, whose feature space and ridge are taken: it saves two
        thirds of the time. None chooses them anew, on the copy.
    rng
        Draws the votes.

    Raises
    ------
    VoteError
        If there are too few decided votes (fewer than 50), or votes that cannot be ranked.
    FeatureError, ConvergenceError
        As a fit would.
    """
    if not 0.0 < share <= _LARGEST_SHARE:
        raise ArgumentError(
            message("flipped_share_out_of_range", share=share, largest=_LARGEST_SHARE)
        )
    with threadpool_limits(limits=1):
        table = None if features is None else feature_table(features, known=voted_ids(votes))
        read = read_votes(sampled(votes, MOST_VOTES, rng), table, settings)
        ballots = ballots_of(read)
        return _tested(read, table, settings, ballots, _drawn(ballots, share, rng), like)


def _drawn(ballots: Ballots, share: float, rng: np.random.Generator) -> Mask:
    """(n_ballots,) votes to turn around; refused where they would be too few."""
    decided = np.flatnonzero(~ballots.tie)
    count = min(max(round(share * decided.size), _ENOUGH), int(_LARGEST_SHARE * decided.size))
    if count < _FEWEST:
        raise VoteError(
            message(
                "too_few_to_flip",
                n_decided=decided.size,
                needed=_FEWEST / _LARGEST_SHARE,
                n_flipped=_FEWEST,
            )
        )
    flipped = np.zeros(ballots.rows.n_rows, np.bool_)
    flipped[rng.choice(decided, count, replace=False)] = True
    return flipped


def _tested(
    read: VoteTable,
    table: FeatureTable | None,
    settings: FitSettings,
    ballots: Ballots,
    flipped: Mask,
    like: Ranker | None,
) -> SelfTest:
    judged = judgement_of(read, table, settings, turned=flipped, furthest=FIRST, like=like)
    decided = ~ballots.tie & ~judged.left_out
    if not (flipped & decided).any() or flipped[decided].all():
        raise VoteError(message("no_decided_vote"))
    suspicion, wrong = judged.suspicion[decided], flipped[decided]
    aside = judged.set_aside()[decided]
    n_flipped = int(np.count_nonzero(wrong))
    lift = None
    if aside.any():
        lift = float(wrong[aside].mean() / wrong.mean())
    return SelfTest(
        n_votes=wrong.size,
        n_flipped=n_flipped,
        auc=auc_interval(suspicion, wrong),
        recall=recall_in_first(suspicion, wrong, FIRST),
        lift=lift,
    )


def recall_in_first(suspicion: Floats, wrong: Mask, share: float) -> float:
    """Share of the wrong votes among the most suspicious `share` of all.

    Of votes as suspicious as the last of these, as many are wrong as would be on average.
    """
    count = share * suspicion.size
    cut = np.sort(suspicion)[::-1][min(int(np.ceil(count)), suspicion.size) - 1]
    above, tied = suspicion > cut, suspicion == cut
    part = (count - np.count_nonzero(above)) / np.count_nonzero(tied)
    found = np.count_nonzero(wrong & above) + part * np.count_nonzero(wrong & tied)
    return float(min(found / np.count_nonzero(wrong), 1.0))
