"""The study's methods: all score all items, shortcuts change nothing, baselines are sound."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from tasks.study import baselines, learner
from tasks.study.learner import Learner
from urlr.paper.ranking import ranking_coefficients
from urlr.space.maps import original_space

METHODS = [
    learner.RAW,
    learner.URLR,
    learner.FEATURELESS,
    learner.MAJORITY_SVM,
    learner.MAJORITY_SHARE,
    learner.BRADLEY_TERRY,
    learner.BRADLEY_TERRY_SVM,
    learner.TO_THE_LETTER,
    learner.AUTO,
    learner.DEFAULT,
]


def votes(n_items=80, n_features=6, n_votes=900, seed=0):
    """Items whose truth is linear in the features, a third of them never compared."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n_items, n_features))
    truth = values @ rng.standard_normal(n_features)
    first, second = rng.integers(0, 2 * n_items // 3, (2, n_votes))
    first, second = first[first != second], second[first != second]
    ahead = truth[first] - truth[second] + rng.standard_normal(first.size) > 0
    return values, truth, np.where(ahead, first, second), np.where(ahead, second, first)


@pytest.fixture(scope="module")
def learned():
    values, truth, winner, loser = votes()
    return Learner(values, winner, loser, components=5), truth


@pytest.mark.parametrize("method", METHODS)
def test_every_method_orders_items_nobody_compared(learned, method):
    made, truth = learned
    scores = made.scores(method)
    unseen = np.setdiff1d(np.arange(len(truth)), made.compared)
    assert scores.shape == truth.shape
    assert kendalltau(scores[unseen], truth[unseen]).statistic > 0.6


def test_the_span_of_the_compared_items_is_all_that_is_needed():
    """With more features than items the learner works in their span; scores are the same."""
    values, _, winner, loser = votes(n_items=30, n_features=60, n_votes=200)
    made = Learner(values, winner, loser, components=5)
    space = original_space(values[made.compared], [f"f{k}" for k in range(60)])
    graph = made.graph.with_features(space.map(values)[made.compared])
    beta = ranking_coefficients(graph, ridge=0.7)
    ours, whole = made.fitted(made.graph, ridge=0.7), space.map(values) @ beta
    np.testing.assert_allclose(ours - ours.mean(), whole - whole.mean(), atol=1e-8)


def test_nothing_pruned_is_raw(learned):
    made, _ = learned
    for method in (learner.URLR, learner.FEATURELESS):
        np.testing.assert_array_equal(made.after_pruning(method, 0.0), made.scores(learner.RAW))


def test_more_is_pruned_at_a_higher_rate(learned):
    made, _ = learned
    for method in (learner.URLR, learner.FEATURELESS):
        few, many = made.pruned(method, 0.1), made.pruned(method, 0.7)
        assert few.sum() == int(0.1 * few.size)
        assert many.sum() == int(0.7 * few.size)
        assert not (few & ~many).any()


def test_bradley_terry_regression_regresses_the_strengths():
    """With a ridge of next to nothing it is least squares on the strengths."""
    values, _, winner, loser = votes(n_items=40, n_features=3, n_votes=2000)
    made = Learner(values, winner, loser, components=None)
    fits = baselines._strengths_regressed(made.graph, 0.1)
    strengths = baselines.bradley_terry(pd.DataFrame({"winner": winner, "loser": loser}), ridge=0.1)
    best = np.linalg.lstsq(made.graph.features, strengths.to_numpy(), rcond=None)[0]
    np.testing.assert_allclose(fits[0], best, rtol=0.05)


def test_kernel_ridge_on_pairs_vs_sklearn():
    """Pairs have the kernel A K A'; sklearn's kernel ridge on that gives the same differences."""
    values, _, winner, loser = votes(n_items=25, n_features=4, n_votes=150)
    made = Learner(values, winner, loser, components=None)
    graph, items, gamma, ridge = made.graph, made.compared, 0.2, 0.5
    mapped = baselines._kernel_features(values, items, gamma)
    ours = mapped @ ranking_coefficients(graph.with_features(mapped[items]), ridge=ridge)
    kernel = rbf_kernel(values[items], gamma=gamma)
    pairs = np.zeros((graph.n_edges, graph.n_items))
    pairs[np.arange(graph.n_edges), graph.winner] = 1
    pairs[np.arange(graph.n_edges), graph.loser] = -1
    model = KernelRidge(alpha=ridge, kernel="precomputed")
    model.fit(pairs @ kernel @ pairs.T, np.ones(graph.n_edges), sample_weight=graph.weight)
    expected = pairs @ kernel @ pairs.T @ model.dual_coef_
    np.testing.assert_allclose(graph.margins(ours[items]), expected, atol=1e-6)
