"""Error rates of people, the ridge, and the variance of what items differ by."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from urlr.model.item_effects import (
    item_variance,
    posterior_variance,
    score_variance,
    tuned_variance,
)
from urlr.model.logistic import Comparisons, Penalties, logistic_fit
from urlr.model.tuning import calibration, tuned_ridge_of
from urlr.people.errors import TYPICAL, error_rates, reliability


def votes_of(rates, per_person, seed=0, spread=1.5):
    """Margins of votes as cast: people turn their vote around at their own rate."""
    draw = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(rates)), per_person).astype(np.int32)
    difference = spread * draw.standard_normal(who.size)
    honest = np.where(draw.random(who.size) < expit(difference), difference, -difference)
    turned = draw.random(who.size) < np.asarray(rates)[who]
    return who, np.where(turned, -honest, honest)


def rates_of(who, margin, n):
    return error_rates(margin, np.ones(who.size), who, n)


def test_rates_are_recovered_where_people_vote_often():
    true = np.array([0.02, 0.1, 0.3, 0.5, 0.9] * 4)
    found = rates_of(*votes_of(true, 2000), true.size)
    np.testing.assert_allclose(found, true, atol=0.06)


def test_a_crowd_of_equals_is_shrunk_together():
    """20 votes each say little: the spread found is far below that of raw shares."""
    found = rates_of(*votes_of(np.full(100, 0.1), 20), 100)
    assert found.std() < 0.04
    assert found.mean() == pytest.approx(0.1, abs=0.05)


def test_reversed_people_are_not_shrunk_into_the_crowd():
    true = np.where(np.arange(100) < 20, 0.95, 0.03)
    found = rates_of(*votes_of(true, 20), 100)
    assert found[:20].mean() > 0.6
    assert found[20:].mean() < 0.15


def test_one_person_one_say():
    """Somebody who votes a thousand times does not decide what is typical."""
    who, margin = votes_of(np.r_[np.full(40, 0.03), 0.5], 25)
    more, loud = votes_of(np.full(1, 0.5), 4000, seed=1)
    alone = rates_of(who, margin, 41)
    both = rates_of(np.r_[who, more + 40], np.r_[margin, loud], 41)
    np.testing.assert_allclose(both[:40], alone[:40], atol=0.01)
    assert both[40] == pytest.approx(0.5, abs=0.05)


def test_while_margins_are_uncertain_nobody_is_judged_by_the_crowd():
    """Of a crowd that is mostly wrong, few votes say less than a guess of a tenth does."""
    who, margin = votes_of(np.full(30, 0.4), 10)
    ones = np.ones(who.size)
    guessed = error_rates(margin, ones, who, 30, trusting=True)
    assert guessed.mean() < rates_of(who, margin, 30).mean()


def test_a_vote_of_weight_two_says_as_much_as_two():
    who, margin = votes_of(np.linspace(0.0, 0.6, 12), 15)
    heavy = error_rates(margin, np.full(who.size, 2.0), who, 12)
    np.testing.assert_allclose(heavy, rates_of(np.tile(who, 2), np.tile(margin, 2), 12))


def test_reliability_is_nothing_from_one_half_on():
    """And what a vote tells of a margin of 0 before, when it is turned so often."""
    np.testing.assert_allclose(
        reliability(np.array([0.0, 0.1, 0.25, 0.5, 0.9])), [1.0, 0.64, 0.25, 0.0, 0.0]
    )


def test_votes_without_a_name_say_nothing_of_anybody():
    who, margin = votes_of(np.array([0.05, 0.3]), 300)
    loud, more = votes_of(np.full(1, 0.5), 3000, seed=1)
    both = rates_of(np.r_[who, np.full(loud.size, -1)], np.r_[margin, more], 2)
    np.testing.assert_array_equal(both, rates_of(who, margin, 2))
    assert rates_of(np.full(loud.size, -1), more, 0).size == 0


def test_nothing_known_leaves_the_first_guess():
    found = rates_of(np.zeros(0, np.int32), np.zeros(0), 2)
    np.testing.assert_array_equal(found, [TYPICAL] * 2)


def test_no_number_of_votes_on_a_pair_speaks_for_these_votes():
    """Whoever repeats a vote, alone or with others, does not change how it is judged."""
    draw = np.random.default_rng(0)
    features = draw.standard_normal((30, 3))
    winner = draw.integers(0, 30, 400).astype(np.int32)
    loser = ((winner + draw.integers(1, 30, 400)) % 30).astype(np.int32)
    winner[:5], loser[:5] = 1, 2
    rows = Comparisons(winner, loser, np.ones(400), np.zeros(400), features)
    ones = np.ones(400)
    tuned = tuned_ridge_of(rows, ones, rng=np.random.default_rng(1))
    assert tuned is not None
    on_pair = np.isin(winner, (1, 2)) & np.isin(loser, (1, 2))
    pushed = tuned.weighed(rows, np.where(on_pair, 100.0, 1.0))
    once = tuned.weighed(rows, ones)
    np.testing.assert_array_equal(pushed.margin[on_pair], once.margin[on_pair])
    assert np.abs(pushed.margin - once.margin).max() > 0.1, "others are judged by these votes"


def test_ridges_are_tried_on_some_of_many_votes_and_all_are_judged(monkeypatch):
    draw = np.random.default_rng(0)
    features = draw.standard_normal((30, 3))
    winner = draw.integers(0, 30, 900).astype(np.int32)
    loser = ((winner + draw.integers(1, 30, 900)) % 30).astype(np.int32)
    rows, ones = Comparisons(winner, loser, np.ones(900), np.zeros(900), features), np.ones(900)
    monkeypatch.setattr("urlr.model.tuning._MOST_VOTES", 300)
    tuned = tuned_ridge_of(rows, ones, rng=np.random.default_rng(1))
    assert tuned is not None
    assert tuned.judged.all()
    assert np.count_nonzero(tuned.margin) <= 300
    assert tuned.weighed(rows, ones).margin.all()


@pytest.mark.parametrize("scale", [0.2, 1.0, 2.0])
def test_the_ridge_has_the_least_loss_on_items_left_out(scale):
    """Held against logistic regressions by scikit-learn, without the votes on a fold's items."""
    draw = np.random.default_rng(0)
    features = draw.standard_normal((40, 5))
    truth = scale * features @ draw.standard_normal(5)
    first = draw.integers(0, 40, 500)
    second = (first + draw.integers(1, 40, 500)) % 40
    wins = draw.random(500) < expit(truth[first] - truth[second])
    winner, loser = np.where(wins, first, second), np.where(wins, second, first)
    rows = Comparisons(
        winner.astype(np.int32), loser.astype(np.int32), np.ones(500), np.zeros(500), features
    )
    tuned = tuned_ridge_of(rows, np.ones(500), rng=np.random.default_rng(1))
    assert tuned is not None
    assert np.bincount(tuned.fold).tolist() == [8] * 5
    x = features[winner] - features[loser]
    ridges = np.logspace(3, -1.5, 10)
    losses = []
    for ridge in ridges:
        margin, count, scores = np.zeros(500), np.zeros(500), np.zeros(40)
        for fold in range(5):
            out = (tuned.fold[winner] == fold) | (tuned.fold[loser] == fold)
            seen = x[~out]
            labels = np.repeat([1, 0], len(seen))
            fitted = LogisticRegression(
                C=0.5 / ridge, fit_intercept=False, solver="newton-cholesky"
            )
            fitted.fit(np.vstack([seen, -seen]), labels)  # each vote from either side, half each
            margin += out * (x @ fitted.coef_[0])
            count += out
            scores[tuned.fold == fold] = (features @ fitted.coef_[0])[tuned.fold == fold]
        assert (count > 0).all()
        margins = margin / count, scores[winner] - scores[loser]
        losses.append(np.mean([np.logaddexp(0.0, -one).sum() for one in margins]))
    assert tuned.ridge == pytest.approx(ridges[np.argmin(losses)])
    assert tuned.loss == pytest.approx(min(losses), rel=0.01)
    assert 0 < np.argmin(losses) < 9


