"""What the method is compared with, against other people's code where there is some."""

import choix
import numpy as np
import pandas as pd
import pytest
from graphs import random_votes, votes_frame
from refusals import refused

import urlr
from urlr import baselines, comparison_graph


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(3)
    return urlr.simulate.crowd(rng=rng, n_items=60, n_features=5, n_votes=1500)


def test_bradley_terry_vs_choix():
    votes, _ = random_votes(0, ties=0.0, n_votes=300)
    graph = comparison_graph(votes)
    pairs = [
        (int(i), int(j))
        for i, j, w in zip(graph.winner, graph.loser, graph.weight, strict=True)
        for _ in range(int(w))
    ]
    alpha = 0.05  # choix penalises alpha |theta|^2, we mu/2 |theta|^2
    reference = choix.opt_pairwise(graph.n_items, pairs, alpha=alpha, tol=1e-12)
    ours = baselines.bradley_terry(votes, ridge=2 * alpha)
    np.testing.assert_allclose(ours, reference - reference.mean(), atol=1e-5)


def test_bradley_terry_stays_finite_when_an_item_never_won():
    scores = baselines.bradley_terry(votes_frame([("a", "b", 5), ("b", "c", 5)]))
    assert np.isfinite(scores).all()
    assert scores.idxmax() == "a"


def test_bradley_terry_counts_a_tie_as_half_a_win_each():
    tie = pd.DataFrame({"item_a": ["a"], "item_b": ["b"], "outcome": ["tie"], "weight": [2.0]})
    both = pd.DataFrame({"item_a": ["a", "a"], "item_b": ["b", "b"], "outcome": ["a", "b"]})
    rest = pd.DataFrame({"item_a": ["a"], "item_b": ["b"], "outcome": ["a"]})
    one = baselines.bradley_terry(pd.concat([tie, rest.assign(weight=1.0)]))
    other = baselines.bradley_terry(pd.concat([both, rest]))
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_majority_drops_the_minority_and_pairs_without_one():
    votes = votes_frame([("a", "b", 3), ("b", "a", 2), ("b", "c", 1), ("c", "b", 1), ("c", "d", 1)])
    graph = comparison_graph(votes)
    kept = baselines.majority(graph)
    edges = zip(graph.items[graph.winner[kept]], graph.items[graph.loser[kept]], strict=True)
    assert set(edges) == {("a", "b"), ("c", "d")}


def test_win_shares_leave_out_ties_and_items_without_decided_votes():
    rows = [("a", "b", "a", 3.0), ("a", "b", "b", 1.0), ("c", "d", "tie", 9.0)]
    votes = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "weight"])
    graph = comparison_graph(votes)
    np.testing.assert_array_equal(baselines.win_shares(graph), [0.75, 0.25, np.nan, np.nan])


@pytest.mark.parametrize(
    "baseline",
    [
        baselines.raw,
        baselines.huber_lasso_fl,
        baselines.majority_vote_svm,
        baselines.majority_vote_regression,
    ],
)
def test_baselines_rank_a_good_crowd_well(crowd, baseline):
    scores = baseline(crowd.votes, crowd.features)
    assert urlr.metrics.tau_b(scores, crowd.truth) > 0.8


def test_huber_lasso_fl_prunes_without_looking_at_features(crowd):
    shuffled = crowd.features.sample(frac=1, random_state=0).set_axis(crowd.features.index)
    one, other = (
        urlr.fit(crowd.votes, features, method="paper", prune=0.2, outlier_space="items")
        for features in (crowd.features, shuffled)
    )
    assert one.facts.n_pruned_edges > 0
    assert (one.verdicts["pruned"] == other.verdicts["pruned"]).all()


@pytest.mark.parametrize(
    "baseline", [baselines.majority_vote_svm, baselines.majority_vote_regression]
)
def test_votes_without_any_majority_are_refused(baseline):
    votes = votes_frame([("a", "b", 1), ("b", "a", 1), ("b", "c", 1), ("c", "b", 1)])
    features = pd.DataFrame({"f": [3.0, 2.0, 1.5]}, index=["a", "b", "c"])
    with refused(urlr.VoteError, "no_majority"):
        baseline(votes, features)
