"""Nights run again, otherwise, in part or in part changed: what is computed, and what is kept."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date

import pandas as pd
import pytest
from in_process import Bench
from pipeline import Place, PrefectApi, Ran, only_progress
from registries import MLFLOW_WARNS
from sentences import like
from small_stores import (
    BRIGHT,
    FEATURES,
    FEW,
    LONELY,
    PLAIN,
    SETTINGS,
    SMILING,
    replace_features,
    write_small_store,
)
from storage import free_ports

from flows.messages import message as of_flows
from tasks.gather import LATER
from tasks.messages import message
from tasks.names import encoded
from tasks.read import table_of
from tasks.registry import Move, Registry
from tasks.report.site import LATEST, report_key

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

ALL = {SMILING, BRIGHT, PLAIN, FEW}
DASK_ADDRESS = "URLR_DASK_ADDRESS"
NEW_REGISTRY = "new-registry"
SAME = ("scores.parquet", "verdicts.parquet", "model.npz", "judge.npz", "summary.txt")
"""Files that must not depend on where, when and by how many workers they were made."""


@dataclass
class Chain:
    """Nights in one place, by name, and the registry after each."""

    place: Bench
    nights: dict[str, Ran] = field(default_factory=dict)
    versions: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)
    """What leads to the latest report, after each; empty if there is none."""

    def add(self, name: str, *options: str, at: Place | None = None, **settings: str) -> None:
        self.nights[name] = (at or self.place).night(*options, **settings)
        self.versions[name] = self.place.versions()
        there = self.place.store.list(LATEST.partition("/")[0])
        self.pointers[name] = self.place.store.read(LATEST).decode() if there else ""


def small_place(new_bench: Callable[..., Bench], **settings: str) -> Bench:
    place = new_bench(**settings)
    write_small_store(place.store)
    (place.directory / "urlr.toml").write_text(SETTINGS)
    return place


def features_in(place: Place) -> pd.DataFrame:
    return table_of(place.store.read(FEATURES), FEATURES)


@pytest.fixture(scope="module")
def chains(new_bench, prefect_api) -> tuple[Chain, Chain, Chain]:
    """Three places that begin with the same votes; see each function for what happens there."""
    made = (
        Chain(small_place(new_bench)),
        Chain(small_place(new_bench)),
        Chain(small_place(new_bench, URLR_SHARED_COMPONENTS="4")),
    )
    changing(made[0], prefect_api)
    choosing(made[1])
    sharing(made[2])
    return made


def changing(chain: Chain, prefect_api: PrefectApi) -> None:
    """A night with one worker of its own; nothing new; new and changed features; and so on.

    Others follow with other rules and with no registry. Prefect is to see what is unchanged.
    """
    chain.add("first", at=with_own_workers(chain.place, "1"))
    [nobody] = free_ports(1)
    seen = chain.place.by_prefect(prefect_api)
    chain.add("nothing new", at=seen, URLR_DASK_ADDRESS=f"tcp://127.0.0.1:{nobody}")
    features = features_in(chain.place)
    newcomer = features.tail(1).assign(item="newcomer")
    features = pd.concat([features, newcomer], ignore_index=True)
    replace_features(chain.place.store, features)
    chain.add("new row", at=seen)
    voted_on = features["item"] == "s03"
    features.loc[voted_on, features.columns[1]] += 0.5
    replace_features(chain.place.store, features)
    chain.add("changed row")
    chain.add("other rules", URLR_GATE__FEWEST_VOTES="1")
    chain.add("empty registry", URLR_REGISTRY=NEW_REGISTRY)


def with_own_workers(place: Bench, count: str) -> Bench:
    """Nights there start their own, which know less of this process's environment."""
    kept = {name: value for name, value in place.environment.items() if name != DASK_ADDRESS}
    return replace(place, environment=kept | {"URLR_WORKERS": count})


