"""Who was champion when: moves, their history, going back, and what dead runs leave behind."""

import json
import os
import pickle
import signal
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from refusals import refused
from registries import MLFLOW_WARNS, NIGHT, kept, moved, publication, registered

from tasks.lease import LeaseLost
from tasks.messages import message
from tasks.names import encoded
from tasks.registry import NotRegistered, Owner, Registry, RegistryError, alias_history
from tasks.registry.alias_history import BY_HAND, RECORD, Move, moves_in
from tasks.registry.alias_moves import CHALLENGER, CHAMPION
from tasks.registry.mlflow_client import Mlflow
from urlr.errors import ArgumentError
from urlr.sentence import made as sentence

pytestmark = [MLFLOW_WARNS, pytest.mark.full]

ROOT = Path(__file__).parents[2]
CRASHES = """
# Each act is done by a fork of its own, which kills itself in the middle of it.
import os, pickle, signal, sys
from datetime import date
sys.path.insert(0, sys.argv[1])
from tasks.registry import alias_moves, registry as registry_module
from tasks.registry.mlflow_client import load
registry, acts = pickle.load(open(sys.argv[2], "rb"))
load()

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def in_the_middle_of_registering(given):
    registry_module.Files.write = die
    registry.register(given)

def after_registering(given):
    registry.register(given)
    die()

def before_the_alias(given):
    version = registry.register(given)
    registry.move(given.attribute, version, run="dead", night=given.night, why="?", before=die)

def after_the_alias(given):
    version = registry.register(given)
    alias_moves.now = die
    registry.move(given.attribute, version, run="dead", night=given.night, why="?")

for name, given in acts:
    child = os.fork()
    if child == 0:
        globals()[name](given)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(name, os.WTERMSIG(status) if os.WIFSIGNALED(status) else "lived")
"""
RACE = """
import pickle, sys
from datetime import date
registry, attribute, run = pickle.loads(bytes.fromhex(sys.argv[1]))
registry.champion(attribute)
versions = registry.versions(attribute)
print("ready", flush=True)
sys.stdin.readline()
for k in range(5):
    registry.move(
        attribute, versions[k % 2 + (run == "b")], run=run, night=date(2026, 11, 15), why="race"
    )
"""


def by_hand(registry: Registry, attribute: str, number: int) -> None:
    Mlflow(registry.uri).set_alias(encoded(attribute), CHAMPION, number)


def standing(registry: Registry, attribute: str, alias: str = CHAMPION) -> str | None:
    found = Mlflow(registry.uri).model(encoded(attribute))
    assert found is not None
    number = found.aliases.get(alias)
    return None if number is None else str(number)


def test_every_move_is_recorded_and_tells_who_was_champion_when(any_registry, attribute):
    first, second = registered(any_registry, attribute, 2)
    start = datetime.now(UTC)
    one = any_registry.move(attribute, first, run="n-1", night=NIGHT, why="first model")
    two = any_registry.move(attribute, second, run="n-2", night=NIGHT, why="tau up", forced=True)
    assert any_registry.history(attribute) == [one, two]
    assert [(move.before, move.to, move.run, move.forced) for move in (one, two)] == [
        (None, 1, "n-1", False),
        (1, 2, "n-2", True),
    ]
    assert one.done is not None
    assert two.done is not None
    assert any_registry.live_on(attribute, start) is None
    assert any_registry.live_on(attribute, one.done) == 1
    assert any_registry.live_on(attribute, two.done - timedelta(microseconds=1)) == 1
    assert any_registry.live_on(attribute, datetime.now(UTC)) == 2
    champion = any_registry.champion(attribute)
    assert champion is not None
    assert (champion.number, champion.verdict, champion.reason) == (2, "published", "tau up")
    assert any_registry.reconcile(attribute) == []


