"""Compiled loops over the edges. Edges come sorted by winner; nothing here allocates per edge."""

from typing import Any

import numpy as np
from numba import njit

from urlr.arrays import Codes, Floats, Mask


@njit(cache=True)
def net_pull(winner: Codes, loser: Codes, values: Floats, n_items: int) -> Floats:
    """C'v: what each item gains from the edges it wins less what it gives on those it loses."""
    out = np.zeros(n_items)
    for e in range(winner.size):
        out[winner[e]] += values[e]
        out[loser[e]] -= values[e]
    return out


@njit(cache=True)
def half_laplacian(
    winner: Codes, loser: Codes, weight: Floats, keep: Mask, features: Floats
) -> Floats:
    """K with Phi'K + K'Phi = Phi' C'DC Phi, D the weights of the kept edges: |E| d work."""
    n_items, d = features.shape
    out = np.zeros((n_items, d))
    half_degree = np.zeros(n_items)
    for e in range(winner.size):
        if keep[e]:
            i, j, w = winner[e], loser[e], weight[e]
            half_degree[i] += 0.5 * w
            half_degree[j] += 0.5 * w
            for k in range(d):
                out[i, k] -= w * features[j, k]
    for i in range(n_items):
        for k in range(d):
            out[i, k] += half_degree[i] * features[i, k]
    return out


@njit(cache=True)
def huber_pull(
    winner: Codes, loser: Codes, weight: Floats, target: Floats, score: Floats, penalty: float
) -> Floats:
    """C'W psi(r): the pull of every edge on its items, residuals clipped at the penalty."""
    out = np.zeros(score.size)
    e, n_edges = 0, winner.size
    while e < n_edges:
        i, total = winner[e], 0.0
        level = score[i]
        while e < n_edges and winner[e] == i:
            j = loser[e]
            pull = weight[e] * min(max(target[e] - level + score[j], -penalty), penalty)
            total += pull
            out[j] -= pull
            e += 1
        out[i] += total
    return out


@njit(cache=True)
def within(
    winner: Codes, loser: Codes, target: Floats, score: Floats, penalty: float, out: Mask
) -> None:
    """Mark the edges whose residual is at most the penalty."""
    for e in range(winner.size):
        out[e] = abs(target[e] - score[winner[e]] + score[loser[e]]) <= penalty


@njit(cache=True)
def mark_entries(
    winner: Codes,
    loser: Codes,
    weight: Floats,
    target: Floats,
    before: Floats,
    after: Floats,
    penalty_before: float,
    penalty_after: float,
    entry: Floats,
    side: Any,
) -> tuple[int, int, float]:
    """Give every edge that is an outlier now, and never was, its entry by linear interpolation.

    Returns how many edges have entered so far, how many are outliers now, and the loss's residual
    sum of squares sum_e w_e clip(r_e)^2.
    """
    entered, outliers, rss = 0, 0, 0.0
    for e in range(winner.size):
        i, j = winner[e], loser[e]
        r = target[e] - after[i] + after[j]
        size = abs(r)
        rss += weight[e] * min(size, penalty_after) ** 2
        if size > penalty_after:
            outliers += 1
            if side[e] == 0:
                side[e] = 1 if r > 0 else -1
                gap = penalty_before - side[e] * (target[e] - before[i] + before[j])
                gap = max(gap, 0.0)
                excess = size - penalty_after
                entry[e] = penalty_before - (penalty_before - penalty_after) * gap / (gap + excess)
        if side[e] != 0:
            entered += 1
    return entered, outliers, rss


@njit(cache=True)
def count_entered(
    winner: Codes, loser: Codes, target: Floats, score: Floats, penalty: float, side: Any
) -> int:
    """How many edges have entered before or are outliers at this penalty."""
    count = 0
    for e in range(winner.size):
        if side[e] != 0 or abs(target[e] - score[winner[e]] + score[loser[e]]) > penalty:
            count += 1
    return count


