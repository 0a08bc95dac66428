"""What people did to the champion stands, whatever becomes of the records in the store."""

from dataclasses import dataclass

import pytest
from cases import passed
from in_process import Bench
from judge import Seen
from pipeline import Ran
from registries import MLFLOW_WARNS
from stored_votes import put, simulated

from flows.messages import message
from tasks.messages import message as of_tasks
from tasks.names import encoded
from tasks.registry.alias_moves import CHAMPION
from tasks.registry.mlflow_client import Mlflow
from tasks.results import RUN
from tasks.runs import RUNS

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

LIVE = "records and aliases are not as a night left them"


@dataclass(frozen=True)
class Chain:
    bench: Bench
    damaged: Ran
    promoted: Ran
    removed: Ran
    new_votes: Ran
    rolled_back: str
    again: Ran


@pytest.fixture(scope="module")
def chain(new_bench) -> Chain:
    """Two versions and a rollback, of which the records are damaged; then MLflow is used by hand.

    There somebody makes version 2 champion and then removes the alias; new votes come.
    """
    bench: Bench = new_bench(URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false")
    put(bench.store, "votes/smiling/1.csv", simulated().votes)
    bench.night()
    more = simulated(seed=2).votes.drop(columns="vote_id", errors="ignore")
    put(bench.store, "votes/smiling/2.csv", more)
    second = bench.night("--force")
    assert bench.urlr("rollback", "smiling").returncode == 0
    after = bench.night()
    for ran in (second, after):
        record = f"{RUNS}/{ran.night.run}/{RUN}"
        bench.store.replace(record, bench.store.read(record)[:500])
    damaged = bench.night()
    mlflow, name = Mlflow(bench.registry.uri), encoded("smiling")
    mlflow.set_alias(name, CHAMPION, 2)
    promoted = bench.night()
    mlflow.delete_alias(name, CHAMPION)
    removed = bench.night()
    more = simulated(seed=3).votes.drop(columns="vote_id", errors="ignore")
    put(bench.store, "votes/smiling/3.csv", more)
    new_votes = bench.night()
    done = bench.urlr("rollback", "smiling")
    return Chain(bench, damaged, promoted, removed, new_votes, done.stdout, bench.night())


def test_a_damaged_record_does_not_undo_a_rollback(chain):
    entry = chain.damaged.entry("smiling")
    assert (entry.outcome, entry.live, entry.version) == ("held", 1, 2)
    assert entry.reason == of_tasks("held", finding=of_tasks("version_taken_back", version=2))
    assert not entry.computed
    seen = Seen(entry.outcome, entry.reason)
    passed(LIVE, "records are damaged after a rollback", seen)


def test_what_was_held_and_is_made_champion_by_hand_is_told_as_published(chain):
    entry = chain.promoted.entry("smiling")
    assert (entry.outcome, entry.live, entry.version) == ("published", 2, 2)


@pytest.mark.parametrize(("night", "version"), [("removed", 2), ("new_votes", 3)])
def test_a_champion_that_was_removed_by_hand_is_not_replaced(chain, night, version):
    entry = getattr(chain, night).entry("smiling")
    assert (entry.outcome, entry.live, entry.version) == ("held", None, version)
    assert entry.reason == of_tasks("held", finding=of_tasks("champion_removed", version=2))
    passed(LIVE, "the champion's alias is removed by hand", Seen(entry.outcome, entry.reason))


def test_a_rollback_puts_back_what_was_removed_and_the_gate_decides_again(chain):
    assert chain.rolled_back == f"{message('champion_again', attribute='smiling', to=2)}\n"
    entry = chain.again.entry("smiling")
    assert entry.reason != chain.new_votes.entry("smiling").reason
    assert (entry.outcome, entry.live, entry.replaced) == ("published", 3, 2)
