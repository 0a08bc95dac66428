"""What people differ in: a few directions of taste, and where each person stands on them.

    m = s_i - s_j + u_a (V_i - V_j)

s are the scores of the consensus, u_a the person's place on each direction, V the items' places:
features times a matrix where there are features, so that items nobody compared have a place too,
and a shrunken rest. Zero directions or more, as many as held-out votes support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.model.logistic import Comparisons, LogisticFit, Penalties, logistic_fit
from urlr.people.directions import (
    departures,
    folds_of_votes,
    leading,
    marks_of_votes,
    uniform,
)
from urlr.people.errors import error_rates

MOST = 3
"""Directions tried."""
_ITEMS, _PEOPLE = 9.0, 1.0
"""Ridges on V and on u; only their product matters."""
_ROUNDS = 6
_FEATURES = 100.0
"""Times the ridge on the features of the consensus: tastes are seen less well than that."""
_FOLDS = 4
_TOLERANCE = 1e-2
_CLEARER = 1.0
"""A direction more must predict held-out votes better by so many standard errors."""
_STEEPNESS = 0.3
"""Variance of how steep people vote, beside a consensus of 1."""
_ANYWHERE = 8.0
"""People taken to stand anywhere, beside those there are: fewer make too much of few people."""
_SPOTS = 200
"""People whose places others are drawn to, at most."""
_NARROW, _LITTLE, _STEPS = 0.1, 0.1, 30
"""Variance around such a place, part of its own prior that it keeps, and steps of EM."""
_DRAWS = 5
"""Crowds without a taste that the leading direction is compared with."""


@dataclass(frozen=True, slots=True)
class Tastes:
    """Directions of taste with the place of each person and of each compared item."""

    place: Floats
    """(n_people, k) u, 0 for the median person."""
    covariance: Floats
    """(n_people, k, k) how unsure that is."""
    coefficients: Floats
    """(n_features, k)"""
    effects: Floats
    """(n_items, k) V less what features say of it."""
    gains: tuple[tuple[float, float], ...] = ()
    """Log-likelihood of held-out votes that each direction tried adds, with its standard error."""

    @property
    def n(self) -> int:
        """Number of directions."""
        return int(self.place.shape[1])

    @staticmethod
    def none(n_people: int, n_items: int, n_features: int) -> Tastes:
        """Everybody of the same taste."""
        return Tastes(
            np.zeros((n_people, 0)),
            np.zeros((n_people, 0, 0)),
            np.zeros((n_features, 0)),
            np.zeros((n_items, 0)),
        )

    def of_items(self, features: Floats) -> Floats:
        """(n_items, k) V of the compared items."""
        return np.asarray(features @ self.coefficients + self.effects)

    def of_votes(self, rows: Comparisons, person: Codes) -> Floats:
        """(n_rows,) log-odds for the winner by the voter's own taste; 0 for votes of nobody."""
        if self.n == 0:
            return np.zeros(rows.n_rows)
        return _of_votes(self.place, self.of_items(rows.features), rows, person)

    def moved(self, by: Floats) -> Tastes:
        """Return the same with the origin of the places elsewhere."""
        return replace(self, place=self.place - by)


@dataclass(frozen=True, slots=True)
class _Fit:
    """Places and directions, and the consensus beside them."""

    own: Floats
    """Places by people's own votes alone, and how unsure these are."""
    own_covariance: Floats
    place: Floats
    covariance: Floats
    directions: tuple[LogisticFit, ...]
    consensus: LogisticFit

    def items(self, rows: Comparisons) -> Floats:
        columns = [one.scores(rows.features[:, : one.coefficients.size]) for one in self.directions]
        return np.stack(columns, axis=1) if columns else np.zeros((rows.n_items, 0))


