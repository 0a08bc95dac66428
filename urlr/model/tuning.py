"""The penalty of the logistic model, and what it says of votes on items it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from urlr.arrays import Floats, Ints, Mask, Progress, no_progress
from urlr.model.logistic import Comparisons, LogisticFit, Penalties, logistic_fit

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
    """A ridge, and the margins of votes predicted without any vote on one of their items."""

    ridge: float
    fold: Ints
    """(n_items,) which fold each item belongs to."""
    margin: Floats
    """(n_rows,) log-odds that the winner beats the loser, by models that saw one item or none."""
    judged: Mask
    """(n_rows,) votes that have such a margin."""
    loss: float
    """Log loss of the judged votes at that ridge, of items not seen against others and against
    each other."""

    def losses(self, rows: Comparisons, weight: Floats) -> Floats:
        """(n_rows,) log loss of every vote."""
        return _losses(rows, weight, self.margin)

    def weighed(self, rows: Comparisons, weight: Floats) -> Tuned:
        """Return the same with votes weighed anew in the fits; the ridge and the folds stay."""
        margin, _, _ = _margins(rows, self.ridge, _folds(rows, weight, self.fold), [])
        return replace(self, margin=margin)


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
    folds = _folds(rows, weight, fold)
    if not folds:
        return None
    judged = _known(rows, folds) & (weight > 0)
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
        margin, both, starts = _margins(rows, float(ridge), folds, starts)
        losses = _losses(rows, weight, margin) + _losses(rows, weight, both)
        loss = 0.5 * float(losses[judged].sum())
        if best is None or loss < best.loss:
            best, worse = Tuned(float(ridge), fold, margin, judged, loss), 0
        else:
            worse += 1
            if worse > _PATIENCE:
                break
    if best is None or every is rows:
        return best
    known = _known(every, _folds(every, say, fold))
    return replace(best.weighed(every, say), judged=known & (say > 0))


@dataclass(frozen=True, slots=True)
class _Fold:
    """Votes to learn from, none of which touches an item of the fold."""

    items: Mask
    """(n_items,) the fold."""
    rows: Comparisons
    weight: Floats


def _folds(rows: Comparisons, weight: Floats, fold: Ints) -> list[_Fold]:
    """Those folds that leave votes on both sides."""
    folds = []
    counts = weight > 0
    for k in range(int(fold.max()) + 1):
        train = (fold[rows.winner] != k) & (fold[rows.loser] != k) & counts
        if train.any() and not train[counts].all():
            folds.append(_Fold(fold == k, rows.taken(train), weight[train]))
    return folds


def _margins(
    rows: Comparisons, ridge: float, folds: list[_Fold], starts: list[LogisticFit]
) -> tuple[Floats, Floats, list[LogisticFit]]:
    """Margins by the fits that leave a vote out, their mean; margins of scores that each come from
    the fit that leaves the item out; and the fits, to start others."""
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
    return total / np.maximum(count, 1.0), both, fits


def _known(rows: Comparisons, folds: list[_Fold]) -> Mask:
    """(n_rows,) votes whose items both have a score."""
    scored = np.logical_or.reduce([one.items for one in folds])
    return np.asarray(scored[rows.winner] & scored[rows.loser])


def _losses(rows: Comparisons, weight: Floats, margin: Floats) -> Floats:
    loss = np.logaddexp(0.0, -margin) + (1.0 - rows.target) * margin
    return np.asarray(weight * loss, np.float64)
