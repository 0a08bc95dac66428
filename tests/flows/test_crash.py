"""The flow's process is killed at each step of publishing; the next night goes on from there.

The steps are killed one after the other on one store, each in the night that was to finish what
the one before left, so that every kill meets the remains of the last.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from commands import PATIENCE, ROOT, Done, Fault, Urlr, command_in, runs_on, until
from registries import MLFLOW_WARNS
from stored_votes import put, simulated

from tasks.lease import held_by
from tasks.registry import Registry
from tasks.results import Night
from tasks.runs import names_of, past_of
from tasks.store import Store

pytestmark = MLFLOW_WARNS

OLD, NEW = "smiling", "fresh"
STEPS = {
    "results written, nothing registered": "tasks.registry.registry:Registry.register",
    "version registered, move not recorded": "tasks.registry.registry:Registry.move",
    "move recorded, alias not moved": "tasks.registry.mlflow_client:Mlflow.set_alias",
    "alias moved, night not recorded": "flows.night:NightWork.finish",
}
LEASE, GRACE = 10.0, 1.0
PREDICT = """
import json, sys
import mlflow
import pandas as pd
mlflow.set_tracking_uri(sys.argv[1])
model = mlflow.pyfunc.load_model("models:/" + sys.argv[2] + "@champion")
print(json.dumps(list(map(float, model.predict(pd.read_csv(sys.argv[3]))["score"]))))
"""


@dataclass(frozen=True)
class Killed:
    """What is found after a kill."""

    done: Done
    run: str
    champion: int | None
    predicted: list[float]
    """By the champion of the old attribute, as people who never heard of us load it."""
    n_versions: int
    n_records: int
    """Nights that ended, by their own account."""


@dataclass(frozen=True)
class Story:
    """A night, the kills after it, and the night that ended well."""

    store: Store
    registry: Registry
    first: list[float]
    """Predictions of the first champion."""
    kills: dict[str, Killed]
    last: Done
    night: Night
    predicted: list[float]
    n_fits: int
    """Of the old attribute, in all nights."""
    shown: list[str]
    """States of the flow runs and their task runs, as Prefect shows them."""


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, prefect_address: str) -> Iterator[Story]:
    place = tmp_path_factory.mktemp("crash")
    store = Store.at(place / "store")
    command = command_in(
        place / "urlr",
        prefect_address,
        URLR_WORKERS="1",
        URLR_LEASE=str(LEASE),
        URLR_LEASE_GRACE=str(GRACE),
    )
    try:
        yield _told(command, store, place, prefect_address)
    finally:
        command.close()


def _told(command: Urlr, store: Store, place: Path, api: str) -> Story:
    made = simulated(n_votes=1000)
    features = made.features.reset_index()
    put(store, "features/all.csv", features)
    features.to_csv(place / "features.csv", index=False)
    put(store, f"votes/{OLD}/1.csv", made.votes.head(500))
    fits = Fault("tasks.train:_computed", "note", place / "fits", attribute=OLD)
    done = command("nightly", "--store", store.url, faults=(fits,))
    assert done.code == 0, done
    registry = Registry.at(command.work / "urlr-registry")
    first = _predicted(registry, place)

    put(store, f"votes/{OLD}/2.csv", made.votes.tail(500))
    put(store, f"votes/{NEW}/1.csv", simulated(seed=1).votes)
    kills = {}
    for number, (step, function) in enumerate(STEPS.items()):
        about = None if function.endswith("finish") else OLD
        kill = Fault(function, "kill", place / str(number), attribute=about, times=1)
        done = command("nightly", "--store", store.url, faults=(fits, kill))
        run = names_of(store)[0]
        champion = registry.champion(OLD)
        kills[step] = Killed(
            done,
            run,
            None if champion is None else champion.number,
            _predicted(registry, place),
            len(registry.versions(OLD)),
            len([one for one in store.list("runs") if one.key.endswith("/run.json")]),
        )
        until(lambda: held_by(store, grace=GRACE) is None)
    last = command("nightly", "--store", store.url, faults=(fits,))
    night = past_of(store).last
    assert night is not None
    predicted = _predicted(registry, place)
    shown = [one["state_type"] for one in runs_on(api, store.url)]
    return Story(store, registry, first, kills, last, night, predicted, fits.struck, shown)


def _predicted(registry: Registry, place: Path) -> list[float]:
    """Scores of the champion, in a process that has nothing of this one."""
    done = subprocess.run(
        [sys.executable, "-c", PREDICT, registry.uri, OLD, str(place / "features.csv")],
        env=os.environ | {"PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    scores: list[float] = json.loads(done.stdout)
    return scores


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_night_leaves_a_champion_that_serves(story, step):
    kill = story.kills[step]
    assert kill.done.code == -signal.SIGKILL, kill.done
    assert kill.n_records == 1
    moved = step == "alias moved, night not recorded"
    assert kill.champion == (2 if moved else 1)
    assert kill.predicted == (story.predicted if moved else story.first)
    assert story.first != story.predicted


def test_versions_are_registered_once_however_often_a_night_is_killed(story):
    assert [kill.n_versions for kill in story.kills.values()] == [1, 2, 2, 2]
    versions = story.registry.versions(OLD)
    assert [one.number for one in versions] == [1, 2]
    assert len({one.key for one in versions}) == 2
    assert [one.number for one in story.registry.versions(NEW)] == [1]


def test_the_history_holds_each_move_once(story):
    for attribute, wanted in ((OLD, [(None, 1), (1, 2)]), (NEW, [(None, 1)])):
        moves = story.registry.history(attribute)
        assert [(move.before, move.to) for move in moves] == wanted
        assert all(move.done is not None and not move.dropped for move in moves)


def test_the_next_night_finishes_the_job_and_computes_nothing_anew(story):
    assert story.last.code == 0, story.last
    assert story.night.state == "Completed"
    entry = story.night.entries[OLD]
    assert (entry.outcome, entry.version, entry.replaced) == ("published", 2, 1)
    assert entry.reason == story.registry.history(OLD)[-1].why
    assert entry.difference is None, "it is not held against itself"
    assert not entry.computed
    assert story.n_fits == 2, "the first night's, and that of the first killed one"
    dead = next(iter(story.kills.values())).run
    assert entry.place is not None
    assert entry.place.startswith(f"runs/{dead}/")
    result = json.loads(story.store.read(f"{entry.place}/result.json"))
    assert result["run"] == dead
    assert story.registry.version(OLD, 2).place == entry.place
    assert not story.night.entries[NEW].computed


def test_the_next_night_tells_of_the_dead_ones(story):
    newest = list(story.kills.values())[-1].run
    assert f"note: 4 runs before this did not finish ({newest}, " in story.last.out
    assert held_by(story.store) is None


def test_prefect_shows_the_dead_as_crashed(story):
    assert story.shown.count("CRASHED") >= len(STEPS)
    assert set(story.shown) <= {"COMPLETED", "CRASHED", "PENDING"}


def test_what_is_served_is_what_was_fitted(story):
    entry = story.night.entries[OLD]
    assert entry.place is not None
    fitted = pd.read_parquet(Path(story.store.url) / entry.place / "scores.parquet")
    items = simulated(n_votes=1000).features.index
    served = dict(zip(items, story.predicted, strict=True))
    assert fitted.set_index("item")["score"].to_dict() == pytest.approx(served)
