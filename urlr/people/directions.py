"""The directions along which people depart from the consensus most."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from urlr.arrays import Codes, Floats, Ints, Mask

_HOPS = 3
"""How far the votes reach that an item or a person is known by."""
_KEPT = 8
"""Bits dropped, so that sums over all votes are whole numbers a float can hold."""
_DENSE, _SQUARE = 40, 400
"""People or items up to which the decomposition is done whole, and by the products of all pairs of
rows or columns."""


def departures(
    person: Codes, winner: Codes, loser: Codes, value: Floats, n_people: int, n_items: int
) -> sparse.csr_array:
    """(n_people, n_items) sums of what votes depart by, for the winner and against the loser."""
    return sparse.coo_array(
        (
            np.concatenate([value, -value]),
            (np.concatenate([person, person]), np.concatenate([winner, loser])),
        ),
        shape=(n_people, n_items),
    ).tocsr()


def leading(table: sparse.csr_array, k: int) -> tuple[Floats, Floats, Floats]:
    """(n_people, k) people's side, (k,) size and (k, n_items) items' side, the largest first."""
    least = min(table.shape)
    if least <= max(k, _DENSE):
        whole = np.asarray(table.toarray(), np.float64)
        people, size, items = np.linalg.svd(whole, full_matrices=False)
        return people[:, :k], np.asarray(size[:k], np.float64), items[:k]
    if least <= _SQUARE:  # exact, so that it is the same however rows and columns are ordered
        wide = table.shape[0] == least
        square = (table @ table.T if wide else table.T @ table).toarray()
        values, ends = np.linalg.eigh(square)
        size = np.sqrt(np.maximum(values[::-1][:k], 1e-24))
        ends = ends[:, ::-1][:, :k]
        others = (table.T @ ends if wide else table @ ends) / size
        people, items = (ends, others) if wide else (others, ends)
        return people, size, np.asarray(items.T)
    start = np.random.default_rng(0).normal(size=least)
    people, size, items = sparse.linalg.svds(table, k=k, v0=start, tol=1e-4)
    order = np.argsort(-size)
    return people[:, order], np.asarray(size[order], np.float64), items[order]


def folds_of_votes(
    winner: Codes, loser: Codes, person: Codes, n_folds: int, decided: Mask | None = None
) -> Ints:
    """(n_votes,) fold of each vote; all votes of a person on a pair are in one.

    Everybody's pairs are dealt in turn, so that folds have as many of them. The same whatever
    people and items are called, and in whatever order votes come.
    """
    mark = marks_of_votes(winner, loser, person, decided)
    order = np.lexsort((mark, person))
    new = np.diff(person[order], prepend=-2) != 0
    pair = np.cumsum(new | (np.diff(mark[order], prepend=-1) != 0))
    first = np.flatnonzero(new)
    place = pair - np.repeat(pair[first], np.diff(np.append(first, order.size)))
    start = np.repeat(mark[order][first], np.diff(np.append(first, order.size)))
    fold = np.empty(order.size, np.int64)
    fold[order] = (place + start) % n_folds
    return fold


def marks_of_votes(winner: Codes, loser: Codes, person: Codes, decided: Mask | None = None) -> Ints:
    """(n_votes,) number of each person and pair, as good as drawn at random, by who voted on what.

    Not by names: items and people are known by the votes they have, on items and by people who are
    known by theirs. Sums are of whole numbers, which come out the same in any order.
    """
    items, people = fingerprints(winner, loser, person, decided)
    pair = items[winner] + items[loser] + _mixed(items[winner] * items[loser])
    return _mixed(pair + 3 * people[person]) >> 8


def fingerprints(
    winner: Codes, loser: Codes, person: Codes, decided: Mask | None = None
) -> tuple[Ints, Ints]:
    """(n_items,) and (n_people + 1,) numbers by which items and people are known; see above.

    The last is that of votes without a name, whose person is -1. To reverse all votes changes
    nothing, nor which item of a vote that is not decided comes first.
    """
    n_items = int(max(winner.max(initial=-1), loser.max(initial=-1))) + 1
    n_people = int(person.max(initial=-1)) + 2
    person = np.where(person < 0, n_people - 1, person)
    items, people = np.ones(n_items, np.int64), np.ones(n_people, np.int64)
    sure = np.ones(person.size) if decided is None else decided.astype(np.float64)
    ahead = np.bincount(winner, sure, n_items) - np.bincount(loser, sure, n_items)
    going = ((ahead[winner] - ahead[loser]) * sure).astype(np.int64)
    for _ in range(_HOPS):
        pair = items[winner] + items[loser] + _mixed(items[winner] * items[loser])
        vote = _mixed(pair + people[person] * 11 + going * 13)
        said = [_mixed(vote + one) >> _KEPT for one in range(2)]
        own = np.bincount(winner, said[0], n_items) + np.bincount(loser, said[0], n_items)
        items, people = own.astype(np.int64), np.bincount(person, said[1], n_people)
        items, people = _mixed(items), _mixed(people.astype(np.int64))
    return items, people


def uniform(mark: Ints, draw: int) -> Floats:
    """Numbers from 0 to 1 as good as drawn at random, by the marks of votes."""
    return np.asarray((_mixed(mark + (draw + 1) * 2**32) + 0.5) / 2**31)


def _mixed(number: Ints) -> Ints:
    """Whole numbers below 2^31, spread as if at random (a round of splitmix)."""
    bits = np.asarray(number).astype(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((bits ^ (bits >> np.uint64(31))) >> np.uint64(33), np.int64)
