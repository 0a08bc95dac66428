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
    n_items = int(second.max(initial=0)) + 1
    said = (person.astype(np.int64) * n_items + first) * n_items + second
    order = np.argsort(said, kind="stable")
    block = np.cumsum(np.diff(said[order], prepend=said[order[:1]]) != 0)
    fold = np.empty(order.size, np.int64)
    fold[order] = (block * 2654435761 >> 8) % n_folds
    return fold
