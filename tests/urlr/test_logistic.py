"""The logistic fit against minimisers and libraries that know nothing of graphs."""

from dataclasses import replace

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from urlr.errors import ConvergenceError
from urlr.model.logistic import Comparisons, Penalties, _Problem, logistic_fit


def rows_of(seed=0, n_rows=200, n_items=20, n_features=4, ties=0.1, sides=True):
    draw = np.random.default_rng(seed)
    first = draw.integers(0, n_items, n_rows)
    second = (first + draw.integers(1, n_items, n_rows)) % n_items
    features = draw.standard_normal((n_items, n_features))
    features -= features.mean(axis=0)
    return Comparisons(
        winner=first.astype(np.int32),
        loser=second.astype(np.int32),
        target=np.where(draw.random(n_rows) < ties, 0.5, 1.0),
        side=draw.choice([-1.0, 0.0, 1.0], n_rows) if sides else np.zeros(n_rows),
        features=features,
    )


def loss_of(rows, weight, penalties, limit):
    """The penalised loss as a function of all unknowns, outlier variables minimised by hand."""
    d, n = rows.features.shape[1], rows.n_items

    def loss(point):
        beta, effects, lean = point[:d], point[d : d + n], point[-1]
        scores = rows.features @ beta + (effects if penalties.has_items else 0.0)
        m = scores[rows.winner] - scores[rows.loser] + lean * rows.side
        y = rows.target
        # d/dm of the loss is p - y; past the limit gamma moves m to where it is the limit.
        low, high = np.clip(y - limit, 1e-12, None), np.clip(y + limit, None, 1 - 1e-12)
        p = 1 / (1 + np.exp(-m))
        moved = np.where(p < low, np.log(low / (1 - low)), m)
        moved = np.where(p > high, np.log(high / (1 - high)), moved)
        value = np.logaddexp(0, -moved) + (1 - y) * moved + limit * np.abs(moved - m)
        ridge = penalties.features * beta @ beta + penalties.lean * lean**2
        if penalties.has_items:
            ridge += penalties.items * effects @ effects
        return weight @ value + ridge / 2

    return loss


@pytest.mark.parametrize("limit", [1.0, 0.6, 0.3])
@pytest.mark.parametrize("items", [np.inf, 2.0])
def test_fit_equals_a_blind_minimiser(limit, items):
    rows = rows_of(n_rows=120, n_items=12, n_features=3)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, rows.n_rows)
    penalties = Penalties(1.5, items, 0.7)
    loss = loss_of(rows, weight, penalties, limit)
    fit = logistic_fit(rows, weight, penalties, limit=limit, tolerance=1e-8)
    ours = np.concatenate([fit.coefficients, fit.effects, [fit.lean]])
    found = minimize(loss, np.zeros(ours.size), method="BFGS", options={"gtol": 1e-7})
    assert loss(ours) <= found.fun + 1e-7
    np.testing.assert_allclose(ours[:3], found.x[:3], atol=2e-4)


