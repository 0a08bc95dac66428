"""The comparison graph and its products, against the matrices written out."""

import numpy as np
import pandas as pd
import pytest
from graphs import FIXTURES, random_graph, votes_frame
from refusals import refused
from scipy import sparse

from urlr import FeatureError, comparison_graph
from urlr.graph.laplacian import solve_laplacian


def incidence(graph):
    C = np.zeros((graph.n_edges, graph.n_items))
    C[np.arange(graph.n_edges), graph.winner] = 1
    C[np.arange(graph.n_edges), graph.loser] = -1
    return C


def test_votes_one_way_are_one_edge_and_both_ways_are_two():
    graph = comparison_graph(votes_frame([("x", "y", 3), ("y", "x", 2), ("x", "z", 1)]))
    assert graph.n_edges == 3
    edges = zip(graph.items[graph.winner], graph.items[graph.loser], graph.weight, strict=True)
    assert set(edges) == {("x", "y", 3.0), ("y", "x", 2.0), ("x", "z", 1.0)}


def test_ties_either_way_round_are_one_edge_with_target_zero():
    votes = pd.DataFrame({"item_a": ["x", "y"], "item_b": ["y", "x"], "outcome": ["tie", "tie"]})
    graph = comparison_graph(votes)
    assert graph.n_edges == 1
    assert graph.weight.tolist() == [2.0]
    assert graph.target.tolist() == [0.0]


def test_weights_add_up():
    votes = pd.DataFrame({"winner": ["x", "x"], "loser": ["y", "y"], "weight": [0.5, 2.0]})
    assert comparison_graph(votes).weight.tolist() == [2.5]


@pytest.mark.parametrize("fixture", ["plain", "weighted", "featureless", "disconnected", "tied"])
def test_products_equal_those_of_the_written_out_matrices(fixture):
    graph = FIXTURES[fixture](0)
    C = incidence(graph)
    features = np.eye(graph.n_items) if graph.features is None else graph.features
    rng = np.random.default_rng(0)
    beta, values = rng.normal(size=features.shape[1]), rng.normal(size=graph.n_edges)
    np.testing.assert_allclose(graph.margins(graph.scores(beta)), C @ features @ beta, atol=1e-12)
    pulled = features.T @ C.T @ values
    np.testing.assert_allclose(graph.project(graph.pull(values)), pulled, atol=1e-12)
    edges = rng.random(graph.n_edges) < 0.5
    X = np.sqrt(graph.weight * edges)[:, None] * (C @ features)
    np.testing.assert_allclose(graph.gram(edges), X.T @ X, atol=1e-10)


def test_keeping_edges_keeps_items_and_forgets_votes_of_the_others():
    graph = random_graph(0)
    edges = np.arange(graph.n_edges) % 3 > 0
    kept = graph.keep(edges)
    assert kept.n_items == graph.n_items
    assert kept.n_edges == edges.sum()
    for row, edge in enumerate(kept.edge_of_row):
        before = graph.edge_of_row[row]
        if edge < 0:
            assert not edges[before]
        else:
            assert kept.winner[edge] == graph.winner[before]
            assert kept.loser[edge] == graph.loser[before]


def test_two_million_votes_on_one_pair_are_two_edges():
    votes = pd.DataFrame(
        {"winner": np.tile([1, 2], 1_000_000), "loser": np.tile([2, 1], 1_000_000)}
    )
    graph = comparison_graph(votes)
    assert graph.weight.tolist() == [1e6, 1e6]


def test_features_must_fit_the_items():
    graph = random_graph(0)
    with refused(FeatureError, "features_of_other_shape", shape=(3, 2), n_items=graph.n_items):
        graph.with_features(np.zeros((3, 2)))
    with refused(FeatureError, "features_not_finite", count=2 * graph.n_items):
        graph.with_features(np.full((graph.n_items, 2), np.nan))


def test_items_with_features_but_no_votes_are_left_out_of_the_graph():
    votes = votes_frame([("x", "y", 1), ("y", "z", 1)])
    features = pd.DataFrame({"f": [1.0, 2.0, 3.0, 4.0]}, index=["x", "y", "z", "unseen"])
    assert list(comparison_graph(votes, features).items) == ["x", "y", "z"]


@pytest.mark.parametrize("n_items", [50, 2000])
def test_laplacian_solution_satisfies_the_system(n_items):
    """Small graphs are factorised, large ones iterated; both must solve the same equations."""
    graph = random_graph(1, n_items=n_items, n_votes=6 * n_items, featureless=True)
    right = np.random.default_rng(0).normal(size=graph.n_items)
    x = solve_laplacian(graph.winner, graph.loser, graph.weight, right, ridge=1e-3)
    product = graph.pull(graph.weight * graph.margins(x)) + 1e-3 * x
    np.testing.assert_allclose(product, right, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_components_vs_scipy(seed):
    """Numbered alike too: in the order of their first items."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 60, (2, 35))
    votes = pd.DataFrame({"winner": first, "loser": second})[first != second]
    graph = comparison_graph(votes)
    links = sparse.coo_array(
        (np.ones(graph.n_edges), (graph.winner, graph.loser)), (graph.n_items, graph.n_items)
    )
    n_components, labels = sparse.csgraph.connected_components(links, directed=False)
    assert n_components > 3
    assert graph.components().tolist() == labels.tolist()
