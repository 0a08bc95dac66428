"""The same with a real MLflow server, which keeps the files itself, and with none that answers."""

import shutil
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from refusals import refused
from registries import MLFLOW_WARNS, NIGHT, mlflow_server, publication, registered
from storage import free_ports

from tasks.registry import Registry, RegistryError, RegistryUnreachable
from urlr.model_file import model_bytes

pytestmark = [MLFLOW_WARNS, pytest.mark.full]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, tables: Path) -> Iterator[str]:
    """Address of a server on a loopback port that was free; it ends with the module."""
    place = tmp_path_factory.mktemp("server")
    shutil.copy(tables, place)
    [port] = free_ports(1)
    with mlflow_server(place, port) as address:
        yield address


def test_a_server_keeps_versions_and_history(server, attribute, capfd):
    registry = Registry.at(server)
    registry.prepare()
    registry.prepare()
    first, second = registered(registry, attribute, 2)
    with registry.verifier() as verifier:
        for version in (first, second):
            verifier.verify(version)
            registry.move(attribute, version, run="n", night=NIGHT, why="better")
    assert registry.champions() == {attribute: registry.champion(attribute)}
    assert registry.with_key(attribute, "key-1") == registry.champion(attribute)
    assert model_bytes(registry.fetch(second)) == publication(attribute, seed=1).model
    assert registry.move(attribute, first, run="me", night=NIGHT, why="back").to == 1
    assert registry.live_on(attribute, datetime.now(UTC)) == 1
    assert registry.reconcile_all() == []
    with refused(RegistryError, "no_such_version_file", name="files/none.csv"):
        registry.read(first, file="none.csv")
    assert capfd.readouterr() == ("", "")


def test_a_server_that_is_away_is_told_in_time(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    [port] = free_ports(1)
    away = Registry.at(f"http://127.0.0.1:{port}")
    with refused(RegistryUnreachable, "registry_silent", why="connection refused") as error:
        away.champion("smiling")
    assert "\n" not in str(error.value)


def test_a_server_that_takes_connections_and_says_nothing_is_told_in_time(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        registry = Registry.at(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with refused(RegistryUnreachable, "registry_silent", why="timed out"):
            registry.champion("smiling")
