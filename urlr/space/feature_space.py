"""The feature space of a default fit: where the ridge of the ranking function is a prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from urlr.arrays import Floats, Ints
from urlr.ids import positions
from urlr.settings import FitSettings
from urlr.space.maps import FeatureMap, original_space
from urlr.space.prior import PriorSpace
from urlr.space.steps import ArcSinh, Standardise
from urlr.space.table import FeatureTable


@dataclass(frozen=True, slots=True)
class Space:
    """Features of the compared items, and the map that makes them."""

    feature_map: FeatureMap | None
    """From raw features; None to rank the compared items by their votes alone."""
    values: Floats
    """(n_items, n_columns) raw features of the compared items."""
    features: Floats
    """(n_items, n_features) the same in the space; no columns without a map."""

    @property
    def prior(self) -> PriorSpace | None:
        """The last step of the map, if its share of kernel features can be changed."""
        last = None if self.feature_map is None else self.feature_map.steps[-1]
        return last if isinstance(last, PriorSpace) and len(last.landmarks) > 0 else None

    @property
    def curved(self) -> bool | None:
        """Whether kernel features stand beside the linear ones; None without features."""
        return None if self.feature_map is None else self.prior is not None

    def with_prior(self, prior: PriorSpace, features: Floats) -> Space:
        """Return the space with another last step, and what that makes of the compared items."""
        assert self.feature_map is not None
        steps = (*self.feature_map.steps[:-1], prior)
        return Space(replace(self.feature_map, steps=steps), self.values, features)

    def of_items(self, table: FeatureTable | None, compared: Ints) -> Floats:
        """(n_ranked, n_features) of all items of a table, or without one of the compared ones.

        `compared` are the places of the compared items among these.
        """
        if table is None or self.feature_map is None or len(table.items) == len(self.features):
            every = np.empty_like(self.features)
            every[compared] = self.features
            return every
        return mapped(self.feature_map, self.feature_map.select(table))


def feature_space(
    items: pd.Index[Any],
    table: FeatureTable | None,
    settings: FitSettings,
    *,
    rng: np.random.Generator,
) -> Space:
    """Fit the space to the compared items."""
    if table is None:
        nothing = np.zeros((len(items), 0))
        return Space(None, nothing, nothing)
    values = table.values[positions(table.items, items)]
    original = original_space(values, table.columns, chi_square=settings.chi_square)
    standard = original.map(values)
    pulled = ArcSinh(standard.shape[1])
    standard = pulled.apply(standard)
    again = Standardise.fit(standard)
    standard = again.apply(standard)
    prior = PriorSpace.fit(standard, bent=settings.curved, rng=rng)
    feature_map = FeatureMap(original.columns, (*original.steps, pulled, again, prior))
    return Space(feature_map, values, np.ascontiguousarray(prior.apply(standard)))


def mapped(feature_map: FeatureMap | None, values: Floats) -> Floats:
    """(n_items, n_features) features in the space; no columns without a map."""
    if feature_map is None:
        return np.zeros((len(values), 0))
    return np.ascontiguousarray(feature_map.map(values))
