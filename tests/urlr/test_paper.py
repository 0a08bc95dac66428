"""The method of the paper alone: RankSVM, the reduced space, and what auto prunes."""

import numpy as np
import pandas as pd
import pytest
from graphs import random_votes, votes_frame
from refusals import refused
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge, lars_path
from sklearn.preprocessing import StandardScaler

import urlr
from urlr import FeatureError
from urlr.messages import message


def edges_of(votes):
    """winner, loser, target, weight: all votes for one item over another, ties of one pair."""
    tie = votes["outcome"] == "tie"
    swap = np.where(tie, votes["item_a"] > votes["item_b"], votes["outcome"] == "b")
    ends = {
        "winner": np.where(swap, votes["item_b"], votes["item_a"]),
        "loser": np.where(swap, votes["item_a"], votes["item_b"]),
        "target": np.where(tie, 0.0, 1.0),
    }
    return pd.DataFrame(ends).value_counts(sort=False).rename("weight").reset_index()


def order_of_entry(X, target, weight, count, *, ridge):
    """The first edges whose outlier variable leaves zero: the LASSO of gamma, beta eliminated."""
    X = np.sqrt(weight)[:, None] * X
    hat = X @ np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T)
    values, vectors = np.linalg.eigh(np.eye(len(hat)) - hat)
    design = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T * np.sqrt(weight)
    _, _, gamma = lars_path(design / weight, design @ target, method="lasso", max_iter=3 * count)
    first = np.where((gamma != 0).any(axis=1), (gamma != 0).argmax(axis=1), np.inf)
    return np.argsort(first, kind="stable")[:count]


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_to_the_letter_is_algorithm_1(seed):
    """Composed of scikit-learn: standardise, PCA, LASSO path, drop a fifth, ridge regression."""
    votes, features = random_votes(seed, n_items=30, n_votes=160, n_features=20)
    ranker = urlr.fit(votes, features, method="paper", prune=0.2, ridge=0.001)

    edges = edges_of(votes)
    winner, loser, target, weight = (edges[name].to_numpy() for name in edges)
    assert set(winner) | set(loser) == set(features.index)
    phi = StandardScaler().fit_transform(features)
    reduced = PCA(len(edges) // 10).fit_transform(phi)
    assert reduced.shape[1] < phi.shape[1]
    count = int(0.2 * len(edges))
    outliers = order_of_entry(reduced[winner] - reduced[loser], target, weight, count, ridge=0.001)
    kept = np.setdiff1d(np.arange(len(edges)), outliers)
    fitted = Ridge(alpha=0.001, fit_intercept=False)
    fitted.fit((phi[winner] - phi[loser])[kept], target[kept], sample_weight=weight[kept])

    assert ranker.facts.n_pruned_edges == count
    scores = ranker.scores.set_index("item")["score"][features.index]
    np.testing.assert_allclose(scores, phi @ fitted.coef_, atol=1e-6)


def test_defaults_that_depend_on_the_votes():
    """A tenth of the edges, at most 150 components; a ridge of 0.001, without features 1e-6."""
    votes, features = random_votes(0, n_items=200, n_votes=1800, n_features=170)
    few = urlr.fit(votes[:400], features, method="paper", prune=0.1)
    assert few.outlier_map.n_out == few.facts.n_edges // 10 < 40
    many = urlr.fit(votes, features, method="paper", prune=0.01)
    assert many.facts.n_edges > 1500
    assert many.outlier_map.n_out == 150

    votes, features = random_votes(1)
    for table, own, other in ((features, 1e-3, 1e-1), (None, 1e-6, 1e-3)):
        usual, named, differs = (
            urlr.fit(votes, table, method="paper", prune=0.2, outlier_ridge=ridge).verdicts["entry"]
            for ridge in (None, own, other)
        )
        pd.testing.assert_series_equal(usual, named, check_exact=True)
        assert not np.array_equal(usual, differs)


def test_svm_without_features_is_refused():
    with refused(FeatureError, "svm_without_features"):
        urlr.fit(votes_frame([("a", "b", 1)]), method="paper", ranking="svm")


def test_chi_square_map_gives_three_dimensions_a_column():
    votes, features = random_votes(0)
    ranker = urlr.fit(votes, features.abs(), method="paper", chi_square=2)
    assert ranker.coefficients.size == 3 * features.shape[1]


def test_votes_explained_only_outside_the_reduced_space_are_ranked_unpruned():
    signs = [(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    features = pd.DataFrame(
        [(a, a, b, b, c) for a, b, c in signs], index=[f"i{k}" for k in range(8)], dtype=float
    )
    votes = pd.DataFrame(
        [(f"i{i}", f"i{j}") for i in range(8) for j in range(8) if signs[i][2] > signs[j][2]],
        columns=["winner", "loser"],
    )
    for prune in (0.2, "auto"):
        ranker = urlr.fit(votes, features, method="paper", prune=prune, components=2)
        assert ranker.facts.n_pruned_edges == 0
        assert message("reduced_features_cancel") in ranker.facts.warnings
        top = ranker.scores["item"].head(4).str[1:].astype(int)
        assert all(signs[k][2] == 1 for k in top)


def test_auto_prunes_nothing_where_nobody_errs():
    rng = np.random.default_rng(0)
    made = urlr.simulate.crowd(
        rng=rng, n_items=150, n_features=6, n_votes=4000, private=0.0, error_ratio=0.0
    )
    facts = urlr.fit(made.votes, made.features, method="paper").facts
    assert not made.wrong.any()
    assert (facts.rate, facts.n_pruned_edges) == (0.0, 0)


def test_auto_prunes_where_a_quarter_was_flipped():
    made = urlr.simulate.crowd(
        rng=np.random.default_rng(0),
        n_items=150,
        n_features=6,
        n_votes=4000,
        error_ratio=0.0,
        flip=0.25,
    )
    ranker = urlr.fit(made.votes, made.features, method="paper")
    assert 0 < ranker.facts.rate <= 0.35
    pruned = ranker.verdicts["pruned"].to_numpy()
    assert made.wrong[pruned].mean() > 0.6


def test_auto_is_decided_by_the_seed():
    votes, features = random_votes(6, n_items=30, n_votes=600)
    first, second = (
        urlr.fit(votes, features, method="paper", seed=4).verdicts["pruned"] for _ in range(2)
    )
    assert (first == second).all()
