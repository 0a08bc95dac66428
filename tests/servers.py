"""Servers that all test processes of a run share: each is started once, by the first to need it.

What was started is noted in the run's directory. One small process, tied to pytest by a pipe, ends
all of it when pytest ends: as it should, by Ctrl-C, or killed.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from waiting import until

PATIENCE = 600.0
"""Seconds that a server may take to start on a machine that is busy."""

_KEEPER = """
import fcntl, json, os, pathlib, signal, sys
sys.stdin.buffer.read()  # until pytest is gone
run = pathlib.Path(sys.argv[1])
with (run / "lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    (run / "over").touch()
    for note in run.glob("*.pid"):
        try:
            os.killpg(int(note.read_text()), signal.SIGKILL)  # what they keep, nobody wants
        except ProcessLookupError:
            pass
"""


class Keeper:
    """Ends the servers of a run with the process that made it."""

    def __init__(self, run: Path) -> None:
        run.mkdir()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _KEEPER, str(run)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is meant for pytest
        )

    def end(self) -> None:
        """End them now."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def run_directory(factory: pytest.TempPathFactory) -> Path:
    """The directory that the processes of a run share."""
    own = factory.getbasetemp()
    shared = own.parent if own.name.startswith("popen-") else own  # as xdist names its processes
    return shared / "servers"


@pytest.hookimpl(trylast=True)  # after the directory of the run is known
def pytest_configure(config: pytest.Config) -> None:
    """Have a keeper, in the process that distributes the tests or runs them alone."""
    if not hasattr(config, "workerinput"):
        factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
        keeper = Keeper(run_directory(factory))
        config.add_cleanup(keeper.end)


@contextmanager
def _locked(run: Path) -> Iterator[None]:
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (run / "over").exists():
            pytest.exit("the run is over")
        yield


def once(run: Path, name: str, make: Callable[[Path], Any]) -> Any:
    """What `make` gives, done by the first test process that asks; it must fit into JSON."""
    with (run / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = run / f"{name}.json"
        if not known.exists():
            place = run / name
            place.mkdir(exist_ok=True)
            known.write_text(json.dumps(make(place)))
        return json.loads(known.read_text())


def start_shared(
    place: Path,
    command: list[str],
    environment: Mapping[str, str],
    answers: Callable[[], object],
) -> None:
    """Start a server in its directory of the run, with which it ends; wait until it answers."""
    log = place / "server.log"
    with _locked(place.parent), log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=dict(environment),
            cwd=place,
            start_new_session=True,
        )
        (place.parent / f"{place.name}.pid").write_text(str(process.pid))
    wait_for(answers, process, log)
    process.returncode = 0  # it is the keeper's from now on, of which Python would complain


def wait_for(answers: Callable[[], object], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers; one that ended instead fails the test with what it logged."""
    until(
        lambda: answers() or process.poll() is not None,
        f"what logs to {log.name} answers",
        seconds=PATIENCE,
    )
    if process.poll() is not None:
        pytest.fail(f"a server did not start:\n{log.read_text()[-2000:]}")
