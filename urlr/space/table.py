"""Feature tables: what an item looks like, as numbers, and what is odd about the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from urlr.arrays import Floats, Ints, Mask
from urlr.errors import FeatureError
from urlr.ids import read_ids, shown_some
from urlr.messages import message
from urlr.sentence import Sentence
from urlr.space.steps import Impute, Standardise
from urlr.spelling import clean_column, needless_points, with_known_names

_PAIRS_LIMIT = 2000
"""Above this many columns (or this many of both rows and columns, for the rank) a d x d matrix
costs more than the finding is worth."""
_COLLINEAR = 0.999999
_NUMBER_KINDS = frozenset(
    {"integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty"}
)


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Items and their raw features."""

    items: pd.Index[Any]
    """(n_items,) distinct ids, whole numbers and text kept apart."""
    columns: tuple[str, ...]
    """(n_features,) distinct names of the numeric columns."""
    values: Floats
    """(n_items, n_features) finite numbers, NaN where missing."""
    ignored: tuple[str, ...]
    """Columns left out because they hold no numbers."""

    def take(self, rows: Ints) -> FeatureTable:
        """Return the table of the given rows, by position, in that order."""
        return FeatureTable(
            self.items.take(rows), self.columns, np.take(self.values, rows, axis=0), self.ignored
        )


def feature_table(features: pd.DataFrame, *, known: Iterable[Any] = ()) -> FeatureTable:
    """Read a DataFrame of features.

    Parameters
    ----------
    features : DataFrame
        One row per item. Ids are in a column `item` or, without one, in the index. Truth values
        become 0 and 1; a column `embedding` of equally long lists becomes `embedding_0`,
        `embedding_1`, ...; columns of text or anything else are ignored and listed.
    known
        Ids read before that the items are to be found among, or that are looked up here.

    Raises
    ------
    FeatureError
        No rows or no numeric column; no ids; ids or column names that repeat; infinite values;
        embeddings of unequal length.
    """
    if not isinstance(features, pd.DataFrame):
        raise FeatureError(message("features_not_a_table", kind=type(features).__name__))
    if features.empty:
        n_rows, n_columns = features.shape
        raise FeatureError(message("empty_features", n_rows=n_rows, n_columns=n_columns))
    features = with_known_names(features, ("item", "embedding"))
    names = [str(name) for name in features.columns]
    _refuse_repeated(names)
    items = _item_ids(features, names, known)

    pieces: list[tuple[list[str], pd.Series[Any] | Floats]] = []
    ignored: list[str] = []
    for place, name in enumerate(names):
        if name == "item":
            continue
        column = features.iloc[:, place]
        if name == "embedding" and (column.isna().all() or not _is_numeric(column)):
            expanded = _embeddings(column, items)
            pieces.append(([f"embedding_{k}" for k in range(expanded.shape[1])], expanded))
        elif _is_numeric(column):
            pieces.append(([name], column))
        else:
            ignored.append(name)
    if not pieces:
        raise FeatureError(
            message("no_numeric_column", names=ignored) if ignored else message("only_item_column")
        )
    columns = [name for names_of_piece, _ in pieces for name in names_of_piece]
    _refuse_repeated(columns)
    if len(pieces) == 1 and isinstance(pieces[0][1], np.ndarray):
        values = pieces[0][1]
    else:
        values = np.empty((len(features), len(columns)))
        start = 0
        for names_of_piece, piece in pieces:
            stop = start + len(names_of_piece)
            if isinstance(piece, np.ndarray):
                values[:, start:stop] = piece
            else:
                values[:, start] = _numbers(piece)
            start = stop
    refuse_infinite(values, columns, items)
    return FeatureTable(items, tuple(columns), values, tuple(ignored))