def test_moving_to_the_champion_writes_nothing(registry, attribute):
    [version] = registered(registry, attribute, 1)
    move = registry.move(attribute, version, run="n-1", night=NIGHT, why="first model")
    assert registry.move(attribute, version, run="n-2", night=NIGHT, why="again") == move
    assert registry.history(attribute) == [move]


def test_a_lost_lease_leaves_the_champion_and_says_so(registry, attribute):
    first, second = registered(registry, attribute, 2)
    moved(registry, [first])

    def lost() -> None:
        raise LeaseLost(sentence("another night took the store.", "lost", {}))

    with pytest.raises(LeaseLost):
        registry.move(attribute, second, run="late", night=NIGHT, why="?", before=lost)
    assert standing(registry, attribute) == "1"
    assert registry.history(attribute)[-1].dropped == "LeaseLost: another night took the store."
    assert registry.reconcile(attribute) == []
    assert standing(registry, attribute) == "1"


def test_what_the_gate_held_is_the_challenger_until_it_is_overtaken(registry, attribute):
    first, second, third = registered(registry, attribute, 3)
    moved(registry, [first])
    registry.hold(attribute, second, run="n-2", reason="held: worse than the champion")
    held = registry.version(attribute, 2)
    assert standing(registry, attribute, CHALLENGER) == "2"
    assert held.verdict == "held"
    reason = "held: worse than the champion"
    assert held.reason == message("held_by_run", reason=reason, run="n-2")
    with refused(RegistryError, "champion_cannot_be_held", version=first.shown):
        registry.hold(attribute, first, run="n-2", reason="?")
    moved(registry, [third])
    assert standing(registry, attribute, CHALLENGER) is None


def test_going_back_twice_goes_further_back_and_not_forward(registry, attribute, monkeypatch):
    versions = registered(registry, attribute, 3)
    moved(registry, versions)
    asked = []
    monkeypatch.setattr(Registry, "verify", lambda self, version, **_: asked.append(version.number))
    back = registry.rollback(attribute, run="me", why="it ranks spam first")
    assert (back.before, back.to, back.rollback) == (3, 2, True)
    assert registry.rollback(attribute, run="me", why="this too").to == 1
    assert asked == [2, 1]
    assert registry.withdrawn(attribute) == {2, 3}
    with refused(RegistryError, "no_earlier_champion", attribute=attribute) as error:
        registry.rollback(attribute, run="me", why="?")
    assert error.value.fields["present"].fields == {"version": 1}
    assert error.value.fields["choice"].fields == {"versions": [3, 2, 1]}
    assert registry.rollback(attribute, 3, run="me", why="it was good").to == 3
    assert registry.withdrawn(attribute) == {2, 1}


def test_going_back_is_refused_with_what_there_is(registry, attribute):
    versions = registered(registry, attribute, 2)
    moved(registry, versions)
    with refused(NotRegistered, "no_such_attribute", attribute=attribute + "x") as error:
        registry.rollback(attribute + "x", run="me", why="?")
    hint = error.value.fields["hint"]
    assert hint.code == "attributes_nearly_called_so"
    assert hint.fields["names"][0] == attribute
    assert "\n" not in str(error.value)
    with refused(NotRegistered, "no_such_version", number=9) as error:
        registry.rollback(attribute, 9, run="me", why="?")
    assert error.value.fields["choice"].fields == {"versions": [2, 1]}
    with refused(RegistryError, "champion_already", version=versions[1].shown):
        registry.rollback(attribute, 2, run="me", why="?")
    (kept(versions[0]) / "model" / "model.npz").write_bytes(b"damaged")
    with refused(RegistryError, "version_file_changed", name="model/model.npz"):
        registry.rollback(attribute, run="me", why="?")
    assert standing(registry, attribute) == "2"
    assert len(registry.history(attribute)) == 2


