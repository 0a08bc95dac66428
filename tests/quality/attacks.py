"""What attacks cost: `python -m tests.quality.attacks [--seeds 0 1 2] [--features with without]`.

Honest people vote on items whose truth features explain in part; then others join them and cast a
share of all votes. Printed are, by attack and share, Kendall's tau with the truth less that without
the attack, the share of the attackers who are accused, and the share of the honest who are.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import kendalltau

import urlr

NO_ACCUSATION = ("fine", "too few votes", "different taste")
ATTACKS = ("pushing", "new names", "always left", "reversed", "coins", "honest names")
SHARES = (0.1, 0.2, 0.4)
TASTES = (0.1, 0.25, 0.4)


@dataclass(frozen=True)
class Size:
    """How large a crowd is."""

    items: int = 100
    people: int = 60
    votes: int = 6000
    columns: int = 10
    """Of features, which explain six tenths of the variance of the truth."""


@dataclass(frozen=True)
class Crowd:
    """Votes, features, the truth, and who is no honest person."""

    votes: pd.DataFrame
    features: pd.DataFrame
    truth: pd.Series[float]
    attackers: frozenset[str]
    others: frozenset[str] = frozenset()
    """People of another taste."""


def _votes(
    first: Any, second: Any, chance: Any, who: Any, rng: np.random.Generator, left: Any = None
) -> pd.DataFrame:
    """Votes on pairs, the first of which wins with a chance."""
    won = rng.random(len(first)) < chance
    on_left = rng.random(len(first)) < 0.5 if left is None else left
    return pd.DataFrame(
        {
            "winner": np.where(won, first, second),
            "loser": np.where(won, second, first),
            "annotator": who,
            "left": np.where(on_left, first, second),
        }
    )


def honest(
    seed: int,
    size: Size = Size(),  # noqa: B008  (frozen)
    *,
    minority: float = 0.0,
) -> Crowd:
    """People who slip now and then; a share of them may judge by something else."""
    rng = np.random.default_rng([seed, 7])
    values = rng.normal(size=(size.items, size.columns))
    linear = values @ rng.normal(size=size.columns)
    truth = np.sqrt(0.6) * linear / linear.std() + np.sqrt(0.4) * rng.normal(size=size.items)
    other = 0.3 * truth + np.sqrt(1 - 0.3**2) * rng.normal(size=size.items)
    items = np.array([f"i{k:05d}" for k in range(size.items)])
    names = np.array([f"p{k:05d}" for k in range(size.people)])
    often = rng.lognormal(0.0, 0.7, size.people)
    who = rng.choice(size.people, size.votes, p=often / often.sum())
    slips = rng.beta(2, 18, size.people)[who]
    apart = np.zeros(size.people, np.bool_)
    apart[rng.permutation(size.people)[: round(minority * size.people)]] = True
    first, second = _pairs(size.items, size.votes, rng)
    by = np.where(apart[who], other[first] - other[second], truth[first] - truth[second])
    chance = (1 - slips) * expit(1.5 * by) + slips * expit(-1.5 * by)
    features = pd.DataFrame(values, index=items, columns=[f"c{k}" for k in range(size.columns)])
    return Crowd(
        _votes(items[first], items[second], chance, names[who], rng),
        features,
        pd.Series(truth, index=items),
        frozenset(),
        frozenset(names[apart]),
    )


def attacked(crowd: Crowd, attack: str, share: float, seed: int, **how: Any) -> Crowd:
    """The crowd with attackers who cast this share of all votes."""
    rng = np.random.default_rng([seed, ATTACKS.index(attack), 11])
    items = crowd.truth.index.to_numpy()
    n, n_items = round(len(crowd.votes) * share / (1 - share)), len(items)
    counts = crowd.votes.annotator.value_counts()
    n_people = 3 if attack == "pushing" else max(1, round(n / counts.mean()))
    n_people = how.get("n_people", n_people)
    names = np.array([f"x{k:05d}" for k in range(n_people)])
    if attack == "honest names":
        names = counts.index.to_numpy()
    who = rng.choice(names, n)
    first, second = _pairs(n_items, n, rng)
    truth = crowd.truth.to_numpy()
    by = 1.5 * (truth[first] - truth[second])
    left = rng.random(n) < 0.5
    chance = np.full(n, 0.5)
    if attack == "always left":
        chance = left.astype(float)
    elif attack == "reversed":
        chance = 0.9 * expit(-by) + 0.1 * expit(by)
    elif attack != "coins":
        pushed = max(1, round(how.get("pushed", 0.1) * n_items))
        order = rng.permutation(n_items)
        up, down, rest = np.split(order, [pushed, 2 * pushed])
        lifted = rng.random(n) < 0.5
        first = np.where(lifted, rng.choice(up, n), rng.choice(rest, n))
        second = np.where(lifted, rng.choice(rest, n), rng.choice(down, n))
        chance = np.full(n, 1.0 - how.get("noise", 0.0))
    more = _votes(items[first], items[second], chance, who, rng, left)
    votes = pd.concat([crowd.votes, more]).sample(frac=1.0, random_state=seed)
    attackers = frozenset() if attack == "honest names" else frozenset(names)
    return Crowd(votes.reset_index(drop=True), crowd.features, crowd.truth, attackers, crowd.others)


def _pairs(n_items: int, n: int, rng: np.random.Generator) -> Any:
    first = rng.integers(n_items, size=n)
    return first, (first + rng.integers(1, n_items, size=n)) % n_items


def judged(crowd: Crowd, *, features: bool) -> dict[str, float]:
    """Tau with the truth, and who is accused."""
    ranker = urlr.fit(crowd.votes, crowd.features if features else None, replicates=0)
    score = ranker.scores.set_index("item")["score"].reindex(crowd.truth.index)
    people = ranker.annotators.set_index("annotator")["verdict"]
    accused = ~people.isin(NO_ACCUSATION)
    bad = people.index.isin(list(crowd.attackers))
    apart = people.index.isin(list(crowd.others))
    return {
        "tau": float(kendalltau(score, crowd.truth).statistic),
        "found": float(accused[bad].mean()) if bad.any() else np.nan,
        "accused": float(accused[~bad].mean()),
        "shown": float((people[apart] == "different taste").mean()) if apart.any() else np.nan,
        "wrongly_shown": float((people[~apart & ~bad] == "different taste").mean()),
    }


def trial(job: tuple[int, bool, Size, str]) -> list[dict[str, Any]]:
    """All attacks on one crowd."""
    seed, features, size, only = job
    plain = honest(seed, size)
    before = judged(plain, features=features)
    rows = [{"attack": "nobody", "share": 0.0, "cost": before["tau"], **before}]
    for attack in ATTACKS:
        for share in SHARES:
            if only in attack:
                found = judged(attacked(plain, attack, share, seed), features=features)
                cost = found["tau"] - before["tau"]
                rows.append({"attack": attack, "share": share, "cost": cost, **found})
    for share in TASTES:
        if only in "taste":
            found = judged(honest(seed, size, minority=share), features=features)
            cost = found["tau"] - before["tau"]
            rows.append({"attack": "taste", "share": share, "cost": cost, **found})
    return [{"features": features, "seed": seed, **row} for row in rows]


def main() -> None:
    """Attack crowds side by side, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=list(range(5)))
    parser.add_argument("--features", nargs="*", default=["without", "with"])
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--votes", type=int, default=6000)
    parser.add_argument("--only", default="", help="attacks whose name contains this")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    size = Size(chosen.items, chosen.people, chosen.votes)
    jobs = [(s, f == "with", size, chosen.only) for f in chosen.features for s in chosen.seeds]
    rows: list[dict[str, Any]] = []
    with get_context("fork").Pool(chosen.processes) as pool:
        for done, some in enumerate(pool.imap(trial, jobs), 1):
            rows += some
            print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    table = pd.DataFrame(rows).drop(columns="seed")
    means = table.groupby(["features", "attack", "share"], sort=False).mean()
    worst = table.groupby(["features", "attack", "share"], sort=False)["cost"].min()
    print(means.assign(worst=worst).round(3).to_string())


if __name__ == "__main__":
    main()
