"""Tails of weighted sums of independent yes/no outcomes, for thousands of sums at once.

    S = sum_r w_r B_r,    B_r ~ Binomial(n_r, q_r)
    K(t) = log E exp(t S) = sum_r n_r log(1 - q_r + q_r exp(t w_r))

Saddlepoint of Lugannani & Rice (1980) in the form of Barndorff-Nielsen: with K'(t) = s,

    P(S <= s) = Phi(r + log(u / r) / r),  r = sign(t) sqrt(2 (t s - K(t))),  u = t sqrt(K''(t))

which is right to a few per cent of the probability itself far into the tail, unless a sum consists
of very few outcomes of very different weight. Where all weights are equal S has steps of w, and
Daniels' (1987) continuity correction is made: s + w / 2 is looked up in place of s, with
u = 2 sinh(t w / 2) sqrt(K''(t)) / w.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from urlr.arrays import Floats, Mask

_STEPS = 60
_LARGEST = 38.0
"""Deviates beyond this have tails below the smallest float."""
_NOTHING = 1e-290
_NEGLIGIBLE = 1e-7
"""Weights below this share of a sum's largest are dropped; so far from its ends is at its ends."""


def sums(code: npt.NDArray[np.integer[Any]], value: Floats | Mask, n: int) -> Floats:
    """Sum of the values of each code below n; floats even of nothing, where numpy has integers."""
    return np.bincount(code, value, n).astype(np.float64, copy=False)


def lower_tail_deviates(
    weight: Floats,
    chance: Floats,
    count: Floats,
    group: npt.NDArray[np.integer[Any]],
    observed: Floats,
) -> Floats:
    """Normal deviates z with P(S_g <= observed_g) = Phi(z_g), one for each sum g.

    Parameters
    ----------
    weight, chance, count
        (n_rows,) w of either sign, q strictly between 0 and 1, n.
    group
        (n_rows,) which sum the row belongs to.
    observed
        (n_groups,) values of the sums.

    Returns
    -------
    Floats
        (n_groups,) deviates between -38 and 38; 38 for a sum without rows. At its smallest
        possible value and below, the deviate is that of the smallest value, exactly.
    """
    n_groups = observed.size

    def total(per_row: Floats) -> Floats:
        return sums(group, per_row, n_groups)

    # w B = |w| (n - B) - |w| n: without loss of generality no weight is negative.
    negative = weight < 0
    chance = np.where(negative, 1.0 - chance, chance)
    weight = np.abs(weight)
    rest = observed + total(np.where(negative, weight * count, 0.0))
    largest = np.zeros(n_groups)
    np.maximum.at(largest, group, np.where(count > 0, weight, 0.0))
    scale = np.divide(1.0, largest, out=np.zeros(n_groups), where=largest > _NOTHING)
    weight = weight * scale[group]
    weight[weight < _NEGLIGIBLE] = 0.0
    rest *= scale
    most = total(count * weight)
    log_odds = special.logit(np.clip(chance, 1e-15, 1.0 - 1e-15))
    log_none = -np.logaddexp(0.0, log_odds)

    none = special.ndtri_exp(np.minimum(total(np.where(weight > 0, count * log_none, 0.0)), -1e-17))
    at_least, at_most = rest <= _NEGLIGIBLE, rest >= most - _NEGLIGIBLE
    inside = ~(at_least | at_most)
    smallest = np.ones(n_groups)
    np.minimum.at(smallest, group, np.where(weight > 0, weight, 1.0))
    stepped = inside & (smallest > 1.0 - _NEGLIGIBLE)
    rest = np.where(stepped, np.floor(rest + 1e-3) + 0.5, rest)
    share = np.clip(rest / np.where(most > 0, most, 1.0), 1e-12, 1.0 - 1e-12)
    goal = np.where(inside, special.logit(share), 0.0)

    # Newton on the log-odds of K'(t) / most, which are linear in t when all rows are alike.
    t, low, high = np.zeros(n_groups), np.full(n_groups, -200.0), np.full(n_groups, 200.0)
    safe = np.where(most > 0, most, 1.0)
    for _ in range(_STEPS):
        tilted = special.expit(log_odds + weight * t[group])
        mass = count * weight * tilted
        slope = total(mass)
        spread = weight * (1.0 - tilted)
        curvature = total(mass * spread)
        reached = np.clip(slope / safe, 1e-15, 1.0 - 1e-15)
        miss = special.logit(reached) - goal
        done = ~inside | (np.abs(miss) < 1e-7) | (high - low < 1e-9)
        if done.all():
            break
        high, low = np.where(miss > 0, t, high), np.where(miss > 0, low, t)
        rate = np.maximum(curvature / (safe * reached * (1.0 - reached)), 1e-9)
        moved = t - np.clip(miss / rate, -30.0, 30.0)
        outside = (moved <= low) | (moved >= high)
        t = np.where(done, t, np.where(outside, 0.5 * (low + high), moved))

    growth = total(count * (log_none + np.logaddexp(0.0, log_odds + weight * t[group])))
    deviate = np.sign(t) * np.sqrt(np.maximum(2.0 * (t * rest - growth), 0.0))
    curved = np.where(inside, np.maximum(curvature, 1e-300), 1.0)
    close = np.abs(deviate) < 1e-3
    skewness = total(mass * spread * weight * (1.0 - 2.0 * tilted)) / curved**1.5
    r = np.where(close, 1.0, deviate)
    u = np.where(close, 1.0, np.where(stepped, 2.0 * np.sinh(t / 2.0), t) * np.sqrt(curved))
    correction = np.where(close, skewness / 6.0, np.log(np.maximum(u / r, 1e-300)) / r)
    deviate = np.where(inside, deviate + correction, np.where(at_most, _LARGEST, none))
    return np.asarray(np.clip(deviate, -_LARGEST, _LARGEST), np.float64)
