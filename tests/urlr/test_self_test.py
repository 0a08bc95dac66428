"""Votes turned around on purpose are found, and the figure is honest where they cannot be."""

import numpy as np
import pandas as pd
import pytest
from graphs import METHODS, random_votes, seeded
from refusals import refused
from scipy.special import expit

import urlr
from urlr import FeatureError, VoteError
from urlr.diagnostics.rejudging import judgement_of
from urlr.diagnostics.self_test import recall_in_first, self_test
from urlr.errors import ArgumentError
from urlr.metrics import outlier_auc
from urlr.settings import FitSettings
from urlr.simulate import AnnotatorShares, crowd
from urlr.space.table import feature_table
from urlr.votes.ballots import ballots_of
from urlr.votes.table import vote_table


def crowd_of(seed=0, **options):
    usual = {
        "n_items": 60,
        "n_features": 5,
        "n_votes": 1200,
        "n_annotators": 30,
        "private": 0.1,
        "error_ratio": 0.08,
        "ties": 0.03,
        "left_bias": 0.05,
    }
    return crowd(rng=seeded(seed), **(usual | options))


def figures_of(votes, features=None, *, seed=0, **settings):
    return self_test(votes, features, FitSettings(**settings), rng=seeded(seed))


def turned_around(votes, rows):
    other = votes["outcome"].map({"a": "b", "b": "a", "tie": "tie"})
    return votes.assign(outcome=votes["outcome"].where(~rows, other))


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("alone", [True, False])
def test_flipped_votes_of_a_clean_crowd_are_found(how, alone, named):
    made = crowd_of()
    votes = made.votes if named else made.votes.drop(columns="annotator")
    found = figures_of(votes, None if alone else made.features, **how)
    assert 0.85 < found.auc.low < found.auc.value < found.auc.high < 1.0
    assert found.recall > 0.75
    assert found.n_votes == (made.votes["outcome"] != "tie").sum()
    assert found.n_flipped == round(0.05 * found.n_votes)


def test_the_copy_is_judged_as_a_fit_to_it_would(how):
    """Also where left and right are known, which turn around with the vote."""
    made = crowd_of(1, left_bias=0.3, shares=AnnotatorShares(reversed=0.1))
    flipped = (made.votes["outcome"] != "tie") & (np.arange(1200) % 15 == 0)
    ranker = urlr.fit(turned_around(made.votes, flipped), made.features, **how)
    table = feature_table(made.features)
    read = vote_table(made.votes, known_items=table.items)
    mask = flipped.to_numpy()[ballots_of(read).place]
    judged = judgement_of(read, table, FitSettings(**how), turned=mask, furthest=0.2)
    if how["method"] == "robust":
        expected = ranker.verdicts["suspicion"].to_numpy()
        np.testing.assert_allclose(expit(judged.suspicion), expected, atol=2e-3)
        assert judged.n_turned > 50
    else:
        place = np.argsort(np.argsort(-judged.suspicion, kind="stable"), kind="stable")
        expected = ranker.verdicts["order"].to_numpy(np.float64)
        decided = ~judged.ballots.tie & (place < 200)
        assert np.corrcoef(place[decided], expected[decided])[0, 1] > 0.98
    np.testing.assert_array_equal(judged.set_aside(), ranker.verdicts["pruned"])


def test_tossed_coins_are_not_found(how):
    votes, features = random_votes(3, n_items=30, n_votes=1500, wrong=0.5)
    found = figures_of(votes, features, **how)
    assert found.auc.value == pytest.approx(0.5, abs=0.12)


def test_a_fit_given_saves_time_and_changes_little(how):
    made = crowd_of(2)
    ranker = urlr.fit(made.votes, made.features, **how)
    anew, alike = (
        self_test(made.votes, made.features, FitSettings(**how), like=like, rng=seeded())
        for like in (None, ranker)
    )
    assert alike.auc.value == pytest.approx(anew.auc.value, abs=0.02)
    assert alike.n_flipped == anew.n_flipped


def test_same_votes_settings_and_seed_give_the_same_figures(how):
    made = crowd_of(3)
    before = made.votes.copy()
    first, second = (figures_of(made.votes, made.features, **how) for _ in range(2))
    assert first == second
    assert first != figures_of(made.votes, made.features, seed=1, **how)
    pd.testing.assert_frame_equal(made.votes, before)


@pytest.mark.parametrize("name", METHODS)
def test_relabelled_items_give_the_same_auc(name):
    votes, _ = random_votes(4, n_items=25, n_votes=900)
    renamed = votes.assign(item_a=100 - votes["item_a"], item_b=100 - votes["item_b"])
    options = METHODS[name] | {"prune": 0.1}
    first, second = (figures_of(table, **options) for table in (votes, renamed))
    assert first.auc.value == pytest.approx(second.auc.value, abs=1e-4)
    assert first.recall == pytest.approx(second.recall, abs=0.02)


