"""Score a piece of a feature table by many models, into Parquet files of a store.

A plain function on a worker. dask-ml's ParallelPostFit is not used: it maps one estimator over the
blocks of an array, while here many models, each read once by a worker, share a piece that was read
once, and the result is files, not an array.

A row is item, attribute, version, score. There is no rank: it would need all scores of an
attribute, a second pass over what was written; scoring one table by one model gives it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from tasks.messages import message
from tasks.objects import Changed, Found, NotThere
from tasks.partitions import Partition, id_column, read_partition
from tasks.store import Store
from urlr.arrays import Floats
from urlr.errors import FeatureError, ModelFileError, UrlrError
from urlr.ids import positions
from urlr.model_file import model_from_bytes
from urlr.sentence import Sentence
from urlr.space.maps import FeatureMap
from urlr.space.table import FeatureTable

PART_ROWS = 5_000_000
"""Scores after which a new file is begun: 5 million, with ids of 12 letters, are 65 MB of Parquet,
held in memory until it is written."""
STRIDE = 16_384
"""Rows mapped at a time: 400 kernel and straight dimensions of so many take 52 MB."""
WRITING: dict[str, Any] = {"use_dictionary": ["attribute", "version"], "compression": "snappy"}
"""Ids and scores are nearly all different within a row group: a dictionary only costs."""

_MODELS_KEPT = 256
"""Models a worker keeps. One of 2,000 items and 64 features took 0.75 MB, and 24 ms to read."""


class ScoringError(UrlrError):
    """Items cannot be scored; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Champion:
    """Where a model lies, and what it is called in the scores."""

    attribute: str
    version: int
    store: Store
    found: Found
    """Its model.npz; that very file, should another take its place."""


@dataclass(frozen=True, slots=True)
class Order:
    """One piece to be scored by all models."""

    piece: Partition
    champions: tuple[Champion, ...]
    store: Store
    """Where the scores go."""
    prefix: str
    """What their keys begin with, different for every piece."""
    text_ids: bool
    """Write ids as text, because some piece of the table has such."""
    part_rows: int = PART_ROWS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one model on one piece, or on all."""

    attribute: str
    version: int
    scored: int
    """Items that got a score."""
    unscored: int
    """Items that did not."""
    reason: Sentence | None
    """Why they did not; None if all did."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What was written for a piece."""

    items: int
    parts: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    """One for each model, in the order given."""


def score_schema(*, text_ids: bool) -> pa.Schema:
    """Columns of the scores."""
    return pa.schema(
        {
            "item": pa.string() if text_ids else pa.int64(),
            "attribute": pa.dictionary(pa.int32(), pa.string()),
            "version": pa.int64(),
            "score": pa.float64(),
        }
    )


