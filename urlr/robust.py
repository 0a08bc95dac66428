"""The default method: a logistic link with outlier variables, item effects and error rates.

Algorithm 1 of the paper, with each step replaced by what real votes were found to support
(docs/default.md): penalties tuned on items left out, votes weighed by the estimated error rate of
whoever cast them, an outlier variable inside the link for every vote, those set aside that are
most likely wrong, and a refit in which every compared item has a shrunken effect of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from urlr.arrays import Codes, Floats, Mask, Progress, no_progress
from urlr.ballots import Ballots
from urlr.item_effects import item_variance, score_variance
from urlr.logistic import Comparisons, LogisticFit, Penalties, logistic_fit
from urlr.refit import Refit, refit
from urlr.suspicion import ErrorRates, calibration, error_rates
from urlr.tuning import Tuned

LIKELY_WRONG = 0.5
"""prune="auto" sets a vote aside when it is wrong with at least this probability."""

_SHRINK = 0.4
"""Share of the estimated variance that item effects get."""
_LEAST_VARIANCE = 1e-3
_LIMITS = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.3, 0.2, 0.1)
"""Penalties at which the path of the outlier variables is solved, down to the limit asked for."""
_FOLDS = 5
_ROUNDS = 2
"""Error rates are estimated from fits that weigh everybody the same, then from fits that do not."""


@dataclass(frozen=True, slots=True)
class Search:
    """How votes are judged: by the features, allowing for what features cannot see."""

    penalties: Penalties
    limit: float
    damping: float
    """Factor on margins: a fit is surer of votes it has seen than of votes it has not."""
    person: Floats
    """(n_rows,) logit of the error rate of whoever cast the vote."""
    prune: float | Literal["auto"]
    """Share of the votes, or all that are likely wrong."""

    def suspicion(self, rows: Comparisons, found: LogisticFit) -> Floats:
        """logit P(wrong) of every vote; minus infinity for ties, which contradict nothing."""
        margin = self.damping * rows.margins(found.scores(rows.features), found.lean)
        return np.where(rows.target == 1.0, self.person - margin, -np.inf)

    def tied_at_cut(self, suspected: Floats, pruned: Mask) -> int:
        """Kept votes as suspicious as the last one set aside by a share."""
        if self.prune == "auto" or not pruned.any():
            return 0
        cut = float(suspected[pruned].min())
        return int(np.count_nonzero(~pruned & (suspected >= cut - 1e-9 * (1.0 + abs(cut)))))

    def pruned(self, suspected: Floats, weight: Floats) -> Mask:
        """Votes to set aside, of those that have weight; ties in suspicion by row order.

        None where all of them seem wrong: then it is the ranking that cannot be trusted.
        """
        if self.prune == "auto":
            decided = (weight > 0) & np.isfinite(suspected)
            wrong = decided & (suspected >= logit(LIKELY_WRONG))
            return wrong if (decided & ~wrong).any() else np.zeros_like(wrong)
        able = np.flatnonzero((weight > 0) & np.isfinite(suspected))
        count = min(int(self.prune * np.count_nonzero(weight > 0) + 1e-9), able.size)
        mask = np.zeros(suspected.size, np.bool_)
        if count:
            order = np.argsort(-suspected[able], kind="stable")
            mask[able[order[:count]]] = True
        return mask


@dataclass(frozen=True, slots=True)
class RobustFit:
    """What the default method finds, all of it."""

    rows: Comparisons
    """The votes, in the feature space."""
    own_weight: Floats
    """(n_rows,) of the vote itself."""
    weight: Floats
    """(n_rows,) the same times the reliability of whoever cast it."""
    penalties: Penalties
    search: Search
    rates: ErrorRates
    entry: Floats
    """(n_rows,) penalty at which the vote's outlier variable left zero, 0 if it did not."""
    suspicion: Floats
    """(n_rows,) logit P(wrong), minus infinity for ties."""
    pruned: Mask
    """(n_rows,)"""
    found: LogisticFit
    """The fit of the search."""
    fit: Refit
    """The ranking."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How much everybody is to be trusted, and what that was judged by."""

    rows: Comparisons
    """The votes, in the feature space."""
    ranking: Penalties
    search: Penalties
    """The same without item effects, which would believe a campaign."""
    rates: ErrorRates
    rate: Floats
    """(n_rows,) error rate of whoever cast the vote."""
    weight: Floats
    """(n_rows,) of the vote times the reliability of whoever cast it."""
    margin: Floats
    """(n_rows,) calibrated log-odds of the vote, by fits that know one of its items or none."""
    counted: Mask
    """(n_rows,) decided votes that have such a margin."""

    def damping(self, margin: Floats) -> float:
        """How much less sure of votes the fits are that have not seen their items, 1 at most."""
        if not self.counted.any():
            return 1.0
        sure = _size(margin[self.counted])
        return min(1.0, _size(self.margin[self.counted]) / max(sure, 1e-12))


