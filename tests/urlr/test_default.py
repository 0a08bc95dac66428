"""What the default gives: scores with intervals, a verdict on every vote and every person."""

import itertools

import numpy as np
import pandas as pd
import pytest
from crowds import crowd_of
from refusals import refused
from scipy.special import expit

import urlr
from urlr.errors import ArgumentError
from urlr.messages import message
from urlr.metrics import outlier_auc
from urlr.model.resampling import ranks_of, replicates_for
from urlr.people.verdicts import ACCUSATIONS

READ_THE_OTHER_WAY = message("reversed_voter")


def test_tables_have_the_columns_promised(mixed):
    _, ranker = mixed
    assert list(ranker.scores) == [
        *("item", "score", "low", "high", "rank", "rank_low", "rank_high"),
        *("n_votes", "wins", "losses", "ties", "pruned", "effect"),
    ]
    assert list(ranker.verdicts)[-6:] == [
        *("pruned", "entry", "order", "margin", "suspicion", "reason")
    ]
    assert {"annotator", "n_votes", "agreement", "error_rate", "verdict", "evidence"} <= set(
        ranker.annotators
    )
    assert len(ranker.annotators) == 40


def test_intervals_hold_their_score_and_rank(mixed):
    scores = mixed[1].scores
    assert (scores["low"] < scores["score"]).all()
    assert (scores["score"] < scores["high"]).all()
    assert (scores["rank_low"] <= scores["rank"]).all()
    assert (scores["rank"] <= scores["rank_high"]).all()
    assert scores["rank_low"].min() == 1
    for value, low, high in (mixed[1].facts.tau_people, mixed[1].facts.tau_unseen):
        assert low < value < high
    assert mixed[1].facts.n_replicates == 40
    said = mixed[1].summary()
    value, low, high = mixed[1].facts.tau_people
    what = message("votes_of_held_out_people")
    assert message("summary_tau_between", what=what, tau=value, low=low, high=high) in said
    assert message("summary_intervals", n_replicates=40, best="")[:-1] in said


def test_intervals_hold_the_expected_score_nine_times_in_ten():
    """One crowd votes again and again: the mean over these times is the expected score."""
    draw = np.random.default_rng(0)
    truth = 1.5 * draw.standard_normal(20)
    tables = []
    for _ in range(12):
        first = draw.integers(0, 20, 400)
        second = (first + draw.integers(1, 20, 400)) % 20
        wins = draw.random(400) < expit(truth[first] - truth[second])
        votes = {"winner": np.where(wins, first, second), "loser": np.where(wins, second, first)}
        scores = urlr.fit(pd.DataFrame(votes), replicates=30).scores
        tables.append(scores.set_index("item").sort_index())
    expected = np.mean([table["score"] for table in tables], axis=0)
    held = [(table["low"] <= expected) & (expected <= table["high"]) for table in tables]
    assert 0.80 <= np.mean(held) <= 0.98


def test_same_votes_settings_and_seed_give_the_same_columns():
    made = crowd_of(1)
    first, second = (urlr.fit(made.votes, made.features, replicates=5) for _ in range(2))
    pd.testing.assert_frame_equal(first.scores, second.scores, check_exact=True)
    pd.testing.assert_frame_equal(first.verdicts, second.verdicts, check_exact=True)
    pd.testing.assert_frame_equal(first.annotators, second.annotators, check_exact=True)


def test_intervals_change_no_score():
    made = crowd_of(2)
    many, none = (urlr.fit(made.votes, made.features, replicates=n) for n in (5, 0))
    pd.testing.assert_series_equal(many.scores["score"], none.scores["score"])
    assert none.scores["low"].isna().all()
    assert none.scores["rank_low"].isna().all()


