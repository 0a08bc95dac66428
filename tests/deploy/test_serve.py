"""`urlr serve`: a server of its own, a night that comes by itself, and the end at any moment."""

import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import Done, Fault, Urlr, command_in
from pipeline import PATIENCE, asked, prefect_server
from registries import MLFLOW_WARNS
from stored_votes import put, simulated
from waiting import until

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
        until(lambda: ended() or "Nightly at" in serving.said[0].read_text(), seconds=PATIENCE)
        said = serving.said[0].read_text()
        found = re.search(r"Prefect's pages: (http://127\.0\.0\.1:\d+)$", said, re.MULTILINE)
        assert found is not None, said + serving.said[1].read_text()
        runs: list[dict[str, object]] = []

        def night_is_over() -> bool:
            runs[:] = asked(f"{found[1]}/api", "flow_runs", sort="START_TIME_ASC")
            # One that comes while another is at work is cancelled.
            runs[:] = [one for one in runs if one["end_time"] and one["state_name"] != "Cancelled"]
            return bool(runs)

        until(lambda: ended() or night_is_over(), seconds=PATIENCE)
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


@pytest.fixture(scope="module")
def prefect_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that somebody else keeps."""
    with prefect_server(tmp_path_factory.mktemp("prefect")) as api:
        yield api.address


@pytest.fixture
def served_at(tmp_path: Path) -> Iterator[Callable[[str], Urlr]]:
    """The command, by the address of a Prefect server; empty for one of its own."""
    made: list[Urlr] = []

    def command(api: str) -> Urlr:
        made.append(command_in(tmp_path / "urlr", api))
        if not api:
            del made[-1].environment["PREFECT_API_URL"]
        return made[-1]

    yield command
    for one in made:
        one.close()


def told_at(command: Urlr, line: str, later: float, number: int) -> Done:
    """How it ends if a signal comes some seconds after it printed a line; "" at once."""
    serving = command.start("serve", "--store", "store")
    until(
        lambda: line in serving.said[0].read_text() or serving.process.poll() is not None,
        seconds=PATIENCE,
    )
    time.sleep(later)
    assert serving.process.poll() is None, serving.said[1].read_text()
    return serving.end(signal_sent=number)


def assert_ended(done: Done) -> None:
    """Once it serves, to be told is how it ends; before, it was stopped."""
    expected = (0, "") if "Nightly at" in done.out else (130, "urlr: stopped before the end.\n")
    assert (done.code, done.err) == expected, done


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("line", "later"), [("Starting a Prefect", 0.0), ("Starting a Prefect", 0.3), ("pages:", 0.0)]
)
def test_a_signal_while_its_server_starts_ends_both(served_at, line, later, number):
    assert_ended(told_at(served_at(""), line, later, number))


@pytest.mark.parametrize("later", [0.0, 0.8, 2.0])
def test_a_signal_before_all_is_loaded_ends_it(served_at, prefect_elsewhere, later):
    """Before the command has begun, the signal itself ends the process."""
    done = told_at(served_at(prefect_elsewhere), "", later, signal.SIGTERM)
    if (done.code, done.out, done.err) != (-signal.SIGTERM, "", ""):
        assert_ended(done)


@pytest.mark.parametrize("later", [0.0, 0.3, 0.6, 1.2])
def test_a_signal_while_the_runner_begins_is_not_lost(served_at, prefect_elsewhere, later):
    number = signal.SIGINT if later == 0.3 else signal.SIGTERM
    assert_ended(told_at(served_at(prefect_elsewhere), "Nightly at", later, number))


def test_a_server_that_never_answers_does_not_keep_it_from_ending(served_at):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = served_at(f"http://127.0.0.1:{silent.getsockname()[1]}/api")
        serving = command.start("serve", "--store", "store")
        with silent.accept()[0]:  # asked, and left waiting
            done = serving.end(signal_sent=signal.SIGTERM)
    assert_ended(done)


def test_a_signal_amid_a_night_ends_the_night_too(served_at, prefect_elsewhere, tmp_path):
    store = Store.at(tmp_path / "store")
    put(store, "votes/slow/1.csv", simulated().votes)
    slow = Fault("tasks.train:_computed", "hang", tmp_path / "marks", attribute="slow")
    command = served_at(prefect_elsewhere)
    words = ("--store", store.url, "--cron", "* * * * *")
    serving = command.start("serve", *words, faults=(slow,))
    until(lambda: slow.struck or serving.process.poll() is not None, seconds=PATIENCE)
    assert_ended(serving.end(signal_sent=signal.SIGTERM))
    assert held_by(store, grace=0) is None
    begun = [one for one in asked(prefect_elsewhere, "flow_runs") if one["start_time"]]
    [night] = [one for one in begun if one["parameters"] == {"store": store.url}]
    assert night["state_name"] == "Cancelled"
