"""The ranking model of the default: a logistic link, features, and a private effect per item.

    P(i beats j) = sigmoid(m),    m = x'beta + u_i - u_j + left

with x = phi_i - phi_j, a shrunken effect u for every compared item, and a lean towards the item
shown on the left where the side is known. Bradley & Terry (1952) with item covariates; the
penalties are the logarithms of normal priors on beta and u.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg
from scipy.linalg import lapack
from scipy.special import expit

from urlr import kernels
from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.errors import ConvergenceError
from urlr.messages import message

_NEWTON_STEPS = 100
_INNER_STEPS = 500  # and one for every item: what one end of a chain says must reach the other
_LONGEST = 5.0  # log-odds a margin may change by in one step; the curvature says nothing beyond
_FARTHEST = 700.0  # exp() of more is infinite
_OF_INFLUENCE = 3e-3  # relative accuracy of the influence of votes
_ENOUGH = 20_000  # rows of features that the metric is made from


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Votes as rows, between items with features."""

    winner: Codes
    """(n_rows,) position of the winner; of the first item for a tie."""
    loser: Codes
    """(n_rows,) position of the loser."""
    target: Floats
    """(n_rows,) how much of the vote went to the winner: 1, or one half for a tie."""
    side: Floats
    """(n_rows,) 1 if the winner was shown on the left, -1 if on the right, 0 if unknown."""
    features: Floats
    """(n_items, n_features) Phi, centred; no columns to rank by item effects alone."""
    offset: Floats | None = None
    """(n_rows,) log-odds for the winner that are known beforehand: the voter's position bias and
    taste. None for none."""
    loading: Floats | None = None
    """(n_rows,) what the difference of the two scores is multiplied by; None for 1."""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.features)

    @property
    def n_rows(self) -> int:
        """Number of votes."""
        return self.winner.size

    def margins(self, scores: Floats, lean: float = 0.0) -> Floats:
        """Score of the winner less that of the loser, and the lean, per row."""
        margins: Floats = scores[self.winner] - scores[self.loser]
        return margins + lean * self.side if lean else margins

    def log_odds(self, scores: Floats, lean: float = 0.0) -> Floats:
        """The same and what is known of the voter: what the fit says of every row."""
        margins: Floats = self.margins(scores)
        if self.loading is not None:
            margins = margins * self.loading
        if lean:
            margins = margins + lean * self.side
        if self.offset is not None:
            margins = margins + self.offset
        return margins

    def taken(self, which: Mask | Ints) -> Comparisons:
        """Return some of the votes."""
        return replace(
            self,
            winner=self.winner[which],
            loser=self.loser[which],
            target=self.target[which],
            side=self.side[which],
            offset=None if self.offset is None else self.offset[which],
            loading=None if self.loading is None else self.loading[which],
        )

    def turned(self, which: Mask) -> Comparisons:
        """Return the same votes, some of them read the other way round."""
        return replace(
            self,
            winner=np.where(which, self.loser, self.winner),
            loser=np.where(which, self.winner, self.loser),
            side=np.where(which, -self.side, self.side),
            offset=None if self.offset is None else np.where(which, -self.offset, self.offset),
        )

    def degree(self, per_row: Floats) -> Floats:
        """Sum over the rows that touch an item."""
        return kernels.ends_sum(self.winner, self.loser, per_row, self.n_items)


@dataclass(frozen=True, slots=True)
class Penalties:
    """Ridges of the logistic fit."""

    features: float
    """mu, on beta."""
    items: float
    """tau, on the private effects; infinite for none."""
    lean: float = 1.0
    """On the lean to the left; infinite for none."""
    stretch: float = 1.0
    """What a refit multiplies coefficients by, see `urlr.model.refit`."""

    @property
    def has_items(self) -> bool:
        """Whether items have effects of their own."""
        return bool(np.isfinite(self.items))


