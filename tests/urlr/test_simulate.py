"""The simulator: what was asked for is what comes out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from urlr.metrics import held_out_agreement, outlier_auc
from urlr.simulate import (
    AnnotatorShares,
    Crowd,
    age_votes,
    crowd,
    reach_for,
    unintentional_error,
)


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def codes(simulated: Crowd) -> tuple[np.ndarray, np.ndarray]:
    a, b = (simulated.votes[name].cat.codes.to_numpy() for name in ("item_a", "item_b"))
    return a.astype(int), b.astype(int)


def differences(simulated: Crowd) -> np.ndarray:
    a, b = codes(simulated)
    truth = simulated.truth.to_numpy()
    return np.abs(truth[a] - truth[b])


def n_components(simulated: Crowd) -> int:
    a, b = codes(simulated)
    n = len(simulated.truth)
    return connected_components(sparse.coo_array((np.ones(len(a)), (a, b)), (n, n)))[0]


def pair_counts(simulated: Crowd) -> pd.Series:
    pairs = np.sort(np.column_stack(codes(simulated)), axis=1)
    return pd.DataFrame(pairs).value_counts()


def win_rates(simulated: Crowd) -> pd.Series:
    votes = simulated.decisive
    won = votes["winner"].value_counts(sort=False)
    return won / (won + votes["loser"].value_counts(sort=False))


EVERYTHING = {
    "n_votes": 5000,
    "shares": AnnotatorShares(careless=0.1, reversed=0.1, minority=0.1),
    "campaign_votes": 0.2,
    "pairs": "skewed",
    "votes_per_pair": 2,
    "private": 0.1,
    "curvature": 0.1,
    "feature_noise": 0.2,
    "ties": 0.1,
    "flip": 0.05,
    "left_bias": 0.05,
}


# Shape


def test_the_same_seed_gives_the_same_crowd():
    one, two = (crowd(rng=seeded(3), **EVERYTHING) for _ in range(2))
    pd.testing.assert_frame_equal(one.votes, two.votes)
    pd.testing.assert_frame_equal(one.features, two.features)
    pd.testing.assert_frame_equal(one.annotators, two.annotators)
    pd.testing.assert_series_equal(one.truth, two.truth)
    np.testing.assert_array_equal(one.wrong, two.wrong)
    assert list(one.planted) == list(two.planted)


def test_another_seed_gives_another_crowd_and_so_does_a_second_call():
    rng = seeded(3)
    one, again, other = crowd(rng=rng), crowd(rng=rng), crowd(rng=seeded(4))
    assert not one.truth.equals(again.truth)
    assert not one.truth.equals(other.truth)


def test_other_mistakes_leave_items_and_pairs_as_they_were():
    one = crowd(rng=seeded())
    two = crowd(rng=seeded(), flip=0.3, shares=AnnotatorShares(careless=0.5))
    pd.testing.assert_frame_equal(one.features, two.features)
    pd.testing.assert_frame_equal(one.votes[["item_a", "item_b"]], two.votes[["item_a", "item_b"]])


def test_votes_have_the_columns_and_types_of_a_vote_file():
    votes = crowd(rng=seeded(), **EVERYTHING).votes
    assert list(votes.columns) == [
        "vote_id", "item_a", "item_b", "outcome", "annotator", "time", "left",
    ]  # fmt: skip
    assert len(votes) == 5000
    assert votes["vote_id"].is_unique
    assert votes["time"].is_monotonic_increasing
    assert votes["time"].is_unique
    assert str(votes["time"].dt.tz) == "UTC"
    assert set(votes["outcome"]) == {"a", "b", "tie"}
    assert set(votes["left"]) == {"a", "b"}
    assert not (votes["item_a"] == votes["item_b"]).any()
    assert not votes.isna().any(axis=None)


def test_items_are_named_alike_everywhere():
    simulated = crowd(rng=seeded(), n_items=12, n_features=3)
    assert simulated.features.shape == (12, 3)
    assert simulated.features.index.name == "item"
    assert simulated.features.index[7] == "item-0007"
    assert simulated.features.index.equals(simulated.truth.index)
    assert set(simulated.votes["item_a"]) <= set(simulated.truth.index)


def test_wrong_is_what_contradicts_the_truth():
    simulated = crowd(rng=seeded(), **EVERYTHING)
    decisive = simulated.decisive
    won, lost = (simulated.truth[decisive[name]].to_numpy() for name in ("winner", "loser"))
    np.testing.assert_array_equal(simulated.wrong[decisive.index], won < lost)
    ties = (simulated.votes["outcome"] == "tie").to_numpy()
    assert not simulated.wrong[ties].any()
    agreement = held_out_agreement(simulated.truth, decisive)
    assert agreement == pytest.approx(1 - simulated.wrong[~ties].mean())


# Truth and features


def test_the_truth_is_a_standardised_linear_function_of_the_features():
    simulated = crowd(rng=seeded())
    assert simulated.truth.mean() == pytest.approx(0, abs=1e-12)
    assert simulated.truth.std(ddof=0) == pytest.approx(1)
    assert explained(simulated) == pytest.approx(1)


def explained(simulated: Crowd) -> float:
    """Share of the truth's variance that is linear in the features."""
    design = np.column_stack([np.ones(len(simulated.truth)), simulated.features])
    fitted = design @ np.linalg.lstsq(design, simulated.truth.to_numpy(), rcond=None)[0]
    return 1 - np.var(simulated.truth - fitted)


