"""The method of the paper alone: RankSVM, the reduced space, and what auto prunes."""

import numpy as np
import pandas as pd
import pytest
from graphs import random_votes, votes_frame

import urlr
from urlr import FeatureError


def test_svm_without_features_is_refused():
    with pytest.raises(FeatureError, match="RankSVM"):
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
        assert any("reduced features" in text for text in ranker.facts.warnings)
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


def test_auto_is_decided_by_the_seed():
    votes, features = random_votes(6, n_items=30, n_votes=600)
    first, second = (
        urlr.fit(votes, features, method="paper", seed=4).verdicts["pruned"] for _ in range(2)
    )
    assert (first == second).all()
