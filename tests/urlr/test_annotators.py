"""Who can be trusted: people planted in simulated crowds, and votes that say nothing."""

import numpy as np
import pandas as pd
import pytest
from graphs import codes, seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy import stats

from urlr import annotators
from urlr.people.verdicts import VERDICTS, annotator_table
from urlr.errors import ArgumentError
from urlr.logistic import Comparisons, Penalties, logistic_fit
from urlr.messages import message
from urlr.people.reliability import reliability, tallied, typical_person
from urlr.simulate import AnnotatorShares, Crowd, crowd

FLAGS = ["careless", "reversed", "against the consensus as part of a group"]
GROUP = FLAGS[2]
OF_KIND = {"careless": FLAGS[0], "reversed": FLAGS[1], "campaign": GROUP, "minority": GROUP}

MIXTURES = [
    {"careless": 0.2},
    {"careless": 0.1, "reversed": 0.1},
    {"campaign": 0.1},
    {"minority": 0.1},
]


def cross_fitted(winner, loser, tie, annotator, features, n_people, *, folds=5):
    """Margins from fits that have not seen the votes of the fold of people."""
    fold = seeded().permutation(np.arange(n_people) % folds)[annotator]
    n = winner.size
    rows = Comparisons(winner, loser, np.where(tie, 0.5, 1.0), np.zeros(n), features)
    margin, fit = np.zeros(n), None
    for number in range(folds):
        weight = (fold != number).astype(np.float64)
        fit = logistic_fit(rows, weight, Penalties(20.0, 2.0, np.inf), start=fit, tolerance=1e-4)
        margin[fold == number] = rows.margins(fit.scores(features))[fold == number]
    return margin


def simulated_votes(
    *, people=100, votes=50, seed=0, slips=0.0, error_ratio=0.15, shares=None, **settings
):
    """Arguments of the table, and everybody's kind; good people slip besides, up to so often."""
    simulated: Crowd = crowd(
        rng=seeded(seed),
        private=0.3,
        n_votes=votes * people,
        n_annotators=people,
        shares=AnnotatorShares(**(shares or {})),
        error_ratio=error_ratio,
        **settings,
    )
    kinds = simulated.annotators["kind"].astype(str).to_numpy()
    a, b = codes(simulated)
    person = simulated.votes["annotator"].cat.codes.to_numpy().astype(np.int32)
    outcome = simulated.votes["outcome"].astype(str).to_numpy()
    rng = seeded([seed, 1])
    rate = np.where(kinds == "good", rng.uniform(0, slips, people), 0.0)
    b_won = (outcome == "b") ^ (rng.random(len(a)) < rate[person])
    winner, loser = (np.where(b_won, *pair).astype(np.int32) for pair in ((b, a), (a, b)))
    tie = outcome == "tie"
    features = simulated.features.to_numpy()
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    left = simulated.votes["left"].astype(str).to_numpy() == np.where(b_won, "b", "a")
    arguments = {
        "winner": winner,
        "loser": loser,
        "tie": tie,
        "margin": cross_fitted(winner, loser, tie, person, features, people),
        "annotator": person,
        "names": pd.Index(simulated.annotators["annotator"]),
        "n_items": len(features),
        "error_rate": np.full(people, 0.1),
        "pruned": np.zeros(len(a), np.bool_),
        "side": np.where(left, 1.0, -1.0),
    }
    return arguments, pd.Series(kinds, arguments["names"])


def judged(**settings):
    """Verdicts and kinds, person by person."""
    arguments, kinds = simulated_votes(**settings)
    table = annotator_table(**arguments).set_index("annotator")
    return table["verdict"].astype(str), kinds[table.index]


def plain_votes(margin, annotator, **changes):
    """Votes of which nothing but the margins is known."""
    margin, annotator = np.asarray(margin, np.float64), np.asarray(annotator, np.int32)
    n, n_people = margin.size, int(annotator.max(initial=-1)) + 1
    arguments = {
        "winner": np.zeros(n, np.int32),
        "loser": np.ones(n, np.int32),
        "tie": np.zeros(n, np.bool_),
        "margin": margin,
        "annotator": annotator,
        "names": pd.RangeIndex(n_people),
        "n_items": 2,
        "error_rate": np.zeros(n_people),
        "pruned": np.zeros(n, np.bool_),
    }
    return arguments | changes


