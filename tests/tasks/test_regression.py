"""Which attributes got worse, beyond chance among many."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from recorded_nights import judged, recorded
from scipy import special, stats

from tasks.evaluate import Estimate, VoteTau, compare
from tasks.regression import regressed

WORSE = Estimate(-0.2, -0.25, -0.15, 0.02)


def estimated(sample, *, level: float = 0.99, most: float = 2.0) -> Estimate:
    """The mean of a sample with the usual interval, cut off where nothing can be."""
    n = len(sample)
    mean, error = float(np.mean(sample)), float(np.std(sample, ddof=1)) / math.sqrt(n)
    reach = error * float(special.stdtrit(n - 1, 0.5 + level / 2))
    return Estimate(mean, max(mean - reach, -most), min(mean + reach, most), error)


def names(night, **level) -> list[str]:
    return [entry.attribute for entry in regressed(night, **level)]


def hand_worked(chances: dict[str, float], level: float) -> list[str]:
    """Benjamini and Hochberg in their own words: up to the last that is below its share."""
    order = sorted(chances, key=lambda name: chances[name])
    below = [k for k, name in enumerate(order, 1) if chances[name] <= level * k / len(order)]
    return order[: max(below, default=0)]


@pytest.mark.parametrize("n", [2, 3, 8, 60, 1000])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_one_attribute_alone_is_judged_as_by_students_test(n, level):
    sample = np.random.default_rng(n).normal(-0.005, 0.01, n)
    chance = stats.ttest_1samp(sample, 0.0, alternative="less").pvalue
    night = recorded(1, judged("one", estimated(sample, level=level), level=level))
    assert names(night, level=chance * 1.001) == ["one"]
    assert names(night, level=chance * 0.999) == []


def test_an_interval_cut_off_at_one_end_is_read_by_the_other():
    sample = np.array([-1.0, -1.7])
    found = estimated(sample, level=0.9)
    assert found.low == -2.0 < found.high < 2.0
    chance = stats.ttest_1samp(sample, 0.0, alternative="less").pvalue
    night = recorded(1, judged("one", found, level=0.9))
    assert names(night, level=chance * 1.001) == ["one"]
    assert names(night, level=chance * 0.999) == []


def test_many_attributes_are_judged_as_benjamini_and_hochberg_say():
    rng = np.random.default_rng(1)
    samples = {f"a{k:03d}": rng.normal(-0.12 if k < 15 else 0.0, 0.2, 25) for k in range(100)}
    chances = {
        name: float(stats.ttest_1samp(sample, 0.0, alternative="less").pvalue)
        for name, sample in samples.items()
    }
    night = recorded(1, *(judged(name, estimated(sample)) for name, sample in samples.items()))
    for level in (0.01, 0.05, 0.3):
        expected = hand_worked(chances, level)
        assert names(night, level=level) == expected
        assert expected
        assert len(expected) < sum(chance <= level for chance in chances.values()) + 1


def test_of_those_named_few_are_named_by_chance():
    rng = np.random.default_rng(2)
    shares, found = [], 0
    for _ in range(50):
        entries = [
            judged(f"{'worse' if k < 20 else 'same'}{k}", estimated(rng.normal(mean, 0.2, 20)))
            for k in range(100)
            for mean in [-0.2 if k < 20 else 0.0]
        ]
        named = names(recorded(1, *entries))
        wrong = sum(name.startswith("same") for name in named)
        shares.append(wrong / max(len(named), 1))
        found += len(named) - wrong
    assert np.mean(shares) <= 0.05
    assert found > 0.9 * 50 * 20


@pytest.mark.full
def test_where_nothing_got_worse_hardly_a_night_names_anything():
    rng = np.random.default_rng(3)
    nights = [
        recorded(1, *(judged(str(k), estimated(rng.normal(0, 0.2, 20))) for k in range(50)))
        for _ in range(100)
    ]
    assert sum(bool(regressed(night)) for night in nights) <= 0.05 * 100 + 4  # two errors


def test_better_is_not_worse():
    better = Estimate(0.2, 0.15, 0.25, 0.02)
    assert regressed(recorded(1, judged("better", better), judged("worse", WORSE))) == [
        recorded(1, judged("worse", WORSE)).entries["worse"]
    ]


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (Estimate(-0.5, -2.0, 2.0, math.inf), False),
        (Estimate(-0.5, -2.0, 2.0, 0.4), False),
        (Estimate(-0.5, -0.5, -0.5, 0.0), False),
        (Estimate(0.0, 0.0, 0.0, 0.0), False),
        (None, False),
        (WORSE, True),
    ],
)
def test_what_could_not_be_drawn_names_nothing_and_what_is_sure_does(found, named):
    assert bool(regressed(recorded(1, judged("one", found)))) == named


def compared(people: int, votes_each: int) -> VoteTau:
    """Scores that order every vote wrongly, held against those that order all rightly."""
    votes = pd.DataFrame(
        {
            "winner": [f"w{k}" for k in range(votes_each)] * people,
            "loser": [f"l{k}" for k in range(votes_each)] * people,
            "annotator": np.repeat([f"p{k}" for k in range(people)], votes_each),
        }
    )
    items = [f"{side}{k}" for side in "wl" for k in range(votes_each)]
    right = pd.Series([1.0] * votes_each + [0.0] * votes_each, items)
    return compare(-right, right, votes, rng=np.random.default_rng(0)).difference


@pytest.mark.parametrize(
    ("people", "votes_each", "named"), [(2, 1, False), (2, 30, False), (5, 4, True), (30, 1, True)]
)
def test_a_few_people_who_all_say_the_same_prove_nothing(people, votes_each, named):
    """Two would by chance every fourth time; five at one in 32."""
    difference = compared(people, votes_each)
    assert (difference.deciding.value, difference.deciding.error) == (-2.0, 0.0)
    entry = replace(judged("one", WORSE), difference=difference)
    assert bool(regressed(recorded(1, entry))) == named


def test_an_error_that_is_rounding_is_none():
    """Drawn from people who all lost a third of their votes."""
    rounded = Estimate(-2 / 3, -2 / 3, -2 / 3, 1e-17)
    assert names(recorded(1, judged("one", rounded, n_people=2))) == []
    assert names(recorded(1, judged("one", rounded, n_people=20))) == ["one"]


def test_what_rests_on_fewer_votes_than_the_gate_asks_for_names_nothing_and_is_no_test():
    few = [judged(f"few{k}", WORSE, n_votes=19) for k in range(50)]
    assert names(recorded(1, *few)) == []
    assert names(recorded(1, judged("enough", WORSE, n_votes=20))) == ["enough"]
    chance = special.ndtr(-2.0)  # 0.023, named alone and not among 50 others
    sure = Estimate(-0.2, -0.2 - 0.1 * 2.5758293, -0.2 + 0.1 * 2.5758293, 0.1)
    assert names(recorded(1, *few, judged("many", sure)), level=chance * 1.01) == ["many"]


@pytest.mark.parametrize(
    ("outcome", "named"),
    [("published", True), ("held", True), ("unchanged", False), ("failed", False)],
)
def test_only_what_was_judged_tonight_is_named(outcome, named):
    """An attribute that is unchanged keeps the figures of the night it was judged."""
    assert bool(regressed(recorded(1, judged("one", WORSE, outcome=outcome)))) == named


def test_a_night_without_attributes_names_none():
    assert regressed(recorded(1)) == []
