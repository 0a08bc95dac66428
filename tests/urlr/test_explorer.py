"""What other shares would have given is what fits at these shares give."""

import numpy as np
import pandas as pd
import pytest
from graphs import METHODS, random_votes, seeded
from refusals import refused

import urlr
from urlr import VoteError
from urlr.diagnostics.explorer import SHARES, TOP, explore
from urlr.errors import ArgumentError
from urlr.metrics import held_out_agreement, tau_b
from urlr.settings import FitSettings
from urlr.simulate import AnnotatorShares, crowd


def split(made):
    """Every seventh vote is held out."""
    out = np.arange(len(made.votes)) % 7 == 0
    return made.votes[~out], made.votes[out]


@pytest.fixture(scope="module")
def made():
    shares = AnnotatorShares(careless=0.1, reversed=0.1)
    return crowd(
        rng=seeded(),
        n_items=50,
        n_features=5,
        n_votes=1500,
        n_annotators=30,
        private=0.2,
        ties=0.03,
        shares=shares,
    )


@pytest.fixture(scope="module", params=[True, False], ids=["features", "alone"])
def explored(request, made, how):
    features = made.features if request.param else None
    train, held_out = split(made)
    found = explore(train, held_out, features, FitSettings(**how), chosen=0.12)
    return how, features, train, held_out, found


def test_shares_rise_from_none_and_hold_the_chosen_one(explored):
    found = explored[-1]
    assert found.share.tolist() == sorted([*SHARES, 0.12])
    assert found.n_pruned[0] == 0
    assert (np.diff(found.n_pruned) > 0).all()
    assert found.top.shape == (len(SHARES) + 1, TOP)
    chosen = found.share.tolist().index(0.12)
    assert found.tau_chosen[chosen] == 1.0
    assert (found.tau_chosen[np.arange(len(SHARES) + 1) != chosen] < 1.0).any()
    assert found.tau_chosen.min() > 0.5
    assert (found.low <= found.agreement).all()
    assert (found.agreement <= found.high).all()


@pytest.mark.parametrize("share", [0.0, 0.12, 0.4])
def test_a_share_gives_what_a_fit_at_that_share_gives(explored, share):
    how, features, train, held_out, found = explored
    ranker = urlr.fit(train, features, **(how | {"prune": share}))
    place = found.share.tolist().index(share)
    scores = ranker.scores.set_index("item")["score"]
    assert found.n_pruned[place] == pytest.approx(
        ranker.facts.n_pruned_votes - ranker.facts.n_turned_votes, abs=found.n_turned
    )
    if share == 0.0:
        assert found.n_turned == ranker.facts.n_turned_votes
    assert found.n_held_out == (held_out["outcome"] != "tie").sum()
    expected = held_out_agreement(scores, held_out)
    assert found.agreement[place] == pytest.approx(expected, abs=0.01)
    top = found.items[found.top[place]]
    assert len(set(top) & set(ranker.scores["item"].head(TOP))) >= TOP - 1
    other = urlr.fit(train, features, **(how | {"prune": 0.12})).scores.set_index("item")["score"]
    assert found.tau_chosen[place] == pytest.approx(tau_b(scores, other), abs=0.03)


def test_a_fit_given_changes_little(made, how):
    train, held_out = split(made)
    judge = urlr.fit(train, made.features, **how)
    anew, alike = (
        explore(train, held_out, made.features, FitSettings(**how), chosen=0.1, like=like)
        for like in (None, judge)
    )
    np.testing.assert_allclose(alike.agreement, anew.agreement, atol=0.03)
    np.testing.assert_allclose(alike.n_pruned, anew.n_pruned, atol=30)


