"""Publications for tests of the registry, and registries to put them in."""

import functools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from servers import once, run_directory

import urlr
from tasks.registry import Publication, Registry, Version
from urlr.model_file import model_bytes
from urlr.simulate import crowd

PATIENCE = 180.0
NIGHT = date(2026, 11, 15)
MLFLOW_WARNS = pytest.mark.filterwarnings(
    "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"
)
"""MLflow 3.17 asks SQLAlchemy 2.1 for something that is to go; mark modules that use it so."""


@functools.cache
def fitted(seed: int, *, features: bool) -> tuple[urlr.Ranker, pd.DataFrame]:
    """A small ranker and the features of its items."""
    made = crowd(rng=np.random.default_rng(seed), n_items=15, n_votes=150, n_annotators=4)
    table = made.features.reset_index()
    return urlr.fit(made.votes, made.features if features else None, replicates=2), table


def publication(
    attribute: str, key: str = "key-1", *, seed: int = 0, features: bool = True, **changes: object
) -> Publication:
    """What a night would publish; models of two seeds differ."""
    ranker, table = fitted(seed, features=features)
    data = model_bytes(ranker)
    given: dict[str, object] = {
        "attribute": attribute,
        "key": key,
        "run": "night-1",
        "night": NIGHT,
        "place": f"results/{key}",
        "method_version": "1",
        "description": "A ranking for tests.",
        "metrics": {"tau": 0.5, "tau_people": float("nan")},
        "params": {"method": "robust"},
        "etags": {"votes/a.csv": "e1"},
        "model": data,
        "files": {"judge.npz": data, "tables/scores.csv": b"item,score\n"},
        "examples": table.head(8) if features else None,
    }
    return Publication(**(given | changes))  # type: ignore[arg-type]


def registered(registry: Registry, attribute: str, count: int) -> list[Version]:
    """So many versions of an attribute."""
    return [registry.register(publication(attribute, f"key-{k}", seed=k % 2)) for k in range(count)]


def moved(registry: Registry, versions: list[Version], first_night: date = NIGHT) -> None:
    """Make versions champion, one a night."""
    for k, version in enumerate(versions):
        night = date.fromordinal(first_night.toordinal() + k)
        registry.move(version.attribute, version, run=f"night-{k}", night=night, why="better")


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with MLflow's tables and nothing in them: making them takes seconds."""

    def make(place: Path) -> str:
        found = Registry.at(place)
        (place / "mlflow.db").touch()
        assert found.versions("any") == []
        return str(place / "mlflow.db")

    return Path(once(run_directory(tmp_path_factory), "mlflow-tables", make))


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory, tables: Path) -> Registry:
    """One registry for all tests, each with attributes of its own."""
    place = tmp_path_factory.mktemp("registry of tests")
    shutil.copy(tables, place)
    found = Registry.at(place)
    found.prepare()
    return found


@pytest.fixture
def own_registry(tmp_path: Path, tables: Path) -> Registry:
    """A registry that knows of nothing but what the test puts in it."""
    place = tmp_path / "registry"
    place.mkdir()
    shutil.copy(tables, place)
    found = Registry.at(place)
    found.prepare()
    return found


@pytest.fixture(scope="session")
def verifier(registry: Registry):
    with registry.verifier() as running:
        yield running


@pytest.fixture
def attribute() -> str:
    """A name of the test's own."""
    return f"smiling/{secrets.token_hex(4)}"


@pytest.fixture(scope="session")
def registry_on_s3(tmp_path_factory, new_bucket, tables: Path) -> Registry:
    """A registry whose files lie in a bucket."""
    place = tmp_path_factory.mktemp("registry")
    shutil.copy(tables, place / "some.db")
    found = Registry.at(f"sqlite:///{place}/some.db", artifacts=f"s3://{new_bucket()}/models")
    found.prepare()
    return found


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.full)])
def any_registry(request: pytest.FixtureRequest, registry: Registry) -> Registry:
    """A registry with files in a directory, or in a bucket."""
    if request.param == "local":
        return registry
    request.getfixturevalue("s3")
    found: Registry = request.getfixturevalue("registry_on_s3")
    return found


def kept(version: Version) -> Path:
    """The directory of a version's files."""
    return Path(version.files)


@contextmanager
def mlflow_server(place: Path, port: int) -> Iterator[str]:
    """A server of the database mlflow.db in a directory; it ends with the block."""
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{place}/mlflow.db", "--workers", "1"]
    command += ["--artifacts-destination", str(place / "files")]
    log = place / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            cwd=place,
            start_new_session=True,
            env=os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"},
        )
    address = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + PATIENCE
        while not _answers(address):
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"the server did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.2)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # it and its workers, a session of their own
        process.wait()


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(f"{address}/health", timeout=1).close()
    except (urllib.error.URLError, OSError):
        return False
    return True
