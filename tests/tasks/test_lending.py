"""Dask's own client, lent: whoever waits for it waits for somebody, and not for ever."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import cluster_work as work
import pytest
from dask_programs import Elsewhere, dask_cluster
from refusals import refused
from scored_models import champion, features, ranker
from stored_votes import put, simulated
from waiting import until

from tasks.cluster import (
    Cluster,
    ClusterError,
    Stopped,
    TookTooLong,
    existing_cluster,
    fanout,
)
from tasks.partitions import features_at
from tasks.score_all import score_all
from tasks.shared_features import fit_shared, needs_refit, reduce_parts
from tasks.store import Store

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def deserted(tmp_path_factory) -> Iterator[Elsewhere]:
    """A scheduler without workers."""
    with dask_cluster(tmp_path_factory.mktemp("deserted"), []) as elsewhere:
        yield elsewhere


@pytest.fixture
def alone(deserted, monkeypatch) -> Iterator[Cluster]:
    """A cluster in which one waits for workers in vain, for a second."""
    monkeypatch.setattr("tasks.cluster.fanout.LONELY", 1.0)
    with existing_cluster(deserted.address) as cluster:
        yield cluster


def test_an_order_to_a_cluster_without_workers_is_given_up(alone):
    with refused(ClusterError, "no_worker_takes_orders", count=0) as caught:
        alone.run(work.negative, 1, name="smiling", deadline=60)
    assert caught.value.fields["where"].startswith("tcp://")
    assert caught.value.fields["seconds"] > 1.0
    assert caught.value.fields["advice"].code == "see_workers"


def test_workers_are_waited_for_two_minutes():
    assert fanout.LONELY == 120


@pytest.mark.parametrize(
    "reducing",
    [
        lambda client, store, parts, shared: fit_shared(client, store, parts, components=2),
        needs_refit,
        lambda *given: reduce_parts(*given, "reduced"),
    ],
    ids=["fit", "refit", "reduce"],
)
def test_without_workers_reducing_features_is_told_so(alone, dask_client, tmp_path, reducing):
    store = Store.at(tmp_path)
    put(store, "features/all.csv", simulated().features.reset_index())
    parts = store.list("features")
    shared = fit_shared(dask_client, store, parts, components=2)
    with (
        refused(ClusterError, "no_worker_takes_orders", count=0),
        alone.lent("reducing", deadline=60) as client,
    ):
        reducing(client, store, parts, shared)


@pytest.mark.parametrize("out", ["scores.parquet", "scores/"])
def test_without_workers_scoring_is_told_so_and_leaves_nothing(alone, tmp_path, out):
    table = features()
    (tmp_path / "models").mkdir()
    table.to_parquet(tmp_path / "features.parquet")
    live = [champion(ranker(1, table), tmp_path / "models", "smiling", 1)]
    before = sorted(tmp_path.rglob("*"))
    with (
        refused(ClusterError, "no_worker_takes_orders", count=0),
        alone.lent("scoring", deadline=60) as client,
    ):
        score_all(features_at(tmp_path / "features.parquet"), live, f"{tmp_path}/{out}", client)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture(scope="module")
def staffed(tmp_path_factory) -> Iterator[Elsewhere]:
    """A scheduler with one worker."""
    with dask_cluster(tmp_path_factory.mktemp("staffed"), ["--no-nanny"]) as elsewhere:
        yield elsewhere


@pytest.fixture
def cluster(staffed) -> Iterator[Cluster]:
    with existing_cluster(staffed.address) as cluster:
        until(lambda: cluster.n_slots == 1, "a worker")
        yield cluster


@pytest.fixture
def go(tmp_path: Path) -> Iterator[Path]:
    """What hanging work waits for; it comes at the latest when the test is over."""
    yield tmp_path / "go"
    (tmp_path / "go").touch()


def computed_by_a_library(client, go: Path) -> object:
    """As dask-ml does: it knows nothing of our client, and waits where nobody can stop it."""
    from dask.delayed import delayed

    with client.as_current():
        return delayed(work.hang_until)(go).compute()


def test_what_is_done_in_time_is_returned(cluster, go):
    go.touch()
    with cluster.lent("it", deadline=60) as client:
        assert computed_by_a_library(client, go) > 0
        assert client.gather(client.map(work.negative, range(3))) == [0, -1, -2]


def test_past_its_deadline_even_a_librarys_waiting_ends(cluster, go):
    with (
        refused(TookTooLong, "took_too_long", what="reducing", seconds=1.0),
        cluster.lent("reducing", deadline=1.0) as client,
    ):
        computed_by_a_library(client, go)


def test_when_all_stops_the_waiting_ends(cluster, go):
    stopping = threading.Event()
    threading.Timer(0.5, stopping.set).start()
    with (
        pytest.raises(Stopped),
        cluster.lent("reducing", deadline=60, stopping=stopping) as client,
    ):
        computed_by_a_library(client, go)


def test_what_the_work_raises_comes_as_itself(cluster):
    with (
        pytest.raises(ZeroDivisionError),
        cluster.lent("dividing", deadline=60) as client,
    ):
        client.submit(work.divide, 0).result()


def test_a_scheduler_that_is_lost_is_told(tmp_path, go):
    with (
        dask_cluster(tmp_path, ["--no-nanny"]) as elsewhere,
        existing_cluster(elsewhere.address) as cluster,
    ):
        until(lambda: cluster.n_slots == 1, "a worker")
        threading.Timer(0.5, elsewhere.scheduler.kill).start()
        with (
            refused(ClusterError, "connection_lost", where=elsewhere.address),
            cluster.lent("reducing", deadline=60) as client,
        ):
            computed_by_a_library(client, go)
        go.touch()  # or the worker would take 20 s to end


def test_a_worker_that_hangs_while_it_imports_is_told_of(cluster, monkeypatch):
    process = cluster.run(work.process_id, None, name="who", deadline=60)
    os.kill(process, signal.SIGSTOP)
    try:
        with monkeypatch.context() as hasty:
            hasty.setattr("tasks.cluster.fanout.READY", 1.0)
            with refused(ClusterError, "worker_imports_too_long", seconds=1.0):
                cluster.prepare(("xml.dom.minidom",))
    finally:
        os.kill(process, signal.SIGCONT)
    cluster.prepare(("xml.dom.minidom",))
    assert cluster.run(work.loaded, "xml.dom.minidom", name="who", deadline=60)
