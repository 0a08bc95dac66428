"""Trials on disk, experiments by name, and what was measured."""

import ast
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refused

from tasks.messages import message
from tasks.study.experiments import EXPERIMENTS, SHOWN, chosen_names
from tasks.study.records import Outcome, Row, Unit, curves, mean_of, measured_table, paired
from tasks.study.results import Cost
from tasks.study.sources import StudyDataError
from tasks.study.trials import (
    PRESENTATION,
    carried_out,
    measuring_sources,
    read_done,
    trials_of,
)

ROOT = Path(__file__).parents[2]


def cycles(out):
    return trials_of(["figure2"], {}, out, quick=True)


def test_a_trial_that_was_run_is_read_back_as_it_was(tmp_path):
    trial = cycles(tmp_path)[2]
    assert read_done(trial) is None
    assert carried_out(trial) > 0
    done = read_done(trial)
    expected = EXPERIMENTS["figure2"].run(trial.unit)
    assert done.outcome == expected
    assert done.unit == trial.unit


@pytest.mark.parametrize("damage", [lambda text: text[:40], lambda text: "[]", lambda text: "{}"])
def test_a_damaged_trial_is_run_again(tmp_path, damage):
    trial = cycles(tmp_path)[0]
    carried_out(trial)
    trial.path.write_text(damage(trial.path.read_text()))
    assert read_done(trial) is None


def test_a_trial_of_other_code_or_data_is_run_again(tmp_path):
    trial = cycles(tmp_path)[0]
    carried_out(trial)
    content = json.loads(trial.path.read_text())
    trial.path.write_text(json.dumps(content | {"key": "another"}))
    assert read_done(trial) is None


def test_trials_of_changed_data_have_another_key(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "votes.csv").write_text("winner,loser\na,b\n")
    before = trials_of(["image"], {"image": data}, tmp_path, quick=True)
    (data / "votes.csv").write_text("winner,loser\nb,a\n")
    after = trials_of(["image"], {"image": data}, tmp_path, quick=True)
    assert all(one.key != two.key for one, two in zip(before, after, strict=True))


SPOKEN = """\
from pathlib import Path
from tasks.study.trials import trials_of

def key():
    return trials_of(["figure2"], {}, Path("out"), quick=True)[0].key

print(key())
for changed in ("tasks/study/figures.py", "tasks/study/learner.py", "urlr/paper/path.py"):
    with Path(changed).open("a") as file:
        file.write("# changed")
    print(key())
"""


@pytest.mark.full
def test_trials_of_changed_code_have_another_key_unless_it_only_shows(tmp_path):
    for room in ("tasks", "urlr"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    said = subprocess.run(
        [sys.executable, "-c", SPOKEN],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    first, shown, experiment, method = said.stdout.split()
    assert first == shown
    assert len({shown, experiment, method}) == 3


def test_no_code_that_measures_imports_code_that_shows():
    """Else a change of the latter could change outcomes under the same key."""
    known = {path.stem for path in (ROOT / "tasks" / "study").glob("*.py")}
    assert known > PRESENTATION
    sources = measuring_sources()
    rooms = {path.parent.name for path in sources}
    assert rooms > {"urlr", "study", "model", "paper"}
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                named = {*node.module.split("."), *(one.name for one in node.names)}
                of_study = node.module.startswith("tasks.study")
                assert not (of_study and named & PRESENTATION), path


def test_no_two_trials_share_a_file_or_a_name(tmp_path):
    trials = trials_of(list(EXPERIMENTS), {}, tmp_path, quick=False)
    assert len({trial.path for trial in trials}) == len(trials)
    assert len({trial.unit.name for trial in trials}) == len(trials)


def test_the_paper_s_trial_counts_are_the_defaults():
    def trials(name):
        return len({number for _, number in EXPERIMENTS[name].units(False)})

    assert {name: trials(name) for name in ("image", "video", "age", "pubfig")} == {
        "image": 10,
        "video": 10,
        "age": 10,
        "pubfig": 10,
    }
    assert len({setting for setting, _ in EXPERIMENTS["video"].units(False)}) == 14


def test_experiments_are_chosen_by_name_and_family():
    assert set(chosen_names([])) == set(EXPERIMENTS) == set(SHOWN)
    assert chosen_names(["attributes"]) == ["pubfig", "scene"]
    with refused(StudyDataError, "no_such_experiment", name="imgae") as caught:
        chosen_names(["imgae"])
    assert caught.value.fields["hint"].fields == {"name": "image"}


def test_settings_of_a_trial_share_their_random_numbers():
    one, two = (Unit("image", setting, 3) for setting in ("density 0.1", "density 1"))
    assert one.rng("split").random() == two.rng("split").random()
    assert one.rng("split").random() != Unit("image", "density 0.1", 4).rng("split").random()


FIRST = Cost(workers=2, wall_seconds=60.0, busy_seconds=90.0, n_run=5)


def test_costs_of_sittings_add_up():
    both = Cost(2, 30.0, 30.0, 1).after(FIRST)
    assert both == Cost(2, 90.0, 120.0, 6, sittings=2)
    facts = ("6 trials", "1.5 min", "2 sittings", "2 workers", "2.0 min", "67%")
    assert [fact for fact in facts if fact not in both.sentence()] == []
    assert Cost(4, 30.0, 30.0, 1).after(FIRST) == Cost(4, 30.0, 30.0, 1)


@pytest.mark.parametrize("workers", [2, 4])
def test_a_sitting_that_ran_nothing_costs_what_the_earlier_did(workers):
    assert Cost(workers, 0.0, 0.0, 0).after(FIRST) == FIRST
    assert Cost(workers, 0.0, 0.0, 0).after(None).sentence() == message("no_trial_run")


def measured():
    values = {(0, "A"): 1.0, (0, "B"): 0.5, (1, "A"): 2.0, (1, "B"): 1.0}
    return measured_table(
        [
            (Unit("x", "s", trial), Outcome("made", [Row("m", method, 0.0, value)]))
            for (trial, method), value in values.items()
        ]
    )


def test_differences_are_paired_by_trial():
    gain = paired(measured(), "A", "B", measure="m")
    assert gain.mean == pytest.approx(0.75)
    assert gain.error == pytest.approx(0.25)  # of 0.5 and 1.0
    assert gain.clear


def test_one_trial_is_never_clear():
    gain = paired(measured().query("trial == 0"), "A", "B", measure="m")
    assert math.isnan(gain.error)
    assert not gain.clear


def test_what_was_not_measured_is_said():
    with pytest.raises(KeyError, match="nothing was measured"):
        mean_of(measured(), measure="another")
    with pytest.raises(KeyError, match="both 'A' and 'C'"):
        paired(measured(), "A", "C", measure="m")


def test_curves_have_mean_error_and_count():
    table = curves(measured(), measure="m").set_index("series")
    assert list(table.loc["A", ["mean", "error", "n"]]) == [1.5, 0.5, 2]
