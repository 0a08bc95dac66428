"""Nights that cannot be run, or are stopped: one plain line, nothing half-done, nothing held."""

import re
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cases import passed
from commands import QUICK, Done, Fault, Urlr, command_in, runs_on
from in_process import Bench
from judge import Seen
from pipeline import PATIENCE
from registries import MLFLOW_WARNS
from sentences import like
from storage import S3Server, free_ports
from stored_votes import put, simulated
from waiting import until

from flows.messages import message
from tasks.lease import held_by
from tasks.registry import Registry
from tasks.runs import past_of
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

WRONG = "urlr-wrong-secret-9876543210"


@dataclass(frozen=True)
class Case:
    """A night that is refused."""

    said: re.Pattern[str]
    """The complaint."""
    store: str
    environment: dict[str, str]
    options: tuple[str, ...] = ()


def cases(server: S3Server, bucket: str, votes: str, others: str, nothing: str) -> dict[str, Case]:
    s3, away = server.environment, f"http://127.0.0.1:{free_ports(1)[0]}"
    return {
        "wrong secret": Case(
            like("tasks", "access_denied", path=re.compile(f"s3://{bucket}/some/where.*")),
            f"s3://{bucket}/some/where",
            s3 | {"AWS_SECRET_ACCESS_KEY": WRONG},
        ),
        "missing bucket": Case(
            like("tasks", "no_such_bucket", bucket="nowhere-to-be-found"),
            "s3://nowhere-to-be-found/x",
            s3,
        ),
        "store away": Case(
            like("tasks", "store_unreachable", endpoint=away),
            f"s3://{bucket}/some/where",
            s3 | {"AWS_ENDPOINT_URL": away},
        ),
        "prefect away": Case(
            like("flows", "prefect_silent", prefect=message("prefect_at", address=f"{away}/api")),
            votes,
            {"PREFECT_API_URL": f"{away}/api"},
        ),
        "registry away": Case(
            like("tasks", "registry_silent", uri=away),
            votes,
            {"URLR_REGISTRY": away, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"},
        ),
        "no votes": Case(like("tasks", "no_votes_in_store", store=nothing), nothing, {}),
        "urlr nightly --only smilling": Case(
            like("tasks", "no_votes_on_but_near", names=["smilling"], near=["smiling"]),
            others,
            {},
            ("--only", "smilling"),
        ),
    }


NAMES = tuple(cases(S3Server(""), "", "", "", ""))


@dataclass(frozen=True)
class Refused:
    """How such a night ended, and what lay in its store after and before."""

    case: Case
    done: Done
    store: Store | None
    """None where there is none."""
    keys: tuple[list[str], list[str]]
    files: list[str]
    """Left in the directory where it was run, the registry's included."""


@pytest.fixture(scope="module")
def refused(
    tmp_path_factory: pytest.TempPathFactory,
    s3_server: S3Server,
    new_bucket: Callable[[], str],
    prefect_address: str,
    new_bench: Callable[..., Bench],
) -> Iterator[dict[str, Refused]]:
    """All of these nights; a process only where Prefect is what refuses."""
    place = tmp_path_factory.mktemp("refused")
    votes, others, nothing = (
        Store.at(place / "votes"),
        Store.at(place / "others"),
        place / "nothing",
    )
    for one in (votes, others):
        put(one, "votes/smiling/1.csv", simulated().votes)
    nothing.mkdir()
    found = cases(s3_server, new_bucket(), votes.url, others.url, str(nothing))

    def run(name: str) -> Refused:
        case = found[name]
        store = None if name == "missing bucket" else Store.at(case.store)
        before = keys_of(store)
        words = ("nightly", "--store", case.store, *case.options)
        if name == "prefect away":
            command = command_in(place / name, prefect_address, **case.environment)
            try:
                done, work = command(*words), command.work
            finally:
                command.close()
        else:
            bench = new_bench(**case.environment)
            work = bench.directory
            shutil.rmtree(work / "urlr-registry")
            ended = bench.urlr(*words)
            done = Done(ended.returncode, ended.stdout, ended.stderr)
        files = [str(path.relative_to(work)) for path in work.rglob("*")]
        return Refused(case, done, store, (keys_of(store), before), files)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in s3_server.environment.items():  # to look into the bucket
            patch.setenv(name, value)
        for name in ("wrong secret", "store away"):  # whoever gets in finds votes to work on
            put(Store.at(found[name].store), "votes/smiling/1.csv", simulated().votes)
        yield {name: run(name) for name in found}


def keys_of(store: Store | None) -> list[str]:
    return [] if store is None else [one.key for one in store.list()]


@pytest.mark.parametrize("name", NAMES)
def test_a_night_that_cannot_begin_says_why_in_one_line(refused, name):
    case, done = refused[name].case, refused[name].done
    assert done.code == 1, done
    assert done.out == ""
    assert case.said.fullmatch(done.complaint.removeprefix("urlr: ")), done.complaint
    assert done.complaint.isprintable()
    others = [line for line in done.err.splitlines() if not line.startswith("urlr: ")]
    assert others == []
    seen = Seen("the night does not begin (1)", done.complaint.removeprefix("urlr: "))
    passed("nights that cannot begin", name, seen)


@pytest.mark.parametrize("name", NAMES)
def test_a_night_that_cannot_begin_leaves_nothing_behind(refused, name):
    one = refused[name]
    after, before = one.keys
    assert bool(before) == (name not in ("missing bucket", "no votes"))
    assert set(after) - set(before) <= {"lease/00000001.json"}
    assert one.store is None or held_by(one.store, grace=0) is None
    assert set(one.files) <= {"urlr-registry", "urlr-registry/mlflow.db"}


def test_a_bucket_that_is_missing_is_not_made(refused, s3_server):
    assert "missing bucket" in refused
    made = {one["Name"] for one in s3_server.client().list_buckets()["Buckets"]}
    assert "nowhere-to-be-found" not in made


def test_no_secret_is_shown(refused, s3_server):
    for one in refused.values():
        said = one.done.out + one.done.err
        assert WRONG not in said
        assert s3_server.secret not in said
        assert s3_server.key not in said


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two attributes that can be worked on, and two that cannot."""
    store = Store.at(tmp_path / "store")
    for name in ("a-slow", "good"):
        put(store, f"votes/{name}/1.csv", simulated().votes)
    for name in ("broken", "worse"):
        put(store, f"votes/{name}/1.csv", "item_a,item_b\n1,2\n")
    return store


def test_one_night_at_a_time_and_a_stopped_one_gives_the_store_back(
    urlr: Urlr, store: Store, tmp_path: Path, prefect_address: str, new_bench: Callable[..., Bench]
):
    slow = Fault("tasks.train:_computed", "hang", tmp_path / "marks", attribute="a-slow")

    first = urlr.start("nightly", "--store", store.url, faults=(slow,))
    until(lambda: slow.struck == 1 or first.process.poll() is not None, seconds=PATIENCE)
    lease = held_by(store)
    assert lease is not None
    before = keys_of(store)
    second = urlr("nightly", "--store", store.url)
    assert second.code == 1
    assert second.out == ""
    assert lease.pid == first.process.pid
    held = like("tasks", "store_held", store=store.url, holder=lease)
    assert held.fullmatch(second.complaint.removeprefix("urlr: ")), second.complaint
    seen = Seen("the night does not begin (1)", second.complaint.removeprefix("urlr: "))
    passed("nights that cannot begin", "another night is at work", seen)
    shown = [one for one in runs_on(prefect_address, store.url) if "deployment_id" in one]
    assert {one["state_type"] for one in shown} == {"RUNNING", "FAILED"}
    [refused] = [one["state"] for one in shown if one["state_type"] == "FAILED"]
    assert held.search(refused["message"])
    new = set(keys_of(store)) - set(before)
    assert {key for key in new if not key.startswith(f"runs/{lease.run}/")} == set()

    _is_stopped(first.end(signal_sent=signal.SIGTERM), store)
    third = urlr.start("nightly", "--store", store.url, faults=(slow,))
    until(lambda: slow.struck == 2 or third.process.poll() is not None, seconds=PATIENCE)
    _is_stopped(third.end(signal_sent=signal.SIGINT, to_all=True), store)
    _nothing_runs(prefect_address, store)

    place = new_bench(store, URLR_REGISTRY=str(urlr.work / "urlr-registry"), **QUICK)
    last = place.night(URLR_FEWEST_DONE="0.75")
    assert last.code == 1, last
    assert "Failed: 4 attributes" in last.out
    night = past_of(store).last
    assert night is not None
    too_few = message("too_few_done", done=2, total=4, fewest=0.75)
    assert (night.state, night.reason) == ("Failed", too_few)
    assert {name: one.outcome for name, one in night.entries.items()} == {
        "a-slow": "published",
        "good": "published",
        "broken": "failed",
        "worse": "failed",
    }
    registry = Registry.at(urlr.work / "urlr-registry")
    assert {name: len(registry.versions(name)) for name in ("a-slow", "good")} == {
        "a-slow": 1,
        "good": 1,
    }


def _is_stopped(done: Done, store: Store) -> None:
    """A night was stopped by a signal: it says so, and the store is free at once."""
    assert done.code == 130, done
    assert done.complaint == f"urlr: {message('stopped_early')}"
    assert held_by(store) is None
    assert past_of(store).last is None


def _nothing_runs(api: str, store: Store) -> None:
    """Prefect shows no run on this store as running."""
    over = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

    def is_over() -> bool:
        runs = runs_on(api, store.url)
        return len(runs) > 3 and {one["state_type"] for one in runs} <= over

    until(is_over, "three flow runs, and task runs of two, are over")  # noted a moment later
