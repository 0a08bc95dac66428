"""The regularisation path: in which order edges become outliers as the penalty falls.

    minimise  1/2 sum_e w_e (y_e - x_e'beta - gamma_e)^2
              + lambda sum_e w_e |gamma_e| + mu/2 |beta|^2

(Eq. lagrange of the paper, with the ridge of Eq. beta_org-1.) For fixed beta the best gamma_e is
the soft threshold of the residual at lambda; what is left is a Huber problem in beta alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from urlr import kernels
from urlr.arrays import Floats, Ints, Mask, Progress, no_progress
from urlr.errors import ArgumentError, ConvergenceError
from urlr.graph.comparisons import ComparisonGraph
from urlr.messages import message

Solver = Literal["auto", "exact", "grid"]

# Exact following costs about rate * |E| events of N d + 2 d^2 + |E| / 4 operations each, 1 to 2.5
# billion a second; past this many the grid, faster but interpolating the order, takes over.
_EXACT_OPERATIONS = 3e9
# Where the grid does not converge, as happens without features once few edges are left within the
# penalty, exact following may take this long: a minute.
_EXACT_AT_NEED = 1e11

_AT_A_TIME = 1 << 20

FLAT = 1e-4
"""Penalty at which the path ends: an edge that fits to a ten-thousandth of a vote is no outlier.

Further down fewer edges than dimensions are left within the penalty and nothing is determined
but by the ridge; following that took most of the time of a whole path.
"""


@dataclass(frozen=True, slots=True)
class PathTrace:
    """What happened along the path, one row per event or grid point, penalties falling.

    The first row is least squares, before any edge has entered.
    """

    penalty: Floats
    """(n_points,) lambda."""
    n_entered: Ints
    """(n_points,) edges that have been outliers at this or a larger penalty."""
    n_outliers: Ints
    """(n_points,) edges that are outliers at this penalty."""
    rss: Floats
    """(n_points,) sum_e w_e (r_e - gamma_e)^2, the residual sum of squares of the LASSO itself."""

    @staticmethod
    def from_rows(rows: Floats) -> PathTrace:
        """From one row per point, columns in the order of the fields."""
        penalty, n_entered, n_outliers, rss = rows.T
        return PathTrace(penalty, n_entered.astype(np.int64), n_outliers.astype(np.int64), rss)


@dataclass(frozen=True, slots=True)
class OutlierPath:
    """Order in which edges become outliers as the penalty falls."""

    entry: Floats
    """(n_edges,) penalty at which each edge first becomes an outlier, 0 if never reached."""
    side: npt.NDArray[np.int8]
    """(n_edges,) sign of the residual at entry: 1 the scores say less than the vote, -1 more."""
    residual: Floats
    """(n_edges,) y - x'beta at the last penalty."""
    coefficients: Floats
    """(n_features,) beta at the last penalty."""
    penalty: float
    """The last penalty."""
    trace: PathTrace
    """What happened along the way."""
    violation: float
    """Largest violation of the optimality conditions met on the way: the solver's certificate.

    The gradient of the Huber problem, each coordinate divided by a bound on what it could be at
    that penalty: lambda sqrt(sum_e w_e  sum_e w_e x_ek^2).
    """
    solver: str
    """"exact" or "grid"."""

    @property
    def order(self) -> Ints:
        """(n_edges,) edges from most to least suspicious: by entry, the rest by final residual.

        Ties are broken by edge order. Sorts anew at each call.
        """
        waiting = self.entry <= 0
        place = _rising(-self.entry[~waiting])
        first = np.flatnonzero(~waiting)[place]
        size = np.abs(self.residual[waiting])
        place = _rising(np.negative(size, out=size))
        del size  # with many edges every array counts
        last = np.flatnonzero(waiting)[place]
        return np.concatenate([first, last])

    @property
    def n_entered(self) -> int:
        """Edges with a known entry."""
        return int(np.count_nonzero(self.entry))

    def n_pruned(self, rate: float) -> int:
        """How many edges a rate prunes: that share of the edges, of those that can be outliers."""
        return min(int(rate * self.entry.size + 1e-9), self.n_entered)

    def pruned(self, rate: float) -> Mask:
        """Mask of the `rate` share of edges that entered first, ties broken by edge order."""
        count = self.n_pruned(rate)
        cut = self._cut(count)
        mask = self.entry > cut
        tied = np.flatnonzero(self.entry == cut)
        mask[tied[: count - np.count_nonzero(mask)]] = True
        return mask

    def tied_at(self, rate: float) -> int:
        """How many kept edges are as suspicious as the last pruned one, to 1e-9 of its entry."""
        count = self.n_pruned(rate)
        cut = self._cut(count)
        return int(np.count_nonzero(self.entry >= cut * (1 - 1e-9))) - count if count else 0

    def _cut(self, count: int) -> float:
        """Entry of the last of the `count` edges that entered first."""
        if count == 0:
            return np.inf
        return float(np.partition(self.entry[self.entry > 0], -count)[-count])


