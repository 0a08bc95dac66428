"""The ranking: coefficients that no single item can bend, then what each item has of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from urlr.arrays import Floats
from urlr.model.logistic import Comparisons, LogisticFit, Penalties, logistic_fit

_WIDER = 2.4
"""Times the variance of the effects that items are allowed while coefficients are sought."""


@dataclass(frozen=True, slots=True)
class Refit:
    """Scores of items: coefficients times features, and effects."""

    coefficients: Floats
    """(n_features,)"""
    effects: Floats
    """(n_items,) zeros where items have none."""
    lean: float
    violation: float
    """Largest pull left on an item or coefficient, relative to what it could be."""
    first: LogisticFit
    """The fit that the coefficients come from."""
    second: LogisticFit | None
    """The fit that the effects come from, where it is another."""

    def scores(self, features: Floats) -> Floats:
        """Phi beta + u of the compared items."""
        return features @ self.coefficients + self.effects


def refit(
    rows: Comparisons,
    weight: Floats,
    penalties: Penalties,
    *,
    limit: float,
    start: Refit | LogisticFit | None = None,
    tolerance: float = 1e-6,
) -> Refit:
    """Fit the coefficients while items may differ widely, then the effects at their own variance.

    An item with a wide effect explains its votes itself, however many they are: a tenth of the
    items that a campaign pushes by a fifth of the votes has the say of a tenth of the items, not
    of all those votes. The effects are then shrunk, because the scores of the pushed items
    themselves should not follow either. In between, coefficients are brought to the scale on which
    what is predicted of items left out agrees with how often careful votes are that way.
    """
    before = start if isinstance(start, Refit) else None
    begin = before.first if before is not None else start
    assert not isinstance(begin, Refit)
    if not penalties.has_items or rows.features.shape[1] == 0:
        only = logistic_fit(rows, weight, penalties, limit=limit, start=begin, tolerance=tolerance)
        return Refit(
            only.coefficients * penalties.stretch,
            only.effects,
            only.lean,
            only.violation,
            only,
            None,
        )
    wide = replace(penalties, items=penalties.items / _WIDER)
    first = logistic_fit(rows, weight, wide, limit=limit, start=begin, tolerance=tolerance)
    coefficients = first.coefficients * penalties.stretch
    second = logistic_fit(
        replace(rows, features=np.zeros((rows.n_items, 0))),
        weight,
        penalties,
        limit=limit,
        base=rows.features @ coefficients,
        start=None if before is None else before.second,
        tolerance=tolerance,
    )
    return Refit(
        coefficients,
        second.effects,
        second.lean,
        max(first.violation, second.violation),
        first,
        second,
    )
