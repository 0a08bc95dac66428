"""Import votes that other tools exported.

There is one mechanism: a flat table and a `Mapping` that says which column is what. Presets are
mappings; Label Studio's and Argilla's nested exports are first made flat. Every row of the source
is accounted for: read = votes + ties + skipped + dropped, dropped ones with their reasons.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.formats import shown_path
from tasks.importing.argilla import argilla_table
from tasks.importing.documents import LISTS, read_records, record_table, xml_tags
from tasks.importing.flat import Dropped, Imported, fitting, import_table
from tasks.importing.label_studio import label_studio_table, pairwise_question
from tasks.importing.mapping import ImportingError, Mapping, read_mapping
from tasks.importing.presets import ARGILLA, LABEL_STUDIO, MTURK, PRESETS
from tasks.limits import ReadError
from tasks.messages import message
from tasks.read import _check_separator, _without_index, read_table
from urlr.spelling import known_name

__all__ = [
    "MTURK",
    "PRESETS",
    "Dropped",
    "Imported",
    "ImportingError",
    "Mapping",
    "import_argilla",
    "import_flat",
    "import_label_studio",
    "import_table",
    "read_mapping",
]


def import_flat(path: str | os.PathLike[str], layouts: Sequence[Mapping]) -> Imported:
    """Import a flat table, by the first of the layouts whose columns it has."""
    columns = frozenset().union(*(mapping.columns for mapping in layouts))
    if Path(path).name.lower().endswith(LISTS):  # one list of flat records
        table = record_table(read_records(path))
    else:
        table = _flat_table(path, columns)
    return import_table(table, fitting(table, layouts), where=shown_path(path))


def import_label_studio(
    path: str | os.PathLike[str],
    config: str | os.PathLike[str],
    *,
    id_fields: tuple[str, str] | None = None,
    question: str | None = None,
) -> Imported:
    """Import Label Studio's JSON export, the labelling config telling what was left and right."""
    where = shown_path(path)
    asked = pairwise_question(
        xml_tags(config), question=question, id_fields=id_fields, where=shown_path(config)
    )
    table, notes = label_studio_table(read_records(path), asked, where=where)
    return _with_attribute(import_table(table, LABEL_STUDIO, where=where, notes=notes), question)


def import_argilla(
    path: str | os.PathLike[str],
    *,
    prefix_record: bool | None = None,
    question: str | None = None,
) -> Imported:
    """Import the rankings among Argilla's records as pairs."""
    where = shown_path(path)
    table, notes = argilla_table(
        read_records(path), question=question, prefix_record=prefix_record, where=where
    )
    respelled = table["respelled"].to_numpy(np.bool_)
    imported = import_table(table, ARGILLA, where=where, notes=notes, respelled=respelled)
    return _with_attribute(imported, question)


def _flat_table(path: str | os.PathLike[str], columns: frozenset[str]) -> pd.DataFrame:
    """The table as it is in the file, nothing renamed; columns near to these hold text too."""
    table = read_table(path, text=columns)
    near = {str(name) for name in table.columns if known_name(name, columns) in columns}
    if not near <= columns:
        table = read_table(path, text=columns | near)
    table = _without_index(table)
    _check_separator(table, path)
    if table.empty:
        raise ReadError(message("no_votes_in_file", path=shown_path(path)))
    return table


def _with_attribute(imported: Imported, question: str | None) -> Imported:
    """Name the question in every vote if it was chosen among several."""
    if question is None:
        return imported
    return replace(imported, votes=imported.votes.assign(attribute=question))
