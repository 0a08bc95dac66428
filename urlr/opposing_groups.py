"""People who agree with each other against everybody else: who, how much, and about which items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse, special
from scipy.sparse.csgraph import connected_components

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.ballots import Ballots
from urlr.consensus import Consensus
from urlr.ids import shown, shown_some
from urlr.messages import message
from urlr.poisson_binomial import sums
from urlr.reliability import Reliability
from urlr.voting_groups import OrientedVotes, SharedDepartures

_MOST_PEOPLE = 200
"""Who is asked whether they go together: pairs of people are looked at one by one."""
_MOST_ITEMS = 10
_CLEARLY = 3.0
"""Standard errors by which a group favours an item that is named."""
_SHOWN = 5
_LEAST_KNOWN = 0.2
"""Sum of p (1 - p) below which a person has said too little of an item for a deviate."""


@dataclass(frozen=True, slots=True)
class Group:
    """People who agree with each other against everybody else."""

    people: tuple[Any, ...]
    """As the votes name them, most votes first."""
    n_votes: int
    inside: float | None
    """Share of the votes of two of them on one pair that agree; None where they share none."""
    outside: float | None
    """The same between them and all others."""
    items_up: tuple[Any, ...]
    """Items they favour against the consensus, most surprising first, ten at most."""
    items_down: tuple[Any, ...]
    words: str
    """In plain words; long names are shortened in them."""


def opposing_groups(
    ballots: Ballots,
    items: pd.Index[Any],
    seen: Consensus,
    of: Reliability,
    *,
    among: Mask,
    together: Mask,
    level: float,
) -> tuple[Group, ...]:
    """Tell who of the people that stand out goes together; those with most votes first.

    With t_pi what the votes of person p depart from the own expectation of p on item i, in
    standard errors, T_pq = sum_i t_pi t_qi / sqrt(sum_i t_pi^2) is normal if p and q know nothing
    of each other. Pairs of people are joined that are significant at the level over the number of
    pairs. The careless depart at random, and the reversed as their reliability says.

    Parameters
    ----------
    of
        What the consensus says of everybody's reliability.
    among
        (n_people,) who stands out.
    together
        (n_people,) who of them is known to depart where others do: whoever is joined to nobody
        goes where the departures fit best.
    """
    if np.count_nonzero(among) < 2:
        return ()
    rows = np.flatnonzero(seen.judged & (ballots.annotator >= 0))
    rows = rows[np.argsort(ballots.annotator[rows], kind="stable")]
    margin, person = seen.margin[rows], ballots.annotator[rows]
    winner, loser = ballots.rows.winner[rows], ballots.rows.loser[rows]
    ahead = margin > 0
    votes = OrientedVotes(
        person,
        np.where(ahead, winner, loser),
        np.where(ahead, loser, winner),
        ahead,
        of.typical.contrast(np.abs(margin)),
        len(items),
    )
    count = np.bincount(person, minlength=among.size)
    candidates = np.flatnonzero(among & (count > 0))
    candidates = candidates[np.argsort(-count[candidates], kind="stable")][:_MOST_PEOPLE]
    pull = SharedDepartures(votes, of.rho, among)
    label = _joined(votes, pull, candidates, together[candidates], level)
    groups = []
    for number in range(int(label.max(initial=-1)) + 1):
        members = candidates[label == number]
        if members.size > 1:
            groups.append(_group(ballots, items, votes, pull, members))
    return tuple(sorted(groups, key=lambda one: -one.n_votes))


def _joined(
    votes: OrientedVotes, pull: SharedDepartures, candidates: Ints, together: Mask, level: float
) -> Codes:
    """(n_candidates,) number of the group of each."""
    place = np.full(pull.n_people, -1, np.int64)
    place[candidates] = np.arange(candidates.size)
    mine = np.flatnonzero(place[votes.person] >= 0)
    who = place[votes.person[mine]] * votes.n_items
    shape = (candidates.size, votes.n_items)

    def by_item(sign: float, value: Floats) -> Floats:
        total = sums(who + votes.favourite[mine], value[mine], shape[0] * shape[1])
        other = sums(who + votes.other[mine], value[mine], shape[0] * shape[1])
        return (total + sign * other).reshape(shape)

    known = by_item(1.0, pull.variance)
    departure = by_item(-1.0, pull.departure)
    deviate = np.where(
        known >= _LEAST_KNOWN, departure / np.sqrt(np.maximum(known, _LEAST_KNOWN)), 0.0
    )
    both = deviate @ deviate.T
    size = np.sqrt((np.square(deviate) @ (deviate != 0).T).clip(1.0))
    test = both / np.maximum(size, size.T)
    first, second = np.triu_indices(candidates.size, 1)
    strict = level / max(first.size, 1)
    joined = special.ndtr(-test[first, second]) <= strict
    ones = np.ones(int(np.count_nonzero(joined)))
    links = sparse.coo_array((ones, (first[joined], second[joined])), (candidates.size,) * 2)
    label = np.asarray(connected_components(links, directed=False)[1], np.int32)
    size_of = np.bincount(label, minlength=candidates.size)
    alone = np.flatnonzero(together & (size_of[label] == 1))
    groups = np.flatnonzero(size_of > 1)
    if groups.size == 0:
        label[alone] = label[alone[:1]]
        return label
    fit = np.stack([test[:, label == group].mean(axis=1) for group in groups], axis=1)
    label[alone] = groups[fit[alone].argmax(axis=1)]
    return label


def _group(
    ballots: Ballots,
    items: pd.Index[Any],
    votes: OrientedVotes,
    pull: SharedDepartures,
    members: Ints,
) -> Group:
    is_member = np.zeros(len(ballots.names), np.bool_)
    is_member[members] = True
    inside, outside = _agreements(votes, is_member)
    mine = is_member[votes.person]
    # Against what a typical person would do: with the own reliability a push is half forgiven.
    chance = 0.5 + 0.5 * pull.contrast[mine]
    departure, variance = votes.picked[mine] - chance, chance * (1.0 - chance)
    favourite, other, n = votes.favourite[mine], votes.other[mine], len(items)
    known = sums(favourite, variance, n) + sums(other, variance, n)
    leaning = (sums(favourite, departure, n) - sums(other, departure, n)) / np.sqrt(known + 1.0)
    order = np.argsort(-leaning, kind="stable")
    up = items[order[leaning[order] >= _CLEARLY][:_MOST_ITEMS]].tolist()
    down = items[order[::-1][leaning[order[::-1]] <= -_CLEARLY][:_MOST_ITEMS]].tolist()
    people = ballots.names[members].tolist()
    n_votes = int(np.count_nonzero(np.append(is_member, False)[ballots.annotator]))
    share = n_votes / ballots.annotator.size
    words = _words(people, n_votes, share, inside, outside, up, down)
    return Group(tuple(people), n_votes, inside, outside, tuple(up), tuple(down), words)


def _agreements(votes: OrientedVotes, is_member: Mask) -> tuple[float | None, float | None]:
    """Share of agreeing votes on the same pair, of two members, and of a member and another."""
    first = np.minimum(votes.favourite, votes.other).astype(np.int64)
    second = np.maximum(votes.favourite, votes.other)
    up = votes.picked == (votes.favourite == first)
    pair, pairs = pd.factorize(first * votes.n_items + second)
    n = len(pairs)
    mine = is_member[votes.person]

    def counts(where: Mask, code: Ints, size: int) -> tuple[Floats, Floats]:
        return sums(code[where], up[where], size), sums(code[where], ~up[where], size)

    yes, no = counts(mine, pair, n)
    other_yes, other_no = counts(~mine, pair, n)
    outside = _share(
        float(yes @ other_yes + no @ other_no), float((yes + no) @ (other_yes + other_no))
    )
    own, owns = pd.factorize(votes.person.astype(np.int64) * n + pair)
    own_yes, own_no = counts(mine, own, len(owns))
    agree = float(yes @ yes + no @ no - own_yes @ own_yes - own_no @ own_no)
    both, alone = yes + no, own_yes + own_no
    return _share(agree, float(both @ both - alone @ alone)), outside


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _words(
    people: list[Any],
    n_votes: int,
    share: float,
    inside: float | None,
    outside: float | None,
    up: list[Any],
    down: list[Any],
) -> str:
    said = [message("group_cast", people=_listed(people), n_votes=n_votes, share=share)]
    if inside is not None and outside is not None:
        said.append(message("group_agrees", inside=inside, outside=outside))
    elif inside is not None:
        said.append(message("group_agrees_inside", inside=inside))
    elif outside is not None:
        said.append(message("group_agrees_outside", outside=outside))
    if up and down:
        said.append(message("group_leans", up=_listed(up), down=_listed(down)))
    elif up:
        said.append(message("group_favours", up=_listed(up)))
    elif down:
        said.append(message("group_pushes_down", down=_listed(down)))
    return "; ".join(said)


def _listed(names: list[Any]) -> str:
    """'a, b and c', or the first few and how many more."""
    if len(names) > _SHOWN:
        return shown_some(names, _SHOWN)
    shorter = [shown(name) for name in names]
    return " and ".join([", ".join(shorter[:-1]), shorter[-1]]) if len(names) > 1 else shorter[0]
