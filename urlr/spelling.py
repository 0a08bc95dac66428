"""One spelling per id: what of a text can name something, and what only looks as if it could.

White space around an id, control characters, marks of text direction, soft hyphens, byte-order
marks and zero-width spaces do not distinguish ids, and neither does the Unicode normal form:
each id is read in NFC and without them. `20.0` is `20` where the texts otherwise are whole numbers
only, because that is what pandas writes for a column of them with one gap. That is decided once,
over all columns of a table that name the same things: a part of them may lack the `3.5`. Joiners
stay, which some languages and many emoji need, and so does case; ids that differ by such things
alone are two, and are counted as alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from urlr.arrays import Mask

_NOTHING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Characters that nobody sees and no language needs."""
_JOINERS = re.compile(
    "[\u034f\u115f\u1160\u180b-\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e01ef\\s]"
)
_WHOLE = re.compile(r"(-?[1-9][0-9]*|0)(\.0+)?")
_POINTED = re.compile(r"-?[0-9]+\.[0-9]+")
_ODD_BYTES = np.ones(256, np.bool_)
_ODD_BYTES[0x21:0x7F] = False
_ODD_BYTES[ord(".")] = True


def cleaned(texts: Sequence[str], *, points: bool = False) -> list[str]:
    """The distinct texts of a column as ids, in their order; `points`: whole numbers lose `.0`."""
    clean = [_clean(text) for text in texts]
    return [_without_point(text) for text in clean] if points else clean


def needless_points(columns: Iterable[pd.Series[Any]], known: Iterable[Any] = ()) -> bool:
    """Whether `20.0` is `20` in these columns: all their texts are whole numbers.

    `known` are ids read before that name the same things: where one has a point, the columns keep
    theirs.
    """
    pointed = False
    for column in columns:
        for text in _distinct_texts(column):
            text = _clean(text)
            if text and not _WHOLE.fullmatch(text):
                return False
            pointed |= "." in text
    return pointed and not any(isinstance(one, str) and _POINTED.fullmatch(one) for one in known)


def clean_column(column: pd.Series[Any], *, points: bool = False) -> tuple[pd.Series[Any], Mask]:
    """A column with each id in its one spelling, and the rows in which it had another.

    `points`: whole numbers lose their `.0`, see `needless_points`.
    """
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        categorical = pd.Categorical(column)
        names, changed = clean_column(pd.Series(categorical.categories), points=points)
        if not changed.any():
            return column, np.zeros(len(column), np.bool_)
        codes = categorical.codes
        rows = np.append(changed, False)[codes]
        return names.take(codes).where(codes >= 0).set_axis(column.index), rows
    if isinstance(kind, pd.StringDtype):
        if not _is_odd(column):
            return column, np.zeros(len(column), np.bool_)
        codes, uniques = pd.factorize(column)
        texts = uniques.tolist()
    elif kind.kind == "O":
        is_text = np.fromiter((isinstance(value, str) for value in column), np.bool_, len(column))
        codes = np.full(len(column), -1)
        codes[is_text], found = pd.factorize(column.to_numpy(object)[is_text])
        texts = list(found)
    else:
        return column, np.zeros(len(column), np.bool_)
    clean = cleaned(texts, points=points)
    changed = np.array([*(one != other for one, other in zip(texts, clean, strict=True)), False])
    rows = changed[codes]
    if not rows.any():
        return column, rows
    values = column.to_numpy(object).copy()
    values[rows] = np.array([*clean, None], object)[codes[rows]]
    return pd.Series(values, column.index, name=column.name, dtype=kind), rows


def known_name(name: object, known: Iterable[str]) -> str:
    """The known column that a name means: case, spaces and signs between letters do not matter."""
    own = _letters(str(name))
    return next((one for one in known if own and _letters(one) == own), str(name))


def with_known_names(table: pd.DataFrame, known: Sequence[str]) -> pd.DataFrame:
    """The table, columns renamed that are known ones but for case, spaces or signs.

    Where several could be one of them none is renamed, and neither where it is there already.
    """
    names = [str(name) for name in table.columns]
    meant = [name if name in known else known_name(name, known) for name in names]
    renamed = [
        one if one != name and meant.count(one) == 1 else name
        for name, one in zip(names, meant, strict=True)
    ]
    return table if renamed == names else table.set_axis(renamed, axis=1)


def alike(ids: Iterable[Any]) -> list[list[Any]]:
    """Groups of distinct ids that look alike: they differ by case, joiners, form or kind alone."""
    groups: dict[str, list[Any]] = {}
    for one in ids:
        groups.setdefault(_likeness(str(one)), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _clean(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text.strip(" ")
    return unicodedata.normalize("NFC", _NOTHING.sub("", text)).strip()


def _without_point(text: str) -> str:
    return text.partition(".")[0] if _WHOLE.fullmatch(text) else text


def _distinct_texts(column: pd.Series[Any]) -> Iterable[str]:
    """The texts of a column that may be more than plain ones, each once."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [one for one in pd.Categorical(column).categories if isinstance(one, str)]
    if isinstance(column.dtype, pd.StringDtype):
        return list(column.dropna().unique())
    if column.dtype.kind == "O":
        return list(dict.fromkeys(value for value in column if isinstance(value, str)))
    return ()


def _likeness(text: str) -> str:
    if text.isascii():
        text = "".join(text.lower().split())
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = _JOINERS.sub("", text)
    if text[-2:] == ".0" or text[:1] == "0":  # of whole numbers only
        number = re.fullmatch(r"0*([0-9]+?)(\.0+)?", text)
        return text if number is None else number[1]
    return text


def _letters(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _is_odd(column: pd.Series[Any]) -> bool:
    """Whether any text holds more than the visible signs of ASCII, the point left out."""
    found = pa.array(column, pa.large_string(), from_pandas=True)
    for chunk in found.chunks if isinstance(found, pa.ChunkedArray) else [found]:
        _, ends, data = chunk.buffers()
        if data is None:
            continue
        places = np.frombuffer(ends, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        if _ODD_BYTES[np.frombuffer(data, np.uint8)[places[0] : places[-1]]].any():
            return True
    return False
