"""Whether flags on people can be trusted: `python -m tests.quality.people [--rounds 10]`.

Crowds of 100 people whose kinds are known are judged by the default. Printed are the share of the
flagged who are good (mean over crowds, 0 where nobody is flagged; the stated level is 10 %), and of
each bad kind the share flagged, by the number of votes a person casts.
"""

from __future__ import annotations

import argparse
import sys
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd

import urlr
from urlr.people.verdicts import ACCUSATIONS
from urlr.simulate import AnnotatorShares, crowd

CROWDS: dict[str, dict[str, Any]] = {
    "all good": {},
    "a tenth careless": {"shares": AnnotatorShares(careless=0.1)},
    "a tenth reversed": {"shares": AnnotatorShares(reversed=0.1)},
    "a tenth campaigning": {"campaign_votes": 0.1},
    "a tenth of each": {
        "shares": AnnotatorShares(careless=0.1, reversed=0.1, campaign=0.1),
        "campaign_votes": 0.1,
    },
    "features that say little": {"shares": AnnotatorShares(careless=0.1), "private": 0.9},
}
VOTES = (10, 25, 50, 100, 200)
Judged = tuple[str, int, "pd.Series[Any]"]


def judged(job: tuple[str, int, int]) -> Judged:
    """Of one crowd: kind by kind, how many there are and how many are flagged."""
    name, votes, round_ = job
    settings = {"private": 0.3, "curvature": 0.1, "error_ratio": 0.15} | CROWDS[name]
    made = crowd(
        rng=np.random.default_rng([list(CROWDS).index(name), votes, round_]),
        n_items=100,
        n_features=8,
        n_votes=100 * votes,
        n_annotators=100,
        **settings,
    )
    table = urlr.fit(made.votes, made.features, replicates=0).annotators
    flagged = table.set_index("annotator")["verdict"].isin(ACCUSATIONS)
    kind = made.annotators.set_index("annotator")["kind"].astype(str)
    return name, votes, flagged.groupby(kind[flagged.index]).agg(["sum", "size"]).stack()


def main() -> None:
    """Judge all crowds, side by side, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10, help="crowds of each kind and size")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    jobs = [(name, n, k) for name in CROWDS for n in VOTES for k in range(chosen.rounds)]
    rows = []
    with get_context("fork").Pool(chosen.processes) as pool:
        for done, (name, votes, counts) in enumerate(pool.imap(judged, jobs), 1):
            rows.append(pd.Series({"crowd": name, "votes": votes} | counts.to_dict()))
            print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    print_table(pd.DataFrame(rows))


def print_table(rows: pd.DataFrame) -> None:
    """Print, by crowd and votes a person, wrongly flagged among the flagged, and who is found."""
    kinds = [kind for kind, what in rows.columns[2:] if what == "sum" and kind != "good"]
    print(f"| crowd | votes a person | flagged wrongly | {' found | '.join(kinds)} found |")
    print("|---" * (3 + len(kinds)) + "|")
    rows = rows.fillna(0.0)
    flagged = sum(rows[kind, "sum"] for kind in (*kinds, "good"))
    rows["wrongly"] = rows["good", "sum"] / np.maximum(flagged, 1)
    for (name, votes), of_size in rows.groupby(["crowd", "votes"], sort=False):
        cells = [f"{of_size['wrongly'].mean():.1%}"]
        for kind in kinds:
            n = of_size[kind, "size"].sum()
            cells.append(f"{of_size[kind, 'sum'].sum() / n:.0%}" if n else "")
        print(f"| {name} | {votes} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
