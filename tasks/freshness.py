"""What counts as a night, and what earlier records say that a later run must not erase.

Freshness is easily feigned: a dry run, a run of one attribute or a night of the past also end well
and today. So only a run that tells how things stand now, of all attributes, counts as a night.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from tasks.results import Entry, Night, ResultError
from tasks.runs import names_of, read_night
from tasks.store import Store

_MOST_RECORDS = 100
"""Records looked through for the last good night; one of 1,000 attributes (2.4 MB) took 0.18 s."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the records of earlier runs say that a failed, partial or dry run must not erase."""

    success: datetime | None = None
    """End of the last night of all attributes that did not fail."""
    completion: datetime | None = None
    """End of the last night of all attributes."""
    run: str | None = None
    """The run of that."""
    newest: datetime | None = None
    """Time of the newest vote."""


def earlier_nights(store: Store, *, before: str) -> Earlier:
    """What the records of the runs before this one say; records that cannot be read are passed."""

    def nights() -> Iterable[Night]:
        for run in [name for name in names_of(store) if name < before][:_MOST_RECORDS]:
            try:
                night = read_night(store, run)
            except ResultError:  # of another version of urlr
                continue
            if night is not None:
                yield night

    return earlier_of(nights())


def earlier_of(nights: Iterable[Night]) -> Earlier:
    """The same of records, newest first; none is looked at beyond the last good night."""
    completion: Night | None = None
    newest: datetime | None = None
    for night in nights:
        newest = latest([newest, newest_vote(night.entries.values(), night)])
        if not is_whole(night):
            continue
        completion = night if completion is None else completion
        if night.state != "Failed":
            return Earlier(night.finished, completion.finished, completion.run, newest)
    if completion is None:
        return Earlier(newest=newest)
    return Earlier(None, completion.finished, completion.run, newest)


def is_current(night: Night) -> bool:
    """Whether a run tells how things stand now: no dry run, no night of the past.

    Only such runs may replace the figures that dashboards show.
    """
    return not night.dry and night.as_of is None


def is_whole(night: Night) -> bool:
    """Whether a run counts as a night: it tells how things stand, of all attributes."""
    return is_current(night) and not night.only


def is_published(night: Night) -> bool:
    """Whether a night is done, its own or one of the past: of all attributes, and not failed."""
    return not night.dry and not night.only and night.state != "Failed"


def newest_night(store: Store, *, before: str | None = None) -> date | None:
    """The newest night done, by all runs or those before one; None: there is none.

    Runs are read backwards up to the first that worked on its own day: none before it is newer.
    """
    newest = None
    for run in names_of(store):
        if before is not None and run >= before:
            continue
        night = read_night(store, run)
        if night is None or not is_published(night):
            continue
        newest = night.night if newest is None else max(newest, night.night)
        if night.as_of is None:
            break
    return newest


def newest_vote(entries: Iterable[Entry], night: Night) -> datetime | None:
    """Time of the newest vote; one from the future counts as cast when the night ended."""
    newest = latest(entry.newest for entry in entries)
    return None if newest is None else min(newest, night.finished)


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """The latest of those known."""
    return max((moment for moment in moments if moment is not None), default=None)
