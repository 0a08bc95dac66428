"""`urlr tidy`: told first, done when asked for, and never beside a night."""

from datetime import date, timedelta

import pytest
from recorded_nights import kept, recorded
from registries import MLFLOW_WARNS, moved, publication
from sentences import like

from flows.messages import message
from tasks.lease import Holder, held_by, taken
from tasks.registry import Registry
from tasks.runs import names_of
from tasks.store import Store

pytestmark = MLFLOW_WARNS


def run_of(number: int) -> str:
    """Name of one of as many runs on days in a row."""
    return f"{date(2020, 1, 1) + timedelta(days=number):%Y%m%d}T020000Z-0a1b2c"


@pytest.fixture
def many_nights(store: Store, own_registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store of long ago, and its registry in the settings."""
    monkeypatch.setenv("URLR_REGISTRY", own_registry.uri)
    store.create("votes/a/1.csv", b"winner,loser\n")
    for day in range(1, 33):
        kept(store, recorded(1, run=run_of(day)))
        store.create(f"runs/{run_of(day)}/attributes/a/result.json", b"{}")
    return store


def left(store: Store) -> set[str]:
    """Runs that anything is left of; some stores list the folders of others too."""
    return {one.key.split("/")[1] for one in store.list("runs")}


def test_it_tells_first_and_removes_when_told_to(command, many_nights, monkeypatch):
    store = many_nights
    monkeypatch.setenv("URLR_GATE__NIGHTS", "20")
    assert command("tidy", "--store", store.url) == 0
    what = message("old_runs", runs=2, first=run_of(1), last=run_of(2), size=0.0, objects=4)
    stay = message("recent_runs_stay", runs=30, nights=30)
    assert message("old_runs_found", what=what, stay=stay) in command.out
    assert message("to_remove_them", store=store.url, nights="") in command.out
    assert len(names_of(store)) == 32
    assert command("tidy", "--store", store.url, "--remove") == 0
    assert message("old_runs_removed", what=what, stay=stay) in command.out
    assert left(store) == {run_of(day) for day in range(3, 33)}
    assert store.read("votes/a/1.csv")
    assert command("tidy", "--store", store.url, "--remove") == 0
    assert message("no_run_can_go", store=store.url, stay=stay) in command.out


def test_nothing_is_removed_while_a_night_is_at_work(command, many_nights):
    store = many_nights
    with taken(store, Holder.here("tonight")):
        assert command("tidy", "--store", store.url, "--remove") == 1
        lease = held_by(store)
    assert lease.run == "tonight"
    assert like("tasks", "store_held", store=store.url, holder=lease).search(command.err)
    assert command("tidy", "--store", store.url, "--nights", "7") == 1
    assert like("flows", "too_few_nights", nights=7, least=31).search(command.err)
    assert command("tidy", "--store", store.url, "--nights", "1000000") == 1
    assert like("flows", "too_many_nights", nights=1000000, least=31).search(command.err)
    assert len(names_of(store)) == 32


@pytest.mark.parametrize("store", ["local"], indirect=True)
@pytest.mark.full
def test_a_version_whose_run_was_removed_can_be_rolled_back_to_and_serves_without_any_run(
    command, many_nights, own_registry, monkeypatch
):
    store, registry = many_nights, own_registry
    monkeypatch.setenv("URLR_GATE__NIGHTS", "20")
    for day in (1, 2, 3):
        place = f"runs/{run_of(day)}/attributes/a"
        version = registry.register(publication("a", f"key-{day}", place=place))
        moved(registry, [version], date(2020, 1, day))
    assert command("tidy", "--store", store.url, "--remove") == 0
    assert run_of(1) not in left(store)
    assert run_of(2) in left(store), "a rollback leads to what was made from it"
    assert command("rollback", "a", "--to", "1") == 0, command.err
    store.clear("runs")
    assert left(store) == set()
    champion = registry.champion("a")
    assert champion.number == 1
    assert len(registry.fetch(champion).scores) == 15
