"""Where workers spill to: nothing of it outlives the process by more than a night."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tasks.cluster.scratch import scratch_directory


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_directory_is_there_for_the_block_alone(temporary):
    with scratch_directory() as place:
        assert Path(place).parent == temporary
        (Path(place) / "spilled").write_text("x")
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_stays(temporary):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name in (f"urlr-workers-{gone.pid}-a", f"urlr-workers-{os.getppid()}-b", "urlr-workers-x"):
        (temporary / name / "deep").mkdir(parents=True)
        (temporary / name / "deep" / "spilled").write_text("x")
    with scratch_directory():
        pass
    left = {path.name for path in temporary.iterdir()}
    assert left == {f"urlr-workers-{os.getppid()}-b", "urlr-workers-x"}
