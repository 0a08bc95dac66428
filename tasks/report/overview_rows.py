"""The attributes of a night as the overview lists them, worst first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from tasks.evaluate import Estimate, VoteTau
from tasks.regression import regressed
from tasks.report.digest import Digest, new_votes_of, rounded_tau, votes_of
from tasks.report.wording import retry, verdict, why
from tasks.results import Entry, Night
from urlr.ids import shown

Kind = Literal["bad", "warn", "good", "calm"]
STATES: dict[str, Kind] = {
    "failed": "bad",
    "failed before": "bad",
    "held back": "warn",
    "still held back": "warn",
    "got worse": "warn",
    "published": "good",
    "unchanged": "calm",
    "not looked at": "calm",
}
"""What an attribute can be, worst first, and the colour that goes with the word."""
TROUBLES = ("failed", "failed before", "held back", "still held back")
LONGEST_NAME = 200
"""Signs of a name that are shown; one that is refused may be of any length."""
_PLACE = {"failed": 0, "failed before": 1, "held back": 2, "still held back": 3, "got worse": 4}
_MOST_TROUBLES = 2000
"""Of which the reason is told; a page of 10,000 failures would be several MB of the same words."""
_MOST_NAMED = 20
"""Attributes that one command names; for more of them it is the command of the whole night."""


@dataclass(frozen=True, slots=True)
class Row:
    """An attribute, its state, and how its tau changed since the night before."""

    entry: Entry
    state: str
    change: float | None

    @property
    def tau(self) -> float | None:
        """By the figure that decides."""
        return rounded_tau(self.entry)


def rows_of_attributes(night: Night, earlier: Sequence[Digest]) -> list[Row]:
    """Every attribute ever seen: failed, held back, got worse, then the lowest tau first."""
    before: dict[str, float] = {}
    for digest in earlier:  # the last that has it counts
        if not digest.dry and digest.as_of is None:
            before |= digest.tau_by_attribute()
    worse = {entry.attribute for entry in regressed(night)}
    rows = [
        Row(entry, _state(entry, night, is_worse=name in worse), _change(entry, before.get(name)))
        for name, entry in night.entries.items()
    ]
    return sorted(rows, key=_worst_first)


def _worst_first(row: Row) -> tuple[int, float, str]:
    tau = math.inf if row.tau is None else row.tau
    return _PLACE.get(row.state, len(_PLACE)), tau, row.entry.attribute


def _change(entry: Entry, before: float | None) -> float | None:
    tau = rounded_tau(entry)
    return None if tau is None or before is None else round(tau - before, 4)


def _state(entry: Entry, night: Night, *, is_worse: bool) -> str:
    is_tonight = entry.run == night.run
    if entry.outcome == "failed":
        return "failed" if is_tonight else "failed before"
    if entry.verdict == "held":
        return "held back" if is_tonight and entry.outcome == "held" else "still held back"
    if not is_tonight:
        return "not looked at"
    if entry.outcome == "published" and is_worse:
        return "got worse"
    return "unchanged" if entry.outcome == "unchanged" else "published"


def columns_of(rows: Sequence[Row], links: Mapping[str, str]) -> dict[str, list[Any]]:
    """The rows as columns of plain values, for the page's table."""
    found = [_cells(row, links.get(row.entry.attribute)) for row in rows]
    names = found[0] if found else {}
    return {name: [cells[name] for cells in found] for name in names}


def _cells(row: Row, link: str | None) -> dict[str, Any]:
    entry = row.entry
    tau = _interval(_estimate(entry.tau))
    told = entry.outcome in ("published", "held") or entry.verdict == "held"
    gain = _interval(_estimate(entry.difference) if told else None)
    auc = None if entry.self_test is None else entry.self_test.auc
    votes = votes_of(entry)
    has_results = entry.key is not None
    n_aside = entry.n_pruned - entry.n_turned
    return {
        "name": shown(entry.attribute, LONGEST_NAME),
        "link": link,
        "state": row.state,
        "verdict": verdict(entry),
        "votes": votes if has_results else None,
        "new": new_votes_of(entry),
        "aside": rounded(n_aside / votes) if votes and has_results else None,
        "distance": [None if x is None else rounded((1 - x) / 2) for x in (tau[0], tau[2], tau[1])],
        "change": row.change,
        "gain": gain,
        "auc": [None, None, None] if auc is None else _three(auc.value, auc.low, auc.high),
        "people": sum(entry.flagged.values()) if has_results else None,
        "seconds": rounded(entry.seconds, 2) if entry.computed else None,
        "live": entry.live,
        "since": None if entry.live_since is None else f"{entry.live_since:%Y-%m-%d}",
    }


def troubles_of(rows: Sequence[Row], night: Night, *, store: str) -> dict[str, Any]:
    """What failed or was held back: why, and the commands that try again."""
    found = [row for row in rows if row.state in TROUBLES]
    failed = [row for row in found if row.state.startswith("failed")]
    return {
        "rows": [
            {
                "name": shown(row.entry.attribute, LONGEST_NAME),
                "state": row.state,
                "why": shown(why(row.entry), 1000),
                "command": _command(row, store, night.as_of),
            }
            for row in found[:_MOST_TROUBLES]
        ],
        "more": max(len(found) - _MOST_TROUBLES, 0),
        "failed": len(failed),
        "held": len(found) - len(failed),
        "commands": _commands(failed, store, night.as_of),
    }


def _command(row: Row, store: str, as_of: datetime | None) -> str:
    is_held = not row.state.startswith("failed")
    return retry([row.entry.attribute], store, as_of=_asked(row, as_of), force=is_held)


def _commands(failed: Sequence[Row], store: str, as_of: datetime | None) -> list[str]:
    """The command for all that failed; a night of the past is asked for by what failed in it."""
    moments: dict[datetime | None, list[str]] = {}
    for row in failed:
        moments.setdefault(_asked(row, as_of), []).append(row.entry.attribute)
    return [
        retry(names if len(names) <= _MOST_NAMED else [], store, as_of=moment)
        for moment, names in moments.items()
    ]


def _asked(row: Row, as_of: datetime | None) -> datetime | None:
    """The moment that a row's attribute was asked for; not what failed in an earlier run."""
    return as_of if row.state in ("failed", "held back") else None


def rounded(value: float | None, digits: int = 4) -> float | None:
    """A number as the page gets it; None for what JSON does not know."""
    return None if value is None or not math.isfinite(value) else round(value, digits)


def _estimate(tau: VoteTau | None) -> Estimate | None:
    return None if tau is None else tau.shown


def _interval(figure: Estimate | None) -> list[float | None]:
    if figure is None:
        return [None, None, None]
    return _three(figure.value, figure.low, figure.high)


def _three(value: float, low: float, high: float) -> list[float | None]:
    return [rounded(value), rounded(low), rounded(high)]
