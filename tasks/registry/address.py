"""Addresses of a registry: a directory, a database in a file, or a server, and where files go."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from tasks.registry.mlflow_client import RegistryError
from tasks.store import Store, StoreError
from urlr.ids import shown

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
            raise RegistryError(
                "the registry's address holds more than host and path; give http://host:port, and "
                "credentials as MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD."
            )
        return place.rstrip("/"), kept
    if place.startswith("sqlite:///"):
        file = _local(place.removeprefix("sqlite:///"))
    elif _SCHEME.match(place) and not place.startswith("file:///"):
        raise RegistryError(
            f"a registry at {shown(place.partition(':')[0])}: is not possible; give a directory, "
            "sqlite:///file, or the http:// address of an MLflow server."
        )
    else:
        file = _local(place.removeprefix("file://")) / "mlflow.db"
    return f"sqlite:///{file}", kept or str(file.parent / "artifacts")


def _local(text: str) -> Path:
    """An absolute path that MLflow takes for one."""
    if not text or "\0" in text:
        raise RegistryError("the registry's address is empty or no path; give a directory.")
    path = Path(text).expanduser().resolve()
    if _AWKWARD.search(str(path)):
        raise RegistryError(
            f"the registry cannot lie at {shown(path, 200)}: MLflow reads #, ? and % in a path as "
            "something else; give another directory."
        )
    return path


def _kept_at(artifacts: str) -> str:
    """Where files go, as MLflow is told."""
    if not artifacts.startswith("s3://"):
        return str(_local(artifacts.removeprefix("file://")))
    try:
        return Store.at(artifacts).url
    except StoreError as error:
        failure = RegistryError(f"files of the registry cannot go there: {error}")
    raise failure