def choosing(chain: Chain) -> None:
    """A dry run with two workers of its own; the night; one by force; one of the past; another."""
    chain.add("dry", "--dry-run", at=with_own_workers(chain.place, "2"))
    chain.add("real")
    chain.add("forced", "--only", FEW, "--force")
    chain.add("past", "--as-of", "2024-01-05")
    chain.add("after the past")


def sharing(chain: Chain) -> None:
    """With one transform of all features: a night, and one after a new item came."""
    chain.add("first")
    features = features_in(chain.place)
    newcomer = features.tail(1).assign(item="newcomer")
    replace_features(chain.place.store, pd.concat([features, newcomer], ignore_index=True))
    chain.add("new row")


@pytest.fixture(scope="module")
def changed(chains) -> Chain:
    return chains[0]


@pytest.fixture(scope="module")
def chosen(chains) -> Chain:
    return chains[1]


@pytest.fixture(scope="module")
def shared(chains) -> Chain:
    return chains[2]


def test_every_night_ends_well_and_quietly(chains):
    for chain in chains:
        for name, ran in chain.nights.items():
            assert (ran.code, ran.night.state) == (0, "Completed"), f"{name}: {ran.out}"
            assert only_progress(ran.err), ran.err


def test_what_the_gate_makes_of_the_first_night(changed):
    assert changed.nights["first"].outcomes() == dict.fromkeys(ALL, "published") | {FEW: "held"}


def test_one_worker_or_two_here_or_there_give_the_same_bytes(changed, chosen):
    one, two = changed.nights["first"], chosen.nights["real"]
    assert one.night.entries.keys() == two.night.entries.keys() == ALL
    for attribute in ALL:
        ours, theirs = one.entry(attribute), two.entry(attribute)
        assert ours.place != theirs.place
        files = set(changed.place.result(ours).files)
        assert files == set(chosen.place.result(theirs).files)
        for name in files & set(SAME):
            same = changed.place.file(ours, name) == chosen.place.file(theirs, name)
            assert same, (attribute, name)
        assert (ours.tau, ours.rows, ours.reason) == (theirs.tau, theirs.rows, theirs.reason)


def test_nothing_new_needs_no_worker_and_publishes_nothing(changed, prefect_api: PrefectApi):
    """The workers it was given do not exist."""
    ran = changed.nights["nothing new"]
    assert ran.outcomes() == dict.fromkeys(ALL, "unchanged")
    assert changed.versions["nothing new"] == changed.versions["first"]
    assert not any(one.computed for one in ran.night.tonight())
    flow_run = prefect_api.flow_runs(changed.place.store)[0]
    assert prefect_api.task_states(flow_run) == []
    assert set(prefect_api.artifacts(flow_run)) == {"kendall-tau", "nightly-summary"}


def test_features_of_an_item_nobody_voted_on_retrain_nothing(changed, prefect_api: PrefectApi):
    ran = changed.nights["new row"]
    assert ran.outcomes() == dict.fromkeys(ALL, "unchanged")
    assert not any(one.computed for one in ran.night.tonight())
    assert changed.versions["new row"] == changed.versions["first"]
    flow_run = prefect_api.flow_runs(changed.place.store)[1]
    looked_at = [(BRIGHT, "Unchanged"), (SMILING, "Unchanged")]
    assert prefect_api.task_states(flow_run) == looked_at


def test_features_of_a_voted_item_retrain_its_attribute_alone(changed):
    ran = changed.nights["changed row"]
    assert [one.attribute for one in ran.night.tonight() if one.computed] == [SMILING]
    rest = dict.fromkeys(ALL - {SMILING}, "unchanged")
    assert ran.outcomes() == rest | {SMILING: ran.entry(SMILING).verdict}
    before, after = changed.versions["new row"], changed.versions["changed row"]
    assert after == before | {SMILING: [1, 2]}


