"""All votes of one attribute from its dumps, and the features of the items they are about.

Dumps may come in several formats and in both layouts. Rows are kept in the order of the dumps'
names; each knows its dump and its row there. Nothing is dropped: rows that are not to count tonight
are counted by their reason.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from tasks.discover import Source
from tasks.formats import table_format
from tasks.limits import check_text_size
from tasks.messages import message
from tasks.read import (
    ReadError,
    either_form,
    features_of,
    kind_of_ids,
    table_of,
    votes_of,
    with_one_type,
)
from tasks.store import Store
from urlr.arrays import Mask
from urlr.errors import UrlrError, VoteError
from urlr.ids import positions, read_ids
from urlr.space.table import feature_table
from urlr.spelling import with_known_names
from urlr.votes.table import VOTED, vote_table

LATER, UNDATED = message("cast_later"), message("undated")
"""Why rows do not count in a night of the past."""
DELIVERED_TWICE = message("delivered_twice")
"""Why rows do not count that were counted already."""

FEWEST_REPEATED = 10
"""Rows that a dump must have to be taken for a repetition; shorter ones may be alike by chance."""

_CACHED = 64 << 20
"""Bytes of a part of a feature table that a worker keeps for the next attribute."""
_SECONDS_BEGIN, _SECONDS_END = 1e8, 1e11
"""Numbers between are seconds since 1970, of the years 1973 to 5138, and larger ones milliseconds;
smaller ones are no time: 20261101 is a day that lost its dashes."""
_LAST = pd.Timestamp("9999-12-31", tz="UTC")
"""Milliseconds that a file calls seconds lie after it."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The votes of an attribute, of which those after the night asked for are only counted."""

    votes: pd.DataFrame
    """Rows of all dumps, with the columns `dump` and `row` (from 1) beside their own."""
    rows: dict[str, int]
    """Rows in each dump, by its key."""
    left_out: dict[str, int]
    """Rows not in `votes`, by reason."""
    newest: datetime | None
    """Time of the newest vote, if votes have times."""
    times: pd.Series[Any] | None
    """When each of the votes was cast, missing where a cell is no time."""


def gather_votes(
    store: Store, dumps: Sequence[Source], *, attribute: str, as_of: datetime | None = None
) -> Gathered:
    """Read all dumps of an attribute; with `as_of`, only the votes cast up to that moment count.

    Raises
    ------
    ReadError
        A dump cannot be read, lacks columns, or is about another attribute. The text names it.
    StoreError
        A dump cannot be had, or is not the one that was listed.
    """
    frames, rows, left_out = [], {}, Counter[str]()
    seen: set[str] = set()
    for dump in dumps:
        data = _content(store, dump)
        table = table_of(data, store.address(dump.key))
        frame = rows_of_dump(table, store, dump, attribute=attribute)
        rows[dump.key] = len(frame)
        digest = hashlib.sha256(data).hexdigest()
        if digest in seen and len(frame) >= FEWEST_REPEATED:
            left_out[DELIVERED_TWICE] += len(frame)
            continue
        seen.add(digest)
        frames.append(frame)
    votes = _together([frame for frame in frames if len(frame)] or frames[:1])
    times = moments(votes["time"]) if "time" in votes else None
    if as_of is not None:
        votes, later = up_to(votes, times, as_of)
        left_out.update(later)
    newest = None
    if times is not None:
        times = times.loc[votes.index].reset_index(drop=True)
        last = times.max()
        newest = None if last is pd.NaT else last.to_pydatetime(warn=False)
    return Gathered(votes.reset_index(drop=True), rows, dict(left_out), newest, times)


