"""Objects in a bucket that speaks S3; the only module that knows s3fs.

Every call has a deadline, retries included; a refusal or a silence becomes one line that names the
object. What is read is held against its digest, and a create whose answer was lost looks whether
it was made.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC
from typing import Any, TypeVar

from tasks.formats import media_type, shown_path
from tasks.messages import message
from tasks.objects import (
    Changed,
    DeniedError,
    DigestError,
    Found,
    Listing,
    Names,
    NotThere,
    StoreError,
    Unreachable,
    UnsupportedError,
    changed,
    differs,
    is_hidden,
    missing,
)

_CONFIG = {
    "connect_timeout": 5,
    "read_timeout": 60,
    "retries": {"mode": "standard", "total_max_attempts": 3},
    "max_pool_connections": 32,
}
_PAUSES = (0.2, 0.5, 1.0)
"""Seconds to wait before a create, or a read that broke off, is tried again."""
_LEAST = 0.5
"""Seconds that a write must have; with less it would be told as a silence."""
_PAGE = 1000
_DENIED = {
    "AccessDenied",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
}
_NO_DIGEST = "AAAAAAAAAAAAAAAAAAAAAA=="
"""An MD5 that nothing has."""
_MD5 = re.compile(r"[0-9a-f]{32}")
_BUSY = {"SlowDown", "InternalError", "ServiceUnavailable"}
"""Said of one object among many, there is no status beside it."""
_ELSEWHERE = {"AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}

_IN_VAIN: ContextVar[list[Any]] = ContextVar("in_vain")
"""The last attempt of the call at work, if it failed: an answer, or an error."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A store in a bucket. Conditional writes go in one request, never in parts."""

    name: str
    prefix: str
    deadline: float

    def address(self, key: str) -> str:
        """Where an object lies, for people."""
        return shown_path(f"s3://{self.name}/{self._full(key)}")

    def list(self, prefix: str) -> Listing:
        """All objects below a prefix, page by page."""
        return [found for found in self._every(prefix) if not is_hidden(found.key)]

    def half_written(self, prefix: str) -> Listing:
        """What writers that died left below a prefix."""
        return [found for found in self._every(prefix) if is_hidden(found.key)]

    def _every(self, prefix: str) -> Listing:
        start = self._full(prefix)
        start = f"{start}/" if start else ""
        cut = len(self.prefix) + 1 if self.prefix else 0

        async def pages(client: Any) -> Listing:
            found = []
            asked = {"Bucket": self.name, "Prefix": start, "PaginationConfig": {"PageSize": _PAGE}}
            async for page in client.get_paginator("list_objects_v2").paginate(**asked):
                found += [_found(entry, cut) for entry in page.get("Contents", [])]
            return found

        everything = self._done(pages, prefix, self.deadline)
        return [found for found in everything if found.key and not found.key.endswith("/")]

    def folders(self, prefix: str) -> Names:
        """Names of the folders right below a prefix."""
        start = f"{self._full(prefix)}/"
        asked = {
            "Bucket": self.name,
            "Prefix": start,
            "Delimiter": "/",
            "PaginationConfig": {"PageSize": _PAGE},
        }

        async def pages(client: Any) -> Names:
            found = []
            async for page in client.get_paginator("list_objects_v2").paginate(**asked):
                found += [entry["Prefix"] for entry in page.get("CommonPrefixes", [])]
            return found

        everything = self._done(pages, prefix, self.deadline)
        return [found[len(start) :].rstrip("/") for found in everything]

    def read(self, key: str, etag: str | None, span: tuple[int, int] | None = None) -> bytes:
        """The bytes of an object, or a span of them."""
        return self._read(key, etag, time.monotonic() + self.deadline, span)

    def _read(
        self, key: str, etag: str | None, end: float, span: tuple[int, int] | None = None
    ) -> bytes:
        asked = {"Bucket": self.name, "Key": self._full(key)}
        if span is not None:
            asked["Range"] = f"bytes={span[0]}-{span[1] - 1}"
        if etag is not None:
            asked["IfMatch"] = etag
        began: list[bool] = []

        async def content(client: Any) -> tuple[bytes, dict[str, Any]]:
            began.clear()
            answer = await client.get_object(**asked)
            began.append(True)
            async with answer["Body"] as body:
                return bytes(await body.read()), answer

        for pause in (*_PAUSES, None):
            try:
                data, answer = self._done(content, key, end - time.monotonic())
            except Unreachable as error:
                if not began:
                    raise
                failure = error  # it broke off after it began, which nobody else retries
            else:
                if _is_whole(data, answer) if span is None else len(data) >= span[1] - span[0]:
                    return data
                wrong = message("another_digest")
                if span is not None:
                    wrong = message("another_length", count=len(data))
                failure = Unreachable(
                    message("not_what_lies_there", path=self.address(key), wrong=wrong)
                )
            if pause is None or time.monotonic() + pause >= end:
                break
            time.sleep(pause)
        raise failure

    def find(self, key: str) -> Found:
        """One object, as a listing shows it."""

        async def head(client: Any) -> dict[str, Any]:
            return dict(await client.head_object(Bucket=self.name, Key=self._full(key)))

        answer = self._done(head, key, self.deadline)
        return _found({"Key": key, "Size": answer["ContentLength"], **answer}, 0)

    def create(self, key: str, data: bytes) -> None:
        """Put if absent."""
        self._write(key, data, IfNoneMatch="*")

    def replace(self, key: str, data: bytes) -> None:
        """Write an object over what the key holds."""
        self._write(key, data)

    def _write(self, key: str, data: bytes, **only_if: str) -> None:
        """Put; after a refusal or a lost answer, look what lies there.

        A refusal may be of our own success: the answer to a put is lost, the client sends it
        again, and finds what it wrote.
        """
        end = time.monotonic() + self.deadline
        last_put = end - self.deadline / 4  # the rest is for looking
        for pause in (*_PAUSES, None):
            try:
                return self._put(key, data, last_put - time.monotonic(), **only_if)
            except Changed:
                where = self.address(key)
                if only_if:
                    failure = Unreachable(message("not_created_nor_there", path=where))
                else:
                    failure = Unreachable(message("not_written_over", path=where))
            except Unreachable as error:
                failure = error
            held = self._held(key, end)
            if held == data:
                return
            if held is not None and only_if:
                raise differs(self.address(key))
            if pause is None or time.monotonic() + pause + _LEAST >= last_put:
                break
            time.sleep(pause)
        raise failure

    def _held(self, key: str, end: float) -> bytes | None:
        try:
            return self._read(key, None, end)
        except NotThere:
            return None

    def _put(self, key: str, data: bytes, seconds: float, **further: str) -> None:
        sent = {"Bucket": self.name, "Key": self._full(key), "ContentType": media_type(key)}

        async def put(client: Any) -> None:
            await client.put_object(Body=data, **sent, **further)

        self._done(put, key, seconds)

    def may_write(self, key: str) -> bool:
        """Put with a digest that is not its own: who may write is told that, others are denied."""
        try:
            self._put(key, b"", self.deadline, ContentMD5=_NO_DIGEST)
        except DeniedError:
            return False
        except DigestError:
            return True
        self.remove(key)  # the store does not look at digests
        return True

    def remove(self, key: str) -> None:
        """Remove an object; no error if it is gone already."""

        async def delete(client: Any) -> None:
            await client.delete_object(Bucket=self.name, Key=self._full(key))

        self._done(delete, key, self.deadline)

    def clear(self, prefix: str) -> None:
        """Remove all objects below a prefix, a thousand in a request."""
        keys = [self._full(found.key) for found in self._every(prefix)]
        for start in range(0, len(keys), _PAGE):
            self._clear(keys[start : start + _PAGE], prefix)

    def _clear(self, keys: Names, prefix: str) -> None:
        wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}

        async def delete(client: Any) -> list[dict[str, Any]]:
            answer = await client.delete_objects(Bucket=self.name, Delete=wanted)
            return list(answer.get("Errors", []))

        wrong = self._done(delete, prefix, self.deadline)
        if wrong:
            said = {"Error": wrong[0], "ResponseMetadata": {}}
            raise self._refusal(said, wrong[0]["Key"].removeprefix(f"{self.prefix}/"))

    def _full(self, key: str) -> str:
        return "/".join(part for part in (self.prefix, key) if part)

    def _done(self, work: Callable[[Any], Awaitable[T]], key: str, seconds: float) -> T:
        """What the work gives, done in the thread that keeps the connections.

        Where the time is over while the library waits to try once more, what came of its last
        attempt is told. Errors are raised outside the handler, so that none carries the library's
        own with it.
        """
        import aiohttp
        from botocore.exceptions import BotoCoreError, ClientError
        from fsspec.asyn import sync

        endpoint = _endpoint()
        connections = _connections(endpoint)
        in_vain: list[Any] = []

        async def with_client() -> T:
            client = await connections.set_session()
            client.meta.events.register("needs-retry.s3", _note_attempt, unique_id="urlr")
            _IN_VAIN.set(in_vain)
            return await work(client)

        try:
            answer: T = sync(connections.loop, with_client, timeout=max(seconds, 0.01))
            return answer
        except ClientError as error:
            failure = self._refusal(error.response, key)
        except (BotoCoreError, aiohttp.ClientError, OSError, TimeoutError) as error:
            failure = self._silence(error, endpoint, key)
            if in_vain and isinstance(error, TimeoutError):
                failure = self._cut_off(in_vain[-1], endpoint, key) or failure
        raise failure

    def _cut_off(self, last: Any, endpoint: str | None, key: str) -> Unreachable | None:
        """What came of the last attempt, if that could have been tried again."""
        if isinstance(last, dict):
            told = self._refusal(last, key)
        else:
            told = self._silence(last, endpoint, key)
        return told if isinstance(told, Unreachable) else None

    def _refusal(self, answer: dict[str, Any], key: str) -> StoreError:
        """What the store said no to."""
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = str(answer.get("Error", {}).get("Code", ""))
        where = self.address(key)
        if code == "NoSuchBucket":
            return StoreError(message("no_such_bucket", bucket=self.name))
        if code == "RequestTimeTooSkewed":
            return DeniedError(message("clocks_differ", path=where))
        if status in (401, 403) or code in _DENIED:
            return DeniedError(message("access_denied", path=where))
        if code == "BadDigest":
            return DigestError(message("digest_differs", path=where))
        if status == 404:
            return missing(where)
        if status in (409, 412):
            return changed(where)
        if status == 501:
            return UnsupportedError(message("unsupported_by_store", path=where))
        if status in (301, 307, 308) or code in _ELSEWHERE:
            return StoreError(message("bucket_in_another_region", bucket=self.name))
        said = f"{status} {code} {answer.get('Error', {}).get('Message', '')}"
        if status == 429 or status >= 500 or code in _BUSY:
            return Unreachable(message("store_failed", path=where, said=said))
        return StoreError(message("store_refused", path=where, said=said))

    def _silence(self, error: Exception, endpoint: str | None, key: str) -> StoreError:
        """Why there was no answer."""
        from botocore.exceptions import (
            BotoCoreError,
            FlexibleChecksumError,
            HTTPClientError,
            IncompleteReadError,
            NoCredentialsError,
            PartialCredentialsError,
            ReadTimeoutError,
        )
        from botocore.exceptions import ConnectionError as NotConnectedError

        where, at = self.address(key), endpoint or f"s3://{self.name}"
        if isinstance(error, NoCredentialsError | PartialCredentialsError):
            return StoreError(message("no_credentials", bucket=self.name))
        if isinstance(error, TimeoutError | ReadTimeoutError):
            return Unreachable(
                message("no_answer_in_time", path=where, endpoint=at, seconds=self.deadline)
            )
        why = str(error)
        if isinstance(error, FlexibleChecksumError):
            return Unreachable(message("other_bytes_sent", path=where, endpoint=at, why=why))
        broken = NotConnectedError | HTTPClientError | IncompleteReadError
        if isinstance(error, BotoCoreError) and not isinstance(error, broken):
            return StoreError(message("store_unusable", endpoint=at, why=why))
        return Unreachable(message("store_unreachable", path=where, endpoint=at, why=why))


