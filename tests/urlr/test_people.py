"""Who can be trusted: people planted in simulated crowds, and votes that say nothing."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from graphs import seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy import stats

from urlr.errors import ArgumentError
from urlr.messages import message
from urlr.model.logistic import Comparisons, Penalties
from urlr.people import verdicts
from urlr.people.crowd import crowd_of
from urlr.people.reliability import reliability, tallied, typical_person
from urlr.people.tastes import Tastes
from urlr.people.verdicts import ACCUSATIONS, VERDICTS, people_table
from urlr.simulate import AnnotatorShares, crowd
from urlr.votes.ballots import Ballots, ballots_of
from urlr.votes.table import vote_table

OF_KIND = {"careless": "careless", "reversed": "reversed", "minority": "different taste"}

MIXTURES = [
    {"careless": 0.2},
    {"careless": 0.1, "reversed": 0.1},
    {"campaign": 0.1},
    {"minority": 0.1},
]


def simulated(
    *, people=100, votes=50, seed=0, slips=0.0, error_ratio=0.15, shares=None, **settings
):
    """Ballots, features, and everybody's kind; good people slip besides, up to so often."""
    made = crowd(
        rng=seeded(seed),
        private=0.3,
        n_votes=votes * people,
        n_annotators=people,
        shares=AnnotatorShares(**(shares or {})),
        error_ratio=error_ratio,
        **settings,
    )
    kinds = made.annotators.set_index("annotator")["kind"].astype(str)
    rng = seeded([seed, 1])
    rate = pd.Series(np.where(kinds == "good", rng.uniform(0, slips, people), 0.0), kinds.index)
    slipped = rng.random(len(made.votes)) < rate[made.votes["annotator"].astype(str)].to_numpy()
    outcome = made.votes["outcome"].astype(str)
    other = outcome.map({"a": "b", "b": "a", "tie": "tie"})
    ballots = ballots_of(vote_table(made.votes.assign(outcome=outcome.where(~slipped, other))))
    features = made.features.to_numpy()
    return ballots, (features - features.mean(axis=0)) / features.std(axis=0), kinds


def table_of(ballots, features):
    """Everybody judged beside the others, by features too."""
    judged = crowd_of(ballots, features, Penalties(20.0, 2.0, 1.0))
    return people_table(judged, np.zeros(ballots.tie.size, np.bool_))


def judged(**settings):
    """Verdicts and kinds, person by person."""
    ballots, features, kinds = simulated(**settings)
    table = table_of(ballots, features).set_index("annotator")
    return table["verdict"].astype(str), kinds[table.index]


def plain_votes(
    margin, annotator, *, names=None, tie=None, side=None, seconds=None, error_rate=0.0, **changes
):
    """People of whose votes on any pairs the margins are known, and no side, taste or company."""
    margin, annotator = np.asarray(margin, np.float64), np.asarray(annotator, np.int32)
    n, n_items = margin.size, changes.pop("n_items", 50)
    first = seeded(5).integers(0, n_items, n)
    names = pd.RangeIndex(int(annotator.max(initial=-1)) + 1) if names is None else names
    nothing = np.zeros(n)
    tie = np.zeros(n, np.bool_) if tie is None else tie
    rows = Comparisons(
        winner=changes.pop("winner", first),
        loser=changes.pop("loser", (first + seeded(6).integers(1, n_items, n)) % n_items),
        target=np.where(tie, 0.5, 1.0),
        side=nothing if side is None else side,
        features=np.zeros((n_items, 0)),
    )
    ballots = Ballots(rows, np.ones(n), tie, annotator, names, seconds, np.arange(n), 0, 0)
    people = len(names)
    known = crowd_of(ballots, rows.features, Penalties(1.0, 1.0, 1.0), sides=False, tastes=False)
    found = {
        "margin": margin,
        "error_rate": np.zeros(people) + error_rate,
        "group": np.zeros(people, np.int64),
        "reversed": np.zeros(people, np.bool_),
        "tastes": Tastes.none(people, rows.n_items, 0),
    }
    return replace(known, **(found | changes))


def plain_table(margin, annotator, *, pruned=None, level=0.1, **changes):
    of = plain_votes(margin, annotator, **changes)
    nothing = np.zeros(of.margin.size, np.bool_)
    return people_table(of, nothing if pruned is None else pruned, level=level)


# What is promised


