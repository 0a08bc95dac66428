"""What lies in directories for a while: nothing outlives its process by more than a night."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from refusals import refused

from tasks.cluster import ClusterError, local_cluster
from tasks.scratch import remove_left, scratch_directory


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_directory_is_there_for_the_block_alone(temporary):
    with scratch_directory() as place:
        assert Path(place).parent == temporary
        (Path(place) / "spilled").write_text("x")
    assert list(temporary.iterdir()) == []


def test_a_directory_that_cannot_be_made_is_told(temporary, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "none"))
    fields = {"place": str(temporary / "none"), "why": "No such file or directory"}
    with (
        refused(ClusterError, "no_room_for_temporary_files", **fields),
        local_cluster(workers=1),
    ):
        pass


HOLDS = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from tasks.scratch import scratch_directory
with scratch_directory() as place:
    print(place, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_stays(temporary):
    command = [sys.executable, "-c", HOLDS, str(temporary)]
    holders = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        places = [Path(holder.stdout.readline().strip()) for holder in holders]
        holders[0].kill()
        holders[0].wait()
        assert all(place.is_dir() for place in places)
        (temporary / "urlr-scratch-of-somebody").mkdir()
        remove_left()
        left = {path.name for path in temporary.iterdir()}
        assert places[0].name not in left
        assert {places[1].name, "urlr-scratch-of-somebody"} <= left
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()
            holder.stdout.close()


def test_a_directory_without_a_lock_is_removed_once_it_is_old(temporary):
    """As a worker that died last leaves it, which made its part of it again."""
    new, old = (temporary / f"urlr-scratch-{age}" for age in ("new", "old"))
    for place in (new, old):
        (place / "dask-scratch-space").mkdir(parents=True)
    os.utime(old, (0, 0))
    with scratch_directory():
        assert new.is_dir()
        assert not old.exists()
