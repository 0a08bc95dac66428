"""Why a vote was set aside, in the words of the votes that are kept."""

import itertools

import numpy as np
import pandas as pd
import pytest
from graphs import METHODS, random_votes, seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import urlr
from urlr.diagnostics.contradictions import FEATURES, NOTHING, PATH, RANKING, contradictions
from urlr.errors import VoteError
from urlr.messages import message


def judged(*rows):
    """Verdicts from (winner, loser, count, pruned), each vote a row."""
    flat = [(won, lost, cut) for won, lost, count, cut in rows for _ in range(count)]
    frame = pd.DataFrame(flat, columns=["winner", "loser", "pruned"])
    return frame.assign(status="used")


def scored(**scores):
    table = pd.DataFrame({"item": list(scores), "score": list(scores.values()), "effect": 0.0})
    return table.sort_values("score", ascending=False, ignore_index=True)


def said(verdicts, scores, **settings):
    return contradictions(verdicts, scores, **settings).sentences(scores["item"].tolist())


def beat(*steps):
    return ", ".join(
        message("beat", first=first, second=second, won=won, lost=lost)
        for first, second, won, lost in steps
    )


def yet(winner, loser, path):
    """What is said of a vote for the winner over the loser that a path contradicts."""
    return message("yet_beats", said=path, first=winner, second=loser)


ABC = judged(("A", "B", 5, False), ("B", "C", 4, False), ("C", "B", 1, False), ("C", "A", 1, True))


def test_the_shortest_contradiction_is_said_in_words():
    assert said(ABC, scored(A=1.0, B=0.0, C=-1.0)) == (
        yet("C", "A", beat(("A", "B", 5, 0), ("B", "C", 4, 1))),
    )


def test_a_majority_on_the_pair_itself_comes_first():
    verdicts = judged(("A", "B", 7, False), ("B", "A", 1, False), ("B", "A", 1, True))
    more = pd.concat([verdicts, judged(("A", "C", 9, False), ("C", "B", 9, False))])
    assert said(more, scored(A=1.0, B=0.0, C=0.5)) == (yet("B", "A", beat(("A", "B", 7, 1))),)


def test_of_two_paths_of_two_steps_the_one_with_the_stronger_weakest_majority_is_taken():
    verdicts = judged(
        ("A", "B", 9, False),
        ("B", "D", 1, False),
        ("A", "C", 3, False),
        ("C", "D", 2, False),
        ("D", "A", 1, True),
    )
    assert said(verdicts, scored(A=2.0, B=1.0, C=0.0, D=-1.0)) == (
        yet("D", "A", beat(("A", "C", 3, 0), ("C", "D", 2, 0))),
    )


def test_a_path_of_more_than_four_steps_is_not_followed():
    rows = [(a, b, 2, False) for a, b in itertools.pairwise("ABCDEF")]
    verdicts = judged(*rows, ("E", "A", 1, True), ("F", "A", 1, True))
    found = contradictions(verdicts, scored(A=6.0, B=5.0, C=4.0, D=3.0, E=2.0, F=1.0))
    assert found.n_steps.tolist() == [4, 0]
    assert found.because.tolist() == [PATH, RANKING]


def test_pruned_votes_and_even_splits_speak_for_nobody():
    verdicts = judged(("A", "B", 3, True), ("A", "B", 2, False), ("B", "A", 2, False))
    found = contradictions(verdicts, scored(A=1.0, B=0.0))
    assert found.because.tolist() == [NOTHING] * 3
    assert found.sentences(["A", "B"]) == (None,) * 3


def test_features_say_by_how_much():
    scores = scored(A=1.8, B=0.0)
    verdicts = judged(("B", "A", 1, True))
    (by_features,) = said(verdicts, scores, by_features=True)
    assert by_features.code == "yet_beats"
    in_odds = by_features.fields["said"]
    assert in_odds.code == "ahead_in_odds"
    assert in_odds.fields["share"] == pytest.approx(1 / (1 + np.exp(-1.8)))
    ahead = {"first": "A", "second": "B", "margin": "1.8"}
    assert in_odds.fields["ahead"].fields == ahead | {"by": message("by_features")}
    (by_votes,) = said(verdicts, scores, log_odds=False)
    assert by_votes.fields["said"].code == "ahead"
    assert by_votes.fields["said"].fields == ahead | {"by": message("by_all_votes")}


def test_features_come_before_a_path_of_several_steps_and_leave_out_what_votes_add():
    scores = scored(A=1.0, B=0.0, C=-1.0)
    assert contradictions(ABC, scores, by_features=True).because.tolist() == [FEATURES]
    scores["effect"] = [3.0, 0.0, 0.0]  # all that A has, votes gave it
    found = contradictions(ABC, scores, by_features=True)
    assert found.because.tolist() == [PATH]
    assert np.isnan(found.margin).all()


def test_a_tie_contradicts_that_one_is_better():
    verdicts = judged(("A", "B", 4, False), ("A", "B", 1, True))
    verdicts.loc[4, "status"] = "tie"
    path = beat(("A", "B", 4, 0))
    words = (message("yet_called_equal", said=path, first="A", second="B"),)
    assert said(verdicts, scored(A=1.0, B=0.0)) == words
    verdicts.loc[4, ["winner", "loser"]] = "B", "A"
    assert said(verdicts, scored(A=1.0, B=0.0)) == words


