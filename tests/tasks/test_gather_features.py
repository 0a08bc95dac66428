"""The features of the items voted on, and the true order where somebody knows it."""

import pandas as pd
import pytest
from refusals import refused
from stored_votes import put

from tasks.gather import digest_of, gather_features, gather_truth, rows_of
from tasks.read import ReadError
from tasks.store import Store
from urlr.votes.table import vote_table

VOTES = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "c"]})


@pytest.fixture
def here(tmp_path) -> Store:
    return Store.at(tmp_path / "store")


def parquet(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def features(store: Store, votes: pd.DataFrame, **parts: object):
    listed = [put(store, f"features/{name.replace('_', '.')}", c) for name, c in parts.items()]
    return gather_features(store, listed, votes)


def test_only_rows_of_items_voted_on_are_kept(here):
    _, table = features(here, VOTES, a_csv="item,x\na,1\nz,2\n", b_csv="x,item\n3,c\n4,y\n")
    assert table.sort_values("item").to_dict("list") == {"item": ["a", "c"], "x": [1, 3]}
    assert gather_features(here, [], VOTES)[1] is None


def test_features_and_votes_may_differ_in_the_type_of_ids(here):
    votes = pd.DataFrame({"winner": ["7", "8"], "loser": ["8", "9"]})
    matched, table = features(here, votes, a_parquet=parquet(item=[7, 9], x=[1.0, 2.0]))
    assert table["item"].tolist() == [7, 9]
    reasons = vote_table(matched, known_items=pd.Index(table["item"])).reasons
    assert {why.code: count for why, count in reasons.items()} == {"item_without_features": 2}
    numbers = pd.DataFrame({"winner": [7], "loser": [8]})
    assert features(here, numbers, a_csv="item,x\n7,1\n8,2\n")[1]["item"].tolist() == [7, 8]


MIXED = {"a_csv": "item,x\n1,0.5\n2,1.5\n", "b_parquet": parquet(item=[3, 4], x=[2.5, 3.5])}


@pytest.mark.parametrize("names", [("a_csv", "b_parquet"), ("b_parquet", "a_csv")])
@pytest.mark.parametrize("form", [int, str])
def test_parts_may_differ_in_the_type_of_ids_whichever_comes_first(here, names, form):
    votes = pd.DataFrame({"winner": [1, 2, 3, 4], "loser": [2, 3, 4, 1]}).map(form)
    matched, table = features(here, votes, **{name: MIXED[name] for name in names})
    assert sorted(table["item"].tolist()) == [1, 2, 3, 4]
    assert vote_table(matched, known_items=pd.Index(table["item"])).reasons == {}


def test_a_part_about_other_items_does_not_decide_on_the_type(here):
    votes = pd.DataFrame({"winner": ["3"], "loser": ["4"]})
    parts = {"a_csv": "item,x\n007,1\nx,2\n", "b_parquet": MIXED["b_parquet"]}
    matched, table = features(here, votes, **parts)
    assert table["item"].tolist() == [3, 4]
    assert matched["winner"].tolist() == [3]


def test_ids_stay_apart_when_not_all_are_plain_numbers(here):
    votes = pd.DataFrame({"winner": ["1", "007"], "loser": ["2", "1"]})
    matched, table = features(
        here, votes, a_csv="item,x\n1,1\n007,2\n", b_parquet=MIXED["b_parquet"]
    )
    assert matched is votes
    assert table["item"].tolist() == ["1", "007"]


@pytest.mark.parametrize(
    ("parts", "name", "code", "fields"),
    [
        (
            {"a_csv": "item,x\na,1\n", "b_csv": "item,y\nb,1\n"},
            "b.csv",
            "parts_differ",
            {"columns": "x, y"},
        ),
        ({"a_csv": "item,x\n"}, "a.csv", "no_items_in_file", {}),
        ({"a_csv": "id,x\na,1\n"}, "a.csv", "no_item_column", {"found": "id, x"}),
        ({"a_csv": "item,x\nA,1\n"}, "a.csv", "no_item_has_features", {"count": 3}),
        (
            {"a_csv": "item,x\na,1\nb,2\nc,oops\n"},
            "a.csv",
            "text_among_numbers",
            {"rows": 1, "column": "x"},
        ),
        ({"a_parquet": b"PAR1"}, "a.parquet", "parquet_cut_off", {}),
    ],
)
def test_features_that_cannot_be_used_are_named_in_one_line(here, parts, name, code, fields):
    with refused(ReadError, code, **fields) as caught:
        features(here, VOTES, **parts)
    assert caught.value.fields["path"].endswith(f"/{name}")
    assert str(caught.value).isprintable()


def test_without_a_vote_no_features_are_needed(here):
    votes = VOTES.head(0)
    assert features(here, votes, a_csv="item,x\na,1\n")[1] is None


def test_a_part_is_read_anew_when_it_changed(here):
    assert features(here, VOTES, a_csv="item,x\na,1\n")[1]["x"].tolist() == [1]
    assert features(here, VOTES, a_csv="item,x\na,2.5\n")[1]["x"].tolist() == [2.5]


def test_the_first_rows_of_a_part_are_those_of_the_file(here):
    part = put(here, "features/a.csv", "item,x\na,1\nb,2\nc,3\n")
    assert rows_of(here, [part], pd.Index(["b", "a"]), 2)["item"].tolist() == ["a", "b"]


def test_the_digest_minds_neither_the_order_of_rows_nor_other_items(here):
    one = features(here, VOTES, a_csv="item,x\na,1\nb,2\nc,3\n")[1]
    other = features(here, VOTES, a_csv="item,x\nz,9\nc,3\nb,2\n", b_csv="item,x\na,1.0\n")[1]
    assert digest_of(one) == digest_of(other)


def test_the_digest_minds_no_addresses_of_pictures(here):
    before, after = (
        digest_of(features(here, VOTES, a_csv=f"item,x,url\na,1,{address}\nb,2,\nc,3,\n")[1])
        for address in (
            "https://pictures.example/a?signed=1",
            "https://pictures.example/a?signed=2",
        )
    )
    assert before == after


@pytest.mark.parametrize(
    "changed",
    [
        "item,x\na,1\nb,2\nc,4\n",
        "item,y\na,1\nb,2\nc,3\n",
        "item,x\na,1\nb,2\n",
        "item,x\na,1\nb,2\nc,\n",
        "item,x,y\na,1,1\nb,2,1\nc,3,1\n",
        "item,x\na,2\nb,1\nc,3\n",
    ],
)
def test_the_digest_sees_every_change_of_a_voted_item(here, changed):
    before = digest_of(features(here, VOTES, a_csv="item,x\na,1\nb,2\nc,3\n")[1])
    assert digest_of(features(here, VOTES, a_csv=changed)[1]) != before
    assert digest_of(None) != before


def test_the_digest_tells_a_number_from_its_text():
    numbers = pd.DataFrame({"item": [7, 8], "x": [1.0, 2.0]})
    assert digest_of(numbers) != digest_of(numbers.assign(item=["7", "8"]))


def test_the_truth_may_lie_in_parts(here):
    parts = [
        put(here, "truth/smiling/1.csv", "item,score,who\na,1,x\nb,,y\n"),
        put(here, "truth/smiling/2.csv", "item,score\nc,2.5\n"),
    ]
    assert gather_truth(here, parts).to_dict("list") == {"item": ["a", "c"], "score": [1.0, 2.5]}
    assert gather_truth(here, []) is None


@pytest.mark.parametrize(
    ("content", "code", "fields"),
    [
        ("item,rank\na,1\n", "truth_lacks_columns", {"columns": "score"}),
        ("a,b\na,1\n", "truth_lacks_columns", {"columns": "item and no score"}),
        ("item,score\na,high\n", "truth_is_no_number", {}),
    ],
)
def test_a_truth_that_cannot_be_used_is_named(here, content, code, fields):
    part = put(here, "truth/smiling/1.csv", content)
    with refused(ReadError, code, path=here.address(part.key), **fields):
        gather_truth(here, [part])
