"""What `urlr` makes of odd but honest input: every row accounted for, every item ranked."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import urlr
from tasks.read import read_table
from tasks.write import write_table
from urlr.messages import message

FEATURES = "item,x,y\na,1,2\nb,2,5\nc,4,1\nd,0,1\n"
VOTES = "winner,loser\na,b\nb,c\nc,d\na,d\na,c\nb,d\nd,a\n"


def scores(directory: str = "out") -> pd.DataFrame:
    table = read_table(Path(directory, "scores.csv"))
    assert np.isfinite(table["score"]).all()
    return table


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
def test_read_is_used_and_ties_and_skipped_and_rejected(rows, command, method):
    frame = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "weight"], dtype="str")
    write_table(frame, "v.csv")
    if command("fit", "v.csv", "--out", "out", "--overwrite", *method) == 1:
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


def test_one_vote_ranks_two_items(command, method):
    command.put("v.csv", "winner,loser\na,b\n")
    assert command("fit", "v.csv", "--out", "out", *method) == 0
    assert scores()["item"].tolist() == ["a", "b"]
    assert "Look at out/report.html" in command.out


def test_one_vote_with_features(command, method):
    command.put("v.csv", "winner,loser\na,b\n")
    command.put("f.csv", FEATURES)
    assert command("fit", "v.csv", "f.csv", "--out", "out", *method) == 0
    assert len(scores()) == 4


def test_identical_votes_rank_the_pair(command, method):
    command.put("v.csv", "winner,loser\n" + "a,b\n" * 500)
    assert command("fit", "v.csv", "--out", "out", *method) == 0
    assert scores()["wins"].tolist() == [500, 0]


def test_missing_feature_values_are_imputed(command, method):
    command.put("v.csv", VOTES)
    command.put("f.csv", "item,x,y\na,,2\nb,NaN,5\nc,4,1\nd,0,NA\n")
    assert command("fit", "v.csv", "f.csv", "--out", "out", *method) == 0
    assert len(scores()) == 4


def test_absurd_weights_are_rejected_and_the_rest_counts(command, method):
    command.put("v.csv", "winner,loser,weight\na,b,1e300\nb,c,1\nc,d,1\n")
    assert command("fit", "v.csv", "--out", "out", *method) == 0
    assert len(scores()) == 3
    assert read_table("out/rejected.csv")["weight"].tolist() == [1e300]


@pytest.mark.full
def test_two_million_votes_on_one_pair(command):
    first = np.arange(2_000_000) % 3 > 0
    pair = pa.array(["a", "b"])
    columns = {
        "winner": pair.take(pa.array(np.where(first, 0, 1))),
        "loser": pair.take(pa.array(np.where(first, 1, 0))),
    }
    pq.write_table(pa.table(columns), "v.parquet")
    line = "fit v.parquet --out out --format parquet --replicates 0"
    assert command(*line.split()) == 0
    table = read_table("out/scores.parquet")
    assert table["item"].tolist() == ["a", "b"]
    assert table["n_votes"].tolist() == [2_000_000, 2_000_000]
    assert pq.read_metadata("out/verdicts.parquet").num_rows == 2_000_000


def test_votes_on_an_item_without_features_are_rejected_by_name(command):
    command.put("v.csv", VOTES + "a,z\n")
    command.put("f.csv", FEATURES)
    assert command("fit", "v.csv", "f.csv", "--out", "out") == 0
    rejected = read_table("out/rejected.csv")
    assert rejected[["vote_id", "winner", "loser"]].iloc[0].tolist() == ["7", "a", "z"]
    assert rejected["reason"].tolist() == [message("item_without_features")]


def test_csv_votes_match_whole_number_features(command):
    command.put("v.csv", VOTES.translate(str.maketrans("abcd", "1234")))
    lines = FEATURES.translate(str.maketrans("abcd", "1234")).splitlines()[1:]
    items = [[int(cell) for cell in line.split(",")] for line in lines]
    frame = pd.DataFrame(items, columns=["item", "x", "y"])
    frame.to_parquet("f.parquet")
    assert command("fit", "v.csv", "f.parquet", "--out", "out") == 0
    assert sorted(urlr.load("out/model.npz").scores["item"]) == [1, 2, 3, 4]
    assert command("score", "out", "f.parquet", "--out", "s.parquet") == 0
    assert sorted(read_table("s.parquet")["item"]) == [1, 2, 3, 4]


def test_leading_zeros_keep_text_and_whole_numbers_apart(command):
    command.put("v.csv", "winner,loser\n01,02\n02,03\n")
    command.put("f.jsonl", "".join(json.dumps({"item": k, "x": k * k}) + "\n" for k in (1, 2, 3)))
    text = command.refusal("fit", "v.csv", "f.jsonl", "--out", "out")
    assert "(text)" in text
    assert "(number)" in text


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_mixed_ids_do_not_stop_the_results(form, command, method):
    lines = [
        {"winner": 1, "loser": "x", "annotator": 3, "vote_id": True},
        {"winner": "x", "loser": "y", "annotator": "p", "extra": {"a": [1]}},
        {"winner": "", "loser": 2, "extra": 5},
    ]
    command.put("v.jsonl", "\n".join(json.dumps(line) for line in lines))
    assert command("fit", "v.jsonl", "--out", "out", "--format", form, *method) == 0
    assert read_table(f"out/scores.{form}")["item"].tolist() == ["1", "x", "y"]
    if "paper" not in method:
        assert sorted(read_table(f"out/annotators.{form}")["annotator"]) == ["3", "p"]
    assert len(read_table(f"out/rejected.{form}")) == 1


def test_control_signs_of_ids_never_reach_the_terminal(command):
    command.put("v.csv", 'winner,loser\n\x1b[31mred,b\nb,"x\n\u202ey"\n')
    command.put("f.csv", 'item,x\n\x1b[31mred,3\nb,2\n"x\n\u202ey",1\n')
    assert command("fit", "v.csv", "--out", "out") == 0
    assert all(line.isprintable() for line in command.out.split("\n"))
    assert scores()["item"].tolist() == ["[31mred", "b", "xy"]
    assert command("fit", "v.csv", "f.csv", "--out", "with") == 0
    assert command("score", "with", "f.csv", "--out", "s.csv") == 0
    assert all(line.isprintable() for line in command.out.split("\n"))


def test_seconds_and_sides_of_a_file_reach_the_annotators(command):
    rows = [("a", "b", "ann", "a", 1.0), ("b", "c", "ann", "b", 2.0), ("a", "c", "ann", "c", 6.0)]
    rows += [("a", "b", "bob", "b", 4.0), ("b", "c", "bob", "c", 4.0)]
    frame = pd.DataFrame(rows, columns=["winner", "loser", "annotator", "left", "seconds"])
    write_table(frame, "v.csv")
    assert command("fit", "v.csv", "--out", "out", "--replicates", "0") == 0, command.err
    found = read_table("out/annotators.csv").set_index("annotator")
    assert found["seconds"].to_dict() == {"ann": 2.0, "bob": 4.0}
    assert found["left"].round(3).to_dict() == {"ann": 0.667, "bob": 0.0}
