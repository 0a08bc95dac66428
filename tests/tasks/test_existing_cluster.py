"""The fan-out on a Dask cluster that others started: programs of their own."""

import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import cluster_work as work
import dask_programs
import pytest
from dask_programs import Elsewhere, Papers, dask_cluster, papers
from refusals import refused
from storage import free_ports
from waiting import PATIENCE, until

import urlr
from tasks.cluster import (
    Cluster,
    ClusterError,
    Stopped,
    TookTooLong,
    WorkerDied,
    existing_cluster,
    fanout,
    starting,
)

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def trusted(tmp_path_factory) -> Papers:
    return papers(tmp_path_factory.mktemp("trusted"))


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory, trusted) -> Iterator[Elsewhere]:
    """Two workers reached by TLS, of which one has a nanny."""
    folder = tmp_path_factory.mktemp("dask")
    with dask_cluster(folder, ["--nanny", "--no-nanny"], *trusted.options) as cluster:
        yield cluster


@pytest.fixture
def cluster(elsewhere, trusted) -> Iterator[Cluster]:
    with connected(elsewhere, trusted) as cluster:
        until(lambda: cluster.n_slots == 2, "two workers")
        yield cluster


def connected(elsewhere: Elsewhere, own: Papers):
    return existing_cluster(elsewhere.address, ca=own.ca, cert=own.cert, key=own.key)


def run(cluster: Cluster, function: Callable, order: object = None, **tuning: object) -> object:
    given = {"name": "smiling", "attempt": 1, "deadline": PATIENCE} | tuning
    return cluster.run(function, order, **given)


def test_orders_run_over_tls(elsewhere, cluster):
    assert elsewhere.address.startswith("tls://")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(partial(run, cluster, work.negative), range(20)))
    assert results == [-k for k in range(20)]


def test_modules_are_imported_only_while_connected(elsewhere, trusted, cluster):
    cluster.prepare(("xml.dom.minidom",))
    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(partial(run, cluster, work.loaded), ["xml.dom.minidom"] * 4))
    plugins = partial(cluster._client.run_on_scheduler, registered)
    own = plugins()
    assert len(own) == 1
    with connected(elsewhere, trusted) as other:
        other.prepare(())
        assert len(plugins()) == 2
    assert plugins() == own


def registered(dask_scheduler) -> list[str]:
    return [name for name in dask_scheduler.worker_plugins if "urlr" in name]


def test_past_the_deadline_a_worker_is_restarted_by_its_nanny_or_waited_for(cluster, tmp_path):
    go = tmp_path / "go"
    with ThreadPoolExecutor(2) as pool:
        orders = [pool.submit(run, cluster, work.hang_until, go, deadline=1.0) for _ in range(2)]
        errors = [order.exception(PATIENCE) for order in orders]
    assert all(isinstance(error, TookTooLong) for error in errors)
    codes = sorted(error.code for error in errors)
    assert codes == ["order_took_too_long", "order_took_too_long_and_goes_on"]
    until(lambda: cluster.n_slots == 1, "the worker that has a nanny is back")
    assert run(cluster, work.negative, 1) == -1
    go.touch()
    until(lambda: cluster.n_slots == 2, "the other ended its work")
    assert cluster.workers_lost == 0


def test_leaving_gives_up_what_runs_and_leaves_the_cluster_alive(elsewhere, trusted, tmp_path):
    go = tmp_path / "go"
    with ThreadPoolExecutor(2) as pool:
        with connected(elsewhere, trusted) as cluster:
            until(lambda: cluster.n_slots == 2, "two workers")
            orders = [pool.submit(run, cluster, work.hang_until, go) for _ in range(2)]
            until(lambda: len(begun(go)) == 2, "both began")
        assert all(isinstance(order.exception(PATIENCE), Stopped) for order in orders)
    go.touch()
    with connected(elsewhere, trusted) as again:
        assert run(again, work.negative, 3) == -3


def test_what_killed_a_worker_is_not_run_again_by_the_next_one_at_its_address(tmp_path):
    """The ports of workers are fixed where firewalls stand between, so addresses come back."""
    deadly, [port] = tmp_path / "deadly", free_ports(1)
    with (
        dask_cluster(tmp_path, [f"--nanny --worker-port={port}"]) as elsewhere,
        existing_cluster(elsewhere.address) as cluster,
    ):
        for attempt in (1, 2):
            with pytest.raises(WorkerDied):
                run(cluster, work.note_and_die, deadly, attempt=attempt)
            assert [run(cluster, work.negative, k) for k in range(3)] == [0, -1, -2]
        assert len(begun(deadly)) == 2
        assert cluster.workers_lost == 2


def begun(marker: Path) -> list[str]:
    path = marker.with_suffix(".started")
    return path.read_text().split() if path.exists() else []


