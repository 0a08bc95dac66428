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


def check_named_once(ids: pd.Index[Any], what: str) -> None:
    """Raise if an item is named twice."""
    twice = ids[ids.duplicated()].unique()
    if len(twice):
        refuse(
            f"{what}: {plural(len(twice), 'item')} named twice ({shown_some(list(twice))}); keep "
            "one row of each."
        )


def check_values(features: pd.DataFrame, what: str) -> None:
    """Raise if features are none, missing or infinite."""
    if features.shape[1] == 0:
        refuse(f"{what} has no numeric column besides the names of items.")
    if (bad := int(np.count_nonzero(~np.isfinite(features.to_numpy(np.float64))))) > 0:
        refuse(f"{what}: {bad:,} values are missing or infinite; fill or drop them.")


def check_apart(first: Ints, second: Ints, what: str) -> None:
    """Raise if a row compares an item with itself."""
    if (same := int(np.count_nonzero(first == second))) > 0:
        refuse(
            f"{what}: {same:,} of {plural(len(first), 'row')} compare an item with itself; drop "
            "them."
        )


def finite(column: pd.Series[Any], called: str, what: str) -> Floats:
    """(n_rows,) the numbers of a column, which is `called` "a truth", say."""
    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    if (bad := ~np.isfinite(values)).any():
        refuse(
            f"{what}: {int(bad.sum()):,} of {plural(len(column), 'row')} have {called} that is no "
            f"finite number ({shown_some(list(column[bad].unique()))}); correct or drop them."
        )
    return values


def truths(items: pd.DataFrame, what: str) -> pd.Series[Any]:
    """Truth by item of a table with the columns `item` and `truth`.

    Raises
    ------
    StudyDataError
        Items are named twice, or a truth is no finite number.
    """
    index = pd.Index(items["item"])
    check_named_once(index, what)
    return pd.Series(finite(items["truth"], "a truth", what), index=index, name="truth")


def read_features(folder: Path, items: pd.Index[Any], *, by: str = "item") -> Floats:
    """(n_items, n_features) the table `features` in the order of the items, which `by` names.

    Raises
    ------
    StudyDataError
        Items are missing or named twice, or a value is no finite number.
    """
    table, what = read_table(folder, "features", [by]).set_index(by), f"{folder}/features"
    check_named_once(table.index, what)
    missing = items.difference(table.index)
    if len(missing):
        refuse(
            f"{what}: {len(missing):,} of {plural(len(items), 'item')} have no features "
            f"({shown_some(list(missing))})."
        )
    numeric = table.select_dtypes("number").loc[items]
    check_values(numeric, what)
    return numeric.to_numpy(np.float64)


def compared(
    items: pd.Index[Any],
    votes: pd.DataFrame,
    what: str,
    *,
    columns: tuple[str, str] = ("winner", "loser"),
) -> tuple[Ints, Ints]:
    """Places of the two items of each vote among the items.

    Raises
    ------
    StudyDataError
        Votes name items that are not among them, or compare an item with itself.
    """
    first, second = (places(items, votes[name], what) for name in columns)
    check_apart(first, second, what)
    return first, second


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
