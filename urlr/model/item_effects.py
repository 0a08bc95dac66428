"""How much items differ beyond what their features say: the variance of the private effects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg, sparse
from scipy.special import chdtr, chdtrc, expit

from urlr.arrays import Codes, Floats
from urlr.model.logistic import Comparisons, LogisticFit, Metric, Penalties, logistic_fit
from urlr.model.tuning import calibration

_FARTHEST = 4.0
"""Squared deviations of an item beyond this many variances count as this many.

A campaign gives a tenth of the items effects of many standard deviations; they must not persuade
us that all items have such.
"""
_EXPECTED = float(
    chdtr(3, _FARTHEST) + _FARTHEST * chdtrc(1, _FARTHEST)
)  # E min(z^2, c) for a standard normal z
_LARGEST = 25.0
_MOST_SCORES = 1e3
_SAMPLE = 2_000
"""Items that are looked at where there are more."""
_STEPS = 4
"""Doublings of the variance of scores, up or down, that are tried."""
_EXACT = 400
"""Items up to which the posterior variance is exact; beyond, items are taken one at a time."""


def item_variance(rows: Comparisons, weight: Floats, scores: Floats, lean: float) -> float:
    """Variance of private item effects, by a robust version of the moment estimate.

    With r_v = y_v - p_v the residuals of a fit without effects, g_ij = sum over the votes on one
    pair and h_ij the matching sums of p (1 - p), an item's pull g_i = sum_j g_ij has

        E g_i^2 = sum_j g_ij^2 + s (h_i^2 - sum_j h_ij^2)

    to first order, whatever the noise of a vote and however alike the votes on one pair are: only
    products of different pairs carry the effect. The estimate s solves

        sum_i a_i min(g_i^2 / (sum_j g_ij^2 + s (h_i^2 - sum_j h_ij^2)), 4) = 0.92 sum_i a_i

    (compare Paule & Mandel 1982), a_i being larger for items that tell more. 0 when the items
    spread no more than their votes explain.
    """
    chance = expit(rows.log_odds(scores, lean))
    first = np.minimum(rows.winner, rows.loser)
    second = np.maximum(rows.winner, rows.loser)
    key = first.astype(np.int64) * rows.n_items + second
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    sign = np.where(rows.winner == first, 1.0, -1.0)
    pull = np.add.reduceat((sign * weight * (rows.target - chance))[order], starts)
    bend = np.add.reduceat((weight * chance * (1.0 - chance))[order], starts)
    first, second = first[order][starts], second[order][starts]
    n = rows.n_items

    def per_item(of_first: Floats, of_second: Floats) -> Floats:
        total = np.bincount(first, of_first, n) + np.bincount(second, of_second, n)
        return np.asarray(total, np.float64)

    squared = per_item(pull, -pull) ** 2
    noise = per_item(pull**2, pull**2)
    signal = per_item(bend, bend) ** 2 - per_item(bend**2, bend**2)
    tells = (signal > 1e-9 * max(float(signal.max(initial=0.0)), 1e-300)) & (noise > 0)
    if not tells.any():
        return 0.0
    squared, noise, signal = squared[tells], noise[tells], signal[tells]
    share = signal / (noise + 0.1 * signal)
    share /= share.sum()

    def excess(variance: float) -> float:
        ratio = np.minimum(squared / (noise + variance * signal), _FARTHEST)
        return float(share @ ratio) - _EXPECTED

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, _LARGEST
    while high - low > 1e-4 * high:
        middle = 0.5 * (low + high)
        if excess(middle) > 0:
            low = middle
        else:
            high = middle
    return high


def unsure_of_features(
    rows: Comparisons, weight: Floats, penalties: Penalties, fitted: LogisticFit
) -> float:
    """Mean variance of what features say of an item, given the votes and the ridge."""
    chance = expit(rows.log_odds(fitted.scores(rows.features), fitted.lean))
    metric = Metric.of(rows, weight * chance * (1.0 - chance), penalties)
    some = np.unique(np.linspace(0, rows.n_items - 1, _SAMPLE).round().astype(np.int64))
    spread = linalg.solve_triangular(
        metric.factor, rows.features[some].T, lower=True, check_finite=False
    )
    return float((spread**2).sum(axis=0).mean())


def score_variance(rows: Comparisons, weight: Floats, *, lean: float) -> float:
    """Variance of the scores of items without features, by EM from a wide prior down.

    The M-step is the mean of u^2 and of the posterior variance, taken as 1 / (degree + tau). Never
    below 1, nor so narrow that the middle of the longest chain of comparisons is flattened: what
    its ends say fades by exp(-sqrt(tau / p (1 - p))) an item, here to a thousandth at most.
    """
    narrowest = max(1.0, (_longest_chain(rows) / 5.0) ** 2)
    variance = max(_MOST_SCORES, narrowest)
    fitted = None
    for _ in range(30):
        penalties = Penalties(1.0, 1.0 / variance, lean)
        fitted = logistic_fit(rows, weight, penalties, start=fitted, tolerance=1e-3)
        chance = expit(rows.log_odds(fitted.effects, fitted.lean))
        degree = rows.degree(weight * chance * (1.0 - chance))
        new = float(np.mean(fitted.effects**2 + 1.0 / (degree + 1.0 / variance)))
        new = min(max(new, narrowest), variance)
        if abs(new - variance) <= 0.05 * variance:
            return new
        variance = new
    return variance


def tuned_variance(
    rows: Comparisons, weight: Floats, say: Floats, fold: Codes, *, lean: float
) -> tuple[float, float]:
    """Variance of the scores that best predicts the votes of people left out, by log loss.

    Of 1 / 8 to 33, from 2 on in the direction that gets better. What is known of the voters left
    out is not used, and margins are damped by how unsure they are. And the factor that makes these
    margins agree with how often they are right.

    Parameters
    ----------
    weight
        (n_rows,) by which scores are fitted.
    say
        (n_rows,) by which votes left out are counted, however reliable their voters.
    """
    silent = replace(rows, offset=None)

    predicted: dict[int, Floats] = {}

    def loss(step: int) -> float:
        penalties = Penalties(1.0, 0.5 * 2.0 ** (-step), lean)
        total, start, said = 0.0, None, np.zeros(rows.n_rows)
        for held in range(int(fold.max()) + 1):
            out = fold == held
            kept = np.where(out, 0.0, weight)
            if not kept.any() or not say[out].any():
                continue
            start = logistic_fit(rows, kept, penalties, start=start, tolerance=1e-2)
            some = silent.taken(out)
            variance = posterior_variance(rows, kept, start, penalties)
            unsure = variance[some.winner] + variance[some.loser]
            margin = some.margins(start.effects, start.lean)
            margin /= np.sqrt(1.0 + np.pi / 8.0 * unsure)
            each = np.logaddexp(0.0, -margin) + (1.0 - some.target) * margin
            total += float(say[out] @ each)
            said[out] = margin
        predicted[step] = said
        return total

    losses = {0: loss(0), 1: loss(1)}
    way = 1 if losses[1] < losses[0] else -1
    step = max(way, 0)
    while -_STEPS < step < _STEPS:
        losses[step + way] = loss(step + way)
        if losses[step + way] >= losses[step]:
            break
        step += way
    best = min(losses, key=lambda one: losses[one])
    counted = (say > 0) & (rows.target == 1.0)
    return 2.0 * 2.0**best, calibration(predicted[best], counted, say)


def posterior_variance(
    rows: Comparisons, weight: Floats, fitted: LogisticFit, penalties: Penalties
) -> Floats:
    """(n_items,) variance of the private effects, what all have in common apart."""
    chance = expit(rows.log_odds(fitted.scores(rows.features), fitted.lean))
    curvature = weight * chance * (1.0 - chance)
    n, ridge = rows.n_items, penalties.items
    if not np.isfinite(ridge):
        return np.zeros(n)
    if n > _EXACT:
        return np.asarray(1.0 / (rows.degree(curvature) + ridge))
    between = np.bincount(rows.winner * np.int64(n) + rows.loser, curvature, n * n).reshape(n, n)
    between = between + between.T
    hessian = np.diag(between.sum(axis=1) + ridge) - between
    # The mean of all scores is free: its variance, 1 / (n ridge), is nobody's.
    return np.asarray(np.diag(np.linalg.inv(hessian)) - 1.0 / (n * ridge))


def _longest_chain(rows: Comparisons) -> int:
    """Edges between the two items farthest apart, from below: two sweeps from any item."""
    n = rows.n_items
    ones = np.ones(rows.n_rows)
    pairs = sparse.coo_array((ones, (rows.winner, rows.loser)), shape=(n, n)).tocsr()
    pairs = pairs + pairs.T
    last = 0
    for _ in range(2):
        order, before = sparse.csgraph.breadth_first_order(pairs, last, directed=False)
        depth = np.zeros(n, np.int64)
        for item in order[1:]:
            depth[item] = depth[before[item]] + 1
        last = int(order[-1])
    return int(depth[last])