def test_outlier_variable_is_minimised_inside_the_link():
    """For one vote: minimising over gamma by search gives the loss that is straight past lambda."""
    for margin in (-4.0, -1.0, 0.0, 2.0):
        for limit in (0.2, 0.5, 0.8):
            searched = minimize_scalar(
                lambda g, m=margin, k=limit: np.logaddexp(0, -(m + g)) + k * abs(g),
                bounds=(-1, 12),
                method="bounded",
                options={"xatol": 1e-10},
            ).fun
            rows = Comparisons(
                *(np.array([k], np.int32) for k in (0, 1)),
                np.ones(1),
                np.zeros(1),
                np.array([[margin], [0.0]]),
            )
            ours = loss_of(rows, np.ones(1), Penalties(0.0, np.inf, 0.0), limit)
            assert ours(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(searched, abs=1e-6)


def test_features_alone_vs_sklearn():
    rows = rows_of(ties=0.0, sides=False)
    fit = logistic_fit(rows, np.ones(rows.n_rows), Penalties(2.0, np.inf), tolerance=1e-9)
    x = rows.features[rows.winner] - rows.features[rows.loser]
    both = np.vstack([x, -x])
    labels = np.repeat([1, 0], len(x))
    model = LogisticRegression(C=1.0 / 4.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    model.fit(both, labels)
    np.testing.assert_allclose(fit.coefficients, model.coef_[0], atol=1e-5)


def test_items_alone_vs_choix():
    rows = rows_of(ties=0.0, sides=False, n_features=0)
    fit = logistic_fit(rows, np.ones(rows.n_rows), Penalties(1.0, 0.5), tolerance=1e-9)
    data = list(zip(rows.winner.tolist(), rows.loser.tolist(), strict=True))
    expected = choix.opt_pairwise(rows.n_items, data, alpha=0.25, tol=1e-10)
    np.testing.assert_allclose(fit.effects, expected, atol=1e-4)


def test_turning_every_vote_around_negates_everything():
    rows = rows_of()
    turned = Comparisons(rows.loser, rows.winner, rows.target, -rows.side, rows.features)
    weight = np.ones(rows.n_rows)
    a, b = (
        logistic_fit(x, weight, Penalties(1.0, 1.0), limit=0.4, tolerance=1e-9)
        for x in (rows, turned)
    )
    decided = rows.target == 1
    np.testing.assert_allclose(a.coefficients, -b.coefficients, atol=1e-6)
    np.testing.assert_allclose(a.effects, -b.effects, atol=1e-6)
    assert decided.any()


def test_weight_zero_leaves_a_vote_out_and_weight_two_counts_it_twice():
    rows = rows_of(n_rows=60)
    weight = np.random.default_rng(2).integers(0, 3, 60).astype(float)
    again = np.repeat(np.arange(60), weight.astype(int))
    spread = Comparisons(
        rows.winner[again], rows.loser[again], rows.target[again], rows.side[again], rows.features
    )
    penalties = Penalties(1.0, 3.0)
    a = logistic_fit(rows, weight, penalties, tolerance=1e-9)
    b = logistic_fit(spread, np.ones(again.size), penalties, tolerance=1e-9)
    np.testing.assert_allclose(a.scores(rows.features), b.scores(rows.features), atol=1e-6)


def test_lean_is_found_where_only_the_side_decides():
    draw = np.random.default_rng(0)
    n = 4000
    first = draw.integers(0, 30, n)
    second = (first + draw.integers(1, 30, n)) % 30
    left_wins = draw.random(n) < 1 / (1 + np.exp(-0.8))
    rows = Comparisons(
        np.where(left_wins, first, second).astype(np.int32),
        np.where(left_wins, second, first).astype(np.int32),
        np.ones(n),
        np.where(left_wins, 1.0, -1.0),
        np.zeros((30, 0)),
    )
    fit = logistic_fit(rows, np.ones(n), Penalties(1.0, 10.0))
    assert fit.lean == pytest.approx(0.8, abs=0.12)
    none = logistic_fit(rows, np.ones(n), Penalties(1.0, 10.0, np.inf))
    assert none.lean == 0.0


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    limit=st.sampled_from([0.1, 0.4, 1.0]),
    ridge=st.sampled_from([1e-3, 1.0, 1e3]),
    items=st.sampled_from([1e-2, 1.0, np.inf]),
    n_rows=st.sampled_from([1, 3, 50]),
    n_features=st.sampled_from([0, 1, 5, 30]),
)
def test_certificate_holds_on_any_graph(seed, limit, ridge, items, n_rows, n_features):
    rows = rows_of(seed, n_rows=n_rows, n_items=9, n_features=n_features)
    fit = logistic_fit(rows, np.ones(n_rows), Penalties(ridge, items), limit=limit)
    assert fit.violation <= 1e-6
    assert np.isfinite(fit.scores(rows.features)).all()


def test_start_changes_the_work_but_not_the_answer():
    rows = rows_of()
    weight = np.random.default_rng(3).integers(0, 3, rows.n_rows).astype(float)
    penalties = Penalties(1.0, 2.0)
    near = logistic_fit(rows, np.ones(rows.n_rows), penalties)
    cold = logistic_fit(rows, weight, penalties, tolerance=1e-8)
    warm = logistic_fit(rows, weight, penalties, start=near, tolerance=1e-8)
    np.testing.assert_allclose(warm.scores(rows.features), cold.scores(rows.features), atol=1e-6)


def test_a_fit_that_cannot_settle_says_so():
    rows = rows_of()
    with refused(ConvergenceError, "logistic_unsettled", tolerance=0.0):
        logistic_fit(rows, np.ones(rows.n_rows), Penalties(1.0, 1.0), tolerance=0.0)


def test_votes_read_the_other_way_round_are_other_votes():
    rows = rows_of(ties=0.0)
    which = np.random.default_rng(2).random(rows.n_rows) < 0.3
    turned = rows.turned(which)
    scores = np.random.default_rng(3).standard_normal(rows.n_items)
    margins = rows.margins(scores, 0.4)
    np.testing.assert_allclose(turned.margins(scores, 0.4), np.where(which, -margins, margins))


@pytest.mark.parametrize("items", [np.inf, 2.0])
def test_a_metric_from_some_of_the_items_leads_to_the_same_fit(monkeypatch, items):
    rows = rows_of(n_rows=2000, n_items=200, n_features=4)
    penalties = Penalties(0.5, items, 1.0)
    weight = np.random.default_rng(0).exponential(size=rows.n_rows)
    whole = logistic_fit(rows, weight, penalties, tolerance=1e-9)
    monkeypatch.setattr("urlr.model.logistic._ENOUGH", 50)
    some = logistic_fit(rows, weight, penalties, tolerance=1e-9)
    assert not np.array_equal(whole.metric.factor, some.metric.factor)
    np.testing.assert_allclose(some.scores(rows.features), whole.scores(rows.features), atol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 100.0, 400.0])
