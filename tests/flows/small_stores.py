"""A small store for tests of the pipeline: few votes, so that a night is mostly its own start.

faces/smiling  items s*, features in the table of all faces
faces/bright   items b*, features in the same table; by the paper's method if urlr.toml is as here
plain          items of its own, no features
few            twelve votes, which the gate holds
"""

import numpy as np
import pandas as pd

from tasks.store import Store
from tasks.write import table_bytes
from urlr.simulate import crowd

FEATURES = "features/faces/table.csv"
LONELY = "lonely"
"""An item with features that nobody votes on."""
SMILING, BRIGHT, PLAIN, FEW = "faces/smiling", "faces/bright", "plain", "few"
SETTINGS = """\
[attributes."faces/bright"]
method = "paper"
prune = 0.2

[attributes."*[gn]"]
replicates = 10
"""


def write_small_store(store: Store) -> None:
    """Write all votes and features."""
    tables = []
    for seed, name in enumerate((SMILING, BRIGHT)):
        votes, features = _made(name, seed)
        _put(store, f"votes/{name}/2024-01.csv", votes)
        tables.append(features)
    _put(store, f"votes/{PLAIN}/2024-01.parquet", _made(PLAIN, 2, n_items=12)[0])
    _put(store, f"votes/{FEW}/2024-01.jsonl", _made(FEW, 3, n_items=4)[0].head(12))
    lonely = tables[0].head(1).assign(item=LONELY)
    _put(store, FEATURES, pd.concat([*tables, lonely]))


def replace_features(store: Store, table: pd.DataFrame) -> None:
    """Put another table of features in place of the one there."""
    store.replace(FEATURES, table_bytes(table, FEATURES))


def _put(store: Store, key: str, table: pd.DataFrame) -> None:
    store.create(key, table_bytes(table, key))


def _made(name: str, seed: int, *, n_items: int = 20) -> tuple[pd.DataFrame, pd.DataFrame]:
    made = crowd(
        rng=np.random.default_rng(seed), n_items=n_items, n_features=6, n_votes=320, n_annotators=12
    )
    letter = name.rpartition("/")[2][0]
    named = {item: f"{letter}{number:02d}" for number, item in enumerate(made.truth.index)}
    votes = made.votes.astype({"item_a": "object", "item_b": "object", "left": "object"})
    for column in ("item_a", "item_b"):
        votes[column] = made.votes[column].astype("object").map(named)
    features = made.features.rename(index=named).rename_axis("item").reset_index()
    return votes, features
