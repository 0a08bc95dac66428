"""Files of a version: in a directory or a bucket by `tasks.store`, else where MLflow keeps them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from tasks.messages import message
from tasks.registry.mlflow_client import NotRegistered, RegistryError, asking_for_files
from tasks.scratch import scratch_directory
from tasks.store import NotThere, Store, StoreError
from tasks.together import together

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


@dataclass(frozen=True, slots=True)
class Files:
    """Files below one address: a directory, a bucket, or whatever MLflow's server keeps."""

    uri: str
    """The registry."""
    root: str
    """Address as the registry gives it."""

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files that nobody has read yet, each whole."""
        for name in files:
            checked_name(name)
        store = self._store()
        if store is None:
            return self._send(files)
        try:
            together(lambda one: store.replace(*one), files.items())
            return None
        except StoreError as error:
            failure = RegistryError(error.sentence.at(message("version_not_written")))
        raise failure

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        checked_name(name)
        store = self._store()
        if store is None:
            return self._received(name)
        try:
            return store.read(name)
        except NotThere:
            failure = self._lacks(name)
        except StoreError as error:
            failure = RegistryError(error.sentence.at(message("version_not_read")))
        raise failure

    def names(self, folder: str) -> list[str]:
        """Names of all that lies in a folder; a server gives folders in it by their own name."""
        store = self._store()
        if store is None:
            with asking_for_files(self.uri, self.root) as repository:
                return [found.path for found in repository.list_artifacts(folder)]
        try:
            return [found.key for found in store.list(folder)]
        except StoreError as error:
            failure = RegistryError(error.sentence.at(message("version_not_listed")))
        raise failure

    def sweep(self, *folders: str) -> None:
        """Remove what somebody was killed in the midst of writing; whole files stay."""
        store = self._store()
        if store is None:
            return
        try:
            for folder in folders:
                store.sweep(folder, before=datetime.now(UTC))
            return
        except StoreError as error:
            failure = RegistryError(error.sentence.at(message("version_not_cleared")))
        raise failure

    def _lacks(self, name: str) -> RegistryError:
        return NotRegistered(message("version_file_missing", name=name, root=self.root))

    def _store(self) -> Store | None:
        scheme = _SCHEME.match(self.root)
        if scheme is None:
            return Store.at(self.root)
        if scheme[1] == "file":
            return Store.at(unquote(urlsplit(self.root).path))
        return Store.at(self.root) if scheme[1] == "s3" else None

    def _send(self, files: Mapping[str, bytes]) -> None:
        with (
            asking_for_files(self.uri, self.root) as repository,
            scratch_directory() as place,
        ):
            sent = Path(place, "sent")
            for name, data in files.items():
                path = sent / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            repository.log_artifacts(str(sent))

    def _received(self, name: str) -> bytes:
        above = str(PurePosixPath(name).parent)
        with (
            asking_for_files(self.uri, self.root) as repository,
            scratch_directory() as place,
        ):
            listed = repository.list_artifacts(None if above == "." else above)
            if any(found.path == name for found in listed):
                return Path(repository.download_artifacts(name, dst_path=place)).read_bytes()
        raise self._lacks(name)


def checked_name(name: str) -> str:
    """The name of a file, if it is plain: letters, digits, `.`, `_`, `-`, and slashes between."""
    if _PLAIN_NAME.fullmatch(name) is None or ".." in name:
        raise RegistryError(message("awkward_file_name", name=name))
    return name
