"""Preflight, and the graphs of the paper's Figure 2 that can and cannot be resolved."""

import numpy as np
import pandas as pd
import pytest
from graphs import random_graph, votes_frame
from refusals import refused

import urlr
from urlr import VoteError, comparison_graph, outlier_path, preflight
from urlr.baselines import majority
from urlr.messages import message
from urlr.preflight_checks import MOST_GUESSED, guessed_tau, mixed_share

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
    with refused(VoteError, "balanced_cycle"):
        urlr.fit(votes_frame(cycle + minority), **how)


def test_all_ties_are_refused_and_say_what_is_needed(how):
    votes = pd.DataFrame({"item_a": [1, 2], "item_b": [2, 3], "outcome": "tie"})
    features = pd.DataFrame({"f": [3.0, 2.5, 1.0]}, index=[1, 2, 3])
    for table in (None, features):
        with refused(VoteError, "only_ties"):
            urlr.fit(votes, table, **how)


def test_features_that_say_nothing_are_refused(how):
    votes = votes_frame([("a", "b", 1), ("c", "d", 1)])
    features = pd.DataFrame({"f": [1.0, 2.0, 2.0, 1.0]}, index=list("abcd"))
    with refused(VoteError, "features_cancel"):
        urlr.fit(votes, features, **how)


def test_disconnected_votes_are_refused_without_features_and_warned_of_with(how):
    votes = votes_frame([("a", "b", 1), ("b", "c", 2), ("x", "y", 1)])
    with refused(VoteError, "groups_never_compared") as caught:
        urlr.fit(votes, **how)
    split = caught.value.fields["split"]
    assert split.fields == {"count": 2, "sizes": ["3", "2"], "smallest": ["x", "y"]}
    features = pd.DataFrame({"f": [3.0, 2.5, 1.0, 2.0, 0.5]}, index=list("abcxy"))
    ranker = urlr.fit(votes, features, **how)
    assert message("groups_by_features", split=split) in ranker.facts.warnings
    assert np.isfinite(ranker.scores["score"]).all()


@pytest.mark.parametrize("dumps", [False, True])
def test_a_total_below_the_votes_is_named_by_its_row(dumps, how):
    pairs = [("a", "b"), ("b", "c"), ("a", "c")] * 10
    votes = pd.DataFrame([*pairs[:25], ("Total", "700"), *pairs[25:]], columns=["winner", "loser"])
    place = message("row_of_votes", row=26)
    if dumps:
        votes = votes.assign(dump="1.csv", row=np.arange(31) + 101)
        place = message("row_of_file", row=126, path="1.csv")
    stray = message("stray_votes", count=1, rows=place, more="")
    with refused(VoteError, "groups_never_compared") as caught:
        urlr.fit(votes, **how)
    assert str(caught.value).endswith(stray)
    features = pd.DataFrame({"f": [3.0, 2.5, 1.0, 2.0, 0.5]}, index=["a", "b", "c", "Total", "700"])
    assert stray in urlr.fit(votes, features, **how).facts.warnings


def test_all_reasons_to_refuse_are_said_under_the_code_of_the_first():
    votes = pd.DataFrame({"item_a": ["a", "x"], "item_b": ["b", "y"], "outcome": "tie"})
    found = preflight(comparison_graph(votes))
    with refused(VoteError, "only_ties") as caught:
        found.refuse()
    reasons = [one.text for one in found.findings if one.level == "refusal"]
    assert [reason.code for reason in reasons] == ["only_ties", "groups_never_compared"]
    assert str(caught.value) == " ".join(reasons)


def test_never_won_never_lost_and_few_votes_are_noted():
    graph = comparison_graph(votes_frame([("a", "b", 4), ("b", "c", 4), ("a", "d", 1)]))
    few = message("few_votes", fewer_than=3)
    assert preflight(graph).notes == [
        message("votes_per_item", middle=4, low=1, high=8, n_items=4),
        message("items_with", count=1, what=few, items=["d"]),
        message("items_with", count=2, what=message("never_a_win"), items=["c", "d"]),
        message("items_with", count=1, what=message("never_a_loss"), items=["a"]),
    ]


