"""Groups that act together, told from people who share a taste.

Both depart from the consensus in common. People of one taste are as noisy among themselves as
everybody is; people who push the same items on purpose are not: where the ranking made from the
*other* members' votes has a clear opinion that the crowd does not share, a member goes against it
hardly ever. For each member, n such votes with k against compare

    acting together:  k slips of n at a rate of .003, .02 or .05
    of one taste:     k slips of n at a rate that honest people of this crowd have

and a group is one that acts together if the log-likelihood ratios of its members add up to more
than 5: under the second hypothesis that happens once in 150 at most (Markov's inequality), for
every group looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from urlr.arrays import Codes, Floats, Mask
from urlr.logistic import Comparisons, LogisticFit, Penalties, logistic_fit
from urlr.people.directions import departures, leading

FEWEST_ITEMS = 10
"""With fewer, pushing an item and liking it are the same thing: votes alone accuse nobody."""
FEWEST_VOTES = 5
_EVIDENCE = 5.0
_LEAVES = -1.0
"""Who has less evidence than this is no member."""
_NEVER = 0.003
_WORTH, _LEAST, _UNKNOWN = 20.0, 0.01, 0.1
"""What is known of how often honest people slip is worth so many votes; least and most of it."""
_CLEAR, _APART = 1.0, 1.5
"""The others of the group have an opinion of so many log-odds, so far from the consensus."""
_FOLDS = 5
_DIRECTIONS = 3
_FAR = 2.0
"""Robust deviations along a direction of departures from which on somebody may be a member."""


@dataclass(frozen=True, slots=True)
class Departures:
    """Decided votes of people with a name, and what is expected of each."""

    rows: Comparisons
    """As they are read; with features, offsets and all."""
    person: Codes
    n_people: int
    weight: Floats
    """(n_rows,) by which the consensus is fitted; 0 for groups already found."""
    say: Floats
    """(n_rows,) the same without how reliable people are."""
    expected: Floats
    """(n_rows,) chance of the vote, by a fit without the person."""
    decided: Mask
    penalties: Penalties
    fit: LogisticFit
    able: Mask
    """(n_people,) who may be a member."""

    def of_people(self, per_row: Floats | Mask, where: Mask) -> Floats:
        """(n_people,) sums over some of the votes."""
        who = self.person[where]
        return np.bincount(who, per_row[where], self.n_people).astype(np.float64)


def acting_together(votes: Departures) -> tuple[Mask, float]:
    """(n_people,) the group with most evidence, and that; nobody and 0 if there is too little."""
    best, found = 0.0, np.zeros(votes.n_people, np.bool_)
    if votes.rows.n_items < FEWEST_ITEMS:
        return found, best
    for group in _candidates(votes):
        value = _evidence(votes, group)
        for _ in range(_FOLDS):
            stays = group & (value >= _LEAVES)
            if stays.sum() < 2 or np.array_equal(stays, group):
                break
            group = stays
            value = _evidence(votes, group)
        total = float(value[group & (value >= _LEAVES)].sum())
        if np.count_nonzero(group) > 1 and total > max(best, _EVIDENCE):
            best, found = total, group & (value >= _LEAVES)
    return found, best


def _candidates(votes: Departures) -> Iterator[Mask]:
    """Sets of people that stand apart on the leading directions of people x items departures."""
    able, n = votes.able, votes.n_people
    if np.count_nonzero(able) < 2 * _DIRECTIONS:
        return
    rows = np.flatnonzero(votes.decided & able[votes.person])
    who, first, second = votes.person[rows], votes.rows.winner[rows], votes.rows.loser[rows]
    chance = votes.expected[rows]
    variance = np.bincount(who, 2.0 * chance * (1.0 - chance), n)
    value = (1.0 - chance) / np.sqrt(variance + 1.0)[who]
    table = departures(who, first, second, value, n, votes.rows.n_items)
    people = leading(table, _DIRECTIONS)[0]
    own = np.asarray(table.multiply(table).sum(axis=1)).ravel()
    seen = set()
    for one in range(people.shape[1]):
        # Everybody's projection on the items' side made without their own votes.
        along = table @ (table.T @ people[:, one]) - own * people[:, one]
        for group in _apart(along, able):
            if group.tobytes() not in seen:
                seen.add(group.tobytes())
                yield group


def _apart(along: Floats, able: Mask) -> Iterator[Mask]:
    """Those far to either side, and the smaller of two clusters; at most half of the people."""
    centre = float(np.median(along[able]))
    spread = 1.4826 * float(np.median(np.abs(along[able] - centre)))
    ends = np.array([along[able].min(), along[able].max()])
    for _ in range(20):
        upper = able & (np.abs(along - ends[1]) < np.abs(along - ends[0]))
        lower = able & ~upper
        if not upper.any() or not lower.any():
            break
        ends = np.array([along[lower].mean(), along[upper].mean()])
    beyond = [able & (sign * (along - centre) > _FAR * spread) for sign in (1.0, -1.0)]
    for group in (*beyond, upper, lower):
        if 2 <= np.count_nonzero(group) <= 0.5 * np.count_nonzero(able):
            yield group


def _evidence(votes: Departures, group: Mask) -> Floats:
    """(n_people,) log-likelihood ratio of acting together to sharing a taste; 0 for others."""
    rows = votes.rows
    mine = votes.decided & np.append(group, False)[votes.person]
    fitted = logistic_fit(
        rows, votes.weight * ~mine, votes.penalties, start=votes.fit, tolerance=1e-3
    )
    consensus = rows.margins(fitted.scores(rows.features))
    inside = _by_each_other(votes, group)
    told = mine & (np.abs(inside) > _CLEAR) & (np.abs(inside - consensus) > _APART)
    n, against = votes.of_people(told, told), votes.of_people(inside < 0, told)
    usual = _usual_slips(votes, group)
    together = special.logsumexp(
        [
            against * np.log(rate) + (n - against) * np.log1p(-rate)
            for rate in (_NEVER, usual / 6.0, usual / 3.0)
        ],
        axis=0,
    ) - np.log(3.0)
    a, b = _WORTH * usual, _WORTH * (1.0 - usual)
    alike = special.betaln(a + against, b + n - against) - special.betaln(a, b)
    return np.where(n > 0, together - alike, 0.0)


def _by_each_other(votes: Departures, group: Mask) -> Floats:
    """(n_rows,) margin of members' votes by a ranking from the other members'; else 0."""
    rows, person = votes.rows, votes.person
    mine = votes.decided & np.append(group, False)[person]
    members = np.flatnonzero(group)
    n_folds = min(members.size, _FOLDS)
    fold_of = np.full(votes.n_people + 1, -1)
    fold_of[members] = np.arange(members.size) % n_folds
    fold = fold_of[person]
    alone = replace(
        rows, features=np.zeros((rows.n_items, 0)), offset=None, side=np.zeros(rows.n_rows)
    )
    inside, start = np.zeros(rows.n_rows), None
    for held in range(n_folds):
        others = mine & (fold != held)
        if others.any():
            start = logistic_fit(
                alone, votes.say * others, Penalties(1.0, 0.5, np.inf), start=start, tolerance=1e-2
            )
            inside = np.where(mine & (fold == held), alone.margins(start.effects), inside)
    return inside


def _usual_slips(votes: Departures, group: Mask) -> float:
    """How often people outside the group go against a clear opinion of each other.

    From as many of them as have cast as many votes, those with most votes first.
    """
    count = votes.of_people(votes.decided, votes.decided)
    others = np.flatnonzero(votes.able & ~group)
    others = others[np.argsort(-count[others], kind="stable")]
    enough = int(np.searchsorted(np.cumsum(count[others]), count[group].sum())) + 1
    crowd = np.zeros(votes.n_people, np.bool_)
    crowd[others[: max(enough, 2)]] = True
    inside = _by_each_other(votes, crowd)
    clear = np.abs(inside) > _CLEAR
    if np.count_nonzero(clear) < _WORTH:
        return _UNKNOWN
    usual = float(np.count_nonzero(inside[clear] < 0) / np.count_nonzero(clear))
    return min(max(usual, _LEAST), _UNKNOWN)
