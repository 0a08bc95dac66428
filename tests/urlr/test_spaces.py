"""The original and the reduced space: what they refuse, what they map, how they are stored."""

import json

import numpy as np
import pandas as pd
import pytest
from graphs import WITH_GAPS, matrices, names, seeded
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refused

from urlr.errors import FeatureError, ModelFileError
from urlr.messages import message
from urlr.space.maps import FeatureMap, original_space, reduced_space
from urlr.space.prior import PriorSpace
from urlr.space.table import FeatureTable, feature_table


def prior_space(original, values, *, bent):
    """The space of the default method."""
    step = PriorSpace.fit(original.map(values), bent=bent, rng=seeded())
    return FeatureMap(original.columns, (*original.steps, step))


def through_json(feature_map):
    description, arrays = feature_map.to_state()
    return FeatureMap.from_state(json.loads(json.dumps(description)), arrays)


# --- both spaces


def test_space_without_a_varying_column_is_refused():
    for values in (np.ones((3, 2)), np.full((3, 2), np.nan), np.ones((1, 2)), np.ones((0, 2))):
        with refused(FeatureError, "no_column_varies", columns=("a", "b"), n_items=len(values)):
            original_space(values, ("a", "b"))


def test_infinite_values_are_refused_by_name():
    with refused(FeatureError, "infinite_values", count=1, columns=["b"]):
        original_space(np.array([[1.0, np.inf], [2.0, 3.0]]), ("a", "b"))


def test_no_rows_map_to_no_rows():
    values = seeded().random((10, 3))
    for chi_square in (0, 1, 2):
        space = original_space(values, names(3), chi_square=chi_square)
        for kernel in (False, True):
            reduced = reduced_space(space, values, 2, kernel=kernel, rng=seeded())
            assert reduced.map(values[:0]).shape == (0, 2)


@pytest.mark.parametrize("kernel", [False, True])
def test_reduced_space_maps_raw_values(kernel):
    values = seeded().standard_normal((30, 5)) * 100
    values[0, 0] = np.nan
    original = original_space(values, names(5))
    reduced = reduced_space(original, values, 3, kernel=kernel, rng=seeded())
    assert reduced.columns == original.columns
    assert reduced.steps[:-1] == original.steps
    assert reduced.n_out == 3
    expected = reduced.steps[-1].apply(original.map(values))
    np.testing.assert_array_equal(reduced.map(values), expected)


def test_reduced_space_refuses_nonsense():
    values = seeded().standard_normal((10, 3))
    original = original_space(values, names(3))
    with refused(FeatureError, "no_components", n_components=0):
        reduced_space(original, values, 0, rng=seeded())
    with refused(FeatureError, "no_items_to_reduce"):
        reduced_space(original, values[:0], 2, rng=seeded())
    with refused(FeatureError, "unusable_gamma", gamma=-1.0):
        reduced_space(original, values, 2, kernel=True, gamma=-1.0, rng=seeded())
    with refused(FeatureError, "exact_limit_too_small", exact_limit=0):
        reduced_space(original, values, 2, kernel=True, exact_limit=0, rng=seeded())
    for kernel in (False, True):
        with refused(FeatureError, "items_alike", n_items=1):
            reduced_space(original, values[:1], 2, kernel=kernel, rng=seeded())


@given(data=st.data(), values=matrices(WITH_GAPS))
@settings(max_examples=150)
def test_finite_in_finite_out(data, values):
    try:
        original = original_space(values, names(values.shape[1]))
    except FeatureError:
        return
    new = data.draw(hnp.arrays(np.float64, (3, values.shape[1]), elements=WITH_GAPS))
    spaces = [original]
    for kernel in (False, True):
        spaces.append(reduced_space(original, values, 2, kernel=kernel, rng=seeded()))
    spaces.append(reduced_space(original, values, 2, kernel=True, exact_limit=2, rng=seeded()))
    spaces += [prior_space(original, values, bent=bent) for bent in (False, True)]
    for space in spaces:
        for rows in (values, new):
            assert np.isfinite(space.map(rows)).all()


# --- maps and tables


def test_lacking_columns_are_named():
    space = original_space(seeded().standard_normal((5, 4)), ("a", "b", "c", "d"))
    frame = pd.DataFrame({"d": [1.0], "b": ["text"]}, index=["x"])
    names = ["a", "b", "c"]
    with refused(FeatureError, "columns_not_numeric", count=3, names=names, ignored=["b"]):
        space.select(feature_table(frame))


