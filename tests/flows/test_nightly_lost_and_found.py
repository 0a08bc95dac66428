"""Nights on one attribute: no time, a late truth, a judge lost and put back, a dump cut off."""

from dataclasses import dataclass, field

import pandas as pd
import pytest
from pipeline import Place, Ran
from registries import MLFLOW_WARNS
from small_stores import PLAIN, write_small_store

from flows.messages import message
from tasks.messages import message as of_tasks
from tasks.read import table_of
from tasks.work import JUDGE
from tasks.write import table_bytes

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

DUMP = f"votes/{PLAIN}/2024-01.parquet"
CUT_OFF = f"votes/{PLAIN}/2024-02.parquet"
ONLY = ("--only", PLAIN)


@dataclass
class Story:
    place: Place
    nights: dict[str, Ran] = field(default_factory=dict)

    def add(self, name: str, **settings: str) -> None:
        self.nights[name] = self.place.night(*ONLY, **settings)


@pytest.fixture(scope="module")
def story(new_bench) -> Story:
    told = Story(new_bench(URLR_WORKERS="1", URLR_FIT__REPLICATES="0"))
    store = told.place.store
    write_small_store(store)
    told.add("no time", URLR_NIGHT_DEADLINE="0.001")
    told.add("first")
    scores = table_of(told.place.file(told.nights["first"].entry(PLAIN), "scores.parquet"), "s.pq")
    truth = scores[["item", "score"]]
    store.create(f"truth/{PLAIN}/scores.csv", table_bytes(truth, "scores.csv"))
    told.add("truth")
    judge = f"{told.nights['truth'].entry(PLAIN).place}/{JUDGE}"
    kept = store.read(judge)
    store.remove(judge)
    votes = table_of(store.read(DUMP), DUMP)
    more = pd.concat([votes, votes.tail(40).assign(vote_id=range(10_000, 10_040))])
    store.replace(DUMP, table_bytes(more, DUMP))
    told.add("judge lost")
    told.add("still lost")
    store.create(judge, kept)
    told.add("judge found")
    store.create(CUT_OFF, store.read(DUMP)[:-100])
    told.add("cut off")
    return told


def test_a_night_without_time_fails_and_says_so(story):
    ran = story.nights["no time"]
    assert (ran.code, ran.night.state) == (1, "Failed")
    assert message("night_took_too_long", seconds=0.001) in ran.night.notes
    assert story.place.registry.champion(PLAIN) is not None, "a later night had time"


def test_a_truth_that_comes_later_is_held_against(story):
    first, after = (story.nights[name].entry(PLAIN) for name in ("first", "truth"))
    assert first.truth is None
    assert after.truth == pytest.approx(1.0)
    assert after.computed


def test_a_challenger_of_a_champion_without_judge_is_held_until_it_is_put_back(story):
    lost, still, found = (
        story.nights[name].entry(PLAIN) for name in ("judge lost", "still lost", "judge found")
    )
    assert (lost.outcome, lost.computed, lost.rival_lost) == ("held", True, True)
    judge = f"{story.nights['truth'].entry(PLAIN).place}/{JUDGE}"
    gone = of_tasks("judge_lost", version=lost.live, path=story.place.store.address(judge))
    assert lost.reason == of_tasks("held", finding=gone)
    assert (still.outcome, still.computed, still.rival_lost) == ("held", False, True)
    assert (found.computed, found.rival_lost) == (False, False)
    assert found.difference is not None
    assert found.version == lost.version == still.version


def test_a_dump_that_cannot_be_read_fails_its_attribute_and_the_champion_serves_on(story):
    before, ran = story.nights["judge found"].entry(PLAIN), story.nights["cut off"]
    entry = ran.entry(PLAIN)
    assert (ran.code, ran.night.state, entry.outcome) == (1, "Failed", "failed")
    assert entry.reason == of_tasks("parquet_cut_off", path=story.place.store.address(CUT_OFF))
    registry = story.place.registry
    champion = registry.champion(PLAIN)
    assert champion.number == entry.live == before.live
    assert len(registry.fetch(champion).scores) == 12
