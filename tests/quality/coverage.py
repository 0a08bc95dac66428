"""How often intervals hold what they should: `python -m tests.quality.coverage [--seeds 0-19]`.

One crowd of items and people votes again and again. The mean score of an item over these rounds is
the procedure's own expected score; an interval of nominal 90 % should hold it 85 to 95 % of the
time. How often it holds the true score (brought to the same scale) and the true rank is printed
beside it.
"""

from __future__ import annotations

import argparse
import sys
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

import urlr
from urlr.simulate import AnnotatorShares, crowd

SETTINGS: dict[str, dict[str, Any]] = {
    "honest": {},
    "a fifth of the people reversed": {"shares": AnnotatorShares(reversed=0.2)},
    "a fifth of the votes a campaign": {"campaign_votes": 0.2},
    "a fifth of the people careless": {"shares": AnnotatorShares(careless=0.2)},
    "a fifth reversed, ten votes a person": {
        "shares": AnnotatorShares(reversed=0.2),
        "n_annotators": 300,
    },
    "no features": {},
    "half of the truth private": {"private": 0.5},
}
ROUNDS = 40
REPLICATES = 100


def drawn(name: str, seed: int, round_: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series[Any]]:
    """The same items and people of a seed, other pairs and votes in every round."""
    settings = {"private": 0.3, "curvature": 0.1, "error_ratio": 0.15, "n_annotators": 60}
    settings |= SETTINGS[name]
    made = crowd(
        rng=_SameCrowd(seed, round_),
        n_items=100,
        n_features=8,
        n_votes=3000,
        **settings,
    )
    return made.votes, made.features, made.truth


class _SameCrowd(np.random.Generator):
    """Streams for items and people that do not depend on the round; for pairs and votes others."""

    def __init__(self, seed: int, round_: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self._of = (seed, round_)

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        seed, round_ = self._of
        assert n_children == 4
        pairs, votes = np.random.default_rng([seed, 2, round_]).spawn(2)
        return [np.random.default_rng([seed, 1]), pairs, np.random.default_rng([seed, 3]), votes]


def one_round(job: tuple[str, int, int]) -> tuple[str, int, int, pd.DataFrame]:
    name, seed, round_ = job
    votes, features, truth = drawn(name, seed, round_)
    ranker = urlr.fit(votes, None if name == "no features" else features, replicates=REPLICATES)
    table = ranker.scores.set_index("item").loc[truth.index].assign(truth=truth)
    return name, seed, round_, table[["score", "low", "high", "rank_low", "rank_high", "truth"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--crowds", type=int, default=2, help="crowds of items per setting")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="times each crowd votes")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    jobs = [
        (name, seed, round_)
        for name in SETTINGS
        for seed in range(chosen.crowds)
        for round_ in range(chosen.rounds)
    ]
    tables: dict[tuple[str, int], list[pd.DataFrame]] = {}
    with get_context("fork").Pool(chosen.processes) as pool:
        for done, (name, seed, _, table) in enumerate(pool.imap(one_round, jobs), 1):
            tables.setdefault((name, seed), []).append(table)
            print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    print("| crowd | own expected score | true score | true rank |")
    print("|---|---|---|---|")
    for name in SETTINGS:
        shares = [_coverage(rounds) for (of, _), rounds in tables.items() if of == name]
        own, true, rank = np.mean(shares, axis=0)
        print(f"| {name} | {own:.1%} | {true:.1%} | {rank:.1%} |")


def _coverage(rounds: list[pd.DataFrame]) -> tuple[float, float, float]:
    expected = pd.concat([one["score"] for one in rounds], axis=1).mean(axis=1)
    truth = rounds[0]["truth"]
    # The true scores on the scale of the expected ones.
    slope = float(truth @ expected / (truth @ truth))
    rank = truth.rank(ascending=False)
    held = np.zeros(3)
    for one in rounds:
        held += [
            expected.between(one["low"], one["high"]).mean(),
            (slope * truth).between(one["low"], one["high"]).mean(),
            rank.between(one["rank_low"].astype(float), one["rank_high"].astype(float)).mean(),
        ]
    own, true, of_rank = held / len(rounds)
    return own, true, of_rank


if __name__ == "__main__":
    main()