@pytest.mark.parametrize(("votes", "honest"), [(20, ["good"]), (60, ["good", "minority"])])
def test_at_most_a_tenth_of_those_accused_are_honest(votes, honest):
    """Mean over kinds of crowds and seeds: where one or two are accused, one crowd says little.

    On twenty votes a taste that shares nothing with the others' is as good as none.
    """
    wrongly = []
    for shares in MIXTURES:
        for seed in range(2):
            verdict, kinds = judged(shares=shares, votes=votes, seed=seed)
            accused = verdict.isin(ACCUSATIONS)
            wrongly.append((accused & kinds.isin(honest)).sum() / max(accused.sum(), 1))
    assert np.mean(wrongly) <= 0.1


@pytest.mark.parametrize("slips", [0.0, 0.15])
def test_nobody_is_accused_where_all_are_fine_though_not_alike(slips):
    accused = [judged(seed=seed, slips=slips)[0].isin(ACCUSATIONS).sum() for seed in range(5)]
    assert sum(accused) <= 1


@pytest.mark.parametrize(
    "shares", [{"careless": 0.06, "reversed": 0.06}, {"careless": 0.06, "minority": 0.08}]
)
def test_kinds_are_told_apart(shares):
    verdict, kinds = judged(shares=shares, votes=150, seed=3)
    bad = kinds != "good"
    assert (verdict[bad] == kinds[bad].map(OF_KIND)).mean() >= 0.85
    assert (verdict[~bad] == "fine").mean() >= 0.98


def test_where_as_many_differ_in_taste_nobody_is_reversed():
    """There is no order to be reversed to, and nobody is accused of it."""
    shares = {"reversed": 0.06, "minority": 0.15}
    verdict, kinds = judged(shares=shares, votes=150, seed=3)
    assert (verdict[kinds == "reversed"] == "different taste").all()


def test_twenty_votes_find_most_of_the_careless():
    verdict, kinds = judged(shares={"careless": 0.2}, votes=20, error_ratio=0.1)
    assert (verdict[kinds == "careless"] == "careless").mean() >= 0.8


# What the statistics rest on


def own_margins(n_people, n_votes, rng, *, rho=1.0, steepness=1.4, slips=0.05):
    """Votes of people whose chances are known."""
    size = rng.exponential(1.5, n_people * n_votes)
    person = np.repeat(np.arange(n_people, dtype=np.int32), n_votes)
    contrast = (1 - 2 * slips) * np.tanh(0.5 * steepness * size)
    agrees = rng.random(size.size) < 0.5 + 0.5 * np.broadcast_to(rho, n_people)[person] * contrast
    return np.where(agrees, size, -size), person


def test_p_values_of_typical_people_are_uniform_or_larger():
    margin, person = own_margins(4000, 30, seeded())
    p_values = reliability(tallied(margin, person, 4000)).p_value
    for level in (0.001, 0.01, 0.05, 0.2):
        assert np.mean(p_values <= level) <= level + 3 * np.sqrt(level / 4000)
    assert np.mean(p_values <= 0.05) >= 0.025


def test_the_typical_person_is_found_among_guessers():
    rho = np.where(np.arange(300) < 90, 0.0, 1.0)
    margin, person = own_margins(300, 80, seeded(), rho=rho)
    typical, found = typical_person(tallied(margin, person, 300))
    assert typical.steepness == pytest.approx(1.4, abs=0.15)
    assert typical.slips == pytest.approx(0.05, abs=0.015)
    assert typical.spread <= 0.05
    np.testing.assert_allclose([found[:90].mean(), found[90:].mean()], [0.0, 1.0], atol=0.05)


def test_people_who_differ_are_found_to_differ():
    margin, person = own_margins(400, 300, seeded(), rho=seeded(1).normal(0.85, 0.1, 400))
    typical, _ = typical_person(tallied(margin, person, 400))
    assert 0.08 <= typical.spread <= 0.16


def test_a_slight_lack_on_thousands_of_votes_is_no_carelessness():
    margin, person = own_margins(40, 3000, seeded(), rho=np.append(np.ones(39), 0.85))
    table = plain_table(margin, person)
    assert set(table["verdict"]) == {"fine"}
    assert table["annotator"].iloc[0] == 39
    margin, person = own_margins(40, 3000, seeded(), rho=np.append(np.ones(39), 0.6))
    assert set(plain_table(margin, person)["verdict"]) == {"fine"}
    margin, person = own_margins(40, 3000, seeded(), rho=np.append(np.ones(39), 0.1))
    assert plain_table(margin, person)["verdict"].iloc[0] == "careless"


