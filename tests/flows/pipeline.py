"""Fixtures of the pipeline as a user meets it: a Prefect server, and places to run `urlr` in.

Everything is real: the server is a process on loopback, and `urlr` runs as a program of its own in
a directory of its own, with an empty home. What came of it is looked at from outside.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from servers import once, run_directory, start_shared, wait_for
from storage import free_ports
from waiting import until

from tasks.registry import Registry
from tasks.report.site import OVERVIEW, report_key
from tasks.results import RESULTS, Entry, Night, Result
from tasks.runs import names_of, read_night
from tasks.store import Store

ROOT = Path(__file__).parents[2]
PATIENCE = 600.0
"""Seconds that anything may take before a test fails; a night takes 15 on an idle machine."""
TASK_STATES = ("Published", "Held", "Unchanged", "Failed")
_PAGE = 200
"""The most that Prefect gives at once."""
_OURS = ("URLR_", "PREFECT_", "MLFLOW_", "AWS_", "DASK_", "PYTHON")
SILENT = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


def clean_environment(home: Path) -> dict[str, str]:
    """The environment of somebody who has set nothing that concerns urlr."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OURS) and not name.endswith("_NUM_THREADS")
    }
    return kept | SILENT | {"HOME": str(home), "PYTHONPATH": str(ROOT)}


def answered(api: str, what: str, **wanted: Any) -> Any:
    """What Prefect's API answers when asked once for objects of one kind that fit."""
    request = urllib.request.Request(
        f"{api}/{what}/filter", json.dumps(wanted).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def asked(api: str, what: str, **wanted: Any) -> list[dict[str, Any]]:
    """All objects of one kind that Prefect's API knows and that fit, page by page."""
    found: list[dict[str, Any]] = []
    while True:
        page = answered(api, what, **wanted, offset=len(found), limit=_PAGE)
        found += page
        if len(page) < _PAGE:
            return found


@dataclass(frozen=True)
class PrefectApi:
    """A Prefect server, asked over its REST API."""

    address: str
    home: Path

    def ask(self, what: str, **wanted: Any) -> list[dict[str, Any]]:
        """All objects of a kind that fit, such as `flow_runs`."""
        return asked(self.address, what, **wanted)

    def flow_runs(self, store: Store) -> list[dict[str, Any]]:
        """Nights on a store, in order."""
        runs = self.ask("flow_runs", sort="START_TIME_ASC")
        return [run for run in runs if run["parameters"].get("store") == store.url]

    def task_states(self, flow_run: dict[str, Any]) -> list[tuple[str, str]]:
        """Name and state of every task run of a flow run, once each has ended.

        Prefect takes note of task runs a moment after they ended.
        """
        within = {"id": {"any_": [flow_run["id"]]}}
        found: list[tuple[str, str]] = []

        def ended() -> bool:
            runs = self.ask("task_runs", flow_runs=within)
            found[:] = sorted((run["name"], run["state_name"]) for run in runs)
            return all(state in TASK_STATES for _, state in found)

        until(ended, "all task runs have ended")
        return found

    def artifacts(self, flow_run: dict[str, Any]) -> dict[str, Any]:
        """What a flow run shows on Prefect's pages, by key."""
        found = self.ask("artifacts", flow_runs={"id": {"any_": [flow_run["id"]]}})
        return {one["key"]: one["data"] for one in found}

    def written(self) -> bytes:
        """All that the server keeps, and what it logged."""
        kept = [*self.home.glob("prefect.db*"), self.home / "server.log"]
        return b"".join(path.read_bytes() for path in sorted(kept))

    def answers(self) -> bool:
        """Whether it is up."""
        try:
            urllib.request.urlopen(f"{self.address}/health", timeout=2).close()
        except (urllib.error.URLError, OSError):
            return False
        return True


def _prefect_command(place: Path, **settings: str) -> tuple[PrefectApi, list[str], dict[str, str]]:
    """A Prefect server on a free port of loopback that keeps all it knows in a directory."""
    [port] = free_ports(1)
    server = PrefectApi(f"http://127.0.0.1:{port}/api", place)
    words = ["server", "start", "--host", "127.0.0.1", "--port", str(port)]
    environment = clean_environment(place) | {
        "PREFECT_HOME": str(place),
        "PREFECT_SERVER_UI_API_URL": server.address,
    }
    return server, [sys.executable, "-m", "prefect", *words], environment | settings


@contextmanager
def prefect_server(place: Path, tables: Path, **settings: str) -> Iterator[PrefectApi]:
    """A Prefect server of the caller's own, until the block ends; see `prefect_tables`."""
    shutil.copy(tables, place)
    server, command, environment = _prefect_command(place, **settings)
    log = place / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=place, env=environment)
    try:
        wait_for(server.answers, process, log)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> PrefectApi:
    """One Prefect server for all test processes of a run."""

    def make(place: Path) -> str:
        server, command, environment = _prefect_command(place)
        start_shared(place, command, environment, server.answers)
        _tables(place).parent.mkdir()
        with (
            closing(sqlite3.connect(place / "prefect.db")) as source,
            closing(sqlite3.connect(_tables(place))) as copy,
        ):
            source.backup(copy)
        return server.address

    run = run_directory(tmp_path_factory)
    return PrefectApi(once(run, "prefect", make), run / "prefect")


