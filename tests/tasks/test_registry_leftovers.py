"""What publications that were cut off leave in the registry, and who takes it away."""

import subprocess
import sys
from datetime import timedelta

import pytest
from registries import MLFLOW_WARNS, registered

from tasks.messages import message
from tasks.objects import hidden_name
from tasks.registry import registry as registry_module
from tasks.registry.files import Files
from tasks.registry.mlflow_client import Mlflow
from tasks.registry.publication import RUN
from tasks.store import Store

pytestmark = [MLFLOW_WARNS, pytest.mark.full]


def test_what_never_ended_is_cleared_later(own_registry, monkeypatch):
    mlflow = Mlflow(own_registry.uri)
    left = mlflow.start("urlr", "died", {})
    own_registry.reconcile_all()
    later = registry_module.alias_history.now() + timedelta(days=1)
    assert left in mlflow.unended("urlr", later)  # it may still be running
    monkeypatch.setattr(registry_module, "LEFT_BEHIND", -timedelta(days=1))
    assert message("publications_cleared", count=1) in own_registry.reconcile_all()
    assert mlflow.unended("urlr", later) == []


def test_what_the_dead_left_half_registered_is_cleared_at_once(own_registry):
    """Files that were being written go, whole ones stay; others may still be at work."""
    mlflow = Mlflow(own_registry.uri)
    later = registry_module.alias_history.now() + timedelta(days=1)
    dead, living = (mlflow.start("urlr", "died", {RUN: run}) for run in ("dead", "living"))
    for one in (dead, living):
        for folder in registry_module.FOLDERS:
            store = Store.at(one.files.removeprefix("file://"))
            store.replace(f"{folder}/whole", b"x")
            store.replace(f"{folder}/{hidden_name()}", b"half of")
    said = own_registry.reconcile_all(dead=("dead",))
    assert message("publications_cleared", count=1) in said
    assert mlflow.unended("urlr", later) == [living]
    for one, n_left in ((dead, 0), (living, 2)):
        store = Store.at(one.files.removeprefix("file://"))
        assert len(store.list()) == 2
        assert len(store._objects().half_written("")) == n_left


def test_mlflow_frees_what_a_dead_publication_wrote_and_nothing_else(own_registry):
    """By the command in docs/operations.md."""
    [whole] = registered(own_registry, "smiling", 1)
    dead = Mlflow(own_registry.uri).start("urlr", "died", {RUN: "dead"})
    left = Files(own_registry.uri, dead.files)
    left.write({"model/model.npz": b"x"})
    own_registry.reconcile_all(dead=("dead",))
    assert left.names("model") == ["model/model.npz"]
    where = ("--backend-store-uri", own_registry.uri, "--tracking-uri", own_registry.uri)
    command = [sys.executable, "-m", "mlflow", "gc", *where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert left.names("model") == []
    assert [one.number for one in own_registry.versions("smiling")] == [whole.number]
    own_registry.fetch(whole)
