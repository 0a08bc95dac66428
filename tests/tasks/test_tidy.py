"""Which runs nothing needs any more, and that taking them away takes nothing else."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from nights import entry
from recorded_nights import kept, recorded, run_of
from registries import MLFLOW_WARNS, moved, publication

from tasks.registry import Registry
from tasks.results import Night, SharedTable
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


def test_what_serves_stays_though_no_record_names_it(store, own_registry):
    """As after a rollback."""
    place = f"runs/{run_of(9)}/attributes/rolled-back"
    moved(own_registry, [own_registry.register(publication("rolled-back", "key-1", place=place))])
    left(store, *(recorded(day) for day in (8, 9, 18, 19, 20)))
    assert looked(store, own_registry).needed == (run_of(9),)


def test_the_night_before_and_the_last_good_one_stay(store, own_registry):
    failed = [recorded(day, state="Failed") for day in (3,)]
    dry = [recorded(day, dry=True) for day in (18, 19, 20)]
    left(store, recorded(1), recorded(2), *failed, *dry)
    found = looked(store, own_registry)
    assert (found.unneeded, found.needed) == ((run_of(1),), (run_of(3), run_of(2)))


def test_the_wrong_registry_is_told(store, own_registry):
    left(store, recorded(1), recorded(20, entry("nobody-knows", live=3)))
    with pytest.raises(TidyError, match=r"no champion of 1 attribute \(nobody-knows\).*; name the"):
        looked(store, own_registry)


def test_a_folder_is_cleared_with_all_that_it_holds_and_no_more(store):
    for key in ("runs/a/run.json", "runs/a/deep/er/x", "runs/a/.urlr-0a.tmp", "runs/ab/run.json"):
        store.replace(key, b"x")
    store.clear("runs/a")
    store.clear("runs/a")
    assert [one.key for one in store.list()] == ["runs/ab/run.json"]


def test_more_objects_than_a_request_takes_are_cleared(s3_store, monkeypatch):
    monkeypatch.setattr("tasks.bucket._PAGE", 3)
    for number in range(10):
        s3_store.create(f"runs/a/{number}", b"x")
    s3_store.clear("runs/a")
    assert s3_store.list() == []


def test_who_may_not_remove_is_told_so(tmp_path, monkeypatch):
    store = Store.at(tmp_path)
    store.create("runs/a/x", b"")

    def refused(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refused)
    with pytest.raises(StoreError, match=r"runs/a"):
        store.clear("runs/a")
