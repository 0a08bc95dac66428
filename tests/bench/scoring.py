"""Batch scoring: a table by many models to Parquet, against the bare product in memory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

import urlr
from tasks.objects import Directory
from tasks.partitions import features_at
from tasks.score import Champion
from tasks.score_all import score_all
from tasks.store import Store
from tests.bench.measure import MIB, Row, timed

_GROUP = 100_000
"""Rows of a row group."""


@dataclass(frozen=True)
class Scored:
    """What scoring a table took, and the bare product beside it."""

    seconds: float
    product: float
    """Seconds of the product in numpy; nothing is read or written for it."""
    rows: int
    memory: float
    """Bytes added by the worker that grew most."""
    joining: float
    """Seconds after the last piece."""
    written: int
    """Bytes."""


def scoring(quick: bool) -> Iterator[Row]:
    """`score_all` of 1M items, d 64, by 20 linear models on 2 workers; numpy's product beside."""
    n_items, n_features, n_models = (20_000, 64, 4) if quick else (1_000_000, 64, 20)
    with tempfile.TemporaryDirectory() as folder:
        done = scored(Path(folder), n_items, n_features, n_models)
    yield Row(
        "scoring",
        f"{n_items:,} items, d {n_features}, {n_models} models",
        done.seconds,
        "product in numpy, nothing read or written",
        done.product,
        memory=done.memory,
        memory_bar=600 * MIB,
        note=f"{done.rows / done.seconds:,.0f} scores a second, {done.written / MIB:,.0f} MiB "
        f"written, {done.joining:.1f} s after the last piece; memory of the worker that grew most.",
    )


def scored(place: Path, n_items: int, n_features: int, n_models: int) -> Scored:
    """Score a table by models on two workers of one thread; all files lie in `place`."""
    from distributed import Client, LocalCluster

    champions, coefficients = _models(place, _piece(0, 500, n_features), n_models)
    product = _table(place / "features.parquet", n_items, coefficients)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="1GiB",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(_forget)
        before = client.run(_resident)
        features = features_at(place / "features.parquet")
        marks: list[tuple[str, float]] = []

        def note(what: str, share: float) -> None:
            marks.append((what, time.perf_counter()))

        seconds, summary = timed(
            lambda: score_all(features, champions, place / "scores.parquet", client, progress=note)
        )
        peaks = client.run(_resident)
    joining = time.perf_counter() - next(
        (at for what, at in marks if what.startswith("putting")), time.perf_counter()
    )
    return Scored(
        seconds,
        product,
        summary.rows,
        max(peaks[worker][1] - before[worker][0] for worker in peaks),
        joining,
        (place / "scores.parquet").stat().st_size,
    )


def _piece(number: int, n_rows: int, n_features: int) -> np.ndarray:
    """Rows of one row group, the same each time."""
    return np.random.default_rng([0, number]).standard_normal((n_rows, n_features))


def _table(path: Path, n_items: int, coefficients: np.ndarray) -> float:
    """Write the features piece by piece; seconds of their product with the coefficients."""
    n_features = len(coefficients)
    schema = pa.schema(
        [("item", pa.string()), *((f"f{k}", pa.float64()) for k in range(n_features))]
    )
    product = 0.0
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for number, start in enumerate(range(0, n_items, _GROUP)):
            values = _piece(number, min(_GROUP, n_items - start), n_features)
            product += timed(partial(np.matmul, values, coefficients))[0]
            names = pa.array([f"item-{start + k:08}" for k in range(len(values))])
            columns = [names, *(values[:, k] for k in range(n_features))]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=_GROUP)
    return product


def _models(place: Path, values: np.ndarray, count: int) -> tuple[list[Champion], np.ndarray]:
    """Straight models on some of the items, each on votes of its own."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(values, columns=[f"f{k}" for k in range(values.shape[1])])
    table.insert(0, "item", [f"item-{k:08}" for k in range(len(table))])
    champions, coefficients = [], []
    for k in range(count):
        truth = values @ rng.standard_normal(values.shape[1])
        first, second = rng.integers(0, len(table), (2, 4_000))
        kept = first != second
        first, second = first[kept], second[kept]
        won = truth[first] > truth[second]
        items = table["item"].to_numpy()
        votes = pd.DataFrame(
            {
                "winner": items[np.where(won, first, second)],
                "loser": items[np.where(won, second, first)],
            }
        )
        ranker = urlr.fit(votes, table, method="paper", prune=0.1)
        name = f"model{k}.npz"
        ranker.save(place / name)
        coefficients.append(rng.standard_normal(values.shape[1]))
        champions.append(Champion(f"a{k}", 1, Store.at(place), Directory(place).find(name)))
    return champions, np.stack(coefficients, axis=1)


def _resident() -> tuple[float, float]:
    from tests.bench.measure import resident

    return resident()


def _forget() -> None:
    from tests.bench.measure import forget_peak

    forget_peak()
