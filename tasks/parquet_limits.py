"""How much a Parquet file decodes to, told before it is decoded.

Of numbers the footer tells. Text may be stored once and repeated in every row, and the footer does
not tell how long it is: so the values kept for repetition are looked at first, in each row group.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from tasks.formats import shown_path
from tasks.limits import LARGEST_TEXT, MOST_COLUMNS, ReadError, check_columns
from tasks.messages import message

LARGEST_TABLE = 1 << 32
"""Most bytes that a Parquet file may decode to: 4 GB, some 80 million votes."""

_WIDTH = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_DICTIONARY = {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}
_OFFSET = 4
_ROWS = 1 << 20
"""Rows whose repeated texts are counted at a time, 4 MB of numbers a column."""
_FEW = 1 << 26
"""Bytes that texts which share their beginnings may decode to at a time."""
_GROWTH = 100
"""Times its packed size that such text may decode to, beyond `LARGEST_TEXT`."""
_ELEMENTS = 2 * MOST_COLUMNS
"""Most entries of a list in a footer; reading one of 50,000 columns takes 0.6 s."""

Path = str | os.PathLike[str]


def bounded_table(source: Any, path: Path) -> pa.Table:
    """Read a Parquet file whole, refused before it is decoded if that would be too much.

    Raises
    ------
    ReadError
        It is damaged, or decodes to more than `LARGEST_TABLE` bytes.
    """
    file = parquet_file(source, path)
    check_decoded(source, file.metadata, path)
    try:
        return file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        damaged(path, error)


def parquet_file(source: Any, path: Path, **options: Any) -> Any:
    """A Parquet file of which only the footer was read."""
    try:
        file = pa.parquet.ParquetFile(source, thrift_container_size_limit=_ELEMENTS, **options)
    except (pa.ArrowException, OSError, ValueError) as error:
        if "Exceeded size limit" in str(error):
            raise ReadError(
                message(
                    "footer_too_long",
                    path=shown_path(path),
                    columns=MOST_COLUMNS,
                    groups=_ELEMENTS,
                )
            ) from None
        damaged(path, error)
    check_columns(len(file.schema_arrow.names), path)
    return file


def is_list(kind: pa.DataType) -> bool:
    """Whether cells are lists, of whatever length."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def damaged(path: Path, error: Exception) -> NoReturn:
    """Refuse a file that cannot be decoded."""
    raise ReadError(message("damaged_parquet", path=shown_path(path), why=str(error))) from None


def check_decoded(
    source: Any,
    metadata: Any,
    path: Path,
    *,
    columns: Collection[str] | None = None,
    groups: Sequence[int] | None = None,
) -> None:
    """Refuse a file of which these columns, in these row groups, decode to too much.

    Columns are those at the top, all of them unless given; so are row groups.
    """
    found = _Total(path)
    among = range(metadata.num_row_groups) if groups is None else groups
    for group in among:
        texts: list[Any] = []
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            name = chunk.path_in_schema
            if columns is not None and name.split(".")[0] not in columns:
                continue
            if chunk.physical_type != "BYTE_ARRAY":
                width = _WIDTH.get(chunk.physical_type) or metadata.schema.column(place).length
                found.add(name, chunk.num_values * width, chunk.num_values)
                continue
            size = chunk.total_uncompressed_size
            found.add(name, size + _OFFSET * chunk.num_values, chunk.num_values)
            if _may_repeat(chunk) and not found.has_room_for(size * chunk.num_values):
                texts.append(chunk)
        if texts:
            _count_repeated(source, metadata, group, texts, found)


class _Total:
    """Bytes that a file decodes to, as far as counted; refuses it once they are too many."""

    def __init__(self, path: Path) -> None:
        self.path, self.size, self.unseen = path, 0, 0
        self.longest: dict[int, int] = {}
        """Bytes of the longest text kept for repetition, by where its row group's column begins."""
        self.stored: dict[int, int] = {}
        """Bytes of texts that share their beginnings; row groups may be one and the same."""
        self.shared = 0
        """Bytes that those decode to."""

    def has_room_for(self, size: int) -> bool:
        """Whether so much more may come of texts that were not looked at."""
        self.unseen += size
        if self.unseen > LARGEST_TEXT:
            self.unseen -= size
            return False
        return True

    def add(self, column: str, size: int, values: int) -> None:
        self.size += size
        if self.size > LARGEST_TABLE:
            self.refuse(column, LARGEST_TABLE, values)

    def refuse(self, column: str, most: int, values: int) -> NoReturn:
        raise ReadError(
            message(
                "decodes_to_too_much",
                path=shown_path(self.path),
                most=most,
                values=values,
                column=column.split(".")[0],
            )
        )


