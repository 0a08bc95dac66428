"""Fixtures of Dask: two worker processes of one thread, on loopback only, one set for the run."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import once, run_directory, start_shared
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


_PROGRAM = """
import json, sys, time
from pathlib import Path
from clusters import local_client
if __name__ == "__main__":
    client = local_client(2)
    Path(sys.argv[1]).write_text(json.dumps(client.cluster.scheduler_address))
    time.sleep(1e9)
"""


@pytest.fixture(scope="session")
def dask_address(tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server) -> str:
    """Scheduler of two workers that may use the S3 server of the run, for all test processes."""

    def make(place: Path) -> str:
        program, address = place / "workers.py", place / "address"
        program.write_text(_PROGRAM)
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = os.environ | s3_server.environment | {"PYTHONPATH": paths}
        start_shared(
            place, [sys.executable, str(program), str(address)], environment, address.exists
        )
        found: str = json.loads(address.read_text())
        return found

    found: str = once(run_directory(tmp_path_factory), "dask", make)
    return found


@pytest.fixture(scope="session")
def dask_client(dask_address: str) -> Iterator[Any]:
    """A client of these workers."""
    from distributed import Client

    with Client(dask_address, set_as_default=False) as client:
        yield client
