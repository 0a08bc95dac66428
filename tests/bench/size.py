"""How the pipeline grows: nights, machines and scoring of stated sizes against stated bars.

python -m tests.bench.size [--only night,many,...] [--scale 0.1]

`unchanged` runs the night it repeats, so that with `night` it costs nothing more. At another scale
than 1 the bars are shown and say nothing. Exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.size_lines import Line, texts
from tests.bench.size_machines import machines
from tests.bench.size_nights import many, night
from tests.bench.size_parts import record, registry
from tests.bench.size_scoring import scoring

ROWS = ("night", "unchanged", "many", "record", "registry", "scoring", "workers")


def main() -> int:
    """Measure what is chosen, print each line as it is known, and the table at the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.size", description=__doc__)
    parser.add_argument("--only", default=",".join(ROWS), help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="share of every size")
    parser.add_argument("--place", type=Path, help="folder for stores (default: a temporary one)")
    chosen = parser.parse_args()
    rows = chosen.only.split(",")
    if unknown := [name for name in rows if name not in ROWS]:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # namespaces and servers must not stay
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} before it began", flush=True)
    lines = []
    with tempfile.TemporaryDirectory(dir=chosen.place, prefix="urlr-size-") as folder:
        for line in measured(Path(folder), rows, chosen.scale):
            print(texts([line])[-1], flush=True)
            lines.append(line)
    print()
    print("\n".join(texts(lines, headings=True)))
    if chosen.scale != 1.0:
        print("The bars are meant for the full sizes; at these they say nothing.")
    missed = [line.what for line in lines if line.met is False]
    return 1 if missed else 0


def measured(home: Path, rows: list[str], scale: float) -> Iterator[Line]:
    """The lines of the rows, in the order of the table."""
    if "night" in rows or "unchanged" in rows:
        yield from night(home / "night", scale, again="unchanged" in rows)
    rest: dict[str, Callable[[Path, float], Iterator[Line]]] = {
        "many": many,
        "record": record,
        "registry": registry,
        "scoring": scoring,
        "workers": machines,
    }
    for name, measure in rest.items():
        if name in rows:
            yield from measure(home / name, scale)


if __name__ == "__main__":
    sys.exit(main())