def test_reversed_people_are_found_and_read_the_other_way(mixed):
    made, ranker = mixed
    kind = made.annotators.set_index("annotator")["kind"]
    table = ranker.annotators.set_index("annotator")
    bad = kind[kind == "reversed"].index
    assert (table.loc[bad, "verdict"] == "reversed").all()
    good = kind[kind == "good"].index
    assert table.loc[bad, "error_rate"].min() > table.loc[good, "error_rate"].max()
    assert table.loc[bad, "pruned"].min() > 0.8  # ties are never
    assert table.loc[good, "pruned"].mean() < 0.15
    verdicts = ranker.verdicts
    turned = verdicts["reason"] == READ_THE_OTHER_WAY
    assert set(verdicts.loc[turned, "annotator"]) == set(bad)
    assert verdicts.loc[turned, "pruned"].all()
    assert (verdicts.loc[turned, "suspicion"] > 0.5).all()
    assert turned.sum() == ranker.facts.n_turned_votes > 100
    assert message("summary_turned", count=turned.sum()) in ranker.summary()


def test_reversed_people_do_no_harm_once_recognised():
    """The same crowd with and without a fifth of it reversed, 40 votes each: the same scores."""
    honest = crowd_of(14)
    names = honest.votes["annotator"]
    turned = names.isin(names.unique()[:8])
    other = honest.votes["outcome"].map({"a": "b", "b": "a", "tie": "tie"})
    votes = honest.votes.assign(outcome=honest.votes["outcome"].where(~turned, other))
    expected, read, ignored = (
        urlr.fit(table, honest.features, replicates=0, **options)
        for table, options in ((honest.votes, {}), (votes, {}), (votes, {"turn_reversed": False}))
    )
    np.testing.assert_allclose(
        read.scores.set_index("item")["score"][honest.truth.index],
        expected.scores.set_index("item")["score"][honest.truth.index],
        rtol=0.05,
        atol=0.1,
    )
    assert ignored.facts.n_turned_votes == 0
    rates = ignored.annotators.set_index("annotator")["error_rate"]
    assert rates[names.unique()[:8]].min() > 0.6


def test_suspicion_finds_wrong_votes_and_orders_the_verdicts(mixed):
    made, ranker = mixed
    verdicts = ranker.verdicts
    assert outlier_auc(verdicts["suspicion"].to_numpy(), made.wrong) > 0.85
    ordered = verdicts.sort_values("order")["suspicion"].to_numpy()
    assert (np.diff(ordered) <= 0).all()
    set_aside = verdicts["pruned"].to_numpy()
    assert made.wrong[set_aside].mean() > 0.8
    neither_way = verdicts["reason"] == message("wrong_either_way")
    assert (verdicts.loc[set_aside & ~neither_way, "suspicion"] >= 0.5).all()
    assert (verdicts.loc[neither_way, "suspicion"] <= 0.5).all()
    assert verdicts.loc[verdicts["suspicion"] > 0.5, "pruned"].all()
    assert (verdicts.loc[set_aside, "reason"] != "").all()
    assert (verdicts.loc[verdicts["status"] == "tie", "suspicion"] == 0).all()


def test_a_share_sets_that_share_of_the_votes_aside():
    made = crowd_of(3)
    for share in (0.0, 0.1, 0.25):
        ranker = urlr.fit(made.votes, made.features, prune=share, replicates=0)
        assert ranker.facts.n_pruned_votes == int(share * 1600)
        assert ranker.verdicts["pruned"].sum() == int(share * 1600)
        kept = ranker.verdicts["order"][~ranker.verdicts["pruned"]]
        assert kept.min() == int(share * 1600) + 1


def test_honest_votes_are_left_alone():
    """Mistakes on close pairs only: next to nothing is more likely wrong than right."""
    made = crowd_of(4, n_votes=4000)
    ranker = urlr.fit(made.votes, made.features, replicates=0)
    assert ranker.facts.rate < 0.03
    flagged = ~ranker.annotators["verdict"].isin(["fine", "too few votes"])
    assert not flagged.any()


def test_the_order_of_the_rows_hardly_matters():
    made = crowd_of(8)
    shuffled = made.votes.sample(frac=1.0, random_state=1)
    a, b = (
        urlr.fit(votes, made.features, replicates=0).scores.set_index("item")["score"]
        for votes in (made.votes, shuffled)
    )
    np.testing.assert_allclose(a[made.truth.index], b[made.truth.index], atol=2e-2)


