"""One transform of the features for all attributes: gaps filled, columns scaled, PCA.

Fitted with dask-ml on pieces of the table, each read on a worker when it is needed and dropped
after, so that the table may be larger than any memory. It is an ordinary `FeatureMap`: applied by
urlr alone, stored as npz and JSON, and part of every served model (see `Ranker.behind`). The table
is read three times: for gaps, for means and variances, for the components.

dask-ml's PCA does not get the rows themselves: it gathers its whole input on one worker to ask for
its shape. It gets R factors of the pieces instead, each stacked on its negative: R'R = X'X, the
mean is zero as that of standardised rows is, and so components and singular values are those of
the rows.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pandas.api.types import is_integer_dtype

from tasks.messages import message
from tasks.objects import Found
from tasks.partitions import (
    ROWS,
    Partition,
    PartShape,
    id_column,
    part_shape,
    partitions_of,
    read_partition,
)
from tasks.store import Store
from urlr.arrays import Floats, Ints
from urlr.errors import FeatureError
from urlr.model_file import feature_map_bytes, feature_map_from_bytes
from urlr.sentence import Sentence
from urlr.space.column_facts import ColumnFacts, extremes_of, impute_of
from urlr.space.maps import FeatureMap, component_names
from urlr.space.projections import PCA, signs_of
from urlr.space.steps import Impute, Standardise, powers_of, scaled

_TOGETHER = 4
"""R factors stacked at a time, and given to PCA at the end: at most 8 d x d numbers on a worker."""
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Reduced:
    """A file of reduced features that was written."""

    key: str
    rows: int


def fit_shared(
    client: Any, store: Store, parts: Sequence[Found], *, components: int, rows: int = ROWS
) -> FeatureMap:
    """Fit filling of gaps, scaling and PCA to all rows of a table in files of a store.

    The same files give the same bytes whatever the number of workers. `rows` bounds a piece.
    """
    if components < 1:
        raise FeatureError(message("too_few_components", components=components))
    shapes = _shapes(client, store, parts)
    columns = _common_columns(shapes)
    pieces = [cut for shape in shapes for cut in partitions_of(shape, columns=columns, rows=rows)]
    facts = client.gather(client.map(_facts, pieces, pure=False))
    impute = impute_of(facts)
    low, high = extremes_of(facts)
    magnitudes = np.append(np.maximum(high, -low)[impute.kept], np.ones(len(impute.flagged)))
    n_rows = sum(piece.rows for piece in pieces)
    with client.as_current():
        standardise = _standardise(pieces, impute, magnitudes)
        if standardise.n_out == 0:
            raise FeatureError(
                message("no_column_varies", count=len(columns), columns=columns, items=n_rows)
            )
        scaling = FeatureMap(columns, (impute, standardise))
        pca = _principal(pieces, scaling, components, n_rows)
    return FeatureMap(columns, (impute, standardise, pca))


def needs_refit(
    client: Any, store: Store, parts: Sequence[Found], previous: FeatureMap | None
) -> Sentence | None:
    """Why the transform must be fitted anew, in one sentence; None while its columns are there."""
    if previous is None:
        return message("no_shared_transform")
    columns = _common_columns(_shapes(client, store, parts))
    new = [name for name in columns if name not in set(previous.columns)]
    gone = [name for name in previous.columns if name not in set(columns)]
    if new and gone:
        return message(
            "columns_new_and_gone",
            n_new=len(new),
            new=new,
            n_gone=len(gone),
            gone=gone,
        )
    if new:
        return message("columns_new", n_new=len(new), new=new)
    return message("columns_gone", n_gone=len(gone), gone=gone) if gone else None


def shared_version(shared: FeatureMap) -> str:
    """Version of a transform: a digest of its content."""
    return hashlib.sha256(feature_map_bytes(shared)).hexdigest()[:16]


def write_shared(store: Store, prefix: str, shared: FeatureMap) -> str:
    """Write a transform to `<prefix>/transform.npz` and give its version.

    Nothing is overwritten: put `shared_version` into the prefix to keep one beside the other.
    """
    store.create(f"{prefix}/transform.npz", feature_map_bytes(shared))
    return shared_version(shared)


def read_shared(store: Store, prefix: str) -> FeatureMap:
    """Read a transform that `write_shared` wrote, checked part by part."""
    key = f"{prefix}/transform.npz"
    return feature_map_from_bytes(store.read(key), name=store.address(key))


def reduce_parts(
    client: Any,
    store: Store,
    parts: Sequence[Found],
    shared: FeatureMap,
    prefix: str,
    *,
    rows: int = ROWS,
) -> list[Reduced]:
    """Write the table reduced by the transform, `item` and pc000, pc001, ..., as new objects.

    One object `<prefix>/part-00000.parquet`, ... for every piece, in the order of the rows.
    """
    shapes = _shapes(client, store, parts)
    orders: list[tuple[Partition, str]] = []
    for shape in shapes:
        _refuse_lacking(shape, shared.columns)
        for piece in partitions_of(shape, columns=shared.columns, rows=rows):
            orders.append((piece, f"{prefix}/part-{len(orders):05}.parquet"))
    pieces, keys = zip(*orders, strict=True)
    # The transform goes with the orders: kept on the workers it would be moved to disk where memory
    # is short, and a scheduler that broadcasts it loses whoever listens to it (distributed 2026.8).
    written: list[Reduced] = client.gather(
        client.map(_reduce, pieces, keys, shared=shared, pure=False)
    )
    return written


def _reduce(piece: Partition, key: str, *, shared: FeatureMap) -> Reduced:
    table = read_partition(piece)
    values = shared.map(table.values)
    names = component_names(shared.n_out)
    columns = {"item": id_column(table.items, text=not is_integer_dtype(table.items.dtype))}
    columns |= {name: pa.array(np.ascontiguousarray(values[:, k])) for k, name in enumerate(names)}
    buffer = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), buffer)
    piece.store.create(key, buffer.getvalue())
    return Reduced(key, len(table.items))


def _shapes(client: Any, store: Store, parts: Sequence[Found]) -> list[PartShape]:
    if not parts:
        raise FeatureError(message("no_feature_files"))
    shapes: list[PartShape] = client.gather(
        client.map(part_shape, [store] * len(parts), parts, pure=False)
    )
    return shapes


def _common_columns(shapes: Sequence[PartShape]) -> tuple[str, ...]:
    """Columns of numbers of the table, in the order of the first file; all files must have them."""
    columns = tuple(dict.fromkeys(name for shape in shapes for name in shape.columns))
    if not columns:
        ignored = list(dict.fromkeys(name for shape in shapes for name in shape.ignored))
        if ignored:
            raise FeatureError(message("only_other_columns", columns=ignored))
        raise FeatureError(message("no_numeric_column"))
    for shape in shapes:
        where = shape.store.address(shape.found.key)
        odd = [name for name in columns if name in set(shape.ignored)]
        if odd:
            raise FeatureError(
                message("numbers_in_other_files", path=where, count=len(odd), columns=odd)
            )
        _refuse_lacking(shape, columns)
    return columns


def _refuse_lacking(shape: PartShape, columns: Sequence[str]) -> None:
    there = {*shape.columns, *shape.empty}
    lists = "embedding" in shape.empty
    lacking = [
        name
        for name in columns
        if name not in there and not (lists and name.startswith("embedding_"))
    ]
    if lacking:
        where = shape.store.address(shape.found.key)
        raise FeatureError(
            message("part_lacks_columns", path=where, count=len(lacking), columns=lacking)
        )


def _facts(piece: Partition) -> ColumnFacts:
    return ColumnFacts.of(read_partition(piece).values)


def _filled(piece: Partition, impute: Impute, power: Ints) -> Floats:
    return scaled(impute.apply(read_partition(piece).values), power)


def _standardise(pieces: Sequence[Partition], impute: Impute, magnitudes: Floats) -> Standardise:
    """Scaling by dask-ml's StandardScaler: means and variances of the pieces, put together."""
    from dask.delayed import delayed
    from dask_ml.preprocessing import StandardScaler

    fill, power = delayed(impute), delayed(powers_of(magnitudes))
    blocks = [(delayed(_filled)(piece, fill, power), piece.rows) for piece in pieces]
    scaler = StandardScaler().fit(_dask_array(blocks, impute.n_out))
    return Standardise.of_moments(scaler.mean_, scaler.var_, magnitudes)


