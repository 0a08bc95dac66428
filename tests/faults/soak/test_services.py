"""What a night needs goes away while it works: Prefect, MLflow, scheduler, workers, the store."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from cases import passed
from commands import Done, Fault, until
from dask_programs import dask_cluster
from judge import Bytes, Seen, champions_serve, judge_again, judge_entry, judge_night, no_secret
from kills import NEW, OLD, deliver_first, deliver_second, new_site
from pipeline import PrefectApi, prefect_server
from registries import MLFLOW_WARNS, mlflow_server
from s3_proxy import Rule, faulty
from sites import Site, site_at
from storage import S3Server, free_ports

from tasks.lease import held_by
from tasks.store import Store

pytestmark = MLFLOW_WARNS

GROUP = "services go away"


def prepared(site: Site) -> Site:
    """After a first night, with votes for the second."""
    deliver_first(site)
    done = site.night()
    assert done.code == 0, done
    deliver_second(site)
    return site


def slow(place: Path) -> Fault:
    """The old attribute takes long enough for something to happen meanwhile."""
    return Fault("tasks.train:_computed", "pause", place, attribute=OLD, times=1)


def last_line(done: Done) -> str:
    lines = [line for line in (done.out + done.err).splitlines() if line.strip()]
    return lines[-1].removeprefix("urlr: ")


def test_prefects_api_goes_down(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    """The work does not depend on who shows it: either it is finished, or it is said plainly."""
    place = tmp_path_factory.mktemp("prefect-down")
    (place / "server").mkdir()
    site = new_site(place / "site", prefect_api)
    prepared(site)
    try:
        with prefect_server(place / "server") as other:
            pause = slow(place / "marks")
            night = site.command.start(
                "nightly",
                "--store",
                site.store.url,
                faults=(pause,),
                PREFECT_API_URL=other.address,
            )
            until(lambda: pause.struck == 1 or night.process.poll() is not None)
        done = night.end()
        assert done.code in (0, 1), done
        if done.code:
            said = r"Prefect's API at \S+ went away in mid-run \(.+\); .*start again"
            assert re.search(said, done.complaint), done
        assert "Error logging" not in done.err, "that is noise"
        champions_serve(site)
        assert held_by(site.store, grace=1) is None
        judge_again(site, site.night(), two_clean_nights)
    finally:
        site.command.close()
    seen = Seen(f"exit code {done.code}, then completed", last_line(done))
    passed(GROUP, "Prefect's API goes down in mid-run", seen)


def test_mlflow_goes_down(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    """What was computed waits for the next night; what served, serves."""
    place = tmp_path_factory.mktemp("mlflow-down")
    [port] = free_ports(1)
    site = site_at(
        place / "site",
        Store.at(place / "site" / "store"),
        prefect_api,
        URLR_WORKERS="1",
        MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}",
    )
    try:
        with mlflow_server(place, port):
            prepared(site)
        pause = slow(place / "marks")
        with mlflow_server(place, port):
            night = site.command.start("nightly", "--store", site.store.url, faults=(pause,))
            until(lambda: pause.struck == 1 or night.process.poll() is not None)
        done = night.end()
        assert done.code == 1, done
        failed = [line for line in done.out.splitlines() if line.startswith("failed ")]
        assert failed, done
        assert all(re.search(r"registry .*; ", line) for line in failed), failed
        assert held_by(site.store) is None
        with mlflow_server(place, port):
            champions_serve(site)
            assert site.registry.champion(OLD).number == 1
            night_after = judge_again(site, site.night(), two_clean_nights)
            assert {one.outcome for one in night_after.tonight()} == {"published"}
            assert not any(one.computed for one in night_after.tonight()), "fitted once"
    finally:
        site.command.close()
    passed(GROUP, "MLflow goes down in mid-run", Seen("failed (1), then completed", failed[0]))


def test_the_scheduler_is_killed(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    place = tmp_path_factory.mktemp("scheduler-killed")
    site = new_site(place / "site", prefect_api)
    prepared(site)
    pause = slow(place / "marks")
    try:
        (place / "dask").mkdir()
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("FAULTS", json.dumps([asdict(pause)], default=str))
            with dask_cluster(place / "dask", ["--nanny"]) as cluster:
                night = site.command.start(
                    "nightly",
                    "--store",
                    site.store.url,
                    URLR_DASK_ADDRESS=cluster.address,
                    URLR_ATTRIBUTE_DEADLINE="120",
                )
                until(lambda: pause.struck == 1 or night.process.poll() is not None)
                cluster.scheduler.kill()
                done = night.end()
        night_then = judge_night(site, done, two_clean_nights, healthy=[NEW])
        said = r"the connection to tcp://\S+ was lost; see whether its scheduler runs"
        seen = judge_entry(night_then, done, OLD, outcome="failed", said=said)
        judge_again(site, site.night(), two_clean_nights)
    finally:
        site.command.close()
    passed(GROUP, "the scheduler is killed in mid-run", seen)


def test_the_store_goes_away(
    tmp_path_factory,
    prefect_api: PrefectApi,
    s3_server: S3Server,
    new_bucket,
    two_clean_nights: Bytes,
) -> None:
    """In the middle of a night every call fails, and none is waited for without end."""
    place = tmp_path_factory.mktemp("store-away")
    with pytest.MonkeyPatch.context() as patched, faulty(s3_server) as proxy:
        for name, value in s3_server.environment.items():
            patched.setenv(name, value)
        site = site_at(
            place / "site",
            Store.at(f"s3://{new_bucket()}/some/where"),
            prefect_api,
            server=proxy.front,
            URLR_WORKERS="1",
            URLR_CALL_DEADLINE="5",
            URLR_LEASE="10",
            URLR_LEASE_GRACE="1",
        )
        prepared(site)
        pause = slow(place / "marks")
        try:
            night = site.command.start("nightly", "--store", site.store.url, faults=(pause,))
            until(lambda: pause.struck == 1 or night.process.poll() is not None)
            proxy.rules.append(Rule("hang"))
            done = night.end()
            assert done.code == 1, done
            line = done.complaint
            assert ";" in line
            champions_serve(site)
            no_secret(site, done)
            proxy.mend()
            until(lambda: held_by(site.store, grace=1) is None)
            judge_again(site, site.night(), two_clean_nights)
            assert site.registry.champion(OLD).number == 2
            assert site.registry.champion(NEW).number == 1
        finally:
            site.command.close()
    seen = Seen("failed (1), then completed", line.removeprefix("urlr: "))
    passed(GROUP, "the store stops answering in mid-run", seen)


def test_a_worker_is_frozen(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    place = tmp_path_factory.mktemp("frozen")
    site = new_site(place / "site", prefect_api)
    prepared(site)
    freeze = Fault("tasks.train:_computed", "freeze", place / "marks", attribute=OLD)
    try:
        done = site.night(faults=(freeze,), URLR_ATTRIBUTE_DEADLINE="20")
        night = judge_night(site, done, two_clean_nights, healthy=[NEW])
        seen = judge_entry(night, done, OLD, outcome="failed", said=r"did not end within 20|died")
        judge_again(site, site.night(), two_clean_nights)
    finally:
        site.command.close()
    passed(GROUP, "a worker is frozen", seen)
