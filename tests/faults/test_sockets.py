"""Nothing that a night starts on this machine can be reached from another."""

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from cases import passed
from commands import Urlr, command_in, processes_of
from judge import Seen
from pipeline import SILENT
from registries import MLFLOW_WARNS
from stored_votes import put, simulated

from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]


@pytest.fixture
def alone(tmp_path: Path, prefect_tables: Path, tables: Path) -> Iterator[Urlr]:
    """The command with nothing set: it starts all it needs, Prefect's API too.

    Databases have their tables: making them would take most of the time.
    """
    command = command_in(tmp_path / "urlr", "")
    for source, place in (
        (prefect_tables, Path(command.environment["PREFECT_HOME"])),
        (tables, command.work / "urlr-registry"),
    ):
        place.mkdir()
        shutil.copy(source, place)
    for name in ("PREFECT_API_URL", *SILENT):
        del command.environment[name]
    yield command
    command.close()


def test_embedded_nights_listen_on_loopback_only(alone, tmp_path):
    store = Store.at(tmp_path / "store")
    put(store, "votes/smiling/1.csv", simulated().votes)
    running = alone.start("nightly", "--store", store.url)
    listening, others = set(), set()
    while running.process.poll() is None:
        for process in processes_of(running.mark):
            with suppress(psutil.NoSuchProcess):
                for one in process.net_connections():
                    if one.status == psutil.CONN_LISTEN or (not one.raddr and one.type == 2):
                        listening.add(one.laddr.ip)
                    elif one.raddr:
                        others.add(one.raddr.ip)
        time.sleep(0.1)
    done = running.end()
    assert done.code == 0, done
    assert listening == {"127.0.0.1"}
    assert others <= {"127.0.0.1"}
    saw = "every socket listens on 127.0.0.1 and speaks to it alone"
    passed("attacks", "open sockets in embedded mode", Seen("completed", saw))
