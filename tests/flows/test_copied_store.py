"""A store that was copied, restored or touched: the same bytes are fitted and published once."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from in_process import Bench
from pipeline import Ran
from registries import MLFLOW_WARNS
from stored_votes import put, simulated

from tasks.results import RUN
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

BACK, ALIKE = "smiling", "young"
TRUTH = f"truth/{ALIKE}/1.csv"


@dataclass(frozen=True)
class Chain:
    """Nights after the store was restored, as it is and from an old record, and touched."""

    bench: Bench
    restored: Ran
    old: Ran
    touched: Ran
    new_votes: Ran
    versions: dict[str, list[int]]
    """After all of them but the last."""
    champions: dict[str, int]


@pytest.fixture(scope="module", params=["", "3"], ids=["own features", "shared features"])
def chain(new_bench, request: pytest.FixtureRequest) -> Chain:
    """Two nights, after which one attribute is rolled back; then nothing new but ETags."""
    given = {"URLR_SHARED_COMPONENTS": request.param} if request.param else {}
    bench: Bench = new_bench(URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false", **given)
    store, crowd = bench.store, simulated()
    put(store, "features/all.csv", crowd.features.reset_index())
    for attribute in (BACK, ALIKE):
        put(store, f"votes/{attribute}/1.csv", crowd.votes)
    put(store, TRUTH, crowd.truth.rename("score").rename_axis("item").reset_index())
    bench.night()
    put(store, f"votes/{BACK}/2.csv", simulated(seed=1).votes.drop(columns="vote_id"))
    bench.night("--force")
    assert bench.urlr("rollback", BACK).returncode == 0
    restore(store)
    restored = bench.night()
    record = Path(store.url, f"runs/{restored.night.run}/{RUN}")
    about = json.loads(record.read_text())
    assert about.pop("contents")
    record.write_text(json.dumps(about))
    restore(store)
    old = bench.night()
    for listed in store.list():
        Path(store.url, listed.key).touch()
    touched = bench.night()
    versions, champions = bench.versions(), bench.champions()
    put(store, f"votes/{ALIKE}/2.csv", simulated(seed=2).votes.drop(columns="vote_id"))
    return Chain(bench, restored, old, touched, bench.night(), versions, champions)


def restore(store: Store) -> None:
    """Put a copy in the place of the store, as from a backup."""
    before = {one.key: one.etag for one in store.list()}
    away = f"{store.url}-away"
    shutil.copytree(store.url, away)
    shutil.rmtree(store.url)
    shutil.copytree(away, store.url)
    shutil.rmtree(away)
    assert any(before[one.key] != one.etag for one in store.list())


@pytest.mark.parametrize("night", ["restored", "old", "touched"])
def test_the_same_bytes_under_other_etags_are_not_fitted_again(chain, night):
    ran: Ran = getattr(chain, night)
    assert (ran.code, ran.outcomes()) == (0, dict.fromkeys((BACK, ALIKE), "unchanged")), ran.out
    assert not any(one.computed for one in ran.night.tonight())


def test_what_was_rolled_back_stays_so_in_a_restored_store(chain):
    assert chain.versions == {BACK: [1, 2], ALIKE: [1]}
    assert chain.champions == {BACK: 1, ALIKE: 1}


def test_new_votes_in_a_restored_store_are_fitted_alone(chain):
    ran = chain.new_votes
    assert ran.code == 0, ran.out
    assert ran.entry(BACK).outcome == "unchanged"
    entry = ran.entry(ALIKE)
    assert (entry.computed, entry.outcome in ("published", "held")) == (True, True)
    truth = chain.bench.store.find(TRUTH).etag
    assert entry.truths[TRUTH] == chain.restored.entry(ALIKE).truths[TRUTH] != truth
