"""A night in brief, for the reports of later nights: what they hold their own figures against.

    runs/<run>/digest.json

41 kB for 1,000 attributes, where the record of the night takes 2.3 MB: a report reads thirty of
them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from statistics import median

from tasks.freshness import newest_vote
from tasks.messages import message
from tasks.report.wording import rows_of
from tasks.results import Entry, Night, Record, ResultError, State
from tasks.runs import RUNS, names_of
from tasks.store import NotThere, Store
from urlr.errors import ArgumentError

DIGEST = "digest.json"
REASONS = 12
"""Reasons that are kept by name; all others are counted together."""
OTHER = "other reasons"
NIGHTS_SHOWN = 30
"""Earlier nights that a report draws and holds its own figures against."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Figures of the votes that came in; a jump in one of them is worth a look."""

    new_votes: int | None
    """Votes that the last results did not have, over all attributes fitted; None: not known."""
    new_people: int | None
    """People who voted on an attribute for the first time, over all attributes fitted."""
    tie_share: float | None
    """Share of votes that call it a tie, over all votes."""
    tie_share_median: float | None
    """The same, median over attributes."""
    left_share: float | None
    """Share of choices for what was shown on the left, over all votes with known sides."""
    left_share_median: float | None
    votes_per_item: float | None
    votes_per_item_median: float | None


@dataclass(frozen=True, slots=True)
class Digest:
    """What later reports need to know of a night."""

    run: str
    night: date
    started: datetime
    finished: datetime
    state: State
    dry: bool
    only: tuple[str, ...]
    as_of: datetime | None
    outcomes: dict[str, int]
    """Attributes worked on, by outcome."""
    rows: dict[str, int]
    """read = used + ties + skipped + rejected"""
    reasons: dict[str, int]
    """Rows that do not count by reason, the most frequent first."""
    attributes: tuple[str, ...]
    """All that have a ranking, whether worked on or not."""
    tau: tuple[float | None, ...]
    """Of each of them, to four digits; None where it could not be judged."""
    votes: tuple[int, ...]
    """Of each of them, ties included."""
    drift: Drift
    stages: dict[str, float]
    """Seconds by stage."""
    seconds: float
    """From start to finish."""
    memory: int
    """Largest peak of a worker, in bytes."""
    retries: int
    workers_lost: int
    newest_vote: datetime | None
    published_night: date | None
    """The newest night whose votes are in something that serves."""

    def __post_init__(self) -> None:
        if not len(self.attributes) == len(self.tau) == len(self.votes):
            raise ArgumentError(
                message(
                    "columns_of_other_lengths",
                    attributes=len(self.attributes),
                    tau=len(self.tau),
                    votes=len(self.votes),
                )
            )

    def tau_by_attribute(self) -> dict[str, float]:
        """Tau of every attribute that was judged."""
        pairs = zip(self.attributes, self.tau, strict=True)
        return {name: tau for name, tau in pairs if tau is not None and math.isfinite(tau)}

    @property
    def is_whole(self) -> bool:
        """Whether it was a night like every other, so that its totals can be compared."""
        return not self.dry and not self.only and self.as_of is None


DIGESTS = Record(Digest)


def digest_of(night: Night) -> Digest:
    """The night in brief."""
    tonight = night.tonight()
    known = {name: one for name, one in night.entries.items() if one.key is not None}
    reasons: Counter[str] = Counter()
    for entry in tonight:
        if entry.outcome != "failed":
            reasons.update(entry.reasons)
    return Digest(
        run=night.run,
        night=night.night,
        started=night.started,
        finished=night.finished,
        state=night.state,
        dry=night.dry,
        only=night.only,
        as_of=night.as_of,
        outcomes=dict(sorted(Counter(entry.outcome for entry in tonight).items())),
        rows=rows_of(night),
        reasons=top_reasons(reasons),
        attributes=tuple(known),
        tau=tuple(rounded_tau(one) for one in known.values()),
        votes=tuple(votes_of(one) for one in known.values()),
        drift=drift_of(tonight),
        stages={name: round(seconds, 2) for name, seconds in night.stages.items()},
        seconds=round((night.finished - night.started).total_seconds(), 2),
        memory=max((one.memory for one in tonight if one.computed), default=0),
        retries=sum(max(one.attempts - 1, 0) for one in tonight),
        workers_lost=night.workers_lost,
        newest_vote=newest_vote(known.values(), night),
        published_night=newest_published(night),
    )


def recent_digests(store: Store, *, before: str, most: int = NIGHTS_SHOWN) -> list[Digest]:
    """Of the last runs before a run, oldest first; missing and unreadable ones are left out."""
    found: list[Digest] = []
    for run in (name for name in names_of(store) if name < before):
        if len(found) == most:
            break
        key = f"{RUNS}/{run}/{DIGEST}"
        try:
            found.append(DIGESTS.from_bytes(store.read(key), store.address(key)))
        except (NotThere, ResultError):
            continue  # did not finish, or of another version of urlr
    return found[::-1]


def newest_published(night: Night) -> date | None:
    """The newest night whose votes are in something that serves, whatever night this run was of."""
    nights = [one.live_night for one in night.entries.values() if one.live_night is not None]
    return max(nights, default=None)


def votes_of(entry: Entry) -> int:
    """Votes that count, ties included."""
    return entry.rows.get("used", 0) + entry.rows.get("ties", 0)


def new_votes_of(entry: Entry) -> int | None:
    """Votes new in its last run; None where nobody can say."""
    if entry.outcome == "unchanged":
        return 0
    return None if entry.outcome == "failed" else entry.new_votes


def rounded_tau(entry: Entry) -> float | None:
    """Tau by the figure that decides, to four digits."""
    deciding = None if entry.tau is None else entry.tau.shown
    if deciding is None or not math.isfinite(deciding.value):
        return None
    return round(deciding.value, 4)


def top_reasons(reasons: Counter[str]) -> dict[str, int]:
    """The most frequent reasons, and how many rows have another."""
    top = dict(sorted(reasons.items(), key=lambda one: (-one[1], one[0]))[:REASONS])
    rest = reasons.total() - sum(top.values())
    return top | {OTHER: rest} if rest else top


def drift_of(tonight: Sequence[Entry]) -> Drift:
    """Figures of the votes that tonight's results rest on."""
    done = [one for one in tonight if one.outcome != "failed" and votes_of(one) > 0]
    fitted = [one for one in done if one.outcome != "unchanged"]
    sided = [one for one in done if one.left_share is not None]
    full = [one for one in done if one.n_items > 0]
    left = [(one.left_share or 0.0, one.rows.get("used", 0)) for one in sided]
    return Drift(
        new_votes=_sum(one.new_votes for one in fitted),
        new_people=_sum(one.new_people for one in fitted),
        tie_share=_ratio(sum(one.rows.get("ties", 0) for one in done), sum(map(votes_of, done))),
        tie_share_median=_median(one.rows.get("ties", 0) / votes_of(one) for one in done),
        left_share=_ratio(sum(share * n for share, n in left), sum(n for _, n in left)),
        left_share_median=_median(share for share, _ in left),
        votes_per_item=_ratio(sum(map(votes_of, full)), sum(one.n_items for one in full)),
        votes_per_item_median=_median(votes_of(one) / one.n_items for one in full),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    """Of those that are known; None where none is, though there are some."""
    counts = list(counts)
    known = [count for count in counts if count is not None]
    return None if counts and not known else sum(known)


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 5) if whole > 0 else None


def _median(values: Iterable[float]) -> float | None:
    values = list(values)
    return round(median(values), 5) if values else None
