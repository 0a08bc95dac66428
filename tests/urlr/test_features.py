"""Feature tables, and what is odd about their columns."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from graphs import WITH_GAPS, matrices, names, seeded
from hypothesis import given, settings
from refusals import refused

from urlr.errors import FeatureError
from urlr.messages import message
from urlr.space.table import ColumnProblems, column_problems, feature_table

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
    ("frame", "code", "fields"),
    [
        ([1, 2], "features_not_a_table", {"kind": "list"}),
        (pd.DataFrame(), "empty_features", {"n_rows": 0, "n_columns": 0}),
        (pd.DataFrame({"a": []}), "empty_features", {"n_rows": 0, "n_columns": 1}),
        (pd.DataFrame(index=INDEX), "empty_features", {"n_rows": 2, "n_columns": 0}),
        (pd.DataFrame({"a": [1, 2]}), "features_of_unnamed_items", {"n_rows": 2}),
        (
            pd.DataFrame({"item": ["x", None], "a": [1, 2]}),
            "rows_without_item",
            {"count": 1, "n_rows": 2, "what": message("no_id"), "rows": [2]},
        ),
        (
            pd.DataFrame({"item": ["x", " "], "a": [1, 2]}),
            "rows_without_item",
            {"count": 1, "n_rows": 2, "what": message("empty_id"), "source": "column `item`"},
        ),
        (
            pd.DataFrame({"a": [1, 2]}, index=[0.5, 1]),
            "rows_without_item",
            {"count": 1, "n_rows": 2, "what": message("unusable_id"), "source": "index"},
        ),
        (
            pd.DataFrame({"a": [1, 2]}, index=["x", "x"]),
            "repeated_items",
            {"count": 1, "items": ["x"]},
        ),
        (
            pd.DataFrame({"item": [1, 1.0], "a": [1, 2]}),
            "repeated_items",
            {"count": 1, "items": [1]},
        ),
        (
            pd.DataFrame({"a": [1, np.inf], "b": [-np.inf, 2]}, index=INDEX),
            "items_with_infinite",
            {"count": 2, "columns": ["a", "b"], "items": ["x", "y"]},
        ),
        (pd.DataFrame({"a": [10**400, 1]}, index=INDEX), "items_with_infinite", {"count": 1}),
        (pd.DataFrame({"url": ["a", "b"]}, index=INDEX), "no_numeric_column", {"names": ["url"]}),
        (pd.DataFrame({"item": ["x", "y"]}), "only_item_column", {}),
        (
            pd.DataFrame({"embedding": [[1, 2], [1]]}, index=INDEX),
            "embeddings_of_unequal_length",
            {
                "count": 2,
                "lengths": ", ".join(
                    message("embedding_length", length=length, count=1) for length in (2, 1)
                ),
                "items": ["y"],
            },
        ),
        (
            pd.DataFrame({"embedding": ["[1]", "[2]"]}, index=INDEX),
            "embeddings_not_lists",
            {"count": 2, "n_rows": 2, "items": ["x", "y"]},
        ),
        (
            pd.DataFrame({"embedding": [[1], ["a"]]}, index=INDEX),
            "embeddings_not_lists",
            {"count": 1, "n_rows": 2, "items": ["y"]},
        ),
        (
            pd.DataFrame({"embedding": [[1], [[1]]]}, index=INDEX),
            "embeddings_not_lists",
            {"count": 1, "n_rows": 2, "items": ["y"]},
        ),
        (pd.DataFrame({"embedding": [[], []]}, index=INDEX), "embeddings_not_lists", {"count": 2}),
        (pd.DataFrame({"embedding": [None, None]}, index=INDEX), "no_embeddings", {"n_rows": 2}),
        (
            pd.DataFrame(np.eye(2), index=INDEX, columns=["a", "a"]),
            "repeated_columns",
            {"count": 1, "names": ["a"]},
        ),
        (
            pd.DataFrame(np.eye(2), index=INDEX, columns=[1, "1"]),
            "repeated_columns",
            {"count": 1, "names": ["1"]},
        ),
        (
            pd.DataFrame({"embedding": [[1], [2]], "embedding_0": [1, 2]}, index=INDEX),
            "repeated_columns",
            {"count": 1, "names": ["embedding_0"]},
        ),
    ],
)
def test_unusable_table_is_refused_with_a_reason(frame, code, fields):
    with refused(FeatureError, code, **fields):
        feature_table(frame)


# --- what is odd about the columns


def test_odd_columns_are_found():
    values = seeded().standard_normal((50, 8))
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
        message("columns_without_value", count=1, names=["f2"]),
        message("constant_columns", count=1, names=["f1"]),
        message("columns_with_gaps", count=1, names=[message("missing_in", name="f3", count=5)]),
        message("repeating_columns", count=1, groups="f4, f5"),
        message("dependent_columns", n_columns=6, rank=4),
    ]


def test_sound_columns_give_no_finding():
    found = column_problems(seeded().standard_normal((50, 4)), names(4))
    assert found.rank == found.n_varying == found.n_columns == 4
    assert found.sentences() == []


def test_too_many_columns_still_get_a_rank():
    found = column_problems(seeded().standard_normal((20, 2100)), names(2100))
    assert found.pairs_skipped
    assert found.collinear == ()
    assert found.rank == 19
    assert found.sentences()[-1].code == "columns_not_compared"


@given(values=matrices(WITH_GAPS))
@settings(max_examples=80)
def test_column_problems_account_for_every_column(values):
    found = column_problems(values, names(values.shape[1]))
    unused = len(found.constant) + len(found.missing_everywhere)
    assert found.n_varying + unused == found.n_columns
    assert 0 <= found.rank <= found.n_varying
    assert len({name for group in found.collinear for name in group}) <= found.n_varying
