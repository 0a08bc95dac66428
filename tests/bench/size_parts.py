"""Lines of the table of sizes on parts of a night that grow with attributes, without any fit."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from tasks.metrics import night_metrics
from tasks.registry import Registry
from tasks.report.digest import DIGESTS, digest_of
from tasks.report.overview import overview_page
from tasks.results import NIGHTS
from tests.bench.measure import MIB
from tests.bench.size_lines import Line

_TESTS = Path(__file__).parents[1]


def record(home: Path, scale: float) -> Iterator[Line]:
    """The record of a night, what later nights read of it, and its overview after 29 nights."""
    sys.path.insert(0, str(_TESTS / "browser"))
    from example_nights import STORE, example_digests, example_night

    for n in (round(size * scale) for size in (200, 2_000, 20_000)):
        night, earlier = example_night(n), example_digests(n)
        links = {name: f"../of-{k}.html" for k, name in enumerate(night.entries)}
        written, written_in = _cost(lambda night=night: NIGHTS.to_bytes(night))
        _, read_in = _cost(lambda data=written: NIGHTS.from_bytes(data, "the record"))
        digest = DIGESTS.to_bytes(digest_of(night))
        page, page_in = _cost(
            lambda night=night, earlier=earlier, links=links: overview_page(
                night, earlier, store=STORE, library="./", links=links, now=night.finished
            )
        )
        _, metrics_in = _cost(lambda night=night: night_metrics(night))
        yield Line(
            f"record of {n:,} attributes",
            f"{len(written) / MIB:.1f} MiB written in {written_in:.2f} s, read in {read_in:.2f} s; "
            f"digest {len(digest) / MIB:.2f} MiB; overview {len(page) / MIB:.1f} MiB in "
            f"{page_in:.2f} s; figures for dashboards {metrics_in:.2f} s",
        )


def registry(home: Path, scale: float) -> Iterator[Line]:
    """Looks at the registry: at one attribute after many nights, at all of many attributes."""
    sys.path.insert(0, str(_TESTS / "tasks"))
    from registries import NIGHT, moved, publication, registered

    found = Registry.at(home)
    found.prepare()
    nights = max(2, round(100 * scale))
    for n in (1, nights):
        name = f"after-{n}"
        moved(found, registered(found, name, n))
        model = found.look(name)
        today = NIGHT + timedelta(days=n)
        _, look_in = _cost(lambda name=name: found.look(name), times=10)
        _, rivals_in = _cost(
            lambda model=model, today=today: found.rivals_of(model, nights=30, today=today),
            times=10,
        )
        yield Line(
            f"registry after {n} nights, an attribute",
            f"look {1e3 * look_in:.0f} ms, versions of 30 nights {1e3 * rivals_in:.0f} ms",
        )
    for n in (round(size * scale) for size in (50, 200)):
        for k in range(n):
            if found.look(f"one-{k}") is None:
                moved(found, [found.register(publication(f"one-{k}"))])
        _, standing_in = _cost(found.standing, times=3)
        yield Line(
            f"registry of {n:,} attributes",
            f"all champions in {standing_in:.2f} s, {1e3 * standing_in / n:.2f} ms an attribute",
        )


def _cost(call: Callable[[], Any], *, times: int = 1) -> tuple[Any, float]:
    """What the call gives, and its processor seconds, to which nobody else here adds."""
    result = call()
    began = time.process_time()
    for _ in range(times):
        call()
    return result, (time.process_time() - began) / times