@pytest.fixture(scope="module")
def crashed(registry, tmp_path_factory) -> dict[str, str]:
    """Attributes whose last run was killed, by where."""
    names = [
        "in_the_middle_of_registering",
        "after_registering",
        "before_the_alias",
        "after_the_alias",
    ]
    attributes = {name: f"crash/{name}" for name in names}
    for attribute in attributes.values():
        moved(registry, registered(registry, attribute, 1))
    acts = [(name, publication(attributes[name], "key-new", seed=1)) for name in names]
    orders = tmp_path_factory.mktemp("crashes") / "orders"
    orders.write_bytes(pickle.dumps((registry, acts)))
    done = subprocess.run(
        [sys.executable, "-c", CRASHES, str(ROOT), str(orders)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parent,
    )
    killed = [f"{name} {int(signal.SIGKILL)}" for name in names]
    assert done.stdout.splitlines() == killed, done.stderr
    return attributes


def test_a_run_killed_while_it_registers_leaves_no_version(registry, crashed):
    attribute = crashed["in_the_middle_of_registering"]
    assert registry.with_key(attribute, "key-new") is None
    assert len(registry.versions(attribute)) == 1
    assert registry.reconcile(attribute) == []
    assert registry.register(publication(attribute, "key-new", seed=1)).number == 2


def test_a_run_killed_after_it_registered_leaves_a_version_to_be_used_again(registry, crashed):
    attribute = crashed["after_registering"]
    assert standing(registry, attribute) == "1"
    assert registry.reconcile(attribute) == []
    found = registry.with_key(attribute, "key-new")
    assert found is not None
    assert registry.register(publication(attribute, "key-new", seed=1)) == found
    registry.fetch(found)


def test_a_move_killed_before_the_alias_is_finished(registry, verifier, crashed):
    attribute = crashed["before_the_alias"]
    assert standing(registry, attribute) == "1"
    assert registry.live_on(attribute, datetime.now(UTC)) == 1
    checked = []
    [said] = registry.reconcile(attribute, before=lambda: checked.append(1))
    ending = message("move_finished", version=2)
    assert said == message("half_moved", attribute=attribute, run="dead", ending=ending)
    assert checked == [1]
    assert standing(registry, attribute) == "2"
    assert registry.live_on(attribute, datetime.now(UTC)) == 2
    champion = registry.champion(attribute)
    assert champion is not None
    verifier.verify(champion)
    assert registry.reconcile(attribute) == []


def test_a_move_killed_after_the_alias_is_marked_done(registry, crashed):
    attribute = crashed["after_the_alias"]
    assert standing(registry, attribute) == "2"
    [pending] = [move for move in registry.history(attribute) if move.pending]
    [said] = registry.reconcile(attribute)
    ending = message("moved_before_it_ended", version=2)
    assert said == message("half_moved", attribute=attribute, run="dead", ending=ending)
    assert registry.live_on(attribute, pending.when) == 2
    assert registry.reconcile(attribute) == []


def test_a_move_begun_is_dropped_where_the_alias_went_elsewhere(registry, attribute):
    versions = registered(registry, attribute, 3)
    moved(registry, versions[:1])
    name = encoded(attribute)
    pending = alias_history.new_move(
        registry.history(attribute), attribute, 1, 2, run="dead", night=NIGHT, why="?"
    )
    Mlflow(registry.uri).tag_model(name, pending.record())
    by_hand(registry, attribute, 3)
    dropped, noted = registry.reconcile(attribute)
    ending = dropped.fields["ending"]
    assert (ending.code, ending.fields["version"]) == ("alias_went_elsewhere", 2)
    assert ending.fields["place"].fields == {"version": 3}
    assert noted.code == "alias_moved_by_hand"
    assert noted.fields["change"] == message("alias_was_moved", version=3)
    assert noted.fields["before"].fields == {"version": 1}
    assert standing(registry, attribute) == "3"
    assert registry.reconcile(attribute) == []


def test_an_alias_moved_or_removed_by_hand_is_noted(registry, attribute):
    versions = registered(registry, attribute, 2)
    moved(registry, versions[:1])
    by_hand(registry, attribute, 2)
    [said] = [one for one in registry.reconcile_all() if one.fields.get("attribute") == attribute]
    assert said.code == "alias_moved_by_hand"
    assert said.fields["change"] == message("alias_was_moved", version=2)
    assert said.fields["before"].fields == {"version": 1}
    last = registry.history(attribute)[-1]
    assert (last.before, last.to, last.run) == (1, 2, BY_HAND)
    Mlflow(registry.uri).delete_alias(encoded(attribute), CHAMPION)
    [said] = registry.reconcile(attribute)
    assert (said.code, said.fields["change"].code) == ("alias_moved_by_hand", "alias_was_removed")
    assert said.fields["before"].fields == {"version": 2}
    assert registry.live_on(attribute, datetime.now(UTC)) is None
    assert registry.champion(attribute) is None
    assert registry.reconcile(attribute) == []


def test_a_move_by_hand_is_noted_by_the_store_that_owns_the_model_alone(registry, attribute):
    moved(registry, registered(registry, attribute, 2)[:1])
    owner = Owner("ours", "/ours")
    registry.own(attribute, owner)
    by_hand(registry, attribute, 2)

    def noted(store: Owner | None) -> list[str]:
        said = registry.reconcile_all(owner=store)
        return [one.code for one in said if one.fields.get("attribute") == attribute]

    assert noted(Owner("other", "/other")) == []
    assert noted(None) == []
    assert noted(owner) == ["alias_moved_by_hand"]


@pytest.mark.parametrize(("path", "gone"), [((1, 2, 1), {2}), ((1, 2), set()), ((2, None), {2})])
def test_what_somebody_took_back_in_mlflow_is_withdrawn(registry, attribute, path, gone):
    versions = registered(registry, attribute, 2)
    moved(registry, [versions[number - 1] for number in path[:-1]])
    if path[-1] is None:
        Mlflow(registry.uri).delete_alias(encoded(attribute), CHAMPION)
    else:
        by_hand(registry, attribute, path[-1])
    registry.reconcile(attribute)
    assert registry.withdrawn(attribute) == gone


def test_a_model_that_another_store_was_faster_to_make_is_left_alone(registry, attribute):
    name = encoded(attribute)
    registry._create_model(attribute, name, Owner("theirs", "/theirs"))
    with refused(RegistryError, "model_of_another_store", address="/theirs"):
        registry._create_model(attribute, name, Owner("ours", "/ours"))


def test_a_champion_that_is_not_ours_is_told_and_not_used(registry, attribute):
    moved(registry, registered(registry, attribute, 1))
    mlflow = Mlflow(registry.uri)
    run = mlflow.start("urlr", "theirs", {})
    mlflow.end(run.run_id)
    mlflow.create_version(encoded(attribute), f"{run.files}/model", run.run_id, {}, "theirs")
    by_hand(registry, attribute, 2)
    for _ in range(2):
        said = registry.reconcile(attribute)[-1]
        assert (said.code, said.fields["version"]) == ("champion_not_ours", 2)
    assert attribute not in registry.champions()
    with refused(NotRegistered, "no_such_version", number=2):
        registry.champion(attribute)
    assert [version.number for version in registry.versions(attribute)] == [1]


def test_a_record_that_cannot_be_read_is_told(registry, attribute):
    moved(registry, registered(registry, attribute, 1))
    Mlflow(registry.uri).tag_model(encoded(attribute), (f"{RECORD}x", "changed by hand"))
    [said] = registry.reconcile(attribute)
    assert (said.code, said.fields["record"]) == ("unreadable_move", f"{RECORD}x")
    assert len(registry.history(attribute)) == 1


def test_two_runs_at_once_leave_one_champion_that_the_records_name(registry, attribute):
    registered(registry, attribute, 3)
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, pickle.dumps((registry, attribute, run)).hex()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        for run in ("a", "b")
    ]
    for one in runs:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in runs:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in runs:
        _, said = one.communicate(timeout=120)
        assert (one.returncode, said) == (0, "")
    registry.reconcile(attribute)
    history = registry.history(attribute)
    assert not any(move.pending for move in history)
    assert {move.run for move in history} >= {"a", "b"}
    champion = registry.champion(attribute)
    assert champion is not None
    assert history[-1].to == champion.number
    assert registry.reconcile(attribute) == []


