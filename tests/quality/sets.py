"""The sets of votes that quality is measured on: three read from the reference data, one drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from urlr.simulate import crowd


@dataclass(frozen=True, slots=True)
class VoteSet:
    """Votes on items with features."""

    name: str
    votes: pd.DataFrame
    """item_a, item_b, outcome (a, b, tie), and annotator where known."""
    features: pd.DataFrame
    group: pd.Series[Any]
    """Group by item; votes compare items of one group."""
    kin: pd.Series[Any]
    """By item, whose kin it is: kin are unseen together."""
    truth: pd.Series[Any] | None
    """True score by item, where known."""


def faces(data: Path) -> VoteSet:
    """FG-NET: who is older? Real features and ages, simulated votes, a fifth of them wrong."""
    folder = data / "fgnet_age"
    items = pd.read_csv(folder / "items.csv").set_index("item_id")
    features = pd.read_csv(folder / "features.csv.gz").set_index("item_id")
    counts = pd.read_csv(folder / "votes_simulated20.csv")
    counts = counts.loc[counts.index.repeat(counts["count"])]
    outcome = np.where(counts["label"] > 0, "a", "b")
    return VoteSet(
        "faces",
        _table(counts["item_i"], counts["item_j"], outcome),
        features.rename_axis("item"),
        pd.Series(0, items.index),
        items["person"],
        items["age"].astype(float),
    )


def images(data: Path) -> VoteSet:
    """PC-IQA: which version of a picture looks better? Real votes within 15 pictures."""
    folder = data / "pc_iqa"
    table = pd.read_csv(folder / "item_features.csv")
    ids = table["ref"] * 100 + table["item"]
    features = table.drop(columns=["ref", "item"]).set_index(ids)
    reference = table["ref"].set_axis(ids)
    features -= features.groupby(reference).transform("mean")
    votes = pd.read_csv(folder / "votes.csv.gz")
    won, lost = votes["ref"] * 100 + votes["winner"], votes["ref"] * 100 + votes["loser"]
    return VoteSet(
        "images",
        _table(won, lost, np.full(len(votes), "a")),
        features.rename_axis("item"),
        reference,
        pd.Series(ids.to_numpy(), ids),
        None,
    )


def arguments(data: Path) -> VoteSet:
    """UKPConvArg: which argument convinces more? Real votes by 3,815 people, within 32 topics."""
    folder = data / "ukpconvarg_crowd"
    items = pd.read_csv(folder / "items.csv.gz").set_index("item_id")
    votes = pd.read_csv(folder / "votes.csv.gz")
    outcome = votes["label"].map({1: "a", -1: "b", 0: "tie"}).to_numpy()
    table = _table(votes["item_i"], votes["item_j"], outcome)
    table["annotator"] = votes["annotator"].to_numpy()
    return VoteSet(
        "arguments",
        table,
        pd.read_csv(folder / "features.csv.gz").set_index("item_id").rename_axis("item"),
        items["topic_id"],
        pd.Series(items.index, items.index),
        None,
    )


def simulated(seed: int, *, left_bias: float = 0.0) -> VoteSet:
    """A simulated crowd: 400 items, 60 % of the truth linear in 20 features, 200 people."""
    made = crowd(
        rng=np.random.default_rng([seed, 77]),
        n_items=400,
        n_features=20,
        n_votes=12_000,
        n_annotators=200,
        private=0.3,
        curvature=0.1,
        feature_noise=0.3,
        error_ratio=0.15,
        ties=0.05,
        left_bias=left_bias,
    )
    votes = made.votes[["item_a", "item_b", "outcome", "annotator", "left"]].astype(object)
    if left_bias == 0:
        votes = votes.drop(columns="left")
    items = made.truth.index
    return VoteSet(
        "leaning" if left_bias else "simulated",
        votes,
        made.features,
        pd.Series(0, items),
        pd.Series(items, items),
        made.truth,
    )


def _table(first: Any, second: Any, outcome: Any) -> pd.DataFrame:
    """Votes with the two items of a pair always in one order."""
    first, second = np.asarray(first), np.asarray(second)
    swap = first > second
    turned = pd.Series(outcome).map({"a": "b", "b": "a", "tie": "tie"}).to_numpy()
    return pd.DataFrame(
        {
            "item_a": np.where(swap, second, first),
            "item_b": np.where(swap, first, second),
            "outcome": np.where(swap, turned, np.asarray(outcome)),
        }
    )
