"""The measures, against counting every pair by hand and against other libraries."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from refusals import refused
from scipy import stats
from sklearn.metrics import roc_auc_score

from urlr.errors import ArgumentError, VoteError
from urlr.metrics import (
    held_out_agreement,
    kendall_distance,
    kendall_tau,
    outlier_auc,
    tau_b,
    tau_distance,
    tau_top,
)


def numbered(values):
    """Scores of items 0, 1, 2, ..."""
    return pd.Series(values).rename_axis("item")


SCORES = pd.Series({"a": 3.0, "b": 2.0, "c": 1.0, "d": 1.0})


def votes_of(*pairs: str) -> pd.DataFrame:
    return pd.DataFrame({"winner": [p[0] for p in pairs], "loser": [p[1] for p in pairs]})


def wrongness(won: float, lost: float) -> float:
    return 0.5 if won == lost else float(won < lost)


few_values = st.integers(-3, 3).map(float)
score_pairs = st.lists(st.tuples(few_values, few_values), min_size=2, max_size=12)
some_votes = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(0, 5), st.integers(0, 3), st.sampled_from("xyz")
    ).filter(lambda vote: vote[0] != vote[1]),
    min_size=1,
    max_size=20,
)


# Against votes


def test_distance_of_a_hand_worked_case():
    assert kendall_distance(SCORES, votes_of("ab", "ba", "cd", "ac")) == (0 + 1 + 0.5 + 0) / 4


def test_distance_counts_weights():
    votes = votes_of("ab", "ba").assign(weight=[3.0, 1.0])
    assert kendall_distance(SCORES, votes) == 0.25


def test_ties_are_left_out():
    votes = votes_of("ab", "ba").assign(outcome=["a", "tie"])
    assert kendall_distance(SCORES, votes) == 0.0


def test_every_annotator_weighs_the_same():
    votes = votes_of("ab", "ba", "ca", "cb").assign(annotator=["x", "y", "y", "y"])
    assert kendall_distance(SCORES, votes, weigh="votes") == 0.75
    assert kendall_distance(SCORES, votes, weigh="annotators") == pytest.approx(0.5)


def test_votes_without_a_name_are_one_annotator():
    votes = votes_of("ab", "ba", "ca").assign(annotator=["x", None, None])
    assert kendall_distance(SCORES, votes, weigh="annotators") == pytest.approx(0.5)


@given(values=st.lists(few_values, min_size=6, max_size=6), rows=some_votes)
def test_distance_equals_counting_every_vote(values, rows):
    votes = pd.DataFrame(rows, columns=["winner", "loser", "weight", "annotator"])
    assume(votes["weight"].sum() > 0)
    scores = numbered(values)
    wrong = [wrongness(values[w], values[v]) for w, v, _, _ in rows]
    expected = np.average(wrong, weights=votes["weight"])
    assert kendall_distance(scores, votes) == pytest.approx(expected)
    votes["wrong"] = wrong
    each = [
        np.average(own["wrong"], weights=own["weight"])
        for _, own in votes.groupby("annotator")
        if own["weight"].sum() > 0
    ]
    assert kendall_distance(scores, votes, weigh="annotators") == pytest.approx(np.mean(each))


@given(values=st.lists(few_values, min_size=6, max_size=6), rows=some_votes)
def test_negating_scores_turns_distance_around(values, rows):
    votes = pd.DataFrame(rows, columns=["winner", "loser", "count", "annotator"])
    scores = numbered(values)
    assert kendall_distance(-scores, votes) == pytest.approx(1 - kendall_distance(scores, votes))
    assert kendall_tau(-scores, votes) == pytest.approx(-kendall_tau(scores, votes))


def test_tau_and_agreement_follow_from_distance():
    votes = votes_of("ab", "ba", "cd", "ac").assign(annotator=["x", "x", "x", "y"])
    for weigh in ("votes", "annotators"):
        distance = kendall_distance(SCORES, votes, weigh=weigh)
        assert kendall_tau(SCORES, votes, weigh=weigh) == 1 - 2 * distance
        assert held_out_agreement(SCORES, votes, weigh=weigh) == 1 - distance


def test_equal_scores_are_no_better_than_a_coin():
    assert kendall_distance(SCORES * 0, votes_of("ab", "cd", "da")) == 0.5


def test_splitting_a_weight_changes_nothing():
    whole = votes_of("ab", "ba").assign(weight=[2.0, 3.0])
    split = votes_of("ab", "ab", "ba", "ba").assign(weight=[0.5, 1.5, 1.0, 2.0])
    assert kendall_distance(SCORES, whole) == pytest.approx(kendall_distance(SCORES, split))


def test_categorical_votes_give_the_same_distance():
    votes = votes_of("ab", "ba", "cd")
    categorical = votes.astype(pd.CategoricalDtype(["z", "d", "c", "b", "a"]))
    assert kendall_distance(SCORES, categorical) == kendall_distance(SCORES, votes)


def test_a_number_is_not_its_text():
    with refused(VoteError, "votes_on_unscored_items", n_items=2):
        kendall_distance(
            pd.Series({"1": 1.0, "2": 2.0}), pd.DataFrame({"winner": [1], "loser": [2]})
        )


def test_an_item_without_score_is_counted_and_named():
    with refused(VoteError, "votes_on_unscored_items", count=2, n_votes=3, n_items=1, items=["e"]):
        kendall_distance(SCORES, votes_of("ab", "ae", "ed"))
    with refused(VoteError, "votes_on_unscored_items", count=1, n_votes=2, n_items=1):
        kendall_distance(SCORES.replace(3.0, np.nan), votes_of("ab", "bc"))


@pytest.mark.parametrize(
    ("votes", "code", "fields"),
    [
        (votes_of(), "no_weight", {"n_votes": 0}),
        (votes_of("ab").assign(outcome="tie"), "no_weight", {"n_votes": 0}),
        (votes_of("ab").assign(weight=0.0), "no_weight", {"n_votes": 1}),
        (
            votes_of("ab", "bc").assign(weight=[1.0, -1.0]),
            "unusable_weights",
            {"count": 1, "n_votes": 2},
        ),
        (
            votes_of("ab", "bc").assign(weight=[np.nan, 1.0]),
            "unusable_weights",
            {"count": 1, "n_votes": 2},
        ),
        (votes_of("ab", "cc"), "self_comparisons", {"count": 1, "n_votes": 2}),
    ],
)
def test_unusable_votes_are_refused(votes, code, fields):
    with refused(VoteError, code, **fields):
        kendall_distance(SCORES, votes)


def test_weighing_annotators_needs_annotators():
    with refused(VoteError, "no_annotators"):
        kendall_distance(SCORES, votes_of("ab"), weigh="annotators")


def test_an_unknown_weighing_is_refused():
    with refused(ArgumentError, "unknown_weighing", weigh="people"):
        kendall_distance(SCORES, votes_of("ab"), weigh="people")


def test_an_item_scored_twice_is_refused():
    with refused(VoteError, "items_scored_twice", count=1, what="score", items=["a"]):
        kendall_distance(pd.Series([1.0, 2.0, 3.0], ["a", "a", "b"]), votes_of("ab"))


# Against the truth


@given(score_pairs)
def test_tau_distance_equals_counting_every_pair(pairs):
    scores, truth = (numbered(column) for column in zip(*pairs, strict=True))
    assume(truth.nunique() > 1)
    wrong = [
        wrongness(s1, s2) if t1 > t2 else wrongness(s2, s1)
        for (s1, t1), (s2, t2) in combinations(pairs, 2)
        if t1 != t2
    ]
    assert tau_distance(scores, truth) == pytest.approx(np.mean(wrong), abs=1e-12)


@given(score_pairs)
def test_tau_b_vs_scipy(pairs):
    scores, truth = (numbered(column) for column in zip(*pairs, strict=True))
    assume(truth.nunique() > 1)
    assume(scores.nunique() > 1)
    shuffled = scores.sample(frac=1, random_state=0)
    assert tau_b(shuffled, truth) == pytest.approx(stats.kendalltau(scores, truth).statistic)


def test_without_ties_tau_is_one_less_two_distances():
    rng = np.random.default_rng(0)
    scores, truth = numbered(rng.normal(size=3000)), numbered(rng.normal(size=3000))
    assert tau_b(scores, truth) == pytest.approx(1 - 2 * tau_distance(scores, truth), abs=1e-12)


def test_distance_to_votes_on_every_pair_is_the_distance_to_the_truth():
    rng = np.random.default_rng(1)
    truth = numbered(rng.permutation(30).astype(float))
    scores = numbered(rng.integers(0, 8, 30).astype(float))
    pairs = [(i, j) if truth[i] > truth[j] else (j, i) for i, j in combinations(range(30), 2)]
    votes = pd.DataFrame(pairs, columns=["winner", "loser"])
    assert tau_distance(scores, truth) == pytest.approx(kendall_distance(scores, votes))


def test_only_items_with_both_scores_count():
    truth = pd.Series({"c": 1.0, "b": 2.0, "a": 3.0, "z": 9.0, "d": np.nan})
    assert tau_b(SCORES, truth) == pytest.approx(1.0)
    assert tau_distance(SCORES, truth) == 0.0


def test_equal_scores_have_no_correlation_and_half_the_distance():
    truth = pd.Series({"a": 1.0, "b": 2.0, "c": 3.0})
    assert tau_b(truth * 0, truth) == 0.0
    assert tau_distance(truth * 0, truth) == 0.5


@pytest.mark.parametrize("measure", [tau_b, tau_distance, tau_top])
def test_a_truth_that_orders_nothing_is_refused(measure):
    with refused(VoteError, "one_true_score", n_items=4):
        measure(SCORES, SCORES * 0)
    with refused(VoteError, "too_few_true_scores", count=1, n_scores=4, n_true=2):
        measure(SCORES, pd.Series({"a": 1.0, "y": 2.0}))


def test_tau_top_looks_only_at_the_top():
    truth = numbered(np.arange(100.0))
    scores = truth.copy()
    scores[:93] = -scores[:93]
    assert tau_top(scores, truth, share=0.07) == pytest.approx(1.0)
    assert tau_top(scores, truth, share=1.0) == pytest.approx(tau_b(scores, truth))
    scores[93:] = -scores[93:]
    assert tau_top(scores, truth, share=0.07) == pytest.approx(-1.0)


def test_tau_top_has_at_least_two_items_and_keeps_equals():
    truth = numbered([1.0, 2.0, 3.0, 3.0, 4.0])
    assert tau_top(numbered([9.0, 9.0, 1.0, 2.0, 3.0]), truth, share=0.01) == pytest.approx(
        stats.kendalltau([1, 2, 3], [3, 3, 4]).statistic
    )


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_tau_top_refuses_a_share_that_is_none(share):
    with refused(ArgumentError, "share_out_of_range"):
        tau_top(SCORES, SCORES, share=share)


# Finding wrong votes


@given(st.lists(st.tuples(few_values, st.booleans()), min_size=2, max_size=30))
def test_auc_equals_counting_every_pair_and_vs_sklearn(rows):
    suspicion = np.array([s for s, _ in rows])
    wrong = np.array([w for _, w in rows])
    assume(wrong.any() and not wrong.all())
    counted = np.mean([wrongness(r, s) for s in suspicion[wrong] for r in suspicion[~wrong]])
    assert outlier_auc(suspicion, wrong) == pytest.approx(counted, abs=1e-12)
    assert outlier_auc(suspicion, wrong) == pytest.approx(roc_auc_score(wrong, suspicion))


def test_auc_of_hand_worked_cases():
    wrong = np.array([True, False, False])
    assert outlier_auc(np.array([3.0, 2.0, 1.0]), wrong) == 1.0
    assert outlier_auc(np.array([1.0, 2.0, 3.0]), wrong) == 0.0
    assert outlier_auc(np.array([2.0, 2.0, 1.0]), wrong) == 0.75
    assert outlier_auc(np.array([np.inf, 0.0, -np.inf]), wrong) == 1.0


@pytest.mark.parametrize(
    ("suspicion", "wrong", "code", "fields"),
    [
        ([1.0, 2.0], [True, True], "one_kind_of_vote", {"n_wrong": 2, "n_votes": 2}),
        ([1.0, 2.0], [False, False], "one_kind_of_vote", {"n_wrong": 0, "n_votes": 2}),
        ([], [], "one_kind_of_vote", {"n_wrong": 0, "n_votes": 0}),
        ([1.0, np.nan], [True, False], "missing_suspicions", {"count": 1, "n_votes": 2}),
        ([1.0], [True, False], "suspicions_do_not_fit", {"count": 1, "n_votes": 2}),
    ],
)
def test_auc_refuses_what_it_cannot_rank(suspicion, wrong, code, fields):
    with refused(VoteError, code, **fields):
        outlier_auc(np.array(suspicion), np.array(wrong, dtype=bool))


def test_scores_must_say_whose_they_are():
    """A column of a table of scores counts rows, and rows are no items."""
    with refused(VoteError, "scores_of_unnamed_items", what="score"):
        tau_b(pd.Series([1.0, 2.0]), numbered([1.0, 2.0]))


def test_both_layouts_give_the_same_distance_and_undecided_votes_are_left_out():
    canonical = pd.DataFrame(
        {
            "item_a": ["a", "b", "a", "c", "a"],
            "item_b": ["b", "c", "c", "a", "b"],
            "outcome": ["b", " A", "Tie", "b", "skip"],
        }
    )
    plain = pd.DataFrame({"winner": ["b", "b", "a"], "loser": ["a", "c", "c"]})
    assert kendall_distance(SCORES, canonical) == kendall_distance(SCORES, plain) == 1 / 3
