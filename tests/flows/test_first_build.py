"""A store and a registry that the first build wrote are read, shown and worked on by today's code.

They hold two nights on the small store of `small_stores.py`: PLAIN got more votes before the
second, which also found a damaged dump; after it PLAIN was rolled back from version 2 to 1.
"""

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from in_process import Bench
from pipeline import Ran
from registries import MLFLOW_WARNS
from small_stores import BRIGHT, FEATURES, FEW, PLAIN, SMILING

from tasks.names import encoded
from tasks.read import table_of
from tasks.registry import Registry
from tasks.report.site import page_name
from tasks.results import Night
from tasks.runs import names_of, past_of, read_night
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

KEPT = Path(__file__).parents[1] / "fixtures" / "first-build.tar.xz"
FIRST, SECOND = "20261118T123004Z-ef06d4", "20261118T123042Z-fba81e"
DAMAGED = "damaged"
LIVE = dict.fromkeys((BRIGHT, PLAIN, SMILING), 1)
VERSIONS = {BRIGHT: [1], FEW: [1], PLAIN: [1, 2], SMILING: [1]}


def unpacked(place: Bench) -> Bench:
    """What was kept, as if it had been written there."""
    with tarfile.open(KEPT) as kept:
        kept.extractall(place.directory, filter="data")
    registry = place.directory / "urlr-registry"
    database, dump = registry / "mlflow.db", registry / "mlflow.sql"
    database.unlink()
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(dump.read_text().replace("@REGISTRY@", str(registry)))
    dump.unlink()
    store = Store.at(place.directory / "store")
    return Bench(place.directory, store, place.environment | {"URLR_STORE": store.url})


@pytest.fixture(scope="module")
def place(new_bench) -> Bench:
    """As it was left; tests only read it."""
    return unpacked(new_bench())


def numbers(registry: Registry) -> dict[str, list[int]]:
    return {name: [one.number for one in registry.versions(name)] for name in VERSIONS}


def test_its_nights_are_read(place):
    assert sorted(names_of(place.store)) == [FIRST, SECOND]
    first, second = (night_of(place.store, run) for run in (FIRST, SECOND))
    assert (first.state, second.state) == ("Completed", "Partial")
    assert {name: one.outcome for name, one in first.entries.items()} == dict.fromkeys(
        LIVE, "published"
    ) | {FEW: "held"}
    assert {one.attribute: one.outcome for one in second.tonight()} == {
        BRIGHT: "unchanged",
        DAMAGED: "failed",
        FEW: "unchanged",
        PLAIN: "published",
        SMILING: "unchanged",
    }
    assert (second.entries[PLAIN].replaced, second.entries[PLAIN].version) == (1, 2)
    past = past_of(place.store)
    assert past.last == second
    assert past.unfinished == ()
    for entry in (*first.tonight(), second.entries[PLAIN]):
        result = place.result(entry)
        assert result.rows == entry.rows
        assert all(place.file(entry, name) for name in result.files)


def night_of(store: Store, run: str) -> Night:
    found = read_night(store, run)
    assert found is not None
    return found


def test_its_registry_is_read(place):
    registry = place.registry
    assert numbers(registry) == VERSIONS
    assert place.champions() == LIVE
    moves = [(one.before, one.to, one.rollback) for one in registry.history(PLAIN)]
    assert moves == [(None, 1, False), (1, 2, False), (2, 1, True)]
    assert registry.look(FEW).aliases == {"challenger": 1}


def test_status_and_models_show_it(place):
    status, models = place.urlr("status"), place.urlr("models")
    assert (status.returncode, models.returncode) == (3, 0), status.stderr + models.stderr
    assert SECOND in status.stdout
    last = night_of(place.store, SECOND)
    assert last.entries[DAMAGED].reason in status.stdout
    for said in (status.stdout, models.stdout):
        rows = said.partition("live ")[2].partition("note: ")[0].splitlines()[1:]
        live = dict(row.split()[:2] for row in rows)
        assert live == {name: f"v{number}" for name, number in LIVE.items()}
    of_plain = place.urlr("models", PLAIN).stdout.splitlines()[2:]
    assert [row.split()[0] for row in of_plain] == ["v2", "v1"]


@pytest.mark.parametrize("attribute", [BRIGHT, SMILING])
def test_its_champions_score_items_as_they_did(place, attribute):
    features = place.store.read(FEATURES)
    (place.directory / "features.csv").write_bytes(features)
    out = f"{encoded(attribute)}.csv"
    done = place.urlr("score", "--attribute", attribute, "features.csv", "--out", out)
    assert done.returncode == 0, done.stderr
    ours = pd.read_csv(place.directory / out).set_index("item")["score"]
    assert set(ours.index) == set(table_of(features, FEATURES)["item"])
    entry = night_of(place.store, FIRST).entries[attribute]
    then = table_of(place.file(entry, "scores.parquet"), "s.parquet").set_index("item")["score"]
    pd.testing.assert_series_equal(ours[then.index], then, check_index_type=False)


def test_a_champion_without_features_has_the_scores_it_had(place):
    registry = place.registry
    model = registry.fetch(registry.champion(PLAIN))
    entry = night_of(place.store, FIRST).entries[PLAIN]
    then = table_of(place.file(entry, "scores.parquet"), "s.parquet").set_index("item")["score"]
    now = model.scores.set_index("item")["score"]
    pd.testing.assert_series_equal(now[then.index], then, check_index_type=False)


@pytest.mark.parametrize("run", [FIRST, SECOND])
def test_its_reports_are_rebuilt(place, run):
    done = place.urlr("report", run, "--out", f"report-{run}")
    assert done.returncode == 0, done.stderr
    made = {path.stem for path in (place.directory / f"report-{run}").glob("*.html")}
    assert made == {page_name(name) for name in VERSIONS} | {"index"}


@pytest.fixture(scope="module")
def copied(new_bench) -> tuple[Bench, Ran, Ran]:
    """A night of another method, to which all votes are new objects besides, and one after it."""
    place = unpacked(new_bench())
    return place, place.night(), place.night()


def test_a_night_on_a_copy_computes_anew_and_loses_no_champion(copied):
    place, ran, _ = copied
    assert (ran.code, ran.night.state) == (3, "Partial"), ran.out
    assert {name for name, said in ran.outcomes().items() if said == "failed"} == {DAMAGED}
    assert {one.attribute for one in ran.night.tonight() if one.computed} == set(VERSIONS)
    registry = place.registry
    champions = registry.champions()
    assert champions.keys() == LIVE.keys()
    for name, version in champions.items():
        assert version.number == ran.entry(name).live
        assert len(registry.fetch(version).scores) > 0
    for name, before in VERSIONS.items():
        assert [one.number for one in registry.versions(name)][: len(before)] == before


def test_challengers_are_compared_with_champions_of_then(copied):
    """By their judges, which lie in its store; a first model is compared with nobody."""
    _, ran, _ = copied
    for name in LIVE:
        entry = ran.entry(name)
        assert (entry.replaced, entry.rival_lost) == (1, False)
        assert entry.difference is not None


def test_the_night_after_finds_nothing_new(copied):
    _, _, after = copied
    done = [one for one in after.night.tonight() if one.attribute != DAMAGED]
    assert {one.attribute: one.outcome for one in done} == dict.fromkeys(VERSIONS, "unchanged")
    assert not any(one.computed for one in done)
