"""Lines of the table of sizes on batch scoring; the work is that of `tests.bench.scoring`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.bench.measure import MIB
from tests.bench.scoring import scored
from tests.bench.size_lines import Line, at_most

N_FEATURES, N_MODELS = 64, 20
MOST_MEMORY = 600.0


def scoring(home: Path, scale: float) -> Iterator[Line]:
    """10M items, 64 features, by 20 champions on two workers; numpy's product beside."""
    n_items = round(10_000_000 * scale)
    home.mkdir(parents=True)
    done = scored(home, n_items, N_FEATURES, N_MODELS)
    what = f"scoring {n_items:,} items x {N_FEATURES} by {N_MODELS} champions"
    yield at_most(f"{what}: memory a worker adds", done.memory / MIB, MOST_MEMORY, " MiB")
    yield Line(
        f"{what}: time",
        f"{done.seconds:.0f} s, {done.rows / done.seconds:,.0f} scores a second; "
        f"{done.seconds / done.product:.0f} times numpy's product of {done.product:.1f} s, which "
        f"reads and writes nothing; {done.written / MIB:,.0f} MiB written",
    )
