"""What somebody would say of a pair: a new person, a known one, or the people of a taste."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri

from urlr.arrays import Floats, Ints, Mask
from urlr.ids import positions
from urlr.metrics import kendall_tau_b
from urlr.people.crowd import Crowd
from urlr.people.errors import TYPICAL

_AT_ONCE = 4_000_000
"""Numbers held in memory at a time."""
_NAMED = 5
_LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class Voters:
    """Who voted, as far as predictions need them; travels with the model."""

    names: pd.Index[Any]
    """(n_people,)"""
    place: Floats
    """(n_people, k) on each direction of taste, 0 for the median person."""
    covariance: Floats
    """(n_people, k, k)"""
    trust: Floats
    """(n_people,) how much steeper or flatter somebody votes than a typical person; below 0 for
    those who vote the other way around."""
    counted: Mask
    """(n_people,) who stands for somebody new: all who have votes enough and do not act together
    with others."""
    taste: Ints
    """(n_people,) number of the group of the same taste, 0 for that of the consensus."""
    n_votes: Ints
    """(n_people,)"""
    coefficients: Floats
    """(n_features, k) of the directions."""
    effects: Floats
    """(n_items, k) what the ranked items have of their own, in the order of the scores."""
    items: Floats
    """(n_items, k) place of the ranked items on each direction."""
    variance: Floats
    """(n_items,) of the scores of the ranked items."""
    trusted: float = 1.0
    """How much of a margin somebody new goes by; 1 where tastes differ, whose mixture says it."""

    @staticmethod
    def of(
        crowd: Crowd,
        taste: Ints,
        able: Mask,
        *,
        items: Floats,
        effects: Floats,
        variance: Floats,
        trusted: float = 1.0,
        stretch: float = 1.0,
    ) -> Voters:
        """Gather what predictions need.

        Parameters
        ----------
        taste
            (n_people,) see `taste_groups`.
        able
            (n_people,) who has votes enough.
        items, effects, variance
            Of the ranked items, in the order of the scores.
        stretch
            By which the scores are stretched, and so tastes are.
        """
        usual = 1.0 - 2.0 * min(crowd.typical if len(crowd.ballots.names) else TYPICAL, 0.4)
        return Voters(
            crowd.ballots.names,
            crowd.tastes.place,
            crowd.tastes.covariance,
            np.clip((1.0 - 2.0 * crowd.error_rate) / usual, -1.0, 1.0),
            able & (crowd.group == 0),
            taste,
            _counts(crowd),
            stretch * crowd.tastes.coefficients,
            stretch * effects,
            stretch * items,
            variance,
            1.0 if crowd.tastes.n else min(trusted, 1.0),
        )

    @property
    def n(self) -> int:
        """Number of directions."""
        return int(self.place.shape[1])

    def in_order(self, place: Ints) -> Voters:
        """Return the same with the items in another order."""
        return replace(
            self,
            effects=self.effects[place],
            items=self.items[place],
            variance=self.variance[place],
        )

    def centre(self, taste: int) -> Floats:
        """(k,) place of the people of a taste, 0 for the consensus."""
        mine = self.taste == taste
        if taste == 0 or not mine.any():
            return np.zeros(self.n)
        return np.asarray(self.place[mine].mean(axis=0))

    def chances(
        self, scores: Floats, a: Ints, b: Ints, who: Ints | None, taste: int | None, z: float
    ) -> Floats:
        """Chance that a is preferred to b; the margin moved by z standard deviations.

        Parameters
        ----------
        scores
            (n_items,) of the consensus.
        a, b
            (n_pairs,) positions of items.
        who
            (n_pairs,) people, -1 for somebody new; None for somebody new throughout.
        taste
            Or a number of a taste.
        """
        margin = scores[a] - scores[b]
        unsure = self.variance[a] + self.variance[b]
        apart = self.items[a] - self.items[b]
        if taste is not None:
            return _chance(margin + apart @ self.centre(taste), unsure, z)
        chance = self._mixture(margin, unsure, apart, z)
        if who is None:
            return chance
        known = who >= 0
        own = np.maximum(who, 0)
        if len(self.names) == 0:
            return chance
        moved = margin + (apart * self.place[own]).sum(axis=1)
        more = np.einsum("pa,pab,pb->p", apart, self.covariance[own], apart)
        said = _chance(moved, unsure + more, z)
        said = 0.5 + self.trust[own] * (said - 0.5)
        return np.where(known, said, chance)

    def _mixture(self, margin: Floats, unsure: Floats, apart: Floats, z: float) -> Floats:
        """Over the tastes of people, each of whom counts once."""
        people = np.flatnonzero(self.counted)
        if self.n == 0 or people.size == 0:
            return _chance(margin, unsure, z, self.trusted)
        chance = np.empty(margin.size)
        step = max(1, _AT_ONCE // people.size)
        for first in range(0, margin.size, step):
            part = slice(first, first + step)
            tastes = apart[part] @ self.place[people].T
            each = _chance(margin[part][:, None] + tastes, unsure[part][:, None], z)
            chance[part] = each.mean(axis=1)
        return chance


def _counts(crowd: Crowd) -> Ints:
    who = crowd.ballots.annotator
    return np.bincount(who[who >= 0], minlength=len(crowd.ballots.names)).astype(np.int64)


def _chance(margin: Floats, variance: Floats, z: float, trusted: float = 1.0) -> Floats:
    """E sigmoid of a normal margin, nearly; or sigmoid z standard deviations from its mean.

    `trusted` is a factor on margins that are damped by how unsure they are, as it was estimated.
    """
    if z:
        return np.asarray(expit(trusted * margin + z * np.sqrt(variance)))
    return np.asarray(expit(trusted * margin / np.sqrt(1.0 + np.pi / 8.0 * variance)))


def ends() -> tuple[float, float]:
    """Deviates of the ends of an interval."""
    z = float(ndtri(0.5 + _LEVEL / 2))
    return -z, z


def taste_groups(place: Floats, items: Floats, differs: Mask) -> Ints:
    """(n_people,) number of the group of one taste, from 1, the largest first; 0 for the rest.

    People who differ for sure go by the axis on which they stand farthest from the median person,
    and the side they stand on; axes are those along which tastes of people differ most.
    """
    group = np.zeros(len(place), np.int64)
    if place.shape[1] == 0 or np.count_nonzero(differs) < 2:
        return group
    scale = np.linalg.cholesky(items.T @ items / len(items) + 1e-9 * np.eye(items.shape[1]))
    at = place[differs] @ scale
    _, _, axes = np.linalg.svd(at, full_matrices=False)
    along = at @ axes.T
    axis = np.abs(along).argmax(axis=1)
    side = along[np.arange(len(at)), axis] > 0
    _, label, size = np.unique(2 * axis + side, return_inverse=True, return_counts=True)
    number = np.zeros(size.size, np.int64)
    shared = np.flatnonzero(size > 1)
    number[shared[np.argsort(-size[shared], kind="stable")]] = np.arange(1, shared.size + 1)
    group[differs] = number[label]
    return group


def taste_table(voters: Voters, scores: Floats, items: pd.Index[Any]) -> pd.DataFrame:
    """The tastes in numbers, the largest group first; no rows if all people are of one taste.

    Columns: taste (its number, as `annotators` and predictions name it), people, n_people, share
    (of the people who can be judged), n_votes, tau (Kendall's, between its ranking and the
    consensus), sure (standard errors between its centre and the consensus), up and down (the items
    that it puts higher and lower than the consensus does, by most first).
    """
    rows = []
    for number in range(1, int(voters.taste.max(initial=0)) + 1):
        mine = voters.taste == number
        moved = voters.items @ voters.centre(number)
        order = np.argsort(-moved, kind="stable")
        centre, n_mine = voters.centre(number), int(np.count_nonzero(mine))
        spread = voters.covariance[mine].sum(axis=0) / n_mine**2
        rows.append(
            {
                "taste": number,
                "people": tuple(voters.names[mine].tolist()),
                "n_people": n_mine,
                "share": n_mine / max(int(np.count_nonzero(voters.counted)), 1),
                "n_votes": int(voters.n_votes[mine].sum()),
                "tau": kendall_tau_b(scores, scores + moved),
                "sure": float(np.sqrt(centre @ np.linalg.solve(spread, centre))),
                "up": tuple(items[order[moved[order] > 0][:_NAMED]].tolist()),
                "down": tuple(items[order[::-1][moved[order[::-1]] < 0][:_NAMED]].tolist()),
            }
        )
    columns = [
        "taste", "people", "n_people", "share", "n_votes", "tau", "sure", "up", "down",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def known_people(names: pd.Index[Any], asked: Any, n: int) -> Ints:
    """(n,) position of each annotator asked for, one or as many as there are pairs; -1 unknown."""
    wanted = pd.Index([asked] * n if np.ndim(asked) == 0 else np.asarray(asked))
    if len(names) == 0:
        return np.full(n, -1, np.int64)
    return np.asarray(positions(names, wanted), np.int64)
