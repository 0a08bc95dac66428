"""Groups that act together, in words: who, how many votes, how much they agree, on which items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from urlr.arrays import Floats, Ints, Mask
from urlr.ids import shown, shown_some
from urlr.messages import message
from urlr.people.crowd import Crowd
from urlr.people.poisson_binomial import sums
from urlr.people.reliability import TypicalPerson

_MOST_ITEMS = 10
_CLEARLY = 3.0
"""Standard errors by which a group favours an item that is named."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Group:
    """People who act together."""

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


def groups_of(crowd: Crowd, items: pd.Index[Any], typical: TypicalPerson) -> tuple[Group, ...]:
    """Describe the groups that act together, those with most votes first."""
    found = [
        _group(crowd, items, typical, np.flatnonzero(crowd.group == number))
        for number in range(1, int(crowd.group.max(initial=0)) + 1)
    ]
    return tuple(sorted(found, key=lambda one: -one.n_votes))


def _group(crowd: Crowd, items: pd.Index[Any], typical: TypicalPerson, members: Ints) -> Group:
    ballots = crowd.ballots
    is_member = np.zeros(len(ballots.names), np.bool_)
    is_member[members] = True
    named = np.append(is_member, False)[ballots.annotator]
    inside, outside = _agreements(crowd, named)
    mine = named & ~ballots.tie & (ballots.weight > 0)
    winner, loser, n = ballots.rows.winner[mine], ballots.rows.loser[mine], len(items)
    chance = 0.5 + 0.5 * typical.contrast(crowd.margin[mine])
    departure, variance = 1.0 - chance, chance * (1.0 - chance)
    known = sums(winner, variance, n) + sums(loser, variance, n)
    leaning = (sums(winner, departure, n) - sums(loser, departure, n)) / np.sqrt(known + 1.0)
    order = np.argsort(-leaning, kind="stable")
    up = items[order[leaning[order] >= _CLEARLY][:_MOST_ITEMS]].tolist()
    down = items[order[::-1][leaning[order[::-1]] <= -_CLEARLY][:_MOST_ITEMS]].tolist()
    count = np.bincount(ballots.annotator[named], minlength=is_member.size)[members]
    people = ballots.names[members[np.argsort(-count, kind="stable")]].tolist()
    n_votes = int(np.count_nonzero(named))
    share = n_votes / ballots.annotator.size
    words = _words(people, n_votes, share, inside, outside, up, down)
    return Group(tuple(people), n_votes, inside, outside, tuple(up), tuple(down), words)


def _agreements(crowd: Crowd, member: Mask) -> tuple[float | None, float | None]:
    """Share of agreeing votes on the same pair, of two members, and of a member and another."""
    ballots = crowd.ballots
    counted = (ballots.annotator >= 0) & ~ballots.tie & (ballots.weight > 0)
    winner, loser = ballots.rows.winner[counted], ballots.rows.loser[counted]
    first = np.minimum(winner, loser).astype(np.int64)
    up, mine = winner == first, member[counted]
    pair, pairs = pd.factorize(first * ballots.rows.n_items + np.maximum(winner, loser))
    n = len(pairs)

    def counts(where: Mask, code: Ints, size: int) -> tuple[Floats, Floats]:
        return sums(code[where], up[where], size), sums(code[where], ~up[where], size)

    yes, no = counts(mine, pair, n)
    other_yes, other_no = counts(~mine, pair, n)
    outside = _share(
        float(yes @ other_yes + no @ other_no), float((yes + no) @ (other_yes + other_no))
    )
    own, owns = pd.factorize(ballots.annotator[counted].astype(np.int64) * n + pair)
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
