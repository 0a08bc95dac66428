"""The regularisation path: certificate, limits, symmetry, references, hand-worked cases."""

import numpy as np
import pandas as pd
import pytest
from graphs import FIXTURES, random_graph, random_votes, repeated_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy import optimize
from sklearn.linear_model import Lasso

from urlr import ConvergenceError, outlier_path
from urlr.errors import ArgumentError
from urlr.graph.comparisons import graph_of
from urlr.paper.ridge import ridge_coefficients
from urlr.votes.table import vote_table

SOLVERS = ("exact", "grid")
every_fixture = pytest.mark.parametrize("fixture", FIXTURES)
both_solvers = pytest.mark.parametrize("solver", SOLVERS)


def explicit(graph):
    """X = sqrt(W) C Phi, formed as the paper writes it."""
    features = np.eye(graph.n_items) if graph.features is None else graph.features
    rows = features[graph.winner] - features[graph.loser]
    return np.sqrt(graph.weight)[:, None] * rows


def outliers_at(graph, path, penalty):
    """gamma: soft threshold of the residual."""
    residual = graph.target - graph.margins(graph.scores(path.coefficients))
    return np.sign(residual) * np.maximum(np.abs(residual) - penalty, 0)


@every_fixture
@both_solvers
@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_certificate_is_below_tolerance(fixture, solver, rate):
    for seed in range(5):
        path = outlier_path(FIXTURES[fixture](seed), rate=rate, solver=solver)
        assert path.violation <= 1e-7


@every_fixture
def test_solvers_prune_the_same_edges_but_for_those_at_the_cut(fixture):
    for seed in range(20):
        graph = FIXTURES[fixture](seed)
        exact = outlier_path(graph, rate=0.2, solver="exact")
        grid = outlier_path(graph, rate=0.2, solver="grid")
        first, second = exact.pruned(0.2), grid.pruned(0.2)
        assert np.count_nonzero(first) == np.count_nonzero(second)
        if first.any():
            cut = exact.entry[first].min()
            assert np.all(np.abs(exact.entry[first & ~second] - cut) < 1e-6)
            assert np.all(np.abs(grid.entry[second & ~first] - cut) < 1e-6)


@both_solvers
@pytest.mark.parametrize("fixture", ["plain", "weighted", "featureless", "rank deficient", "tied"])
@pytest.mark.parametrize("penalty", [0.9, 0.6, 0.3, 0.1])
def test_outliers_vs_sklearn_lasso(solver, fixture, penalty):
    """The paper's LASSO for gamma alone, beta eliminated, solved by coordinate descent."""
    graph = FIXTURES[fixture](1)
    path = outlier_path(graph, rate=1.0, floor=penalty, solver=solver, tolerance=1e-9)
    assert path.penalty == pytest.approx(penalty)
    X = explicit(graph)
    hat = X @ np.linalg.solve(X.T @ X + 1e-3 * np.eye(X.shape[1]), X.T)
    values, vectors = np.linalg.eigh(np.eye(len(hat)) - hat)
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    design = root * np.sqrt(graph.weight)
    lasso = Lasso(alpha=penalty / len(X), fit_intercept=False, tol=1e-15, max_iter=1_000_000)
    lasso.fit(design / graph.weight, design @ graph.target)
    gamma = lasso.coef_ / graph.weight
    np.testing.assert_allclose(outliers_at(graph, path, penalty), gamma, atol=1e-6)


@both_solvers
@pytest.mark.parametrize("fixture", ["plain", "weighted", "featureless", "disconnected"])
@pytest.mark.parametrize("penalty", [0.8, 0.4, 0.2])
def test_coefficients_equal_the_huber_minimiser(solver, fixture, penalty):
    """Minimising over the outliers leaves a Huber loss with threshold lambda."""
    graph = FIXTURES[fixture](2)
    path = outlier_path(graph, rate=1.0, floor=penalty, solver=solver, tolerance=1e-9)
    rows = explicit(graph) / np.sqrt(graph.weight)[:, None]

    def loss(beta):
        residual = graph.target - rows @ beta
        clipped = np.clip(residual, -penalty, penalty)
        value = graph.weight @ (clipped * (residual - clipped / 2)) + 5e-4 * beta @ beta
        return value, 1e-3 * beta - rows.T @ (graph.weight * clipped)

    best = optimize.minimize(
        loss,
        np.zeros(rows.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-11},
    )
    np.testing.assert_allclose(
        graph.scores(path.coefficients), graph.scores(best.x), atol=2e-6, rtol=0
    )


@both_solvers
def test_large_penalty_gives_least_squares(solver):
    graph = random_graph(3)
    path = outlier_path(graph, rate=1.0, floor=100.0, solver=solver)
    np.testing.assert_allclose(path.coefficients, ridge_coefficients(graph, ridge=1e-3), atol=1e-12)
    assert path.n_entered == 0


