"""One night in which almost everything goes wrong, and what becomes of those it does not concern.

The night is the real command on a real bucket, with real workers that really die. Beside it lies a
night over the clean attributes alone.
"""

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from commands import Done, Fault, command_in, runs_on
from registries import MLFLOW_WARNS
from storage import S3Server
from stored_votes import put, simulated

from tasks.lease import held_by
from tasks.names import encoded
from tasks.registry import Registry
from tasks.results import Entry, Night
from tasks.runs import past_of
from tasks.store import Store
from tasks.write import table_bytes
from urlr.ids import shown

pytestmark = MLFLOW_WARNS

CLEAN = ("clean-one", "clean-three", "clean-two")
NAMES = ("Größe/Zähne 😀", "nested/deep/er", "od..d", "with two  spaces")
LONG, UNSEEN = "x" * 300, "tab\tin it"
GOES_ON = ("killed-once", "nan-features", "unknown-outcomes")
DIES = ("a-hang", "killed-always", "outgrows", "raises")
UNUSABLE = ("cut-off", "empty", "infinite-features", "other-header")
AT_ODDS = "two-minds"
"""Two patterns of settings are for it, which make sense alone and not together."""
FAILED = {*DIES, *UNUSABLE, AT_ODDS, LONG, UNSEEN}
PATTERNS = {
    "two-*": {"method": "paper", "curved": True, "replicates": None},
    "*-minds": {"curved": False},
}
N_UNKNOWN = 7
DEADLINE = 40
"""Seconds an attribute may take; one takes 2 when nothing else runs."""


@dataclass(frozen=True)
class Past:
    """A night that is over."""

    done: Done
    store: Store
    night: Night
    registry: Registry
    faults: dict[str, Fault]
    api: str

    def entry(self, attribute: str) -> Entry:
        return self.night.entries[attribute]

    def files(self, attribute: str) -> dict[str, bytes]:
        """All results of an attribute but the record of what they cost."""
        place = self.entry(attribute).place
        assert place is not None
        found = {
            one.key.rpartition("/")[2]: self.store.read(one.key) for one in self.store.list(place)
        }
        del found["result.json"]
        return found


def write_clean(store: Store) -> None:
    put(store, "features/all.csv", simulated().features.reset_index())
    for seed, attribute in enumerate(CLEAN):
        put(store, f"votes/{attribute}/1.csv", simulated(seed=seed).votes)


def write_troubles(store: Store) -> None:
    made = simulated()
    features = made.features.reset_index()
    for attribute in (
        *NAMES,
        "killed-once",
        "nan-features",
        *DIES,
        "infinite-features",
        LONG,
        AT_ODDS,
    ):
        put(store, f"votes/{attribute}/1.csv", made.votes)
    unknown = made.votes.astype({"outcome": str})
    unknown.loc[: N_UNKNOWN - 1, "outcome"] = "maybe"
    put(store, "votes/unknown-outcomes/1.csv", unknown)
    put(store, "votes/cut-off/1.parquet", table_bytes(made.votes, "1.parquet")[:-200])
    put(store, "votes/empty/1.csv", b"")
    put(store, "votes/other-header/1.csv", made.votes.rename(columns={"outcome": "choice"}))
    for attribute, value in (("nan-features", float("nan")), ("infinite-features", float("inf"))):
        put(
            store,
            f"features/{attribute}/t.csv",
            features.assign(
                **{"feature-01": features["feature-01"].where(features.index > 2, value)}
            ),
        )


def planted(marks: Path) -> dict[str, Fault]:
    """What is done to whom, while it is fitted."""
    kinds = {"a-hang": "hang", "killed-always": "kill", "outgrows": "memory", "raises": "raise"}
    faults = {
        name: Fault("tasks.train:_computed", kind, marks / name, attribute=name)
        for name, kind in kinds.items()
    }
    return faults | {
        "killed-once": Fault(
            "tasks.train:_computed", "kill", marks / "once", attribute="killed-once", times=1
        )
    }


