"""What the fan-out adds to plain Dask: many orders that do nothing, on the same two workers.

python -m tests.bench.fanout [--orders 500] [--threads 16] [--repeats 5]
"""

from __future__ import annotations

import argparse
import operator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

from tasks.cluster import Cluster, local_cluster
from tests.bench.measure import medians

WORKERS = 2


def main() -> None:
    """Time the ways in turn and print milliseconds per order."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fanout", description=__doc__)
    parser.add_argument("--orders", type=int, default=500, help="orders of no work")
    parser.add_argument("--threads", type=int, default=16, help="threads that wait for orders")
    parser.add_argument("--repeats", type=int, default=5, help="how often each is timed")
    chosen = parser.parse_args()
    with (
        local_cluster(workers=WORKERS) as cluster,
        ThreadPoolExecutor(chosen.threads) as pool,
        cluster.lent("all of it", deadline=600) as client,
    ):
        night = count()

        def ours() -> None:
            carried = pool.map(lambda k: one(cluster, k), range(chosen.orders))
            check(list(carried), chosen.orders)

        def plain() -> None:
            key = f"plain-{next(night)}"
            futures = client.map(operator.neg, range(chosen.orders), pure=False, key=key)
            check(client.gather(futures), chosen.orders)

        def one_by_one() -> None:
            ask = partial(client.submit, operator.neg, pure=False)
            check(list(pool.map(lambda k: ask(k).result(), range(chosen.orders))), chosen.orders)

        seconds = medians(plain, one_by_one, ours, repeats=chosen.repeats)
    together, apart, own = (1e3 * each / chosen.orders for each in seconds)
    print(f"{chosen.orders} orders of no work, {WORKERS} workers, {chosen.threads} threads:")
    print(f"Dask, all in one map        {together:6.2f} ms per order")
    print(f"Dask, a future per thread   {apart:6.2f} ms per order")
    print(f"the fan-out                 {own:6.2f} ms per order")
    print(f"more than the map           {own - together:6.2f} ms per order")
    print(f"more than single futures    {own - apart:6.2f} ms per order")


def one(cluster: Cluster, k: int) -> int:
    """One order of no work."""
    return cluster.run(operator.neg, k, name=str(k), attempt=1, deadline=60.0)


def check(results: list[int], n_orders: int) -> None:
    """Stop if anything else than the right results came back."""
    if results != [-k for k in range(n_orders)]:
        raise SystemExit("wrong results")


if __name__ == "__main__":
    main()
