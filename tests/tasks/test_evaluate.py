"""Agreement with unseen votes: against the library's measure, closed forms and known crowds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import urlr
from tasks.evaluate import (
    baselines_of,
    compare,
    judged,
    tau_between,
    tau_with_truth,
    tau_with_votes,
)
from tasks.split import HELD_OUT, split_votes
from urlr.errors import ArgumentError, VoteError
from urlr.metrics import kendall_tau, tau_b
from urlr.simulate import crowd

SCORES = pd.Series({"a": 3.0, "b": 2.0, "c": 1.0, "d": 1.0})

few_values = st.integers(-2, 2).map(float)
six_scores = st.lists(few_values, min_size=6, max_size=6)
some_votes = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(0, 5), st.integers(1, 3), st.sampled_from(["x", "y", None])
    ).filter(lambda vote: vote[0] != vote[1]),
    min_size=1,
    max_size=20,
)


def rng():
    return np.random.default_rng(0)


def numbered(values):
    """Scores of items 0, 1, 2, ..."""
    return pd.Series(values).rename_axis("item")


def votes_of(*pairs: str, **columns) -> pd.DataFrame:
    frame = pd.DataFrame({"winner": [p[0] for p in pairs], "loser": [p[1] for p in pairs]})
    return frame.assign(**columns)


def random_votes(draw, *, n_votes=400, n_people=20, right=0.75) -> pd.DataFrame:
    """Votes of unequally busy people on items 0 to 9, most of them for the larger number."""
    pair = np.array([draw.choice(10, 2, replace=False) for _ in range(n_votes)])
    low, high = pair.min(axis=1), pair.max(axis=1)
    fine = draw.random(n_votes) < right
    return pd.DataFrame(
        {
            "winner": np.where(fine, high, low),
            "loser": np.where(fine, low, high),
            "annotator": (n_people * draw.random(n_votes) ** 2).astype(int),
        }
    )


RISING = numbered(np.arange(10.0))


# Tau


@settings(max_examples=60)
@given(values=six_scores, rows=some_votes)
def test_tau_is_that_of_the_metrics_both_ways(values, rows):
    votes = pd.DataFrame(rows, columns=["winner", "loser", "weight", "annotator"])
    tau = tau_with_votes(numbered(values), votes, rng=rng())
    assert tau.plain.value == pytest.approx(kendall_tau(numbered(values), votes))
    assert tau.n_people == votes["annotator"].nunique()
    assert tau.n_nameless == votes["annotator"].isna().sum()
    assert (tau.by_person is not None) == (tau.n_people > 1)
    if tau.by_person is not None:
        by_person = kendall_tau(numbered(values), votes, weigh="annotators")
        assert tau.by_person.value == pytest.approx(by_person)


def test_equal_scores_are_no_better_than_a_coin():
    tau = tau_with_votes(SCORES * 0, votes_of("ab", "cd", "da"), rng=rng())
    assert (tau.plain.value, tau.plain.low, tau.plain.high) == (0.0, 0.0, 0.0)


def test_one_person_has_one_say():
    votes = votes_of("ab", "ba", "ca", "cb", annotator=["x", "y", "y", "y"])
    tau = tau_with_votes(SCORES, votes, rng=rng())
    assert (tau.plain.value, tau.by_person.value) == (-0.5, 0.0)
    assert (tau.n_votes, tau.n_people) == (4, 2)
    assert tau.deciding is tau.by_person


def test_all_votes_without_a_name_have_one_say_together():
    votes = votes_of("ab", "ac", "ba", "ca", "cb", annotator=["x", "y", None, None, None])
    tau = tau_with_votes(SCORES, votes, rng=rng())
    assert tau.by_person.value == pytest.approx((1 + 1 - 1) / 3)
    assert (tau.n_people, tau.n_nameless) == (2, 3)


@pytest.mark.parametrize("names", [{}, {"annotator": None}, {"annotator": "x"}])
def test_where_fewer_than_two_people_are_named_only_votes_count(names):
    tau = tau_with_votes(SCORES, votes_of("ab", "ba", "ac", **names), rng=rng())
    assert tau.by_person is None
    assert tau.deciding is tau.plain
    assert tau.plain.value == pytest.approx(1 / 3)


def test_ties_skips_and_rows_that_do_not_count_are_no_votes():
    votes = pd.DataFrame(
        {"item_a": ["a", "a", "b", "a", "a"], "item_b": ["b", "c", "c", "a", "b"]}
    ).assign(outcome=["a", "tie", "skip", "a", "?"])
    assert tau_with_votes(SCORES, votes, rng=rng()).n_votes == 1


def test_without_votes_there_is_no_tau():
    for votes in (votes_of(), votes_of("ay", "xa")):
        tau = tau_with_votes(SCORES, votes, rng=rng())
        assert (tau.plain, tau.by_person, tau.deciding, tau.n_votes) == (None, None, None, 0)
        assert tau.n_left_out == len(votes)


def test_an_item_without_a_score_leaves_its_votes_out():
    scores = pd.Series({"a": 3.0, "b": np.nan, "c": 1.0})
    tau = tau_with_votes(scores, votes_of("ac", "ab", "cd", "ca"), rng=rng())
    assert (tau.n_votes, tau.n_left_out, tau.plain.value) == (2, 2, 0.0)


def test_a_number_is_not_its_text():
    votes = pd.DataFrame({"winner": [1], "loser": [2]})
    assert tau_with_votes(pd.Series({"1": 1.0, "2": 2.0}), votes, rng=rng()).n_left_out == 1


# Intervals


def test_a_single_person_or_pair_says_nothing_about_others():
    tau = tau_with_votes(SCORES, votes_of("ab", "ab", "ab"), rng=rng())
    assert (tau.plain.low, tau.plain.high, tau.plain.error) == (-1.0, 1.0, np.inf)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """People of different reliability, some far busier than others: the mean over all is known."""
    draw = np.random.default_rng(0)
    held = np.zeros(2)
    rounds, n_people = 200, 25
    for _ in range(rounds):
        right = draw.beta(16.0, 4.0, n_people)
        count = 2 + draw.poisson(8, n_people)
        who = np.repeat(np.arange(n_people), count)
        won = draw.random(who.size) < right[who]
        votes = pd.DataFrame(
            {"winner": np.where(won, 1, 0), "loser": np.where(won, 0, 1), "annotator": who}
        )
        tau = tau_with_votes(RISING, votes, replicates=200, rng=draw)
        held += [one.low <= 0.6 <= one.high for one in (tau.plain, tau.by_person)]
    assert ((held / rounds > 0.9) & (held / rounds < 0.99)).all()


@pytest.mark.parametrize("named", [True, False])
def test_the_standard_error_is_that_of_the_sandwich(named):
    """Limit of many draws: the root of sum (s - tau w)^2 over the clusters, over the weight."""
    votes = random_votes(rng()).assign(weight=rng().choice([1.0, 2.0, 0.5], 400))
    votes = votes if named else votes.drop(columns="annotator")
    tau = tau_with_votes(RISING, votes, replicates=20_000, rng=rng())
    low, high = votes[["winner", "loser"]].min(axis=1), votes[["winner", "loser"]].max(axis=1)
    cluster = votes["annotator"] if named else low * 10 + high
    sign = np.where(votes["winner"] > votes["loser"], 1.0, -1.0)
    residual = (votes["weight"] * (sign - tau.plain.value)).groupby(cluster).sum()
    n = len(residual)
    sandwich = np.sqrt((residual**2).sum() * n / (n - 1)) / votes["weight"].sum()
    assert tau.plain.error == pytest.approx(sandwich, rel=0.08)
    if named:
        each = pd.Series(sign * votes["weight"]).groupby(cluster).sum()
        each /= votes["weight"].groupby(cluster).sum()
        assert tau.by_person.error == pytest.approx(each.std() / np.sqrt(n), rel=0.03)


def test_votes_of_one_person_are_not_as_good_as_votes_of_many():
    draw = rng()
    who = np.repeat(np.arange(10), 40)
    won = np.arange(10)[who] < 7  # seven people are always right, three never
    pair = draw.integers(0, 9, 400)
    votes = pd.DataFrame({"winner": np.where(won, pair + 1, pair)})
    votes["loser"] = np.where(won, pair, pair + 1)
    alone = tau_with_votes(RISING, votes.assign(annotator=np.arange(400)), rng=draw)
    together = tau_with_votes(RISING, votes.assign(annotator=who), rng=draw)
    assert together.plain.error > 4 * alone.plain.error


def test_a_higher_level_is_a_wider_interval_about_the_same_value():
    votes = random_votes(rng())
    usual, surer = (tau_with_votes(RISING, votes, level=level, rng=rng()) for level in (0.95, 0.99))
    assert usual.plain.value == surer.plain.value
    assert surer.plain.low < usual.plain.low < usual.plain.high < surer.plain.high
    assert (usual.level, surer.level) == (0.95, 0.99)


def test_intervals_end_where_tau_ends():
    votes = votes_of(*["ab"] * 9, "ba", annotator=range(10))
    assert tau_with_votes(SCORES, votes, rng=rng()).plain.high == 1.0


def test_the_same_seed_gives_the_same_interval_in_whatever_order_the_votes_come():
    votes = random_votes(rng())
    first = tau_with_votes(RISING, votes, rng=rng())
    assert tau_with_votes(RISING, votes, rng=rng()) == first
    assert tau_with_votes(RISING, votes.iloc[::-1], rng=rng()) == first


def test_many_people_put_together_give_the_same_interval(monkeypatch):
    votes = random_votes(rng(), n_votes=3000).assign(annotator=np.arange(3000) // 2)
    put_together = tau_with_votes(RISING, votes, rng=rng())
    monkeypatch.setattr("tasks.evaluate._MOST_CLUSTERS", 10_000)
    each = tau_with_votes(RISING, votes, rng=rng())
    for way in ("plain", "by_person"):
        one, other = getattr(put_together, way), getattr(each, way)
        assert one.value == other.value
        assert one.error == pytest.approx(other.error, rel=0.08)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("level", 1.0, "not_between_0_and_1"),
        ("level", 0.0, "not_between_0_and_1"),
        ("replicates", 1, "too_few_replicates"),
    ],
)
def test_settings_without_sense_are_refused(name, value, code):
    with refused(ArgumentError, code, value=value):
        tau_with_votes(SCORES, votes_of("ab"), rng=rng(), **{name: value})


def test_scores_must_say_whose_they_are_and_only_once():
    with refused(VoteError, "scores_of_unnamed_items"):
        tau_with_votes(pd.Series([1.0, 2.0]), votes_of("ab"), rng=rng())
    with refused(VoteError, "items_scored_twice", count=1):
        tau_with_votes(pd.Series([1.0, 2.0], ["a", "a"]), votes_of("ab"), rng=rng())


# Two rankings


@settings(max_examples=40)
@given(ours=six_scores, theirs=six_scores, rows=some_votes)
def test_a_difference_is_that_of_the_two_and_turns_around(ours, theirs, rows):
    votes = pd.DataFrame(rows, columns=["winner", "loser", "weight", "annotator"])
    there = compare(numbered(ours), numbered(theirs), votes, rng=rng())
    back = compare(numbered(theirs), numbered(ours), votes, rng=rng())
    for way in ("plain", "by_person"):
        one, other, both, turned = (
            getattr(tau, way)
            for tau in (there.challenger, there.champion, there.difference, back.difference)
        )
        if both is not None:
            assert both.value == pytest.approx(one.value - other.value)
            assert turned.value == pytest.approx(-both.value)
            assert one.value == pytest.approx(
                getattr(tau_with_votes(numbered(ours), votes, rng=rng()), way).value
            )


def test_a_ranking_is_as_good_as_itself():
    difference = compare(RISING, RISING * 2, random_votes(rng()), rng=rng()).difference
    assert (difference.plain.low, difference.plain.high) == (0.0, 0.0)
    assert (difference.by_person.low, difference.by_person.high) == (0.0, 0.0)


def test_a_paired_interval_is_narrower_than_one_of_two_separate_taus():
    other = RISING.copy()
    other[[4, 5]] = other[[5, 4]].to_numpy()
    found = compare(other, RISING, random_votes(rng(), n_votes=2000), rng=rng())
    for way in ("plain", "by_person"):
        ours, theirs, paired = (
            getattr(tau, way).error for tau in (found.challenger, found.champion, found.difference)
        )
        assert paired < 0.5 * np.hypot(ours, theirs)


def test_only_votes_that_both_can_judge_count_and_the_others_are_reported():
    votes = votes_of("ab", "bc", "cd", "da", "bd", annotator=list("xyxyx"))
    found = compare(SCORES.drop("d"), SCORES.drop("a"), votes, rng=rng())
    for tau in (found.challenger, found.champion, found.difference):
        assert (tau.n_votes, tau.n_left_out, tau.n_people) == (1, 4, 1)
    assert found.difference.plain.value == 0.0
    assert found.difference.level == 0.99


def test_an_interval_of_a_difference_may_reach_beyond_1():
    votes = votes_of("ab", "ac", "ba", annotator=list("xyz"))
    difference = compare(SCORES, -SCORES, votes, rng=rng()).difference
    assert difference.plain.high == 2.0


# Baselines and orders


@pytest.fixture(scope="module")
def made():
    return crowd(rng=np.random.default_rng(3), n_items=40, n_features=5, n_votes=1500)


def test_baselines_learn_from_train_votes_only(made):
    """With the unseen votes turned around, the same scores disagree by as much as they agreed."""
    split = split_votes(urlr.vote_table(made.votes), by_items=True)
    outcome = made.votes["outcome"].astype(str)
    kept = outcome.where(split.part == 0, outcome.map({"a": "b", "b": "a"}))
    turned = made.votes.assign(outcome=kept)
    other = split_votes(urlr.vote_table(turned), by_items=True)
    for one, two in zip(
        baselines_of(split, made.features), baselines_of(other, made.features), strict=True
    ):
        assert one.held_out.plain.value > 0.3
        assert two.held_out.plain.value == pytest.approx(-one.held_out.plain.value)


def test_baselines_with_features_have_a_figure_for_unseen_items_and_bradley_terry_has_none(made):
    split = split_votes(urlr.vote_table(made.votes), by_items=True)
    raw, majority, bradley_terry = baselines_of(split, made.features)
    assert [one.method for one in (raw, majority, bradley_terry)] == [
        "raw",
        "majority",
        "bradley-terry",
    ]
    scores = urlr.baselines.raw(split.train, made.features)
    assert raw == judged("raw", scores, split, knows_features=True, rng=rng())
    assert raw.held_out.plain.value == pytest.approx(kendall_tau(scores, split.held_out))
    assert raw.unseen.plain.value == pytest.approx(kendall_tau(scores, split.unseen))
    assert raw.unseen.n_votes == len(split.unseen)
    assert majority.unseen.plain.value > 0.3
    assert bradley_terry.unseen is None


def test_without_features_no_baseline_knows_unseen_items(made):
    split = split_votes(urlr.vote_table(made.votes), by_items=False)
    found = baselines_of(split, None)
    assert all(one.unseen is None for one in found)
    assert all(one.held_out.plain.value > 0.3 for one in found)


def test_majority_without_features_is_the_share_of_pairs_won():
    votes = votes_of("ab", "ab", "ba", "bc", "ca", "ca", "dc", "cd")
    split = split_votes(urlr.vote_table(votes), by_items=False, pair_share=0.0)
    split.part[-3] = HELD_OUT  # c over a, whose share of wins is the same: 1 of 2
    split.part[-1] = HELD_OUT  # c over d, which has no decided pair
    split.part[-2] = -1
    held_out = baselines_of(split, None)[1].held_out
    assert (held_out.n_votes, held_out.n_left_out, held_out.plain.value) == (1, 1, 0.0)


def test_a_baseline_that_cannot_be_fitted_says_why_and_does_not_stop_the_others():
    votes = votes_of("ab", "ba", "bc", "cb", "ac", "ca", annotator=list("xyxyxy"))
    split = split_votes(urlr.vote_table(votes), by_items=False, pair_share=0.0)
    found = {one.method: one for one in baselines_of(split, None)}
    assert found["majority"].held_out is None
    assert found["majority"].failure.code == "no_majority"
    assert found["bradley-terry"].held_out.n_votes == 0


def test_tau_between_nights_is_over_the_items_of_both():
    before = pd.Series({"c": 1.0, "b": 2.0, "a": 2.5, "z": 9.0, "y": np.nan})
    found = tau_between(SCORES, before)
    assert (found.tau, found.n_items) == (pytest.approx(tau_b(SCORES, before)), 3)


@pytest.mark.parametrize("before", [{"z": 2.0}, {"a": 1.0, "z": 2.0}, {"a": 1.0, "b": 1.0}])
def test_there_is_no_tau_between_nights_with_nothing_to_order(before):
    assert tau_between(SCORES, pd.Series(before)).tau is None


def test_tau_with_truth_reads_a_table_of_items_and_scores():
    truth = pd.DataFrame({"item": ["a", "b", "c"], "score": [1.0, 2.0, 3.0]})
    found = tau_with_truth(SCORES, truth)
    assert (found.tau, found.n_items) == (pytest.approx(-1.0), 3)
    with refused(VoteError, "no_such_truth_column", columns="item"):
        tau_with_truth(SCORES, truth.drop(columns="item"))
