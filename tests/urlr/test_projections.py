"""Principal components, of the columns and of a kernel, against scikit-learn."""

import numpy as np
import pytest
import sklearn.decomposition
from graphs import seeded

from urlr.space.projections import PCA, KernelPCA


def up_to_sign(ours, theirs):
    signs = np.sign(np.sum(ours * theirs, axis=0))
    return ours * signs


# --- of the columns


@pytest.mark.parametrize("shape", [(60, 8), (8, 60), (20, 20)])
def test_pca_vs_sklearn(shape):
    values = seeded().standard_normal(shape) @ np.diag(np.linspace(1, 3, shape[1]))
    step = PCA.fit(values, 5)
    expected = sklearn.decomposition.PCA(5, svd_solver="full").fit(values)
    new = seeded(1).standard_normal((4, shape[1]))
    for rows in (values, new):
        theirs = expected.transform(rows)
        np.testing.assert_allclose(up_to_sign(step.apply(rows), theirs), theirs, atol=1e-9)
    np.testing.assert_allclose(step.components.T @ step.components, np.eye(5), atol=1e-12)


def test_pca_stops_at_the_rank():
    for n, d in ((50, 10), (10, 50)):
        values = seeded().standard_normal((n, 3)) @ seeded(1).standard_normal((3, d))
        assert PCA.fit(values, 8).n_out == 3


def test_largest_loading_is_positive():
    for n, d in ((50, 10), (10, 50)):
        components = PCA.fit(seeded().standard_normal((n, d)), 6).components
        largest = np.abs(components).argmax(axis=0)
        assert (components[largest, np.arange(6)] > 0).all()


def test_tied_loadings_keep_their_sign_when_rows_move():
    x = seeded().standard_normal(30)
    values = np.column_stack([x, -x])
    for seed in range(5):
        components = PCA.fit(seeded(seed).permutation(values), 1).components
        np.testing.assert_allclose(components[:, 0], [0.5**0.5, -(0.5**0.5)])


# --- of a kernel


@pytest.mark.parametrize("gamma", [None, 0.05, 2.0])
def test_kernel_pca_vs_sklearn(gamma):
    values = seeded().standard_normal((60, 4)) * [1, 2, 3, 4]
    new = seeded(1).standard_normal((15, 4)) * 3
    step = KernelPCA.fit(values, 6, gamma=gamma, rng=seeded())
    expected = sklearn.decomposition.KernelPCA(
        6, kernel="rbf", gamma=gamma or 1 / (4 * values.var()), eigen_solver="dense"
    ).fit(values)
    ours, theirs = step.apply(values), expected.transform(values)
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours * signs, theirs, atol=1e-9)
    np.testing.assert_allclose(step.apply(new) * signs, expected.transform(new), atol=1e-9)


def test_nystroem_with_all_but_one_row_is_nearly_kernel_pca():
    values = seeded().standard_normal((80, 3))
    exact = KernelPCA.fit(values, 4, rng=seeded())
    close = KernelPCA.fit(values, 4, exact_limit=79, rng=seeded())
    assert len(close.landmarks) == 79
    new = seeded(1).standard_normal((20, 3))
    for rows in (values, new):
        ours, theirs = close.apply(rows), exact.apply(rows)
        np.testing.assert_allclose(up_to_sign(ours, theirs), theirs, atol=1e-2)


def test_nystroem_on_a_wide_kernel_approximates_kernel_pca():
    """A wide kernel has few eigenvalues that matter; a third of the rows spans them."""
    values = seeded().standard_normal((300, 2))
    exact = KernelPCA.fit(values, 4, gamma=0.05, rng=seeded())
    close = KernelPCA.fit(values, 4, gamma=0.05, exact_limit=100, rng=seeded())
    theirs = exact.apply(values)
    np.testing.assert_allclose(up_to_sign(close.apply(values), theirs), theirs, atol=1e-4)


def test_same_seed_gives_same_landmarks():
    values = seeded().standard_normal((50, 3))
    first, again, other = (
        KernelPCA.fit(values, 4, exact_limit=20, rng=seeded(s)) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.apply(values), again.apply(values))
    assert not np.array_equal(first.landmarks, other.landmarks)


def test_kernel_pca_is_blind_to_how_rows_are_cut_into_blocks(monkeypatch):
    values = seeded().standard_normal((50, 3))
    whole = KernelPCA.fit(values, 4, exact_limit=20, rng=seeded(1)).apply(values)
    monkeypatch.setattr("urlr.space.projections._BLOCK", 140)
    cut = KernelPCA.fit(values, 4, exact_limit=20, rng=seeded(1)).apply(values)
    np.testing.assert_allclose(cut, whole, atol=1e-9)


def test_kernel_pca_stops_at_the_rank():
    values = np.repeat(seeded().standard_normal((4, 3)), 10, axis=0)
    for exact_limit in (2000, 39):
        assert KernelPCA.fit(values, 10, exact_limit=exact_limit, rng=seeded()).n_out == 3
