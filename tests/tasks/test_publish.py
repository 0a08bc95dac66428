"""Publishing where somebody else decided first: by hand, by a setting, or in a later night."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from refusals import refused
from registries import MLFLOW_WARNS, NIGHT, moved, registered
from sentences import like
from stored_votes import QUICK, order_of, small, stored

from tasks.gate import GateSettings
from tasks.messages import message
from tasks.names import encoded
from tasks.other_settings import other_settings
from tasks.publish import Desk, PublishError, publish
from tasks.registry import Owner, Registry, RegistryError, Version
from tasks.registry.alias_moves import CHAMPION
from tasks.registry.mlflow_client import Mlflow
from tasks.results import Order, Rival, Trained
from tasks.store import Store
from tasks.train import train
from urlr.sentence import made

pytestmark = MLFLOW_WARNS


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> tuple[Order, Trained]:
    """Results to be held against version 1, whose judge is no longer in the store."""
    store = Store.at(tmp_path_factory.mktemp("store"))
    stored(store)
    order = order_of(store, rivals=(Rival(1, 0, True, "runs/elsewhere"),))
    return order, train(order)


@pytest.fixture
def challenge(work, registry, attribute) -> tuple[Order, Trained]:
    """The same of an attribute of the test's own, which has such a champion."""
    order, trained = work
    moved(registry, registered(registry, attribute, 1))
    return (
        with_name(order, attribute),
        replace(trained, result=replace(trained.result, attribute=attribute)),
    )


def with_name(order: Order, attribute: str) -> Order:
    return replace(order, inputs=replace(order.inputs, attribute=attribute))


def live(registry: Registry, attribute: str) -> tuple[int, int]:
    """The champion, and how many moves there were."""
    champion = registry.champion(attribute)
    assert champion is not None
    return champion.number, len(registry.history(attribute))


@pytest.mark.full
def test_a_rollback_while_a_night_runs_stands_and_the_attribute_is_to_be_run_again(
    registry, verifier, attribute, tmp_path
):
    store = Store.at(tmp_path)
    small(store)
    first, second = registered(registry, attribute, 2)
    moved(registry, [first, second])
    order = order_of(store, rivals=(Rival(second.number, 0, True, "runs/elsewhere"),))
    trained = train(order)
    registry.rollback(attribute, run="by hand", why="complaints")
    order = with_name(order, attribute)
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None, force=True)
    with refused(PublishError, "champion_changed", attribute=attribute):
        publish(trained, order, desk)
    assert registry.champion(attribute).number == first.number
    assert [one.number for one in registry.versions(attribute)] == [1, 2]


def test_a_champion_of_a_later_night_is_replaced_by_force_alone(
    challenge, registry, verifier, attribute
):
    order, trained = challenge
    night = NIGHT - timedelta(days=1)
    moment = datetime(night.year, night.month, night.day, 23, tzinfo=UTC)
    order = replace(order, as_of=moment)
    desk = Desk(registry, verifier, "past", night, lambda: None)
    held = publish(trained, order, desk)
    assert (held.outcome, held.reason.code) == ("held", "newer_champion")
    assert held.reason.fields == {"version": 1, "night": NIGHT}
    assert live(registry, attribute) == (1, 1)
    forced = publish(trained, order, replace(desk, force=True))
    said = message("forced", finding=held.reason)
    assert (forced.outcome, forced.reason) == ("published", said)
    assert live(registry, attribute) == (2, 2)
    assert registry.history(attribute)[-1].forced


def test_a_version_by_other_settings_names_them(registry, verifier, attribute, tmp_path):
    store = Store.at(tmp_path)
    small(store)
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None, force=True)
    first = train(order_of(store))
    named = replace(first, result=replace(first.result, attribute=attribute))
    assert publish(named, with_name(order_of(store), attribute), desk).version == 1
    order = order_of(
        store,
        run="20261102T020000Z-0a1b2c",
        fit=replace(QUICK, seed=1),
        gate=GateSettings(confidence=0.95),
        rivals=(Rival(1, 0, True, first.result.place),),
    )
    second = train(order)
    named = replace(second, result=replace(second.result, attribute=attribute))
    entry = publish(named, with_name(order, attribute), desk)
    changes = [
        message("changed_setting", name="fit.seed", before="0", after="1"),
        message("changed_setting", name="gate.confidence", before="0.99", after="0.95"),
    ]
    for text in (entry.reason, registry.version(attribute, 2).description):
        assert text.endswith(message("with_other_settings", finding="", changes=changes))
    assert other_settings(order, replace(second.result, chosen={})) == [
        message("settings_not_recorded")
    ]
    assert other_settings(order, first.result) == []


