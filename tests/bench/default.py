"""The default fit: CPU time and memory against stated bars, evalica's intervals beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import urlr
from tests.bench.measure import MIB, Row, Stages, forget_peak, resident
from urlr.simulate import AnnotatorShares, Crowd, crowd


def mixed_crowd(n_items: int, n_features: int, n_votes: int, n_annotators: int) -> Crowd:
    """A third of the truth private, one person in ten careless, one in twenty reversed, ties."""
    print(f"{n_votes:,} votes on {n_items:,} items by {n_annotators:,} people", flush=True)
    return crowd(
        rng=np.random.default_rng(1),
        n_items=n_items,
        n_features=n_features,
        n_votes=n_votes,
        n_annotators=n_annotators,
        private=0.3,
        error_ratio=0.15,
        ties=0.03,
        left_bias=0.05,
        shares=AnnotatorShares(careless=0.1, reversed=0.05),
    )


def intervals(quick: bool) -> Iterator[Row]:
    """`fit` with auto rate and 200 replicates: 1,000 items, d 20, 100k votes, 200 people."""
    made = mixed_crowd(*((200, 8, 5_000, 50) if quick else (1_000, 20, 100_000, 200)))
    yield _row("intervals", made, bar=6.0, memory_bar=300.0, replicates=200)
    decided = made.decisive
    winners = decided["winner"].astype(str).tolist(), decided["loser"].astype(str).tolist()
    import evalica

    spent, _ = cpu_seconds(
        lambda: evalica.bootstrap(
            evalica.bradley_terry,
            *winners,
            [evalica.Winner.X] * len(decided),
            n_resamples=100,
            bootstrap_method="percentile",
            random_state=0,
        )
    )
    yield Row(
        "intervals",
        "evalica, Bradley-Terry, 100 bootstraps",
        spent,
        note="for orientation: no features, no outliers, no annotators.",
    )


def large(quick: bool) -> Iterator[Row]:
    """`fit` with 50 replicates: 10,000 items, d 64, 1M votes, 5,000 people."""
    made = mixed_crowd(*((500, 16, 20_000, 100) if quick else (10_000, 64, 1_000_000, 5_000)))
    yield _row("large", made, bar=60.0, memory_bar=1536.0, replicates=50)


def small(quick: bool) -> Iterator[Row]:
    """`fit` with 200 replicates, as at a desk: 100 items, d 8, 1,000 votes, 25 people."""
    made = mixed_crowd(100, 8, 1_000, 25)
    yield _row("small", made, bar=0.35, memory_bar=300.0, replicates=20 if quick else 200)


def place_pulse(quick: bool) -> Iterator[Row]:
    """`fit` of the shape of Place Pulse: 110,000 items, d 512, 1.2M votes, 9,000 people."""
    sizes = (2_000, 32, 20_000, 150) if quick else (110_000, 512, 1_200_000, 9_000)
    yield _row("place_pulse", mixed_crowd(*sizes), bar=80.0, memory_bar=2560.0, replicates=0)


def _row(name: str, made: Crowd, *, bar: float, memory_bar: float, **settings: Any) -> Row:
    forget_peak()
    held, _ = resident()
    stages = Stages()
    spent, ranker = cpu_seconds(
        lambda: urlr.fit(made.votes, made.features, progress=stages, **settings)
    )
    facts = ranker.facts
    return Row(
        name,
        f"{facts.n_items:,} items, {len(made.votes):,} votes, {facts.n_replicates} replicates",
        spent,
        "the bar, CPU seconds",
        bar,
        bar=1.0,
        violation=facts.violation,
        memory=resident()[1] - held,
        memory_bar=memory_bar * MIB,
        note=f"CPU time; memory above the data; {facts.n_pruned_votes:,} votes set aside; "
        f"{stages}.",
    )


def cpu_seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and what it returned."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result
