"""The path followed exactly, event by event."""

import numpy as np

from urlr import kernels
from urlr.arrays import Floats, Progress
from urlr.errors import ConvergenceError
from urlr.graph.comparisons import ComparisonGraph
from urlr.messages import message
from urlr.paper.path import OutlierPath, PathTrace, violation_of
from urlr.paper.ridge import gradient_scale, inverse_of, ridge_solve

# Rank-one updates drift: everything is computed afresh after this many events, fewer where the
# certificate worsens (few edges left within the penalty, features that depend on each other).
_EVENTS_BETWEEN_CHECKS = 1024
_EVENTS_AT_FIRST = 32


def exact_path(
    graph: ComparisonGraph,
    *,
    rate: float,
    floor: float,
    ridge: float,
    tolerance: float,
    progress: Progress,
) -> OutlierPath:
    """Follow the piecewise linear path from the largest residual down; see `outlier_path`."""
    features = np.eye(graph.n_items) if graph.features is None else graph.features
    n_edges = graph.n_edges
    goal = min(n_edges, max(1, int(rate * n_edges + 1e-9)))
    weighted_target = graph.weight * graph.target
    zone = np.zeros(n_edges, np.int8)
    side = np.zeros(n_edges, np.int8)
    entry = np.zeros(n_edges)

    gram = graph.gram(zone == 0)
    scale = gradient_scale(graph, gram)
    inverse = inverse_of(gram, ridge)
    coefficients = ridge_solve(gram, features.T @ graph.pull(weighted_target), ridge)
    residual = graph.target - graph.margins(features @ coefficients)
    penalty = float(np.max(np.abs(residual)))
    velocity = np.zeros(features.shape[1])
    outside = np.zeros(features.shape[1])
    n_entered, violation, stopped = 0, 0.0, penalty <= floor
    before = [penalty, 0.0, 0.0, float(graph.weight @ residual**2)]
    pieces: list[Floats] = [np.array([before])]
    limit = 100 * n_edges + 10_000
    chunk = _EVENTS_AT_FIRST
    while not stopped:
        trace = np.zeros((chunk, 4))
        penalty, n_entered, n_events, stopped = kernels.follow_path(
            graph.winner,
            graph.loser,
            graph.weight,
            features,
            residual,
            zone,
            side,
            entry,
            inverse,
            velocity,
            outside,
            coefficients,
            ridge,
            penalty,
            float(graph.weight[zone == 0] @ residual[zone == 0] ** 2),
            float(graph.weight[zone != 0].sum()),
            n_entered,
            goal,
            floor,
            trace,
        )
        pieces.append(trace[:n_events])
        limit -= n_events
        if limit < 0:
            raise ConvergenceError(
                message(
                    "path_too_long",
                    n_edges=n_edges,
                    n_events=100 * n_edges,
                    n_entered=n_entered,
                    goal=goal,
                )
            )
        progress("following the path", min(1.0, n_entered / goal))
        gram = graph.gram(zone == 0)
        inverse = inverse_of(gram, ridge)
        outside = features.T @ graph.pull(graph.weight * zone)
        inside = features.T @ graph.pull(weighted_target * (zone == 0))
        coefficients = ridge_solve(gram, inside + penalty * outside, ridge)
        velocity = ridge_solve(gram, outside, ridge)
        clipped = graph.weight * np.clip(residual, -penalty, penalty)
        gradient = ridge * coefficients - features.T @ graph.pull(clipped)
        drift = violation_of(gradient, scale, penalty)
        violation = max(violation, drift)
        longer = min(2 * chunk, _EVENTS_BETWEEN_CHECKS)
        chunk = longer if drift < tolerance / 1000 else max(chunk // 4, 1)
        residual = graph.target - graph.margins(features @ coefficients)
        if stopped and n_entered >= goal and floor < penalty * (1 - 1e-8):
            # Go on a little, to see which edges tie with the last one.
            stopped, goal, floor = False, n_edges + 1, penalty * (1 - 2e-9)

    return OutlierPath(
        entry=entry,
        side=side,
        residual=residual,
        coefficients=coefficients,
        penalty=penalty,
        trace=PathTrace.from_rows(np.concatenate(pieces)),
        violation=violation,
        solver="exact",
    )