def test_an_authority_nobody_knows_is_an_error_that_names_the_address(elsewhere, tmp_path):
    with (
        refused(ClusterError, "no_scheduler", where=elsewhere.address) as caught,
        connected(elsewhere, papers(tmp_path)),
    ):
        pass
    assert "certificate" in str(caught.value)


def test_a_certificate_of_another_authority_is_refused_by_the_scheduler(
    elsewhere, trusted, tmp_path, monkeypatch
):
    """Whoever has it trusts the scheduler, which does not trust them."""
    stranger = replace(papers(tmp_path), ca=trusted.ca)
    with monkeypatch.context() as hasty:
        hasty.setattr(starting, "CONNECT", 3.0)
        with (
            refused(ClusterError, "no_scheduler", where=elsewhere.address),
            connected(elsewhere, stranger),
        ):
            pass
    with connected(elsewhere, trusted) as cluster:
        assert run(cluster, work.negative, 3) == -3


def test_without_certificates_tls_is_refused(elsewhere):
    with (
        refused(ClusterError, "no_certificate", address=elsewhere.address),
        existing_cluster(elsewhere.address),
    ):
        pass


def test_files_that_are_no_certificates_are_refused(tmp_path):
    wrong = tmp_path / "wrong.pem"
    with (
        refused(ClusterError, "no_certificate_file", path=wrong),
        existing_cluster("tls://127.0.0.1:8786", ca=wrong),
    ):
        pass
    wrong.write_text("no certificate")
    with (
        refused(ClusterError, "unreadable_certificates", address="tls://127.0.0.1:8786"),
        existing_cluster("tls://127.0.0.1:8786", ca=wrong, cert=wrong, key=wrong),
    ):
        pass


def test_on_this_machine_tcp_is_allowed_and_a_lost_scheduler_is_told(tmp_path):
    never = tmp_path / "never"
    with (
        dask_cluster(tmp_path, ["--no-nanny"]) as elsewhere,
        ThreadPoolExecutor(1) as pool,
        existing_cluster(elsewhere.address) as cluster,
    ):
        assert elsewhere.address.startswith("tcp://127.0.0.1:")
        order = pool.submit(run, cluster, work.hang_until, never)
        until(lambda: begun(never), "it began")
        elsewhere.scheduler.kill()
        with refused(ClusterError, "connection_lost", where=elsewhere.address):
            order.result(PATIENCE)
        with refused(ClusterError, "connection_lost", where=elsewhere.address):
            run(cluster, work.negative, 1)
        never.touch()


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("tcp://scheduler.example:8786", "not_encrypted"),
        ("tcp://192.0.2.1:8786", "not_encrypted"),
        ("tcp://127.0.0.1.example:8786", "not_encrypted"),
        ("tcp://[2001:db8::1]:8786", "not_encrypted"),
        ("tls://user:secret@scheduler:8786", "credentials_in_dask_address"),
        ("tcp://127.0.0.1:8786?token=secret", "not_a_dask_address"),
        ("scheduler:8786", "not_a_dask_address"),
        ("ws://127.0.0.1:8786", "not_a_dask_address"),
        ("inproc://127.0.0.1/1/1", "not_a_dask_address"),
        ("tls://scheduler", "not_a_dask_address"),
        ("tls://a:1\ntls://b:1", "not_a_dask_address"),
    ],
)
def test_an_address_is_refused(address, code):
    with refused(ClusterError, code) as caught, existing_cluster(address):
        pass
    assert "secret" not in f"{caught.value} {caught.value.fields}"
    assert "\n" not in str(caught.value)


def test_nobody_there_is_told_in_time(monkeypatch):
    monkeypatch.setattr("tasks.cluster.starting.CONNECT", 1.0)
    with (
        refused(ClusterError, "no_scheduler", where="tcp://127.0.0.1:1", seconds=1.0),
        existing_cluster("tcp://127.0.0.1:1"),
    ):
        pass


def test_a_trusted_network_must_be_spelled_out(monkeypatch):
    """192.0.2.1 belongs to nobody: what fails is the connection, not the address."""
    monkeypatch.setattr("tasks.cluster.starting.CONNECT", 1.0)
    with (
        refused(ClusterError, "no_scheduler", where="tcp://192.0.2.1:8786"),
        existing_cluster("tcp://192.0.2.1:8786", plain=True),
    ):
        pass


def test_a_death_is_not_blamed_on_the_memory_of_the_worker_that_was_there_before(tmp_path):
    [port] = free_ports(1)
    worker = f"--nanny --worker-port={port} --memory-limit=500MiB"
    with (
        dask_cluster(tmp_path, [worker]) as elsewhere,
        existing_cluster(elsewhere.address) as cluster,
    ):
        with refused(WorkerDied, "worker_out_of_memory"):
            run(cluster, work.devour, 1000)
        with refused(WorkerDied, "worker_died"):
            run(cluster, work.note_and_die, tmp_path / "deadly", name="laughing")


