"""Read votes and features from files, losing no row and guessing no type in silence.

CSV carries no types, so ids are read from it as text: `007` stays `007` and `NA` stays `NA`; an
empty cell is missing. Parquet and JSON lines keep the types they have.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from tasks.formats import TableFormat, shown_path, table_format
from tasks.limits import LARGEST_TEXT, check_columns, check_lines, check_text_size, unpacked
from tasks.limits import ReadError as ReadError
from tasks.messages import message
from tasks.parquet_limits import bounded_table, damaged
from urlr.ids import read_ids, shown, shown_some
from urlr.spelling import clean_column, known_name, needless_points, with_known_names
from urlr.votes.table import COLUMNS, RESPELLED, VOTED, header_rows, with_clean_ids

ID_COLUMNS = frozenset(
    {
        "item",
        "winner",
        "loser",
        "item_a",
        "item_b",
        "vote_id",
        "annotator",
        "attribute",
        "outcome",
    }
)
"""Columns whose cells name something; CSV files give them as text."""

_INDEX = "__index_level_"  # how pandas stores an index without a name in Parquet
_BLOCK = 1 << 26  # a CSV row must fit into one block
_MOSTLY = 0.5
_FILLED = 1 << 23  # cells, 64 MB, up to which rows may lack most of the columns


def read_votes(path: str | os.PathLike[str], *, text: Collection[str] = ()) -> pd.DataFrame:
    """Read a file of votes; which rows count is for `urlr.vote_table` to say.

    `text` names further columns to be read as ids are: text in CSV, exact whole numbers elsewhere.
    """
    frame = votes_of(read_table(path, text=text), path)
    if frame.empty:
        raise ReadError(message("no_votes_in_file", path=shown_path(path)))
    return frame


def votes_of(stored: pd.DataFrame, path: str | os.PathLike[str]) -> pd.DataFrame:
    """The votes in a table that was read from `path`, of which there may be none."""
    frame = with_known_names(_without_index(stored), COLUMNS)
    frame = frame.rename(columns={RESPELLED: f"{RESPELLED}_given"})  # it would pass for ours
    _check_separator(frame, path)
    return with_clean_ids(frame) if frame.columns.is_unique else frame


def read_features(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a file of features: a column `item`, and numbers or a list column `embedding`."""
    return features_of(read_table(path), path)


def features_of(stored: pd.DataFrame, path: str | os.PathLike[str]) -> pd.DataFrame:
    """The features in a table that was read from `path`."""
    frame = with_known_names(_without_index(stored), ("item",))
    if frame.empty:
        raise ReadError(message("no_items_in_file", path=shown_path(path)))
    _check_separator(frame, path)
    if "item" not in frame.columns:
        names = [str(name) for name in frame.columns]
        found = shown_some(names, limit=8) or message("no_named_column")
        if stored.shape[1] > frame.shape[1]:
            found = message("nameless_index", found=found)
        raise ReadError(message("no_item_column", path=shown_path(path), found=found))
    _check_numbers(frame, path)
    if not frame.columns.is_unique:
        return frame
    items = frame["item"]
    return frame.assign(item=clean_column(items, points=needless_points([items]))[0])


