"""Workers that die, hang, freeze, outgrow their memory or stumble, each over one attribute.

One whole night in which all of that happens, with real workers that really die, and the clean
attributes beside; a clean night and the night after are apart from Prefect.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bad_dumps import CSV, features, key_of
from cases import passed
from commands import Done, Fault, runs_on
from judge import Bytes, judge_again, judge_entry, judge_night
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from sites import Site, site_at

from tasks.results import Night
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

HEALTHY = ("healthy-one", "healthy-three", "healthy-two")
DEADLINE = 15
"""Seconds an attribute may take; one takes 2 when nothing else runs."""


@dataclass(frozen=True)
class Case:
    """What happens while an attribute is fitted."""

    do: str
    outcome: str
    said: str
    tried: int
    """How often: a worker that dies is tried once more, an error or a hang is not."""
    times: int | None = None


CASES = {
    "a worker is killed once": Case("kill", "published", "first model", 2, times=1),
    "a worker is always killed": Case(
        "kill", "failed", r"its worker died \(twice\).*; .*raise URLR_WORKER_MEMORY", 2
    ),
    "a worker outgrows its memory": Case(
        "memory",
        "failed",
        r"its worker died \(twice\), out of memory: it held .* the limit is 1\.0 GiB a worker; "
        r"raise URLR_WORKER_MEMORY",
        2,
    ),
    "a worker hangs": Case(
        "hang", "failed", rf"did not end within {DEADLINE} seconds.*; .*allow more time", 1
    ),
    "a fit stumbles": Case(
        "raise", "failed", r"unexpected RuntimeError: planted: the matrix is.*singular; report", 1
    ),
}
AT_ODDS = "two-minds"
"""Two patterns of settings are for it, which make sense alone and not together."""
PATTERNS = {
    "two-*": {"method": "paper", "curved": True, "replicates": None},
    "*-minds": {"curved": False},
}
ATTRIBUTES = {case: case.replace(" ", "-") for case in CASES}


@dataclass(frozen=True)
class Nights:
    """What is over."""

    site: Site
    faults: dict[str, Fault]
    done: Done
    night: Night


@pytest.fixture(scope="module")
def nights(
    tmp_path_factory: pytest.TempPathFactory,
    prefect_api: PrefectApi,
    run_here: Callable[[Site], Site],
) -> Iterator[Nights]:
    place: Path = tmp_path_factory.mktemp("workers")
    sites = [
        site_at(
            place / what,
            Store.at(place / what / "store"),
            prefect_api,
            URLR_WORKERS="2",
            URLR_ATTRIBUTE_DEADLINE=str(DEADLINE),
            URLR_WORKER_MEMORY="1GiB",
        )
        for what in ("clean", "troubled")
    ]
    for site in sites:
        site.put("features/all.csv", features())
        for attribute in (*HEALTHY, AT_ODDS, *ATTRIBUTES.values()):
            site.put(key_of(attribute, "1.csv"), CSV)
    spotless, site = sites
    faults = {
        name: Fault(
            "tasks.train:_computed",
            case.do,
            place / "marks" / ATTRIBUTES[name],
            attribute=ATTRIBUTES[name],
            times=case.times,
        )
        for name, case in CASES.items()
    }
    whole = site.command
    try:
        done = run_here(spotless).night()
        assert done.code == 0, done.out
        clean: Bytes = spotless.results()
        settings = {"URLR_ATTRIBUTES": json.dumps(PATTERNS)}
        done = site.night(faults=tuple(faults.values()), **settings)
        unharmed = [ATTRIBUTES[name] for name, case in CASES.items() if case.outcome != "failed"]
        night = judge_night(site, done, clean, healthy=(*HEALTHY, *unharmed))
        judge_again(run_here(site), site.night(), clean)
        yield Nights(site, faults, done, night)
    finally:
        whole.close()


@pytest.mark.parametrize("name", CASES)
def test_a_worker_in_trouble_is_judged(nights, name):
    case, attribute = CASES[name], ATTRIBUTES[name]
    assert nights.faults[name].struck == (case.times or case.tried)
    assert nights.night.entries[attribute].attempts == case.tried
    seen = judge_entry(nights.night, nights.done, attribute, outcome=case.outcome, said=case.said)
    passed("workers in trouble", name, seen)


def test_settings_that_contradict_each_other_concern_one_attribute(nights):
    said = r"the settings of two-minds .*urlr\.toml"
    seen = judge_entry(nights.night, nights.done, AT_ODDS, outcome="failed", said=said)
    passed("operator slips", "settings of one attribute that contradict each other", seen)


def test_others_are_tried_once_and_all_that_died_are_counted(nights):
    assert {nights.night.entries[name].attempts for name in HEALTHY} == {1}
    assert nights.night.workers_lost == 5


def test_the_command_to_try_again_names_who_failed(nights):
    failed = [ATTRIBUTES[name] for name, case in CASES.items() if case.outcome == "failed"]
    said = nights.done.out
    assert "Once mended: urlr nightly" in said
    [line] = [line for line in said.splitlines() if line.startswith("Once mended")]
    assert all(name in line for name in (AT_ODDS, *failed))


def test_prefect_shows_how_every_attribute_ended(nights):
    """No task run is left running, and each is in the state that the record tells."""
    flows = [
        one
        for one in runs_on(nights.site.prefect.address, nights.site.store.url)
        if "task_key" not in one and one["state_name"] == "Partial"
    ]
    assert len(flows) == 1
    tasks = nights.site.prefect.task_states(flows[0])
    assert dict(tasks) == {
        name: "Failed" if one.outcome == "failed" else "Published"
        for name, one in nights.night.entries.items()
        if one.attempts
    }