def test_calibration_finds_the_factor():
    draw = np.random.default_rng(0)
    m = draw.standard_normal(20_000)
    voted = np.where(draw.random(m.size) < expit(1.7 * m), m, -m)
    ones = np.ones(m.size)
    assert calibration(voted, ones > 0, ones) == pytest.approx(1.7, abs=0.1)
    slips = np.where(draw.random(m.size) < 0.2, -voted, voted)
    assert calibration(slips, ones > 0, ones) < 1.2
    rate = np.full(m.size, 0.2)
    assert calibration(slips, ones > 0, ones, rate) == pytest.approx(1.7, abs=0.15)
    assert calibration(np.zeros(5), np.ones(5, bool), np.ones(5)) == 1.0
    assert calibration(-voted, ones > 0, ones) == 0.0


def crowd_of(variance, *, pushed=0.0, n_items=200, n_votes=8000, seed=0):
    """Votes by effects alone; a share of the items is pushed by a third of all votes."""
    draw = np.random.default_rng(seed)
    effect = np.sqrt(variance) * draw.standard_normal(n_items)
    first = draw.integers(0, n_items, n_votes)
    second = (first + draw.integers(1, n_items, n_votes)) % n_items
    wins = draw.random(n_votes) < expit(effect[first] - effect[second])
    if pushed:
        push = draw.random(n_votes) < 0.33
        first = np.where(push, draw.integers(0, int(pushed * n_items), n_votes), first)
        first = np.where(first == second, (first + 1) % n_items, first)
        wins |= push
    winner, loser = np.where(wins, first, second), np.where(wins, second, first)
    return Comparisons(
        winner.astype(np.int32),
        loser.astype(np.int32),
        np.ones(n_votes),
        np.zeros(n_votes),
        np.zeros((n_items, 0)),
    )


