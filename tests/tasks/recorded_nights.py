"""Records of nights that nobody ran, for what is told of a night from its record alone."""

import math
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from tasks.evaluate import Estimate, Judged, OrderTau, VoteTau
from tasks.results import NIGHTS, RUN, Entry, Night, Result
from tasks.runs import place_of
from tasks.split import SplitRule
from tasks.store import Store

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
TAU = VoteTau(Estimate(0.5, -1.0, 1.0, math.inf), None, 3, 1, 0, 0, 0.99)


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


def result(
    key: str = "k", *, run: str = "20261101T020000Z-0a1b2c", name: str = "smiling"
) -> Result:
    """What a run found about an attribute."""
    return Result(
        attribute=name,
        key=key,
        place=place_of(run, name),
        run=run,
        dumps={"votes/smiling/1.csv": "etag"},
        features={},
        settings="s",
        shared=None,
        split=SplitRule(by_items=False),
        rows={"read": 1, "used": 1, "ties": 0, "skipped": 0, "rejected": 0},
        reasons={},
        dump_rows={"votes/smiling/1.csv": 1},
        newest=NOON,
        n_items=2,
        n_pruned=0,
        n_turned=0,
        n_people=1,
        flagged={},
        tau=TAU,
        methods=(Judged("urlr", TAU, None), Judged("raw", None, None, "too few")),
        unjudged="",
        truth=OrderTau(math.nan, 2),
        warnings=("two\nlines",),
        files=("scores.parquet",),
        seconds=1.5,
        memory=1 << 30,
    )


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
