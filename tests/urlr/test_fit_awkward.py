"""The whole fit on awkward votes, by either method: finite scores, or a sentence that says why."""

import numpy as np
import pandas as pd
import pytest
from graphs import random_votes, votes_frame
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import urlr
from urlr import FeatureError, UrlrError, VoteError
from urlr.messages import message


def test_one_item_without_features_costs_its_votes_only(how):
    votes, features = random_votes(0)
    ranker = urlr.fit(votes, features.drop(index=3), **how)
    touched = ((votes["item_a"] == 3) | (votes["item_b"] == 3)).sum()
    assert ranker.facts.reasons == {message("item_without_features"): touched}
    assert np.isfinite(ranker.scores["score"]).all()


def test_one_vote_ranks_two_items(how):
    ranker = urlr.fit(votes_frame([("a", "b", 1)]), **how)
    assert ranker.scores["item"].tolist() == ["a", "b"]
    features = pd.DataFrame({"f": [2.0, 1.0]}, index=["a", "b"])
    ranker = urlr.fit(votes_frame([("a", "b", 1)]), features, **how)
    assert ranker.scores["item"].tolist() == ["a", "b"]
    assert "ridge_not_tuned" in [text.code for text in ranker.facts.warnings]


def test_identical_votes_rank_two_items(how):
    ranker = urlr.fit(votes_frame([("a", "b", 500)]), **how)
    assert ranker.scores["item"].tolist() == ["a", "b"]
    assert ranker.facts.n_pruned_edges == 0


@pytest.mark.full
def test_two_million_votes_on_one_pair(how):
    wins = np.r_[np.full(1_200_000, 1), np.full(800_000, 2)]
    scores = urlr.fit(pd.DataFrame({"winner": wins, "loser": 3 - wins}), **how).scores
    assert scores["item"].tolist() == [1, 2]
    assert scores["n_votes"].tolist() == [2_000_000, 2_000_000]
    # Least squares of +1 and -1 in the paper; half of the log-odds 1.2 : 0.8 in the default.
    half = 0.5 * np.log(1.5) if how["method"] == "robust" else 0.1
    assert scores["score"].iloc[0] == pytest.approx(half, rel=1e-3)


def test_an_item_that_never_won_is_last_and_finite(how):
    votes = votes_frame([("a", "b", 9), ("b", "a", 2), ("a", "c", 5), ("b", "c", 5)])
    scores = urlr.fit(votes, **how).scores
    assert scores["item"].tolist() == ["a", "b", "c"]
    assert np.isfinite(scores["score"]).all()
    features = pd.DataFrame({"f": [3.0, 2.0, 0.5]}, index=list("abc"))
    scores = urlr.fit(votes, features, **how).scores
    assert scores["item"].tolist() == ["a", "b", "c"]
    assert np.isfinite(scores["score"]).all()


@pytest.mark.parametrize(
    "triples",
    [
        [("a", "b", 9), ("b", "c", 9), ("c", "a", 1)],
        [("a", "b", 40), ("b", "c", 30), ("c", "a", 9)],
        [("a", "b", 20), ("b", "c", 20), ("c", "d", 20), ("d", "a", 3)],
    ],
)
def test_a_few_votes_against_a_clear_order_do_not_hide_it(triples, how):
    """With the share to prune left to the method, as by default."""
    ranker = urlr.fit(votes_frame(triples), **how)
    assert ranker.scores["item"].tolist() == sorted({winner for winner, _, _ in triples})


def test_features_that_do_not_explain_the_votes_leave_some_to_rank_by(how):
    for seed in range(10):
        votes, _ = random_votes(seed, n_items=12, n_votes=200)
        features = pd.DataFrame(np.random.default_rng(seed).normal(size=(12, 3)))
        ranker = urlr.fit(votes, features.rename_axis("item"), **how)
        assert ranker.facts.n_pruned_votes < len(votes) / 2


def test_missing_feature_values_give_finite_scores(how):
    votes, features = random_votes(2)
    features.iloc[::4, 1] = np.nan
    ranker = urlr.fit(votes, features, **how)
    assert np.isfinite(ranker.scores["score"]).all()
    assert np.isfinite(ranker.score(features * np.nan)).all()


