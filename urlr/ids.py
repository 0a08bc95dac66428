"""Ids: whole numbers or text, told apart, never merged by accident, never split by a stray space.

`7`, `"7"` and `"007"` are three items. A float column is read as whole numbers, because that is
what pandas makes of an integer column with one gap; fractions, truth values and anything else are
not ids. Text is read in one spelling (see `urlr.spelling`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from urlr.arrays import Codes, Ints, Mask
from urlr.spelling import clean_column

_EXACT_FLOAT = 2.0**53


@dataclass(frozen=True, slots=True)
class Ids:
    """A column of ids: what each row says, and which rows say nothing usable."""

    values: pd.Index[Any]
    """(n,) whole numbers, text, or both; arbitrary where `missing`, `empty` or `unusable`."""
    missing: Mask
    """(n,) rows without a value."""
    empty: Mask
    """(n,) rows whose text is empty or white space."""
    unusable: Mask
    """(n,) rows holding a fraction, a truth value or another thing that cannot name an item."""

    @property
    def usable(self) -> Mask:
        """(n,) rows that name an item."""
        return ~(self.missing | self.empty | self.unusable)


def read_ids(column: pd.Series[Any] | pd.Index[Any]) -> Ids:
    """Read a column as ids, keeping numbers and text apart."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        categorical = pd.Categorical(column)
        codes = categorical.codes.astype(np.int64)
        known = read_ids(pd.Index(categorical.categories))
        if len(known.values) == 0:
            return _whole_numbers(np.zeros(len(codes), np.int64), missing=codes < 0)
        return Ids(
            known.values.take(np.maximum(codes, 0)),
            (codes < 0) | known.missing[codes],
            (codes >= 0) & known.empty[codes],
            (codes >= 0) & known.unusable[codes],
        )
    if pd.api.types.is_bool_dtype(column.dtype):
        return _whole_numbers(
            np.zeros(len(column), np.int64), unusable=np.ones(len(column), np.bool_)
        )
    if pd.api.types.is_integer_dtype(column.dtype):
        missing = np.asarray(column.isna(), dtype=np.bool_)
        if str(column.dtype).lower() == "uint64":
            return _any_objects(np.asarray(column, dtype=object))
        numbers = (
            column.to_numpy(dtype=np.int64, na_value=0) if missing.any() else column.to_numpy()
        )
        return _whole_numbers(np.asarray(numbers, np.int64), missing=missing)
    if pd.api.types.is_float_dtype(column.dtype):
        return _floats(column.to_numpy(dtype=np.float64, na_value=np.nan))
    clean, _ = clean_column(pd.Series(column).reset_index(drop=True))
    if isinstance(column.dtype, pd.StringDtype):
        return _texts(clean)
    return _any_objects(np.asarray(clean, dtype=object))


@dataclass(frozen=True, slots=True)
class CodedIds:
    """A long column of ids as positions among its distinct ones, for columns of millions."""

    values: pd.Index[Any]
    """(n_named,) the ids; some may be unusable, and those of several spellings repeat."""
    codes: Codes
    """(n,) position of each row's id in `values`, -1 where it names no item."""
    missing: Mask
    empty: Mask
    unusable: Mask


def read_coded_ids(column: pd.Series[Any]) -> CodedIds:
    """Read a column as `read_ids` does, looking at each distinct id once."""
    if column.dtype == object:  # factorising would merge 1, 1.0 and True
        ids = read_ids(column)
        codes, distinct = pd.factorize(ids.values)
        named = np.where(ids.usable, codes, -1).astype(np.int32)
        return CodedIds(pd.Index(distinct), named, ids.missing, ids.empty, ids.unusable)
    if isinstance(column.dtype, pd.CategoricalDtype):
        categorical = pd.Categorical(column)
        place = categorical.codes.astype(np.int32)
        names = pd.Index(categorical.categories)
    else:
        codes, distinct = pd.factorize(column)
        place, names = codes.astype(np.int32), pd.Index(distinct)
    ids = read_ids(names)

    def rows(of_names: Mask) -> Mask:
        return np.append(of_names, False)[place] if of_names.any() else _none(len(place))

    missing, empty, unusable = place < 0, rows(ids.empty), rows(ids.unusable)
    if not ids.usable.all():
        place = np.append(np.where(ids.usable, np.arange(len(names)), -1), -1)[place]
        place = place.astype(np.int32)
    return CodedIds(ids.values, place, missing | rows(ids.missing), empty, unusable)


