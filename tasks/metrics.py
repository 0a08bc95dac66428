"""The figures of a night for dashboards and alerts, as OpenMetrics text.

Prometheus reads the text as OpenMetrics; node_exporter's textfile collector reads it in the older
format, which knows neither infos nor counters of the new kind. Gauges are written alike in both, so
everything here is a gauge. An attribute is a label only among the worst few: a thousand attributes
make no more series than ten. What is not known has no sample.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from tasks.freshness import (
    Earlier,
    is_behind,
    is_whole,
    latest,
    newest_vote,
    waiting_votes,
)
from tasks.gate import GateSettings
from tasks.gather import DELIVERED_TWICE, LATER, UNDATED
from tasks.messages import message
from tasks.regression import regressed
from tasks.results import Entry, Night, Outcome
from urlr.errors import UrlrError
from urlr.ids import shown
from urlr.votes.table import REASONS

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
TEXTFILE = "urlr.prom"
_FATES = ("used", "ties", "skipped", "rejected")
_OUTCOMES: tuple[Outcome, ...] = ("published", "held", "unchanged", "failed")
_SKIPPED = {*REASONS[1:4], LATER, UNDATED, DELIVERED_TWICE}
"""Reasons for which rows are skipped, the method's first ones among them; others reject them."""
_OTHER = "other"
_LONGEST = 80
"""Signs of a label's value."""

Samples = dict[tuple[str, ...], float]
"""Values by those of the labels."""


class MetricsError(UrlrError):
    """The figures cannot be written; the text says where, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What a figure is called, and what it says."""

    help: str
    labels: tuple[str, ...] = ()


METRICS: dict[str, Metric] = {
    "urlr_night_info": Metric("The last run: always 1.", ("run", "night", "state")),
    "urlr_last_success_timestamp_seconds": Metric(
        "End of the last night of all attributes that was Completed or Partial."
    ),
    "urlr_last_completion_timestamp_seconds": Metric(
        "End of the last night of all attributes, failed ones included."
    ),
    "urlr_published_night_timestamp_seconds": Metric(
        "The newest night that a live model was made from, its beginning in UTC."
    ),
    "urlr_newest_vote_timestamp_seconds": Metric("When the newest vote known was cast."),
    "urlr_unpublished_votes": Metric("Votes that no live model has, at least."),
    "urlr_unpublished_attributes": Metric(
        "Attributes that failed, are held or rolled back, or have no live model."
    ),
    "urlr_live_attributes": Metric("Attributes with a live model."),
    "urlr_oldest_live_night_timestamp_seconds": Metric(
        "The oldest night that a live model was made from."
    ),
    "urlr_behind_since_timestamp_seconds": Metric(
        "Since when what serves has lacked newer results, or the attribute has failed, of the "
        "attributes with a live model for which it is longest.",
        ("attribute",),
    ),
    "urlr_attributes": Metric("Attributes by what became of them when last worked on.", ("state",)),
    "urlr_held_attributes": Metric("Attributes whose last results the gate held, whenever."),
    "urlr_rows": Metric("Rows of all dumps that the last results rest on, by fate.", ("fate",)),
    "urlr_rejected_rows": Metric("Rejected rows by reason, rare reasons together.", ("reason",)),
    "urlr_refused_objects": Metric("Objects under votes that belong to no attribute."),
    "urlr_dump_size_bytes": Metric("Size of all dumps."),
    "urlr_new_votes": Metric("Votes that the results before did not have."),
    "urlr_tau_quantile": Metric(
        "Kendall tau with votes the model has not seen, its quantiles over attributes.", ("q",)
    ),
    "urlr_worst_tau": Metric("Kendall tau of the attributes with the smallest.", ("attribute",)),
    "urlr_regressed_attributes": Metric(
        "Attributes whose challenger is worse than the champion, one in twenty by mistake."
    ),
    "urlr_regressed_tau_change": Metric(
        "Kendall tau of the challenger less that of the champion, of the surest regressions.",
        ("attribute",),
    ),
    "urlr_self_test_auc_quantile": Metric(
        "How well votes flipped on purpose are found, quantiles over attributes.", ("q",)
    ),
    "urlr_worst_self_test_auc": Metric(
        "How well they are found in the attributes where it is worst.", ("attribute",)
    ),
    "urlr_flagged_people": Metric(
        "People not to trust by verdict; who votes on two attributes may count twice.",
        ("verdict",),
    ),
    "urlr_coordinated_people": Metric(
        "People who act together with others; who does on two attributes may count twice."
    ),
    "urlr_coordinated_votes": Metric(
        "Votes of people who act together, by whether they count in the ranking.", ("fate",)
    ),
    "urlr_most_coordinated_votes": Metric(
        "Votes of people who act together, of the attributes with most of them.", ("attribute",)
    ),
    "urlr_new_people": Metric("People who voted on an attribute for the first time."),
    "urlr_left_share_quantile": Metric(
        "Share of choices for what was shown on the left, quantiles over attributes.", ("q",)
    ),
    "urlr_stage_duration_seconds": Metric("Time of each stage of the run.", ("stage",)),
    "urlr_night_duration_seconds": Metric("Time of the whole run."),
    "urlr_compute_seconds": Metric("CPU time of all fits of the run."),
    "urlr_peak_memory_bytes": Metric("Peak memory of the largest fit of the run."),
    "urlr_retries": Metric("Attributes tried once more in the run."),
    "urlr_workers_lost": Metric("Workers that died in the run."),
}
"""Every metric there is, by name."""