@both_solvers
def test_whole_path_orders_every_edge_that_does_not_fit(solver):
    graph = random_graph(4, n_votes=400)
    path = outlier_path(graph, rate=1.0, solver=solver)
    assert sorted(path.order) == list(range(graph.n_edges))
    entered = path.entry[path.order]
    assert np.all(np.diff(entered) <= 0)
    assert path.n_entered > 0.9 * graph.n_edges


def test_edges_that_come_back_keep_their_first_entry():
    graphs = [random_graph(seed, n_items=12, n_votes=60, n_features=6) for seed in range(30)]
    paths = [outlier_path(graph, rate=0.9, solver="exact") for graph in graphs]
    came_back = [p for p in paths if np.any(p.trace.n_outliers < p.trace.n_entered)]
    assert came_back, "none of the graphs has an edge that leaves again: the test shows nothing"
    for path in came_back:
        assert np.all(np.diff(path.trace.penalty) <= 1e-12)
        assert np.all(np.diff(path.trace.n_entered) >= 0)


@both_solvers
def test_reversing_every_vote_negates_scores_and_keeps_the_order(solver):
    votes, features = random_votes(5)
    reversed_votes = votes.assign(outcome=votes.outcome.map({"a": "b", "b": "a", "tie": "tie"}))
    one, other = (graph_of(vote_table(v)) for v in (votes, reversed_votes))
    rows = features.loc[one.items].to_numpy()
    first = outlier_path(one.with_features(rows), solver=solver)
    second = outlier_path(other.with_features(rows), solver=solver)
    np.testing.assert_allclose(first.coefficients, -second.coefficients, atol=1e-7)
    np.testing.assert_allclose(
        first.entry[one.edge_of_row], second.entry[other.edge_of_row], atol=1e-7
    )


@both_solvers
def test_order_of_rows_changes_nothing(solver):
    votes, features = random_votes(6)
    shuffled = votes.sample(frac=1, random_state=1)
    one, other = (graph_of(vote_table(v)) for v in (votes, shuffled))
    rows = features.loc[one.items].to_numpy()
    first = outlier_path(one.with_features(rows), solver=solver)
    second = outlier_path(other.with_features(rows), solver=solver)
    assert first.entry.tobytes() == second.entry.tobytes()


@both_solvers
def test_relabelling_items_relabels_the_result(solver):
    votes, features = random_votes(7)
    rename = dict(enumerate(np.random.default_rng(0).permutation(len(features)).tolist()))
    renamed = votes.assign(item_a=votes.item_a.map(rename), item_b=votes.item_b.map(rename))
    one, other = (graph_of(vote_table(v)) for v in (votes, renamed))
    back = {new: old for old, new in rename.items()}
    first = outlier_path(one.with_features(features.loc[one.items].to_numpy()), solver=solver)
    second = outlier_path(
        other.with_features(features.loc[[back[i] for i in other.items]].to_numpy()), solver=solver
    )
    np.testing.assert_allclose(
        first.entry[one.edge_of_row], second.entry[other.edge_of_row], atol=1e-6
    )


@both_solvers
def test_splitting_the_weight_of_a_vote_changes_nothing(solver):
    votes, features = random_votes(8, weighted=True)
    halves = votes.assign(weight=votes.weight / 2)
    one = graph_of(vote_table(votes))
    doubled = graph_of(vote_table(pd.concat([halves, halves])))
    rows = features.loc[one.items].to_numpy()
    first = outlier_path(one.with_features(rows), solver=solver)
    second = outlier_path(doubled.with_features(rows), solver=solver)
    np.testing.assert_allclose(first.entry, second.entry, atol=1e-7)


def test_weights_and_ridge_scale_together():
    votes, features = random_votes(9, weighted=True)
    heavy = votes.assign(weight=votes.weight * 1e6)
    one, other = (graph_of(vote_table(v)) for v in (votes, heavy))
    rows = features.loc[one.items].to_numpy()
    first = outlier_path(one.with_features(rows), ridge=1e-3)
    second = outlier_path(other.with_features(rows), ridge=1e3)
    np.testing.assert_allclose(first.entry, second.entry, atol=1e-9)


def test_ties_are_broken_by_edge_order():
    graph = repeated_graph(0)
    path = outlier_path(graph, rate=0.5, solver="exact")
    entries, counts = np.unique(path.entry[path.entry > 0], return_counts=True)
    assert counts.max() > 1, "no two edges tie: the test shows nothing"
    for entry in entries[counts > 1]:
        tied = [edge for edge in path.order if path.entry[edge] == entry]
        assert tied == sorted(tied)
    again = outlier_path(graph, rate=0.5, solver="exact")
    assert path.entry.tobytes() == again.entry.tobytes()