def test_a_frozen_attribute_is_held_also_by_force(challenge, registry, verifier, attribute):
    order, trained = challenge
    order = replace(order, frozen=True)
    for force in (False, True):
        desk = Desk(registry, verifier, "run", NIGHT, lambda: None, force=force)
        entry = publish(trained, order, desk)
        assert (entry.outcome, entry.frozen, entry.version) == ("held", True, 2)
        assert entry.reason.code == "frozen_by_settings"
        assert "URLR_FROZEN" in entry.reason
        assert live(registry, attribute) == (1, 1)


def test_a_champion_without_judge_is_replaced_by_force_alone(
    challenge, registry, verifier, attribute
):
    order, trained = challenge
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None)
    held = publish(trained, order, desk)
    assert (held.outcome, held.rival_lost) == ("held", True)
    gone = order.store.address("runs/elsewhere/judge.npz")
    assert held.reason.code == "judge_lost"
    assert held.reason.fields == {"version": 1, "path": gone}
    other = replace(trained, lost_file="runs/elsewhere/result.json")
    assert publish(other, order, desk).reason.fields["path"] == order.store.address(other.lost_file)
    assert "--force" in held.reason
    assert live(registry, attribute) == (1, 1)
    forced = publish(trained, order, replace(desk, force=True))
    assert (forced.outcome, forced.rival_lost, forced.replaced) == ("published", False, 1)
    assert live(registry, attribute) == (2, 2)
    assert registry.history(attribute)[-1].forced


def test_results_after_a_champion_that_is_lost_are_published_by_force_alone(
    work, registry, verifier, attribute
):
    order, trained = work
    order = replace(with_name(order, attribute), rivals=(), champion_lost=True)
    trained = replace(trained, result=replace(trained.result, attribute=attribute))
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None)
    held = publish(trained, order, desk)
    assert (held.outcome, held.rival_lost, held.replaced) == ("held", True, None)
    assert held.reason.code == "champion_lost"
    assert registry.champion(attribute) is None
    forced = publish(trained, order, replace(desk, force=True))
    assert (forced.outcome, forced.rival_lost, forced.version) == ("published", False, 1)
    assert live(registry, attribute) == (1, 1)


def test_a_model_that_was_adopted_by_another_store_meanwhile_is_left_alone(
    challenge, registry, verifier, attribute
):
    order, trained = challenge
    registry.own(attribute, Owner("theirs", "/theirs"))
    ours = Owner("ours", order.store.url)
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None, force=True, owner=ours)
    for tried in (desk, replace(desk, dry=True)):
        with refused(RegistryError, "model_of_another_store", address="/theirs"):
            publish(trained, order, tried)
    assert live(registry, attribute) == (1, 1)
    assert [one.number for one in registry.versions(attribute)] == [1]


@pytest.mark.parametrize("by_hand", [False, True])
def test_what_was_rolled_back_is_published_again_by_force_alone(
    challenge, registry, verifier, attribute, by_hand
):
    order, trained = challenge
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None)
    publish(trained, order, replace(desk, force=True))
    if by_hand:
        Mlflow(registry.uri).set_alias(encoded(attribute), CHAMPION, 1)
        registry.reconcile(attribute)
    else:
        registry.rollback(attribute, run="me", why="complaints")
    held = publish(trained, order, desk)
    assert (held.outcome, held.version, held.rival_lost) == ("held", 2, False)
    assert (held.reason.code, held.reason.fields["version"]) == ("version_taken_back", 2)
    assert live(registry, attribute) == (1, 3)
    forced = publish(trained, order, replace(desk, force=True))
    assert (forced.outcome, forced.version) == ("published", 2)
    assert live(registry, attribute) == (2, 4)


def test_nothing_replaces_a_champion_that_was_removed_by_hand_but_by_force(
    challenge, registry, verifier, attribute
):
    """Also where the votes are new, which would pass as a first model."""
    order, trained = challenge
    order = replace(order, rivals=(), champion_lost=True)
    Mlflow(registry.uri).delete_alias(encoded(attribute), CHAMPION)
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None)
    for noted in (False, True):
        held = publish(trained, order, desk)
        assert (held.outcome, held.rival_lost, held.live) == ("held", True, None), noted
        assert (held.reason.code, held.reason.fields["version"]) == ("champion_removed", 1)
        assert registry.champion(attribute) is None
        registry.reconcile(attribute)
    about = registry.version(attribute, 2).description
    assert like("tasks", "held_against_version", version=1).fullmatch(about)
    forced = publish(trained, order, replace(desk, force=True))
    assert (forced.outcome, forced.version) == ("published", 2)


class Refusing:
    """A verifier to whom no version is right."""

    def verify(self, version: Version, *, exact: bool = True) -> None:
        raise RegistryError(made("It differs.", "differs", {"version": version.number}))


def test_what_cannot_be_verified_does_not_become_champion(challenge, registry, attribute):
    order, trained = challenge
    desk = Desk(registry, Refusing(), "run", NIGHT, lambda: None, force=True)
    with refused(RegistryError, "differs", version=2):
        publish(trained, order, desk)
    assert live(registry, attribute) == (1, 1)