def test_gradients_are_right_however_far_scores_spread(spread):
    """Odds come from exponentials of scores, or of margins where those would overflow."""
    rows = rows_of(n_features=0)
    penalties = Penalties(1.0, 1e-6, 1.0)
    scores = np.linspace(-spread, spread, rows.n_items)
    problem = _Problem(rows, np.ones(rows.n_rows), 1.0, penalties)
    gradient = problem.gradient(np.append(scores, 0.3), scores)
    chance = expit(rows.margins(scores, 0.3))
    rest = rows.target - chance
    n = rows.n_items
    pull = np.bincount(rows.winner, rest, n) - np.bincount(rows.loser, rest, n)
    np.testing.assert_allclose(gradient[:-1], 1e-6 * scores - pull, atol=1e-9)
    assert gradient[-1] == pytest.approx(0.3 - rest @ rows.side)


def told_beforehand(*, loaded=True, seed=3, **options):
    """Votes with log-odds known beforehand, between items that count by somebody's loading.

    With loadings sides count for nothing: directions of taste have none.
    """
    rows = rows_of(seed, n_rows=150, n_items=12, n_features=3, sides=not loaded, **options)
    draw = np.random.default_rng(seed)
    offset, loading = draw.normal(size=(2, rows.n_rows))
    return replace(rows, offset=offset, loading=loading if loaded else None)


@pytest.mark.parametrize("limit", [1.0, 0.4])
@pytest.mark.parametrize("items", [np.inf, 2.0])
@pytest.mark.parametrize("loaded", [False, True])
def test_offsets_and_loadings_vs_a_blind_minimiser(limit, items, loaded):
    rows, penalties = told_beforehand(loaded=loaded), Penalties(1.5, items, 0.7)
    loading = rows.loading[:, None] if loaded else 1.0
    weight = np.random.default_rng(1).uniform(0.2, 2.0, rows.n_rows)
    x = rows.features[rows.winner] - rows.features[rows.loser]
    own = np.eye(rows.n_items)[rows.winner] - np.eye(rows.n_items)[rows.loser]
    blocks = [x * loading, own * loading, rows.side[:, None]]
    design = np.hstack(blocks if penalties.has_items else [blocks[0], 0 * blocks[1], blocks[2]])
    ridge = np.r_[np.full(3, 1.5), np.full(12, items if np.isfinite(items) else 1.0), 0.7]

    def loss(point):
        m, y = design @ point + rows.offset, rows.target
        low, high = np.clip(y - limit, 1e-12, None), np.clip(y + limit, None, 1 - 1e-12)
        moved = np.clip(m, np.log(low / (1 - low)), np.log(high / (1 - high)))
        value = np.logaddexp(0, -moved) + (1 - y) * moved + limit * np.abs(moved - m)
        return weight @ value + 0.5 * ridge @ point**2

    fit = logistic_fit(rows, weight, penalties, limit=limit, tolerance=1e-8)
    ours = np.concatenate([fit.coefficients, fit.effects, [fit.lean]])
    found = minimize(loss, np.zeros(16), method="BFGS", options={"gtol": 1e-7})
    assert loss(ours) <= found.fun + 1e-7
    np.testing.assert_allclose(ours, found.x, atol=1e-3)


def test_loadings_vs_scikit_learn():
    rows = replace(told_beforehand(ties=0.0), offset=None)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, rows.n_rows)
    x = (rows.features[rows.winner] - rows.features[rows.loser]) * rows.loading[:, None]
    theirs = LogisticRegression(C=0.5 / 1.5, fit_intercept=False, tol=1e-10, max_iter=10_000)
    labels = np.repeat([1, 0], len(x))  # each vote from either side, half each
    theirs.fit(np.vstack([x, -x]), labels, sample_weight=np.tile(weight, 2))
    ours = logistic_fit(rows, weight, Penalties(1.5, np.inf, np.inf), tolerance=1e-8)
    np.testing.assert_allclose(ours.coefficients, theirs.coef_[0], atol=1e-4)


def test_what_is_known_beforehand_turns_and_is_taken_with_the_votes():
    rows = told_beforehand()
    scores, which = np.random.default_rng(2).normal(size=12), np.arange(rows.n_rows) % 3 == 0
    log_odds = rows.log_odds(scores, 0.3)
    np.testing.assert_allclose(
        rows.turned(which).log_odds(scores, 0.3), np.where(which, -log_odds, log_odds)
    )
    np.testing.assert_array_equal(rows.taken(which).log_odds(scores, 0.3), log_odds[which])
    plain = replace(rows, offset=None, loading=None)
    np.testing.assert_array_equal(plain.log_odds(scores, 0.3), rows.margins(scores, 0.3))
