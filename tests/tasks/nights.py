"""Records of nights made by hand, and metrics read back by the library's strict parser."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tasks.evaluate import Estimate, VoteTau
from tasks.report.data import Interval, SelfTest
from tasks.results import Entry, Night

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
SURE = 2.5758293035489004
"""Errors that a normal interval of 99 % reaches to either side."""


def vote_tau(value: float, *, error: float = 0.01, n_votes: int = 500) -> VoteTau:
    found = Estimate(value, value - SURE * error, value + SURE * error, error)
    return VoteTau(found, found, n_votes, 40, 0, 0, 0.99)


def self_test(auc: float) -> SelfTest:
    return SelfTest(1000, 50, Interval(auc, auc - 0.02, auc + 0.02), 0.8, 4.0)


def run_of(day: int) -> str:
    return f"202611{day:02d}T120000Z-{day:06x}"


def entry(attribute: str, *, day: int = 16, **known: Any) -> Entry:
    """What a night says of an attribute that was published and serves."""
    usual: dict[str, Any] = {
        "outcome": "published",
        "reason": "first model",
        "verdict": "published",
        "version": 1,
        "live": 1,
        "live_night": date(2026, 11, day),
        "attempts": 1,
        "computed": True,
    }
    return Entry(attribute=attribute, run=run_of(day), **(usual | known))


def night(*entries: Entry, day: int = 16, **known: Any) -> Night:
    """A night that ended at noon of a day of November."""
    usual: dict[str, Any] = {
        "state": "Completed",
        "reason": "done",
        "dry": False,
        "force": False,
        "only": (),
        "as_of": None,
        "stages": {"discover": 1.0, "attributes": 30.0, "all": 32.0},
    }
    finished = NOON + timedelta(days=day - 16)
    return Night(
        run=run_of(day),
        night=finished.date(),
        started=finished - timedelta(seconds=32),
        finished=finished,
        entries={one.attribute: one for one in entries},
        **(usual | known),
    )


def samples(text: bytes) -> dict[str, dict[tuple[str, ...], float]]:
    """Values by metric and by the values of its labels, in the order of their names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text.decode()):
        of_family = found.setdefault(family.name, {})
        for one in family.samples:
            values = tuple(one.labels[name] for name in sorted(one.labels))
            assert one.name == family.name
            assert values not in of_family
            of_family[values] = one.value
    return found


def value(text: bytes, name: str) -> float | None:
    """The only value of a metric; None where it has none."""
    return samples(text).get(name, {}).get(())
