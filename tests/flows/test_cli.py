"""The `urlr` command as people type it: good files, bad files, and every way to misuse it."""

import argparse
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import urlr
from flows import cli
from tasks import write
from tasks.read import read_table
from tasks.write import write_table
from urlr.simulate import crowd

FEATURES = "item,x,y\na,1,2\nb,2,5\nc,4,1\nd,0,1\n"
VOTES = "winner,loser\na,b\nb,c\nc,d\na,d\na,c\nb,d\nd,a\n"


class Command:
    """Runs `urlr` in this process, in a directory of its own."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.code: int | None = None
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        try:
            self.code = cli.main(arguments)
        except SystemExit as end:
            self.code = end.code if isinstance(end.code, int) else 0
        self.out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.out + self.err
        return self.code

    def refusal(self, *arguments: str) -> str:
        """The one line of complaint of a command that must fail and leave nothing behind."""
        before = sorted(Path().rglob("*"))
        assert self(*arguments) == 1, self.out
        assert self.out == ""
        assert self.err.startswith("urlr: ")
        assert self.err.count("\n") == 1
        assert self.err.rstrip("\n").isprintable()
        assert "URLR_DEBUG" not in self.err
        assert sorted(Path().rglob("*")) == before
        return self.err


@pytest.fixture
def command(tmp_path, monkeypatch, capsys) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys)


def put(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def scores(directory: str = "out") -> pd.DataFrame:
    table = read_table(Path(directory, "scores.csv"))
    assert np.isfinite(table["score"]).all()
    return table


@pytest.fixture(scope="module")
def simulated():
    return crowd(rng=np.random.default_rng(3), n_items=40, n_votes=600, ties=0.05)


# ---------------------------------------------------------------- the whole walk


def test_fit_then_score_on_real_files_in_real_processes(tmp_path, simulated):
    write_table(simulated.votes, tmp_path / "votes.csv")
    write_table(simulated.features.reset_index(), tmp_path / "features.parquet")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [str(Path(sys.executable).with_name("urlr")), *arguments]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)

    fitted = run("fit", "votes.csv", "features.parquet", "--out", "out")
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert "Ranked 40 items from 600 votes" in fitted.stdout
    assert "urlr score out/model.npz" in fitted.stdout
    ranking = tmp_path / "out"
    written = sorted(path.name for path in ranking.iterdir())
    assert written == ["model.npz", "scores.csv", "summary.txt", "verdicts.csv"]
    assert (ranking / "summary.txt").read_text() in fitted.stdout
    verdicts = read_table(ranking / "verdicts.csv")
    assert verdicts["vote_id"].tolist() == [str(k) for k in range(600)]

    scored = run("score", "out", "features.parquet", "--out", "scores.jsonl.gz")
    assert (scored.returncode, scored.stderr) == (0, "")
    table = read_table(tmp_path / "scores.jsonl.gz")
    assert table.columns.tolist() == ["item", "score", "rank"]
    expected = read_table(ranking / "scores.csv")
    assert table["item"].tolist() == expected["item"].tolist()
    np.testing.assert_allclose(table["score"], expected["score"], rtol=1e-12)
    assert table["rank"].tolist() == expected["rank"].tolist()

    again = run("fit", "votes.csv", "features.parquet", "--out", "out")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == (
        "urlr: out is not empty; give another name, or --overwrite to replace it.\n"
    )


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("ending", ["csv.gz", "jsonl", "pq"])
def test_every_format_of_input_and_output_gives_the_same_scores(ending, form, command, simulated):
    write_table(simulated.votes, f"votes.{ending}")
    write_table(simulated.features.reset_index(), f"features.{ending}")
    arguments = ("fit", f"votes.{ending}", f"features.{ending}", "--out", "out", "--format", form)
    assert command(*arguments) == 0, command.err
    found = read_table(f"out/scores.{form}")
    expected = urlr.fit(simulated.votes, simulated.features).scores
    assert found["item"].tolist() == expected["item"].tolist()
    assert found["score"].tolist() == expected["score"].tolist()


def test_the_same_command_gives_the_same_bytes(command):
    put("v.csv", VOTES)
    put("f.csv", FEATURES)
    for out in ("one", "two"):
        assert command("fit", "v.csv", "f.csv", "--out", out) == 0
    for path in Path("one").iterdir():
        assert path.read_bytes() == Path("two", path.name).read_bytes()


def test_settings_reach_the_model(command):
    put("v.csv", VOTES)
    put("f.csv", FEATURES)
    line = (
        "fit v.csv f.csv --out out --prune bic --ridge 0.5 --ranking ridge --outlier-space items "
        "--components 2 --chi-square 1 --solver exact --seed 9"
    )
    assert command(*shlex.split(line)) == 0, command.err
    assert urlr.load("out/model.npz").settings == urlr.FitSettings(
        prune="bic",
        ridge=0.5,
        outlier_space="items",
        components=2,
        chi_square=1,
        solver="exact",
        seed=9,
    )


def test_choices_and_defaults_of_the_command_are_those_of_the_method():
    parser = argparse.ArgumentParser()
    cli._add_fit(parser.add_subparsers())
    given_ = parser.parse_args(["fit", "v.csv", "--out", "out"])
    method = urlr.FitSettings()
    for one in fields(method):
        if one.name != "outlier_ridge":
            assert getattr(given_, one.name) == getattr(method, one.name), one.name
    hints = get_type_hints(urlr.FitSettings)
    for name in ("ranking", "outlier_space", "solver"):
        assert get_origin(hints[name]) is Literal
        for choice in get_args(hints[name]):
            option = f"--{name.replace('_', '-')}"
            parser.parse_args(["fit", "v.csv", "--out", "out", option, choice])


# ---------------------------------------------------------------- rows are accounted for


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "007", "NA", "", " ", "=x", 'q"r', "l\nm", "é,ß"]),
            st.sampled_from(["a", "b", "c", "null", "", "\t"]),
            st.sampled_from(["a", "b", "tie", "skip", "", "both"]),
            st.sampled_from(["1", "0", "-1", "x", "", "1e300", "nan", "inf", "2.5"]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_read_is_used_and_ties_and_skipped_and_rejected(rows, command):
    frame = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "weight"], dtype="str")
    write_table(frame, "v.csv")
    if command("fit", "v.csv", "--out", "out", "--overwrite") == 1:
        assert command.err.startswith("urlr: ")
        assert "URLR_DEBUG" not in command.err
        return
    verdicts = read_table("out/verdicts.csv")
    assert len(verdicts) == len(rows)
    counts = verdicts["status"].value_counts()
    facts = urlr.load("out/model.npz").facts.rows
    assert facts["read"] == len(rows)
    for status, name in (("used", "used"), ("tie", "ties"), ("skipped", "skipped")):
        assert counts.get(status, 0) == facts[name]
    rejected = Path("out/rejected.csv")
    assert rejected.exists() == (facts["rejected"] > 0)
    if rejected.exists():
        listed = read_table(rejected)
        assert len(listed) == facts["rejected"] == counts["rejected"]
        numbers = verdicts.loc[verdicts["status"] == "rejected", "vote_id"].tolist()
        assert listed["vote_id"].tolist() == numbers
    assert np.isfinite(read_table("out/scores.csv")["score"]).all()


# ---------------------------------------------------------------- odd but honest input


def test_one_vote_ranks_two_items(command):
    put("v.csv", "winner,loser\na,b\n")
    assert command("fit", "v.csv", "--out", "out") == 0
    assert scores()["item"].tolist() == ["a", "b"]
    assert "Look at out/scores.csv" in command.out


def test_one_vote_with_features(command):
    put("v.csv", "winner,loser\na,b\n")
    put("f.csv", FEATURES)
    assert command("fit", "v.csv", "f.csv", "--out", "out") == 0
    assert len(scores()) == 4


def test_identical_votes_rank_the_pair(command):
    put("v.csv", "winner,loser\n" + "a,b\n" * 500)
    assert command("fit", "v.csv", "--out", "out") == 0
    assert scores()["wins"].tolist() == [500, 0]


def test_missing_feature_values_are_imputed(command):
    put("v.csv", VOTES)
    put("f.csv", "item,x,y\na,,2\nb,NaN,5\nc,4,1\nd,0,NA\n")
    assert command("fit", "v.csv", "f.csv", "--out", "out") == 0
    assert len(scores()) == 4


def test_absurd_weights_are_rejected_and_the_rest_counts(command):
    put("v.csv", "winner,loser,weight\na,b,1e300\nb,c,1\nc,d,1\n")
    assert command("fit", "v.csv", "--out", "out") == 0
    assert len(scores()) == 3
    assert read_table("out/rejected.csv")["weight"].tolist() == [1e300]


def test_two_million_votes_on_one_pair(command):
    first = np.arange(2_000_000) % 3 > 0
    pair = pa.array(["a", "b"])
    columns = {
        "winner": pair.take(pa.array(np.where(first, 0, 1))),
        "loser": pair.take(pa.array(np.where(first, 1, 0))),
    }
    pq.write_table(pa.table(columns), "v.parquet")
    assert command("fit", "v.parquet", "--out", "out", "--format", "parquet") == 0
    table = read_table("out/scores.parquet")
    assert table["item"].tolist() == ["a", "b"]
    assert table["n_votes"].tolist() == [2_000_000, 2_000_000]
    assert pq.read_metadata("out/verdicts.parquet").num_rows == 2_000_000


def test_votes_on_an_item_without_features_are_rejected_by_name(command):
    put("v.csv", VOTES + "a,z\n")
    put("f.csv", FEATURES)
    assert command("fit", "v.csv", "f.csv", "--out", "out") == 0
    rejected = read_table("out/rejected.csv")
    assert rejected[["vote_id", "winner", "loser"]].iloc[0].tolist() == ["7", "a", "z"]
    assert rejected["reason"].tolist() == ["item has no features"]


def test_csv_votes_match_whole_number_features(command):
    put("v.csv", VOTES.translate(str.maketrans("abcd", "1234")))
    lines = FEATURES.translate(str.maketrans("abcd", "1234")).splitlines()[1:]
    items = [[int(cell) for cell in line.split(",")] for line in lines]
    frame = pd.DataFrame(items, columns=["item", "x", "y"])
    frame.to_parquet("f.parquet")
    assert command("fit", "v.csv", "f.parquet", "--out", "out") == 0
    assert sorted(urlr.load("out/model.npz").scores["item"]) == [1, 2, 3, 4]
    assert command("score", "out", "f.parquet", "--out", "s.parquet") == 0
    assert sorted(read_table("s.parquet")["item"]) == [1, 2, 3, 4]


def test_leading_zeros_keep_text_and_whole_numbers_apart(command):
    put("v.csv", "winner,loser\n01,02\n02,03\n")
    put("f.jsonl", "".join(json.dumps({"item": k, "x": k * k}) + "\n" for k in (1, 2, 3)))
    text = command.refusal("fit", "v.csv", "f.jsonl", "--out", "out")
    assert "(text)" in text
    assert "(number)" in text


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_mixed_ids_do_not_stop_the_results(form, command):
    lines = [
        {"winner": 1, "loser": "x", "annotator": 3, "vote_id": True},
        {"winner": "x", "loser": "y", "annotator": "p", "extra": {"a": [1]}},
        {"winner": "", "loser": 2, "extra": 5},
    ]
    put("v.jsonl", "\n".join(json.dumps(line) for line in lines))
    assert command("fit", "v.jsonl", "--out", "out", "--format", form) == 0
    assert read_table(f"out/scores.{form}")["item"].tolist() == ["1", "x", "y"]
    assert len(read_table(f"out/rejected.{form}")) == 1


def test_control_signs_of_ids_never_reach_the_terminal(command):
    put("v.csv", 'winner,loser\n\x1b[31mred,b\nb,"x\n\u202ey"\n')
    put("f.csv", 'item,x\n\x1b[31mred,3\nb,2\n"x\n\u202ey",1\n')
    assert command("fit", "v.csv", "--out", "out") == 0
    assert all(line.isprintable() for line in command.out.split("\n"))
    assert scores()["item"].tolist() == ["\x1b[31mred", "b", "x\n\u202ey"]
    assert command("fit", "v.csv", "f.csv", "--out", "with") == 0
    assert command("score", "with", "f.csv", "--out", "s.csv") == 0
    assert all(line.isprintable() for line in command.out.split("\n"))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("votes", "features", "said"),
    [
        ("", None, "v.csv is empty (0 bytes)"),
        ("winner,loser\n", None, "only a header"),
        ("winner,loser\na,a\n", None, "compares an item with itself"),
        ("winner,loser\na,b\n", "item,x\na,1\n", "without features"),
        ("item_a,item_b,outcome\na,b,tie\nb,c,tie\n", None, "is a tie"),
        ("item_a,item_b,outcome\na,b,skip\n", None, "skipped"),
        ("winner,loser,weight\na,b,1e300\n", None, "weight outside"),
        ("id,x\na,1\n", None, "columns id, x"),
        ("winner,loser,attribute\na,b,p\na,b,q\n", None, "2 attributes"),
        ("winner,loser\na,b\nc,d\n", None, "never compared"),
        (VOTES, "item,x\na,1\na,2\nb,1\n", "more than once"),
        (VOTES, "item,x\na,inf\nb,1\nc,2\nd,3\n", "infinite"),
        (VOTES, "item,x\na,\nb,\nc,\nd,\n", "no feature tells the items apart"),
        (VOTES, "item,name\na,p\nb,q\nc,r\nd,s\n", "no numeric column"),
        (VOTES, "name,x\na,1\n", "has no column `item`"),
        (VOTES, "", "f.csv is empty (0 bytes)"),
    ],
)
def test_hopeless_input_is_one_line(votes, features, said, command):
    arguments = [put("v.csv", votes)]
    if features is not None:
        arguments.append(put("f.csv", features))
    assert said in command.refusal("fit", *arguments, "--out", "out")


@pytest.mark.parametrize(
    "options",
    [
        ["--prune", "1.5"],
        ["--prune", "nan"],
        ["--ridge", "-1"],
        ["--components", "0"],
        ["--chi-square", "9"],
        ["--ranking", "svm"],
    ],
)
def test_senseless_settings_are_one_line(options, command):
    assert command.refusal("fit", put("v.csv", VOTES), "--out", "out", *options)


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


def test_results_never_replace_their_own_input(command):
    put("v.csv", VOTES)
    put("f.csv", FEATURES)
    assert command("fit", "v.csv", "f.csv", "--out", "out") == 0
    text = command.refusal("fit", "out/verdicts.csv", "--out", "out", "--overwrite")
    assert "move it away" in text
    text = command.refusal("score", "out", "f.csv", "--out", "f.csv", "--overwrite")
    assert "is a file to be read" in text


def test_a_failed_refit_leaves_the_old_results(command):
    assert command("fit", put("v.csv", VOTES), "--out", "out") == 0
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    put("v.csv", "winner,loser\na,a\n")
    command.refusal("fit", "v.csv", "--out", "out", "--overwrite")
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before


def test_score_refuses_what_is_no_model(command):
    put("f.csv", FEATURES)
    put("other.npz", "not a model")
    Path("empty").mkdir()
    assert "not a model" in command.refusal("score", "other.npz", "f.csv", "--out", "s.csv")
    assert "empty/model.npz" in command.refusal("score", "empty", "f.csv", "--out", "s.csv")
    assert "no model" in command.refusal("score", "nowhere", "f.csv", "--out", "s.csv")


def test_score_refuses_foreign_features_and_models_without(command):
    put("v.csv", VOTES)
    put("f.csv", FEATURES)
    assert command("fit", "v.csv", "--out", "bare") == 0
    assert "without features" in command.refusal("score", "bare", "f.csv", "--out", "s.csv")
    assert command("fit", "v.csv", "f.csv", "--out", "out") == 0
    put("g.csv", "item,x\nq,1\n")
    assert "y" in command.refusal("score", "out", "g.csv", "--out", "s.csv")
    assert ".jsonl" in command.refusal("score", "out", "f.csv", "--out", "s.txt")


def test_full_disk_is_one_line(command, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "fsync", full)
    text = command.refusal("fit", put("v.csv", VOTES), "--out", "out")
    assert "No space left on device" in text


def test_an_unexpected_error_is_one_line_that_says_how_to_learn_more(command, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(urlr, "fit", broken)
    put("v.csv", VOTES)
    assert command("fit", "v.csv", "--out", "out") == 1
    assert command.err.count("\n") == 1
    assert "ZeroDivisionError" in command.err
    assert "URLR_DEBUG=1" in command.err
    monkeypatch.setenv("URLR_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        command("fit", "v.csv", "--out", "out")


# ---------------------------------------------------------------- signals, pipes, broken files


def test_ctrl_c_is_one_line_and_leaves_nothing(command, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(urlr, "fit", interrupted)
    assert command("fit", put("v.csv", VOTES), "--out", "out") == 130
    assert command.err == "urlr: stopped before the end.\n"
    assert [path.name for path in Path().iterdir()] == ["v.csv"]


def test_ctrl_c_stops_a_real_process(tmp_path):
    """Sent while it imports, the hardest moment."""
    put(str(tmp_path / "v.csv"), VOTES)
    script = "import sys, flows.cli; print('ready', flush=True); sys.exit(flows.cli.main())"
    line = [sys.executable, "-c", script]
    with subprocess.Popen(
        [*line, "fit", "v.csv", "--out", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "urlr: stopped before the end.\n")
    assert not (tmp_path / "out").exists()


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    put(str(tmp_path / "v.csv"), VOTES)
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "flows.cli", "fit", "v.csv", "--out", "out"]
    done = subprocess.run(line, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "model.npz").exists()


def test_broken_files_of_every_kind_are_one_line(command):
    whole = gzip.compress(VOTES.encode())
    pq.write_table(pa.table({"winner": ["a"], "loser": ["b"]}), "good.parquet")
    cases = {
        "cut.csv.gz": whole[:-8],
        "cut.parquet": Path("good.parquet").read_bytes()[:-20],
        "text.parquet": VOTES.encode(),
        "latin.csv": "winner,loser\nMüller,b\n".encode("latin-1"),
        "ragged.csv": b"winner,loser\na,b\nc\n",
        "nul.csv": b"winner,loser\na\0,b\n",
        "broken.jsonl": b'{"winner": 1, "loser": 2}\n{"winner"\n',
        "semicolon.csv": b"winner;loser\na;b\n",
        "votes.xlsx": b"PK\x03\x04",
        "noending": b"x",
    }
    for name, content in cases.items():
        put(name, content)
        assert name in command.refusal("fit", name, "--out", "out")
    assert "no file" in command.refusal("fit", "nothing.csv", "--out", "out")
    Path("folder.csv").mkdir()
    assert "is a directory" in command.refusal("fit", "folder.csv", "--out", "out")
