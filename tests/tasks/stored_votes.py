"""Shared by the tests of a night's work: simulated votes in a store, and orders for them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tasks.discover import Source, discover
from tasks.gate import GateSettings
from tasks.results import Order
from tasks.runs import place_of
from tasks.store import Store
from tasks.write import table_bytes
from urlr.settings import FitSettings
from urlr.simulate import Crowd, crowd

QUICK = FitSettings(replicates=0, curved=False)
RUN = "20261101T020000Z-0a1b2c"


def simulated(n_votes: int = 500, n_items: int = 30, seed: int = 0, **other: Any) -> Crowd:
    """A small crowd with annotators and three features."""
    rng = np.random.default_rng(seed)
    return crowd(rng=rng, n_items=n_items, n_features=3, n_votes=n_votes, n_annotators=12, **other)


def put(store: Store, key: str, content: pd.DataFrame | str | bytes) -> Source:
    """Write an object over what was there, and give it as it is listed."""
    if isinstance(content, pd.DataFrame):
        content = table_bytes(content, key)
    store.replace(key, content.encode() if isinstance(content, str) else content)
    return source(store, key)


def source(store: Store, key: str) -> Source:
    """An object as it is listed."""
    (found,) = (one for one in store.list(key.rpartition("/")[0]) if one.key == key)
    return Source.of(found)


def stored(store: Store, made: Crowd | None = None) -> Crowd:
    """Put a crowd's votes on `smiling` and its features into a store."""
    made = simulated() if made is None else made
    put(store, "votes/smiling/1.csv", made.votes)
    put(store, "features/all.csv", made.features.reset_index())
    return made


def small(store: Store) -> Crowd:
    """Few votes on few items, for what does not depend on how many there are."""
    return stored(store, simulated(n_votes=120, n_items=8))


def order_of(
    store: Store, *, attribute: str = "smiling", run: str = RUN, fit: FitSettings = QUICK, **other
) -> Order:
    """What a night would ask a worker to do, as things lie now."""
    (inputs,) = (one for one in discover(store).attributes if one.attribute == attribute)
    order = Order(
        store=store,
        run=run,
        place=place_of(run, attribute),
        inputs=inputs,
        fit=fit,
        gate=GateSettings(),
        item_share=0.1,
        pair_share=0.1,
        most_rejected=0.5,
        method_version=1,
    )
    return replace(order, **other)


def written(store: Store, place: str) -> dict[str, bytes]:
    """All objects of a place, by name."""
    return {one.key.removeprefix(f"{place}/"): store.read(one.key) for one in store.list(place)}
