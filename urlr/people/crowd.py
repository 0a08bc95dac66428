"""Everybody beside the consensus: the side they prefer, their taste, their errors, their company.

The consensus that people are judged by gives nobody more say than two people in the middle of the
crowd, and knows nothing of the votes it is compared with: people are left out whole. In turn,

1. scores of the items, given what follows, votes weighing (1 - 2 pi_a)^2;
2. b_a, what being shown on the left adds for each person, shrunk to what it adds for all;
3. pi_a, how often each person is wrong (`errors`);
4. people who vote the other way around on everything, if the others agree on what that is;
5. groups that act together (`coordination`): set apart, and 1 to 3 once more;
6. directions of taste (`tastes`), and 1 to 3 once more.

Nothing here is drawn at random, so that no verdict on a person depends on a seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import expit, logit

from urlr import kernels
from urlr.arrays import Codes, Floats, Ints, Mask, Progress, no_progress
from urlr.model.logistic import Comparisons, LogisticFit, Penalties, logistic_fit
from urlr.model.tuning import calibration
from urlr.people.coordination import Departures, acting_together
from urlr.people.dependence import agreement_with_oneself, own_opinion, shares
from urlr.people.directions import fingerprints
from urlr.people.errors import TYPICAL, error_rates, reliability
from urlr.people.tastes import Tastes, tastes_of
from urlr.settings import Coordination
from urlr.votes.ballots import Ballots

FEWEST_VOTES = 5
"""Decided votes below which nobody is judged."""
REVERSED = 0.8
"""Who is wrong more often than that may be reversed."""
_SURE_OF = 10
"""Votes from which on somebody's error rate is known well enough to be reversed or not."""
_NEITHER = 0.25
NO_CONSENSUS = 0.25
"""Share of what people say that they agree on below which there is no order to speak of."""
_SURELY = 2.5
"""Standard deviations of what chance would do."""
_FEWEST_ITEMS = 10
_MOST = 2.0
"""Nobody weighs more than so many people in the middle of the crowd, however often they vote."""
_FOLDS = 5
_ROUNDS = 3
_MOST_GROUPS = 5
_TURNS = 4
_TOLERANCE = 1e-3
_DOUBT = (0.005, 0.98)
"""Least and most error rate that a vote is suspected with."""
_LEAST_CALIBRATION = 0.3
_A_CROWD = 3
"""People from which on most may be right: of two who disagree, nobody can say who is wrong."""
_SIDES = (0.01, 9.0)
"""Least and most variance of side preferences."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """What the votes say of the people who cast them."""

    ballots: Ballots
    rows: Comparisons
    """The votes as they were cast, with features."""
    say: Floats
    """(n_rows,) weight by which nobody counts for more than two people."""
    side: Floats
    """(n_people,) b, log-odds that being shown on the left adds."""
    side_error: Floats
    """(n_people,) standard error of it."""
    error_rate: Floats
    """(n_people,) share of wrong votes."""
    group: Ints
    """(n_people,) number of the group that somebody acts together with, from 1; 0 for none."""
    reversed: Mask
    """(n_people,) who votes the other way around on everything."""
    turn: bool
    """Whether the votes of these are read the other way round; else they count for nothing."""
    tastes: Tastes
    margin: Floats
    """(n_rows,) calibrated log-odds of the vote by the consensus of the others."""
    share: Floats
    """(n_rows,) how much of an independent opinion each vote is, see `dependence`."""
    fold: Codes
    """(n_rows,) see `folds_of_people`."""
    coordination: Coordination
    fit: LogisticFit | None = None
    """The consensus."""
    evidence: tuple[float, ...] = ()
    """Of each group, see `coordination`."""

    @property
    def typical(self) -> float:
        """Error rate of a person in the middle."""
        judged = self.group == 0
        return float(np.median(self.error_rate[judged])) if judged.any() else TYPICAL

    @property
    def turned(self) -> Mask:
        """(n_people,) whose votes are read the other way round."""
        return self.reversed & self.turn

    @property
    def apart(self) -> Mask:
        """(n_rows,) votes of groups that act together."""
        return np.asarray(np.append(self.group > 0, False)[self.ballots.annotator])

    @property
    def left_out(self) -> Mask:
        """(n_rows,) those of them that do not count."""
        return self.apart & (self.coordination == "drop")

    @property
    def is_turned(self) -> Mask:
        """(n_rows,) votes that are read the other way round."""
        return np.append(self.turned, False)[self.ballots.annotator] & ~self.ballots.tie

    @property
    def own_side(self) -> Floats:
        """(n_rows,) log-odds of the vote as cast by what its voter's side adds."""
        return np.append(self.side, 0.0)[self.ballots.annotator] * self.rows.side

    @property
    def own_taste(self) -> Floats:
        """(n_rows,) log-odds of the vote as cast by its voter's own taste."""
        way = np.where(self.is_turned, -1.0, 1.0)
        read = self.rows.turned(self.is_turned)
        return np.asarray(way * self.tastes.of_votes(read, self.ballots.annotator))

    def agreed(self) -> float:
        """Share of the variance of what people say that they agree on; the rest is taste."""
        named = (self.ballots.annotator >= 0) & ~self.apart
        said = float(self.say[named] @ self.margin[named] ** 2)
        own = float(self.say[named] @ self.own_taste[named] ** 2)
        return said / (said + own) if said + own > 0 else 1.0

    def as_read(self) -> Comparisons:
        """The votes, those of reversed people turned, with what is known of their voters."""
        read = self.rows.turned(self.is_turned)
        taste = self.tastes.of_votes(read, self.ballots.annotator)
        return replace(read, offset=taste + self.own_side)

    def without_tastes(self) -> Comparisons:
        """The same as if everybody were of one taste."""
        return replace(self.rows.turned(self.is_turned), offset=self.own_side)

    def rate(self) -> Floats:
        """(n_rows,) share of wrong votes, of the votes as they are read; 0 without a name.

        Groups that act together, where they count, do so as people in the middle would.
        """
        rate = np.where(self.turned, 1.0 - self.error_rate, self.error_rate)
        rate = np.where(self.group > 0, self.typical, rate)
        return np.asarray(np.append(rate, 0.0)[self.ballots.annotator])

    def judging(self) -> Floats:
        """(n_rows,) weight while people are judged: say by reliability; 0 for groups."""
        return self.say * reliability(self.rate()) * ~self.apart

    def weight(self) -> Floats:
        """(n_rows,) weight in the ranking; groups count for nothing, for one person or in full."""
        say = self.ballots.weight * self.share * reliability(self.rate())
        counted = self.ballots.weight * ~self.left_out
        whole = float(counted @ (self.share * reliability(self.rate())))
        if whole > 0:  # penalties are tuned where all count the same
            say = say * (float(counted.sum()) / whole)
        if self.coordination == "keep" or not self.apart.any():
            return say
        if self.coordination == "drop":
            return np.asarray(say * ~self.apart)
        group = np.append(self.group, 0)[self.ballots.annotator]
        total = np.bincount(group, say)
        people = len(self.ballots.names) - int(np.count_nonzero(self.group))
        share = np.minimum(1.0, total[0] / max(people, 1) / np.maximum(total, 1e-300))
        share[0] = 1.0
        return np.asarray(say * share[group])

    def doubt(self) -> Floats:
        """(n_rows,) logit of the error rate of whoever cast the vote, as it is read.

        A vote by a group that acts together is as good as none, whatever it says.
        """
        rate = np.clip(self.rate(), *_DOUBT)
        rate = np.where(self.ballots.annotator >= 0, rate, TYPICAL)
        return np.asarray(logit(np.where(self.left_out, _DOUBT[1], rate)))