def test_rivals_are_the_champions_of_the_last_nights_and_come_by_one_call(
    registry, attribute, monkeypatch
):
    versions = registered(registry, attribute, 4)
    moved(registry, versions, date(2026, 11, 1))
    today = date(2026, 11, 10)

    def rivals(nights: int) -> list[tuple[int, int]]:
        found = registry.rivals(attribute, nights=nights, today=today)
        return [(version.number, ago) for version, ago in found]

    asked = []
    found = Mlflow.versions
    monkeypatch.setattr(
        Mlflow, "versions", lambda self, wanted: asked.append(wanted) or found(self, wanted)
    )
    monkeypatch.setattr(Mlflow, "version", lambda *_: pytest.fail("asked for one by one"))
    assert rivals(30) == [(4, 0), (3, 6), (2, 7), (1, 8)]
    assert len(asked) == 1, "however many there are"
    assert rivals(7) == [(4, 0), (3, 6), (2, 7)]
    assert rivals(0) == [(4, 0)]
    assert registry.rivals("nobody/knows", nights=3, today=today) == []


def test_a_moment_needs_a_time_zone(registry, attribute):
    with refused(ArgumentError, "moment_without_zone"):
        registry.live_on(attribute, datetime(2026, 11, 15))


def made(before: int | None, to: int | None, second: int, **more: object) -> Move:
    moment = datetime(2026, 11, 15, 3, 0, second, tzinfo=UTC)
    given = {"done": moment, "token": f"t{second}"} | more
    return Move("a", before, to, moment, "r", NIGHT, "why", **given)  # type: ignore[arg-type]