def test_q_values_vs_scipy():
    p_values, tested = seeded().random(50) ** 3, seeded(1).random(50) < 0.7
    found = verdicts.q_values(p_values, tested)
    np.testing.assert_allclose(found[tested], stats.false_discovery_control(p_values[tested]))
    assert (found[~tested] == 1).all()


def test_interval_vs_scipy():
    low, high = verdicts._wilson(np.array([0.9, 0.25, 1.0]), np.array([30.0, 8.0, 5.0]))
    for k, n, found in ((27, 30, 0), (2, 8, 1), (5, 5, 2)):
        interval = stats.binomtest(k, n).proportion_ci(0.9, method="wilson")
        assert (low[found], high[found]) == pytest.approx((interval.low, interval.high))


# What the table says


def test_hand_worked_row():
    table = plain_table(
        [2.0, 1.0, 0.0, -1.0, 2.0, 3.0],
        [0, 0, 0, 0, 0, -1],
        tie=np.array([False, False, False, False, True, False]),
        names=pd.Index(["ann", "nobody"]),
        error_rate=np.array([0.2, 0.3]),
        pruned=np.array([True, False, False, False, False, True]),
        side=np.array([1.0, 1.0, -1.0, 0.0, 1.0, 1.0]),
        seconds=np.array([3.0, 1.0, 2.0, np.nan, 10.0, 99.0]),
    )
    assert table["annotator"].tolist() == ["ann"]
    row = table.iloc[0]
    assert row["n_votes"] == 5
    assert row["agreement"] == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert row["beyond_chance"] == pytest.approx(0.25)
    assert row["low"] < 0.25 < row["high"]
    assert row["error_rate"] == 0.2
    assert row["pruned"] == pytest.approx(0.2)
    assert row["left"] == pytest.approx(2 / 3)
    assert row["seconds"] == 2.5
    assert row["verdict"] == "too few votes"
    assert row["q_value"] == 1.0
    agrees = message("agrees_on", agreement=0.625, n_decided=4, expected=row["expected"])
    assert row["evidence"].startswith(agrees)


def test_expected_is_the_agreement_of_a_typical_person_on_the_same_pairs():
    """By the mean chance over the person's own votes, however that person voted."""
    rho = np.append(np.ones(198), [0.0, -1.0])
    margin, person = own_margins(200, 60, seeded(), rho=rho, steepness=1.4, slips=0.05)
    size = np.abs(margin).reshape(200, 60)
    size[-1] = size[-2] = size[0]  # the same pairs for somebody typical, guessing and reversed
    margin = np.sign(margin) * size.ravel()
    table = plain_table(margin, person).set_index("annotator").sort_index()
    chance = 0.05 + 0.9 / (1.0 + np.exp(-1.4 * size))
    np.testing.assert_allclose(table["expected"], chance.mean(axis=1), atol=0.015)
    assert table["expected"][[198, 199]].tolist() == [table["expected"][0]] * 2
    fine = table["verdict"] == "fine"
    assert table["agreement"][fine].mean() == pytest.approx(
        table["expected"][fine].mean(), abs=0.01
    )


