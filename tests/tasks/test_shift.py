"""Sudden changes of what comes in, told by small records."""

import pandas as pd
import pytest
from refusals import refused

from tasks.evaluate import OrderTau
from tasks.gate import GateSettings
from tasks.shift import FEWEST_ITEMS, Busiest, Shift, busiest_of, sudden_shift
from urlr.errors import ArgumentError
from urlr.votes.table import vote_table

USUAL = Shift(1_000, 1_000, Busiest("ann", 0.2), 0.2, OrderTau(0.9, 30))


def shift(**other: object) -> Shift:
    return Shift(**{name: getattr(USUAL, name) for name in USUAL.__slots__} | other)


def test_a_usual_night_is_no_shift():
    assert sudden_shift(USUAL, GateSettings()) is None


@pytest.mark.parametrize(
    ("changed", "code", "figures"),
    [
        ({"votes": 100}, "votes_lost", {"votes": 100, "before": 1_000, "share": 0.9}),
        ({"votes": 499}, "votes_lost", {"votes": 499, "before": 1_000, "share": 0.501}),
        (
            {"busiest": Busiest("eve", 0.6)},
            "votes_by_one_person",
            {"share": 0.6, "name": "eve", "before": 0.2},
        ),
        ({"alike": OrderTau(-0.8, 30)}, "order_turned_round", {"items": 30, "tau": -0.8}),
        ({"known": 30, "met": 5}, "ids_changed", {"known": 30, "met": 5}),
    ],
)
def test_a_sudden_change_is_told_with_its_likely_cause(changed, code, figures):
    cause = sudden_shift(shift(**changed), GateSettings())
    assert (cause.code, cause.fields) == (code, figures)
    assert cause.endswith("?")


@pytest.mark.parametrize(
    "changed",
    [
        {"votes": 500},
        {"votes": 50, "votes_before": None},
        {"votes": 5_000},
        {"busiest": Busiest("eve", 0.5)},
        {"busiest": Busiest("ann", 0.7), "busiest_before": 0.6},
        {"busiest": Busiest("eve", 0.9), "busiest_before": None},
        {"busiest": None, "busiest_before": 0.2},
        {"alike": OrderTau(-0.8, FEWEST_ITEMS - 1)},
        {"alike": OrderTau(None, 30)},
        {"alike": OrderTau(0.0, 30)},
        {"alike": None},
        {"known": 30, "met": 6},
        {"known": FEWEST_ITEMS - 1, "met": 0},
    ],
)
def test_what_is_allowed_or_not_known_or_was_so_before_is_none(changed):
    assert sudden_shift(shift(**changed), GateSettings()) is None


def test_all_causes_are_told():
    busiest = Busiest("eve", 0.6)
    changed = shift(votes=10, busiest=busiest, alike=OrderTau(-1.0, 30))
    causes = sudden_shift(changed, GateSettings())
    two, last = causes.fields["first"], causes.fields["second"]
    first, second = two.fields["first"], two.fields["second"]
    found = [cause.code for cause in (first, second, last)]
    assert found == ["votes_lost", "votes_by_one_person", "order_turned_round"]
    assert all(cause in causes for cause in (first, second, last))


def test_the_settings_can_switch_it_off():
    changed = shift(votes=1, busiest=Busiest("eve", 1.0), alike=OrderTau(-1.0, 30))
    off = GateSettings(most_lost=1.0, most_by_one=1.0, least_alike=-1.0)
    assert sudden_shift(changed, off) is None
    assert sudden_shift(changed, GateSettings()) is not None


@pytest.mark.parametrize("name", ["most_lost", "most_by_one"])
def test_shares_beyond_all_are_refused(name):
    with refused(ArgumentError, "not_a_share", name=name, value=1.5):
        GateSettings(**{name: 1.5})


def test_a_tau_beyond_one_is_refused():
    with refused(ArgumentError, "not_a_tau", name="least_alike", value=-2):
        GateSettings(least_alike=-2)


def test_the_busiest_is_found_among_the_votes_that_count():
    votes = pd.DataFrame(
        {
            "winner": ["a", "a", "b", "a", "a"],
            "loser": ["b", "b", "a", "b", "a"],
            "annotator": ["x", "y", "y", None, "x"],
        }
    )
    assert busiest_of(vote_table(votes)) == Busiest("y", 0.5)
    assert busiest_of(vote_table(votes.drop(columns="annotator"))) is None
