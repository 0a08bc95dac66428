"""An attribute worked on part by part, against the same votes all at once."""

import io

import numpy as np
import pandas as pd
import pytest
from stored_votes import order_of, put, simulated, written

import tasks.large_votes
from tasks.results import RESULT, Trained
from tasks.runs import place_of
from tasks.store import Store
from tasks.train import train
from urlr.settings import FitSettings

FIXED = FitSettings(method="paper", prune=0.1)
ONE, OTHER = "20261101T020000Z-0a1b2c", "20261102T020000Z-0a1b2c"
SAME_BYTES = {"scores.parquet", "model.npz", "judge.npz", "examples.parquet", "ranking.svg"}


def table(data: bytes) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(data))


def awkward(store: Store, *, features: bool = True) -> pd.DataFrame:
    """Votes in three dumps of either format, some of which do not count."""
    made = simulated(n_votes=900, n_items=25, ties=0.1)
    votes = made.votes.astype({"item_a": "str", "item_b": "str", "outcome": "str"}).assign(
        vote_id=[f"v{k}" for k in range(900)],
        weight=np.where(np.arange(900) % 7, 1.0, 0.3),
        time="2026-11-01T10:00:00Z",
    )
    votes.loc[[5, 450, 700], "vote_id"] = "v3"
    votes.loc[[6, 460], "item_a"] = ["item-9999", None]
    votes.loc[[7, 470], "weight"] = [0.0, -1.0]
    votes.loc[8, "outcome"] = "skip"
    put(store, "votes/smiling/1.parquet", votes.iloc[:400])
    put(store, "votes/smiling/2.csv", votes.iloc[400:650])
    put(store, "votes/smiling/3.parquet", votes.iloc[650:])
    if features:
        put(store, "features/all.parquet", made.features.reset_index())
    truth = pd.DataFrame({"item": made.truth.index, "score": made.truth.to_numpy()})
    put(store, "truth/smiling/1.csv", truth)
    return votes


def both_ways(store: Store, monkeypatch, fit: FitSettings = FIXED, **other) -> list[Trained]:
    """All at once, and part by part in pieces of 64 rows."""
    at_once = train(order_of(store, run=ONE, fit=fit, **other))
    monkeypatch.setattr(tasks.large_votes, "PIECE", 64)
    monkeypatch.setattr(tasks.large_votes, "_BATCH", 16)
    return [at_once, train(order_of(store, run=OTHER, fit=fit, large_attribute=100, **other))]


def together(files: dict[str, bytes], kind: str) -> pd.DataFrame:
    names = sorted(name for name in files if name.startswith(f"{kind}/"))
    assert len(names) > 3
    return pd.concat([table(files[name]) for name in names], ignore_index=True)


@pytest.mark.parametrize("features", [True, False])
def test_part_by_part_gives_what_all_votes_at_once_give(tmp_path, monkeypatch, features):
    store = Store.at(tmp_path)
    awkward(store, features=features)
    at_once, by_parts = both_ways(store, monkeypatch)
    one, other = (written(store, place_of(run, "smiling")) for run in (ONE, OTHER))
    assert {name for name in SAME_BYTES if one[name] != other[name]} == set()
    verdicts, pieces = table(one["verdicts.parquet"]), together(other, "verdicts")
    pd.testing.assert_frame_equal(pieces, verdicts, check_categorical=False, check_dtype=False)
    pd.testing.assert_frame_equal(
        together(other, "rejected"), table(one["rejected.parquet"]), check_dtype=False
    )
    first, second = at_once.result, by_parts.result
    for name in ("rows", "reasons", "dump_rows", "newest", "tau", "truth", "n_pruned", "n_items"):
        assert getattr(first, name) == getattr(second, name), name
    assert first.rows == {"read": 900, "used": 803, "ties": 90, "skipped": 2, "rejected": 5}
    assert [one.method for one in second.methods] == ["urlr"]
    assert second.methods[0] == first.methods[0]
    assert "part by part" in second.warnings[-1]
    assert set(other) == {*second.files, RESULT}
    assert second.key != first.key
