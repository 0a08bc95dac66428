"""Runs in a store: how they are named, and what a new one finds of those before it."""

import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from cases import passed
from judge import Seen
from recorded_nights import TAU, result
from refusals import refused

from tasks.results import NIGHTS, RESULT, RESULTS, RUN, Entry, Night, Result, ResultError
from tasks.runs import names_of, new_run, past_of, place_of, read_night
from tasks.store import Store

FIRST, SECOND, THIRD = (f"2026110{day}T020000Z-0a1b2c" for day in (1, 2, 3))
LIVE = "records and aliases are not as a night left them"
UNREADABLE = {"not_a_record": b"{", "newer_record": b'{"schema": 999, "run": 1}'}
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def here(tmp_path) -> Store:
    return Store.at(tmp_path / "store")


def entry(key: str, run: str, name: str = "smiling") -> Entry:
    return Entry(name, run, "published", "first model", key, place_of(run, name), tau=TAU)


def night(run: str, entries: dict[str, Entry] | None = None, **other) -> Night:
    plain = Night(
        run=run,
        night=date(2026, 11, 1),
        started=NOON,
        finished=NOON,
        state="Completed",
        reason="1 attribute done",
        dry=False,
        force=False,
        only=(),
        as_of=None,
        entries=entries or {},
    )
    return replace(plain, **other)


def finish(store: Store, done: Night) -> None:
    store.create(f"runs/{done.run}/{RUN}", NIGHTS.to_bytes(done))


def keep(store: Store, one: Result) -> None:
    store.create(f"{one.place}/{RESULT}", RESULTS.to_bytes(one))


def test_names_of_runs_sort_by_the_time_they_began():
    moments = [NOON + timedelta(seconds=k) for k in (0, 1, 3600, 86_400 * 300)]
    names = [new_run(moment) for moment in moments]
    assert names == sorted(names)
    assert new_run(NOON) != new_run(NOON)
    east = timezone(timedelta(hours=9))
    assert new_run(NOON.astimezone(east))[:16] == new_run(NOON)[:16] == "20261101T120000Z"


def test_records_are_read_as_they_were_written():
    one = replace(result(), truth=None)
    assert RESULTS.from_bytes(RESULTS.to_bytes(one), "here") == one
    assert RESULTS.from_bytes(RESULTS.to_bytes(one), "here").seconds == one.seconds
    read = RESULTS.from_bytes(RESULTS.to_bytes(result()), "here")
    assert math.isnan(read.truth.tau)
    assert read.tau.plain.error == math.inf
    done = night(FIRST, {"Größe/<b>": entry("k", FIRST)}, as_of=NOON, stages={"all": 1.0})
    assert NIGHTS.from_bytes(NIGHTS.to_bytes(done), "here") == done


def test_records_are_json_that_everybody_reads():
    data = RESULTS.to_bytes(result())
    assert b"Infinity" not in data
    assert b"NaN" not in data
    assert data == RESULTS.to_bytes(result())


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"attribute": 1}'])
def test_a_record_that_cannot_be_read_is_named(data):
    with refused(ResultError, "not_a_record", path="runs/x/result.json", kind="result") as bad:
        RESULTS.from_bytes(data, "runs/x/result.json")
    assert str(bad.value).isprintable()


def test_a_new_store_has_no_past(store):
    past = past_of(store)
    assert (past.last, past.known, past.unfinished, past.entries) == (None, {}, (), {})


def test_runs_are_listed_newest_first_and_other_folders_passed_over(store):
    for run in (SECOND, FIRST, THIRD):
        finish(store, night(run))
    store.create("runs/latest/run.json", b"{}")
    store.create("runs/report.html", b"")
    assert names_of(store) == [THIRD, SECOND, FIRST]
    assert read_night(store, SECOND).run == SECOND
    assert read_night(store, "20261109T020000Z-0a1b2c") is None


def test_the_last_finished_run_tells_of_every_attribute(store):
    finish(store, night(FIRST, {"old": entry("k0", FIRST, "old")}))
    finish(store, night(SECOND, {"smiling": entry("k1", FIRST)}))
    past = past_of(store)
    assert past.last.run == SECOND
    assert list(past.entries) == ["smiling"]
    assert past.known == {"k1": place_of(FIRST, "smiling")}


