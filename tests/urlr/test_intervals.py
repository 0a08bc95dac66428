"""Intervals on shares and on areas under a curve, by hand and against a library."""

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from urlr.diagnostics.intervals import auc_interval, share_interval
from urlr.errors import VoteError


def flags(text):
    return np.array([sign == "x" for sign in text])


def test_auc_of_four_votes_by_hand():
    """Of 2 x 2 pairs 3 are in order; both kinds of shares are 1 and 1/2, of variance 1/8."""
    found = auc_interval(np.array([4.0, 3.0, 2.0, 1.0]), flags("x.x."))
    assert found.value == 0.75
    error = np.sqrt(1 / 8 / 2 + 1 / 8 / 2) / (0.75 * 0.25)
    ends = 1 / (1 + np.exp(-(np.log(3.0) + np.array([-1.0, 1.0]) * 1.6448536 * error)))
    np.testing.assert_allclose([found.low, found.high], ends, rtol=1e-6)


def test_equal_suspicion_says_nothing():
    found = auc_interval(np.zeros(40), np.arange(40) < 5)
    assert found.value == 0.5
    assert found.low <= 0.5 <= found.high


def test_a_perfect_order_of_few_votes_is_not_certain():
    found = auc_interval(np.arange(20.0), np.arange(20) >= 15)
    by_library = stats.binomtest(5, 5).proportion_ci(0.9, method="exact")
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(by_library.low)
    turned = auc_interval(-np.arange(20.0), np.arange(20) >= 15)
    assert (turned.value, turned.low, turned.high) == (0.0, 0.0, pytest.approx(1 - found.low))


def test_auc_interval_is_as_wide_as_over_votes_drawn_anew():
    draw = np.random.default_rng(0)

    def drawn():
        wrong = np.arange(1000) < 50
        return auc_interval(draw.standard_normal(1000) + 1.5 * wrong, wrong)

    found = [drawn() for _ in range(300)]
    true = stats.norm.cdf(1.5 / np.sqrt(2))
    assert np.mean([one.low <= true <= one.high for one in found]) == pytest.approx(0.9, abs=0.05)


def test_auc_needs_both_kinds():
    with refused(VoteError, "one_kind_of_vote", n_wrong=0, n_votes=3):
        auc_interval(np.arange(3.0), np.zeros(3, np.bool_))


@pytest.mark.parametrize(("right", "n"), [(0, 7), (7, 7), (13, 20), (950, 1000)])
def test_share_of_votes_on_their_own_vs_scipy(right, n):
    found = share_interval((np.arange(n) < right).astype(float), np.ones(n), np.arange(n))
    expected = stats.binomtest(right, n).proportion_ci(0.9, method="wilson")
    np.testing.assert_allclose([found.low, found.high], expected, atol=1e-12)
    assert found.value == right / n


def test_a_vote_repeated_on_its_pair_tells_nothing_new():
    right = (np.arange(20) < 13).astype(float)
    once = share_interval(right, np.ones(20), np.arange(20))
    thrice = share_interval(np.repeat(right, 3), np.ones(60), np.repeat(np.arange(20), 3))
    apart = share_interval(np.repeat(right, 3), np.ones(60), np.arange(60))
    np.testing.assert_allclose([thrice.low, thrice.high], [once.low, once.high], rtol=1e-9)
    assert apart.low > once.low


def test_the_unit_of_the_weights_does_not_matter():
    right = (np.arange(30) % 3 > 0).astype(float)
    weight = 1.0 + np.arange(30) % 4
    one, other = (share_interval(right, unit * weight, np.arange(30)) for unit in (1.0, 50.0))
    assert one.value == pytest.approx(other.value)
    assert one.low == pytest.approx(other.low)
