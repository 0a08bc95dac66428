"""The simulated crowd: its shape, truth, features and pairs, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from graphs import codes, n_components, seeded
from refusals import refused

from urlr.errors import ArgumentError
from urlr.metrics import held_out_agreement
from urlr.simulate import AnnotatorShares, Crowd, crowd


def pair_counts(simulated: Crowd) -> pd.Series:
    pairs = np.sort(np.column_stack(codes(simulated)), axis=1)
    return pd.DataFrame(pairs).value_counts()


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


# Refusals


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        ({"n_items": 1}, "too_small", {"name": "n_items", "least": 2, "value": 1}),
        ({"n_votes": 0}, "too_small", {"name": "n_votes", "least": 1, "value": 0}),
        ({"votes_per_pair": 0}, "too_small", {"name": "votes_per_pair", "least": 1}),
        ({"ties": 1.5}, "not_between_0_and_1", {"name": "ties", "value": 1.5}),
        ({"flip": float("nan")}, "not_between_0_and_1", {"name": "flip"}),
        ({"private": 0.6, "curvature": 0.6}, "private_and_curved", {"total": 1.2}),
        ({"feature_noise": -1.0}, "feature_noise_out_of_range", {"value": -1.0}),
        ({"error_ratio": 0.5}, "not_below_half", {"name": "error_ratio", "value": 0.5}),
        (
            {"errors": "rising"},
            "not_one_of",
            {"name": "errors", "allowed": "falling, flat", "value": "rising"},
        ),
        ({"pairs": "ring"}, "not_one_of", {"name": "pairs", "value": "ring"}),
        (
            {"pairs": "complete", "n_votes": 100},
            "too_few_votes_for_pairs",
            {"n_votes": 100, "n_pairs": 19_900, "pattern": "complete"},
        ),
        ({"pairs": "chain", "campaign_votes": 0.2}, "no_pairs_to_push", {"pattern": "chain"}),
        (
            {"pairs": "components", "components": 101},
            "too_many_groups",
            {"n_groups": 101, "n_items": 200},
        ),
        (
            {"campaign_votes": 0.2, "pushed": 0.0},
            "pushed_out_of_range",
            {"pushed": 0.0, "n_items": 200},
        ),
        (
            {"campaign_votes": 0.2, "pushed": 1.0},
            "pushed_out_of_range",
            {"pushed": 1.0, "n_items": 200},
        ),
        ({"campaign_votes": 0.9, "ties": 0.2}, "too_many_ties", {"count": 400, "n_open": 200}),
        ({"disguised": True}, "disguised_by_name", {"campaign_votes": 0.0, "share": 0.0}),
        (
            {"shares": AnnotatorShares(careless=0.001)},
            "share_of_nobody",
            {"kind": "careless", "share": 0.001, "n_annotators": 50},
        ),
        (
            {"shares": AnnotatorShares(campaign=1.0), "campaign_votes": 0.2},
            "nobody_votes",
            {"count": 1600, "n_votes": 2000},
        ),
        (
            {"n_items": 4, "pairs": "components", "pushed": 0.5, "campaign_votes": 0.5},
            "nothing_to_push_against",
            {},
        ),
    ],
)
def test_bad_arguments_are_named(arguments, code, fields):
    # Seed 5 puts the two pushed of four items into one group.
    with refused(ArgumentError, code, **fields):
        crowd(rng=seeded(5), **arguments)


def test_bad_shares_are_named():
    with refused(ArgumentError, "not_between_0_and_1", name="shares.reversed", value=-0.1):
        AnnotatorShares(reversed=-0.1)
    with refused(ArgumentError, "shares_above_one", total=pytest.approx(1.2)):
        AnnotatorShares(careless=0.6, minority=0.6)
