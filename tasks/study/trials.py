"""Trials on disk: one file per unit, written whole or not at all; a study can go on later."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import urlr
from tasks.study.experiments import EXPERIMENTS
from tasks.study.records import Example, Outcome, Row, Unit

PRESENTATION = {
    "claims", "claims_on_known_truth", "claims_on_sparse_votes", "content", "figures", "judging",
    "looks", "markdown", "page", "results",
}  # fmt: skip
"""Modules beside this one that judge and show what was measured; the others measure."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A unit that is to be run, and where its outcome goes."""

    unit: Unit
    path: Path
    key: str
    """Changes with whatever of ours may change the outcome: the sources that measure, the data."""


@dataclass(frozen=True, slots=True)
class Done:
    """A unit that was run."""

    unit: Unit
    outcome: Outcome
    cpu_seconds: float
    wall_seconds: float


def trials_of(
    names: Sequence[str], folders: dict[str, Path | None], out: Path, *, quick: bool
) -> list[Trial]:
    """Everything these experiments ask for, the slow ones first.

    The key of a trial has the sources that measure in it: after a change of the method or of an
    experiment no earlier outcome holds, after one of claims, figures or pages all do.
    """
    sources = files_digest(measuring_sources())
    found = []
    for name in names:
        data = folders.get(name)
        digest = folder_digest(data) if data is not None else ""
        for setting, number in EXPERIMENTS[name].units(quick):
            unit = Unit(name, setting, number, quick, data)
            what = [sources, name, setting, number, quick, digest]
            key = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]
            file = f"{re.sub(r'[^a-z0-9.]+', '-', setting.lower())}.{number}.json"
            found.append(Trial(unit, out / "trials" / name / file, key))
    return found


def carried_out(trial: Trial) -> float:
    """Run a unit, write its outcome, and say how many seconds it took: what a Dask worker does."""
    cpu, wall = time.process_time(), time.perf_counter()
    outcome = EXPERIMENTS[trial.unit.experiment].run(trial.unit)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    content = {
        "key": trial.key,
        "unit": trial.unit.name,
        "evidence": outcome.evidence,
        "cpu_seconds": cpu,
        "wall_seconds": wall,
        "rows": [[row.measure, row.method, row.at, row.value] for row in outcome.rows],
        "examples": [asdict(example) for example in outcome.examples],
    }
    trial.path.parent.mkdir(parents=True, exist_ok=True)
    beside = trial.path.with_suffix(f".{os.getpid()}.tmp")
    beside.write_text(json.dumps(content))
    beside.replace(trial.path)
    return wall


def read_done(trial: Trial) -> Done | None:
    """What an earlier run found; None if there is nothing, or nothing that still holds."""
    try:
        content = json.loads(trial.path.read_text())
        if content["key"] != trial.key:
            return None
        outcome = Outcome(
            content["evidence"],
            [Row(*row) for row in content["rows"]],
            [Example(**example) for example in content["examples"]],
        )
        return Done(trial.unit, outcome, content["cpu_seconds"], content["wall_seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def folder_digest(folder: Path) -> str:
    """Of the names and bytes of a folder's files."""
    return files_digest([path for path in sorted(folder.iterdir()) if path.is_file()])


def measuring_sources() -> list[Path]:
    """The method and the experiments: all of whose code an outcome may depend on."""
    here, method = Path(__file__).parent, Path(urlr.__file__).parent
    experiments = [path for path in here.glob("*.py") if path.stem not in PRESENTATION]
    return [*sorted(method.rglob("*.py")), *sorted(experiments)]


def files_digest(paths: Sequence[Path]) -> str:
    """Of the names and bytes of files, in this order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
