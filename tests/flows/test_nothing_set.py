"""`urlr nightly` as somebody first runs it: nothing is set, not even where Prefect is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import Bench
from pipeline import PATIENCE, clean_environment
from registries import MLFLOW_WARNS
from sentences import like
from stored_votes import put, simulated

from flows.night_report import as_given
from tasks.messages import message
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

UNEVEN = like("tasks", "uneven_row", path="store/votes/broken/1.csv")
KNOWN = (
    r"attribute +votes +pruned +tau +99% interval +change +verdict",
    r"broken +failed",
    r"smiling +500 +\d+% .* published v1",
    r"",
    like("flows", "what_failed_or_was_held", outcome="failed", attribute="broken", why=UNEVEN),
    like(
        "tasks",
        "night_summary",
        state="Partial",
        attributes=2,
        seconds=re.compile(r"\d+"),
        outcomes="1 published, 1 failed",
        dry="",
        rows=like("tasks", "night_rows", failed=message("failed_rows_not_counted", attributes=1)),
    ),
    like("flows", "once_mended", command="urlr nightly --store store --only broken"),
    like("flows", "report_at", store="store", run=re.compile(r"\S+")),
    like("flows", "registry_at", registry="./urlr-registry"),
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
    (report,) = re.findall(r"(\S+/index\.html)", done.stdout)
    assert (home / "work" / report).is_file()


def test_nothing_lies_anywhere_but_in_store_registry_and_the_home_of_prefect(ran):
    home, _ = ran
    assert {path.name for path in (home / "work").iterdir()} == {"store", "urlr-registry"}
    assert {path.name for path in home.iterdir()} <= {"work", "prefect", ".cache"}


def test_status_prints_them_so_too(ran):
    home, _ = ran
    work = home / "work"
    here = Bench(work, Store.at(work / "store"), clean_environment(home))
    said = here.urlr("status", "--store", "store")
    assert re.search(f"  failed broken: {UNEVEN.pattern}", said.stdout)
    assert str(home) not in said.stdout


def test_only_addresses_below_the_store_are_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = f"at {tmp_path}/s/a, (`{tmp_path}/s/b`), {tmp_path}/s2/c and /other{tmp_path}/s/d"
    assert as_given(text, "s/") == f"at s/a, (`s/b`), {tmp_path}/s2/c and /other{tmp_path}/s/d"
    assert as_given("at s3://team/urlr/a", "s3://team/urlr/") == "at s3://team/urlr/a"
