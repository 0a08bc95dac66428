"""The newest night published, whatever else was run since."""

from datetime import date

import pytest
from recorded_nights import backfill, kept, recorded, run_of

from tasks.freshness import is_published, newest_night


def test_a_new_store_has_published_no_night(store):
    assert newest_night(store) is None


def test_a_backfill_does_not_make_a_store_fresher(store):
    kept(store, recorded(1))
    kept(store, recorded(2))
    kept(store, backfill(5, of=1))
    assert newest_night(store) == date(2026, 11, 2)


def test_a_backfill_of_a_night_that_was_missed_does(store):
    kept(store, recorded(1))
    kept(store, backfill(5, of=4))
    kept(store, backfill(6, of=3))
    assert newest_night(store) == date(2026, 11, 4)


def test_only_runs_before_the_one_named_count(store):
    for day in (1, 2, 3):
        kept(store, recorded(day))
    assert newest_night(store, before=run_of(3)) == date(2026, 11, 2)
    assert newest_night(store, before=run_of(1)) is None


@pytest.mark.parametrize("other", [{"dry": True}, {"only": ("smiling",)}, {"state": "Failed"}])
def test_what_is_no_whole_night_does_not_count(store, other):
    kept(store, recorded(1))
    kept(store, recorded(2, **other))
    assert not is_published(recorded(2, **other))
    assert newest_night(store) == date(2026, 11, 1)


def test_a_night_on_which_some_failed_counts(store):
    kept(store, recorded(1, state="Partial"))
    assert newest_night(store) == date(2026, 11, 1)


def test_a_run_that_did_not_finish_does_not_count(store):
    kept(store, recorded(1))
    store.create(f"runs/{run_of(2)}/started.json", b"{}")
    assert newest_night(store) == date(2026, 11, 1)
