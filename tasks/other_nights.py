"""Ids of another night, as tonight's votes have them.

Between two nights a table may come as Parquet that was CSV, so that ids are whole numbers that were
text; and a champion may have been fitted before ids had one spelling. It is the same items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from urlr.arrays import Mask
from urlr.ids import positions, read_ids
from urlr.spelling import clean_column, needless_points


@dataclass(frozen=True, slots=True)
class OtherIds:
    """Distinct ids of another night."""

    as_then: pd.Index[Any]
    as_tonight: pd.Index[Any]
    """The same in tonight's form; those that are not met tonight are only in one spelling."""

    @staticmethod
    def of(then: pd.Index[Any], tonight: pd.Index[Any]) -> OtherIds:
        """Find ids of another night among tonight's."""
        column = pd.Series(then)
        clean, _ = clean_column(column, points=needless_points([column], tonight))
        ids = read_ids(clean).values
        absent = np.flatnonzero(positions(tonight, ids) < 0)
        if absent.size:
            others = pd.Index([_other_form(one) for one in ids[absent]], dtype=object)
            met = positions(tonight, others) >= 0
            if met.any():
                every = ids.to_numpy(object).copy()
                every[absent[met]] = others[met]
                ids = read_ids(pd.Index(every, dtype=object)).values
        return OtherIds(then, ids)

    @property
    def merged(self) -> Mask:
        """Which are one item with another of them."""
        return np.asarray(self.as_tonight.duplicated(keep=False), np.bool_)

    def renamed(self, table: pd.DataFrame, unknown: Sequence[str] = ()) -> pd.DataFrame:
        """A table with a row for each, named as tonight; what became one item has one row.

        Nobody knows which of the rows that is, so that its values in the columns `unknown` go.
        """
        table = table.assign(item=self.as_tonight)
        if self.merged.any():
            table.loc[self.merged, list(unknown)] = np.nan
        return pd.DataFrame(table[~self.as_tonight.duplicated()])

    def names(self, tonight: pd.Index[Any]) -> pd.Index[Any]:
        """Tonight's items by their names of then, where they had any."""
        first = ~self.as_tonight.duplicated()
        place = positions(self.as_tonight[first], tonight)
        names: npt.NDArray[Any] = tonight.to_numpy(object).copy()
        names[place >= 0] = self.as_then[first].to_numpy(object)[place[place >= 0]]
        named: pd.Index[Any] = pd.Index(names, dtype=object)
        return named


def _other_form(one: Any) -> Any:
    """A whole number for its decimal text, and the text for the number."""
    if not isinstance(one, str):
        return str(one)
    digits = one.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and str(int(one)) == one
    return int(one) if plain and len(digits) < 19 else one