def found_variance(rows):
    return item_variance(rows, np.ones(rows.n_rows), np.zeros(rows.n_items), 0.0)


@pytest.mark.parametrize("variance", [0.05, 0.25])
def test_variance_of_effects_is_recovered(variance):
    found = np.mean([found_variance(crowd_of(variance, seed=seed)) for seed in range(5)])
    assert found == pytest.approx(variance, rel=0.3)


def test_no_variance_where_votes_are_coin_tosses():
    assert np.mean([found_variance(crowd_of(0.0, seed=seed)) for seed in range(5)]) < 0.01


def test_votes_that_agree_on_a_pair_are_no_item_effects():
    """Ten equal votes on each of many pairs; taken for ten people's they would give 0.45."""
    draw = np.random.default_rng(0)
    first = draw.integers(0, 200, 800)
    second = (first + draw.integers(1, 200, 800)) % 200
    again = np.repeat(np.arange(800), 10)
    rows = Comparisons(
        first[again].astype(np.int32),
        second[again].astype(np.int32),
        np.ones(8000),
        np.zeros(8000),
        np.zeros((200, 0)),
    )
    assert found_variance(rows) < 0.15


def test_a_pushed_tenth_does_not_persuade_it_that_all_items_differ():
    """The plain moment estimate would be above 1 here."""
    assert found_variance(crowd_of(0.05, pushed=0.1)) < 0.5


def test_one_pair_says_nothing_about_effects():
    one = np.array([0], np.int32)
    rows = Comparisons(one, one + 1, np.ones(1), np.zeros(1), np.zeros((2, 0)))
    assert item_variance(rows, np.ones(1), np.zeros(2), 0.0) == 0.0


def test_scores_without_features_get_the_spread_that_fits():
    wide, narrow = (
        score_variance(rows, np.ones(rows.n_rows), lean=np.inf)
        for rows in (crowd_of(9.0), crowd_of(1.0))
    )
    assert narrow < 2.0 < 4.0 < wide < 25.0


