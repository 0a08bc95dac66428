"""Preflight, and the graphs of the paper's Figure 2 that can and cannot be resolved."""

import numpy as np
import pandas as pd
import pytest
from graphs import random_graph, votes_frame

import urlr
from urlr import VoteError, comparison_graph, outlier_path, preflight
from urlr.baselines import majority

CHAIN = [("B", "A"), ("C", "B"), ("D", "C"), ("E", "D")]

CONDORCET = {
    "the majority of three backs the wrong vote": [(*pair, 3) for pair in CHAIN]
    + [("A", "E", 2), ("E", "A", 1)],
    "a single wrong vote against pairs": [(*pair, 2) for pair in CHAIN] + [("A", "E", 1)],
    "one vote per pair": [(*pair, 1) for pair in CHAIN]
    + [("A", "E", 1), ("C", "A", 1), ("E", "C", 1)],
}


@pytest.mark.parametrize("case", CONDORCET)
@pytest.mark.parametrize("solver", ["exact", "grid"])
def test_the_vote_that_closes_the_cycle_is_pruned_first(case, solver):
    """True order A < B < C < D < E; "A beats E" contradicts everything else."""
    graph = comparison_graph(votes_frame(CONDORCET[case]))
    first = outlier_path(graph, rate=0.2, solver=solver).order[0]
    assert (graph.items[graph.winner[first]], graph.items[graph.loser[first]]) == ("A", "E")


@pytest.mark.parametrize("case", CONDORCET)
def test_majority_voting_keeps_the_vote_that_closes_the_cycle(case):
    graph = comparison_graph(votes_frame(CONDORCET[case]))
    kept = majority(graph)
    edges = set(zip(graph.items[graph.winner[kept]], graph.items[graph.loser[kept]], strict=True))
    assert ("A", "E") in edges


@pytest.mark.parametrize("case", CONDORCET)
def test_without_the_pruned_vote_the_ranking_is_right(case, how):
    """The edge of the paper is all votes for "A beats E"; the default counts votes."""
    votes = votes_frame(CONDORCET[case])
    wrong = ((votes["winner"] == "A") & (votes["loser"] == "E")).mean()
    share = wrong if how["method"] == "robust" else 1 / comparison_graph(votes).n_edges
    ranker = urlr.fit(votes, prune=share + 1e-6, **how)
    assert ranker.scores["item"].tolist() == ["E", "D", "C", "B", "A"]


@pytest.mark.parametrize("votes_each", [1, 2])
def test_balanced_cycle_is_reported_unresolvable(votes_each, how):
    cycle = [(*pair, votes_each) for pair in [*CHAIN, ("A", "E")]]
    minority = [(loser, winner, votes_each - 1) for winner, loser, _ in cycle]
    with pytest.raises(VoteError, match=r"balanced cycle.*One more vote"):
        urlr.fit(votes_frame(cycle + minority), **how)


def test_all_ties_are_refused_and_say_what_is_needed(how):
    votes = pd.DataFrame({"item_a": [1, 2], "item_b": [2, 3], "outcome": "tie"})
    features = pd.DataFrame({"f": [3.0, 2.5, 1.0]}, index=[1, 2, 3])
    for table in (None, features):
        with pytest.raises(VoteError, match=r"tie: .*decided vote"):
            urlr.fit(votes, table, **how)


def test_features_that_say_nothing_are_refused(how):
    votes = votes_frame([("a", "b", 1), ("c", "d", 1)])
    features = pd.DataFrame({"f": [1.0, 2.0, 2.0, 1.0]}, index=list("abcd"))
    with pytest.raises(VoteError, match="features say nothing"):
        urlr.fit(votes, features, **how)


def test_disconnected_votes_are_refused_without_features_and_warned_of_with(how):
    votes = votes_frame([("a", "b", 1), ("b", "c", 2), ("x", "y", 1)])
    with pytest.raises(VoteError, match=r"2 groups.*sizes 3, 2.*x, y.*features"):
        urlr.fit(votes, **how)
    features = pd.DataFrame({"f": [3.0, 2.5, 1.0, 2.0, 0.5]}, index=list("abcxy"))
    ranker = urlr.fit(votes, features, **how)
    found = ranker.facts.warnings
    assert any("2 groups" in text and "features alone" in text for text in found)
    assert np.isfinite(ranker.scores["score"]).all()


def test_never_won_never_lost_and_few_votes_are_noted():
    graph = comparison_graph(votes_frame([("a", "b", 4), ("b", "c", 4), ("a", "d", 1)]))
    notes = " ".join(preflight(graph).notes)
    assert "2 items with never a win: c, d" in notes
    assert "1 item with never a loss: a" in notes
    assert "1 item with fewer than 3 votes: d" in notes
    assert "Votes per item: 4 in the middle, 1 to 8 over 4 items" in notes


def test_more_dimensions_than_votes_prunes_nothing_and_says_so():
    votes = votes_frame([("a", "b", 3), ("b", "c", 1), ("c", "d", 2)])
    ranker = urlr.fit(votes, method="paper", prune=0.5)
    assert ranker.facts.n_pruned_edges == 0
    assert any("No vote can stand out" in text for text in ranker.facts.warnings)
    assert ranker.scores["item"].tolist() == ["a", "b", "c", "d"]


def test_dimension_is_edges_less_rank():
    graph = random_graph(0, n_features=4)
    assert preflight(graph).dimension == graph.n_edges - 4
    assert preflight(graph.with_features(None)).dimension == graph.n_edges - graph.n_items + 1


def test_feature_columns_are_looked_at(how):
    votes = votes_frame([("a", "b", 2), ("b", "c", 2), ("c", "a", 1), ("c", "d", 2)])
    features = pd.DataFrame(
        {
            "f": [4.0, 3.0, 2.0, 1.0],
            "twice": [8.0, 6.0, 4.0, 2.0],
            "same": 1.0,
            "gap": [1.0, np.nan, 0.0, 0.5],
        },
        index=list("abcd"),
    )
    notes = " ".join(urlr.fit(votes, features, **how).facts.notes)
    assert "1 constant column" in notes
    assert "same" in notes
    assert "f, twice" in notes
    assert "gap (1)" in notes


def test_rejected_rows_are_warned_of_with_counts(how):
    votes = pd.DataFrame({"winner": ["a", "b", "c"], "loser": ["b", "c", "c"]})
    (warning,) = (w for w in urlr.fit(votes, **how).facts.warnings if "rejected" in w)
    assert warning == "1 of 3 votes were rejected: 1 compares an item with itself."
