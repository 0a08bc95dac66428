"""The votes of an attribute that are too many for memory, read in pieces, as often as needed.

A first look over all dumps (`survey`) tells what gathering them at once would have told: how many
rows there are, which items they name, of what type the ids are, which votes come after the night
asked for. It also takes a sample, chosen by the numbers of the rows. Then `LargeVotes.pieces` gives
the votes as `gather_votes` would, some at a time. Parquet is read row group by row group, and of
its columns only those that mean something to urlr.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tasks.contents import digest_of_object
from tasks.discover import Source
from tasks.formats import table_format
from tasks.gather import (
    DELIVERED_TWICE,
    FEWEST_REPEATED,
    canonical,
    moments,
    rows_of_dump,
    up_to,
)
from tasks.limits import check_text_size
from tasks.messages import message
from tasks.parquet_limits import check_decoded, damaged
from tasks.partitions import stored_file, stored_parquet
from tasks.read import ReadError, kind_of_ids, parquet_frame, table_of, with_numbers
from tasks.split import scattered
from tasks.store import Store
from urlr.errors import VoteError
from urlr.ids import read_coded_ids, sorted_uniques
from urlr.spelling import known_name
from urlr.votes.table import COLUMNS, VOTED, header_rows, vote_table

PIECE = 1 << 20
"""Rows of a piece at most; reading such a one and giving verdicts on it took 400 MB."""
SAMPLE = 1_000_000
"""Votes that are looked at together, about."""

_BATCH = 1 << 17


@dataclass(frozen=True, slots=True)
class LargeVotes:
    """All votes of an attribute, not in memory but for a sample; made by `survey`."""

    store: Store
    dumps: tuple[Source, ...]
    attribute: str
    as_of: datetime | None
    mixed: bool
    """Whether dumps have either layout."""
    numbers: frozenset[str]
    """Keys of the dumps whose ids are text there and whole numbers in all others."""
    rows: dict[str, int]
    """Rows in each dump, by its key."""
    left_out: dict[str, int]
    """Rows that are not among the votes, by reason."""
    newest: datetime | None
    items: pd.Index[Any]
    """All that the votes name."""
    sample: pd.DataFrame
    """Some of the votes; the index has the place of each among all."""
    times: pd.Series[Any] | None
    """When each vote of the sample was cast."""

    @property
    def n_votes(self) -> int:
        """Rows of all pieces."""
        return sum(self.rows.values()) - sum(self.left_out.values())

    def as_numbers(self, votes: pd.DataFrame) -> pd.DataFrame:
        """These votes with whole numbers for ids that are text."""
        return _alike(votes, self.mixed, numbers=True)

    def pieces(self, *, numbers: bool) -> Iterator[pd.DataFrame]:
        """All votes in their order; the index has the place of each. `numbers`: all ids are."""
        start = 0
        for dump in self.dumps:
            for frame in _frames(self.store, dump, self.attribute):
                kept, _, _ = _counting(frame, self.as_of)
                kept = _alike(kept, self.mixed, numbers=numbers or dump.key in self.numbers)
                kept.index = pd.RangeIndex(start, start + len(kept))
                start += len(kept)
                if len(kept):
                    yield kept


def survey(
    store: Store,
    dumps: Sequence[Source],
    *,
    attribute: str,
    as_of: datetime | None,
    n_rows: int,
    most: int | None = None,
) -> LargeVotes:
    """Look over all dumps, which have about so many rows, once.

    Raises
    ------
    ReadError
        A dump cannot be read, lacks columns, or is about another attribute. The text names it.
    StoreError
        A dump cannot be had, or is not the one that was listed.
    """
    for dump in dumps:
        if table_format(dump.key, error=ReadError).layout != "parquet":
            check_text_size(dump.size, store.address(dump.key))
    again = {
        dump.key: sum(map(len, _frames(store, dump, attribute))) for dump in _same(store, dumps)
    }
    again = {key: count for key, count in again.items() if count >= FEWEST_REPEATED}
    dumps, every = [dump for dump in dumps if dump.key not in again], dumps
    looks = [_Look(dump) for dump in dumps]
    share = min(1.0, (SAMPLE if most is None else most) / max(1, n_rows))
    start = 0
    for look in looks:
        for frame in _frames(store, look.dump, attribute):
            start = look.add(frame, as_of, start, share)
    counted = [look for look in looks if look.n_rows]
    if as_of is not None and not any(look.has_time for look in looks):
        up_to(pd.DataFrame(), None, as_of)  # raises what says it best
    for name in ("annotator", "vote_id"):
        _check_one_type(store, counted, name)
    mixed = len({look.is_paired for look in counted}) > 1
    kinds = {look.dump.key: look.kind() for look in counted}
    numbers: frozenset[str] = frozenset()
    if set(kinds.values()) == {"decimal text", "whole numbers"}:
        numbers = frozenset(key for key, kind in kinds.items() if kind == "decimal text")
    sample = [
        _alike(piece, mixed, numbers=look.dump.key in numbers)
        for look in looks
        for piece in look.sample
    ]
    times = [piece for look in looks for piece in look.times]
    left_out: dict[str, int] = {DELIVERED_TWICE: sum(again.values())} if again else {}
    for look in looks:
        for reason, count in look.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    newest = max((look.newest for look in looks if look.newest is not None), default=None)
    named = [look.names(numbers=look.dump.key in numbers) for look in counted]
    counts = again | {look.dump.key: look.n_rows for look in looks}
    return LargeVotes(
        store=store,
        dumps=tuple(dumps),
        attribute=attribute,
        as_of=as_of,
        mixed=mixed,
        numbers=numbers,
        rows={dump.key: counts[dump.key] for dump in every},
        left_out=left_out,
        newest=newest,
        items=_distinct(named),
        sample=pd.concat(sample) if sample else pd.DataFrame({"winner": [], "loser": []}),
        times=pd.concat(times) if any(look.has_time for look in looks) else None,
    )


@dataclass
class _Look:
    """What is seen of one dump."""

    dump: Source
    n_rows: int = 0
    is_paired: bool = False
    has_time: bool = False
    newest: datetime | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    ids: dict[str, pd.Index[Any]] = field(default_factory=dict)
    """Distinct ids by column."""
    whole: dict[str, bool] = field(default_factory=dict)
    """Whether other names are whole numbers, by column."""
    sample: list[pd.DataFrame] = field(default_factory=list)
    times: list[pd.Series[Any]] = field(default_factory=list)

    def add(self, frame: pd.DataFrame, as_of: datetime | None, start: int, share: float) -> int:
        """Look at more rows; so many votes come before them, and before the next ones."""
        self.n_rows += len(frame)
        self.is_paired = "winner" in frame
        self.has_time |= "time" in frame
        kept, times, left_out = _counting(frame, as_of)
        for reason, count in left_out.items():
            self.left_out[reason] = self.left_out.get(reason, 0) + count
        last = times.max()
        if last is not pd.NaT:
            moment = last.to_pydatetime(warn=False)
            self.newest = moment if self.newest is None else max(moment, self.newest)
        for name in VOTED:
            if name in frame:
                ids = read_coded_ids(frame[name][~header_rows(frame)])
                usable = ids.values.take(np.unique(ids.codes[ids.codes >= 0]))
                known = self.ids.get(name)
                self.ids[name] = usable if known is None else _distinct([known, usable])
        for name in ("annotator", "vote_id"):
            if name in frame and frame[name].notna().any():
                self.whole[name] = pd.api.types.is_integer_dtype(frame[name].dtype)
        places = np.arange(start, start + len(kept))
        chosen = scattered(places.astype(np.uint64) + np.uint64(1)) < share
        some = pd.Index(places[chosen])
        self.sample.append(pd.DataFrame(kept[chosen]).set_index(some))
        self.times.append(times[chosen].set_axis(some))
        return start + len(kept)

    def kind(self) -> str:
        """Of the ids, as `kind_of_ids` tells of the whole dump."""
        kinds = {kind_of_ids(pd.DataFrame({name: ids}), [name]) for name, ids in self.ids.items()}
        return kinds.pop() if len(kinds) == 1 else "else"

    def names(self, *, numbers: bool) -> pd.Index[Any]:
        """Every item named here."""
        ids = _distinct(list(self.ids.values()))
        if not numbers:
            return ids
        items: pd.Index[Any] = pd.Index(with_numbers(pd.DataFrame({"item": ids}), ["item"])["item"])
        return items


def _check_one_type(store: Store, looks: list[_Look], name: str) -> None:
    """Refuse names that are whole numbers here and text there: to match them, all are needed."""
    whole = {look.whole[name]: look.dump for look in looks if name in look.whole}
    if len(whole) > 1:
        raise ReadError(
            message(
                "names_of_two_types",
                column=name,
                whole=store.address(whole[True].key),
                other=store.address(whole[False].key),
            )
        )


def _same(store: Store, dumps: Sequence[Source]) -> list[Source]:
    """Dumps that hold the same bytes as one before them; only those of one size are read."""
    sizes = Counter(dump.size for dump in dumps)
    seen: set[str] = set()
    found = []
    for dump in dumps:
        if sizes[dump.size] < 2:
            continue
        digest = digest_of_object(store, dump)
        if digest in seen:
            found.append(dump)
        seen.add(digest)
    return found


def _frames(store: Store, dump: Source, attribute: str) -> Iterator[pd.DataFrame]:
    """The rows of a dump as votes, some at a time; at least one table, if without rows."""
    start = 0
    for table in _tables(store, dump):
        yield rows_of_dump(table, store, dump, attribute=attribute, start=start)
        start += len(table)


def _tables(store: Store, dump: Source) -> Iterator[pd.DataFrame]:
    where = store.address(dump.key)
    if table_format(dump.key, error=ReadError).layout != "parquet":
        whole = table_of(store.read(dump.key, etag=dump.etag), where)
        for start in range(0, max(1, len(whole)), PIECE):
            yield whole.iloc[start : start + PIECE].reset_index(drop=True)
        return
    with stored_parquet(store, dump, where, n_columns=len(COLUMNS)) as file:
        names = file.schema_arrow.names
        try:
            vote_table(pd.DataFrame(columns=pd.Index(names)))
        except VoteError as error:
            raise ReadError(error.sentence.at(where)) from None
        wanted = [name for name in names if known_name(name, COLUMNS) in COLUMNS]
        check_decoded(stored_file(store, dump), file.metadata, where, columns=set(wanted))
        held: list[pa.RecordBatch] = []
        n_given = 0
        try:
            for batch in file.iter_batches(_BATCH, columns=wanted, use_threads=False):
                held.append(batch)
                if sum(map(len, held)) > PIECE - _BATCH:
                    yield parquet_frame(pa.Table.from_batches(held), where)
                    held, n_given = [], n_given + 1
        except (pa.ArrowException, OSError, ValueError) as error:
            damaged(where, error)
        if held:
            yield parquet_frame(pa.Table.from_batches(held), where)
        elif not n_given:
            yield pd.DataFrame({name: pd.Series([], dtype=object) for name in wanted})


def _counting(
    frame: pd.DataFrame, as_of: datetime | None
) -> tuple[pd.DataFrame, pd.Series[Any], dict[str, int]]:
    """The votes cast up to a moment, when each was, and how many others there are, by reason."""
    if "time" in frame:
        times = moments(frame["time"])
    else:
        times = pd.Series(pd.NaT, frame.index, dtype="datetime64[us, UTC]")
    if as_of is None:
        return frame, times, {}
    kept, left_out = up_to(frame, times, as_of)
    return kept, times.loc[kept.index], left_out


def _alike(frame: pd.DataFrame, mixed: bool, *, numbers: bool) -> pd.DataFrame:
    """Rows as they are once all dumps are brought together."""
    frame = canonical(frame) if mixed else frame
    texts = [
        name
        for name in VOTED
        if name in frame and not pd.api.types.is_integer_dtype(frame[name].dtype)
    ]
    return with_numbers(frame, texts) if numbers and texts else frame


def _distinct(ids: list[pd.Index[Any]]) -> pd.Index[Any]:
    if not ids:
        return pd.Index([])
    together = ids[0] if len(ids) == 1 else ids[0].append(ids[1:])
    return sorted_uniques(together)[1]
