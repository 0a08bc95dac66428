"""Records of nights that nobody ran, for what is told of a night from its record alone."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from tasks.evaluate import Estimate, VoteTau
from tasks.results import NIGHTS, RUN, Entry, Night
from tasks.store import Store

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def run_of(day: int) -> str:
    """Name of a run of a day in November."""
    return f"202611{day:02d}T020000Z-0a1b2c"


def recorded(day: int, *entries: Entry, **other: Any) -> Night:
    """The record of a night in November that worked on these attributes."""
    plain = Night(
        run=run_of(day),
        night=date(2026, 11, day),
        started=NOON,
        finished=NOON,
        state="Completed",
        reason="all done",
        dry=False,
        force=False,
        only=(),
        as_of=None,
        entries={entry.attribute: replace(entry, run=run_of(day)) for entry in entries},
    )
    return replace(plain, **other)


def backfill(day: int, *, of: int, **other: Any) -> Night:
    """A run of one day that counts votes up to an earlier one."""
    moment = datetime(2026, 11, of, 23, tzinfo=UTC)
    return recorded(day, night=moment.date(), as_of=moment, **other)


def kept(store: Store, night: Night) -> None:
    """Put a record where its run leaves it."""
    store.create(f"runs/{night.run}/{RUN}", NIGHTS.to_bytes(night))


def judged(
    name: str,
    found: Estimate | None,
    *,
    outcome: Any = "held",
    level: float = 0.99,
    n_votes: int = 50,
    n_people: int = 0,
) -> Entry:
    """An attribute whose new model differs from the champion by so much."""
    by_person = found if n_people > 1 else None
    difference = None
    if found is not None:
        difference = VoteTau(found, by_person, n_votes, n_people, 0, 0, level)
    return Entry(name, "", outcome, f"{outcome}: because", difference=difference, version=2)
