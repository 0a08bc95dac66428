"""What `urlr status` and `urlr models` say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest

from flows.messages import message
from flows.night_report import aligned, as_given, figures
from flows.nightly_command import CODES
from tasks.freshness import is_whole
from tasks.lease import held_by
from tasks.registry import Move, Registry, RegistryError, Version
from tasks.report.site import LATEST
from tasks.report.wording import acting_together, not_live, retry, sentence, verdict, why
from tasks.results import Entry, Night
from tasks.runs import names_of, past_of
from tasks.settings import Settings
from tasks.store import Store, StoreError
from urlr.ids import plural, shown


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
        lines.append(message("registry_not_asked", why=error.sentence))
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
            return [message("no_night_yet", store=store.url)], 1, None
    except StoreError as error:
        return [message("store_not_asked", why=error.sentence)], 1, None
    lines: list[str] = []
    if past.damaged:
        lines += [message("newest_record_damaged"), *past.damaged]
    if running is not None:
        lines.append(
            message(
                "night_running",
                run=running.run,
                host=running.host,
                process=running.pid,
                since=_when(running.started),
            )
        )
    elif past.unfinished:
        dead = list(past.unfinished)
        lines.append(message("runs_ended_without_a_word", count=len(dead), runs=dead))
    if past.newest is None:
        return [*lines, message("no_night_finished")], 1, None
    lines += _night(past.newest, settings)
    code = CODES[past.newest.state]
    if code == 0 and _is_not_latest(store, past.newest):
        lines.append(message("a_note", note=message("other_latest", path=store.address(LATEST))))
        code = CODES["Partial"]
    if past.damaged:  # what that night published may have been replaced by one that is not known
        return lines, code or CODES["Partial"], None
    return lines, code, past.newest


def _is_not_latest(store: Store, night: Night) -> bool:
    """Whether the pointer to the newest report is there and does not lead to this night's."""
    if not is_whole(night) or not night.reported:
        return False
    try:
        return night.run.encode() not in store.read(LATEST)
    except StoreError:
        return False


def _night(night: Night, settings: Settings) -> list[str]:
    finished = _when(night.finished)
    lines: list[str] = [
        message(
            "last_night",
            night=night.night,
            run=night.run,
            finished=finished,
            ago=_ago(night.finished),
        ),
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
    lines += [f"  {message('left_aside', what=what)}" for what in night.refused]
    together = acting_together(one for one in entries if one.outcome != "failed")
    lines += [f"  {message('a_note', note=note)}" for note in (*night.notes, *together)]
    lines += [
        message("once_mended", command=command)
        for command in _retries(failed, night, settings.store)
    ]
    return lines


def _retries(failed: list[Entry], night: Night, store: str) -> list[str]:
    """The command for all that failed; a night of the past is asked for by what failed in it."""
    as_of: dict[datetime | None, list[str]] = {}
    for one in failed:
        moment = night.as_of if one.run == night.run else None
        as_of.setdefault(moment, []).append(one.attribute)
    return [retry(names, store, as_of=moment) for moment, names in as_of.items()]


def _live(settings: Settings, entries: dict[str, Entry]) -> list[str]:
    """What serves now, and where that is not what the last night published."""
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    champions, standing = registry.champions(), registry.standing()
    live = {name: one.number for name, one in standing.items()}
    entries = {name: replace(one, live=live.get(name)) for name, one in entries.items()}
    notes = [message("a_note", note=note) for note in not_live(entries.values())]
    if not champions:
        return [message("nothing_live"), *notes]
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
    return [aligned(rows, left=(0, 1, 2, 6)), *notes]


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