@dataclass(frozen=True, slots=True)
class ColumnProblems:
    """What a careful person would want to know about the columns before trusting them."""

    n_columns: int
    constant: tuple[str, ...]
    """Columns with one value (up to rounding) wherever they have any; they are not used."""
    missing: tuple[tuple[str, int], ...]
    """Columns with some missing values, and how many."""
    missing_everywhere: tuple[str, ...]
    """Columns without a single value; they are not used."""
    collinear: tuple[tuple[str, ...], ...]
    """Groups of columns that are one column up to an affine map: |correlation| > 0.999999,
    missing values taken as the mean."""
    n_varying: int
    """Columns neither constant nor missing everywhere."""
    rank: int | None
    """Numerical rank of the standardised varying columns; None if too expensive."""
    pairs_skipped: bool
    """True if there were too many columns to look for collinear ones."""

    def sentences(self) -> list[Sentence]:
        """One sentence per finding, for people; empty if there is nothing to say."""
        found = []
        if self.missing_everywhere:
            names = self.missing_everywhere
            found.append(message("columns_without_value", count=len(names), names=names))
        if self.constant:
            names = self.constant
            found.append(message("constant_columns", count=len(names), names=names))
        if self.missing:
            each = [message("missing_in", name=name, count=count) for name, count in self.missing]
            found.append(message("columns_with_gaps", count=len(each), names=each))
        if self.collinear:
            groups = [shown_some([*names]) for names in self.collinear[:3]]
            count = len(self.collinear)
            if count > 3:
                groups.append(message("and_more", count=count - 3))
            found.append(message("repeating_columns", count=count, groups="; ".join(groups)))
        if self.rank is not None and self.rank < self.n_varying:
            found.append(message("dependent_columns", n_columns=self.n_varying, rank=self.rank))
        if self.pairs_skipped:
            found.append(message("columns_not_compared", n_columns=self.n_varying))
        return found


def column_problems(values: Floats, columns: Sequence[str]) -> ColumnProblems:
    """Constant, missing, repeated and dependent columns, in O(n_items n_features^2).

    Parameters
    ----------
    values : (n_items, n_features)
        Raw features, NaN where missing.
    columns : (n_features,)
        Their names.
    """
    names = np.array(columns, dtype=object)
    n_missing = np.count_nonzero(np.isnan(values), axis=0)
    impute = Impute.fit(values)
    # Indicators of missing values come last; here only the columns themselves matter.
    filled = impute.apply(values)[:, : len(impute.kept)]
    standardise = Standardise.fit(filled)
    varying = names[impute.kept[standardise.kept]]
    constant = np.delete(names[impute.kept], standardise.kept)
    standard = standardise.apply(filled)
    n_rows, n_varying = standard.shape
    gram: Floats | None = None
    collinear: tuple[tuple[str, ...], ...] = ()
    if n_varying <= _PAIRS_LIMIT:
        gram = standard.T @ standard
        collinear = _groups(np.abs(gram) > _COLLINEAR * n_rows, varying)
    if n_rows < n_varying:
        gram = standard @ standard.T if n_rows <= _PAIRS_LIMIT else None
    return ColumnProblems(
        n_columns=len(names),
        constant=tuple(constant),
        missing=tuple(
            (str(name), int(count))
            for name, count in zip(names, n_missing, strict=True)
            if 0 < count < len(values)
        ),
        missing_everywhere=tuple(names[n_missing == len(values)]),
        collinear=collinear,
        n_varying=n_varying,
        rank=None if gram is None else _rank(gram, max(standard.shape)),
        pairs_skipped=n_varying > _PAIRS_LIMIT,
    )


def refuse_infinite(
    values: Floats, columns: Sequence[str], items: pd.Index[Any] | None = None
) -> None:
    """Raise FeatureError if a value is infinite, naming columns and, if known, items."""
    infinite: Mask = np.isinf(values)
    if not infinite.any():
        return
    count = int(np.count_nonzero(infinite))
    where = [columns[int(k)] for k in np.flatnonzero(infinite.any(axis=0))]
    if items is None:
        raise FeatureError(message("infinite_values", count=count, columns=where))
    who = items.take(np.flatnonzero(infinite.any(axis=1))).tolist()
    raise FeatureError(message("items_with_infinite", count=count, columns=where, items=who))