def test_constant_features_are_refused(how):
    votes, features = random_votes(3)
    with refused(FeatureError, "no_column_varies"):
        urlr.fit(votes, features * 0, **how)


def test_a_constant_column_beside_others_changes_no_score(how):
    votes, features = random_votes(3)
    one, other = (
        urlr.fit(votes, table, **how).score(table) for table in (features, features.assign(same=4))
    )
    np.testing.assert_array_equal(one, other)


def test_a_table_without_votes_is_refused_as_such(how):
    nothing = pd.DataFrame({"winner": [], "loser": []}, dtype=object)
    features = pd.DataFrame({"f": [2.0, 1.0]}, index=["a", "b"])
    for table in (None, features):
        with refused(VoteError, "no_votes"):
            urlr.fit(nothing, table, **how)


@settings(max_examples=60)
@given(
    data=st.data(),
    n_items=st.integers(1, 6),
    n_votes=st.integers(0, 25),
    features=st.booleans(),
    extras=st.booleans(),
    prune=st.sampled_from([0.0, 0.2, 0.6, "auto", "bic", "sigma"]),
)
def test_any_small_crowd_gives_finite_scores_or_a_clear_error(
    data, how, n_items, n_votes, features, extras, prune
):
    item = st.integers(0, n_items - 1)
    outcome = st.sampled_from(["a", "b", "tie", "skip"])
    weight = st.sampled_from([1.0, 1.0, 0.5, 1e-9, 1e9, 1e300, 0.0])
    rows = data.draw(
        st.lists(st.tuples(item, item, outcome, weight), min_size=n_votes, max_size=n_votes)
    )
    votes = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "weight"])
    if extras:
        given_ = {
            "annotator": ["p", "q", "", None],
            "left": ["a", "b", "x", None],
            "seconds": [2.0, 0.0, -1.0, np.nan, np.inf],
        }
        for name, values in given_.items():
            cells = st.lists(st.sampled_from(values), min_size=n_votes, max_size=n_votes)
            votes[name] = pd.Series(data.draw(cells), dtype=object)
    value = st.sampled_from([0.0, 1.0, -2.5, 1e300, 1e-300, np.nan, 3.25])
    table = pd.DataFrame(
        data.draw(st.lists(st.tuples(value, value, value), min_size=n_items, max_size=n_items)),
        index=pd.RangeIndex(n_items, name="item"),
    )
    options = how | {"prune": prune}
    if how["method"] == "robust":
        options = options | {"replicates": 2, "prune": 0.4 if prune in ("bic", "sigma") else prune}
    try:
        ranker = urlr.fit(votes, table if features else None, **options)
    except UrlrError as refusal:
        said = str(refusal)
    else:
        said = ranker.summary()
        assert np.isfinite(ranker.scores[["score", "effect"]]).all().all()
        verdicts = ranker.verdicts
        assert len(verdicts) == len(votes) == ranker.facts.rows["read"]
        counts = verdicts["status"].isin(["used", "tie"])
        assert counts.sum() == ranker.facts.rows["used"] + ranker.facts.rows["ties"]
        assert verdicts["margin"].notna().equals(counts)
        assert not (verdicts["pruned"] & ~counts).any()
        if how["method"] == "robust":
            assert (ranker.scores["low"] <= ranker.scores["score"]).all()
            assert (ranker.scores["score"] <= ranker.scores["high"]).all()
    assert said.endswith(".")


def test_consistent_votes_along_a_long_chain_are_not_called_contradictory(how):
    n = 500
    pairs = [(i + 1, i) for i in range(n - 1)] + [(i + 2, i) for i in range(n - 2)]
    votes = pd.DataFrame(pairs, columns=["winner", "loser"])
    ranker = urlr.fit(votes, prune=0.0, **how)
    assert ranker.scores["item"].tolist() == list(range(n - 1, -1, -1))
    if how["method"] == "paper":
        pruned = urlr.fit(votes, prune=0.05, **how).verdicts
        assert not (pruned["margin"] < 0).any()


