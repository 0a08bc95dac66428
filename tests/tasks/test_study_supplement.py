"""The supplement of the paper: other searches for outliers, each against a plain version."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from sklearn.linear_model import Lasso, lars_path, orthogonal_mp
from threadpoolctl import threadpool_limits

from tasks.study.outlier_searches import (
    SMALLEST_PENALTY,
    ipod_order,
    ipod_outliers,
    matching_pursuit_order,
    projected,
    scaled_lasso,
)
from tasks.study.records import Unit, measured_table
from tasks.study.supplement import (
    BIC,
    EVIDENCE,
    PAPER_BIC,
    RATIOS,
    RULES,
    SEARCHES,
    SHARES,
    SUFFIX,
    SUPPLEMENT,
    bic_table,
    choices,
    complete_graph,
    orders,
    votes,
)
from urlr.errors import ArgumentError
from urlr.metrics import outlier_auc
from urlr.paper.path import outlier_path
from urlr.paper.rates import information_choice


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As in a worker: threads of small products only wait for each other."""
    with threadpool_limits(1):
        yield


def small_graph(seed, *, n_items=10, share=0.2, thinned=0.0):
    """Real-valued votes on (most) pairs, some of them shifted."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1, 1, n_items)
    first, second = np.triu_indices(n_items, 1)
    target = theta[first] - theta[second] + 0.1 * rng.standard_normal(first.size)
    outlier = rng.random(first.size) < share
    target -= np.where(outlier, 0.7 * np.sign(theta[first] - theta[second]), 0)
    return complete_graph(target, n_items).keep(rng.random(first.size) >= thinned)


def remover(graph):
    """I - H as a full matrix."""
    design = np.zeros((graph.n_edges, graph.n_items))
    rows = np.arange(graph.n_edges)
    design[rows, graph.winner], design[rows, graph.loser] = 1, -1
    return np.eye(graph.n_edges) - design @ np.linalg.pinv(design)


@pytest.mark.parametrize("seed", range(3))
def test_the_path_of_real_valued_votes_vs_lars(seed):
    graph = small_graph(seed, n_items=8)
    rest = remover(graph)
    n = graph.n_edges
    alphas, _, gammas = lars_path(rest, rest @ graph.target, method="lasso", alpha_min=0.04 / n)
    entry = np.zeros(n)
    for before, gamma in zip(alphas, gammas.T[1:], strict=False):
        entry[(gamma != 0) & (entry == 0)] = before * n
    path = outlier_path(graph, rate=1.0, floor=0.04, ridge=1e-6, solver="exact")
    np.testing.assert_allclose(path.entry, entry, atol=1e-5)
    assert np.count_nonzero(entry) > 5


def test_the_direction_in_which_a_pair_is_written_changes_nothing():
    graph = small_graph(1)
    turned = np.arange(graph.n_edges) % 2 == 1
    other = complete_graph(np.where(turned, -graph.target, graph.target), graph.n_items)
    other.winner[turned], other.loser[turned] = graph.loser[turned], graph.winner[turned]
    assert (graph.target < 0).any()
    assert (other.target < 0).any()
    for name, order in orders(graph).items():
        # OMP's last edges, as many as span the items, fit exactly and tie.
        some = graph.n_edges - graph.n_items + 1
        np.testing.assert_array_equal(orders(other)[name][:some], order[:some], err_msg=name)
    for name, found in choices(graph).items():
        np.testing.assert_array_equal(choices(other)[name], found, err_msg=name)


@pytest.mark.parametrize("seed", range(3))
def test_matching_pursuit_vs_sklearn(seed):
    graph = small_graph(seed)
    rest = remover(graph)
    order = matching_pursuit_order(graph)
    for k in range(1, 16):
        gamma = orthogonal_mp(rest, rest @ graph.target, n_nonzero_coefs=k)
        assert set(np.flatnonzero(gamma)) == set(order[:k])


@pytest.mark.parametrize("seed", range(3))
def test_matching_pursuit_vs_removing_and_refitting(seed):
    graph = small_graph(seed, thinned=0.3)
    rest = remover(graph)
    length = np.sqrt(np.diag(rest))
    assert np.ptp(length) > 0.05
    kept = np.ones(graph.n_edges, bool)
    order = matching_pursuit_order(graph)
    assert sorted(order) == list(range(graph.n_edges))
    for edge in order[: graph.n_edges - graph.n_items + 1]:
        design = np.eye(graph.n_items)[graph.winner] - np.eye(graph.n_items)[graph.loser]
        theta = np.linalg.lstsq(design[kept], graph.target[kept], rcond=None)[0]
        score = np.where(kept, np.abs(graph.target - design @ theta) / length, -1)
        assert score[edge] == pytest.approx(score.max(), abs=1e-9)
        kept[edge] = False


def plain_ipod(graph, penalties, robust=None):
    """Theta-IPOD as it is written, with a full matrix."""
    rest = remover(graph)
    hat = np.eye(graph.n_edges) - rest
    length = np.sqrt(np.diag(rest))
    gamma = np.zeros(graph.n_edges)
    found = []
    for penalty in penalties:
        if robust is not None:
            gamma = np.where(np.abs(robust) > penalty * length, robust, 0)
        for _ in range(20_000):
            before = gamma
            moved = hat @ gamma + rest @ graph.target
            gamma = np.where(np.abs(moved) > penalty * length, moved, 0)
            if np.abs(gamma - before).max() < 1e-12:
                break
        found.append(gamma)
    return found


@pytest.mark.parametrize("start", ["the penalty before", "robust"])
def test_ipod_comes_to_rest_where_the_plain_iteration_does(start):
    graph = small_graph(2, thinned=0.1)
    rest = remover(graph)
    length = np.sqrt(np.diag(rest))
    top = np.max(np.abs(rest @ graph.target) / length)
    penalties = np.geomspace(top, SMALLEST_PENALTY * top, 41)[1:]
    robust = outlier_path(graph, rate=1.0, ridge=1e-6).residual if start == "robust" else None
    plain = plain_ipod(graph, penalties, robust)
    problem = projected(graph)
    gamma, entry, last = np.zeros(graph.n_edges), np.zeros(graph.n_edges), np.zeros(graph.n_edges)
    for penalty, expected in zip(penalties, plain, strict=True):
        if robust is not None:
            gamma = np.where(np.abs(robust) > penalty * length, robust, 0)
        gamma = ipod_outliers(problem, penalty, gamma)
        again = (np.eye(graph.n_edges) - rest) @ gamma + rest @ graph.target
        again[np.abs(again) <= penalty * length] = 0
        np.testing.assert_allclose(gamma, again, atol=1e-9)
        if np.count_nonzero(gamma) < 25:  # later too few edges are left to tell items apart
            np.testing.assert_allclose(gamma, expected, atol=1e-6)
            new = (expected != 0) & (entry == 0)
            entry[new], last[new] = penalty, (np.abs(expected) / length)[new]
    reached = np.count_nonzero(entry)
    assert reached >= 15
    order = ipod_order(graph, robust=robust, n_penalties=40)
    np.testing.assert_array_equal(order[:reached], np.lexsort((-last, -entry))[:reached])


def test_ipod_and_matching_pursuit_find_a_lone_outlier_first():
    graph = small_graph(3, share=0)
    graph.target[17] += 2
    for name, order in orders(graph).items():
        assert order[0] == 17, name


@pytest.mark.parametrize("seed", range(3))
def test_the_scaled_lasso_rests_where_lambda_is_sigma_times_the_universal_factor(seed):
    graph = small_graph(seed, share=0.06)
    graph.target[seed] += 1
    found = scaled_lasso(graph)
    n = graph.n_edges
    assert found.penalty == pytest.approx(found.sigma * np.sqrt(2 * np.log(n)))
    rest = remover(graph)
    lasso = Lasso(alpha=found.penalty / n, fit_intercept=False, tol=1e-12, max_iter=100_000)
    gamma = lasso.fit(rest, rest @ graph.target).coef_
    rss = np.sum((rest @ (graph.target - gamma)) ** 2)
    assert np.sqrt(rss / n) == pytest.approx(found.sigma, rel=1e-4)
    np.testing.assert_array_equal(found.outliers, gamma != 0)
    assert 1 <= np.count_nonzero(gamma) <= n / (2 * np.log(n))


def test_the_scaled_lasso_finds_nothing_in_noise():
    rng = np.random.default_rng(0)
    found = scaled_lasso(complete_graph(rng.uniform(-1, 1, 45), 10))
    assert not found.outliers.any()


def test_edges_of_different_weight_are_refused():
    graph = small_graph(0)
    graph.weight[3] = 2
    with refused(ArgumentError, "weights_other_than_1"):
        matching_pursuit_order(graph)


@pytest.mark.full
def test_a_unit_gives_every_number_once():
    assert set(SUPPLEMENT.units(True)) <= set(SUPPLEMENT.units(False))
    assert len(SUPPLEMENT.units(True)) == 9
    unit = Unit(SUPPLEMENT.name, "p 0.3", 0, quick=True)
    outcome = SUPPLEMENT.run(unit)
    found = [(row.measure, row.method, row.at) for row in outcome.rows]
    expected = {
        (measure + suffix, name, float(ratio))
        for suffix in SUFFIX.values()
        for ratio in RATIOS
        for measure, names in (("auc", SEARCHES), ("tpr", RULES), ("fpr", RULES))
        for name in names
    }
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert all(0 <= row.value <= 1 for row in outcome.rows)
    measured = measured_table([(unit, outcome)])
    for chart in SUPPLEMENT.charts(measured, EVIDENCE):
        assert list(chart.table["at"].unique()) == [0.3]
        assert list(chart.table["series"]) in (SEARCHES, RULES)


def test_settings_of_one_trial_share_scores_and_noise():
    rng = Unit(SUPPLEMENT.name, "p 0.1", 4).rng
    few, some = votes(rng("votes"), 0.1, 4)
    other, more = votes(rng("votes"), 0.5, 9)
    assert (some <= more).all()
    np.testing.assert_array_equal(few.target[~more], other.target[~more])
    random, _ = votes(rng("votes"), 0.5, 9, signs="random")
    np.testing.assert_array_equal(random.target[~more], other.target[~more])
    assert set(np.round(np.abs(random.target - other.target)[more], 9)) == {0.0, 1.8}


def shares_found(rule, p, ratio, signs="reversed", trials=4):
    """Mean TPR and FPR of a rule."""
    rates = []
    for trial in range(trials):
        rng = Unit(SUPPLEMENT.name, f"p {p:g}", trial).rng("votes")
        graph, outlier = votes(rng, p, ratio, signs=signs)
        found = choices(graph)[rule]
        rates.append((found[outlier].mean(), found[~outlier].mean()))
    return np.mean(rates, axis=0)


def test_bic_finds_outliers_that_are_few_and_huge():
    found, accused = shares_found(BIC, 0.1, 9)
    assert found > 0.95
    assert accused < 0.08


@pytest.mark.parametrize(("p", "ratio"), [(0.1, 4), (0.3, 6), (0.5, 9), (0.6, 9)])
def test_bic_finds_nothing_else(p, ratio):
    found, accused = shares_found(BIC, p, ratio)
    assert found < 0.05
    assert accused == pytest.approx(0, abs=0.005)


def test_random_signs_come_nearer_to_the_table_of_the_paper():
    paper = PAPER_BIC[0.2][RATIOS.index(8)][0]
    found = [shares_found(BIC, 0.2, 8, signs, trials=10)[0] for signs in ("reversed", "random")]
    assert abs(found[1] - paper) < 0.05 < abs(found[0] - paper)


@pytest.mark.parametrize("p", SHARES)
def test_the_certificate_holds_to_the_end_of_the_path_where_bic_is_no_guide(p):
    graph, _ = votes(np.random.default_rng(7), p, 9)
    path = outlier_path(graph, rate=1.0, ridge=1e-6)
    assert path.solver == "exact"
    assert path.violation < 1e-7
    dimension = graph.n_edges - graph.n_items + 1
    assert information_choice(path, "bic", dimension=dimension) > 0.9 * graph.n_edges


@pytest.mark.parametrize("signs", ["reversed", "random"])
def test_all_searches_find_few_huge_outliers(signs):
    graph, outlier = votes(np.random.default_rng(5), 0.1, 9, signs=signs)
    for name, order in orders(graph).items():
        assert outlier_auc(-np.argsort(order).astype(float), outlier) > 0.999, name


def test_the_bic_table_has_the_cells_that_were_measured():
    assert sum(len(cells) for cells in PAPER_BIC.values()) == 36
    rows = [
        ("supplement", "p 0.2", trial, measure, BIC, 7.0, value + 0.1 * trial)
        for measure, value in (("tpr", 0.5), ("fpr", 0.0), ("tpr, random signs", 0.8))
        for trial in (0, 1)
    ]
    rows += [("image", "density 1", 0, "tpr", BIC, 7.0, 0.9)]
    columns = ["experiment", "setting", "trial", "measure", "method", "at", "value"]
    table = bic_table(pd.DataFrame(rows, columns=columns))
    assert len(table) == 1
    cell = table.iloc[0]
    assert (cell["p"], cell["onr"], cell["n"]) == (0.2, 7, 2)
    assert (cell["paper_tpr"], cell["paper_fpr"]) == (0.9, 0.05)
    assert cell["tpr"] == pytest.approx(0.55)
    assert cell["tpr_error"] == pytest.approx(0.05)
    assert cell["tpr_difference"] == pytest.approx(-0.35)
    assert cell["fpr_difference"] == pytest.approx(0.0)
