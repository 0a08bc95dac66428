"""What the top rests on: the fewest votes, and people, without which it would be another.

How much the lead of one item over another would change without a vote is known to first order from
the fit (an influence function); votes, or people, are left out in that order until a refit says
that the top has changed (compare Broderick, Giordano & Meager 2020).
"""

from __future__ import annotations

import numpy as np

from urlr.arrays import Codes, Floats, Ints
from urlr.model.logistic import LogisticFit, influence
from urlr.model.refit import refit
from urlr.model.robust import RobustFit

_RIVALS = 3
"""Items on either side of the border of the top that are looked at."""
_MORE = (1.0, 1.3, 1.8, 3.0, 6.0)
"""Times the number by influence that a refit is asked about: the first that changes the top counts,
and is an upper bound."""
_TOLERANCE = 1e-3


def rests_on(
    model: RobustFit, features: Floats, compared: Ints, scores: Floats, person: Codes, size: int
) -> tuple[int | None, int | None]:
    """Fewest votes and fewest people found whose removal changes the first `size` items.

    Parameters
    ----------
    features
        (n_items, n_features) of all ranked items.
    compared
        (n_compared,) their places among these.
    scores
        (n_items,)
    person
        (n_rows,) who cast each vote, -1 for nobody, who counts as one more person for each vote.

    Returns
    -------
    None where no number tried changes them, or where there are not more items than that.
    """
    order = np.argsort(-scores, kind="stable")
    if order.size <= size:
        return None, None
    weight = model.weight * ~model.pruned
    counted = np.flatnonzero(weight > 0)
    nameless = np.flatnonzero(person < 0)
    who = person.astype(np.int64)
    who[nameless] = int(person.max(initial=-1)) + 1 + np.arange(nameless.size)
    top = set(order[:size].tolist())
    fitted = LogisticFit(model.fit.coefficients, model.fit.effects, model.fit.lean, 0.0)
    place = np.full(scores.size, -1)
    place[compared] = np.arange(compared.size)
    inside, outside = order[max(size - _RIVALS, 0) : size][::-1], order[size : size + _RIVALS]
    near = np.concatenate([inside, outside])
    ahead = np.zeros((near.size, weight.size))  # what votes add to the lead of the first over each
    ahead[1:] = influence(model.rows, weight, model.penalties, fitted, features[near], place[near])
    gains, leads = [], []
    for one, first in enumerate(inside):
        for other, second in enumerate(outside, inside.size):
            gains.append(ahead[other] - ahead[one])
            leads.append(float(scores[first] - scores[second]))

    def changed(without: Ints) -> bool:
        """Whether a refit without these votes has another top."""
        kept = weight.copy()
        kept[without] = 0.0
        if not kept.any():
            return True
        found = refit(
            model.rows,
            kept,
            model.penalties,
            limit=model.search.limit,
            start=model.fit,
            tolerance=_TOLERANCE,
        )
        moved = features @ found.coefficients
        moved[compared] += found.effects
        return set(np.argsort(-moved, kind="stable")[:size].tolist()) != top

    def fewest(code: Ints) -> int | None:
        """Fewest votes, or people, by the code of what is left out together."""
        best: int | None = None
        plans = []
        for gain, lead in zip(gains, leads, strict=True):
            total = np.bincount(code[counted], gain[counted])
            least_last = np.sort(total[total > 0])[::-1]
            plans.append((int(np.searchsorted(np.cumsum(least_last), lead)) + 1, total))
        for needed, total in sorted(plans, key=lambda one: one[0])[:2]:
            sequence = np.argsort(-total, kind="stable")[: np.count_nonzero(total > 0)]
            for times in _MORE:
                n = int(np.ceil(needed * times))
                if n > sequence.size or (best is not None and n >= best):
                    break
                out = counted[np.isin(code[counted], sequence[:n])]
                if changed(out):
                    best = n
                    break
        return best

    return fewest(np.arange(weight.size)), fewest(who)