def standing_of(
    ballots: Ballots,
    features: Floats,
    tuned: Tuned | None,
    *,
    ridge: float,
    item_effects: bool,
    annotator_rates: bool,
    left_right: bool,
    people: Codes,
    progress: Progress = no_progress,
) -> Standing:
    """Find how much items differ beyond their features and how often everybody is wrong.

    Parameters
    ----------
    features
        (n_items, n_features) of the compared items, centred; no columns to rank them alone.
    tuned
        Margins by models that do not know the items; None where there are none.
    ridge
        Of the coefficients.
    people
        (n_rows,) fold of each vote, see `folds_of_people`.
    """
    rows = replace(ballots.rows, features=features)
    lean = 1.0 if left_right and ballots.has_sides else np.inf
    progress("how much items differ", 0.0)
    if features.shape[1] == 0:
        variance = score_variance(rows, ballots.weight, lean=lean)
        ranking = search = Penalties(ridge, 1.0 / variance, lean)
    else:
        search = Penalties(ridge, np.inf, lean)
        plain = logistic_fit(rows, ballots.weight, search, tolerance=1e-4)
        variance = item_variance(rows, ballots.weight, plain.scores(features), plain.lean)
        own = item_effects and variance * _SHRINK > _LEAST_VARIANCE
        ranking = replace(search, items=1.0 / (_SHRINK * variance) if own else np.inf)
    progress("whom to trust", 0.0)
    who = ballots.annotator if annotator_rates else np.full(rows.n_rows, -1, np.int32)
    weight = ballots.weight
    for _ in range(_ROUNDS if annotator_rates and ballots.has_names else 1):
        margin, counted = _honest_margins(ballots, rows, weight, ranking, tuned, people)
        rates = error_rates(margin, counted, ballots.weight, who, len(ballots.names))
        weight = ballots.weight * rates.reliability(who)
    return Standing(rows, ranking, search, rates, rates.of_votes(who), weight, margin, counted)


def limit_for(rows: Comparisons, limit: float) -> float:
    """Limit on the pull of a vote: none where items have no features.

    Where margins are small, as in a chain, every vote would pull by the limit alone, and nothing
    but wins less losses would count.
    """
    return limit if rows.features.shape[1] else 1.0


def search_of(
    standing: Standing, found: LogisticFit, *, limit: float, prune: float | Literal["auto"]
) -> Search:
    """How votes are judged by a fit without item effects."""
    rows = standing.rows
    damping = standing.damping(rows.margins(found.scores(rows.features), found.lean))
    return Search(standing.search, limit, damping, logit(standing.rate), prune)


def robust_fit(
    ballots: Ballots,
    standing: Standing,
    *,
    prune: float | Literal["auto"],
    limit: float,
    progress: Progress = no_progress,
) -> RobustFit:
    """Judge the votes and rank the items."""
    rows, weight = standing.rows, standing.weight
    limit = limit_for(rows, limit)
    progress("finding outliers", 0.0)
    entry, found = _link_path(rows, weight, standing.search, limit)
    search = search_of(standing, found, limit=limit, prune=prune)
    suspected = search.suspicion(rows, found)
    pruned = search.pruned(suspected, ballots.weight)
    progress("fitting the ranking", 0.0)
    fitted = refit(rows, weight * ~pruned, standing.ranking, limit=limit, start=found)
    return RobustFit(
        rows=rows,
        own_weight=ballots.weight,
        weight=weight,
        penalties=standing.ranking,
        search=search,
        rates=standing.rates,
        entry=entry,
        suspicion=suspected,
        pruned=pruned,
        found=found,
        fit=fitted,
    )