@njit(cache=True)
def laplacian_product(
    winner: Codes, loser: Codes, weight: Floats, x: Floats, diagonal: Floats
) -> Floats:
    """(C'DC + mu I) x, given the diagonal of that matrix."""
    out = diagonal * x
    for e in range(winner.size):
        i, j, w = winner[e], loser[e], weight[e]
        out[i] -= w * x[j]
        out[j] -= w * x[i]
    return out


@njit(cache=True)
def follow_path(
    winner: Codes,
    loser: Codes,
    weight: Floats,
    features: Floats,
    residual: Floats,
    zone: Any,
    side: Any,
    entry: Floats,
    inverse: Floats,
    velocity: Floats,
    penalty: float,
    n_entered: int,
    stop_entered: int,
    stop_penalty: float,
    trace: Floats,
) -> tuple[float, int, int, bool]:
    """Follow the exact path event by event until the trace is full or a stop is reached.

    With Q the edges within the penalty and L the rest (sign s), beta moves with velocity
    v = M^-1 c, M = sum_Q w x x' + mu I, c = sum_L w s x, as the penalty falls. An event is the
    first edge to reach |r| = penalty; it changes M by rank one. Among edges that tie the lowest
    is taken: least-index pivoting, which cannot cycle (Murty 1974; M is positive definite).

    Returns penalty, number of edges entered, events made, and whether a stop was reached.
    """
    n_edges, d = winner.size, features.shape[1]
    score_velocity = features @ velocity
    x = np.empty(d)
    for event in range(trace.shape[0]):
        tie = 1e-12 * penalty
        best, chosen, rss, outside = penalty, -1, 0.0, 0
        for e in range(n_edges):
            u = score_velocity[winner[e]] - score_velocity[loser[e]]
            r = residual[e]
            s = zone[e]
            if s == 0:
                rss += weight[e] * r * r
                # Only one of the two ends can be ahead unless |u| < 1; take the nearer.
                if u > -1.0 + 1e-12:
                    t = (penalty - r) / (1.0 + u)
                    if t < best - tie:
                        best, chosen = max(t, 0.0), e
                if u < 1.0 - 1e-12:
                    t = (penalty + r) / (1.0 - u)
                    if t < best - tie:
                        best, chosen = max(t, 0.0), e
            else:
                outside += 1
                rss += weight[e] * penalty * penalty
                if s * u < -1.0 - 1e-12:
                    t = (s * r - penalty) / (-1.0 - s * u)
                    if t < best - tie:
                        best, chosen = max(t, 0.0), e
        trace[event, 0] = penalty
        trace[event, 1] = n_entered
        trace[event, 2] = outside
        trace[event, 3] = rss
        step = min(best, penalty - stop_penalty)
        for e in range(n_edges):
            residual[e] += step * (score_velocity[winner[e]] - score_velocity[loser[e]])
        penalty -= step
        if chosen < 0 or best > step:
            return penalty, n_entered, event + 1, True

        e = chosen
        i, j, w = winner[e], loser[e], weight[e]
        for k in range(d):
            x[k] = features[i, k] - features[j, k]
        q = inverse @ x
        h = np.dot(x, q)
        u = score_velocity[i] - score_velocity[j]
        if zone[e] == 0:
            s = 1 if residual[e] > 0 else -1
            residual[e] = s * penalty
            zone[e] = s
            if side[e] == 0:
                side[e] = s
                entry[e] = penalty
                n_entered += 1
            if w * h > 0.99:  # an update would multiply rounding errors: start afresh
                return penalty, n_entered, event + 1, n_entered >= stop_entered
            a = w / (1.0 - w * h)
        else:
            s = zone[e]
            residual[e] = s * penalty
            zone[e] = 0
            a = -w / (1.0 + w * h)
        for row in range(d):
            scale = a * q[row]
            for k in range(d):
                inverse[row, k] += scale * q[k]
        velocity += (a * (u + s)) * q
        if n_entered >= stop_entered:
            return penalty, n_entered, event + 1, True
        score_velocity = features @ velocity
    return penalty, n_entered, trace.shape[0], False
