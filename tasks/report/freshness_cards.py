"""How fresh is what serves: the newest night published, and the votes that are not in it yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from tasks.freshness import is_behind, newest_vote, waiting_votes
from tasks.messages import message
from tasks.report.digest import newest_published
from tasks.report.overview_rows import Kind
from tasks.results import Entry, Night
from urlr.ids import plural

_FRESH = 1
"""Days that the newest night published may lie back: a night is published on its own day, and its
report may be opened the day after."""
_KINDS = ("held back", "rolled back", "not published")
_QUIET = 7
"""Days without a vote after which it is said."""


@dataclass(frozen=True, slots=True)
class Card:
    """A figure with its state, in a word and a colour."""

    label: str
    figure: str
    word: str
    kind: Kind
    note: str


def freshness(night: Night, *, now: datetime) -> list[Card]:
    """Three cards: the newest night published, votes waiting, the newest vote.

    The night published is that of the votes a ranking was made from, and it is held against the
    clock: a run over an old night, however late it is done, makes nothing look fresh.
    """
    entries = list(night.entries.values())
    waiting = [entry for entry in entries if is_behind(entry)]
    published = newest_published(night)
    newest = newest_vote(entries, night)
    return [
        _published(published, newest, waiting, now),
        _waiting(waiting),
        _newest(newest, published, now),
    ]


def _published(
    published: date | None, newest: datetime | None, waiting: Sequence[Entry], now: datetime
) -> Card:
    label = "newest night published"
    if published is None:
        return Card(label, "none", "nothing is live", "bad", message("nothing_serves"))
    days = (now.astimezone(UTC).date() - published).days
    ago = "Today" if days <= 0 else message("days_ago", count=days)
    is_newer = newest is not None and newest.astimezone(UTC).date() > published
    if days <= _FRESH:
        return Card(label, str(published), "up to date", "good", f"{ago}.")
    if waiting or is_newer:
        note = message("votes_newer_than_what_serves")
        return Card(label, str(published), f"{plural(days, 'day')} behind", "bad", note)
    note = message("no_newer_votes", ago=ago)
    return Card(label, str(published), "nothing newer", "calm", note)


def _waiting(waiting: Sequence[Entry]) -> Card:
    label = "votes not yet in what serves"
    if not waiting:
        return Card(label, "0", "none waiting", "good", message("no_votes_waiting"))
    kinds = Counter(map(_kind, waiting))
    votes, failed = sum(map(waiting_votes, waiting)), kinds["failed"]
    parts = [message("waiting_in", count=kinds[kind], kind=kind) for kind in _KINDS if kinds[kind]]
    if failed and votes:
        parts.append(message("more_waiting_in_failed", count=failed))
    elif failed:
        parts.append(message("waiting_in_failed", count=failed))
    note = message("votes_waiting", where="; ".join(parts).capitalize())
    figure = f"{votes:,}" if votes or not failed else "not known"
    return Card(label, figure, "waiting", "bad" if failed else "warn", note)


def _kind(entry: Entry) -> str:
    """Why votes wait; not published are also those of a dry run or after a night of the past."""
    if entry.outcome == "failed":
        return "failed"
    if entry.verdict == "held":
        return "held back"
    is_known = entry.version is not None and entry.live is not None
    return "rolled back" if is_known and entry.version != entry.live else "not published"


def _newest(newest: datetime | None, published: date | None, now: datetime) -> Card:
    label = "newest vote"
    if newest is None:
        return Card(label, "not known", "no times", "calm", message("votes_without_times"))
    moment = newest.astimezone(UTC)
    figure, days = f"{moment:%Y-%m-%d %H:%M}", (now - newest).days
    if published is None or moment.date() > published:
        note = message("vote_newer_than_published")
        return Card(label, figure, "newer than what serves", "warn", note)
    if days >= _QUIET:
        note = message("no_vote_for_days", count=days)
        return Card(label, figure, "quiet", "warn", note)
    return Card(label, figure, "up to date", "good", message("no_vote_newer"))
