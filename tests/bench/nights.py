"""Nights to be measured: a store of simulated votes, and the real command run on it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.results import Entry, Night
from tasks.runs import past_of
from tasks.store import Store
from tasks.write import table_bytes
from urlr.simulate import crowd

_LOOK = 0.3
"""Seconds between two looks at the memory of the flow's process; its peak is the kernel's own."""


@dataclass(frozen=True)
class Ran:
    """A night that was run, and what it took as seen from outside."""

    night: Night
    seconds: float
    """Of the whole command."""
    launched: datetime
    peak: float
    """Most bytes that the flow's process held."""
    own: float
    """Processor seconds of the command and of all that it started."""
    others: float
    """Cores that everybody else used meanwhile, on average."""

    @property
    def start(self) -> float:
        """Seconds from the command to the first order: Prefect, registry, workers."""
        begun = (self.night.started - self.launched).total_seconds()
        ready = ("discover", "registry", "features", "workers")
        return begun + sum(self.night.stages.get(name, 0.0) for name in ready)

    @property
    def computed(self) -> list[Entry]:
        """What was fitted in this night."""
        return [one for one in self.night.tonight() if one.computed]

    @property
    def compute(self) -> float:
        """Processor seconds of all fits, as each worker counted its own."""
        return sum(one.seconds for one in self.computed)

    @property
    def n_versions(self) -> int:
        """Versions that went into the registry."""
        return sum(one.outcome in ("published", "held") for one in self.night.tonight())


@dataclass(frozen=True)
class Shape:
    """What one attribute of a store holds."""

    n_votes: int
    n_items: int = 200
    n_features: int = 32
    n_people: int = 100


def fill(store: Store, n_attributes: int, shape: Shape) -> None:
    """Put votes and features of attributes there, all of one shape."""
    for k in range(n_attributes):
        made = crowd(
            rng=np.random.default_rng(k),
            n_items=shape.n_items,
            n_features=shape.n_features,
            n_votes=shape.n_votes,
            n_annotators=shape.n_people,
            ties=0.03,
        )
        _put(store, f"votes/a{k:04}/votes.parquet", made.votes)
        _put(store, f"features/a{k:04}/features.parquet", made.features.reset_index())


def run_night(home: Path, store: str | Path, **settings: str) -> Ran:
    """`urlr nightly` in a process of its own; registry and Prefect's records lie in `home`."""
    home.mkdir(parents=True, exist_ok=True)
    given = {"URLR_WORKERS": "2", "PREFECT_HOME": str(home / "prefect")} | settings
    launched, began = datetime.now(UTC), time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", "nightly", "--store", str(store), "--quiet"],
            cwd=home,
            env=os.environ | given | {"PYTHONPATH": str(Path.cwd())},
            stdout=said,
            stderr=said,
        )
        peak, busy, ended = 0.0, _busy(), 0
        while not ended:
            peak = max(peak, _peak_of(process.pid))
            time.sleep(_LOOK)
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds, own = time.perf_counter() - began, used.ru_utime + used.ru_stime
        others = max(0.0, _busy() - busy - own) / seconds
        said.seek(0)
        if process.returncode != 0:
            raise SystemExit(said.read().decode(errors="replace")[-4000:])
    night = past_of(Store.at(store)).last
    if night is None:
        raise SystemExit("the night left no record")
    return Ran(night, seconds, launched, peak, own, others)


def _put(store: Store, key: str, table: pd.DataFrame) -> None:
    store.replace(key, table_bytes(table, key.rpartition("/")[2]))


def _busy() -> float:
    """Processor seconds that this machine has spent so far, on anything."""
    user, nice, system, *_ = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def _peak_of(pid: int) -> float:
    """Most bytes a process has held; 0 if it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    fields = dict(line.split(":", 1) for line in lines)
    return 1024.0 * int(fields["VmHWM"].split()[0]) if "VmHWM" in fields else 0.0
