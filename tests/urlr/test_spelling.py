"""One spelling per id: nothing that nobody sees splits an item, a person or a vote in two."""

import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from urlr import VoteError, fit, vote_table
from urlr.ids import read_ids
from urlr.messages import message
from urlr.metrics import held_out_agreement
from urlr.spelling import alike, clean_column, cleaned, needless_points
from urlr.votes.table import with_clean_ids

UNSEEN = ["\ufeff", "\u200b", "\u2060", "\u00ad", "\x00", "\x1b", "\u200e", "\u202a", "\u0085"]
AROUND = [" ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", *UNSEEN]
names = st.text(min_size=1).filter(lambda text: cleaned([text]) != [""])


@given(names, st.lists(st.sampled_from(AROUND)), st.lists(st.sampled_from(AROUND)))
def test_what_stands_around_an_id_does_not_count(name, before, after):
    assert cleaned(["".join(before) + name + "".join(after)]) == cleaned([name])


@given(names, st.sampled_from(UNSEEN), st.data())
def test_what_nobody_sees_does_not_count_anywhere(name, unseen, data):
    name = cleaned([name])[0]
    place = data.draw(st.integers(0, len(name)))
    assert cleaned([name[:place] + unseen + name[place:]]) == [name]


@given(names)
def test_the_normal_form_does_not_count(name):
    forms = [unicodedata.normalize(form, name) for form in ("NFC", "NFD")]
    assert len(set(cleaned(forms))) == 1


@given(st.lists(st.text()))
def test_a_spelling_is_cleaned_once(texts):
    once = cleaned(texts)
    assert cleaned(once) == once


@given(st.lists(st.one_of(st.text(), st.none(), st.integers(), st.booleans()), min_size=1))
def test_a_column_keeps_its_gaps_and_what_is_no_text(cells):
    column = pd.Series(cells, dtype=object)
    clean, changed = clean_column(column)
    for cell, new, was in zip(cells, clean, changed, strict=True):
        assert was == (isinstance(cell, str) and cell != new)
        assert isinstance(cell, str) or new is cell


@given(st.lists(st.one_of(st.text(), st.none()), min_size=1))
def test_all_kinds_of_text_columns_agree(cells):
    expected, changed = clean_column(pd.Series(cells, dtype=object))
    for dtype in ("str", "category", "string[python]"):
        if dtype == "category" and len({text for text in cells if text}) == 0:
            continue
        clean, rows = clean_column(pd.Series(cells, dtype=dtype))
        assert clean.astype(object).where(clean.notna(), None).tolist() == expected.tolist()
        np.testing.assert_array_equal(rows, changed)


@pytest.mark.parametrize(
    ("column", "ids"),
    [
        (["20.0", "7.0", "20"], ["20", "7", "20"]),
        (["20.0", "7.0", None], ["20", "7", ""]),
        (["-3.0", "0.0", "0"], ["-3", "0", "0"]),
        (["1.00", "1"], ["1", "1"]),
        (["2.0", "2.1"], ["2.0", "2.1"]),
        (["20.0", "007"], ["20.0", "007"]),
        (["20.0", "cat"], ["20.0", "cat"]),
    ],
)
def test_a_needless_point_zero_goes_where_all_others_are_whole_numbers(column, ids):
    given = pd.Series(column, dtype="str")
    clean, _ = clean_column(given, points=needless_points([given]))
    assert read_ids(clean).values.tolist() == ids


def test_numbers_text_and_padded_numbers_stay_three_items():
    column = pd.Series([7, "7", "007"], dtype=object)
    assert read_ids(column).values.tolist() == [7, "7", "007"]


def test_an_id_of_unseen_signs_alone_is_empty():
    assert read_ids(pd.Series(["\u200b", " \ufeff", "a"])).empty.tolist() == [True, True, False]


@pytest.mark.parametrize(
    "ids",
    [
        ["Cat", "cat"],
        ["7", 7],
        ["007", "7"],
        ["20.0", "20", "cat"],
        ["👩\u200d🚀", "👩🚀"],
        ["❤", "❤\ufe0f"],
        ["a b", "a\u00a0b"],
        ["Straße", "STRASSE"],
        ["ﬁg", "fig"],
    ],
)
def test_ids_that_look_alike_stay_apart_and_are_found(ids):
    assert len(set(read_ids(pd.Series(ids, dtype=object)).values)) == len(ids)
    assert alike(ids)[0][:2] == ids[:2]


