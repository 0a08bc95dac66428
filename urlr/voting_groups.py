"""People who depart from the consensus together: a campaign, or a taste of their own.

Careless people depart at random, and reversed people everywhere alike. Those who push the same
items, or judge by something else, depart where others of their kind depart. With r_v = y_v - p_v
what a vote departs from its own person's expectation, the people G pull on item i with

    g_i = sum_v +-r_v / (sum_v p_v (1 - p_v) + c)

over their votes on i, and a person's votes go with that pull by S = sum_v (g_i - g_j) r_v, where G
leaves out the person. If nobody knows of anybody, S is a weighted sum of independent outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import optimize, sparse, special

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.poisson_binomial import lower_tail_deviates, sums

_SHRINKAGE = 1.0
"""c: the pull of a group on an item has a standard deviation of about one logit."""
_POWER_STEPS = 40
_LARGE = 2.0
"""A weight is large at twice what it would be if all were equal."""
_SMALLEST_SAMPLE = 10
_MEAN_CUT_AT_4 = 0.9205369256
"""E min(z^2, 4) of a normal deviate z."""
_SURE = 0.995
"""No vote is expected with more certainty than this, so that no single one decides."""


@dataclass(frozen=True)
class OrientedVotes:
    """Decided votes as a question with a likely answer: will this person pick the favourite?

    Sorted by person.
    """

    person: Codes
    """(n_votes,) who votes."""
    favourite: Codes
    """(n_votes,) item that the model prefers."""
    other: Codes
    """(n_votes,) item compared with it."""
    picked: Mask
    """(n_votes,) whether the favourite won."""
    contrast: Floats
    """(n_votes,) d >= 0: a typical person picks the favourite with probability (1 + d) / 2."""
    n_items: int

    @cached_property
    def own_items(self) -> _OwnItems:
        """Sums by item that leave out the voter's own share."""
        return _OwnItems(self)

    @property
    def every_other(self) -> Mask:
        """(n_votes,) half of the votes: each person's first, third, fifth and so on."""
        count = np.bincount(self.person)
        start = np.repeat(np.cumsum(count) - count, count)
        return np.asarray((np.arange(self.person.size) - start) % 2 == 0)


