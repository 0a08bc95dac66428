"""A feature table in pieces that fit into memory: files of a store, cut by rows where they can be.

Parquet is cut into pieces of some 100,000 rows, fewer where rows are long. A row group larger than
a piece is decoded from its beginning for each of its pieces, so row groups of about that size are
best. Text (CSV, JSON lines) has no places to cut at and is read whole, if it is not too large.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from tasks.discover import Source
from tasks.formats import shown_path, table_format
from tasks.limits import MOST_COLUMNS, check_text_size
from tasks.messages import message
from tasks.objects import Directory, Found
from tasks.parquet_limits import check_decoded, damaged, is_list, parquet_file
from tasks.read import ReadError, features_of, parquet_frame, table_of
from tasks.store import Store
from urlr.errors import FeatureError
from urlr.ids import shown_some
from urlr.space.table import FeatureTable, feature_table
from urlr.spelling import known_name

ROWS = 100_000
"""Most rows of a piece of Parquet."""
CELLS = 1 << 23
"""Most numbers of a piece of Parquet, 64 MB; reading such a one took 200 to 370 MB at its peak."""

_BUFFERS = 1 << 25
"""Bytes of all columns read at a time; without, row groups are read whole before decoding."""
_BATCH = 1 << 14
_INDEX = "__index_level_"


@dataclass(frozen=True, slots=True)
class Features:
    """A feature table: the files of a store that hold its rows."""

    store: Store
    parts: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class PartShape:
    """What is known about a file of features before its numbers are read."""

    store: Store
    found: Found
    columns: tuple[str, ...]
    """Columns of numbers, lists taken apart: `embedding_0`, `embedding_1`, ..."""
    ignored: tuple[str, ...]
    """Columns that hold no numbers."""
    empty: tuple[str, ...]
    """Columns that hold nothing, as far as can be told; they are not among `columns`."""
    text_ids: bool
    """Whether some ids are text."""
    groups: tuple[int, ...]
    """Rows of each row group; of a file of text, of all its rows."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A piece of a feature table; the columns are those of its whole file."""

    store: Store
    found: Found
    columns: tuple[str, ...]
    ignored: tuple[str, ...]
    groups: tuple[int, ...] | None
    """Row groups that hold the rows; None for a file of text, which is read whole."""
    skip: int
    """Rows of these groups that come before."""
    rows: int


def features_at(place: str | Path) -> Features:
    """The feature table in a file, or in all the files of a directory; also `s3://bucket/...`."""
    if isinstance(place, str) and place.startswith("s3://"):
        return _features_in_bucket(place.rstrip("/"))
    path = Path(place)
    if path.is_dir():
        store = Store.at(path)
        parts = tuple(store.list())
        if not parts:
            raise ReadError(message("empty_directory", path=shown_path(path)))
        for part in parts:
            table_format(part.key, error=ReadError)
        return Features(store, parts)
    table_format(path, error=ReadError)
    if not path.is_file():
        raise ReadError(message("no_such_file", path=shown_path(path)))
    return Features(Store.at(path.parent), (Directory(path.parent).find(path.name),))


def _features_in_bucket(place: str) -> Features:
    folder = Store.at(place)
    parts = tuple(folder.list())
    if not parts:
        above, _, name = place.rpartition("/")
        folder = Store.at(above)
        parts = tuple(found for found in folder.list() if found.key == name)
    if not parts:
        raise ReadError(message("nothing_at_address", path=shown_path(place)))
    for part in parts:
        table_format(part.key, error=ReadError)
    return Features(folder, parts)


def part_shape(store: Store, found: Found) -> PartShape:
    """Look at one file: the footer of Parquet, the whole of a file of text."""
    where = store.address(found.key)
    if table_format(found.key, error=ReadError).layout == "parquet":
        return _parquet_shape(store, found, where)
    table = _text_table(store, found)
    empty = tuple(table.columns[k] for k in np.flatnonzero(np.isnan(table.values).all(axis=0)))
    return PartShape(
        store,
        found,
        tuple(name for name in table.columns if name not in set(empty)),
        table.ignored,
        empty,
        not pd.api.types.is_integer_dtype(table.items.dtype),
        (len(table.items),),
    )