@pytest.mark.parametrize("option", [{"private": 0.3}, {"curvature": 0.3}])
def test_private_and_curved_parts_are_not_linear_in_the_features(option):
    simulated = crowd(rng=seeded(), n_items=5000, **option)
    assert explained(simulated) == pytest.approx(0.7, abs=0.04)
    assert simulated.truth.std(ddof=0) == pytest.approx(1)


def test_feature_noise_hides_the_truth():
    simulated = crowd(rng=seeded(), n_items=5000, feature_noise=1.0)
    assert explained(simulated) == pytest.approx(0.5, abs=0.04)


# Mistakes


def test_without_mistakes_nothing_is_wrong():
    assert not crowd(rng=seeded(), error_ratio=0.0).wrong.any()


@pytest.mark.parametrize("errors", ["falling", "flat"])
@pytest.mark.parametrize("ratio", [0.05, 0.1, 0.3])
def test_good_annotators_err_as_often_as_asked(errors, ratio):
    simulated = crowd(rng=seeded(), n_votes=40_000, errors=errors, error_ratio=ratio)
    assert simulated.wrong.mean() == pytest.approx(ratio, abs=0.01)


def test_falling_errors_fall_with_the_difference_and_flat_ones_do_not():
    falling = crowd(rng=seeded(), n_votes=40_000)
    by_difference = pd.Series(falling.wrong).groupby(pd.qcut(differences(falling), 5)).mean()
    assert by_difference.is_monotonic_decreasing
    assert by_difference.iloc[0] > 0.3
    assert by_difference.iloc[-1] == 0
    flat = crowd(rng=seeded(), n_votes=40_000, errors="flat")
    assert outlier_auc(differences(flat), flat.wrong) == pytest.approx(0.5, abs=0.02)


def test_flips_turn_exactly_their_share():
    simulated = crowd(rng=seeded(), error_ratio=0.0, flip=0.2)
    assert simulated.wrong.sum() == 400


def test_ties_have_their_share_and_are_close():
    simulated = crowd(rng=seeded(), ties=0.2)
    tied = (simulated.votes["outcome"] == "tie").to_numpy()
    assert tied.sum() == 400
    assert outlier_auc(-differences(simulated), tied) > 0.7
    assert len(simulated.decisive) == 1600


