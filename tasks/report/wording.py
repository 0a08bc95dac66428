"""What is said of a night, the same on the terminal, on Prefect's pages and in the report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, time, timedelta

from tasks.coordinated import words_of
from tasks.messages import message
from tasks.names import AttributeNameError, encoded
from tasks.results import Entry, Night, Outcome
from urlr.sentence import Sentence

FATES = ("read", "used", "ties", "skipped", "rejected")
"""What becomes of rows: read = used + ties + skipped + rejected."""
_MOST_NOT_LIVE = 5
"""Attributes that are named one by one where another version serves."""
_MOST_COORDINATED = 20
"""Attributes that are named one by one where people act together."""
_TOLD: tuple[Outcome, ...] = ("published", "held", "unchanged", "failed")


def sentence(night: Night) -> Sentence:
    """The night in one sentence, for the terminal and the log."""
    counts = Counter(entry.outcome for entry in night.tonight())
    told = ", ".join(f"{counts[name]} {name}" for name in _TOLD if counts[name])
    rows = rows_of(night)
    votes = ""
    if rows["read"]:
        votes = message(
            "night_rows",
            read=rows["read"],
            used=rows["used"],
            ties=rows["ties"],
            skipped=rows["skipped"],
            rejected=rows["rejected"],
            failed=_failed_rows(night),
        )
    return message(
        "night_summary",
        state=night.state,
        attributes=len(night.tonight()),
        seconds=(night.finished - night.started).total_seconds(),
        outcomes=told or message("nothing_done"),
        dry=message("night_was_dry") if night.dry else "",
        rows=votes,
    )


def _failed_rows(night: Night) -> str:
    """What the sentence says of rows of attributes that failed: which were read, which were not."""
    failed = [entry.unused_rows for entry in night.tonight() if entry.outcome == "failed"]
    read = [n for n in failed if n is not None]
    said = ""
    if read:
        said += message("rows_that_failed", rows=sum(read), attributes=len(read))
    if unread := len(failed) - len(read):
        said += message("failed_rows_not_counted", attributes=unread)
    return said


def plain_sentence(night: Night) -> Sentence:
    """The night in one sentence of plain words, for people who did not set it up."""
    tonight = night.tonight()
    if not tonight:
        return message("nothing_looked_at")
    counts = Counter(entry.outcome for entry in tonight)
    published, held = counts["published"], counts["held"]
    said: dict[Outcome, Sentence] = {
        "published": message("would_have_got_new_ranking", count=published)
        if night.dry
        else message("got_new_ranking", count=published),
        "unchanged": message("had_no_new_votes", count=counts["unchanged"]),
        "held": message("one_held_back", count=held)
        if held == 1
        else message("several_held_back", count=held),
        "failed": message("failed_tonight", count=counts["failed"]),
    }
    parts = [text for outcome, text in said.items() if counts[outcome]]
    told = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return message("night_in_plain_words", attributes=len(tonight), outcomes=told)


def rows_of(night: Night) -> dict[str, int]:
    """Rows of all dumps tonight's results rest on, by what became of them.

    Attributes that failed are left out: nothing became of their rows.
    """
    total: Counter[str] = Counter(dict.fromkeys(FATES, 0))
    for entry in night.tonight():
        if entry.outcome != "failed":
            total.update(entry.rows)
    return dict(total)


def retry(
    attributes: Sequence[str], store: str, *, as_of: datetime | None = None, force: bool = False
) -> str:
    """The command that does these attributes again; all others are found unchanged."""
    command = ["urlr", "nightly", "--store", store]
    if attributes and all(map(_can_be_asked_for, attributes)):
        names = ",".join(attributes)
        command += [f"--only={names}"] if names.startswith("-") else ["--only", names]
    if as_of is not None:
        command += ["--as-of", _asked(as_of)]
    if force:
        command.append("--force")
    return shlex.join(command)


def rollback(attribute: str) -> str:
    """The command that makes the version before the present one champion again."""
    name = ["--", attribute] if attribute.startswith("-") else [attribute]
    return shlex.join(["urlr", "rollback", *name])


def _asked(as_of: datetime) -> str:
    """A moment as `--as-of` takes it: a day, where it is the end of one."""
    ends = datetime.combine(as_of.date(), time.max, as_of.tzinfo)
    is_day = as_of.utcoffset() == timedelta(0) and as_of == ends
    return f"{as_of:%Y-%m-%d}" if is_day else as_of.isoformat()


def _can_be_asked_for(attribute: str) -> bool:
    """Whether `--only` can name it: a name that is refused will be another once mended."""
    try:
        encoded(attribute)
    except AttributeNameError:
        return False
    return "," not in attribute


def verdict(entry: Entry) -> str:
    """A word or two: what became of it."""
    number = "" if entry.version is None else f" v{entry.version}"
    if entry.outcome == "failed":
        return "failed"
    if is_elsewhere(entry):
        live = "nothing live" if entry.live is None else f"v{entry.live} live"
        return f"{entry.outcome} ({live}, not{number})"
    if entry.outcome == "unchanged":
        return f"unchanged ({entry.verdict}{number})"
    return f"{entry.outcome}{number}"


def is_elsewhere(entry: Entry) -> bool:
    """Whether these results were published and another version serves, or none."""
    published = entry.verdict == "published" and entry.outcome != "failed"
    return published and entry.version is not None and entry.live != entry.version


def not_live(entries: Iterable[Entry]) -> list[Sentence]:
    """Which results were published and do not serve, because somebody moved the champion."""
    elsewhere = [one for one in entries if is_elsewhere(one)]
    said = [
        message("none_serves", attribute=one.attribute, version=one.version)
        if one.live is None
        else message("other_serves", attribute=one.attribute, version=one.version, live=one.live)
        for one in elsewhere[:_MOST_NOT_LIVE]
    ]
    if more := [one.attribute for one in elsewhere[_MOST_NOT_LIVE:]]:
        said.append(message("more_not_live", count=len(more), attributes=more))
    return said


def acting_together(entries: Iterable[Entry]) -> list[Sentence]:
    """In which attributes people act together, and what became of their votes."""
    found = sorted(
        ((one.attribute, one.coordinated) for one in entries if one.coordinated is not None),
        key=lambda one: (not one[1].counting, -one[1].votes, one[0]),
    )
    said = [
        message("coordinated_in", attribute=attribute, what=words_of(coordinated))
        for attribute, coordinated in found[:_MOST_COORDINATED]
    ]
    if more := [attribute for attribute, _ in found[_MOST_COORDINATED:]]:
        said.append(message("more_coordinated", count=len(more), attributes=more))
    return said


def why(entry: Entry) -> str:
    """The reason, without the word that stands before it anyway."""
    return entry.reason.removeprefix("held: ")
