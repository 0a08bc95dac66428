"""The command apart from Prefect: in this process, or in one that a fault may kill.

Both are as `Urlr` (see `tests/flows/commands.py`) with the nights of `tests/flows/in_process.py`:
the same command line, settings, store, gate and registry, and workers of a standing Dask cluster.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from commands import Done, Fault, Urlr
from forks import Forks
from in_process import Bench
from pipeline import ROOT

from tasks.store import Store


@dataclass
class Here:
    """Runs it in this process."""

    place: Path
    environment: dict[str, str]

    @classmethod
    def instead_of(cls, command: Urlr | Here | Forked, dask_address: str) -> Here:
        """What another command was, with the workers of a cluster."""
        cluster = {"URLR_DASK_ADDRESS": dask_address}
        return cls(command.place, command.environment | cluster)

    def __call__(self, *arguments: str, faults: tuple[Fault, ...] = (), **environment: str) -> Done:
        assert not faults, "what is planted in this process would stay"
        bench = Bench(self.work, Store.at(self.place), self.environment)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", None)  # TMPDIR counts, as in a new process
            done = bench.urlr(*arguments, **environment)
        return Done(done.returncode, done.stdout, done.stderr)

    @property
    def work(self) -> Path:
        """Its directory."""
        return self.place / "work"

    def close(self) -> None:
        """Nothing was started."""


_PROGRAM = """
import json, os, sys
import mlflow.store.model_registry.sqlalchemy_store
import mlflow.store.tracking.sqlalchemy_store
import sitecustomize
from in_process import _without_prefect
from flows import cli, nightly_command
from tasks.registry import verifying

nightly_command.run_by_prefect = _without_prefect
helper = verifying._Helper.started()

class Lent(verifying._Helper):
    def end(self): ...

verifying._Helper.started = lambda: Lent(helper.process, helper.line, helper.said)


def work(directory, arguments, environment, faults, said):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    for number, path in enumerate(said, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    for fault in faults:
        sitecustomize.plant(fault, sys.modules[fault["function"].partition(":")[0]])
    code = cli.main(arguments)
    sys.stdout.flush()
    return code
"""


@functools.cache
def _forks() -> Forks:
    paths = [str(ROOT / "tests" / "faults" / "planted"), *filter(None, sys.path)]
    own = {"PYTHONPATH": os.pathsep.join(paths), "MLFLOW_DISABLE_TELEMETRY": "true"}
    return Forks(_PROGRAM, own)


class Forked(Here):
    """Runs it in a process of its own, but with the workers that are there."""

    def __call__(self, *arguments: str, faults: tuple[Fault, ...] = (), **environment: str) -> Done:
        said = [self.place / "forked.out", self.place / "forked.err"]
        for path in said:
            path.write_bytes(b"")
        ended = _forks().ended(
            directory=str(self.work),
            arguments=arguments,
            environment=self.environment | environment,
            faults=json.loads(json.dumps([asdict(one) for one in faults], default=str)),
            said=[str(path) for path in said],
        )
        out, err = (path.read_text() for path in said)
        return Done(ended.get("done", ended.get("ended")), out, err)
