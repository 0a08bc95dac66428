"""The gate: every rule and every sentence on hand-made records, and campaigns that it must see."""

import numpy as np
import pandas as pd
import pytest

import urlr
from tasks.evaluate import Comparison, Estimate, VoteTau, compare, tau_with_votes
from tasks.gate import Earlier, GateSettings, decide
from tasks.split import split_votes
from urlr.metrics import tau_b
from urlr.simulate import AnnotatorShares, crowd

TO_THE_LETTER = GateSettings(drop_errors=0)


def estimate(value: float, reach: float) -> Estimate:
    return Estimate(value, value - reach, value + reach, reach / 2.6)


def tau(value, *, reach=0.1, n_votes=1204, n_people=57, plain=0.5, **counts) -> VoteTau:
    """A figure by which to decide; where people are named, another one stands beside it."""
    return VoteTau(
        plain=None if n_votes == 0 else estimate(value if n_people < 2 else plain, reach),
        by_person=None if n_people < 2 or n_votes == 0 else estimate(value, reach),
        n_votes=n_votes,
        n_people=n_people,
        n_nameless=counts.get("n_nameless", 0),
        n_left_out=counts.get("n_left_out", 0),
        level=counts.get("level", 0.99),
    )


def versus(ours, theirs, *, reach=0.03, **counts) -> Comparison:
    """The challenger's tau against another's."""
    return Comparison(
        tau(ours, **counts),
        tau(theirs, **counts),
        tau(ours - theirs, reach=reach, plain=0.3, **counts),
    )


def ago(nights, version, ours, theirs, **counts) -> Earlier:
    return Earlier(version, nights, versus(ours, theirs, **counts))


ON = "on 1,204 held-out votes of 57 people"


@pytest.mark.parametrize(
    ("challenger", "publish", "rule", "reason"),
    [
        pytest.param(
            tau(0.6),
            True,
            "first model",
            f"first model, tau 0.600 (0.500 to 0.700 with 99 % confidence) {ON}",
            id="better than chance",
        ),
        pytest.param(
            tau(0.08, level=0.95),
            False,
            "no better than chance",
            "held: tau 0.080 (-0.020 to 0.180 with 95 % confidence) is not surely better than "
            f"chance {ON}",
            id="perhaps chance",
        ),
        pytest.param(
            tau(0.1), False, "no better than chance", None, id="the lower end is exactly zero"
        ),
        pytest.param(
            tau(0.05, plain=0.9), False, "no better than chance", None, id="good by votes alone"
        ),
        pytest.param(
            tau(0.9, n_votes=0),
            False,
            "too few votes",
            "held: only 0 held-out votes could be judged, and 20 are needed",
            id="no votes",
        ),
        pytest.param(
            tau(0.9, n_votes=19, n_left_out=4),
            False,
            "too few votes",
            "held: only 19 of 23 held-out votes could be judged, and 20 are needed",
            id="one vote too few",
        ),
        pytest.param(tau(0.9, n_votes=20), True, "first model", None, id="just enough votes"),
        pytest.param(
            tau(0.6, n_people=0),
            True,
            "first model",
            "first model, tau 0.600 (0.500 to 0.700 with 99 % confidence) on 1,204 held-out votes; "
            "nobody is named in them, so that a campaign cannot be seen",
            id="no names",
        ),
        pytest.param(
            tau(0.05, n_people=1),
            False,
            "no better than chance",
            "held: tau 0.050 (-0.050 to 0.150 with 99 % confidence) is not surely better than "
            "chance on 1,204 held-out votes; only one person is named in them, so that a campaign "
            "cannot be seen",
            id="one name",
        ),
    ],
)
def test_a_first_model_must_beat_chance(challenger, publish, rule, reason):
    verdict = decide(challenger, None)
    assert (verdict.publish, verdict.rule, verdict.forced) == (publish, rule, False)
    assert verdict.reason == (reason or verdict.reason)
    assert verdict.sees_campaigns == (challenger.by_person is not None)


