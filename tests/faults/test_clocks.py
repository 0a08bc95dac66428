"""Nights when the clocks change: one night a day, and every vote on its side of the moment.

Of the last there is one night of the command, on a machine that lives by such clocks.
"""

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta

import pandas as pd
import pytest
from bad_dumps import N_VOTES, VOTES, features
from cases import passed
from judge import Seen, judge_entry, judge_night
from registries import MLFLOW_WARNS
from sites import Site, site_at
from stored_votes import put

from flows.night import Asked
from flows.nightly_command import _moment
from tasks.gather import LATER, gather_votes
from tasks.runs import new_run
from tasks.store import Store
from tasks.write import table_bytes

pytestmark = MLFLOW_WARNS

ZONE = "Europe/Berlin"
BACK = datetime(2026, 10, 25, 1, 0, tzinfo=UTC)
"""At 3:00 summer time it is 2:00 again."""
FORTH = datetime(2027, 3, 28, 1, 0, tzinfo=UTC)
"""At 2:00 it is 3:00."""
SCHEDULES = {
    f"the schedule {cron} where clocks go {how}": (cron, change)
    for cron in ("30 2 * * *", "0 3 * * *", "15 1 * * *")
    for how, change in (("back", BACK), ("forth", FORTH))
}
TWICE = ("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00")
"""Half past two, in summer time and an hour later in winter time."""
BETWEEN = "2026-10-25T02:45:00+02:00"


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that lives by the clocks of Berlin."""
    monkeypatch.setenv("TZ", ZONE)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
    assert os.environ.get("TZ") != ZONE


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_has_one_night_a_day(name):
    from prefect.server.schemas.schedules import CronSchedule

    cron, change = SCHEDULES[name]
    schedule = CronSchedule(cron=cron, timezone=ZONE)
    begin = change - timedelta(days=3)
    dates = asyncio.run(schedule.get_dates(n=6, start=begin))
    local = [pd.Timestamp(moment).tz_convert(ZONE).date() for moment in dates]
    assert len(set(local)) == len(local)
    assert [(later - earlier).days for earlier, later in itertools.pairwise(local)] == [1] * 5
    passed("clocks", name, Seen("one night a day", ", ".join(str(day) for day in local)))


@pytest.mark.parametrize("change", [BACK, FORTH])
def test_runs_are_named_in_the_order_they_begin(berlin, change):
    moments = [change + timedelta(minutes=30 * k) for k in range(-3, 4)]
    names = [new_run(moment) for moment in moments]
    assert names == sorted(names)
    assert [Asked().night(moment) for moment in moments] == [one.date() for one in moments]


def test_votes_of_the_hour_that_comes_twice_are_told_apart(berlin, tmp_path):
    """2:30 summer time is before 2:30 winter time, and a night as of 2:45 has the first alone."""
    store = Store.at(tmp_path)
    votes = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"], "time": TWICE})
    dump = put(store, "votes/x/1.csv", votes)
    gathered = gather_votes(store, [dump], attribute="x", as_of=_moment(BETWEEN))
    assert gathered.votes["winner"].tolist() == ["a"]
    assert gathered.left_out == {LATER: 1}
    both = gather_votes(store, [dump], attribute="x", as_of=_moment("2026-10-25"))
    assert both.votes["winner"].tolist() == ["a", "b"]


@pytest.mark.full
def test_a_night_in_the_hour_that_comes_twice_has_the_votes_before_it_alone(
    berlin: None, tmp_path_factory: pytest.TempPathFactory, run_here: Callable[[Site], Site]
) -> None:
    """The command, by clocks that go back a quarter of an hour after the moment asked for."""
    place = tmp_path_factory.mktemp("clocks")
    site = run_here(site_at(place, Store.at(place / "store"), None, TZ=ZONE))
    later = 100
    times = [TWICE[0]] * (N_VOTES - later) + [TWICE[1]] * later
    site.put("features/all.csv", features())
    site.put("votes/smiling/1.csv", table_bytes(VOTES.assign(time=times), "1.csv"))
    done = site.night("--as-of", BETWEEN)
    night = judge_night(site, done, {})
    said = f"{later} rows {LATER}"
    seen = judge_entry(night, done, "smiling", outcome="published", said=said)
    entry = night.entries["smiling"]
    assert (entry.rows["read"], entry.rows["skipped"]) == (N_VOTES, later)
    assert entry.newest == datetime.fromisoformat(TWICE[0])
    assert night.night == date(2026, 10, 25)
    passed("clocks", "votes cast in the hour that comes twice", seen)


def test_a_day_without_a_zone_is_a_day_in_utc(berlin):
    assert _moment("2026-10-25") == datetime(2026, 10, 25, 23, 59, 59, 999999, tzinfo=UTC)
