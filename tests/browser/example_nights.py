"""Nights made up for tests of the report: any number of attributes, the same every time."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache

import numpy as np

from tasks.evaluate import Estimate, VoteTau
from tasks.report.data import Interval, SelfTest
from tasks.report.digest import Digest, digest_of
from tasks.results import Entry, Night

LAST = date(2026, 11, 16)
STORE = "s3://team/urlr"
_WORDS = (
    "smiling",
    "natural",
    "convincing",
    "aesthetic",
    "interestingness",
    "funny",
    "calm",
    "bold",
)
_KINDS = ("food", "pets", "travel", "cities", "sport", "music", "people", "nature", "cars", "news")
_REASONS = ("item has no features", "missing or unknown outcome", "skipped by the annotator")


def name_of(k: int) -> str:
    """`smiling/food`, `natural/food`, ... and with a number when these are used up."""
    word, rest = _WORDS[k % len(_WORDS)], k // len(_WORDS)
    kind, turn = _KINDS[rest % len(_KINDS)], rest // len(_KINDS)
    return f"{word}/{kind}" if turn == 0 else f"{word}/{kind}-{turn + 1}"


def run_of(day: date) -> str:
    return f"{day:%Y%m%d}T020000Z-0a1b2c"


def example_night(n: int = 1000, *, day: date = LAST, jump: bool = True) -> Night:
    """A night of `n` attributes: some in every hundred fail or are held; new people in throngs."""
    run, started = run_of(day), datetime(day.year, day.month, day.day, 2, tzinfo=UTC)
    crowd = 4.0 if jump and day == LAST else 1.0
    drawn = _Draws.of(n, day, crowd)
    entries = [_entry(k, day, run, drawn) for k in range(n)]
    failed = sum(entry.outcome == "failed" for entry in entries)
    seconds = 0.9 * n + 40.0 + day.day % 5
    return Night(
        run=run,
        night=day,
        started=started,
        finished=started + timedelta(seconds=seconds),
        state="Partial" if failed else "Completed",
        reason=f"{n - failed} of {n} attributes done",
        dry=False,
        force=False,
        only=(),
        as_of=None,
        entries={entry.attribute: entry for entry in entries},
        refused=("votes/readme.txt lies in no attribute's folder; move it away",),
        notes=("1 run before this did not finish (20261116T013000Z-0d0d0d); its work is used",),
        workers_lost=1 if failed else 0,
        stages={"discover": 3.2, "attributes": 0.9 * n + 20.0, "report": 4.1, "all": seconds},
    )


@cache
def example_digests(n: int = 1000, *, nights: int = 29, last: date = LAST) -> tuple[Digest, ...]:
    """The nights before, oldest first."""
    days = [last - timedelta(days=k) for k in range(nights, 0, -1)]
    return tuple(digest_of(example_night(n, day=day)) for day in days)


@dataclass(frozen=True)
class _Draws:
    """The chance in a night, drawn once for all attributes: a generator for each would be slow."""

    items: np.ndarray
    votes: np.ndarray
    tau: np.ndarray
    moved: np.ndarray
    gain: np.ndarray
    aside: np.ndarray
    seconds: np.ndarray
    new_people: np.ndarray
    left: np.ndarray
    flagged: np.ndarray
    auc: np.ndarray

    @classmethod
    def of(cls, n: int, day: date, crowd: float) -> "_Draws":
        same, rng = np.random.default_rng(7), np.random.default_rng([11, day.toordinal()])
        items = same.integers(30, 300, n)
        return cls(
            items=items,
            votes=items * same.integers(8, 60, n),
            tau=np.clip(same.normal(0.62, 0.12, n), 0.05, 0.95),
            moved=rng.normal(0, 0.006, n),
            gain=rng.normal(0.003, 0.008, n),
            aside=rng.uniform(0.02, 0.16, n),
            seconds=rng.gamma(4.0, 0.4, n),
            new_people=rng.poisson(0.6 * crowd, n),
            left=np.clip(rng.normal(0.51, 0.02, n), 0, 1),
            flagged=rng.poisson(1.0, n),
            auc=np.clip(rng.normal(0.92, 0.02, n), 0.5, 1.0),
        )


def _entry(k: int, day: date, run: str, drawn: _Draws) -> Entry:
    since = (day - LAST).days
    votes = int(drawn.votes[k] * (1 + 0.004 * (since + 60)))
    ties, skipped, rejected = (int(votes * share) for share in (0.06, 0.02, 0.012))
    value = float(np.clip(drawn.tau[k] + 0.0015 * since + drawn.moved[k], -1, 1))
    half = 1.3 / float(np.sqrt(votes / 10))
    gain = float(drawn.gain[k])
    version = 40 + since + k % 5
    live_since = datetime(day.year, day.month, day.day, 2, 20, tzinfo=UTC)
    entry = Entry(
        attribute=name_of(k),
        run=run,
        outcome="published",
        reason=f"tau {value - gain:.3f} -> {value:.3f} on {votes // 10:,} held-out votes",
        key=f"key-{k}",
        place=f"runs/{run}/attributes/{k}",
        verdict="published",
        version=version,
        replaced=version - 1,
        rows={
            "read": votes + skipped + rejected,
            "used": votes - ties,
            "ties": ties,
            "skipped": skipped,
            "rejected": rejected,
        },
        reasons=dict(zip(_REASONS, (rejected - 3, 3, skipped), strict=True)),
        n_pruned=int(votes * drawn.aside[k]),
        tau=_tau(value, half, votes // 10),
        difference=_tau(gain, half / 3, votes // 10),
        newest=live_since - timedelta(hours=4, minutes=k % 60),
        seconds=float(drawn.seconds[k]),
        memory=(380 + k % 90) << 20,
        attempts=1,
        computed=True,
        n_items=int(drawn.items[k]),
        n_people=20 + int(drawn.items[k]) // 4,
        new_votes=int(votes * 0.004),
        new_people=int(drawn.new_people[k]),
        left_share=float(drawn.left[k]),
        flagged={"careless": int(drawn.flagged[k])},
        self_test=_self_test(votes, float(drawn.auc[k])),
        size=votes * 60,
        live=version,
        live_since=live_since,
        live_night=day,
    )
    return _fated(entry, k, day)


def _fated(entry: Entry, k: int, day: date) -> Entry:
    """Of every hundred: one fails, two are held, two got worse, thirty have nothing new."""
    before = day - timedelta(days=3 + k % 40)
    live_since = datetime(before.year, before.month, before.day, 2, 20, tzinfo=UTC)
    older = {"live": 12, "live_since": live_since, "live_night": before}
    if k % 100 == 17:
        text = f"votes/{entry.attribute}/2026-11-15.parquet cannot be read: it ends too early; "
        failed = replace(entry, outcome="failed", reason=text + "write it again", computed=False)
        return replace(failed, version=12, **older)
    if k % 100 in (23, 61):
        text = "held: worse than the champion by 0.041 (at least 0.012 with 99 % confidence) on "
        lost = _tau(-0.041, 0.029, 420)
        return replace(
            entry,
            outcome="held",
            verdict="held",
            reason=text + "420 held-out votes of 31 people",
            difference=lost,
            **older,
        )
    if k % 100 in (5, 71) and day == LAST:
        text = "published by force, else held: worse than the champion by 0.050"
        return replace(entry, reason=text, difference=_tau(-0.05, 0.029, 420))
    if k % 10 in (2, 4, 8):
        reason = "nothing new since it was published as version 12"
        unchanged = replace(entry, outcome="unchanged", version=12, reason=reason, computed=False)
        return replace(unchanged, seconds=0.0, attempts=0, newest=live_since, **older)
    return replace(entry, attempts=2) if k % 250 == 9 else entry


def _tau(value: float, half: float, votes: int) -> VoteTau:
    figure = Estimate(value, max(value - half, -1.0), min(value + half, 1.0), half / 2.6)
    return VoteTau(figure, figure, votes, 31, 0, 0, 0.99)


def _self_test(votes: int, auc: float) -> SelfTest:
    flipped = votes // 20
    interval = Interval(auc, max(auc - 0.03, 0.0), min(auc + 0.03, 1.0))
    return SelfTest(votes, flipped, interval, 0.71, 4.2)