@dataclass(frozen=True, slots=True)
class Metric:
    """The Hessian with the graph Laplacian C'DC replaced by its diagonal, ready to be solved.

    Eliminating u from [Phi'DPhi + mu, Phi'D; DPhi, D + tau] leaves the part of the degree that the
    effects do not absorb, D tau / (D + tau).
    """

    penalties: Penalties
    features: Floats
    own: Floats
    """(n_items,) 1 / (D + tau), zeros where items have no effects."""
    absorbed: Floats
    """(n_items,) D / (D + tau), what effects take up of what pulls on items; zeros without."""
    factor: Floats
    """(n_features, n_features) lower Cholesky factor."""
    lean: float

    @staticmethod
    def of(rows: Comparisons, curvature: Floats, penalties: Penalties) -> Metric:
        """Build it from the curvature of every row."""
        degree = rows.degree(curvature)
        tau, features = penalties.items, rows.features
        left = degree
        own = np.zeros_like(degree)
        if penalties.has_items:
            own = 1.0 / (degree + tau)
            left = degree * tau * own
        schur = _gram(features, left)
        schur[np.diag_indices(len(schur))] += penalties.features
        factor = linalg.cholesky(schur, lower=True, check_finite=False) if len(schur) else schur
        lean = float(curvature @ rows.side**2) + penalties.lean
        return Metric(penalties, features, own, degree * own, factor, lean)

    def at(self, penalties: Penalties) -> Metric | None:
        """Return the same for another ridge on the features; None where it must be made anew."""
        if penalties == self.penalties:
            return self
        if penalties.has_items or self.penalties.has_items or penalties.lean != self.penalties.lean:
            return None
        if len(self.factor) == 0:
            return replace(self, penalties=penalties)
        schur = self.factor @ self.factor.T
        schur[np.diag_indices(len(schur))] += penalties.features - self.penalties.features
        try:
            factor = linalg.cholesky(schur, lower=True, check_finite=False)
        except linalg.LinAlgError:  # a smaller ridge than rounding lets through
            return None
        return replace(self, penalties=penalties, factor=factor)

    def solve(self, rest: Floats) -> tuple[Floats, Floats, float]:
        """Multiply by the inverse what is left of the effects and, less their part, of the others.

        Returns
        -------
        The point, its scores, and its product with what is left.
        """
        d = self.features.shape[1]
        of_items, out, scores = rest[d:-1], np.zeros(rest.size), np.zeros(len(self.features))
        if d:
            out[:d] = lapack.dpotrs(self.factor, rest[:d], lower=True)[0]
            scores = self.features @ out[:d]
        energy = float(rest[:d] @ out[:d])
        if self.penalties.has_items:
            alone = self.own * of_items
            energy += float(of_items @ alone)
            out[d:-1] = alone - self.absorbed * scores
            scores += out[d:-1]
        if np.isfinite(self.lean) and self.lean > 0:
            out[-1] = rest[-1] / self.lean
        return out, scores, energy + float(rest[-1] * out[-1])