def test_what_a_run_that_died_computed_is_known(store):
    finish(store, night(FIRST, {"smiling": entry("k1", FIRST)}))
    keep(store, result("k2", run=SECOND))
    store.create(f"{place_of(SECOND, 'young')}/scores.parquet", b"not whole")
    past = past_of(store)
    assert past.last.run == FIRST
    assert past.unfinished == (SECOND,)
    assert past.known == {
        "k1": place_of(FIRST, "smiling"),
        "k2": place_of(SECOND, "smiling"),
    }


def test_of_a_dry_run_only_the_results_count(store):
    finish(store, night(FIRST, {"smiling": entry("k1", FIRST)}))
    keep(store, result("k2", run=SECOND))
    finish(store, night(SECOND, {"smiling": entry("k2", SECOND)}, dry=True))
    past = past_of(store)
    assert past.last.run == FIRST
    assert past.unfinished == ()
    assert past.entries["smiling"].key == "k1"
    assert past.known["k2"] == place_of(SECOND, "smiling")


def test_a_night_of_the_past_is_not_the_night_before_but_its_results_count(store):
    finish(store, night(FIRST, {"smiling": entry("k1", FIRST)}))
    finish(store, night(SECOND, {"smiling": entry("k2", SECOND)}, as_of=NOON))
    past = past_of(store)
    assert (past.last.run, past.newest.run) == (FIRST, SECOND)
    assert past.known == {"k1": place_of(FIRST, "smiling"), "k2": place_of(SECOND, "smiling")}


def test_the_night_before_a_night_of_the_past_is_of_its_day_or_earlier(store):
    day = date(2026, 10, 20)
    finish(store, night(FIRST, {"smiling": entry("k1", FIRST)}, night=day, as_of=NOON))
    finish(store, night(SECOND, {"smiling": entry("k2", SECOND)}, night=date(2026, 11, 2)))
    assert past_of(store, day=date(2026, 10, 21)).last.run == FIRST
    assert past_of(store, day=day).last.run == FIRST
    assert past_of(store, day=date(2026, 10, 19)).last is None
    assert past_of(store, day=date(2026, 10, 19)).known.keys() == {"k1", "k2"}


def test_results_that_could_not_be_taken_to_the_gate_are_known(store):
    waiting = {"k2": place_of(SECOND, "smiling")}
    failed = replace(entry("k1", FIRST), outcome="failed", waiting=waiting)
    finish(store, night(SECOND, {"smiling": failed}))
    assert past_of(store).known == {"k1": place_of(FIRST, "smiling")} | waiting


def test_results_of_another_urlr_are_computed_again(here):
    keep(here, result("k1"))
    here.create(f"{place_of(FIRST, 'young')}/{RESULT}", b'{"key": "k2"}')
    assert past_of(here).known == {"k1": place_of(FIRST, "smiling")}


@pytest.mark.parametrize("code", UNREADABLE)
def test_a_record_of_a_night_that_cannot_be_read_is_told_and_the_one_before_holds(here, code):
    finish(here, night(FIRST, {"smiling": entry("k1", FIRST)}))
    keep(here, result("k2", run=SECOND))
    here.create(f"runs/{SECOND}/{RUN}", UNREADABLE[code])
    past = past_of(here)
    assert (past.last.run, past.newest.run, past.unfinished) == (FIRST, FIRST, ())
    assert past.known == {
        "k1": place_of(FIRST, "smiling"),
        "k2": place_of(SECOND, "smiling"),
    }
    [wrong] = past.damaged
    assert (wrong.code, wrong.fields["path"]) == (code, here.address(f"runs/{SECOND}/{RUN}"))
    passed(LIVE, code.replace("_", " "), Seen("the night goes on", wrong))


def test_a_night_knows_what_it_worked_on():
    both = {"old": entry("k0", FIRST, "old"), "smiling": entry("k1", SECOND)}
    assert [one.attribute for one in night(SECOND, both).tonight()] == ["smiling"]