@pytest.fixture(scope="session")
def prefect_tables(prefect_api: PrefectApi) -> Path:
    """A database with Prefect's tables and nothing in them: making them takes 10 s."""
    return _tables(prefect_api.home)


def _tables(home: Path) -> Path:
    return home / "tables" / "prefect.db"


@dataclass(frozen=True)
class Ran:
    """A night that was run, and the record it left."""

    code: int
    out: str
    err: str
    night: Night

    def entry(self, attribute: str) -> Entry:
        """What the record says of an attribute."""
        return self.night.entries[attribute]

    def overview(self, store: Store) -> str:
        """The first page of its report."""
        return store.read(report_key(self.night.run, OVERVIEW)).decode()

    def outcomes(self) -> dict[str, str]:
        """What became of each attribute this run worked on."""
        return {one.attribute: one.outcome for one in self.night.tonight()}


@dataclass(frozen=True)
class Place:
    """Where somebody works: a directory, a store, and settings in the environment."""

    directory: Path
    store: Store
    environment: dict[str, str] = field(repr=False)

    def urlr(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run the command, with these variables set beside those of the place."""
        return subprocess.run(
            [sys.executable, "-m", "flows.cli", *arguments],
            cwd=self.directory,
            env=self.environment | settings,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def python(self, script: str) -> str:
        """What a program prints that runs there, as somebody's own would."""
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def night(self, *options: str, **settings: str) -> Ran:
        """Run `urlr nightly` to its end, of whatever kind; it must leave a record."""
        before = names_of(self.store)
        done = self.urlr("nightly", "--store", self.store.url, *options, **settings)
        runs = [run for run in names_of(self.store) if run not in before]
        assert len(runs) == 1, done.stdout + done.stderr
        night = read_night(self.store, runs[0])
        assert night is not None, done.stdout + done.stderr
        return Ran(done.returncode, done.stdout, done.stderr, night)

    @property
    def registry(self) -> Registry:
        """The registry of the place, which is where it is by default."""
        return Registry.at(
            self.directory / "urlr-registry", artifacts=self.environment.get("URLR_ARTIFACTS")
        )

    def versions(self) -> dict[str, list[int]]:
        """Numbers of all versions in the registry, by attribute with a champion."""
        registry = self.registry
        return {
            name: [one.number for one in registry.versions(name)] for name in registry.champions()
        }

    def champions(self) -> dict[str, int]:
        """Numbers of the champions."""
        return {name: one.number for name, one in self.registry.champions().items()}

    def result(self, entry: Entry) -> Result:
        """What lies in the store of the results that an entry tells of."""
        key = f"{entry.place}/result.json"
        return RESULTS.from_bytes(self.store.read(key), key)

    def file(self, entry: Entry, name: str) -> bytes:
        """A file of these results."""
        return self.store.read(f"{entry.place}/{name}")


@pytest.fixture(scope="session")
def new_place(
    tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi
) -> Callable[..., Place]:
    """Makes a place: its directory is empty, and so is its store, unless one is given."""

    def make(store: Store | None = None, **settings: str) -> Place:
        home = tmp_path_factory.mktemp("place")
        directory = home / "work"
        directory.mkdir()
        store = Store.at(home / "store") if store is None else store
        given = {"PREFECT_API_URL": prefect_api.address, "URLR_STORE": store.url} | settings
        return Place(directory, store, clean_environment(home) | given)

    return make


def at_once(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Do these two at a time: most of a night on few votes is waiting and loading."""
    with ThreadPoolExecutor(2) as pool:
        return [work.result() for work in [pool.submit(job) for job in jobs]]


def only_progress(text: str) -> bool:
    """Whether standard error holds nothing but our own lines of progress."""
    return all(line.startswith("urlr: ") for line in text.splitlines())