def test_long_chain_keeps_its_order():
    n = 300
    place = np.arange(n - 1, dtype=np.int32)
    rows = Comparisons(place, place + 1, np.ones(n - 1), np.zeros(n - 1), np.zeros((n, 0)))
    variance = score_variance(rows, np.ones(n - 1), lean=np.inf)
    fit = logistic_fit(rows, np.ones(n - 1), Penalties(1.0, 1.0 / variance))
    assert (np.diff(fit.effects) < 0).all()


@pytest.mark.parametrize("variance", [0.5, 2.0, 4.0])
def test_variance_that_foretells_people_left_out_is_about_the_right_one(variance):
    """Within a factor of two: powers of two are tried. Margins then need no factor."""
    rows = crowd_of(variance, n_items=60, n_votes=2400)
    ones = np.ones(rows.n_rows)
    fold = (np.arange(rows.n_rows) % 5).astype(np.int32)
    found, factor = tuned_variance(rows, ones, ones, fold, lean=np.inf)
    assert 0.5 <= found / variance <= 2.0
    assert factor == pytest.approx(1.0, abs=0.15)


def test_where_people_left_out_say_the_contrary_scores_are_narrow():
    rows = crowd_of(2.0, n_items=60, n_votes=2400)
    fold = (np.arange(rows.n_rows) % 5).astype(np.int32)
    tossed = rows.turned(np.random.default_rng(0).random(rows.n_rows) < 0.5)
    ones = np.ones(rows.n_rows)
    found, factor = tuned_variance(tossed, ones, ones, fold, lean=np.inf)
    assert found == pytest.approx(2.0**-3)
    assert factor < 0.5


def test_what_is_known_of_the_voters_left_out_is_not_used():
    rows = crowd_of(2.0, n_items=60, n_votes=2400)
    ones, fold = np.ones(rows.n_rows), (np.arange(rows.n_rows) % 5).astype(np.int32)
    mine = fold == 0
    one, other = (
        tuned_variance(replace(rows, offset=offset), ones, ones * mine, fold, lean=np.inf)
        for offset in (np.zeros(rows.n_rows), np.where(mine, 20.0, 0.0))
    )
    assert one == other


def test_posterior_variance_vs_a_dense_inverse():
    """Of scores less their mean, which no vote says anything of."""
    rows, penalties = crowd_of(1.0, n_items=30, n_votes=300), Penalties(1.0, 0.7)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, rows.n_rows)
    fitted = logistic_fit(rows, weight, penalties, tolerance=1e-8)
    apart = np.eye(30)[rows.winner] - np.eye(30)[rows.loser]
    chance = expit(apart @ fitted.effects)
    inverse = np.linalg.inv(
        (apart * (weight * chance * (1 - chance))[:, None]).T @ apart + 0.7 * np.eye(30)
    )
    centred = np.eye(30) - 1.0 / 30
    found = posterior_variance(rows, weight, fitted, penalties)
    np.testing.assert_allclose(found, np.diag(centred @ inverse @ centred), rtol=1e-8)
    nothing = posterior_variance(rows, weight, fitted, Penalties(1.0, np.inf))
    np.testing.assert_array_equal(nothing, np.zeros(30))


def test_posterior_variance_of_many_items_is_about_that_of_a_dense_inverse():
    rows, penalties = crowd_of(1.0, n_items=401, n_votes=12_000), Penalties(1.0, 0.7)
    ones = np.ones(rows.n_rows)
    fitted = logistic_fit(rows, ones, penalties)
    chance = expit(fitted.effects[rows.winner] - fitted.effects[rows.loser])
    between = np.zeros((401, 401))
    np.add.at(between, (rows.winner, rows.loser), chance * (1 - chance))
    between += between.T
    hessian = np.diag(between.sum(axis=1) + 0.7) - between
    exact = np.diag(np.linalg.inv(hessian)) - 1.0 / (401 * 0.7)
    np.testing.assert_allclose(posterior_variance(rows, ones, fitted, penalties), exact, rtol=0.1)
