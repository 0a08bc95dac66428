"""Which votes repeat the vote_id of an earlier one, for votes that come piece by piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from urlr.arrays import Ints, Mask
from urlr.errors import VoteError
from urlr.messages import message

_AT_A_TIME = 1 << 22

Keys = npt.NDArray[np.uint64]


class VoteIds:
    """The ids of votes that count, 8 bytes each: whole numbers as they are, text by its hash.

    Ids that only rise, the common case, need no sorting. Two texts have the same hash with a
    chance of one in 3,700 among 100 million votes; the later vote would then be rejected.
    """

    def __init__(self) -> None:
        self._keys: list[Keys] = []
        self._missing: list[Ints] = []
        """Places of votes without an id."""
        self._n_votes = 0
        self._rising, self._last = True, -1
        self._whole: bool | None = None

    def add(self, ids: pd.Series[Any] | None, counts: Mask) -> None:
        """Take the ids of the next rows, of which some count; None where they have none."""
        given = None if ids is None else pd.Series(ids[counts])
        n = int(np.count_nonzero(counts))
        missing = np.ones(n, np.bool_) if given is None else given.isna().to_numpy(np.bool_)
        self._missing.append(self._n_votes + np.flatnonzero(missing))
        self._n_votes += n
        if given is not None and not missing.all():
            self._keys.append(self._read(given[~missing] if missing.any() else given))

    def repeated(self) -> Ints:
        """Places, among the votes that count, of those whose id an earlier one has."""
        if self._rising:
            return np.zeros(0, np.int64)
        keys = np.concatenate(self._keys)
        ranked = np.sort(keys)
        twice = np.unique(ranked[1:][ranked[1:] == ranked[:-1]])
        del ranked
        if twice.size == 0:
            return np.zeros(0, np.int64)
        found = [
            start + np.flatnonzero(np.isin(keys[start : start + _AT_A_TIME], twice))
            for start in range(0, keys.size, _AT_A_TIME)
        ]
        rows = np.concatenate(found)
        later = rows[pd.Series(keys[rows]).duplicated().to_numpy(np.bool_)]
        missing = np.concatenate(self._missing)
        # The k-th key belongs to the vote that has k votes with an id before it.
        return later + np.searchsorted(missing - np.arange(missing.size), later, side="right")

    def _read(self, ids: pd.Series[Any]) -> Keys:
        whole = pd.api.types.is_integer_dtype(ids.dtype)
        if self._whole is not None and whole != self._whole:
            raise VoteError(message("vote_ids_of_two_types"))
        self._whole = whole
        if not whole:
            self._rising = False
            if ids.dtype == object:  # anything at all may be in there, lists too
                ids = ids.map(lambda value: f"{type(value).__name__} {value}")
            hashed = pd.util.hash_pandas_object(ids, index=False, categorize=False)
            return np.asarray(hashed, np.uint64)
        numbers = ids.to_numpy()
        first = int(numbers[0])
        self._rising &= first > self._last and bool((numbers[1:] > numbers[:-1]).all())
        self._last = int(numbers[-1])
        return np.asarray(numbers).astype(np.uint64)
