"""The files of deploy, as they are read by its tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
MANIFESTS = sorted(
    path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml"
)
PODS = ("Deployment", "StatefulSet", "Job")


def checked(program: str, *words: str) -> None:
    """Run a checker, which must be here and must find nothing."""
    where = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = shutil.which(program, path=where)
    if found is None:
        pytest.fail(f"{program} is not here; install urlr with its extra `dev`")
    done = subprocess.run([found, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def documents() -> Iterator[dict[str, Any]]:
    for path in MANIFESTS:
        yield from yaml.safe_load_all(path.read_text("utf-8"))


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for one in documents():
        if one["kind"] in PODS:
            yield one["metadata"]["name"], one["spec"]["template"]["spec"]


def containers() -> Iterator[dict[str, Any]]:
    for _, pod in pods():
        yield from pod.get("initContainers", [])
        yield from pod["containers"]
