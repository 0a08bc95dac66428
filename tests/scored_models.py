"""Small models and feature tables that the tests of scoring share."""

from pathlib import Path

import numpy as np
import pandas as pd
from graphs import METHODS, random_votes

import urlr
from tasks.objects import Directory
from tasks.score import Champion
from tasks.store import Store
from urlr.space.maps import component_names, original_space, reduced_space

COLUMNS = [f"f{k}" for k in range(4)]
N_COMPARED = 20


def features(n: int = 50, *, text: bool = False) -> pd.DataFrame:
    """Raw features of so many items, the first twenty of which are compared; some gaps."""
    values = np.random.default_rng(5).normal(size=(n, 4))
    values[3::11, 1] = np.nan
    frame = pd.DataFrame(values, columns=COLUMNS)
    frame.insert(0, "item", [f"i{k}" for k in range(n)] if text else np.arange(n))
    return frame


def ranker(seed: int, table: pd.DataFrame | None, *, method: str = "robust") -> urlr.Ranker:
    """A model of votes on the first twenty items."""
    votes, _ = random_votes(seed, n_items=N_COMPARED)
    if table is None:
        return urlr.fit(votes, **METHODS[method])
    return urlr.fit(votes, table.head(N_COMPARED), **METHODS[method])


def behind_transform(table: pd.DataFrame) -> list[urlr.Ranker]:
    """A model by each method, both behind one shared transform."""
    values = table[COLUMNS].to_numpy()
    original = original_space(values, COLUMNS)
    shared = reduced_space(original, values, 3, rng=np.random.default_rng(0))
    reduced = pd.DataFrame(shared.map(values), columns=component_names(3))
    reduced.insert(0, "item", table["item"])
    return [ranker(3, reduced, method=method).behind(shared) for method in METHODS]


def champion(made: urlr.Ranker, place: Path, attribute: str, version: int = 1) -> Champion:
    """Save a model and say where it lies."""
    name = f"{attribute}-{version}.npz"
    made.save(place / name)
    return Champion(attribute, version, Store.at(place), Directory(place).find(name))
