"""The whole fit: what a data scientist gets, and what happens on awkward input."""

import numpy as np
import pandas as pd
import pytest
from graphs import random_votes, votes_frame
from hypothesis import given, settings
from hypothesis import strategies as st

import urlr
from urlr import FeatureError, UrlrError, VoteError


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    return urlr.simulate.crowd(rng=rng, n_items=120, n_features=6, n_votes=1500, ties=0.05)


@pytest.fixture(scope="module")
def ranker(crowd):
    return urlr.fit(crowd.votes, crowd.features, prune=0.2)


def test_scores_hold_every_item_with_features_best_first(crowd, ranker):
    scores = ranker.scores
    assert set(scores["item"]) == set(crowd.features.index)
    assert scores["score"].is_monotonic_decreasing
    assert scores["rank"].tolist() == sorted(scores["rank"])
    assert scores["rank"].iloc[0] == 1
    total = scores[["wins", "losses", "ties"]].sum(axis=1)
    assert (scores["n_votes"] == total).all()
    assert scores["n_votes"].sum() == 2 * len(crowd.votes)


def test_score_of_seen_items_is_the_score_in_the_table(crowd, ranker):
    table = ranker.scores.set_index("item")["score"]
    again = ranker.score(crowd.features)
    np.testing.assert_allclose(again, table.loc[again.index], atol=1e-12)
    assert again.index.name == "item"


def test_unseen_items_are_scored_by_their_features(crowd, ranker):
    new = crowd.features.iloc[:5].set_axis([f"new-{k}" for k in range(5)])
    np.testing.assert_array_equal(ranker.score(new), ranker.score(crowd.features.iloc[:5]))


def test_features_are_matched_by_name_not_place(crowd, ranker):
    turned = crowd.features[crowd.features.columns[::-1]].assign(note="text", other=1.0)
    pd.testing.assert_series_equal(ranker.score(turned), ranker.score(crowd.features))


def test_verdicts_are_one_row_per_vote_in_input_order(crowd, ranker):
    verdicts = ranker.verdicts
    assert verdicts["vote_id"].tolist() == crowd.votes["vote_id"].tolist()
    assert verdicts["pruned"].sum() == ranker.facts.n_pruned_votes
    won = crowd.votes["item_a"].where(crowd.votes["outcome"] != "b", crowd.votes["item_b"])
    assert verdicts["winner"].astype(str).tolist() == won.astype(str).tolist()
    scores = ranker.scores.set_index("item")["score"]
    margin = (
        scores.loc[verdicts["winner"].astype(str)].to_numpy()
        - scores.loc[verdicts["loser"].astype(str)].to_numpy()
    )
    np.testing.assert_allclose(verdicts["margin"], margin, atol=1e-12)
    edges = verdicts.groupby("order")["pruned"].first()
    assert edges.sum() == ranker.facts.n_pruned_edges
    assert edges.index[edges].max() == ranker.facts.n_pruned_edges
    assert (verdicts["reason"] != "")[verdicts["pruned"]].all()
    assert (verdicts["reason"] == "")[~verdicts["pruned"]].all()


def test_reasons_agree_with_the_margins(ranker):
    verdicts = ranker.verdicts
    against = verdicts["reason"] == "the ranking puts the loser ahead"
    assert against.any()
    assert (verdicts.loc[against, "margin"] < 0).all()


def test_rejected_rows_stay_in_the_verdicts_with_their_reason():
    votes = pd.DataFrame(
        {"item_a": ["a", "b", "c", "c", "d"], "item_b": ["b", "c", "c", "d", "a"]},
        index=[10, 20, 30, 40, 50],
    ).assign(outcome=["a", "a", "a", "skip", "b"])
    verdicts = urlr.fit(votes).verdicts
    assert verdicts.index.tolist() == [10, 20, 30, 40, 50]
    assert verdicts["status"].tolist() == ["used", "used", "rejected", "skipped", "used"]
    assert verdicts.loc[30, "reason"] == "compares an item with itself"
    assert verdicts.loc[40, "reason"] == "skipped by the annotator"
    assert verdicts.loc[[30, 40], ["entry", "order", "margin"]].isna().all().all()


def test_pruned_votes_are_mostly_wrong_ones(crowd, ranker):
    pruned = ranker.verdicts["pruned"].to_numpy()
    assert crowd.wrong[pruned].mean() > 3 * crowd.wrong[~pruned].mean()


