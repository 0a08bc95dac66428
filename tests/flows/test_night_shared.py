"""Features reduced for all attributes: what is kept, what is made anew, and what fails alone."""

import io
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pandas as pd
import pytest
from stored_votes import put, simulated

from flows.night_shared import SharedTables, shared_tables
from tasks.discover import Source
from tasks.results import SharedTable
from tasks.store import Store

pytestmark = pytest.mark.full


def reduced(
    store: Store,
    client: Any,
    tables: dict[str, tuple[Source, ...]],
    before: dict[str, SharedTable] | None = None,
    *,
    day: int = 1,
    refit: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> SharedTables:
    """What a night of November makes of tables of features."""
    return shared_tables(
        tables,
        before or {},
        store=store,
        run=f"2026110{day}T020000Z-0a1b2c",
        components=2,
        refit=refit,
        lent=lambda: nullcontext(client),
        say=say,
    )


def test_a_broken_table_fails_alone(store: Store, dask_client: Any):
    table = simulated().features.reset_index()
    tables = {
        "features/broken": (put(store, "features/broken/t.parquet", b"PAR1"),),
        "features/whole": (put(store, "features/whole/t.csv", table),),
    }
    found = reduced(store, dask_client, tables)
    assert set(found.tables) == {"features/whole"}
    assert store.read(found.tables["features/whole"].reduced[0].key)
    assert set(found.failures) == {"features/broken"}
    assert store.address("features/broken/t.parquet") in found.failures["features/broken"]


def test_a_table_is_fitted_anew_only_when_it_is_asked_for(store: Store, dask_client: Any):
    """Or when its columns are others."""
    folder, table = "features/all", simulated().features.reset_index()
    tables = {folder: (put(store, f"{folder}/t.csv", table),)}
    said: list[str] = []

    def night(day: int, before: dict[str, SharedTable], *, refit: bool) -> SharedTable:
        found = reduced(store, dask_client, tables, before, day=day, refit=refit, say=said.append)
        assert found.failures == {}
        return found.tables[folder]

    first = night(1, {}, refit=False)
    assert night(2, {folder: first}, refit=False) == first
    assert len(said) == 1
    anew = night(3, {folder: first}, refit=True)
    assert len(said) == 2
    assert anew.transform.startswith("runs/20261103T020000Z-0a1b2c/shared/")
    assert first.transform.startswith("runs/20261101T020000Z-0a1b2c/shared/")
    renamed = table.rename(columns={table.columns[1]: "renamed"})
    tables[folder] = (put(store, f"{folder}/t.csv", renamed),)
    others = night(4, {folder: anew}, refit=False)
    assert len(said) == 3
    assert others.transform.startswith("runs/20261104T020000Z-0a1b2c/shared/")


def test_a_reduced_table_has_numbers_alone_and_so_no_pictures(store: Store, dask_client: Any):
    table = simulated().features.reset_index().assign(url="https://pictures.example/a.png")
    tables = {"features/all": (put(store, "features/all/t.csv", table),)}
    found = reduced(store, dask_client, tables)
    [part] = found.tables["features/all"].reduced
    rows = pd.read_parquet(io.BytesIO(store.read(part.key)))
    assert len(rows) == len(table)
    assert rows.drop(columns="item").dtypes.map(pd.api.types.is_float_dtype).all()