def test_a_dry_run_leaves_the_registry_alone_and_its_results_are_used(chosen):
    dry, real = chosen.nights["dry"], chosen.nights["real"]
    assert dry.night.dry
    assert chosen.versions["dry"] == {}
    assert message("night_was_dry") in dry.out
    assert {one.attribute for one in dry.night.tonight() if one.computed} == ALL
    assert real.outcomes() == dry.outcomes()
    for entry in real.night.tonight():
        assert not entry.computed
        assert entry.place == dry.entry(entry.attribute).place
        assert entry.version == 1
    assert chosen.versions["real"] == {name: [1] for name in ALL - {FEW}}


def test_force_publishes_what_was_held_and_is_kept_in_its_history(chosen):
    ran = chosen.nights["forced"]
    assert ran.outcomes() == {FEW: "published"}
    entry = ran.entry(FEW)
    assert not entry.computed
    too_few = like("tasks", "held", finding=like("tasks", "too_few_judged"))
    assert like("tasks", "forced", finding=too_few).match(entry.reason)
    [move] = _moves(chosen, FEW)
    assert (move.to, move.forced, move.run) == (1, True, ran.night.run)
    [usual] = _moves(chosen, PLAIN)
    assert not usual.forced


def _moves(chain: Chain, attribute: str) -> list[Move]:
    return chain.place.registry.history(attribute)


def test_only_works_on_those_named_and_keeps_what_is_known_of_others(chosen):
    ran, before = chosen.nights["forced"], chosen.nights["real"]
    assert ran.night.only == (FEW,)
    assert [one.attribute for one in ran.night.tonight()] == [FEW]
    rest = ALL - {FEW}
    assert {name: ran.entry(name) for name in rest} == {name: before.entry(name) for name in rest}


def test_a_night_of_the_past_counts_votes_by_their_own_time_and_does_not_replace(chosen):
    ran = chosen.nights["past"]
    entry = ran.entry(SMILING)
    votes = table_of(chosen.place.store.read(f"votes/{SMILING}/2024-01.csv"), "votes.csv")
    times = pd.to_datetime(votes["time"], utc=True)
    later = int((times >= pd.Timestamp("2024-01-06", tz="UTC")).sum())
    assert 0 < later < len(votes)
    assert chosen.place.result(entry).reasons[LATER] == later
    assert entry.rows["skipped"] == later
    assert entry.rows["read"] == len(votes)
    assert entry.outcome == "held"
    champion = chosen.place.registry.champion(SMILING)
    assert champion.number == 1
    newer = message("newer_champion", version=1, night=champion.night)
    assert entry.reason == message("held", finding=newer)


def test_a_night_after_one_of_the_past_counts_all_votes_again(chosen):
    ran, before = chosen.nights["after the past"], chosen.nights["forced"]
    assert ran.outcomes() == dict.fromkeys(ALL, "unchanged")
    for name in ALL:
        ours, theirs = ran.entry(name), before.entry(name)
        assert (ours.key, ours.rows, ours.verdict) == (theirs.key, theirs.rows, theirs.verdict)


def test_the_pointer_leads_to_the_newest_whole_night_and_every_run_has_its_report(chosen):
    """A dry run, some attributes alone and a night of the past leave it where it was."""
    runs = {name: ran.night.run for name, ran in chosen.nights.items()}
    leads_to = {
        name: [other for other, run in runs.items() if run in pointer]
        for name, pointer in chosen.pointers.items()
    }
    assert chosen.pointers["dry"] == ""
    assert leads_to == {
        "dry": [],
        "real": ["real"],
        "forced": ["real"],
        "past": ["real"],
        "after the past": ["after the past"],
    }
    for run in runs.values():
        overview = chosen.place.store.read(report_key(run, "index.html"))
        assert run in overview.decode()


def test_other_rules_of_the_gate_decide_anew_on_what_was_held(changed):
    ran = changed.nights["other rules"]
    assert changed.nights["changed row"].entry(FEW).verdict == "held"
    assert ran.outcomes() == dict.fromkeys(ALL - {FEW}, "unchanged") | {FEW: "published"}
    assert not any(one.computed for one in ran.night.tonight())


