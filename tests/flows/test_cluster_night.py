"""A night on a Dask cluster that somebody else started, reached by TLS, with the votes on S3."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from dask_programs import Elsewhere, Papers, dask_cluster, papers
from in_process import Bench
from pipeline import Ran, only_progress
from registries import MLFLOW_WARNS
from sentences import like
from small_stores import BRIGHT, FEATURES, FEW, PLAIN, SETTINGS, SMILING, write_small_store

from tasks.lease import held_by
from tasks.messages import message
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]


@pytest.fixture(scope="module")
def trusted(tmp_path_factory) -> Papers:
    return papers(tmp_path_factory.mktemp("trusted"))


@pytest.fixture(scope="module")
def place(new_bench, new_bucket, s3_server) -> Iterator[Bench]:
    """Votes in a bucket; the environment, also of this process, lets one read them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in s3_server.environment.items():
            patch.setenv(name, value)
        store = Store.at(f"s3://{new_bucket()}", deadline=60)
        made: Bench = new_bench(store, **s3_server.environment)
        write_small_store(store)
        (made.directory / "urlr.toml").write_text(SETTINGS)
        yield made


@pytest.fixture(scope="module")
def elsewhere(place, trusted, tmp_path_factory) -> Iterator[Elsewhere]:
    folder = tmp_path_factory.mktemp("dask")
    with dask_cluster(folder, ["--nanny", "--nanny"], *trusted.options) as cluster:
        yield cluster


def orders_done(elsewhere: Elsewhere, trusted: Papers) -> list[int]:
    """How many tasks each of the two workers has carried out so far."""
    from distributed import Client, Security

    security = Security(
        tls_ca_file=str(trusted.ca),
        tls_client_cert=str(trusted.cert),
        tls_client_key=str(trusted.key),
        require_encryption=True,
    )

    def done(dask_worker: Any) -> int:
        return dask_worker.state.executed_count

    with Client(elsewhere.address, security=security, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        return sorted(client.run(done).values())


@pytest.fixture(scope="module")
def address(elsewhere: Elsewhere, trusted: Papers) -> dict[str, str]:
    """Settings by which one finds the cluster."""
    return {
        "URLR_DASK_ADDRESS": elsewhere.address,
        "URLR_DASK_CA": str(trusted.ca),
        "URLR_DASK_CERT": str(trusted.cert),
        "URLR_DASK_KEY": str(trusted.key),
    }


@pytest.fixture(scope="module")
def ran(place: Bench, elsewhere: Elsewhere, trusted: Papers, address: dict[str, str]) -> Ran:
    """The first night that the workers there saw."""
    assert orders_done(elsewhere, trusted) == [0, 0]
    return place.night(**address)


def test_a_night_is_done_by_workers_elsewhere(place, elsewhere, trusted, ran):
    assert elsewhere.address.startswith("tls://")
    assert (ran.code, ran.night.state) == (0, "Completed"), ran.out
    assert only_progress(ran.err), ran.err
    published = dict.fromkeys((BRIGHT, PLAIN, SMILING), "published")
    assert ran.outcomes() == published | {FEW: "held"}
    assert place.champions() == dict.fromkeys(published, 1)
    fewest, most = orders_done(elsewhere, trusted)
    assert fewest >= 1
    assert fewest + most == 4


@pytest.fixture
def scored_apart_from_prefect(monkeypatch):
    """What `urlr score` does as a flow is a plain call."""
    from flows import prefect_api, scoring

    flow = scoring.scoring.fn
    monkeypatch.setattr(prefect_api, "with_prefect", lambda progress: nullcontext())
    monkeypatch.setattr(scoring, "create_markdown_artifact", lambda text, key: None)
    monkeypatch.setattr(scoring, "scoring", lambda *a, return_state, **named: flow(*a, **named))


def test_champions_score_by_workers_elsewhere_as_here_and_leave_the_store_as_it_was(
    place, elsewhere, trusted, address, ran, scored_apart_from_prefect
):
    """Models go there, and scores come back, by way of the store."""
    before = place.store.list("")
    orders = sum(orders_done(elsewhere, trusted))
    table = f"{place.store.url}/{FEATURES}"
    there = place.urlr("score", table, "--out", "there.parquet", **address)
    assert there.returncode == 0, there.stderr
    assert sum(orders_done(elsewhere, trusted)) > orders
    kept = {name: value for name, value in place.environment.items() if name not in address}
    alone = replace(place, environment=kept)
    here = alone.urlr("score", table, "--out", "here.parquet", URLR_WORKERS="1")
    assert here.returncode == 0, here.stderr
    assert there.stdout == here.stdout.replace("here.parquet", "there.parquet")
    scores = pd.read_parquet(place.directory / "there.parquet")
    assert set(scores["attribute"]) >= {BRIGHT, SMILING}
    pd.testing.assert_frame_equal(scores, pd.read_parquet(place.directory / "here.parquet"))
    assert place.store.list("") == before


def test_a_night_on_a_cluster_without_workers_ends_and_gives_the_store_back(place, tmp_path):
    """Features are reduced before anything else, by whoever is there.

    The address is plain and not known for this machine's own, which a setting allows.
    """
    before = {one.key for one in place.store.list("runs")}
    settings = {"URLR_SHARED_COMPONENTS": "2", "URLR_NIGHT_DEADLINE": "3"}
    with dask_cluster(tmp_path, []) as deserted:
        plain = {
            "URLR_DASK_ADDRESS": deserted.address.replace("127.0.0.1", "0.0.0.0"),
            "URLR_DASK_PLAIN": "true",
        }
        done = place.urlr("nightly", "--quiet", **plain, **settings)
    assert plain["URLR_DASK_ADDRESS"].startswith("tcp://0.0.0.0:")
    assert not like("tasks", "not_encrypted").search(done.stderr)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("urlr: ")
    assert done.stderr.count("\n") == 1
    assert held_by(place.store) is None
    assert {one.key for one in place.store.list("runs")} == before


def test_a_cluster_elsewhere_without_tls_is_refused(place):
    before = {one.key for one in place.store.list("runs")}
    done = place.urlr("nightly", "--force", "--quiet", URLR_DASK_ADDRESS="tcp://192.0.2.1:8786")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"urlr: {message('not_encrypted', address='tcp://192.0.2.1:8786')}\n"
    assert {one.key for one in place.store.list("runs")} == before
