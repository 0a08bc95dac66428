"""A table scored by every champion on workers: one file or many, whole or not at all."""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from clusters import local_client
from refusals import refused
from scored_models import behind_transform, champion, features, ranker
from waiting import PATIENCE, until

from tasks.messages import message
from tasks.partitions import Features, features_at
from tasks.score import Champion, ScoringError, _check_wanted
from tasks.score_all import score_all
from tasks.store import Store
from tasks.write import WriteError, write_table
from urlr.errors import FeatureError

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def rankers():
    table = features()
    return {"robust": ranker(1, table), "shared": behind_transform(table)[0]}


@pytest.fixture
def champions(rankers, tmp_path):
    (tmp_path / "models").mkdir()
    return [champion(r, tmp_path / "models", a, 3) for a, r in rankers.items()]


def in_pieces(place: Path, table: pd.DataFrame) -> Features:
    """The table in two files of several row groups."""
    place.mkdir()
    table.head(30).to_parquet(place / "a.parquet", index=False, row_group_size=10)
    table.tail(-30).to_parquet(place / "b.parquet", index=False, row_group_size=10)
    return features_at(place)


def expected(rankers, table) -> pd.DataFrame:
    pieces = []
    for attribute, made in rankers.items():
        scores = made.score(table)
        pieces.append(
            pd.DataFrame(
                {"item": scores.index, "attribute": attribute, "version": 3, "score": scores.array}
            )
        )
    return pd.concat(pieces, ignore_index=True)


def read(path: Path) -> pd.DataFrame:
    """All rows, in the order of models and items."""
    frame = pd.read_parquet(path).astype({"attribute": str})
    return frame.sort_values(["attribute", "item"], ignore_index=True)


def left_over(place: Path) -> list[str]:
    return sorted(path.name for path in place.rglob("*") if path.name.startswith("."))


@pytest.mark.parametrize("out", ["scores.parquet", "scores/"])
def test_all_items_are_scored_by_all_champions(dask_client, rankers, champions, tmp_path, out):
    table = features()
    seen: list[tuple[str, float]] = []
    summary = score_all(
        in_pieces(tmp_path / "features", table),
        champions,
        f"{tmp_path}/{out}",
        dask_client,
        progress=lambda what, share: seen.append((what, share)),
        rows=10,
    )
    pd.testing.assert_frame_equal(read(tmp_path / out), expected(rankers, table), rtol=1e-12)
    assert (summary.items, summary.rows) == (50, 100)
    assert ("scoring", 1.0) in seen
    assert left_over(tmp_path) == []
    [told] = summary.sentences()
    figures = {"items": 50, "able": 2, "models": 2, "path": f"{tmp_path}/{out}", "scores": 100}
    assert (told.code, told.fields) == ("scored", figures)


def test_the_rows_of_a_file_follow_the_table(dask_client, champions, tmp_path):
    score_all(
        in_pieces(tmp_path / "features", features()),
        champions,
        tmp_path / "scores.parquet",
        dask_client,
        rows=10,
    )
    rows = pd.read_parquet(tmp_path / "scores.parquet")
    assert rows.loc[rows["attribute"] == "robust", "item"].tolist() == list(range(50))


def test_a_table_and_models_in_a_bucket_need_no_common_disk(
    dask_client, rankers, champions, tmp_path, s3_store
):
    table = features()
    local = in_pieces(tmp_path / "features", table)
    for part in local.parts:
        s3_store.create(f"features/{part.key}", local.store.read(part.key))
    for one in champions:
        s3_store.create(f"models/{one.found.key}", one.store.read(one.found.key))
    remote = [
        Champion(one.attribute, one.version, s3_store, found)
        for one, found in zip(
            sorted(champions, key=lambda c: c.attribute), s3_store.list("models"), strict=True
        )
    ]
    stored = Features(s3_store, tuple(s3_store.list("features")))
    before = [found.key for found in s3_store.list()]
    for out in ("scores.parquet", "scores/"):
        score_all(stored, remote, f"{tmp_path}/{out}", dask_client, scratch=s3_store, rows=10)
        pd.testing.assert_frame_equal(read(tmp_path / out), expected(rankers, table), rtol=1e-12)
    assert [found.key for found in s3_store.list()] == before


