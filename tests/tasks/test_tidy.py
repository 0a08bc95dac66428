"""Which runs nothing needs any more, and that taking them away takes nothing else."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from nights import entry
from recorded_nights import kept, recorded, result, run_of
from refusals import refused
from registries import MLFLOW_WARNS, moved, publication

from tasks.registry import Registry
from tasks.results import RESULTS, RUN, Night, SharedTable
from tasks.store import Store, StoreError
from tasks.tidy import OldRuns, TidyError, old_runs

pytestmark = MLFLOW_WARNS

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def looked(store: Store, registry: Registry, *, nights: int = 3) -> OldRuns:
    return old_runs(store, registry, nights=nights, now=NOW)


def left(store: Store, *nights: Night) -> None:
    """Put records, and an object beside each, as a run leaves them."""
    for night in nights:
        kept(store, night)
        store.create(f"runs/{night.run}/attributes/a/result.json", b"{}")


def test_runs_of_the_last_nights_stay_and_older_ones_may_go(store, own_registry):
    left(store, *(recorded(day) for day in (1, 2, 16, 18, 19, 20)))
    found = looked(store, own_registry)
    assert found.recent == tuple(run_of(day) for day in (20, 19, 18))
    assert found.unneeded == tuple(run_of(day) for day in (1, 2, 16))
    assert found.needed == ()


def test_as_many_runs_stay_as_nights_though_they_are_long_ago(store, own_registry):
    left(store, *(recorded(day) for day in (1, 2, 3, 4)))
    assert looked(store, own_registry).unneeded == (run_of(1),)


@pytest.mark.parametrize("named", ["place", "page", "waiting", "shared"])
def test_what_a_recent_record_names_stays(store, own_registry, named):
    there = f"runs/{run_of(1)}/attributes/a"
    last = recorded(20, entry("a", live=None))
    if named == "shared":
        last = replace(last, shared={"features": SharedTable({}, f"{there}/t", 2, ())})
    else:
        given = {"key": there} if named == "waiting" else there
        last = recorded(20, entry("a", live=None, **{named: given}))
    left(store, recorded(1), recorded(2), recorded(18), recorded(19), last)
    found = looked(store, own_registry)
    assert (found.unneeded, found.needed) == ((run_of(2),), (run_of(1),))


def champions_of(registry: Registry, *days: int, ended: int) -> None:
    """Versions made from runs of these days, each champion after the other, the last since then."""
    versions = [
        registry.register(publication("a", f"key-{day}", place=f"runs/{run_of(day)}/attributes/a"))
        for day in days
    ]
    moved(registry, versions[:-1], date(2026, 10, 1))
    moved(registry, versions[-1:], date(2026, 11, ended))


@pytest.mark.parametrize("store", ["local"], indirect=True)
@pytest.mark.parametrize(
    ("days", "ended", "needed"),
    [
        ((9,), 9, [9]),
        ((2, 3, 9), 9, [9, 3]),  # the champion, and what a rollback leads to
        ((3, 9, 20), 20, [9]),  # which was champion until today
    ],
)
def test_what_a_night_may_be_held_against_stays_though_no_record_names_it(
    store, own_registry, days, ended, needed
):
    champions_of(own_registry, *days, ended=ended)
    left(store, *(recorded(day) for day in (1, 2, 3, 8, 9, 18, 19, 20)))
    assert looked(store, own_registry).needed == tuple(map(run_of, needed))


@pytest.mark.parametrize("store", ["local"], indirect=True)
def test_the_transform_stays_that_features_of_a_champion_went_through(store, own_registry):
    """Though features are reduced otherwise now, and no record names the old way any more."""
    champions_of(own_registry, 9, ended=9)
    left(store, *(recorded(day) for day in (7, 8, 18, 19, 20)))
    kept(store, recorded(9))
    transform = f"runs/{run_of(8)}/shared/features/0a1b"
    store.create(f"{transform}/transform.npz", b"")
    found_then = replace(result(run=run_of(9), name="a"), shared=transform)
    store.create(f"runs/{run_of(9)}/attributes/a/result.json", RESULTS.to_bytes(found_then))
    found = looked(store, own_registry)
    assert (found.unneeded, found.needed) == ((run_of(7),), (run_of(9), run_of(8)))


def test_the_night_before_and_the_last_good_one_stay(store, own_registry):
    failed = [recorded(day, state="Failed") for day in (3,)]
    dry = [recorded(day, dry=True) for day in (18, 19, 20)]
    left(store, recorded(1), recorded(2), *failed, *dry)
    found = looked(store, own_registry)
    assert found.unneeded == (run_of(1),)
    assert {*found.recent, *found.needed} >= {run_of(3), run_of(2)}


@pytest.mark.parametrize("store", ["local"], indirect=True)
def test_the_newest_whole_night_stays_though_it_failed(store, own_registry):
    """`urlr report` and report/latest.html lead there."""
    some = [recorded(day, only=("a",)) for day in (17, 18, 19, 20)]
    left(store, recorded(1), recorded(2), recorded(3, state="Failed"), *some)
    assert looked(store, own_registry).needed == (run_of(3), run_of(2))


@pytest.mark.parametrize("store", ["local"], indirect=True)
@pytest.mark.parametrize("content", [b"{", b"\xff\xfe"])
def test_a_run_with_a_damaged_record_is_no_good_night_and_stays(store, own_registry, content):
    left(store, recorded(1), recorded(2), *(recorded(day, only=("a",)) for day in (4, 5, 6)))
    for day in (3, 7):
        store.create(f"runs/{run_of(day)}/{RUN}", content)
    found = looked(store, own_registry, nights=1)
    assert found.unneeded == (run_of(1), run_of(4), run_of(5))
    assert {*found.recent, *found.needed} == {run_of(day) for day in (2, 3, 6, 7)}


@pytest.mark.parametrize("store", ["local"], indirect=True)
def test_runs_after_the_night_before_stay(store, own_registry):
    """They ended without a word; the next night takes up what they left."""
    left(store, recorded(1), recorded(2))
    for day in (3, 4, 5, 6, 7):
        store.create(f"runs/{run_of(day)}/attributes/a/result.json", b"{}")
    found = looked(store, own_registry)
    assert found.unneeded == (run_of(1),)
    assert found.recent == tuple(run_of(day) for day in (7, 6, 5, 4, 3, 2))


@pytest.mark.parametrize("store", ["local"], indirect=True)
def test_where_no_night_ever_ended_everything_stays(store, own_registry):
    for day in range(1, 9):
        store.create(f"runs/{run_of(day)}/attributes/a/result.json", b"{}")
    assert looked(store, own_registry).unneeded == ()


@pytest.mark.parametrize("store", ["local"], indirect=True)
@pytest.mark.parametrize("known", [False, True])
def test_the_wrong_registry_is_told(store, own_registry, known):
    """It has no champion of that name, or one with other votes."""
    if known:
        champions_of(own_registry, 1, ended=1)
    left(store, recorded(1), recorded(20, entry("a", live=1, version=1, key="key-of-others")))
    with refused(
        TidyError, "another_registry", registry=own_registry.uri, count=1, attributes=["a"]
    ):
        looked(store, own_registry)


def test_a_folder_is_cleared_with_all_that_it_holds_and_no_more(store):
    for key in ("runs/a/run.json", "runs/a/deep/er/x", "runs/a/.urlr-0a.tmp", "runs/ab/run.json"):
        store.replace(key, b"x")
    store.clear("runs/a")
    store.clear("runs/a")
    assert [one.key for one in store.list()] == ["runs/ab/run.json"]


@pytest.mark.full
def test_more_objects_than_a_request_takes_are_cleared(s3_store, monkeypatch):
    monkeypatch.setattr("tasks.bucket._PAGE", 3)
    for number in range(10):
        s3_store.create(f"runs/a/{number}", b"x")
    s3_store.clear("runs/a")
    assert s3_store.list() == []


def test_who_may_not_remove_is_told_so(tmp_path, monkeypatch):
    store = Store.at(tmp_path)
    store.create("runs/a/x", b"")

    def deny(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", deny)
    with refused(StoreError, "permission_denied", path=store.address("runs/a")):
        store.clear("runs/a")
