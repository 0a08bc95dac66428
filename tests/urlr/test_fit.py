"""The whole fit, by either method: what a data scientist gets, and what must not change it."""

import re

import numpy as np
import pandas as pd
import pytest
from graphs import random_votes, votes_frame
from refusals import refused

import urlr
from urlr import FeatureError, VoteError
from urlr.messages import message
from urlr.model_file import model_bytes


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    return urlr.simulate.crowd(rng=rng, n_items=120, n_features=6, n_votes=1500, ties=0.05)


@pytest.fixture(scope="module")
def ranker(crowd, how):
    return urlr.fit(crowd.votes, crowd.features, prune=0.2, **how)


def scores_of(votes, features=None, **options):
    """Scores by item."""
    return urlr.fit(votes, features, **options).scores.set_index("item")["score"]


def straight(how):
    """Settings that leave no choice of a space to the votes."""
    return {"curved": False} if how["method"] == "robust" else {}


def assert_same_scores(one, other, how):
    """To rounding; the default to the tolerance of its solver."""
    rtol = 1e-4 if how["method"] == "robust" else 1e-9
    np.testing.assert_allclose(other[one.index], one, rtol=rtol, atol=rtol * one.abs().max())


# ---------------------------------------------------------------- scores


def test_scores_hold_every_item_with_features_best_first(crowd, ranker):
    scores = ranker.scores
    assert set(scores["item"]) == set(crowd.features.index)
    assert scores["score"].is_monotonic_decreasing
    assert scores["rank"].tolist() == sorted(scores["rank"])
    assert scores["rank"].iloc[0] == 1
    total = scores[["wins", "losses", "ties"]].sum(axis=1)
    assert (scores["n_votes"] == total).all()
    assert scores["n_votes"].sum() == 2 * len(crowd.votes)
    assert scores["pruned"].sum() == 2 * ranker.facts.n_pruned_votes


def test_where_no_intervals_were_asked_for_there_are_none(ranker):
    assert ranker.facts.n_replicates == 0
    assert ranker.scores[["low", "high", "rank_low", "rank_high"]].isna().all().all()


def test_score_of_seen_items_is_the_score_in_the_table(crowd, ranker):
    table = ranker.scores.set_index("item")["score"]
    again = ranker.score(crowd.features)
    np.testing.assert_allclose(again, table.loc[again.index], atol=1e-12)
    assert again.index.name == "item"


def test_unseen_items_are_scored_by_their_features(crowd, ranker):
    known = crowd.features.iloc[:5]
    effect = ranker.scores.set_index("item")["effect"][known.index]
    new = known.set_axis([f"new-{k}" for k in range(5)])
    by_features = ranker.score(known) - effect
    np.testing.assert_allclose(ranker.score(new), by_features, rtol=1e-12, atol=1e-12)


def test_features_are_matched_by_name_not_place(crowd, ranker):
    turned = crowd.features[crowd.features.columns[::-1]].assign(note="text", other=1.0)
    pd.testing.assert_series_equal(ranker.score(turned), ranker.score(crowd.features))


def test_equal_feature_rows_share_a_rank(how):
    votes, features = random_votes(1)
    features.loc[5] = features.loc[6]
    options = how | ({"item_effects": False} if how["method"] == "robust" else {})
    scores = urlr.fit(votes, features, **options).scores.set_index("item")
    assert scores.loc[5, "rank"] == scores.loc[6, "rank"]


def test_featureless_ranker_cannot_score_others_and_says_so(how):
    ranker = urlr.fit(votes_frame([("a", "b", 2), ("b", "c", 2), ("c", "a", 1)]), **how)
    with refused(FeatureError, "model_without_features", n_items=3):
        ranker.score(pd.DataFrame({"f": [1.0]}, index=["a"]))


def test_missing_feature_column_is_named(crowd, ranker):
    lacking = crowd.features.drop(columns=crowd.features.columns[2])
    with refused(FeatureError, "lacking_columns", names=[str(crowd.features.columns[2])]):
        ranker.score(lacking)


def test_histogram_features_go_through_the_chi_square_map(crowd, how):
    ranker = urlr.fit(crowd.votes, crowd.features.abs(), chi_square=2, **how)
    assert [step.kind for step in ranker.feature_map.steps[:2]] == ["impute", "chi_square"]
    assert np.isfinite(ranker.scores["score"]).all()
    with refused(FeatureError, "negative_values"):
        urlr.fit(crowd.votes, crowd.features, chi_square=2, **how)


# ---------------------------------------------------------------- verdicts


