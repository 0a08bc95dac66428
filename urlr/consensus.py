"""What everybody else thinks of the two items of a vote, one person one say.

A ranking by votes belongs to whoever casts most of them: three people with four votes in ten are
right by it. Here nobody has more say than a person in the middle, whatever the number of votes, and
every vote is judged by a ranking that does not know its person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from urlr.arrays import Codes, Floats, Mask
from urlr.ballots import Ballots
from urlr.item_effects import score_variance
from urlr.logistic import LogisticFit, Penalties, logistic_fit

FEWEST_VOTES = 5
"""Decided votes below which a person, an item or a span of time is not judged."""
SMALLEST_CROWD = 5
"""People below which nobody is judged by the others, and votes are left out by pair."""
_FOLDS = 10
"""Everybody is judged by nine tenths of the people or more."""
_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Consensus:
    """Margin of every vote by a ranking in which everybody has the same say, and the voter none."""

    margin: Floats
    """(n_ballots,) log-odds of the vote as cast; 0 where nothing is known, and for ties."""
    say: Floats
    """(n_ballots,) weight of the vote in it."""
    fit: LogisticFit | None
    """Of all votes that have a say; None if there are none."""
    penalties: Penalties

    @property
    def judged(self) -> Mask:
        """(n_ballots,) votes that go with the consensus or against it."""
        return np.asarray(self.margin != 0)

    @property
    def contrary(self) -> Mask:
        """(n_ballots,) votes against it."""
        return np.asarray(self.margin < 0)


def consensus(
    ballots: Ballots,
    *,
    without: Mask | None = None,
    before: Consensus | None = None,
) -> Consensus:
    """Judge every vote by the others.

    Items are ranked by the votes alone, with a normal prior on the scores, whose variance is
    estimated; features are not asked.

    Parameters
    ----------
    without
        (n_people,) whose votes have no say; nobody's if None.
    before
        A consensus of the same ballots, to begin with: the variance of its scores is taken over.
    """
    say = _equal_say(ballots)
    if without is not None:
        say = np.where(np.append(without, False)[ballots.annotator], 0.0, say)
    fold, rows = _folds(ballots), ballots.rows
    margin, every = np.zeros(rows.n_rows), None
    lean = 1.0 if ballots.has_sides else np.inf
    penalties = Penalties(1.0, 1.0, lean) if before is None else before.penalties
    if (say > 0).any():
        if before is None:
            penalties = Penalties(1.0, 1.0 / score_variance(rows, say, lean=lean), lean)
        start = None if before is None else before.fit
        every = logistic_fit(rows, say, penalties, start=start, tolerance=_TOLERANCE)
        for held in range(int(fold.max(initial=-1)) + 1):
            out = fold == held
            kept = np.where(out, 0.0, say)
            if not kept.any():
                continue
            fitted = logistic_fit(rows, kept, penalties, start=every, tolerance=_TOLERANCE)
            margin[out] = rows.margins(fitted.effects)[out]
    margin[ballots.tie | (ballots.weight <= 0)] = 0.0
    return Consensus(margin, say, every, penalties)


def _equal_say(ballots: Ballots) -> Floats:
    """Weights by which nobody has more say than a person in the middle of those who voted much."""
    n_people = len(ballots.names)
    if n_people == 0:
        return ballots.weight.copy()
    known = ballots.annotator >= 0
    total = np.bincount(ballots.annotator[known], ballots.weight[known], n_people)
    count = np.bincount(ballots.annotator[known], minlength=n_people)
    regular = total[count >= FEWEST_VOTES]
    most = float(np.median(regular)) if regular.size else float(total.max())
    share = np.minimum(1.0, most / np.maximum(total, 1e-300))
    return np.asarray(ballots.weight * np.append(share, 1.0)[ballots.annotator], np.float64)


def _folds(ballots: Ballots) -> Codes:
    """People are left out whole, those with most votes apart; votes without a name by pair."""
    n_people = len(ballots.names)
    first = np.minimum(ballots.rows.winner, ballots.rows.loser).astype(np.int64)
    second = np.maximum(ballots.rows.winner, ballots.rows.loser).astype(np.int64)
    pairs = (first + second) % _FOLDS
    if n_people < SMALLEST_CROWD:
        return pairs.astype(np.int32)
    count = np.bincount(ballots.annotator[ballots.annotator >= 0], minlength=n_people)
    people = np.empty(n_people, np.int64)
    people[np.argsort(-count, kind="stable")] = np.arange(n_people) % _FOLDS
    fold = np.where(ballots.annotator >= 0, people[ballots.annotator], pairs)
    return fold.astype(np.int32)