def _note_attempt(
    response: tuple[Any, dict[str, Any]] | None, caught_exception: Exception | None, **_: object
) -> None:
    """Keep what came of an attempt, if it failed, in place of what came of the one before."""
    answer = {} if response is None else response[1]
    refused = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 400
    _IN_VAIN.get()[:] = [caught_exception or answer] if caught_exception or refused else []


def _is_whole(data: bytes, answer: dict[str, Any]) -> bool:
    """Whether an object is what its ETag says, which is the MD5 of what was put in one piece.

    Not so of what was put in parts, or is kept under a key of its own; there the library compares
    checksums where the store has them.
    """
    digest = str(answer.get("ETag", "")).strip('"')
    other_key = str(answer.get("ServerSideEncryption", "")).startswith("aws:kms")
    if _MD5.fullmatch(digest) is None or other_key or "SSECustomerAlgorithm" in answer:
        return True
    return hashlib.md5(data, usedforsecurity=False).hexdigest() == digest


def _found(entry: dict[str, Any], cut: int) -> Found:
    modified = entry["LastModified"].astimezone(UTC)
    return Found(entry["Key"][cut:], entry["Size"], entry["ETag"], modified)


def _endpoint() -> str | None:
    """Where the environment says that S3 is; None for Amazon's own."""
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        url = os.environ.get(name, "").strip()
        if "@" in url:
            raise StoreError(message("endpoint_with_password", name=name))
        if url and not url.startswith(("http://", "https://")):
            raise StoreError(message("endpoint_is_no_address", name=name))
        if url:
            return url
    return None


_KEPT = 8
_CONNECTIONS: dict[tuple[int, str], Any] = {}
"""By process and environment: never shared with a fork, made anew when credentials change."""


def _connections(endpoint: str | None) -> Any:
    """The s3fs file system of this process, for the environment as it is now."""
    settings = sorted(pair for pair in os.environ.items() if pair[0].startswith("AWS_"))
    place = (os.getpid(), hashlib.sha256(repr(settings).encode()).hexdigest())
    if place not in _CONNECTIONS:
        from s3fs import S3FileSystem

        made = S3FileSystem(
            endpoint_url=endpoint,
            config_kwargs=_CONFIG,
            use_listings_cache=False,
            skip_instance_cache=True,
        )
        kept = _CONNECTIONS.setdefault(place, made)
        own = [other for other in list(_CONNECTIONS) if other[0] == place[0]]
        for old in own[:-_KEPT]:
            _CONNECTIONS.pop(old, None)
        return kept
    return _CONNECTIONS[place]
