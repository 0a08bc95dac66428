"""What `urlr` refuses and how: in one line, leaving nothing behind and old results alone."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentences import like

import urlr
from flows.messages import message as of_flows
from tasks import write
from tasks.messages import message
from urlr.messages import message as of_method

FEATURES = "item,x,y\na,1,2\nb,2,5\nc,4,1\nd,0,1\n"
VOTES = "winner,loser\na,b\nb,c\nc,d\na,d\na,c\nb,d\nd,a\n"


# ---------------------------------------------------------------- input and settings


@pytest.mark.parametrize(
    ("votes", "features", "said"),
    [
        ("", None, like("tasks", "no_bytes_in_file", path="v.csv")),
        ("winner,loser\n", None, like("tasks", "no_votes_in_file", path="v.csv")),
        ("winner,loser\na,a\n", None, like("urlr", "self_comparison")),
        ("winner,loser\na,b\n", "item,x\na,1\n", like("urlr", "no_features", count=1)),
        ("item_a,item_b,outcome\na,b,tie\nb,c,tie\n", None, like("urlr", "only_ties")),
        ("item_a,item_b,outcome\na,b,skip\n", None, like("urlr", "skipped_by_annotator")),
        ("winner,loser,weight\na,b,1e300\n", None, like("urlr", "weight_out_of_range")),
        ("id,x\na,1\n", None, like("urlr", "lacking_vote_columns", names=["id", "x"])),
        (
            "winner,loser,attribute\na,b,p\na,b,q\n",
            None,
            like("urlr", "several_attributes", count=2),
        ),
        ("winner,loser\na,b\nc,d\n", None, like("urlr", "groups_never_compared")),
        (VOTES, "item,x\na,1\na,2\nb,1\n", like("urlr", "repeated_items", items=["a"])),
        (VOTES, "item,x\na,inf\nb,1\nc,2\nd,3\n", like("urlr", "items_with_infinite")),
        (VOTES, "item,x\na,\nb,\nc,\nd,\n", like("urlr", "no_column_varies")),
        (VOTES, "item,name\na,p\nb,q\nc,r\nd,s\n", like("urlr", "no_numeric_column")),
        (VOTES, "name,x\na,1\n", like("tasks", "no_item_column", path="f.csv")),
        (VOTES, "", like("tasks", "no_bytes_in_file", path="f.csv")),
    ],
)
def test_hopeless_input_is_one_line(votes, features, said, command, method):
    arguments = [command.put("v.csv", votes)]
    if features is not None:
        arguments.append(command.put("f.csv", features))
    assert said.search(command.refusal("fit", *arguments, "--out", "out", *method))


@pytest.mark.parametrize(
    "options",
    [
        ["--prune", "1.5"],
        ["--prune", "nan"],
        ["--ridge", "-1"],
        ["--chi-square", "9"],
        ["--limit", "0"],
        ["--limit", "nan"],
        ["--replicates", "1"],
        ["--replicates", "-5"],
        ["--method", "paper", "--components", "0"],
        ["--method", "paper", "--ranking", "svm"],
    ],
)
def test_senseless_settings_are_one_line(options, command):
    text = command.refusal("fit", command.put("v.csv", VOTES), "--out", "out", *options)
    assert not like("urlr", "setting_of_other_method").search(text)
    assert not like("urlr", "rule_of_paper").search(text)


@pytest.mark.parametrize(
    "options",
    [
        ["--components", "5"],
        ["--ranking", "svm"],
        ["--outlier-space", "items"],
        ["--solver", "grid"],
        ["--prune", "bic"],
        ["--method", "paper", "--limit", "0.3"],
        ["--method", "paper", "--replicates", "5"],
        ["--method", "paper", "--no-curved"],
    ],
)
def test_options_of_the_other_method_are_one_line_that_names_it(options, command):
    text = command.refusal("fit", command.put("v.csv", VOTES), "--out", "out", *options)
    owner = "robust" if "paper" in options else "paper"
    wrong = like("urlr", "setting_of_other_method", method=owner)
    if "--prune" in options:
        wrong = like("urlr", "rule_of_paper", value="bic")
    assert like("flows", "see_fit_help", wrong=wrong).search(text)


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
        command.put(name, content)
        assert name in command.refusal("fit", name, "--out", "out")
    nothing = message("no_such_file", path="nothing.csv")
    assert nothing in command.refusal("fit", "nothing.csv", "--out", "out")
    Path("folder.csv").mkdir()
    folder = message("directory_not_file", path="folder.csv")
    assert folder in command.refusal("fit", "folder.csv", "--out", "out")


# ---------------------------------------------------------------- results and models


def test_results_never_replace_their_own_input(command):
    command.put("v.csv", VOTES)
    command.put("f.csv", FEATURES)
    assert command("fit", "v.csv", "f.csv", "--out", "out") == 0
    text = command.refusal("fit", "out/verdicts.csv", "--out", "out", "--overwrite")
    assert of_flows("lies_in_out", path="out/verdicts.csv", out="out") in text
    text = command.refusal("score", "out", "f.csv", "--out", "f.csv", "--overwrite")
    assert of_flows("out_is_read", path="f.csv") in text


def test_a_failed_refit_leaves_the_old_results(command):
    assert command("fit", command.put("v.csv", VOTES), "--out", "out") == 0
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    command.put("v.csv", "winner,loser\na,a\n")
    command.refusal("fit", "v.csv", "--out", "out", "--overwrite")
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before


def test_score_refuses_what_is_no_model(command):
    command.put("f.csv", FEATURES)
    command.put("other.npz", "not a model")
    Path("empty").mkdir()
    other = command.refusal("score", "other.npz", "f.csv", "--out", "s.csv")
    assert of_method("not_a_model_file", name="other.npz", size=len("not a model")) in other
    assert "empty/model.npz" in command.refusal("score", "empty", "f.csv", "--out", "s.csv")
    nowhere = command.refusal("score", "nowhere", "f.csv", "--out", "s.csv")
    assert like("urlr", "no_model_file").search(nowhere)


def test_score_refuses_foreign_features_and_models_without(command):
    command.put("v.csv", VOTES)
    command.put("f.csv", FEATURES)
    assert command("fit", "v.csv", "--out", "bare") == 0
    bare = command.refusal("score", "bare", "f.csv", "--out", "s.csv")
    assert of_method("model_without_features", n_items=4) in bare
    assert command("fit", "v.csv", "f.csv", "--out", "out") == 0
    command.put("g.csv", "item,x\nq,1\n")
    missing = command.refusal("score", "out", "g.csv", "--out", "s.csv")
    assert of_method("lacking_columns", count=1, names=["y"]) in missing
    assert ".jsonl" in command.refusal("score", "out", "f.csv", "--out", "s.txt")


# ---------------------------------------------------------------- failures


def test_full_disk_is_one_line(command, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "fsync", full)
    text = command.refusal("fit", command.put("v.csv", VOTES), "--out", "out")
    assert "No space left on device" in text


def test_an_unexpected_error_is_one_line_that_says_how_to_learn_more(command, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(urlr, "fit", broken)
    command.put("v.csv", VOTES)
    assert command("fit", "v.csv", "--out", "out") == 1
    assert command.err.count("\n") == 1
    assert "ZeroDivisionError" in command.err
    assert "URLR_DEBUG=1" in command.err
    monkeypatch.setenv("URLR_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        command("fit", "v.csv", "--out", "out")
