"""`urlr nightly` as somebody first runs it: nothing is set, not even where Prefect is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pipeline import PATIENCE, clean_environment
from registries import MLFLOW_WARNS
from stored_votes import put, simulated

from flows.night_report import as_given
from tasks.store import Store

pytestmark = MLFLOW_WARNS

KNOWN = (
    r"attribute +votes +pruned +tau +99% interval +change +verdict",
    r"broken +failed",
    r"smiling +500 +\d+% .* published v1",
    r"",
    r"failed broken: store/votes/broken/1\.csv has .*",
    r"Partial: 2 attributes in \d+ s: 1 published, 1 failed\. Of .* rejected; rows of "
    r"1 attribute that failed are not counted\.",
    r"Once mended: urlr nightly --store store --only broken",
    r"Report: store/runs/\S+/report/index\.html",
    r"Registry: \./urlr-registry\. Next: urlr status, urlr models",
)
"""Every line that is printed, and no other."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> "tuple[Path, subprocess.CompletedProcess[str]]":
    home = tmp_path_factory.mktemp("home")
    store = Store.at(home / "work" / "store")
    put(store, "votes/smiling/1.csv", simulated().votes)
    put(store, "votes/broken/1.csv", "winner,loser\na,b,c\n")
    silent = ("PREFECT_SERVER_ANALYTICS_ENABLED", "DO_NOT_TRACK", "MLFLOW_DISABLE_TELEMETRY")
    environment = {k: v for k, v in clean_environment(home).items() if k not in silent}
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", "nightly", "--store", "store"],
        cwd=home / "work",
        env=environment | {"PREFECT_HOME": str(home / "prefect"), "URLR_FIT__REPLICATES": "0"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
    )
    return home, done


def test_a_first_night_prints_known_lines_and_no_noise_of_libraries(ran):
    _, done = ran
    assert done.returncode == 3, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert [line for line in said if not any(re.fullmatch(one, line) for one in KNOWN)] == []
    assert [one for one in KNOWN if not any(re.fullmatch(one, line) for line in said)] == []
    waiting = r"urlr: (starting|[a-z0-9].*?)( \d+%)? \(\d+ s\)"
    assert [one for one in done.stderr.splitlines() if not re.fullmatch(waiting, one)] == []


def test_addresses_are_printed_as_they_were_given(ran):
    home, done = ran
    assert str(home) not in done.stdout
    (report,) = re.findall(r"Report: (\S+)", done.stdout)
    assert (home / "work" / report).is_file()


def test_nothing_lies_anywhere_but_in_store_registry_and_the_home_of_prefect(ran):
    home, _ = ran
    assert {path.name for path in (home / "work").iterdir()} == {"store", "urlr-registry"}
    assert {path.name for path in home.iterdir()} <= {"work", "prefect", ".cache"}


def test_status_prints_them_so_too(ran):
    home, _ = ran
    said = subprocess.run(
        [sys.executable, "-m", "flows.cli", "status", "--store", "store"],
        cwd=home / "work",
        env=clean_environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert "  failed broken: store/votes/broken/1.csv has " in said.stdout
    assert str(home) not in said.stdout


def test_only_addresses_below_the_store_are_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = f"at {tmp_path}/s/a, (`{tmp_path}/s/b`), {tmp_path}/s2/c and /other{tmp_path}/s/d"
    assert as_given(text, "s/") == f"at s/a, (`s/b`), {tmp_path}/s2/c and /other{tmp_path}/s/d"
    assert as_given("at s3://team/urlr/a", "s3://team/urlr/") == "at s3://team/urlr/a"
