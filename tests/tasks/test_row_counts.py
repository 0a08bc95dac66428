"""Rows counted, and memory foretold, before any row is read."""

import gzip

import pyarrow as pa
import pyarrow.parquet
import pytest
from refusals import refused
from stored_votes import QUICK, order_of, put, simulated

from tasks.cluster import local_cluster
from tasks.read import ReadError
from tasks.row_counts import is_by_parts, memory_needed, rows_in
from tasks.store import Store
from tasks.train import train
from urlr.settings import FitSettings

FIXED = FitSettings(method="paper", prune=0.1)


@pytest.fixture
def here(tmp_path) -> Store:
    return Store.at(tmp_path / "store")


def bomb(store: Store, n_rows: int) -> None:
    """Millions of rows in a few kilobytes: every row is the same."""
    path = store.address("votes/smiling/1.parquet")
    put(store, "votes/smiling/1.parquet", b"")
    schema = pa.schema([("winner", pa.string()), ("loser", pa.string())])
    with pa.parquet.ParquetWriter(path, schema) as writer:
        some = min(n_rows, 1_000_000)
        rows = pa.table({"winner": pa.array(["x"] * some), "loser": pa.array(["y"] * some)})
        for _ in range(n_rows // some):
            writer.write_table(rows)


@pytest.mark.parametrize("name", ["1.parquet", "1.csv", "1.csv.gz", "1.jsonl"])
def test_rows_are_counted_in_every_format(here, name):
    """Exactly in Parquet; in text by the lines at its beginning, a header and all."""
    dump = put(here, f"votes/smiling/{name}", simulated(n_votes=400).votes)
    assert rows_in(here, dump) == pytest.approx(400, abs=0 if "parquet" in name else 1)


def test_long_text_is_counted_by_its_beginning(here):
    lines = "winner,loser\n" + "".join(f"item-{k % 9},item-{k % 7}\n" for k in range(300_000))
    plain = put(here, "votes/smiling/1.csv", lines)
    packed = put(here, "votes/smiling/2.csv.gz", gzip.compress(lines.encode(), mtime=0))
    assert rows_in(here, plain) == pytest.approx(300_001, rel=0.01)
    assert rows_in(here, packed) == pytest.approx(300_001, rel=0.3)


def test_damaged_text_is_left_for_reading_to_tell(here):
    dump = put(here, "votes/smiling/1.csv.gz", b"no gzip at all\n")
    assert rows_in(here, dump) == 1


def test_more_rows_than_allowed_are_refused_unread(here):
    bomb(here, 3_000_000)
    assert here.list("votes")[0].size < 20_000
    order = order_of(here, most_rows=2_000_000)
    figures = {"rows": 3_000_000, "total": 3_000_000, "most": 2_000_000}
    where = order.inputs.dumps[0].key
    with refused(ReadError, "too_many_rows", path=here.address(where), **figures):
        train(order)


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        (FIXED, True),
        (QUICK, False),
        (FitSettings(method="paper"), False),
        (FitSettings(method="paper", prune="bic"), False),
        (FitSettings(method="paper", prune=0.1, ranking="svm"), False),
    ],
)
def test_only_the_paper_at_a_fixed_share_goes_part_by_part(here, fit, expected):
    put(here, "votes/smiling/1.csv", simulated().votes)
    order = order_of(here, fit=fit, large_attribute=1_000)
    assert is_by_parts(order, 1_001) is expected
    assert is_by_parts(order, 1_000) is False


@pytest.mark.full
def test_what_does_not_fit_a_worker_is_refused_at_once(here):
    """By the worker itself, which knows how much it may use; what fits is done."""
    bomb(here, 4_000_000)
    small = simulated(n_votes=80, n_items=6)
    put(here, "votes/little/1.csv", small.votes)
    with local_cluster(workers=1, memory="1GiB") as cluster:
        for chosen, remedy in (
            ({}, "more_memory_or_another_method"),
            ({"fit": FIXED}, "more_memory_or_by_parts"),
        ):
            order = order_of(here, **chosen)
            figures = {"path": here.address("votes/smiling"), "votes": 4_000_000, "limit": 1.0}
            with refused(ReadError, "too_little_memory", **figures) as caught:
                cluster.run(train, order, name="smiling", deadline=60)
            assert caught.value.fields["remedy"].code == remedy
            assert caught.value.fields["needed"] > 1.0
        little = order_of(here, attribute="little")
        assert cluster.run(train, little, name="little", deadline=60).result.rows["read"] == 80


def test_part_by_part_needs_a_fraction_of_the_memory():
    n = 100_000_000
    assert memory_needed(FIXED, n, by_parts=True) < 10 * 2**30
    assert memory_needed(FIXED, n, by_parts=False) > 4 * memory_needed(FIXED, n, by_parts=True)
