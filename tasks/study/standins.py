"""Generated data of the sizes, the character and the noise of the paper's, which cannot be shipped.

None of it is made to let a method win: features tell part of the truth, votes err by how close
two items are and by carelessness, and what is left over is nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from urlr.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Votes:
    """Items with features and a truth, and votes on them by place."""

    features: Floats
    truth: Floats
    winner: Ints
    loser: Ints
    annotator: Ints | None = None


IMAGES, IMAGE_FEATURES, IMAGE_VOTES, RIVALS = 2222, 915, 16_000, 11.9
TELLING = 8
"""Features that tell much of the truth, such as "is interesting": the paper dropped them. They
share most of what they get wrong, as such judgements of one crowd do."""


def images(rng: np.random.Generator, *, scale: float = 1.0, telling: int = 0) -> Votes:
    """Image interestingness: described by people, half of the descriptions yes or no.

    40 hidden traits, some common and some rare, make correlated features with heavy tails (Student
    t, 3 degrees); 60 % of the truth's variance is linear in the traits. Every image is compared
    with 11.9 others on average; a tenth of the votes is random, the rest err by closeness so that
    80 % of all votes agree with the truth.
    """
    n, d = round(scale * IMAGES), round(scale * IMAGE_FEATURES)
    traits = rng.standard_normal((n, 40)) * np.linspace(1.6, 0.4, 40)
    mixing = rng.standard_normal((40, d)) * (rng.random((40, d)) < 0.25)
    values = traits @ mixing + 2.0 * rng.standard_t(3, (n, d))
    said = rng.random(d) < 0.5  # a yes or a no, a yes being rarer
    values[:, said] = values[:, said] > np.quantile(values[:, said], 0.8, axis=0)
    explained = _standard(traits @ rng.standard_normal(40))
    truth = _standard(np.sqrt(0.6) * explained + np.sqrt(0.4) * rng.standard_normal(n))
    if telling:
        sign = np.where(rng.random(telling) < 0.4, -1.0, 1.0)
        beside = 0.9 * rng.standard_normal((n, 1)) + 0.5 * rng.standard_normal((n, telling))
        close = truth[:, None] + beside
        values = np.column_stack([values, sign * close])
    first, second = _pairs(n, round(n * RIVALS / 2), rng)
    again = rng.integers(0, first.size, max(0, round(scale * IMAGE_VOTES) - first.size))
    first, second = np.append(first, first[again]), np.append(second, second[again])
    wins = _outcomes(truth[first] - truth[second], agreement=0.8, random=0.1, rng=rng)
    return Votes(values, truth, np.where(wins, first, second), np.where(wins, second, first))


CATEGORIES = (
    "accessories", "clothing and shoes", "computer and website", "digital products", "drink",
    "food", "house application", "houseware and furniture", "hygienic products",
    "insurance and bank", "medicine", "personal care", "phone", "transportation",
)  # fmt: skip
"""The advertisement categories of Jiang et al. (2013)."""
VIDEOS, WORDS = 30, 500


def videos(rng: np.random.Generator) -> Votes:
    """One category of video interestingness: two bags of 500 words, complete annotators.

    Every video mixes 12 themes; its words of sight and of sound are drawn from them, 2,000 each.
    Half of the truth's variance is linear in how much of each theme there is. 10 to 15 people
    judge all pairs, each by the truth, a lasting taste of their own and the moment.
    """
    themes = rng.dirichlet(np.full(12, 0.4), VIDEOS)
    bags = []
    for _ in range(2):
        vocabulary = rng.dirichlet(np.full(WORDS, 0.05), 12)
        bags.append([rng.multinomial(2000, mix @ vocabulary) for mix in themes])
    features = np.column_stack([np.asarray(bag, np.float64) / 2000 for bag in bags])
    explained = _standard(themes @ rng.standard_normal(12))
    truth = _standard(np.sqrt(0.5) * explained + np.sqrt(0.5) * rng.standard_normal(VIDEOS))
    first, second = np.triu_indices(VIDEOS, 1)
    winner, loser, who = [], [], []
    for person in range(int(rng.integers(10, 16))):
        liking = truth + 0.8 * rng.standard_normal(VIDEOS)
        margin = liking[first] - liking[second] + 0.7 * rng.standard_normal(first.size)
        winner.append(np.where(margin > 0, first, second))
        loser.append(np.where(margin > 0, second, first))
        who.append(np.full(first.size, person))
    return Votes(
        features, truth, np.concatenate(winner), np.concatenate(loser), np.concatenate(who)
    )


@dataclass(frozen=True, slots=True)
class Faces:
    """Pictures of people at known ages."""

    features: Floats
    person: Ints
    age: Floats


def faces(rng: np.random.Generator) -> Faces:
    """FG-NET's shape: 1,002 pictures of 82 people from 0 to 69, most of them young, 55 features."""
    person = np.sort(np.append(np.arange(82), rng.integers(0, 82, 1002 - 82)))
    age = np.minimum(69, np.floor(rng.gamma(1.5, 10.5, 1002)))
    looks = rng.standard_normal((82, 55))[person]
    aging = rng.standard_normal(55) * (rng.random(55) < 0.5)
    growth = 1 - np.exp(-age / 12)
    features = (
        np.outer(_standard(growth), aging)
        + 0.9 * looks
        + rng.standard_normal((1002, 55)) * rng.uniform(0.5, 1.5, 55)
    )
    return Faces(features, person, age)


def _pairs(n_items: int, n_pairs: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Distinct random pairs."""
    codes = rng.choice(n_items * (n_items - 1) // 2, n_pairs, replace=False)
    second = np.floor((1 + np.sqrt(1 + 8.0 * codes)) / 2).astype(np.int64)
    first = codes - second * (second - 1) // 2
    return np.asarray(first, np.int64), second


def _outcomes(
    difference: Floats, *, agreement: float, random: float, rng: np.random.Generator
) -> Ints:
    """Whether the first of each pair wins; this share of all votes agrees with the truth."""

    def agreeing(slope: float) -> float:
        honest = float(np.mean(expit(slope * np.abs(difference))))
        return (1 - random) * honest + random / 2 - agreement

    slope = brentq(agreeing, 1e-3, 1e3)
    chance = np.where(rng.random(difference.size) < random, 0.5, expit(slope * difference))
    return np.asarray(rng.random(difference.size) < chance)


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())
