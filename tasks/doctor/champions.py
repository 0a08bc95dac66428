"""The registry: whether it answers, its champions load, and what it keeps can be written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.doctor.examining import Known
from tasks.doctor.finding import Finding, of_error, ok, problem, warning
from tasks.doctor.storage import PATIENCE, folder_of, nothing_left, probed

if TYPE_CHECKING:
    from tasks.registry import Registry, Standing
    from urlr.sentence import Sentence

MOST = 20
"""Champions that are loaded: those that were moved last, since what breaks is mostly new."""
_TOLD = 3
_DATABASE = "sqlite:///"
_LOCKED = 5.0
"""Seconds that another writer of the database is waited for."""


def registry(known: Known) -> Iterator[Finding]:
    """Whether the registry answers, its champions load, and its records can be read."""
    from tasks.messages import message
    from tasks.registry import Registry

    settings = known.settings_with("registry", "artifacts")
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    where = registry.uri.removeprefix(_DATABASE)
    database = database_of(registry)
    if database is not None and not database.exists():
        said = message("no_registry_yet", path=where)
        yield from _writable(database, registry.artifacts, said)
        return
    yield from _loaded(registry, registry.standing(), where)
    yield from _records(registry)
    if database is not None:
        said = message("registry_writable", path=where)
        yield from _writable(database, registry.artifacts, said)


def _loaded(registry: Registry, standing: dict[str, Standing], where: str) -> Iterator[Finding]:
    """Whether the champions that moved last can be loaded."""
    from tasks.messages import message
    from tasks.registry import RegistryError

    newest = sorted(standing, key=lambda name: (_since(standing[name]), name), reverse=True)
    broken = 0
    for name in newest[:MOST]:
        try:
            version = registry.champion(name)
            if version is not None:  # else it was removed this very moment
                registry.fetch(version)
        except RegistryError as error:
            broken += 1
            if broken <= _TOLD:
                said = error.sentence.at(message("champion_of", attribute=name))
                yield of_error(said, do=message("put_files_back"))
    if broken > _TOLD:
        more = message("more_champions_broken", count=broken - _TOLD)
        yield problem(more, message("put_files_back"))
    if broken:
        return
    count = len(standing)
    if count > MOST:
        yield ok(message("newest_champions_load", registry=where, count=count, loaded=MOST))
    elif standing:
        yield ok(message("champions_load", registry=where, count=count))
    else:
        yield ok(message("no_champion_yet", registry=where))


def _since(standing: Standing) -> datetime:
    return standing.since or datetime.min.replace(tzinfo=UTC)


def _records(registry: Registry) -> Iterator[Finding]:
    from tasks.messages import message

    unreadable = registry.unreadable_records()
    for name, records in list(unreadable.items())[:_TOLD]:
        count = len(records)
        yield warning(
            message("unreadable_records", attribute=name, count=count, records=records),
            message("put_tag_back"),
        )
    if len(unreadable) > _TOLD:
        more = message("more_unreadable_records", count=len(unreadable) - _TOLD)
        yield warning(more, message("see_tags"))


def _writable(database: Path, artifacts: str | None, said: Sentence) -> Iterator[Finding]:
    """Whether a registry of this machine can be written: its database, and where files go."""
    from tasks.messages import message
    from tasks.store import Store

    places = [str(database.parent), *([artifacts] if artifacts else [])]
    with nothing_left(*(path for path in map(folder_of, places) if path is not None)):
        for place in places:
            _, left = probed(Store.at(place, deadline=PATIENCE), "")
            yield from left
        why = _refused(database) if database.exists() else None
    if why is None:
        yield ok(said)
    else:
        found = message("database_not_writable", path=database, why=why)
        yield problem(found, message("check_database"))


def _refused(database: Path) -> str | None:
    """Why a database cannot be written, None if it can; nothing is written."""
    try:
        with closing(sqlite3.connect(database, timeout=_LOCKED, isolation_level=None)) as open_one:
            open_one.execute("BEGIN IMMEDIATE")
            open_one.execute("ROLLBACK")
    except sqlite3.Error as error:
        return str(error)
    return None


def database_of(registry: Registry) -> Path | None:
    """The file of the registry's database, None for a server."""
    if not registry.uri.startswith(_DATABASE):
        return None
    return Path(registry.uri.removeprefix(_DATABASE))
