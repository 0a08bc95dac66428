"""People in a whole fit: attacks that are set aside, tastes that are not, and what is switched off.

Crowds without features, of forty honest people who slip now and then, and whoever joins them.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import urlr
from tests.quality.attacks import Size, attacked, honest
from urlr.errors import ArgumentError
from urlr.messages import message
from urlr.metrics import tau_b
from urlr.people.verdicts import ACCUSATIONS

SIZE = Size(items=40, people=40, votes=4000)
COORDINATED = message("cast_together")


@cache
def plain():
    return honest(0, SIZE)


@cache
def pushed():
    """Three people with two fifths of the votes, all on ten per cent of the items."""
    return attacked(plain(), "pushing", 0.4, 0)


@cache
def divided():
    """A quarter of the people judge by something else."""
    return honest(2, SIZE, minority=0.25)


@cache
def ranked(crowd, **options):
    return urlr.fit(crowd().votes, replicates=0, **options)


def scores_of(ranker):
    return ranker.scores.set_index("item")["score"].sort_index()


def tau_of(ranker, crowd):
    return tau_b(scores_of(ranker), crowd.truth)


def verdicts_of(ranker):
    return ranker.annotators.set_index("annotator")["verdict"].astype(str)


def accused(ranker):
    found = verdicts_of(ranker)
    return set(found.index[found.isin(ACCUSATIONS)])


# Attacks


def test_who_always_chooses_the_left_is_one_sided_and_changes_little():
    made = attacked(plain(), "always left", 0.2, 0)
    ranker = urlr.fit(made.votes, replicates=0)
    verdict = verdicts_of(ranker)
    assert (verdict[sorted(made.attackers)] == "one-sided").all()
    assert len(accused(ranker) - made.attackers) <= 1
    assert tau_of(ranker, made) >= tau_of(ranked(plain), made) - 0.02


def test_three_people_who_push_items_are_set_aside_together():
    made, ranker = pushed(), ranked(pushed)
    verdict = verdicts_of(ranker)
    assert (verdict[sorted(made.attackers)] == "coordinated").all()
    assert len(accused(ranker) - made.attackers) <= 1
    assert abs(tau_of(ranker, made) - tau_of(ranked(plain), made)) <= 0.02
    theirs = ranker.verdicts[ranker.verdicts["annotator"].isin(made.attackers)]
    assert theirs["pruned"].all()
    assert set(theirs["reason"]) == {COORDINATED}
    facts = ranker.facts
    assert (facts.n_groups, facts.n_together, facts.n_together_votes) == (1, 3, len(theirs))
    numbers = ranker.annotators.set_index("annotator")["group"]
    assert set(numbers[sorted(made.attackers)]) == {1}
    assert (numbers.drop(sorted(made.attackers)) == 0).all()


def test_a_group_is_found_however_often_it_votes():
    """Who never slips on thousands of votes is no less together than on hundreds."""
    made = attacked(honest(1, Size(100, 60, 40_000)), "pushing", 0.4, 1)
    assert (
        verdicts_of(urlr.fit(made.votes, replicates=0))[sorted(made.attackers)]
        .eq("coordinated")
        .all()
    )


def test_a_group_counts_for_nothing_once_or_in_full():
    made = pushed()
    dropped, once, kept = (
        scores_of(ranked(pushed, coordination=how)) for how in ("drop", "once", "keep")
    )
    assert 0.02 < (once - dropped).abs().mean() < 0.5 * (kept - dropped).abs().mean()
    assert tau_b(once, made.truth) > tau_b(kept, made.truth) + 0.02
    with refused(ArgumentError, "unknown_choice", name="coordination"):
        urlr.fit(made.votes, coordination="twice")


def test_votes_of_a_group_that_is_kept_are_not_set_aside_for_it():
    ranker = ranked(pushed, coordination="keep")
    assert (verdicts_of(ranker)[sorted(pushed().attackers)] == "coordinated").all()
    assert not (ranker.verdicts["reason"] == COORDINATED).any()


def test_people_who_turn_two_fifths_of_the_votes_around_are_turned_back():
    made = attacked(plain(), "reversed", 0.4, 0)
    ranker = urlr.fit(made.votes, replicates=0)
    verdict = verdicts_of(ranker)
    assert (verdict[sorted(made.attackers)] == "reversed").all()
    assert tau_of(ranker, made) >= tau_of(ranked(plain), made) - 0.01
    assert ranker.facts.n_turned_votes == made.votes["annotator"].isin(made.attackers).sum()


def test_people_who_are_not_turned_count_for_nothing():
    made = attacked(plain(), "reversed", 0.4, 0)
    ranker = urlr.fit(made.votes, turn_reversed=False, replicates=0)
    assert tau_of(ranker, made) >= tau_of(ranked(plain), made) - 0.03
    rates = ranker.annotators.set_index("annotator")["error_rate"]
    assert rates[sorted(made.attackers)].min() > 0.6


@pytest.mark.parametrize("attack", ["pushing", "reversed"])
def test_on_fewer_than_ten_items_nobody_acts_together_or_is_reversed(attack):
    """Pushing an item and liking it are the same thing there."""
    made = attacked(honest(0, Size(9, 40, 2000)), attack, 0.3, 0)
    ranker = urlr.fit(made.votes, replicates=0)
    assert not verdicts_of(ranker).isin(["coordinated", "reversed"]).any()
    assert ranker.facts.n_turned_votes == ranker.facts.n_together == 0


def test_no_verdict_depends_on_the_seed():
    one, other = (ranked(pushed, seed=seed) for seed in (0, 7))
    pd.testing.assert_frame_equal(one.annotators, other.annotators, check_exact=True)
    pd.testing.assert_frame_equal(one.scores, other.scores, check_exact=True)


def test_pushes_under_honest_names_count_less():
    crowd = honest(0, Size(votes=6000))
    made = attacked(crowd, "honest names", 0.4, 0)
    ranker = urlr.fit(made.votes, replicates=0)
    alone = urlr.fit(crowd.votes, replicates=0)
    assert tau_of(ranker, made) >= tau_of(alone, crowd) - 0.1
    said, before = ({text.code for text in one.facts.warnings} for one in (ranker, alone))
    assert said - before == {"pushed_items"}
    assert not accused(ranker)


def test_no_verdict_depends_on_names_or_the_order_of_votes():
    made = pushed().votes
    new = {
        name: f"n{k:03d}"
        for k, name in enumerate(
            np.random.default_rng(0).permutation(
                pd.unique(made[["winner", "loser", "annotator"]].to_numpy().ravel())
            )
        )
    }
    ids = ["winner", "loser", "annotator", "left"]
    renamed = made.assign(**{column: made[column].map(new) for column in ids})
    ranker = urlr.fit(renamed.sample(frac=1.0, random_state=1), replicates=0)
    before = verdicts_of(ranked(pushed))
    assert (verdicts_of(ranker)[before.index.map(new)].to_numpy() == before.to_numpy()).all()


# Large inputs


@pytest.mark.parametrize("limit", ["_MANY", "_LARGE"])
@pytest.mark.parametrize("attack", ["pushing", "reversed"])
def test_people_of_large_inputs_are_judged_as_those_of_small_ones(monkeypatch, limit, attack):
    """Groups and reversed people are looked for once there, and tastes last."""
    made = attacked(plain(), attack, 0.2, 0)
    usual = urlr.fit(made.votes, made.features, replicates=0)
    monkeypatch.setattr(f"urlr.people.trust.{limit}", 100)
    large = urlr.fit(made.votes, made.features, replicates=0)
    assert made.attackers <= accused(usual) & accused(large)
    assert len(accused(large) - made.attackers) <= 1
    assert tau_b(scores_of(usual), scores_of(large)) > 0.95


@pytest.mark.parametrize("limit", ["_MANY", "_LARGE"])
def test_tastes_of_large_inputs_are_found(monkeypatch, limit):
    monkeypatch.setattr(f"urlr.people.trust.{limit}", 100)
    made = divided()
    ranker = urlr.fit(made.votes, made.features, replicates=0)
    assert (verdicts_of(ranker)[sorted(made.others)] == "different taste").mean() > 0.5
    assert not accused(ranker) & made.others


# Tastes


def test_a_taste_is_no_accusation():
    made, ranker = divided(), ranked(divided)
    verdict = verdicts_of(ranker)
    assert not accused(ranker) & made.others
    assert len(accused(ranker)) <= 1
    assert (verdict[sorted(made.others)] == "different taste").mean() > 0.7
    assert (verdict.drop(sorted(made.others)) == "different taste").mean() < 0.1
    assert ranker.facts.n_tastes == 1
    assert 0.5 < ranker.facts.agreed < 1.0
    (row,) = ranker.tastes.head(1).to_dict("records")
    assert set(row["people"]) <= made.others
    assert row["n_people"] == len(row["people"]) >= 7
    numbers = ranker.annotators.set_index("annotator")["taste"]
    assert (numbers[list(row["people"])] == row["taste"]).all()
    assert -1.0 <= row["tau"] < 0.7


def test_who_is_known_is_foretold_better_by_their_own_taste():
    """Votes that the fit has not seen, of the people who judge by something else."""
    made = divided()
    seen = np.random.default_rng(0).random(len(made.votes)) < 0.7
    ranker = urlr.fit(made.votes[seen], replicates=0)
    left = made.votes[~seen & made.votes["annotator"].isin(made.others)]
    pairs = left["winner"].to_numpy(), left["loser"].to_numpy()
    own = ranker.probability(*pairs, annotator=left["annotator"].to_numpy())
    anybody = ranker.probability(*pairs)
    assert np.log(own).mean() > np.log(anybody).mean() + 0.03


def test_a_person_and_a_taste_have_scores_of_their_own():
    made, features = divided(), divided().features
    ranker = urlr.fit(made.votes, features, replicates=0)
    taste = ranker.tastes.iloc[0]
    by_consensus = ranker.score(features)
    by_taste = ranker.score(features, taste=int(taste["taste"]))
    assert tau_b(by_consensus, by_taste[by_consensus.index]) == pytest.approx(taste["tau"])
    one = ranker.score(features, annotator=taste["people"][0])
    near, far = (np.corrcoef(one, other)[0, 1] for other in (by_taste, by_consensus))
    assert near > far
    pd.testing.assert_series_equal(ranker.score(features, annotator="nobody"), by_consensus)


def test_where_all_are_of_one_taste_there_are_no_tastes():
    ranker = ranked(plain)
    assert ranker.tastes.empty
    assert list(ranker.tastes) == list(ranked(divided).tastes)
    assert (ranker.facts.n_tastes, ranker.facts.agreed) == (0, 1.0)


# What is switched off


def test_sides_that_are_not_allowed_for_are_as_good_as_unknown():
    made = attacked(plain(), "always left", 0.1, 0)
    silent = urlr.fit(made.votes.drop(columns="left"), replicates=0)
    off = urlr.fit(made.votes, left_right=False, replicates=0)
    pd.testing.assert_series_equal(scores_of(off), scores_of(silent))
    assert (verdicts_of(off) == verdicts_of(silent)[verdicts_of(off).index]).all()


def test_people_who_are_not_told_apart_are_as_good_as_unknown():
    made = pushed()
    off = urlr.fit(made.votes, annotator_rates=False, replicates=0)
    nobody = urlr.fit(made.votes.drop(columns="annotator"), replicates=0)
    pd.testing.assert_series_equal(scores_of(off), scores_of(nobody))
    assert off.annotators.empty


@pytest.mark.parametrize(
    "off", [{"tastes": False}, {"coordination": "keep"}, {"turn_reversed": False}], ids=str
)
def test_a_part_that_finds_nothing_may_as_well_be_off(off):
    pd.testing.assert_series_equal(scores_of(ranked(plain)), scores_of(ranked(plain, **off)))


def test_without_tastes_nobody_has_one():
    ranker = urlr.fit(divided().votes, tastes=False, replicates=0)
    assert ranker.tastes.empty
    assert ranker.facts.n_tastes == 0


# What somebody would say


def test_chances_of_arrays_are_arrays_and_of_unknown_items_nothing():
    ranker = ranked(divided)
    best, worst = ranker.scores["item"].iloc[[0, -1]]
    one = ranker.probability(best, worst)
    assert isinstance(one, float)
    assert one > 0.8
    some = ranker.probability([best, worst, "none"], [worst, best, best])
    assert some[:2] == pytest.approx([one, 1.0 - one])
    assert np.isnan(some[2])
    assert np.isnan(ranker.probability(best, "none"))
    against_all = ranker.probability(best, ranker.scores["item"].to_numpy())
    assert against_all.shape == (40,)
    assert against_all[0] == pytest.approx(0.5)
    assert (against_all[1:] > 0.5).all()


def test_who_is_not_known_is_anybody():
    ranker = ranked(divided)
    items = ranker.scores["item"].to_numpy()
    anybody = ranker.probability(items[:-1], items[1:])
    np.testing.assert_array_equal(
        ranker.probability(items[:-1], items[1:], annotator="nobody"), anybody
    )
    known = sorted(divided().others)[0]
    mixed = ranker.probability(items[:2], items[2:4], annotator=["nobody", known])
    assert mixed[0] == ranker.probability(items[0], items[2])
    assert mixed[1] == ranker.probability(items[1], items[3], annotator=known)
    assert mixed[1] != ranker.probability(items[1], items[3])


def test_anybody_is_the_mean_of_the_tastes_of_people():
    """The mixture is never surer than the people of the consensus are."""
    ranker = ranked(divided)
    best, worst = ranker.scores["item"].iloc[[0, -1]]
    assert 0.5 < ranker.probability(best, worst) < ranker.probability(best, worst, taste=0)


@pytest.mark.parametrize("who", [{}, {"annotator": "p00003"}, {"taste": 1}], ids=str)
def test_the_interval_holds_the_chance(who):
    ranker = ranked(divided)
    items = ranker.scores["item"].to_numpy()
    chance, low, high = ranker.probability(items[:-1], items[1:], interval=True, **who)
    np.testing.assert_array_equal(chance, ranker.probability(items[:-1], items[1:], **who))
    assert (low < chance).all()
    assert (chance < high).all()
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_chances_are_those_of_simulated_votes():
    """In bins of what is said of votes by people left out, as many win."""
    made = plain()
    people = made.votes["annotator"].unique()
    left = made.votes["annotator"].isin(people[::4]).to_numpy()
    ranker = urlr.fit(made.votes[~left], replicates=0)
    out = made.votes[left]
    swapped = np.random.default_rng(0).random(len(out)) < 0.5
    first, second = np.where(swapped, out[["loser", "winner"]].T, out[["winner", "loser"]].T)
    chance = ranker.probability(first, second)
    bins = np.digitize(chance, [0.2, 0.4, 0.6, 0.8])
    said, came = (pd.Series(one).groupby(bins).mean() for one in (chance, ~swapped))
    np.testing.assert_allclose(said, came, atol=0.1)


def test_a_person_or_a_taste_and_only_those_there_are():
    ranker = ranked(divided)
    with refused(ArgumentError, "annotator_or_taste"):
        ranker.probability("i00000", "i00001", annotator="p00000", taste=1)
    n_tastes = int(ranker.tastes["taste"].max())
    with refused(ArgumentError, "unknown_taste", taste=9, n_tastes=n_tastes):
        ranker.probability("i00000", "i00001", taste=9)


@pytest.mark.parametrize("featured", [False, True])
def test_a_saved_model_says_the_same_of_people(tmp_path, featured):
    made = divided()
    ranker = urlr.fit(made.votes, made.features if featured else None, replicates=0)
    ranker.save(tmp_path / "model.npz")
    loaded = urlr.load(tmp_path / "model.npz")
    pairs = made.votes["winner"].to_numpy(), made.votes["loser"].to_numpy()
    for who in ({}, {"annotator": made.votes["annotator"].to_numpy()}, {"taste": 1}):
        for interval in (False, True):
            asked = {"interval": interval, **who}
            np.testing.assert_array_equal(
                loaded.probability(*pairs, **asked), ranker.probability(*pairs, **asked)
            )
    pd.testing.assert_frame_equal(loaded.tastes, ranker.tastes)
    if featured:
        pd.testing.assert_series_equal(
            loaded.score(made.features, taste=1), ranker.score(made.features, taste=1)
        )
