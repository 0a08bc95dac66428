"""Features that are reduced once for all attributes, and kept from night to night.

The transform is fitted when there is none, when the table has other columns, when another number of
components is set, or on request. New rows are reduced by the transform there is, so that one new
item does not change every attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from flows.messages import message
from tasks.cluster import ClusterError, Stopped, TookTooLong
from tasks.discover import Inputs, Source, etags_of
from tasks.names import encoded
from tasks.results import SharedTable
from tasks.runs import RUNS
from tasks.shared_features import (
    fit_shared,
    needs_refit,
    read_shared,
    reduce_parts,
    shared_version,
    write_shared,
)
from tasks.store import Found, Store, Unreachable
from urlr.errors import UrlrError
from urlr.sentence import Sentence


class SharedFeaturesError(UrlrError):
    """Features could not be reduced; the text says which and why."""


@dataclass(frozen=True, slots=True)
class SharedTables:
    """Tables of features by folder, and why others could not be reduced."""

    tables: dict[str, SharedTable]
    failures: dict[str, Sentence]


def folder_of(inputs: Inputs) -> str:
    """Folder of the table of features of an attribute."""
    return inputs.features[0].key.rpartition("/")[0]


def shared_tables(
    tables: dict[str, tuple[Source, ...]],
    before: dict[str, SharedTable],
    *,
    store: Store,
    run: str,
    components: int,
    refit: bool,
    lent: Callable[[], AbstractContextManager[Any]],
    say: Callable[[str], None],
) -> SharedTables:
    """Reduce the tables of features, by folder; what has not changed is found as it was left.

    `lent` starts the workers and lends Dask's client, and is called only if there is something to
    do. A table that cannot be reduced concerns the attributes that need it, and no others.
    """
    found: dict[str, SharedTable] = {}
    failures: dict[str, Sentence] = {}
    for folder, parts in tables.items():
        known = before.get(folder)
        if known is not None and known.components == components and not refit:
            if known.etags == etags_of(parts):
                copied = any(part.etag != part.first for part in parts)
                found[folder] = _as_copied(store, known) if copied else known
                continue
        else:
            known = None
        say(f"reducing {folder}")
        try:
            with lent() as client:
                found[folder] = _reduced(
                    store, run, folder, parts, known, components=components, client=client
                )
        except (Unreachable, ClusterError, Stopped, TookTooLong):
            raise  # concerns all
        except UrlrError as error:
            failures[folder] = error.sentence
    return SharedTables(found, failures)


def _reduced(
    store: Store,
    run: str,
    folder: str,
    parts: tuple[Source, ...],
    known: SharedTable | None,
    *,
    components: int,
    client: Any,
) -> SharedTable:
    from distributed.scheduler import KilledWorker

    listed = {found.key: found for found in store.list(folder)}
    wanted = [_as_listed(part, listed) for part in parts]
    place = f"{RUNS}/{run}/shared/{encoded(folder)}"
    try:
        shared = None if known is None else read_shared(store, known.transform)
        if shared is None or needs_refit(client, store, wanted, shared) is not None:
            shared = fit_shared(client, store, wanted, components=components)
            transform = f"{place}/{shared_version(shared)}"
            write_shared(store, transform, shared)
        else:
            assert known is not None
            transform = known.transform
        reduced = reduce_parts(client, store, wanted, shared, f"{place}/reduced")
    except KilledWorker:
        raise SharedFeaturesError(
            message("workers_died_reducing", folder=folder, parts=len(parts))
        ) from None
    keys = {one.key for one in reduced}
    written = [Source.of(found) for found in store.list(f"{place}/reduced") if found.key in keys]
    return SharedTable(etags_of(parts), transform, components, tuple(written))


def _as_copied(store: Store, known: SharedTable) -> SharedTable:
    """The table in a copied store, where the reduced parts have new ETags too."""
    folders = {one.key.rpartition("/")[0] for one in known.reduced}
    listed = {found.key: found for folder in folders for found in store.list(folder)}
    parts = [Source.of(listed[one.key]) if one.key in listed else one for one in known.reduced]
    return replace(known, reduced=tuple(parts))


def _as_listed(part: Source, listed: dict[str, Found]) -> Found:
    found = listed.get(part.key)
    if found is None or found.etag != part.etag:
        raise SharedFeaturesError(message("part_changed", key=part.key))
    return found
