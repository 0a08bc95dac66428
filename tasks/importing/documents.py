"""Documents other tools export: JSON records with anything nested in them, and XML."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pandas as pd

from tasks.formats import shown_path
from tasks.importing.mapping import ImportingError
from tasks.limits import SMALL_TEXT
from tasks.messages import message
from tasks.read import read_text

Record = dict[str, Any]

_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
LISTS = (".json", ".json.gz")
"""Endings of files that hold one list of records."""


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read JSON objects: one list of them (.json), or one on each line (.jsonl, .ndjson).

    A list may lie under `items` in one object, as an API hands it out.
    """
    where, name = shown_path(path), Path(path).name.lower()
    if not name.endswith(_LINES + LISTS):
        endings = ", ".join((*LISTS, *_LINES))
        raise ImportingError(message("unknown_record_format", where=where, endings=endings))
    text = read_text(path, rows=name.endswith(_LINES))
    if name.endswith(_LINES):
        lines = enumerate(text.split("\n"), start=1)
        records = [
            _json(line, message("line_of_file", where=where, line=n))
            for n, line in lines
            if line.strip()
        ]
    else:
        records = _json(text, where)
        if isinstance(records, dict) and isinstance(records.get("items"), list):
            records = records["items"]
    if not isinstance(records, list):
        raise ImportingError(message("no_list_of_records", where=where))
    return objects(records, message("the_records", where=where))


def objects(values: Any, what: str) -> list[Record]:
    """A list of objects, none given being an empty one; refuse anything else."""
    if values is None:
        return []
    if not isinstance(values, list):
        raise ImportingError(message("records_not_a_list", what=what))
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            kind = type(value).__name__
            raise ImportingError(
                message("record_not_an_object", what=what, number=number, kind=kind)
            )
    return values


def flat_table(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> pd.DataFrame:
    """Rows as a table whose columns keep the types of their cells."""
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pd.DataFrame(
        {
            name: pd.Series(list(column), dtype=object).infer_objects()
            for name, column in zip(names, columns, strict=True)
        }
    )


def record_table(records: Sequence[Record]) -> pd.DataFrame:
    """Records as a table, a column for every name that occurs."""
    names = list(dict.fromkeys(name for record in records for name in record))
    return flat_table([tuple(map(record.get, names)) for record in records], names)


def xml_tags(path: str | os.PathLike[str]) -> list[tuple[str, dict[str, str]]]:
    """Every tag of an XML file with its attributes, in order; no declaration is ever followed."""
    where = shown_path(path)

    def refuse(*_: object) -> None:
        raise ImportingError(message("document_type_declared", where=where))

    tags: list[tuple[str, dict[str, str]]] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, attributes: tags.append((tag, attributes))
    try:
        parser.Parse(read_text(path, most=SMALL_TEXT), True)
    except expat.ExpatError as error:
        raise ImportingError(message("not_xml", where=where, why=str(error))) from None
    return tags


def _json(text: str, where: str) -> Any:
    try:
        value = json.loads(text)
        if "\\u" in text:  # half a surrogate pair is no text
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        wrong = message("not_json", where=where)
        if isinstance(error, json.JSONDecodeError):
            wrong = message("not_json_at", where=where, line=error.lineno, column=error.colno)
        raise ImportingError(wrong) from None
    return value