def test_reversing_every_vote_negates_scores(crowd):
    flipped = crowd.votes.assign(
        outcome=crowd.votes.outcome.astype(str).replace({"a": "b", "b": "a"})
    )
    one = urlr.fit(crowd.votes, crowd.features).score(crowd.features)
    other = urlr.fit(flipped, crowd.features).score(crowd.features)
    np.testing.assert_allclose(one, -other, atol=1e-9)


def test_items_nobody_voted_on_change_nothing(crowd, ranker):
    extra = pd.concat([crowd.features, crowd.features.iloc[:9].add(7).set_axis(list("abcdefghi"))])
    more = urlr.fit(crowd.votes, extra, prune=0.2)
    assert more.coefficients.tobytes() == ranker.coefficients.tobytes()
    assert (more.scores["n_votes"] == 0).sum() == 9


def test_same_votes_and_seed_give_the_same_bytes(crowd, ranker):
    shuffled = crowd.votes.sample(frac=1, random_state=0)
    again = urlr.fit(shuffled, crowd.features, prune=0.2)
    assert again.coefficients.tobytes() == ranker.coefficients.tobytes()


@pytest.mark.parametrize(
    "options",
    [
        {"prune": 0.0},
        {"prune": "bic"},
        {"prune": "aic"},
        {"prune": "sigma"},
        {"ridge": 0.001},
        {"ranking": "svm"},
        {"outlier_space": "kernel-pca", "components": 5},
        {"outlier_space": "features"},
        {"outlier_space": "items"},
        {"solver": "grid"},
    ],
)
def test_every_setting_ranks_well(crowd, options):
    ranker = urlr.fit(crowd.votes, crowd.features, **options)
    assert urlr.metrics.tau_b(ranker.score(crowd.features), crowd.truth) > 0.8
    assert f"{options.get('prune', 0.2)}" == f"{ranker.settings.prune}"


def test_histogram_features_go_through_the_chi_square_map(crowd):
    histograms = crowd.features.abs()
    ranker = urlr.fit(crowd.votes, histograms, chi_square=2)
    assert ranker.coefficients.size == 3 * histograms.shape[1]
    with pytest.raises(FeatureError, match="negative"):
        urlr.fit(crowd.votes, crowd.features, chi_square=2)


