"""The feature space in which a plain ridge is a sensible prior."""

import numpy as np
import pytest
from graphs import seeded
from scipy.spatial.distance import cdist

from urlr.kernels import distances
from urlr.space.prior import PriorSpace


def values_of(n=80, d=6, seed=0):
    return seeded(seed).standard_normal((n, d)) @ np.diag(np.linspace(0.5, 2.0, d))


@pytest.mark.parametrize("bent", [False, True])
def test_rows_have_length_one_in_the_mean(bent):
    """So that the inverse of the ridge is the prior variance of a score."""
    values = values_of()
    mapped = PriorSpace.fit(values, bent=bent, rng=seeded()).apply(values)
    assert (mapped**2).sum(axis=1).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(mapped.mean(axis=0), 0.0, atol=1e-9)


def test_with_all_rows_as_landmarks_the_kernel_is_the_laplace_kernel():
    values = values_of()
    step = PriorSpace.fit(values, bent=True, rng=seeded())
    clipped = np.clip(values, -3, 3)
    distance = cdist(clipped, clipped, "cityblock")
    kernel = np.exp(-distance / (distance.sum() / (80 * 79)))
    centre = np.eye(80) - 1 / 80
    kernel = centre @ kernel @ centre
    bent = step.apply(values)[:, step.directions.shape[1] :]
    ours = bent @ bent.T
    np.testing.assert_allclose(ours / np.trace(ours), kernel / np.trace(kernel), atol=2e-4)


def test_directions_are_those_of_the_columns_turned():
    values = values_of(500)
    values = np.clip(values, -3, 3)
    mapped = PriorSpace.fit(values, bent=False, rng=seeded()).apply(values)
    centred = values - values.mean(axis=0)
    ours = mapped @ mapped.T
    straight = centred @ centred.T
    np.testing.assert_allclose(ours / np.trace(ours), straight / np.trace(straight), atol=1e-12)


def test_a_wild_value_counts_as_three_deviations():
    step = PriorSpace.fit(values_of(), bent=True, rng=seeded())
    row = np.zeros((1, 6))
    wild, far = row.copy(), row.copy()
    wild[0, 2], far[0, 2] = 1e9, 3.0
    np.testing.assert_array_equal(step.apply(wild), step.apply(far))


def test_many_rows_are_mapped_by_landmarks_and_the_seed_decides_which():
    values = values_of(1200)
    first, same, other = (
        PriorSpace.fit(values, bent=True, rng=seeded(seed)).apply(values[:5]) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (5, 1), (4, 40)])
def test_few_rows_or_columns_still_give_a_space(shape):
    values = seeded().standard_normal(shape)
    step = PriorSpace.fit(values, bent=True, rng=seeded())
    mapped = step.apply(values)
    assert np.isfinite(mapped).all()
    assert mapped.shape == (shape[0], step.n_out)
    assert step.flaw() == ""


def test_equal_rows_have_no_kernel_and_no_directions():
    step = PriorSpace.fit(np.ones((4, 3)), bent=True, rng=seeded())
    assert np.isfinite(step.apply(np.ones((2, 3)))).all()


@pytest.mark.parametrize(("n", "components"), [(80, 79), (400, 100), (700, 100)])
def test_as_fitted_the_kernel_has_two_fifths_of_the_variance_and_100_components_at_most(
    n, components
):
    values = values_of(n)
    step = PriorSpace.fit(values, bent=True, rng=seeded())
    bent = step.apply(values)[:, step.directions.shape[1] :]
    assert bent.shape[1] == components
    assert (bent**2).sum(axis=1).mean() == pytest.approx(0.4)


def test_the_kernel_can_be_left_out():
    values = values_of()
    step = PriorSpace.fit(values, bent=True, rng=seeded())
    straight = PriorSpace.fit(values, bent=False, rng=seeded())
    assert straight.straight() is straight
    np.testing.assert_allclose(step.unbent(step.apply(values)), straight.apply(values), rtol=1e-12)
    np.testing.assert_allclose(step.straight().apply(values), straight.apply(values), rtol=1e-12)


def test_some_of_the_rows_tell_nearly_the_same_components(monkeypatch):
    values = values_of(1200)
    whole = PriorSpace.fit(values, bent=True, rng=seeded()).apply(values)
    monkeypatch.setattr("urlr.space.prior._SEEN", 900)
    some = PriorSpace.fit(values, bent=True, rng=seeded()).apply(values)
    assert some.shape == whole.shape
    likeness = np.corrcoef((some @ some.T).ravel(), (whole @ whole.T).ravel())[0, 1]
    assert 0.99 < likeness < 1.0


def test_distances_are_those_of_scipy_to_the_bit():
    values, others = values_of(37), values_of(11, seed=1)
    found = distances(values, np.ascontiguousarray(others.T))
    np.testing.assert_array_equal(found, cdist(values, others, "cityblock"))
