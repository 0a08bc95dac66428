"""Real data of the experiments: tables in a folder, checked before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from tasks.messages import message
from urlr.arrays import Floats, Ints
from urlr.errors import UrlrError
from urlr.sentence import Sentence

ENDINGS = (".parquet", ".csv", ".csv.gz")


class StudyDataError(UrlrError):
    """A folder does not hold what an experiment needs."""


def refuse(problem: Sentence) -> NoReturn:
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
    wanted = ", ".join(columns)
    if path is None:
        names = ", ".join(one.name for one in found)
        refuse(message("no_such_table", folder=folder, table=stem, names=names, columns=wanted))
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except (ValueError, OSError, EOFError) as error:  # pandas' and pyarrow's own are ValueErrors
        refuse(message("unreadable_table", path=path, why=str(error), columns=wanted))
    lacking = [name for name in columns if name not in table.columns]
    if lacking:
        held = list(table.columns)
        refuse(message("lacking_columns", path=path, count=len(lacking), names=lacking, found=held))
    if table.empty:
        refuse(message("no_rows", path=path, columns=wanted))
    for name in columns:
        if (empty := int(table[name].isna().sum())) > 0:
            refuse(message("empty_cells", path=path, count=empty, total=len(table), column=name))
    return table


def check_named_once(ids: pd.Index[Any], what: str) -> None:
    """Raise if an item is named twice."""
    twice = ids[ids.duplicated()].unique()
    if len(twice):
        refuse(message("items_named_twice", where=what, count=len(twice), items=list(twice)))


def check_values(features: pd.DataFrame, what: str) -> None:
    """Raise if features are none, missing or infinite."""
    if features.shape[1] == 0:
        refuse(message("features_without_numbers", where=what))
    if (bad := int(np.count_nonzero(~np.isfinite(features.to_numpy(np.float64))))) > 0:
        refuse(message("values_not_finite", where=what, count=bad))


def check_apart(first: Ints, second: Ints, what: str) -> None:
    """Raise if a row compares an item with itself."""
    if (same := int(np.count_nonzero(first == second))) > 0:
        total = len(first)
        refuse(message("items_compared_with_themselves", where=what, count=same, total=total))


def finite(column: pd.Series[Any], called: str, what: str) -> Floats:
    """(n_rows,) the numbers of a column, which is `called` "a truth", say."""
    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    if (bad := ~np.isfinite(values)).any():
        refuse(
            message(
                "not_finite_numbers",
                where=what,
                count=int(bad.sum()),
                total=len(column),
                called=called,
                values=list(column[bad].unique()),
            )
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
    return pd.Series(finite(items["truth"], message("a_truth"), what), index=index, name="truth")


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
            message(
                "items_without_features",
                where=what,
                count=len(missing),
                total=len(items),
                items=list(missing),
            )
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
            message(
                "items_not_in_table",
                where=what,
                count=unknown,
                total=len(column),
                items=list(names),
            )
        )
    return np.asarray(found, np.int64)