def test_moves_are_read_back_from_their_tags():
    moves = [
        made(None, 1, 1),
        made(1, 2, 2, done=None, dropped="lost"),
        made(1, 3, 3, forced=True, done=None),
        made(3, None, 4, rollback=True),
    ]
    tags = dict(move.record() for move in moves)
    tags |= dict(move.end() for move in moves if not move.pending)
    assert moves_in("a", dict(reversed(tags.items()))) == moves


def test_a_move_comes_after_all_others_also_where_the_clock_is_behind():
    ahead = made(None, 1, 1, done=datetime.now(UTC) + timedelta(days=1))
    later = alias_history.new_move([ahead], "a", 1, 2, run="r", night=None, why="?")
    assert ahead.done is not None
    assert later.when > ahead.done


def test_a_record_fits_into_a_tag_however_long_the_reason():
    long = Move("a", 1, 2, datetime.now(UTC), "r" * 9999, NIGHT, "\x00" * 9999, token="t")
    key, value = long.record()
    assert len(key) <= 250
    assert len(value) <= 5000
    assert json.loads(value)["to"] == 2


@pytest.mark.parametrize(
    ("path", "line", "gone"),
    [
        ([(None, 1), (1, 2), (2, 3)], [1, 2, 3], set()),
        ([(None, 1), (1, 2), (2, 1, "back")], [1], {2}),
        ([(None, 1), (1, 2), (2, 1, "back"), (1, 3)], [1, 3], {2}),
        ([(None, 1), (1, 2), (2, 1, "back"), (1, 2)], [1, 2], set()),
        ([(None, 1), (1, None), (None, 2)], [1, 2], set()),
        ([], [], set()),
    ],
)
def test_the_line_of_champions_leaves_out_what_was_taken_back(path, line, gone):
    moves = [
        made(step[0], step[1], second, rollback=len(step) > 2) for second, step in enumerate(path)
    ]
    assert alias_history.line(moves) == line
    assert alias_history.withdrawn(moves) == gone
