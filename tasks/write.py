"""Write tables and results, each whole or not at all.

A table of data gives back the cells it was given. CSV tables of results, which people open in
spreadsheets, are made with `for_spreadsheets`: ids come from outside, and a spreadsheet would run
some of them as formulas. Parquet has the ids as they are.
"""

from __future__ import annotations

import glob
import gzip
import io
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from tasks.formats import Layout, shown_path, table_format
from tasks.messages import message
from urlr import Ranker
from urlr.errors import UrlrError

ResultFormat = Literal["csv", "parquet"]

_RESULTS = frozenset(
    {"model.npz", "summary.txt"}
    | {
        f"{name}.{form}"
        for name in ("scores", "verdicts", "annotators", "rejected")
        for form in ("csv", "parquet")
    }
)
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_LEFT = 24 * 3600.0
"""Seconds; nothing that is still at work leaves what it writes untouched for so long."""
_PARTS = ".parts"
_REPORT = re.compile(r"report\.html|report-votes-\d+\.js")


def _is_result(name: str) -> bool:
    """Whether `write_results` may write it; a directory holding anything else is not ours."""
    return name in _RESULTS or _REPORT.fullmatch(name) is not None


class WriteError(UrlrError):
    """A result cannot be written; the text says where, why, and what to do."""


def write_results(
    ranker: Ranker,
    directory: Path,
    *,
    form: ResultFormat = "csv",
    report: Mapping[str, bytes] | None = None,
) -> list[str]:
    """Write model, tables, summary and report; those that are empty are left out; name them."""
    tables = result_tables(ranker)
    ranker.save(directory / "model.npz")
    for name, table in tables.items():
        write_result_table(table, directory / f"{name}.{form}")
    (directory / "summary.txt").write_text(ranker.summary() + "\n", encoding="utf-8")
    report = report or {}
    for name, page in report.items():
        (directory / name).write_bytes(page)
    pages = [name for name in report if name.endswith(".html")]
    return ["model.npz", *(f"{name}.{form}" for name in tables), "summary.txt", *pages]


def result_tables(ranker: Ranker) -> dict[str, pd.DataFrame]:
    """Scores and verdicts, and annotators and rejected rows if there are any, by name."""
    if ranker.evidence is None:
        raise WriteError(message("no_verdicts_to_write"))
    tables = {"scores": ranker.scores, "verdicts": ranker.verdicts}
    if ranker.people is not None and len(ranker.people):
        tables["annotators"] = ranker.people
    rejected = ranker.evidence.votes.rejected
    if len(rejected):
        if "vote_id" not in rejected:  # the row number, as in the verdicts
            rejected.insert(0, "vote_id", rejected.index)
        tables["rejected"] = rejected
    return tables


def write_result_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table of results; as CSV, such that a spreadsheet can open it."""
    is_csv = table_format(path, error=WriteError).layout == "csv"
    write_table(for_spreadsheets(frame) if is_csv else frame, path)


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before texts that a spreadsheet would run as a formula.

    Those begin with `=`, `+`, `-`, `@`, a tab or a line's end, and are no numbers: `-7` stays.
    """
    changed: dict[str, Any] = {}
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories = column.cat.categories
            guarded = _without_formulas(pd.Series(categories, dtype=object))
            if guarded is not None:
                changed[str(name)] = column.cat.rename_categories(guarded.tolist())
        elif column.dtype == object or isinstance(column.dtype, pd.StringDtype):
            guarded = _without_formulas(column)
            if guarded is not None:
                changed[str(name)] = guarded
    return frame.assign(**changed)


