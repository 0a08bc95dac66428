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
from scipy import linalg
from scipy.special import expit, logit

from urlr.arrays import Codes, Floats, Ints, Mask, Progress, no_progress
from urlr.model.item_effects import posterior_variance
from urlr.model.logistic import Comparisons, LogisticFit, Metric, Penalties, logistic_fit
from urlr.model.refit import Refit, refit

LIKELY_WRONG, NEARLY_SURELY_WRONG = 0.5, 0.95
"""prune="auto" sets a vote aside when it is wrong with at least this probability; the second where
items have no features. There nothing contradicts a vote but others on the same items, and to leave
out the fewer of two kinds makes the scores too sure of what the more say."""

_AT_ONCE = 8192
"""Items whose variance is found at a time."""
_LIMITS = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.3, 0.2, 0.1)
"""Penalties at which the path of the outlier variables is solved, down to the limit asked for."""


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
    left_out: Mask
    """(n_rows,) votes that are set aside before all others, whatever they say."""
    sure: float = LIKELY_WRONG
    """How likely wrong a vote must be."""

    def taken(self, which: Ints) -> Search:
        """Return the same for some of the votes."""
        return replace(self, person=self.person[which], left_out=self.left_out[which])

    def suspicion(self, rows: Comparisons, found: LogisticFit) -> Floats:
        """logit P(wrong) of every vote; minus infinity for ties, which contradict nothing."""
        margin = self.damping * rows.log_odds(found.scores(rows.features), found.lean)
        return np.where(rows.target == 1.0, self.person - margin, -np.inf)

    def tied_at_cut(self, suspected: Floats, pruned: Mask) -> int:
        """Kept votes as suspicious as the last one set aside by a share."""
        chosen = pruned & ~self.left_out
        if self.prune == "auto" or not chosen.any():
            return 0
        cut = float(suspected[chosen].min())
        return int(np.count_nonzero(~pruned & (suspected >= cut - 1e-9 * (1.0 + abs(cut)))))

    def pruned(self, suspected: Floats, weight: Floats) -> Mask:
        """Votes to set aside: those left out, then others that have weight, by their suspicion.

        Votes that are as suspicious as each other go by row order. No others are set aside where
        all of them seem wrong: then it is the ranking that cannot be trusted.
        """
        able = (weight > 0) & np.isfinite(suspected) & ~self.left_out
        if self.prune == "auto":
            wrong = able & (suspected >= logit(self.sure))
            return wrong | self.left_out if (able & ~wrong).any() else self.left_out.copy()
        mask = self.left_out.copy()
        count = int(self.prune * np.count_nonzero(weight > 0) + 1e-9)
        count -= int(np.count_nonzero(self.left_out & (weight > 0)))
        if count > 0:
            rows = np.flatnonzero(able)
            order = np.argsort(-suspected[rows], kind="stable")
            mask[rows[order[:count]]] = True
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

    def variance(self, features: Floats, compared: Ints) -> Floats:
        """(n_items,) how unsure the score of every ranked item is, the penalties taken as right.

        Of more than 20,000 items with 400 features by 2 % too much: some of them make the metric.
        """
        weight, rows = self.weight * ~self.pruned, self.rows
        fitted = LogisticFit(self.fit.coefficients, self.fit.effects, self.fit.lean, 0.0)
        if rows.features.shape[1] == 0:
            return posterior_variance(rows, weight, fitted, self.penalties)
        chance = expit(rows.log_odds(fitted.scores(rows.features), fitted.lean))
        metric = Metric.of(rows, weight * chance * (1.0 - chance), self.penalties)
        variance = np.full(len(features), 1.0 / self.penalties.items)
        if self.penalties.has_items:
            variance[compared] = metric.own
        for start in range(0, len(features), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            spread = linalg.solve_triangular(
                metric.factor, features[some].T, lower=True, check_finite=False
            )
            variance[some] += self.penalties.stretch**2 * (spread**2).sum(axis=0)
        return variance


@dataclass(frozen=True, slots=True)
class WeighedVotes:
    """The votes as they are read, by how much everybody is to be trusted, and what judged that."""

    rows: Comparisons
    """The votes, in the feature space."""
    own_weight: Floats
    """(n_rows,) of the vote itself."""
    ranking: Penalties
    search: Penalties
    """The same without item effects, which would believe a campaign."""
    doubt: Floats
    """(n_rows,) logit of the error rate of whoever cast the vote."""
    weight: Floats
    """(n_rows,) of the vote times the reliability of whoever cast it."""
    margin: Floats
    """(n_rows,) calibrated log-odds of the vote, by fits that know one of its items or none."""
    counted: Mask
    """(n_rows,) decided votes that have such a margin."""
    left_out: Mask
    """(n_rows,) votes of groups that act together, where these do not count."""

    def damping(self, margin: Floats) -> float:
        """How much less sure of votes the fits are that have not seen their items, 1 at most."""
        if not self.counted.any():
            return 1.0
        sure = _size(margin[self.counted])
        return min(1.0, _size(self.margin[self.counted]) / max(sure, 1e-12))


def limit_for(rows: Comparisons, limit: float) -> float:
    """Limit on the pull of a vote: none where items have no features.

    Where margins are small, as in a chain, every vote would pull by the limit alone, and nothing
    but wins less losses would count.
    """
    return limit if rows.features.shape[1] else 1.0


def search_of(
    votes: WeighedVotes, found: LogisticFit, *, limit: float, prune: float | Literal["auto"]
) -> Search:
    """How votes are judged by a fit without item effects."""
    rows = votes.rows
    damping = votes.damping(rows.margins(found.scores(rows.features), found.lean))
    sure = LIKELY_WRONG if rows.features.shape[1] else NEARLY_SURELY_WRONG
    return Search(votes.search, limit, damping, votes.doubt, prune, votes.left_out, sure)


def robust_fit(
    votes: WeighedVotes,
    *,
    prune: float | Literal["auto"],
    limit: float,
    progress: Progress = no_progress,
) -> RobustFit:
    """Judge the votes and rank the items."""
    rows, weight = votes.rows, votes.weight
    limit = limit_for(rows, limit)
    progress("finding outliers", 0.0)
    entry, found = _link_path(rows, weight, votes.search, limit)
    search = search_of(votes, found, limit=limit, prune=prune)
    suspected = search.suspicion(rows, found)
    pruned = search.pruned(suspected, votes.own_weight)
    rows = _known_beside(rows, weight, votes.search, found, limit)
    progress("fitting the ranking", 0.0)
    fitted = refit(rows, weight * ~pruned, votes.ranking, limit=limit, start=found)
    return RobustFit(
        rows=rows,
        own_weight=votes.own_weight,
        weight=weight,
        penalties=votes.ranking,
        search=search,
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


def _known_beside(
    rows: Comparisons, weight: Floats, penalties: Penalties, found: LogisticFit, limit: float
) -> Comparisons:
    """The votes, with what is known beside the scores as steep as a limit makes scores.

    Votes that are as likely as not all pull by the limit, so that margins become steeper than
    log-odds. Tastes and sides are log-odds; left as they are, scores would make up the rest.
    """
    if rows.offset is None or limit >= 1.0 or not rows.offset.any():
        return rows
    plain = logistic_fit(rows, weight, penalties, start=found, tolerance=1e-3)
    margin = rows.margins(plain.scores(rows.features))
    steeper = rows.margins(found.scores(rows.features))
    factor = float((weight * margin) @ steeper) / max(float(weight @ margin**2), 1e-12)
    return replace(rows, offset=max(factor, 1.0) * rows.offset)


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
        margin = rows.log_odds(fitted.scores(rows.features), fitted.lean)
        room = penalty - np.abs(rows.target - expit(margin))
        new = (room < 0) & (entry == 0)
        share = before[new] / (before[new] - room[new])
        entry[new] = last + share * (penalty - last)
        before, last = np.maximum(room, 0.0), penalty
    return entry, fitted
