"""How alike two crowds would rank, foretold from two halves of one."""

import numpy as np
import pandas as pd
import pytest
from graphs import METHODS, seeded

import urlr
from urlr.diagnostics.sufficiency import enough_votes, per_vote_of, reliability_at
from urlr.messages import message
from urlr.simulate import crowd


def crowd_of(seed=0, **options):
    usual = {
        "n_items": 60,
        "n_features": 5,
        "n_votes": 800,
        "n_annotators": 30,
        "private": 0.2,
        "error_ratio": 0.15,
        "ties": 0.03,
    }
    return crowd(rng=seeded(seed), **(usual | options))


def asked(votes, features=None, how=METHODS["robust"]):
    return enough_votes(votes, features, urlr.fit(votes, features, **how), rng=seeded())


def test_equal_halves_step_up_by_spearman_and_brown():
    for half in (0.1, 0.5, 0.9):
        per_vote = per_vote_of(half, 300, 300)
        assert reliability_at(per_vote, 300) == pytest.approx(half)
        assert reliability_at(per_vote, 600) == pytest.approx(2 * half / (1 + half))
        assert reliability_at(per_vote, 1200) == pytest.approx(4 * half / (1 + 3 * half))


def test_unequal_halves_correlate_by_the_root_of_both_reliabilities():
    c = 0.004
    r = np.sqrt(reliability_at(c, 100) * reliability_at(c, 500))
    assert per_vote_of(r, 100, 500) == pytest.approx(c)
    assert per_vote_of(-0.3, 100, 500) == 0.0


def test_two_crowds_are_as_alike_as_one_foretells():
    """Four crowds of their own people; features known to none."""
    made = crowd_of(1, n_votes=3200, n_annotators=120)
    names = np.array(made.votes["annotator"].unique())
    groups = [made.votes[made.votes["annotator"].isin(part)] for part in np.array_split(names, 4)]
    scores = [urlr.fit(one, replicates=0).scores.set_index("item")["score"] for one in groups]
    found = pd.concat(scores, axis=1).corr().to_numpy()[np.triu_indices(4, 1)].mean()
    foretold = np.mean([asked(one).reliability.value for one in groups])
    assert foretold == pytest.approx(found, abs=0.03)


@pytest.mark.parametrize("alone", [True, False])
def test_more_votes_are_more_reliable(how, alone):
    made = crowd_of(2, n_votes=6000)
    features = None if alone else made.features
    some, all_votes = (asked(votes, features, how) for votes in (made.votes[:800], made.votes))
    assert some.reliability.value < all_votes.reliability.value
    assert all_votes.expected[0] < all_votes.expected[-1]
    for one, n in ((some, 800), (all_votes, 6000)):
        assert one.votes.tolist() == [n // 2, n, 2 * n, 4 * n, 8 * n]
        assert one.expected[1] == one.reliability.value
        assert (np.diff(one.expected) > 0).all()
        assert one.reliability.low < one.reliability.value < one.reliability.high
        assert one.by_people


def test_the_sentence_says_what_the_numbers_say():
    found = asked(crowd_of(3, n_votes=300).votes)
    assert found.words.code == "more_votes_needed"
    assert found.words.fields["enough"] == 0.95
    grows = found.words.fields["grows"].fields
    assert grows["crowds"] == message("two_crowds")
    assert grows["twice"] == pytest.approx(found.expected[2], abs=0.01)
    assert grows["now"] == pytest.approx(found.reliability.value, abs=0.01)
    needed = found.words.fields["needed"]
    per_vote = found.reliability.value / (1 - found.reliability.value) / 300
    assert reliability_at(per_vote, needed) == pytest.approx(0.95, abs=0.005)
    enough = asked(crowd_of(3, n_votes=20_000, n_items=20).votes)
    assert enough.words.code == "enough_votes"
    assert enough.words.fields["crowds"] == message("two_crowds")


def test_tossed_coins_are_never_enough():
    draw = seeded(4)
    first = draw.integers(0, 100, 400)
    votes = pd.DataFrame({"winner": first, "loser": (first + draw.integers(1, 100, 400)) % 100})
    found = asked(votes)
    assert found.reliability.value < 0.4
    assert found.reliability.low < 0.1
    assert found.words.code != "enough_votes"


def test_votes_are_split_where_few_people_are_named():
    votes = crowd_of(5).votes
    assert asked(votes).by_people
    nobody = asked(votes.drop(columns="annotator"))
    assert not nobody.by_people
    assert message("two_sets_of_votes") in nobody.words
    assert not asked(votes.assign(annotator="me")).by_people
    loud = votes["annotator"].astype(object).where(np.arange(800) % 10 == 0, "loud")
    assert not asked(votes.assign(annotator=loud)).by_people


def test_people_who_see_things_differently_make_crowds_less_alike():
    """Five tastes, each held by two people of a hundred votes; split by votes that is hidden."""
    draw = seeded(6)
    tastes = draw.standard_normal((5, 20))
    rows = []
    for person in range(10):
        first = draw.integers(0, 20, 100)
        second = (first + draw.integers(1, 20, 100)) % 20
        better = tastes[person % 5, first] > tastes[person % 5, second]
        rows.append(
            pd.DataFrame(
                {
                    "winner": np.where(better, first, second),
                    "loser": np.where(better, second, first),
                    "annotator": f"w{person}",
                }
            )
        )
    votes = pd.concat(rows, ignore_index=True)
    by_people, by_votes = asked(votes), asked(votes.drop(columns="annotator"))
    assert by_people.reliability.value < by_votes.reliability.value


def test_the_same_comes_out_again(how):
    made = crowd_of(7)
    ranker = urlr.fit(made.votes, made.features, **how)
    first, second = (
        enough_votes(made.votes, made.features, ranker, rng=seeded()) for _ in range(2)
    )
    assert first.reliability == second.reliability
    assert first.words == second.words


def test_many_votes_are_sampled_and_counted_all():
    made = crowd_of(8, n_votes=30_000, n_annotators=100, n_items=200)
    found = asked(made.votes)
    assert found.votes[1] == 30_000
    fewer = asked(made.votes[:15_000])
    assert found.reliability.value == pytest.approx(fewer.expected[2], abs=0.02)


@pytest.mark.parametrize(("n_votes", "n_items"), [(12, 13), (200, 2)])
def test_too_few_votes_or_items_are_told(n_votes, n_items):
    winner = np.arange(n_votes) % (n_items - 1)
    votes = pd.DataFrame({"winner": winner, "loser": winner + 1})
    ranker = urlr.fit(crowd_of().votes, replicates=0)
    found = enough_votes(votes, None, ranker, rng=seeded())
    assert found.reliability is None
    assert found.votes.size == found.expected.size == 0
    assert found.words.code == "halves_not_ranked"
    why = found.words.fields["why"]
    assert why.code == "too_few_to_split"
    needed = {"fewest_votes": 40, "fewest_items": 8}
    assert why.fields == {"n_decided": n_votes, "n_items": n_items} | needed


def test_no_votes_at_all_are_told():
    ranker = urlr.fit(crowd_of().votes, replicates=0)
    header = pd.DataFrame({"winner": [], "loser": []})
    ties = pd.DataFrame({"item_a": range(50), "item_b": range(1, 51), "outcome": "tie"})
    for votes in (header, ties):
        found = enough_votes(votes, None, ranker, rng=seeded())
        assert found.reliability is None
        assert found.words.fields["why"].fields["n_decided"] == 0