@pytest.fixture(scope="module")
def nights(
    tmp_path_factory: pytest.TempPathFactory,
    s3_server: S3Server,
    new_bucket: Callable[[], str],
    prefect_address: str,
) -> Iterator[tuple[Past, Past]]:
    """The night of troubles, and the one without."""
    found = []
    with pytest.MonkeyPatch.context() as patched:
        for name, value in s3_server.environment.items():
            patched.setenv(name, value)
        for troubled in (True, False):
            place = tmp_path_factory.mktemp("troubled" if troubled else "clean")
            store = Store.at(f"s3://{new_bucket()}/some/where")
            write_clean(store)
            faults = {}
            if troubled:
                write_troubles(store)
                put_directly(store, f"votes/{UNSEEN}/1.csv", s3_server)
                faults = planted(place / "marks")
            command = command_in(
                place / "urlr",
                prefect_address,
                URLR_ATTRIBUTE_DEADLINE=str(DEADLINE),
                URLR_WORKER_MEMORY="1GiB",
                URLR_ATTRIBUTES=json.dumps(PATTERNS),
                **s3_server.environment,
            )
            try:
                done = command("nightly", "--store", store.url, faults=tuple(faults.values()))
            finally:
                command.close()
            night = past_of(store).last
            assert night is not None, done
            registry = Registry.at(command.work / "urlr-registry")
            found.append(Past(done, store, night, registry, faults, prefect_address))
        yield found[0], found[1]


def put_directly(store: Store, key: str, server: S3Server) -> None:
    """Put votes under a key that our own store would refuse, as other tools may."""
    import boto3

    client = boto3.client("s3", endpoint_url=server.endpoint)
    bucket, _, prefix = store.url.removeprefix("s3://").partition("/")
    body = table_bytes(simulated().votes, "1.csv")
    client.put_object(Bucket=bucket, Key=f"{prefix}/{key}", Body=body)
    client.close()


@pytest.fixture
def troubled(nights: tuple[Past, Past]) -> Past:
    return nights[0]


def test_the_night_ends_as_partial_and_knows_who_failed(troubled, nights):
    assert troubled.done.code == 3, troubled.done
    assert troubled.night.state == "Partial"
    outcomes = {name: one.outcome for name, one in troubled.night.entries.items()}
    wanted = dict.fromkeys((*CLEAN, *NAMES, *GOES_ON), "published")
    assert outcomes == wanted | dict.fromkeys(FAILED, "failed")
    assert nights[1].done.code == 0, nights[1].done


def test_every_fault_struck_as_often_as_it_was_tried(troubled):
    """A worker that dies is tried once more; an error or a hang never succeeds on retry."""
    struck = {name: fault.struck for name, fault in troubled.faults.items()}
    assert struck == {
        "a-hang": 1,
        "killed-always": 2,
        "outgrows": 2,
        "raises": 1,
        "killed-once": 1,
    }
    attempts = {name: one.attempts for name, one in troubled.night.entries.items()}
    assert {name: attempts[name] for name in DIES} == {name: struck[name] for name in DIES}
    assert attempts["killed-once"] == 2
    assert {attempts[name] for name in (*CLEAN, *NAMES, *UNUSABLE)} == {1}
    assert {attempts[name] for name in (AT_ODDS, LONG, UNSEEN)} == {0}
    assert troubled.night.workers_lost == 5


@pytest.mark.parametrize("attribute", CLEAN)
def test_clean_attributes_get_the_bytes_of_a_night_without_troubles(nights, attribute):
    ours, theirs = (past.files(attribute) for past in nights)
    assert ours == theirs
    assert {"scores.parquet", "verdicts.parquet"} <= set(ours)


def test_the_command_to_try_again_can_be_typed(troubled):
    """Names that are refused will be others once mended; so all is asked for, not they."""
    assert f"Once mended: urlr nightly --store {troubled.store.url}\n" in troubled.done.out


