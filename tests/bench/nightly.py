"""What a night costs beside the fits: attributes of no work, by our fan-out and by plain Dask.

python -m tests.bench.nightly [--attributes 500] [--repeats 3]

Each attribute is a task run in Prefect that sends one order to a worker, as in the nightly flow;
beside it the same number of calls by plain Dask. Votes, results, gate and registry have no part in
it. The bar: at most 40 ms an attribute above plain Dask, or the exit code is 1.
"""

from __future__ import annotations

import argparse
import operator
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from flows.prefect_api import with_prefect
from tasks.cluster import Cluster, local_cluster
from tasks.results import Entry
from tests.bench.fanout import check
from tests.bench.measure import medians

WORKERS = 2
BAR = 40.0


@dataclass
class NoWork:
    """A night in which every attribute is done at once."""

    cluster: Cluster
    todo: dict[str, int]
    entries: dict[str, Entry] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)

    def work_on(self, attribute: str) -> Entry:
        """Send an order that does nothing."""
        number = self.todo[attribute]
        if self.cluster.run(operator.neg, number, name=attribute, deadline=60.0) != -number:
            raise SystemExit("wrong result")
        self.entries[attribute] = Entry(attribute, "bench", "published", "no work")
        return self.entries[attribute]

    def may_try_again(self, attribute: str, error: BaseException | None) -> bool:
        """Never."""
        return False


def main() -> int:
    """Time both ways in turn and print milliseconds per attribute; 1 if the bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.nightly", description=__doc__)
    parser.add_argument("--attributes", type=int, default=500, help="attributes of no work")
    parser.add_argument("--repeats", type=int, default=3, help="how often each is timed")
    chosen = parser.parse_args()
    n = chosen.attributes
    print("starting Prefect and two workers", flush=True)
    with with_prefect(lambda what, share: None), local_cluster(workers=WORKERS) as cluster:
        from prefect import flow

        from flows.nightly import fan_out

        night = count()

        @flow(name="no-work")
        def ours() -> float:
            work = NoWork(cluster, {f"attribute-{k}": k for k in range(n)})
            start = time.perf_counter()
            fan_out(work)
            if len(work.entries) != n:
                raise SystemExit("not all were done")
            return time.perf_counter() - start

        def plain() -> None:
            key = f"plain-{next(night)}"
            with cluster.lent("plain Dask", deadline=600) as client:
                futures = client.map(operator.neg, range(n), pure=False, key=key)
                check(client.gather(futures), n)

        plain()
        [bare] = medians(plain, repeats=chosen.repeats)
        with_both = sorted(partial(ours)() for _ in range(chosen.repeats))[chosen.repeats // 2]
    above = 1e3 * (with_both - bare) / n
    print(f"{n} attributes of no work, {WORKERS} worker processes, per attribute:")
    print(f"  plain Dask            {1e3 * bare / n:7.2f} ms")
    print(f"  the nightly fan-out   {1e3 * with_both / n:7.2f} ms")
    verdict = "met" if above <= BAR else "MISSED"
    print(f"  above plain Dask      {above:7.2f} ms (bar: {BAR:g}, {verdict})")
    return 0 if above <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
