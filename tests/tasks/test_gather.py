"""Dumps of all kinds become one table of votes, and features one table of the items voted on."""

import io
import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from stored_votes import put, source

from tasks.gather import (
    LATER,
    UNDATED,
    Gathered,
    gather_votes,
)
from tasks.read import ReadError
from tasks.store import Changed, Store
from urlr.errors import UrlrError
from urlr.votes.table import vote_table


@pytest.fixture
def here(tmp_path) -> Store:
    return Store.at(tmp_path / "store")


def gathered(store: Store, dumps: dict[str, object], **options) -> Gathered:
    """Put dumps, and gather them as they are listed."""
    listed = [put(store, f"votes/smiling/{name}", content) for name, content in dumps.items()]
    return gather_votes(store, listed, attribute="smiling", **options)


def parquet(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def refusal(store: Store, dumps: dict[str, object]) -> ReadError:
    with pytest.raises(ReadError) as caught:
        gathered(store, dumps)
    text = str(caught.value)
    assert text.isprintable()
    assert "votes/smiling/bad" in text
    return caught.value


def test_both_layouts_go_together(here):
    found = gathered(
        here,
        {
            "1.csv": "winner,loser,annotator\na,b,ann\nc,a,bob\n",
            "2.csv": "item_a,item_b,outcome\na,b,b\nb,c,tie\na,c,skip\n",
        },
    )
    table = vote_table(found.votes)
    assert found.rows == {"votes/smiling/1.csv": 2, "votes/smiling/2.csv": 3}
    assert table.counts == {"read": 5, "used": 3, "ties": 1, "skipped": 1, "rejected": 0}
    winner, loser = table.names()
    assert list(zip(winner, loser, strict=True))[:3] == [("a", "b"), ("c", "a"), ("b", "a")]


def test_every_row_knows_its_dump_and_its_row_there(here):
    found = gathered(
        here,
        {
            "1.csv": "winner,loser,row\na,b,x\nc,a,y\n",
            "2.jsonl": '{"winner": "b", "loser": "c", "dump": "mine"}\n',
        },
    )
    assert found.votes["dump"].tolist() == ["votes/smiling/1.csv"] * 2 + ["votes/smiling/2.jsonl"]
    assert found.votes["row"].tolist() == [1, 2, 1]
    assert found.votes["row_given"].tolist()[:2] == ["x", "y"]
    assert found.votes["dump_given"].tolist()[2] == "mine"
    assert found.votes.index.equals(pd.RangeIndex(3))


def test_ids_that_one_format_gives_as_text_are_the_numbers_of_the_other(here):
    found = gathered(
        here,
        {
            "1.csv": "winner,loser,annotator,vote_id\n7,8,1,100\n9,7,2,101\n",
            "2.parquet": parquet(winner=[7, 9], loser=[9, 8], annotator=[1, 3], vote_id=[100, 7]),
        },
    )
    table = vote_table(found.votes)
    assert table.items.tolist() == [7, 8, 9]
    assert table.reasons == {"repeated vote_id": 1}
    assert set(found.votes["annotator"]) == {1, 2, 3}


def test_ids_with_leading_zeros_stay_text(here):
    found = gathered(
        here,
        {"1.csv": "winner,loser\n007,8\n", "2.parquet": parquet(winner=[7], loser=[8])},
    )
    assert set(vote_table(found.votes).items) == {"007", "8", 7, 8}


def test_columns_of_differing_types_keep_their_cells(here):
    found = gathered(
        here,
        {
            "1.csv": "winner,loser,weight,note\na,b,2,5\n",
            "2.jsonl": '{"winner": "a", "loser": "c", "weight": 0.5, "note": ["x"]}\n',
            "3.csv": "winner,loser\nb,c\n",
        },
    )
    assert vote_table(found.votes).weight.tolist()[:2] == [2.0, 0.5]
    assert found.votes["note"].tolist()[:2] == [5, ["x"]]


def test_a_dump_without_weights_counts_beside_one_with_them(here):
    found = gathered(
        here,
        {"1.csv": "winner,loser\na,b\nb,c\n", "2.csv": "winner,loser,weight\na,c,2\nb,a,\n"},
    )
    table = vote_table(found.votes)
    assert table.weight.tolist() == [1.0, 1.0, 2.0, 0.0]
    assert {why.code: count for why, count in table.reasons.items()} == {"unusable_weight": 1}


def test_what_names_nobody_does_not_stop_the_ids_beside_it(here):
    found = gathered(
        here,
        {
            "1.jsonl": '{"winner": "7", "loser": true}\n{"winner": "8", "loser": "7"}\n',
            "2.parquet": parquet(winner=[7], loser=[9]),
        },
    )
    table = vote_table(found.votes)
    assert table.items.tolist() == [7, 8, 9]
    assert {why.code: count for why, count in table.reasons.items()} == {"unusable_item_id": 1}


def test_a_dump_of_only_a_header_is_fine(here):
    found = gathered(here, {"1.csv": "winner,loser\n", "2.csv": "winner,loser\na,b\n"})
    assert found.rows == {"votes/smiling/1.csv": 0, "votes/smiling/2.csv": 1}
    assert len(found.votes) == 1
    assert len(gathered(here, {"1.csv": "item_a,item_b,outcome,time\n"}).votes) == 0


def test_an_attribute_column_may_be_in_some_dumps_or_rows_only(here):
    found = gathered(
        here,
        {
            "1.csv": "winner,loser,attribute\na,b,smiling\nb,c,\n",
            "2.csv": "winner,loser\nc,a\n",
        },
    )
    assert vote_table(found.votes).counts["used"] == 3


def cut_parquet() -> bytes:
    buffer = io.BytesIO()
    parquet(winner=["a"], loser=["b"]).to_parquet(buffer)
    return buffer.getvalue()[:-20]


@pytest.mark.parametrize(
    ("name", "content", "code", "fields"),
    [
        ("bad.csv", b"", "no_bytes_in_file", {}),
        ("bad.parquet", cut_parquet(), "parquet_cut_off", {}),
        ("bad.csv.gz", b"\x1f\x8b\x08\x00", "damaged_gzip", {}),
        (
            "bad.csv",
            "winer,loser\na,b\n",
            "lacking_vote_columns",
            {"names": ["winer", "loser"]},
        ),
        (
            "bad.csv",
            "winner;loser\na;b\n",
            "separated_otherwise",
            {"separator": "semicolons"},
        ),
        ("bad.csv", "winner,loser,outcome\na,b,a\n", "mixed_layouts", {}),
        ("bad.csv", "winner,loser,loser\na,b,c\n", "repeated_vote_columns", {"names": ["loser"]}),
        (
            "bad.csv",
            "winner,loser\na,b\nc\n",
            "uneven_row",
            {"cells": 1, "line": 3, "width": 2},
        ),
        ("bad.jsonl", "[1]\n", "not_an_object", {"line": 1}),
        (
            "bad.csv",
            "winner,loser,attribute\na,b,smiling\na,b,young\nb,c,old\n",
            "rows_of_another_attribute",
            {"count": 2, "other": "young", "attribute": "smiling"},
        ),
    ],
)
def test_a_dump_that_cannot_be_used_is_named_in_one_line(here, name, content, code, fields):
    error = refusal(here, {"1.csv": "winner,loser\na,b\n", name: content})
    assert error.code == code
    assert {name: error.fields[name] for name in fields} == fields


def test_a_dump_that_is_replaced_after_it_was_listed_is_refused(store):
    listed = put(store, "votes/smiling/1.csv", "winner,loser\na,b\n")
    put(store, "votes/smiling/1.csv", "winner,loser\na,b\nb,a\n")
    where = store.address("votes/smiling/1.csv")
    with refused(Changed, "changed_after_listing", path=where):
        gather_votes(store, [listed], attribute="smiling")


# A night of the past

NIGHT = datetime(2026, 11, 2, 12, tzinfo=UTC)
BEFORE, AFTER = datetime(2026, 11, 2, 11, 59, tzinfo=UTC), datetime(2026, 11, 2, 12, 1, tzinfo=UTC)
PAIRS = "winner,loser,time\n"


def seconds(moment: datetime) -> int:
    return int(moment.timestamp())


TIMES = {
    "text": f"{PAIRS}a,b,2026-11-02T11:59:00Z\nb,c,2026-11-02T12:01:00+00:00\nc,d,\n",
    "text with another zone": f"{PAIRS}a,b,2026-11-02T13:59:00+02:00\nb,c,2026-11-02T11:01-01:00\n"
    "c,d,noon\n",
    "text without a zone": f"{PAIRS}a,b,2026-11-02 11:59:00\nb,c,2026-11-02 12:01:00\nc,d,\n",
    "seconds": f"{PAIRS}a,b,{seconds(BEFORE)}\nb,c,{seconds(AFTER)}\nc,d,\n",
    "milliseconds": f"{PAIRS}a,b,{seconds(BEFORE)}000\nb,c,{seconds(AFTER)}000\nc,d,20261102\n",
}


@pytest.mark.parametrize("kind", TIMES)
def test_votes_up_to_a_moment_count_and_the_others_are_counted(here, kind):
    found = gathered(here, {"1.csv": TIMES[kind]}, as_of=NIGHT)
    assert found.votes["winner"].tolist() == ["a"]
    assert found.left_out == {LATER: 1, UNDATED: 1}
    assert found.newest == BEFORE
    assert found.rows == {"votes/smiling/1.csv": 3}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_of_any_precision_are_read(here, unit):
    moments = pd.Series([BEFORE, AFTER, None]).astype(f"datetime64[{unit}, UTC]")
    table = parquet(winner=list("abc"), loser=list("bcd"), time=moments)
    found = gathered(here, {"1.parquet": table}, as_of=NIGHT)
    assert found.left_out == {LATER: 1, UNDATED: 1}
    assert found.newest == BEFORE


def test_dumps_may_write_times_in_different_ways(here):
    found = gathered(
        here,
        {
            "1.csv": TIMES["text"],
            "2.csv": TIMES["seconds"],
            "3.parquet": parquet(winner=["a"], loser=["c"], time=[pd.Timestamp(BEFORE)]),
            "4.csv": "winner,loser\nb,d\n",
            "5.csv": f"{PAIRS}a,b,2026-11-01\n",
        },
        as_of=NIGHT,
    )
    assert found.left_out == {LATER: 2, UNDATED: 3}
    assert len(found.votes) == 4
    assert found.newest == BEFORE


def test_times_that_cannot_be_are_no_times(here):
    """Nanoseconds and what is far off are kept from everything that cannot hold them."""
    exact = pd.Series([pd.Timestamp("2026-11-01T00:00:00.123456789Z")])
    assert gathered(here, {"1.parquet": parquet(winner=["a"], loser=["b"], time=exact)}).newest == (
        datetime(2026, 11, 1, microsecond=123456, tzinfo=UTC)
    )
    far = pd.Series(np.array([seconds(AFTER) * 1000]).astype("datetime64[s]"))
    found = gathered(here, {"1.parquet": parquet(winner=["a"], loser=["b"], time=far)}, as_of=NIGHT)
    assert found.left_out == {UNDATED: 1}
    assert found.newest is None


def test_votes_without_any_time_have_no_past(here):
    with refused(UrlrError, "votes_without_time"):
        gathered(here, {"1.csv": "winner,loser\na,b\n"}, as_of=NIGHT)
    assert gathered(here, {"1.csv": "winner,loser\na,b\n"}).newest is None


IDS = st.one_of(
    st.none(),
    st.integers(-5, 5),
    st.integers(),
    st.booleans(),
    st.floats(),
    st.sampled_from(["a", "b", "c", "", " ", "tie", "2026-11-02", "skip", "7", "007"]),
)
CELLS = IDS | st.lists(st.integers(), max_size=2)


@st.composite
def a_dump(draw) -> list[dict[str, object]]:
    """Rows of one layout; any of the other columns may be missing from any row."""
    items = draw(st.sampled_from([("winner", "loser"), ("item_a", "item_b", "outcome")]))
    named = st.fixed_dictionaries(dict.fromkeys(items, IDS))
    row = st.builds(
        lambda ids, people, other: {"time": None} | ids | people | other,
        named,
        st.dictionaries(st.sampled_from(["annotator", "vote_id"]), IDS),
        st.dictionaries(st.sampled_from(["time", "weight", "left", "seconds", "note"]), CELLS),
    )
    return draw(st.lists(row, min_size=1, max_size=6))


@settings(max_examples=25)
@given(dumps=st.lists(a_dump(), min_size=1, max_size=3), past=st.booleans())
def test_no_row_of_any_dump_is_lost(tmp_path_factory, dumps, past):
    """Rows in dumps = rows gathered + rows left out, and each of them has a status."""
    store = Store.at(tmp_path_factory.mktemp("messy"))
    contents = {
        f"{k}.jsonl": "".join(json.dumps(row) + "\n" for row in rows)
        for k, rows in enumerate(dumps)
    }
    found = gathered(store, contents, as_of=NIGHT if past else None)
    assert list(found.rows.values()) == [len(rows) for rows in dumps]
    counts = vote_table(found.votes).counts
    assert counts["read"] == sum(map(len, dumps)) - sum(found.left_out.values())
    assert counts["read"] == sum(counts.values()) - counts["read"]


def test_objects_are_found_as_they_are_listed(store):
    put(store, "votes/smiling/1.csv", "winner,loser\na,b\n")
    found = gather_votes(store, [source(store, "votes/smiling/1.csv")], attribute="smiling")
    assert len(found.votes) == 1


def test_one_gap_in_the_vote_ids_of_a_dump_hides_no_repeated_vote(here):
    votes = pd.DataFrame({"winner": ["a", "b", "c"], "loser": ["b", "c", "a"]})
    more = pd.concat([votes, votes.head(1)], ignore_index=True).assign(
        vote_id=[1.0, 2.0, 3.0, None]
    )
    found = gathered(here, {"1.parquet": votes.assign(vote_id=[1, 2, 3]), "2.parquet": more})
    assert vote_table(found.votes).counts["used"] == 4
