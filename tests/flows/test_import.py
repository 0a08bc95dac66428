"""`urlr import` as people type it: from the files of other tools to votes that `urlr fit` ranks."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import urlr
from flows.messages import message as of_flows
from tasks.importing import Dropped
from tasks.messages import message
from tasks.read import read_table, read_votes
from urlr.messages import message as of_method

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


def read(source: str, rows: int, *, votes: int, ties: int = 0, skipped: int = 0, dropped: int = 0):
    """What is said of a file that was read."""
    return message(
        "rows_read",
        source=source,
        read=rows,
        votes=votes,
        ties=ties,
        skipped=skipped,
        dropped=dropped,
    )


CASES = {
    "label-studio export.json --config config.xml": (
        read("export.json", 3, votes=1, skipped=1, dropped=1),
        Dropped(message("column_says", column="annotation", word="cancelled"), 1),
    ),
    "argilla records.jsonl": (
        read("records.jsonl", 4, votes=2, ties=1, dropped=1),
        Dropped(message("column_says", column="status", word="draft"), 1),
    ),
    "arena battles.csv": (
        read("battles.csv", 6, votes=4, ties=1, dropped=1),
        Dropped(message("column_is_unknown", column="winner"), 1, ("`both`",)),
    ),
    "crowd-kit crowd.csv": (
        read("crowd.csv", 3, votes=2, dropped=1),
        Dropped(
            message("column_names_neither", column="label", item_a="left", item_b="right"),
            1,
            ("`c`",),
        ),
    ),
    "evalica evalica.csv": (
        read("evalica.csv", 3, votes=1, ties=1, dropped=1),
        Dropped(message("column_is_unknown", column="winner"), 1, (message("an_empty_cell"),)),
    ),
    "preference pairs.jsonl": (
        read("pairs.jsonl", 2, votes=1, dropped=1),
        Dropped(of_method("missing_item"), 1),
    ),
    "mturk batch.csv --mapping m.toml": (
        read("batch.csv", 2, votes=1, dropped=1),
        Dropped(message("column_says", column="AssignmentStatus", word="Rejected"), 1),
    ),
    "mapping batch.csv --mapping m.toml": (read("batch.csv", 2, votes=2),),
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
    summary, *dropped = CASES[line]
    assert files.out.splitlines()[: 1 + len(dropped)] == [summary, *(f"  {one}" for one in dropped)]
    votes = read_votes(out)
    columns = ", ".join(read_table(out).columns)
    assert columns.startswith("item_a, item_b, outcome")
    assert of_flows("votes_written", count=len(votes), path=out, columns=columns) in files.out
    assert of_flows("fit_next", path=out) in files.out
    counts = urlr.vote_table(votes).counts
    assert counts["rejected"] == 0
    assert f"{counts['used']} vote" in files.out


def test_imported_votes_are_ranked(files):
    assert files("import", "arena", "battles.csv", "--out", "votes.parquet") == 0
    assert files("fit", "votes.parquet", "--out", "ranking", "--replicates", "0") == 0, files.err
    rows = {"read": 5, "used": 4, "ties": 1, "skipped": 0, "rejected": 0}
    assert of_method("summary_of_rows", n_items=3, rows=rows) in files.out
    assert read_table("ranking/scores.csv")["item"].tolist() == ["x", "y", "z"]
    assert sorted(read_table("ranking/annotators.csv")["annotator"]) == ["j1", "j2"]


def test_imported_rankings_are_ranked(files):
    assert files("import", "argilla", "records.jsonl", "--out", "v.csv", "--no-prefix-record") == 0
    assert message("rankings_as_pairs", responses=2, rankings=1, pairs=3) in files.out
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
    assert nasty[1:] in read_votes("v.csv")["item_a"].tolist()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("arena crowd.csv", ("crowd.csv", "`model_a`")),
        ("arena none.csv", (message("no_such_file", path="none.csv"),)),
        ("evalica battles.csv", ("battles.csv", "`left`")),
        ("mturk batch.csv --mapping none.toml", (message("no_such_file", path="none.toml"),)),
        ("mturk batch.csv --mapping config.xml", ("config.xml", "TOML")),
        ("mapping crowd.csv --mapping m.toml", ("crowd.csv", "`Input.l`")),
        (
            "label-studio records.jsonl --config config.xml",
            (message("no_annotations", where="records.jsonl"),),
        ),
        ("label-studio battles.csv --config config.xml", ("battles.csv", ".jsonl")),
        ("label-studio export.json --config m.toml", ("m.toml", "XML")),
        (
            "label-studio export.json --config config.xml --question q",
            (message("a_pairwise_question"), "`q`"),
        ),
        ("argilla export.json", (message("no_responses", where="export.json"),)),
        ("argilla records.jsonl --question q", (message("a_question"), "`q`")),
    ],
)
def test_hopeless_exports_are_one_line(line, named, files):
    said = files.refusal("import", *shlex.split(line), "--out", "votes.csv")
    assert all(name in said for name in named)


def test_results_never_replace_their_input_or_what_is_there_unasked(files):
    line = ("import", "mturk", "batch.csv", "--mapping", "m.toml")
    said = files.refusal(*line, "--out", "batch.csv", "--overwrite")
    assert of_flows("out_is_read", path="batch.csv") in said
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
    assert read("b.csv", 3, votes=1, skipped=1, dropped=1) in command.out


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
