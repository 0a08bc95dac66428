"""Which objects hold the bytes they held before, though their ETags are new.

The ETag of a file holds its time and its inode: in a copied or restored store, and after `touch`,
every file has a new one. So the record of a night keeps a digest beside each, and an object that is
found with another ETag, and is as large as before, is read once and compared by it. One that holds
the same bytes keeps the ETag under which they were first seen, on which keys of results rest.
ETags of a bucket are taken as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tasks.discover import Discovery, Inputs, Source
from tasks.objects import is_copy, is_of_file, size_in
from tasks.store import Store, StoreError
from tasks.together import together

_SPAN = 1 << 24


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held when a night used it."""

    etag: str
    digest: str
    """SHA-256 of its bytes."""
    first: str
    """The ETag under which these bytes were first seen."""


def recognised(
    store: Store,
    found: Discovery,
    known: Mapping[str, Content],
    recorded: Mapping[str, Iterable[str]],
) -> tuple[Discovery, dict[str, Content]]:
    """The same objects, each with the ETag its bytes had first; and what was read to tell so.

    `known` are contents by key. Where one is lacking, as in records of the first urlr, `recorded`
    has ETags by key, and a file counts as the same if size and time agree to the nanosecond.
    """
    sources = sources_of(found.attributes)
    read = together(lambda one: _again(store, one, known.get(one.key)), sources.values())
    again = {key: content for key, content in zip(sources, read, strict=True) if content}
    contents = dict(known) | again

    def named(source: Source) -> Source:
        content = contents.get(source.key)
        if content is None:
            copied = (etag for etag in recorded.get(source.key, ()) if is_copy(source.etag, etag))
            return replace(source, same_as=next(copied, ""))
        return replace(source, same_as=content.first) if content.etag == source.etag else source

    attributes = [
        replace(
            one,
            dumps=tuple(map(named, one.dumps)),
            features=tuple(map(named, one.features)),
            truth=tuple(map(named, one.truth)),
        )
        for one in found.attributes
    ]
    return replace(found, attributes=tuple(attributes)), again


def contents_of(
    store: Store, attributes: Iterable[Inputs], known: Mapping[str, Content]
) -> dict[str, Content]:
    """Contents of files whose ETag is not known yet; those that cannot be read are left out."""
    new = [
        one
        for one in sources_of(attributes).values()
        if is_of_file(one.etag) and not (one.key in known and known[one.key].etag == one.etag)
    ]
    read = together(lambda one: _digest_if_there(store, one), new)
    return {
        one.key: Content(one.etag, digest, one.first)
        for one, digest in zip(new, read, strict=True)
        if digest is not None
    }


def digest_of_object(store: Store, source: Source) -> str:
    """SHA-256 of the bytes of the object that was listed."""
    digest = hashlib.sha256()
    for start in range(0, source.size, _SPAN):
        stop = min(source.size, start + _SPAN)
        digest.update(store.read_span(source.key, start, stop, etag=source.etag))
    return digest.hexdigest()


def sources_of(attributes: Iterable[Inputs]) -> dict[str, Source]:
    """Objects by key; attributes may share them."""
    return {
        source.key: source
        for one in attributes
        for source in (*one.dumps, *one.features, *one.truth)
    }


def _again(store: Store, source: Source, before: Content | None) -> Content | None:
    """The content of a file that has another ETag than before and the same bytes; else None."""
    if before is None or before.etag == source.etag or not is_of_file(source.etag):
        return None
    if size_in(before.etag) != source.size:
        return None
    if _digest_if_there(store, source) != before.digest:
        return None
    return replace(before, etag=source.etag)


def _digest_if_there(store: Store, source: Source) -> str | None:
    try:
        return digest_of_object(store, source)
    except StoreError:  # gone, replaced, or it cannot be read; whoever needs it says so
        return None
