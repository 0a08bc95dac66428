"""Where contrary votes come from: campaigns are named, clean crowds are left in peace."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from graphs import seeded, votes_frame
from refusals import refused

from tests.demo_store import NIGHT_ONE, PLANS
from tests.demo_store.lives import life_of
from urlr.diagnostics.concentration import concentration
from urlr.errors import VoteError
from urlr.model.logistic import Penalties
from urlr.people.crowd import crowd_of, equal_say
from urlr.simulate import AnnotatorShares, crowd
from urlr.votes.ballots import ballots_of
from urlr.votes.table import vote_table

SLOGANS = next(plan for plan in PLANS if plan.attribute == "slogans")
CAMPAIGN = {
    "shares": AnnotatorShares(campaign=0.1),
    "campaign_votes": 0.4,
    "pushed": 0.2,
    "errors": "flat",
}
"""Among people who slip on any pair now and then; who never do cannot be told from a campaign."""


def looked_at(votes, **settings):
    return concentration(vote_table(votes), times=votes.get("time"), **settings)


def simulated(seed=0, *, n_items=40, n_votes=4000, n_annotators=40, **settings):
    return crowd(
        rng=seeded(seed),
        n_items=n_items,
        n_votes=n_votes,
        n_annotators=n_annotators,
        **settings,
    )


def people_of(ballots):
    return crowd_of(ballots, np.zeros((ballots.rows.n_items, 0)), Penalties(1.0, 0.5, 1.0))


def named(found, kind="person"):
    return [one.name for one in found.clusters if one.kind == kind]


def of_kind(made, kind):
    return set(made.annotators["annotator"][made.annotators["kind"] == kind])


# What is promised


@pytest.mark.parametrize("seed", range(3))
def test_the_campaign_of_the_demo_is_named_with_its_people_and_nobody_else(seed):
    life = life_of(SLOGANS, seed)
    votes = life.rows[life.rows["why"] == ""].reset_index(drop=True)
    campaign = set(life.people.index[life.people == "campaign"])
    found = looked_at(votes)
    assert set(named(found)) == campaign
    assert found.clusters[0].kind == "person"
    assert set(named(found, "item")) & set(life.pushed)
    assert named(found, "time") == [f"on {NIGHT_ONE}"]


def test_a_campaign_is_a_group_with_what_it_pushes():
    made = simulated(**CAMPAIGN)
    (group,) = looked_at(made.votes).groups
    assert set(group.people) == of_kind(made, "campaign")
    assert group.n_votes == 1600
    assert group.inside > 0.95
    assert group.outside < 0.6
    assert group.items_up
    assert set(group.items_up) <= set(made.pushed)
    assert not set(group.items_down) & set(made.pushed)


def test_before_the_campaign_nobody_is_named():
    life = life_of(SLOGANS, 0)
    votes = life.rows[(life.rows["why"] == "") & (life.rows["night"] == NIGHT_ONE)]
    found = looked_at(votes.reset_index(drop=True))
    assert (found.clusters, found.groups) == ((), ())


@pytest.mark.full
def test_clean_crowds_are_left_in_peace():
    """One in twenty may name something; of twenty crowds more than three do once in 60 times."""
    alarms = 0
    for seed in range(20):
        made = simulated(seed, n_items=30, n_votes=900, n_annotators=20, ties=0.05)
        found = looked_at(made.votes)
        alarms += bool(found.clusters or found.groups)
        assert found.n_tests > 20 + 30 + 20
    assert alarms <= 3


def test_careless_people_are_named_and_are_no_group():
    made = simulated(shares=AnnotatorShares(careless=0.1))
    found = looked_at(made.votes)
    assert set(named(found)) == of_kind(made, "careless")
    assert found.groups == ()


def test_a_campaign_that_bends_the_consensus_is_named_by_going_together():
    """With 25 votes an item, its own votes put what it pushes where it wants it."""
    made = simulated(
        1,
        n_items=200,
        n_votes=5000,
        n_annotators=50,
        error_ratio=0.2,
        pushed=0.2,
        campaign_votes=0.2,
        shares=AnnotatorShares(campaign=0.1, careless=0.1),
    )
    found = looked_at(made.votes)
    planted = of_kind(made, "campaign") | of_kind(made, "careless")
    assert of_kind(made, "campaign") <= set(named(found)) <= planted
    assert of_kind(made, "campaign") <= set(found.groups[0].people) <= planted


def test_people_with_a_taste_of_their_own_are_neither_named_nor_a_group():
    """They cast contrary votes, and nobody is accused of that."""
    made = simulated(1, shares=AnnotatorShares(minority=0.15), n_votes=8000)
    found = looked_at(made.votes)
    assert named(found) == []
    assert found.groups == ()


def test_a_day_on_which_votes_were_turned_around_is_named():
    made = simulated()
    day = made.votes["time"].dt.strftime("%Y-%m-%d")
    worst = (day == "2024-01-10").to_numpy()
    turned = made.votes["outcome"].map({"a": "b", "b": "a"})
    votes = made.votes.assign(outcome=made.votes["outcome"].astype("str").where(~worst, turned))
    assert named(looked_at(votes), "time") == ["on 2024-01-10"]
    begin = made.votes["time"].min()
    faster = votes.assign(time=begin + (votes["time"] - begin) / 20)
    hours = named(looked_at(faster), "time")
    assert hours
    assert all(" from " in hour for hour in hours)
    slower = votes.assign(time=begin + (votes["time"] - begin) * 20)
    weeks = named(looked_at(slower), "time")
    assert weeks
    assert all("week" in week for week in weeks)


# What the numbers mean


def test_the_sentence_holds_the_numbers():
    made = simulated(shares=AnnotatorShares(careless=0.025))
    (one,) = looked_at(made.votes).clusters
    assert one.words.code == "contrary_person"
    assert one.words.fields["name"] == one.name
    assert one.words.fields["usual"] == f"{one.expected:.0f}"
    of_all = {"count": one.n_contrary, "n_all": looked_at(made.votes).n_contrary}
    assert one.words.fields["of_all"].fields == of_all
    assert one.p_value <= one.q_value <= 0.05


def test_agreement_inside_a_group_vs_counting_by_hand():
    made = simulated(n_items=12, n_votes=3000, **CAMPAIGN)
    (group,) = looked_at(made.votes).groups
    votes = made.decisive
    shared = {"inside": [0, 0], "outside": [0, 0]}
    pair = [" ".join(sorted(both)) for both in zip(votes["winner"], votes["loser"], strict=True)]
    for _, on_pair in votes.groupby(np.array(pair)):
        members = on_pair["annotator"].isin(group.people).to_numpy()
        who, won = on_pair["annotator"].astype(str).to_numpy(), on_pair["winner"].to_numpy()
        for i in np.flatnonzero(members):
            for j in range(len(who)):
                if who[i] != who[j]:
                    count = shared["inside" if members[j] else "outside"]
                    count[0] += won[i] == won[j]
                    count[1] += 1
    assert group.inside == pytest.approx(shared["inside"][0] / shared["inside"][1])
    assert group.outside == pytest.approx(shared["outside"][0] / shared["outside"][1])


def test_nobody_has_more_say_than_two_people_in_the_middle():
    ballots = ballots_of(vote_table(simulated(**CAMPAIGN).votes))
    say = np.bincount(ballots.annotator, equal_say(ballots))
    count = np.bincount(ballots.annotator)
    assert count.max() > 2.5 * np.median(count)
    assert say.max() == pytest.approx(2.0 * np.median(count))
    few = count < 2.0 * np.median(count)
    np.testing.assert_allclose(say[few], count[few])


def test_a_vote_says_nothing_about_itself():
    """Turning all votes of a person around turns their margins around.

    In size they change a little: how often everybody is wrong is estimated from all votes.
    """
    made = simulated(n_votes=1000)
    person = made.votes["annotator"] == "person-0007"
    turned = made.votes["outcome"].map({"a": "b", "b": "a"})
    other = made.votes.assign(outcome=made.votes["outcome"].astype("str").where(~person, turned))
    tables = [vote_table(votes.drop(columns="left")) for votes in (made.votes, other)]
    margins = [people_of(ballots_of(table)).margin for table in tables]
    as_cast, as_turned = (margin[person.to_numpy()] for margin in margins)
    assert (np.sign(as_cast) == -np.sign(as_turned)).mean() > 0.95
    assert np.corrcoef(as_cast, -as_turned)[0, 1] > 0.99


def test_people_who_were_judged_before_are_not_judged_again():
    made = simulated(2, **CAMPAIGN)
    table = vote_table(made.votes)
    known = people_of(ballots_of(table))
    found = concentration(table, crowd=known)
    assert found == looked_at(made.votes.drop(columns="time"))
    (group,) = found.groups
    assert set(group.people) == of_kind(made, "campaign")
    alone = replace(known, group=np.zeros_like(known.group), evidence=())
    assert concentration(table, crowd=alone).groups == ()


# Symmetry


def test_the_order_of_votes_and_new_names_change_nothing():
    made = simulated(**CAMPAIGN)
    found = looked_at(made.votes)
    assert found.groups
    shuffled = made.votes.sample(frac=1, random_state=seeded()).reset_index(drop=True)
    again = looked_at(shuffled)
    assert [one.words for one in again.clusters] == [one.words for one in found.clusters]
    assert [one.words for one in again.groups] == [one.words for one in found.groups]
    renamed = made.votes.assign(annotator="x" + made.votes["annotator"].astype(str))
    for name in ("item_a", "item_b"):
        renamed[name] = "x" + renamed[name].astype(str)
    other = looked_at(renamed)
    assert ["x" + one for one in named(found)] == named(other)
    assert [one.p_value for one in other.clusters] == pytest.approx(
        [one.p_value for one in found.clusters]
    )


def test_reversing_every_vote_names_the_same():
    made = simulated(**CAMPAIGN)
    turned = made.votes["outcome"].map({"a": "b", "b": "a", "tie": "tie"}).astype("str")
    other = looked_at(made.votes.assign(outcome=turned, left=None))
    found = looked_at(made.votes.assign(left=None))
    assert sorted(named(other)) == sorted(named(found))
    (mine,), (theirs,) = found.groups, other.groups
    assert mine.items_up == theirs.items_down
    assert mine.inside == pytest.approx(theirs.inside)


# Votes that say little


def test_without_annotators_items_and_times_are_looked_at():
    made = simulated(**CAMPAIGN)
    found = looked_at(made.votes.drop(columns="annotator"))
    assert not named(found)
    assert found.groups == ()
    assert found.n_tests == 40 + 30 + 1


def test_without_times_people_and_items_are_looked_at():
    made = simulated(shares=AnnotatorShares(careless=0.1))
    for votes in (made.votes.drop(columns="time"), made.votes.assign(time=pd.NaT)):
        assert set(named(looked_at(votes))) == of_kind(made, "careless")


@pytest.mark.parametrize(
    "votes",
    [
        pd.DataFrame({"item_a": [1, 2, 3], "item_b": [2, 3, 1], "outcome": "tie"}),
        pd.DataFrame({"winner": [1], "loser": [2], "annotator": ["a"]}),
        votes_frame([("a", "b", 3), ("c", "d", 2)]),
        votes_frame([("a", "b", 20)]).assign(annotator=[f"p{k}" for k in range(20)]),
        votes_frame([("a", "b", 40), ("b", "a", 40)]).assign(annotator=list("abcdefgh") * 10),
        pd.DataFrame({"winner": pd.Series([], dtype="str"), "loser": pd.Series([], dtype="str")}),
    ],
    ids=["all ties", "one vote", "two groups of items", "all agree", "evenly split", "none"],
)
def test_votes_that_say_nothing_name_nobody(votes):
    times = pd.Series(pd.Timestamp("2026-01-01", tz="UTC"), votes.index)
    found = concentration(vote_table(votes), times=times)
    assert (found.clusters, found.groups) == ((), ())


def test_times_must_be_as_many_as_votes():
    with refused(VoteError, "times_do_not_fit", n_times=1, n_votes=3):
        concentration(
            vote_table(votes_frame([("a", "b", 3)])), times=pd.Series([pd.Timestamp("2026-01-01")])
        )


def test_long_and_strange_names_are_shortened_in_words_alone():
    made = simulated(shares=AnnotatorShares(careless=0.025))
    long = made.votes["annotator"].astype(str) + "\x1b[2J" + "x" * 10_000
    (one,) = looked_at(made.votes.assign(annotator=long)).clusters
    assert len(one.name) > 10_000
    assert len(one.words) < 150
    assert one.words.isprintable()
