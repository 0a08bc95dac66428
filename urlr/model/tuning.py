"""The penalty of the logistic model, and what it says of votes on items it has not seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import expit

from urlr.arrays import Floats, Ints, Mask, Progress, no_progress
from urlr.model.logistic import Comparisons, LogisticFit, Penalties, logistic_fit
from urlr.space.feature_space import Space

RIDGE = 1.0
"""Where there are too few votes to tune: scores of standard deviation 1 in log-odds, as what
features say before any vote has been seen."""

_FOLDS = 5
_RIDGES = np.logspace(3, -1.5, 10)
"""From scores that hardly differ (standard deviation 0.03 in log-odds) to 6."""
_FEWEST = 30
"""Decided votes left out below which chance would choose the ridge."""
_MOST_VOTES = 200_000
"""Votes drawn at random, where there are more, that ridges are tried on."""
_PATIENCE = 2
"""Smaller ridges are not tried after this many in a row that predict worse."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """A ridge, and what is predicted by it of votes on items that the fit has not seen."""

    ridge: float
    fold: Ints
    """(n_items,) which fold each item belongs to."""
    margin: Floats
    """(n_rows,) log-odds that the winner beats the loser, by models that saw one item or none; 0
    for votes that ridges were not tried on, until votes are weighed."""
    judged: Mask
    """(n_rows,) votes that can have such a margin."""
    scores: Floats
    """(n_items,) of each item, by a model without its votes."""
    loss: float
    """Log loss of the judged votes at that ridge, of items not seen against others and against each
    other."""

    def losses(self, rows: Comparisons, weight: Floats) -> Floats:
        """(n_rows,) log loss of every vote."""
        return _losses(rows, weight, self.margin)

    def weighed(self, rows: Comparisons, weight: Floats) -> Tuned:
        """Return the same with votes weighed anew in the fits; the ridge and the folds stay."""
        found = _predicted(rows, self.ridge, _folds(rows, weight, self.fold))
        return replace(self, margin=found.margin, scores=found.scores)


def tuned_ridge_of(
    rows: Comparisons,
    weight: Floats,
    *,
    rng: np.random.Generator,
    near: float | None = None,
    within: float = 0.6,
    progress: Progress = no_progress,
) -> Tuned | None:
    """Ridge whose scores best predict votes on items left out of the fit, by log loss.

    Items, not votes, are dealt into five folds: a fold's votes are those that touch one of its
    items, and the fit sees the others. Vote-wise folds would let a campaign or an overfitted item
    validate itself. A vote is predicted twice: by fits that may have seen its other item, and from
    two scores by fits that have not seen the item. Item effects are left out: an item left out has
    none.

    Parameters
    ----------
    near
        Look only at the ridges next to this one.
    within
        How near, in powers of ten; the ridges are half of one apart.

    Returns
    -------
    None when no fold leaves votes on both sides, or all of them too few to tell ridges apart.
    """
    fold = rng.permutation(rows.n_items) % min(_FOLDS, rows.n_items)
    every, say = rows, weight
    if rows.n_rows > _MOST_VOTES:
        some = np.sort(rng.choice(rows.n_rows, _MOST_VOTES, replace=False))
        rows, weight = rows.taken(some), weight[some]
    folds = list(_folds(rows, weight, fold))
    if not folds:
        return None
    judged = _known(rows, fold, [one.number for one in folds]) & (weight > 0)
    if np.count_nonzero(judged & (rows.target == 1.0)) < _FEWEST:
        return None
    starts: list[LogisticFit] = []
    best: Tuned | None = None
    worse = 0
    ridges = _RIDGES
    if near is not None:
        ridges = _RIDGES[np.abs(np.log10(_RIDGES / near)) < within]
    for step, ridge in enumerate(ridges):
        progress("tuning the ridge", step / len(ridges))
        found = _predicted(rows, float(ridge), folds, starts)
        losses = _losses(rows, weight, found.margin) + _losses(rows, weight, found.both)
        loss, starts = 0.5 * float(losses[judged].sum()), found.fits
        if best is None or loss < best.loss:
            best, worse = Tuned(float(ridge), fold, found.margin, judged, found.scores, loss), 0
        else:
            worse += 1
            if worse > _PATIENCE:
                break
    if best is None or every is rows:
        return best
    margin = np.zeros(every.n_rows)
    margin[some] = best.margin
    known = _known(every, fold, [k for k, _ in _trains(every, say, fold)])
    return replace(best, margin=margin, judged=known & (say > 0))


@dataclass(frozen=True, slots=True)
class _Fold:
    """Votes to learn from, none of which touches an item of the fold."""

    number: int
    items: Mask
    """(n_items,) those of the fold."""
    rows: Comparisons
    weight: Floats


def _trains(rows: Comparisons, weight: Floats, fold: Ints) -> Iterator[tuple[int, Mask]]:
    """(n_rows,) votes to learn from, for those folds that leave votes on both sides."""
    counts = weight > 0
    for k in range(int(fold.max()) + 1):
        train = (fold[rows.winner] != k) & (fold[rows.loser] != k) & counts
        if train.any() and not train[counts].all():
            yield k, train


def _folds(rows: Comparisons, weight: Floats, fold: Ints) -> Iterator[_Fold]:
    for k, train in _trains(rows, weight, fold):
        yield _Fold(k, fold == k, rows.taken(train), weight[train])


@dataclass(frozen=True, slots=True)
class _Predicted:
    """What the folds say of what they have not seen."""

    margin: Floats
    """(n_rows,) mean over the fits that leave a vote out of its margin."""
    scores: Floats
    """(n_items,) by the fit that leaves the item out."""
    both: Floats
    """(n_rows,) margins of these scores."""
    fits: list[LogisticFit]
    """To start others."""


def _predicted(
    rows: Comparisons, ridge: float, folds: Iterable[_Fold], starts: Sequence[LogisticFit] = ()
) -> _Predicted:
    scores, leans, fits = np.zeros(rows.n_items), [], []
    total, count = np.zeros(rows.n_rows), np.zeros(rows.n_rows)
    for k, one in enumerate(folds):
        fitted = logistic_fit(
            one.rows,
            one.weight,
            Penalties(ridge, np.inf, 1.0 if one.rows.side.any() else np.inf),
            start=starts[k] if starts else None,
            tolerance=1e-3,
        )
        every = rows.features @ fitted.coefficients
        scores[one.items] = every[one.items]
        held = one.items[rows.winner] | one.items[rows.loser]
        total += held * rows.margins(every, fitted.lean)
        count += held
        leans.append(fitted.lean)
        fits.append(fitted)
    both = rows.margins(scores, float(np.mean(leans)) if leans else 0.0)
    return _Predicted(total / np.maximum(count, 1.0), scores, both, fits)


def _known(rows: Comparisons, fold: Ints, scored_folds: list[int]) -> Mask:
    """(n_rows,) votes whose items both have a score."""
    scored = np.isin(fold, scored_folds)
    return np.asarray(scored[rows.winner] & scored[rows.loser])


def _losses(rows: Comparisons, weight: Floats, margin: Floats) -> Floats:
    loss = np.logaddexp(0.0, -margin) + (1.0 - rows.target) * margin
    return np.asarray(weight * loss, np.float64)


@dataclass(frozen=True, slots=True)
class TunedSpace:
    """The space with as much of the kernel as predicts best, and its ridge."""

    space: Space
    tuned: Tuned | None
    """None where too few votes are left out to tune by."""
    ridge: float
    fixed: bool
    """Whether the ridge was given."""
    seed: int
    """Of the folds of items."""


def tuned_space(
    space: Space,
    rows: Comparisons,
    weight: Floats,
    ridge: float | Literal["tuned"],
    seed: int,
    progress: Progress = no_progress,
) -> TunedSpace:
    """Tune the ridge, and whether there is a kernel, on items left out.

    None only if that predicts votes clearly better, by two standard errors of the difference.
    """

    def tried(features: Floats, near: float | None) -> Tuned | None:
        rng = np.random.default_rng(seed)
        of_space = replace(rows, features=features)
        return tuned_ridge_of(of_space, weight, rng=rng, near=near, progress=progress)

    fixed = ridge != "tuned"
    best = None if space.feature_map is None else tried(space.features, None)
    if best is not None and (prior := space.prior) is not None:
        plain = prior.unbent(space.features)
        if (other := tried(plain, best.ridge)) is not None:
            losses = [one.losses(rows, weight) for one in (best, other)]
            gain = (losses[0] - losses[1])[best.judged]
            if float(gain.sum()) > 2.0 * float(gain.std()) * np.sqrt(gain.size):
                space, best = space.with_prior(prior.straight(), plain), other
    chosen = RIDGE if best is None else best.ridge
    return TunedSpace(space, best, float(ridge) if fixed else chosen, fixed, seed)


def calibration(margin: Floats, counted: Mask, weight: Floats, rate: Floats | None = None) -> float:
    """Factor that makes log-odds of votes agree with how often they are right.

    One-dimensional logistic regression of the votes on their margins, each vote being flipped at
    the rate given, or never. 4 at most; 0 where the margins predict votes no better than chance,
    as between two people who disagree: then nobody can be judged by the others.
    """
    m, w = margin[counted], weight[counted]
    wrong = None if rate is None else np.clip(rate[counted], 1e-3, 0.5)
    factor = 1.0
    for _ in range(50):
        chance = expit(factor * m)
        if wrong is None:
            slope = float(w @ ((1.0 - chance) * m))
            bend = float(w @ (chance * (1.0 - chance) * m * m))
        else:
            right = wrong + (1.0 - 2.0 * wrong) * chance
            moves = (1.0 - 2.0 * wrong) * chance * (1.0 - chance) * m
            slope = float(w @ (moves / right))
            bend = float(w @ (moves**2 / (right * (1.0 - right))))
        if not bend > 0:
            return 1.0
        step = slope / bend
        factor = float(np.clip(factor + step, 0.0, 4.0))
        if abs(step) < 1e-6:
            break
    return factor
