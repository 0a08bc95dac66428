"""A disk that is full, and one that may only be read."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cases import passed
from judge import Bytes, Seen, champions_serve, judge_again, judge_unrecorded
from kills import deliver_first, deliver_second, new_site
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from sites import Site

pytestmark = MLFLOW_WARNS

ROOM = 60_000
"""Bytes that are left on a full disk: for a lease, not for results."""


@contextmanager
def disk_of(place: Path, size: str) -> Iterator[Path]:
    """A file system of its own, of this size; needs the rights of root."""
    place.mkdir(parents=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
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


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("disks")
    with disk_of(place / "site" / "store", "200m"):
        made = new_site(place / "site", prefect_api)
        deliver_first(made)
        assert made.night().code == 0
        deliver_second(made)
        yield made
        made.command.close()


def test_a_full_disk(site: Site, two_clean_nights: Bytes) -> None:
    filler = Path(site.store.url) / "filler"
    room = os.statvfs(filler.parent)
    filler.write_bytes(b"\0" * (room.f_bavail * room.f_bsize - ROOM))
    done = site.night()
    assert done.code == 1, done
    assert "No space left on device" in done.out + done.err
    assert "Traceback" not in done.out + done.err
    champions_serve(site)
    line = next(
        line for line in (done.out + done.err).splitlines() if "No space left on device" in line
    )
    assert re.search(r"cannot be written: No space left on device; check the disk", line), line
    filler.unlink()
    judge_again(site, site.night(), two_clean_nights)
    passed("disks", "the store's disk is full", Seen("failed (1)", line.removeprefix("urlr: ")))


def test_a_disk_that_may_only_be_read(site: Site, two_clean_nights: Bytes) -> None:
    place = Path(site.store.url)
    remounted(place, "ro")
    try:
        done = site.night()
        line = judge_unrecorded(site, done)
    finally:
        remounted(place, "rw")
    assert re.search(r"cannot be written: .*[Rr]ead-only file system; check the disk", line), line
    judge_again(site, site.night(), two_clean_nights)
    passed("disks", "the store may only be read", Seen("the night does not begin", line))
