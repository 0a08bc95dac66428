"""Items that a share of their votes lifts or sinks, whatever they are compared with.

Nobody can be recognised who pushes items under the names of honest people. What remains
is that these items are compared more often than others, and that so many of their votes do not
depend on the opponent: for an item of which a share a of the votes pushes it up,

    P(i beats j) = a + (1 - a) sigmoid(s_i - s_j)

Suspected are items compared far more often than is usual; a is the share of their votes beyond
that, and each is pushed up or down, whichever is likelier. A single item shows this too faintly:
they are believed to be pushed together, if that makes all votes likelier by far, the choice of a
way for each item allowed for, and not at all otherwise.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from urlr.arrays import Floats, Mask
from urlr.model.logistic import Comparisons, LogisticFit, Penalties, logistic_fit

_OFTENER = (3.0, 2.0, 1.5, 1.5, 1.5)
"""Robust deviations beyond the median number of votes from which on an item is suspected, and from
which on it is one more where others are believed to be pushed."""
_SURER = 0.5
_EVIDENCE = 5.0
"""Least gain in log-likelihood to believe it."""
_MOST = 0.9
_ROUNDS = 10
_TOLERANCE = 1e-3
_FURTHER = np.linspace(-3.0, 3.0, 25)
"""By how much pushes may have moved a score."""


def pushes(rows: Comparisons, weight: Floats, penalties: Penalties) -> Floats:
    """(n_rows,) chance that a vote was a push; zeros where too little speaks for any."""
    weight = np.where(rows.target == 1.0, weight, 0.0)
    found = np.zeros(rows.n_rows)
    if not _beyond_usual(rows, weight, found, _OFTENER[1]).any():
        return found
    fitted = now = logistic_fit(rows, weight, penalties, tolerance=_TOLERANCE)
    before = float(weight @ np.log(_chance(rows, fitted)))
    best, upwards = before + _EVIDENCE, np.zeros(rows.n_items, np.bool_)
    for deviations in _OFTENER:
        share = _beyond_usual(rows, weight, found, deviations)
        if not share.any():
            continue
        ways = _ways(rows, weight, now, share)
        upwards = np.where((np.abs(ways) > _SURER) | ~found.any(), ways > 0, upwards)
        up, down = np.where(upwards, share, 0.0), np.where(upwards, 0.0, share)
        pushed, tried = found, now
        for _ in range(_ROUNDS):
            push = _either(up[rows.winner], down[rows.loser])
            other = _either(up[rows.loser], down[rows.winner])
            fewer = np.minimum(1.0, _MOST / np.maximum(push + other, _MOST))
            push, other = fewer * push, fewer * other
            said = push + (1.0 - push - other) * _chance(rows, tried)
            pushed = push / said
            tried = logistic_fit(
                rows, weight * (1.0 - pushed), penalties, start=tried, tolerance=_TOLERANCE
            )
        # Each way was chosen by the same votes, from two.
        gained = float(weight @ np.log(said)) - np.log(2.0) * np.count_nonzero(share)
        if gained > best:
            best, found, now = gained, pushed, tried
        elif found.any() or deviations == _OFTENER[-1]:
            break
    return np.where(weight > 0, found, 0.0)


def _chance(rows: Comparisons, fitted: LogisticFit) -> Floats:
    return np.asarray(expit(rows.log_odds(fitted.scores(rows.features), fitted.lean)))


def _either(one: Floats, other: Floats) -> Floats:
    return 1.0 - (1.0 - one) * (1.0 - other)


def _beyond_usual(rows: Comparisons, weight: Floats, pushed: Floats, deviations: float) -> Floats:
    """(n_items,) share of the votes of an item beyond the usual number; 0 unless far beyond.

    0 for all if that were most of them: then it is the others that are compared seldom.
    """
    n = rows.n_items

    def count(weight: Floats) -> Floats:
        both = np.bincount(rows.winner, weight, n) + np.bincount(rows.loser, weight, n)
        return both.astype(np.float64)

    seen, usual = count(weight), float(np.median(count(weight * (1.0 - pushed))))
    typical = float(np.median(seen))
    spread = max(np.sqrt(typical), 1.4826 * float(np.median(np.abs(seen - typical))))
    often: Mask = seen > typical + deviations * spread
    if 2 * np.count_nonzero(often) > n:
        return np.zeros(n)
    return np.where(often, 1.0 - usual / np.maximum(seen, 1e-12), 0.0)


def _ways(rows: Comparisons, weight: Floats, fitted: LogisticFit, share: Floats) -> Floats:
    """(n_items,) whether an item is likelier pushed up than down, as the others are.

    Each with the score that suits it best then: pushes of which way explain its upsets?
    """
    scores, n = fitted.scores(rows.features), rows.n_items
    variance = max(float(np.var(scores)), 1e-12)
    margin = rows.log_odds(scores, fitted.lean)
    best = []
    for way in (1.0, -1.0):
        of_way = np.full(n, -np.inf)
        for by in _FURTHER:
            won, lost = expit(margin - by), expit(margin + by)
            a, b = share[rows.winner], share[rows.loser]
            if way > 0:
                won, lost = a + (1.0 - a) * won, (1.0 - b) * lost
            else:
                won, lost = (1.0 - a) * won, b + (1.0 - b) * lost
            log = np.bincount(rows.winner, weight * np.log(won), n)
            log += np.bincount(rows.loser, weight * np.log(lost), n)
            log -= 0.5 * (scores - by) ** 2 / variance
            of_way = np.maximum(of_way, log)
        best.append(of_way)
    return np.asarray(best[0] - best[1])
