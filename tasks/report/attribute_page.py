"""The page of an attribute: one file, and the list of suspicious votes in parts beside it.

A page is bounded, whatever the attribute (`bounded.py`): below 5 MB, and so is each part. Votes
beyond the first part lie in files of their own, which the page loads as scripts: those open from a
folder, where `fetch` does not.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import Literal

from tasks.messages import message
from tasks.report.bounded import PART_BYTES, Tables, kept_page, page_content, plain, size
from tasks.report.data import AttributePage, Interval, Votes
from tasks.report.shell import page, part
from urlr.errors import ArgumentError

N_PER_PART = 2_000
"""Votes in a part, where they take no more than `PART_BYTES`: 0.45 MB where each has a
contradiction of 110 signs, so that a page of 1,000 items, 300 people and the first part takes 0.64
MB."""
MOST_INSIDE = 4_500_000
"""Bytes up to which a page that stands alone keeps all its votes inside; Bokeh takes 1.4 MB."""

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
    """Version that served when the night was over."""
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
    """Relative address of the overview of that night."""
    latest: str | None = None
    """Relative address of the newest report, which may be of a later night."""
    results: str = ""
    """Address of the folder with the whole tables; empty: beside the page."""
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
        raise ArgumentError(
            message("votes_not_cut", given=n_here, listed=n_listed, per_part=n_per_part)
        )
    content = page_content(replace(data, n_listed=n_listed, n_per_part=n_per_part))
    told = plain(head) | {"commands": head.commands}  # half a command would be another one
    content = {"data": content, "head": told}
    return page(
        data.attribute, "attribute.js", content, beside=_SCRIPTS, library=library, parts=parts
    )


def vote_parts(
    data: AttributePage, *, n_per_part: int = N_PER_PART, most_bytes: int = PART_BYTES
) -> VoteParts:
    """Cut the votes of a page that has all of them; no part is larger than `most_bytes`."""
    if data.votes is None:
        return VoteParts(kept_page(data), {})
    votes, n_listed = data.votes, len(data.votes.row)
    tables = Tables.of(data)
    while True:
        starts = range(0, max(n_listed, 1), n_per_part)
        cut = [tables.votes(_slice(votes, start, start + n_per_part)) for start in starts]
        if n_per_part == 1 or max(map(size, cut)) <= most_bytes:
            break
        n_per_part //= 2
    files = {f"votes-{k}.js": part(f"votes-{k}", cut[k]) for k in range(1, len(cut))}
    first = _slice(votes, 0, n_per_part)
    page = replace(data, votes=first, n_listed=n_listed, n_per_part=n_per_part)
    return VoteParts(kept_page(page), files)


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