@pytest.mark.parametrize(
    ("champion", "earlier", "publish", "rule", "reason"),
    [
        pytest.param(
            versus(0.84, 0.81),
            [],
            True,
            "not worse",
            f"tau 0.810 -> 0.840 {ON}",
            id="better",
        ),
        pytest.param(
            versus(0.805, 0.81), [], True, "not worse", f"tau 0.810 -> 0.805 {ON}", id="as good"
        ),
        pytest.param(
            versus(0.76, 0.81),
            [],
            False,
            "worse than the champion",
            "held: worse than the champion by 0.050 (at least 0.020 with 99 % confidence) " + ON,
            id="surely worse",
        ),
        pytest.param(
            versus(0.79, 0.81),
            [],
            False,
            "below the best",
            "held: tau 0.790 is 0.020 below 0.810 of the champion, the best of the last 30 nights, "
            + ON,
            id="worse, not surely",
        ),
        pytest.param(versus(0.80, 0.81), [], True, "not worse", None, id="down by just 0.01"),
        pytest.param(versus(0.7999, 0.81), [], False, "below the best", None, id="a little more"),
        pytest.param(
            versus(0.80, 0.805),
            [ago(3, "7", 0.80, 0.79), ago(29, "4", 0.80, 0.82), ago(9, "5", 0.80, 0.815)],
            False,
            "below the best",
            "held: tau 0.800 is 0.020 below 0.820 of version 4, the best of the last 30 nights, "
            + ON,
            id="one small step down too many",
        ),
        pytest.param(
            versus(0.80, 0.805),
            [ago(30, "4", 0.80, 0.82)],
            False,
            "below the best",
            None,
            id="30 nights ago",
        ),
        pytest.param(
            versus(0.80, 0.805),
            [ago(31, "3", 0.80, 0.82)],
            True,
            "not worse",
            None,
            id="31 nights ago is forgotten",
        ),
        pytest.param(
            versus(0.80, 0.79),
            [ago(2, "3", 0.80, 0.95, n_votes=19)],
            True,
            "not worse",
            None,
            id="an earlier version on too few votes shows nothing",
        ),
        pytest.param(
            versus(0.9, 0.5, n_votes=0, n_left_out=31),
            [],
            False,
            "too few votes",
            "held: only 0 of 31 held-out votes could be judged by both, and 20 are needed",
            id="no votes",
        ),
        pytest.param(
            versus(0.9, 0.5, n_votes=1),
            [],
            False,
            "too few votes",
            "held: only 1 held-out vote could be judged by both, and 20 are needed",
            id="one vote",
        ),
        pytest.param(
            versus(0.84, 0.81, n_nameless=31, n_left_out=12),
            [],
            True,
            "not worse",
            f"tau 0.810 -> 0.840 {ON} (31 without a name count as one more; 12 left out, on items "
            "without a score)",
            id="some nameless, some left out",
        ),
        pytest.param(
            versus(0.76, 0.81, n_people=0),
            [],
            False,
            "worse than the champion",
            "held: worse than the champion by 0.050 (at least 0.020 with 99 % confidence) on 1,204 "
            "held-out votes; nobody is named in them, so that a campaign cannot be seen",
            id="no names",
        ),
    ],
)
def test_a_challenger_must_not_be_worse(champion, earlier, publish, rule, reason):
    verdict = decide(champion.challenger, champion, earlier, settings=TO_THE_LETTER)
    assert (verdict.publish, verdict.rule, verdict.forced) == (publish, rule, False)
    assert verdict.reason == (reason or verdict.reason)
    assert verdict.sees_campaigns == (champion.difference.by_person is not None)


@pytest.mark.parametrize(
    ("champion", "earlier"),
    [
        (None, []),
        (versus(0.9, 0.5, n_votes=3), []),
        (versus(0.5, 0.8), []),
        (versus(0.80, 0.80), [ago(1, "7", 0.80, 0.85)]),
    ],
)
def test_force_overrides_every_rule_and_is_recorded(champion, earlier):
    challenger = tau(0.01)
    held = decide(challenger, champion, earlier)
    forced = decide(challenger, champion, earlier, force=True)
    assert not held.publish
    assert forced.publish
    assert forced.forced
    assert forced.rule == held.rule
    assert forced.reason == f"published by force, else {held.reason}"


def test_force_is_recorded_where_it_was_not_needed():
    verdict = decide(tau(0.84), versus(0.84, 0.81), force=True)
    assert verdict.forced
    assert verdict.reason == f"tau 0.810 -> 0.840 {ON}"


def test_thresholds_are_settings():
    champion = versus(0.79, 0.81, level=0.9)
    strict, lax = (GateSettings(confidence=0.9, drop=drop, drop_errors=0) for drop in (0.01, 0.05))
    assert not decide(tau(0.79), champion, settings=strict).publish
    assert decide(tau(0.79), champion, settings=lax).publish
    few = GateSettings(fewest_votes=2000)
    assert decide(tau(0.84), versus(0.84, 0.81), settings=few).rule == "too few votes"
    short = GateSettings(nights=2)
    assert decide(tau(0.8), versus(0.8, 0.8), [ago(3, "4", 0.8, 0.9)], settings=short).publish


