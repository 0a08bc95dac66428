"""Old runs: which of them nothing needs any more, and taking those away.

A run stays while it is one of the last nights, while the record of a run that stays names anything
in it (results, pages, a shared transform), while a version that serves was made from it, and if it
is the night before or the last good one. Everything else of it is history: its report goes with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from tasks.freshness import is_whole
from tasks.registry import Registry
from tasks.results import RUN
from tasks.runs import NAME, RUNS, Past, names_of, past_of, read_night
from tasks.store import Found, NotThere, Store
from urlr.errors import UrlrError
from urlr.ids import plural, shown, shown_some


class TidyError(UrlrError):
    """What is needed cannot be told; the text says why and what to do."""


_NAMED = re.compile(rf"{RUNS}/({NAME})/")


@dataclass(frozen=True, slots=True)
class OldRuns:
    """What may go, and what stays."""

    unneeded: tuple[str, ...]
    """Oldest first."""
    recent: tuple[str, ...]
    """Of the last nights."""
    needed: tuple[str, ...]
    """Older, and still needed."""


def old_runs(store: Store, registry: Registry, *, nights: int, now: datetime) -> OldRuns:
    """Look which runs are needed: those of the last nights, and whatever rests on others.

    Raises
    ------
    TidyError
        The registry is not the one that the nights of this store publish to.
    """
    runs, past, champions = names_of(store), past_of(store), registry.champions()
    _check_is_its_registry(past, champions, registry)
    since = f"{now - timedelta(days=nights):%Y%m%dT%H%M%SZ}"
    recent = {run for place, run in enumerate(runs) if place < nights or run >= since}
    kept = recent | _last_ones(store, runs, past)
    needed = kept | {run for name in kept for run in _named_by(store, name)}
    for version in champions.values():
        needed |= set(_NAMED.findall(f"{version.place}/"))
    return OldRuns(
        tuple(run for run in reversed(runs) if run not in needed),
        tuple(run for run in runs if run in recent),
        tuple(run for run in runs if run in needed - recent),
    )


def objects_in(store: Store, runs: Iterable[str]) -> Iterator[tuple[str, list[Found]]]:
    """Runs with the objects they left; some stores show a folder when all of it is gone."""
    for run in runs:
        objects = store.list(f"{RUNS}/{run}")
        if objects:
            yield run, objects


def remove_run(store: Store, run: str, *, check: Callable[[], None]) -> None:
    """Remove all that a run left; `check` raises if that may no longer be done."""
    check()
    store.clear(f"{RUNS}/{run}")


def _check_is_its_registry(past: Past, champions: Collection[str], registry: Registry) -> None:
    """Raise if the last night saw champions that this registry does not know."""
    lost = [
        one.attribute
        for one in past.entries.values()
        if one.live and one.attribute not in champions
    ]
    if lost:
        raise TidyError(
            f"the registry {shown(registry.uri, 200)} has no champion of "
            f"{plural(len(lost), 'attribute')} ({shown_some(lost)}) that had one when the last "
            "night ended; name the registry of this store (MLFLOW_TRACKING_URI or URLR_REGISTRY)."
        )


def _last_ones(store: Store, runs: list[str], past: Past) -> set[str]:
    """The night before, which the next one begins from, and the last good one."""
    found = {night.run for night in (past.last, past.newest) if night is not None}
    for run in runs:
        night = read_night(store, run)
        if night is not None and is_whole(night) and night.state != "Failed":
            return found | {run}
    return found


def _named_by(store: Store, run: str) -> Iterator[str]:
    """Runs that the record of a run names."""
    try:
        record = store.read(f"{RUNS}/{run}/{RUN}").decode()
    except NotThere:
        return
    yield from _NAMED.findall(record)
