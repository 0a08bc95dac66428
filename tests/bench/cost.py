"""What a night costs per million votes: the real command on simulated votes, in shapes of stores.

python -m tests.bench.cost [--shapes 20x50000,200x5000]

A shape is attributes x votes each. Every attribute has 200 items with 32 features and 100 people.
Processor time is that of the workers, as the record of the night has it; the rest (start, registry,
verifying, report) is seen in the wall time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.results import Night
from tasks.runs import past_of
from tasks.store import Store
from tasks.write import write_table
from tests.bench.measure import MIB
from urlr.simulate import crowd

HEADINGS = ("shape", "CPU s", "wall s", "peak MiB a worker", "MiB written", "objects")


def main() -> None:
    """Run a night in each shape and print its cost for a million votes."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cost", description=__doc__)
    parser.add_argument("--shapes", default="20x50000,200x5000", help="attributes x votes, ...")
    print("per million votes, two workers:")
    print(" | ".join(HEADINGS), flush=True)
    for shape in parser.parse_args().shapes.split(","):
        n_attributes, n_votes = map(int, shape.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            print(" | ".join(_cost(Path(folder), n_attributes, n_votes)), flush=True)


def _cost(home: Path, n_attributes: int, n_votes: int) -> list[str]:
    for k in range(n_attributes):
        made = crowd(
            rng=np.random.default_rng(k),
            n_items=200,
            n_features=32,
            n_votes=n_votes,
            n_annotators=100,
            ties=0.03,
        )
        _put(home / f"store/votes/a{k:04}/votes.parquet", made.votes)
        _put(home / f"store/features/a{k:04}/features.parquet", made.features.reset_index())
    night = _night(home)
    done = [one for one in night.entries.values() if one.computed]
    if len(done) != n_attributes:
        raise SystemExit(f"{len(done)} of {n_attributes} attributes were computed")
    written = Store.at(home / "store").list("runs")
    millions = n_attributes * n_votes / 1e6
    return [
        f"{n_attributes} x {n_votes:,}",
        f"{sum(one.seconds for one in done) / millions:.0f}",
        f"{night.stages['all'] / millions:.0f}",
        f"{max(one.memory for one in done) / MIB:.0f}",
        f"{sum(one.size for one in written) / MIB / millions:.0f}",
        f"{len(written) / millions:,.0f}",
    ]


def _night(home: Path) -> Night:
    settings = {"URLR_WORKERS": "2", "PREFECT_HOME": str(home / "prefect")}
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", "nightly", "--store", "store", "--quiet"],
        cwd=home,
        env=os.environ | settings | {"PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    night = past_of(Store.at(home / "store")).last
    if night is None:
        raise SystemExit("the night left no record")
    return night


def _put(path: Path, table: pd.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(table, path)


if __name__ == "__main__":
    main()
