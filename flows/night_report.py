"""What people see of a night: the table on the terminal, and what Prefect's pages show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

import pandas as pd

from flows.messages import message
from tasks.evaluate import VoteTau
from tasks.report.digest import votes_of
from tasks.report.wording import acting_together, not_live, retry, sentence, verdict, why
from tasks.results import Entry, Night
from tasks.store import Store
from urlr.ids import shown

COLUMNS = ("attribute", "votes", "pruned", "tau", "interval", "change", "verdict")
_LEFT = (0, 6)
"""Columns of text; the others are numbers."""
_ORDER = {"failed": 0, "held": 1, "published": 2, "unchanged": 3}


def night_text(night: Night, *, store: str) -> str:
    """The table of a night, why things failed or were held, and where to look next."""
    tonight = sorted(_tonight(night), key=_worst_first)
    levels = {entry.tau.level for entry in tonight if entry.tau is not None}
    interval = f"{levels.pop():.0%} interval" if len(levels) == 1 else "interval"
    header = tuple(interval if name == "interval" else name for name in COLUMNS)
    lines = [aligned([header, *(_cells(entry) for entry in tonight)]), ""]
    lines += [
        message(
            "what_failed_or_was_held",
            outcome=one.outcome,
            attribute=one.attribute,
            why=why(one),
        )
        for one in tonight
        if one.outcome in ("failed", "held")
    ]
    lines += [message("left_aside", what=what) for what in night.refused]
    lines += [message("a_note", note=note) for note in _notes(night)]
    lines += ["", sentence(night)]
    failed = [one.attribute for one in tonight if one.outcome == "failed"]
    if failed:
        command = retry(failed, store, as_of=night.as_of)
        lines.append(message("once_mended", command=command))
    return as_given("\n".join(lines).replace("\n\n\n", "\n\n"), store)


def as_given(text: str, store: str) -> str:
    """The text with addresses below the store as somebody gave it, not as it was resolved."""
    resolved = re.escape(Store.at(store).url)
    return re.sub(rf"(?<![^\s(`']){resolved}/", lambda _: f"{store.rstrip('/')}/", text)


def tau_rows(night: Night) -> list[dict[str, str]]:
    """The Kendall tau table for Prefect's pages, which show cells as they are."""
    return [
        dict(zip(COLUMNS, map(escape, _cells(entry)), strict=True))
        for entry in sorted(_tonight(night), key=_worst_first)
    ]


def summary_markdown(night: Night) -> str:
    """The night in Markdown; texts from outside are escaped."""
    lines = [f"# Night of {night.night}: {night.state}", "", as_markdown(sentence(night)), ""]
    for entry in night.tonight():
        if entry.outcome in ("failed", "held"):
            name = as_markdown(shown(entry.attribute, 80))
            lines.append(f"- **{name}** {entry.outcome}: {as_markdown(why(entry))}")
    lines += [f"- {as_markdown(text)}" for text in (*night.refused, *_notes(night))]
    return "\n".join(lines) + "\n"


def tau_table(night: Night) -> pd.DataFrame:
    """The Kendall tau report: one row per attribute with all figures, for spreadsheets."""
    table = pd.DataFrame([_figures(entry) for entry in _tonight(night)])
    return table.astype({name: "Int64" for name in ("version", "votes", "pruned") if name in table})


def _tonight(night: Night) -> list[Entry]:
    """What the run worked on; what failed without the figures the record keeps of it, of before."""
    return [
        Entry(one.attribute, one.run, "failed", one.reason) if one.outcome == "failed" else one
        for one in night.tonight()
    ]


def _notes(night: Night) -> list[str]:
    tonight = night.tonight()
    return [*night.notes, *acting_together(_tonight(night)), *not_live(tonight)]


def _worst_first(entry: Entry) -> tuple[int, str]:
    return _ORDER[entry.outcome], entry.attribute


def _figures(entry: Entry) -> dict[str, object]:
    found: dict[str, object] = {
        "attribute": entry.attribute,
        "outcome": entry.outcome,
        "version": entry.version,
        "votes": votes_of(entry) if entry.rows else None,
        "pruned": entry.n_pruned if entry.rows else None,
    }
    deciding = None if entry.tau is None else entry.tau.shown
    plain = None if entry.tau is None else entry.tau.plain
    gain = None if entry.difference is None else entry.difference.shown
    found |= {
        "tau": None if deciding is None else deciding.value,
        "tau_low": None if deciding is None else deciding.low,
        "tau_high": None if deciding is None else deciding.high,
        "tau_distance": None if deciding is None else (1 - deciding.value) / 2,
        "tau_plain": None if plain is None else plain.value,
        "gain": None if gain is None else gain.value,
        "gain_low": None if gain is None else gain.low,
        "gain_high": None if gain is None else gain.high,
    }
    for method in ("urlr", "raw", "majority", "bradley-terry"):
        name = method.replace("-", "_")
        found[f"{name}_held_out"] = entry.held_out.get(method)
        found[f"{name}_unseen"] = entry.unseen.get(method)
    return found | {"truth": entry.truth, "last_scores": entry.tau_between, "reason": entry.reason}


def aligned(rows: Iterable[Sequence[str]], *, left: Sequence[int] = _LEFT) -> str:
    """Rows of cells in columns, two spaces apart."""
    rows = list(rows)
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _cells(entry: Entry) -> tuple[str, ...]:
    votes = votes_of(entry)
    tau, interval = figures(entry.tau)
    change = ""
    if entry.outcome in ("published", "held") and entry.difference is not None:
        gained = entry.difference.shown
        change = "" if gained is None else f"{gained.value:+.3f}"
    return (
        shown(entry.attribute, 40),
        f"{votes:,}" if entry.rows else "",
        f"{entry.n_pruned / votes:.0%}" if votes else "",
        tau,
        interval,
        change,
        verdict(entry),
    )


def figures(tau: VoteTau | None) -> tuple[str, str]:
    """Tau by the figure that decides, and its interval."""
    if tau is None or tau.shown is None:
        return "", ""
    return f"{tau.shown.value:.3f}", f"{tau.shown.low:.2f} to {tau.shown.high:.2f}"


def as_markdown(text: str) -> str:
    """Text as Markdown shows it, none of its signs meaning anything."""
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", escape(text))
