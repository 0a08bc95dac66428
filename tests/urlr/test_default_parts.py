"""The parts of the default, each by itself: space, ties, limit, effects, people, sides."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from crowds import crowd_of
from graphs import seeded

import urlr
from urlr.messages import message
from urlr.metrics import tau_b
from urlr.model.robust import people_left_out, robust_fit
from urlr.model.tuning import tuned_space
from urlr.people.crowd import folds_of_people
from urlr.people.trust import judge_people
from urlr.space.feature_space import feature_space
from urlr.space.prior import PriorSpace
from urlr.votes.ballots import ballots_of
from urlr.votes.table import vote_table


def test_entries_lie_between_the_limit_and_1(mixed):
    made, ranker = mixed
    for limit, fitted in (
        (0.4, ranker),
        (0.25, urlr.fit(made.votes, made.features, limit=0.25, replicates=0)),
    ):
        entry = fitted.verdicts["entry"].to_numpy()
        assert entry[entry > 0].min() == pytest.approx(limit, abs=0.05)
        assert ((entry == 0) | ((entry >= limit) & (entry <= 1))).all()
        assert (entry == 0).any()


def test_item_effects_change_no_suspicion():
    """They would believe a campaign; scores, and how far people are trusted, are another matter."""
    made = crowd_of(6, private=0.7, n_features=4, campaign_votes=0.2)
    options = {"curved": False, "annotator_rates": False, "prune": 0.1, "replicates": 0}
    ranker, without = (
        urlr.fit(made.votes, made.features, item_effects=effects, **options)
        for effects in (True, False)
    )
    assert ranker.scores["effect"].abs().max() > 0.3
    assert (without.scores["effect"] == 0).all()
    for column in ("suspicion", "pruned", "entry", "order"):
        pd.testing.assert_series_equal(ranker.verdicts[column], without.verdicts[column])


def test_people_are_judged_by_fits_without_their_votes():
    """Votes of one fold turned around: their own margins change sign and nothing else."""
    made = crowd_of(15)
    ballots = ballots_of(vote_table(made.votes))
    folds = folds_of_people(ballots)
    assert pd.Series(folds).groupby(ballots.annotator).nunique().eq(1).all()
    assert np.unique(folds).tolist() == [0, 1, 2, 3, 4]
    settings, read = urlr.FitSettings(), vote_table(made.votes)
    space = feature_space(read.items, None, settings, rng=seeded())
    tuned = tuned_space(space, ballots.rows, ballots.weight, "tuned", 0)
    trust = judge_people(ballots, tuned, settings)
    model = robust_fit(trust.votes, prune="auto", limit=0.4)
    margin, judged = people_left_out(model, folds)
    assert judged.all()
    for fold in range(5):
        own = folds == fold
        other, _ = people_left_out(replace(model, rows=model.rows.turned(own)), folds)
        np.testing.assert_array_equal(other[own], -margin[own])
        assert np.abs(other[~own] - margin[~own]).max() > 0.1, "others are judged by these votes"


def test_a_lean_to_the_left_is_found(mixed):
    assert mixed[1].facts.lean == pytest.approx(0.35, abs=0.25)
    assert mixed[1].facts.lean > 0.1


@pytest.mark.parametrize(
    "off",
    [
        {"limit": 1.0},
        {"curved": False},
        {"annotator_rates": False},
        {"turn_reversed": False},
        {"ties": False},
        {"left_right": False},
    ],
)
def test_every_part_can_be_switched_off(off, mixed):
    """Item effects apart: items of this crowd have none."""
    made, ranker = mixed
    other = urlr.fit(made.votes, made.features, replicates=0, **off)
    assert not np.allclose(
        other.scores.set_index("item")["score"][made.truth.index],
        ranker.scores.set_index("item")["score"][made.truth.index],
    )
    if off == {"left_right": False}:
        assert other.facts.lean is None
    if off == {"ties": False}:
        decided = made.votes[made.votes["outcome"] != "tie"]
        pd.testing.assert_frame_equal(
            other.scores, urlr.fit(decided, made.features, replicates=0).scores
        )
        assert other.facts.reasons[message("ties_left_out")] == other.facts.rows["skipped"] > 0
    if off == {"curved": False}:
        assert other.facts.curved is False
    if off == {"annotator_rates": False}:
        assert other.annotators.empty


def test_a_tie_of_weight_two_is_a_vote_each_way():
    """But where a limit holds one of two contrary votes back: there a tie draws items closer."""
    made = crowd_of(16, ties=0.2)
    votes = made.votes.drop(columns="vote_id").astype({"outcome": str}).assign(weight=1.0)
    tie = votes["outcome"] == "tie"
    decided, ties = votes[~tie], votes[tie]
    heavy = pd.concat([decided, ties.assign(weight=2.0)])
    each_way = pd.concat([decided, ties.assign(outcome="a"), ties.assign(outcome="b")])
    options = {"prune": 0.0, "annotator_rates": False, "curved": False, "left_right": False}
    options["ridge"] = 1.0  # a tuned one has its scale from decided votes

    def scores(votes, limit):
        table = urlr.fit(votes, made.features, limit=limit, replicates=0, **options).scores
        return table.set_index("item")["score"].sort_index()

    one, other = (scores(table, 1.0) for table in (heavy, each_way))
    assert one.std() > 0.5
    np.testing.assert_allclose(one, other, atol=1e-6)

    one, other = (scores(table, 0.4) for table in (heavy, each_way))
    assert one.std() < 0.9 * other.std()


def kernel_share(ranker, features):
    """Share of the kernel in the prior variance of the scores of these items."""
    prior = ranker.feature_map.steps[-1]
    assert isinstance(prior, PriorSpace)
    mapped = ranker.feature_map.map(features.to_numpy())
    bent = mapped[:, prior.directions.shape[1] :]
    return (bent**2).sum() / (mapped**2).sum()


@pytest.mark.parametrize(
    ("share", "seed", "truth"),
    [
        (0.4, 0, {"curvature": 0.9, "n_votes": 4000}),
        (0.0, 4, {"curvature": 0.0, "n_votes": 2000, "n_items": 60, "n_features": 20}),
    ],
    ids=["curved", "straight"],
)
def test_the_kernel_has_as_much_of_the_prior_as_items_left_out_support(share, seed, truth):
    made = crowd_of(seed, private=0.0, ties=0.0, **truth)
    ranker = urlr.fit(made.votes, made.features, annotator_rates=False, replicates=0)
    assert kernel_share(ranker, made.features) == pytest.approx(share)
    assert ranker.facts.curved == (share > 0)


def test_without_features_there_is_no_limit():
    made = crowd_of(17)
    low, none = (urlr.fit(made.votes, limit=limit, replicates=0) for limit in (0.1, 1.0))
    pd.testing.assert_frame_equal(low.scores, none.scores, check_exact=True)
    pd.testing.assert_frame_equal(low.verdicts, none.verdicts, check_exact=True)
    assert (low.verdicts["entry"] == 0).all()


def test_items_nobody_compared_have_no_effect():
    made = crowd_of(5, private=0.6, n_features=4)
    unseen = made.truth.index[:15]
    votes = made.votes[~made.votes["item_a"].isin(unseen) & ~made.votes["item_b"].isin(unseen)]
    ranker = urlr.fit(votes, made.features, replicates=30, curved=False)
    table = ranker.scores.set_index("item")
    assert (table.loc[unseen, "effect"] == 0).all()
    assert (table.drop(unseen)["effect"] != 0).all()
    np.testing.assert_allclose(
        ranker.score(made.features)[table.index], table["score"], rtol=1e-12, atol=1e-12
    )
    features = made.features.rename(index=lambda item: f"new-{item}")
    np.testing.assert_allclose(
        ranker.score(features).to_numpy(),
        (table["score"] - table["effect"])[made.features.index],
        rtol=1e-9,
        atol=1e-9,
    )


def test_private_effects_help_seen_items():
    made = crowd_of(6, private=0.7, n_features=4, n_votes=4000)
    with_effects, without = (
        tau_b(
            urlr.fit(
                made.votes, made.features, item_effects=effects, curved=False, replicates=0
            ).scores.set_index("item")["score"],
            made.truth,
        )
        for effects in (True, False)
    )
    assert with_effects > without + 0.1


def test_without_features_scores_are_shrunken_bradley_terry_strengths():
    made = crowd_of(7, n_votes=4000)
    ranker = urlr.fit(made.votes, replicates=5)
    scores = ranker.scores.set_index("item")["score"]
    assert tau_b(scores, made.truth) > 0.75
    assert ranker.facts.tau_unseen is None
    assert scores.mean() == pytest.approx(0.0, abs=1e-4)
    strengths = urlr.baselines.bradley_terry(made.votes)
    assert tau_b(scores, strengths) > 0.9


def test_sides_are_read_from_either_layout():
    made = crowd_of(12, left_bias=0.3)
    pairs = made.votes[made.votes["outcome"] != "tie"]
    a_won = (pairs["outcome"] == "a").to_numpy()
    a, b = pairs["item_a"].astype(str), pairs["item_b"].astype(str)
    left = np.where(pairs["left"] == "a", a, b)
    named = pd.DataFrame(
        {"winner": np.where(a_won, a, b), "loser": np.where(a_won, b, a), "left": left}
    )
    leans = [
        urlr.fit(votes, made.features, replicates=0).facts.lean
        for votes in (pairs.drop(columns=["annotator", "vote_id", "time"]), named)
    ]
    assert leans[0] == pytest.approx(leans[1], abs=1e-3)
    assert leans[0] > 0.3


def test_scores_are_log_odds_of_decided_votes_by_careful_people():
    """Ties and slips make votes say less of the items; they do not make items more alike."""
    made = crowd_of(3, n_votes=6000, private=0.0, curvature=0.0, ties=0.0)
    votes = made.votes.drop(columns="vote_id").astype({"outcome": str})
    tie = np.random.default_rng(0).random(len(votes)) < 0.3
    mixed = votes.assign(outcome=votes["outcome"].mask(tie, "tie"))
    clean, with_ties, fixed = (
        urlr.fit(table, made.features, replicates=0, **options).score(made.features)
        for table, options in ((votes, {}), (mixed, {}), (mixed, {"ridge": 1.0}))
    )
    assert with_ties.std() == pytest.approx(clean.std(), rel=0.25)
    assert fixed.std() < 0.8 * with_ties.std()


def test_values_far_out_are_pulled_in():
    """So that one item with a hundred times the usual count does not rule the column."""
    made = crowd_of(4)
    features = np.exp(made.features)
    space = urlr.fit(made.votes, features, replicates=0).feature_map
    assert [step.kind for step in space.steps[-4:]] == [
        "standardise", "arcsinh", "standardise", "prior",
    ]  # fmt: skip
    pulled, before = space.steps[-3], space.steps[-4].apply(features.to_numpy())
    np.testing.assert_array_equal(pulled.apply(before), np.arcsinh(before))
    assert pulled.n_out == pulled.n_in == features.shape[1]
    assert pulled.flaw() == ""