def test_ids_that_differ_to_the_eye_are_not_alike():
    assert alike(["1", "10", "01x", "1x", "a", "b", "ab", "é", "e", "x0", "x"]) == []


def twins(rng: np.random.Generator, n: int = 400) -> pd.DataFrame:
    """Votes on 20 items by 10 people; every loser's id has a space before it."""
    score = rng.normal(size=20)
    pairs = np.array([rng.choice(20, 2, replace=False) for _ in range(n)])
    first = rng.random(n) < 1 / (1 + np.exp(score[pairs[:, 1]] - score[pairs[:, 0]]))
    winner, loser = np.where(first, *pairs.T), np.where(first, *pairs.T[::-1])
    who = rng.integers(10, size=n)
    return pd.DataFrame(
        {
            "winner": [f"{one}" for one in winner],
            "loser": [f" {one}" for one in loser],
            "annotator": [f"p{one}\u200b" if k % 2 else f"p{one}" for k, one in enumerate(who)],
            "vote_id": [f"v{k}" if k < n - 1 else "\ufeffv0" for k in range(n)],
        }
    )


def test_stray_signs_split_no_item_no_person_and_no_vote():
    votes = twins(np.random.default_rng(3))
    read = vote_table(votes)
    assert len(read.items) == 20
    assert read.respelled == {"item": 400, "annotator": 200, "vote_id": 1}
    assert read.counts == {"read": 400, "used": 399, "ties": 0, "skipped": 0, "rejected": 1}
    assert list(votes["loser"].str[0].unique()) == [" "], "what was given stays as it is"
    ranker = fit(votes)
    assert len(ranker.annotators) == 10
    assert set(ranker.verdicts["loser"]) <= set(ranker.scores["item"])
    assert {one.code for one in ranker.facts.warnings} >= {"respelled_ids"}
    plain = votes.assign(
        loser=votes["loser"].str.strip(), annotator=votes["annotator"].str.strip("\u200b")
    )
    pd.testing.assert_frame_equal(fit(plain).scores, ranker.scores)


def test_items_and_people_that_look_alike_are_warned_of():
    votes = twins(np.random.default_rng(4))
    votes.loc[:1, ["winner", "loser", "annotator"]] = ["Cat", "cat", "P1"]
    with refused(VoteError, "groups_never_compared") as error:
        fit(votes)
    assert message("alike_items", count=1, sets=['"Cat" and "cat"']) in str(error.value)
    votes.loc[1, "loser"] = "3"
    warned = {one.code: one.fields for one in fit(votes).facts.warnings}
    assert warned["alike_items"]["sets"] == ['"Cat" and "cat"']
    assert warned["alike_annotators"]["count"] == 1


def test_features_are_found_under_any_spelling():
    votes = twins(np.random.default_rng(5))
    features = pd.DataFrame({"item": [f"{k}.0\u00a0" for k in range(20)], "x": range(20)})
    assert fit(votes, features).facts.rows["used"] == 399


def pairs_of(ids: list[str], n: int = 200) -> pd.DataFrame:
    """Votes in which every item of the list wins and loses, but for the last, which wins alone."""
    rng = np.random.default_rng(5)
    pairs = np.array([rng.choice(len(ids), 2, replace=False) for _ in range(n)])
    first, second = pairs.T
    top = second == len(ids) - 1
    winner, loser = np.where(top, second, first), np.where(top, first, second)
    return pd.DataFrame({"winner": np.take(ids, winner), "loser": np.take(ids, loser)})


def test_a_fraction_in_one_column_keeps_the_points_of_the_other():
    votes = pairs_of(["1.0", "2.0", "3.0", "3.5"])
    assert "3.5" not in set(votes["loser"])
    read = vote_table(votes)
    assert sorted(read.items) == ["1.0", "2.0", "3.0", "3.5"]
    assert read.respelled == {}