def test_verdicts_are_one_row_per_vote_in_input_order(crowd, ranker):
    verdicts = ranker.verdicts
    assert verdicts["vote_id"].tolist() == crowd.votes["vote_id"].tolist()
    assert verdicts["pruned"].sum() == ranker.facts.n_pruned_votes > 0
    won = crowd.votes["item_a"].where(crowd.votes["outcome"] != "b", crowd.votes["item_b"])
    assert verdicts["winner"].astype(str).tolist() == won.astype(str).tolist()
    scores = ranker.scores.set_index("item")["score"]
    margin = (
        scores.loc[verdicts["winner"].astype(str)].to_numpy()
        - scores.loc[verdicts["loser"].astype(str)].to_numpy()
    )
    np.testing.assert_allclose(verdicts["margin"], margin, atol=1e-12)
    assert (verdicts["reason"] != "")[verdicts["pruned"]].all()
    assert (verdicts["reason"] == "")[~verdicts["pruned"]].all()


def test_the_most_suspicious_are_pruned(ranker):
    """Votes one by one, in the paper all votes of an edge together."""
    by_vote = ranker.settings.method == "robust"
    facts, verdicts = ranker.facts, ranker.verdicts
    count = facts.n_pruned_votes if by_vote else facts.n_pruned_edges
    assert (verdicts["pruned"] == (verdicts["order"] <= count)).all()
    assert verdicts["order"].nunique() == (len(verdicts) if by_vote else facts.n_edges)
    decided = verdicts["status"] == "used"
    edges = verdicts.groupby(["winner", "loser", decided], observed=True)["pruned"]
    assert edges.all().sum() == facts.n_pruned_edges


def test_reasons_agree_with_the_margins(crowd, how):
    """Without features: with them, the default names what the features say."""
    verdicts = urlr.fit(crowd.votes, prune=0.2, **how).verdicts
    against = verdicts["reason"] == message("against_ranking")
    assert against.any()
    assert (verdicts.loc[against, "margin"] < 0).all()


def test_rejected_rows_stay_in_the_verdicts_with_their_reason(how):
    votes = pd.DataFrame(
        {"item_a": ["a", "b", "c", "c", "d"], "item_b": ["b", "c", "c", "d", "a"]},
        index=[10, 20, 30, 40, 50],
    ).assign(outcome=["a", "a", "a", "skip", "b"])
    verdicts = urlr.fit(votes, **how).verdicts
    assert verdicts.index.tolist() == [10, 20, 30, 40, 50]
    assert verdicts["status"].tolist() == ["used", "used", "rejected", "skipped", "used"]
    assert verdicts.loc[30, "reason"] == message("self_comparison")
    assert verdicts.loc[40, "reason"] == message("skipped_by_annotator")
    judged = ["entry", "order", "margin", "suspicion"]
    assert verdicts.loc[[30, 40], judged].isna().all().all()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pd.Categorical(list("abcad")), pd.Categorical(["b", "c", "e", "c", None])),
        ([2**53 + 1, 2, 3, 4, 1], [2, 3, 4, 2, np.nan]),
    ],
)
def test_verdicts_name_items_as_given_beside_rows_that_do_not_count(first, second, how):
    votes = pd.DataFrame({"item_a": first, "item_b": second, "outcome": list("abaab")})
    verdicts = urlr.fit(votes, **how).verdicts
    assert verdicts["winner"].iloc[0] == next(iter(first))
    assert verdicts["winner"].iloc[1] == list(second)[1]
    assert verdicts["status"].iloc[4] == "rejected"
    assert verdicts["loser"].iloc[4] == list(first)[4]


def test_what_happens_to_the_frame_after_the_fit_does_not_reach_the_verdicts(how):
    votes = votes_frame([("a", "b", 40), ("b", "c", 30), ("c", "a", 9)])
    ranker = urlr.fit(votes, prune=0.2, **how)
    before = ranker.verdicts
    votes["winner"] = "somebody else"
    del votes["loser"]
    pd.testing.assert_frame_equal(ranker.verdicts, before)


def test_pruned_votes_are_mostly_wrong_ones(crowd, ranker):
    pruned = ranker.verdicts["pruned"].to_numpy()
    assert crowd.wrong[pruned].mean() > 3 * crowd.wrong[~pruned].mean()


# ---------------------------------------------------------------- symmetries


@pytest.mark.parametrize("featureless", [False, True])
def test_reversing_every_vote_negates_scores(crowd, how, featureless):
    flipped = crowd.votes.assign(
        outcome=crowd.votes.outcome.astype(str).replace({"a": "b", "b": "a"})
    )
    features = None if featureless else crowd.features
    one, other = (scores_of(v, features, prune=0.2, **how) for v in (crowd.votes, flipped))
    assert_same_scores(one, -other, how)


@pytest.mark.parametrize("featureless", [False, True])
def test_naming_the_other_item_first_changes_nothing(crowd, how, featureless):
    other_way = {"a": "b", "b": "a"}
    swapped = crowd.votes.assign(
        item_a=crowd.votes.item_b,
        item_b=crowd.votes.item_a,
        outcome=crowd.votes.outcome.astype(str).replace(other_way),
        left=crowd.votes.left.astype(str).replace(other_way),
    )
    features = None if featureless else crowd.features
    one, other = (scores_of(v, features, prune=0.2, **how) for v in (crowd.votes, swapped))
    assert_same_scores(one, other, how)


