"""The fan-out on a Dask cluster that others started: programs of their own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import cluster_work as work
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tasks.cluster import Cluster, ClusterError, Stopped, TookTooLong, existing_cluster

PATIENCE = 60.0
ROOT = Path(__file__).parents[2]


def until(fact: Callable[[], object], what: str) -> None:
    """Wait for a fact, not for ever."""
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end, f"still not so: {what}"
        time.sleep(0.05)


@dataclass(frozen=True)
class Papers:
    """Certificate of an authority, a certificate it signed, and its key."""

    ca: Path
    cert: Path
    key: Path

    @property
    def options(self) -> list[str]:
        files = {"ca-file": self.ca, "cert": self.cert, "key": self.key}
        return ["--protocol=tls", *(f"--tls-{name}={path}" for name, path in files.items())]


def papers(folder: Path) -> Papers:
    """Papers of a new authority."""
    made = Papers(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name, now = x509.Name([]), datetime.now(UTC)
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"authority {folder.name}")])
    for path, subject, key, is_ca in (
        (made.ca, issuer, authority, True),
        (made.cert, name, own, False),
    ):
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(is_ca, None), critical=True)
            .sign(authority, hashes.SHA256())
        )
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return made


@contextmanager
def program(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of Dask's that ends with the block."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "tasks")])
    with (folder / f"{words[0]}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words, "--no-dashboard", "--host=127.0.0.1"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path},
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.terminate()  # with SIGTERM a nanny ends its worker too
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Elsewhere:
    """A cluster that runs."""

    address: str
    scheduler: subprocess.Popen[bytes]


@contextmanager
def dask_cluster(folder: Path, workers: list[str], *options: str) -> Iterator[Elsewhere]:
    """A scheduler and one-threaded workers, each with options of its own."""
    where = folder / "scheduler.json"
    with ExitStack() as stack:
        given = [f"--scheduler-file={where}", *options]
        scheduler = stack.enter_context(program(folder, "scheduler", *given, "--port=0"))
        until(lambda: where.exists() and where.read_text().endswith("}"), "a scheduler")
        for own in workers:
            stack.enter_context(program(folder, "worker", *given, "--nthreads=1", own))
        yield Elsewhere(json.loads(where.read_text())["address"], scheduler)


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
    assert sum("has no nanny, goes on" in str(error) for error in errors) == 1
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


def begun(marker: Path) -> list[str]:
    path = marker.with_suffix(".started")
    return path.read_text().split() if path.exists() else []


def test_an_authority_nobody_knows_is_an_error_that_names_the_address(elsewhere, tmp_path):
    with (
        pytest.raises(ClusterError, match="cannot reach the Dask scheduler") as caught,
        connected(elsewhere, papers(tmp_path)),
    ):
        pass
    assert elsewhere.address in str(caught.value)
    assert "certificate" in str(caught.value)


def test_without_certificates_tls_is_refused(elsewhere):
    with (
        pytest.raises(ClusterError, match="there is no certificate for tls://"),
        existing_cluster(elsewhere.address),
    ):
        pass


def test_files_that_are_no_certificates_are_refused(tmp_path):
    wrong = tmp_path / "wrong.pem"
    with (
        pytest.raises(ClusterError, match="there is no certificate or key"),
        existing_cluster("tls://127.0.0.1:8786", ca=wrong),
    ):
        pass
    wrong.write_text("no certificate")
    with (
        pytest.raises(ClusterError, match="cannot be read"),
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
        with pytest.raises(ClusterError, match=r"the connection to tcp://127\.0\.0\.1:.* was lost"):
            order.result(PATIENCE)
        with pytest.raises(ClusterError, match="was lost"):
            run(cluster, work.negative, 1)
        never.touch()


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("tcp://scheduler.example:8786", "not encrypted: everybody in between could run code"),
        ("tcp://192.0.2.1:8786", "not encrypted"),
        ("tcp://127.0.0.1.example:8786", "not encrypted"),
        ("tcp://[2001:db8::1]:8786", "not encrypted"),
        ("tls://user:secret@scheduler:8786", "holds a user name or a password"),
        ("scheduler:8786", "is no address"),
        ("ws://127.0.0.1:8786", "is no address"),
        ("inproc://127.0.0.1/1/1", "is no address"),
        ("tls://scheduler", "is no address"),
        ("tls://a:1\ntls://b:1", r"`tls://a:1\\ntls://b:1` is no address"),
    ],
)
def test_an_address_is_refused(address, text):
    with pytest.raises(ClusterError, match=text) as caught, existing_cluster(address):
        pass
    assert "secret" not in str(caught.value)


def test_nobody_there_is_told_in_time(monkeypatch):
    monkeypatch.setattr("tasks.cluster.starting.CONNECT", 1.0)
    with (
        pytest.raises(ClusterError, match=r"cannot reach .*127.0.0.1:1 within 1 seconds"),
        existing_cluster("tcp://127.0.0.1:1"),
    ):
        pass


def test_a_trusted_network_must_be_spelled_out(monkeypatch):
    """192.0.2.1 belongs to nobody: what fails is the connection, not the address."""
    monkeypatch.setattr("tasks.cluster.starting.CONNECT", 1.0)
    with (
        pytest.raises(ClusterError, match="cannot reach the Dask scheduler"),
        existing_cluster("tcp://192.0.2.1:8786", plain=True),
    ):
        pass
