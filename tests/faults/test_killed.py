"""The flow's process is killed at each step of publishing; the next night goes on from there.

The steps are killed one after the other on one store, each in the night that was to finish what
the one before left, so that every kill meets the remains of the last. The first is a whole night,
killed by its worker, and so is the night after all of them; the others are apart from Prefect. Each
alone, and more points, are killed as whole nights in `tests/faults/soak`.
"""

import re
import socket
from collections.abc import Callable, Iterator

import pytest
from cases import passed
from judge import Bytes, Seen, judge_again
from kills import NEW, OLD, Kill, Killed, killed_one_after_the_other
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from sentences import like
from sites import Site
from waiting import until

from tasks.results import Night
from tasks.runs import read_start

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

STEPS = {
    "write: results half written": Kill(
        "tasks.store:Store.create", f"*/attributes/{OLD}/result.json", of_flow=True
    ),
    "register: results written, nothing registered": Kill(
        "tasks.registry.registry:Registry.register", OLD
    ),
    "verify: registered, not yet verified": Kill("tasks.registry.verifying:Verifier.verify", OLD),
    "record: verified, move not recorded": Kill("tasks.registry.registry:Registry.move", OLD),
    "alias: move recorded, alias not moved": Kill(
        "tasks.registry.mlflow_client:Mlflow.set_alias", OLD
    ),
    "report: alias moved, night not recorded": Kill("flows.night:NightWork._report", moved=True),
}


@pytest.fixture(scope="module")
def story(
    tmp_path_factory: pytest.TempPathFactory,
    prefect_api: PrefectApi,
    run_here: Callable[[Site], Site],
) -> Iterator[Killed]:
    place = tmp_path_factory.mktemp("killed")
    with killed_one_after_the_other(place, prefect_api, STEPS, run_here) as killed:
        yield killed


@pytest.fixture(scope="module")
def night(story: Killed, two_clean_nights: Bytes) -> Night:
    """The night after all of them."""
    return judge_again(story.site, story.last, two_clean_nights)


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_night_leaves_a_champion_that_serves(story, night, step):
    kill, found = STEPS[step], story.kills[step]
    assert found.champion == (2 if kill.moved else 1)
    assert found.scores == (story.scores if kill.moved else story.first)
    assert story.first != story.scores
    assert found.n_records == 1
    which = "new" if kill.moved else "old"
    said = (
        f"the {which} champion serves; after {len(STEPS)} such nights: {night.entries[OLD].reason}"
    )
    passed("the flow is killed night after night", step, Seen("killed, then completed", said))


def test_versions_are_registered_once_however_often_a_night_is_killed(story, night):
    numbers = [found.n_versions for found in story.kills.values()]
    assert numbers == [1, 1, 2, 2, 2, 2]
    versions = story.site.registry.versions(OLD)
    assert [one.number for one in versions] == [1, 2]
    assert len({one.key for one in versions}) == 2
    assert [one.number for one in story.site.registry.versions(NEW)] == [1]


def test_the_history_holds_each_move_once(story, night):
    for attribute, wanted in ((OLD, [(None, 1), (1, 2)]), (NEW, [(None, 1)])):
        moves = story.site.registry.history(attribute)
        assert [(move.before, move.to) for move in moves] == wanted
        assert all(move.done is not None and not move.dropped for move in moves)


def test_the_next_night_finishes_the_job_and_computes_nothing_anew(story, night):
    entry = night.entries[OLD]
    assert (entry.outcome, entry.version, entry.replaced) == ("published", 2, 1)
    assert entry.reason == story.site.registry.history(OLD)[-1].why
    assert entry.difference is None, "it is not held against itself"
    assert not entry.computed
    assert not night.entries[NEW].computed
    assert story.n_fits == 3, "the first night's, one that was half written, and one more"
    whole = list(story.kills.values())[1]
    assert entry.place is not None
    assert entry.place.startswith(f"runs/{whole.run}/")
    assert story.site.registry.version(OLD, 2).place == entry.place


def test_nothing_is_there_any_more_that_was_left_halfway(story, night):
    assert list(story.site.store._objects().half_written("")) == []


def test_the_next_night_tells_of_the_dead_ones(story, night):
    newest = list(story.kills.values())[-1].run
    runs = re.compile(rf"{newest}, .*")
    dead = like("flows", "runs_did_not_finish", count=len(STEPS), runs=runs)
    assert like("flows", "a_note", note=dead).search(story.last.out)


def test_every_dead_run_says_who_began_it(story, night):
    known = {one["id"] for one in story.states()}
    for step, found in story.kills.items():
        start = read_start(story.site.store, found.run)
        assert start is not None, found.run
        assert (start.run, start.host) == (found.run, socket.gethostname())
        assert (start.flow_run in known) if STEPS[step].of_flow else start.flow_run is None


def test_prefect_shows_the_dead_as_crashed(story, night):
    def is_shown() -> bool:
        shown = [one["state_type"] for one in story.states()]
        return "CRASHED" in shown and set(shown) <= {"COMPLETED", "CRASHED", "PENDING"}

    until(is_shown, "the dead have crashed, and nothing runs")
    flows = [one for one in story.states() if "task_key" not in one]
    assert sorted(one["state_type"] for one in flows) == ["COMPLETED", "CRASHED"]
