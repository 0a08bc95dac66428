"""Whom a challenger is held against."""

from dataclasses import replace
from datetime import timedelta

import pytest
from registries import MLFLOW_WARNS, NIGHT, moved, registered
from stored_votes import order_of, put, simulated

from tasks.publish import Desk, rivals
from tasks.store import Store

pytestmark = MLFLOW_WARNS


@pytest.mark.full
def test_what_was_rolled_back_is_no_rival(registry, verifier, attribute, tmp_path):
    store = Store.at(tmp_path)
    put(store, f"votes/{attribute}/1.csv", simulated(n_votes=20, n_items=4).votes)
    order = order_of(store, attribute=attribute)
    desk = Desk(registry, verifier, "run", NIGHT + timedelta(days=2), lambda: None)
    assert rivals(order, desk) == ()
    moved(registry, registered(registry, attribute, 2))
    assert [(one.version, one.champion) for one in rivals(order, desk)] == [(2, True), (1, False)]
    early = replace(order, gate=replace(order.gate, nights=0))
    assert [one.version for one in rivals(early, desk)] == [2]
    registry.rollback(attribute, run="by hand", why="complaints")
    assert [(one.version, one.champion) for one in rivals(order, desk)] == [(1, True)]


def test_a_judge_is_looked_for_where_its_results_were_made_again(
    registry, verifier, attribute, tmp_path
):
    """Votes came back as they once were, and the run that the version is from is gone."""
    store = Store.at(tmp_path)
    put(store, f"votes/{attribute}/1.csv", simulated(n_votes=20, n_items=4).votes)
    order = order_of(store, attribute=attribute, known={"key-1": "runs/anew"})
    moved(registry, registered(registry, attribute, 2))
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None)
    assert [one.place for one in rivals(order, desk)] == ["runs/anew", "results/key-0"]
