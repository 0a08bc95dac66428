"""Coefficients that no single item can bend, then what each item has of its own."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import seeded

import urlr
from urlr.model.item_effects import item_variance, unsure_of_features
from urlr.model.logistic import Comparisons, Penalties, logistic_fit
from urlr.model.refit import refit
from urlr.model.tuning import tuned_space
from urlr.people.trust import judge_people
from urlr.simulate import crowd
from urlr.space.feature_space import feature_space, mapped
from urlr.space.table import feature_table
from urlr.votes.ballots import ballots_of
from urlr.votes.table import vote_table


def votes_of(*, pushes=0, n_items=100, n_votes=3000, seed=0):
    """Votes by one straight direction of three; then pushes of the ten items lowest in another."""
    draw = seeded(seed)
    features = draw.standard_normal((n_items, 3))
    features -= features.mean(axis=0)
    first = draw.integers(0, n_items, n_votes)
    second = (first + draw.integers(1, n_items, n_votes)) % n_items
    wins = draw.random(n_votes) < 1 / (1 + np.exp(features[second, 0] - features[first, 0]))
    pushed = np.argsort(features[:, 1])[:10]
    liked = draw.choice(pushed, pushes)
    rival = draw.choice(np.setdiff1d(np.arange(n_items), pushed), pushes)
    winner = np.concatenate([np.where(wins, first, second), liked]).astype(np.int32)
    loser = np.concatenate([np.where(wins, second, first), rival]).astype(np.int32)
    n = n_votes + pushes
    return Comparisons(winner, loser, np.ones(n), np.zeros(n), features)


PENALTIES = Penalties(1.0, 20.0, np.inf)


@pytest.mark.parametrize("penalties", [Penalties(1.0, np.inf, np.inf), Penalties(1.0, 2.0, 1.0)])
def test_without_effects_or_features_it_is_the_logistic_fit(penalties):
    rows = votes_of(n_votes=300)
    if penalties.has_items:
        rows = replace(rows, features=np.zeros((rows.n_items, 0)))
    weight = np.ones(rows.n_rows)
    whole = refit(rows, weight, penalties, limit=0.4)
    plain = logistic_fit(rows, weight, penalties, limit=0.4)
    np.testing.assert_array_equal(whole.coefficients, plain.coefficients)
    np.testing.assert_array_equal(whole.effects, plain.effects)
    assert whole.second is None


def test_pushed_items_bend_the_coefficients_less_than_in_one_fit():
    clean, pushed = votes_of(), votes_of(pushes=750)

    def slant(fitted):
        """How much the direction of the pushed items counts, relative to the true one."""
        return abs(fitted.coefficients[1] / fitted.coefficients[0])

    ones = np.ones(pushed.n_rows)
    assert slant(refit(clean, ones[: clean.n_rows], PENALTIES, limit=1.0)) < 0.1
    no_effects = slant(logistic_fit(pushed, ones, replace(PENALTIES, items=np.inf)))
    one_fit = slant(logistic_fit(pushed, ones, PENALTIES))
    ours = slant(refit(pushed, ones, PENALTIES, limit=1.0))
    assert ours < 0.95 * one_fit
    assert one_fit < 0.95 * no_effects


def test_effects_belong_to_the_coefficients_and_their_own_penalty():
    """Given the coefficients, what every item's votes pull is what its penalty holds back."""
    rows = votes_of(pushes=300)
    weight = seeded(1).uniform(0.5, 1.5, rows.n_rows)
    fitted = refit(rows, weight, PENALTIES, limit=1.0)
    chance = 1 / (1 + np.exp(-rows.margins(fitted.scores(rows.features), fitted.lean)))
    rest = weight * (1 - chance)
    n = rows.n_items
    pull = np.bincount(rows.winner, rest, n) - np.bincount(rows.loser, rest, n)
    np.testing.assert_allclose(pull, PENALTIES.items * fitted.effects, atol=1e-3)
    assert fitted.violation < 1e-6


def test_a_warm_start_changes_nothing():
    rows = votes_of(pushes=200)
    weight = np.ones(rows.n_rows)
    cold = refit(rows, weight, PENALTIES, limit=0.4, tolerance=1e-8)
    drawn = weight * seeded(2).integers(0, 3, rows.n_rows)
    warm = refit(rows, drawn, PENALTIES, limit=0.4, start=cold, tolerance=1e-8)
    again = refit(rows, drawn, PENALTIES, limit=0.4, tolerance=1e-8)
    np.testing.assert_allclose(warm.coefficients, again.coefficients, atol=1e-5)
    np.testing.assert_allclose(warm.effects, again.effects, atol=1e-5)


def test_coefficients_are_sought_beside_effects_of_twice_the_variance_which_then_get_0_85_of_it():
    """The variance is that of votes about what features say of items the fit has not seen."""
    made = crowd(rng=seeded(), n_items=60, n_features=3, n_votes=1500, private=0.5)
    ballots = ballots_of(vote_table(made.votes))
    options = urlr.FitSettings(ridge=1.0, curved=False, left_right=False, annotator_rates=False)
    table = feature_table(made.features)
    space = feature_space(table.items, table, options, rng=seeded())
    tuned = tuned_space(space, ballots.rows, ballots.weight, 1.0, 0)
    trust, features = judge_people(ballots, tuned, options), tuned.space.features
    standing = trust.votes
    values = made.features.to_numpy()
    np.testing.assert_array_equal(features, mapped(tuned.space.feature_map, values))
    rows, weight = standing.rows, ballots.weight
    np.testing.assert_array_equal(standing.weight, weight)
    alone = Penalties(1.0, np.inf, np.inf)
    plain = logistic_fit(rows, weight, alone, tolerance=1e-4)
    variance = item_variance(rows, weight, trust.tuned.scores, plain.lean)
    variance -= unsure_of_features(rows, weight, alone, plain)
    assert variance > 0.1
    assert 1.0 / standing.ranking.items == pytest.approx(0.85 * variance)
    fitted = refit(rows, weight, standing.ranking, limit=0.4, tolerance=1e-8)
    wide = replace(alone, items=1.0 / (2.4 * 0.85 * variance))
    first = logistic_fit(rows, weight, wide, limit=0.4, tolerance=1e-8)
    np.testing.assert_allclose(fitted.coefficients, first.coefficients, atol=1e-6)
