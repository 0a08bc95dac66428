"""What `urlr status` and `urlr models` say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest

from flows.night_report import aligned, as_given, figures
from flows.nightly_command import CODES
from tasks.freshness import is_whole
from tasks.lease import held_by
from tasks.registry import Move, Registry, RegistryError, Version
from tasks.report.wording import retry, sentence, verdict, why
from tasks.results import Entry, Night
from tasks.runs import names_of, past_of
from tasks.settings import Settings
from tasks.store import Store, StoreError
from urlr.ids import plural, shown, shown_some


@dataclass(frozen=True, slots=True)
class Status:
    """How things stand, and the exit code that says so."""

    text: str
    code: int


def status_of(settings: Settings) -> Status:
    """Look at store and registry; what cannot be reached is said, and the rest is still shown."""
    lines, code, last = _of_store(settings)
    lines.append("")
    try:
        lines += _live(settings, {} if last is None else last.entries)
    except RegistryError as error:
        lines.append(f"The registry cannot be asked: {error}")
        code = 1
    return Status(as_given("\n".join(lines), settings.store), code)


def models_text(settings: Settings, attribute: str | None) -> str:
    """The champions, or all versions of one attribute."""
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    if attribute is None:
        lines = _live(settings, {})
        return "\n".join(lines)
    registry.check_known(attribute)
    moves = registry.history(attribute)
    versions = registry.versions(attribute)
    champion = registry.champion(attribute)
    rows = [("version", "night", "tau", "votes", "champion", "what")]
    for version in sorted(versions, key=lambda one: one.number, reverse=True):
        live = champion is not None and champion.number == version.number
        rows.append(
            (
                f"v{version.number}",
                str(version.night),
                _tau(version),
                _votes(version),
                _reigns(version, moves, live=live),
                shown(version.description, 200),
            )
        )
    return f"{shown(attribute, 80)}\n" + aligned(rows, left=(0, 1, 4, 5))


def _of_store(settings: Settings) -> tuple[list[str], int, Night | None]:
    store = Store.at(settings.store, deadline=settings.call_deadline)
    try:
        running = held_by(store, grace=settings.lease_grace)
        past = past_of(store)
        if past.newest is None and running is None and not names_of(store):
            return [f"No night has been run on {store.url}; start one: urlr nightly"], 1, None
    except StoreError as error:
        return [f"The store cannot be asked: {error}"], 1, None
    lines = []
    if running is not None:
        lines.append(
            f"Running: {shown(running.run)} on {shown(running.host)} (process {running.pid}) since "
            f"{_when(running.started)}."
        )
    elif past.unfinished:
        lines.append(
            f"{plural(len(past.unfinished), 'run')} ended without a word "
            f"({shown_some(list(past.unfinished))}); urlr nightly takes up what was left."
        )
    if past.newest is None:
        return [*lines, "No night has finished yet."], 1, None
    return [*lines, *_night(past.newest, settings)], CODES[past.newest.state], past.newest


def _night(night: Night, settings: Settings) -> list[str]:
    lines = [
        f"Night of {night.night} (run {night.run}), finished {_when(night.finished)}, "
        f"{_ago(night.finished)} ago.",
        sentence(night),
    ]
    entries = night.entries.values()
    # A whole night looks at all that have votes: what failed before it and is not in it has none.
    asked_again = night.tonight() if is_whole(night) else entries
    failed = [entry for entry in asked_again if entry.outcome == "failed"]
    lines += [f"  failed {shown(one.attribute, 80)}: {one.reason}" for one in failed]
    for one in entries:
        if one.outcome != "failed" and one.verdict == "held":
            number = "" if one.version is None else f" (v{one.version})"
            lines.append(f"  held {shown(one.attribute, 80)}{number}: {why(one)}")
    lines += [f"  left aside: {text}" for text in night.refused]
    lines += [f"  note: {note}" for note in night.notes]
    lines += [f"Once mended: {command}" for command in _retries(failed, night, settings.store)]
    return lines


def _retries(failed: list[Entry], night: Night, store: str) -> list[str]:
    """The command for all that failed; a night of the past is asked for by what failed in it."""
    as_of: dict[datetime | None, list[str]] = {}
    for one in failed:
        moment = night.as_of if one.run == night.run else None
        as_of.setdefault(moment, []).append(one.attribute)
    return [retry(names, store, as_of=moment) for moment, names in as_of.items()]


def _live(settings: Settings, entries: dict[str, Entry]) -> list[str]:
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    champions, standing = registry.champions(), registry.standing()
    if not champions:
        return ["Nothing is live: the registry has no champion."]
    rows = [("live", "version", "since", "tau", "interval", "votes", "last")]
    for attribute, version in sorted(champions.items()):
        since = standing[attribute].since if attribute in standing else None
        entry = entries.get(attribute)
        tau, interval = figures(None if entry is None else entry.tau)
        if entry is None or entry.version != version.number:
            tau, interval = _tau(version), ""
        rows.append(
            (
                shown(attribute, 40),
                f"v{version.number}",
                "" if since is None else _when(since),
                tau,
                interval,
                _votes(version),
                "" if entry is None else verdict(entry),
            )
        )
    return [aligned(rows, left=(0, 1, 2, 6))]


def _reigns(version: Version, moves: list[Move], *, live: bool) -> str:
    """The times at which a version was champion."""
    done = [move for move in moves if move.done is not None]
    spans = []
    for move, following in zip_longest(done, done[1:]):
        if move.to == version.number:
            end = "now" if following is None else _when(following.when)
            spans.append(f"{_when(move.when)} to {end}")
    if not spans:
        return "live" if live else "never"
    return ", ".join(spans)


def _tau(version: Version) -> str:
    tau = version.metrics.get("tau")
    return "" if tau is None else f"{tau:.3f}"


def _votes(version: Version) -> str:
    votes = version.metrics.get("votes")
    return "" if votes is None else f"{int(votes):,}"


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _ago(moment: datetime) -> str:
    minutes = int((datetime.now(UTC) - moment).total_seconds() // 60)
    if minutes < 120:
        return plural(minutes, "minute")
    return plural(minutes // 60, "hour") if minutes < 48 * 60 else plural(minutes // 1440, "day")
