"""What two nights make of the simulated store, by the library alone: no flow, cluster or registry.

`python -m tests.demo_store.rehearsal 0 1 2` prints a table for each of these seeds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

import urlr
from tasks.evaluate import Comparison, VoteTau, compare, tau_with_votes
from tasks.gate import GateSettings, Verdict, decide
from tasks.read import ReadError, read_features, read_votes
from tasks.split import split_votes
from tasks.store import Store
from tests.demo_store.nights import Planted, write_night_one, write_night_two
from urlr.errors import VoteError
from urlr.votes import VoteTable

LEVEL = 0.99
STRICT, LENIENT = GateSettings(confidence=LEVEL), GateSettings(confidence=LEVEL, drop_errors=2.0)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """An attribute on one night."""

    attribute: str
    votes: VoteTable
    unreadable: tuple[str, ...]
    """Keys of dumps that could not be read."""
    scores: pd.Series[Any] | None
    """Of the judge; None where it was refused."""
    refusal: str
    tau: VoteTau | None
    comparison: Comparison | None
    """With the champion, where there is one."""
    strict: Verdict | None
    lenient: Verdict | None
    plain: Verdict | None
    """What the strict gate would say if nobody were named, so that only votes count."""
    seconds: float
    """For the judge alone."""

    @property
    def outcome(self) -> str:
        """What both settings of the gate make of it."""
        if self.strict is None or self.lenient is None:
            return "refused"
        said = {("held", "published")[one.publish] for one in (self.strict, self.lenient)}
        return said.pop() if len(said) == 1 else "held or published"


@dataclass(frozen=True, slots=True)
class Night:
    """What was planted, and what became of the attributes with new dumps."""

    planted: Planted
    found: tuple[Rehearsed, ...]


def rehearsals(
    store: Store, *, seed: int = 0, replicates: int | None = None
) -> tuple[Night, Night]:
    """Write night one into an empty store and go through it; the same with night two."""
    planted = write_night_one(store, seed=seed)
    first = [rehearsed(store, name, None, replicates=replicates) for name in changed(planted)]
    champions = {
        one.attribute: one.scores for one in first if one.strict is not None and one.strict.publish
    }
    later = write_night_two(store, seed=seed)
    second = [
        rehearsed(store, name, champions.get(name), replicates=replicates)
        for name in changed(later)
    ]
    return Night(planted, tuple(first)), Night(later, tuple(second))


def changed(planted: Planted) -> list[str]:
    """Attributes with a new dump."""
    folders = {str(PurePosixPath(key).parent) for key in planted.keys}
    return [name for name in planted.attributes if f"votes/{name}" in folders]


def rehearsed(
    store: Store,
    attribute: str,
    champion: pd.Series[Any] | None,
    *,
    replicates: int | None = None,
) -> Rehearsed:
    """Read, split, fit the judge, compare, decide."""
    frame, unreadable = votes_of(store, attribute)
    features = features_of(store, attribute)
    known = None if features is None else pd.Index(features["item"])
    votes = urlr.vote_table(frame, known_items=known)
    split = split_votes(votes, by_items=features is not None)
    judging = split.held_out
    if features is not None:
        judging = pd.concat([split.held_out, split.unseen])
    began = time.perf_counter()
    try:
        judge = urlr.fit(split.train, features, replicates=replicates)
    except VoteError as error:
        nothing = (None, str(error), None, None, None, None, None)
        return Rehearsed(attribute, votes, unreadable, *nothing, time.perf_counter() - began)
    seconds = time.perf_counter() - began
    scores = judge.scores.set_index("item")["score"]
    if features is not None:
        scores = judge.score(features)
    tau, comparison = _judged(scores, champion, judging)
    nameless = _judged(scores, champion, judging.drop(columns="annotator", errors="ignore"))
    return Rehearsed(
        attribute,
        votes,
        unreadable,
        scores,
        "",
        tau,
        comparison,
        decide(tau, comparison, settings=STRICT),
        decide(tau, comparison, settings=LENIENT),
        decide(*nameless, settings=STRICT),
        seconds,
    )


def votes_of(store: Store, attribute: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """All votes of an attribute, and the dumps that could not be read."""
    frames, unreadable = [], []
    for found in store.list(f"votes/{attribute}"):
        try:
            with local_copy(store, found.key) as path:
                frames.append(read_votes(path))
        except ReadError:
            unreadable.append(found.key)
    return pd.concat(frames, ignore_index=True), tuple(unreadable)


def features_of(store: Store, attribute: str) -> pd.DataFrame | None:
    """The features of the nearest folder up that has any."""
    for folder in (PurePosixPath(attribute), *PurePosixPath(attribute).parents):
        within = PurePosixPath("features", folder)
        keys = [found.key for found in store.list(str(within))]
        tables = []
        for key in keys:
            if PurePosixPath(key).parent == within:
                with local_copy(store, key) as path:
                    tables.append(read_features(path))
        if tables:
            return pd.concat(tables, ignore_index=True)
    return None


@contextmanager
def local_copy(store: Store, key: str) -> Iterator[Path]:
    """The object as a file of its own name."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, PurePosixPath(key).name)
        path.write_bytes(store.read(key))
        yield path


def _judged(
    scores: pd.Series[Any], champion: pd.Series[Any] | None, votes: pd.DataFrame
) -> tuple[VoteTau, Comparison | None]:
    tau = tau_with_votes(scores, votes, level=LEVEL, rng=np.random.default_rng(0))
    if champion is None:
        return tau, None
    return tau, compare(scores, champion, votes, level=LEVEL, rng=np.random.default_rng(0))


def _row(night: Rehearsed) -> dict[str, Any]:
    """A line of the table; with a champion, tau as it was and as it would be."""

    def figure(kind: str) -> str:
        if night.comparison is not None:
            both = (night.comparison.champion, night.comparison.challenger)
            values = [getattr(one, kind) for one in both]
            return " -> ".join("-" if one is None else f"{one.value:.3f}" for one in values)
        value = None if night.tau is None else getattr(night.tau, kind)
        return "-" if value is None else f"{value.value:.3f}"

    said = night.outcome
    if night.strict is not None and night.lenient is not None:
        said += f" ({' / '.join(dict.fromkeys([night.strict.rule, night.lenient.rule]))})"
    by_votes = "-" if night.plain is None else ("held", "published")[night.plain.publish]
    return {
        "attribute": night.attribute,
        "votes": night.votes.counts["used"] + night.votes.counts["ties"],
        "judged by": 0 if night.tau is None else night.tau.n_votes,
        "tau plain": figure("plain"),
        "tau by person": figure("by_person"),
        "verdict": said,
        "by votes alone": by_votes,
        "seconds": f"{night.seconds:.2f}",
    }


def main() -> int:
    """Rehearse both nights for each seed given."""
    for seed in [int(text) for text in sys.argv[1:]] or [0]:
        with tempfile.TemporaryDirectory() as place:
            began = time.perf_counter()
            nights = rehearsals(Store.at(place), seed=seed)
            seconds = time.perf_counter() - began
        sys.stdout.write(f"seed {seed}, {seconds:.0f} s in all\n")
        for night in nights:
            table = pd.DataFrame([_row(one) for one in night.found]).to_string(index=False)
            sys.stdout.write(f"\nnight of {night.planted.night}\n{table}\n")
            wrong = [
                one.attribute
                for one in night.found
                if one.outcome != night.planted.attributes[one.attribute].expected
            ]
            sys.stdout.write(f"not as planned: {', '.join(wrong) or 'none'}\n\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
