"""Tonight's feature table beside the champion's, column by column."""

import numpy as np
import pandas as pd
import pytest

from tasks.feature_changes import feature_change
from tasks.gate import GateSettings

TABLE = pd.DataFrame({"item": [f"i{k}" for k in range(30)], "x": np.arange(30.0), "never": np.nan})


@pytest.mark.parametrize(
    ("tonight", "codes"),
    [
        (TABLE, []),
        (TABLE.assign(never=1.0), []),
        (TABLE.assign(more=2.0), []),
        (TABLE.assign(x=np.nan, y=1.0), ["columns_empty_now"]),
        (TABLE.assign(x=0.0), ["columns_constant_now"]),
        (TABLE.assign(x="a"), ["columns_no_numbers"]),
        (TABLE.drop(columns="x").assign(y=1.0), ["feature_columns_gone"]),
    ],
)
def test_columns_of_no_use_any_more_are_found(tonight, codes):
    """A column that never told anything is no loss, and a new one no fault."""
    found = feature_change(TABLE, tonight, None).suspicions(GateSettings())
    assert [one.code for one in found] == codes


NEW = pd.DataFrame({"item": [f"n{k}" for k in range(12)], "x": np.arange(12.0) + 5.5})


@pytest.mark.parametrize(
    ("x", "codes"),
    [
        (NEW["x"], []),
        (0.0, ["new_rows_odd"]),
        (np.nan, ["new_rows_odd"]),
        (1000 * NEW["x"], ["new_rows_odd"]),
        (NEW["x"] + 20, []),
    ],
)
def test_rows_of_new_items_are_compared_with_those_of_known_ones(x, codes):
    tonight = pd.concat([TABLE, NEW.assign(x=x)])
    known = pd.Index(TABLE["item"])
    found = feature_change(TABLE, tonight, None, known).suspicions(GateSettings())
    assert [one.code for one in found] == codes
    few = feature_change(TABLE, tonight.head(39), None, known)
    assert few.suspicions(GateSettings()) == ()


def test_a_flag_that_new_items_lack_is_no_fault():
    table = TABLE.assign(flag=np.arange(30) < 5)
    tonight = pd.concat([table, NEW.assign(flag=False)])
    found = feature_change(table, tonight, None, pd.Index(TABLE["item"]))
    assert found.suspicions(GateSettings()) == ()
