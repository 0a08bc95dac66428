"""Who scores, and scores of a table that fits into memory, best first."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import pandas as pd

from tasks.messages import message
from tasks.registry import Registry, Version
from tasks.score import ScoringError


def ranked(scores: pd.Series[Any]) -> pd.DataFrame:
    """Columns item, score and rank, best first; equal scores share a rank."""
    table = pd.DataFrame(
        {
            "item": scores.index,
            "score": scores.to_numpy(),
            "rank": scores.rank(ascending=False, method="min").to_numpy("int64"),
        }
    )
    return table.sort_values("rank", kind="stable", ignore_index=True)


def champions_of(registry: Registry, attributes: Sequence[str] | None) -> list[Version]:
    """The champions of these attributes, or of all there are.

    Raises
    ------
    ScoringError
        There is none.
    """
    champions = registry.champions()
    if attributes is None:
        return list(champions.values())
    if lacking := [name for name in attributes if name not in champions]:
        near = difflib.get_close_matches(lacking[0], sorted(champions), n=3)
        if near:
            raise ScoringError(message("no_champion_but_near", names=lacking, near=near))
        raise ScoringError(message("no_champion", names=lacking))
    return [champions[name] for name in attributes]
