"""`urlr study` as a user meets it: trials on real workers, resumed, refused, stopped."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from commands import Fault, Urlr
from pipeline import PATIENCE, Place, PrefectApi, only_progress
from sentences import like
from waiting import until

from flows.messages import message

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def place(new_place) -> Place:
    made: Place = new_place()
    return made


def trials(folder: Path) -> list[Path]:
    return sorted(folder.glob("trials/*/*.json"))


def task_runs(api: PrefectApi, run: dict[str, Any]) -> list[dict[str, Any]]:
    """The task runs of a flow run, of which Prefect takes note a moment after they ended."""
    return api.ask("task_runs", flow_runs={"id": {"any_": [run["id"]]}})


@pytest.mark.full
def test_a_study_judges_its_claims_and_goes_on_where_it_stopped(place, prefect_api: PrefectApi):
    ran = place.urlr("study", "figure2", "--out", "found", "--workers", "2")
    assert ran.returncode == 0, ran.stderr
    assert only_progress(ran.stderr), ran.stderr
    assert "16  holds partly" in ran.stdout
    assert message("claims_not_judged", count=18, total=19) in ran.stdout
    assert "5 trials in" in ran.stdout
    out = place.directory / "found"
    assert len(trials(out)) == 5
    for name in ("index.html", "study.md", "claims.csv", "measured.csv.gz"):
        assert (out / name).stat().st_size > 0
    for ending in ("png", "svg", "csv"):
        assert (out / "figures" / f"figure2.{ending}").stat().st_size > 0
    runs = prefect_api.ask("flow_runs", flows={"name": {"any_": ["study"]}})
    (run,) = (run for run in runs if run["parameters"]["out"] == str(out.resolve()))
    names = {
        f"figure2/{json.loads(path.read_text())['unit'].split('/', 1)[1]}" for path in trials(out)
    }
    until(
        lambda: {task["name"] for task in task_runs(prefect_api, run)} == names,
        "Prefect has noted every trial",
    )
    assert "study-claims" in prefect_api.artifacts(run)

    before = {path: path.stat().st_mtime_ns for path in trials(out)}
    trials(out)[0].write_text("cut off")
    again = place.urlr("study", "figure2", "--out", "found")
    assert again.returncode == 0, again.stderr
    assert "6 trials in" in again.stdout
    assert "in 2 sittings" in again.stdout
    kept = [path for path in trials(out) if path.stat().st_mtime_ns == before[path]]
    assert len(kept) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["imgae"], like("tasks", "no_such_experiment", name="imgae")),
        (["image", "--data", "nowhere"], like("tasks", "data_is_no_folder", path="nowhere")),
        (["image", "--data", "."], like("tasks", "no_such_table", table="items")),
        (["quality"], like("flows", "only_real_votes", names="quality")),
        (["arguments"], like("flows", "only_real_votes", names="arguments")),
        (["figure2", "--workers", "0"], like("flows", "too_few_workers", count=0)),
    ],
)
def test_what_cannot_be_studied_is_refused_at_once_in_one_line(command, options, said):
    assert said.search(command.refusal("study", *options, "--out", "none"))


@pytest.mark.full
def test_a_trial_whose_worker_is_killed_is_run_once_more(urlr: Urlr, prefect_api: PrefectApi):
    killed = Fault("tasks.study.trials:carried_out", "kill", urlr.place / "marks", times=1)
    done = urlr("study", "figure2", "--out", "found", "--workers", "2", faults=(killed,))
    assert (killed.struck, done.code) == (1, 0), done
    assert "5 trials in" in done.out
    assert "Failed" not in done.out
    out = urlr.work / "found"
    assert len(trials(out)) == 5
    assert not list(out.rglob("*.tmp"))
    runs = prefect_api.ask("flow_runs", flows={"name": {"any_": ["study"]}})
    (run,) = (run for run in runs if run["parameters"]["out"] == str(out.resolve()))
    until(
        lambda: {task["state_name"] for task in task_runs(prefect_api, run)} == {"Completed"},
        "Prefect has noted every end",
    )
    assert max(task["run_count"] for task in task_runs(prefect_api, run)) == 2


@pytest.mark.full
def test_a_study_that_is_stopped_keeps_what_it_has(urlr: Urlr):
    running = urlr.start("study", "supplement", "--quick", "--out", "found")
    out = urlr.work / "found"
    until(lambda: len(trials(out)) >= 2 or running.process.poll() is not None, seconds=PATIENCE)
    done = running.end(signal_sent=signal.SIGINT, to_all=True)
    assert done.code == 130, done
    assert done.complaint == f"urlr: {message('stopped_early')}"
    kept = trials(out)
    assert 2 <= len(kept) < 9
    assert not list(out.rglob("*.tmp"))
    assert not (out / "index.html").exists()
    assert all(json.loads(path.read_text())["rows"] for path in kept)