@pytest.mark.parametrize("featureless", [False, True])
def test_renaming_the_items_renames_the_scores(crowd, how, featureless):
    """Nothing tuned, effects of items among it: they are dealt into folds by their names."""
    places = np.random.default_rng(1).permutation(len(crowd.features))
    new = dict(zip(crowd.features.index, (f"x{place:03d}" for place in places), strict=True))
    renamed = crowd.votes.assign(
        **{name: crowd.votes[name].astype(str).map(new) for name in ("item_a", "item_b")}
    )
    features = None if featureless else crowd.features
    options = how | {"prune": 0.0, "ridge": 10.0} | straight(how)
    if how["method"] == "robust":
        options |= {"item_effects": False}
    one = scores_of(crowd.votes, features, **options)
    other = scores_of(renamed, None if featureless else features.rename(index=new), **options)
    assert_same_scores(one, other[one.index.map(new)].set_axis(one.index), how)


def test_a_vote_of_weight_two_is_two_votes(crowd, how):
    """Nothing pruned and no kernel: shares and standard errors are counted in votes.

    Of nobody in particular: to say the same twice is not two opinions of one person.
    """
    twice = pd.concat([crowd.votes, crowd.votes], ignore_index=True).drop(columns="vote_id")
    heavy = crowd.votes.assign(weight=2.0)
    options = how | {"prune": 0.0} | straight(how)
    nameless = options if how["method"] == "paper" else options | {"annotator_rates": False}
    one, other = (scores_of(votes, crowd.features, **nameless) for votes in (twice, heavy))
    assert_same_scores(one, other, how)
    one, other = (scores_of(votes, crowd.features, **options) for votes in (twice, heavy))
    assert one.corr(other[one.index], method="kendall") > 0.97


def test_order_of_the_rows_does_not_matter(crowd, how, ranker):
    shuffled = crowd.votes.sample(frac=1, random_state=0)
    features = crowd.features.sample(frac=1, random_state=0)
    again = urlr.fit(shuffled, features, prune=0.2, **how)
    if how["method"] == "paper":
        assert again.coefficients.tobytes() == ranker.coefficients.tobytes()
    one, other = (each.scores.set_index("item") for each in (ranker, again))
    assert_same_scores(one["score"], other["score"], how)
    one, other = (each.verdicts.set_index("vote_id").sort_index() for each in (ranker, again))
    assert (one["pruned"] == other["pruned"]).all()


def test_items_nobody_voted_on_change_nothing(crowd, how, ranker):
    extra = pd.concat([crowd.features, crowd.features.iloc[:9].add(7).set_axis(list("abcdefghi"))])
    more = urlr.fit(crowd.votes, extra, prune=0.2, **how)
    assert more.coefficients.tobytes() == ranker.coefficients.tobytes()
    assert (more.scores["n_votes"] == 0).sum() == 9


@pytest.mark.parametrize("featureless", [False, True])
def test_same_votes_settings_and_seed_give_the_same_bytes(crowd, how, featureless):
    features = None if featureless else crowd.features
    options = how | ({"replicates": 3} if how["method"] == "robust" else {})
    one, other = (urlr.fit(crowd.votes, features, seed=7, **options) for _ in range(2))
    assert model_bytes(one) == model_bytes(other)
    pd.testing.assert_frame_equal(one.verdicts, other.verdicts, check_exact=True)


# ---------------------------------------------------------------- words


def test_summary_says_what_happened_in_plain_words(ranker):
    text = ranker.summary()
    rows = {"read": 1500, "used": 1425, "ties": 75, "skipped": 0, "rejected": 0}
    first, second = text.splitlines()[:2]
    assert first == message("summary_of_rows", n_items=120, rows=rows)
    assert re.findall(r"[\d,]*\d", second)[:2] == [f"{ranker.facts.n_pruned_votes:,}", "1,500"]
    assert "\x1b" not in text


def test_control_signs_in_ids_never_reach_the_summary(how):
    ranker = urlr.fit(votes_frame([("\x1b[31mred", "b", 2), ("b", "c\r\n", 2)]), **how)
    assert "\x1b" not in ranker.summary()
    assert "\r" not in ranker.summary()


def test_progress_is_told(how):
    told = []
    votes, features = random_votes(4)
    urlr.fit(votes, features, progress=lambda what, share: told.append((what, share)), **how)
    assert told[-1] == ("done", 1.0)
    assert all(0 <= share <= 1.01 for _, share in told)


def test_text_ids_against_number_ids_explain_themselves(how):
    votes = pd.DataFrame({"winner": [1, 2], "loser": [2, 3]})
    features = pd.DataFrame({"f": [1.0, 2.0, 3.0]}, index=["1", "2", "3"])
    with refused(VoteError, "no_features_by_type", count=2) as caught:
        urlr.fit(votes, features, **how)
    assert caught.value.fields["names"].fields == {
        "voted": [1, 2, 3],
        "voted_kinds": "number",
        "known": ["1", "2", "3"],
        "known_kinds": "text",
    }
