"""The compose file's own commands, run as processes of this machine, carry a whole night."""

import os
import re
import secrets
import subprocess
import sys

import psutil
import pytest
from pipeline import PATIENCE, ROOT

pytestmark = pytest.mark.full

MARK = "COMPOSE_RUN_MARK"
RUN = (
    "certificates",
    "store-certificates",
    "identities",
    "buckets",
    "databases",
    "work-pool",
    "deployments",
    "postgres",
    "object-store",
    "prefect",
    "mlflow",
    "dask-scheduler",
    "dask-worker-1",
    "dask-worker-2",
    "flow-worker",
)
MAY_BE_ABSENT = {"node-exporter", "prometheus", "grafana"}


def processes_with(mark: str) -> list[str]:
    """Commands of the processes that were started under a mark and are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


@pytest.fixture(scope="module")
def ran() -> subprocess.CompletedProcess[str]:
    mark = secrets.token_hex(8)
    done = subprocess.run(
        [sys.executable, "deploy/run_compose_locally.py"],
        cwd=ROOT,
        env=os.environ | {MARK: mark},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert processes_with(mark) == []
    return done


def test_every_service_that_a_night_needs_is_healthy_or_done(ran):
    assert ran.returncode == 0, ran.stdout + ran.stderr
    well = set(re.findall(r"^  (\S+): (?:healthy|done) after", ran.stdout, re.MULTILINE))
    assert set(RUN) <= well
    left_out = set(re.findall(r"^  (\S+): not run, ", ran.stdout, re.MULTILINE))
    assert left_out <= MAY_BE_ABSENT
    assert well | left_out == set(RUN) | MAY_BE_ABSENT


def test_the_work_pool_runs_a_night_whose_champions_mlflow_shows(ran):
    champions = dict(re.findall(r"^champion of (\S+): version (\d+)$", ran.stdout, re.MULTILINE))
    assert champions == dict.fromkeys(("faces.bright", "faces.smiling", "plain"), "1"), ran.stdout


def test_everything_that_was_started_is_ended(ran):
    [ended] = re.findall(r"^ended (\d+) processes$", ran.stdout, re.MULTILINE)
    assert int(ended) >= len(RUN)
