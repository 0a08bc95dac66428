"""The `urlr` command as people type it: from files to results, its usage, signals and pipes."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import urlr
from flows import fit_command
from flows.messages import message as of_flows
from tasks.messages import message
from tasks.read import read_table
from tasks.write import write_table
from urlr.messages import message as of_method
from urlr.simulate import crowd

FEATURES = "item,x,y\na,1,2\nb,2,5\nc,4,1\nd,0,1\n"
VOTES = "winner,loser\na,b\nb,c\nc,d\na,d\na,c\nb,d\nd,a\n"


@pytest.fixture(scope="module")
def simulated():
    return crowd(rng=np.random.default_rng(3), n_items=40, n_votes=600, ties=0.05)


# ---------------------------------------------------------------- the whole walk


@pytest.mark.full
def test_fit_then_score_on_real_files_in_real_processes(tmp_path, simulated):
    write_table(simulated.votes, tmp_path / "votes.csv")
    write_table(simulated.features.reset_index(), tmp_path / "features.parquet")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [str(Path(sys.executable).with_name("urlr")), *arguments]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)

    fitted = run("fit", "votes.csv", "features.parquet", "--out", "out", "--quiet")
    assert (fitted.returncode, fitted.stderr) == (0, "")
    counts = urlr.vote_table(simulated.votes).counts
    assert counts["read"] == 600
    assert of_method("summary_of_rows", n_items=40, rows=counts) in fitted.stdout
    assert "urlr score out/model.npz" in fitted.stdout
    ranking = tmp_path / "out"
    written = sorted(path.name for path in ranking.iterdir())
    tables = ["annotators.csv", "model.npz", "report.html", "scores.csv", "summary.txt"]
    assert written == [*tables, "verdicts.csv"]
    assert (ranking / "summary.txt").read_text() in fitted.stdout
    verdicts = read_table(ranking / "verdicts.csv")
    assert verdicts["vote_id"].tolist() == [str(k) for k in range(600)]
    people = read_table(ranking / "annotators.csv")
    assert sorted(people["annotator"]) == sorted(simulated.votes["annotator"].unique())
    assert people["n_votes"].sum() == 600

    scored = run("score", "out", "features.parquet", "--out", "scores.jsonl.gz")
    assert (scored.returncode, scored.stderr) == (0, "")
    table = read_table(tmp_path / "scores.jsonl.gz")
    assert table.columns.tolist() == ["item", "score", "rank"]
    expected = read_table(ranking / "scores.csv")
    assert expected["score"].between(expected["low"], expected["high"]).all()
    assert expected["rank"].between(expected["rank_low"], expected["rank_high"]).all()
    assert table["item"].tolist() == expected["item"].tolist()
    np.testing.assert_allclose(table["score"], expected["score"], rtol=1e-12)
    assert table["rank"].tolist() == expected["rank"].tolist()

    again = run("fit", "votes.csv", "features.parquet", "--out", "out", "--quiet")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == f"urlr: {message('target_not_empty', path='out')}\n"


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("ending", ["csv.gz", "jsonl", "pq"])
def test_every_format_of_input_and_output_gives_the_same_tables(ending, form, command, simulated):
    write_table(simulated.votes, f"votes.{ending}")
    write_table(simulated.features.reset_index(), f"features.{ending}")
    line = f"fit votes.{ending} features.{ending} --out out --format {form} --replicates 3"
    assert command(*shlex.split(line)) == 0, command.err
    ranker = urlr.fit(simulated.votes, simulated.features, replicates=3)
    for name, expected in (("scores", ranker.scores), ("annotators", ranker.annotators)):
        found = read_table(f"out/{name}.{form}")
        assert found.columns.tolist() == expected.columns.tolist()
        for column in found.columns[found.notna().any()]:
            assert found[column].tolist() == expected[column].tolist()


def test_the_same_command_gives_the_same_bytes(command, method, simulated):
    write_table(simulated.votes, "v.csv")
    write_table(simulated.features.reset_index(), "f.csv")
    if "--replicates" in method:
        method = ("--replicates", "3")
    for out in ("one", "two"):
        assert command("fit", "v.csv", "f.csv", "--out", out, *method) == 0
    assert len(list(Path("one").iterdir())) == len(list(Path("two").iterdir())) >= 4
    for path in Path("one").iterdir():
        assert path.read_bytes() == Path("two", path.name).read_bytes()


def test_annotators_are_written_where_votes_have_names_and_by_the_default(command):
    header, *rows = VOTES.splitlines()
    named = [f"{header},annotator", *(f"{row},p{k % 2}" for k, row in enumerate(rows))]
    command.put("named.csv", "\n".join(named))
    command.put("nameless.csv", VOTES)
    fit = ("fit", "--out", "out", "--overwrite", "--replicates", "0")
    assert command(*fit, "named.csv") == 0
    assert "annotators.csv" in command.out
    assert sorted(read_table("out/annotators.csv")["annotator"]) == ["p0", "p1"]
    assert command(*fit, "nameless.csv") == 0
    assert not Path("out/annotators.csv").exists()
    assert command("fit", "named.csv", "--out", "paper", "--method", "paper") == 0
    assert not Path("paper/annotators.csv").exists()


# ---------------------------------------------------------------- settings and usage


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (
            "--method paper --prune bic --ridge 0.5 --ranking ridge --outlier-space items "
            "--components 2 --chi-square 1 --solver exact --seed 9",
            {
                "method": "paper",
                "prune": "bic",
                "ridge": 0.5,
                "outlier_space": "items",
                "components": 2,
                "chi_square": 1,
                "solver": "exact",
                "seed": 9,
            },
        ),
        (
            "--method robust --prune 0.1 --ridge 5 --limit 0.6 --no-curved --no-item-effects "
            "--no-annotator-rates --no-turn-reversed --no-tastes --coordination once --no-ties "
            "--no-left-right --parts each --replicates 2 --chi-square 1 --seed 9",
            {
                "prune": 0.1,
                "ridge": 5.0,
                "limit": 0.6,
                "curved": False,
                "item_effects": False,
                "annotator_rates": False,
                "turn_reversed": False,
                "tastes": False,
                "coordination": "once",
                "parts": "each",
                "ties": False,
                "left_right": False,
                "replicates": 2,
                "chi_square": 1,
                "seed": 9,
            },
        ),
    ],
    ids=["paper", "robust"],
)
def test_settings_reach_the_model(options, settings, command):
    command.put("v.csv", VOTES)
    command.put("f.csv", FEATURES)
    assert command("fit", "v.csv", "f.csv", "--out", "out", *shlex.split(options)) == 0, command.err
    assert urlr.load("out/model.npz").settings == urlr.FitSettings(**settings)


def test_choices_and_defaults_of_the_command_are_those_of_the_method():
    parser = argparse.ArgumentParser()
    fit_command.add_fit(parser.add_subparsers(), say=print)
    given_ = parser.parse_args(["fit", "v.csv", "--out", "out"])
    method = urlr.FitSettings()
    for one in fields(method):
        if one.name != "outlier_ridge":
            assert getattr(given_, one.name) == getattr(method, one.name), one.name
    hints = get_type_hints(urlr.FitSettings)
    for name in ("method", "coordination", "parts", "ranking", "outlier_space", "solver"):
        assert get_origin(hints[name]) is Literal
        for choice in get_args(hints[name]):
            option = f"--{name.replace('_', '-')}"
            parser.parse_args(["fit", "v.csv", "--out", "out", option, choice])


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fot"],
        ["fit"],
        ["fit", "v.csv"],
        ["fit", "v.csv", "--out", "out", "--prune", "much"],
        ["fit", "v.csv", "--out", "out", "--seed", "-1"],
        ["fit", "v.csv", "--out", "out", "--solver", "magic"],
        ["fit", "v.csv", "--out", "out", "--method", "magic"],
        ["fit", "v.csv", "--out", "out", "--limit", "none"],
        ["fit", "v.csv", "--out", "out", "--replicates", "many"],
        ["fit", "v.csv", "--out", "out", "--curved"],
        ["fit", "v.csv", "--out", "out", "--over"],
        ["score", "model.npz"],
    ],
)
def test_wrong_usage_ends_with_code_2(arguments, command):
    assert command(*arguments) == 2
    assert "usage: urlr" in command.err


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["score", "--help"]])
def test_help_shows_examples(arguments, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert command(*arguments) == 0
    assert "examples:" in command.out
    assert max(map(len, command.out.splitlines())) <= 81


def test_version(command):
    assert command("--version") == 0
    assert command.out.startswith("urlr 0.")


# ---------------------------------------------------------------- signals and pipes


def test_ctrl_c_is_one_line_and_leaves_nothing(command, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(urlr, "fit", interrupted)
    assert command("fit", command.put("v.csv", VOTES), "--out", "out") == 130
    assert command.err == f"urlr: {of_flows('stopped_early')}\n"
    assert [path.name for path in Path().iterdir()] == ["v.csv"]


IMPORTING = """
import sys, time
import flows.cli

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            print("importing", flush=True)
            time.sleep(60)

sys.meta_path.insert(0, Slow())
sys.exit(flows.cli.main())
"""


def test_ctrl_c_stops_a_real_process(tmp_path):
    """Sent while it imports, the hardest moment."""
    (tmp_path / "v.csv").write_text(VOTES)
    line = [sys.executable, "-c", IMPORTING]
    with subprocess.Popen(
        [*line, "fit", "v.csv", "--out", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, f"urlr: {of_flows('stopped_early')}\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.full
def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    (tmp_path / "v.csv").write_text(VOTES)
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "flows.cli", "fit", "v.csv", "--out", "out"]
    done = subprocess.run(line, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "model.npz").exists()
