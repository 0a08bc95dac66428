"""What a night costs per million votes: the real command on simulated votes, in shapes of stores.

python -m tests.bench.cost [--shapes 20x50000,200x5000]

A shape is attributes x votes each. Every attribute has 200 items with 32 features and 100 people.
Processor time is that of the workers, as the record of the night has it; the rest (start, registry,
verifying, report) is seen in the wall time.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tasks.store import Store
from tests.bench.measure import MIB
from tests.bench.nights import Shape, fill, run_night

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
    store = Store.at(home / "store")
    fill(store, n_attributes, Shape(n_votes))
    ran = run_night(home, store.url)
    done = ran.computed
    if len(done) != n_attributes:
        raise SystemExit(f"{len(done)} of {n_attributes} attributes were computed")
    written = store.list("runs")
    millions = n_attributes * n_votes / 1e6
    return [
        f"{n_attributes} x {n_votes:,}",
        f"{ran.compute / millions:.0f}",
        f"{ran.night.stages['all'] / millions:.0f}",
        f"{max(one.memory for one in done) / MIB:.0f}",
        f"{sum(one.size for one in written) / MIB / millions:.0f}",
        f"{len(written) / millions:,.0f}",
    ]


if __name__ == "__main__":
    main()