def partitions_of(
    shape: PartShape, *, columns: Sequence[str] | None = None, rows: int = ROWS
) -> list[Partition]:
    """Cut a file into pieces of at most so many rows; small row groups go together.

    `columns` are those to be read, all columns of the file unless given; what the file lacks of
    them is missing in every row. How the file is cut depends on the file and on `rows` alone.
    """
    wanted = shape.columns if columns is None else tuple(columns)
    if table_format(shape.found.key, error=ReadError).layout != "parquet":
        return [
            Partition(shape.store, shape.found, wanted, shape.ignored, None, 0, sum(shape.groups))
        ]
    most = max(1, min(rows, CELLS // max(1, len(shape.columns))))
    cut: list[Partition] = []
    together: list[int] = []
    held = 0

    def piece(groups: Sequence[int], skip: int, count: int) -> None:
        cut.append(
            Partition(shape.store, shape.found, wanted, shape.ignored, tuple(groups), skip, count)
        )

    for group, size in enumerate(shape.groups):
        if together and held + size > most:
            piece(together, 0, held)
            together, held = [], 0
        if size > most:
            count = -(-size // -(-size // most))  # as few pieces as can be, of one size
            for skip in range(0, size, count):
                piece([group], skip, min(count, size - skip))
        elif size:
            together.append(group)
            held += size
    if together:
        piece(together, 0, held)
    return cut


def read_partition(piece: Partition) -> FeatureTable:
    """Read the rows of a piece, its columns in their order, NaN where there is no value."""
    if piece.groups is None:
        return _with_columns(_text_table(piece.store, piece.found), piece)
    where = piece.store.address(piece.found.key)
    batches: list[pa.RecordBatch] = []
    skip, wanted = piece.skip, piece.rows
    with stored_parquet(piece.store, piece.found, where, len(piece.columns)) as file:
        named = set(file.schema_arrow.names)
        lists = any(name.startswith("embedding_") and name not in named for name in piece.columns)
        item = _item_name(file.schema_arrow.names) or "item"
        columns = [item, *(name for name in piece.columns if name in named)]
        columns += ["embedding"] if lists and "embedding" in named else []
        source = stored_file(piece.store, piece.found)
        check_decoded(source, file.metadata, where, columns={item}, groups=piece.groups)
        try:
            for batch in file.iter_batches(
                _BATCH, row_groups=list(piece.groups), columns=columns, use_threads=False
            ):
                taken = batch.slice(skip, wanted)
                skip = max(0, skip - len(batch))
                wanted -= len(taken)
                batches += [taken] if len(taken) else []
                if not wanted:
                    break
        except (pa.ArrowException, OSError, ValueError) as error:
            damaged(where, error)
    frame = parquet_frame(pa.Table.from_batches(batches), where)
    del batches
    blank = [name for name in frame.columns if name != item and frame[name].isna().all()]
    frame = frame.drop(columns=blank)
    if frame.shape[1] == 1:
        frame["nothing"] = np.nan
    return _with_columns(feature_table(frame), piece)


def id_column(items: pd.Index[Any], *, text: bool) -> pa.Array:
    """Ids as one type, which a column of Parquet needs: text, or whole numbers of 64 bits."""
    if text:
        return pa.array([str(item) for item in items], pa.string())
    try:
        return pa.array(items, pa.int64())
    except (pa.ArrowException, OverflowError, TypeError):
        raise FeatureError(message("id_beyond_64_bits")) from None


def _with_columns(table: FeatureTable, piece: Partition) -> FeatureTable:
    """The table with the columns of the piece; those without a value there are filled up."""
    if table.columns == piece.columns:
        return FeatureTable(table.items, piece.columns, table.values, piece.ignored)
    odd = [name for name in piece.columns if name in table.ignored]
    if odd:
        where = piece.store.address(piece.found.key)
        raise FeatureError(
            message("no_numbers_in_columns", path=where, count=len(odd), columns=odd)
        )
    places = pd.Index(table.columns, dtype=object).get_indexer(
        pd.Index(piece.columns, dtype=object)
    )
    values = np.take(np.hstack([table.values, np.full((len(table.values), 1), np.nan)]), places, 1)
    return FeatureTable(table.items, piece.columns, values, piece.ignored)


def _text_table(store: Store, found: Found) -> FeatureTable:
    where = store.address(found.key)
    check_text_size(found.size, where)
    stored = table_of(store.read(found.key, etag=found.etag), where)
    return feature_table(features_of(stored, where))


def _item_name(names: Sequence[str]) -> str | None:
    """The column that names items, in any case and with spaces; None if there is none, or two."""
    if "item" in names:
        return "item"
    meant = [name for name in names if known_name(name, ("item",)) == "item"]
    return meant[0] if len(meant) == 1 else None


def _parquet_shape(store: Store, found: Found, where: str) -> PartShape:
    columns: list[str] = []
    ignored: list[str] = []
    empty: list[str] = []
    with stored_parquet(store, found, where) as file:
        schema = file.schema_arrow
        item = _item_name(schema.names)
        if item is None:
            found_names = [name for name in schema.names if not name.startswith(_INDEX)]
            raise ReadError(message("no_item_column", path=where, found=shown_some(found_names, 8)))
        metadata = file.metadata
        groups = tuple(metadata.row_group(k).num_rows for k in range(metadata.num_row_groups))
        if not sum(groups):
            raise ReadError(message("no_rows_in_file", path=where))
        for field in schema:
            if field.name == item or field.name.startswith(_INDEX):
                continue
            if field.name == "embedding" and is_list(field.type):
                _check_lengths(metadata, MOST_COLUMNS, where)
                width = _width(file, where)
                columns += [f"embedding_{k}" for k in range(width)]
                empty += [] if width else ["embedding"]
            elif pa.types.is_null(field.type):
                empty.append(field.name)
            elif _is_number(field.type):
                columns.append(field.name)
            else:
                ignored.append(field.name)
        repeated = sorted({name for name in columns if columns.count(name) > 1})
        if repeated:
            raise FeatureError(
                message(
                    "repeated_feature_columns", path=where, count=len(repeated), columns=repeated
                )
            )
        ids = schema.field("item").type
        whole = pa.types.is_integer(ids) or pa.types.is_floating(ids)
        return PartShape(
            store, found, tuple(columns), tuple(ignored), tuple(empty), not whole, groups
        )


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _width(file: Any, where: str) -> int:
    """Length of the first list there is; 0 if there is none."""
    try:
        for batch in file.iter_batches(64, columns=["embedding"], use_threads=False):
            lengths = batch.column(0).drop_null()
            if len(lengths):
                return len(lengths[0])
    except (pa.ArrowException, OSError, ValueError) as error:
        damaged(where, error)
    return 0


def _check_lengths(metadata: Any, width: int, where: str) -> None:
    """Refuse lists that are longer than this on the whole, as row groups tell without reading."""
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            if not chunk.path_in_schema.startswith("embedding."):
                continue
            if chunk.num_values > rows * max(1, width):
                raise ReadError(
                    message(
                        "embedding_too_long",
                        path=shown_path(where),
                        numbers=chunk.num_values,
                        rows=rows,
                        most=width,
                    )
                )


def stored_parquet(store: Store, found: Found | Source, where: str, n_columns: int = 1) -> Any:
    """A Parquet object of a store, opened: its footer is read, and else only what is asked for."""
    buffer = max(1 << 16, min(1 << 20, _BUFFERS // max(1, n_columns)))
    return parquet_file(stored_file(store, found), where, buffer_size=buffer, pre_buffer=False)


def stored_file(store: Store, found: Found | Source) -> pa.PythonFile:
    """An object of a store as a file of which only what is asked for is read."""
    return pa.PythonFile(_StoredFile(store, found), mode="r")


class _StoredFile(io.RawIOBase):
    """An object of a store as a file of which only what is asked for is read."""

    def __init__(self, store: Store, found: Found | Source) -> None:
        self._store, self._found, self._place = store, found, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to another place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._found.size}[whence]
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        """The present place."""
        return self._place

    def read(self, size: int = -1) -> bytes:
        """The next bytes, all that are left unless told how many."""
        end = self._found.size if size < 0 else min(self._found.size, self._place + size)
        data = self._store.read_span(self._found.key, self._place, end, etag=self._found.etag)
        self._place += len(data)
        return data
