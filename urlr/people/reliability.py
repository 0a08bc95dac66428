"""How reliable each person is beside a typical one, and how surprising that is.

A typical person's vote goes with the model with probability

    P(agree) = pi + (1 - 2 pi) sigmoid(kappa |m|) = (1 + d(|m|)) / 2

where m is the margin the model gives the vote, kappa how much steeper or flatter people are than
the model, and pi how often they slip whatever the margin. A person of reliability rho agrees with
probability (1 + rho d) / 2: rho is 1 for a typical person, 0 for one who guesses, -1 for one who
turns every vote around.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, sparse, special

from urlr.arrays import Codes, Floats, Mask
from urlr.people.poisson_binomial import lower_tail_deviates

_BINS = 20
"""Votes are tallied by the size of their margin, in so many equally full bins; a bin holds a range
of chances of some 0.03, whose square is what a tally can be wrong by."""
_WIDEST = 30.0
"""Margins beyond this are certain either way."""
_SPREADS = (0.01, 0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2)
"""Candidates for the standard deviation of rho among fine people. That there is no larger one is a
decision: a crowd of very different people is not fine throughout."""
_ROUNDS = 3
_TINY = 1e-300
_GRID = 0.025
_NODES = 7
"""Over four simulated crowds p-values were within 11 % of those with 33 nodes; with 5, 23 %."""
_WORTHY, _GUESSES = 0.75, 0.25
_WEAKER = 0.1
_WEAKEST = 0.75
"""One fine person in ten may have any reliability from 0.75 to 1, whatever the spread of the
others: on many votes a small lack is significant, and yet no carelessness."""


@dataclass(frozen=True, slots=True)
class Tallies:
    """Decided votes counted by person and signed margin."""

    counts: sparse.csr_matrix
    """(n_people, n_bins) numbers of votes; the first half of the bins are against the model."""
    margin: Floats
    """(n_bins,) mean margin of each bin, below 0 for the first half, which mirrors the second."""

    @property
    def n_people(self) -> int:
        """Number of people, with or without votes."""
        return int(self.counts.shape[0])


@dataclass(frozen=True, slots=True)
class TypicalPerson:
    """How fine people vote, given the model's margins."""

    steepness: float
    """kappa."""
    slips: float
    """pi."""
    spread: float = _SPREADS[0]
    """Standard deviation of rho among fine people."""

    def contrast(self, margin: Floats) -> Floats:
        """d = (1 - 2 pi) tanh(kappa m / 2), an odd function: twice P(agree) less one."""
        bounded = np.clip(margin, -_WIDEST, _WIDEST)
        return (1.0 - 2.0 * self.slips) * np.tanh(0.5 * self.steepness * bounded)


@dataclass(frozen=True, slots=True)
class Reliability:
    """What the votes of each person say about them."""

    typical: TypicalPerson
    rho: Floats
    """(n_people,) posterior mean of rho, with what is known of the crowd as the prior."""
    p_value: Floats
    """(n_people,) chance that a fine person agrees so little on these pairs."""
    p_bulk: Floats
    """(n_people,) the same without the one in ten who may be weaker."""
    p_guessing: Floats
    """(n_people,) chance that a guesser agrees so little."""
    p_of_guesser: Floats
    """(n_people,) p_value that a guesser would have got on these pairs, in the middle of cases."""
    p_smallest: Floats
    """(n_people,) chance that a typical person never agrees: the smallest p-value there can be."""
    p_turned: Floats
    """(n_people,) p_value of the votes turned around if that fits better than guessing, or 1."""
    turned: Floats
    """(n_people,) log-likelihood of turning every vote around less that of guessing."""
    worthy: Floats
    """(n_people,) chance that rho is above 0.75, were all values from -1 on as likely."""
    agrees: Floats
    """(n_people,) the same above 0.25: more than a guesser."""


