"""`urlr serve`: a server of its own, a night that comes by itself, and the end at any moment."""

import re
import shutil
import signal
import socket
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import Done, Fault, Running, Urlr, command_in, processes_of
from pipeline import PATIENCE, PrefectApi, asked
from registries import MLFLOW_WARNS
from sentences import like
from stored_votes import put, simulated
from waiting import until

from flows.messages import message
from tasks.lease import held_by
from tasks.runs import past_of
from tasks.store import Store

pytestmark = [MLFLOW_WARNS, pytest.mark.full]

SERVING = like("flows", "serving")
OFTEN = "* * * * * */10"
"""The sixth field is of seconds: nobody wants such nights, and no test waits for a minute."""
SELDOM = "* * * * * */30"
"""So that no second night begins before the first has something to do, on a slow machine too."""
SOON = {
    "PREFECT_RUNNER_POLL_FREQUENCY": "1",
    "PREFECT_SERVER_SERVICES_SCHEDULER_RECENT_DEPLOYMENTS_LOOP_SECONDS": "1",
}


@dataclass(frozen=True)
class Served:
    store: Store
    address: str
    run: dict[str, object]
    """The first night, as Prefect had it."""
    done: Done


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, prefect_tables: Path) -> Iterator[Served]:
    place: Path = tmp_path_factory.mktemp("serve")
    store = Store.at(place / "store")
    put(store, "votes/smiling/1.csv", simulated().votes)
    command = with_a_server_of_its_own(command_in(place / "urlr", "", **SOON), prefect_tables)
    serving = command.start("serve", "--store", store.url, "--cron", OFTEN)

    def ended() -> bool:
        return serving.process.poll() is not None

    try:
        until(lambda: ended() or SERVING.search(serving.said[0].read_text()), seconds=PATIENCE)
        said = serving.said[0].read_text()
        address = re.compile(r"(http://127\.0\.0\.1:\d+)")
        found = like("flows", "server_pages", address=address).search(said)
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
        message("starting_server"),
        message("server_pages", address=served.address),
        message("serving", cron=OFTEN, timezone="UTC", store=served.store.url),
    ]
    assert "Traceback" not in served.done.err
    assert [one for one in served.done.err.splitlines() if not one.startswith("urlr: ")] == []


@pytest.fixture(scope="module")
def prefect_elsewhere(prefect_api: PrefectApi) -> Iterator[str]:
    """The address of a server that somebody else keeps; its schedule ends with these tests."""
    yield prefect_api.address
    for one in prefect_api.ask("deployments"):
        if one["name"] == "served":
            address = f"{prefect_api.address}/deployments/{one['id']}"
            urllib.request.urlopen(urllib.request.Request(address, method="DELETE")).close()


@pytest.fixture
def served_at(tmp_path: Path, prefect_tables: Path) -> Iterator[Callable[[str], Urlr]]:
    """The command, by the address of a Prefect server; empty for one of its own."""
    made: list[Urlr] = []

    def command(api: str) -> Urlr:
        made.append(command_in(tmp_path / "urlr", api, **SOON))
        return made[-1] if api else with_a_server_of_its_own(made[-1], prefect_tables)

    yield command
    for one in made:
        one.close()


def with_a_server_of_its_own(command: Urlr, tables: Path) -> Urlr:
    """The command without the address of a server; the tables that one makes first are there."""
    del command.environment["PREFECT_API_URL"]
    home = Path(command.environment["PREFECT_HOME"])
    home.mkdir()
    shutil.copy(tables, home)
    return command


Moment = Callable[[Running], object]
"""Whether the command has come so far."""


def told_at(command: Urlr, moment: Moment, number: int, *faults: Fault) -> Done:
    """How it ends if a signal comes at a moment."""
    serving = command.start("serve", "--store", "store", faults=faults)
    until(lambda: moment(serving) or serving.process.poll() is not None, seconds=PATIENCE)
    assert serving.process.poll() is None, serving.said[1].read_text()
    return serving.end(signal_sent=number)


def printed(code: str) -> Moment:
    line = like("flows", code)
    return lambda serving: line.search(serving.said[0].read_text()) is not None


def its_server_is_there(serving: Running) -> bool:
    programs = [one.cmdline() for one in processes_of(serving.mark)]
    return any(words[2:4] == ["server", "start"] for words in programs)


def assert_ended(done: Done) -> None:
    """Once it serves, to be told is how it ends; before, it was stopped."""
    stopped = (130, f"urlr: {message('stopped_early')}\n")
    expected = (0, "") if SERVING.search(done.out) else stopped
    assert (done.code, done.err) == expected, done


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        (printed("starting_server"), signal.SIGTERM),
        (its_server_is_there, signal.SIGINT),
        (its_server_is_there, signal.SIGTERM),
        (printed("server_pages"), signal.SIGINT),
    ],
    ids=["said", "there", "there too", "answers"],
)
def test_a_signal_while_its_server_starts_ends_both(served_at, moment, number):
    assert_ended(told_at(served_at(""), moment, number))


@pytest.mark.parametrize("function", ["", "tasks.settings:load_settings", "flows.serving:_loaded"])
def test_a_signal_before_all_is_loaded_ends_it(served_at, prefect_elsewhere, tmp_path, function):
    """Before the command has begun, the signal itself ends the process."""
    begun = Fault(function, "note", tmp_path / "marks")
    notes = (begun,) if function else ()
    command = served_at(prefect_elsewhere)
    done = told_at(command, lambda _: begun.struck or not notes, signal.SIGTERM, *notes)
    if (done.code, done.out, done.err) != (-signal.SIGTERM, "", ""):
        assert_ended(done)


@pytest.mark.parametrize(
    ("function", "number"),
    [
        ("flows.serving:_nights", signal.SIGTERM),
        ("prefect.runner:Runner.aadd_flow", signal.SIGINT),
        ("prefect.runner:Runner.start", signal.SIGTERM),
    ],
)
def test_a_signal_while_the_runner_begins_is_not_lost(
    served_at, prefect_elsewhere, tmp_path, function, number
):
    begun = Fault(function, "note", tmp_path / "marks")
    assert_ended(told_at(served_at(prefect_elsewhere), lambda _: begun.struck, number, begun))


def test_a_signal_once_the_runner_asks_for_nights_is_not_lost(served_at, prefect_elsewhere):
    def last_asked() -> list[object]:
        known = asked(prefect_elsewhere, "deployments")
        return [one["last_polled"] for one in known if one["name"] == "served"]

    before = last_asked()
    command = served_at(prefect_elsewhere)
    assert_ended(
        told_at(command, lambda _: last_asked() not in ([], [None], before), signal.SIGTERM)
    )


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
    words = ("--store", store.url, "--cron", SELDOM)
    serving = command.start("serve", *words, faults=(slow,))
    until(lambda: slow.struck or serving.process.poll() is not None, seconds=PATIENCE)
    assert_ended(serving.end(signal_sent=signal.SIGTERM))
    assert held_by(store, grace=0) is None
    begun = [one for one in asked(prefect_elsewhere, "flow_runs") if one["start_time"]]
    [night] = [one for one in begun if one["parameters"] == {"store": store.url}]
    assert night["state_name"] == "Cancelled"
