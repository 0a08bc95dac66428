"""Publishing where somebody else decided first: by hand, by a setting, or in a later night."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from refusals import refused
from registries import MLFLOW_WARNS, NIGHT, moved, registered
from stored_votes import order_of, small, stored

from tasks.messages import message
from tasks.publish import Desk, PublishError, publish
from tasks.registry import Registry, RegistryError, Version
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