def test_wrong_width_is_refused():
    space = original_space(seeded().standard_normal((5, 4)), names(4))
    with refused(FeatureError, "unmappable_shape", n_columns=4, shape=(2, 3)):
        space.map(np.ones((2, 3)))


def test_memory_layout_does_not_change_a_bit():
    values = seeded().standard_normal((40, 7))
    reduced = reduced_space(original_space(values, names(7)), values, 3, kernel=True, rng=seeded())
    np.testing.assert_array_equal(reduced.map(np.asfortranarray(values)), reduced.map(values))


@given(seed=st.integers(0, 2**32 - 1), kernel=st.booleans())
@settings(max_examples=30)
def test_order_of_columns_in_a_new_table_does_not_matter(seed, kernel):
    draw = seeded(seed)
    values = draw.standard_normal((12, 5))
    space = reduced_space(original_space(values, names(5)), values, 3, kernel=kernel, rng=draw)
    frame = pd.DataFrame(values, columns=names(5), index=[f"i{k}" for k in range(12)])
    frame["extra"] = 1.0
    shuffled = feature_table(frame[list(draw.permutation(frame.columns))])
    np.testing.assert_array_equal(space.map(space.select(shuffled)), space.map(values))


def test_select_returns_the_table_itself_when_columns_agree():
    table = FeatureTable(pd.Index(["x", "y"]), ("a",), np.array([[1.0], [2.0]]), ())
    assert original_space(table.values, table.columns).select(table) is table.values


# --- stored maps


@given(
    values=matrices(st.floats(0, 1e6) | st.just(np.nan), min_rows=3),
    chi_square=st.integers(0, 3),
    kind=st.sampled_from(["original", "pca", "kernel", "nystroem", "prior", "bent prior"]),
)
@settings(max_examples=100)
def test_state_round_trip_keeps_every_bit(values, chi_square, kind):
    try:
        space = original_space(values, names(values.shape[1]), chi_square=chi_square)
    except FeatureError:
        return
    if kind.endswith("prior"):
        space = prior_space(space, values, bent=kind != "prior")
    elif kind != "original":
        limit = 2 if kind == "nystroem" else 2000
        space = reduced_space(
            space, values, 2, kernel=kind != "pca", exact_limit=limit, rng=seeded()
        )
    again = through_json(space)
    assert again.columns == space.columns
    assert again.n_out == space.n_out
    assert again.map(values).tobytes() == space.map(values).tobytes()


@pytest.fixture
def state():
    values = seeded().random((20, 3))
    values[0, 0] = np.nan
    original = original_space(values, names(3), chi_square=1)
    return reduced_space(original, values, 2, kernel=True, rng=seeded()).to_state()


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


def _part(name, place, kind):
    return message("part_of_step", name=name, place=place, kind=kind)


@pytest.mark.parametrize(
    ("edit", "code", "fields"),
    [
        (_edit("columns", None), "not_names", {"what": message("columns_of_map")}),
        (_edit("columns", ["a", 1, "c"]), "not_names", {"what": message("columns_of_map")}),
        (_edit("columns", ["a", "a", "c"]), "map_repeats_column", {}),
        (_edit("steps", {}), "map_without_steps", {}),
        (_edit("steps", [3]), "no_step", {"place": 0}),
        (_edit("0.kind", "magic"), "unknown_step", {"place": 0, "kind": "magic"}),
        (_edit("0.kind", ["pca"]), "unknown_step", {"kind": ["pca"]}),
        (
            _edit("0.n_in", 3.0),
            "no_number",
            {"what": _part("n_in", 0, "impute"), "wanted": "int", "value": 3.0},
        ),
        (_edit("0.n_in", True), "no_number", {"value": True}),
        (_edit("0.n_in", -1), "no_number", {"value": -1}),
        (_edit("1.columns", "abc"), "not_names", {"what": _part("columns", 1, "chi_square")}),
        (_edit("3.gamma", float("nan")), "no_number", {"what": _part("gamma", 3, "kernel_pca")}),
        (_edit("3.weights", None), "lacking_array", {"key": "3.weights"}),
        (
            _edit("3.weights", lambda a: a.astype(np.float32)),
            "array_of_other_kind",
            {"key": "3.weights", "dtype": "float64", "found": "float32 with 2"},
        ),
        (
            _edit("3.weights", lambda a: a[0]),
            "array_of_other_kind",
            {"ndim": 2, "found": "float64 with 1"},
        ),
        (_edit("3.weights", lambda a: a * np.nan), "array_not_finite", {"key": "3.weights"}),
        (_edit("3.weights", lambda a: a.tolist()), "array_of_other_kind", {"found": "none"}),
    ],
)
def test_foreign_state_is_refused_with_a_reason(state, edit, code, fields):
    description, arrays = state
    assert FeatureMap.from_state(description, arrays).n_out == 2
    edit(description, arrays)
    with refused(ModelFileError, code, **fields):
        FeatureMap.from_state(description, arrays)


