"""What is said of a night, the same on the terminal, on Prefect's pages and in the report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, time, timedelta

from tasks.names import AttributeNameError, encoded
from tasks.results import Entry, Night, Outcome
from urlr.ids import plural

FATES = ("read", "used", "ties", "skipped", "rejected")
"""What becomes of rows: read = used + ties + skipped + rejected."""
_TOLD: tuple[Outcome, ...] = ("published", "held", "unchanged", "failed")


def sentence(night: Night) -> str:
    """The night in one sentence, for the terminal and the log."""
    counts = Counter(entry.outcome for entry in night.tonight())
    told = ", ".join(f"{counts[name]} {name}" for name in _TOLD if counts[name])
    seconds = (night.finished - night.started).total_seconds()
    dry = " (dry run: nothing was changed in the registry)" if night.dry else ""
    rows = rows_of(night)
    votes = ""
    if rows["read"]:
        votes = (
            f" Of {plural(rows['read'], 'row')}, {rows['used']:,} used, {rows['ties']:,} ties, "
            f"{rows['skipped']:,} skipped, {rows['rejected']:,} rejected{_failed_rows(night)}."
        )
    many = plural(len(night.tonight()), "attribute")
    return f"{night.state}: {many} in {seconds:.0f} s: {told or 'nothing done'}{dry}.{votes}"


def _failed_rows(night: Night) -> str:
    """What the sentence says of rows of attributes that failed: which were read, which were not."""
    failed = [entry.unused_rows for entry in night.tonight() if entry.outcome == "failed"]
    read = [n for n in failed if n is not None]
    said = ""
    if read:
        said = f"; {sum(read):,} more in {plural(len(read), 'attribute')} that failed"
    if unread := len(failed) - len(read):
        said = f"{said}; rows of {plural(unread, 'attribute')} that failed are not counted"
    return said


def plain_sentence(night: Night) -> str:
    """The night in one sentence of plain words, for people who did not set it up."""
    tonight = night.tonight()
    if not tonight:
        return "Nothing was looked at tonight."
    counts = Counter(entry.outcome for entry in tonight)
    were = "was" if counts["held"] == 1 else "were"
    would = "would have got" if night.dry else "got"
    said: dict[Outcome, str] = {
        "published": f"{counts['published']:,} {would} a new ranking",
        "unchanged": f"{counts['unchanged']:,} had no new votes",
        "held": f"{counts['held']:,} {were} held back by the check of new rankings",
        "failed": f"{counts['failed']:,} failed",
    }
    parts = [text for outcome, text in said.items() if counts[outcome]]
    told = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Of {plural(len(tonight), 'attribute')} looked at tonight, {told}."


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
    if entry.outcome == "unchanged":
        return f"unchanged ({entry.verdict}{number})"
    return f"{entry.outcome}{number}"


def why(entry: Entry) -> str:
    """The reason, without the word that stands before it anyway."""
    return entry.reason.removeprefix("held: ")