def tallied(margin: Floats, person: Codes, n_people: int) -> Tallies:
    """Count decided votes by person and margin; margins of 0, which say nothing, are left out."""
    known = margin != 0
    margin, person = margin[known], person[known]
    size = np.minimum(np.abs(margin), _WIDEST)
    if size.size == 0:
        return Tallies(sparse.csr_matrix((n_people, 2)), np.array([-1.0, 1.0]))
    edges = np.unique(np.quantile(size, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
    place = np.searchsorted(edges, size)
    used, place = np.unique(place, return_inverse=True)
    n = used.size
    mean = np.bincount(place, size, n) / np.bincount(place, minlength=n)
    column = np.where(margin < 0, n - 1 - place, n + place)
    shape = (n_people, 2 * n)
    counts = sparse.coo_matrix((np.ones(size.size), (person, column)), shape).tocsr()
    return Tallies(counts, np.concatenate([-mean[::-1], mean]))


def reliability(tallies: Tallies) -> Reliability:
    """Judge everybody by a typical person, who is estimated from those that look fine."""
    typical, rho = typical_person(tallies)
    grid, likelihood = _likelihoods(tallies, typical)
    worthy, agrees = (
        likelihood @ (grid > least) / likelihood.sum(axis=1) for least in (_WORTHY, _GUESSES)
    )
    contrast = typical.contrast(tallies.margin)
    size = np.abs(contrast)
    counts = tallies.counts
    # The log-likelihood ratio of a typical person to a guesser, or to one who turns votes around.
    weight = np.log1p(size) - np.log1p(-np.minimum(size, 1.0 - 1e-12))
    observed = counts @ np.where(contrast > 0, weight, 0.0)
    middle = 0.5 * (counts @ weight)
    smallest = np.exp(counts @ np.log(0.5 - 0.5 * np.minimum(size, 1.0 - 1e-12)))
    turned = counts @ np.log1p(-np.clip(contrast, -1.0, 1.0 - 1e-12))

    # A tail needs to know how many votes had a margin of a size, not on which side they came.
    half = size.size // 2
    rows = (counts[:, half:] + counts[:, :half][:, ::-1]).tocoo()
    size, weight = size[half:], weight[half:]

    def deviates(rho: float, at: Floats, among: Mask | None = None) -> Floats:
        chance = 0.5 + 0.5 * np.clip(rho * size, -1.0, 1.0)
        kept = slice(None) if among is None else among[rows.row]
        column, n, person = rows.col[kept], rows.data[kept], rows.row[kept]
        return lower_tail_deviates(weight[column], chance[column], n, person, at)

    null = _FineReliability(typical.spread, _most(size))
    nodes = np.stack([deviates(rho, observed) for rho in null.nodes], axis=1)
    guessers = np.stack([deviates(rho, middle) for rho in null.nodes], axis=1)
    around = np.stack(
        [deviates(rho, 2.0 * middle - observed, among=turned > 0) for rho in null.nodes], axis=1
    )
    return Reliability(
        typical,
        rho,
        p_value=null.p_values(nodes, null.prior),
        p_bulk=null.p_values(nodes, null.bulk),
        p_guessing=special.ndtr(deviates(0.0, observed)),
        p_of_guesser=null.p_values(guessers, null.prior),
        p_smallest=smallest,
        p_turned=null.p_values(around, null.prior),
        turned=turned,
        worthy=worthy,
        agrees=agrees,
    )


def typical_person(tallies: Tallies) -> tuple[TypicalPerson, Floats]:
    """Estimate kappa, pi and the spread of rho by maximum likelihood over those who look fine.

    A person is fine, rho ~ Normal(1, spread^2), or anything, rho ~ Uniform(-1, 1). In turn, the
    curve is fitted with everybody weighed by their probability of being fine, and those
    probabilities, the share of fine people and their spread are estimated given the curve.
    """
    fine = np.ones(tallies.n_people)
    typical = TypicalPerson(1.0, 0.1)
    for _ in range(_ROUNDS):
        typical = _curve(tallies.counts.T @ fine, tallies.margin, typical)
        grid, likelihood = _likelihoods(tallies, typical)
        flat = np.where(grid <= 1.0, 1.0, 0.0)
        flat /= flat.sum()
        anything = np.maximum(likelihood @ flat, _TINY)
        best = -np.inf
        for spread in _SPREADS:
            prior = np.exp(-0.5 * np.square((grid - 1.0) / spread))
            prior /= prior.sum()
            evidence = np.maximum(likelihood @ prior, _TINY)
            posterior, value = _mixture(evidence, anything)
            if value > best:
                best, fine = value, posterior
                typical = replace(typical, spread=spread)
                as_fine = likelihood @ (prior * grid) / evidence
    return typical, fine * as_fine + (1.0 - fine) * (likelihood @ (flat * grid) / anything)


def _curve(votes: Floats, margin: Floats, start: TypicalPerson) -> TypicalPerson:
    """Likeliest kappa and pi; weak priors keep them finite where the votes do not say.

    The prior of kappa is relative to the size of the margins, so that their unit does not matter.
    """
    unit = max(float(np.abs(margin).mean()), 1e-200)

    def person(point: Floats) -> TypicalPerson:
        return TypicalPerson(float(np.exp(point[0])) / unit, float(0.5 * special.expit(point[1])))

    def loss(point: Floats) -> float:
        likely = np.log1p(np.maximum(person(point).contrast(margin), 1e-12 - 1.0))
        return float(-(votes @ likely) + (point[0] ** 2 + (point[1] + 1.4) ** 2) / 8.0)

    first = np.array([np.log(start.steepness * unit), special.logit(2.0 * start.slips)])
    bounds = [(-6.0, 6.0), (-12.0, 6.0)]
    return person(optimize.minimize(loss, first, method="L-BFGS-B", bounds=bounds).x)


def _most(size: Floats) -> float:
    """Largest rho that leaves every chance below one."""
    return float(min(1.0 / max(size.max(), 1e-9), 1.3))


def _likelihoods(tallies: Tallies, typical: TypicalPerson) -> tuple[Floats, Floats]:
    """A grid of rho up to the largest there can be, and everybody's likelihood on it, largest 1."""
    contrast = typical.contrast(tallies.margin)
    most = _most(np.abs(contrast))
    grid = np.linspace(-1.0, most, 1 + round((most + 1.0) / _GRID))
    table = np.log1p(np.clip(np.outer(contrast, grid), 1e-9 - 1.0, 1.0))
    values = np.asarray(tallies.counts @ table)
    return grid, np.exp(values - values.max(axis=1, keepdims=True))


def _mixture(fine: Floats, anything: Floats) -> tuple[Floats, float]:
    """Probability of being fine, and the log-likelihood, at the likeliest share of others.

    Their share has the prior Beta(2, 10).
    """
    share = 0.1
    for _ in range(50):
        posterior = (1.0 - share) * fine / ((1.0 - share) * fine + share * anything)
        share = (fine.size - posterior.sum() + 1.0) / (fine.size + 10.0)
    total = np.log((1.0 - share) * fine + share * anything).sum()
    return posterior, float(total + 9.0 * np.log1p(-share) + np.log(share))


class _FineReliability:
    """Distribution of rho among fine people, on a fine grid with deviates known at a few nodes.

    The deviates are smooth in rho, nearly straight, even where the tails they stand for are steps.
    """

    def __init__(self, spread: float, most: float) -> None:
        least, most = min(_WEAKEST, 1.0 - 4.5 * spread), min(1.0 + 3.0 * spread, most)
        self.nodes = np.linspace(least, most, _NODES)
        grid = np.linspace(least, most, 161)
        ends = np.concatenate([[-np.inf], 0.5 * (grid[1:] + grid[:-1]), [np.inf]])
        self.bulk = np.diff(special.ndtr((ends - 1.0) / spread))
        weaker = np.where((grid >= _WEAKEST) & (grid <= 1.0), 1.0, 0.0)
        self.prior = (1.0 - _WEAKER) * self.bulk + _WEAKER * weaker / weaker.sum()
        at = (grid - least) / (most - least) * (_NODES - 1)
        self.left = np.minimum(at.astype(np.int64), _NODES - 2)
        self.part = at - self.left

    def p_values(self, deviates: Floats, prior: Floats) -> Floats:
        """E Phi(z(rho)) over the prior; (n_people, n_nodes) deviates."""
        slope = np.diff(deviates, axis=1)
        p_values = np.zeros(len(deviates))
        for left, part, mass in zip(self.left, self.part, prior, strict=True):
            p_values += mass * special.ndtr(deviates[:, left] + part * slope[:, left])
        return np.minimum(p_values, 1.0)