def test_ids_of_text_and_of_numbers_meet_as_text(dask_client, champions, tmp_path):
    (tmp_path / "features").mkdir()
    table = features()
    table.head(30).to_parquet(tmp_path / "features" / "a.parquet", index=False)
    write_table(table.tail(20), tmp_path / "features" / "b.csv")
    score_all(features_at(tmp_path / "features"), champions, tmp_path / "s.parquet", dask_client)
    items = pd.read_parquet(tmp_path / "s.parquet")["item"]
    assert sorted(set(items), key=int) == [str(k) for k in range(50)]


def test_models_that_leave_items_out_are_named(dask_client, champions, tmp_path):
    bare = champion(ranker(8, None), tmp_path / "models", "bare", 2)
    wide = champion(ranker(9, features().assign(more=range(50))), tmp_path / "models", "wide", 4)
    summary = score_all(
        in_pieces(tmp_path / "features", features()),
        [*champions, bare, replace(wide, attribute="wide\n")],
        tmp_path / "s.parquet",
        dask_client,
        rows=10,
    )
    whole, first, second = summary.sentences()
    assert (whole.fields["items"], whole.fields["able"], whole.fields["models"]) == (50, 3, 4)
    for told, name, unscored, why in (
        (first, message("model", attribute="bare", version=2), 30, "model_without_features"),
        (second, message("model", attribute="wide\n", version=4), 50, "lacking_columns"),
    ):
        assert told.code == "without_a_score"
        assert (told.fields["unscored"], told.fields["items"]) == (unscored, 50)
        assert told.fields["models"] == [name]
        assert told.fields["reason"].code == why
        assert told.isprintable()
    rows = pd.read_parquet(tmp_path / "s.parquet")
    assert rows["attribute"].value_counts().to_dict() == {"robust": 50, "shared": 50, "bare": 20}


def nobody_works(client) -> None:
    """Wait until no worker is at a piece that was given up, and might write it yet."""
    until(lambda: not any(client.processing().values()), "no worker is at work")


@pytest.mark.parametrize("item", [1, 45])
@pytest.mark.parametrize("out", ["scores.parquet", "scores/"])
def test_nothing_is_written_when_a_piece_cannot_be_read(
    dask_client, champions, tmp_path, out, item
):
    """Whether the first piece is bad, while others are worked on, or the last."""
    table = features()
    table.loc[item, "f2"] = float("inf")
    parts = in_pieces(tmp_path / "features", table)
    with refused(FeatureError, "items_with_infinite", columns=["f2"], items=[item]):
        score_all(parts, champions, f"{tmp_path}/{out}", dask_client, rows=10)
    nobody_works(dask_client)
    assert not (tmp_path / out).exists()
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("out", ["scores.parquet", "scores/"])
def test_nothing_is_written_when_it_is_stopped_amid_other_pieces(
    dask_client, champions, tmp_path, out
):
    parts = in_pieces(tmp_path / "features", features())

    def stop(what: str, share: float) -> None:
        if 0 < share < 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_all(parts, champions, f"{tmp_path}/{out}", dask_client, rows=2, progress=stop)
    nobody_works(dask_client)
    assert not (tmp_path / out).exists()
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_worker_writes_no_part_of_a_piece_that_was_given_up(dask_client, tmp_path, cancelled):
    def asks_when_told(place: Path, seconds: float) -> None:
        """What a worker does that is at a piece and about to write, until it is told."""
        (place / "begun").touch()
        while not (place / "go").exists():
            time.sleep(0.02)
        end = time.monotonic() + seconds
        try:
            _check_wanted()
            while time.monotonic() < end:
                time.sleep(0.02)
                _check_wanted()
        except ScoringError:
            (place / "given up").touch()
        (place / "done").touch()

    seconds = PATIENCE if cancelled else 0.0
    future = dask_client.submit(asks_when_told, tmp_path, seconds, pure=False)
    until((tmp_path / "begun").exists, "it has begun")
    if cancelled:
        future.cancel()
    (tmp_path / "go").touch()
    until((tmp_path / "done").exists, "it has asked")
    assert (tmp_path / "given up").exists() == cancelled


