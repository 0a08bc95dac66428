"""Two stores and one registry: nobody overwrites what belongs to somebody else."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from in_process import Bench
from pipeline import Ran
from registries import MLFLOW_WARNS
from sentences import like
from stored_votes import put, simulated

from flows.messages import message
from tasks.names import encoded
from tasks.registry.mlflow_client import Mlflow
from tasks.registry.ownership import OWNER
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]


@dataclass(frozen=True)
class Chain:
    bench: Bench
    first: Ran
    other: Ran
    forced: Ran
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
    shutil.copytree(Path(bench.store.url), home / "copy")
    copy = replace(bench, store=Store.at(home / "copy"))
    copied = copy.night("--force")
    done = copy.urlr("adopt", "smiling", "--store", copy.store.url)
    assert done.returncode == 0, done.stderr
    assert like("flows", "adopted", attribute="smiling").search(done.stdout)
    put(copy.store, "votes/smiling/2.csv", simulated(seed=7).votes.drop(columns="vote_id"))
    adopted = copy.night()
    return Chain(bench, first, other, forced, copied, adopted, bench.night())


@pytest.mark.parametrize("night", ["other", "forced"])
def test_another_store_is_refused_also_by_force(chain, night):
    ran: Ran = getattr(chain, night)
    entry = ran.entry("smiling")
    assert (entry.outcome, ran.code) == ("failed", 3)
    address = chain.bench.store.url
    assert like("flows", "model_of_another_store", address=address).fullmatch(entry.reason)
    assert ran.entry("young").outcome in ("published", "unchanged"), "what is its own goes on"


def test_a_copy_is_refused_and_told_apart(chain):
    entry = chain.copied.entry("smiling")
    assert entry.outcome == "failed"
    address = chain.bench.store.url
    assert like("flows", "model_of_the_original", address=address).fullmatch(entry.reason)


def test_what_was_adopted_is_the_copys_and_the_original_is_refused(chain):
    assert chain.adopted.entry("smiling").outcome in ("published", "held")
    refused = chain.refused_now.entry("smiling")
    assert refused.outcome == "failed"
    assert like("flows", "model_of_the_original").fullmatch(refused.reason)


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
