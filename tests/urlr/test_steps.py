"""Steps from raw features to the original space: gaps, chi-square, standardising."""

import numpy as np
import pytest
from graphs import matrices, names, seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.preprocessing import StandardScaler

from urlr.errors import FeatureError
from urlr.space.maps import original_space
from urlr.space.steps import Impute, Standardise

FINITE = st.floats(allow_nan=False, allow_infinity=False)


# --- gaps


def test_missing_value_gets_mean_and_indicator():
    values = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0]])
    impute = Impute.fit(values)
    np.testing.assert_array_equal(impute.apply(values), [[1, 5, 0], [2, 6, 1], [3, 7, 0]])


def test_new_gap_in_a_column_without_indicator_gets_mean():
    impute = Impute.fit(np.array([[1.0, 5.0], [3.0, 7.0]]))
    np.testing.assert_array_equal(impute.apply(np.array([[np.nan, 9.0]])), [[2, 9]])


def test_column_missing_everywhere_is_dropped():
    values = np.array([[np.nan, 5.0], [np.nan, 7.0]])
    space = original_space(values, ("a", "b"))
    assert space.n_out == 1
    np.testing.assert_array_equal(space.map(values), [[-1], [1]])
    np.testing.assert_array_equal(space.map(np.array([[4.0, 7.0]])), [[1]])


# --- standardising


def test_original_space_vs_sklearn():
    values = seeded().standard_normal((40, 5)) * [1, 10, 1e-3, 1e6, 1] + [0, 5, 1, -1e6, 3]
    expected = StandardScaler().fit_transform(values)
    np.testing.assert_allclose(original_space(values, names(5)).map(values), expected, atol=1e-9)


def test_constant_columns_are_dropped():
    values = np.column_stack([np.full(7, 0.1), np.arange(7.0), np.full(7, 1e300), np.zeros(7)])
    values[3, 0] = np.nextafter(0.1, 1)
    assert original_space(values, names(4)).n_out == 1


def test_small_noise_on_a_large_offset_is_a_feature():
    noise = seeded().standard_normal(200) * 1e-3
    values = (1e9 + noise)[:, np.newaxis]
    standard = original_space(values, ("a",)).map(values)
    assert np.corrcoef(standard[:, 0], noise)[0, 1] > 1 - 1e-6
    # The mean is known to half a unit in the last place of 1e9, 6e-8, or 6e-5 spreads.
    np.testing.assert_allclose([standard.mean(), standard.std()], [0, 1], atol=1e-4)


@pytest.mark.parametrize("scale", [1e308, 1e300, 1e-300, 5e-324 * 2**40])
def test_extreme_magnitudes_are_standardised_like_ordinary_ones(scale):
    values = seeded().uniform(-1, 1, (30, 2))
    values[0, 0] = np.nan
    expected = original_space(values, ("a", "b")).map(values)
    huge = original_space(values * scale, ("a", "b")).map(values * scale)
    np.testing.assert_allclose(huge, expected, atol=1e-9)


@given(values=matrices(FINITE))
@settings(max_examples=150)
def test_standardised_columns_have_mean_0_and_spread_1(values):
    step = Standardise.fit(values)
    standard = step.apply(values)
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-2)
    np.testing.assert_allclose(standard.std(axis=0), 1, atol=1e-2)


# --- chi-square


def test_chi_square_vs_sklearn():
    values = seeded().random((20, 3))
    values[4, 1] = 0
    space = original_space(values, names(3), chi_square=2)
    expected = StandardScaler().fit_transform(AdditiveChi2Sampler().fit_transform(values))
    np.testing.assert_allclose(space.map(values), expected, atol=1e-9)


def test_chi_square_leaves_indicators_alone():
    values = seeded().random((20, 2))
    values[:4, 1] = np.nan
    mapped = original_space(values, ("a", "b"), chi_square=2).map(values)
    assert mapped.shape == (20, 7)
    assert set(np.sign(mapped[:, -1])) == {-1, 1}
    np.testing.assert_array_equal(mapped[:, -1] > 0, np.isnan(values[:, 1]))


def test_chi_square_refuses_negative_values():
    values = np.array([[1.0, -1.0, 2.0], [2.0, -3.0, -1.0]])
    negative = {"count": 3, "n_columns": 2, "columns": ["b", "c"]}
    with refused(FeatureError, "negative_values", **negative):
        original_space(values, ("a", "b", "c"), chi_square=1)
    space = original_space(np.abs(values), ("a", "b", "c"), chi_square=1)
    with refused(FeatureError, "negative_values", **negative):
        space.map(values)
    with refused(FeatureError, "wrong_sample_steps", sample_steps=4):
        original_space(np.abs(values), ("a", "b", "c"), chi_square=4)


@given(values=matrices(st.floats(0, allow_infinity=False) | st.just(np.nan)))
@settings(max_examples=80)
def test_finite_in_finite_out_under_chi_square(values):
    try:
        space = original_space(values, names(values.shape[1]), chi_square=3)
    except FeatureError:
        return
    assert np.isfinite(space.map(values)).all()
