"""What champions predict for somebody who only has MLflow and urlr.

Most of asking is loading MLflow. One process has it loaded and asks in a fork of its own each
time, so that nothing of one answer is there for the next.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pipeline import PATIENCE, ROOT

_STDERR = tempfile.TemporaryFile()  # noqa: SIM115 - of the whole run

_PROGRAM = """
import json, os, sys, traceback
import mlflow.pyfunc
import mlflow.store.model_registry.sqlalchemy_store
import mlflow.store.tracking.sqlalchemy_store
import pandas as pd
import urlr

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what MLflow prints is no answer


def answer(uri, table, names, environment):
    os.environ.clear()
    os.environ.update(environment)
    mlflow.set_tracking_uri(uri)
    items = pd.read_json(table, orient="records", dtype={"item": str})
    for name in names:
        model = mlflow.pyfunc.load_model("models:/" + name + "@champion")
        yield name, int(model.predict(items)["score"].notna().sum())


for line in sys.stdin:
    child = os.fork()
    if child:
        ended = os.waitpid(child, 0)[1]
        if not ended:
            continue
        said = {"wrong": "its process ended by itself, as " + str(ended)}
    else:
        try:
            said = {"scored": dict(answer(**json.loads(line)))}
        except BaseException:
            said = {"wrong": traceback.format_exc()}
    answers.write(json.dumps(said) + chr(10))
    answers.flush()
    if not child:
        os._exit(0)
"""


def predicted(uri: str, table: Path, names: Sequence[str]) -> dict[str, int]:
    """How many items of a table each champion scores, by its name in the registry."""
    process = _process()
    assert process.stdin is not None
    assert process.stdout is not None
    asked = {"uri": uri, "table": str(table), "names": list(names), "environment": _environment()}
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    line = process.stdout.readline() if ready else ""
    if not line:
        process.kill()
        _process.cache_clear()
        raise AssertionError(f"no answer:\n{_written(process)}")
    said = json.loads(line)
    assert "wrong" not in said, said["wrong"]
    scored: dict[str, int] = said["scored"]
    return scored


@functools.cache
def _process() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=_STDERR,
        text=True,
        env=_environment(),
    )
    atexit.register(process.communicate)
    return process


def _written(process: subprocess.Popen[str]) -> str:
    """The end of what it wrote on stderr."""
    process.wait()
    _STDERR.seek(0)
    return _STDERR.read().decode(errors="replace")[-2000:]


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"}
