"""Fixtures of Dask: two worker processes of one thread, on loopback only, one set for the run."""

from collections.abc import Iterator
from typing import Any

import pytest
from storage import S3Server

ONE_THREAD = dict.fromkeys(
    [f"{library}_NUM_THREADS" for library in ("OPENBLAS", "OMP", "MKL", "NUMBA")], "1"
)


def local_client(workers: int, *, memory: str | int = 0, **environment: str) -> Any:
    """A client of worker processes of its own; close its `cluster` after it."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=memory,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        env=ONE_THREAD | environment,
    )
    return Client(cluster, set_as_default=False)


@pytest.fixture(scope="session")
def dask_client(s3_server: S3Server) -> Iterator[Any]:
    """Two workers that may use the S3 server of the run."""
    client = local_client(2, **s3_server.environment)
    yield client
    client.close()
    client.cluster.close()
