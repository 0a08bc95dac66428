"""Two stores and one registry: nobody overwrites what belongs to somebody else."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cases import passed
from in_process import Bench
from judge import Seen
from pipeline import Ran
from registries import MLFLOW_WARNS
from sentences import like
from stored_votes import put, simulated

from flows.messages import message
from tasks.names import encoded
from tasks.registry.mlflow_client import Mlflow
from tasks.registry.ownership import IDENTITY, OWNER
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

STORES = "two stores and one registry"


@dataclass(frozen=True)
class Chain:
    bench: Bench
    first: Ran
    other: Ran
    forced: Ran
    elsewhere: Ran
    copied: Ran
    adopted: Ran
    refused_now: Ran


@pytest.fixture(scope="module")
def chain(new_bench) -> Chain:
    """One store publishes; then another one does, by force too, and a copy of the first."""
    bench: Bench = new_bench(URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false")
    put(bench.store, "votes/smiling/1.csv", simulated().votes)
    first = bench.night()
    home = bench.directory.parent
    foreign = replace(bench, store=Store.at(home / "foreign"))
    put(foreign.store, "votes/smiling/1.csv", simulated(seed=5).votes)
    put(foreign.store, "votes/young/1.csv", simulated(seed=6).votes)
    other, forced = foreign.night(), foreign.night("--force")
    elsewhere = foreign.night(URLR_REGISTRY="registry-of-its-own")
    shutil.copytree(Path(bench.store.url), home / "copy")
    copy = replace(bench, store=Store.at(home / "copy"))
    copied = copy.night("--force")
    done = copy.urlr("adopt", "smiling", "--store", copy.store.url)
    assert done.returncode == 0, done.stderr
    assert like("flows", "adopted", attribute="smiling").search(done.stdout)
    put(copy.store, "votes/smiling/2.csv", simulated(seed=7).votes.drop(columns="vote_id"))
    adopted = copy.night()
    return Chain(bench, first, other, forced, elsewhere, copied, adopted, bench.night())


@pytest.mark.parametrize("night", ["other", "forced"])
def test_another_store_is_refused_also_by_force(chain, night):
    ran: Ran = getattr(chain, night)
    entry = ran.entry("smiling")
    assert (entry.outcome, ran.code) == ("failed", 3)
    address = chain.bench.store.url
    assert like("tasks", "model_of_another_store", address=address).fullmatch(entry.reason)
    assert ran.entry("young").outcome in ("published", "unchanged"), "what is its own goes on"
    passed(STORES, "another store publishes, by force too", Seen(entry.outcome, entry.reason))


def test_a_refused_store_publishes_to_a_registry_of_its_own(chain):
    for refused in (chain.other, chain.forced):
        assert (refused.entry("smiling").live, refused.entry("young").live) == (None, 1)
    assert chain.elsewhere.outcomes() == {"smiling": "published", "young": "published"}


def test_a_copy_is_refused_and_told_apart(chain):
    entry = chain.copied.entry("smiling")
    assert entry.outcome == "failed"
    address = chain.bench.store.url
    assert like("tasks", "model_of_the_original", address=address).fullmatch(entry.reason)
    passed(STORES, "a copy of the store publishes", Seen(entry.outcome, entry.reason))


def test_what_was_adopted_is_the_copys_and_the_original_is_refused(chain):
    assert chain.adopted.entry("smiling").outcome in ("published", "held")
    refused = chain.refused_now.entry("smiling")
    assert refused.outcome == "failed"
    assert like("tasks", "model_of_the_original").fullmatch(refused.reason)


def test_models_of_nobody_are_taken_over_and_that_is_told(new_bench):
    bench: Bench = new_bench(URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false")
    put(bench.store, "votes/smiling/1.csv", simulated().votes)
    bench.night()
    mlflow = Mlflow(bench.registry.uri)
    mlflow.tag_model(encoded("smiling"), (OWNER, ""))
    dry = bench.night("--dry-run")
    said = message("models_taken_over", count=1, attributes=["smiling"])
    assert said not in dry.out
    assert said in bench.night().out
    assert said not in bench.night().out


def test_a_store_without_their_votes_adopts_nothing_and_is_not_made(chain, tmp_path):
    before = chain.bench.registry.owners()
    empty, other = tmp_path / "slip", Store.at(tmp_path / "other")
    put(other, "votes/young/1.csv", simulated().votes)
    for store, said in (
        (str(empty), like("tasks", "no_votes_in_store", store=str(empty))),
        (other.url, like("tasks", "no_votes_on", names=["smiling"])),
    ):
        done = chain.bench.urlr("adopt", "smiling", "--store", store)
        assert done.returncode == 1
        assert said.search(done.stderr)
    assert not empty.exists()
    assert other.list("runs") == []
    assert chain.bench.registry.owners() == before


def test_a_store_whose_id_was_lost_takes_its_models_back(new_bench):
    bench: Bench = new_bench(URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false")
    put(bench.store, "votes/smiling/1.csv", simulated().votes)
    bench.night()
    bench.store.remove(IDENTITY)
    entry = bench.night().entry("smiling")
    lost = like("tasks", "store_id_lost", path=bench.store.address(IDENTITY))
    assert entry.outcome == "failed"
    assert lost.fullmatch(entry.reason)
    passed(STORES, "the id of the store is lost", Seen(entry.outcome, entry.reason))
    put(bench.store, IDENTITY, "{")
    assert like("tasks", "store_id_damaged").search(bench.urlr("nightly", "--quiet").stderr)
    bench.store.remove(IDENTITY)
    done = bench.urlr("adopt", "smiling", "--store", bench.store.url)
    assert done.returncode == 0, done.stderr
    assert bench.night().entry("smiling").outcome == "unchanged"
