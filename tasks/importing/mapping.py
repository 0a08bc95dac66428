"""Which column of a flat table is which part of a vote: as a record, and as a TOML file."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from tasks.formats import shown_path
from tasks.limits import SMALL_TEXT
from tasks.messages import message
from tasks.read import read_text
from urlr.errors import UrlrError
from urlr.spelling import cleaned
from urlr.votes.table import OUTCOMES

SIDES = {"item_a": "a", "item_b": "b"}
"""What `left` and `winner` may say instead of a column, when it is the same item in every row."""

PARTS = (
    "item_a",
    "item_b",
    "outcome",
    "winner",
    "annotator",
    "left",
    "seconds",
    "time",
    "vote_id",
    "attribute",
    "weight",
)
"""Parts of a vote that a mapping may give a column to."""

_TABLES = ("outcomes", "drop")


class ImportingError(UrlrError):
    """Votes of another tool cannot be imported; the text says where, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Which column of a flat table is which part of a vote; None for a part the table lacks.

    Who won is told by `outcome`, a column of words that `outcomes` translates, or by `winner`, a
    column that names the winning item (words that name neither item are translated too).
    """

    item_a: str = "item_a"
    item_b: str = "item_b"
    outcome: str | None = None
    winner: str | None = None
    """A column of item ids, or `item_a` where that item always won."""
    annotator: str | None = None
    left: str | None = None
    """A column that names the item on the left, or `item_a` or `item_b` where it always was."""
    seconds: str | None = None
    time: str | None = None
    vote_id: str | None = None
    attribute: str | None = None
    weight: str | None = None
    outcomes: dict[str, str] = field(default_factory=dict)
    """Words of the source, in any case, and what they mean: a, b, tie or skip."""
    drop: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns, and the words in them that make a row no vote at all."""
    optional: frozenset[str] = frozenset()
    """Columns that a file of this kind may do without."""

    @property
    def sources(self) -> dict[str, str]:
        """The column of each part that has one."""
        named = {part: getattr(self, part) for part in PARTS}
        fixed = {part for part in ("left", "winner") if named[part] in SIDES}
        return {part: column for part, column in named.items() if column and part not in fixed}

    @property
    def columns(self) -> frozenset[str]:
        """Every column that is looked at."""
        return frozenset(self.sources.values()) | frozenset(self.drop)


def read_mapping(path: str | os.PathLike[str], *, base: Mapping | None = None) -> Mapping:
    """Read a mapping from a TOML file, what it does not say being as in `base`."""
    where = shown_path(path)
    try:
        given = tomllib.loads(read_text(path, most=SMALL_TEXT))
    except tomllib.TOMLDecodeError as error:
        raise ImportingError(message("mapping_not_toml", where=where, why=str(error))) from None
    for name in given:
        if name not in (*PARTS, *_TABLES):
            raise ImportingError(
                message(
                    "unknown_mapping_key",
                    where=where,
                    name=name,
                    nearest=nearest(name, (*PARTS, *_TABLES)),
                    known=", ".join((*PARTS, *_TABLES)),
                )
            )
    base = base or Mapping()
    parts = {part: _column(part, given[part], where) for part in PARTS if part in given}
    _check_parts(parts, where)
    outcomes = _outcomes(given.get("outcomes", {}), where)
    if "outcome" in parts and not outcomes:
        outcomes = {word: word for word in OUTCOMES}
    drop = _drop(given.get("drop", {}), where)
    return replace(
        base,
        **parts,
        outcomes=outcomes,
        drop=base.drop | drop,
        optional=base.optional - {*parts.values(), *drop},
    )


def plain(value: Any) -> str:
    """A cell as a word to be looked up: case and what no id shows do not matter, `1.0` is `1`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    [word] = cleaned([str(value)])
    return word.lower()


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause that names the known name most like `name`, empty if none is much like it."""
    names = {str(one).lower(): str(one) for one in known}
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return message("nearest_name", name=names[close[0]]) if close else ""


def refuse_missing(
    what: str, name: str, known: Sequence[str], *, where: str, remedy: str
) -> NoReturn:
    """Refuse a source that lacks a column or field, naming the nearest one and those it has."""
    raise ImportingError(
        message(
            "missing_name",
            where=where,
            what=what,
            name=name,
            nearest=nearest(name, known),
            found=message("names_found", names=known) if known else message("no_names_found"),
            remedy=remedy,
        )
    )


def _column(part: str, value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ImportingError(message("not_a_column", where=where, part=part, value=repr(value)))
    return value.strip()


def _check_parts(parts: dict[str, str], where: str) -> None:
    for part in ("item_a", "item_b"):
        if part not in parts:
            raise ImportingError(message("part_without_column", where=where, part=part))
    if "outcome" in parts and "winner" in parts:
        raise ImportingError(message("outcome_and_winner", where=where))
    if "outcome" not in parts and "winner" not in parts:
        raise ImportingError(message("neither_outcome_nor_winner", where=where))


def _outcomes(given: Any, where: str) -> dict[str, str]:
    known = ", ".join(OUTCOMES)
    outcomes: dict[str, str] = {}
    for word, meaning in _table("outcomes", given, where).items():
        if not isinstance(meaning, str) or meaning not in OUTCOMES:
            raise ImportingError(
                message(
                    "unknown_meaning", where=where, word=word, meaning=repr(meaning), known=known
                )
            )
        if outcomes.setdefault(plain(word), meaning) != meaning:
            raise ImportingError(message("outcome_translated_twice", where=where, word=word))
    return outcomes


def _drop(given: Any, where: str) -> dict[str, tuple[str, ...]]:
    drop = {}
    for column, values in _table("drop", given, where).items():
        listed = values if isinstance(values, list) else [values]
        if not all(isinstance(value, str | int | float) for value in listed):
            raise ImportingError(
                message("not_words_to_drop", where=where, value=repr(values), column=column)
            )
        drop[column.strip()] = tuple(
            str(value).lower() if isinstance(value, bool) else str(value) for value in listed
        )
    return drop


def _table(name: str, given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ImportingError(message("not_a_toml_table", where=where, name=name))
    return given
