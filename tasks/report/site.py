"""The files of a report: where they lie in the store, and a copy of a whole site to hand on.

    runs/<run>/report/index.html         the overview of the night
    runs/<run>/report/of-<name>.html     the page of an attribute that had results that night
    runs/<run>/report/bokeh*.min.js      what the pages draw plots with
    runs/<run>/report/metrics.prom       the night's figures for dashboards
    report/latest.html                   leads to the overview of the newest night

A page loads the rest of its votes from the place of the results. An attribute that is unchanged
keeps the page of the run that last had results for it; the overview leads there. Such a page leads
back to the newest report, and to that of its own night.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from urllib.parse import quote

from tasks.evaluate import VoteTau
from tasks.messages import message
from tasks.names import AttributeNameError, encoded
from tasks.report.attribute_page import PageHead, attribute_page
from tasks.report.data import AttributePage, Interval
from tasks.report.digest import Digest
from tasks.report.overview import latest_page, overview_page
from tasks.report.page_file import PAGE, PAGES
from tasks.report.shell import library_files
from tasks.report.wording import retry, rollback
from tasks.results import Entry, Night, ResultError
from tasks.runs import RUNS
from tasks.store import NotThere, Store

OVERVIEW, METRICS = "index.html", "metrics.prom"
LATEST = "report/latest.html"

_ROOT = "../../.."
"""From a report to the root of its store."""


def page_name(attribute: str) -> str:
    """Start of the names of an attribute's files; an attribute may be called like the overview."""
    return f"of-{encoded(attribute)}"


def report_key(run: str, name: str) -> str:
    """Where a file of a run's report lies."""
    return f"{RUNS}/{run}/report/{name}"


def write_page(
    store: Store, entry: Entry, *, run: str, night: date, as_of: datetime | None = None
) -> str | None:
    """Write the page of an attribute that has results; its key, or None if they have no page."""
    data = _page_data(store, entry)
    if data is None or entry.place is None:
        return None
    key = report_key(run, f"{page_name(entry.attribute)}.html")
    head = head_of(entry, run=run, night=night, store=store.url, as_of=as_of)
    head = replace(head, latest=f"{_ROOT}/{LATEST}")
    parts = f"{_ROOT}/{quote(entry.place)}/"
    store.replace(key, attribute_page(data, head, library="./", parts=parts))
    return key


def write_overview(
    store: Store, night: Night, earlier: Sequence[Digest], *, now: datetime, metrics: bytes
) -> None:
    """Write the overview of a night, what its pages need, and its figures for dashboards."""
    links = {
        name: f"{_ROOT}/{quote(one.page)}"
        for name, one in night.entries.items()
        if one.page is not None
    }
    files = library_files() | {METRICS: metrics}
    files[OVERVIEW] = overview_page(
        night, earlier, store=store.url, library="./", links=links, now=now
    )
    for name, data in files.items():
        store.replace(report_key(night.run, name), data)


def point_to(store: Store, run: str) -> None:
    """Let the pointer lead to this run's report."""
    store.replace(LATEST, latest_page(run))


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of a whole site."""

    name: str
    data: bytes


def whole_site(
    store: Store, night: Night, earlier: Sequence[Digest], *, rebuilt: datetime
) -> Iterator[SiteFile]:
    """All pages of a night, those of unchanged attributes too, as a site of its own.

    What is fresh and what is late is told as of the end of the night, whenever it is built again.
    """
    links = {}
    for entry in night.entries.values():
        data = _page_data(store, entry)
        if data is None:
            continue
        name = page_name(entry.attribute)
        as_of = night.as_of if entry.run == night.run else None
        head = head_of(entry, run=night.run, night=night.night, store=store.url, as_of=as_of)
        page = attribute_page(data, head, library="./", parts=f"{quote(name)}.")
        yield SiteFile(f"{name}.html", page)
        links[entry.attribute] = f"{quote(name)}.html"
        n_parts = -(-data.n_listed // data.n_per_part) if data.n_per_part else 0
        for number in range(1, n_parts):
            part = f"votes-{number}.js"
            yield SiteFile(f"{name}.{part}", store.read(f"{entry.place}/{part}"))
    for name, content in library_files().items():
        yield SiteFile(name, content)
    overview = overview_page(
        night,
        earlier,
        store=store.url,
        library="./",
        links=links,
        now=night.finished,
        rebuilt=rebuilt,
    )
    yield SiteFile(OVERVIEW, overview)


def head_of(
    entry: Entry, *, run: str, night: date, store: str, as_of: datetime | None = None
) -> PageHead:
    """What the record of a night says of an attribute."""
    commands, names = [], [entry.attribute]
    if entry.outcome == "failed":
        commands.append((message("to_try_again"), retry(names, store, as_of=as_of)))
    if entry.outcome == "held":
        again = retry(names, store, as_of=as_of, force=True)
        commands.append((message("to_publish_all_the_same"), again))
    if entry.live is not None and entry.live > 1:
        commands.append((message("to_go_back"), rollback(entry.attribute)))
    methods = [*entry.held_out, *(name for name in entry.unseen if name not in entry.held_out)]
    return PageHead(
        night=night,
        run=run,
        outcome=entry.outcome,
        reason=entry.reason,
        version=entry.version,
        live=entry.live,
        live_since=entry.live_since,
        live_night=entry.live_night,
        tau=_interval(entry.tau),
        n_judged=None if entry.tau is None else entry.tau.n_votes,
        change=_interval(entry.difference),
        level=None if entry.tau is None else entry.tau.level,
        methods=tuple((name, entry.held_out.get(name), entry.unseen.get(name)) for name in methods),
        overview=OVERVIEW,
        results="" if entry.place is None else f"{store}/{entry.place}",
        commands=tuple(commands),
    )


def _page_data(store: Store, entry: Entry) -> AttributePage | None:
    """What a page shows; None if there are no results, or those of an older urlr, without it."""
    try:
        encoded(entry.attribute)
        if entry.place is None:
            return None
        key = f"{entry.place}/{PAGE}"
        return PAGES.from_bytes(store.read(key), store.address(key))
    except (NotThere, ResultError, AttributeNameError):
        return None


def _interval(tau: VoteTau | None) -> Interval | None:
    if tau is None or tau.shown is None:
        return None
    return Interval(tau.shown.value, tau.shown.low, tau.shown.high)
