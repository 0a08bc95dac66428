"""Files that decode to more than any memory are refused unread, within 200 MB."""

import gzip
import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from bombs import (
    MILLION,
    PROCESSOR,
    Read,
    gzip_of_zeros,
    parquet,
    read_elsewhere,
    repeated,
    with_groups_again,
)
from cases import passed
from judge import Seen
from refusals import refused

from tasks.discover import Source
from tasks.gather import gather_votes
from tasks.large_votes import survey
from tasks.limits import LARGEST_TEXT, LONGEST_LINE, ReadError, check_lines, unpacked
from tasks.parquet_limits import LARGEST_TABLE
from tasks.read import table_of
from tasks.store import Store

GROWTH = 200 << 20


def other_ids() -> pa.Array:
    return pa.array(np.full(MILLION, 7))


def text_in(column: str, cells: pa.Array) -> bytes:
    return parquet(pa.table({"winner": other_ids(), "loser": other_ids(), column: cells}))


def lists_of_text() -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.arange(MILLION + 1, dtype=np.int32)), repeated())


def long_embeddings(doublings: int) -> bytes:
    """A list of a million zeros, in 2**doublings rows."""
    zeros = pa.array(np.zeros(MILLION))
    cell = pa.ListArray.from_arrays(pa.array([0, MILLION], pa.int32()), zeros)
    return with_groups_again(parquet(pa.table({"item": ["a"], "embedding": cell})), doublings)


def shared_beginnings(doublings: int) -> bytes:
    """Eight texts of a million signs that begin alike, and are stored so, in every row group."""
    written = parquet(
        pa.table({"winner": ["x" * MILLION] * 8}),
        use_dictionary=False,
        column_encoding={"winner": "DELTA_BYTE_ARRAY"},
        compression="zstd",
    )
    return with_groups_again(written, doublings)


def records_of_text() -> pa.Array:
    return pa.StructArray.from_arrays([repeated()], ["x"])


def features_of(items: pa.Array) -> bytes:
    return parquet(pa.table({"item": items, "x": other_ids()}))


def header(count: int) -> str:
    return ",".join(f"c{k}" for k in range(count))


def parquet_columns(count: int) -> bytes:
    one = pa.array([1.0])
    return parquet(pa.table({f"c{k}": one for k in range(count)}), compression="none")


def own_key_per_line(count: int) -> str:
    return "".join(f'{{"winner": 1, "loser": 2, "k{k}": 1}}\n' for k in range(count))


def keys(count: int) -> str:
    return json.dumps({f"k{k}": 1 for k in range(count)})


def rows(doublings: int) -> bytes:
    """A million votes that say the same, 2**doublings times."""
    votes = {name: pa.array(np.full(MILLION, name)) for name in ("winner", "loser")}
    return with_groups_again(parquet(pa.table(votes)), doublings)


def zeros() -> bytes:
    return gzip_of_zeros(10 << 30)


LONG = "x" * (60 << 20)
TOO_MUCH = "decodes_to_too_much"
BOMBS: dict[str, tuple[str, str, Callable[[], bytes | str | int], str, str]] = {
    "zeros": ("votes", "csv.gz", zeros, "gzip_bomb", "100"),
    "zeros as lines": ("votes", "jsonl.gz", zeros, "gzip_bomb", "100"),
    "zeros as records": ("records", "json.gz", zeros, "gzip_bomb", "100"),
    "packed twice": ("votes", "csv.gz", lambda: gzip.compress(zeros()), "gzip_twice", ""),
    "ids": ("votes", "parquet", lambda: text_in("annotator", repeated()), TOO_MUCH, "annotator"),
    "extra": ("votes", "parquet", lambda: text_in("note", repeated()), TOO_MUCH, "note"),
    "gaps": ("votes", "parquet", lambda: text_in("note", repeated(empty=5)), TOO_MUCH, "note"),
    "lists": ("votes", "parquet", lambda: text_in("tags", lists_of_text()), TOO_MUCH, "tags"),
    "records": ("votes", "parquet", lambda: text_in("tags", records_of_text()), TOO_MUCH, "tags"),
    "items": ("pieces", "parquet", lambda: features_of(repeated()), TOO_MUCH, "item"),
    "embeddings": ("features", "parquet", lambda: long_embeddings(10), TOO_MUCH, "embedding"),
    "embeddings in pieces": (
        "pieces",
        "parquet",
        lambda: long_embeddings(10),
        "embedding_too_long",
        "1,000,000",
    ),
    "shared beginnings": ("votes", "parquet", lambda: shared_beginnings(10), TOO_MUCH, "winner"),
    "Parquet columns": (
        "votes",
        "parquet",
        lambda: parquet_columns(20_001),
        "too_many_columns",
        "20,001",
    ),
    "a footer": ("votes", "parquet", lambda: parquet_columns(40_001), "footer_too_long", "20,000"),
    "128 million rows": ("night", "parquet", lambda: rows(7), "too_little_memory", "128,000,000"),
    "a billion rows": ("night", "parquet", lambda: rows(10), "too_many_rows", "1,024,000,000"),
    "a gigabyte": ("votes", "csv", lambda: 1 << 30, "text_too_large", "1,073,741,824"),
    "a gigabyte of records": (
        "records",
        "jsonl",
        lambda: 1 << 30,
        "text_too_large",
        "1,073,741,824",
    ),
    "a cell": (
        "votes",
        "csv",
        lambda: f"winner\na\n{LONG}\n",
        "line_too_long",
        f"{60 << 20:,} bytes in line 3",
    ),
    "a cell in quotes": ("votes", "csv", lambda: f'winner\n"{LONG}"\n', "line_too_long", "line 2"),
    "a line": ("votes", "jsonl", lambda: f'{{"winner": "{LONG}"}}', "line_too_long", "line 1"),
    "a line of records": (
        "records",
        "jsonl",
        lambda: f'{{"a": "{LONG}"}}',
        "line_too_long",
        "line 1",
    ),
    "columns": ("votes", "csv", lambda: header(400_000), "too_many_columns", "400,000"),
    "a header": ("votes", "csv", lambda: header(MILLION), "line_too_long", "line 1"),
    "keys": ("votes", "jsonl", lambda: keys(100_000), "too_many_columns", "100,000"),
    "a key per line": ("votes", "jsonl", lambda: own_key_per_line(19_000), "rows_lack_columns", ""),
    "nested": ("votes", "jsonl", lambda: '{"a":' * 200_000, "invalid_json", "line 1"),
    "nested records": ("records", "json", lambda: "[" * MILLION, "not_json", ""),
    "a config": ("config", "xml", lambda: "<a>" * MILLION, "text_too_large", "3,000,000"),
    "a mapping": ("mapping", "toml", lambda: "a = [" * MILLION, "text_too_large", "5,000,000"),
}
"""By name: how it is read, its ending, its content (or its size), and of the refusal its code and a
figure or name that it gives.

What is read as votes by the commands is read in a night too.
"""