def _principal(
    pieces: Sequence[Partition], scaling: FeatureMap, components: int, n_rows: int
) -> PCA:
    """Principal components by dask-ml; never more than the numerical rank."""
    from dask.delayed import delayed
    from dask_ml.decomposition import PCA as DaskPCA  # noqa: N811

    width = scaling.n_out
    mapping = delayed(scaling)
    factors = [(delayed(_factor)(piece, mapping), min(piece.rows, width)) for piece in pieces]
    while len(factors) > _TOGETHER:
        groups = [factors[k : k + _TOGETHER] for k in range(0, len(factors), _TOGETHER)]
        factors = [
            (
                delayed(_stacked)([one for one, _ in group]),
                min(sum(height for _, height in group), width),
            )
            for group in groups
        ]
    blocks = [(delayed(_mirrored)(one), 2 * height) for one, height in factors]
    most = min(components, width, sum(height for _, height in factors))
    fitted = DaskPCA(n_components=most, svd_solver="tsqr").fit(_dask_array(blocks, width))
    spectrum = fitted.singular_values_**2
    rank = int(np.count_nonzero(spectrum > max(n_rows, width) * _EPS * spectrum[0]))
    vectors = fitted.components_[:rank].T
    return PCA(np.zeros(width), np.ascontiguousarray(vectors * signs_of(vectors)))


def _dask_array(blocks: Sequence[tuple[Any, int]], width: int) -> Any:
    """Delayed blocks and their numbers of rows as one array."""
    import dask.array as da

    arrays: list[Any] = [
        da.from_delayed(block, (rows, width), np.float64) for block, rows in blocks
    ]
    return da.concatenate(arrays)


def _factor(piece: Partition, scaling: FeatureMap) -> Floats:
    """R of the standardised rows of a piece: R'R = X'X."""
    return _r_of(scaling.map(read_partition(piece).values))


def _stacked(factors: Sequence[Floats]) -> Floats:
    return _r_of(np.vstack(factors))


def _r_of(rows: Floats) -> Floats:
    return np.asarray(np.linalg.qr(rows, mode="r"), np.float64)


def _mirrored(factor: Floats) -> Floats:
    half = factor * np.sqrt(0.5)
    return np.vstack([half, -half])