@pytest.mark.parametrize(
    "options",
    [
        {"prune": 1.0},
        {"prune": -0.1},
        {"prune": "some"},
        {"prune": float("nan")},
        {"ridge": 0},
        {"ridge": "auto"},
        {"ranking": "boost"},
        {"outlier_space": "umap"},
        {"components": 0},
        {"chi_square": 7},
        {"solver": "fast"},
    ],
)
def test_senseless_setting_is_refused_by_name(crowd, options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        urlr.fit(crowd.votes, crowd.features, **options)


def test_featureless_ranker_cannot_score_others_and_says_so():
    ranker = urlr.fit(votes_frame([("a", "b", 2), ("b", "c", 2), ("c", "a", 1)]))
    with pytest.raises(FeatureError, match="without features"):
        ranker.score(pd.DataFrame({"f": [1.0]}, index=["a"]))


def test_svm_without_features_is_refused():
    with pytest.raises(FeatureError, match="RankSVM"):
        urlr.fit(votes_frame([("a", "b", 1)]), ranking="svm")


def test_missing_feature_column_is_named(crowd, ranker):
    lacking = crowd.features.drop(columns=crowd.features.columns[2])
    with pytest.raises(FeatureError, match=str(crowd.features.columns[2])):
        ranker.score(lacking)


def test_text_ids_against_number_ids_explain_themselves():
    votes = pd.DataFrame({"winner": [1, 2], "loser": [2, 3]})
    features = pd.DataFrame({"f": [1.0, 2.0, 3.0]}, index=["1", "2", "3"])
    with pytest.raises(VoteError, match=r"1, 2, 3 \(number\).*1, 2, 3 \(text\).*one type"):
        urlr.fit(votes, features)


def test_one_item_without_features_costs_its_votes_only():
    votes, features = random_votes(0)
    ranker = urlr.fit(votes, features.drop(index=3))
    touched = ((votes["item_a"] == 3) | (votes["item_b"] == 3)).sum()
    assert ranker.facts.reasons == {"item has no features": touched}
    assert np.isfinite(ranker.scores["score"]).all()


def test_one_vote_ranks_two_items():
    ranker = urlr.fit(votes_frame([("a", "b", 1)]))
    assert ranker.scores["item"].tolist() == ["a", "b"]
    features = pd.DataFrame({"f": [2.0, 1.0]}, index=["a", "b"])
    ranker = urlr.fit(votes_frame([("a", "b", 1)]), features)
    assert ranker.scores["item"].tolist() == ["a", "b"]
    assert any("tune the ridge" in text for text in ranker.facts.warnings)


def test_identical_votes_rank_two_items():
    ranker = urlr.fit(votes_frame([("a", "b", 500)]))
    assert ranker.scores["item"].tolist() == ["a", "b"]
    assert ranker.facts.n_pruned_edges == 0


def test_two_million_votes_on_one_pair():
    wins = np.r_[np.full(1_200_000, 1), np.full(800_000, 2)]
    ranker = urlr.fit(pd.DataFrame({"winner": wins, "loser": 3 - wins}))
    assert ranker.scores["item"].tolist() == [1, 2]
    assert ranker.scores["score"].iloc[0] == pytest.approx(0.1, rel=1e-3)


def test_equal_feature_rows_share_a_rank():
    votes, features = random_votes(1)
    features.loc[5] = features.loc[6]
    scores = urlr.fit(votes, features).scores.set_index("item")
    assert scores.loc[5, "rank"] == scores.loc[6, "rank"]


def test_missing_feature_values_give_finite_scores():
    votes, features = random_votes(2)
    features.iloc[::4, 1] = np.nan
    ranker = urlr.fit(votes, features)
    assert np.isfinite(ranker.scores["score"]).all()
    assert np.isfinite(ranker.score(features * np.nan)).all()


def test_constant_features_are_refused():
    votes, features = random_votes(3)
    with pytest.raises(FeatureError, match="no feature tells the items apart"):
        urlr.fit(votes, features * 0)


def test_summary_says_what_happened_in_plain_words(crowd, ranker):
    text = ranker.summary()
    assert text.startswith("Ranked 120 items from 1,500 votes: 1,425 used, 75 ties, 0 skipped, 0")
    assert f"Pruned {ranker.facts.n_pruned_votes:,} of 1,500 votes" in text
    assert "\x1b" not in text


def test_control_signs_in_ids_never_reach_the_summary():
    ranker = urlr.fit(votes_frame([("\x1b[31mred", "b", 2), ("b", "c\r\n", 2)]))
    assert "\x1b" not in ranker.summary()
    assert "\r" not in ranker.summary()


def test_progress_is_told():
    told = []
    votes, features = random_votes(4)
    urlr.fit(votes, features, progress=lambda what, share: told.append((what, share)))
    assert told[-1] == ("done", 1.0)
    assert all(0 <= share <= 1.01 for _, share in told)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    n_items=st.integers(1, 6),
    n_votes=st.integers(0, 25),
    features=st.booleans(),
    prune=st.sampled_from([0.0, 0.2, 0.6, "bic", "sigma"]),
)
def test_any_small_crowd_gives_finite_scores_or_a_clear_error(
    data, n_items, n_votes, features, prune
):
    item = st.integers(0, n_items - 1)
    outcome = st.sampled_from(["a", "b", "tie", "skip"])
    weight = st.sampled_from([1.0, 1.0, 0.5, 1e-9, 1e9, 1e300, 0.0])
    rows = data.draw(
        st.lists(st.tuples(item, item, outcome, weight), min_size=n_votes, max_size=n_votes)
    )
    votes = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "weight"])
    value = st.sampled_from([0.0, 1.0, -2.5, 1e300, 1e-300, np.nan, 3.25])
    table = pd.DataFrame(
        data.draw(st.lists(st.tuples(value, value, value), min_size=n_items, max_size=n_items)),
        index=pd.RangeIndex(n_items, name="item"),
    )
    try:
        ranker = urlr.fit(votes, table if features else None, prune=prune)
    except UrlrError as refusal:
        said = str(refusal)
    else:
        said = ranker.summary()
        assert np.isfinite(ranker.scores["score"]).all()
        assert len(ranker.verdicts) == len(votes)
    assert said.endswith(".")


def test_what_happens_to_the_frame_after_the_fit_does_not_reach_the_verdicts():
    votes = votes_frame([("a", "b", 40), ("b", "c", 30), ("c", "a", 9)])
    ranker = urlr.fit(votes)
    before = ranker.verdicts
    votes["winner"] = "somebody else"
    del votes["loser"]
    pd.testing.assert_frame_equal(ranker.verdicts, before)