def _gram(features: Floats, weight: Floats) -> Floats:
    """Phi' W Phi; from some of the rows where there are many.

    These are taken evenly along the weights, so that heavy rows are not missed. Then a solution
    takes a step or two more, and the matrix, which would cost more than all else, a fifth.
    """
    scale = np.sqrt(weight)
    if len(features) > _ENOUGH:
        ends = np.cumsum(weight)
        at = (np.arange(_ENOUGH) + 0.5) * (ends[-1] / _ENOUGH)
        taken, times = np.unique(np.searchsorted(ends, at), return_counts=True)
        features, scale = features[taken], np.sqrt(times * (ends[-1] / _ENOUGH))
    part = scale[:, None] * features
    return np.asarray(part.T @ part)


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Coefficients, private effects and lean, with the size of the gradient that is left."""

    coefficients: Floats
    """(n_features,) beta."""
    effects: Floats
    """(n_items,) u; zeros where items have none."""
    lean: float
    """Log-odds for the item shown on the left."""
    violation: float
    """Largest pull left on an item or coefficient, relative to what it could be."""
    metric: Metric | None = field(default=None, repr=False)
    """Kept to start a fit to similar weights."""

    def scores(self, features: Floats) -> Floats:
        """Phi beta + u of the compared items."""
        return features @ self.coefficients + self.effects


def logistic_fit(
    rows: Comparisons,
    weight: Floats,
    penalties: Penalties,
    *,
    limit: float = 1.0,
    base: Floats | None = None,
    start: LogisticFit | None = None,
    tolerance: float = 1e-6,
) -> LogisticFit:
    """Minimise the penalised logistic loss by Newton steps, each solved by conjugate gradients.

        minimise  sum_v w_v [log(1 + exp(-m_v - gamma_v)) + (1 - y_v) (m_v + gamma_v)
                             + lambda |gamma_v|]
                  + mu/2 |beta|^2 + tau/2 |u|^2 + lean^2 / 2

    over beta, u, lean and the outlier variables gamma inside the link, which leaves a loss that is
    a straight line where |y - p| exceeds lambda. Work per step: a pass over the rows and N d.

    Parameters
    ----------
    weight
        (n_rows,) weight of each vote; 0 leaves it out.
    limit
        lambda, the most that a vote may pull; 1 for no outlier variables.
    base
        (n_items,) scores that are given, to which those of the fit are added.
    start
        Where to begin: a fit to similar weights saves most of the steps.

    Raises
    ------
    ConvergenceError
        When the gradient does not vanish to the tolerance.
    """
    problem = _Problem(rows, weight, limit, penalties, base)
    d = rows.features.shape[1]
    point = np.zeros(d + rows.n_items + 1)
    metric = None
    if start is not None:
        point[:d], point[-1] = start.coefficients, start.lean
        if penalties.has_items:
            point[d:-1] = start.effects
        if start.metric is not None and len(start.metric.factor) == d:
            metric = start.metric.at(penalties)
    scores = problem.scores(point)
    gradient = problem.gradient(point, scores)
    for _ in range(_NEWTON_STEPS):
        size = problem.size(gradient)
        if size <= tolerance:
            return LogisticFit(point[:d], point[d:-1], float(point[-1]), size, metric)
        if metric is None:
            metric = Metric.of(rows, problem.curvature, penalties)
        step, along = problem.newton_step(gradient, metric, accuracy=min(0.1, size**0.5))
        slope = float(gradient @ step)
        length = min(1.0, _LONGEST / max(problem.reach_of(along, float(step[-1])), 1e-12))
        while True:
            moved, moved_scores = point + length * step, scores + length * along
            new_gradient = problem.gradient(moved, moved_scores)
            end = float(new_gradient @ step)
            # The loss is convex: too long if its slope has turned around, the root is nearer.
            if end <= -0.25 * slope or length < 1e-9:
                break
            length *= max(slope / (slope - end), 0.1)
        if length < 0.5:  # far from where the metric was made
            metric = None
        point, scores, gradient = moved, moved_scores, new_gradient
    raise ConvergenceError(
        message("logistic_unsettled", gradient=size, tolerance=tolerance, n_steps=_NEWTON_STEPS)
    )


_made: dict[str, tuple[weakref.ref[Floats], Floats]] = {}
"""What was made of the last array asked about."""


def _made_once(what: str, of: Floats, make: Callable[[Floats], Floats]) -> Floats:
    """The same for the many fits to the same array, made once."""
    known = _made.get(what)
    if known is not None and known[0]() is of:
        return known[1]
    found = make(of)
    _made[what] = (weakref.ref(of), found)
    return found


def _mean_squares(features: Floats) -> Floats:
    """(n_features,) of the columns."""
    return np.asarray(np.einsum("nd,nd->d", features, features) / max(len(features), 1))


def _odds_of(offset: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(offset, -_FARTHEST / 3, _FARTHEST / 3)))


def influence(
    rows: Comparisons,
    weight: Floats,
    penalties: Penalties,
    fitted: LogisticFit,
    features: Floats,
    place: Ints,
) -> Floats:
    """(n_items - 1, n_rows) what each vote adds to the lead of one item over others, first order.

    Parameters
    ----------
    features
        (n_items, n_features) of the item and the others.
    place
        (n_items,) their places among the compared items, -1 for none.
    """
    problem = _Problem(rows, weight, 1.0, penalties)
    d = rows.features.shape[1]
    point = np.concatenate([fitted.coefficients, fitted.effects, [fitted.lean]])
    problem.gradient(point, problem.scores(point))
    metric = Metric.of(rows, problem.curvature, penalties)
    chance = expit(rows.log_odds(fitted.scores(rows.features), fitted.lean))
    pull = weight * (rows.target - chance)

    def of_place(one: int) -> Floats:
        """What a point says of the item itself."""
        alone = np.zeros(problem.ridge.size)
        alone[:d] = features[one]
        if place[one] >= 0 and penalties.has_items:
            alone[d + place[one]] = 1.0
        return alone

    found = np.empty((len(place) - 1, rows.n_rows))
    for one in range(1, len(place)):
        lead = of_place(0) - of_place(one)
        change, along = problem.newton_step(-lead, metric, accuracy=_OF_INFLUENCE)
        found[one - 1] = pull * rows.margins(along, float(change[-1]))
    return found


class _Problem:
    """Gradient of the penalised loss, and its curvature at the point last asked for."""

    def __init__(
        self,
        rows: Comparisons,
        weight: Floats,
        limit: float,
        penalties: Penalties,
        base: Floats | None = None,
    ) -> None:
        self.rows, self.weight, self.limit, self.penalties = rows, weight, limit, penalties
        self.base = 0.0 if base is None else base
        self.curvature = np.zeros(rows.n_rows)
        self.loading = np.zeros(0) if rows.loading is None else rows.loading
        self.offset_odds = None
        if rows.offset is not None:
            self.offset_odds = _made_once("odds", rows.offset, _odds_of)
        d, n = rows.features.shape[1], rows.n_items
        ridge = np.empty(d + n + 1)
        ridge[:d] = penalties.features
        ridge[d:-1] = penalties.items if penalties.has_items else 0.0
        ridge[-1] = penalties.lean if np.isfinite(penalties.lean) else 0.0
        self.ridge = ridge
        self.d = d
        touched = rows.degree(weight if rows.loading is None else weight * np.abs(rows.loading))
        reach = np.empty(d + n + 1)
        squares = _made_once("squares", rows.features, _mean_squares)
        squares = float(touched.sum()) * squares
        reach[:d] = np.sqrt(float(weight.sum()) * np.maximum(squares, 1e-12))
        reach[d:-1] = np.maximum(touched, 1e-12)
        reach[-1] = max(float(weight @ np.abs(rows.side)), 1e-12)
        self.reach = np.maximum(reach, 1e-3 * float(reach[d:-1].max(initial=0.0)))

    def gradient(self, point: Floats, scores: Floats) -> Floats:
        """Gradient at the point, whose scores are known; remembers the curvature."""
        rows = self.rows
        odds = self._odds(self.base + scores, float(point[-1]))
        pull, lean_pull = kernels.logistic_pull(
            rows.winner,
            rows.loser,
            rows.side,
            self.weight,
            rows.target,
            self.limit,
            odds,
            self.loading,
            rows.n_items,
            self.curvature,
        )
        return self.ridge * point - self._spread(pull, lean_pull)

    def size(self, gradient: Floats) -> float:
        """Largest entry of the gradient, relative to what the votes could make it."""
        return float((np.abs(gradient) / self.reach).max())

    def reach_of(self, scores: Floats, lean: float) -> float:
        """Most by which a step changes a margin that counts, or a little more."""
        most = float(np.ptp(scores)) + abs(lean) if scores.size else 0.0
        if most <= _LONGEST:
            return most
        changes = np.abs(self.rows.margins(scores, lean))
        return float(changes.max(initial=0.0, where=self.weight > 0))

    def newton_step(
        self, gradient: Floats, metric: Metric, *, accuracy: float
    ) -> tuple[Floats, Floats]:
        """Solve H s = -g by preconditioned conjugate gradients, to a relative accuracy.

        What is left for the coefficients is kept less what the effects absorb of it, as the metric
        wants it; so features are read twice in a step, and the scores of s are known at the end.
        """
        rows, d, absorbed = self.rows, self.d, metric.absorbed
        both = d > 0 and self.penalties.has_items
        step, scores = np.zeros_like(gradient), np.zeros(rows.n_items)
        rest = -gradient
        if both:
            rest[:d] -= rows.features.T @ (absorbed * rest[d:-1])
        direction, along, energy = metric.solve(rest)
        goal = accuracy**2 * energy
        for _ in range(_INNER_STEPS + rows.n_items):
            if energy <= goal:
                break
            pulled, lean = kernels.curved_product(
                rows.winner, rows.loser, rows.side, self.curvature, along, direction[-1]
            )
            product = self.ridge * direction
            bend = float(along @ pulled + direction @ product + direction[-1] * lean)
            if self.penalties.has_items:
                product[d:-1] += pulled
            if both:
                pulled -= absorbed * product[d:-1]
            if d:
                product[:d] += rows.features.T @ pulled
            if np.isfinite(self.penalties.lean):
                product[-1] += lean
            length = energy / bend
            step += length * direction
            scores += length * along
            rest -= length * product
            solved, of_solved, left = metric.solve(rest)
            direction *= left / energy
            direction += solved
            along *= left / energy
            along += of_solved
            energy = left
        return step, scores

    def _odds(self, scores: Floats, lean: float) -> Floats:
        """exp(m) of every row."""
        rows = self.rows
        scores = scores - scores.mean() if scores.size else scores
        largest = max(float(np.abs(scores).max(initial=0.0)), abs(lean))
        if rows.loading is None and largest < _FARTHEST / 6:
            each = np.exp(scores)
            odds = kernels.row_odds(
                rows.winner, rows.loser, rows.side, each, 1.0 / each, float(np.exp(lean))
            )
            return odds if self.offset_odds is None else odds * self.offset_odds
        margins: Floats = scores[rows.winner] - scores[rows.loser]
        if rows.loading is not None:
            margins *= rows.loading
        margins += lean * rows.side
        if rows.offset is not None:
            margins += rows.offset
        return np.exp(np.clip(margins, -_FARTHEST, _FARTHEST))

    def scores(self, point: Floats) -> Floats:
        """Of the compared items, without those that are given."""
        scores = self.rows.features @ point[: self.d]
        return scores + point[self.d : -1] if self.penalties.has_items else scores

    def _spread(self, per_item: Floats, lean: float) -> Floats:
        out = np.empty(self.ridge.size)
        out[: self.d] = self.rows.features.T @ per_item
        out[self.d : -1] = per_item if self.penalties.has_items else 0.0
        out[-1] = lean if np.isfinite(self.penalties.lean) else 0.0
        return out
