"""Objects under keys, and how they lie in a directory: each whole, or not there at all.

A key is relative and made of parts with `/` between them, the same on every kind of store.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import TypeVar
from urllib.parse import quote

from tasks.formats import shown_path
from tasks.messages import message
from urlr.errors import UrlrError
from urlr.sentence import Sentence, made

_SECRETS = {
    "AWS_SECRET_ACCESS_KEY": 4,
    "AWS_SESSION_TOKEN": 4,
    "AWS_ACCESS_KEY_ID": 16,
    "MLFLOW_TRACKING_PASSWORD": 4,
    "MLFLOW_TRACKING_TOKEN": 4,
    "PREFECT_API_AUTH_STRING": 4,
    "PREFECT_API_KEY": 4,
}
"""Variables never shown, and the shortest value that can be told from ordinary words."""
_USERINFO = re.compile(r"(?<=://)(?:[^/\s]*|[^/\s:]*:(?!\d*(?:/|\s|$))\S*)@")
"""A user and perhaps a password in an address; passwords may hold slashes, and ports are none."""
_OF_FILE = re.compile(r"(?P<size>\d+)-(?P<moment>-?\d+)-\d+")
"""The ETag of a file; those of a bucket have quotes."""
_QUERY = re.compile(r"(?<!s3)(?<!file)(://[^\s?#]*)([?#]\S*?)(?=[\\\"'`>)\].,;:]*(?:\s|$))")
"""What an address asks for; keys and paths may hold such signs, and mean others by them."""
_ASKED = re.compile(r"([?#&;])([^=?#&;]*=)?[^?#&;]+")
_ADDRESSES = (
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "PREFECT_API_URL", "URLR_DASK_ADDRESS"),
    *("MLFLOW_TRACKING_URI", "URLR_REGISTRY"),
)
"""Variables with an address, of which what it asks for is never shown."""
_OURS = re.compile(r"\.urlr-[0-9a-f]{16}\.tmp")
FULL = {errno.ENOSPC, errno.EDQUOT}
"""What a disk without room says."""
_UNLINKABLE = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


class StoreError(UrlrError):
    """The store cannot do what was asked; the text says where, why, and what to do."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(redacted(sentence))


class NotThere(StoreError):  # noqa: N818 - says what was found, as do the next three
    """There is no object of that key."""


class Exists(StoreError):  # noqa: N818
    """The key holds other bytes already; nothing was written."""


class Changed(StoreError):  # noqa: N818
    """The object is not the one that was listed."""


class Unreachable(StoreError):  # noqa: N818
    """The store gave no answer, or none in time; a later call may succeed."""


class DeniedError(StoreError):
    """Whoever asked may not do that."""


class DigestError(StoreError):
    """The bytes that came do not have the digest that was announced; nothing was written."""


class UnsupportedError(StoreError):
    """The store cannot create an object only if it is absent."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object as a listing shows it."""

    key: str
    size: int
    etag: str
    """Changes whenever the object does; says nothing else."""
    modified: datetime
    """When it was last written, in UTC."""


Listing = list[Found]
Names = list[str]


Text = TypeVar("Text", str, Sentence)


def redacted(text: Text) -> Text:
    """The text without the credentials of this process and without any in an address."""
    if isinstance(text, Sentence):
        fields = {
            name: redacted(value) if isinstance(value, str) else value
            for name, value in text.fields.items()
        }
        return made(_redacted(text), text.code, fields)
    return _redacted(text)


def _redacted(text: str) -> str:
    for name, shortest in _SECRETS.items():
        value = os.environ.get(name, "")
        if len(value) >= shortest:
            for form in {value, quote(value, safe=""), quote(value)}:
                text = text.replace(form, "***")
    for name in _ADDRESSES:  # parts of them stand in what libraries say
        for asked in _QUERY.finditer(os.environ.get(name, "")):
            text = text.replace(asked[2], _ASKED.sub(r"\1\2***", asked[2]))
    text = _USERINFO.sub("***@", text)
    return _QUERY.sub(lambda found: found[1] + _ASKED.sub(r"\1\2***", found[2]), text)


def checked_address(address: str) -> str:
    """The address, if it can be shown and kept: Prefect keeps what flows are called with."""
    rest = address.partition("://")[2]
    if _USERINFO.search(address) or "@" in rest.partition("/")[0]:
        raise StoreError(message("address_with_password"))
    return address