@dataclass(frozen=True, slots=True)
class _Problem:
    """Votes with what is known of them beside taste."""

    rows: Comparisons
    """As they are read; `offset` is the voter's side."""
    person: Codes
    n_people: int
    penalties: Penalties
    able: Mask
    """(n_people,) who has votes enough to have a taste."""
    by_features: bool = False
    """Whether features say something of the items' places."""
    together: bool = False
    """Whether people are drawn to each other's places; else to one normal distribution."""

    @property
    def tasted(self) -> Comparisons:
        """The votes as directions of taste are fitted to them."""
        rows = replace(self.rows, side=np.zeros(self.rows.n_rows))
        if self.by_features:
            return rows
        return replace(rows, features=np.zeros((rows.n_items, 0)))

    @property
    def offset(self) -> Floats:
        return np.zeros(self.rows.n_rows) if self.rows.offset is None else self.rows.offset

    def of_people(self, per_row: Floats) -> Floats:
        """(n_people,) sums; votes of nobody are left out."""
        who = np.where(self.person < 0, self.n_people, self.person)
        total = np.bincount(who, per_row, self.n_people + 1).astype(np.float64)
        return total[: self.n_people]

    def residuals(self, chance: Floats, weight: Floats) -> tuple[Ints, Floats, Floats]:
        """Rows with a name, what they depart by, and the scale of each person's departures."""
        rows = np.flatnonzero((self.person >= 0) & (weight > 0))
        variance = self.of_people(np.where(weight > 0, 2.0 * chance * (1.0 - chance), 0.0))
        return rows, (self.rows.target - chance)[rows], 1.0 / np.sqrt(variance + 1.0)

    def leading(self, rows: Ints, departure: Floats, scale: Floats) -> tuple[float, Floats]:
        """Singular value and item side of the leading direction of departures."""
        who, first, second = self.person[rows], self.rows.winner[rows], self.rows.loser[rows]
        value = departure * scale[who]
        table = departures(who, first, second, value, self.n_people, self.rows.n_items)
        _, size, item = leading(table, 1)
        return float(size[0]), item[0]


def tastes_of(
    rows: Comparisons,
    person: Codes,
    n_people: int,
    *,
    weight: Floats,
    careful: Floats,
    expected: Floats,
    penalties: Penalties,
    start: LogisticFit,
    able: Mask,
) -> tuple[Tastes, LogisticFit]:
    """Find as many directions of taste as held-out votes support, and the consensus beside them.

    A direction more is kept if it predicts held-out votes better than error rates do.

    Parameters
    ----------
    rows
        Votes as they are read; `offset` is what the side adds for the voter.
    weight
        (n_rows,) of votes when people differ in taste and not in how often they are wrong.
    careful
        (n_rows,) weight when they differ in that alone.
    expected
        (n_rows,) chance of every vote if they do, by what others say.
    able
        (n_people,) who has votes enough to have a taste, and to be the median person.
    """
    problem = _Problem(rows, person, n_people, penalties, able)
    nothing = Tastes.none(n_people, rows.n_items, rows.features.shape[1])
    if np.count_nonzero(able) < 4 or rows.n_items < 3 or not _may_differ(problem, weight, expected):
        return nothing, start
    fold = folds_of_votes(rows.winner, rows.loser, person, _FOLDS, rows.target == 1.0)
    kept = [weight * (fold != one) for one in range(_FOLDS)]
    fits = [_without(problem, one, start) for one in kept]
    errors = [_without(problem, careful * (fold != one), start) for one in range(_FOLDS)]
    counted = np.where((person >= 0) & (rows.target == 1.0), weight, 0.0)
    before, plain = (_predicted_by(problem, some, fold, kept) for some in (errors, fits))
    if counted @ plain > counted @ before:
        before = plain
    n, gains = 0, []

    def more(of: _Problem) -> tuple[list[_Fit], Floats, float, float]:
        """One direction more in every fold, and what it adds to predicting the votes left out.

        Where the first fold is predicted worse, the others are not tried.
        """
        tried: list[_Fit] = []
        for one, start in zip(kept, fits, strict=True):
            tried.append(_fit(of, one, start))
            now = _predicted_by(of, tried, fold, kept)
            seen = fold < len(tried)
            gain = np.where(seen, counted * (now - before), 0.0)
            if gain.sum() < -np.sqrt((gain**2).sum()):
                break
        return tried, now, float(gain.sum()), float(np.sqrt((gain**2).sum()))

    for number in range(1, MOST + 1):
        found = more(problem)
        if number == 1 and rows.features.shape[1]:
            other = replace(problem, by_features=True)
            if (by_features := more(other))[2] > found[2]:
                problem, found = other, by_features
        if number == 1:
            other = replace(problem, together=True)
            if (together := more(other))[2] > found[2]:
                problem, found = other, together
        gains.append(found[2:])
        if found[2] <= _CLEARER * found[3]:
            break
        fits, before, n = found[0], found[1], number
    if n == 0:
        return replace(nothing, gains=tuple(gains)), start
    fit = _without(problem, weight, start)
    for _ in range(n):
        fit = _fit(problem, weight, fit)
    coefficients = np.zeros((rows.features.shape[1], n))
    if problem.by_features:
        coefficients = np.stack([one.coefficients for one in fit.directions], axis=1)
    tastes = Tastes(
        fit.place,
        fit.covariance,
        coefficients,
        np.stack([one.effects for one in fit.directions], axis=1),
        tuple(gains),
    )
    stand = drawn_to_each_other(fit.own, fit.own_covariance, able, 0.0)[0]
    return tastes.moved(geometric_median(stand[able])), fit.consensus