@pytest.mark.parametrize(("errors", "publish"), [(0.0, False), (1.0, False), (2.0, True)])
def test_a_drop_within_its_errors_may_be_allowed(errors, publish):
    """0.02 down with an error of 0.0115."""
    settings = GateSettings(drop_errors=errors)
    assert decide(tau(0.79), versus(0.79, 0.81), settings=settings).publish == publish


def test_an_uncertain_rival_does_not_hide_a_certain_one():
    """0.05 below one, which may be chance, and 0.04 below another, which is not."""
    sure = ago(3, "4", 0.80, 0.84, reach=0.013)
    unsure = ago(2, "5", 0.80, 0.85, reach=0.078)
    for earlier in ([sure], [sure, unsure], [unsure, sure]):
        verdict = decide(tau(0.80), versus(0.80, 0.80), earlier)
        assert (verdict.publish, verdict.rule) == (False, "below the best")
        assert "0.040 below 0.840 of version 4" in verdict.reason
    assert decide(tau(0.80), versus(0.80, 0.80), [unsure]).publish


def test_a_comparison_at_another_level_is_refused():
    with pytest.raises(ValueError, match=r"of level 0\.95 and the gate's"):
        decide(tau(0.84), versus(0.84, 0.81, level=0.95))
    with pytest.raises(ValueError, match="compare at the same level"):
        decide(tau(0.8), versus(0.8, 0.8), [ago(3, "4", 0.8, 0.9, level=0.9)])


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 1.0},
        {"confidence": 0.0},
        {"drop": -0.1},
        {"drop": 2.1},
        {"drop_errors": -1.0},
        {"drop_errors": float("inf")},
        {"nights": -1},
        {"fewest_votes": 0},
    ],
)
def test_settings_without_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is"):
        GateSettings(**wrong)


# With real fits


def scores_of(votes: pd.DataFrame) -> pd.Series:
    return urlr.fit(votes, replicates=0).scores.set_index("item")["score"]


def judged_by(votes: pd.DataFrame, challenger: pd.Series, champion: pd.Series):
    """Verdict and comparison on these votes."""
    rng = np.random.default_rng(0)
    found = compare(challenger, champion, votes, rng=rng)
    return decide(tau_with_votes(challenger, votes, rng=rng), found), found


@pytest.mark.parametrize("seed", range(4))
def test_a_campaign_that_convinces_the_votes_does_not_convince_the_people(seed):
    """4 of 100 people cast 30 % of the votes, for a fifth of the items; nobody has features.

    The champion was fitted before they came. Over seeds 0 to 9 plain tau rose by 0.03 to 0.11,
    tau by person fell by 0.04 to 0.15 and tau with the truth by 0.11 to 0.27.
    """
    made = crowd(
        rng=np.random.default_rng(seed),
        n_items=100,
        n_votes=40_000,
        n_annotators=100,
        shares=AnnotatorShares(campaign=0.04),
        campaign_votes=0.3,
        pushed=0.2,
    )
    split = split_votes(urlr.vote_table(made.votes), by_items=False)
    pushes = pd.Series(made.planted == "campaign", made.votes.index)
    champion = scores_of(split.train[~pushes[split.train.index]])
    challenger = scores_of(split.train)
    assert tau_b(challenger, made.truth) < tau_b(champion, made.truth) - 0.1

    verdict, found = judged_by(split.held_out, challenger, champion)
    assert found.difference.plain.value > 0.02
    assert found.difference.by_person.value < -0.03
    assert (verdict.publish, verdict.rule) == (False, "worse than the champion")

    nameless, _ = judged_by(split.held_out.drop(columns="annotator"), challenger, champion)
    assert nameless.publish
    assert "a campaign cannot be seen" in nameless.reason


def test_more_honest_votes_are_published():
    made = crowd(rng=np.random.default_rng(1), n_items=60, n_votes=6000)
    split = split_votes(urlr.vote_table(made.votes), by_items=False)
    train = split.train
    verdict, found = judged_by(
        split.held_out, scores_of(train), scores_of(train.iloc[: len(train) // 5])
    )
    assert verdict.publish
    ours, theirs = (one.by_person.value for one in (found.challenger, found.champion))
    assert verdict.reason.startswith(f"tau {theirs:.3f} -> {ours:.3f} on {len(split.held_out):,}")


def test_a_model_of_nothing_is_no_first_model():
    made = crowd(rng=np.random.default_rng(2), n_items=60, n_votes=3000)
    draw = np.random.default_rng(0)
    scores = made.truth.sample(frac=1, random_state=3).set_axis(made.truth.index)
    split = split_votes(urlr.vote_table(made.votes), by_items=False)
    verdict = decide(tau_with_votes(scores, split.held_out, level=0.99, rng=draw), None)
    assert (verdict.publish, verdict.rule) == (False, "no better than chance")
