"""Score a feature table of any size by every champion, in parallel, into Parquet.

A file holds the pieces of the table one after the other, and in each the models one after the
other; a directory holds the same rows in files `part-<piece>-<number>.parquet`.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tasks.formats import shown_path
from tasks.messages import message
from tasks.partitions import ROWS, Features, part_shape, partitions_of
from tasks.score import (
    PART_ROWS,
    WRITING,
    Champion,
    Order,
    Outcome,
    Scored,
    ScoringError,
    score_partition,
)
from tasks.store import Store
from tasks.write import (
    WriteError,
    check_is_path,
    parts_beside,
    published_directory,
    published_file,
)
from urlr.errors import UrlrError
from urlr.sentence import Sentence

_PART = re.compile(r"part-\d{5}-\d{3}\.parquet")
_OTHERS = 60.0
"""Seconds in which a worker ends the part of a piece that it has begun."""
_HASTE = 5.0
"""The same where somebody waits for us to stop."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class ScoringSummary:
    """What was scored, and by which models not."""

    out: str
    items: int
    rows: int
    """Scores written: one for each item and model that could score it."""
    outcomes: tuple[Outcome, ...]
    """One for each model, in the order given."""

    def sentences(self) -> list[Sentence]:
        """What to tell people: one line for the whole, one for each model that left items out."""
        able = sum(1 for one in self.outcomes if one.scored)
        told = [
            message(
                "scored",
                items=self.items,
                able=able,
                models=len(self.outcomes),
                path=shown_path(self.out),
                scores=self.rows,
            )
        ]
        alike: dict[tuple[int, Sentence], list[Sentence]] = {}
        for one in self.outcomes:
            if one.reason is not None:
                name = message("model", attribute=one.attribute, version=one.version)
                alike.setdefault((one.unscored, one.reason), []).append(name)
        for (unscored, reason), names in alike.items():
            told.append(
                message(
                    "without_a_score",
                    models=names,
                    unscored=unscored,
                    items=self.items,
                    reason=reason,
                )
            )
        return told