# What is promised


@pytest.mark.parametrize("votes", [20, 60])
def test_at_most_a_tenth_of_those_flagged_are_good(votes):
    """Mean over kinds of crowds and seeds: where one or two are flagged, one crowd says little."""
    wrongly = []
    for shares in MIXTURES:
        for seed in range(4):
            verdict, kinds = judged(shares=shares, votes=votes, seed=seed)
            flagged = verdict.isin(FLAGS)
            wrongly.append((flagged & (kinds == "good")).sum() / max(flagged.sum(), 1))
    assert np.mean(wrongly) <= 0.1


@pytest.mark.parametrize("slips", [0.0, 0.15])
def test_nobody_is_flagged_where_all_are_fine_though_not_alike(slips):
    flagged = [judged(seed=seed, slips=slips)[0].isin(FLAGS).sum() for seed in range(5)]
    assert sum(flagged) <= 1


def test_kinds_are_told_apart():
    shares = {"careless": 0.06, "reversed": 0.06, "minority": 0.08}
    verdict, kinds = judged(shares=shares, votes=150, seed=3)
    bad = kinds != "good"
    assert (verdict[bad] == kinds[bad].map(OF_KIND)).mean() >= 0.9
    assert (verdict[~bad] == "fine").mean() >= 0.98


def test_a_campaign_is_found_among_people_who_agree_even_less():
    arguments, kinds = simulated_votes(shares={"campaign": 0.1}, votes=250, seed=1, slips=0.2)
    table = annotator_table(**arguments).set_index("annotator")
    campaign = kinds[table.index] == "campaign"
    typical = table["agreement"].groupby(campaign).mean()
    assert typical[True] > typical[False]
    assert (table["verdict"][campaign] == GROUP).mean() >= 0.9
    assert (table["verdict"][~campaign].isin(FLAGS)).mean() <= 0.02


def test_twenty_votes_find_most_of_the_careless():
    verdict, kinds = judged(shares={"careless": 0.2}, votes=20, error_ratio=0.1)
    assert verdict[kinds == "careless"].isin(FLAGS).mean() >= 0.8


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
    table = annotator_table(**plain_votes(margin, person))
    assert set(table["verdict"]) == {"fine"}
    assert table["annotator"].iloc[0] == 39
    margin, person = own_margins(40, 3000, seeded(), rho=np.append(np.ones(39), 0.6))
    assert annotator_table(**plain_votes(margin, person))["verdict"].iloc[0] == "careless"


def test_q_values_vs_scipy():
    p_values, tested = seeded().random(50) ** 3, seeded(1).random(50) < 0.7
    found = annotators.q_values(p_values, tested)
    np.testing.assert_allclose(found[tested], stats.false_discovery_control(p_values[tested]))
    assert (found[~tested] == 1).all()


def test_interval_vs_scipy():
    low, high = annotators._wilson(np.array([0.9, 0.25, 1.0]), np.array([30.0, 8.0, 5.0]))
    for k, n, found in ((27, 30, 0), (2, 8, 1), (5, 5, 2)):
        interval = stats.binomtest(k, n).proportion_ci(0.9, method="wilson")
        assert (low[found], high[found]) == pytest.approx((interval.low, interval.high))


# What the table says


def test_hand_worked_row():
    arguments = plain_votes(
        [2.0, 1.0, 0.0, -1.0, 2.0, 3.0],
        [0, 0, 0, 0, 0, -1],
        tie=np.array([False, False, False, False, True, False]),
        names=pd.Index(["ann", "nobody"]),
        error_rate=np.array([0.2, 0.3]),
        pruned=np.array([True, False, False, False, False, True]),
        side=np.array([1.0, 1.0, -1.0, 0.0, 1.0, 1.0]),
        seconds=np.array([3.0, 1.0, 2.0, np.nan, 10.0, 99.0]),
    )
    table = annotator_table(**arguments)
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
    table = annotator_table(**plain_votes(margin, person)).set_index("annotator").sort_index()
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
    table = annotator_table(**plain_votes(margin, person, seconds=seconds, side=side))
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
    verdict = annotator_table(**plain_votes(margin, person)).set_index("annotator")["verdict"]
    assert (verdict[np.arange(60)] == "fine").all()
    assert (verdict[np.arange(60, 70)] == "too few votes").all()


