"""What the last results of an attribute say, to tell what is new."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from tasks.read import table_of
from tasks.results import RESULT, RESULTS, ResultError
from tasks.store import NotThere, Store

SCORES, ANNOTATORS = "scores.parquet", "annotators.parquet"


@dataclass(frozen=True, slots=True)
class Earlier:
    """Results that were there before."""

    run: str
    n_votes: int
    scores: pd.DataFrame
    people: frozenset[str] | None
    """Names of those who had voted; None where nobody was judged."""


def earlier_results(store: Store, place: str | None, *, but: str) -> Earlier | None:
    """The results at a place; None if there is none, they are gone, or they are those `but` of."""
    if place is None or place == but:
        return None
    try:
        about = RESULTS.from_bytes(store.read(f"{place}/{RESULT}"), store.address(place))
        key = f"{place}/{SCORES}"
        scores = table_of(store.read(key), store.address(key))
    except (NotThere, ResultError):
        return None
    people = None
    if ANNOTATORS in about.files:
        key = f"{place}/{ANNOTATORS}"
        people = frozenset(table_of(store.read(key), store.address(key))["annotator"].astype(str))
    return Earlier(about.run, about.rows["used"] + about.rows["ties"], scores, people)
