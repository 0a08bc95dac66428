"""What the top rests on, and what is said where there is little to rest on."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import urlr
from tests.quality.attacks import honest
from urlr.diagnostics.concentration import concentration
from urlr.errors import ArgumentError, VoteError
from urlr.messages import message
from urlr.votes.ballots import ballots_of


def votes_of(*pairs):
    return pd.DataFrame(pairs, columns=["winner", "loser"])


@pytest.mark.parametrize("with_features", [False, True])
def test_without_the_votes_it_rests_on_another_item_is_first(with_features):
    crowd = honest(3)
    features = crowd.features if with_features else None
    ranker = urlr.fit(crowd.votes, features, replicates=0)
    votes, people = ranker.facts.first_rests_on
    assert 1 <= votes < 60
    assert 1 <= people <= votes
    by = message("by_people", count=people)
    assert message("summary_first_rests_on", count=votes, by=by) in ranker.summary()


def test_a_lead_that_nothing_takes_away_rests_on_more_votes():
    crowd = honest(5)
    narrow = urlr.fit(crowd.votes, replicates=0)
    first = narrow.scores["item"].iloc[0]
    others = [one for one in crowd.features.index if one != first]
    lift = pd.DataFrame({"winner": first, "loser": others, "annotator": "p00000", "left": first})
    wide = urlr.fit(pd.concat([crowd.votes, lift.sample(60, random_state=0)]), replicates=0)
    assert wide.scores["item"].iloc[0] == first
    assert wide.facts.first_rests_on[0] > narrow.facts.first_rests_on[0]


def test_two_items_have_no_first_ten():
    ranker = urlr.fit(votes_of(("a", "b"), ("a", "b"), ("b", "a")), replicates=0)
    assert ranker.facts.ten_rest_on == (None, None)


# ------------------------------------------------------------------ little to rest on


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_votes_leave_no_interval_of_width_zero_and_no_tau(n):
    pairs = [("a", "b"), ("b", "c"), ("a", "b"), ("a", "c"), ("b", "c")][:n]
    ranker = urlr.fit(votes_of(*pairs))
    assert (ranker.scores["high"] - ranker.scores["low"] > 0.5).all()
    assert (ranker.scores["rank_high"] > ranker.scores["rank_low"]).all()
    assert ranker.facts.tau_people is None
    assert "tau" not in ranker.summary()


def two_designs(n_votes, seed=0):
    """Votes on two sets of items that are never compared with each other."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in ("x", "y"):
        for _ in range(n_votes):
            i, j = rng.choice(6, 2, replace=False)
            rows.append((f"{name}{min(i, j)}", f"{name}{max(i, j)}"))
    return votes_of(*rows)


def test_groups_of_items_with_many_votes_are_ranked_each_on_its_own():
    ranker = urlr.fit(two_designs(80), replicates=20)
    scores = ranker.scores
    assert scores["part"].tolist() == [1] * 6 + [2] * 6
    assert scores["rank"].tolist() == [1, 2, 3, 4, 5, 6] * 2
    assert scores["rank_high"].max() <= 6
    assert ranker.facts.warnings[0].startswith("The votes split the items into 2 groups")
    assert ranker.facts.first_rests_on is None


def test_groups_of_items_with_few_votes_are_refused_unless_asked_for():
    votes = two_designs(10)
    with refused(VoteError, "groups_never_compared"):
        urlr.fit(votes)
    with refused(VoteError, "groups_never_compared"):
        urlr.fit(two_designs(80), parts="refuse")
    assert "part" in urlr.fit(votes, parts="each", replicates=0).scores


def test_a_model_of_parts_survives_a_file(tmp_path):
    ranker = urlr.fit(two_designs(80), replicates=0)
    ranker.save(tmp_path / "model.npz")
    loaded = urlr.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(loaded.scores, ranker.scores)