def checked_key(key: str) -> str:
    """The key, if it names an object in the store and cannot climb out of it."""
    wrong = _wrong_with(key)
    if wrong is not None:
        raise StoreError(message("bad_key", key=key, wrong=wrong))
    return key


def _wrong_with(key: str) -> Sentence | None:
    parts = key.split("/")
    if not key:
        return message("empty_key")
    if key.startswith("/"):
        return message("key_begins_with_slash")
    if "\\" in key:
        return message("key_with_backslash")
    if any(part in ("", ".", "..") for part in parts):
        return message("key_with_odd_part")
    if any(ord(sign) < 32 or ord(sign) == 127 or 0xD800 <= ord(sign) < 0xE000 for sign in key):
        return message("key_with_control_sign")
    return None


def hidden_name() -> str:
    """A new name for an object nobody is to see; listings leave it out."""
    return f".urlr-{secrets.token_hex(8)}.tmp"


def is_hidden(key: str) -> bool:
    """Whether the key ends in a name that `hidden_name` gave."""
    return _OURS.fullmatch(key.rpartition("/")[2]) is not None


def no_room_apart(error: OSError) -> Sentence:
    """What is said where a temporary file cannot be written, which lies on this machine."""
    why = error.strerror or str(error)
    return message("no_room_for_temporary_files", place=gettempdir(), why=why)


def differs(address: str) -> Exists:
    """The error of a create that met other bytes."""
    return Exists(message("holds_other_data", path=address))


def missing(address: str) -> NotThere:
    """The error of a read that met nothing."""
    return NotThere(message("no_such_object", path=address))


def changed(address: str) -> Changed:
    """The error of a read that met another object than was listed."""
    return Changed(message("changed_after_listing", path=address))


@dataclass(frozen=True, slots=True)
class Directory:
    """A store that is a directory; every object is a file."""

    root: Path

    def address(self, key: str) -> str:
        """Where an object lies, for people."""
        return shown_path(self.root / key)

    def list(self, prefix: str) -> Listing:
        """All objects below a prefix, links to directories followed."""
        try:
            return list(self._below(prefix, frozenset()))
        except OSError as error:
            failure = self._failure(prefix, message("cannot_list"), error)
        raise failure

    def half_written(self, prefix: str) -> Listing:
        """Files below a prefix under a hidden name, at any depth."""
        found = []
        for path in (self.root / prefix).rglob("*"):
            if is_hidden(path.name):
                with suppress(FileNotFoundError):  # removed meanwhile
                    found.append(_found(str(path.relative_to(self.root)), path.stat()))
        return found

    def folders(self, prefix: str) -> Names:
        """Names of the directories right below a prefix that hold anything."""
        try:
            below = [path for path in (self.root / prefix).iterdir() if path.is_dir()]
            return [path.name for path in below if any(path.iterdir())]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            failure = self._failure(prefix, message("cannot_list"), error)
        raise failure

    def _below(self, prefix: str, above: frozenset[tuple[int, int]]) -> Iterator[Found]:
        place = self.root / prefix
        try:
            status = place.stat()
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        if (status.st_dev, status.st_ino) in above:  # a link to a directory that holds it
            return
        within = above | {(status.st_dev, status.st_ino)}
        for entry in entries:
            key = f"{prefix}/{entry.name}" if prefix else entry.name
            try:
                if entry.is_dir():
                    yield from self._below(key, within)
                elif entry.is_file() and not is_hidden(key):
                    yield _found(key, entry.stat())
            except FileNotFoundError:  # removed meanwhile
                continue

    def find(self, key: str) -> Found:
        """One file, as a listing shows it."""
        try:
            return _found(key, (self.root / key).stat())
        except (FileNotFoundError, NotADirectoryError):
            failure: StoreError = missing(self.address(key))
        except OSError as error:
            failure = self._failure(key, message("cannot_look_at"), error)
        raise failure

    def read(self, key: str, etag: str | None, span: tuple[int, int] | None = None) -> bytes:
        """The bytes of a file or of a span of it, all of one moment if the etag is given."""
        try:
            with (self.root / key).open("rb") as file:
                before = _etag(os.fstat(file.fileno()))
                if span is not None:
                    file.seek(span[0])
                data = file.read(-1 if span is None else span[1] - span[0])
                after = _etag(os.fstat(file.fileno()))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            failure: StoreError = missing(self.address(key))
        except OSError as error:
            failure = self._failure(key, message("cannot_read"), error)
        else:
            if etag is None or etag == before == after:
                return data
            failure = changed(self.address(key))
        raise failure

    def create(self, key: str, data: bytes) -> None:
        """Write a file under a hidden name and link it to its own, which fails if that is taken."""
        try:
            with _Hidden(self.root / key, data) as hidden:
                try:
                    os.link(hidden, self.root / key)
                except FileExistsError:
                    if self._holds(key, data):
                        return
                    failure: StoreError = differs(self.address(key))
                else:
                    _sync_directory(hidden.parent)
                    return
        except OSError as error:
            failure = self._failure(key, message("cannot_write"), error)
        raise failure

    def _holds(self, key: str, data: bytes) -> bool:
        try:
            return (self.root / key).read_bytes() == data
        except (FileNotFoundError, IsADirectoryError):
            return False

    def replace(self, key: str, data: bytes) -> None:
        """Write a file under a hidden name and rename it."""
        try:
            with _Hidden(self.root / key, data) as hidden:
                hidden.replace(self.root / key)
                _sync_directory(hidden.parent)
                return
        except OSError as error:
            failure = self._failure(key, message("cannot_write"), error)
        raise failure

    def may_write(self, key: str) -> bool:
        """Whether the permissions of the nearest directory that exists allow it."""
        above = next(path for path in (self.root / key).parents if path.exists())
        return above.is_dir() and os.access(above, os.W_OK | os.X_OK)

    def remove(self, key: str) -> None:
        """Remove a file, if it is there."""
        try:
            (self.root / key).unlink(missing_ok=True)
            return
        except NotADirectoryError:
            return
        except OSError as error:
            failure = self._failure(key, message("cannot_remove"), error)
        raise failure

    def clear(self, prefix: str) -> None:
        """Remove a directory with all that it holds, if it is there."""
        try:
            shutil.rmtree(self.root / prefix)
            return
        except FileNotFoundError:
            return
        except OSError as error:
            failure = self._failure(prefix, message("cannot_remove"), error)
        raise failure

    def _failure(self, key: str, what: Sentence, error: OSError) -> StoreError:
        where = self.address(key)
        if isinstance(error, PermissionError) and error.filename2 is None:
            return StoreError(message("permission_denied", path=where, what=what))
        if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
            return StoreError(message("file_and_directory", path=where, what=what))
        if error.filename2 is not None and error.errno in _UNLINKABLE:
            return UnsupportedError(message("files_cannot_be_linked", path=where, what=what))
        why = error.strerror or str(error)
        if error.errno in FULL:
            return StoreError(message("disk_full", path=where, what=what, why=why))
        return StoreError(message("disk_failed", path=where, what=what, why=why))


