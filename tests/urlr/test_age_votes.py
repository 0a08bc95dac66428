"""Simulated votes on who is older: distinct pairs, and mistakes as often as asked."""

import numpy as np
import pandas as pd
import pytest
from graphs import seeded
from refusals import refused

from urlr.errors import ArgumentError
from urlr.metrics import outlier_auc
from urlr.simulate import age_votes

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
    ("arguments", "code", "fields"),
    [
        ({"ages": np.array([1.0, np.nan])}, "too_few_ages", {"count": 2}),
        ({"ages": np.ones(5)}, "too_few_distinct_pairs", {"n_pairs": 60, "total": 0}),
        ({"error_ratio": 0.05}, "error_ratio_out_of_range", {"least": 0.1, "value": 0.05}),
        ({"error_ratio": 0.6}, "error_ratio_out_of_range", {"value": 0.6}),
        ({"unintentional_ratio": 0.5}, "not_below_half", {"name": "unintentional_ratio"}),
        ({"votes_per_pair": 7}, "votes_not_a_multiple", {"n_votes": 60, "votes_per_pair": 7}),
    ],
)
def test_bad_age_arguments_are_named(arguments, code, fields):
    asked = {"ages": AGES, "n_votes": 60, "error_ratio": 0.25, "rng": seeded(), **arguments}
    with refused(ArgumentError, code, **fields):
        age_votes(asked.pop("ages"), **asked)