@pytest.mark.parametrize("scheme", ["tcp", "tls"])
def test_a_scheduler_that_takes_the_connection_and_says_nothing_is_given_up(
    scheme, trusted, monkeypatch
):
    monkeypatch.setattr(starting, "CONNECT", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # nobody accepts; the system does
        address = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        own = {"ca": trusted.ca, "cert": trusted.cert, "key": trusted.key}
        with (
            refused(ClusterError, "no_scheduler", where=address, seconds=1.0) as error,
            existing_cluster(address, **own),
        ):
            pass
    assert "\n" not in str(error.value)


def test_a_scheduler_that_falls_silent_is_left_in_time(tmp_path, monkeypatch):
    """Stopped as by a debugger, it keeps its connections and answers nothing."""
    monkeypatch.setattr(fanout, "FAREWELL", 1.0)
    monkeypatch.setattr(starting, "FAREWELL", 1.0)
    with dask_cluster(tmp_path, ["--nanny"]) as elsewhere:
        try:
            with existing_cluster(elsewhere.address) as cluster:
                until(lambda: cluster.n_slots == 1, "a worker")
                cluster.prepare(())
                elsewhere.scheduler.send_signal(signal.SIGSTOP)
                with pytest.raises(TookTooLong):
                    run(cluster, work.negative, 1, deadline=1.0)
        finally:
            elsewhere.scheduler.send_signal(signal.SIGCONT)


HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("urlr", "tasks"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
"""


OTHERS = {
    "workers without urlr": "workers_without_urlr",
    "workers of other code": "workers_of_other_code",
}


@pytest.mark.parametrize("which", OTHERS)
def test_workers_without_this_urlr_are_named_before_work_is_sent(tmp_path, monkeypatch, which):
    from cases import passed  # workers import this module, and do not know that one
    from judge import Seen

    if which == "workers without urlr":
        (tmp_path / "sitecustomize.py").write_text(HIDDEN)
        monkeypatch.setattr(dask_programs, "PATHS", [str(tmp_path), *dask_programs.PATHS])
    else:
        with_other_code(tmp_path, monkeypatch)
    with dask_cluster(tmp_path, ["--nanny"]) as elsewhere:
        with existing_cluster(elsewhere.address, any_code=True) as cluster:
            until(lambda: cluster.n_slots == 1, "a worker")
        with refused(ClusterError, OTHERS[which]) as error, existing_cluster(elsewhere.address):
            pass
        assert len(error.value.fields["workers"]) == 1
        passed("workers with another urlr", which, Seen("refused", str(error.value)))


def with_other_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers that are started from now on have another urlr."""
    shutil.copytree(Path(urlr.__file__).parent, folder / "urlr")
    (folder / "urlr" / "settings.py").write_text("METHOD_VERSION = 0\n")
    monkeypatch.setattr(dask_programs, "PATHS", [str(folder), *dask_programs.PATHS])


def test_a_worker_of_other_code_that_joins_later_gets_no_work(tmp_path, monkeypatch):
    with (
        dask_cluster(tmp_path, ["--no-nanny"]) as elsewhere,
        existing_cluster(elsewhere.address) as cluster,
    ):
        until(lambda: cluster.n_slots == 1, "a worker")
        with_other_code(tmp_path, monkeypatch)
        with joined(tmp_path):
            until(lambda: cluster.left_out, "another that was looked at")
            assert [run(cluster, work.negative, k) for k in range(4)] == [0, -1, -2, -3]
            assert cluster.n_slots == 1
            with (
                refused(ClusterError, "workers_of_other_code", workers=cluster.left_out),
                cluster.lent("waiting", deadline=PATIENCE),
            ):
                pass


def test_work_that_was_lent_to_a_worker_of_other_code_is_given_up(tmp_path, monkeypatch):
    with (
        dask_cluster(tmp_path, []) as elsewhere,
        existing_cluster(elsewhere.address) as cluster,
    ):
        with_other_code(tmp_path, monkeypatch)
        with (
            refused(ClusterError, "workers_of_other_code"),
            cluster.lent("waiting", deadline=PATIENCE) as client,
            joined(tmp_path),
        ):
            client.submit(work.hang_until, tmp_path / "never").result()


def test_where_all_workers_have_other_code_they_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(fanout, "LONELY", 1.0)
    with (
        dask_cluster(tmp_path, []) as elsewhere,
        existing_cluster(elsewhere.address) as cluster,
    ):
        with_other_code(tmp_path, monkeypatch)
        with joined(tmp_path):
            until(lambda: cluster.left_out, "a worker that was looked at")
            with refused(ClusterError, "workers_of_other_code", workers=cluster.left_out):
                run(cluster, work.negative, 1)


@contextmanager
def joined(folder: Path) -> Iterator[None]:
    """A worker that joins the cluster of a folder."""
    where = f"--scheduler-file={folder / 'scheduler.json'}"
    with dask_programs.program(folder, "worker", where, "--nthreads=1", "--no-nanny"):
        yield
