"""Attributes that got worse, among many that only seem to have."""

from dataclasses import replace

import numpy as np
import pytest
from nights import entry, night, vote_tau
from scipy import stats

from tasks.regression import regressed


def with_p_values(*p_values: float):
    """A night of attributes whose challengers are worse with these p-values."""
    return night(
        *(
            entry(f"a{k:04d}", difference=vote_tau(0.01 * z))
            for k, z in enumerate(stats.norm.ppf(p_values).tolist())
        )
    )


def named(found) -> list[str]:
    return [one.attribute for one in found]


def test_the_example_of_benjamini_and_hochberg_names_the_first_four():
    """Their table of 1995: 15 comparisons, of which Bonferroni keeps three and they four."""
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p_values += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 0.9999]
    assert named(regressed(with_p_values(*p_values))) == ["a0000", "a0001", "a0002", "a0003"]


def test_a_gain_however_sure_is_no_regression():
    assert regressed(night(entry("a", difference=vote_tau(+0.5)))) == []
    assert named(regressed(night(entry("a", difference=vote_tau(-0.5))))) == ["a"]


def test_a_thousand_attributes_that_did_not_change_name_hardly_any():
    rng = np.random.default_rng(0)
    nights = [with_p_values(*rng.uniform(size=1000)) for _ in range(20)]
    assert sum(bool(regressed(one)) for one in nights) <= 3


@pytest.mark.parametrize("outcome", ["unchanged", "failed"])
def test_only_what_was_judged_that_night_counts(outcome):
    worse = entry("a", difference=vote_tau(-0.5))
    assert regressed(night(replace(worse, outcome=outcome))) == []
    assert regressed(night(replace(worse, run="20261101T000000Z-000000"))) == []


def test_what_has_no_error_to_go_by_shows_nothing():
    assert regressed(night(entry("a", difference=vote_tau(-0.5, error=float("inf"))))) == []
    assert regressed(night(entry("a", difference=None))) == []
    assert regressed(night()) == []