def test_a_worker_that_dies_over_a_piece_is_one_line(champions, tmp_path):
    """The model is a pipe; whoever reads from it is killed."""
    table = in_pieces(tmp_path / "features", features())
    pipe = tmp_path / "models" / "pipe.npz"
    os.mkfifo(pipe)
    found = replace(champions[0].found, key=pipe.name)
    waiting = Champion("pipe", 1, Store.at(tmp_path / "models"), found)
    with local_client(1) as client, client.cluster:
        client.cluster.scheduler.allowed_failures = 0
        [worker] = client.run(os.getpid).values()

        def kill_the_reader():
            with pipe.open("wb"):  # waits until somebody reads
                os.kill(worker, signal.SIGKILL)

        threading.Thread(target=kill_the_reader, daemon=True).start()
        with refused(ScoringError, "worker_died_over_piece") as error:
            score_all(table, [waiting], tmp_path / "s.parquet", client)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "s.parquet").exists()
    assert left_over(tmp_path) == []


def test_no_model_at_all_is_an_error(dask_client, champions, tmp_path):
    table = in_pieces(tmp_path / "features", features().drop(columns="f0"))
    with refused(ScoringError, "no_model_can_score", models=2, attribute="robust", version=3):
        score_all(table, champions, tmp_path / "s.parquet", dask_client)
    with refused(ScoringError, "no_model_to_score_by"):
        score_all(table, [], tmp_path / "s.parquet", dask_client)
    with refused(ScoringError, "models_given_twice", count=1, models=["robust version 3"]):
        score_all(table, [*champions, champions[0]], tmp_path / "s.parquet", dask_client)
    assert not (tmp_path / "s.parquet").exists()


def test_an_earlier_result_is_replaced_only_when_told(dask_client, champions, tmp_path):
    table = in_pieces(tmp_path / "features", features())
    for out in ("s.parquet", "scores/"):
        target = f"{tmp_path}/{out}"
        score_all(table, champions, target, dask_client)
        with pytest.raises(WriteError) as caught:
            score_all(table, champions, target, dask_client)
        assert caught.value.code in ("target_exists", "target_not_empty")
        score_all(table, champions[:1], target, dask_client, overwrite=True, rows=10)
        assert read(Path(target))["attribute"].unique().tolist() == ["robust"]
    (tmp_path / "scores" / "mine.txt").write_text("x")
    with refused(WriteError, "target_holds_other_files", command="urlr score", files=["mine.txt"]):
        score_all(table, champions, tmp_path / "scores", dask_client, overwrite=True)


def test_an_output_of_another_kind_is_refused(dask_client, champions, tmp_path):
    table = in_pieces(tmp_path / "features", features())
    with refused(WriteError, "neither_parquet_nor_directory"):
        score_all(table, champions, tmp_path / "scores.csv", dask_client)


@pytest.mark.parametrize("out", ["s3://team/scores.parquet", "s3://team/scores/"])
def test_an_address_is_not_taken_for_a_path(dask_client, champions, tmp_path, monkeypatch, out):
    table = in_pieces(tmp_path / "features", features())
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with refused(WriteError, "not_a_local_path", path=out):
        score_all(table, champions, out, dask_client)
    assert list(Path().iterdir()) == []


def _peak() -> float:
    """Most memory this process ever held, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def test_a_table_larger_than_a_worker_may_hold_is_scored(tmp_path):
    n, d, n_groups, limit = 25_000, 64, 30, 560 << 20
    values = np.random.default_rng(0).normal(size=(n, d))
    columns = [f"f{k}" for k in range(d)]
    table = pd.DataFrame(values, columns=columns)
    table.insert(0, "item", np.arange(n))
    (tmp_path / "models").mkdir()
    model = ranker(1, table)
    schema = pa.Schema.from_pandas(table, preserve_index=False)
    with pa.parquet.ParquetWriter(
        tmp_path / "features.parquet", schema, use_dictionary=False, compression=None
    ) as writer:
        for k in range(n_groups):
            group = table.assign(item=np.arange(k * n, (k + 1) * n))
            writer.write_table(pa.Table.from_pandas(group, schema, preserve_index=False))
    with local_client(1, memory=limit) as client, client.cluster:
        before = max(client.run(_peak).values())
        summary = score_all(
            features_at(tmp_path / "features.parquet"),
            [champion(model, tmp_path / "models", "smiling")],
            tmp_path / "scores.parquet",
            client,
            rows=n,
        )
        after = max(client.run(_peak).values())
    assert summary.rows == summary.items == n * n_groups
    assert before + values.nbytes * n_groups > limit
    assert after < limit
    scores = pd.read_parquet(tmp_path / "scores.parquet")
    assert scores["item"].tolist() == list(range(n * n_groups))
    last = model.score(table.assign(item=scores["item"].tail(n).to_numpy()))
    np.testing.assert_allclose(scores["score"].tail(n), last, rtol=1e-12)