def test_nothing_pruned_gives_nothing():
    verdicts = judged(("A", "B", 4, False))
    assert said(verdicts, scored(A=1.0, B=0.0)) == ()
    assert said(verdicts.iloc[:0], scored(A=1.0)) == ()


def test_votes_that_do_not_count_are_not_explained():
    verdicts = judged(("A", "B", 1, False), ("B", "A", 1, False)).assign(status=["used", "skipped"])
    with refused(VoteError, "inexplicable_votes", count=1, n_listed=2):
        contradictions(verdicts, scored(A=1.0, B=0.0), rows=np.array([0, 1]))


def test_votes_asked_for_do_not_speak_for_each_other():
    verdicts = judged(("A", "B", 2, False), ("B", "A", 1, False))
    found = contradictions(verdicts, scored(A=1.0, B=0.0), rows=np.array([0, 2]))
    assert found.sentences(["A", "B"]) == (None, yet("B", "A", beat(("A", "B", 1, 0))))


def by_hand(verdicts, scores, longest):
    """Fewest steps and strongest weakest majority of every pruned vote, by trying all paths."""
    items = scores["item"].tolist()
    kept = verdicts[~verdicts["pruned"]]
    wins = pd.crosstab(kept["winner"], kept["loser"]).reindex(index=items, columns=items)
    net = (wins.fillna(0) - wins.fillna(0).T).to_numpy()
    found = []
    for won, lost in verdicts.loc[verdicts["pruned"], ["winner", "loser"]].to_numpy():
        start, goal = items.index(lost), items.index(won)
        between = [k for k in range(len(items)) if k not in (start, goal)]
        best = (0, 0)
        for steps in range(1, longest + 1):
            paths = ((start, *some, goal) for some in itertools.permutations(between, steps - 1))
            widest = max(min(net[a, b] for a, b in itertools.pairwise(p)) for p in paths)
            if widest > 0:
                best = (steps, int(widest))
                break
        found.append(best)
    return found


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_paths_are_as_short_and_as_strong_as_any(seed):
    rng = seeded(seed)
    n, n_items = int(rng.integers(5, 60)), 6
    first = rng.integers(0, n_items, n)
    verdicts = pd.DataFrame(
        {
            "winner": first,
            "loser": (first + rng.integers(1, n_items, n)) % n_items,
            "status": "used",
            "pruned": rng.random(n) < 0.2,
        }
    )
    scores = pd.DataFrame({"item": rng.permutation(n_items), "score": 0.0, "effect": 0.0})
    found = contradictions(verdicts, scores)
    strength = np.where(found.path[:, 1:] >= 0, found.won - found.lost, 10**6).min(axis=1)
    mine = [(int(k), int(w) if k else 0) for k, w in zip(found.n_steps, strength, strict=True)]
    assert mine == by_hand(verdicts, scores, 4)
    for k in np.flatnonzero(found.because == PATH):
        path = found.path[k, : found.n_steps[k] + 1]
        assert (path[0], path[-1]) == (found.loser[k], found.winner[k])
        for a, b, won, lost in zip(path, path[1:], found.won[k], found.lost[k], strict=False):
            kept = verdicts[~verdicts["pruned"]]
            x, y = scores["item"][a], scores["item"][b]
            assert won == ((kept["winner"] == x) & (kept["loser"] == y)).sum()
            assert lost == ((kept["winner"] == y) & (kept["loser"] == x)).sum()


def test_other_names_and_another_order_of_votes_change_no_sentence_but_the_names():
    votes, _ = random_votes(3, n_votes=400)
    ranker = urlr.fit(votes, prune=0.1, replicates=0)
    verdicts, scores = ranker.verdicts, ranker.scores
    names = [f"<{k}>" for k in range(len(scores))]
    before = contradictions(verdicts, scores).sentences(names)
    new = {item: f"z{-int(item):03d}" for item in scores["item"]}
    renamed = verdicts.assign(winner=verdicts["winner"].map(new), loser=verdicts["loser"].map(new))
    order = seeded().permutation(len(verdicts))
    shuffled = contradictions(renamed.iloc[order], scores.assign(item=scores["item"].map(new)))
    after = dict(zip(order[shuffled.row], shuffled.sentences(names), strict=True))
    assert before == tuple(after[row] for row in contradictions(verdicts, scores).row)
    assert any(before)


@pytest.mark.parametrize("method", METHODS)
def test_every_pruned_vote_of_a_fit_against_the_ranking_is_explained(method):
    votes, features = random_votes(1, n_votes=600)
    ranker = urlr.fit(votes, features, prune=0.1, **METHODS[method])
    verdicts = ranker.verdicts
    found = contradictions(verdicts, ranker.scores, by_features=True)
    against = verdicts["margin"].to_numpy()[found.row] < 0
    assert against.any()
    assert (found.because[against] != NOTHING).all()
