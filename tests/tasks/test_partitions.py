"""A feature table read in pieces is the table, whatever the cuts and wherever it lies."""

import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from tasks.limits import LARGEST_TEXT
from tasks.partitions import features_at, part_shape, partitions_of, read_partition
from tasks.read import ReadError
from tasks.store import Changed, Store, StoreError
from urlr.space.table import feature_table


def table(n=100, d=3, seed=0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"f{k}" for k in range(d)])
    frame.insert(0, "item", [f"i{k}" for k in range(n)])
    return frame


def parquet(frame: pd.DataFrame, row_group_size: int = 30) -> bytes:
    buffer = io.BytesIO()
    written = pa.Table.from_pandas(frame, preserve_index=False)
    pa.parquet.write_table(written, buffer, row_group_size=row_group_size)
    return buffer.getvalue()


def pieces(store, key, **cut):
    [found] = [one for one in store.list() if one.key == key]
    return partitions_of(part_shape(store, found), **cut)


def test_a_span_of_an_object_is_read(store):
    store.create("a/b", b"0123456789")
    [found] = store.list()
    assert store.read_span("a/b", 3, 7, etag=found.etag) == b"3456"
    assert store.read_span("a/b", 9, 10, etag=found.etag) == b"9"
    assert store.read_span("a/b", 4, 4, etag=found.etag) == b""
    with pytest.raises(StoreError, match="2 bytes came"):
        store.read_span("a/b", 8, 12, etag=found.etag)


def test_a_span_of_an_object_that_changed_is_refused(store):
    store.create("a", b"0123456789")
    [found] = store.list()
    store.replace("a", b"abcdefghijk")
    with pytest.raises(Changed):
        store.read_span("a", 0, 4, etag=found.etag)


def test_pieces_of_parquet_are_the_table(store):
    frame = table()
    store.create("t.parquet", parquet(frame))
    tables = [read_partition(piece) for piece in pieces(store, "t.parquet", rows=20)]
    assert [len(one.items) for one in tables] == [15, 15] * 3 + [10]
    expected = feature_table(frame)
    np.testing.assert_array_equal(np.vstack([one.values for one in tables]), expected.values)
    assert [item for one in tables for item in one.items] == list(expected.items)
    assert {one.columns for one in tables} == {expected.columns}


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(1, 60), st.integers(1, 60))
def test_every_row_is_in_one_piece_and_no_piece_is_too_long(tmp_path_factory, n, group, rows):
    path = tmp_path_factory.mktemp("cut") / "t.parquet"
    path.write_bytes(parquet(table(n), group))
    features = features_at(path)
    cut = partitions_of(part_shape(features.store, features.parts[0]), rows=rows)
    assert all(0 < piece.rows <= rows for piece in cut)
    read = [item for piece in cut for item in read_partition(piece).items]
    assert read == [f"i{k}" for k in range(n)]


def test_small_row_groups_go_together(tmp_path):
    (tmp_path / "t.parquet").write_bytes(parquet(table(), 10))
    cut = pieces(Store.at(tmp_path), "t.parquet", rows=35)
    assert [(piece.groups, piece.rows) for piece in cut] == [
        ((0, 1, 2), 30),
        ((3, 4, 5), 30),
        ((6, 7, 8), 30),
        ((9,), 10),
    ]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl.gz"])
def test_text_is_one_piece(tmp_path, name):
    from tasks.write import write_table

    frame = table()
    write_table(frame, tmp_path / name)
    [piece] = pieces(Store.at(tmp_path), name, rows=10)
    read = read_partition(piece)
    assert piece.rows == 100
    np.testing.assert_array_equal(read.values, feature_table(frame).values)


def test_text_too_large_for_memory_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "t.csv").open("wb") as file:
        file.truncate(LARGEST_TEXT + 1)  # takes no room on the disk
    with refused(ReadError, "text_too_large", size=LARGEST_TEXT + 1, most=LARGEST_TEXT):
        pieces(Store.at(tmp_path), "t.csv")


def test_columns_without_a_value_in_a_piece_are_missing_there(tmp_path):
    frame = table(60)
    frame.loc[:29, ["f0", "f2"]] = np.nan
    frame["embedding"] = [None] * 30 + [[float(k), 1.0] for k in range(30)]
    (tmp_path / "t.parquet").write_bytes(parquet(frame))
    first, second = (read_partition(p) for p in pieces(Store.at(tmp_path), "t.parquet", rows=30))
    assert first.columns == second.columns == ("f0", "f1", "f2", "embedding_0", "embedding_1")
    assert np.isnan(first.values).all(axis=0).tolist() == [True, False, True, True, True]
    assert not np.isnan(second.values).any()


def test_a_piece_without_any_value_still_has_its_items(tmp_path):
    frame = table(60)
    frame.loc[:29, ["f0", "f1", "f2"]] = np.nan
    (tmp_path / "t.parquet").write_bytes(parquet(frame))
    first, _ = (read_partition(p) for p in pieces(Store.at(tmp_path), "t.parquet", rows=30))
    assert list(first.items) == [f"i{k}" for k in range(30)]
    assert np.isnan(first.values).all()


def test_columns_of_parquet_are_told_as_the_method_tells_them(tmp_path):
    frame = table(5)
    frame["yes"] = [True, False, None, True, False]
    frame["price"] = [Decimal("1.50")] * 5
    frame["note"] = "x"
    frame["when"] = pd.Timestamp("2026-01-01")
    frame["kind"] = pd.Categorical(["a"] * 5)
    (tmp_path / "t.parquet").write_bytes(parquet(frame))
    features = features_at(tmp_path / "t.parquet")
    shape = part_shape(features.store, features.parts[0])
    expected = feature_table(frame)
    assert shape.columns == expected.columns
    assert shape.ignored == expected.ignored
    [piece] = partitions_of(shape)
    np.testing.assert_array_equal(read_partition(piece).values, expected.values)


def test_a_table_without_items_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(parquet(table().drop(columns="item")))
    with refused(ReadError, "no_item_column", found="f0, f1, f2"):
        pieces(Store.at(tmp_path), "t.parquet")


def test_damaged_parquet_is_refused_in_one_line(tmp_path):
    data = bytearray(parquet(table(5000, 8), 5000))
    data[1000:60000] = bytes(59000)
    (tmp_path / "t.parquet").write_bytes(data)
    (tmp_path / "cut.parquet").write_bytes(parquet(table())[:-10])
    with refused(ReadError, "damaged_parquet"):
        pieces(Store.at(tmp_path), "cut.parquet")
    path = str(tmp_path / "t.parquet")
    with refused(ReadError, "damaged_parquet", path=path) as error:
        [read_partition(piece) for piece in pieces(Store.at(tmp_path), "t.parquet")]
    assert "\n" not in str(error.value)


def test_a_directory_is_a_table_of_all_its_files(tmp_path):
    for k in range(3):
        (tmp_path / f"{k}.parquet").write_bytes(parquet(table(4)))
    assert [one.key for one in features_at(tmp_path).parts] == [f"{k}.parquet" for k in range(3)]
    with refused(ReadError, "no_such_file", path=str(tmp_path / "other.parquet")):
        features_at(tmp_path / "other.parquet")
    (tmp_path / "readme.txt").write_text("x")
    with refused(ReadError, "unknown_format", path="readme.txt"):
        features_at(tmp_path)
