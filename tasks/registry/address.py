"""Addresses of a registry: a directory, a database in a file, or a server, and where files go."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from tasks.messages import message
from tasks.registry.mlflow_client import RegistryError
from tasks.store import Store, StoreError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AWKWARD = re.compile(r"[#?%]")


def addresses(place: str, artifacts: str | None) -> tuple[str, str | None]:
    """MLflow's address, and where files of versions go (None: where the server says).

    Raises
    ------
    RegistryError
        The address holds a user or a password, or is of a kind unknown here.
    """
    kept = None if artifacts is None else _kept_at(artifacts)
    if place.startswith(("http://", "https://")):
        parts = urlsplit(place)
        if "@" in parts.netloc or parts.query or parts.fragment or not parts.netloc:
            raise RegistryError(message("registry_address_too_long"))
        return place.rstrip("/"), kept
    if place.startswith("sqlite:///"):
        file = _local(place.removeprefix("sqlite:///"))
    elif _SCHEME.match(place) and not place.startswith("file:///"):
        raise RegistryError(message("unknown_kind_of_registry", kind=place.partition(":")[0]))
    else:
        file = _local(place.removeprefix("file://")) / "mlflow.db"
    return f"sqlite:///{file}", kept or str(file.parent / "artifacts")


def _local(text: str) -> Path:
    """An absolute path that MLflow takes for one."""
    if not text or "\0" in text:
        raise RegistryError(message("empty_registry_address"))
    path = Path(text).expanduser().resolve()
    if _AWKWARD.search(str(path)):
        raise RegistryError(message("awkward_registry_path", path=path))
    return path


def _kept_at(artifacts: str) -> str:
    """Where files go, as MLflow is told."""
    if not artifacts.startswith("s3://"):
        return str(_local(artifacts.removeprefix("file://")))
    try:
        return Store.at(artifacts).url
    except StoreError as error:
        failure = RegistryError(error.sentence.at(message("artifacts_cannot_go_there")))
    raise failure