class _Hidden:
    """A file of its own name beside a target, written to the disk; gone when the block ends."""

    def __init__(self, target: Path, data: bytes) -> None:
        self.path = target.parent / hidden_name()
        self._data = data

    def __enter__(self) -> Path:
        _make_directory(self.path.parent)
        try:
            with self.path.open("xb") as file:
                file.write(self._data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            self.path.unlink(missing_ok=True)
            raise
        return self.path

    def __exit__(self, *_: object) -> None:
        self.path.unlink(missing_ok=True)


def _make_directory(path: Path) -> None:
    """Make a directory and those above it, each written to the disk."""
    if not path.is_dir():
        _make_directory(path.parent)
        path.mkdir(exist_ok=True)
        _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _etag(status: os.stat_result) -> str:
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def is_of_file(etag: str) -> bool:
    """Whether an ETag is one of a file, which a copy of the file does not keep."""
    return _OF_FILE.fullmatch(etag) is not None


def size_in(etag: str) -> int | None:
    """The size of the file that had this ETag."""
    found = _OF_FILE.fullmatch(etag)
    return None if found is None else int(found["size"])


def is_copy(etag: str, other: str) -> bool:
    """Whether one file is a copy of the other, or it: of one size, and changed at one moment.

    A whole second does not count: people and programs set such times by hand.
    """
    ours, theirs = _OF_FILE.fullmatch(etag), _OF_FILE.fullmatch(other)
    if etag == other or ours is None or theirs is None:
        return etag == other
    same = (ours["size"], ours["moment"]) == (theirs["size"], theirs["moment"])
    return same and int(ours["moment"]) % 1_000_000_000 != 0


def _found(key: str, status: os.stat_result) -> Found:
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return Found(key, status.st_size, _etag(status), modified)
