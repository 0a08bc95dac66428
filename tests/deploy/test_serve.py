"""`urlr serve` with nothing set: a server of its own, a night that comes by itself, and the end."""

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import PATIENCE, Done, asked, command_in, until
from registries import MLFLOW_WARNS
from stored_votes import put, simulated

from tasks.lease import held_by
from tasks.runs import past_of
from tasks.store import Store

pytestmark = MLFLOW_WARNS


@dataclass(frozen=True)
class Served:
    store: Store
    address: str
    run: dict[str, object]
    """The first night, as Prefect had it."""
    done: Done


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place: Path = tmp_path_factory.mktemp("serve")
    store = Store.at(place / "store")
    put(store, "votes/smiling/1.csv", simulated().votes)
    command = command_in(place / "urlr", "")
    del command.environment["PREFECT_API_URL"]
    serving = command.start("serve", "--store", store.url, "--cron", "* * * * *")

    def ended() -> bool:
        return serving.process.poll() is not None

    try:
        until(lambda: ended() or "Nightly at" in serving.said[0].read_text(), patience=PATIENCE)
        said = serving.said[0].read_text()
        found = re.search(r"Prefect's pages: (http://127\.0\.0\.1:\d+)$", said, re.MULTILINE)
        assert found is not None, said + serving.said[1].read_text()
        runs: list[dict[str, object]] = []

        def night_is_over() -> bool:
            runs[:] = asked(f"{found[1]}/api", "flow_runs", sort="START_TIME_ASC")
            # One that comes while another is at work is cancelled.
            runs[:] = [one for one in runs if one["end_time"] and one["state_name"] != "Cancelled"]
            return bool(runs)

        until(lambda: ended() or night_is_over(), patience=PATIENCE)
        [run, *_] = runs
        yield Served(store, found[1], run, serving.end(signal_sent=signal.SIGTERM))
    finally:
        command.close()


def test_a_night_comes_by_itself_and_is_completed(served):
    assert served.run["state_name"] == "Completed", served.run
    assert served.run["parameters"] == {"store": served.store.url}
    night = past_of(served.store).last
    assert night is not None
    assert night.entries["smiling"].live == 1


def test_it_ends_when_told_and_leaves_no_process_and_no_lease(served):
    """That no process is left is seen to by `end`."""
    assert served.done.code in (0, 130), served.done
    assert held_by(served.store, grace=0) is None


def test_it_says_where_it_is_and_nothing_else(served):
    lines = served.done.out.splitlines()
    assert lines == [
        "Starting a Prefect server, some 20 s.",
        f"Prefect's pages: {served.address}",
        f"Nightly at `* * * * *` (UTC) on {served.store.url}; stop with Ctrl-C.",
    ]
    assert "Traceback" not in served.done.err
    assert [one for one in served.done.err.splitlines() if not one.startswith("urlr: ")] == []
