"""Intervals on shares and on areas under a curve, without drawing anything anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from urlr.arrays import Floats, Ints, Mask
from urlr.metrics import mean_ranks, outlier_auc

LEVEL = 0.9
"""Nominal coverage."""

_Z = float(ndtri(0.5 + LEVEL / 2))


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 90 % interval."""

    value: float
    low: float
    high: float


def share_interval(right: Floats, weight: Floats, cluster: Ints) -> Interval:
    """Weighted share of what is right, with Wilson's interval for votes that come in clusters.

    The votes count as so many independent ones as give the same variance as the clusters do:
    sum_g (sum_{v in g} w_v (r_v - p))^2 / W^2, never more than W^2 / sum_v w_v^2 of them.

    Parameters
    ----------
    right
        (n_votes,) 1, 0, or one half.
    weight
        (n_votes,) more than 0.
    cluster
        (n_votes,) votes of one number stand or fall together.
    """
    total = float(weight.sum())
    value = min(max(float(right @ weight) / total, 0.0), 1.0)
    most = total**2 / float(weight @ weight)
    of_cluster = np.bincount(cluster, weight * (right - value))
    variance = float(of_cluster @ of_cluster) / total**2
    n = most if variance <= 0 else min(most, value * (1.0 - value) / variance)
    n = max(n, 1.0)
    middle = (value + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    reach = _Z / (1 + _Z**2 / n) * np.sqrt(value * (1 - value) / n + _Z**2 / (4 * n**2))
    low, high = max(middle - reach, 0.0), min(middle + reach, 1.0)
    return Interval(value, min(low, value), max(high, value))


def auc_interval(suspicion: Floats, wrong: Mask) -> Interval:
    """Area under the curve, with the interval of DeLong, DeLong & Clarke-Pearson (1988).

    Normal in its log-odds, so that it stays between 0 and 1. Where every wrong vote comes before
    every right one that variance is 0, and the interval is that of so many successes out of as
    many tries (Clopper & Pearson 1934).

    Parameters
    ----------
    suspicion
        (n_votes,) higher is more suspicious; equal suspicion counts one half.
    wrong
        (n_votes,) some, not all.

    Raises
    ------
    VoteError
        As `outlier_auc`.
    """
    value = outlier_auc(suspicion, wrong)
    n_wrong, n_right = int(np.count_nonzero(wrong)), int(np.count_nonzero(~wrong))
    tail = 0.5 - LEVEL / 2
    together = mean_ranks(suspicion)
    # Share of the right votes below each wrong one, and of the wrong ones above each right one.
    below = (together[wrong] - mean_ranks(suspicion[wrong])) / n_right
    above = 1.0 - (together[~wrong] - mean_ranks(suspicion[~wrong])) / n_wrong
    spread = sum(
        float(part.var(ddof=1)) / part.size if part.size > 1 else 0.25 for part in (below, above)
    )
    if value >= 1.0:
        return Interval(1.0, tail ** (1.0 / n_wrong), 1.0)
    if value <= 0.0:
        return Interval(0.0, 0.0, 1.0 - tail ** (1.0 / n_wrong))
    reach = _Z * np.sqrt(spread) / (value * (1.0 - value))
    middle = float(logit(value))
    return Interval(value, float(expit(middle - reach)), float(expit(middle + reach)))
