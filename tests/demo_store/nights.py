"""Write what a night finds into a store, and say what was planted there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.store import Store
from tasks.write import write_table
from tests.demo_store.lives import Life, generator, life_of
from tests.demo_store.plans import NIGHT_ONE, NIGHT_TWO, PLANS, Expected

_WORDS = {"sift": 24, "mfcc": 16}
"""Words of the two vocabularies, one of what is seen and one of what is heard."""
_WORDS_PER_VIDEO = 400
_EMBEDDING = 24


@dataclass(frozen=True, slots=True)
class PlantedAttribute:
    """What is true about an attribute, and what the store holds of it when a night begins."""

    attribute: str
    expected: Expected
    """What the night must make of it."""
    truth: pd.Series[Any]
    """True score by item."""
    n_rows: int
    """Rows of all its dumps but the damaged."""
    n_skipped: int
    rejected: dict[str, int]
    """Rows that must be rejected, by reason."""
    wrong: pd.Series[Any]
    """Whether a decisive vote contradicts the truth, by vote_id; rejected rows left out."""
    people: pd.Series[Any]
    """Kind of each annotator, by name: good, careless, reversed or campaign."""
    pushed: tuple[str, ...]
    """Items that the campaign pushes; it has not voted before night two."""
    damaged: tuple[str, ...]
    """Keys of dumps that cannot be read."""


@dataclass(frozen=True, slots=True)
class Planted:
    """What a night finds."""

    night: date
    keys: tuple[str, ...]
    """Objects that were not there the night before."""
    attributes: dict[str, PlantedAttribute]

    def expected(self, what: Expected) -> list[str]:
        """Attributes of which the night must make this."""
        return [name for name, one in self.attributes.items() if one.expected == what]


def write_night_one(store: Store, *, seed: int = 0) -> Planted:
    """Write a month of votes, all features, and the true scores of a few attributes."""
    lives = [life_of(plan, seed) for plan in PLANS]
    return _written(store, NIGHT_ONE, lives, dict(_features(lives, seed)) | dict(_truths(lives)))


def write_night_two(store: Store, *, seed: int = 0) -> Planted:
    """Write the dumps of the day after, and nothing else."""
    return _written(store, NIGHT_TWO, [life_of(plan, seed) for plan in PLANS], {})


def _written(store: Store, night: date, lives: list[Life], others: dict[str, bytes]) -> Planted:
    objects = others | {key: data for life in lives for key, data in _dumps(life, night)}
    for key, data in objects.items():
        store.create(key, data)
    attributes = {life.plan.attribute: _planted(life, night) for life in lives}
    return Planted(night, tuple(objects), attributes)


def _planted(life: Life, night: date) -> PlantedAttribute:
    rows = life.rows[(life.rows["night"] <= night) & (life.rows["dump"] != life.damaged)]
    rejected = rows["why"] != ""
    decisive = rows[~rejected & rows["outcome"].isin(["a", "b"])]
    return PlantedAttribute(
        life.plan.attribute,
        life.plan.night_one if night == NIGHT_ONE else life.plan.night_two,
        life.truth,
        len(rows),
        int((rows["outcome"] == "skip").sum()),
        {str(why): int(count) for why, count in rows["why"][rejected].value_counts().items()},
        decisive.set_index("vote_id")["wrong"],
        life.people,
        life.pushed,
        () if life.damaged is None else (life.damaged,),
    )


def _dumps(life: Life, night: date) -> Iterator[tuple[str, bytes]]:
    """New dumps of a night, by key."""
    for key, found in life.rows[life.rows["night"] == night].groupby("dump", sort=False):
        rows = found.drop(columns=["night", "dump", "wrong", "why"])
        if life.plan.layout != "canonical":
            rows = _winners(rows, named=life.plan.layout == "winner and annotator")
        elif not str(key).endswith(".parquet"):
            rows["time"] = rows["time"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        data = _bytes(rows, str(key))
        yield str(key), data[: len(data) // 2] if key == life.damaged else data


def _winners(rows: pd.DataFrame, *, named: bool) -> pd.DataFrame:
    a_won = rows["outcome"] == "a"
    columns = {
        "winner": rows["item_a"].where(a_won, rows["item_b"]),
        "loser": rows["item_b"].where(a_won, rows["item_a"]),
        "annotator": rows["annotator"],
    }
    return pd.DataFrame(columns if named else {name: columns[name] for name in ("winner", "loser")})


def _features(lives: list[Life], seed: int) -> Iterator[tuple[str, bytes]]:
    """Tables of features by key: of all videos in two parts, of the photos, of the headlines."""
    folders: dict[str, list[Life]] = {}
    for life in lives:
        folders.setdefault(life.plan.attribute.partition("/")[0], []).append(life)
    videos = [_histograms(life, seed) for life in folders["interestingness"]]
    half = len(videos) // 2
    tables = {
        "interestingness/part-0.parquet": pd.concat(videos[:half]).reset_index(),
        "interestingness/part-1.parquet": pd.concat(videos[half:]).reset_index(),
        "photos/embeddings.parquet": _embeddings(folders["photos"], seed),
        "headlines/features.csv": folders["headlines"][0].features.round(6).reset_index(),
    }
    for name, table in tables.items():
        yield f"features/{name}", _bytes(table, name)


def _histograms(life: Life, seed: int) -> pd.DataFrame:
    """Bags of words: the share of each word of two vocabularies in a video."""
    vocabulary = generator(seed, "vocabulary")  # the same for all categories
    bags = generator(seed, f"words of {life.plan.attribute}")
    tables = []
    for name, n_words in _WORDS.items():
        usual = vocabulary.standard_normal(n_words)
        leaning = 0.5 * vocabulary.standard_normal((life.features.shape[1], n_words))
        chance = np.exp(usual + life.features.to_numpy() @ leaning)
        chance /= chance.sum(axis=1, keepdims=True)
        shares = bags.multinomial(_WORDS_PER_VIDEO, chance) / _WORDS_PER_VIDEO
        columns = [f"{name}_{number:02d}" for number in range(n_words)]
        tables.append(pd.DataFrame(shares, life.features.index, columns))
    return pd.concat(tables, axis=1)


def _embeddings(photos: list[Life], seed: int) -> pd.DataFrame:
    """One embedding in which lies, turned, what each attribute depends on, and some noise."""
    rng = generator(seed, "embeddings")
    own = [life.features.to_numpy() for life in photos]
    n_noise = _EMBEDDING - sum(part.shape[1] for part in own)
    parts = np.column_stack([*own, rng.standard_normal((len(own[0]), n_noise))])
    turn, _ = np.linalg.qr(rng.standard_normal((_EMBEDDING, _EMBEDDING)))
    mixed = (parts @ turn).astype(np.float32)
    return pd.DataFrame({"item": photos[0].features.index, "embedding": list(mixed)})


def _truths(lives: list[Life]) -> Iterator[tuple[str, bytes]]:
    for life in lives:
        if life.plan.has_truth:
            key = f"truth/{life.plan.attribute}/scores.csv"
            yield key, _bytes(life.truth.reset_index(), key)


def _bytes(table: pd.DataFrame, key: str) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, Path(key).name)
        write_table(table, path)
        return path.read_bytes()