def test_worst_come_first_and_the_numbers_are_told():
    rho = np.append(np.ones(58), [0.0, -1.0])
    margin, person = own_margins(60, 80, seeded(), rho=rho)
    seconds, side = np.full(margin.size, 6.0), np.tile([1.0, -1.0], margin.size // 2)
    seconds[person == 58], side[person == 58] = 0.4, 1.0
    table = plain_table(margin, person, seconds=seconds, side=side, reversed=np.arange(60) == 59)
    assert table["annotator"].tolist()[:2] == [59, 58]
    assert table["verdict"].tolist()[:3] == ["reversed", "careless", "fine"]
    turned, guesser, fine = table["evidence"][:3]
    other_way = 1.0 - table["agreement"][0]
    assert turned.endswith(f"; {message('turned_around', agreement=other_way)}")
    odd = [
        message("guessing_gives_half"),
        message("one_sided", left=1.0),
        message("hasty", seconds=0.4, usual=6.0),
    ]
    assert guesser.split("; ")[1:] == odd
    assert ";" not in fine


def test_who_cannot_be_told_from_a_guesser_has_too_few_votes():
    margin, person = own_margins(60, 80, seeded())
    few = np.repeat(np.arange(60, 70, dtype=np.int32), 6)
    margin, person = np.append(margin, np.tile([1.0, -0.5], 30)), np.append(person, few)
    verdict = plain_table(margin, person).set_index("annotator")["verdict"]
    assert (verdict[np.arange(60)] == "fine").all()
    assert (verdict[np.arange(60, 70)] == "too few votes").all()


def test_renaming_people_and_items_changes_nothing():
    ballots, features, _ = simulated(shares={"minority": 0.15, "careless": 0.1}, seed=2)
    table = table_of(ballots, features).set_index("annotator").sort_index()
    people, items = seeded(1).permutation(100), seeded(2).permutation(len(features))
    renamed = replace(
        ballots,
        annotator=people[ballots.annotator].astype(np.int32),
        names=ballots.names[np.argsort(people)],
        rows=replace(
            ballots.rows,
            winner=items[ballots.rows.winner].astype(np.int32),
            loser=items[ballots.rows.loser].astype(np.int32),
        ),
    )
    again = table_of(renamed, features[np.argsort(items)])
    again = again.set_index("annotator").sort_index()
    accused, again = (one["verdict"].isin(ACCUSATIONS) for one in (table, again))
    assert accused.sum() >= 6
    assert (accused == again).mean() >= 0.97


def test_the_same_votes_give_the_same_table_and_are_left_as_they_were():
    ballots, features, _ = simulated(shares={"careless": 0.2}, votes=20)
    before = pickle.dumps(ballots)
    pd.testing.assert_frame_equal(table_of(ballots, features), table_of(ballots, features))
    assert pickle.dumps(ballots) == before


# Votes that say nothing


def test_no_votes_no_rows():
    assert len(plain_table([], [])) == 0
    unnamed = plain_votes([1.0, -1.0], [-1, -1], names=pd.Index(["a"]), error_rate=np.zeros(1))
    assert len(people_table(unnamed, np.zeros(2, np.bool_))) == 0


def test_ties_alone_are_no_evidence():
    table = plain_table(np.ones(9), np.zeros(9), tie=np.ones(9, np.bool_))
    assert table.loc[0, ["verdict", "evidence", "n_votes"]].tolist() == [
        "too few votes",
        message("no_decided_votes"),
        9,
    ]
    assert table.loc[0, ["low", "high"]].tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("size", [0.0, 1e-100, 1e-3, 1.0, 1e9])
def test_margins_of_one_size_are_judged_whatever_the_size(size):
    """Forty people agree always, one never: beyond doubt unless the margins are nothing."""
    person = np.repeat(np.arange(41), 20)
    margin = np.where(person == 40, -size, size)
    table = plain_table(margin, person)
    known = size > 0
    assert (table["verdict"].iloc[0] == "careless") == known
    assert set(table["verdict"].iloc[1:]) == ({"fine"} if known else {"too few votes"})


def test_one_person_alone_is_judged_by_the_model():
    table = plain_table(np.full(100, 2.0), np.zeros(100))
    assert table["verdict"].tolist() == ["fine"]


def test_unknown_margins_count_one_half():
    table = plain_table(np.zeros(8), np.zeros(8))
    assert table["agreement"].tolist() == [0.5]
    assert table["verdict"].tolist() == ["too few votes"]


def test_a_level_that_is_no_rate_is_refused():
    with refused(ArgumentError, "not_between_0_and_1", name="level", value=0.0):
        plain_table([1.0], [0], level=0.0)


SIZES = st.sampled_from([0.0, 1e-12, 0.3, 1.0, 4.0, 700.0])


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 400), st.lists(SIZES, min_size=1))
def test_any_votes_give_a_verdict(seed, n_people, n_votes, sizes):
    rng = seeded(seed)
    margin = rng.choice(sizes, n_votes) * rng.choice([-1.0, 1.0], n_votes, p=[0.3, 0.7])
    winner = rng.integers(5, size=n_votes).astype(np.int32)
    table = plain_table(
        margin,
        rng.integers(-1, n_people, n_votes),
        names=pd.RangeIndex(n_people),
        winner=winner,
        loser=(winner + 1) % 5,
        n_items=5,
        tie=rng.random(n_votes) < 0.2,
    )
    assert table["verdict"].isin(VERDICTS).all()
    assert table["q_value"].between(0, 1).all()
    assert table["evidence"].str.len().gt(0).all()
    decided = table["agreement"].notna()
    assert table.loc[decided, ["low", "high", "expected"]].notna().all(axis=None)
    few = table["verdict"] == "too few votes"
    assert (table["q_value"][few] > 0.1).all()