def test_more_dimensions_than_votes_prunes_nothing_and_says_so():
    votes = votes_frame([("a", "b", 3), ("b", "c", 1), ("c", "d", 2)])
    ranker = urlr.fit(votes, method="paper", prune=0.5)
    assert ranker.facts.n_pruned_edges == 0
    assert message("no_outlier_dimension", n_edges=3, carried=3) in ranker.facts.warnings
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
    notes = urlr.fit(votes, features, **how).facts.notes
    found = {text.code: text.fields for text in notes if text.fields.get("place") == "Features"}
    assert found["constant_columns"]["names"] == ("same",)
    assert found["repeating_columns"]["groups"] == "f, twice"
    assert [one.fields for one in found["columns_with_gaps"]["names"]] == [
        {"name": "gap", "count": 1}
    ]


def test_rejected_rows_are_warned_of_with_counts(how):
    votes = pd.DataFrame({"winner": ["a", "b", "c"], "loser": ["b", "c", "c"]})
    warnings = urlr.fit(votes, **how).facts.warnings
    (warning,) = (text for text in warnings if text.code == "rejected_votes")
    assert (warning.fields["rows"]["rejected"], warning.fields["rows"]["read"]) == (1, 3)
    assert warning.fields["reasons"] == {message("self_comparison"): 1}


@pytest.mark.parametrize("n_votes", [60, 300, 3000])
def test_items_both_win_and_lose_as_often_as_in_a_strict_order(n_votes):
    rng = np.random.default_rng(n_votes)
    pairs = np.array([np.sort(rng.choice(100, 2, replace=False)) for _ in range(n_votes)])
    wins, losses = (np.bincount(pairs[:, side], minlength=100) for side in (0, 1))
    assert 0.8 < mixed_share(wins, losses) < 1.2


@pytest.mark.parametrize("errors", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(("n_items", "n_votes"), [(8, 120), (30, 60), (100, 700)])
def test_a_guess_by_who_mostly_wins_says_half_of_what_honest_votes_do(n_items, n_votes, errors):
    rng = np.random.default_rng(n_votes)
    pairs = np.array([np.sort(rng.choice(n_items, 2, replace=False)) for _ in range(n_votes)])
    wrong = rng.random(n_votes) < errors
    pairs[wrong] = pairs[wrong, ::-1]
    assert guessed_tau(*pairs.T) < 0.7


@pytest.mark.parametrize("n_hubs", [1, 5])
def test_what_is_compared_with_the_same_few_winners_is_guessed(n_hubs):
    winner, loser = np.arange(300) % n_hubs, n_hubs + np.arange(300)
    assert guessed_tau(winner, loser) > MOST_GUESSED
    assert guessed_tau(winner[:19], loser[:19]) is None


def test_a_chain_and_single_pairs_are_not_guessed():
    steps = np.arange(60)
    assert guessed_tau(steps, steps + 1, np.full(60, 5)) < 0
    assert guessed_tau(2 * steps, 2 * steps + 1) == 0


def test_good_items_against_bad_ones_are_warned_of_also_with_errors():
    rng = np.random.default_rng(0)
    votes = pd.DataFrame({"winner": rng.integers(30, size=600)})
    votes["loser"] = 30 + rng.integers(30, size=600)
    wrong = rng.random(600) < 0.05
    votes[wrong] = votes.loc[wrong, ["loser", "winner"]].to_numpy()
    found = urlr.fit(votes, replicates=0).facts.warnings
    assert "guessed_votes" in {one.code for one in found}


def test_winners_that_never_lose_make_votes_that_show_nothing():
    rng = np.random.default_rng(0)
    votes = pd.DataFrame({"winner": rng.integers(20, size=200)})
    votes["loser"] = 20 + rng.integers(20, size=200)
    found = urlr.fit(votes, replicates=0).facts.warnings
    assert "one_sided_items" in {one.code for one in found}