def test_all_ties_fit_perfectly_and_nothing_is_pruned():
    path = outlier_path(FIXTURES["all ties"](0), rate=0.5)
    assert path.n_entered == 0
    assert not path.pruned(0.5).any()
    assert not path.coefficients.any()


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.2, 0.5])
def test_pruned_share_is_the_rate_of_the_edges(rate):
    graph = random_graph(10, n_votes=500)
    path = outlier_path(graph, rate=0.5)
    assert path.pruned(rate).sum() == int(rate * graph.n_edges)


@pytest.mark.parametrize(
    ("solver", "code"),
    [("auto", "huber_unsolved"), ("exact", "path_not_optimal"), ("grid", "huber_unsolved")],
)
def test_missed_tolerance_is_an_error_with_figures(solver, code):
    with refused(ConvergenceError, code, tolerance=1e-300) as caught:
        outlier_path(random_graph(11), solver=solver, tolerance=1e-300)
    assert caught.value.fields["violation"] > 1e-300


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("rate", 1.5, "rate_out_of_range"),
        ("rate", -0.1, "rate_out_of_range"),
        ("ridge", 0.0, "not_positive"),
        ("ridge", np.nan, "not_positive"),
        ("solver", "fast", "unknown_solver"),
    ],
)
def test_senseless_settings_are_refused_by_name(setting, value, code):
    with refused(ArgumentError, code, value=value) as caught:
        outlier_path(random_graph(12), **{setting: value})
    assert str(caught.value).startswith(f"{setting} is {value!r}")


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    fixture=st.sampled_from(sorted(FIXTURES)),
    rate=st.floats(0.0, 1.0),
    ridge=st.sampled_from([1e-3, 1e-2, 1.0]),
    solver=st.sampled_from(SOLVERS),
)
def test_certificate_holds_on_any_graph(seed, fixture, rate, ridge, solver):
    graph = FIXTURES[fixture](seed)
    path = outlier_path(graph, rate=rate, ridge=ridge, solver=solver)
    assert path.violation <= 1e-7
    assert np.isfinite(path.entry).all()
    assert path.pruned(rate).sum() <= rate * graph.n_edges + 1e-9


@pytest.mark.parametrize("fixture", ["plain", "weighted", "featureless", "dense"])
def test_trace_of_the_exact_path_gives_the_loss_of_the_lasso(fixture):
    graph = FIXTURES[fixture](3)
    path = outlier_path(graph, rate=0.6, solver="exact")
    trace = path.trace
    for row in range(0, trace.penalty.size, max(1, trace.penalty.size // 7)):
        there = outlier_path(graph, rate=1.0, floor=trace.penalty[row], solver="grid")
        residual = graph.target - graph.margins(graph.scores(there.coefficients))
        clipped = np.clip(residual, -trace.penalty[row], trace.penalty[row])
        assert trace.rss[row] == pytest.approx(graph.weight @ clipped**2, rel=1e-5)
        outliers = np.count_nonzero(np.abs(residual) > trace.penalty[row] + 1e-6)
        assert outliers <= trace.n_outliers[row] <= outliers + 2


def test_auto_takes_the_grid_where_the_exact_path_loses_its_precision():
    """A tiny ridge and hardly an edge left within the penalty: updates of the inverse drift."""
    lost = []
    for seed in range(60):
        graph = random_graph(seed, featureless=True, n_votes=200)
        try:
            outlier_path(graph, rate=1.0, ridge=1e-6, solver="exact")
        except ConvergenceError:
            lost.append(seed)
    assert lost, "the exact path keeps its precision everywhere: the test shows nothing"
    for seed in lost:
        graph = random_graph(seed, featureless=True, n_votes=200)
        path = outlier_path(graph, rate=1.0, ridge=1e-6, solver="auto")
        assert path.solver == "grid"
        assert path.violation <= 1e-7


@pytest.mark.parametrize(
    ("seed", "shape"),
    [
        (192, {"n_items": 66, "n_features": 13, "n_votes": 76, "weighted": True}),
        (309, {"n_items": 49, "n_features": 5, "n_votes": 57}),
    ],
)
def test_grid_does_not_jump_over_an_edge_that_enters_and_leaves_again(seed, shape):
    found = []
    for ties in (0.0, 0.1, 0.5):
        graph = random_graph(seed, featureless=True, ties=ties, **shape)
        exact, grid = (outlier_path(graph, rate=0.2, solver=solver) for solver in SOLVERS)
        found.append(int(np.max(exact.trace.n_entered - exact.trace.n_outliers)))
        assert (exact.pruned(0.2) == grid.pruned(0.2)).all()
    assert max(found) > 0, "no edge leaves again: the test shows nothing"