def score_partition(order: Order) -> Scored:
    """Score one piece by every model and write the scores, one row group for each model.

    A model that cannot score these items is passed over, with its reason; the others do.
    """
    table = read_partition(order.piece)
    items = id_column(table.items, text=order.text_ids)
    at_a_time = max(1, order.part_rows // len(items))
    outcomes: list[Outcome] = []
    parts: list[str] = []
    for start in range(0, len(order.champions), at_a_time):
        champions = order.champions[start : start + at_a_time]
        scores, reasons = _scores(champions, table)
        scored = [len(items) - int(np.count_nonzero(np.isnan(row))) for row in scores]
        outcomes += [
            Outcome(one.attribute, one.version, count, len(items) - count, reason)
            for one, count, reason in zip(champions, scored, reasons, strict=True)
        ]
        _check_wanted()
        if any(scored):
            key = f"{order.prefix}-{len(parts):03}.parquet"
            order.store.create(key, _parquet(champions, items, scores, text_ids=order.text_ids))
            parts.append(key)
    return Scored(len(items), tuple(parts), tuple(outcomes))


def _check_wanted() -> None:
    """Raise if the worker was told to give this up: what it writes from now on nobody removes."""
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:  # called by somebody who waits
        return
    task = worker.state.tasks.get(worker.get_current_task())
    if task is None or task.state == "cancelled":
        raise ScoringError(message("scoring_given_up"))


@dataclass(frozen=True, slots=True)
class ScoringModel:
    """What scoring needs of a model."""

    feature_map: FeatureMap | None
    marks: tuple[bytes, ...]
    """Digest of each step of the map, together with the columns and the steps before it."""
    coefficients: Floats
    items: pd.Index[Any]
    """Items with something of their own: an effect, or a score where there are no features."""
    own: Floats


@lru_cache(_MODELS_KEPT)
def scoring_model(champion: Champion) -> ScoringModel:
    """Read a model from its store; a worker reads it once."""
    found = champion.found
    data = champion.store.read(found.key, etag=found.etag)
    ranker = model_from_bytes(data, name=champion.store.address(found.key))
    feature_map = ranker.feature_map
    own = ranker.scores["score" if feature_map is None else "effect"].to_numpy(np.float64)
    held = np.arange(len(own)) if feature_map is None else np.flatnonzero(own)
    return ScoringModel(
        feature_map,
        () if feature_map is None else _marks(feature_map),
        ranker.coefficients,
        pd.Index(ranker.scores["item"]).take(held),
        own[held],
    )


def _marks(feature_map: FeatureMap) -> tuple[bytes, ...]:
    digest = hashlib.sha256(repr(feature_map.columns).encode())
    marks = []
    for step in feature_map.steps:
        plain = [(name, getattr(step, name)) for name in sorted(step.plain)]
        digest.update(repr((step.kind, plain)).encode())
        for name in sorted(step.arrays):
            array = getattr(step, name)
            digest.update(repr((name, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).data)
        marks.append(digest.digest())
    return tuple(marks)


def _scores(
    champions: Sequence[Champion], table: FeatureTable
) -> tuple[Floats, list[Sentence | None]]:
    """(n_models, n_items) scores, NaN where there is none; and why there is none."""
    scores = np.full((len(champions), len(table.items)), np.nan)
    reasons: list[Sentence | None] = [None] * len(champions)
    mapping: dict[int, tuple[ScoringModel, FeatureMap]] = {}
    for k, champion in enumerate(champions):
        try:
            model = scoring_model(champion)
            if model.feature_map is None:
                scores[k] = _own(model, table, otherwise=np.nan)
                if np.isnan(scores[k]).any():
                    reasons[k] = message("model_without_features")
                continue
            model.feature_map.select(table.take(np.zeros(0, np.int64)))
            mapping[k] = model, model.feature_map
        except (FeatureError, ModelFileError, NotThere, Changed) as error:
            reasons[k] = error.sentence
    for start in range(0, len(table.items), STRIDE):
        rows = np.arange(start, min(start + STRIDE, len(table.items)))
        steps = _Steps(table.take(rows))
        for k, (model, feature_map) in mapping.items():
            try:
                scores[k, rows] = steps.mapped(feature_map, model.marks) @ model.coefficients
            except FeatureError as error:
                reasons[k] = error.sentence
    for k, (model, _) in mapping.items():
        scores[k] += _own(model, table, otherwise=0.0) if reasons[k] is None else np.nan
    return scores, reasons


def _own(model: ScoringModel, table: FeatureTable, *, otherwise: float) -> Floats:
    """What each item has of its own."""
    return np.append(model.own, otherwise)[positions(model.items, table.items)]


class _Steps:
    """Maps rows step by step; what a model shares with the one before it is not done again.

    Models behind a shared transform begin with the same steps, which are most of the work where
    the table is wide.
    """

    def __init__(self, table: FeatureTable) -> None:
        self._table = table
        self._marks: tuple[bytes, ...] = ()
        self._done: list[Floats] = []

    def mapped(self, feature_map: FeatureMap, marks: tuple[bytes, ...]) -> Floats:
        """As `FeatureMap.map` gives it for these rows."""
        same = 0
        while same < min(len(marks), len(self._done)) and marks[same] == self._marks[same]:
            same += 1
        del self._done[same:]
        self._marks = marks
        if same:
            mapped = self._done[-1]
        else:
            mapped = np.ascontiguousarray(feature_map.select(self._table), np.float64)
        for step in feature_map.steps[same:]:
            mapped = step.apply(mapped)
            self._done.append(mapped)
        return mapped


def _parquet(
    champions: Sequence[Champion], items: pa.Array, scores: Floats, *, text_ids: bool
) -> bytes:
    buffer = io.BytesIO()
    schema = score_schema(text_ids=text_ids)
    with pa.parquet.ParquetWriter(buffer, schema, **WRITING) as writer:
        for champion, row in zip(champions, scores, strict=True):
            known = np.flatnonzero(~np.isnan(row))
            if len(known):
                whole = len(known) == len(row)
                columns = [
                    items if whole else items.take(pa.array(known)),
                    pa.DictionaryArray.from_arrays(
                        np.zeros(len(known), np.int32), [champion.attribute]
                    ),
                    pa.array(np.full(len(known), champion.version, np.int64)),
                    pa.array(row if whole else row[known]),
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return buffer.getvalue()