def sorted_uniques(values: pd.Index[Any]) -> tuple[Ints, pd.Index[Any]]:
    """Codes and distinct ids in a fixed order: whole numbers ascending, then text.

    The order depends on the ids alone, so that the order of the rows cannot change a result.
    """
    codes, uniques = pd.factorize(values)
    uniques = pd.Index(uniques)
    if uniques.dtype == object:
        keys = list(uniques)
        order = np.array(
            sorted(range(len(keys)), key=lambda k: (isinstance(keys[k], str), keys[k])), np.int64
        )
    else:
        order = np.asarray(uniques.argsort(), np.int64)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[codes], uniques.take(order)


def positions(items: pd.Index[Any], wanted: pd.Index[Any]) -> Ints:
    """Place of each wanted id among the distinct `items`, -1 where absent; 7 is not "7"."""
    if pd.api.types.is_integer_dtype(items.dtype) == pd.api.types.is_integer_dtype(
        wanted.dtype
    ) and (items.dtype != object and wanted.dtype != object):
        return np.asarray(items.get_indexer(wanted), np.int64)
    return np.asarray(items.astype(object).get_indexer(wanted.astype(object)), np.int64)


def plural(count: int, noun: str, many: str | None = None) -> str:
    """'1 vote', '2 votes', '12,000 votes'."""
    return f"{count:,} {noun if count == 1 else (many or noun + 's')}"


def shown(item: object, limit: int = 40) -> str:
    """An id as it may be shown to people: control signs escaped, long ones shortened."""
    text = str(item)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shown_some(items: list[Any], limit: int = 3) -> str:
    """The first few ids, and how many more."""
    text = ", ".join(shown(item) for item in items[:limit])
    return text if len(items) <= limit else f"{text} and {len(items) - limit:,} more"


def _none(n: int) -> Mask:
    return np.zeros(n, np.bool_)


def _whole_numbers(
    numbers: Ints, *, missing: Mask | None = None, unusable: Mask | None = None
) -> Ids:
    n = len(numbers)
    return Ids(
        pd.Index(numbers),
        _none(n) if missing is None else missing,
        _none(n),
        _none(n) if unusable is None else unusable,
    )


def _floats(numbers: npt.NDArray[np.float64]) -> Ids:
    missing = np.isnan(numbers)
    whole = np.isfinite(numbers)
    whole[whole] &= (np.abs(numbers[whole]) < _EXACT_FLOAT) & (
        np.trunc(numbers[whole]) == numbers[whole]
    )
    return _whole_numbers(
        np.where(whole, numbers, 0).astype(np.int64), missing=missing, unusable=~missing & ~whole
    )


def _texts(texts: pd.Series[Any]) -> Ids:
    missing = texts.isna().to_numpy(np.bool_)
    filled = texts.fillna("") if missing.any() else texts
    empty = ~missing & (filled.str.strip() == "").to_numpy(np.bool_)
    return Ids(pd.Index(filled), missing, empty, _none(len(texts)))


def _any_objects(objects: npt.NDArray[np.object_]) -> Ids:
    kinds = np.array([_kind(value) for value in objects], dtype="U1")
    values: npt.NDArray[Any] = objects.copy()
    whole = kinds == "i"
    values[whole] = [int(value) for value in objects[whole]]
    values[(kinds != "i") & (kinds != "s")] = ""
    text = kinds == "s"
    empty = _none(len(objects))
    empty[text] = [not value.strip() for value in objects[text]]
    index: pd.Index[Any]
    small = all(-(2**63) <= int(value) < 2**63 for value in values[whole])
    if whole.any() and not text.any() and small:
        index = pd.Index(np.where(whole, values, 0).astype(np.int64))
    else:
        index = pd.Index(values, dtype=object)
    return Ids(index, kinds == "-", empty, kinds == "?")


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "s"
    if isinstance(value, bool | np.bool_):
        return "?"
    if isinstance(value, int | np.integer):
        return "i"
    if value is None or value is pd.NA or value is pd.NaT:
        return "-"
    if isinstance(value, float | np.floating):
        number = float(value)
        if np.isnan(number):
            return "-"
        return "i" if number.is_integer() and abs(number) < _EXACT_FLOAT else "?"
    return "?"
