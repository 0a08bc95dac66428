"""What counts as a night, what is behind, and since when."""

from datetime import date, timedelta

import pytest
from nights import NOON, entry, night

from tasks.freshness import is_behind, is_current, is_whole, waiting_votes, with_behind
from tasks.gather import LATER, UNDATED

HELD = {"outcome": "held", "verdict": "held", "version": 2}


@pytest.mark.parametrize("state", ["Completed", "Partial", "Failed"])
def test_a_run_of_all_attributes_on_its_own_day_is_a_night(state):
    assert is_whole(night(state=state))


@pytest.mark.parametrize("other", [{"dry": True}, {"only": ("a",)}, {"as_of": NOON}])
def test_a_dry_run_some_attributes_alone_and_any_backfill_are_no_night(other):
    assert not is_whole(night(**other))


def test_dashboards_are_told_by_runs_of_today_alone():
    assert is_current(night())
    assert is_current(night(only=("a",)))
    assert not is_current(night(dry=True))
    assert not is_current(night(as_of=NOON))


@pytest.mark.parametrize(
    ("changes", "behind"),
    [
        ({}, False),
        ({"outcome": "unchanged", "live_night": date(2020, 1, 1)}, False),
        (HELD, True),
        (HELD | {"outcome": "unchanged"}, True),
        ({"outcome": "failed"}, True),
        ({"outcome": "unchanged", "version": 3}, True),
        ({"version": None}, True),
        ({"live": None}, True),
        ({"reasons": {LATER: 4}}, True),
        ({"reasons": {"missing item": 4}}, False),
    ],
    ids=[
        "published",
        "quiet for years",
        "held",
        "still held",
        "failed",
        "rolled back",
        "published by a dry run",
        "nothing live",
        "later votes left out",
        "bad rows left out",
    ],
)
def test_an_attribute_is_behind_when_something_newer_does_not_serve(changes, behind):
    assert is_behind(entry("a", **changes)) == behind


@pytest.mark.parametrize(
    ("changes", "votes"),
    [
        ({}, 0),
        (HELD, 5),
        ({"version": 3}, 5),
        ({"outcome": "failed"}, 0),
        (HELD | {"new_votes": None}, 0),
        (HELD | {"live": None}, 90),
        ({"reasons": {LATER: 4, UNDATED: 1, "missing item": 3}}, 5),
    ],
)
def test_votes_wait_that_are_known_and_do_not_serve(changes, votes):
    known = {"new_votes": 5, "rows": {"read": 99, "used": 80, "ties": 10}}
    assert waiting_votes(entry("a", **(known | changes))) == votes


def test_behind_since_the_first_of_all_nights_on_which_it_was_and_anew_once_it_was_not():
    nights = [{}, HELD, HELD | {"outcome": "unchanged"}, {"outcome": "failed"}, {}, HELD]
    found, before = [], {}
    for day, changes in enumerate(nights):
        now = NOON + timedelta(days=day)
        before = with_behind({"a": entry("a", **changes)}, before, now=now)
        found.append(before["a"].behind_since)
    first, last = NOON + timedelta(days=1), NOON + timedelta(days=5)
    assert found == [None, first, first, first, None, last]
