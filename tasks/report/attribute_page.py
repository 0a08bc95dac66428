"""The page of an attribute: one file, and the list of suspicious votes in parts beside it.

A page is bounded, whatever the attribute: long texts are cut, very long tables hold what matters
most (the best items, the people not to trust), and votes beyond the first part lie in files of
their own, which the page loads as scripts: those open from a folder, where `fetch` does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime
from typing import Any, Literal

from tasks.report.data import AttributePage, Interval, Items, People, Votes
from tasks.report.shell import page, part

N_PER_PART = 2_000
"""Votes in a part: 0.45 MB where each has a contradiction of 110 signs, so that a page of 1,000
items, 300 people and the first part takes 0.64 MB."""
MOST_INSIDE = 4_500_000
"""Bytes up to which a page that stands alone keeps all its votes inside; Bokeh takes 1.4 MB."""
MOST_ITEMS, MOST_PEOPLE = 10_000, 5_000
"""Rows of the ranking and of the table of people that a page holds."""
_NAMES = 1_000_000
"""Signs that the names of all items, or of all people, may take together."""
_LONGEST_NAME, _SHORTEST_CUT = 500, 40
_LONGEST_ROW, _LONGEST_TEXT = 80, 600
_DIGITS = 5
"""Significant digits of a number; the page shows four at most."""

_SCRIPTS = ("plots.js", "votes.js", "explorer.js", "people.js", "diagnostics.js")


@dataclass(frozen=True, slots=True)
class PageHead:
    """What the record of the night says of an attribute; `urlr fit` knows no night."""

    night: date | None = None
    run: str = ""
    outcome: Literal["published", "held", "unchanged", "failed", ""] = ""
    reason: str = ""
    """One plain sentence: what was decided, or what failed."""
    version: int | None = None
    """Registered version of these results."""
    live: int | None = None
    """Version that serves."""
    live_since: datetime | None = None
    live_night: date | None = None
    """The night whose votes the live version was made from."""
    tau: Interval | None = None
    """Of the judge, with votes it has not seen."""
    n_judged: int | None = None
    """Votes that tau rests on."""
    change: Interval | None = None
    """Tau less that of the champion, on the same votes."""
    level: float | None = None
    """Of both intervals."""
    methods: tuple[tuple[str, float | None, float | None], ...] = ()
    """Method, tau with held-out votes, tau with votes on unseen items; ours first. Where there are
    none the page shows those of the diagnostics."""
    overview: str | None = None
    """Relative address of the overview."""
    commands: tuple[tuple[str, str], ...] = ()
    """What each does, and the command: to try again, to roll back."""


@dataclass(frozen=True, slots=True)
class VoteParts:
    """A page with the first part of its votes, and the files that hold the others."""

    page: AttributePage
    files: dict[str, bytes]
    """By name, `votes-1.js` first."""


def attribute_page(
    data: AttributePage, head: PageHead, *, library: str | None, parts: str
) -> bytes:
    """The page, given the first part of its votes; `library` and `parts` as in `shell.page`."""
    n_here = 0 if data.votes is None else len(data.votes.row)
    n_listed = data.n_listed or n_here
    n_per_part = data.n_per_part or max(n_here, 1)
    if n_here != min(n_listed, n_per_part):
        raise ValueError(
            f"the page is given {n_here:,} votes and lists {n_listed:,} in parts of "
            f"{n_per_part:,}; cut them with vote_parts first."
        )
    plain = _plain(
        replace(
            data,
            items=_bounded_items(data.items),
            people=_bounded_people(data.people),
            votes=None if data.votes is None else _bounded_votes(data.votes),
            n_listed=n_listed,
            n_per_part=n_per_part,
        )
    )
    told = _plain(head) | {"commands": head.commands}  # half a command would be another one
    content = {"data": plain, "head": told}
    return page(
        data.attribute, "attribute.js", content, beside=_SCRIPTS, library=library, parts=parts
    )


def vote_parts(data: AttributePage, *, n_per_part: int = N_PER_PART) -> VoteParts:
    """Cut the votes of a page that has all of them."""
    if data.votes is None:
        return VoteParts(data, {})
    n_listed = len(data.votes.row)
    starts = range(n_per_part, n_listed, n_per_part)
    files = {}
    for k, start in enumerate(starts, start=1):
        votes = _slice(data.votes, start, start + n_per_part)
        files[f"votes-{k}.js"] = part(f"votes-{k}", _plain(_bounded_votes(votes)))
    first = _slice(data.votes, 0, n_per_part)
    cut = replace(data, votes=first, n_listed=n_listed, n_per_part=n_per_part)
    return VoteParts(cut, files)


def single_page(
    data: AttributePage,
    head: PageHead,
    *,
    most_inside: int = MOST_INSIDE,
    n_per_part: int = N_PER_PART,
) -> dict[str, bytes]:
    """`report.html` with everything inside; where that gets too large, votes beside it.

    `data` has all votes that are to be listed.
    """
    n_listed = 0 if data.votes is None else len(data.votes.row)
    whole = replace(data, n_listed=n_listed, n_per_part=max(n_listed, 1))
    alone = attribute_page(whole, head, library=None, parts="")
    if len(alone) <= most_inside:
        return {"report.html": alone}
    cut = vote_parts(data, n_per_part=n_per_part)
    main = attribute_page(cut.page, head, library=None, parts="report-")
    beside = {f"report-{name}": content for name, content in cut.files.items()}
    return {"report.html": main} | beside


def _slice(votes: Votes, start: int, stop: int) -> Votes:
    return Votes(*(getattr(votes, column.name)[start:stop] for column in fields(Votes)))


def _bounded_items(items: Items) -> Items:
    """All names, because votes point to them, and the other columns of the best items."""
    columns = {column.name: getattr(items, column.name) for column in fields(Items)}
    kept = {name: values and values[:MOST_ITEMS] for name, values in columns.items()}
    return Items(**kept | {"name": _names(items.name)})


def _bounded_people(people: People) -> People:
    columns = {column.name: getattr(people, column.name) for column in fields(People)}
    kept = {name: values[:MOST_PEOPLE] for name, values in columns.items()}
    return People(**kept | {"name": _names(people.name)})


def _bounded_votes(votes: Votes) -> Votes:
    return replace(votes, row=tuple(_cut(row, _LONGEST_ROW) for row in votes.row))


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    longest = max(_SHORTEST_CUT, min(_LONGEST_NAME, _NAMES // max(len(names), 1)))
    return tuple(_cut(name, longest) for name in names)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _plain(value: Any) -> Any:
    """What JSON knows: long texts cut, numbers with few digits, None for what is no number."""
    if isinstance(value, str):
        return _cut(value, _LONGEST_TEXT)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {_cut(str(name), _LONGEST_TEXT): _plain(entry) for name, entry in value.items()}
    if isinstance(value, date | datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {column.name: _plain(getattr(value, column.name)) for column in fields(value)}
    raise TypeError(f"a page cannot hold a {type(value).__name__}.")
