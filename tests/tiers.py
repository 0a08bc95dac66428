"""Which tests are quick, and how many whole nights the rest may take.

Unmarked tests are quick: no server, no browser, no whole night. `full` marks what else must pass
to land, `soak` what takes long. A test that needs a server and does not say so is not collected.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

MOST_NIGHTS = 40
"""Whole nights, that is runs of the nightly flow through Prefect, in `make test`."""
SERVERS = {"s3_server", "prefect_api", "dask_address", "browser", "new_place", "new_bench"}
_LAND = "not soak"
_RUNS = """
SELECT count(*) FROM flow_run JOIN flow ON flow.id = flow_run.flow_id
WHERE flow.name = 'nightly' AND flow_run.start_time IS NOT NULL
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests that use a server and are not marked."""
    wrong = {
        item.nodeid.partition("[")[0]
        for item in items
        if SERVERS & set(getattr(item, "fixturenames", ()))
        and not any(item.get_closest_marker(tier) for tier in ("full", "soak"))
    }
    if wrong:
        listed = "\n  ".join(sorted(wrong))
        raise pytest.UsageError(
            f"tests that use a server, a browser or a night need the mark `full`:\n  {listed}"
        )


def whole_nights(place: Path) -> int:
    """Runs of the nightly flow that any Prefect server with its database below a place knows."""
    return sum(map(_runs_in, place.rglob("prefect.db")))


def _runs_in(database: Path) -> int:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        try:
            [count] = opened.execute(_RUNS).fetchone()
        except sqlite3.Error:  # no tables yet
            return 0
    return int(count)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Count the whole nights of `make test`; too many of them fail it."""
    config = session.config
    if config.option.markexpr == _LAND and not hasattr(config, "workerinput"):
        place = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        config.stash[_NIGHTS] = nights = whole_nights(place)
        if nights > MOST_NIGHTS and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    yield


_NIGHTS = pytest.StashKey[int]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many whole nights there were."""
    nights = terminalreporter.config.stash.get(_NIGHTS, None)
    if nights is not None:
        terminalreporter.write_line(f"{nights} whole nights, of at most {MOST_NIGHTS}")
