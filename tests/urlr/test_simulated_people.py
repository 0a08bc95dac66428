"""The people of a simulated crowd: their mistakes, their kinds, their campaigns."""

import numpy as np
import pandas as pd
import pytest
from graphs import codes, n_components, seeded
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from urlr.errors import ArgumentError
from urlr.metrics import outlier_auc
from urlr.simulate import AnnotatorShares, Crowd, crowd, reach_for, unintentional_error


def differences(simulated: Crowd) -> np.ndarray:
    a, b = codes(simulated)
    truth = simulated.truth.to_numpy()
    return np.abs(truth[a] - truth[b])


def win_rates(simulated: Crowd) -> pd.Series:
    votes = simulated.decisive
    won = votes["winner"].value_counts(sort=False)
    return won / (won + votes["loser"].value_counts(sort=False))


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
    with refused(ArgumentError, "ratio_out_of_range", least=0.375, most=0.5, value=0.2):
        reach_for(gaps, 0.2)
    reach = reach_for(gaps, 0.4)
    assert unintentional_error(gaps, reach=reach).mean() == pytest.approx(0.4)


@pytest.mark.parametrize("gaps", [[], [-1.0, 1.0], [1.0, np.inf], [1.0, np.nan]])
def test_reach_refuses_differences_that_are_none(gaps):
    with refused(ArgumentError, "unusable_differences", count=len(gaps)):
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
