"""Old runs: which of them nothing needs any more, and taking those away.

A run stays while it is one of the last nights, while the record of a run that stays names anything
in it (results, pages, a shared transform), and if it is the night before, the newest whole one or
the last good one. It also stays while a version was made from it, or by a transform of it, that a
night may hold its own against: a champion, one of the last nights, or the one that a rollback leads
to. Everything else of it is history: its report goes with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from tasks.freshness import is_whole
from tasks.messages import message
from tasks.registry import Registry, Version
from tasks.results import RESULT, RESULTS, RUN, Entry, ResultError
from tasks.runs import NAME, RUNS, Past, names_of, past_of, read_night
from tasks.store import Found, NotThere, Store
from tasks.together import together
from urlr.errors import UrlrError


class TidyError(UrlrError):
    """What is needed cannot be told; the text says why and what to do."""


_NAMED = re.compile(rf"{RUNS}/({NAME})/")


@dataclass(frozen=True, slots=True)
class OldRuns:
    """What may go, and what stays."""

    unneeded: tuple[str, ...]
    """Oldest first."""
    recent: tuple[str, ...]
    """Of the last nights, or begun after the night before, which may yet be taken up."""
    needed: tuple[str, ...]
    """Older, and still needed."""


def old_runs(store: Store, registry: Registry, *, nights: int, now: datetime) -> OldRuns:
    """Look which runs are needed: those of the last nights, and whatever rests on others.

    Raises
    ------
    TidyError
        The registry is not the one that the nights of this store publish to.
    """
    runs, past = names_of(store), past_of(store)
    if past.last is None:  # nothing tells what a run left is good for
        return OldRuns((), tuple(runs), ())
    versions = registry.in_reach(nights=nights, today=now.date())
    _check_is_its_registry(past, registry, versions)
    since = min(f"{now - timedelta(days=nights):%Y%m%dT%H%M%SZ}", past.last.run)
    recent = {run for place, run in enumerate(runs) if place < nights or run >= since}
    kept = recent | _last_ones(store, runs, past)
    needed = kept | {run for name in kept for run in _named_by(store, name)}
    places = [version.place for found in versions.values() for version in found]
    needed |= set(_NAMED.findall(" ".join(f"{place}/" for place in places)))
    if any(store.list(f"{RUNS}/{run}/shared") for run in runs if run not in needed):
        transforms = together(lambda place: _transform_of(store, place), places)
        needed |= set(_NAMED.findall(" ".join(transforms)))
    return OldRuns(
        tuple(run for run in reversed(runs) if run not in needed),
        tuple(run for run in runs if run in recent),
        tuple(run for run in runs if run in needed - recent),
    )


def left_by(store: Store, run: str) -> list[Found]:
    """All objects of a run; none where a store shows a folder though all of it is gone."""
    return store.list(f"{RUNS}/{run}")


def remove_run(store: Store, run: str, *, check: Callable[[], None]) -> None:
    """Remove all that a run left; `check` raises if that may no longer be done."""
    check()
    store.clear(f"{RUNS}/{run}")


def _check_is_its_registry(
    past: Past, registry: Registry, versions: dict[str, list[Version]]
) -> None:
    """Raise if this registry lacks champions of the last night, or has other versions for them."""
    lost = [
        one.attribute
        for one in past.entries.values()
        if (one.live and not versions.get(one.attribute)) or _is_another(registry, one)
    ]
    if lost:
        raise TidyError(
            message("another_registry", registry=registry.uri, count=len(lost), attributes=lost)
        )


def _is_another(registry: Registry, entry: Entry) -> bool:
    """Whether the version that was registered for these results is one of others here."""
    if entry.version is None:
        return False
    found = registry.found(entry.attribute, entry.version)
    return found is not None and found.key != entry.key


def _last_ones(store: Store, runs: list[str], past: Past) -> set[str]:
    """The night before, which the next one begins from, the newest whole one, the last good one.

    Runs whose record cannot be read are no nights, and stay if they are newer than that.
    """
    found = {night.run for night in (past.last, past.newest) if night is not None}
    whole = None
    for run in runs:
        try:
            night = read_night(store, run)
        except ResultError:  # to be put back from a backup, or looked at
            found.add(run)
            continue
        if night is None or not is_whole(night):
            continue
        whole = run if whole is None else whole
        if night.state != "Failed":
            return found | {whole, run}
    return found if whole is None else found | {whole}


def _named_by(store: Store, run: str) -> Iterator[str]:
    """Runs that the record of a run names."""
    try:
        record = store.read(f"{RUNS}/{run}/{RUN}").decode(errors="replace")
    except NotThere:
        return
    yield from _NAMED.findall(record)


def _transform_of(store: Store, place: str) -> str:
    """Where the transform lies that the features of a result went through; empty if none."""
    about = f"{place}/{RESULT}"
    try:
        return RESULTS.from_bytes(store.read(about), store.address(about)).shared or ""
    except (NotThere, ResultError):  # then its judge cannot be used either
        return ""
