"""Cells of foreign tables, a column at once: as words to look up, as ids, numbers and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.importing.mapping import plain
from tasks.messages import message
from urlr.arrays import Mask
from urlr.ids import read_coded_ids, shown
from urlr.votes.table import Bytes

Moments = npt.NDArray[np.datetime64]

_MILLISECONDS = 1e11
"""Numbers beyond this, the year 5138 in seconds, are milliseconds."""
_LATEST = 2.5e11  # the year 9892 in seconds: what a calendar can show
_LARGEST = 2**1000  # beyond it a whole number is no float
_ZONES = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}


@dataclass(frozen=True, slots=True)
class Words:
    """A column as words: each distinct one once, and its place in every row."""

    distinct: tuple[str, ...]
    """(n_distinct + 1,) stripped and in lower case; the last is empty, for missing cells."""
    codes: npt.NDArray[np.int64]
    """(n,) place of each row's word; -1, which is the last, where the cell is missing."""

    def are(self, word: str) -> Mask:
        """(n,) rows that say this word."""
        return np.array([one == word for one in self.distinct])[self.codes]

    @property
    def filled(self) -> Mask:
        """(n,) rows that say anything."""
        return ~self.are("")

    def looked_up(self, meanings: dict[str, int]) -> Bytes:
        """(n,) what each word means, -1 if nothing."""
        return np.array([meanings.get(one, -1) for one in self.distinct], np.int8)[self.codes]


def words_of(column: pd.Series[Any]) -> Words:
    """Read a column as words."""
    if column.dtype == object:  # anything at all may be in there, lists too
        column = column.map(plain, na_action="ignore")
    codes, uniques = pd.factorize(column)
    return Words((*map(plain, uniques), ""), codes.astype(np.int64))


def distinct(column: pd.Series[Any]) -> list[str]:
    """The distinct cells in order of appearance, as they may be shown."""
    if column.dtype == object:
        column = column.map(str, na_action="ignore")
    empty = message("an_empty_cell")
    return [
        empty if pd.isna(value) or not str(value).strip() else f"`{shown(value)}`"
        for value in column.unique()
    ]


def same_ids(items: pd.Series[Any], named: pd.Series[Any]) -> Mask:
    """Rows in which both columns name the same item; 7 is not "7"."""
    ours, theirs = read_coded_ids(items), read_coded_ids(named)
    codes, _ = pd.factorize(ours.values.append(theirs.values))
    ours_by_name, theirs_by_name = np.split(codes, [len(ours.values)])
    first = np.append(ours_by_name, -1)[ours.codes]
    second = np.append(theirs_by_name, -1)[theirs.codes]
    same: Mask = (first >= 0) & (first == second)
    return same


def as_ids(column: pd.Series[Any]) -> pd.Series[Any]:
    """Ids as they are, missing where a cell holds a list, an object or a truth value."""
    if column.dtype != object:
        return column
    return column.map(lambda value: value if _is_scalar(value) else None).astype(object)


def as_letters(codes: Bytes, letters: Sequence[str]) -> pd.api.extensions.ExtensionArray:
    """Letters by their places, missing where the place is -1."""
    return pd.array([*letters, None], dtype="str").take(codes)


def as_numbers(column: pd.Series[Any]) -> npt.NDArray[np.float64]:
    """Numbers, missing where a cell is none."""
    if column.dtype == object:
        column = column.map(lambda value: value if _may_be_number(value) else None)
    numbers = pd.to_numeric(column, errors="coerce")
    return numbers.to_numpy(np.float64, na_value=np.nan)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | np.number) and not isinstance(value, bool)


def _may_be_number(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < _LARGEST
    return isinstance(value, str | float)


def as_times(column: pd.Series[Any]) -> pd.Series[Any]:
    """Moments in UTC, missing where a cell is none.

    Understood are seconds or milliseconds since 1970, ISO 8601 (in UTC unless it says otherwise),
    and Mechanical Turk's `Tue Mar 09 14:03:22 PST 2021`.
    """
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return pd.Series(pd.to_datetime(column, utc=True))
    moments = _since_1970(as_numbers(column))
    for form in ("ISO8601", "%a %b %d %H:%M:%S %z %Y"):
        unread = np.flatnonzero(np.isnat(moments) & column.notna().to_numpy())
        if unread.size:
            moments[unread] = _parsed(column.iloc[unread].astype("str"), form)
    return pd.Series(pd.DatetimeIndex(moments, tz="UTC"), index=column.index)


def _since_1970(numbers: npt.NDArray[np.float64]) -> Moments:
    seconds = np.where(np.abs(numbers) > _MILLISECONDS, numbers / 1000, numbers)
    known = np.abs(seconds) < _LATEST
    moments = np.round(np.where(known, seconds, 0.0) * 1e6).astype(np.int64).astype("M8[us]")
    moments[~known] = np.datetime64("NaT")
    return moments


def _parsed(texts: pd.Series[Any], form: str) -> Moments:
    texts = texts.str.strip()
    for zone, offset in _ZONES.items():
        texts = texts.str.replace(f" {zone} ", f" {offset} ", regex=False)
    parsed = pd.to_datetime(texts, format=form, utc=True, errors="coerce")
    return parsed.dt.tz_convert(None).to_numpy("M8[us]")
