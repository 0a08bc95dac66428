"""Features reduced for all attributes: a table that cannot be concerns those that need it."""

from contextlib import nullcontext
from typing import Any

from stored_votes import put, simulated

from flows.night_shared import shared_tables
from tasks.store import Store


def test_a_broken_table_fails_alone(store: Store, dask_client: Any):
    table = simulated().features.reset_index()
    tables = {
        "features/broken": (put(store, "features/broken/t.parquet", b"PAR1"),),
        "features/whole": (put(store, "features/whole/t.csv", table),),
    }
    found = shared_tables(
        tables,
        {},
        store=store,
        run="20261101T020000Z-0a1b2c",
        components=2,
        refit=False,
        lent=lambda: nullcontext(dask_client),
        say=lambda text: None,
    )
    assert set(found.tables) == {"features/whole"}
    assert store.read(found.tables["features/whole"].reduced[0].key)
    assert set(found.failures) == {"features/broken"}
    assert store.address("features/broken/t.parquet") in found.failures["features/broken"]
