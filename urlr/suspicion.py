"""How likely a vote is wrong, from who cast it and from what the features say of its two items.

A vote is wrong with the error rate of its annotator, pi_a, and else follows the logistic link:

    P(i beats j) = (1 - pi_a) sigmoid(m) + pi_a sigmoid(-m)
    P(wrong)     = pi_a sigmoid(-m) / [pi_a sigmoid(-m) + (1 - pi_a) sigmoid(m)]

so that logit P(wrong) = logit pi_a - m: suspicion of the person and of the vote add up. Dawid &
Skene (1979) for comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special
from scipy.special import expit, logit

from urlr.arrays import Codes, Floats, Mask

_RATES = expit(np.linspace(logit(0.005), logit(0.98), 25))
"""Error rates considered for a person."""
_TYPICAL = np.array([0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3])
_VOTES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0])
"""A person's rate is drawn to the typical one as if that many votes had been seen before."""


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """Estimated share of wrong votes of everybody."""

    typical: float
    """Mean of the prior: what to expect of a person nobody has seen."""
    of_annotator: Floats
    """(n_annotators,) each one's own, shrunk towards the typical one."""
    nameless: float
    """Of the votes without a name, taken together."""

    def turned(self, who: Mask) -> ErrorRates:
        """Return the rates of votes as cast, from those of votes read the other way round."""
        own = np.where(who, 1.0 - self.of_annotator, self.of_annotator)
        return replace(self, of_annotator=own)

    def of_votes(self, annotator: Codes) -> Floats:
        """(n_rows,) error rate of whoever cast each vote."""
        return np.append(self.of_annotator, self.nameless)[annotator]

    def reliability(self, annotator: Codes) -> Floats:
        """(n_rows,) weight (1 - 2 pi)^2 that a vote deserves, 0 from one half on, mean 1.

        The information about m in a vote that is turned around with probability pi, at m = 0.
        """
        rate = np.minimum(self.of_votes(annotator), 0.5)
        worth = (1.0 - 2.0 * rate) ** 2
        mean = float(worth.mean()) if worth.size else 1.0
        return worth / mean if mean > 0 else np.ones_like(worth)


def error_rates(
    margin: Floats, counted: Mask, weight: Floats, annotator: Codes, n_annotators: int
) -> ErrorRates:
    """Estimate everybody's error rate, each person shrunk towards the crowd by empirical Bayes.

    The prior of a person's rate is a Beta distribution; its mean and how strongly it binds are
    those under which the votes of all people, one person one say, are likeliest. A crowd of equals
    is shrunk together; where some are reversed, everybody is judged by his own votes.

    Parameters
    ----------
    margin
        (n_rows,) log-odds that the winner is the better one, by models fitted without any vote on
        one of the two items, so that no number of votes on a pair speaks for these votes.
    counted
        (n_rows,) decided votes that have such a margin.
    annotator
        (n_rows,) who cast the vote, -1 for votes without a name: together they count as one.
    """
    right = expit(margin[counted])
    who = annotator[counted]
    place = np.where(who < 0, n_annotators, who)
    weight = weight[counted]
    likelihood = np.empty((n_annotators + 1, _RATES.size))
    for k, rate in enumerate(_RATES):
        chance = np.log(rate + (1.0 - 2.0 * rate) * right)
        likelihood[:, k] = np.bincount(place, weight * chance, n_annotators + 1)
    likelihood -= likelihood.max(axis=1, keepdims=True)
    likelihood = np.exp(likelihood)
    best, prior = -np.inf, np.full(_RATES.size, 1.0 / _RATES.size)
    for mean in _TYPICAL:
        for votes in _VOTES:
            candidate = _prior(mean, votes)
            # A weak guess of 0.1 and 10 votes decides where few people have voted.
            guess = (logit(mean) - logit(0.1)) ** 2 + np.log(votes / 10.0) ** 2
            evidence = float(np.log(likelihood @ candidate).sum()) - 0.5 * guess
            if evidence > best:
                best, prior, typical = evidence, candidate, float(mean)
    posterior = likelihood * prior
    rates = posterior @ _RATES / posterior.sum(axis=1)
    return ErrorRates(typical, rates[:-1], float(rates[-1]))


def _prior(mean: float, votes: float) -> Floats:
    """Beta distribution of that mean, worth so many votes, on the rates considered."""
    edges = np.concatenate([[0.0], 0.5 * (_RATES[1:] + _RATES[:-1]), [1.0]])
    mass = np.diff(special.betainc(mean * votes, (1.0 - mean) * votes, edges))
    return np.asarray((mass + 1e-12) / (mass + 1e-12).sum())


def calibration(margin: Floats, counted: Mask, weight: Floats) -> float:
    """Factor that makes log-odds of unseen items agree with how often they are right.

    One-dimensional logistic regression of the votes on their margins. 4 at most; 0 where the
    margins foretell votes no better than chance, as between two people who disagree: then nobody
    can be judged by the others.
    """
    m, w = margin[counted], weight[counted]
    factor = 1.0
    for _ in range(50):
        chance = expit(factor * m)
        slope = float(w @ ((1.0 - chance) * m))
        bend = float(w @ (chance * (1.0 - chance) * m * m))
        if not bend > 0:
            return 1.0
        step = slope / bend
        factor = float(np.clip(factor + step, 0.0, 4.0))
        if abs(step) < 1e-6:
            break
    return factor