class SharedDepartures:
    """Tests of everybody's departures against the pull of others."""

    def __init__(self, votes: OrientedVotes, rho: Floats, odd: Mask) -> None:
        """Expect of each person what the consensus of those who are not odd makes likely.

        The margins come from a model that shrinks; where its scores are off, everybody departs
        from them together. One step of item effects takes that out, so that what is left in
        common is not common to all.

        Parameters
        ----------
        rho
            (n_people,) reliability of each person.
        odd
            (n_people,) people whose votes do not form the consensus.
        """
        self.votes, self.n_people = votes, rho.size
        rho = np.clip(rho, -1.0, 1.0)
        self._expect(rho, votes.contrast)
        shift = self._pull(~odd)
        typical = np.clip(0.5 + 0.5 * votes.contrast, 1.0 - _SURE, _SURE)
        contrast = 2.0 * special.expit(special.logit(typical) + shift) - 1.0
        self._expect(rho, contrast)
        for _ in range(2):  # Newton steps for rho, with the first estimate as a prior
            slope = 0.5 * contrast
            change = self._total(slope * self.departure / self.variance)
            known = self._total(slope * slope / self.variance)
            rho = np.clip(rho + change / (known + 1.0), -1.0, 1.0)
            self._expect(rho, contrast)

    def p_values(self, group: Mask, *, tested: Mask | None = None) -> Floats:
        """Chance that the votes of a person on their own go so well with a group; 1 if unpulled.

        Whatever the person's reliability explains is projected out of the pull first, and people
        are allowed tastes of their own.

        Parameters
        ----------
        group
            (n_people,) whose pull; a person in it is tested against the others.
        tested
            (n_votes,) which votes are tested; all if None.
        """
        counted = np.ones(self.departure.size) if tested is None else tested.astype(np.float64)
        pull = counted * self._pull(group)
        slope = 0.5 * counted * self.contrast
        along = self._total(pull * slope)
        size = self._total(slope * slope / self.variance)
        ratio = np.divide(along, size, out=np.zeros(self.n_people), where=size > 0)
        pull = pull - ratio[self.votes.person] * slope / self.variance
        # Who does not even go with the pull by one standard error needs no exact tail.
        size = np.sqrt(self._total(pull * pull * self.variance))
        along = self._total(pull * self.departure)
        deviate = np.divide(along, size, out=np.full(self.n_people, -np.inf), where=size > 1e-5)
        kept = np.flatnonzero((deviate > 1.0)[self.votes.person] & (counted > 0))
        person, pull, chance = self.votes.person[kept], pull[kept], self.chance[kept]
        against = np.where(self.votes.picked[kept], -pull, 0.0)
        observed = sums(person, against, self.n_people)
        exact = lower_tail_deviates(-pull, chance, counted[kept], person, observed)
        deviate = np.where(deviate > 1.0, -exact, deviate)
        return special.ndtr(-deviate / np.sqrt(1.0 + _taste_variance(deviate, size**2) * size**2))

    def leading(self, able: Mask, *, among: Mask) -> Mask:
        """People with large weights in the direction that most departures share.

        The first left singular vector of the matrix of departures, people by items, with rows of
        length one; its sign is such that few large weights stand against many small ones.

        Parameters
        ----------
        able
            (n_people,) who may take part.
        among
            (n_votes,) which votes are looked at.
        """
        votes = self.votes
        both = np.concatenate([votes.favourite, votes.other])
        known = sums(both, np.concatenate([self.variance, self.variance]), votes.n_items)
        kept = np.flatnonzero(among & able[votes.person])
        departure = self.departure[kept]
        people = np.concatenate([votes.person[kept], votes.person[kept]])
        items = np.concatenate([votes.favourite[kept], votes.other[kept]])
        values = np.concatenate([departure, -departure]) / np.sqrt(known + _SHRINKAGE)[items]
        length = np.sqrt(sums(people, values * values, self.n_people))
        scale = np.divide(1.0, length, out=np.zeros(self.n_people), where=length > 0)
        shape = (self.n_people, votes.n_items)
        table = sparse.csr_array((values * scale[people], (people, items)), shape)
        # Any start would do that is not orthogonal to what is looked for.
        weights = np.where(scale > 0, 1.0 + np.arange(self.n_people) / self.n_people, 0.0)
        for _ in range(_POWER_STEPS):
            moved = table @ (weights @ table)
            weights = moved / max(float(np.linalg.norm(moved)), 1e-300)
        weights = weights * np.sign((weights**3).sum())
        n_able = int(np.count_nonzero(scale))
        return np.asarray(weights > _LARGE / np.sqrt(max(n_able, 1)), np.bool_)

    def _expect(self, rho: Floats, contrast: Floats) -> None:
        likely = 0.5 + 0.5 * rho[self.votes.person] * contrast
        self.contrast = contrast
        self.chance = np.clip(likely, 1.0 - _SURE, _SURE)
        self.departure = self.votes.picked - self.chance
        self.variance = self.chance * (1.0 - self.chance)

    def _total(self, per_vote: Floats) -> Floats:
        return sums(self.votes.person, per_vote, self.n_people)

    def _pull(self, group: Mask) -> Floats:
        """(n_votes,) g_favourite - g_other, by the group without the voter."""
        inside = np.flatnonzero(group[self.votes.person])
        departure, variance = self.departure[inside], self.variance[inside]
        favoured, disfavoured = self.votes.own_items.less_own(inside, departure, -departure)
        known, known_other = self.votes.own_items.less_own(inside, variance, variance)
        return favoured / (known + _SHRINKAGE) - disfavoured / (known_other + _SHRINKAGE)


def _taste_variance(deviate: Floats, information: Floats) -> float:
    """Variance of how much people go with a pull, or against it, by tastes of their own.

    Nobody is quite typical, and on thousands of votes it shows: a person's deviate then has
    variance 1 + variance * information. Estimated by maximum likelihood from those who go against
    the pull, which no member of a group does, with squares cut at 4.
    """
    against = (deviate < 0) & (information > 1e-10)
    square, information = np.square(deviate[against]), information[against]
    if square.size < _SMALLEST_SAMPLE:
        return 0.0

    def excess(variance: float) -> float:
        spread = 1.0 + variance * information
        return float((information / spread) @ (np.minimum(square / spread, 4.0) - _MEAN_CUT_AT_4))

    widest = 100.0 / float(information.max())
    while excess(widest) > 0:
        widest *= 10.0
    return float(optimize.brentq(excess, 0.0, widest)) if excess(0.0) > 0 else 0.0


class _OwnItems:
    """Sums by item, less what the voter put in."""

    def __init__(self, votes: OrientedVotes) -> None:
        self.items = np.concatenate([votes.favourite, votes.other])
        self.n_items, self.n_votes = votes.n_items, votes.person.size
        person = np.concatenate([votes.person, votes.person]).astype(np.int64)
        self.mine, mine = pd.factorize(person * votes.n_items + self.items)
        self.n_mine = len(mine)

    def less_own(self, inside: Ints, favourite: Floats, other: Floats) -> tuple[Floats, Floats]:
        """Totals at each vote's favourite and other item over the votes inside of other people.

        Parameters
        ----------
        inside
            (n_inside,) positions of the votes to be added up.
        favourite, other
            (n_inside,) what they give to their items.
        """
        both = np.concatenate([inside, inside + self.n_votes])
        values = np.concatenate([favourite, other])
        items, mine = self.items[both], self.mine[both]
        rest = sums(items, values, self.n_items)[self.items]
        rest[both] -= sums(mine, values, self.n_mine)[mine]
        return rest[: self.n_votes], rest[self.n_votes :]