def test_the_same_comes_out_again(made, how):
    train, held_out = split(made)
    first, second = (
        explore(train, held_out, None, FitSettings(**how), chosen=0.1) for _ in range(2)
    )
    for name in ("agreement", "low", "high", "top", "tau_chosen", "n_pruned"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("name", METHODS)
def test_relabelled_items_give_the_same_figures(name):
    votes, _ = random_votes(4, n_items=25, n_votes=900, weighted=True)
    renamed = votes.assign(item_a=100 - votes["item_a"], item_b=100 - votes["item_b"])
    first, second = (
        explore(table[:700], table[700:], None, FitSettings(**METHODS[name]), chosen=0.1)
        for table in (votes, renamed)
    )
    np.testing.assert_allclose(first.agreement, second.agreement, atol=0.02)
    best = first.items[first.top[0, 0]]
    assert 100 - second.items[second.top[0, 0]] == best


def test_a_better_share_foretells_more_of_a_noisy_crowd():
    made = crowd(rng=seeded(1), n_items=60, n_features=4, n_votes=3000, flip=0.25, error_ratio=0.02)
    clean = made.votes[~made.wrong]
    train, held_out = made.votes, clean[::3]
    found = explore(train, held_out, None, FitSettings(method="paper"), chosen=0.2)
    assert found.agreement[found.share == 0.2] > found.agreement[0]


def test_features_speak_for_items_that_only_held_out_votes_name(made, how):
    new = made.truth.index[:8]
    touches = (made.votes["item_a"].isin(new) | made.votes["item_b"].isin(new)).to_numpy()
    train, held_out = made.votes[~touches], made.votes[touches]
    settings = FitSettings(**how)
    found = explore(train, held_out, made.features, settings, chosen=0.1)
    assert found.n_held_out == (held_out["outcome"] != "tie").sum()
    assert found.agreement[0] > 0.6
    assert set(new) <= set(found.items)
    with refused(VoteError, "no_predictable_vote", n_votes=len(held_out)):
        explore(train, held_out, None, settings, chosen=0.1)


def test_fewer_than_ten_items_are_all_on_top(how):
    votes, _ = random_votes(2, n_items=6, n_votes=200)
    found = explore(votes[:150], votes[150:], None, FitSettings(**how), chosen=0.0)
    assert found.top.shape == (len(SHARES), 6)
    assert all(sorted(row) == list(range(6)) for row in found.top.tolist())


HEADER = pd.DataFrame({"winner": [], "loser": []})
PAIR = pd.DataFrame({"winner": ["a"] * 9 + ["b"], "loser": ["b"] * 9 + ["a"]})
APART = pd.DataFrame({"winner": ["a", "c"] * 9, "loser": ["b", "d"] * 9})
TIES = pd.DataFrame({"item_a": ["a"] * 5, "item_b": ["b"] * 5, "outcome": ["tie"] * 5})


@pytest.mark.parametrize(
    ("train", "held_out", "code", "fields"),
    [
        (HEADER, PAIR, "no_decided_vote", {}),
        (PAIR, HEADER, "no_predictable_vote", {"n_votes": 0}),
        (TIES, PAIR, "no_decided_vote", {}),
        (PAIR, TIES, "no_predictable_vote", {"n_votes": 5}),
        (APART, PAIR, "parts_never_compared", {}),
        (HEADER, HEADER, "no_decided_vote", {}),
    ],
)
def test_votes_that_cannot_be_ranked_or_foretold_are_refused(train, held_out, code, fields, how):
    with refused(VoteError, code, **fields):
        explore(train, held_out, None, FitSettings(**how), chosen=0.1)


def test_two_items_can_be_explored():
    found = explore(PAIR, PAIR, None, FitSettings(), chosen=0.1)
    assert found.agreement[0] == pytest.approx(0.9)
    assert found.n_pruned[-1] == 5


@pytest.mark.parametrize("chosen", [-0.1, 1.0, np.nan])
def test_a_share_that_makes_no_sense_is_named(chosen):
    with refused(ArgumentError, "not_a_share", name="chosen"):
        explore(PAIR, PAIR, None, FitSettings(), chosen=chosen)