def _may_repeat(chunk: Any) -> bool:
    return bool(_DICTIONARY.intersection(chunk.encodings)) or "DELTA_BYTE_ARRAY" in chunk.encodings


def _count_repeated(
    source: Any, metadata: Any, group: int, texts: Sequence[Any], found: _Total
) -> None:
    """Add what texts decode to beyond the bytes that store them."""
    whole = (chunk for chunk in texts if "DELTA_BYTE_ARRAY" not in chunk.encodings)
    names = [chunk.path_in_schema for chunk in whole]
    try:
        file = pa.parquet.ParquetFile(
            source, metadata=metadata, read_dictionary=names, pre_buffer=False
        )
        for chunk in texts:
            if chunk.path_in_schema not in names:
                _count_shared_beginnings(file, group, chunk, found)
                continue
            name, n_values = chunk.path_in_schema, chunk.num_values
            longest = found.longest.get(chunk.data_page_offset)
            if longest is None:
                longest = _longest(next(_batches(file, group, name, 1)))
            if longest is not None and found.size + longest * n_values <= LARGEST_TABLE:
                found.longest[chunk.data_page_offset] = longest
                found.add(name, longest * n_values, n_values)
                continue
            for batch in _batches(file, group, name, _ROWS):
                found.add(name, sum(map(_text_bytes, batch.columns)), n_values)
    except (pa.ArrowException, OSError, ValueError) as error:
        damaged(found.path, error)


def _count_shared_beginnings(file: Any, group: int, chunk: Any, found: _Total) -> None:
    """Count texts of which each may begin as the one before, so none is longer than all stored."""
    name, stored = chunk.path_in_schema, max(1, chunk.total_uncompressed_size)
    found.stored[chunk.data_page_offset] = chunk.total_compressed_size
    most = max(LARGEST_TEXT, _GROWTH * sum(found.stored.values()))
    for batch in _batches(file, group, name, max(16, min(4096, _FEW // stored))):
        size = sum(map(_text_bytes, batch.columns))
        found.shared += size
        if found.shared > most:
            found.refuse(name, most, chunk.num_values)
        found.add(name, size, chunk.num_values)


def _batches(file: Any, group: int, name: str, rows: int) -> Iterator[Any]:
    yield from file.iter_batches(rows, row_groups=[group], columns=[name], use_threads=False)


def _longest(batch: Any) -> int | None:
    """Bytes of the longest text kept for repetition; None if the first row does not show any."""
    for leaf in _leaves(batch.column(0)):
        if pa.types.is_dictionary(leaf.type) and leaf.null_count < len(leaf):
            size: int = pa.compute.max(pa.compute.binary_length(leaf.dictionary)).as_py()
            return size
    return None


def _text_bytes(array: Any) -> int:
    """Bytes of all texts in an array, each counted as often as it occurs."""
    total = 0
    for leaf in _leaves(array):
        if pa.types.is_dictionary(leaf.type):
            lengths = pa.compute.binary_length(leaf.dictionary).cast(pa.int64())
            total += pa.compute.sum(lengths.take(leaf.indices)).as_py() or 0
        elif not pa.types.is_null(leaf.type):
            total += pa.compute.sum(pa.compute.binary_length(leaf)).as_py() or 0
    return total


def _leaves(array: Any) -> Iterator[Any]:
    """The arrays of plain cells within an array of lists and records."""
    kind = array.type
    if pa.types.is_map(kind):
        yield from _leaves(array.keys)
        yield from _leaves(array.items)
    elif pa.types.is_struct(kind):
        for part in array.flatten():
            yield from _leaves(part)
    elif is_list(kind):
        yield from _leaves(array.flatten())
    else:
        yield array
