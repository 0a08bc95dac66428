"""Disks that are full: the store's, the registry's, that of temporary files; one to be read only.

Each is a file system of its own, and full from a point of the night on.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cases import passed
from commands import Done, Fault
from judge import (
    Seen,
    judge_again,
    judge_entry,
    judge_night,
    judge_unrecorded,
    nothing_left,
)
from kills import NEW, OLD, deliver_first, deliver_second
from pipeline import PrefectApi
from registries import MLFLOW_WARNS, mlflow_server
from sentences import like
from sites import Site, site_at
from storage import free_ports

from tasks.messages import message
from tasks.store import Store

pytestmark = [pytest.mark.soak, MLFLOW_WARNS]

GROUP = "disks"
SIZE = "size=64m"
FEW_FILES = "nr_inodes=2000"
"""So that a full disk has no room for an empty file or directory either."""
FILLER = "filler"
START = "flows.night_start:taken"
CREATE = "tasks.store:Store.create"
APART = (
    r"temporary files cannot be written at \S+: No space left on device; make room there, or set "
    r"TMPDIR"
)
WRITTEN = r"cannot be written: No space left on device; make room on that disk"


@dataclass(frozen=True)
class Full:
    """A disk that is full from a call on, and what is said of it."""

    disk: str
    function: str
    said: str
    about: str | None = None
    attribute: str = OLD
    """Of which it is said, where the night is recorded."""


UNRECORDED = {
    "the store's disk is full when the night begins": Full("store", START, rf"lease/\S+ {WRITTEN}"),
    "the store's disk is full when an attribute's results are written": Full(
        "store", CREATE, rf"tau\.csv {WRITTEN}", f"*/attributes/{OLD}/*"
    ),
    "the store's disk is full when the record is written": Full(
        "store", CREATE, rf"run\.json {WRITTEN}", "*/run.json"
    ),
    "the disk of temporary files is full when workers are started": Full(
        "temporary", "flows.night_start:_workers", APART
    ),
}
"""The night cannot be recorded."""
FAILED = {
    "the registry's disk is full when the night begins": Full(
        "registry", START, r"the registry sqlite:\S+ found no room left .*; make room on its disk"
    ),
    "the registry's disk is full when files of a version are written": Full(
        "registry",
        "tasks.registry.files:Files.write",
        rf"files of a version cannot be written: \S+ {WRITTEN}",
        attribute=NEW,
    ),
    "the registry's disk is full when a champion is moved": Full(
        "registry",
        "tasks.registry.mlflow_client:Mlflow.set_alias",
        r"the registry sqlite:\S+ found no room left .*; make room on its disk",
        OLD,
    ),
}
"""The night is recorded, and what could not be published failed."""
COMPLETED = {
    "the store's disk is full when the pointer to the report is moved": Full(
        "store",
        "flows.night:point_to",
        rf"report/latest\.html still leads to an earlier night \(\S+ {WRITTEN}\.\)",
    ),
    "the disk of temporary files is full when the night begins": Full(
        "temporary", START, "2 published"
    ),
    "the disk of temporary files is full while workers work": Full(
        "temporary", "tasks.train:_computed", "2 published", OLD
    ),
}
"""Nothing has failed."""


@contextmanager
def disk_of(place: Path, options: str) -> Iterator[Path]:
    """A file system of its own at a directory; needs the rights of root."""
    place.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def remounted(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


@dataclass
class Disks:
    """A site with votes for its second night, on disks of its own."""

    site: Site
    places: dict[str, Path]

    def night(self, full: Full, marks: Path) -> Done:
        """A night on whose way a disk becomes full; it has room again when it is over."""
        disk = self.places[full.disk]
        fill = Fault(full.function, f"fill {disk}", marks, attribute=full.about, times=1)
        done = self.site.night(faults=(fill,))
        assert fill.struck == 1, done
        shutil.rmtree(disk / FILLER)
        return done


@pytest.fixture
def made(
    tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi
) -> Iterator[Callable[..., Disks]]:
    """Makes them, with further settings."""
    with ExitStack() as stack:

        def make(**settings: str) -> Disks:
            place = tmp_path_factory.mktemp("disks")
            store = Store.at(place / "store")
            site = site_at(place / "site", store, prefect_api, URLR_WORKERS="1", **settings)
            places = {
                "store": Path(store.url),
                "registry": site.command.work / "urlr-registry",
                "temporary": Path(site.command.environment["TMPDIR"]),
            }
            for name, disk in places.items():
                few = f",{FEW_FILES}" if name == "temporary" else ""
                stack.enter_context(disk_of(disk, f"{SIZE}{few}"))
            stack.callback(site.command.close)
            deliver_first(site)
            done = site.night()
            assert done.code == 0, done
            deliver_second(site)
            return Disks(site, places)

        yield make


@pytest.mark.parametrize("name", UNRECORDED)
def test_a_night_without_room_for_its_record(name, made, tmp_path, two_clean_nights) -> None:
    disks = made()
    site, case = disks.site, UNRECORDED[name]
    done = disks.night(case, tmp_path)
    line = judge_unrecorded(site, done)
    assert re.search(case.said, line), line
    nothing_left(site)
    judge_again(site, site.night(), two_clean_nights)
    passed(GROUP, name, Seen("failed (1), then completed", line))


@pytest.mark.parametrize("name", FAILED)
def test_a_registry_without_room(name, made, tmp_path, two_clean_nights) -> None:
    disks = made()
    site, case = disks.site, FAILED[name]
    done = disks.night(case, tmp_path)
    night = judge_night(site, done, two_clean_nights, healthy=[NEW] if case.about else [])
    seen = judge_entry(night, done, case.attribute, outcome="failed", said=case.said)
    assert site.registry.champion(OLD).number == 1
    judge_again(site, site.night(), two_clean_nights)
    passed(GROUP, name, seen)


@pytest.mark.parametrize("name", COMPLETED)
def test_a_night_that_needs_no_room_there(name, made, tmp_path, two_clean_nights) -> None:
    disks = made()
    site, case = disks.site, COMPLETED[name]
    done = disks.night(case, tmp_path)
    night = judge_night(site, done, two_clean_nights, healthy=two_clean_nights)
    assert (night.state, done.code) == ("Completed", 0)
    found = re.search(case.said, done.out)
    assert found, done.out
    judge_again(site, site.night(), two_clean_nights)
    assert site.record.run.encode() in site.store.read("report/latest.html")
    passed(GROUP, name, Seen("completed", found[0]))


def test_temporary_files_without_room_on_the_way_to_a_server(
    made, tmp_path, two_clean_nights
) -> None:
    [port] = free_ports(1)
    with mlflow_server(tmp_path, port):
        disks = made(MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}")
        site = disks.site
        site.elsewhere = (tmp_path,)
        full = Full("temporary", "tasks.registry.files:Files.write", APART)
        done = disks.night(full, tmp_path / "marks")
        night = judge_night(site, done, two_clean_nights)
        seen = judge_entry(night, done, OLD, outcome="failed", said=full.said)
        judge_again(site, site.night(), two_clean_nights)
    passed(GROUP, "the disk of temporary files is full when files are sent to MLflow", seen)


def test_a_disk_that_may_only_be_read(made, two_clean_nights) -> None:
    disks = made()
    site, store = disks.site, disks.places["store"]
    remounted(store, "ro")
    try:
        done = site.night()
    finally:
        remounted(store, "rw")
    line = judge_unrecorded(site, done)
    why = re.compile(r".*[Rr]ead-only file system")
    said = like("tasks", "disk_failed", what=message("cannot_write"), why=why)
    assert said.search(line), line
    nothing_left(site)
    judge_again(site, site.night(), two_clean_nights)
    passed(GROUP, "the store may only be read", Seen("failed (1), then completed", line))