def crowd_of(
    ballots: Ballots,
    features: Floats,
    penalties: Penalties,
    *,
    sides: bool = True,
    turn: bool = True,
    tastes: bool = True,
    coordination: Coordination = "drop",
    before: Crowd | None = None,
    reverses: bool = True,
    progress: Progress = no_progress,
) -> Crowd:
    """Judge everybody who voted; see the module.

    Parameters
    ----------
    features
        (n_items, n_features) of the compared items, centred; no columns to rank them alone.
    penalties
        Of the consensus.
    sides, turn, tastes
        Whether people may differ in the side they prefer, whether reversed people are turned, and
        whether tastes are looked for.
    coordination
        What becomes of groups that act together: they count for nothing, for one person, in full.
    before
        Who is reversed and who acts together, if that is known.
    reverses
        Whether anybody may be reversed: nobody is where, in the end, there is no consensus.
    """
    n = len(ballots.names)
    rows = replace(ballots.rows, features=features)
    if not sides:
        rows = replace(rows, side=np.zeros(rows.n_rows))
    judge = _Judge(penalties, folds_of_people(ballots), reverses)
    crowd = Crowd(
        ballots,
        rows,
        equal_say(ballots),
        np.zeros(n),
        np.full(n, np.inf),
        np.full(n, TYPICAL),
        np.zeros(n, np.int64),
        np.zeros(n, np.bool_),
        turn,
        Tastes.none(n, rows.n_items, features.shape[1]),
        np.zeros(rows.n_rows),
        np.ones(rows.n_rows),
        judge.fold,
        coordination,
    )
    progress("what people agree on", 0.0)
    if before is not None:
        known = ("side", "error_rate", "group", "reversed", "evidence")
        crowd = replace(crowd, **{name: getattr(before, name) for name in known})
        crowd = judge.rounds(crowd, _ROUNDS - 1)
    else:
        crowd = judge.rounds(crowd, _ROUNDS, beginning=True)
        if n == 0:
            return crowd
        progress("who acts together", 0.3)
        crowd = judge.with_groups(judge.with_reversed(crowd))
    crowd = judge.with_reversed(crowd)
    if not tastes:
        return judge.with_shares(crowd)
    progress("whether tastes differ", 0.6)
    assert crowd.fit is not None
    unread = crowd.reversed & ~crowd.turned
    weight = crowd.say * ~crowd.apart * ~np.append(unread, False)[ballots.annotator]
    found, fitted = tastes_of(
        replace(crowd.as_read(), offset=crowd.own_side),
        ballots.annotator,
        n,
        weight=weight,
        careful=crowd.judging(),
        expected=_expected(crowd),
        penalties=penalties,
        start=crowd.fit,
        able=able(crowd) & (crowd.group == 0) & ~unread,
    )
    crowd = replace(crowd, tastes=found)
    if found.n:
        crowd = judge.rounds(replace(crowd, fit=fitted), _ROUNDS - 1)
    if crowd.reversed.any() and crowd.agreed() < NO_CONSENSUS:
        anew = partial(crowd_of, ballots, features, penalties, sides=sides, turn=turn)
        return anew(tastes=tastes, coordination=coordination, reverses=False)
    return judge.with_shares(crowd)


