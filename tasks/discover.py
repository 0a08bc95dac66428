"""What lies in the store: attributes with their dumps, features and truth, and what fits nowhere.

    votes/<attribute>/<dump>       one or more files; the attribute may have several parts
    features/<table>               of all attributes
    features/<attribute>/<table>   of one attribute, or of all below it; the nearest folder counts
    truth/<attribute>/<table>      item, score: the true order, where somebody knows it

A folder like `day=2026-11-01` divides dumps and is no part of an attribute's name. Names that
begin with `_` or `.` are passed over, as other tools keep such files and folders to themselves.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.formats import table_format
from tasks.messages import message
from tasks.names import AttributeNameError, encoded
from tasks.store import Found, Store
from urlr.errors import UrlrError
from urlr.sentence import Sentence

VOTES, FEATURES, TRUTH = "votes", "features", "truth"


class DiscoverError(UrlrError):
    """The store holds nothing to work on; the text says what was looked for."""


@dataclass(frozen=True, slots=True)
class Source:
    """An object to be read, as it was listed."""

    key: str
    etag: str
    size: int
    same_as: str = ""
    """The ETag under which these bytes were first seen; empty: this one (see `contents.py`)."""

    @classmethod
    def of(cls, found: Found) -> Source:
        """A listed object."""
        return cls(found.key, found.etag, found.size)

    @property
    def first(self) -> str:
        """The ETag under which these bytes were first seen: what records and keys name it by."""
        return self.same_as or self.etag


def etags_of(sources: Iterable[Source]) -> dict[str, str]:
    """ETags by key, each the one under which its bytes were first seen."""
    return {source.key: source.first for source in sources}


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that one attribute is made from."""

    attribute: str
    dumps: tuple[Source, ...]
    features: tuple[Source, ...]
    """Parts of its table of features; none: it is ranked without."""
    truth: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Votes that cannot be worked on, and why."""

    attribute: str
    """As its folder is called; empty for files outside of any folder."""
    why: Sentence


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found."""

    attributes: tuple[Inputs, ...]
    refused: tuple[Refused, ...]

    def only(self, asked: Iterable[str]) -> Discovery:
        """Keep the attributes asked for.

        Raises
        ------
        DiscoverError
            The store has no such attribute.
        """
        asked = set(asked)
        known = {one.attribute for one in self.attributes}
        known |= {one.attribute for one in self.refused}
        if unknown := sorted(asked - known):
            near = difflib.get_close_matches(unknown[0], sorted(known), n=3)
            if near:
                raise DiscoverError(message("no_votes_on_but_near", names=unknown, near=near))
            raise DiscoverError(message("no_votes_on", names=unknown))
        return Discovery(
            tuple(one for one in self.attributes if one.attribute in asked),
            tuple(one for one in self.refused if one.attribute in asked),
        )


def discover(store: Store) -> Discovery:
    """List the store, and sort what it holds by attribute.

    Raises
    ------
    DiscoverError
        There are no votes at all.
    """
    votes = _by_folder(store.list(VOTES), VOTES)
    if not votes:
        folder = store.address(f"{VOTES}/<attribute>/")
        raise DiscoverError(message("no_votes_in_store", store=store.url, folder=folder))
    features = _by_folder(store.list(FEATURES), FEATURES)
    truth = _by_folder(store.list(TRUTH), TRUTH)
    attributes, refused = [], []
    for attribute, dumps in sorted(votes.items()):
        if not attribute:
            why = message("of_no_attribute", files=[one.key for one in dumps])
            refused.append(Refused("", why))
            continue
        try:
            encoded(attribute)
        except AttributeNameError as error:
            # A folder's name need not be text, and half a sign cannot be written down.
            named = attribute.encode("utf-8", "backslashreplace").decode()
            refused.append(Refused(named, error.sentence))
            continue
        table = _nearest_above(attribute, features)
        found = Inputs(attribute, tuple(dumps), tuple(table), tuple(truth.get(attribute, ())))
        attributes.append(found)
    return Discovery(tuple(attributes), tuple(refused))


def check_formats(inputs: Inputs, store: Store, *, error: type[UrlrError]) -> None:
    """Raise `error` for the first object whose name does not tell how to read it."""
    for source in (*inputs.dumps, *inputs.features, *inputs.truth):
        table_format(store.address(source.key), error=error)


def _by_folder(listed: Sequence[Found], root: str) -> dict[str, list[Source]]:
    """Objects below a root by their folder, partitions left out of its name."""
    folders: dict[str, list[Source]] = defaultdict(list)
    for found in listed:
        *folder, name = found.key.removeprefix(f"{root}/").split("/")
        if not name or any(_is_kept_to_itself(part) for part in (*folder, name)):
            continue
        folders["/".join(part for part in folder if "=" not in part)].append(Source.of(found))
    return folders


def _is_kept_to_itself(name: str) -> bool:
    """Whether other tools mean a file or folder for themselves; `..` is no such name but odd."""
    return name[:1] in ("_", ".") and name not in (".", "..")


def _nearest_above(attribute: str, tables: dict[str, list[Source]]) -> list[Source]:
    """The table in the attribute's own folder, or in the nearest one above it."""
    parts = attribute.split("/")
    for length in range(len(parts), -1, -1):
        if found := tables.get("/".join(parts[:length])):
            return found
    return []
