"""The overview of a night: one page that says, worst first, what to look at in the morning.

All that is decided here is decided in Python and handed to the page as plain values; the page's
script (`assets/overview.js`) makes tables and plots of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from html import escape
from statistics import median
from typing import Any
from urllib.parse import quote

import numpy as np

from tasks.coordinated import words_of
from tasks.messages import message
from tasks.report.digest import OTHER, Digest, digest_of
from tasks.report.freshness_cards import freshness
from tasks.report.overview_rows import (
    LONGEST_NAME,
    STATES,
    Kind,
    Row,
    columns_of,
    rounded,
    rows_of_attributes,
    troubles_of,
)
from tasks.report.shell import NO_ICON, page
from tasks.report.usual import Usual, against, whole_nights
from tasks.report.wording import FATES, acting_together, not_live, plain_sentence
from tasks.results import Entry, Night
from urlr.ids import shown
from urlr.sentence import Sentence

_MOST_POINTS = 150_000
"""Figures of single attributes over the nights: 1 MB of the page. With more, fewer nights."""
_MOST_NOTES = 200
_MOST_GROUPS = 50
_STAGES = {
    "all": "the whole night",
    "discover": "looking for votes",
    "registry": "asking the registry",
    "workers": "starting workers",
    "attributes": "attributes: reading, fitting and publishing",
    "fits": "of that, from the first fit to the last",
    "publishing": "of that, publishing, beside the fits",
}
"""What stages are called for people; others go by their name."""
_Column = Sequence[float | None]


def overview_page(
    night: Night,
    earlier: Sequence[Digest],
    *,
    store: str,
    library: str | None,
    links: Mapping[str, str],
    now: datetime,
    rebuilt: datetime | None = None,
) -> bytes:
    """The whole page.

    Parameters
    ----------
    earlier
        Digests of the runs before, oldest first.
    store
        Address of the store, as the commands to try again name it.
    library
        Relative address of the folder of Bokeh's files; None puts them into the page.
    links
        Relative addresses of the attributes' pages, by attribute.
    now
        The moment as of which freshness is told.
    rebuilt
        When the page was made, if that was not at the end of its night.
    """
    rows = rows_of_attributes(night, earlier)
    tonight = digest_of(night)
    last = whole_nights(earlier)
    entries = night.entries.values()
    notes = (*night.notes, *acting_together(entries), *not_live(entries))
    data = {
        "night": str(night.night),
        "run": night.run,
        "state": night.state,
        "reason": shown(night.reason, 1000),
        "sentence": plain_sentence(night),
        "finished": _when(night.finished),
        "written": int((rebuilt or now).timestamp() * 1000),
        "warnings": _warnings(night, rebuilt),
        "cards": [asdict(card) for card in freshness(night, now=now)],
        "figures": _figures(rows, tonight, last),
        "troubles": troubles_of(rows, night, store=store),
        "groups": _groups(night, links),
        "states": STATES,
        "attributes": columns_of(rows, links),
        "level": _level(night),
        "accounting": _accounting(tonight, last),
        "trend": _trend(rows, tonight, earlier),
        "drift": _drift(tonight, last),
        "took": _took(tonight, last),
        "live": _live(night, now),
        "notes": [shown(note, 500) for note in notes[:_MOST_NOTES]],
        "refused": [shown(text, 500) for text in night.refused[:_MOST_NOTES]],
        "hidden": _hidden(notes) + _hidden(night.refused),
    }
    return page(f"Night of {night.night}", "overview.js", data, library=library)


def _groups(night: Night, links: Mapping[str, str]) -> list[dict[str, str | None]]:
    """Where people act together: attribute, its page, who they are, what became of their votes."""
    found = [
        {
            "name": shown(name, LONGEST_NAME),
            "page": links.get(name),
            "words": shown(words, 600),
            "what": "" if entry.coordinated is None else words_of(entry.coordinated),
        }
        for name, entry in night.entries.items()
        for words in entry.groups
    ]
    return found[:_MOST_GROUPS]


def latest_page(run: str) -> bytes:
    """The pointer to the latest report: `report/latest.html` in the store."""
    address = escape(f"../runs/{quote(run, safe='')}/report/index.html")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:">'
        f"\n{NO_ICON}\n"
        f'<meta http-equiv="refresh" content="0; url={address}">\n'
        "<title>The latest report</title>\n</head>\n<body>\n"
        f'<p><a href="{address}">The latest report</a>, of run {escape(shown(run))}.</p>\n'
        "</body>\n</html>\n"
    ).encode()


def _warnings(night: Night, rebuilt: datetime | None) -> list[Sentence]:
    """What sets this run, or this page of it, apart from a night like every other."""
    said = []
    if rebuilt is not None:
        ended, built = _when(night.finished), _when(rebuilt)
        days = (rebuilt - night.finished).days
        said.append(
            message("built_again_later", count=days, ended=ended, rebuilt=built)
            if days > 0
            else message("built_again", ended=ended, rebuilt=built)
        )
    if night.state == "Failed":
        said.append(message("the_night_failed", why=night.reason))
    if night.as_of is not None:
        said.append(message("went_back_in_time", as_of=_when(night.as_of)))
    if night.dry:
        said.append(message("was_a_dry_run"))
    if night.only:
        said.append(message("was_of_some_attributes", count=len(night.only)))
    if night.force:
        said.append(message("was_forced"))
    return said


def _figures(rows: Sequence[Row], tonight: Digest, last: Sequence[Digest]) -> list[dict[str, Any]]:
    """The night in a handful of figures."""
    counts = {state: sum(row.state == state for row in rows) for state in STATES}
    held = counts["held back"] + counts["still held back"]
    distances = [(1 - row.tau) / 2 for row in rows if row.tau is not None]
    aucs = [row.entry.self_test.auc.value for row in rows if row.entry.self_test is not None]
    people = sum(sum(row.entry.flagged.values()) for row in rows)
    rejected = against(_share(tonight.rows, "rejected"), _shares(last, "rejected"))
    jumped: Kind = "warn" if rejected.word == "jumped up" else "calm"
    failed = counts["failed"] + counts["failed before"]
    return [
        _figure("attributes failed", failed, "bad" if failed else "good"),
        _figure("attributes held back", held, "warn" if held else "good"),
        _figure("attributes got worse", counts["got worse"], _warned(counts["got worse"])),
        _figure("of all rows rejected", rejected.tonight, jumped, "percent", rejected.word),
        _figure("median Kendall tau distance", _median(distances), "calm", "distance"),
        _figure("median self-test AUC", _median(aucs), "calm", "distance"),
        _figure("people not to trust, summed over attributes", people, "calm"),
    ]


def _warned(count: int) -> Kind:
    return "warn" if count else "good"


def _figure(
    label: str, value: float | None, kind: Kind, unit: str = "count", word: str = ""
) -> dict[str, Any]:
    return {"label": label, "value": rounded(value), "kind": kind, "unit": unit, "word": word}


def _accounting(tonight: Digest, last: Sequence[Digest]) -> dict[str, Any]:
    """Rows by fate of tonight and the last nights, newest first, and why rows do not count."""
    nights = [tonight, *last[::-1]]
    names = _labels(nights)
    reasons = []
    for reason, count in tonight.reasons.items():
        before = [None if OTHER in one.reasons else 0 for one in last]  # cut off, or none
        counts = [one.reasons.get(reason, none) for one, none in zip(last, before, strict=True)]
        reasons.append({"reason": shown(reason, 200), **_told(against(count, counts))})
    return {
        "nights": [
            {"night": name, **{fate: one.rows.get(fate, 0) for fate in FATES}}
            for name, one in zip(names, nights, strict=True)
        ],
        "reasons": reasons,
    }


def _trend(rows: Sequence[Row], tonight: Digest, earlier: Sequence[Digest]) -> dict[str, Any]:
    """Quartiles of tau over the nights, and the figures of every attribute."""
    nights = [one for one in [*earlier, tonight] if not one.dry and one.as_of is None]
    nights = nights[-max(_MOST_POINTS // max(len(rows), 1), 2) :]
    taus = [one.tau_by_attribute() for one in nights]
    spans = [np.quantile(list(tau.values()), [0.25, 0.5, 0.75]) if tau else None for tau in taus]
    quartiles = [None if span is None else [rounded(float(x)) for x in span] for span in spans]
    names = sorted(row.entry.attribute for row in rows)
    return {
        "times": [int(one.started.timestamp() * 1000) for one in nights],
        "nights": _labels(nights),
        "quartiles": quartiles,
        "counts": [len(tau) for tau in taus],
        "names": [shown(name, LONGEST_NAME) for name in names],
        "attributes": [[rounded(tau.get(name), 3) for tau in taus] for name in names],
    }


def _drift(tonight: Digest, last: Sequence[Digest]) -> dict[str, Any]:
    """Figures of the votes that came in, over the last nights and tonight."""
    nights = [*last, tonight]
    drifts = [one.drift for one in nights]
    columns: list[tuple[str, str, _Column, _Column]] = [
        ("New annotators", "people", [one.new_people for one in drifts], []),
        (
            "Ties",
            "percent",
            [one.tie_share for one in drifts],
            [one.tie_share_median for one in drifts],
        ),
        (
            "Choices for the left",
            "percent",
            [one.left_share for one in drifts],
            [one.left_share_median for one in drifts],
        ),
        (
            "Votes per item",
            "votes",
            [one.votes_per_item for one in drifts],
            [one.votes_per_item_median for one in drifts],
        ),
    ]
    return {
        "times": [int(one.started.timestamp() * 1000) for one in nights],
        "panels": [
            {
                "title": title,
                "unit": unit,
                "values": values,
                "medians": medians,
                **_told(against(values[-1], values[:-1])),
            }
            for title, unit, values, medians in columns
        ],
    }


def _took(tonight: Digest, last: Sequence[Digest]) -> list[dict[str, Any]]:
    """Durations by stage, memory, retries and workers lost, beside those of the last nights."""
    stages = {"all": tonight.seconds, **{k: v for k, v in tonight.stages.items() if k != "all"}}
    found = [
        {
            "what": _STAGES.get(name, shown(name, 80)),
            "unit": "seconds",
            **_told(
                against(
                    seconds,
                    [one.seconds if name == "all" else one.stages.get(name) for one in last],
                )
            ),
        }
        for name, seconds in stages.items()
    ]
    others = [
        ("largest memory of a worker", "bytes", [float(one.memory) for one in [*last, tonight]]),
        ("attributes tried again", "count", [float(one.retries) for one in [*last, tonight]]),
        ("workers lost", "count", [float(one.workers_lost) for one in [*last, tonight]]),
    ]
    for what, unit, values in others:
        found.append({"what": what, "unit": unit, **_told(against(values[-1], values[:-1]))})
    return found


def _told(usual: Usual) -> dict[str, Any]:
    return {
        "tonight": rounded(usual.tonight, 5),
        "low": rounded(usual.low, 5),
        "middle": rounded(usual.middle, 5),
        "high": rounded(usual.high, 5),
        "word": usual.word,
    }


def _live(night: Night, now: datetime) -> list[list[Any]]:
    """What serves since when, oldest first: name, version, since, night of its votes, days."""
    serving = [entry for entry in night.entries.values() if entry.live is not None]
    return [
        [
            shown(entry.attribute, LONGEST_NAME),
            entry.live,
            None if entry.live_since is None else _when(entry.live_since),
            None if entry.live_night is None else str(entry.live_night),
            None if entry.live_since is None else max((now - entry.live_since).days, 0),
        ]
        for entry in sorted(serving, key=_age)
    ]


def _age(entry: Entry) -> tuple[bool, datetime, str]:
    return entry.live_since is None, entry.live_since or datetime.max, entry.attribute


def _level(night: Night) -> str:
    """Coverage of the intervals of tau, where it is the same for all."""
    levels = {entry.tau.level for entry in night.entries.values() if entry.tau is not None}
    return f"{100 * levels.pop():g} %" if len(levels) == 1 else ""


def _labels(nights: Sequence[Digest]) -> list[str]:
    """Nights by their date; by the time too where two runs share one."""
    dates = [one.night for one in nights]
    return [_label(one, is_alone=dates.count(one.night) == 1) for one in nights]


def _label(one: Digest, *, is_alone: bool) -> str:
    day: date = one.night
    return str(day) if is_alone else f"{day}, {one.started.astimezone(UTC):%H:%M}"


def _share(rows: Mapping[str, int], fate: str) -> float | None:
    return rows.get(fate, 0) / rows["read"] if rows.get("read") else None


def _shares(nights: Sequence[Digest], fate: str) -> list[float | None]:
    return [_share(one.rows, fate) for one in nights]


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _hidden(texts: Sequence[str]) -> int:
    return max(len(texts) - _MOST_NOTES, 0)


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
