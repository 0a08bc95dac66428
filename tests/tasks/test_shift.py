"""Sudden changes of what comes in, told by small records."""

import pandas as pd
import pytest

from tasks.evaluate import OrderTau
from tasks.gate import GateSettings
from tasks.shift import FEWEST_ITEMS, Busiest, Shift, busiest_of, sudden_shift
from urlr.votes import vote_table

USUAL = Shift(1_000, 1_000, Busiest("ann", 0.2), 0.2, OrderTau(0.9, 30))


def shift(**other: object) -> Shift:
    return Shift(**{name: getattr(USUAL, name) for name in USUAL.__slots__} | other)


def test_a_usual_night_is_no_shift():
    assert sudden_shift(USUAL, GateSettings()) == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"votes": 100}, "100 votes where the champion has 1,000 (-90%): was the export cut"),
        ({"votes": 499}, "499 votes where the champion has 1,000 (-50%)"),
        ({"busiest": Busiest("eve", 0.6)}, "60% of the votes are by eve, and nobody cast more"),
        ({"alike": OrderTau(-0.8, 30)}, "30 items stand the other way round"),
    ],
)
def test_a_sudden_change_is_told_with_its_likely_cause(changed, said):
    text = sudden_shift(shift(**changed), GateSettings())
    assert text.startswith(said)
    assert text.endswith("?")


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
    ],
)
def test_what_is_allowed_or_not_known_or_was_so_before_is_none(changed):
    assert sudden_shift(shift(**changed), GateSettings()) == ""


def test_all_causes_are_told():
    text = sudden_shift(shift(votes=10, alike=OrderTau(-1.0, 30)), GateSettings())
    assert "cut short? and 30 items" in text


def test_the_settings_can_switch_it_off():
    changed = shift(votes=1, busiest=Busiest("eve", 1.0), alike=OrderTau(-1.0, 30))
    off = GateSettings(most_lost=1.0, most_by_one=1.0, least_alike=-1.0)
    assert sudden_shift(changed, off) == ""
    assert sudden_shift(changed, GateSettings()) != ""


@pytest.mark.parametrize("name", ["most_lost", "most_by_one"])
def test_shares_beyond_all_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} is 1.5; it is a share"):
        GateSettings(**{name: 1.5})


def test_a_tau_beyond_one_is_refused():
    with pytest.raises(ValueError, match="least_alike is -2"):
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