def match_ids(votes: pd.DataFrame, features: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Bring the items of votes and features to one type; see `with_one_type`."""
    voted = [name for name in VOTED if name in votes.columns]
    if not (voted and votes.columns.is_unique and features.columns.is_unique):
        return votes, features
    votes, features = with_one_type([(votes, voted), (features, ["item"])])
    return votes, features


def with_one_type(
    tables: Sequence[tuple[pd.DataFrame, Sequence[str]]], *, kinds: Sequence[str] | None = None
) -> list[pd.DataFrame]:
    """Bring the ids in these columns of these tables to one type where files gave some as text.

    When some tables hold whole numbers and every id of the others is the plain decimal form of one
    (`7`, not `007`), the texts become whole numbers. Else all stay as they are. `kinds` are given
    where the tables are only some rows of larger ones; see `kind_of_ids`.
    """
    kinds = [kind_of_ids(*table) for table in tables] if kinds is None else kinds
    if set(kinds) != {"decimal text", "whole numbers"}:
        return [frame for frame, _ in tables]
    return [
        with_numbers(frame, names) if kind == "decimal text" else frame
        for (frame, names), kind in zip(tables, kinds, strict=True)
    ]


def with_numbers(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The table with the decimal texts in these columns as whole numbers.

    Where these name the items of votes, so does what was shown on the left.
    """
    if "left" in frame and set(names) & set(VOTED):
        names = [*names, "left"]
    return frame.assign(**{name: _as_numbers(frame[name]) for name in names})


def kind_of_ids(frame: pd.DataFrame, names: Sequence[str]) -> str:
    """Whether all ids in these columns are `whole numbers`, `decimal text`, or `else`."""
    kinds = set()
    headers = header_rows(frame) if RESPELLED in frame else np.zeros(len(frame), np.bool_)
    for name in names:
        ids = read_ids(frame[name][~headers] if headers.any() else frame[name])
        usable = ids.values[ids.usable].unique()
        if pd.api.types.is_integer_dtype(usable.dtype):
            kinds.add("whole numbers")
        elif all(map(_is_decimal, usable)):
            kinds.add("decimal text")
        else:
            kinds.add("else")
    return kinds.pop() if len(kinds) == 1 else "else"


def either_form(ids: pd.Index[Any]) -> pd.Index[Any]:
    """These ids, and for each whole number or decimal text its other form."""
    numbers = [int(one) for one in ids if _is_decimal(one)]
    texts = [str(one) for one in ids if not isinstance(one, str)]
    every: pd.Index[Any] = pd.Index(pd.unique(np.array([*ids, *numbers, *texts], object)))
    return every


def read_table(path: str | os.PathLike[str], *, text: Collection[str] = ()) -> pd.DataFrame:
    """Read a table from a file, its format told by the ending of its name.

    Columns of `ID_COLUMNS` and those in `text` are text in CSV and exact whole numbers elsewhere.

    Raises
    ------
    ReadError
        The file is missing, unreadable, empty, damaged, or not what its name says.
    """
    form = table_format(path, error=ReadError)
    most = None if form.layout == "parquet" else LARGEST_TEXT
    return table_of(_bytes(path, most), path, text=text)


def table_of(
    data: bytes, path: str | os.PathLike[str], *, text: Collection[str] = ()
) -> pd.DataFrame:
    """Read a table from the bytes of a file or an object, called `path`; see `read_table`."""
    form = table_format(path, error=ReadError)
    data = _content(data, path, form)
    ids = ID_COLUMNS.union(text)
    if form.layout == "parquet":
        return _parquet(data, path, ids)
    check_lines(data, path)
    data = _checked_text(data, path)
    return _csv(data, path, ids) if form.layout == "csv" else _json_lines(data, path, ids)


def read_text(path: str | os.PathLike[str], *, most: int = LARGEST_TEXT, rows: bool = False) -> str:
    """Read a file of text in UTF-8, unpacked if its name ends in .gz, of at most so many bytes.

    `rows`: its lines are rows, and none of them may be too long.
    """
    form = TableFormat("jsonl", gzipped=Path(path).name.lower().endswith(".gz"))
    data = _content(_bytes(path, most), path, form, most)
    if rows:
        check_lines(data, path)
    return _checked_text(data, path).decode()


def _bytes(path: str | os.PathLike[str], most: int | None) -> bytes:
    where = shown_path(path)
    try:
        if most is not None:
            check_text_size(Path(path).stat().st_size, path, most=most)
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise ReadError(message("no_such_file", path=where)) from None
    except IsADirectoryError:
        raise ReadError(message("directory_not_file", path=where)) from None
    except PermissionError:
        raise ReadError(message("may_not_be_read", path=where)) from None
    except (OSError, ValueError) as error:
        raise ReadError(message("unreadable_file", path=where, why=str(error))) from None


def _content(
    data: bytes, path: str | os.PathLike[str], form: TableFormat, most: int = LARGEST_TEXT
) -> bytes:
    """The bytes of the file, unpacked if its name says so, of the kind its name says."""
    where = shown_path(path)
    if not data:
        raise ReadError(message("no_bytes_in_file", path=where))
    if form.gzipped:
        data = unpacked(data, path, most=most)
    elif data[:2] == b"\x1f\x8b":
        raise ReadError(message("gzip_by_another_name", path=where))
    if form.layout != "parquet":
        check_text_size(len(data), path, most=most)
    if form.layout == "parquet":
        if data[:4] != b"PAR1":
            start = data[:20].decode("utf-8", "replace")
            raise ReadError(message("not_parquet", path=where, start=start))
        if len(data) < 12 or data[-4:] != b"PAR1":
            raise ReadError(message("parquet_cut_off", path=where))
    elif data[:4] == b"PAR1":
        raise ReadError(message("parquet_by_another_name", path=where))
    elif data[:4] == b"PK\x03\x04":
        raise ReadError(message("zip_or_spreadsheet", path=where))
    return data


def _checked_text(data: bytes, path: str | os.PathLike[str]) -> bytes:
    """Refuse what is not UTF-8, and NUL, which only text in UTF-16 and damaged files hold."""
    where, place, foreign = shown_path(path), data.find(b"\0"), False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if place < 0 or error.start < place:
            place, foreign = error.start, True
    if place >= 0:
        line = data.count(b"\n", 0, place) + 1
        if foreign:
            raise ReadError(
                message("not_utf8", path=where, value=data[place], byte=place + 1, line=line)
            )
        raise ReadError(message("nul_byte", path=where, byte=place + 1, line=line))
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.strip():
        raise ReadError(message("no_text_in_file", path=where))
    return data


def _csv(data: bytes, path: str | os.PathLike[str], ids: frozenset[str]) -> pd.DataFrame:
    header = next(_rows(data), [])
    check_columns(len(header), path)
    if any(known_name(name, VOTED) in VOTED for name in header):
        ids |= {"left"}
    types = {name: pa.string() for name in header if _is_id(name.strip(), ids)}
    if b'"' in data:  # a stray quote can swallow rows, and the fast reader does not mind
        _check_rows(data, path)
    try:
        table = pa.csv.read_csv(
            io.BytesIO(data + b"\n"),
            read_options=pa.csv.ReadOptions(block_size=_BLOCK),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(column_types=types),
        )
    except pa.ArrowInvalid as error:
        _check_rows(data, path)
        raise ReadError(message("unreadable_csv", path=shown_path(path), why=str(error))) from None
    table = table.rename_columns([name.strip() for name in table.column_names])
    columns = [
        pa.compute.if_else(pa.compute.equal(column, ""), None, column)
        if _is_id(name, ids)
        else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return _frame(pa.Table.from_arrays(columns, names=table.column_names), ids)


def _is_id(name: str, ids: frozenset[str]) -> bool:
    """Whether the cells of a column name something, also where its name is in another case."""
    return name in ids or known_name(name, ids) in ids


def _rows(data: bytes, *, strict: bool = False) -> Iterator[list[str]]:
    """Rows one by one: slower than Arrow, but it knows the lines."""
    csv.field_size_limit(2**31 - 1)
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    return csv.reader(text, strict=strict)


def _check_rows(data: bytes, path: str | os.PathLike[str]) -> None:
    """Name the first line that does not have as many cells as the header, or a broken quote."""
    rows: Any = _rows(data, strict=True)
    width, line = 0, 1
    try:
        for row in rows:
            if row and width and len(row) != width:
                raise ReadError(
                    message(
                        "uneven_row", path=shown_path(path), cells=len(row), line=line, width=width
                    )
                ) from None
            width = width or len(row)
            line = rows.line_num + 1
    except csv.Error:
        raise ReadError(message("unpaired_quote", path=shown_path(path), line=line)) from None


def _json_lines(data: bytes, path: str | os.PathLike[str], ids: frozenset[str]) -> pd.DataFrame:
    where = shown_path(path)
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        row = _json_object(line, number, path)
        for name, value in row.items():
            column = columns.setdefault(name, [None] * n_rows)
            if name in ID_COLUMNS and isinstance(value, list):
                raise ReadError(message("list_as_id", path=where, column=name, line=number))
            if name in ID_COLUMNS and isinstance(value, dict):
                raise ReadError(message("object_as_id", path=where, column=name, line=number))
            column.append(value)
        n_rows += 1
        check_columns(len(columns), path)
        if n_rows * len(columns) > max(_FILLED, len(data)):
            raise ReadError(
                message("rows_lack_columns", path=where, columns=len(columns), line=number)
            )
        if len(row) < len(columns):
            for column in columns.values():
                if len(column) < n_rows:
                    column.append(None)
    typed = {name: _typed(column, is_id=_is_id(name, ids)) for name, column in columns.items()}
    return pd.DataFrame(typed)


def _json_object(line: bytes, number: int, path: str | os.PathLike[str]) -> dict[str, Any]:
    where = shown_path(path)
    try:
        row = json.loads(line)
        if b"\\u" in line:  # half a surrogate pair is no text
            json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError):
            raise ReadError(
                message("invalid_json_at", path=where, line=number, place=error.colno)
            ) from None
        raise ReadError(message("invalid_json", path=where, line=number)) from None
    if not isinstance(row, dict):
        raise ReadError(message("not_an_object", path=where, kind=type(row).__name__, line=number))
    return row


def _typed(column: list[Any], *, is_id: bool) -> pd.Series[Any]:
    """A column of Python values; ids stay whole numbers even with gaps."""
    series = pd.Series(column, dtype=object)
    kind = pd.api.types.infer_dtype(series, skipna=True)
    if kind == "string":
        return series.astype("str")
    if kind == "integer" and is_id:
        return _numbers(series)
    return series if is_id else series.infer_objects()


def _numbers(series: pd.Series[Any]) -> pd.Series[Any]:
    try:
        return series.astype("Int64" if series.hasnans else np.int64)
    except OverflowError:
        return series


def _parquet(data: bytes, path: str | os.PathLike[str], ids: frozenset[str]) -> pd.DataFrame:
    table = bounded_table(pa.BufferReader(data), path)
    return parquet_frame(table, path, ids=ids)


def parquet_frame(
    table: pa.Table, path: str | os.PathLike[str], *, ids: frozenset[str] = ID_COLUMNS
) -> pd.DataFrame:
    """A table out of a Parquet file, checked, as a DataFrame; `path` only names the file."""
    try:
        table.validate(full=True)
        for place, name in enumerate(table.column_names):
            kind = table.schema.field(place).type
            if name in ID_COLUMNS and pa.types.is_nested(kind):
                raise ReadError(
                    message("nested_ids", path=shown_path(path), kind=str(kind), column=name)
                )
            if _is_id(name, ids) and (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
                table = table.set_column(place, name, table.column(place).cast(pa.string()))
        return _frame(table, ids)
    except (pa.ArrowException, OSError, ValueError) as error:
        damaged(path, error)


def _frame(table: pa.Table, ids: frozenset[str]) -> pd.DataFrame:
    """A table as a DataFrame; whole numbers in id columns stay exact beside gaps."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if _is_id(name, ids) and pa.types.is_integer(column.type) and column.null_count:
            frame.isetitem(place, _numbers(pd.Series(column.to_pylist(), dtype=object)).array)
    return frame


def _without_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop row numbers that pandas stored as a column."""
    kept = [not str(name).startswith(_INDEX) for name in frame.columns]
    return frame.loc[:, kept]


def _check_separator(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    if frame.shape[1] != 1:
        return
    for sign, what in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if sign in str(frame.columns[0]):
            raise ReadError(message("separated_otherwise", path=shown_path(path), separator=what))


def _check_numbers(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Refuse a column of numbers that a few bad cells turned into text: it would be ignored."""
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if name == "item" or not isinstance(column.dtype, pd.StringDtype):
            continue
        column = column[column.str.strip() != ""].dropna()
        bad = column[pd.to_numeric(column, errors="coerce").isna()]
        if len(bad) < _MOSTLY * len(column):
            raise ReadError(
                message(
                    "text_among_numbers",
                    path=shown_path(path),
                    rows=len(bad),
                    column=name,
                    cells=[f"`{shown(cell)}`" for cell in bad.unique()],
                )
            )


def _is_decimal(cell: object) -> bool:
    if not isinstance(cell, str) or len(cell) >= 20:
        return False
    return cell.removeprefix("-").isdecimal() and str(int(cell)) == cell


def _as_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Decimal texts as whole numbers; what is no id stays as it is."""
    column, _ = clean_column(column)
    codes, uniques = pd.factorize(column)
    numbers = np.empty(len(uniques) + 1, object)
    numbers[:] = [*(int(cell) if _is_decimal(cell) else cell for cell in uniques), None]
    series = pd.Series(numbers[codes], index=column.index, dtype=object)
    whole = pd.api.types.infer_dtype(series, skipna=True) == "integer"
    return _numbers(series) if whole else series
