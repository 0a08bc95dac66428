"""Feature tables, what is odd about them, and the maps from raw features to a space."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import sklearn.decomposition
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.preprocessing import StandardScaler

from urlr.errors import FeatureError, ModelFileError
from urlr.features import ColumnProblems, FeatureTable, column_problems, feature_table
from urlr.projections import PCA, KernelPCA
from urlr.spaces import FeatureMap, original_space, reduced_space
from urlr.steps import Impute, Standardise


def rng(seed=0):
    return np.random.default_rng(seed)


def names(d):
    return tuple(f"f{k}" for k in range(d))


def matrices(elements, *, min_rows=2, columns=(1, 5)):
    shapes = st.tuples(st.integers(min_rows, 12), st.integers(*columns))
    return hnp.arrays(np.float64, shapes, elements=elements)


FINITE = st.floats(allow_nan=False, allow_infinity=False)
WITH_GAPS = st.floats(allow_nan=True, allow_infinity=False)


def up_to_sign(ours, theirs):
    signs = np.sign(np.sum(ours * theirs, axis=0))
    return ours * signs


def through_json(feature_map):
    description, arrays = feature_map.to_state()
    return FeatureMap.from_state(json.loads(json.dumps(description)), arrays)


# --- the table


def test_numbers_are_read_and_the_rest_is_listed():
    table = feature_table(
        pd.DataFrame(
            {
                "height": [1, 2],
                "url": ["a", "b"],
                "red": [True, False],
                "gap": [None, 2.5],
                "price": [Decimal("1.5"), None],
                "nullable": pd.array([None, True], dtype="boolean"),
                "when": pd.to_datetime(["2020-01-01", "2020-01-02"]),
                "wave": [1j, 2j],
            },
            index=["x", "y"],
        )
    )
    assert table.columns == ("height", "red", "gap", "price", "nullable")
    assert table.ignored == ("url", "when", "wave")
    assert list(table.items) == ["x", "y"]
    expected = [[1, 1, np.nan, 1.5, np.nan], [2, 0, 2.5, np.nan, 1]]
    np.testing.assert_array_equal(table.values, expected)
    assert table.values.dtype == np.float64


def test_column_without_any_value_is_numeric():
    """One new item with one gap must not look as if the column were not there."""
    table = feature_table(pd.DataFrame({"a": [None], "b": [1.0]}, index=["x"]))
    assert table.columns == ("a", "b")


def test_item_column_wins_over_index():
    table = feature_table(pd.DataFrame({"a": [1, 2], "item": [7, 8]}, index=["x", "y"]))
    assert list(table.items) == [7, 8]
    assert table.columns == ("a",)
    assert table.ignored == ()


def test_numbers_and_text_are_different_items():
    table = feature_table(pd.DataFrame({"item": [7, "7", "007"], "a": [1, 2, 3]}))
    assert list(table.items) == [7, "7", "007"]


def test_embeddings_become_columns():
    frame = pd.DataFrame({"embedding": [[1, 2], np.array([3.0, 4.0]), None], "a": [5, 6, 7]})
    table = feature_table(frame.set_index(pd.Index(["x", "y", "z"])))
    assert table.columns == ("embedding_0", "embedding_1", "a")
    np.testing.assert_array_equal(table.values, [[1, 2, 5], [3, 4, 6], [np.nan, np.nan, 7]])


def test_column_names_become_text():
    table = feature_table(pd.DataFrame(np.eye(2), index=["x", "y"]))
    assert table.columns == ("0", "1")


def test_named_or_shifted_default_index_is_accepted():
    frame = pd.DataFrame({"a": [1, 2]})
    assert list(feature_table(frame.rename_axis("item")).items) == [0, 1]
    assert list(feature_table(frame.set_index(frame.index + 1)).items) == [1, 2]


def test_take_keeps_the_order_asked_for():
    table = feature_table(pd.DataFrame({"a": [1, 2, 3]}, index=["x", "y", "z"]))
    taken = table.take(np.array([2, 0]))
    assert list(taken.items) == ["z", "x"]
    np.testing.assert_array_equal(taken.values, [[3], [1]])


def test_table_does_not_share_memory_with_its_frame():
    frame = pd.DataFrame(np.zeros((3, 2)), index=["x", "y", "z"])
    assert not np.shares_memory(feature_table(frame).values, frame.to_numpy())


INDEX = pd.Index(["x", "y"])


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        ([1, 2], "must be a pandas DataFrame, not list"),
        (pd.DataFrame(), "is empty .0 rows, 0 columns"),
        (pd.DataFrame({"a": []}), "is empty .0 rows, 1 column"),
        (pd.DataFrame(index=INDEX), "is empty .2 rows, 0 columns"),
        (pd.DataFrame({"a": [1, 2]}), "no column `item`.*set_index"),
        (pd.DataFrame({"item": ["x", None], "a": [1, 2]}), "1 of 2 rows have no item id.*rows 2"),
        (pd.DataFrame({"item": ["x", " "], "a": [1, 2]}), "1 of 2 rows have an empty item id"),
        (pd.DataFrame({"a": [1, 2]}, index=[0.5, 1]), "1 of 2 rows.*neither.*in the index"),
        (pd.DataFrame({"a": [1, 2]}, index=["x", "x"]), "1 item appears more than once.*x"),
        (pd.DataFrame({"item": [1, 1.0], "a": [1, 2]}), "1 item appears more than once"),
        (
            pd.DataFrame({"a": [1, np.inf], "b": [-np.inf, 2]}, index=INDEX),
            "2 feature values are infinite .columns a, b; items x, y.*missing",
        ),
        (pd.DataFrame({"a": [10**400, 1]}, index=INDEX), "1 feature value is infinite"),
        (pd.DataFrame({"url": ["a", "b"]}, index=INDEX), "no numeric column; not numeric: url"),
        (pd.DataFrame({"item": ["x", "y"]}), "no numeric column. Give"),
        (
            pd.DataFrame({"embedding": [[1, 2], [1]]}, index=INDEX),
            "lists of 2 different lengths .2 numbers for 1 item, 1 number for 1 item; items y",
        ),
        (pd.DataFrame({"embedding": ["[1]", "[2]"]}, index=INDEX), "2 of 2 rows hold something"),
        (pd.DataFrame({"embedding": [[1], ["a"]]}, index=INDEX), "1 of 2 rows.*items y"),
        (pd.DataFrame({"embedding": [[1], [[1]]]}, index=INDEX), "1 of 2 rows.*items y"),
        (pd.DataFrame({"embedding": [[], []]}, index=INDEX), "2 of 2 rows"),
        (pd.DataFrame({"embedding": [None, None]}, index=INDEX), "no list in any of 2 rows"),
        (pd.DataFrame(np.eye(2), index=INDEX, columns=["a", "a"]), "1 column name appears.*a"),
        (pd.DataFrame(np.eye(2), index=INDEX, columns=[1, "1"]), "1 column name appears.*1"),
        (
            pd.DataFrame({"embedding": [[1], [2]], "embedding_0": [1, 2]}, index=INDEX),
            "1 column name appears more than once .embedding_0",
        ),
    ],
)
def test_unusable_table_is_refused_with_a_reason(frame, text):
    with pytest.raises(FeatureError, match=text):
        feature_table(frame)


# --- what is odd about the columns


def test_odd_columns_are_found():
    values = rng().standard_normal((50, 8))
    values[:, 1] = 3.0
    values[:, 2] = np.nan
    values[:5, 3] = np.nan
    values[:, 5] = 2 - 7 * values[:, 4]
    values[:, 7] = values[:, 6] + values[:, 0]
    found = column_problems(values, names(8))
    assert found == ColumnProblems(
        n_columns=8,
        constant=("f1",),
        missing=(("f3", 5),),
        missing_everywhere=("f2",),
        collinear=(("f4", "f5"),),
        n_varying=6,
        rank=4,
        pairs_skipped=False,
    )
    assert found.sentences() == [
        "1 column without a value, not used: f2.",
        "1 constant column, not used: f1.",
        "1 column with missing values: f3 (5).",
        "1 group of columns that repeat each other: f4, f5.",
        "The 6 varying columns have rank 4 only.",
    ]


def test_sound_columns_give_no_finding():
    found = column_problems(rng().standard_normal((50, 4)), names(4))
    assert found.rank == found.n_varying == found.n_columns == 4
    assert found.sentences() == []


def test_too_many_columns_still_get_a_rank():
    found = column_problems(rng().standard_normal((20, 2100)), names(2100))
    assert found.pairs_skipped
    assert found.collinear == ()
    assert found.rank == 19
    assert "Not searched" in found.sentences()[-1]


# --- the original space


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


def test_original_space_vs_sklearn():
    values = rng().standard_normal((40, 5)) * [1, 10, 1e-3, 1e6, 1] + [0, 5, 1, -1e6, 3]
    expected = StandardScaler().fit_transform(values)
    np.testing.assert_allclose(original_space(values, names(5)).map(values), expected, atol=1e-9)


def test_constant_columns_are_dropped():
    values = np.column_stack([np.full(7, 0.1), np.arange(7.0), np.full(7, 1e300), np.zeros(7)])
    values[3, 0] = np.nextafter(0.1, 1)
    assert original_space(values, names(4)).n_out == 1


def test_small_noise_on_a_large_offset_is_a_feature():
    noise = rng().standard_normal(200) * 1e-3
    values = (1e9 + noise)[:, np.newaxis]
    standard = original_space(values, ("a",)).map(values)
    assert np.corrcoef(standard[:, 0], noise)[0, 1] > 1 - 1e-6
    # The mean is known to half a unit in the last place of 1e9, 6e-8, or 6e-5 spreads.
    np.testing.assert_allclose([standard.mean(), standard.std()], [0, 1], atol=1e-4)


@pytest.mark.parametrize("scale", [1e308, 1e300, 1e-300, 5e-324 * 2**40])
def test_extreme_magnitudes_are_standardised_like_ordinary_ones(scale):
    values = rng().uniform(-1, 1, (30, 2))
    values[0, 0] = np.nan
    expected = original_space(values, ("a", "b")).map(values)
    huge = original_space(values * scale, ("a", "b")).map(values * scale)
    np.testing.assert_allclose(huge, expected, atol=1e-9)


def test_chi_square_vs_sklearn():
    values = rng().random((20, 3))
    values[4, 1] = 0
    space = original_space(values, names(3), chi_square=2)
    expected = StandardScaler().fit_transform(AdditiveChi2Sampler().fit_transform(values))
    np.testing.assert_allclose(space.map(values), expected, atol=1e-9)


def test_chi_square_leaves_indicators_alone():
    values = rng().random((20, 2))
    values[:4, 1] = np.nan
    mapped = original_space(values, ("a", "b"), chi_square=2).map(values)
    assert mapped.shape == (20, 7)
    assert set(np.sign(mapped[:, -1])) == {-1, 1}
    np.testing.assert_array_equal(mapped[:, -1] > 0, np.isnan(values[:, 1]))


def test_chi_square_refuses_negative_values():
    values = np.array([[1.0, -1.0, 2.0], [2.0, -3.0, -1.0]])
    with pytest.raises(FeatureError, match=r"3 values are negative in 2 columns \(b, c\)"):
        original_space(values, ("a", "b", "c"), chi_square=1)
    space = original_space(np.abs(values), ("a", "b", "c"), chi_square=1)
    with pytest.raises(FeatureError, match="negative in 2 columns"):
        space.map(values)
    with pytest.raises(FeatureError, match="1, 2 or 3 sample steps"):
        original_space(np.abs(values), ("a", "b", "c"), chi_square=4)


def test_space_without_a_varying_column_is_refused():
    for values in (np.ones((3, 2)), np.full((3, 2), np.nan), np.ones((1, 2)), np.ones((0, 2))):
        with pytest.raises(FeatureError, match="no feature tells the items apart"):
            original_space(values, ("a", "b"))


def test_infinite_values_are_refused_by_name():
    with pytest.raises(FeatureError, match=r"1 feature value is infinite \(columns b"):
        original_space(np.array([[1.0, np.inf], [2.0, 3.0]]), ("a", "b"))


def test_no_rows_map_to_no_rows():
    values = rng().random((10, 3))
    for chi_square in (0, 1, 2):
        space = original_space(values, names(3), chi_square=chi_square)
        for kernel in (False, True):
            reduced = reduced_space(space, values, 2, kernel=kernel, rng=rng())
            assert reduced.map(values[:0]).shape == (0, 2)


# --- the reduced space


@pytest.mark.parametrize("shape", [(60, 8), (8, 60), (20, 20)])
def test_pca_vs_sklearn(shape):
    values = rng().standard_normal(shape) @ np.diag(np.linspace(1, 3, shape[1]))
    step = PCA.fit(values, 5)
    expected = sklearn.decomposition.PCA(5, svd_solver="full").fit(values)
    new = rng(1).standard_normal((4, shape[1]))
    for rows in (values, new):
        theirs = expected.transform(rows)
        np.testing.assert_allclose(up_to_sign(step.apply(rows), theirs), theirs, atol=1e-9)
    np.testing.assert_allclose(step.components.T @ step.components, np.eye(5), atol=1e-12)


def test_pca_stops_at_the_rank():
    for n, d in ((50, 10), (10, 50)):
        values = rng().standard_normal((n, 3)) @ rng(1).standard_normal((3, d))
        assert PCA.fit(values, 8).n_out == 3


def test_largest_loading_is_positive():
    for n, d in ((50, 10), (10, 50)):
        components = PCA.fit(rng().standard_normal((n, d)), 6).components
        largest = np.abs(components).argmax(axis=0)
        assert (components[largest, np.arange(6)] > 0).all()


def test_tied_loadings_keep_their_sign_when_rows_move():
    x = rng().standard_normal(30)
    values = np.column_stack([x, -x])
    for seed in range(5):
        components = PCA.fit(rng(seed).permutation(values), 1).components
        np.testing.assert_allclose(components[:, 0], [0.5**0.5, -(0.5**0.5)])


@pytest.mark.parametrize("gamma", [None, 0.05, 2.0])
def test_kernel_pca_vs_sklearn(gamma):
    values = rng().standard_normal((60, 4)) * [1, 2, 3, 4]
    new = rng(1).standard_normal((15, 4)) * 3
    step = KernelPCA.fit(values, 6, gamma=gamma, rng=rng())
    expected = sklearn.decomposition.KernelPCA(
        6, kernel="rbf", gamma=gamma or 1 / (4 * values.var()), eigen_solver="dense"
    ).fit(values)
    ours, theirs = step.apply(values), expected.transform(values)
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours * signs, theirs, atol=1e-9)
    np.testing.assert_allclose(step.apply(new) * signs, expected.transform(new), atol=1e-9)


def test_nystroem_with_all_but_one_row_is_nearly_kernel_pca():
    values = rng().standard_normal((80, 3))
    exact = KernelPCA.fit(values, 4, rng=rng())
    close = KernelPCA.fit(values, 4, exact_limit=79, rng=rng())
    assert len(close.landmarks) == 79
    new = rng(1).standard_normal((20, 3))
    for rows in (values, new):
        ours, theirs = close.apply(rows), exact.apply(rows)
        np.testing.assert_allclose(up_to_sign(ours, theirs), theirs, atol=1e-2)


def test_nystroem_on_a_wide_kernel_approximates_kernel_pca():
    """A wide kernel has few eigenvalues that matter; a third of the rows spans them."""
    values = rng().standard_normal((300, 2))
    exact = KernelPCA.fit(values, 4, gamma=0.05, rng=rng())
    close = KernelPCA.fit(values, 4, gamma=0.05, exact_limit=100, rng=rng())
    theirs = exact.apply(values)
    np.testing.assert_allclose(up_to_sign(close.apply(values), theirs), theirs, atol=1e-4)


def test_same_seed_gives_same_landmarks():
    values = rng().standard_normal((50, 3))
    first, again, other = (KernelPCA.fit(values, 4, exact_limit=20, rng=rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.apply(values), again.apply(values))
    assert not np.array_equal(first.landmarks, other.landmarks)


def test_kernel_pca_is_blind_to_how_rows_are_cut_into_blocks(monkeypatch):
    values = rng().standard_normal((50, 3))
    whole = KernelPCA.fit(values, 4, exact_limit=20, rng=rng(1)).apply(values)
    monkeypatch.setattr("urlr.projections._BLOCK", 140)
    cut = KernelPCA.fit(values, 4, exact_limit=20, rng=rng(1)).apply(values)
    np.testing.assert_allclose(cut, whole, atol=1e-9)


def test_kernel_pca_stops_at_the_rank():
    values = np.repeat(rng().standard_normal((4, 3)), 10, axis=0)
    for exact_limit in (2000, 39):
        assert KernelPCA.fit(values, 10, exact_limit=exact_limit, rng=rng()).n_out == 3


@pytest.mark.parametrize("kernel", [False, True])
def test_reduced_space_maps_raw_values(kernel):
    values = rng().standard_normal((30, 5)) * 100
    values[0, 0] = np.nan
    original = original_space(values, names(5))
    reduced = reduced_space(original, values, 3, kernel=kernel, rng=rng())
    assert reduced.columns == original.columns
    assert reduced.steps[:-1] == original.steps
    assert reduced.n_out == 3
    expected = reduced.steps[-1].apply(original.map(values))
    np.testing.assert_array_equal(reduced.map(values), expected)


def test_reduced_space_refuses_nonsense():
    values = rng().standard_normal((10, 3))
    original = original_space(values, names(3))
    with pytest.raises(FeatureError, match="1 component or more, not 0"):
        reduced_space(original, values, 0, rng=rng())
    with pytest.raises(FeatureError, match="got none"):
        reduced_space(original, values[:0], 2, rng=rng())
    with pytest.raises(FeatureError, match=r"gamma .* must be positive"):
        reduced_space(original, values, 2, kernel=True, gamma=-1.0, rng=rng())
    with pytest.raises(FeatureError, match="exact_limit of 1 row"):
        reduced_space(original, values, 2, kernel=True, exact_limit=0, rng=rng())
    for kernel in (False, True):
        with pytest.raises(FeatureError, match="1 item given apart"):
            reduced_space(original, values[:1], 2, kernel=kernel, rng=rng())


# --- maps and tables


def test_lacking_columns_are_named():
    space = original_space(rng().standard_normal((5, 4)), ("a", "b", "c", "d"))
    frame = pd.DataFrame({"d": [1.0], "b": ["text"]}, index=["x"])
    with pytest.raises(
        FeatureError, match=r"needs 3 columns the table lacks: a, b, c \(b not numeric in this"
    ):
        space.select(feature_table(frame))


def test_wrong_width_is_refused():
    space = original_space(rng().standard_normal((5, 4)), names(4))
    with pytest.raises(FeatureError, match=r"rows of 4 values, got an array of shape \(2, 3\)"):
        space.map(np.ones((2, 3)))


def test_memory_layout_does_not_change_a_bit():
    values = rng().standard_normal((40, 7))
    reduced = reduced_space(original_space(values, names(7)), values, 3, kernel=True, rng=rng())
    np.testing.assert_array_equal(reduced.map(np.asfortranarray(values)), reduced.map(values))


@given(seed=st.integers(0, 2**32 - 1), kernel=st.booleans())
@settings(max_examples=30, deadline=None)
def test_order_of_columns_in_a_new_table_does_not_matter(seed, kernel):
    draw = rng(seed)
    values = draw.standard_normal((12, 5))
    space = reduced_space(original_space(values, names(5)), values, 3, kernel=kernel, rng=draw)
    frame = pd.DataFrame(values, columns=names(5), index=[f"i{k}" for k in range(12)])
    frame["extra"] = 1.0
    shuffled = feature_table(frame[list(draw.permutation(frame.columns))])
    np.testing.assert_array_equal(space.map(space.select(shuffled)), space.map(values))


@given(data=st.data(), values=matrices(WITH_GAPS))
@settings(max_examples=150, deadline=None)
def test_finite_in_finite_out(data, values):
    try:
        original = original_space(values, names(values.shape[1]))
    except FeatureError:
        return
    new = data.draw(hnp.arrays(np.float64, (3, values.shape[1]), elements=WITH_GAPS))
    spaces = [original]
    for kernel in (False, True):
        spaces.append(reduced_space(original, values, 2, kernel=kernel, rng=rng()))
    spaces.append(reduced_space(original, values, 2, kernel=True, exact_limit=2, rng=rng()))
    for space in spaces:
        for rows in (values, new):
            assert np.isfinite(space.map(rows)).all()


@given(values=matrices(st.floats(0, allow_infinity=False) | st.just(np.nan)))
@settings(max_examples=80, deadline=None)
def test_finite_in_finite_out_under_chi_square(values):
    try:
        space = original_space(values, names(values.shape[1]), chi_square=3)
    except FeatureError:
        return
    assert np.isfinite(space.map(values)).all()


@given(values=matrices(FINITE))
@settings(max_examples=150, deadline=None)
def test_standardised_columns_have_mean_0_and_spread_1(values):
    step = Standardise.fit(values)
    standard = step.apply(values)
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-2)
    np.testing.assert_allclose(standard.std(axis=0), 1, atol=1e-2)


@given(values=matrices(WITH_GAPS))
@settings(max_examples=80, deadline=None)
def test_column_problems_account_for_every_column(values):
    found = column_problems(values, names(values.shape[1]))
    unused = len(found.constant) + len(found.missing_everywhere)
    assert found.n_varying + unused == found.n_columns
    assert 0 <= found.rank <= found.n_varying
    assert len({name for group in found.collinear for name in group}) <= found.n_varying


# --- stored maps


@given(
    values=matrices(st.floats(0, 1e6) | st.just(np.nan), min_rows=3),
    chi_square=st.integers(0, 3),
    kind=st.sampled_from(["original", "pca", "kernel", "nystroem"]),
)
@settings(max_examples=100, deadline=None)
def test_state_round_trip_keeps_every_bit(values, chi_square, kind):
    try:
        space = original_space(values, names(values.shape[1]), chi_square=chi_square)
    except FeatureError:
        return
    if kind != "original":
        limit = 2 if kind == "nystroem" else 2000
        space = reduced_space(space, values, 2, kernel=kind != "pca", exact_limit=limit, rng=rng())
    again = through_json(space)
    assert again.columns == space.columns
    assert again.n_out == space.n_out
    assert again.map(values).tobytes() == space.map(values).tobytes()


@pytest.fixture
def state():
    values = rng().random((20, 3))
    values[0, 0] = np.nan
    original = original_space(values, names(3), chi_square=1)
    return reduced_space(original, values, 2, kernel=True, rng=rng()).to_state()


def _edit(key, value):
    """Change description["steps"][i][name] or arrays["i.name"] or a top entry."""

    def edit(description, arrays):
        if key in arrays:
            if value is None:
                del arrays[key]
            else:
                arrays[key] = value(arrays[key])
        elif "." in key:
            place, name = key.split(".")
            description["steps"][int(place)][name] = value
        else:
            description[key] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (_edit("columns", None), "columns of the feature map .* not a list of names"),
        (_edit("columns", ["a", 1, "c"]), "not a list of names"),
        (_edit("columns", ["a", "a", "c"]), "repeats a column name"),
        (_edit("columns", ["a", "b"]), r"step 0 \(impute\).*takes 3 columns but gets 2"),
        (_edit("steps", {}), "no list of steps"),
        (_edit("steps", [3]), "step 0 .* is no step"),
        (_edit("0.kind", "magic"), "step 0 .* unknown kind magic; known are impute"),
        (_edit("0.kind", ["pca"]), "unknown kind"),
        (_edit("0.n_in", 3.0), r"`n_in` of step 0 \(impute\).*number from 0 \(int\), not 3.0"),
        (_edit("0.n_in", True), "not True"),
        (_edit("0.n_in", -1), "not -1"),
        (_edit("1.sample_steps", 7), "sample steps must be 1, 2 or 3"),
        (_edit("1.columns", "abc"), "`columns` of step 1 .* not a list of names"),
        (_edit("3.gamma", 0.0), "gamma must be positive"),
        (_edit("3.gamma", float("nan")), "not nan"),
        (_edit("3.weights", None), "lacks the array 3.weights"),
        (_edit("3.weights", lambda a: a.astype(np.float32)), "3.weights .* float64 .* float32"),
        (_edit("3.weights", lambda a: a[0]), "with 2 dimensions, found float64 with 1"),
        (_edit("3.weights", lambda a: a[1:]), "do not fit together"),
        (_edit("3.weights", lambda a: a * np.nan), "3.weights .* not finite"),
        (_edit("3.weights", lambda a: a.tolist()), "found none"),
        (_edit("3.landmarks", lambda a: a[:, 1:]), "takes 3 columns but gets 4"),
        (_edit("2.spread", lambda a: a * 0), "spread is not positive"),
        (_edit("2.spread", lambda a: a[1:]), "differ in number"),
        (_edit("2.kept", lambda a: a[::-1]), "out of order"),
        (_edit("2.kept", lambda a: a + 1), "out of range"),
        (_edit("0.kept", lambda a: a + 1), "kept columns and means"),
        (_edit("0.flagged", lambda a: a + 5), "indicator belongs to no column"),
    ],
)
def test_damaged_state_is_refused_with_a_reason(state, edit, text):
    description, arrays = state
    assert FeatureMap.from_state(description, arrays).n_out == 2
    edit(description, arrays)
    with pytest.raises(ModelFileError, match=text):
        FeatureMap.from_state(description, arrays)


def test_missing_description_is_refused():
    with pytest.raises(ModelFileError, match="no description"):
        FeatureMap.from_state(None, {})


def test_damaged_pca_is_refused():
    values = rng().random((20, 3))
    space = reduced_space(original_space(values, names(3)), values, 2, rng=rng())
    description, arrays = space.to_state()
    arrays["2.components"] = arrays["2.components"][1:]
    with pytest.raises(ModelFileError, match="centre and components differ"):
        FeatureMap.from_state(description, arrays)


def test_select_returns_the_table_itself_when_columns_agree():
    table = FeatureTable(pd.Index(["x", "y"]), ("a",), np.array([[1.0], [2.0]]), ())
    assert original_space(table.values, table.columns).select(table) is table.values