def test_left_bias_favours_the_left():
    simulated = crowd(rng=seeded(), n_votes=20_000, left_bias=0.5)
    left_won = simulated.votes["left"].astype(str) == simulated.votes["outcome"].astype(str)
    assert left_won.mean() == pytest.approx(0.75, abs=0.02)
    fair = crowd(rng=seeded(), n_votes=20_000).votes
    assert (fair["left"].astype(str) == fair["outcome"].astype(str)).mean() == pytest.approx(
        0.5, abs=0.02
    )


def test_unintentional_error_of_hand_worked_cases():
    chance = unintentional_error(np.array([0.0, 1.0, 2.0, 4.0, 9.0]), reach=4.0)
    np.testing.assert_allclose(chance, [0.5, 0.28125, 0.125, 0.0, 0.0])
    assert unintentional_error(np.array([0.0]), at_zero=0.3, reach=1.0) == 0.3


@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=30),
    st.floats(0.02, 0.98),
    st.floats(0.1, 1.0),
)
def test_reach_gives_the_wanted_mean(gaps, part, at_zero):
    gaps, ratio = np.array(gaps), part * at_zero
    reach = reach_for(gaps, ratio, at_zero=at_zero)
    chance = unintentional_error(gaps, at_zero=at_zero, reach=reach)
    assert chance.mean() == pytest.approx(ratio, abs=1e-6)


