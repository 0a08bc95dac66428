"""What champions predict for somebody who only has MLflow and urlr; most of asking is loading."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from forks import Forks
from pipeline import ROOT

_PROGRAM = """
import os
import mlflow.pyfunc
import mlflow.store.model_registry.sqlalchemy_store
import mlflow.store.tracking.sqlalchemy_store
import pandas as pd
import urlr

def work(uri, table, names, environment):
    os.environ.clear()
    os.environ.update(environment)
    mlflow.set_tracking_uri(uri)
    items = pd.read_json(table, orient="records", dtype={"item": str})
    scored = {}
    for name in names:
        model = mlflow.pyfunc.load_model("models:/" + name + "@champion")
        scored[name] = int(model.predict(items)["score"].notna().sum())
    return scored
"""
_OWN = {"PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"}
_FORKS = Forks(_PROGRAM, _OWN)


def predicted(uri: str, table: Path, names: Sequence[str]) -> dict[str, int]:
    """How many items of a table each champion scores, by its name in the registry."""
    said = _FORKS.ended(uri=uri, table=str(table), names=list(names), environment=os.environ | _OWN)
    scored: dict[str, int] = said["done"]
    return scored