def geometric_median(points: Floats) -> Floats:
    """The point with the least sum of distances, by Weiszfeld's steps: each point counts once."""
    centre: Floats = np.median(points, axis=0)
    for _ in range(100):
        near = 1.0 / np.sqrt(((points - centre) ** 2).sum(axis=1) + 1e-4)
        moved = near @ points / near.sum()
        if float(np.abs(moved - centre).max()) < 1e-6:
            break
        centre = moved
    return centre


def drawn_to_each_other(
    place: Floats, covariance: Floats, able: Mask, elsewhere: float
) -> tuple[Floats, Floats]:
    """(n_people, k) places and (n_people, k, k) covariances, given where other people stand.

    The prior of a place is a mixture of narrow normals at the places of those who are known best,
    its weights by EM: most people of a crowd with a minority stand on one spot, and it is chance
    where around it they seem to stand.

    Parameters
    ----------
    place, covariance
        By everybody's own votes, and a prior N(0, I).
    able
        (n_people,) whose places count.
    elsewhere
        So many people more are taken to stand anywhere, by N(0, I).
    """
    k = place.shape[1]
    precision = np.linalg.inv(covariance)
    known = np.flatnonzero(able)
    if known.size > _SPOTS:
        best = np.argsort(np.linalg.det(covariance[known]), kind="stable")[:_SPOTS]
        known = known[best]
    unit = np.eye(k)
    said = np.einsum("nab,nb->na", precision, place)
    spots = np.linalg.solve(precision[known] - (1.0 - _LITTLE) * unit, said[known][:, :, None])
    own = np.linalg.inv(precision + (1.0 / _NARROW - 1.0) * unit)
    by = said[:, None] + spots[None, :, :, 0] / _NARROW
    at = np.einsum("nab,nmb->nma", own, by)
    log = 0.5 * np.einsum("nma,nma->nm", at, by)
    log += 0.5 * (np.linalg.slogdet(own)[1][:, None] - k * np.log(_NARROW))
    log -= 0.5 * (spots[:, :, 0] ** 2).sum(axis=1) / _NARROW
    log[known, np.arange(known.size)] = -np.inf  # nobody is drawn to themselves
    anywhere = 0.5 * (place * said).sum(axis=1) + 0.5 * np.linalg.slogdet(covariance)[1]
    log = np.column_stack([log, anywhere])
    at = np.concatenate([at, place[:, None]], axis=1)
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    share = np.append(np.full(known.size, 0.5 / known.size), 0.5)
    for _ in range(_STEPS):
        stand = (likelihood[able] * share / (likelihood[able] @ share)[:, None]).sum(axis=0)
        stand[-1] += elsewhere
        share = stand / stand.sum()
    chance = likelihood * share
    chance /= chance.sum(axis=1, keepdims=True)
    mean = np.einsum("nm,nma->na", chance, at)
    apart = at - mean[:, None]
    spread = np.einsum("nm,nma,nmb->nab", chance, apart, apart)
    alone = chance[:, -1, None, None]
    return mean, (1.0 - alone) * own + alone * covariance + spread