def test_no_reach_makes_equals_err_less():
    gaps = np.array([0.0, 0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"ratio must lie between 0\.375 and 0\.5, got 0\.2"):
        reach_for(gaps, 0.2)
    reach = reach_for(gaps, 0.4)
    assert unintentional_error(gaps, reach=reach).mean() == pytest.approx(0.4)


@pytest.mark.parametrize("gaps", [[], [-1.0, 1.0], [1.0, np.inf], [1.0, np.nan]])
def test_reach_refuses_differences_that_are_none(gaps):
    with pytest.raises(ValueError, match="differences must be"):
        reach_for(np.array(gaps), 0.1)


# People


def test_annotators_have_the_kinds_asked_for():
    shares = AnnotatorShares(careless=0.1, reversed=0.2, campaign=0.1, minority=0.2)
    simulated = crowd(rng=seeded(), shares=shares)
    counts = simulated.annotators["kind"].value_counts()
    assert dict(counts) == {
        "good": 20,
        "careless": 5,
        "reversed": 10,
        "campaign": 5,
        "minority": 10,
    }
    kinds = simulated.annotators.set_index("annotator")["kind"]
    named = kinds[simulated.votes["annotator"]].to_numpy()
    assert (np.asarray(simulated.planted) == named).all()


def test_each_kind_errs_in_its_way():
    shares = AnnotatorShares(careless=0.2, reversed=0.2, minority=0.2)
    wrong = {
        seed: pd.Series(simulated.wrong).groupby(simulated.planted, observed=True).mean()
        for seed in range(8)
        for simulated in [crowd(rng=seeded(seed), n_votes=20_000, n_features=20, shares=shares)]
    }
    mean = pd.DataFrame(wrong).mean(axis=1)
    assert mean["good"] == pytest.approx(0.1, abs=0.01)
    assert mean["reversed"] == pytest.approx(0.9, abs=0.01)
    assert mean["careless"] == pytest.approx(0.5, abs=0.01)
    assert 0.35 < mean["minority"] < 0.65


def test_the_minority_agrees_with_itself():
    simulated = crowd(
        rng=seeded(),
        n_items=20,
        n_votes=20_000,
        shares=AnnotatorShares(minority=1.0),
        error_ratio=0.0,
    )
    votes = simulated.decisive.astype(str).groupby(["winner", "loser"]).size()
    both_ways = [pair for pair in votes.index if pair[::-1] in votes.index]
    assert both_ways == []
    assert simulated.wrong.any()


def test_carelessness_is_the_chance_of_a_random_vote():
    shares = AnnotatorShares(careless=1.0)
    simulated = crowd(
        rng=seeded(), n_votes=20_000, shares=shares, carelessness=0.4, error_ratio=0.0
    )
    assert simulated.wrong.mean() == pytest.approx(0.2, abs=0.01)


# Campaigns


def test_campaigners_vote_for_pushed_items_and_else_honestly():
    simulated = crowd(
        rng=seeded(), n_votes=20_000, shares=AnnotatorShares(campaign=0.5), error_ratio=0.0
    )
    assert len(simulated.pushed) == 20
    votes = simulated.decisive[np.asarray(simulated.planted) == "campaign"]
    won, lost = (votes[name].isin(simulated.pushed) for name in ("winner", "loser"))
    assert not (lost & ~won).any()
    wrong = simulated.wrong[votes.index]
    assert not wrong[(won == lost).to_numpy()].any()
    assert wrong.any()


def test_campaign_votes_have_their_share_their_people_and_push():
    simulated = crowd(rng=seeded(), n_votes=20_000, campaign_votes=0.2)
    pushes = simulated.decisive[np.asarray(simulated.planted) == "campaign"]
    assert len(pushes) == 4000
    assert pushes["winner"].isin(simulated.pushed).all()
    assert not pushes["loser"].isin(simulated.pushed).any()
    campaigners = simulated.annotators.query("kind == 'campaign'")["annotator"]
    assert len(campaigners) == 10
    assert set(pushes["annotator"]) == set(campaigners)
    others = simulated.votes[np.asarray(simulated.planted) != "campaign"]
    assert not others["annotator"].isin(campaigners).any()


def test_a_campaign_raises_the_win_rates_of_what_it_pushes():
    clean, pushed = (
        crowd(rng=seeded(), n_votes=40_000, campaign_votes=share) for share in (0.0, 0.2)
    )
    pd.testing.assert_series_equal(clean.truth, pushed.truth)
    gain = win_rates(pushed) - win_rates(clean)
    assert gain[pushed.pushed].mean() > 0.2
    assert gain.drop(pushed.pushed).mean() < 0


def test_few_campaigners_can_make_many_votes():
    simulated = crowd(rng=seeded(), campaign_votes=0.2, shares=AnnotatorShares(campaign=0.02))
    assert (simulated.annotators["kind"] == "campaign").sum() == 1
    assert simulated.votes["annotator"].value_counts().iloc[0] == 400


def test_a_disguised_campaign_has_no_names():
    simulated = crowd(rng=seeded(), campaign_votes=0.2, disguised=True)
    assert set(simulated.annotators["kind"]) == {"good"}
    pushes = np.asarray(simulated.planted) == "campaign"
    assert pushes.sum() == 400
    assert simulated.votes["annotator"][pushes].nunique() == 50


def test_a_campaign_stays_within_its_groups():
    simulated = crowd(
        rng=seeded(), n_items=30, pairs="components", components=3, campaign_votes=0.5
    )
    assert n_components(simulated) == 3


def test_ties_never_touch_a_push():
    simulated = crowd(rng=seeded(), campaign_votes=0.5, ties=0.5)
    tied = (simulated.votes["outcome"] == "tie").to_numpy()
    np.testing.assert_array_equal(tied, np.asarray(simulated.planted) != "campaign")


# Pairs


def test_random_pairs_are_uniform():
    counts = pair_counts(crowd(rng=seeded(), n_items=6, n_votes=30_000))
    assert len(counts) == 15
    assert counts.between(1800, 2200).all()


def test_a_and_b_change_places():
    for pairs in ("random", "complete", "chain"):
        a, b = codes(crowd(rng=seeded(), n_items=100, pairs=pairs, votes_per_pair=5))
        assert (a < b).mean() == pytest.approx(0.5, abs=0.1)


def test_skewed_pairs_make_some_items_popular():
    shares = {}
    for pairs in ("random", "skewed"):
        counts = np.bincount(np.concatenate(codes(crowd(rng=seeded(), n_votes=9000, pairs=pairs))))
        shares[pairs] = np.sort(counts)[-20:].sum() / counts.sum()
    assert shares["random"] < 0.15
    assert shares["skewed"] > 0.4


@pytest.mark.parametrize("components", [1, 2, 5])
def test_components_are_never_compared(components):
    simulated = crowd(rng=seeded(), n_items=50, pairs="components", components=components)
    assert n_components(simulated) == components


def test_complete_has_every_pair_once():
    simulated = crowd(rng=seeded(), n_items=20, pairs="complete")
    assert len(simulated.votes) == 190
    assert len(pair_counts(simulated)) == 190
    assert n_components(simulated) == 1
    twice = pair_counts(crowd(rng=seeded(), n_items=20, pairs="complete", n_votes=400))
    assert set(twice) == {2, 3}


def test_a_chain_is_a_tree_of_neighbours():
    simulated = crowd(rng=seeded(), n_items=30, pairs="chain", votes_per_pair=3)
    assert set(pair_counts(simulated)) == {3}
    degrees = np.bincount(np.array(list(pair_counts(simulated).index)).ravel())
    assert sorted(degrees) == [1, 1] + [2] * 28
    assert n_components(simulated) == 1


def test_votes_per_pair_repeats_pairs():
    counts = pair_counts(crowd(rng=seeded(), n_items=1000, n_votes=2000, votes_per_pair=5))
    assert (counts % 5 == 0).all()
    assert len(counts) > 390


def test_two_items_are_enough():
    for pairs in ("random", "skewed", "complete", "chain"):
        assert len(pair_counts(crowd(rng=seeded(), n_items=2, pairs=pairs))) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_items": 1}, "n_items must be at least 2, got 1"),
        ({"n_votes": 0}, "n_votes must be at least 1, got 0"),
        ({"votes_per_pair": 0}, "votes_per_pair must be at least 1"),
        ({"ties": 1.5}, r"ties must lie between 0 and 1, got 1\.5"),
        ({"flip": float("nan")}, "flip must lie between 0 and 1, got nan"),
        ({"private": 0.6, "curvature": 0.6}, r"private \+ curvature must be at most 1"),
        ({"feature_noise": -1.0}, "feature_noise must be at least 0"),
        ({"error_ratio": 0.5}, r"error_ratio must be at least 0 and below 0\.5"),
        ({"errors": "rising"}, "errors must be one of falling, flat, got 'rising'"),
        ({"pairs": "ring"}, "pairs must be one of random, .*, got 'ring'"),
        ({"pairs": "complete", "n_votes": 100}, "n_votes=100 cannot cover the 19,900 pairs"),
        ({"pairs": "chain", "campaign_votes": 0.2}, "campaign_votes needs pairs to choose from"),
        ({"pairs": "components", "components": 101}, "components=101 .* need more than 200"),
        ({"campaign_votes": 0.2, "pushed": 0.0}, "pushed=0 of 200 items must be some"),
        ({"campaign_votes": 0.2, "pushed": 1.0}, "pushed=1 of 200 items must be some, but not all"),
        ({"campaign_votes": 0.9, "ties": 0.2}, "ties wants 400 votes, but only 200"),
        ({"disguised": True}, "disguised campaigners have no names"),
        ({"shares": AnnotatorShares(careless=0.001)}, r"shares.careless=0\.001 of 50 .* nobody"),
        (
            {"shares": AnnotatorShares(campaign=1.0), "campaign_votes": 0.2},
            "shares leave nobody to make 1,600 of 2,000 votes",
        ),
        (
            {"n_items": 4, "pairs": "components", "pushed": 0.5, "campaign_votes": 0.5},
            "pushed: no group has both",
        ),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    # Seed 5 puts the two pushed of four items into one group.
    with pytest.raises(ValueError, match=message):
        crowd(rng=seeded(5), **arguments)


def test_bad_shares_are_named():
    with pytest.raises(ValueError, match=r"shares.reversed must lie between 0 and 1, got -0\.1"):
        AnnotatorShares(reversed=-0.1)
    with pytest.raises(ValueError, match=r"shares must add up to at most 1, got 1\.2"):
        AnnotatorShares(careless=0.6, minority=0.6)


# Ages

AGES = np.random.default_rng(9).integers(0, 70, 300).astype(float)


def test_age_votes_are_on_distinct_pairs_of_different_age():
    votes = age_votes(AGES, n_votes=2000, error_ratio=0.25, rng=seeded())
    pairs = pd.DataFrame(np.sort(votes[["winner", "loser"]], axis=1))
    assert len(votes) == 2000
    assert not pairs.duplicated().any()
    difference = AGES[votes["winner"]] - AGES[votes["loser"]]
    assert (difference != 0).all()
    np.testing.assert_array_equal(votes["difference"], np.abs(difference))
    np.testing.assert_array_equal(votes["wrong"], difference < 0)


@pytest.mark.parametrize("ratio", [0.1, 0.25, 0.35, 0.5])
def test_age_votes_are_wrong_as_often_as_asked(ratio):
    votes = age_votes(AGES, n_votes=20_000, error_ratio=ratio, rng=seeded())
    assert votes["wrong"].mean() == pytest.approx(ratio, abs=0.01)


def test_honest_mistakes_about_age_are_close():
    votes = age_votes(AGES, n_votes=20_000, error_ratio=0.1, rng=seeded())
    assert outlier_auc(-votes["difference"].to_numpy(), votes["wrong"].to_numpy()) > 0.8
    blind = age_votes(AGES, n_votes=20_000, error_ratio=0.3, unintentional_ratio=0.0, rng=seeded())
    auc = outlier_auc(blind["difference"].to_numpy(), blind["wrong"].to_numpy())
    assert auc == pytest.approx(0.5, abs=0.02)


def test_every_pair_of_different_age_can_be_drawn_and_equally_often():
    ages = np.array([3.0, 1.0, 3.0, 2.0])
    votes = age_votes(ages, n_votes=5, error_ratio=0.0, unintentional_ratio=0.0, rng=seeded())
    pairs = sorted(zip(votes["winner"], votes["loser"], strict=True))
    assert pairs == [(0, 1), (0, 3), (2, 1), (2, 3), (3, 1)]
    rng = seeded()
    first = [
        tuple(age_votes(ages, n_votes=1, error_ratio=0.1, rng=rng)[["winner", "loser"]].iloc[0])
        for _ in range(1500)
    ]
    counts = pd.Series([tuple(sorted(pair)) for pair in first]).value_counts()
    assert len(counts) == 5
    assert counts.between(230, 370).all()


def test_several_votes_on_each_age_pair():
    votes = age_votes(AGES, n_votes=3000, error_ratio=0.25, votes_per_pair=5, rng=seeded())
    pairs = pd.DataFrame(np.sort(votes[["winner", "loser"]], axis=1)).value_counts()
    assert len(pairs) == 600
    assert (pairs == 5).all()


def test_age_votes_repeat_with_their_seed():
    one, two = (age_votes(AGES, n_votes=600, error_ratio=0.25, rng=seeded(1)) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ages": np.array([1.0, np.nan])}, "ages must be at least 2 finite numbers"),
        ({"ages": np.ones(5)}, "60 distinct pairs wanted, but only 0 differ"),
        ({"error_ratio": 0.05}, r"error_ratio must lie between unintentional_ratio=0\.1 and 0\.5"),
        ({"error_ratio": 0.6}, r"error_ratio must lie between"),
        ({"unintentional_ratio": 0.5}, "unintentional_ratio must be at least 0 and below"),
        ({"votes_per_pair": 7}, "n_votes must be a multiple of votes_per_pair, got 60 and 7"),
    ],
)
def test_bad_age_arguments_are_named(arguments, message):
    asked = {"ages": AGES, "n_votes": 60, "error_ratio": 0.25, "rng": seeded(), **arguments}
    with pytest.raises(ValueError, match=message):
        age_votes(asked.pop("ages"), **asked)
