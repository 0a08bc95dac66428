"""What cannot be shown or published tonight: what was decided and computed stands all the same."""

import pkgutil
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from in_process import Bench
from pipeline import Ran
from registries import MLFLOW_WARNS
from stored_votes import put, simulated

from flows.messages import message
from tasks.messages import message as of_tasks
from tasks.metrics import TEXTFILE
from tasks.registry import Registry
from tasks.report.site import LATEST, METRICS, report_key
from tasks.results import Night
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

PAGELESS, UNPUBLISHED = "smiling", "calm"
PLANTED = "planted: the matrix is\nsingular"


@dataclass(frozen=True)
class Nights:
    """A night in which pages, report and a registration fail, the one after it, and two more."""

    store: Store
    registry: Registry
    done: tuple[Ran, Ran]
    dashboards: bytes
    """What Prometheus reads, after the dry run."""
    dry: Night
    unpointed: Ran
    """A night that cannot move the pointer to its report."""

    unreported: Ran
    pageless: Ran
    """A night that lacks nothing but a page, and what is said of it in the morning."""
    morning: CompletedProcess[str]

    @property
    def nights(self) -> tuple[Night, Night]:
        return self.done[0].night, self.done[1].night


@pytest.fixture(scope="module")
def two(new_bench) -> Nights:
    place: Bench = new_bench(URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false")
    home, store = place.directory.parent, place.store
    place.environment["URLR_METRICS_DIR"] = str(home)
    for seed, attribute in enumerate((PAGELESS, UNPUBLISHED)):
        put(store, f"votes/{attribute}/1.csv", simulated(seed=seed).votes)
    with pytest.MonkeyPatch.context() as patch:
        breaks(patch, "flows.night.write_page", on=PAGELESS)
        breaks(patch, "flows.night.write_overview")
        breaks(patch, "tasks.registry.Registry.register", on=UNPUBLISHED)
        first = place.night()
    assert store.list("report") == [], "nothing may lead to a report that is not there"
    second = place.night()
    dry = place.night("--dry-run")
    dashboards = (home / TEXTFILE).read_bytes()
    pointer = Path(store.url, LATEST)
    pointer.rename(home / "pointer")
    pointer.mkdir()
    unpointed = place.night()
    pointer.rmdir()
    (home / "pointer").rename(pointer)
    with pytest.MonkeyPatch.context() as patch:
        breaks(patch, "flows.night.write_overview")
        unreported = place.night()
    put(store, f"votes/{PAGELESS}/2.csv", simulated(seed=9).votes.drop(columns="vote_id"))
    with pytest.MonkeyPatch.context() as patch:
        breaks(patch, "flows.night.write_page", on=PAGELESS)
        pageless = place.night("--only", PAGELESS)
    return Nights(
        store,
        place.registry,
        (first, second),
        dashboards,
        dry.night,
        unpointed,
        unreported,
        pageless,
        place.urlr("status"),
    )


def breaks(patch: pytest.MonkeyPatch, function: str, *, on: str | None = None) -> None:
    """Let a function raise, always or if it is called about an attribute."""
    works = pkgutil.resolve_name(function)

    def called(*given: Any, **named: Any) -> Any:
        about = [getattr(one, "attribute", one) for one in (*given, *named.values())]
        if on is None or on in [one for one in about if isinstance(one, str)]:
            raise RuntimeError(PLANTED)
        return works(*given, **named)

    patch.setattr(function, called)


def not_made(what: str, night: Night) -> str:
    """What is said of something that could not be made that night."""
    return message("not_made", what=what, kind="RuntimeError", why=PLANTED, run=night.run)


def test_an_attribute_without_a_page_is_published(two):
    entry = two.nights[0].entries[PAGELESS]
    assert (entry.outcome, entry.version, entry.page) == ("published", 1, None)
    [note] = [note for note in two.nights[0].notes if PAGELESS in note]
    assert note == not_made(message("the_page_of", attribute=PAGELESS), two.nights[0])
    assert message("a_note", note=note) in two.done[0].out


def test_a_night_that_lacks_nothing_but_its_report_is_not_completed(two):
    night = two.unreported.night
    done = message("no_report", done=message("all_done", total=2))
    assert (night.state, night.reason, two.unreported.code) == ("Partial", done, 3)
    assert message("report_at", store=two.store.url, run=night.run) not in two.unreported.out


def test_a_night_without_a_report_has_its_record(two):
    night = two.nights[0]
    assert (night.state, two.done[0].code) == ("Partial", 3)
    assert not_made(message("the_report"), night) in night.notes
    assert (night.state, night.reported) == ("Partial", False)
    assert message("report_at", store=two.store.url, run=night.run) not in two.done[0].out
    assert "Traceback" not in two.done[0].out + two.done[0].err


def test_what_could_not_be_registered_is_published_the_next_night_without_fitting(two):
    failed = two.nights[0].entries[UNPUBLISHED]
    assert failed.outcome == "failed"
    assert failed.reason == message("unexpected_error", kind="RuntimeError", why=PLANTED)
    entry = two.nights[1].entries[UNPUBLISHED]
    assert (entry.outcome, entry.computed) == ("published", False)
    assert entry.place is not None
    assert entry.place.startswith(f"runs/{two.nights[0].run}/")
    assert two.registry.champion(UNPUBLISHED).number == 1


def test_the_next_night_is_whole_and_pointed_to(two):
    assert (two.nights[1].state, two.done[1].code) == ("Completed", 0)
    assert two.nights[1].run.encode() in two.store.read(LATEST)


def test_a_night_that_cannot_move_the_pointer_is_done_and_says_so(two):
    """Its record is written by then; `urlr status` looks at the pointer."""
    assert two.unpointed.code == 3, two.unpointed
    why = of_tasks(
        "file_and_directory", path=two.store.address(LATEST), what=of_tasks("cannot_write")
    )
    note = message("pointer_not_moved", path=LATEST, why=why)
    assert message("a_note", note=note) in two.unpointed.out.splitlines()


def test_a_night_that_lacks_a_page_is_not_completed_and_status_says_so(two):
    night = two.pageless.night
    done = message("no_pages", done=message("all_done", total=1), attributes=[PAGELESS])
    assert (night.state, night.reason, two.pageless.code) == ("Partial", done, 3)
    assert (two.morning.returncode, night.reported) == (3, True)
    said = message("a_note", note=not_made(message("the_page_of", attribute=PAGELESS), night))
    assert said in two.pageless.out
    assert said in two.morning.stdout


def test_dashboards_are_told_the_figures_of_the_last_night_and_none_of_a_dry_run(two):
    assert two.dry.dry
    figures = [two.store.read(report_key(night.run, METRICS)) for night in (two.nights[1], two.dry)]
    assert figures[0] != figures[1]
    assert two.dashboards == figures[0]
