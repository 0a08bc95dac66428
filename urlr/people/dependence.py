"""How much of what one person says of an item is one opinion.

With r_v = y_v - p_v what a vote departs by from what is expected of its person, q_v = p_v (1 - p_v)
and c_vw the number of items that votes v and w of one person share, with the sign of the side,

    S = sum over v < w of r_v r_w c_vw,    V = sum over v < w of q_v q_w c_vw^2

S has mean 0 and variance V for somebody who errs at random, and mean tau^2 V if the person has an
opinion of their own on every item, of variance tau^2 in log-odds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse

from urlr.arrays import Codes, Floats, Ints

_WORTH = 25.0
"""A person's own tau^2 is drawn to the crowd's as if V were so much more."""


def agreement_with_oneself(
    person: Codes, winner: Codes, loser: Codes, chance: Floats, n_people: int, n_items: int
) -> tuple[Floats, Floats]:
    """(n_people,) S and V, given the chance of every vote."""
    rest, spread = 1.0 - chance, chance * (1.0 - chance)
    first, second = np.minimum(winner, loser).astype(np.int64), np.maximum(winner, loser)
    twice, ends = np.concatenate([person, person]), np.concatenate([winner, loser])

    def squares(who: Codes, column: Ints | Codes, width: int, value: Floats) -> Floats:
        """(n_people,) sums of the squared sums by column."""
        table = sparse.coo_array((value, (who, column)), shape=(n_people, width)).tocsr()
        return np.asarray(table.multiply(table).sum(axis=1), np.float64).ravel()

    alone = np.bincount(person, 2.0 * rest**2, n_people)
    together = squares(twice, ends, n_items, np.concatenate([rest, -rest]))
    both = squares(twice, ends, n_items, np.concatenate([spread, spread]))
    both += 2.0 * squares(person, first * n_items + second, n_items**2, spread)
    variance = 0.5 * (both - np.bincount(person, 4.0 * spread**2, n_people))
    return 0.5 * (together - alone), np.maximum(variance, 0.0)


def own_opinion(together: Floats, variance: Floats) -> Floats:
    """(n_people,) tau^2 of everybody, drawn to that of the crowd, in which each counts once."""
    known = variance / (variance + _WORTH)
    each = np.divide(together, variance, out=np.zeros_like(together), where=variance > 0)
    total = float(known.sum())
    usual = max(float(known @ each) / total, 0.0) if total > 0 else 0.0
    return np.maximum((together + _WORTH * usual) / (variance + _WORTH), 0.0)


def shares(
    person: Codes,
    winner: Codes,
    loser: Codes,
    chance: Floats,
    tau: Floats,
    n_items: int,
) -> Floats:
    """(n_votes,) how much of an independent opinion each vote is, given everybody's tau^2.

    What a person says of an item, in information Q, is worth Q / (1 + tau^2 Q).
    """
    who, spread = person.astype(np.int64), chance * (1.0 - chance)
    items = np.concatenate([who * n_items + winner, who * n_items + loser])
    place, codes = pd.factorize(items)
    said = np.bincount(place, np.concatenate([spread, spread]), len(codes))[place]
    both = said[: who.size] + said[who.size :]
    return np.asarray(1.0 / (1.0 + 0.5 * tau[person] * both))