def test_some_of_the_votes_have_the_items_of_all():
    ids = ["1.0", "2.0", "3.0", "3.5"]
    every = with_clean_ids(pairs_of(ids))
    some = every[(every["winner"] != "3.5") & (every["loser"] != "3.5")]
    assert set(vote_table(some).items) == {"1.0", "2.0", "3.0"}
    scores = pd.Series([0.0, 1.0, 2.0, 3.0], index=ids)
    assert 0.0 <= held_out_agreement(scores, some) <= 1.0


@pytest.mark.parametrize(
    ("voted", "known"),
    [
        (["1.0", "2.0", "3.0"], ["1", "2", "3", "4"]),
        (["1", "2", "3"], ["1.0", "2.0", "3.0", "4.0"]),
        (["1.0", "2.0", "3.0"], ["1.0", "2.0", "3.0", "3.5"]),
        (["1.0", "2.0", "3.0"], ["1.0", "2.0", "3.0", "cat"]),
    ],
)
@pytest.mark.parametrize("method", ["robust", "paper"])
def test_votes_and_features_are_read_alike(voted, known, method):
    features = pd.DataFrame({"size": np.arange(len(known)) ** 2.0}, index=known)
    ranker = fit(pairs_of(voted), features, method=method)
    assert ranker.facts.rows["used"] == 200
    assert len(ranker.scores) == len(known)
    assert ranker.score(features.iloc[:2]).notna().all()
    assert ranker.score(features.iloc[:1]).index[0] in set(ranker.scores["item"])


def test_whole_numbers_of_two_exports_are_the_same_votes():
    first = vote_table(
        pd.DataFrame({"winner": ["a"] * 3, "loser": ["b"] * 3, "vote_id": [1, 2, 3]})
    )
    second = pd.DataFrame({"winner": ["a"] * 3, "loser": ["b"] * 3, "vote_id": [1.0, 2.0, np.nan]})
    both = pd.concat([first.frame, with_clean_ids(second)], ignore_index=True)
    assert vote_table(both).rejections == {message("repeated_vote_id"): 2}


def test_a_header_row_leaves_the_other_ids_as_they_are():
    votes = pairs_of(["1.0", "2.0", "3.0"])
    votes.loc[len(votes)] = ["winner", "loser"]
    votes.loc[len(votes)] = ["WINNER", "LOSER"]
    read = vote_table(votes)
    assert set(read.items) == {"1", "2", "3"}
    assert read.rejections == {message("header_row"): 2}


def test_a_column_of_the_name_that_is_ours_is_left_alone():
    votes = pairs_of(["a", "b", "c"]).assign(respelled_ids="x")
    read = vote_table(votes)
    assert read.counts["used"] == 200
    assert read.unknown == ["respelled_ids_given"]


def test_items_that_only_look_like_those_with_features_are_named():
    features = pd.DataFrame({"size": [1.0, 4.0, 9.0]}, index=["a", "b", "c"])
    votes = pd.concat([pairs_of(["a", "b", "c"]), pairs_of(["A", "b", "c"], 30)])
    ranker = fit(votes.reset_index(drop=True), features)
    [found] = [text for text in ranker.facts.warnings if text.code == "alike_features"]
    assert found.fields["count"] == 1


@pytest.mark.parametrize("hidden", ["\U000e0041", "\ufff9", "\u3164"])
def test_signs_that_nobody_sees_and_that_stay_make_ids_alike(hidden):
    assert alike(["cat", f"cat{hidden}"])


def test_people_who_look_alike_are_named_by_the_papers_method_too():
    votes = pairs_of(["a", "b", "c"])
    votes["annotator"] = np.where(np.arange(len(votes)) % 2, "Ann", "ann")
    warnings = fit(votes, method="paper").facts.warnings
    assert "alike_annotators" in [text.code for text in warnings]


def test_an_outcome_counts_whatever_stands_around_it_unseen():
    votes = pd.DataFrame(
        {"item_a": ["x", "y"], "item_b": ["y", "z"], "outcome": ["a\u200b", "\ufeffB"]}
    )
    assert vote_table(votes).counts["used"] == 2


def test_what_was_on_the_left_and_is_neither_item_is_counted():
    votes = pairs_of(["a", "b", "c"])
    votes["left"] = votes["winner"]
    votes.loc[:4, "left"] = "d"
    [found] = [text for text in fit(votes).facts.warnings if text.code == "odd_sides"]
    assert found.fields == {"count": 5}
