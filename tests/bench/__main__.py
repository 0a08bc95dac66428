"""Run workloads, each in a process of its own on one thread, and print one table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.bench.measure import Row, table, timed

RESULTS = Path("bench-results")
ONE_THREAD = dict.fromkeys(
    [f"{library}_NUM_THREADS" for library in ("OPENBLAS", "OMP", "MKL", "NUMBA")], "1"
)


def main() -> int:
    """Parse the command line; the hidden --into makes this the process of one workload."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads; all if none is named")
    parser.add_argument("--list", action="store_true", help="say which workloads there are")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    from tests.bench.workloads import WORKLOADS

    if chosen.into:
        return run_one(chosen.names, quick=chosen.quick, into=chosen.into)
    if chosen.list:
        for name, workload in WORKLOADS.items():
            print(f"{name:12} {workload.__doc__}")
        return 0
    unknown = [name for name in chosen.names if name not in WORKLOADS]
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    return run_all(chosen.names or list(WORKLOADS), quick=chosen.quick)


def run_one(names: list[str], *, quick: bool, into: Path) -> int:
    """Warm up, run the named workload if any, and leave its rows in a file."""
    from tests.bench.workloads import WORKLOADS, warm_up

    warming, _ = timed(warm_up)
    rows: list[dict] = []
    for row in (row for name in names for row in WORKLOADS[name](quick)):
        print(" | ".join(cell for cell in row.cells() if cell), flush=True)
        rows.append(asdict(row))
    into.write_text(json.dumps({"warm_up": warming, "rows": rows}))
    return 0


def run_all(names: list[str], *, quick: bool) -> int:
    """Run each workload in a fresh process, print the table and write it down."""
    started = datetime.now(UTC)
    rows: list[Row] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder, "rows.json")
        # A compile cache of our own, so that the first process compiles and the second reads.
        environment = os.environ | ONE_THREAD | {"NUMBA_CACHE_DIR": folder}

        def result_of(name: str | None) -> dict:
            call = [sys.executable, "-m", "tests.bench", "--into", str(into)]
            call += ([name] if name else []) + (["--quick"] if quick else [])
            subprocess.run(call, env=environment, check=True)
            return json.loads(into.read_text())

        afresh, cached = (result_of(None)["warm_up"] for _ in range(2))
        for name in names:
            print(f"== {name}", flush=True)
            try:
                rows += [Row(**row) for row in result_of(name)["rows"]]
            except subprocess.CalledProcessError as error:
                print(f"{name} failed with code {error.returncode}")
                failed.append(name)
    print()
    print(table(rows))
    print(f"warm-up on a tiny graph: compiled afresh {afresh:.1f} s, from cache {cached:.1f} s.")
    if quick:
        print("The bars are meant for the full sizes; at these they say nothing.")
    RESULTS.mkdir(exist_ok=True)
    written = RESULTS / f"{started:%Y-%m-%d-%H%M%S}{'-quick' if quick else ''}.json"
    answers = [{"ratio": r.ratio, "met": r.met, "memory_met": r.memory_met} for r in rows]
    record = {
        "started": started.isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()}",
        "versions": {name: version(name) for name in ("numpy", "scipy", "pandas", "numba")},
        "warm_up": {"compiled": afresh, "cached": cached},
        "rows": [asdict(row) | answer for row, answer in zip(rows, answers, strict=True)],
    }
    written.write_text(json.dumps(record, indent=1))
    print(f"written to {written}; failed: {', '.join(failed) or 'none'}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