def gather_features(
    store: Store, parts: Sequence[Source], votes: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """The votes, and the feature rows of the items they name (None without a table).

    The votes come back because ids may have had to be brought to the type the features have.
    """
    if not parts or not len(_items(votes)):
        return votes, None
    named = either_form(_items(votes))
    voted = [name for name in VOTED if name in votes]
    kept, kinds = [(votes, voted)], [kind_of_ids(votes, voted)]
    columns: set[str] = set()
    for part in parts:  # one at a time: together they may be larger than memory
        table = _part(store, part)
        columns = columns or set(table.columns)
        if differing := sorted(str(name) for name in columns ^ set(table.columns)):
            raise ReadError(
                message(
                    "parts_differ",
                    path=store.address(part.key),
                    first=store.address(parts[0].key),
                    columns=", ".join(differing),
                )
            )
        rows = pd.DataFrame(table[_among(table["item"], named)])
        if len(rows):  # parts about other items do not decide on the type of these
            kept.append((rows, ["item"]))
            kinds.append(kind_of_ids(table, ["item"]))
    votes, *tables = with_one_type(kept, kinds=kinds)
    items = _items(votes)
    tables = [pd.DataFrame(table[_among(table["item"], items)]) for table in tables]
    if not any(map(len, tables)):
        raise ReadError(
            message(
                "no_item_has_features",
                path=_addresses(store, parts),
                count=len(items),
                items=items[:3].tolist(),
            )
        )
    return votes, pd.concat([table for table in tables if len(table)], ignore_index=True)


def rows_of(store: Store, parts: Sequence[Source], items: pd.Index[Any], most: int) -> pd.DataFrame:
    """Rows of these items in a feature table; no more parts are read once so many are found."""
    named, kept = either_form(items), []
    for part in parts:
        table = _part(store, part)
        kept.append(pd.DataFrame(table[_among(table["item"], named)]))
        if sum(map(len, kept)) >= min(most, len(items)):
            break
    return pd.concat(kept, ignore_index=True)


def gather_truth(store: Store, parts: Sequence[Source]) -> pd.DataFrame | None:
    """The table of true scores, if there is one: item and score.

    Raises
    ------
    ReadError
        A part cannot be read, lacks a column, or its scores are no numbers. The text names it.
    """
    if not parts:
        return None
    return pd.concat([_truth(store, part) for part in parts], ignore_index=True)


def digest_of(features: pd.DataFrame | None) -> str:
    """Digest of feature rows that does not mind their order."""
    if features is None:
        return "none"
    table = feature_table(features)
    tagged = [(type(item).__name__, str(item)) for item in table.items.tolist()]
    order = sorted(range(len(tagged)), key=tagged.__getitem__)
    text = repr((table.columns, [tagged[place] for place in order]))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(table.values[order]).tobytes())
    return digest.hexdigest()


def _content(store: Store, source: Source) -> bytes:
    """The bytes of an object; text that is too large is refused before it is fetched."""
    if table_format(source.key, error=ReadError).layout != "parquet":
        check_text_size(source.size, store.address(source.key))
    return store.read(source.key, etag=source.etag)


def _table(store: Store, source: Source) -> pd.DataFrame:
    return table_of(_content(store, source), store.address(source.key))


def rows_of_dump(
    table: pd.DataFrame, store: Store, dump: Source, *, attribute: str, start: int = 0
) -> pd.DataFrame:
    """Rows of a dump as votes, checked, with the columns `dump` and `row`; so many come before."""
    address = store.address(dump.key)
    frame = votes_of(table, address)
    try:
        vote_table(frame.head(0))  # the columns
    except VoteError as error:
        raise ReadError(error.sentence.at(address)) from None
    if "attribute" in frame:
        others = frame["attribute"].dropna().astype(str)
        others = others[others != attribute]
        if len(others):
            raise ReadError(
                message(
                    "rows_of_another_attribute",
                    path=address,
                    count=len(others),
                    other=others.iloc[0],
                    attribute=attribute,
                )
            )
        frame = frame.drop(columns="attribute")  # other dumps may do without
    own = {name: f"{name}_given" for name in ("dump", "row")}
    rows = np.arange(start + 1, start + len(frame) + 1)
    return frame.rename(columns=own).assign(dump=dump.key, row=rows)


def _truth(store: Store, part: Source) -> pd.DataFrame:
    address = store.address(part.key)
    table = with_known_names(_table(store, part), ("item", "score"))
    if lacking := sorted({"item", "score"} - set(table.columns)):
        columns = " and no ".join(lacking)
        raise ReadError(message("truth_lacks_columns", path=address, columns=columns))
    if not (pd.api.types.is_numeric_dtype(table["score"]) or table["score"].isna().all()):
        raise ReadError(message("truth_is_no_number", path=address))
    return pd.DataFrame(table[["item", "score"]]).dropna()