def people_left_out(model: RobustFit, fold: Codes) -> tuple[Floats, Mask]:
    """Margin of every vote by models fitted without the votes of its fold; where there is one."""
    weight = model.weight * ~model.pruned
    return _left_out(
        model.rows,
        fold,
        lambda kept: refit(
            model.rows,
            weight * kept,
            model.penalties,
            limit=model.search.limit,
            start=model.fit,
            tolerance=1e-3,
        ),
    )


def _left_out(
    rows: Comparisons, fold: Codes, fit_to: Callable[[Mask], Refit | LogisticFit]
) -> tuple[Floats, Mask]:
    """Margin of every vote by a fit to the votes of the other folds; where there is one."""
    margin = np.zeros(rows.n_rows)
    judged = np.zeros(rows.n_rows, np.bool_)
    for held in range(int(fold.max(initial=-1)) + 1):
        out = fold == held
        if out.all() or not out.any():
            continue
        fitted = fit_to(~out)
        margin[out] = rows.margins(fitted.scores(rows.features), fitted.lean)[out]
        judged |= out
    return margin, judged


def folds_of_people(ballots: Ballots, rng: np.random.Generator) -> Codes:
    """(n_rows,) fold of each vote: people are left out whole, votes without a name by pair."""
    people = rng.permutation(len(ballots.names)) % _FOLDS
    first = np.minimum(ballots.rows.winner, ballots.rows.loser).astype(np.int64)
    second = np.maximum(ballots.rows.winner, ballots.rows.loser)
    pair = np.unique(first * ballots.rows.n_items + second, return_inverse=True)[1]
    pairs = rng.permutation(int(pair.max(initial=-1)) + 1) % _FOLDS
    named = ballots.annotator >= 0
    fold = np.append(people, 0)[ballots.annotator] if len(people) else pairs[pair]
    return np.where(named, fold, pairs[pair]).astype(np.int32)


def _honest_margins(
    ballots: Ballots,
    rows: Comparisons,
    weight: Floats,
    penalties: Penalties,
    tuned: Tuned | None,
    people: Codes,
) -> tuple[Floats, Mask]:
    """Calibrated log-odds of votes by fits that do not know their items, and where there are some.

    Without features, or too few votes to leave items out, by fits that do not know the people.
    """
    counted = ~ballots.tie & (ballots.weight > 0)
    if tuned is None and not ballots.has_names:  # nothing to leave out but what the order needs
        return np.zeros(rows.n_rows), np.zeros(rows.n_rows, np.bool_)
    if tuned is not None:
        counted = counted & tuned.judged
        margin = tuned.margin
        if weight is not ballots.weight:
            margin = tuned.weighed(rows, weight).margin
    else:
        margin, _ = _left_out(
            rows, people, lambda kept: logistic_fit(rows, weight * kept, penalties, tolerance=1e-3)
        )
    return calibration(margin, counted, ballots.weight) * margin, counted


def _size(margin: Floats) -> float:
    return float(np.sqrt(np.mean(margin**2))) if margin.size else 0.0


def _link_path(
    rows: Comparisons, weight: Floats, penalties: Penalties, limit: float
) -> tuple[Floats, LogisticFit]:
    """Follow the outlier variables inside the link as their penalty falls to the limit.

    A vote's variable leaves zero where |y - p| exceeds the penalty; between two penalties the
    crossing is interpolated. Entries are first ones: a vote that comes back keeps its own.
    """
    entry = np.zeros(rows.n_rows)
    fitted = logistic_fit(rows, weight, penalties, tolerance=1e-4)
    before = np.ones(rows.n_rows)  # how much more penalty than pull there is
    last = 1.0
    for penalty in (*(one for one in _LIMITS if one > limit), limit):
        fitted = logistic_fit(rows, weight, penalties, limit=penalty, start=fitted, tolerance=1e-4)
        margin = rows.margins(fitted.scores(rows.features), fitted.lean)
        room = penalty - np.abs(rows.target - expit(margin))
        new = (room < 0) & (entry == 0)
        share = before[new] / (before[new] - room[new])
        entry[new] = last + share * (penalty - last)
        before, last = np.maximum(room, 0.0), penalty
    return entry, fitted
