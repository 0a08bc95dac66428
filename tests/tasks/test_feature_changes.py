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