def test_votes_read_before_are_not_read_again():
    made = crowd_of(5)
    assert figures_of(vote_table(made.votes)) == figures_of(made.votes)


@pytest.mark.parametrize(
    ("n_votes", "n_flipped"), [(3000, 150), (600, 50), (300, 30), (50, 5), (49, None)]
)
def test_a_twentieth_is_flipped_or_fifty_but_never_more_than_a_tenth(n_votes, n_flipped):
    draw = seeded(6)
    first = draw.integers(0, 10, n_votes)
    second = (first + draw.integers(1, 10, n_votes)) % 10
    votes = pd.DataFrame({"winner": np.minimum(first, second), "loser": np.maximum(first, second)})
    if n_flipped is None:
        with refused(VoteError, "too_few_to_flip", n_decided=49, needed=50):
            figures_of(votes)
    else:
        assert figures_of(votes).n_flipped == n_flipped


def test_without_contradictions_few_flips_are_found_at_once():
    """Ten items in a strict order: a flipped vote is the only one that contradicts."""
    first, second = np.triu_indices(10, 1)
    votes = pd.DataFrame({"winner": np.tile(first, 12), "loser": np.tile(second, 12)})
    found = figures_of(votes, prune=0.1)
    assert found.auc.value > 0.99
    assert found.recall == 1.0
    assert found.lift > 9.0
    assert figures_of(votes, prune=0.0).lift is None


def two_items(n):
    return pd.DataFrame({"winner": ["a"] * (n - n // 10), "loser": ["b"] * (n - n // 10)})


def test_two_items_have_a_figure():
    found = figures_of(two_items(200))
    assert found.auc.value == 1.0
    assert found.auc.low < 1.0


def test_one_annotator_is_enough():
    made = crowd_of(7)
    assert figures_of(made.votes.assign(annotator="me"), made.features).auc.value > 0.85


def apart(n=200):
    pairs = [("a", "b"), ("c", "d")] * n
    return pd.DataFrame(pairs, columns=["winner", "loser"])


@pytest.mark.parametrize(
    ("votes", "n_decided"),
    [
        (pd.DataFrame({"winner": [], "loser": []}), 0),
        (pd.DataFrame({"item_a": [], "item_b": [], "outcome": []}), 0),
        (
            pd.DataFrame({"item_a": ["a"] * 90, "item_b": ["b"] * 90, "outcome": ["tie"] * 90}),
            0,
        ),
        (pd.DataFrame({"winner": ["a"] * 90, "loser": ["a"] * 90}), 0),
        (two_items(30), 27),
    ],
    ids=["header only", "canonical header only", "all ties", "none counts", "few"],
)
def test_votes_that_are_too_few_to_be_tested_are_refused(votes, n_decided, how):
    with refused(VoteError, "too_few_to_flip", n_decided=n_decided, needed=50):
        figures_of(votes, **how)


def test_groups_never_compared_cannot_be_tested(how):
    with refused(VoteError, "parts_never_compared"):
        figures_of(apart(), **how)


def test_features_that_do_not_vary_are_refused(how):
    made = crowd_of(8)
    same = pd.DataFrame({"x": 1.0}, index=made.features.index)
    with refused(FeatureError, "no_column_varies", n_columns=1, columns=("x",)):
        figures_of(made.votes, same, **how)


@pytest.mark.parametrize("share", [0.0, 0.11, 1.0])
def test_a_share_that_makes_no_sense_is_named(share):
    with refused(ArgumentError, "flipped_share_out_of_range", share=share, largest=0.1):
        self_test(two_items(100), None, FitSettings(), share=share, rng=seeded())


def test_recall_by_hand():
    suspicion = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    wrong = np.isin(np.arange(10), [0, 4])
    assert recall_in_first(suspicion, wrong, 0.2) == 0.5
    assert recall_in_first(suspicion, wrong, 0.5) == 1.0
    tied = np.where(np.isin(np.arange(10), [1, 2, 3, 4]), 5.0, suspicion)
    assert recall_in_first(tied, wrong, 0.2) == pytest.approx((1 + 1 / 4) / 2)
    assert recall_in_first(np.zeros(10), wrong, 0.2) == pytest.approx(0.2)


def test_wrong_votes_from_before_make_the_figure_a_cautious_one():
    """The same order, told which votes were wrong before, is better than the figure says."""
    made = crowd_of(9, flip=0.1, ties=0.0)
    settings = FitSettings(replicates=0)
    read = vote_table(made.votes)
    flipped = np.zeros(1200, np.bool_)
    flipped[seeded().choice(1200, 60, replace=False)] = True
    suspicion = judgement_of(read, None, settings, turned=flipped).suspicion
    told = outlier_auc(suspicion, made.wrong ^ flipped)
    assert told > outlier_auc(suspicion, flipped)
