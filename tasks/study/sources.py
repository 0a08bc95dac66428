"""Real data of the experiments: tables in a folder, checked before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from urlr.arrays import Floats, Ints
from urlr.errors import UrlrError
from urlr.ids import plural, shown_some

ENDINGS = (".parquet", ".csv", ".csv.gz")


class StudyDataError(UrlrError):
    """A folder does not hold what an experiment needs."""


def refuse(problem: str) -> NoReturn:
    """Raise what is wrong with the data."""
    raise StudyDataError(problem)


def read_table(folder: Path, stem: str, columns: Sequence[str]) -> pd.DataFrame:
    """The table `stem` of a folder, as Parquet or CSV, with at least these columns.

    Raises
    ------
    StudyDataError
        It is missing, cannot be read, is empty, or lacks columns.
    """
    found = [folder / f"{stem}{ending}" for ending in ENDINGS]
    path = next((one for one in found if one.is_file()), None)
    wanted = f"with columns {', '.join(columns)}"
    if path is None:
        names = ", ".join(one.name for one in found)
        refuse(f"{folder} has no table {stem!r} (looked for {names}); put one there {wanted}.")
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except (ValueError, OSError, EOFError) as error:  # pandas' and pyarrow's own are ValueErrors
        refuse(f"{path} cannot be read ({error}); a table {wanted} is needed.")
    lacking = [name for name in columns if name not in table.columns]
    if lacking:
        refuse(
            f"{path} lacks {plural(len(lacking), 'column')} ({shown_some(lacking)}); "
            f"it has {shown_some(list(table.columns))}."
        )
    if table.empty:
        refuse(f"{path} has no rows; a table {wanted} is needed.")
    for name in columns:
        if (empty := int(table[name].isna().sum())) > 0:
            refuse(f"{path}: {empty:,} of {len(table):,} rows have no {name}; fill or drop them.")
    return table


def truths(items: pd.DataFrame, what: str) -> pd.Series[Any]:
    """Truth by item of a table with the columns `item` and `truth`.

    Raises
    ------
    StudyDataError
        Items are named twice, or a truth is no finite number.
    """
    twice = items["item"][items["item"].duplicated()].unique()
    if len(twice):
        refuse(
            f"{what}: {plural(len(twice), 'item')} named twice ({shown_some(list(twice))}); keep "
            "one row of each."
        )
    values = pd.to_numeric(items["truth"], errors="coerce").to_numpy(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        refuse(
            f"{what}: {int(bad.sum()):,} of {plural(len(items), 'row')} have a truth that is no "
            f"finite number ({shown_some(list(items['truth'][bad].unique()))}); correct or drop "
            "them."
        )
    return pd.Series(values, index=pd.Index(items["item"]), name="truth")


def read_features(folder: Path, items: pd.Index[Any]) -> Floats:
    """(n_items, n_features) the table `features` in the order of the items.

    Raises
    ------
    StudyDataError
        Items are missing or named twice, or a value is no finite number.
    """
    table = read_table(folder, "features", ["item"]).set_index("item")
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()].unique()
        names = shown_some(list(twice))
        refuse(f"{folder}: features name {plural(len(twice), 'item')} twice ({names}).")
    missing = items.difference(table.index)
    if len(missing):
        refuse(
            f"{folder}: {len(missing):,} of {plural(len(items), 'item')} have no features "
            f"({shown_some(list(missing))})."
        )
    numeric = table.select_dtypes("number")
    if numeric.shape[1] == 0:
        refuse(f"{folder}: features has no numeric column besides item.")
    values = numeric.loc[items].to_numpy(np.float64)
    if (bad := int(np.count_nonzero(~np.isfinite(values)))) > 0:
        refuse(f"{folder}: {bad:,} feature values are missing or infinite; fill or drop them.")
    return values


def places(items: pd.Index[Any], column: pd.Series[Any], what: str) -> Ints:
    """Place of each row's item among the items.

    Raises
    ------
    StudyDataError
        Rows name items that are not among them.
    """
    found = items.get_indexer(pd.Index(column))
    if (unknown := int(np.count_nonzero(found < 0))) > 0:
        names = pd.unique(column[found < 0])
        refuse(
            f"{what}: {unknown:,} of {plural(len(column), 'row')} name items that the table of "
            f"items does not have ({shown_some(list(names))})."
        )
    return np.asarray(found, np.int64)
