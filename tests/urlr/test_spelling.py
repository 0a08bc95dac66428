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
from urlr.spelling import alike, clean_column, cleaned

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
    assert read_ids(pd.Series(column, dtype="str")).values.tolist() == ids


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
