"""What cannot be shown or published tonight: what was decided and computed stands all the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import Done, Fault, command_in
from registries import MLFLOW_WARNS
from stored_votes import put, simulated

from tasks.metrics import TEXTFILE
from tasks.registry import Registry
from tasks.report.site import LATEST, METRICS, report_key
from tasks.results import Night
from tasks.runs import names_of, read_night
from tasks.store import Store

pytestmark = MLFLOW_WARNS

PAGELESS, UNPUBLISHED = "smiling", "calm"


@dataclass(frozen=True)
class Nights:
    """A night in which pages, report and a registration fail, the one after it, and two more."""

    store: Store
    registry: Registry
    done: tuple[Done, Done]
    nights: tuple[Night, Night]
    dashboards: bytes
    """What Prometheus reads, after the dry run."""
    dry: Night
    unpointed: Done
    """The end of a night that cannot move the pointer to its report."""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, prefect_address: str) -> Iterator[Nights]:
    place = tmp_path_factory.mktemp("shown")
    store = Store.at(place / "store")
    for seed, attribute in enumerate((PAGELESS, UNPUBLISHED)):
        put(store, f"votes/{attribute}/1.csv", simulated(seed=seed).votes)
    faults = (
        Fault("tasks.report.site:write_page", "raise", place / "page", attribute=PAGELESS),
        Fault("tasks.report.site:write_overview", "raise", place / "overview"),
        Fault(
            "tasks.registry.registry:Registry.register",
            "raise",
            place / "register",
            attribute=UNPUBLISHED,
        ),
    )
    command = command_in(place / "urlr", prefect_address, URLR_METRICS_DIR=str(place))
    try:
        first = command("nightly", "--store", store.url, faults=faults)
        pointed = store.list("report")
        assert pointed == [], "nothing may lead to a report that is not there"
        second = command("nightly", "--store", store.url)
        found = [read_night(store, run) for run in reversed(names_of(store))]
        nights = tuple(one for one in found if one is not None)
        assert len(nights) == 2, (first, second)
        dry = command("nightly", "--store", store.url, "--dry-run")
        last = read_night(store, names_of(store)[0])
        assert last is not None, dry
        dashboards = (place / TEXTFILE).read_bytes()
        pointer = Path(store.url, LATEST)
        pointer.rename(place / "pointer")
        pointer.mkdir()
        unpointed = command("nightly", "--store", store.url)
        pointer.rmdir()
        (place / "pointer").rename(pointer)
        registry = Registry.at(command.work / "urlr-registry")
        yield Nights(store, registry, (first, second), nights, dashboards, last, unpointed)
    finally:
        command.close()


def test_an_attribute_without_a_page_is_published(two):
    entry = two.nights[0].entries[PAGELESS]
    assert (entry.outcome, entry.version, entry.page) == ("published", 1, None)
    [note] = [note for note in two.nights[0].notes if PAGELESS in note]
    assert note.startswith("the page of smiling could not be made (RuntimeError: planted")
    assert f"note: {note}" in two.done[0].out


def test_a_night_without_a_report_has_its_record(two):
    night = two.nights[0]
    assert (night.state, two.done[0].code) == ("Partial", 3)
    [note] = [note for note in night.notes if note.startswith("the report could not be made")]
    assert note.endswith(f"once mended: urlr report {night.run}")
    assert "Traceback" not in two.done[0].out + two.done[0].err


def test_what_could_not_be_registered_is_published_the_next_night_without_fitting(two):
    failed = two.nights[0].entries[UNPUBLISHED]
    assert failed.outcome == "failed"
    assert failed.reason.startswith("unexpected RuntimeError: planted")
    entry = two.nights[1].entries[UNPUBLISHED]
    assert (entry.outcome, entry.computed) == ("published", False)
    assert entry.place is not None
    assert entry.place.startswith(f"runs/{two.nights[0].run}/")
    assert two.registry.champion(UNPUBLISHED).number == 1


def test_the_next_night_is_whole_and_pointed_to(two):
    assert (two.nights[1].state, two.done[1].code) == ("Completed", 0)
    assert two.nights[1].run.encode() in two.store.read(LATEST)


def test_a_night_that_cannot_move_the_pointer_is_done_and_says_so(two):
    """Its record is written by then, and tells the same as the exit code."""
    night = read_night(two.store, names_of(two.store)[0])
    assert (night.state, two.unpointed.code) == ("Completed", 0), two.unpointed
    said = f"note: {LATEST} still leads to an earlier night ("
    [line] = [line for line in two.unpointed.out.splitlines() if line.startswith(said)]
    assert line.endswith("a file and a directory want one name; move one of them.)")


def test_dashboards_are_told_the_figures_of_the_last_night_and_none_of_a_dry_run(two):
    assert two.dry.dry
    figures = [two.store.read(report_key(night.run, METRICS)) for night in (two.nights[1], two.dry)]
    assert figures[0] != figures[1]
    assert two.dashboards == figures[0]
