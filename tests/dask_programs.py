"""A Dask cluster that others started: programs of their own, with certificates of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from waiting import until

ROOT = Path(__file__).parents[1]
PATHS = (".", "tests/tasks", "tests", "tests/faults/planted")


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
    path = os.pathsep.join(str(ROOT / place) for place in PATHS)
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
    """A scheduler and one-threaded workers, each with options of its own, apart by spaces."""
    where = folder / "scheduler.json"
    with ExitStack() as stack:
        given = [f"--scheduler-file={where}", *options]
        scheduler = stack.enter_context(program(folder, "scheduler", *given, "--port=0"))
        until(lambda: where.exists() and where.read_text().endswith("}"), "a scheduler")
        for own in workers:
            stack.enter_context(program(folder, "worker", *given, "--nthreads=1", *own.split()))
        yield Elsewhere(json.loads(where.read_text())["address"], scheduler)
