"""Votes that change in one night as no crowd does: held, with the cause, until somebody looks."""

from collections.abc import Callable

import pandas as pd
import pytest
from cases import passed
from commands import Done
from judge import judge_again, judge_entry, judge_night
from registries import MLFLOW_WARNS
from sites import Site, site_at
from stored_votes import simulated

from tasks.results import Night
from tasks.store import Store
from tasks.write import table_bytes

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

MADE = simulated(n_votes=600, n_items=20)
VOTES: pd.DataFrame = MADE.votes.astype({"outcome": str, "annotator": str})
STEADY = "steady"


def by_one(votes: pd.DataFrame) -> pd.DataFrame:
    """One person votes more than all others together, and at random."""
    n = int(len(votes) * 1.5)
    more = votes.sample(n, replace=True, random_state=0).assign(annotator="busy")
    more["outcome"] = ["a", "b"] * (n // 2)
    return pd.concat([votes, more.drop(columns="vote_id", errors="ignore")])


CASES = {
    "90 % of the votes are gone": (
        lambda votes: votes.head(60),
        r"held: sudden shift: 60 votes where the champion has \S+ \(-90%\): was the export cut",
    ),
    "one annotator casts 60 %": (
        by_one,
        r"held: sudden shift: 60% of the votes are by busy, and nobody cast more than",
    ),
    "the labels are inverted": (
        lambda votes: votes.assign(
            outcome=votes["outcome"].replace({"a": "b", "b": "a"}),
        ),
        r"held: sudden shift: 20 items stand the other way round .*: were the labels inverted\?",
    ),
}


@pytest.fixture(scope="module")
def nights(
    tmp_path_factory: pytest.TempPathFactory, run_here: Callable[[Site], Site]
) -> tuple[Done, Night, Night, Site]:
    place = tmp_path_factory.mktemp("shifts")
    site = run_here(site_at(place, Store.at(place / "store"), None))

    def deliver(*, shifted: bool) -> None:
        for name, (change, _) in CASES.items():
            votes = change(VOTES) if shifted else VOTES
            site.put(f"votes/{name}/1.csv", table_bytes(votes, "1.csv"))

    site.put("features/all.csv", table_bytes(MADE.features.reset_index(), "all.csv"))
    site.put(f"votes/{STEADY}/1.csv", table_bytes(VOTES, "1.csv"))
    deliver(shifted=False)
    done = site.night()
    assert done.code == 0, done.out
    clean = site.results()
    deliver(shifted=True)
    done = site.night()
    night = judge_night(site, done, clean, healthy=[STEADY])
    deliver(shifted=False)
    # The page tells what changed since the night before.
    again = judge_again(site, site.night(), clean, but="page.json")
    return done, night, again, site


@pytest.mark.parametrize("case", CASES)
def test_a_sudden_shift_is_held_with_its_cause(nights, case):
    done, night, again, site = nights
    seen = judge_entry(night, done, case, outcome="held", said=CASES[case][1])
    assert night.entries[case].live == 1
    assert again.entries[case].verdict == "published"
    assert site.registry.champion(case).key == again.entries[case].key
    passed("the votes shift", case, seen)


def test_what_did_not_shift_is_left_alone(nights):
    assert nights[1].entries[STEADY].outcome == "unchanged"