def _refuse_repeated(names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise FeatureError(message("repeated_columns", count=len(repeated), names=repeated))


def item_column(features: pd.DataFrame) -> pd.Series[Any]:
    """The ids of a feature table as they came: its column `item`, or else its index."""
    named = with_known_names(features, ("item",))
    return named["item"] if "item" in named else pd.Series(features.index)


def _item_ids(features: pd.DataFrame, names: list[str], known: Iterable[Any]) -> pd.Index[Any]:
    n = len(features)
    index = features.index
    if "item" in names:
        source = "column `item`"
        given = features.iloc[:, names.index("item")]
    elif (
        isinstance(index, pd.RangeIndex)
        and (index.start, index.step) == (0, 1)
        and index.name is None
    ):
        raise FeatureError(message("features_of_unnamed_items", n_rows=n))
    else:
        source = "index"
        given = pd.Series(index)
    ids = read_ids(clean_column(given, points=needless_points([given], known))[0])
    for mask, what in (
        (ids.missing, message("no_id")),
        (ids.empty, message("empty_id")),
        (ids.unusable, message("unusable_id")),
    ):
        if mask.any():
            rows = (np.flatnonzero(mask) + 1).tolist()
            raise FeatureError(
                message(
                    "rows_without_item",
                    count=len(rows),
                    n_rows=n,
                    what=what,
                    source=source,
                    rows=rows,
                )
            )
    repeated = ids.values[ids.values.duplicated()].unique().tolist()
    if repeated:
        raise FeatureError(
            message("repeated_items", count=len(repeated), source=source, items=repeated)
        )
    return ids.values.rename(None)


def _is_numeric(column: pd.Series[Any]) -> bool:
    if column.dtype == object:  # numbers with None among them, Decimals, or no value at all
        return pd.api.types.infer_dtype(column, skipna=True) in _NUMBER_KINDS
    if pd.api.types.is_complex_dtype(column.dtype):
        return False
    return pd.api.types.is_numeric_dtype(column.dtype) or (
        pd.api.types.is_bool_dtype(column.dtype)  # of pyarrow
        and not isinstance(column.dtype, pd.CategoricalDtype)
    )


def _numbers(column: pd.Series[Any]) -> np.ndarray[Any, Any]:
    if column.dtype == object:
        return np.array([_number(value) for value in column])
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _number(value: Any) -> float:
    if value is None or value is pd.NA or value is pd.NaT:
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _embeddings(column: pd.Series[Any], items: pd.Index[Any]) -> Floats:
    """Lists as a matrix; a row without a list is missing."""
    rows = [_vector(value) for value in column]
    bad = [k for k, row in enumerate(rows) if row is not None and (row.ndim != 1 or row.size == 0)]
    if bad:
        who = items.take(bad).tolist()
        raise FeatureError(
            message("embeddings_not_lists", count=len(bad), n_rows=len(rows), items=who)
        )
    lengths = Counter(len(row) for row in rows if row is not None)
    if not lengths:
        raise FeatureError(message("no_embeddings", n_rows=len(rows)))
    if len(lengths) != 1:
        found = ", ".join(
            message("embedding_length", length=length, count=count)
            for length, count in lengths.most_common(3)
        )
        usual = lengths.most_common(1)[0][0]
        odd = [k for k, row in enumerate(rows) if row is not None and len(row) != usual]
        who = items.take(odd).tolist()
        raise FeatureError(
            message("embeddings_of_unequal_length", count=len(lengths), lengths=found, items=who)
        )
    matrix = np.full((len(rows), next(iter(lengths))), np.nan)
    for k, row in enumerate(rows):
        if row is not None:
            matrix[k] = row
    return matrix


def _vector(value: Any) -> np.ndarray[Any, Any] | None:
    """A list as an array, None if missing, an array that is not 1-d if it is no list of numbers."""
    if value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value))):
        return None
    nothing = np.zeros(())
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__len__"):
        return nothing
    try:
        vector = np.asarray(value)
        if vector.dtype == object:
            if pd.api.types.infer_dtype(vector.ravel(), skipna=True) not in _NUMBER_KINDS:
                return nothing
            return np.array([_number(entry) for entry in vector])
    except (TypeError, ValueError):  # ragged or foreign
        return nothing
    return vector if vector.dtype.kind in "biuf" else nothing


def _groups(linked: Mask, names: np.ndarray[Any, Any]) -> tuple[tuple[str, ...], ...]:
    """Names joined by links, for each group of two or more, in the order of the columns."""
    first, second = np.nonzero(np.triu(linked, 1))
    graph = coo_array((np.ones(len(first)), (first, second)), shape=linked.shape)
    _, label = connected_components(graph, directed=False)
    order = np.unique(label[first])
    groups = [tuple(names[label == group]) for group in order]
    place = {name: k for k, name in enumerate(names)}
    return tuple(sorted(groups, key=lambda group: place[group[0]]))


def _rank(gram: Floats, size: int) -> int:
    if len(gram) == 0:
        return 0
    spectrum = np.linalg.eigvalsh(gram)
    return int(np.count_nonzero(spectrum > size * np.finfo(np.float64).eps * spectrum[-1]))