def _may_differ(problem: _Problem, weight: Floats, expected: Floats) -> bool:
    """Whether departures go together more than those of drawn crowds of one taste."""
    named, departure, scale = problem.residuals(expected, weight)
    if named.size == 0:
        return False
    found, _ = problem.leading(named, departure, scale)
    chance, rows = expected[named], problem.rows
    mark = marks_of_votes(
        rows.winner[named], rows.loser[named], problem.person[named], rows.target[named] == 1.0
    )
    for number in range(_DRAWS):
        drawn = (uniform(mark, number) < chance) - chance
        if problem.leading(named, drawn, scale)[0] >= found:
            return False
    return True


def _without(problem: _Problem, weight: Floats, start: LogisticFit) -> _Fit:
    fitted = logistic_fit(
        problem.rows, weight, problem.penalties, start=start, tolerance=_TOLERANCE
    )
    n = problem.n_people
    return _Fit(
        np.zeros((n, 0)), np.zeros((n, 0, 0)), np.zeros((n, 0)), np.zeros((n, 0, 0)), (), fitted
    )


def _fit(problem: _Problem, weight: Floats, start: _Fit) -> _Fit:
    """One direction more: people, items and the consensus in turn, from the leading departures."""
    rows, person, n = problem.rows, problem.person, problem.n_people
    consensus = start.consensus
    items, place, own = start.items(rows), start.place, start.own
    log_odds = rows.log_odds(consensus.scores(rows.features), consensus.lean)
    log_odds += _of_votes(place, items, rows, person)
    item = problem.leading(*problem.residuals(expit(log_odds), weight))[1]
    items = np.column_stack([items, item * np.sqrt(rows.n_items / _ITEMS)])
    place, own = (np.column_stack([one, np.zeros(n)]) for one in (place, own))
    directions: list[LogisticFit | None] = [*start.directions, None]
    penalties = Penalties(_FEATURES * problem.penalties.features, _ITEMS, np.inf)
    silent = problem.tasted
    covariance = np.zeros((n, 0, 0))
    for _ in range(_ROUNDS):
        known = rows.log_odds(consensus.scores(rows.features), consensus.lean)
        for _ in range(2):
            own, covariance = _newton(problem, weight, known, items, own)
        place, spread = own, covariance
        if problem.together:
            place, spread = drawn_to_each_other(own, covariance, problem.able, _ANYWHERE)
        for a in range(place.shape[1]):
            rest = _of_votes(np.delete(place, a, 1), np.delete(items, a, 1), rows, person)
            one = replace(silent, offset=known + rest, loading=np.append(place[:, a], 0.0)[person])
            fitted = logistic_fit(one, weight, penalties, start=directions[a], tolerance=_TOLERANCE)
            directions[a], items[:, a] = fitted, fitted.scores(silent.features)
        beside = problem.offset + _of_votes(place, items, rows, person)
        consensus = logistic_fit(
            replace(rows, offset=beside),
            weight,
            problem.penalties,
            start=consensus,
            tolerance=_TOLERANCE,
        )
    done = tuple(one for one in directions if one is not None)
    return _Fit(own, covariance, place, spread, done, consensus)


