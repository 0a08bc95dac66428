"""Publishing where somebody else moved the champion meanwhile."""

from dataclasses import replace

import pytest
from registries import MLFLOW_WARNS, NIGHT, moved, registered
from stored_votes import order_of, small

from tasks.publish import Desk, PublishError, publish
from tasks.results import Rival
from tasks.store import Store
from tasks.train import train

pytestmark = MLFLOW_WARNS


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
    with pytest.raises(PublishError, match="changed while it was worked on; run it again"):
        publish(trained, order, desk)
    assert registry.champion(attribute).number == first.number
    assert [one.number for one in registry.versions(attribute)] == [1, 2]


def with_name(order, attribute):
    return replace(order, inputs=replace(order.inputs, attribute=attribute))