def equal_say(ballots: Ballots, most: float = _MOST) -> Floats:
    """(n_rows,) weights by which nobody has more say than so many people in the middle."""
    n = len(ballots.names)
    if n == 0:
        return ballots.weight.copy()
    known = ballots.annotator >= 0
    total = np.bincount(ballots.annotator[known], ballots.weight[known], n)
    count = np.bincount(ballots.annotator[known], minlength=n)
    regular = total[count >= FEWEST_VOTES]
    typical = float(np.median(regular)) if regular.size else float(total.max())
    share = np.minimum(1.0, most * typical / np.maximum(total, 1e-300))
    return np.asarray(ballots.weight * np.append(share, 1.0)[ballots.annotator], np.float64)


def folds_of_people(ballots: Ballots, n_folds: int = _FOLDS) -> Codes:
    """(n_rows,) fold of each vote: people are left out whole, votes without a name by pair.

    Dealt in the order of their numbers of votes, so that folds are alike, and not by their names.
    """
    rows, n = ballots.rows, len(ballots.names)
    first = np.minimum(rows.winner, rows.loser).astype(np.int64)
    second = np.maximum(rows.winner, rows.loser)
    pairs = (first * rows.n_items + second) * 2654435761 % 2**32 // 65536 % n_folds
    if n < 2:
        return pairs.astype(np.int32)
    count = np.bincount(ballots.annotator[ballots.annotator >= 0], minlength=n)
    mark, silent = np.zeros(n, np.int64), np.zeros(rows.n_rows, np.bool_)
    known = fingerprints(rows.winner, rows.loser, ballots.annotator, silent)[1][:-1]
    mark[: known.size] = known
    people = np.empty(n, np.int64)
    people[np.lexsort((mark, -count))] = np.arange(n) % n_folds
    return np.where(ballots.annotator >= 0, people[ballots.annotator], pairs).astype(np.int32)


def able(crowd: Crowd) -> Mask:
    """(n_people,) who has decided votes enough to be judged."""
    ballots = crowd.ballots
    counted = (ballots.annotator >= 0) & ~ballots.tie & (ballots.weight > 0)
    count = np.bincount(ballots.annotator[counted], minlength=len(ballots.names))
    return np.asarray(count >= FEWEST_VOTES)