def test_the_registry_has_one_champion_for_each_that_was_published(troubled):
    champions = troubled.registry.champions()
    assert set(champions) == {*CLEAN, *NAMES, *GOES_ON}
    assert {version.number for version in champions.values()} == {1}
    moves = {name: len(troubled.registry.history(name)) for name in champions}
    assert set(moves.values()) == {1}


FAILURES = {
    "a-hang": (rf"did not end within {DEADLINE} seconds", "allow more time"),
    "killed-always": (r"its worker died \(twice\)", "raise URLR_WORKER_MEMORY"),
    "outgrows": (r"its worker died \(twice\), out of memory: it held", "raise URLR_WORKER_MEMORY"),
    "raises": (r"unexpected RuntimeError: planted: the matrix is.*singular", "report it"),
    "cut-off": (r"some/where/votes/cut-off/1\.parquet.*cut off", "copy it again"),
    "empty": (r"some/where/votes/empty/1\.csv.*empty", "check the export"),
    "infinite-features": (
        r"some/where/features/infinite-features/t\.csv.*infinite",
        "replace them",
    ),
    "other-header": (r"some/where/votes/other-header/1\.csv.*choice", "needed are"),
    AT_ODDS: (r"the settings of two-minds", "urlr.toml"),
    LONG: (r"takes 300 signs", "shorter name"),
    UNSEEN: (r"cannot be seen", "rename"),
}


@pytest.mark.parametrize("attribute", sorted(FAILED))
def test_a_failure_is_one_line_that_says_what_where_and_what_to_do(troubled, attribute):
    what, advice = FAILURES[attribute]
    reason = troubled.entry(attribute).reason
    assert reason.isprintable()
    assert re.search(what, reason)
    assert re.search(rf";.*{advice}", reason)
    lines = [line for line in troubled.done.out.splitlines() if line.startswith("failed ")]
    assert f"failed {shown(attribute, 80)}: {reason}" in lines
    assert len(lines) == len(FAILED)


def test_odd_names_are_kept_apart_and_written_as_they_are(troubled):
    for name in NAMES:
        assert name in troubled.done.out
        place = troubled.entry(name).place
        assert place is not None
        assert place.endswith(f"/attributes/{encoded(name)}")


def test_rows_of_unknown_outcome_are_rejected_and_counted(troubled):
    rows = troubled.entry("unknown-outcomes").rows
    assert rows["rejected"] == N_UNKNOWN
    assert rows["read"] == rows["used"] + rows["ties"] + rows["skipped"] + rows["rejected"]


def test_items_of_which_a_feature_is_unknown_are_ranked_with_the_others(troubled):
    scores = pd.read_parquet(io.BytesIO(troubled.files("nan-features")["scores.parquet"]))
    assert set(scores["item"]) == set(simulated().features.index)
    assert scores["score"].notna().all()


def test_prefect_shows_how_every_attribute_ended(troubled):
    """No task run is left running, and each is in the state that the record tells."""
    run, *tasks = runs_on(troubled.api, troubled.store.url)
    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "Partial")
    states = {one["name"]: (one["state_name"], one["run_count"]) for one in tasks}
    assert states == {
        name: ("Failed" if one.outcome == "failed" else "Published", one.attempts)
        for name, one in troubled.night.entries.items()
        if one.attempts
    }


def test_the_lease_is_given_back_and_nothing_else_is_left(troubled):
    assert held_by(troubled.store) is None
    folders = {one.key.partition("/")[0] for one in troubled.store.list()}
    assert folders == {"votes", "features", "runs", "lease", "report"}


def test_no_secret_is_shown(nights, s3_server):
    for past in nights:
        said = past.done.out + past.done.err
        assert s3_server.secret not in said
        assert s3_server.key not in said
        assert "Traceback" not in said
