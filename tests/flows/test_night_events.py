"""What Prefect is told of nights, asked of a real server; the records are of nights nobody ran."""

import json
import urllib.request
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from pipeline import Place, PrefectApi, answered
from recorded_nights import backfill, judged, kept, recorded, run_of
from waiting import until

from tasks.coordinated import Coordinated, words_of
from tasks.evaluate import Estimate
from tasks.names import encoded

pytestmark = pytest.mark.full

BETTER, WORSE = Estimate(0.2, 0.15, 0.25, 0.02), Estimate(-0.2, -0.25, -0.15, 0.02)
HOSTILE = "<script>{{7*7}}" + "é" * 20
ASIDE = Coordinated(1, 5, 320, 0, "drop")
NIGHTS = {
    "first": recorded(1, judged("good", BETTER, outcome="published")),
    "dry": recorded(2, judged("good", WORSE), dry=True),
    "some": recorded(3, judged("good", BETTER, outcome="published"), only=("good",)),
    "failed": recorded(4, state="Failed", reason="0 of 2 attributes done\n\x1b[31m"),
    "many held": recorded(5, *(judged(f"a{k:03d}", BETTER) for k in range(60))),
    "worse": recorded(6, judged(HOSTILE, WORSE, outcome="published"), judged("good", BETTER)),
    "many worse": recorded(
        12, *(judged(f"a{k:03d}", WORSE, outcome="published") for k in range(60))
    ),
    "together": recorded(
        13,
        replace(judged("faces", BETTER, outcome="published"), coordinated=ASIDE),
        replace(judged("quiet", BETTER, outcome="unchanged"), coordinated=ASIDE),
    ),
    "old": backfill(7, of=2),
    "partial": recorded(8, state="Partial"),
    "missed": backfill(10, of=9),
    "last": recorded(11),
}
EMIT = """\
from flows.night_events import emit_night_events
from tasks.runs import read_night
from tasks.store import Store

store = Store.at("STORE")
for run in RUNS:
    emit_night_events(read_night(store, run), store=store)
"""


@pytest.fixture(scope="module")
def told(new_place, prefect_api: PrefectApi) -> dict[str, list[dict[str, Any]]]:
    """Events of each night, all nights told by one program."""
    place: Place = new_place()
    for night in NIGHTS.values():
        kept(place.store, night)
    runs = [night.run for night in NIGHTS.values()]
    place.python(EMIT.replace("STORE", place.store.url).replace("RUNS", repr(runs)))

    def events() -> list[dict[str, Any]]:
        wanted = {"event": {"prefix": ["urlr."]}, "order": "ASC"}
        page: Any = answered(prefect_api.address, "events", filter=wanted, limit=50)
        every = list(page["events"])
        while page["next_page"]:
            with urllib.request.urlopen(page["next_page"], timeout=30) as answer:
                page = json.load(answer)
            every += page["events"]
        return [one for one in every if one["payload"]["store"] == place.store.url]

    last = NIGHTS["last"].run
    until(lambda: any(one["payload"]["run"] == last for one in events()), "the last is told of")
    every = events()
    return {
        name: [one for one in every if one["payload"]["run"] == night.run]
        for name, night in NIGHTS.items()
    }


def kinds(events: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(one["event"] for one in events))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("first", {"urlr.night.published": 1}),
        ("dry", {}),
        ("some", {}),
        ("failed", {"urlr.night.failed": 1}),
        ("partial", {"urlr.night.published": 1}),
        ("old", {}),
        ("missed", {}),
        ("last", {"urlr.night.published": 1}),
    ],
)
def test_a_whole_night_is_told_once_and_what_is_none_is_not(told, name, expected):
    assert kinds(told[name]) == expected


def test_at_most_fifty_held_models_are_told_of_and_all_are_counted(told):
    assert kinds(told["many held"]) == {
        "urlr.night.published": 1,
        "urlr.gate.held": 50,
        "urlr.night.attention": 1,
    }
    [one] = [each for each in told["many held"] if each["event"] == "urlr.night.attention"]
    assert one["payload"]["held"] == 60
    assert one["payload"]["held_names"].endswith("a009 and 50 more")


def test_at_most_fifty_models_that_got_worse_are_told_of_and_all_are_counted(told):
    assert kinds(told["many worse"]) == {
        "urlr.night.published": 1,
        "urlr.tau.regressed": 50,
        "urlr.night.attention": 1,
    }
    [one] = [each for each in told["many worse"] if each["event"] == "urlr.night.attention"]
    assert (one["payload"]["held"], one["payload"]["regressed"]) == (0, 60)


def test_a_model_that_got_worse_is_told_of_also_when_it_was_published(told):
    assert kinds(told["worse"]) == {
        "urlr.night.published": 1,
        "urlr.gate.held": 1,
        "urlr.tau.regressed": 1,
        "urlr.night.attention": 1,
    }
    [one] = [each for each in told["worse"] if each["event"] == "urlr.tau.regressed"]
    assert one["resource"]["prefect.resource.id"] == f"urlr.attribute.{encoded(HOSTILE)}"
    assert one["payload"]["difference"] == -0.2
    [night] = [each for each in one["related"] if each["prefect.resource.role"] == "night"]
    assert night["prefect.resource.id"] == f"urlr.night.{run_of(6)}"


def test_people_who_act_together_are_told_of_where_the_model_is_new(told):
    assert kinds(told["together"]) == {
        "urlr.night.published": 1,
        "urlr.people.coordinated": 1,
        "urlr.night.attention": 1,
    }
    [one] = [each for each in told["together"] if each["event"] == "urlr.people.coordinated"]
    assert one["resource"]["prefect.resource.id"] == "urlr.attribute.faces"
    figures = {"groups": 1, "people": 5, "votes": 320, "counting": 0, "coordination": "drop"}
    assert {name: one["payload"][name] for name in figures} == figures
    assert one["payload"]["words"] == words_of(ASIDE)
    [night] = [each for each in told["together"] if each["event"] == "urlr.night.attention"]
    assert (night["payload"]["coordinated"], night["payload"]["held"]) == (1, 0)
    assert night["payload"]["coordinated_names"] == "faces"


def test_texts_from_outside_are_printable_and_short(told):
    every = [one for events in told.values() for one in events]
    texts = [text for one in every for text in one["payload"].values() if isinstance(text, str)]
    assert len(texts) > 100
    assert all(text.isprintable() and len(text) <= 1000 for text in texts)
