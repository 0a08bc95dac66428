"""Votes: every row accounted for, ids never merged."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from urlr import VoteError, comparison_graph, vote_table
from urlr.messages import message
from urlr.votes.table import REASONS, SKIPPED, STATUSES, TIE, USED


def canonical(rows, **columns):
    frame = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome"])
    return frame.assign(**columns)


def reason_of(votes, row, **kwargs):
    table = vote_table(votes, **kwargs)
    return STATUSES[table.status[row]], REASONS[table.reason[row]]


def test_two_layouts_say_the_same():
    canon = canonical([("x", "y", "a"), ("x", "z", "b")])
    plain = pd.DataFrame({"winner": ["x", "z"], "loser": ["y", "x"]})
    one, other = vote_table(canon), vote_table(plain)
    assert list(one.items) == list(other.items)
    np.testing.assert_array_equal(one.winner, other.winner)
    np.testing.assert_array_equal(one.loser, other.loser)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("x", "x", "a"), message("self_comparison")),
        (("x", "y", "left"), message("unknown_outcome")),
        (("x", "y", None), message("unknown_outcome")),
        ((None, "y", "a"), message("missing_item")),
        (("x", np.nan, "a"), message("missing_item")),
        (("", "y", "a"), message("empty_item_id")),
        (("x", "  ", "tie"), message("empty_item_id")),
        ((1.5, "y", "a"), message("unusable_item_id")),
        ((True, "y", "a"), message("unusable_item_id")),
        ((("x",), "y", "a"), message("unusable_item_id")),
    ],
)
def test_bad_row_is_rejected_with_its_reason(row, reason):
    votes = canonical([("x", "y", "a"), row])
    assert reason_of(votes, 0) == ("used", "")
    assert reason_of(votes, 1) == ("rejected", reason)
    kept = vote_table(votes).rejected
    assert kept["reason"].tolist() == [reason]
    assert kept.index.tolist() == [1]


@pytest.mark.parametrize(
    ("weight", "status", "reason"),
    [
        (np.nan, "rejected", message("unusable_weight")),
        (np.inf, "rejected", message("unusable_weight")),
        (-1.0, "rejected", message("unusable_weight")),
        ("heavy", "rejected", message("unusable_weight")),
        (1e300, "rejected", message("weight_out_of_range")),
        (1e-300, "rejected", message("weight_out_of_range")),
        (0.0, "skipped", message("zero_weight")),
        (2.5, "used", ""),
        ("2.5", "used", ""),
    ],
)
def test_weights_are_read_and_judged(weight, status, reason):
    votes = canonical([("x", "y", "a"), ("x", "y", "b")], weight=[1.0, weight])
    assert reason_of(votes, 1) == (status, reason)


def test_repeated_vote_id_keeps_the_first_vote_that_counts():
    votes = canonical(
        [("x", "x", "a"), ("x", "y", "a"), ("x", "y", "b"), ("y", "z", "a"), ("y", "z", "b")],
        vote_id=["one", "one", "one", None, None],
    )
    statuses = [STATUSES[status] for status in vote_table(votes).status]
    assert statuses == ["rejected", "used", "rejected", "used", "used"]
    assert reason_of(votes, 2) == ("rejected", message("repeated_vote_id"))


def test_votes_on_items_without_features_are_rejected():
    votes = canonical([("x", "y", "a"), ("x", "q", "a")])
    known = pd.Index(["x", "y"])
    lacking = message("item_without_features")
    assert reason_of(votes, 1, known_items=known) == ("rejected", lacking)


def test_skips_and_ties_are_told_apart():
    votes = canonical([("x", "y", "skip"), ("x", "y", "tie"), ("x", "y", " A ")])
    assert vote_table(votes).status.tolist() == [SKIPPED, TIE, USED]


def test_seven_and_text_seven_and_double_o_seven_are_three_items():
    votes = pd.DataFrame({"winner": [7, "7", "007"], "loser": ["x", "x", "x"]}, dtype=object)
    assert list(vote_table(votes).items) == [7, "007", "7", "x"]


def test_integer_column_with_a_gap_still_names_whole_numbers():
    votes = pd.DataFrame({"winner": [1.0, np.nan, 3.0], "loser": [2, 2, 2]})
    table = vote_table(votes)
    assert list(table.items) == [1, 2, 3]
    assert table.counts["rejected"] == 1


def test_number_ids_do_not_match_text_features():
    votes = pd.DataFrame({"winner": [1, 2], "loser": [2, 3]})
    table = vote_table(votes, known_items=pd.Index(["1", "2", "3"]))
    assert table.counts["rejected"] == 2


@pytest.mark.parametrize(
    "ids",
    [
        ["é", "e", "日本", "👩\u200d🚀", "👩🚀"],
        ["a" * 10_000, "a" * 9_999 + "b", "a a", "a", "A", "7.0", "007"],
        [2**62, -(2**62), 0, 1],
        [2**70, 2**70 + 1, 1, 2],
        pd.Categorical(["b", "a", "c", "d"]),
    ],
)
def test_unusual_ids_stay_distinct(ids):
    values = list(ids)
    votes = pd.DataFrame({"winner": ids, "loser": values[1:] + values[:1]})
    assert set(vote_table(votes).items) == set(values)


@pytest.mark.parametrize(
    ("votes", "code", "fields"),
    [
        (pd.DataFrame({"a": [1]}), "lacking_vote_columns", {"names": ["a"]}),
        (pd.DataFrame({"winner": [1]}), "lacking_vote_columns", {"names": ["winner"]}),
        (pd.DataFrame({"winner": [1], "loser": [2], "outcome": ["a"]}), "mixed_layouts", {}),
        (
            pd.DataFrame([[1, 2, 3]], columns=["winner", "loser", "loser"]),
            "repeated_vote_columns",
            {"names": ["loser"]},
        ),
        (
            pd.DataFrame({"winner": [1, 1], "loser": [2, 2], "attribute": ["s", "t"]}),
            "several_attributes",
            {"count": 2, "names": ["s", "t"]},
        ),
    ],
)
def test_unreadable_table_is_refused_and_says_what_is_needed(votes, code, fields):
    with refused(VoteError, code, **fields):
        vote_table(votes)


def test_votes_must_be_a_frame():
    with refused(VoteError, "votes_not_a_table", kind="list"):
        vote_table([("x", "y")])


@pytest.mark.parametrize("columns", [["winner", "loser"], ["item_a", "item_b", "outcome"]])
def test_no_votes_at_all_is_said(columns):
    with refused(VoteError, "no_votes"):
        comparison_graph(pd.DataFrame(columns=columns))


def test_nothing_usable_lists_the_reasons():
    votes = canonical([("x", "x", "a"), ("x", "y", "?"), ("x", "y", "skip")])
    reasons = ("skipped_by_annotator", "unknown_outcome", "self_comparison")
    counted = {message(code): 1 for code in reasons}
    with refused(VoteError, "no_usable_vote", n_rows=3, reasons=counted):
        comparison_graph(votes)


cells = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from(["", " ", "x", "y", "1", "01", "\u0000"]),
    st.floats(allow_nan=True),
    st.booleans(),
    st.text(max_size=3),
)
outcomes = st.sampled_from(["a", "b", "tie", "skip", "A", "", None, "draw", 1])
weights = st.one_of(st.none(), st.floats(), st.sampled_from([0, 1, "1", "x"]))


@given(st.lists(st.tuples(cells, cells, outcomes, weights, cells), max_size=30))
def test_every_row_is_accounted_for(rows):
    columns = ["item_a", "item_b", "outcome", "weight", "vote_id"]
    votes = pd.DataFrame(rows, columns=columns, dtype=object)
    table = vote_table(votes)
    counts = table.counts
    parts = counts["used"] + counts["ties"] + counts["skipped"] + counts["rejected"]
    assert counts["read"] == len(rows) == parts
    assert len(table.rejected) == counts["rejected"]
    assert (table.reason[(table.status == USED) | (table.status == TIE)] == 0).all()
    assert (table.reason[(table.status != USED) & (table.status != TIE)] > 0).all()
    counted = (table.status == USED) | (table.status == TIE)
    first, second = table.names()
    for row in np.flatnonzero(counted):
        for code, name in ((table.winner, first), (table.loser, second)):
            item = table.items[code[row]]
            assert item == name.iloc[row]
            assert isinstance(item, str) == isinstance(name.iloc[row], str)


@pytest.mark.parametrize("header", ["item_a,item_b,outcome", "Item_A,Item_B,Outcome"])
def test_a_header_amid_the_votes_is_no_vote(header):
    lines = f"{header}\na,b,a\n{header}\nb,c,b\n"
    read = vote_table(pd.read_csv(io.StringIO(lines)))
    assert read.counts["rejected"] == 1
    assert {why.code for why in read.reasons} == {"header_row"}
    assert list(read.items) == ["a", "b", "c"]