def score_all(
    features: Features,
    champions: Sequence[Champion],
    out: str | os.PathLike[str],
    client: Any,
    *,
    progress: Progress | None = None,
    overwrite: bool = False,
    scratch: Store | None = None,
    rows: int = ROWS,
    part_rows: int = PART_ROWS,
) -> ScoringSummary:
    """Score all items by all champions; `out` is there whole at the end, or not at all.

    `out` is one file if it ends in .parquet, and a directory of files if it ends in `/` or is one.
    Workers that do not share the disk of `out` write to `scratch` first.

    Raises
    ------
    ScoringError
        No model can score any item; or a worker died.
    """
    text = os.fspath(out)
    check_is_path(text)
    target = Path(text)
    if not champions:
        raise ScoringError(message("no_model_to_score_by"))
    named = Counter(f"{one.attribute} version {one.version}" for one in champions)
    twice = [name for name, count in named.items() if count > 1]
    if twice:
        raise ScoringError(message("models_given_twice", count=len(twice), models=twice))
    work = _Work(features, tuple(champions), client, progress or _silent, rows, part_rows)
    if text.endswith("/") or target.is_dir():
        with (
            published_directory(
                target, overwrite=overwrite, ours=_is_part, command="urlr score"
            ) as workplace,
            _place(scratch, workplace) as place,
        ):
            scored = work.into(place)
            if scratch is not None:
                for key in _parts_of(scored):
                    (workplace / key.rpartition("/")[2]).write_bytes(scratch.read(key))
    elif target.name.endswith(".parquet"):
        with (
            published_file(target, overwrite=overwrite) as file,
            parts_beside(file) as beside,
            _place(scratch, beside) as place,
        ):
            scored = work.into(place)
            work.progress("putting the scores together", 0.0)
            _assemble(place.store, _parts_of(scored), file)
    else:
        raise WriteError(message("neither_parquet_nor_directory", path=shown_path(target)))
    outcomes = _summed(scored)
    items = sum(one.items for one in scored)
    return ScoringSummary(text, items, sum(one.scored for one in outcomes), outcomes)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where workers write."""

    store: Store
    prefix: str


@contextmanager
def _place(scratch: Store | None, directory: Path) -> Iterator[_Place]:
    """The directory, or a corner of the scratch store that is empty again at the end."""
    if scratch is None:
        yield _Place(Store.at(directory), "")
        return
    prefix = f"scoring-{secrets.token_hex(8)}"
    try:
        yield _Place(scratch, f"{prefix}/")
    finally:
        for found in scratch.list(prefix):
            scratch.remove(found.key)


@dataclass(frozen=True, slots=True)
class _Work:
    features: Features
    champions: tuple[Champion, ...]
    client: Any
    progress: Progress
    rows: int
    part_rows: int

    def into(self, place: _Place) -> list[Scored]:
        """Score every piece on the workers; give what was written, in the order of the rows."""
        self.progress("looking at the features", 0.0)
        found = self.features.parts
        shapes = self._done(part_shape, [self.features.store] * len(found), found)
        text_ids = any(shape.text_ids for shape in shapes)
        pieces = [cut for shape in shapes for cut in partitions_of(shape, rows=self.rows)]
        orders = [
            Order(
                piece,
                self.champions,
                place.store,
                f"{place.prefix}part-{number:05}",
                text_ids,
                self.part_rows,
            )
            for number, piece in enumerate(pieces)
        ]
        scored: list[Scored] = self._done(score_partition, orders, share="scoring")
        if not any(outcome.scored for one in scored for outcome in one.outcomes):
            first = _summed(scored)[0]
            raise ScoringError(
                message(
                    "no_model_can_score",
                    models=len(self.champions),
                    attribute=first.attribute,
                    version=first.version,
                    reason=first.reason,
                )
            )
        return scored

    def _done(self, work: Callable[..., Any], *inputs: Any, share: str = "") -> list[Any]:
        """Results of the work on every input; at the first failure the rest is cancelled."""
        from distributed.scheduler import KilledWorker

        futures = self.client.map(work, *inputs, pure=False)
        try:
            for count, future in enumerate(_as_they_end(futures, self.client), start=1):
                future.result()  # raises what the worker raised
                if share:
                    self.progress(share, count / len(futures))
            results: list[Any] = self.client.gather(futures)
            return results
        except KilledWorker as error:
            self._give_up(futures, _OTHERS)
            raise ScoringError(message("worker_died_over_piece", why=str(error))) from None
        except BaseException as error:
            self._give_up(futures, _OTHERS if isinstance(error, UrlrError) else _HASTE)
            raise
        finally:
            self.client.cancel(futures)

    def _give_up(self, futures: Sequence[Any], seconds: float) -> None:
        """Wait until no worker is at it any more: it would write where all is about to be removed.

        A worker that was told to give up writes no further part, but ends the one it has begun.
        """
        self.client.cancel(futures)
        keys = [future.key for future in futures]
        end = time.monotonic() + seconds
        with suppress(TimeoutError):  # a worker may be frozen
            while (left := end - time.monotonic()) > 0:
                # As `client.run`, which has no deadline.
                asked = {"on_error": "ignore", "callback_timeout": left}
                at_work = self.client.sync(self.client._run, _at_work_on, keys, **asked)
                if not any(at_work.values()):
                    return
                time.sleep(0.05)


def _as_they_end(futures: Sequence[Any], client: Any) -> Iterator[Any]:
    from distributed import as_completed

    yield from as_completed(futures, loop=client.loop)


def _at_work_on(keys: list[str], dask_worker: Any) -> bool:
    return any(key in dask_worker.state.tasks for key in keys)


def _silent(what: str, share: float) -> None:
    """Show no progress."""


def _is_part(name: str) -> bool:
    return _PART.fullmatch(name) is not None


def _parts_of(scored: Sequence[Scored]) -> list[str]:
    return [key for one in scored for key in one.parts]


def _assemble(store: Store, keys: Sequence[str], target: Path) -> None:
    """One file of the row groups of all parts, in order; a part is held at a time."""
    with pa.parquet.ParquetFile(pa.BufferReader(store.read(keys[0]))) as first:
        schema = first.schema_arrow
    with pa.parquet.ParquetWriter(target, schema, **WRITING) as writer:
        for key in keys:
            with pa.parquet.ParquetFile(pa.BufferReader(store.read(key))) as part:
                for group in range(part.num_row_groups):
                    writer.write_table(part.read_row_group(group))
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _summed(scored: Sequence[Scored]) -> tuple[Outcome, ...]:
    """Outcomes of each model over all pieces, with the first reason there was."""
    summed = []
    for outcomes in zip(*(one.outcomes for one in scored), strict=True):
        reasons = [one.reason for one in outcomes if one.reason is not None]
        summed.append(
            replace(
                outcomes[0],
                scored=sum(one.scored for one in outcomes),
                unscored=sum(one.unscored for one in outcomes),
                reason=reasons[0] if reasons else None,
            )
        )
    return tuple(summed)