def _together(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """One table of dumps whose layouts and types may differ."""
    if len({"winner" in frame for frame in frames}) > 1:
        frames = [canonical(frame) for frame in frames]
    frames = _same_type(frames, [name for name in VOTED if name in frames[0]])
    for name in ("annotator", "vote_id"):
        frames = _same_type(frames, [name])
    if any("weight" in frame for frame in frames):  # an empty cell is a mistake, no column is none
        frames = [frame if "weight" in frame else frame.assign(weight=1.0) for frame in frames]
    for name in sorted({str(name) for frame in frames for name in frame}):
        kinds = {str(frame[name].dtype) for frame in frames if name in frame}
        if len(kinds) > 1:  # text beside numbers or times: each cell stays what it is
            frames = [
                frame.assign(**{name: frame[name].astype(object)}) if name in frame else frame
                for frame in frames
            ]
    return pd.concat(frames, ignore_index=True)


def canonical(frame: pd.DataFrame) -> pd.DataFrame:
    """The votes as item_a, item_b and outcome."""
    if "winner" not in frame:
        return frame
    return frame.rename(columns={"winner": "item_a", "loser": "item_b"}).assign(outcome="a")


def _same_type(frames: list[pd.DataFrame], names: list[str]) -> list[pd.DataFrame]:
    """Ids of one kind brought to one type, in the frames that have them."""
    having = [place for place, frame in enumerate(frames) if set(names) <= set(frame.columns)]
    matched = with_one_type([(frames[place], names) for place in having])
    for place, frame in zip(having, matched, strict=True):
        frames[place] = frame
    return frames


def moments(column: pd.Series[Any]) -> pd.Series[Any]:
    """Moments in UTC, missing where a cell is none: dates, ISO texts, seconds or milliseconds."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        times = pd.to_datetime(column, utc=True)
        return times.where(times < _LAST)
    numbers = pd.to_numeric(column, errors="coerce").astype(np.float64)
    texts = column.astype(object).where(numbers.isna(), None)
    times = pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601")
    seconds = numbers.where(numbers < _SECONDS_END, numbers / 1000).where(numbers >= _SECONDS_BEGIN)
    counted = pd.to_datetime(seconds, unit="s", utc=True, errors="coerce")
    return counted.dt.as_unit("us").where(numbers.notna(), times.dt.as_unit("us"))


def up_to(
    votes: pd.DataFrame, times: pd.Series[Any] | None, as_of: datetime
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The votes cast up to a moment, and how many others there are, by reason."""
    if times is None:
        raise UrlrError(message("votes_without_time"))
    undated, later = times.isna(), times > as_of
    left_out = {LATER: int(later.sum()), UNDATED: int(undated.sum())}
    kept = pd.DataFrame(votes[~(undated | later)])
    return kept, {reason: count for reason, count in left_out.items() if count}


def _part(store: Store, part: Source) -> pd.DataFrame:
    return (_kept_part if part.size <= _CACHED else _read_part)(store, part)


def _read_part(store: Store, part: Source) -> pd.DataFrame:
    address = store.address(part.key)
    return features_of(_table(store, part), address)


_kept_part = lru_cache(maxsize=4)(_read_part)
"""The next attribute on this worker mostly needs the same table."""


def _among(items: pd.Series[Any], named: pd.Index[Any]) -> Mask:
    read = read_ids(items)
    return np.asarray(read.usable & (positions(named, read.values) >= 0), np.bool_)


def _addresses(store: Store, parts: Sequence[Source]) -> str:
    first = store.address(parts[0].key)
    if len(parts) == 1:
        return first
    return message("part_and_others", path=first, others=len(parts) - 1)


def _items(votes: pd.DataFrame) -> pd.Index[Any]:
    """The distinct items that votes name."""
    ids = [read_ids(votes[name]) for name in VOTED if name in votes]
    every = [np.asarray(side.values[side.usable], object) for side in ids]
    items: pd.Index[Any] = pd.Index(pd.unique(np.concatenate(every)))
    return items
