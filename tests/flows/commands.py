"""The real command as a process in which something goes wrong, and that nothing is left of it."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from pipeline import PATIENCE, ROOT, SILENT, PrefectApi, asked

QUICK = {"URLR_WORKERS": "1", "URLR_FIT__REPLICATES": "0", "URLR_FIT__CURVED": "false"}
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE")
_MARK = "RUN_OF_TESTS"


@dataclass(frozen=True)
class Fault:
    """What goes wrong in a run; see `tests/faults/planted/sitecustomize.py`."""

    function: str
    do: str
    marks: Path
    """Directory with a file for each time it struck."""
    attribute: str | None = None
    """Pattern of the attribute, or of a text, that the call is about."""
    times: int | None = None
    """None: always."""
    when: str = "before"

    @property
    def struck(self) -> int:
        """How often it struck."""
        return len(list(self.marks.iterdir())) if self.marks.is_dir() else 0


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The last line of stderr, which must be a plain complaint."""
        said = [line for line in self.err.splitlines() if line]
        assert said, self
        assert said[-1].startswith("urlr: "), self
        assert "Traceback" not in self.out + self.err
        return said[-1]


@dataclass
class Running:
    """A command that was started."""

    process: subprocess.Popen[bytes]
    mark: str
    said: tuple[Path, Path]

    def end(self, *, signal_sent: int | None = None, to_all: bool = False) -> Done:
        """Wait for its end, after a signal if one is given; nothing that it started may be left."""
        if signal_sent is not None and to_all:
            os.killpg(self.process.pid, signal_sent)  # as a terminal does
        elif signal_sent is not None:
            self.process.send_signal(signal_sent)
        code = self.process.wait(PATIENCE)
        out, err = (path.read_text() for path in self.said)
        left = self.left_over()
        assert not left, f"still there: {left}\n{out}\n{err}"
        return Done(code, out, err)

    def left_over(self) -> list[str]:
        """Processes that it started and that do not end, given time."""
        end = time.monotonic() + 60.0
        while processes_of(self.mark) and time.monotonic() < end:
            time.sleep(0.1)
        return [" ".join(one.cmdline()) for one in processes_of(self.mark)]


@dataclass
class Urlr:
    """Runs `urlr` in an empty directory, with a home and an environment of its own."""

    place: Path
    environment: dict[str, str]
    _started: list[Running] = field(default_factory=list)

    def __call__(self, *arguments: str, faults: tuple[Fault, ...] = (), **environment: str) -> Done:
        return self.start(*arguments, faults=faults, **environment).end()

    def start(self, *arguments: str, faults: tuple[Fault, ...] = (), **environment: str) -> Running:
        """Start the command; what it says goes to files outside of its directory."""
        mark = secrets.token_hex(8)
        said = (self.place / f"{mark}.out", self.place / f"{mark}.err")
        given = self.environment | environment | {_MARK: mark}
        given["FAULTS"] = json.dumps([asdict(fault) for fault in faults], default=str)
        with said[0].open("wb") as out, said[1].open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "flows.cli", *arguments],
                cwd=self.work,
                env=given,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        running = Running(process, mark, said)
        self._started.append(running)
        return running

    @property
    def work(self) -> Path:
        """Its directory."""
        return self.place / "work"

    def close(self) -> None:
        """End what a failed test left."""
        for running in self._started:
            for process in processes_of(running.mark):
                process.kill()
            running.process.wait(PATIENCE)


def processes_of(mark: str) -> list[psutil.Process]:
    """Processes that have this mark in their environment, as all have that a command started."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(_MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def runs_on(api: str, store: str) -> list[dict[str, Any]]:
    """Flow runs on a store, and then their task runs."""
    flows = [one for one in asked(api, "flow_runs") if one["parameters"].get("store") == store]
    ids = [one["id"] for one in flows]
    return flows + asked(api, "task_runs", flow_runs={"id": {"any_": ids}})


@pytest.fixture(scope="session")
def prefect_address(prefect_api: PrefectApi) -> str:
    """The address of a real Prefect server on loopback."""
    return prefect_api.address


def command_in(place: Path, api: str, **environment: str) -> Urlr:
    """The command in a directory that is made, with nothing of this process's environment."""
    (place / "work").mkdir(parents=True)
    (place / "home").mkdir()
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    own = {
        "HOME": str(place / "home"),
        "PREFECT_HOME": str(place / "home" / "prefect"),
        "PREFECT_API_URL": api,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests' / 'faults' / 'planted'}",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return Urlr(place, kept | own | SILENT | QUICK | environment)


@pytest.fixture
def urlr(prefect_address: str, tmp_path: Path) -> Iterator[Urlr]:
    """The command in an empty directory."""
    command = command_in(tmp_path / "urlr", prefect_address)
    yield command
    command.close()