@pytest.mark.parametrize("n", [10, 50])
def test_consistent_votes_along_a_chain_are_all_kept_by_default(n, how):
    pairs = [(i + 1, i) for i in range(n - 1)] + [(i + 2, i) for i in range(n - 2)]
    ranker = urlr.fit(pd.DataFrame(pairs, columns=["winner", "loser"]), **how)
    assert ranker.facts.n_pruned_votes == 0
    assert ranker.scores["item"].tolist() == list(range(n - 1, -1, -1))


def test_the_paper_prunes_votes_on_pairs_far_apart_and_the_default_does_not():
    """Nobody errs, and most pairs are close: to the paper every vote claims a difference of 1."""
    near = [(i + k, i) for k in (1, 2) for i in range(60 - k)]
    votes = pd.DataFrame(near * 3 + [(59, 0), (58, 1), (57, 2)], columns=["winner", "loser"])
    features = pd.DataFrame({"f": np.linspace(0.0, 1.0, 60)}).rename_axis("item")
    share = 3.0001 / votes.groupby(["winner", "loser"]).ngroups
    verdicts = urlr.fit(votes, features, method="paper", prune=share).verdicts
    pruned = verdicts["pruned"].to_numpy()
    assert pruned.tolist() == [False] * (len(votes) - 3) + [True] * 3
    assert (verdicts["margin"] > 0).all()
    assert set(verdicts.loc[pruned, "reason"]) == {message("ranking_says_more")}
    ranker = urlr.fit(votes, features, replicates=0)
    assert ranker.facts.n_pruned_votes == 0
    asked = urlr.fit(votes, features, prune=0.1, replicates=0).verdicts
    assert asked["pruned"].any()
    assert not asked["pruned"].iloc[-3:].any()


def test_pruning_that_splits_the_items_is_warned_of(how):
    first = [(f"a{i}", f"a{j}") for i in range(6) for j in range(i + 1, 6)]
    second = [(f"b{i}", f"b{j}") for i in range(6) for j in range(i + 1, 6)]
    pairs = first * 3 + second * 3 + [("a5", "b0"), ("b5", "a0")]
    votes = pd.DataFrame(pairs, columns=["winner", "loser"])
    ranker = urlr.fit(votes, prune=0.0626, **how)
    assert ranker.verdicts["pruned"].iloc[-2:].all()
    assert message("pruning_split_items", groups=2) in ranker.facts.warnings


def test_pruning_every_decided_vote_is_refused(how):
    outcome = ["a", "tie", "tie", "tie", "tie", "b"]
    votes = pd.DataFrame({"item_a": list("abcabc"), "item_b": list("bcabca"), "outcome": outcome})
    with refused(VoteError, "pruned_everything"):
        urlr.fit(votes, prune=0.99, **how)


def test_all_that_tie_at_the_cut_are_counted(how):
    """A hub that wins three votes to one against each of twenty; eight of the twenty are cut."""
    hub = [("h", f"x{k:02d}") for k in range(20)] * 3 + [(f"x{k:02d}", "h") for k in range(20)]
    votes = pd.DataFrame(hub, columns=["winner", "loser"])
    share = 0.1 if how["method"] == "robust" else 0.2  # of 80 votes, or of 40 edges
    facts = urlr.fit(votes, prune=share, **how).facts
    assert facts.n_pruned_edges == 8
    assert facts.n_tied_at_cut == 12


@pytest.mark.full
@pytest.mark.parametrize("weight", [1e4, 1e6])
def test_heavy_votes_beside_light_ones_on_many_features_are_fitted(weight, how):
    rng = np.random.default_rng(0)
    rules = (0.2, 0.5, 0.0)
    if how["method"] == "paper":
        how, rules = how | {"outlier_space": "features"}, (0.2, 0.5, "bic")
    for seed in range(10):
        votes, _ = random_votes(seed, n_items=12, n_votes=200)
        votes["weight"] = np.where(rng.random(len(votes)) < 0.2, weight, 1.0)
        features = pd.DataFrame(rng.normal(size=(12, 200))).rename_axis("item")
        for prune in rules:
            ranker = urlr.fit(votes, features, prune=prune, **how)
            assert np.isfinite(ranker.scores["score"]).all()