def test_consistent_votes_along_a_long_chain_are_not_called_contradictory():
    n = 500
    pairs = [(i + 1, i) for i in range(n - 1)] + [(i + 2, i) for i in range(n - 2)]
    ranker = urlr.fit(pd.DataFrame(pairs, columns=["winner", "loser"]), prune=0.0)
    assert ranker.scores["item"].tolist() == list(range(n - 1, -1, -1))
    pruned = urlr.fit(pd.DataFrame(pairs, columns=["winner", "loser"]), prune=0.05).verdicts
    assert not (pruned["margin"] < 0).any()


def test_pruning_that_splits_the_items_is_warned_of():
    first = [(f"a{i}", f"a{j}") for i in range(6) for j in range(i + 1, 6)]
    second = [(f"b{i}", f"b{j}") for i in range(6) for j in range(i + 1, 6)]
    pairs = first * 3 + second * 3 + [("a5", "b0"), ("b5", "a0")]
    ranker = urlr.fit(pd.DataFrame(pairs, columns=["winner", "loser"]), prune=0.0626)
    assert any("split the items into 2 groups" in text for text in ranker.facts.warnings)


def test_pruning_every_decided_vote_is_refused():
    outcome = ["a", "tie", "tie", "tie", "tie", "b"]
    votes = pd.DataFrame({"item_a": list("abcabc"), "item_b": list("bcabca"), "outcome": outcome})
    with pytest.raises(VoteError, match="prune less"):
        urlr.fit(votes, prune=0.99)


def test_all_edges_that_tie_at_the_cut_are_counted():
    hub = [("h", f"x{k:02d}") for k in range(20)] * 3 + [(f"x{k:02d}", "h") for k in range(20)]
    facts = urlr.fit(pd.DataFrame(hub, columns=["winner", "loser"])).facts
    assert facts.n_pruned_edges == 8
    assert facts.n_tied_at_cut == 12


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pd.Categorical(list("abcad")), pd.Categorical(["b", "c", "e", "c", None])),
        ([2**53 + 1, 2, 3, 4, 1], [2, 3, 4, 2, np.nan]),
    ],
)
def test_verdicts_name_items_as_given_beside_rows_that_do_not_count(first, second):
    votes = pd.DataFrame({"item_a": first, "item_b": second, "outcome": list("abaab")})
    verdicts = urlr.fit(votes).verdicts
    assert verdicts["winner"].iloc[0] == next(iter(first))
    assert verdicts["winner"].iloc[1] == list(second)[1]
    assert verdicts["status"].iloc[4] == "rejected"
    assert verdicts["loser"].iloc[4] == list(first)[4]


def test_votes_explained_only_outside_the_reduced_space_are_ranked_unpruned():
    signs = [(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    features = pd.DataFrame(
        [(a, a, b, b, c) for a, b, c in signs], index=[f"i{k}" for k in range(8)], dtype=float
    )
    votes = pd.DataFrame(
        [(f"i{i}", f"i{j}") for i in range(8) for j in range(8) if signs[i][2] > signs[j][2]],
        columns=["winner", "loser"],
    )
    ranker = urlr.fit(votes, features, components=2)
    assert ranker.facts.n_pruned_edges == 0
    assert any("reduced features" in text for text in ranker.facts.warnings)
    top = ranker.scores["item"].head(4).str[1:].astype(int)
    assert all(signs[k][2] == 1 for k in top)


def test_numpy_numbers_as_settings_are_saved(tmp_path):
    votes, features = random_votes(5)
    ranker = urlr.fit(
        votes, features, components=np.int64(2), seed=np.int32(1), prune=np.float32(0.125)
    )
    ranker.save(tmp_path / "model.npz")
    assert urlr.load(tmp_path / "model.npz").settings == ranker.settings


@pytest.mark.parametrize("options", [{"components": 2.5}, {"prune": None}, {"seed": None}])
def test_settings_of_a_wrong_type_are_refused_by_name(crowd, options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        urlr.fit(crowd.votes, crowd.features, **options)


@pytest.mark.parametrize("weight", [1e4, 1e6])
def test_heavy_votes_beside_light_ones_on_many_features_are_fitted(weight):
    rng = np.random.default_rng(0)
    for seed in range(10):
        votes, _ = random_votes(seed, n_items=12, n_votes=200)
        votes["weight"] = np.where(rng.random(len(votes)) < 0.2, weight, 1.0)
        features = pd.DataFrame(rng.normal(size=(12, 200))).rename_axis("item")
        for prune in (0.2, 0.5, "bic"):
            ranker = urlr.fit(votes, features, prune=prune, outlier_space="features")
            assert np.isfinite(ranker.scores["score"]).all()