@pytest.mark.parametrize(
    ("edit", "place", "flaw"),
    [
        (_edit("columns", ["a", "b"]), 0, message("step_of_other_width", n_in=3, width=2)),
        (_edit("1.sample_steps", 7), 1, message("sample_steps_out_of_range")),
        (_edit("3.gamma", 0.0), 3, message("gamma_not_positive")),
        (_edit("3.weights", lambda a: a[1:]), 3, message("landmarks_do_not_fit")),
        (
            _edit("3.landmarks", lambda a: a[:, 1:]),
            3,
            message("step_of_other_width", n_in=3, width=4),
        ),
        (_edit("2.spread", lambda a: a * 0), 2, message("spread_out_of_range")),
        (_edit("2.spread", lambda a: a[1:]), 2, message("centres_do_not_fit")),
        (_edit("2.kept", lambda a: a[::-1]), 2, message("kept_columns_out_of_order")),
        (_edit("2.kept", lambda a: a + 1), 2, message("kept_columns_out_of_order")),
        (_edit("0.kept", lambda a: a + 1), 0, message("means_do_not_fit")),
        (_edit("0.flagged", lambda a: a + 5), 0, message("indicator_of_no_column")),
    ],
)
def test_damaged_step_is_refused_with_its_flaw(state, edit, place, flaw):
    description, arrays = state
    assert FeatureMap.from_state(description, arrays).n_out == 2
    edit(description, arrays)
    kind = description["steps"][place]["kind"]
    with refused(ModelFileError, "damaged_step", place=place, kind=kind, flaw=flaw):
        FeatureMap.from_state(description, arrays)


@pytest.mark.parametrize(
    ("edit", "code", "fields"),
    [
        (_edit("2.gamma", 0.0), "damaged_step", {"flaw": message("gamma_not_positive")}),
        (
            _edit("2.directions", lambda a: a[1:]),
            "damaged_step",
            {"flaw": message("directions_do_not_fit")},
        ),
        (
            _edit("2.weights", lambda a: a[1:]),
            "damaged_step",
            {"flaw": message("landmarks_do_not_fit")},
        ),
        (
            _edit("2.landmarks", lambda a: a[:, 1:]),
            "damaged_step",
            {"flaw": message("landmarks_of_other_width")},
        ),
        (_edit("2.directions", lambda a: a * np.nan), "array_not_finite", {"key": "2.directions"}),
        (_edit("2.offset", None), "lacking_array", {"key": "2.offset"}),
    ],
)
def test_damaged_prior_is_refused_with_a_reason(edit, code, fields):
    values = seeded().random((20, 3))
    description, arrays = prior_space(
        original_space(values, names(3)), values, bent=True
    ).to_state()
    assert FeatureMap.from_state(description, arrays).n_out > 3
    edit(description, arrays)
    with refused(ModelFileError, code, **fields):
        FeatureMap.from_state(description, arrays)


def test_missing_description_is_refused():
    with refused(ModelFileError, "map_without_description"):
        FeatureMap.from_state(None, {})


def test_damaged_pca_is_refused():
    values = seeded().random((20, 3))
    space = reduced_space(original_space(values, names(3)), values, 2, rng=seeded())
    description, arrays = space.to_state()
    arrays["2.components"] = arrays["2.components"][1:]
    flaw = message("components_do_not_fit")
    with refused(ModelFileError, "damaged_step", place=2, kind="pca", flaw=flaw):
        FeatureMap.from_state(description, arrays)
