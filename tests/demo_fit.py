"""A simulated crowd, cleaned and ranked by the real `urlr` command, and held against the truth.

`python -m tests.demo_fit demo-fit` writes votes.csv and features.csv into `demo-fit`, runs the
commands a user would type, and reads the answer back from the files they wrote.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.write import write_table
from urlr.metrics import outlier_auc, tau_b
from urlr.people.verdicts import ACCUSATIONS
from urlr.simulate import AnnotatorShares, Crowd, crowd

SEED = 0
N_UNSEEN = 20


def main() -> int:
    """Run the demo in the directory given."""
    if len(sys.argv) != 2:
        _say("usage: python -m tests.demo_fit DIRECTORY")
        return 2
    home = Path(sys.argv[1])
    home.mkdir(parents=True, exist_ok=True)
    made = simulated()
    unseen = made.truth.index[-N_UNSEEN:]
    counted = ~(made.votes["item_a"].isin(unseen) | made.votes["item_b"].isin(unseen)).to_numpy()
    votes, wrong = made.votes[counted], made.wrong[counted]
    kinds = made.annotators["kind"].value_counts()
    files = {name: str(home / name) for name in ("votes.csv", "features.csv")}
    write_table(votes, files["votes.csv"])
    write_table(made.features.reset_index(), files["features.csv"])
    _say(
        f"A simulated crowd: {len(votes):,} votes by {len(made.annotators)} people "
        f"({', '.join(f'{count} {kind}' for kind, count in kinds.items() if count)}) on "
        f"{len(made.truth)} items, {N_UNSEEN} of which nobody compared. "
        f"{wrong.mean():.0%} of the votes are wrong; urlr is not told which."
    )
    ranking, every, scores = (str(home / name) for name in ("ranking", "every-vote", "scores.csv"))
    fit = ["fit", files["votes.csv"], files["features.csv"]]
    if not (
        _run(*fit, "--out", ranking, "--overwrite")
        and _run("score", ranking, files["features.csv"], "--out", scores, "--overwrite")
        and _run(*fit, "--method", "paper", "--prune", "0", "--out", every, "--overwrite")
    ):
        return 1

    verdicts = pd.read_csv(Path(ranking, "verdicts.csv"), index_col="vote_id")
    used = (verdicts["status"] == "used").to_numpy()
    pruned = verdicts["pruned"].to_numpy(np.bool_)
    auc = outlier_auc(-verdicts["order"].to_numpy(np.float64)[used], wrong[used])
    everything = _tau(Path(every, "scores.csv"), made.truth)
    cleaned = _tau(Path(ranking, "scores.csv"), made.truth)
    new = _tau(Path(scores), made.truth[unseen])
    people = pd.read_csv(Path(ranking, "annotators.csv"), index_col="annotator")
    flagged = people["verdict"].isin(ACCUSATIONS)
    bad = made.annotators.set_index("annotator")["kind"][people.index] != "good"
    _say(
        "\nHeld against the truth, which only the simulation knows:\n"
        f"  Kendall's tau with the true order   {everything:.3f} if every vote counts the same, "
        f"{cleaned:.3f} by default\n"
        f"  tau of the {N_UNSEEN} items nobody compared  {new:.3f}\n"
        f"  finding wrong votes, area under ROC {auc:.3f} (0.5 is guessing, 1 is perfect)\n"
        f"  votes set aside that are wrong      {wrong[pruned & used].mean():.0%}, against "
        f"{wrong.mean():.0%} of all\n"
        f"  people who do not vote honestly     {(flagged & bad).sum()} of {bad.sum()} flagged, "
        f"and {(flagged & ~bad).sum()} of {(~bad).sum()} others"
    )
    return 0


def simulated() -> Crowd:
    """A crowd with careless and reversed people, and a campaign for one item in twenty."""
    return crowd(
        rng=np.random.default_rng(SEED),
        n_items=300,
        n_features=12,
        n_votes=6000,
        n_annotators=60,
        private=0.05,
        shares=AnnotatorShares(careless=0.1, reversed=0.05),
        campaign_votes=0.2,
        pushed=0.05,
        ties=0.03,
    )


def _tau(path: Path, truth: pd.Series[float]) -> float:
    return tau_b(pd.read_csv(path, index_col="item")["score"], truth)


def _run(*arguments: str) -> bool:
    """Show a command as a user would type it, and run it."""
    _say(f"\n$ {shlex.join(['urlr', *arguments])}")
    return subprocess.run([sys.executable, "-m", "flows.cli", *arguments]).returncode == 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
