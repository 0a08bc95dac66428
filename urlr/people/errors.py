"""How often each person's vote is wrong, beside the consensus, their own taste and their own side.

A vote is wrong with the error rate of its annotator, pi_a, and else follows the logistic link:

    P(i beats j) = (1 - pi_a) sigmoid(m) + pi_a sigmoid(-m)
    P(wrong)     = pi_a sigmoid(-m) / [pi_a sigmoid(-m) + (1 - pi_a) sigmoid(m)]

so that logit P(wrong) = logit pi_a - m: suspicion of the person and of the vote add up. Dawid &
Skene (1979) for comparisons.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, expit, logit

from urlr.arrays import Codes, Floats, Mask

_RATES = expit(np.linspace(logit(0.005), logit(0.98), 25))
"""Error rates considered for a person."""
_MEANS = (0.03, 0.06, 0.1, 0.15, 0.2)
_WORTH = (10.0, 30.0, 100.0)
_ANYTHING = (0.01, 0.03, 0.1, 0.3)
"""A crowd's rates: a Beta distribution of one of these means, worth so many votes, and a share of
people whose rate may be anything."""
_WIDEST, _BINS = 8.0, 10
"""Margins up to which votes are told apart, and in how many steps a logit."""
TYPICAL = 0.1
"""What to expect of a person of whom nothing is known."""


def _beta(mean: float, worth: float) -> Floats:
    """Beta distribution on the rates considered, which are even in log-odds."""
    a, b = mean * worth, (1.0 - mean) * worth
    density = np.exp(a * np.log(_RATES) + b * np.log1p(-_RATES) - betaln(a, b))
    return np.asarray(density / density.sum())


_FLAT = _beta(0.5, 2.0)


def error_rates(
    margin: Floats,
    weight: Floats,
    person: Codes,
    n_people: int,
    *,
    trusting: bool = False,
) -> Floats:
    """(n_people,) posterior mean of everybody's share of wrong votes.

    Everybody is drawn to the crowd, whose distribution of rates is the one under which the votes of
    all people, one person one say, are likeliest; near Beta(1, 9) where few people have voted, and
    that itself while the margins are still uncertain (`trusting`).

    Parameters
    ----------
    margin
        (n_votes,) log-odds of the vote, by a ranking that has not seen this person's votes.
    weight
        (n_votes,) 0 for votes that do not count.
    person
        (n_votes,) who cast it, -1 for nobody.
    """
    counted = (weight > 0) & (person >= 0)
    if not counted.any():
        return np.full(n_people, TYPICAL)
    log_odds, who = np.clip(margin[counted], -_WIDEST, _WIDEST), person[counted]
    weight = weight[counted]
    place = np.rint((log_odds + _WIDEST) * _BINS).astype(np.int64)
    n_bins = int(2 * _WIDEST * _BINS) + 1
    votes = np.bincount(who * np.int64(n_bins) + place, weight, n_people * n_bins)
    right = expit(np.arange(n_bins) / _BINS - _WIDEST)
    table = np.log(_RATES + (1.0 - 2.0 * _RATES) * right[:, None])
    log = votes.reshape(n_people, n_bins) @ table
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    prior = _beta(TYPICAL, 10.0)
    if not trusting:
        prior = _likeliest_prior(likelihood)
    posterior = likelihood * prior
    return np.asarray(posterior @ _RATES / posterior.sum(axis=1))


def _likeliest_prior(likelihood: Floats) -> Floats:
    best, found = -np.inf, _FLAT
    for mean in _MEANS:
        for worth in _WORTH:
            near = _beta(mean, worth)
            for share in _ANYTHING:
                prior = (1.0 - share) * near + share * _FLAT
                guess = (logit(mean) - logit(TYPICAL)) ** 2 + np.log(share / 0.03) ** 2
                guess += np.log(worth / 60.0) ** 2
                evidence = float(np.log(likelihood @ prior).sum()) - 0.5 * guess
                if evidence > best:
                    best, found = evidence, prior
    return found


def reliability(rate: Floats) -> Floats:
    """Weight (1 - 2 pi)^2 that a vote deserves, nothing from one half on.

    The information about m in a vote that is turned around with probability pi, at m = 0.
    """
    return np.asarray((1.0 - 2.0 * np.minimum(rate, 0.5)) ** 2)


def calibration(margin: Floats, counted: Mask, weight: Floats, rate: Floats | None = None) -> float:
    """Factor that makes log-odds of votes agree with how often they are right.

    One-dimensional logistic regression of the votes on their margins, each vote being turned
    around at the rate given, or never. 4 at most; 0 where the margins foretell votes no better
    than chance, as between two people who disagree: then nobody can be judged by the others.
    """
    m, w = margin[counted], weight[counted]
    wrong = None if rate is None else np.clip(rate[counted], 1e-3, 0.5)
    factor = 1.0
    for _ in range(50):
        chance = expit(factor * m)
        if wrong is None:
            slope = float(w @ ((1.0 - chance) * m))
            bend = float(w @ (chance * (1.0 - chance) * m * m))
        else:
            right = wrong + (1.0 - 2.0 * wrong) * chance
            moves = (1.0 - 2.0 * wrong) * chance * (1.0 - chance) * m
            slope = float(w @ (moves / right))
            bend = float(w @ (moves**2 / (right * (1.0 - right))))
        if not bend > 0:
            return 1.0
        step = slope / bend
        factor = float(np.clip(factor + step, 0.0, 4.0))
        if abs(step) < 1e-6:
            break
    return factor
