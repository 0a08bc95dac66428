"""The ranking function, the tuned ridge and the rules for the rate."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from graphs import FIXTURES, random_graph
from refusals import refused
from scipy import optimize
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from urlr import FeatureError, VoteError, outlier_path
from urlr.paper.ranking import rank_svm_coefficients, ranking_coefficients, tuned_ridge
from urlr.paper.rates import information_choice, path_and_rate, residual_scale
from urlr.paper.ridge import inverse_of, ridge_coefficients


def rows_of(graph):
    return graph.features[graph.winner] - graph.features[graph.loser]


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
def test_closed_form_vs_sklearn_ridge(ridge):
    graph = random_graph(0, weighted=True)
    reference = Ridge(alpha=ridge, fit_intercept=False, solver="cholesky")
    reference.fit(rows_of(graph), graph.target, sample_weight=graph.weight)
    np.testing.assert_allclose(ridge_coefficients(graph, ridge=ridge), reference.coef_, atol=1e-10)


def test_inverse_survives_a_gram_that_rounding_made_indefinite():
    gram = np.diag([1e9, -1e-4])
    inverse = inverse_of(gram, 1e-6)
    assert np.isfinite(inverse).all()
    assert (np.linalg.eigvalsh(inverse) > 0).all()


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 30.0])
def test_rank_svm_vs_a_general_minimiser(ridge):
    graph = random_graph(1, weighted=True)
    rows, tie = rows_of(graph), graph.target == 0

    def loss(beta):
        margin = rows @ beta
        gap = np.where(tie, -margin, np.maximum(1 - margin, 0))
        return 0.5 * graph.weight @ gap**2 + 0.5 * ridge * beta @ beta, ridge * beta - rows.T @ (
            graph.weight * gap
        )

    best = optimize.minimize(
        loss, np.zeros(4), jac=True, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-11}
    )
    np.testing.assert_allclose(rank_svm_coefficients(graph, ridge=ridge), best.x, atol=1e-6)


@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_rank_svm_vs_sklearn_linear_svc(ridge):
    """Each pair and its mirror image are the two classes of a linear SVM without intercept."""
    graph = random_graph(3, weighted=True)
    decided = graph.keep(graph.target > 0)
    rows = rows_of(decided)
    svc = LinearSVC(
        loss="squared_hinge", fit_intercept=False, C=0.25 / ridge, tol=1e-10, max_iter=100_000
    )
    sides = np.repeat([1, -1], len(rows))
    svc.fit(np.concatenate([rows, -rows]), sides, sample_weight=np.tile(decided.weight, 2))
    ours = rank_svm_coefficients(decided, ridge=ridge)
    np.testing.assert_allclose(ours, svc.coef_[0], atol=1e-5)


def test_rank_svm_needs_features():
    with refused(FeatureError, "svm_graph_without_features"):
        rank_svm_coefficients(random_graph(0, featureless=True))


def test_tuned_ridge_is_large_when_features_are_noise_and_small_when_they_explain_all():
    clean = random_graph(2, wrong=0.0, ties=0.0, n_items=60, n_votes=800, n_features=3)
    rng = np.random.default_rng(0)
    noise = clean.with_features(rng.normal(size=(clean.n_items, 30)))
    small = tuned_ridge(clean, rng=np.random.default_rng(0))
    large = tuned_ridge(noise, rng=np.random.default_rng(0))
    assert large > 10 * small


def test_tuned_ridge_depends_on_the_seed_alone():
    graph = random_graph(3)
    one, other = (tuned_ridge(graph, rng=np.random.default_rng(7)) for _ in range(2))
    assert one == other


def test_too_few_votes_to_tune_is_said():
    graph = random_graph(4, n_votes=1, ties=0.0)
    with refused(VoteError, "too_few_to_tune", n_edges=1):
        tuned_ridge(graph, rng=np.random.default_rng(0))


def planted(seed, share, size):
    """Targets of a complete graph with a few huge outliers: the paper's table for BIC."""
    rng = np.random.default_rng(seed)
    n = 30
    first, second = np.triu_indices(n, 1)
    theta = rng.uniform(-1, 1, n)
    y = theta[first] - theta[second] + 0.1 * rng.normal(size=first.size)
    wrong = rng.random(first.size) < share
    y[wrong] -= np.sign(theta[first] - theta[second])[wrong] * 0.1 * size
    graph = random_graph(0, featureless=True)
    graph = replace(
        graph,
        items=pd.RangeIndex(n),
        winner=first.astype(np.int32),
        loser=second.astype(np.int32),
        weight=np.ones(first.size),
        target=y,
        n_votes=np.ones(first.size, np.int32),
        edge_of_row=np.arange(first.size, dtype=np.int32),
    )
    return graph, wrong


def test_bic_finds_outliers_that_are_few_and_huge():
    graph, wrong = planted(0, 0.05, 50)
    path, rate = path_and_rate(graph, "bic", dimension=graph.n_edges - 29)
    found = path.pruned(rate)
    assert (found & wrong).sum() == wrong.sum()
    assert found.sum() <= 2 * wrong.sum()


def test_sigma_rule_stops_at_its_penalty():
    graph, _ = planted(1, 0.1, 30)
    path, rate = path_and_rate(graph, "sigma", dimension=graph.n_edges - 29)
    threshold = 2.5 * residual_scale(graph)
    assert path.penalty == pytest.approx(threshold)
    assert path.pruned(rate).sum() == (path.entry >= threshold).sum() > 0


def test_aic_prunes_at_least_as_much_as_bic():
    for seed in range(5):
        graph = random_graph(seed, n_votes=400, n_items=40)
        path = outlier_path(graph, rate=0.6)
        dimension = graph.n_edges - 4
        aic = information_choice(path, "aic", dimension=dimension)
        assert aic >= information_choice(path, "bic", dimension=dimension)


def test_nothing_to_choose_from_prunes_nothing():
    graph = random_graph(5, ties=1.0)
    assert path_and_rate(graph, "bic", dimension=graph.n_edges - 4)[1] == 0.0


@pytest.mark.parametrize(
    ("fixture", "ranking"),
    [*((name, "ridge") for name in ("plain", "weighted", "featureless", "tied")), ("tied", "svm")],
)
def test_edges_left_out_by_a_mask_are_as_if_they_were_not_there(fixture, ranking):
    """To the last bit: an edge of no weight adds 0."""
    graph = FIXTURES[fixture](0)
    edges = np.random.default_rng(3).random(graph.n_edges) < 0.8
    assert not edges.all()
    masked = ranking_coefficients(graph, ranking=ranking, ridge=0.01, edges=edges)
    kept = ranking_coefficients(graph.keep(edges), ranking=ranking, ridge=0.01)
    assert np.array_equal(masked, kept)