def _expected(crowd: Crowd) -> Floats:
    """(n_rows,) chance of every vote as it is read, by what is known of its voter."""
    rate = np.minimum(crowd.rate(), 0.4)
    way = np.where(crowd.is_turned, -1.0, 1.0)
    chance = expit(way * (crowd.margin + crowd.own_taste) + crowd.own_side)
    return np.asarray(rate + (1.0 - 2.0 * rate) * chance)


def _reversed(crowd: Crowd) -> Mask:
    """(n_people,) who is wrong about nearly everything, where people are either right or wrong.

    Where as many are neither, people differ in taste, and there is no order to be reversed to; nor
    among fewer than ten items; nor unless more than half of the people agree on it.
    """
    ballots = crowd.ballots
    count = np.bincount(ballots.annotator[ballots.annotator >= 0], minlength=len(ballots.names))
    known = (count >= _SURE_OF) & (crowd.group == 0)
    wrong = known & (crowd.error_rate > REVERSED)
    neither = known & (crowd.error_rate > _NEITHER) & ~wrong
    coins = neither & (np.abs(crowd.error_rate - 0.5) < 0.1)
    nobody = np.zeros(wrong.size, np.bool_)
    right = known & (crowd.error_rate <= _NEITHER)
    if crowd.rows.n_items < _FEWEST_ITEMS or 2 * right.sum() <= known.sum():
        return nobody
    if 2 * (neither & ~coins).sum() > wrong.sum() or not wrong.any():
        return nobody
    return np.asarray(wrong & ~_of_own_mind(crowd))


