"""One attribute of very many votes through a real night: memory, time, and every row accounted for.

python -m tests.bench.large [--votes 100000000] [--items 20000] [--features 64]

The votes are made part by part, 5 million to an object of Parquet, 20 % of them turned around; then
`urlr nightly` runs as a process with one worker, by the paper's method at a fixed share of 0.1.
Memory is that of the flow's process and of all its children, looked at every 0.2 s. The bar: at
most 10 GiB in sum and every row accounted for, or the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet

from tasks.results import RESULT, RESULTS, Night, Result
from tasks.runs import past_of
from tasks.store import Store
from urlr.arrays import Floats

GIB = 2.0**30
BAR = 10.0
PART = 5_000_000
ROW_GROUP = 1_000_000
FLIPS = 0.2
ATTRIBUTE = "smiling"


def main() -> int:
    """Make the votes, run the night, and print what it took; 1 if the bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.large", description=__doc__)
    parser.add_argument("--votes", type=int, default=100_000_000)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--within", type=Path, help="directory for the store, which is removed")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.within) as folder:
        home = Path(folder)
        start = time.perf_counter()
        make(home / "store", chosen.votes, chosen.items, chosen.features)
        made = time.perf_counter() - start
        size = sum(one.size for one in Store.at(home / "store").list("votes"))
        print(f"{chosen.votes:,} votes on {chosen.items:,} items, {chosen.features} features")
        print(f"made in {made:.0f} s, {size / GIB:.2f} GiB of Parquet", flush=True)
        start = time.perf_counter()
        peak = run(home)
        wall = time.perf_counter() - start
        return report(Store.at(home / "store"), peak, wall, chosen.votes)


def make(store: Path, n_votes: int, n_items: int, n_features: int) -> None:
    """Votes that follow a truth by features, but for those turned around; features; the truth."""
    rng = np.random.default_rng(0)
    items = pa.array([f"item-{k:05}" for k in range(n_items)])
    values = rng.standard_normal((n_items, n_features))
    truth = values @ rng.standard_normal(n_features) / np.sqrt(n_features)
    columns = {f"f{k:02}": values[:, k] for k in range(n_features)}
    _write(store / "features/all.parquet", pa.table({"item": items, **columns}))
    _write(store / f"truth/{ATTRIBUTE}/all.parquet", pa.table({"item": items, "score": truth}))
    for part, start in enumerate(range(0, n_votes, PART)):
        target = store / f"votes/{ATTRIBUTE}/part-{part:05}.parquet"
        _write_votes(target, min(PART, n_votes - start), items, truth, rng)


def _write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(table, path)