def _without_formulas(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """The column with such texts made harmless; None if it has none."""
    texts = column.astype(object)
    runs = texts.map(lambda cell: isinstance(cell, str) and _FORMULA.match(cell) is not None)
    runs &= pd.to_numeric(texts.where(runs), errors="coerce").isna()
    if not runs.any():
        return None
    return texts.where(~runs, "'" + texts.where(runs, "").astype(str))


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table in the format its name ends in; the index is not written.

    A column that mixes text and numbers, which only JSON lines can hold, becomes text elsewhere.
    """
    data = table_bytes(frame, path)
    with Path(path).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def table_bytes(frame: pd.DataFrame, name: str | os.PathLike[str]) -> bytes:
    """What `write_table` would write under this name."""
    form = table_format(name, error=WriteError)
    data: bytes = _TO_BYTES[form.layout](frame)
    return gzip.compress(data, mtime=0) if form.gzipped else data


@contextmanager
def published_directory(
    target: Path,
    *,
    overwrite: bool,
    ours: Callable[[str], bool] = _is_result,
    command: str = "urlr fit",
) -> Iterator[Path]:
    """Give an empty directory to write into, which becomes `target` when all went well.

    An existing `target` must be empty, or with `overwrite` hold nothing but what the command
    writes, which `ours` tells by the name.
    """
    check_is_path(target)
    replacing = _check_directory(target, overwrite, ours, command)
    with _saying_where(target):
        target = target.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(target)
        workplace = _beside(target, "new")
        workplace.mkdir()
    try:
        yield workplace
        with _saying_where(target):
            if replacing:
                _replace_directory(workplace, target)
            else:
                workplace.rename(target)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


@contextmanager
def published_file(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a file name to write to, which becomes `target` when all went well."""
    check_is_path(target)
    table_format(target, error=WriteError)
    if target.is_dir():
        raise WriteError(message("target_is_a_directory", path=shown_path(target)))
    if target.exists() and not overwrite:
        raise WriteError(message("target_exists", path=shown_path(target)))
    target = target.resolve()
    workplace = _beside(target, "new")
    try:
        with _saying_where(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            _remove_left(target)
            yield workplace
            workplace.replace(target)
    finally:
        workplace.unlink(missing_ok=True)


@contextmanager
def parts_beside(workplace: Path) -> Iterator[Path]:
    """Give an empty directory for parts of the file that `published_file` gave the name of."""
    place = workplace.with_name(workplace.name + _PARTS)
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def check_is_path(target: str | os.PathLike[str]) -> None:
    """Refuse an address such as `s3://bucket`, which would be made a directory called `s3:`."""
    if _ADDRESS.match(os.fspath(target)):
        raise WriteError(message("not_a_local_path", path=os.fspath(target)))


@contextmanager
def _saying_where(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise WriteError(message("target_not_written", path=shown_path(target), why=why)) from error


def _beside(target: Path, what: str) -> Path:
    """A name nobody uses, in the same directory so that a rename is one step, same ending."""
    return target.with_name(f".{what}-{secrets.token_hex(4)}-{target.name}")


def _remove_left(target: Path) -> None:
    """Remove what commands that were killed, long ago, left of what was, or was to be, `target`.

    One that was killed as it put the new in the place of the old left both, whole: they stay.
    """
    pattern = f"-{'[0-9a-f]' * 8}-{glob.escape(target.name)}"
    old = list(target.parent.glob(f".old{pattern}"))
    if old and not target.exists():
        return
    new = [*target.parent.glob(f".new{pattern}"), *target.parent.glob(f".new{pattern}{_PARTS}")]
    for left in (*old, *new):
        with suppress(OSError):  # gone meanwhile, or not ours
            if time.time() - left.stat().st_mtime > _LEFT:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _check_directory(
    target: Path, overwrite: bool, ours: Callable[[str], bool], command: str
) -> bool:
    """Whether `target` must be replaced; refuse to replace what is not ours."""
    where = shown_path(target)
    inside = shown_path(target / "ranking")
    if target.resolve() == Path.cwd():
        raise WriteError(message("target_is_current_directory", path=where, inside=inside))
    if target.is_mount():
        raise WriteError(message("target_is_mount_point", path=where, inside=inside))
    if not target.exists():
        return False
    if not target.is_dir():
        raise WriteError(message("target_is_a_file", path=where))
    with _saying_where(target):
        held = sorted(entry.name for entry in target.iterdir())
    if held and not overwrite:
        raise WriteError(message("target_not_empty", path=where))
    foreign = [name for name in held if not ours(name)]
    if foreign:
        raise WriteError(
            message("target_holds_other_files", path=where, command=command, files=foreign)
        )
    return bool(held)


def _replace_directory(new: Path, target: Path) -> None:
    old = _beside(target, "old")
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)


def _csv_bytes(frame: pd.DataFrame) -> bytes:
    """Lines with quotes where needed: 4 s for 2 million verdicts, pandas takes 13."""
    table = _arrow(frame, nested=False)
    header = pa.chunked_array([pa.array([name]) for name in table.column_names])
    names = ",".join(_csv_cells(header).to_pylist())
    lines = pa.compute.binary_join_element_wise(
        *map(_csv_cells, table.columns),
        pa.scalar(",", pa.large_string()),
        null_handling="replace",
        null_replacement="",
    )
    return "".join(f"{line}\n" for line in (names, *lines.to_pylist())).encode()


def _csv_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.large_string())
    special = pa.compute.match_substring_regex(text, '[",\r\n]')
    if not pa.compute.any(special).as_py():
        return text
    quote = pa.scalar('"', pa.large_string())
    doubled = pa.compute.replace_substring(text, '"', '""')
    quoted = pa.compute.binary_join_element_wise(
        quote, doubled, quote, pa.scalar("", pa.large_string())
    )
    return pa.compute.if_else(special, quoted, text)


def _parquet_bytes(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    pa.parquet.write_table(_arrow(frame, nested=True), buffer)
    return buffer.getvalue()


def _jsonl_bytes(frame: pd.DataFrame) -> bytes:
    columns = [
        column.astype(object).where(column.notna(), None).tolist() for _, column in frame.items()
    ]
    names = [str(name) for name in frame.columns]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    lines = (json.dumps(row, ensure_ascii=False, default=str) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


_TO_BYTES: dict[Layout, Any] = {
    "csv": _csv_bytes,
    "jsonl": _jsonl_bytes,
    "parquet": _parquet_bytes,
}


def _arrow(frame: pd.DataFrame, *, nested: bool) -> pa.Table:
    """Columns of one type each; what has no common type becomes text."""
    columns = {str(name): _arrow_column(column, nested=nested) for name, column in frame.items()}
    return pa.table(columns)


def _arrow_column(column: pd.Series[Any], *, nested: bool) -> pa.Array:
    if isinstance(column.dtype, pd.DatetimeTZDtype):  # Arrow's way to these is deprecated in pandas
        moments = pa.array(column.dt.tz_convert(None))
        return moments.view(pa.timestamp(moments.type.unit, tz=str(column.dtype.tz)))
    try:
        array = pa.Array.from_pandas(column)
        foreign = pa.types.is_nested(array.type) or pa.types.is_binary(array.type)
        oversized = column.dtype == object and pa.types.is_decimal(array.type)
        if not oversized and (nested or not foreign):
            return array
    except (pa.ArrowException, OverflowError):
        pass
    cells = np.array([None if _is_missing(cell) else str(cell) for cell in column], object)
    return pa.array(cells, pa.string())


def _is_missing(cell: Any) -> bool:
    return cell is None or (pd.api.types.is_scalar(cell) and bool(pd.isna(cell)))