def outlier_path(
    graph: ComparisonGraph,
    *,
    rate: float = 0.2,
    floor: float = 0.0,
    ridge: float = 0.001,
    solver: Solver = "auto",
    tolerance: float = 1e-7,
    progress: Progress = no_progress,
) -> OutlierPath:
    """Order the edges of a graph by the penalty at which each first becomes an outlier.

    Parameters
    ----------
    graph
        Edges and features; without features every item has a score of its own (Huber-LASSO-FL).
    rate
        Follow the path until this share of the edges has entered. 1 follows it to the end.
    floor
        Or until the penalty has fallen to this.
    ridge
        mu, the small penalty on the coefficients that keeps the problem well posed.
    solver
        "exact" follows the piecewise linear path event by event; "grid" solves a falling sequence
        of penalties from a warm start and refines around the cut; "auto" chooses by size, and
        takes the other where the first loses its precision (`OutlierPath.solver` tells).
    tolerance
        Largest accepted violation of the optimality conditions.

    Raises
    ------
    ConvergenceError
        When the certificate misses the tolerance.
    """
    from urlr.paper import grid, homotopy

    if not 0 <= rate <= 1:
        raise ArgumentError(message("rate_out_of_range", value=rate))
    if not (np.isfinite(ridge) and ridge > 0):
        raise ArgumentError(message("not_positive", name="ridge", value=ridge))
    if solver not in ("auto", "exact", "grid"):
        raise ArgumentError(message("unknown_solver", value=solver))
    solvers = [solver]
    if solver == "auto":
        operations = _operations(graph, rate)
        solvers = ["exact", "grid"] if operations <= _EXACT_OPERATIONS else ["grid"]
        if _EXACT_OPERATIONS < operations <= _EXACT_AT_NEED:
            solvers.append("exact")
    for name in solvers:
        follow = homotopy.exact_path if name == "exact" else grid.grid_path
        try:
            path = follow(
                graph,
                rate=rate,
                floor=max(floor, FLAT),
                ridge=ridge,
                tolerance=tolerance,
                progress=progress,
            )
        except ConvergenceError:
            if name == solvers[-1]:
                raise
            continue
        if path.violation <= tolerance:
            break
    if not path.violation <= tolerance:
        raise ConvergenceError(
            message(
                "path_not_optimal",
                solver=path.solver,
                n_edges=graph.n_edges,
                violation=path.violation,
                tolerance=tolerance,
                n_steps=path.trace.penalty.size,
            )
        )
    return path


def _operations(graph: ComparisonGraph, rate: float) -> float:
    d, n = graph.n_features, graph.n_items
    per_event = n * d + 2 * d * d + graph.n_edges / 4
    return max(1.0, rate * graph.n_edges) * per_event + n * d * d + d**3


def huber_gradient(
    graph: ComparisonGraph, coefficients: Floats, scores: Floats, penalty: float, ridge: float
) -> Floats:
    """Gradient of the Huber problem: mu beta - Phi'C'W psi(r), psi clipping at the penalty."""
    pull = kernels.huber_pull(
        graph.winner,
        graph.loser,
        graph.weight,
        graph.target,
        scores,
        penalty,
    )
    return np.asarray(ridge * coefficients - graph.project(pull))


def violation_of(gradient: Floats, scale: Floats, penalty: float) -> float:
    """Largest coordinate of the gradient, relative to its scale at that penalty.

    Below a thousandth of a vote the scale stays: there only rounding is left to see.
    """
    return float(np.max(np.abs(gradient) / scale, initial=0.0)) / max(penalty, 1e-3)


def _rising(values: Floats) -> Ints:
    """Positions from the smallest value to the largest, equal ones in order.

    The fast sort leaves equal values in any order, so runs of them are put right: a third of the
    time of a stable sort.
    """
    order = np.argsort(values)
    same = np.zeros(values.size + 1, np.bool_)
    for start in range(0, values.size, _AT_A_TIME):
        ranked = values[order[start : start + _AT_A_TIME + 1]]
        same[start + 1 : start + ranked.size] = ranked[1:] == ranked[:-1]
    tied = np.flatnonzero(same[:-1] | same[1:])
    if tied.size:
        run = np.cumsum(~same[:-1])[tied]
        order[tied] = order[tied][np.lexsort((order[tied], run))]
    return order