def test_renaming_people_and_items_changes_nothing():
    arguments, _ = simulated_votes(shares={"minority": 0.15, "careless": 0.1}, seed=2)
    table = annotator_table(**arguments).set_index("annotator").sort_index()
    people, items = seeded(1).permutation(100), seeded(2).permutation(arguments["n_items"])
    renamed = arguments | {
        "annotator": people[arguments["annotator"]].astype(np.int32),
        "names": arguments["names"][np.argsort(people)],
        "winner": items[arguments["winner"]].astype(np.int32),
        "loser": items[arguments["loser"]].astype(np.int32),
    }
    again = annotator_table(**renamed).set_index("annotator").sort_index()
    pd.testing.assert_frame_equal(table, again, rtol=1e-4)


def test_the_same_votes_give_the_same_table_and_are_left_as_they_were():
    arguments, _ = simulated_votes(shares={"careless": 0.2}, votes=20)
    before = {k: v.copy() for k, v in arguments.items() if isinstance(v, np.ndarray)}
    pd.testing.assert_frame_equal(annotator_table(**arguments), annotator_table(**arguments))
    for name, value in before.items():
        np.testing.assert_array_equal(arguments[name], value)


# Votes that say nothing


def test_no_votes_no_rows():
    assert len(annotator_table(**plain_votes([], []))) == 0
    unnamed = plain_votes([1.0, -1.0], [-1, -1], names=pd.Index(["a"]), error_rate=np.zeros(1))
    assert len(annotator_table(**unnamed)) == 0


def test_ties_alone_are_no_evidence():
    table = annotator_table(**plain_votes(np.ones(9), np.zeros(9), tie=np.ones(9, np.bool_)))
    assert table.loc[0, ["verdict", "evidence", "n_votes"]].tolist() == [
        "too few votes",
        message("no_decided_votes"),
        9,
    ]
    assert table.loc[0, ["low", "high"]].tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("size", [0.0, 1e-100, 1e-3, 1.0, 1e9, np.inf])
def test_margins_of_one_size_are_judged_whatever_the_size(size):
    """Forty people agree always, one never: beyond doubt unless the margins are nothing."""
    person = np.repeat(np.arange(41), 20)
    margin = np.where(person == 40, -size, size)
    table = annotator_table(**plain_votes(margin, person))
    known = size > 0
    assert (table["verdict"].iloc[0] == "reversed") == known
    assert set(table["verdict"].iloc[1:]) == ({"fine"} if known else {"too few votes"})


def test_one_person_alone_is_judged_by_the_model():
    table = annotator_table(**plain_votes(np.full(100, 2.0), np.zeros(100)))
    assert table["verdict"].tolist() == ["fine"]


def test_unknown_margins_count_one_half():
    table = annotator_table(**plain_votes(np.full(8, np.nan), np.zeros(8)))
    assert table["agreement"].tolist() == [0.5]
    assert table["verdict"].tolist() == ["too few votes"]


def test_a_level_that_is_no_rate_is_refused():
    with refused(ArgumentError, "not_between_0_and_1", name="level", value=0.0):
        annotator_table(**plain_votes([1.0], [0], level=0.0))


SIZES = st.sampled_from([0.0, 1e-12, 0.3, 1.0, 4.0, 700.0, np.inf])


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 400), st.lists(SIZES, min_size=1))
def test_any_votes_give_a_verdict(seed, n_people, n_votes, sizes):
    rng = seeded(seed)
    margin = rng.choice(sizes, n_votes) * rng.choice([-1.0, 1.0], n_votes, p=[0.3, 0.7])
    winner = rng.integers(5, size=n_votes).astype(np.int32)
    arguments = plain_votes(
        margin,
        rng.integers(-1, n_people, n_votes),
        names=pd.RangeIndex(n_people),
        error_rate=np.zeros(n_people),
        winner=winner,
        loser=(winner + 1) % 5,
        n_items=5,
        tie=rng.random(n_votes) < 0.2,
    )
    table = annotator_table(**arguments)
    assert table["verdict"].isin(VERDICTS).all()
    assert table["q_value"].between(0, 1).all()
    assert table["evidence"].str.len().gt(0).all()
    decided = table["agreement"].notna()
    assert table.loc[decided, ["low", "high", "expected"]].notna().all(axis=None)
    few = table["verdict"] == "too few votes"
    assert (table["q_value"][few] > 0.1).all()
