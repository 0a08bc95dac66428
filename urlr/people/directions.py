"""The directions along which people depart from the consensus most."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from urlr.arrays import Codes, Floats, Ints

_DENSE = 40
"""People or items up to which the decomposition is done whole."""


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
    start = np.random.default_rng(0).normal(size=least)
    people, size, items = sparse.linalg.svds(table, k=k, v0=start, tol=1e-4)
    order = np.argsort(-size)
    return people[:, order], np.asarray(size[order], np.float64), items[order]


def folds_of_votes(winner: Codes, loser: Codes, person: Codes, n_folds: int) -> Ints:
    """(n_votes,) fold of each vote; all votes of a person on a pair are in one."""
    first, second = np.minimum(winner, loser), np.maximum(winner, loser)
    order = np.lexsort((second, first, person))
    new = np.ones(order.size, np.bool_)
    for code in (person, first, second):
        new[1:] &= np.diff(code[order]) == 0
    block = np.cumsum(~new) if order.size else np.zeros(0, np.int64)
    fold = np.empty(order.size, np.int64)
    fold[order] = (block * 2654435761 >> 8) % n_folds
    return fold
