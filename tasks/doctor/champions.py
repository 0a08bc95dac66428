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

MOST = 20
"""Champions that are loaded: those that were moved last, since what breaks is mostly new."""
_TOLD = 3
_BACK = "put its files back, or make another version champion: urlr rollback ATTRIBUTE --to VERSION"
_DATABASE = "sqlite:///"
_LOCKED = 5.0
"""Seconds that another writer of the database is waited for."""


def registry(known: Known) -> Iterator[Finding]:
    """Whether the registry answers, its champions load, and its records can be read."""
    from tasks.registry import Registry
    from urlr.ids import shown

    settings = known.settings_with("registry", "artifacts")
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    where = shown(registry.uri.removeprefix(_DATABASE), 200)
    database = database_of(registry)
    if database is not None and not database.exists():
        said = f"there is none yet; the first night makes {where}"
        yield from _writable(database, registry.artifacts, said)
        return
    yield from _loaded(registry, registry.standing(), where)
    yield from _records(registry)
    if database is not None:
        yield from _writable(database, registry.artifacts, f"{where} can be written")


def _loaded(registry: Registry, standing: dict[str, Standing], where: str) -> Iterator[Finding]:
    """Whether the champions that moved last can be loaded."""
    from tasks.registry import RegistryError
    from urlr.ids import plural, shown

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
                yield of_error(f"champion of {shown(name, 100)}: {error}", do=_BACK)
    if broken > _TOLD:
        yield problem(f"{broken - _TOLD} more champions cannot be loaded", _BACK)
    champions = plural(len(standing), "champion")
    if len(standing) > MOST:
        whole = f"{champions}, of which the {MOST} that moved last were loaded"
    else:
        whole = f"{champions}, which all load" if standing else "there is no champion yet"
    if not broken:
        yield ok(f"{where} answers; {whole}")


def _since(standing: Standing) -> datetime:
    return standing.since or datetime.min.replace(tzinfo=UTC)


def _records(registry: Registry) -> Iterator[Finding]:
    from urlr.ids import plural, shown, shown_some

    unreadable = registry.unreadable_records()
    for name, records in list(unreadable.items())[:_TOLD]:
        yield warning(
            f"{shown(name)}: {plural(len(records), 'record')} of who was champion when cannot be "
            f"read ({shown_some(records)}), so that its history lacks them",
            "put the tag back as it was, in MLflow",
        )
    if len(unreadable) > _TOLD:
        yield warning(f"so it is with {len(unreadable) - _TOLD} more", "see their tags in MLflow")


def _writable(database: Path, artifacts: str | None, said: str) -> Iterator[Finding]:
    """Whether a registry of this machine can be written: its database, and where files go."""
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
        do = "check its permissions, and that no other program holds it"
        yield problem(f"{database} cannot be written ({why})", do)


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
