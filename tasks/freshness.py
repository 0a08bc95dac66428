"""What counts as a night, what is behind, and what earlier records say that no run may erase.

Freshness is easily feigned: a dry run, a run of one attribute or a night of the past also end well
and today. So only a run that tells how things stand now, of all attributes, counts as a night.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time

from tasks.gather import LATER, UNDATED
from tasks.messages import message
from tasks.results import Entry, Night, ResultError
from tasks.runs import names_of, read_night
from tasks.store import Store
from urlr.errors import UrlrError

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


def last_night(store: Store) -> Night:
    """The record of the newest night.

    Raises
    ------
    UrlrError
        There is none.
    """
    for run in names_of(store):
        try:
            night = read_night(store, run)
        except ResultError:  # damaged, or of a newer urlr; nights and status say so
            continue
        if night is not None and is_whole(night):
            return night
    raise UrlrError(message("no_whole_night", store=store.url))


def is_behind(entry: Entry) -> bool:
    """Whether there is more than what serves: it failed, or newer results or votes do not serve."""
    return entry.outcome == "failed" or has_newer_results(entry) or _left_out(entry) > 0


def has_newer_results(entry: Entry) -> bool:
    """Whether its last results do not serve: held, rolled back, of a dry run, or none is live."""
    return entry.verdict == "held" or entry.live is None or entry.version != entry.live


def waiting_votes(entry: Entry) -> int:
    """Votes known that do not serve, at least; what earlier results that were held added is lost.

    Of a night of the past these are also the rows that it left out for their time.
    """
    left_out = _left_out(entry)
    if entry.live is None:
        return left_out + entry.rows.get("used", 0) + entry.rows.get("ties", 0)
    return left_out + (entry.new_votes or 0 if has_newer_results(entry) else 0)


def _left_out(entry: Entry) -> int:
    return entry.reasons.get(LATER, 0) + entry.reasons.get(UNDATED, 0)


def with_behind(
    entries: Mapping[str, Entry], before: Mapping[str, Entry], *, now: datetime
) -> dict[str, Entry]:
    """The entries with the moment since which each is behind: as known before, else now."""
    found = {}
    for name, entry in entries.items():
        known = before[name].behind_since if name in before else None
        since = (known or now) if is_behind(entry) else None
        found[name] = replace(entry, behind_since=since)
    return found


def newest_vote(entries: Iterable[Entry], night: Night) -> datetime | None:
    """Time of the newest vote; one from the future counts as cast by the time it was read.

    That is the night of the model where nothing is behind, and else the end of this night.
    """
    return latest(
        None if entry.newest is None else min(entry.newest, _read_by(entry), night.finished)
        for entry in entries
    )


def _read_by(entry: Entry) -> datetime:
    """End of the last day on which its votes can have been cast, where the record tells."""
    if is_behind(entry) or entry.live_night is None:
        return datetime.max.replace(tzinfo=UTC)
    return datetime.combine(entry.live_night, time.max, UTC)


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """The latest of those known."""
    return max((moment for moment in moments if moment is not None), default=None)
