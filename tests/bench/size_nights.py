"""Lines of the table of sizes on whole nights: many attributes, the night after, very many."""

from __future__ import annotations

import os
import re
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.report.site import OVERVIEW, report_key
from tasks.store import Store
from tests.bench.measure import MIB
from tests.bench.nights import Ran, Shape, fill, run_night
from tests.bench.size_lines import Line, at_most

WORKERS = 2
RATIO, START, A_VERSION, UNCHANGED = 1.35, 30.0, 0.4, 15.0
MOST_MEMORY = 2048.0
BUCKET = "sizes"
_SMALL = Shape(1_000, n_items=50, n_features=8, n_people=20)
_TESTS = Path(__file__).parents[1]


def night(home: Path, scale: float, *, again: bool) -> Iterator[Line]:
    """200 attributes of 5,000 votes, and if asked for, the same night again."""
    n_attributes, n_votes = max(2, round(200 * scale)), 5_000
    store = Store.at(home / "store")
    fill(store, n_attributes, Shape(n_votes))
    ran = run_night(home, store.url)
    yield from night_lines(ran, f"{n_attributes:,} attributes x {n_votes:,} votes", WORKERS)
    if again:
        second = run_night(home, store.url)
        if any(one.outcome != "unchanged" for one in second.night.tonight()):
            raise SystemExit("the second night was not unchanged")
        took = second.night.stages["all"]
        note = f"start {second.start:.1f} s, whole command {second.seconds:.1f} s"
        yield at_most("the same night again, unchanged", took, UNCHANGED, " s", note=note)


def night_lines(ran: Ran, what: str, n_workers: int) -> Iterator[Line]:
    """The fits, the start, and what publishing takes beside them."""
    stages, compute = ran.night.stages, ran.compute
    fits, after = stages["fits"], stages["attributes"] - stages["fits"]
    what = f"{what}, {n_workers} workers"
    yield at_most(
        f"{what}: fits, wall over compute / {n_workers}",
        fits * n_workers / compute,
        RATIO,
        "",
        note=f"{fits:.0f} s wall, {compute:.0f} s compute; whole command {ran.seconds:.0f} s, its "
        f"processes {ran.own:.0f} s of processor, others {ran.others:.2f} cores meanwhile",
    )
    yield Line(
        f"{what}: processor of all over that of the fits",
        f"{ran.own / compute:.2f}; start, Prefect, publishing, verifying and report included; "
        "nobody else on the machine adds to it",
    )
    yield at_most(f"{what}: start", ran.start, START, " s", note="Prefect, registry, workers")
    yield at_most(
        f"{what}: publishing, a version",
        stages["publishing"] / ran.n_versions,
        A_VERSION,
        " s",
        note=f"{ran.n_versions:,} versions; {after:.1f} s after the last fit, else beside the fits",
    )


def many(home: Path, scale: float) -> Iterator[Line]:
    """2,000 attributes of 1,000 votes in a bucket: memory, listings, and whether it opens."""
    n_attributes = max(2, round(2_000 * scale))
    what = f"{n_attributes:,} attributes x {_SMALL.n_votes:,} votes on S3"
    home.mkdir(parents=True)
    with bucket(home / "seaweedfs") as served:
        store = Store.at(f"s3://{BUCKET}")
        fill(store, n_attributes, _SMALL)
        before = served.requests()
        ran = run_night(home, store.url)
        asked = served.requests() - before
        done, state = len(ran.computed), ran.night.state
        yield Line(
            f"{what}: night",
            f"{state}, {done:,} done in {ran.seconds:.0f} s; start {ran.start:.1f} s",
            "finishes, all done",
            state == "Completed" and done == n_attributes,
        )
        yield from (replace(line, bar="", met=None) for line in night_lines(ran, what, WORKERS))
        yield at_most(f"{what}: memory of the flow", ran.peak / MIB, MOST_MEMORY, " MiB")
        yield _listed(what, store, served)
        each = ", ".join(f"{n / n_attributes:.1f} {kind}" for kind, n in sorted(asked.items()))
        yield Line(f"{what}: requests an attribute", each)
        yield _opened(home, what, store, ran)
        second = run_night(home, store.url)
        note = f"whole command {second.seconds:.1f} s"
        yield Line(f"{what}: unchanged", f"{second.night.stages['all']:.1f} s; {note}")


@dataclass(frozen=True)
class Served:
    """An S3 server that counts what it is asked."""

    metrics: str

    def requests(self) -> Counter[str]:
        """Requests so far, by kind."""
        text = urllib.request.urlopen(self.metrics, timeout=30).read().decode()
        found: Counter[str] = Counter()
        for line in text.splitlines():
            said = re.match(r'SeaweedFS_s3_request_total\{.*type="(\w+)".*\} (\S+)', line)
            if said is not None:
                found[said[1]] += round(float(said[2]))
        return found


@contextmanager
def bucket(place: Path) -> Iterator[Served]:
    """A bucket of a SeaweedFS server of our own, which this process is set up to use."""
    with _tests_on_path():
        from storage import free_ports, seaweedfs

        place.mkdir()
        [port] = free_ports(1)
        with seaweedfs(place, f"-metricsPort={port}", "-metricsIp=127.0.0.1") as server:
            os.environ.update(server.environment)
            server.client().create_bucket(Bucket=BUCKET)
            yield Served(f"http://127.0.0.1:{port}/metrics")


def _listed(what: str, store: Store, served: Served) -> Line:
    """One listing of all votes and one of all results, and the requests they took."""
    before = served.requests()
    n_listed = len(store.list("votes")) + len(store.list("runs"))
    pages = (served.requests() - before)["LIST"]
    return Line(
        f"{what}: listing",
        f"{n_listed:,} objects in {pages} requests",
        "in pages",
        pages >= n_listed // 1000,
    )


def _opened(home: Path, what: str, store: Store, ran: Ran) -> Line:
    """The overview as a browser opens it from a disk."""
    place = home / "report"
    place.mkdir()
    sizes = {}
    for found in store.list(report_key(ran.night.run, "").rstrip("/")):
        name = found.key.rpartition("/")[2]
        if not name.startswith("of-"):
            (place / name).write_bytes(store.read(found.key))
            sizes[name] = found.size / MIB
    with _tests_on_path():
        from browser.launching import launched

        with launched() as browser:
            page = browser.new_page()
            wrong: list[str] = []
            page.on("pageerror", lambda error: wrong.append(str(error)))
            began = time.perf_counter()
            page.goto((place / OVERVIEW).as_uri())
            rows = page.locator("#attributes tbody tr")
            rows.first.wait_for(timeout=60_000)
            seconds, n_rows = time.perf_counter() - began, rows.count()
    return Line(
        f"{what}: report",
        f"{sizes[OVERVIEW]:.1f} MiB, {n_rows:,} rows shown after {seconds:.1f} s",
        "opens, rows shown",
        n_rows > 0 and not wrong,
    )


@contextmanager
def _tests_on_path() -> Iterator[None]:
    """What tests share is imported by them as modules of their folder."""
    sys.path.insert(0, str(_TESTS))
    try:
        yield
    finally:
        sys.path.remove(str(_TESTS))