def _of_own_mind(crowd: Crowd) -> Mask:
    """(n_people,) whose own opinions of items say more than the consensus turned around does.

    A person who misreads the question says the opposite of what the others say. A person of another
    taste may seem to, by chance, where the others hardly agree themselves.
    """
    ballots = crowd.ballots
    rows = np.flatnonzero((ballots.annotator >= 0) & ~ballots.tie & (ballots.weight > 0))
    who, margin = ballots.annotator[rows], crowd.margin[rows]
    rate = crowd.error_rate[who]
    chance = rate + (1.0 - 2.0 * rate) * expit(margin + crowd.own_side[rows])
    together, variance = agreement_with_oneself(
        who,
        ballots.rows.winner[rows],
        ballots.rows.loser[rows],
        chance,
        len(ballots.names),
        ballots.rows.n_items,
    )
    consensus = 0.5 * float(np.mean(margin**2))  # a margin is the difference of two scores
    sure = together > _SURELY * np.sqrt(np.maximum(variance, 1e-12))
    return np.asarray(sure & (together > consensus * variance))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Steps 1 to 3."""

    penalties: Penalties
    fold: Codes
    reverses: bool

    def rounds(self, crowd: Crowd, n: int, *, beginning: bool = False) -> Crowd:
        """Consensus, sides and errors in turn."""
        for number in range(n):
            crowd, margin = self._consensus(crowd)
            crowd = self._sides(crowd, margin)
            crowd = self._errors(crowd, margin, trusting=beginning and number == 0)
        return crowd

    def with_reversed(self, crowd: Crowd) -> Crowd:
        """Turn the votes of those who are reversed, until no more are."""
        for _ in range(_TURNS if self.reverses else 0):
            wrong = _reversed(crowd)
            if not (wrong & ~crowd.reversed).any():
                break
            crowd = self.rounds(replace(crowd, reversed=wrong | crowd.reversed), _ROUNDS - 1)
        return crowd

    def with_groups(self, crowd: Crowd) -> Crowd:
        """Set groups that act together apart, one after the other."""
        for number in range(1, _MOST_GROUPS + 1):
            group, evidence = acting_together(self.departures(crowd))
            if not group.any():
                break
            crowd = replace(
                crowd,
                group=np.where(group, number, crowd.group),
                evidence=(*crowd.evidence, evidence),
            )
            crowd = self.rounds(crowd, _ROUNDS - 1)
        return crowd

    def with_shares(self, crowd: Crowd) -> Crowd:
        """See how much of what one person says of an item is one opinion."""
        ballots, n, n_items = crowd.ballots, len(crowd.ballots.names), crowd.rows.n_items
        counted = np.flatnonzero(
            (ballots.annotator >= 0) & ~ballots.tie & (ballots.weight > 0) & ~crowd.apart
        )
        who, chance = ballots.annotator[counted], _expected(crowd)[counted]
        winner, loser = crowd.rows.winner[counted], crowd.rows.loser[counted]
        tau = own_opinion(*agreement_with_oneself(who, winner, loser, chance, n, n_items))
        share = crowd.share.copy()
        share[counted] = shares(who, winner, loser, chance, tau, n_items)
        return replace(crowd, share=share)

    def departures(self, crowd: Crowd) -> Departures:
        """Votes as they are read, beside what is expected of them."""
        ballots = crowd.ballots
        assert crowd.fit is not None
        return Departures(
            rows=crowd.as_read(),
            person=ballots.annotator,
            n_people=len(ballots.names),
            judging=crowd.judging(),
            say=crowd.say,
            weight=ballots.weight,
            expected=_expected(crowd),
            decided=(ballots.annotator >= 0) & ~ballots.tie & (ballots.weight > 0) & ~crowd.apart,
            penalties=self.penalties,
            fit=crowd.fit,
            error_rate=np.where(crowd.turned, 1.0 - crowd.error_rate, crowd.error_rate),
            able=able(crowd) & (crowd.group == 0),
            seconds=ballots.seconds,
            moments=ballots.moments,
        )

    def _consensus(self, crowd: Crowd) -> tuple[Crowd, Floats]:
        """Fit the scores, and the margin of every vote by the votes of others."""
        rows, weight = crowd.as_read(), crowd.judging()
        fitted = logistic_fit(rows, weight, self.penalties, start=crowd.fit, tolerance=_TOLERANCE)
        margin = np.zeros(rows.n_rows)
        for held in range(_FOLDS):
            mine = self.fold == held
            kept = np.where(mine, 0.0, weight)
            if mine.any() and kept.any():
                one = logistic_fit(rows, kept, self.penalties, start=fitted, tolerance=_TOLERANCE)
                said = crowd.rows.margins(one.scores(rows.features), one.lean)
                margin = np.where(mine, said, margin)
        return replace(crowd, fit=fitted), margin

    def _sides(self, crowd: Crowd, margin: Floats) -> Crowd:
        """One Newton problem for every person; the variance of the preferences by EM."""
        rows = crowd.rows
        counted = (crowd.ballots.weight > 0) & (rows.side != 0) & (crowd.ballots.annotator >= 0)
        if not counted.any():
            return crowd
        who, side = crowd.ballots.annotator[counted], rows.side[counted]
        known, target = (margin + crowd.own_taste)[counted], rows.target[counted]
        weight = crowd.ballots.weight[counted]
        own, variance = crowd.side, 0.1
        for _ in range(25):
            pull, bend = kernels.side_pull(who, side, weight, target, known, own)
            pull, bend = pull - own / variance, bend + 1.0 / variance
            step = np.clip(pull / bend, -1.0, 1.0)
            own = own + step
            spread = min(max(float(np.mean(own**2 + 1.0 / bend)), _SIDES[0]), _SIDES[1])
            settled = abs(spread - variance) < 0.02 * variance
            variance = spread
            if settled and float(np.abs(step).max()) < 1e-3:
                break
        return replace(crowd, side=own, side_error=1.0 / np.sqrt(bend))

    def _errors(self, crowd: Crowd, margin: Floats, *, trusting: bool) -> Crowd:
        """How often everybody is wrong, groups that act together among them."""
        ballots = crowd.ballots
        counted = ~ballots.tie & (ballots.weight > 0)
        way = np.where(crowd.is_turned, -1.0, 1.0)
        factor = 1.0
        if len(ballots.names) < _A_CROWD:
            factor = calibration(way * margin, counted, crowd.say)
        elif not trusting:
            factor = calibration(way * margin, counted, crowd.judging())
            factor = max(factor, _LEAST_CALIBRATION)
        crowd = replace(crowd, margin=factor * margin)
        log_odds = crowd.margin + crowd.own_taste + crowd.own_side
        rate = error_rates(
            log_odds,
            np.where(counted, ballots.weight, 0.0),
            ballots.annotator,
            len(ballots.names),
            trusting=trusting,
        )
        return replace(crowd, error_rate=rate)