@pytest.fixture(scope="module")
def reads(tmp_path_factory) -> dict[str, Read]:
    place = tmp_path_factory.mktemp("bombs")
    orders = {}
    for number, (name, (by, ending, made, *_)) in enumerate(BOMBS.items()):
        folder = place / str(number) / "votes" / "smiling"
        folder.mkdir(parents=True)
        path, content = folder / f"1.{ending}", made()
        if isinstance(content, int):
            with path.open("wb") as file:
                file.truncate(content)  # takes no room on the disk
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        orders[name] = (by, path)
        if by == "votes":
            orders[f"{name}, in a night"] = ("night", path)
    return read_elsewhere(orders)


@pytest.mark.full
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_200_mb_and_a_limit_of_the_processor(reads, name):
    ways = [read for told, read in reads.items() if told in (name, f"{name}, in a night")]
    *_, code, given = BOMBS[name]
    for read in ways:
        assert read.code == code
        assert given in read.said
        assert read.said.endswith(".")
        assert read.said.isprintable()
        assert read.growth <= GROWTH, read
    outcome = f"refused within {PROCESSOR} s of the processor and 200 MB"
    if len(ways) > 1:
        outcome += ", by commands and in a night"
    passed("bombs", name, Seen(outcome, ways[0].said))


def test_text_that_packs_well_is_read_as_long_as_it_is_small():
    text = b"winner,loser\n" + b"a,b\n" * MILLION
    packed = gzip.compress(text)
    assert len(text) > 100 * len(packed)
    assert unpacked(packed, "v.csv.gz") == text
    assert unpacked(packed + packed + bytes(9), "v.csv.gz") == text + text


def test_what_unpacks_to_more_than_text_may_have_is_refused_whatever_its_ratio():
    packed = gzip.compress(np.random.default_rng(0).bytes(3000))
    assert len(unpacked(packed, "v.csv.gz", most=3000)) == 3000
    with refused(ReadError, "unpacked_text_too_large", most=2999):
        unpacked(packed, "v.csv.gz", most=2999)


def surveyed(store: Store, dumps: list[Source], *, attribute: str) -> None:
    """As votes are read that are worked on part by part."""
    survey(store, dumps, attribute=attribute, as_of=None, n_rows=1)


@pytest.mark.parametrize("reading", [gather_votes, surveyed])
def test_votes_in_a_store_are_refused_before_they_are_fetched(tmp_path, monkeypatch, reading):
    (tmp_path / "votes" / "a").mkdir(parents=True)
    with (tmp_path / "votes" / "a" / "1.csv").open("wb") as file:
        file.truncate(LARGEST_TEXT + 1)
    store = Store.at(tmp_path)
    dumps = [Source.of(found) for found in store.list("votes")]
    for name in ("read", "read_span"):
        monkeypatch.delattr(Store, name)
    with refused(ReadError, "text_too_large", size=268_435_457) as caught:
        reading(store, dumps, attribute="a")
    assert caught.value.fields["remedy"].code == "use_parquet"
    assert "1.csv" in str(caught.value)


@pytest.mark.parametrize("at", [0, 1])
def test_the_longest_line_is_the_longest(at):
    text = b"a\n" * 3 + b"x" * (LONGEST_LINE + at) + b"\nb\n" * 2
    if at == 0:
        check_lines(text, "v.csv")
        return
    with refused(ReadError, "line_too_long", size=4_194_305, line=4):
        check_lines(text, "v.csv")


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None])
def test_texts_are_read_however_they_are_stored(encoding):
    """Enough of them that each row group is looked at first."""
    texts = [f"{'long' * 50}-{k}" for k in range(4000)] * 2
    told = {} if encoding is None else {"use_dictionary": False, "column_encoding": encoding}
    table = pa.table({"winner": [None, *texts], "tags": [None, *([text] for text in texts)]})
    data = parquet(table, row_group_size=3000, **told)
    read = table_of(data, "v.parquet")
    assert read["winner"].tolist()[1:] == texts
    assert [list(cell) for cell in read["tags"].tolist()[1:]] == [[text] for text in texts]


def test_texts_repeated_no_more_than_a_table_may_hold_are_read():
    """Beside one long text that most rows do not repeat, the bytes are counted exactly."""
    codes = np.zeros(8000, np.int32)
    codes[0] = 1
    texts = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["a", "x" * MILLION]))
    assert len(codes) * MILLION > LARGEST_TABLE
    assert len(table_of(parquet(pa.table({"winner": texts})), "v.parquet")) == 8000
