"""The path on a falling sequence of penalties, each solved from a warm start, the cut refined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from urlr import kernels
from urlr.arrays import Floats, Ints, Mask, Progress
from urlr.errors import ConvergenceError
from urlr.graph.comparisons import ComparisonGraph
from urlr.graph.laplacian import solve_laplacian
from urlr.messages import message
from urlr.paper.path import (
    OutlierPath,
    PathTrace,
    huber_gradient,
    violation_of,
)
from urlr.paper.ridge import gradient_scale, inverse_of, ridge_coefficients

_MANY_EDGES = 200_000
_POINTS_FEW, _POINTS_MANY = 128, 8  # grid points up to the cut, for few and for many edges
# How narrow the bracket around the cut becomes. At 250,000 to 400,000 edges a width of 1e-3 left
# the pruned set as it was and entries at the cut off by less than 1e-6; 1e-2 by 8e-6.
_WIDTH_FEW, _WIDTH_MANY = 1e-9, 1e-3
_SAMPLE = 20_000  # edges looked at when choosing the next penalty
_LONGEST_FEW, _LONGEST_MANY = 0.9, 0.5  # a step leaves at least this share of the penalty
_PATIENCE = 10
_ITERATIONS = 400
_REFRESH = 10

Sides = npt.NDArray[np.int8]


def grid_path(
    graph: ComparisonGraph,
    *,
    rate: float,
    floor: float,
    ridge: float,
    tolerance: float,
    progress: Progress,
) -> OutlierPath:
    """Solve the Huber problem at falling penalties; see `outlier_path`.

    An edge's entry is interpolated between the penalties around it, which is exact as long as no
    other edge enters in between. Around the cut the bracket is narrowed until that hardly matters.
    """
    n_edges = graph.n_edges
    goal = min(n_edges, int(rate * n_edges + 1e-9) + 1)
    many = n_edges > _MANY_EDGES
    huber = _Huber(graph, ridge, tolerance)
    marks = _Marks(graph)
    high = huber.start()
    before = [high.penalty, 0.0, 0.0, _squares(graph, high.scores)]
    width = high.penalty * (_WIDTH_MANY if many else _WIDTH_FEW)
    step = max(1.0, goal / (_POINTS_MANY if many else _POINTS_FEW))
    longest = _LONGEST_MANY if many else _LONGEST_FEW
    low: _Point | None = None
    still = 0
    while high.penalty > floor and low is None and marks.n_entered < goal:
        # No long steps: an edge that enters and leaves again would be jumped over. Where nothing
        # enters any more residuals shrink with the penalty, and the longest step is taken.
        lowest = longest * high.penalty
        penalty = lowest if still >= _PATIENCE else max(marks.next_penalty(high, step), lowest)
        point = huber.solve(max(penalty, floor), high)
        if marks.may_reach(goal, point):
            low = point
        else:
            still = 0 if marks.add(high, point) else still + 1
            high = point
        progress("following the path", marks.n_entered / goal)
    if low is not None:
        candidates = marks.all_new_outliers(low)
        while high.penalty - low.penalty > width and candidates.size > 1:
            penalty = _around_cut(graph, high, low, candidates, goal - marks.n_entered)
            point = huber.solve(penalty, high)
            outliers = marks.new_outliers(point, candidates)
            if marks.n_entered + outliers.size >= goal:
                low, candidates = point, outliers
            else:
                marks.add(high, point)
                high = point
                candidates = marks.new_outliers(low, candidates)
                if marks.n_entered >= goal:
                    break
        marks.add(high, low)
        high = low
    rows = np.array([before, *marks.rows], np.float64)
    return OutlierPath(
        entry=marks.entry,
        side=marks.side,
        residual=graph.target - graph.margins(high.scores),
        coefficients=high.coefficients,
        penalty=high.penalty,
        trace=PathTrace.from_rows(rows),
        violation=huber.violation,
        solver="grid",
    )


class _Marks:
    """Which edges have entered so far, where, and what was seen on the way."""

    def __init__(self, graph: ComparisonGraph) -> None:
        self.graph = graph
        self.side: Sides = np.zeros(graph.n_edges, np.int8)
        self.entry = np.zeros(graph.n_edges)
        self.n_entered = 0
        self.rows: list[tuple[float, int, int, float]] = []
        self.sample = np.arange(0, graph.n_edges, max(1, graph.n_edges // _SAMPLE))

    def sizes(self, point: _Point, edges: Ints) -> Floats:
        """|r| of the given edges at a point."""
        graph = self.graph
        margins = point.scores[graph.winner[edges]] - point.scores[graph.loser[edges]]
        return np.abs(graph.target[edges] - margins)

    def next_penalty(self, high: _Point, step: float) -> float:
        """A penalty at which about so many more edges will have entered."""
        waiting = self.sample[self.side[self.sample] == 0]
        if waiting.size == 0:
            return 0.5 * high.penalty
        sizes = self.sizes(high, waiting)
        rank = min(int(step / self.graph.n_edges * self.sample.size), sizes.size - 1)
        guess = float(-np.partition(-sizes, rank)[rank])
        return min(guess, high.penalty * (1 - 1e-6)) * (1 - 1e-9)

    def may_reach(self, goal: int, point: _Point) -> bool:
        """Whether the goal is reached at this point; counted only when a sample says it is near."""
        sample = self.sample
        entered = (self.side[sample] != 0) | (self.sizes(point, sample) > point.penalty)
        if sample.size < self.graph.n_edges and entered.mean() < 0.9 * goal / self.graph.n_edges:
            return False
        graph = self.graph
        count = kernels.count_entered(
            graph.winner, graph.loser, graph.target, point.scores, point.penalty, self.side
        )
        return bool(count >= goal)

    def new_outliers(self, point: _Point, edges: Ints) -> Ints:
        """Those of the edges that are outliers at this point and have not entered yet."""
        new = (self.sizes(point, edges) > point.penalty) & (self.side[edges] == 0)
        return np.asarray(edges[new])

    def all_new_outliers(self, point: _Point) -> Ints:
        """The edges that are outliers at this point and have not entered yet."""
        graph = self.graph
        inside = np.empty(graph.n_edges, np.bool_)
        kernels.within(graph.winner, graph.loser, graph.target, point.scores, point.penalty, inside)
        return np.flatnonzero(~inside & (self.side == 0))

    def add(self, high: _Point, low: _Point) -> int:
        """Give the edges that became outliers between two points their entry; say how many."""
        graph = self.graph
        before = self.n_entered
        self.n_entered, n_outliers, rss = kernels.mark_entries(
            graph.winner,
            graph.loser,
            graph.weight,
            graph.target,
            high.scores,
            low.scores,
            high.penalty,
            low.penalty,
            self.entry,
            self.side,
        )
        self.rows.append((low.penalty, self.n_entered, n_outliers, rss))
        return self.n_entered - before


@dataclass(frozen=True, slots=True)
class _Point:
    """The solution at one penalty, and how it moves with the penalty."""

    penalty: float
    coefficients: Floats
    scores: Floats
    slope: Floats
    bend: Floats


class _Huber:
    """min over beta of sum_e w_e huber(r_e) + mu/2 |beta|^2, penalty after penalty.

    With features: quasi-Newton (BFGS) steps from the exact inverse Hessian at the start of the
    path, because a pass over the edges costs far less than a new Hessian; it is made anew when
    ten steps were not enough. Without: Newton steps by conjugate gradients.
    """

    def __init__(self, graph: ComparisonGraph, ridge: float, tolerance: float) -> None:
        self.graph, self.ridge, self.tolerance = graph, ridge, tolerance
        self.inverse: Floats | None = None
        self.violation = 0.0
        self.inside: Mask = np.ones(graph.n_edges, np.bool_)

    def start(self) -> _Point:
        """Least squares, which is the solution at and above the largest residual."""
        graph = self.graph
        if graph.features is None:
            self.scale = gradient_scale(graph, None)
            coefficients = ridge_coefficients(graph, ridge=self.ridge)
        else:
            gram = graph.gram(self.inside)
            self.scale = gradient_scale(graph, gram)
            self.inverse = inverse_of(gram, self.ridge)
            pull = graph.pull(graph.weight * graph.target)
            coefficients = self.inverse @ graph.project(pull)
        scores = graph.scores(coefficients)
        penalty = float(np.max(np.abs(graph.target - graph.margins(scores))))
        still = np.zeros_like(coefficients)
        return _Point(penalty, coefficients, scores, still, still)

    def solve(self, penalty: float, warm: _Point) -> _Point:
        """Minimise at this penalty, starting from the parabola through the last solutions."""
        fall = warm.penalty - penalty
        beta = warm.coefficients - fall * (warm.slope - fall * warm.bend)
        gradient = self.gradient(beta, penalty)
        for iteration in range(1, _ITERATIONS + 1):
            violation = violation_of(gradient, self.scale, penalty)
            if violation <= self.tolerance:
                break
            if iteration % _REFRESH == 0:
                self.refresh(penalty)
            step = self.direction(beta, gradient, penalty)
            # A few steps may overshoot a little; after that every step must go downhill.
            step, moved = self.search(beta, gradient, step, penalty, strict=iteration >= _REFRESH)
            self.learn(step, moved - gradient)
            beta, gradient = beta + step, moved
        else:
            raise ConvergenceError(
                message(
                    "huber_unsolved",
                    penalty=penalty,
                    violation=violation,
                    tolerance=self.tolerance,
                    iterations=_ITERATIONS,
                )
            )
        self.violation = max(self.violation, violation)
        scores = self.scores  # of the last gradient
        if fall < 1e-3 * warm.penalty:  # over so short a stretch a difference is mostly noise
            return _Point(penalty, beta, scores, warm.slope, warm.bend)
        # A parabola: its slope halfway is the secant, and it bends by the change of secants.
        secant = (warm.coefficients - beta) / fall
        first = not warm.slope.any()
        bend = np.zeros_like(beta) if first else (warm.slope - secant) / fall
        return _Point(penalty, beta, scores, secant - fall * bend, bend)

    def search(
        self, beta: Floats, gradient: Floats, step: Floats, penalty: float, *, strict: bool
    ) -> tuple[Floats, Floats]:
        """Shorten a step that overshoots; return it and the gradient behind it.

        The loss is convex, so its slope along the step only grows: the minimum lies where the
        slope is 0, and a step that ends before it goes downhill all the way.
        """
        start = float(gradient @ step)
        allowed = 0.0 if strict else -0.5 * start
        short, at_short, long = 0.0, start, 1.0
        length, moved = 1.0, self.gradient(beta + step, penalty)
        slope = float(moved @ step)
        for _ in range(40):
            if slope <= allowed and (length == 1.0 or slope >= 0.5 * start):
                break
            if slope > 0:
                long = length
                length = short + (long - short) * max(0.1, at_short / (at_short - slope) - 0.05)
            else:
                short, at_short = length, slope
                length = 0.5 * (short + long)
            moved = self.gradient(beta + length * step, penalty)
            slope = float(moved @ step)
        return length * step, moved

    def gradient(self, beta: Floats, penalty: float) -> Floats:
        self.scores = self.graph.scores(beta)
        return huber_gradient(self.graph, beta, self.scores, penalty, self.ridge)

    def direction(self, beta: Floats, gradient: Floats, penalty: float) -> Floats:
        if self.inverse is not None:
            return np.asarray(-(self.inverse @ gradient))
        graph = self.graph
        kernels.within(graph.winner, graph.loser, graph.target, beta, penalty, self.inside)
        weight = graph.weight * self.inside
        return -solve_laplacian(
            graph.winner, graph.loser, weight, gradient, ridge=self.ridge, tolerance=1e-3
        )

    def refresh(self, penalty: float) -> None:
        if self.inverse is not None:
            graph = self.graph
            kernels.within(
                graph.winner, graph.loser, graph.target, self.scores, penalty, self.inside
            )
            self.inverse = inverse_of(graph.gram(self.inside), self.ridge)

    def learn(self, step: Floats, change: Floats) -> None:
        """BFGS: make the inverse Hessian send the change of gradient to the step that made it."""
        if self.inverse is None:
            return
        curvature = float(step @ change)
        if curvature <= 0:
            return
        image = self.inverse @ change
        half = (0.5 * (1.0 + float(change @ image) / curvature) * step - image) / curvature
        outer = np.outer(step, half)
        self.inverse += outer
        self.inverse += outer.T


def _squares(graph: ComparisonGraph, scores: Floats) -> float:
    """sum_e w_e r_e^2."""
    return float(graph.weight @ (graph.target - graph.margins(scores)) ** 2)


def _around_cut(
    graph: ComparisonGraph, high: _Point, low: _Point, candidates: Ints, missing: int
) -> float:
    """A penalty a little beyond where the last missing edge should enter, on the wider side."""
    target, winner, loser = (part[candidates] for part in (graph.target, graph.winner, graph.loser))
    after = target - low.scores[winner] + low.scores[loser]
    before = (target - high.scores[winner] + high.scores[loser]) * np.sign(after)
    gap = np.maximum(high.penalty - before, 0.0)
    fall = high.penalty - low.penalty
    entries = high.penalty - fall * gap / (gap + np.abs(after) - low.penalty)
    cut = float(-np.partition(-entries, missing - 1)[missing - 1])
    below, above = cut - low.penalty, high.penalty - cut
    if below >= above:
        return min(cut - 0.05 * below, high.penalty - 0.02 * fall)
    return max(cut + 0.05 * above, low.penalty + 0.02 * fall)
