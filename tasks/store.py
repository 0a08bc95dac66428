"""The object store: a directory (`objects.py`), or a bucket that speaks S3 (`bucket.py`).

Credentials and endpoint of a bucket come from the environment of the process that uses it
(`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, or
whatever else the AWS libraries read). A store holds none of them and no connection, so it can be
sent to another process, and its address can be shown.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tasks.bucket import Bucket
from tasks.messages import message
from tasks.objects import (
    Changed,
    Directory,
    Exists,
    Found,
    Listing,
    Names,
    NotThere,
    StoreError,
    Unreachable,
    UnsupportedError,
    checked_address,
    checked_key,
    hidden_name,
)

__all__ = [
    "Changed",
    "Exists",
    "Found",
    "NotThere",
    "Store",
    "StoreError",
    "Unreachable",
    "UnsupportedError",
]

DEADLINE = 120.0
"""Seconds that one call to a remote store may take, retries included."""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


@dataclass(frozen=True, slots=True)
class Store:
    """Objects under keys, in a directory or in a bucket."""

    url: str
    """Absolute path of a directory, or `s3://bucket/prefix`."""
    deadline: float = DEADLINE
    """Seconds that one call to a remote store may take, retries included."""

    def __post_init__(self) -> None:
        if not self.deadline > 0:
            raise StoreError(message("deadline_too_short", seconds=self.deadline))
        self._objects()

    @classmethod
    def at(cls, url: str | os.PathLike[str], *, deadline: float = DEADLINE) -> Store:
        """The store at a local path or at `s3://bucket/prefix`; nothing is looked up yet.

        Raises
        ------
        StoreError
            The address holds a user or a password, or is of a kind unknown here.
        """
        text = os.fspath(url)
        if text.startswith("s3://"):
            return cls("s3://" + text.removeprefix("s3://").rstrip("/"), deadline)
        if text.startswith("file:///"):
            text = text.removeprefix("file://")
        elif _SCHEME.match(text):
            return cls(text, deadline)  # refused there
        if not text or "\0" in text:
            raise StoreError(message("store_is_no_path"))
        return cls(str(Path(text).expanduser().resolve()), deadline)

    def address(self, key: str) -> str:
        """Where an object lies, for people."""
        return self._objects().address(key)

    def list(self, prefix: str = "") -> Listing:
        """All objects below a prefix, at any depth, sorted by key; empty if there is none.

        `votes` is the prefix of `votes/a.csv`, not of `votes2/a.csv`. Other programs may have
        made a key that is refused here; it is listed, and reading it fails.
        """
        if prefix:
            checked_key(prefix)
        return sorted(self._objects().list(prefix), key=lambda found: found.key)

    def folders(self, prefix: str) -> Names:
        """Names of the folders right below a prefix, sorted; what lies in them is not listed."""
        return sorted(self._objects().folders(checked_key(prefix)))

    def read(self, key: str, *, etag: str | None = None) -> bytes:
        """The bytes of an object; with an etag, only of the object that was listed.

        Raises
        ------
        NotThere
            There is no such object.
        Changed
            The object is not the one listed.
        """
        return self._objects().read(checked_key(key), etag)

    def find(self, key: str) -> Found:
        """One object, as a listing shows it; NotThere if there is none."""
        return self._objects().find(checked_key(key))

    def read_span(self, key: str, start: int, stop: int, *, etag: str) -> bytes:
        """The bytes from `start` up to `stop` of an object that was listed; raises as `read`."""
        if stop <= start:
            return b""
        data = self._objects().read(checked_key(key), etag, (start, stop))
        if len(data) != stop - start:
            raise StoreError(
                message("span_not_kept", path=self.address(key), came=len(data), asked=stop - start)
            )
        return data

    def create(self, key: str, data: bytes) -> None:
        """Write a new object, whole or not at all; writing the same bytes again is no error.

        Raises
        ------
        Exists
            The key holds other bytes; of several writers at once, one wins.
        """
        self._objects().create(checked_key(key), data)

    def replace(self, key: str, data: bytes) -> None:
        """Write an object over what the key holds; for the few objects that may change."""
        self._objects().replace(checked_key(key), data)

    def remove(self, key: str) -> None:
        """Remove an object; no error if it is gone already."""
        self._objects().remove(checked_key(key))

    def clear(self, prefix: str) -> None:
        """Remove all objects below a prefix, whoever wrote them, and what was written halfway."""
        self._objects().clear(checked_key(prefix))

    def may_write(self, key: str) -> bool:
        """Whether an object could be written under a new key; nothing is."""
        return self._objects().may_write(checked_key(key))

    def sweep(self, prefix: str, *, before: datetime) -> int:
        """Remove what was written halfway below a prefix before a moment; gives how many."""
        left = self._objects().half_written(checked_key(prefix))
        old = [found.key for found in left if found.modified < before]
        for key in old:
            self.remove(key)
        return len(old)

    def probe_conditional_writes(self, folder: str) -> bool:
        """Whether a second create of one key fails here, as it must; leaves nothing behind."""
        key = f"{checked_key(folder)}/{hidden_name()}"
        try:
            self.create(key, b"first")
        except UnsupportedError:
            return False
        try:
            self.create(key, b"second")
        except Exists:
            return True
        finally:
            self.remove(key)
        return False

    def _objects(self) -> Directory | Bucket:
        scheme = _SCHEME.match(self.url)
        if scheme is None:
            return Directory(Path(self.url))
        name, _, prefix = checked_address(self.url)[scheme.end() :].partition("/")
        if scheme[1] != "s3":
            raise StoreError(message("unknown_kind_of_store", scheme=scheme[1]))
        if _BUCKET.fullmatch(name) is None:
            raise StoreError(message("not_a_bucket", name=name))
        return Bucket(name, checked_key(prefix) if prefix else "", self.deadline)