def _write_votes(
    path: Path, count: int, items: pa.Array, truth: Floats, rng: np.random.Generator
) -> None:
    """A part of the votes, a row group at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    coded = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("item_a", coded), ("item_b", coded), ("outcome", coded)])
    outcomes = pa.array(["a", "b"])
    # Without Arrow's own schema the columns are plain text to whoever reads them.
    with pa.parquet.ParquetWriter(path, schema, store_schema=False) as writer:
        for start in range(0, count, ROW_GROUP):
            n = min(ROW_GROUP, count - start)
            first = rng.integers(0, len(items), n, dtype=np.int32)
            second = (first + rng.integers(1, len(items), n, dtype=np.int32)) % len(items)
            loses = truth[first] < truth[second]
            loses ^= rng.random(n) < FLIPS
            codes = (first, second.astype(np.int32), loses.astype(np.int32))
            columns = [
                pa.DictionaryArray.from_arrays(pa.array(one), names)
                for one, names in zip(codes, (items, items, outcomes), strict=True)
            ]
            writer.write_table(pa.table(columns, schema=schema))


@dataclass
class Peak:
    """The most memory seen."""

    of_sum: int = 0
    of_flow: int = 0
    of_child: int = 0


def run(home: Path) -> Peak:
    """Run a night, and look at its memory all the while."""
    settings = {
        "URLR_WORKERS": "1",
        "URLR_ATTRIBUTE_DEADLINE": "14400",
        "URLR_LARGE_ATTRIBUTE": "1",
        "URLR_FIT__METHOD": "paper",
        "URLR_FIT__PRUNE": "0.1",
        "PREFECT_HOME": str(home / "prefect"),
        "PYTHONPATH": str(Path.cwd()),
    }
    log = home / "night.log"
    with log.open("w") as out:
        process = psutil.Popen(
            [sys.executable, "-m", "flows.cli", "nightly", "--store", "store", "--quiet"],
            cwd=home,
            env=os.environ | settings,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        peak = Peak()
        while process.poll() is None:
            _look(process, peak)
            time.sleep(0.2)
    if process.returncode != 0:
        raise SystemExit(log.read_text())
    return peak


def _look(process: psutil.Process, peak: Peak) -> None:
    """Take the resident memory of a process and of its children as of now."""
    try:
        flow = process.memory_info().rss
        family = process.children(recursive=True)
    except psutil.NoSuchProcess:
        return
    children = []
    for child in family:
        try:
            children.append(child.memory_info().rss)
        except psutil.NoSuchProcess:  # ended meanwhile
            continue
    peak.of_flow = max(peak.of_flow, flow)
    peak.of_child = max(peak.of_child, *children, 0)
    peak.of_sum = max(peak.of_sum, flow + sum(children))


def report(store: Store, peak: Peak, wall: float, n_votes: int) -> int:
    """Print what the night took and what came of it."""
    night = past_of(store).last
    if night is None or night.entries[ATTRIBUTE].place is None:
        raise SystemExit("the night left no results")
    place = str(night.entries[ATTRIBUTE].place)
    result = RESULTS.from_bytes(store.read(f"{place}/{RESULT}"), place)
    rows = result.rows
    written = _verdicts(store, place, result)
    accounted = rows["read"] == sum(rows.values()) - rows["read"] == written == n_votes
    small = peak.of_sum < BAR * GIB
    print(f"wall {wall:.0f} s, of which {result.seconds:.0f} s of one worker's processor")
    for stage, seconds in _stages(store, place, night).items():
        print(f"  {stage:<44} {seconds:6.0f} s")
    print(f"peak memory: worker {peak.of_child / GIB:.2f} GiB, flow {peak.of_flow / GIB:.2f} GiB")
    print(f"  in sum {peak.of_sum / GIB:.2f} GiB (bar: {BAR:g}, {'met' if small else 'MISSED'})")
    parts = ", ".join(f"{count:,} {name}" for name, count in rows.items())
    print(f"rows: {parts}; verdicts on {written:,} ({'all' if accounted else 'NOT ALL'})")
    if result.truth is not None and result.tau is not None and result.tau.plain is not None:
        print(f"tau with the truth {result.truth.tau:.4f}")
        print(f"tau with {result.tau.n_votes:,} votes not seen {result.tau.plain.value:.4f}")
    for warning in result.warnings:
        print(f"  {warning}")
    return 0 if small and accounted else 1


def _verdicts(store: Store, place: str, result: Result) -> int:
    """Rows of all verdicts, by the footers."""
    root = Path(store.url)
    names = [name for name in result.files if name.startswith("verdicts/")]
    return sum(pa.parquet.read_metadata(root / place / name).num_rows for name in names)


def _stages(store: Store, place: str, night: Night) -> dict[str, float]:
    """Seconds by stage, from when the objects of the result were written."""
    when = {one.key: one.modified.timestamp() for one in store.list(place)}
    verdicts = [moment for key, moment in when.items() if "/verdicts/" in key]
    begun = night.started.timestamp()
    workers = begun + sum(night.stages.get(name, 0.0) for name in ("registry", "workers"))
    judged = when[f"{place}/{RESULT}"]
    return {
        "starting": workers - begun,
        "reading, gathering and the fit of all votes": min(verdicts) - workers,
        "verdicts": max(verdicts) - min(verdicts),
        "the judge and the page": judged - max(verdicts),
        "gate, registry and report": night.finished.timestamp() - judged,
    }


if __name__ == "__main__":
    sys.exit(main())
