"""What a night needs goes away while it works, or stays and says nothing.

Prefect, MLflow, the scheduler, workers, the store, and time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest
from cases import passed
from commands import Done, Fault, Running
from dask_programs import dask_cluster
from judge import (
    Bytes,
    Seen,
    judge_again,
    judge_entry,
    judge_night,
    judge_unrecorded,
    nothing_left,
)
from kills import NEW, OLD, deliver_first, deliver_second, new_site
from pipeline import PATIENCE, PrefectApi, prefect_server
from registries import MLFLOW_WARNS, mlflow_server
from s3_proxy import Rule, faulty
from sites import Site, site_at
from storage import S3Server, free_ports
from waiting import until

from flows.messages import message
from tasks.lease import held_by
from tasks.runs import names_of
from tasks.store import Store

pytestmark = [pytest.mark.soak, MLFLOW_WARNS]

GROUP = "services go away"
SILENCE = 5
"""Seconds that MLflow may take to answer once; by default 30."""
NIGHT = 60
"""Seconds that a night may take."""


def prepared(site: Site) -> Site:
    """After a first night, with votes for the second."""
    deliver_first(site)
    done = site.night()
    assert done.code == 0, done
    deliver_second(site)
    return site


def slow(place: Path, attribute: str = NEW) -> Fault:
    """An attribute takes long enough for something to happen meanwhile; by default the first."""
    return Fault("tasks.train:_computed", "pause", place, attribute=attribute, times=1)


def begun(site: Site, *faults: Fault, **environment: str) -> Running:
    """A night that was started."""
    site.started = names_of(site.store)
    return site.command.start("nightly", "--store", site.store.url, faults=faults, **environment)


def in_the_midst(night: Running, fault: Fault) -> None:
    """Wait until a night is where the fault is planted; it has not ended before."""
    until(lambda: fault.struck == 1 or night.process.poll() is not None, seconds=PATIENCE)
    assert fault.struck == 1, night.end()


@contextmanager
def frozen(port: int) -> Iterator[None]:
    """Stop the server that this process started at a port; it takes connections and is silent."""
    ours = psutil.Process().children(recursive=True)
    [server] = [one for one in ours if str(port) in one.cmdline() and one.parent() not in ours]
    stopped = [server, *server.children(recursive=True)]
    for process in stopped:
        process.suspend()
    try:
        yield
    finally:
        for process in stopped:
            process.resume()


def site_with_mlflow(place: Path, api: PrefectApi, port: int) -> Site:
    """It publishes to a server."""
    site = site_at(
        place / "site",
        Store.at(place / "site" / "store"),
        api,
        URLR_WORKERS="1",
        MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}",
        MLFLOW_HTTP_REQUEST_TIMEOUT=str(SILENCE),
    )
    site.elsewhere = (place / "mlflow.db", place / "files", place / "server.log")
    return site


def test_prefects_api_goes_down(
    tmp_path_factory, prefect_api: PrefectApi, prefect_tables, two_clean_nights: Bytes
) -> None:
    """What was computed is kept, and it is said plainly."""
    place = tmp_path_factory.mktemp("prefect-down")
    (place / "server").mkdir()
    site = prepared(new_site(place / "site", prefect_api))
    try:
        with prefect_server(place / "server", prefect_tables) as site.prefect:
            pause = slow(place / "marks")
            night = begun(site, pause, PREFECT_API_URL=site.prefect.address)
            in_the_midst(night, pause)
        done = night.end()
        line = judge_unrecorded(site, done, told=False)
        said = r"Prefect's API at \S+ went away in mid-run \(.+\); .*start again"
        assert re.search(said, line), line
        assert "Error logging" not in done.err, "that is noise"
        nothing_left(site)
        site.prefect = prefect_api
        judge_again(site, site.night(), two_clean_nights)
    finally:
        site.command.close()
    passed(GROUP, "Prefect's API goes down in mid-run", Seen("failed (1), then completed", line))


def test_prefects_api_is_frozen(tmp_path_factory, prefect_tables, two_clean_nights: Bytes) -> None:
    """A server that takes calls and answers none is not waited for without end."""
    place = tmp_path_factory.mktemp("prefect-frozen")
    (place / "server").mkdir()
    with prefect_server(place / "server", prefect_tables) as api:
        site = prepared(new_site(place / "site", api))
        try:
            pause = slow(place / "marks")
            night = begun(site, pause)
            in_the_midst(night, pause)
            with frozen(int(re.findall(r":(\d+)/", api.address)[0])):
                done = night.end()
            line = judge_unrecorded(site, done, told=False)
            said = r"Prefect's API at \S+ went away in mid-run \(.+\); .*start again"
            assert re.search(said, line), line
            nothing_left(site)
            judge_again(site, site.night(), two_clean_nights)
            states = [run["state_type"] for run in api.flow_runs(site.store)]
            assert states[0] == states[-1] == "COMPLETED"
            assert states[1] in ("FAILED", "CRASHED"), states
        finally:
            site.command.close()
    passed(GROUP, "Prefect's API is frozen in mid-run", Seen("failed (1), then completed", line))


def test_mlflow_goes_down(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    """What was computed waits for the next night; what served, serves."""
    place = tmp_path_factory.mktemp("mlflow-down")
    [port] = free_ports(1)
    site = site_with_mlflow(place, prefect_api, port)
    try:
        with mlflow_server(place, port):
            prepared(site)
            pause = slow(place / "marks")
            night = begun(site, pause)
            in_the_midst(night, pause)
        done = night.end()
        with mlflow_server(place, port):
            seen = both_wait(site, done, two_clean_nights, "connection refused")
    finally:
        site.command.close()
    passed(GROUP, "MLflow goes down in mid-run", seen)


def test_mlflow_is_frozen(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    """A server that takes calls and answers none is as good as none."""
    place = tmp_path_factory.mktemp("mlflow-frozen")
    [port] = free_ports(1)
    site = site_with_mlflow(place, prefect_api, port)
    try:
        with mlflow_server(place, port):
            prepared(site)
            pause = slow(place / "marks")
            night = begun(site, pause)
            in_the_midst(night, pause)
            with frozen(port):
                done = night.end()
            seen = both_wait(site, done, two_clean_nights, "timed out")
    finally:
        site.command.close()
    passed(GROUP, "MLflow is frozen in mid-run", seen)


def both_wait(site: Site, done: Done, clean: Bytes, why: str) -> Seen:
    """Judge a night that could publish neither attribute, and the next, which has only that to do.

    MLflow is there again.
    """
    night = judge_night(site, done, clean)
    assert (night.state, done.code) == ("Failed", 1)
    said = rf"the registry \S+ gave no answer \({why}\); check that it runs"
    seen = [judge_entry(night, done, one, outcome="failed", said=said) for one in (OLD, NEW)]
    assert site.registry.champion(OLD).number == 1
    after = judge_again(site, site.night(), clean)
    assert {one.outcome for one in after.tonight()} == {"published"}
    assert not any(one.computed for one in after.tonight()), "fitted once"
    return Seen("failed (1), then completed", seen[0].saw)


def test_mlflow_is_frozen_when_a_champion_is_to_be_moved(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    """The move is recorded and not made; the next night makes it."""
    place = tmp_path_factory.mktemp("mlflow-frozen-late")
    [port] = free_ports(1)
    site = site_with_mlflow(place, prefect_api, port)
    function = "tasks.registry.mlflow_client:Mlflow.set_alias"
    pause = Fault(function, "pause", place / "marks", attribute=OLD, times=1)
    try:
        with mlflow_server(place, port):
            prepared(site)
            night = begun(site, pause)
            in_the_midst(night, pause)
            with frozen(port):
                done = night.end()
            record = judge_night(site, done, two_clean_nights, healthy=[NEW])
            assert (record.state, record.entries[OLD].live) == ("Partial", 1)
            assert message("live_not_known") in done.out
            said = r"the registry \S+ gave no answer \(timed out\); check that it runs"
            seen = judge_entry(record, done, OLD, outcome="failed", said=said)
            after = judge_again(site, site.night(), two_clean_nights)
            assert after.entries[OLD].outcome == "published"
            assert not after.entries[OLD].computed
            assert [one.number for one in site.registry.versions(OLD)] == [1, 2]
            moves = site.registry.history(OLD)
            assert [(one.before, one.to) for one in moves] == [(None, 1), (1, 2)]
    finally:
        site.command.close()
    passed(GROUP, "MLflow is frozen when a champion is to be moved", seen)


def test_the_scheduler_is_killed(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    place = tmp_path_factory.mktemp("scheduler-killed")
    site = prepared(new_site(place / "site", prefect_api))
    pause = slow(place / "marks", OLD)
    try:
        (place / "dask").mkdir()
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("FAULTS", json.dumps([asdict(pause)], default=str))
            with dask_cluster(place / "dask", ["--nanny"]) as cluster:
                night = begun(
                    site, URLR_DASK_ADDRESS=cluster.address, URLR_ATTRIBUTE_DEADLINE="120"
                )
                in_the_midst(night, pause)
                cluster.scheduler.kill()
                done = night.end()
        record = judge_night(site, done, two_clean_nights, healthy=[NEW])
        said = r"the connection to tcp://\S+ was lost; see whether its scheduler runs"
        seen = judge_entry(record, done, OLD, outcome="failed", said=said)
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
        pause = slow(place / "marks", OLD)
        try:
            night = begun(site, pause)
            in_the_midst(night, pause)
            proxy.rules.append(Rule("hang"))
            done = night.end()
            assert proxy.struck("hang") > 0
            line = judge_unrecorded(site, done)
            said = (
                r"the lease (\S+/lease/\d+\.json) ran out at [^(]+\(it could not be renewed: \1: "
                r"the store at \S+ did not answer within 5 seconds\); .*start again"
            )
            assert re.search(said, line), line
            proxy.mend()
            until(
                lambda: held_by(site.store) is None, seconds=PATIENCE
            )  # nobody could say that it is free
            nothing_left(site)
            judge_again(site, site.night(), two_clean_nights)
            assert site.registry.champion(OLD).number == 2
            assert site.registry.champion(NEW).number == 1
        finally:
            site.command.close()
    seen = Seen("failed (1), then completed", line)
    passed(GROUP, "the store stops answering in mid-run", seen)


def test_a_worker_is_frozen(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    place = tmp_path_factory.mktemp("frozen")
    site = prepared(new_site(place / "site", prefect_api))
    freeze = Fault("tasks.train:_computed", "freeze", place / "marks", attribute=OLD)
    try:
        done = site.night(faults=(freeze,), URLR_ATTRIBUTE_DEADLINE="20")
        assert freeze.struck >= 1
        night = judge_night(site, done, two_clean_nights, healthy=[NEW])
        said = r"did not end within 20 seconds.*; allow more time"
        seen = judge_entry(night, done, OLD, outcome="failed", said=said)
        judge_again(site, site.night(), two_clean_nights)
    finally:
        site.command.close()
    passed(GROUP, "a worker is frozen", seen)


def test_a_night_ends_in_time_whatever_its_workers_do(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    """An attribute hangs, and the time of the night is over long before its own."""
    place = tmp_path_factory.mktemp("out-of-time")
    site = prepared(new_site(place / "site", prefect_api))
    hang = Fault("tasks.train:_computed", "hang", place / "marks", attribute=OLD)
    try:
        night = begun(site, hang, URLR_NIGHT_DEADLINE=str(NIGHT))
        in_the_midst(night, hang)
        done = night.end()
        record = judge_night(site, done, two_clean_nights, healthy=[NEW])
        assert (record.state, hang.struck) == ("Partial", 1)
        said = r"it was stopped before it ended; start again"
        seen = judge_entry(record, done, OLD, outcome="failed", said=said)
        note = message("night_took_too_long", seconds=NIGHT)
        assert note in record.notes
        assert message("a_note", note=note) in done.out, done
        judge_again(site, site.night(), two_clean_nights)
    finally:
        site.command.close()
    passed(
        "workers in trouble",
        "a worker hangs until the night's time is over",
        Seen(seen.outcome, f"{seen.saw} ({note})"),
    )