def _newton(
    problem: _Problem, weight: Floats, known: Floats, items: Floats, place: Floats
) -> tuple[Floats, Floats]:
    """One Newton step for the place of every person, of one logit at most."""
    rows, k = problem.rows, place.shape[1]
    apart = items[rows.winner] - items[rows.loser]
    chance = expit(known + _of_votes(place, items, rows, problem.person))
    pull, bend = weight * (rows.target - chance), weight * chance * (1.0 - chance)
    gradient = np.stack([problem.of_people(pull * apart[:, a]) for a in range(k)], axis=1)
    hessian = np.empty((len(place), k, k))
    for a in range(k):
        for b in range(a + 1):
            both = problem.of_people(bend * apart[:, a] * apart[:, b])
            hessian[:, a, b] = hessian[:, b, a] = both + _PEOPLE * (a == b)
    covariance = np.linalg.inv(hessian)
    step = np.einsum("nab,nb->na", covariance, gradient - _PEOPLE * place)
    longest = np.abs(step).max(axis=1, keepdims=True)
    moved = place + step * np.minimum(1.0, 1.0 / np.maximum(longest, 1e-12))
    return np.asarray(moved), np.asarray(covariance)


def _of_votes(place: Floats, items: Floats, rows: Comparisons, person: Codes) -> Floats:
    total = np.zeros(rows.n_rows)
    for a in range(place.shape[1]):
        own = np.append(place[:, a], 0.0)[person]
        total += own * (items[rows.winner, a] - items[rows.loser, a])
    return total


def _steepness(problem: _Problem, log_odds: Floats, weight: Floats) -> Floats:
    """(n_people,) factor that suits everybody's votes best, drawn to 1."""
    factor = np.ones(problem.n_people)
    for _ in range(4):
        chance = expit(np.append(factor, 1.0)[problem.person] * log_odds)
        pull = problem.of_people(weight * (1.0 - chance) * log_odds) - (factor - 1.0) / _STEEPNESS
        bend = problem.of_people(weight * chance * (1.0 - chance) * log_odds**2) + 1.0 / _STEEPNESS
        factor = np.clip(factor + pull / bend, -2.0, 3.0)
    return factor


def _predicted_by(
    problem: _Problem, fits: Sequence[_Fit], fold: Ints, kept: Sequence[Floats]
) -> Floats:
    """(n_rows,) log-likelihood of every vote by the fit that has not seen it.

    How steep everybody's votes are, and how often they are wrong, is allowed for, by the votes the
    fit has seen: who votes flatter than others has no other taste.
    """
    rows, person = problem.rows, problem.person
    chance = np.ones(rows.n_rows)
    for number, (fit, weight) in enumerate(zip(fits, kept, strict=False)):
        items = fit.items(rows)
        log_odds = rows.log_odds(fit.consensus.scores(rows.features), fit.consensus.lean)
        log_odds += _of_votes(fit.place, items, rows, person)
        k = fit.place.shape[1]
        if k:
            apart = items[rows.winner] - items[rows.loser]
            unsure = np.concatenate([fit.covariance, np.zeros((1, k, k))])[person]
            log_odds /= np.sqrt(1.0 + np.pi / 8.0 * np.einsum("ra,rab,rb->r", apart, unsure, apart))
        decided = np.where(rows.target == 1.0, weight, 0.0)
        log_odds = log_odds * np.append(_steepness(problem, log_odds, decided), 1.0)[person]
        rate = error_rates(log_odds, decided, person, problem.n_people)
        wrong = np.minimum(np.append(rate, 0.0)[person], 0.5)
        said = wrong + (1.0 - 2.0 * wrong) * expit(log_odds)
        chance = np.where(fold == number, said, chance)
    return np.asarray(np.log(np.maximum(chance, 1e-300)))