def night_metrics(
    night: Night,
    *,
    past: Earlier = Earlier(),  # noqa: B008  (frozen)
    worst: int = 10,
    reasons: int = 8,
    fewest_votes: int = GateSettings().fewest_votes,
) -> bytes:
    """The figures of a night, with the worst attributes and the most frequent reasons by name.

    A tau that rests on fewer held-out votes than the gate asks for shows nothing and is left out.
    """
    from prometheus_client import CollectorRegistry, Gauge
    from prometheus_client.openmetrics.exposition import generate_latest

    entries = _present(night, past)
    figures = {
        **_freshness(night, entries, past, worst=worst),
        **_attributes(night, entries, worst=worst, fewest_votes=fewest_votes),
        **_votes(night, entries, reasons=reasons),
        **_coordinated(entries, worst=worst),
        **_running(night),
    }
    registry = CollectorRegistry()
    for name, metric in METRICS.items():
        samples = figures[name]
        if not samples and not metric.labels:
            continue
        gauge = Gauge(name, metric.help, metric.labels, registry=registry)
        for values, figure in samples.items():
            (gauge.labels(*values) if metric.labels else gauge).set(figure)
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text


def write_textfile(data: bytes, directory: Path, *, name: str = TEXTFILE) -> Path:
    """Put the text where node_exporter's textfile collector finds it, whole or not at all.

    Anybody may read it, since the collector runs as somebody else.
    """
    target = directory / name
    hidden = directory / f".{name}.{secrets.token_hex(8)}.tmp"  # the collector reads *.prom
    try:
        with hidden.open("xb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o644)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(target)
    except OSError as error:
        why = error.strerror or str(error)
        failure = MetricsError(message("metrics_not_written", path=str(target), why=why))
    else:
        return target
    finally:
        _forget(hidden)
    raise failure


def _forget(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # nor could it be written
        return


def _present(night: Night, past: Earlier) -> list[Entry]:
    """The attributes there are: all of a whole night, or those that were there at the last one."""
    if not night.only:
        return night.tonight()
    since = past.run or ""
    return [entry for entry in night.entries.values() if entry.run >= since]


def _freshness(
    night: Night, entries: Sequence[Entry], past: Earlier, *, worst: int
) -> dict[str, Samples]:
    ended = night.finished if is_whole(night) else None
    success = ended if night.state != "Failed" else None
    newest = newest_vote(entries, night)
    nights = [entry.live_night for entry in entries if entry.live_night is not None]
    behind = [
        (_seconds(entry.behind_since), entry)
        for entry in entries
        if entry.behind_since is not None and entry.live is not None
    ]
    info = (shown(night.run, _LONGEST), night.night.isoformat(), night.state)
    return {
        "urlr_night_info": {info: 1.0},
        "urlr_last_success_timestamp_seconds": _time(latest([success, past.success])),
        "urlr_last_completion_timestamp_seconds": _time(latest([ended, past.completion])),
        "urlr_published_night_timestamp_seconds": _time(max(nights, default=None)),
        "urlr_newest_vote_timestamp_seconds": _time(latest([newest, past.newest])),
        "urlr_unpublished_votes": _one(sum(map(waiting_votes, entries))),
        "urlr_unpublished_attributes": _one(sum(map(is_behind, entries))),
        "urlr_live_attributes": _one(sum(entry.live is not None for entry in entries)),
        "urlr_oldest_live_night_timestamp_seconds": _time(min(nights, default=None)),
        "urlr_behind_since_timestamp_seconds": _smallest(behind, worst),
    }


def _attributes(
    night: Night, entries: Sequence[Entry], *, worst: int, fewest_votes: int
) -> dict[str, Samples]:
    states = Counter(entry.outcome for entry in entries)
    taus = [
        (entry.tau.deciding.value, entry)
        for entry in entries
        if entry.tau is not None
        and entry.tau.deciding is not None
        and entry.tau.n_votes >= fewest_votes
    ]
    tests = [(entry.self_test.auc.value, entry) for entry in entries if entry.self_test is not None]
    worse = regressed(_as_of_one_night(night, entries), fewest_votes=fewest_votes)
    changes = [
        (entry.difference.deciding.value, entry)
        for entry in worse[:worst]
        if entry.difference is not None and entry.difference.deciding is not None
    ]
    left = [entry.left_share for entry in entries if entry.left_share is not None]
    return {
        "urlr_attributes": {(name,): float(states[name]) for name in _OUTCOMES},
        "urlr_held_attributes": _one(sum(entry.verdict == "held" for entry in entries)),
        "urlr_tau_quantile": _quantiles([tau for tau, _ in taus]),
        "urlr_worst_tau": _smallest(taus, worst),
        "urlr_regressed_attributes": _one(len(worse)),
        "urlr_regressed_tau_change": _smallest(changes, worst),
        "urlr_self_test_auc_quantile": _quantiles([auc for auc, _ in tests]),
        "urlr_worst_self_test_auc": _smallest(tests, worst),
        "urlr_left_share_quantile": _quantiles(left),
    }


def _as_of_one_night(night: Night, entries: Sequence[Entry]) -> Night:
    """The night as if it had worked on all these: a run of one attribute hides no regression."""
    return replace(
        night, entries={entry.attribute: replace(entry, run=night.run) for entry in entries}
    )


def _votes(night: Night, entries: Sequence[Entry], *, reasons: int) -> dict[str, Samples]:
    """Of attributes that failed, nobody has counted tonight's rows."""
    rows: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    read = [entry for entry in entries if entry.outcome != "failed"]
    for entry in read:
        rows.update(entry.rows)
        rejected.update({why: n for why, n in entry.reasons.items() if why not in _SKIPPED})
        flagged.update(entry.flagged)
    fitted = [entry for entry in read if entry.outcome != "unchanged"]
    return {
        "urlr_rows": {(fate,): float(rows[fate]) for fate in _FATES},
        "urlr_rejected_rows": _most_frequent(rejected, reasons),
        "urlr_refused_objects": _one(len(night.refused)),
        "urlr_dump_size_bytes": _one(sum(entry.size for entry in entries)),
        "urlr_new_votes": _one(sum(entry.new_votes or 0 for entry in fitted)),
        "urlr_flagged_people": _most_frequent(flagged, reasons),
        "urlr_new_people": _one(sum(entry.new_people or 0 for entry in fitted)),
    }


def _coordinated(entries: Sequence[Entry], *, worst: int) -> dict[str, Samples]:
    """Of attributes that failed, what is known is of the votes of an earlier night."""
    read = [entry for entry in entries if entry.outcome != "failed"]
    found = [(entry.coordinated, entry) for entry in read if entry.coordinated is not None]
    counting = sum(one.counting for one, _ in found)
    most = _smallest([(-one.votes, entry) for one, entry in found], worst)
    return {
        "urlr_coordinated_people": _one(sum(one.people for one, _ in found)),
        "urlr_coordinated_votes": {
            ("set aside",): float(sum(one.votes for one, _ in found) - counting),
            ("counted",): float(counting),
        },
        "urlr_most_coordinated_votes": {labels: -votes for labels, votes in most.items()},
    }


def _running(night: Night) -> dict[str, Samples]:
    tonight = night.tonight()
    stages: Samples = {(shown(name),): one for name, one in night.stages.items() if name != "all"}
    return {
        "urlr_stage_duration_seconds": stages,
        "urlr_night_duration_seconds": _one((night.finished - night.started).total_seconds()),
        "urlr_compute_seconds": _one(sum(entry.seconds for entry in tonight)),
        "urlr_peak_memory_bytes": _one(
            max((entry.memory for entry in tonight if entry.computed), default=0)
        ),
        "urlr_retries": _one(sum(max(entry.attempts - 1, 0) for entry in tonight)),
        "urlr_workers_lost": _one(night.workers_lost),
    }


def _seconds(moment: date | datetime) -> float:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return moment.timestamp()


def _time(moment: date | datetime | None) -> Samples:
    return {} if moment is None else _one(_seconds(moment))


def _one(figure: float) -> Samples:
    return {(): float(figure)}


def _quantiles(figures: Sequence[float]) -> Samples:
    if not figures:
        return {}
    found = np.quantile(np.asarray(figures, np.float64), QUANTILES)
    return {(f"{q:g}",): float(figure) for q, figure in zip(QUANTILES, found, strict=True)}


def _smallest(figures: Sequence[tuple[float, Entry]], count: int) -> Samples:
    """The smallest by attribute; of names that look alike when shortened, the smaller."""
    found: Samples = {}
    for figure, entry in sorted(figures, key=lambda one: (one[0], one[1].attribute)):
        if len(found) < count:
            found.setdefault((shown(entry.attribute, _LONGEST),), figure)
    return found


def _most_frequent(counts: Counter[str], count: int) -> Samples:
    """The most frequent by name, and all others together."""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    found: Samples = {}
    for place, (name, n) in enumerate(ranked):
        label = (shown(name, _LONGEST) if place < count else _OTHER,)
        found[label] = found.get(label, 0.0) + n
    return found