def test_votes_by_one_person_or_by_nobody_are_fine():
    made = crowd_of(9)
    alone = made.votes.assign(annotator="me")
    nobody = made.votes.drop(columns="annotator")
    assert len(urlr.fit(alone, made.features, replicates=0).annotators) == 1
    ranker = urlr.fit(nobody, made.features, replicates=0)
    assert len(ranker.annotators) == 0
    assert "annotator" not in ranker.summary()


def test_who_casts_most_of_the_votes_is_not_turned_by_the_few_others():
    """Though to say the same four times is not four opinions."""
    pairs = list(itertools.combinations("abcdef", 2))
    rows = [(x, y, "A") for x, y in pairs * 4] + [(y, x, "B") for x, y in pairs[::3]]
    votes = pd.DataFrame(rows, columns=["winner", "loser", "annotator"])
    ranker = urlr.fit(votes, replicates=0)
    place = {item: k for k, item in enumerate(ranker.scores["item"])}
    assert sum(place[x] < place[y] for x, y in pairs) >= 12
    assert ranker.facts.n_turned_votes == 0
    assert not ranker.annotators["verdict"].isin(ACCUSATIONS).any()
    assert "no_better_than_chance" in [text.code for text in ranker.facts.warnings]


def test_two_people_who_disagree_are_both_believed():
    rows = [("a", "b", "A")] * 30 + [("b", "a", "B")] * 10
    ranker = urlr.fit(pd.DataFrame(rows, columns=["winner", "loser", "annotator"]), replicates=2)
    assert ranker.scores["item"].tolist() == ["a", "b"]
    assert ranker.facts.n_pruned_votes == 0


def test_a_long_chain_without_features_keeps_its_order():
    n = 2001
    items = [f"{k:05d}" for k in range(n)]
    votes = pd.DataFrame({"winner": items[:-1], "loser": items[1:]})
    assert urlr.fit(votes, replicates=0).scores["item"].tolist() == items


def test_names_that_are_no_names_are_told():
    made = crowd_of(13)
    names = made.votes["annotator"].astype(object)
    names.iloc[:5] = True
    ranker = urlr.fit(made.votes.assign(annotator=names), made.features, replicates=0)
    assert message("odd_annotators", count=5) in ranker.facts.warnings


def test_the_paper_judges_no_people():
    made = crowd_of(10)
    ranker = urlr.fit(made.votes, made.features, method="paper", prune=0.2)
    with refused(urlr.UrlrError, "no_annotators_in_paper"):
        _ = ranker.annotators
    assert ranker.verdicts["suspicion"].isna().all()


@pytest.mark.parametrize(
    ("wrong", "code", "fields"),
    [
        ({"method": "magic"}, "unknown_choice", {"name": "method", "allowed": "robust, paper"}),
        ({"ranking": "svm"}, "setting_of_other_method", {"name": "ranking", "method": "paper"}),
        ({"prune": "bic"}, "rule_of_paper", {"value": "bic"}),
        (
            {"method": "paper", "limit": 0.3},
            "setting_of_other_method",
            {"name": "limit", "method": "robust"},
        ),
        ({"limit": 0.0}, "limit_out_of_range", {"value": 0.0}),
        ({"replicates": 1}, "too_few_replicates", {"value": 1}),
        ({"curved": "yes"}, "not_true_or_false", {"name": "curved", "value": "yes"}),
    ],
)
def test_settings_that_make_no_sense_are_named(wrong, code, fields):
    made = crowd_of(11)
    with refused(ArgumentError, code, **fields):
        urlr.fit(made.votes, made.features, **wrong)


def test_ranks_share_the_better_place():
    scores = np.array([1.0, 3.0, 3.0, -1.0])
    expected = pd.Series(scores).rank(ascending=False, method="min")
    assert ranks_of(scores).tolist() == expected.astype(int).tolist() == [3, 1, 1, 4]


def test_fewer_replicates_above_a_stated_size():
    assert [replicates_for(n) for n in (10, 200_000, 200_001, 2_000_001)] == [200, 200, 50, 20]
