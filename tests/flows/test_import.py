"""`urlr import` as people type it: from the files of other tools to votes that `urlr fit` ranks."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import urlr
from tasks.read import read_table, read_votes

ARENA = (
    "model_a,model_b,winner,judge,tstamp\n"
    "x,y,model_a,j1,1682351591\n"
    "y,z,model_a,j1,1682351592\n"
    "x,z,model_a,j2,1682351593\n"
    "z,y,model_b,j2,1682351594\n"
    "x,y,tie,j2,1682351595\n"
    "x,y,both,j2,1682351596\n"
)
CONFIG = (
    '<View><Pairwise name="pw" toName="a,b"/>'
    '<Text name="a" value="$text_a"/><Text name="b" value="$text_b"/></View>'
)
MAPPING = 'item_a = "Input.l"\nitem_b = "Input.r"\nwinner = "Answer.best"\n'
BATCH = (
    "WorkerId,AssignmentId,AssignmentStatus,WorkTimeInSeconds,Input.l,Input.r,Answer.best\n"
    "W1,A1,Approved,12,007,8,007\nW2,A2,Rejected,2,007,8,8\n"
)
TASKS = [
    {
        "id": 1,
        "data": {"text_a": "p", "text_b": "q"},
        "annotations": [
            {"id": 1, "result": [{"from_name": "pw", "value": {"selected": "left"}}]},
            {"id": 2, "result": []},
            {"id": 3, "result": [], "was_cancelled": True},
        ],
    }
]
RANKING = [{"rank": 1, "value": "p"}, {"rank": 2, "value": "q"}, {"rank": 2, "value": "r"}]
RECORDS = [
    {"id": 1, "responses": [{"user_id": "u", "value": RANKING, "status": "submitted"}]},
    {"id": 2, "responses": [{"user_id": "u", "value": RANKING, "status": "draft"}]},
]
SOURCES = [
    "label-studio",
    "argilla",
    "arena",
    "crowd-kit",
    "evalica",
    "preference",
    "mturk",
    "mapping",
]

CASES = {
    "label-studio export.json --config config.xml": (
        "3 rows of export.json: 1 vote, 0 ties, 1 skipped, 1 dropped.",
        "  1 dropped: annotation is cancelled",
    ),
    "argilla records.jsonl": (
        "4 rows of records.jsonl: 2 votes, 1 tie, 0 skipped, 1 dropped.",
        "  1 dropped: status is draft",
    ),
    "arena battles.csv": (
        "6 rows of battles.csv: 4 votes, 1 tie, 0 skipped, 1 dropped.",
        "  1 dropped: winner is unknown (`both`)",
    ),
    "crowd-kit crowd.csv": (
        "3 rows of crowd.csv: 2 votes, 0 ties, 0 skipped, 1 dropped.",
        "  1 dropped: label is neither left nor right (`c`)",
    ),
    "evalica evalica.csv": (
        "3 rows of evalica.csv: 1 vote, 1 tie, 0 skipped, 1 dropped.",
        "  1 dropped: winner is unknown (an empty cell)",
    ),
    "preference pairs.jsonl": (
        "2 rows of pairs.jsonl: 1 vote, 0 ties, 0 skipped, 1 dropped.",
        "  1 dropped: missing item",
    ),
    "mturk batch.csv --mapping m.toml": (
        "2 rows of batch.csv: 1 vote, 0 ties, 0 skipped, 1 dropped.",
        "  1 dropped: AssignmentStatus is Rejected",
    ),
    "mapping batch.csv --mapping m.toml": (
        "2 rows of batch.csv: 2 votes, 0 ties, 0 skipped, 0 dropped.",
    ),
}


@pytest.fixture
def files(command):
    """A small export of every kind."""
    command.put("battles.csv", ARENA)
    command.put("crowd.csv", "worker,left,right,label\nw,a,b,a\nw,a,b,b\nw,a,b,c\n")
    command.put("evalica.csv", "left,right,winner\na,b,left\na,b,tie\na,b,\n")
    command.put("pairs.jsonl", '{"chosen": "p", "rejected": "q"}\n{"chosen": "p"}\n')
    command.put("config.xml", CONFIG)
    command.put("export.json", json.dumps(TASKS))
    command.put("records.jsonl", "\n".join(map(json.dumps, RECORDS)))
    command.put("m.toml", MAPPING)
    command.put("batch.csv", BATCH)
    return command


@pytest.mark.parametrize("line", CASES)
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl.gz"])
def test_every_source_is_accounted_for_and_taken_by_the_method(line, ending, files):
    out = f"votes.{ending}"
    assert files("import", *shlex.split(line), "--out", out) == 0, files.err
    assert files.err == ""
    for said in CASES[line]:
        assert said in files.out
    assert f"to {out}: item_a, item_b, outcome" in files.out
    assert f"Next: urlr fit {out} --out ranking" in files.out
    votes = read_votes(out)
    counts = urlr.vote_table(votes).counts
    assert counts["rejected"] == 0
    assert f"Wrote {len(votes)} row" in files.out
    assert f"{counts['used']} vote" in files.out


def test_imported_votes_are_ranked(files):
    assert files("import", "arena", "battles.csv", "--out", "votes.parquet") == 0
    assert files("fit", "votes.parquet", "--out", "ranking", "--replicates", "0") == 0, files.err
    assert "Ranked 3 items from 5 votes: 4 used, 1 tie, 0 skipped, 0 rejected." in files.out
    assert read_table("ranking/scores.csv")["item"].tolist() == ["x", "y", "z"]
    assert sorted(read_table("ranking/annotators.csv")["annotator"]) == ["j1", "j2"]


def test_imported_rankings_are_ranked(files):
    assert files("import", "argilla", "records.jsonl", "--out", "v.csv", "--no-prefix-record") == 0
    assert "each pair of a ranking of k options weighs 2/k" in files.out
    assert files("fit", "v.csv", "--out", "ranking", "--replicates", "0") == 0, files.err
    assert read_table("ranking/scores.csv")["item"].tolist()[0] == "p"


def test_options_reach_the_import(files):
    tasks = [TASKS[0] | {"data": {"text_a": "p", "text_b": "q", "l": 1, "r": 2}}]
    files.put("export.json", json.dumps(tasks))
    line = "import label-studio export.json --config config.xml --id-fields l,r --question pw"
    assert files(*shlex.split(line), "--out", "v.jsonl") == 0
    votes = read_votes("v.jsonl")
    assert votes["item_a"].tolist() == [1, 1]
    assert votes["attribute"].unique().tolist() == ["pw"]
    assert files("import", "argilla", "records.jsonl", "--prefix-record", "--out", "v.csv") == 0
    assert read_votes("v.csv")["item_a"].tolist() == ["1:p", "1:p", "1:q"]


def test_names_are_shown_but_never_acted_on(files):
    nasty = "\x1b[31m<script>"
    files.put("battles.csv", ARENA.replace("both", nasty).replace("x,y", f"{nasty},y"))
    assert files("import", "arena", "battles.csv", "--out", "v.csv") == 0
    assert "\x1b" not in files.out
    assert nasty in read_votes("v.csv")["item_a"].tolist()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("arena crowd.csv", "crowd.csv has no column `model_a`"),
        ("arena none.csv", "there is no file none.csv"),
        ("evalica battles.csv", "battles.csv has no column `left`"),
        ("mturk batch.csv --mapping none.toml", "there is no file none.toml"),
        ("mturk batch.csv --mapping config.xml", "config.xml is not valid TOML"),
        ("mapping crowd.csv --mapping m.toml", "crowd.csv has no column `Input.l`"),
        ("label-studio records.jsonl --config config.xml", "records.jsonl has no annotations"),
        ("label-studio battles.csv --config config.xml", "battles.csv: cannot tell the format"),
        ("label-studio export.json --config m.toml", "m.toml is not valid XML"),
        ("label-studio export.json --config config.xml --question q", "no pairwise question `q`"),
        ("argilla export.json", "export.json has no responses"),
        ("argilla records.jsonl --question q", "no question `q`"),
    ],
)
def test_hopeless_exports_are_one_line(line, said, files):
    assert said in files.refusal("import", *shlex.split(line), "--out", "votes.csv")


def test_results_never_replace_their_input_or_what_is_there_unasked(files):
    line = ("import", "mturk", "batch.csv", "--mapping", "m.toml")
    assert "is a file to be read" in files.refusal(*line, "--out", "batch.csv", "--overwrite")
    files.put("votes.csv", "old")
    assert "votes.csv exists" in files.refusal(*line, "--out", "votes.csv")
    assert ".parquet" in files.refusal(*line, "--out", "votes.txt")
    assert Path("votes.csv").read_text() == "old"
    assert files(*line, "--out", "votes.csv", "--overwrite") == 0
    assert read_votes("votes.csv")["item_a"].tolist() == ["007"]


def test_a_failed_import_leaves_the_old_votes(files):
    assert files("import", "arena", "battles.csv", "--out", "votes.csv") == 0
    before = Path("votes.csv").read_bytes()
    files.put("battles.csv", ARENA.replace("model_", "item_"))
    files.refusal("import", "arena", "battles.csv", "--out", "votes.csv", "--overwrite")
    assert Path("votes.csv").read_bytes() == before


# ---------------------------------------------------------------- usage


@pytest.mark.parametrize(
    "line",
    [
        "import",
        "import nothing f.csv --out v.csv",
        "import arena",
        "import arena f.csv",
        "import arena f.csv --out v.csv --mapping m.toml",
        "import mturk f.csv --out v.csv",
        "import label-studio f.json --out v.csv",
        "import label-studio f.json --config c.xml --id-fields one --out v.csv",
        "import label-studio f.json --config c.xml --id-fields one, --out v.csv",
    ],
)
def test_wrong_usage_ends_with_code_2(line, command):
    assert command(*shlex.split(line)) == 2
    assert "usage: urlr" in command.err


@pytest.mark.parametrize("source", [None, *SOURCES])
def test_help_shows_examples(source, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert command("import", *([source] if source else []), "--help") == 0
    assert "examples:\n  urlr import" in command.out
    assert max(map(len, command.out.splitlines())) <= 81


def test_help_names_every_source(command):
    assert command("--help") == 0
    assert "import" in command.out
    assert command("import", "--help") == 0
    assert all(f"\n    {source}" in command.out for source in SOURCES)


def test_the_mapping_file_of_the_help_works(command):
    assert command("import", "mapping", "--help") == 0
    text = command.out.split("which column is what:\n")[1].split("\nexamples:")[0]
    command.put("m.toml", text)
    header = "WorkerId,AssignmentStatus,Input.left_id,Input.right_id,Answer.choice"
    command.put("b.csv", f"{header}\nw,Approved,1,2,Left\nw,Approved,1,2,\nw,Rejected,1,2,left\n")
    assert command("import", "mapping", "b.csv", "--mapping", "m.toml", "--out", "v.csv") == 0
    assert "3 rows of b.csv: 1 vote, 0 ties, 1 skipped, 1 dropped." in command.out


def test_help_loads_nothing_heavy():
    script = (
        "import sys\n"
        "from flows.cli import main\n"
        "try:\n"
        "    main(['import', 'arena', '--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "sys.exit(', '.join({'numpy', 'pandas', 'urlr', 'tasks'} & set(sys.modules)) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