def test_where_tastes_cancel_the_summary_says_so_first():
    """Two halves of the people want the opposite, on fewer items than anybody is accused on."""
    rng = np.random.default_rng(0)
    rows = []
    for person in range(40):
        for _ in range(60):
            i, j = sorted(rng.choice(8, 2, replace=False))
            agrees = rng.random() < 0.9
            i, j = (i, j) if agrees == (person % 2 == 0) else (j, i)
            rows.append((f"i{i}", f"i{j}", f"p{person:02d}"))
    votes = pd.DataFrame(rows, columns=["winner", "loser", "annotator"])
    ranker = urlr.fit(votes, replicates=0)
    assert ranker.facts.agreed < 0.25
    assert ranker.summary().startswith(message("summary_no_consensus", share=ranker.facts.agreed))
    assert not ranker.annotators["verdict"].isin(["reversed", "careless", "coordinated"]).any()
    assert len(ranker.tastes) >= 1


def test_people_with_too_few_votes_are_said_first():
    votes = honest(0).votes.head(200)
    ranker = urlr.fit(votes, replicates=0)
    n = ranker.facts.n_annotators
    few = message("summary_few_judged", count=n - ranker.facts.n_judged, n_people=n)
    assert ranker.summary().startswith(few)


# ------------------------------------------------------------------ an object to work with


def test_a_ranker_is_shown_in_a_line_and_compared_by_what_it_is(tmp_path):
    crowd = honest(2)
    ranker = urlr.fit(crowd.votes.head(2000), crowd.features, replicates=0)
    assert repr(ranker).startswith("Ranker(robust, 100 items, features, 2,000 votes; first: i")
    assert len(repr(ranker)) < 120
    ranker.save(tmp_path / "model.npz")
    assert urlr.load(tmp_path / "model.npz") == ranker
    other = urlr.fit(crowd.votes.tail(2000), crowd.features, replicates=0)
    assert ranker != other
    assert ranker != "a ranker"
    assert len({ranker, urlr.load(tmp_path / "model.npz"), other}) == 2


def test_what_a_model_does_not_keep_is_no_attribute_of_it(tmp_path):
    crowd = honest(2)
    paper = urlr.fit(crowd.votes.head(500), crowd.features, method="paper", prune=0.1)
    assert not hasattr(paper, "annotators")
    assert not hasattr(paper, "tastes")
    ranker = urlr.fit(crowd.votes.head(500), replicates=0)
    ranker.save(tmp_path / "model.npz")
    loaded = urlr.load(tmp_path / "model.npz")
    assert hasattr(ranker, "verdicts")
    assert not hasattr(loaded, "verdicts")
    assert hasattr(loaded, "tastes")


def test_the_level_of_concentration_is_the_level_asked_for():
    """Who casts so few votes that nothing could show it at .05 is not looked at there."""
    votes = urlr.vote_table(honest(1).votes.head(450).drop(columns="left"))
    strict, lax = (concentration(votes, level=level).n_tests for level in (1e-4, 0.2))
    assert strict < lax


def test_moments_of_any_year_and_none_are_read():
    times = pd.Series(["2999-01-01T00:00:00Z", "2026-11-19 05:00:00+02:00", None, "no time"])
    votes = votes_of(("a", "b"), ("b", "c"), ("a", "c"), ("c", "a")).assign(time=times)
    moments = ballots_of(urlr.vote_table(votes)).moments
    assert np.isnan(moments[2:]).all()
    assert moments[1] == pytest.approx(20776.125)
    assert moments[0] > 375_000


def test_arrays_of_unlike_lengths_are_refused_in_words():
    ranker = urlr.fit(honest(0).votes.head(600), replicates=0)
    a, b = ranker.scores["item"].head(2)
    assert len(ranker.probability([a, a], b)) == len(
        ranker.probability([a, a], [b, b], annotator="x")
    )
    for pairs, who in ((([a, a], [b, b, b]), None), (([a, a], [b, b]), ["x", "y", "z"])):
        with refused(ArgumentError, "unlike_lengths"):
            ranker.probability(*pairs, annotator=who)


def test_chance_of_a_crowd_that_foretells_nothing_is_one_half_and_unsure():
    """Coin tosses: what people left out say is not foretold, and that is no certainty."""
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 8, (2, 300))
    votes = pd.DataFrame({"winner": first, "loser": second, "annotator": rng.integers(0, 10, 300)})
    ranker = urlr.fit(votes[first != second], replicates=0)
    chance, low, high = ranker.probability(0, 1, interval=True)
    assert abs(chance - 0.5) < 0.1
    assert high - low > 0.1
