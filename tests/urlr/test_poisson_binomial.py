"""Tails of weighted sums of yes/no outcomes, against enumeration and convolution."""

import itertools

import numpy as np
import pytest
from graphs import seeded
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from urlr.people.poisson_binomial import lower_tail_deviates


def tail(weight, chance, observed, count=None):
    """P(S <= s) for every s observed of one and the same sum."""
    observed = np.atleast_1d(np.asarray(observed, np.float64))
    n, m = len(weight), observed.size
    count = np.ones(n) if count is None else np.asarray(count, np.float64)
    group = np.repeat(np.arange(m), n)
    deviates = lower_tail_deviates(
        np.tile(weight, m), np.tile(chance, m), np.tile(count, m), group, observed
    )
    return special.ndtr(deviates)


def enumerated(weight, chance):
    """Values of the sum in order, with P(S <= value)."""
    states = np.array(list(itertools.product([0, 1], repeat=len(weight))))
    values = states @ weight
    mass = np.prod(np.where(states == 1, chance, 1 - chance), axis=1)
    order = np.argsort(values)
    return values[order], np.cumsum(mass[order])


def test_tails_are_right_to_a_few_per_cent_far_out():
    chance = seeded(1).uniform(0.55, 0.97, 16)
    weight = special.logit(chance)
    values, below = enumerated(weight, chance)
    at = np.searchsorted(below, [1e-7, 1e-5, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(tail(weight, chance, values[at]), below[at], rtol=0.03)


def test_equal_weights_give_the_binomial_distribution():
    steps = np.arange(20)
    found = tail(np.full(20, 2.5), np.full(20, 0.84), 2.5 * steps)
    np.testing.assert_allclose(found, stats.binom.cdf(steps, 20, 0.84), rtol=0.03)


def test_whole_weights_lie_between_below_and_at_most():
    rng = seeded(2)
    weight, chance = rng.integers(1, 4, 60), rng.uniform(0.5, 0.95, 60)
    mass = np.ones(1)
    for w, q in zip(weight, chance, strict=True):
        mass = np.convolve(mass, np.append(np.append(1 - q, np.zeros(w - 1)), q))
    at_most = np.cumsum(mass)
    steps = np.arange(50, 120, 5)
    found = tail(weight.astype(float), chance, steps)
    assert (found > 0.95 * (at_most - mass)[steps]).all()
    assert (found < 1.05 * at_most[steps]).all()


def test_the_ends_are_exact():
    weight, chance = np.array([1.0, 2.5, 0.7]), np.array([0.8, 0.9, 0.6])
    found = tail(weight, chance, [-1.0, 0.0, 4.2, 9.0])
    np.testing.assert_allclose(found, [0.008, 0.008, 1.0, 1.0])


def test_a_sum_of_nothing_is_certain():
    none = np.zeros(0)
    np.testing.assert_array_equal(
        lower_tail_deviates(none, none, none, np.zeros(0, np.int32), np.zeros(2)), 38.0
    )
    assert tail(np.zeros(3), np.full(3, 0.7), [0.0]) == 1.0


def test_a_count_is_as_good_as_so_many_rows():
    rng = seeded(3)
    weight, chance, count = rng.normal(size=5), rng.uniform(0.1, 0.9, 5), np.array([3, 1, 4, 2, 5])
    once = tail(weight, chance, [0.5, 1.0], count)
    np.testing.assert_allclose(
        once, tail(np.repeat(weight, count), np.repeat(chance, count), [0.5, 1.0])
    )


def test_a_negative_weight_counts_the_other_outcome():
    rng = seeded(4)
    weight, chance = rng.normal(size=12), rng.uniform(0.2, 0.8, 12)
    turned = tail(-weight, 1 - chance, [0.3 - weight.sum()])
    np.testing.assert_allclose(tail(weight, chance, [0.3]), turned, rtol=1e-6)


def test_sums_do_not_mix():
    rng = seeded(5)
    weight, chance, group = rng.random(60), rng.uniform(0.2, 0.9, 60), rng.integers(4, size=60)
    observed = np.array([1.0, 2.0, 3.0, 4.0])
    together = lower_tail_deviates(weight, chance, np.ones(60), group, observed)
    for g in range(4):
        alone = tail(weight[group == g], chance[group == g], observed[g])
        assert special.ndtr(together[g]) == pytest.approx(float(alone[0]), rel=1e-4)


def test_tails_rise_with_the_sum():
    rng = seeded(6)
    weight, chance = rng.uniform(0.2, 3.0, 30), rng.uniform(0.3, 0.95, 30)
    assert (np.diff(tail(weight, chance, np.linspace(0, weight.sum(), 200))) >= 0).all()


@given(
    st.lists(
        st.tuples(st.floats(-1e3, 1e3), st.floats(0, 1), st.integers(0, 50)), min_size=1, max_size=8
    ),
    st.lists(st.floats(-1e5, 1e5), min_size=1, max_size=5),
)
def test_any_rows_give_probabilities(rows, observed):
    weight, chance, count = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    found = tail(weight, chance, observed, count)
    assert ((found >= 0) & (found <= 1)).all()