def test_an_empty_registry_is_filled_again_without_fitting(changed):
    ran = changed.nights["empty registry"]
    live = {name for name, outcome in ran.outcomes().items() if outcome == "published"}
    assert live == ALL - {FEW}, "the usual rules hold what other rules published"
    registry = Registry.at(changed.place.directory / NEW_REGISTRY)
    assert {name: one.number for name, one in registry.champions().items()} == dict.fromkeys(
        live, 1
    )
    assert not any(one.computed for one in ran.night.tonight())


def test_settings_by_attribute_come_from_the_file(changed):
    versions = {name: changed.place.registry.champion(name) for name in (BRIGHT, PLAIN)}
    model = changed.place.registry.fetch(versions[BRIGHT])
    other = changed.place.registry.fetch(versions[PLAIN])
    assert model.settings.method == "paper"
    assert model.settings.prune == 0.2
    assert other.settings.method == "robust"
    assert other.settings.replicates == 10


def test_attributes_share_one_transform_that_a_new_item_does_not_change(shared):
    first, second = shared.nights["first"], shared.nights["new row"]
    assert first.entry(SMILING).shared == first.entry(BRIGHT).shared is not None
    assert first.entry(PLAIN).shared is None
    assert first.night.shared.keys() == {"features/faces"}
    before, after = first.night.shared["features/faces"], second.night.shared["features/faces"]
    assert before.components == after.components == 4
    assert before.transform == after.transform
    assert before.reduced != after.reduced
    assert second.outcomes() == dict.fromkeys(ALL, "unchanged")
    assert shared.versions["new row"] == shared.versions["first"]


def test_a_model_of_shared_features_is_served_raw_ones(shared):
    place = shared.place
    features = features_in(place)
    features.to_csv(place.directory / "features.csv", index=False)
    script = (
        "import mlflow, pandas, sys\n"
        "mlflow.set_tracking_uri('sqlite:///urlr-registry/mlflow.db')\n"
        f"model = mlflow.pyfunc.load_model('models:/{encoded(SMILING)}@champion')\n"
        "model.predict(pandas.read_csv('features.csv')).to_csv(sys.stdout, index=False)\n"
    )
    served = pd.read_csv(io.StringIO(place.python(script))).set_index("item")["score"]
    assert {LONELY, "newcomer"} < set(served.index)
    registry = place.registry
    ours = registry.fetch(registry.champion(SMILING)).score(features)
    pd.testing.assert_series_equal(served, ours, check_names=False)
    stored = table_of(
        place.file(shared.nights["first"].entry(SMILING), "scores.parquet"), "s.parquet"
    )
    known = stored.set_index("item")["score"]
    pd.testing.assert_series_equal(served[known.index], known, check_names=False)


def test_what_cannot_be_run_says_so_in_one_line_and_leaves_nothing(new_bench):
    place, empty = small_place(new_bench), new_bench()
    unknown = place.urlr("nightly", "--quiet", "--only", "faces/smilling")
    future = place.urlr("nightly", "--quiet", "--as-of", "2999-01-01")
    nothing = empty.urlr("nightly", "--quiet")
    misspelt = like(
        "tasks",
        "no_votes_on_but_near",
        names=["faces/smilling"],
        near=re.compile("faces/smiling.*"),
    )
    assert misspelt.search(unknown.stderr)
    ahead = of_flows("as_of_in_the_future", day=date(2999, 1, 1))
    assert future.stderr == f"urlr: {ahead}\n"
    assert like("tasks", "no_votes_in_store", store=empty.store.url).search(nothing.stderr)
    for done in (unknown, future, nothing):
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.startswith("urlr: ")
        assert done.stderr.count("\n") == 1
    for one in (place, empty):
        assert one.store.list("runs") == []
