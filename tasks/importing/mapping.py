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
from tasks.read import read_text
from urlr.errors import UrlrError
from urlr.ids import shown, shown_some
from urlr.votes import OUTCOMES

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
        raise ImportingError(
            f"{where} is not valid TOML: {shown(error, 200)}; mend the line."
        ) from None
    for name in given:
        if name not in (*PARTS, *_TABLES):
            close = nearest(name, (*PARTS, *_TABLES))
            raise ImportingError(
                f"{where} has an unknown key `{shown(name)}`{close}; known are "
                f"{', '.join((*PARTS, *_TABLES))}."
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
    """A cell as a word to be looked up: blanks and case do not matter, `1.0` is `1`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().lower()


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause that names the known name most like `name`, empty if none is much like it."""
    names = {str(one).lower(): str(one) for one in known}
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return f" (the nearest is `{shown(names[close[0]])}`)" if close else ""


def refuse_missing(
    what: str, name: str, known: Sequence[str], *, where: str, remedy: str
) -> NoReturn:
    """Refuse a source that lacks a column or field, naming the nearest one and those it has."""
    held = shown_some(list(known), limit=12) or "none"
    raise ImportingError(
        f"{where} has no {what} `{shown(name)}`{nearest(name, known)}, found are {held}; {remedy}."
    )


def _column(part: str, value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ImportingError(
            f"{where} gives {part} as {shown(repr(value))}; give the name of a column in quotes."
        )
    return value.strip()


def _check_parts(parts: dict[str, str], where: str) -> None:
    for part in ("item_a", "item_b"):
        if part not in parts:
            raise ImportingError(f"{where} does not say which column is {part}; add it.")
    if ("outcome" in parts) == ("winner" in parts):
        said = "both outcome and winner" if "outcome" in parts else "neither outcome nor winner"
        raise ImportingError(
            f"{where} gives {said}; give one: outcome, a column of words that [outcomes] "
            "translates, or winner, a column that names the winning item."
        )


def _outcomes(given: Any, where: str) -> dict[str, str]:
    known = ", ".join(OUTCOMES)
    outcomes: dict[str, str] = {}
    for word, meaning in _table("outcomes", given, where).items():
        if not isinstance(meaning, str) or meaning not in OUTCOMES:
            raise ImportingError(
                f"{where} translates the outcome `{shown(word)}` to {shown(repr(meaning))}; "
                f"known are {known} (a name with a dot in it needs quotes)."
            )
        if outcomes.setdefault(plain(word), meaning) != meaning:
            raise ImportingError(
                f"{where} translates the outcome `{shown(word)}` twice, blanks and case apart; "
                "keep one."
            )
    return outcomes


def _drop(given: Any, where: str) -> dict[str, tuple[str, ...]]:
    drop = {}
    for column, values in _table("drop", given, where).items():
        listed = values if isinstance(values, list) else [values]
        if not all(isinstance(value, str | int | float) for value in listed):
            raise ImportingError(
                f"{where} gives {shown(repr(values))} as the words of `{shown(column)}` that drop "
                'a row; write "COLUMN" = ["WORD", ...], the column in quotes.'
            )
        drop[column.strip()] = tuple(
            str(value).lower() if isinstance(value, bool) else str(value) for value in listed
        )
    return drop


def _table(name: str, given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ImportingError(f"{where} gives {name} as a value; write it as a table [{name}].")
    return given
