"""The runs in a store: their names, the record of the last one, and what unfinished ones left.

    runs/<run>/started.json                       written first: who began it
    runs/<run>/run.json                           written last: the run is finished
    runs/<run>/attributes/<name>/result.json      written last: this result is whole

A run is named for the moment it began, so that names sort by time. The record of a finished run
holds what is known of every attribute; so the newest record, and the results of runs after it that
ended without one, are all that a new run needs.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime

from tasks.messages import message
from tasks.results import NIGHTS, RESULT, RESULTS, RUN, Entry, Night, Record, ResultError
from tasks.store import NotThere, Store
from urlr.errors import UrlrError
from urlr.sentence import Sentence

RUNS = "runs"
NAME = r"\d{8}T\d{6}Z-[0-9a-f]{6}"
"""Pattern of a run's name."""


def new_run(now: datetime) -> str:
    """Name of a run that begins now."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def place_of(run: str, name: str) -> str:
    """Where a run writes the results of an attribute, given its encoded name."""
    return f"{RUNS}/{run}/attributes/{name}"


@dataclass(frozen=True, slots=True)
class Started:
    """Who began a run."""

    run: str
    host: str
    pid: int
    when: datetime
    flow_run: str | None
    """Prefect's id of it."""


STARTED, _STARTS = "started.json", Record(Started)


def note_start(store: Store, started: Started) -> None:
    """Write down that a run began."""
    store.create(f"{RUNS}/{started.run}/{STARTED}", _STARTS.to_bytes(started))


def forget_start(store: Store, run: str) -> None:
    """Take that back: the run was refused before it did anything."""
    store.remove(f"{RUNS}/{run}/{STARTED}")


def read_start(store: Store, run: str) -> Started | None:
    """Who began a run; None if it did not say."""
    key = f"{RUNS}/{run}/{STARTED}"
    try:
        return _STARTS.from_bytes(store.read(key), store.address(key))
    except (NotThere, ResultError):
        return None


@dataclass(frozen=True, slots=True)
class Past:
    """What earlier runs left."""

    last: Night | None
    """The night before: the last finished run that tells how things stood."""
    known: dict[str, str]
    """Places of results, by key."""
    unfinished: tuple[str, ...]
    """Runs after that one that have no record."""
    newest: Night | None = None
    """The last finished run that was no dry run, of whatever night."""
    damaged: tuple[Sentence, ...] = ()
    """What is wrong with the records of runs after that one that cannot be read."""

    def known_by_name(self) -> dict[str, dict[str, str]]:
        """`known`, by the encoded name of the attribute it is about."""
        found: dict[str, dict[str, str]] = {}
        for key, place in self.known.items():
            name = place.rpartition("/attributes/")[2].partition("/")[0]
            found.setdefault(name, {})[key] = place
        return found

    @property
    def entries(self) -> dict[str, Entry]:
        """What is known of every attribute."""
        return {} if self.last is None else self.last.entries


def past_of(store: Store, *, day: date | None = None) -> Past:
    """Look up what earlier runs left; `day` is given for a night of the past, `--as-of`.

    The night before a night of the past is one of that day or earlier; that before any other is
    never a night of the past, which left votes out. All other runs count for their results only.
    """
    known: dict[str, str] = {}
    unfinished: list[str] = []
    newest = None
    damaged: list[Sentence] = []
    for run in names_of(store):
        try:
            night = read_night(store, run)
        except ResultError as error:  # its results are there all the same
            damaged.append(error.sentence)
            known = _results_of(store, run) | known
            continue
        if night is None:
            unfinished.append(run)
            known = _results_of(store, run) | known
            continue
        known = _results_in(night) | known
        if night.dry:
            continue
        newest = night if newest is None else newest
        if night.as_of is None if day is None else night.night <= day:
            return Past(night, known, tuple(unfinished), newest, tuple(damaged))
    return Past(None, known, tuple(unfinished), newest, tuple(damaged))


def _results_in(night: Night) -> dict[str, str]:
    """Places of results that the record of a run tells of, by key."""
    found: dict[str, str] = {}
    for entry in night.entries.values():
        found |= entry.waiting
        if entry.key is not None and entry.place is not None:
            found[entry.key] = entry.place
    return found


def names_of(store: Store) -> list[str]:
    """All runs, newest first."""
    return sorted((name for name in store.folders(RUNS) if re.fullmatch(NAME, name)), reverse=True)


def read_night(store: Store, run: str) -> Night | None:
    """The record of a run; None if it has not finished."""
    key = f"{RUNS}/{run}/{RUN}"
    try:
        return NIGHTS.from_bytes(store.read(key), store.address(key))
    except NotThere:
        return None


def chosen_night(store: Store, name: str) -> Night:
    """The record of the run that is named so, or begins so.

    Raises
    ------
    UrlrError
        No run is named so, several are, or it has not finished.
    """
    runs = names_of(store)
    named = [run for run in runs if run.startswith(name)]
    if not runs:
        raise UrlrError(message("no_runs", name=name, store=store.url))
    if not named:
        raise UrlrError(message("no_such_run", name=name, store=store.url, runs=runs))
    if len(named) > 1:
        raise UrlrError(
            message("several_runs", count=len(named), name=name, store=store.url, runs=named)
        )
    night = read_night(store, named[0])
    if night is None:
        raise UrlrError(message("run_not_finished", run=named[0]))
    return night


def _results_of(store: Store, run: str) -> dict[str, str]:
    found = {}
    for one in store.list(f"{RUNS}/{run}/attributes"):
        place, _, name = one.key.rpartition("/")
        if name != RESULT:
            continue
        try:
            result = RESULTS.from_bytes(store.read(one.key), store.address(one.key))
        except ResultError:
            continue  # of another version of urlr: computed again
        found[result.key] = place
    return found
