"""Importing by a mapping file: Mechanical Turk, any other table, and files that cannot be meant."""

import json
import re

import pandas as pd
import pytest
from imported_votes import checked, note, reasons, refused, rows

from tasks.importing import MTURK, import_flat, read_mapping
from tasks.messages import message

BATCH = (
    '"HITId","WorkerId","AssignmentId","AssignmentStatus","WorkTimeInSeconds","SubmitTime",'
    '"Input.left_id","Input.right_id","Answer.choice"\n'
    '"h","W1","A1","Approved","12","Tue Mar 09 14:03:22 PST 2021","007","8","left"\n'
    '"h","W2","A2","Submitted","9","Tue Mar 09 14:04:22 PST 2021","007","8","Right"\n'
    '"h","W3","A3","Rejected","1","Tue Mar 09 14:05:22 PST 2021","007","8","left"\n'
    '"h","W3","A4","Approved","soon","never","8","9","same"\n'
    '"h","W4","A5","Approved","3","Tue Mar 09 14:05:22 PST 2021","8","9",""\n'
    '"h","W5","A6","Approved","3","Tue Mar 09 14:05:22 PST 2021","8","9","dunno"\n'
)
BATCH_MAPPING = """
item_a = "Input.left_id"
item_b = "Input.right_id"
outcome = "Answer.choice"
left = "item_a"
[outcomes]
left = "a"
right = "b"
same = "tie"
"" = "skip"
"""
ITEMS = 'item_a = "x"\nitem_b = "y"\n'


def test_mturk(put):
    mapping = read_mapping(put("m.toml", BATCH_MAPPING), base=MTURK)
    imported = checked(import_flat(put("batch.csv", BATCH), [mapping]))
    assert rows(imported, "item_a", "item_b", "outcome", "annotator", "left", "vote_id") == [
        ("007", "8", "a", "W1", "a", "A1"),
        ("007", "8", "b", "W2", "a", "A2"),
        ("8", "9", "tie", "W3", "a", "A4"),
        ("8", "9", "skip", "W4", "a", "A5"),
    ]
    assert imported.votes["seconds"].tolist()[:2] == [12.0, 9.0]
    assert imported.votes["time"][0] == pd.Timestamp("2021-03-09 22:03:22", tz="UTC")
    assert reasons(imported) == {
        "column_says AssignmentStatus Rejected": 1,
        "column_is_unknown Answer.choice": 1,
    }
    unread = [one.fields for one in imported.notes if one.fields["part"] == "seconds"]
    assert [(one["column"], one["seen"]) for one in unread] == [("WorkTimeInSeconds", ["`soon`"])]


def test_what_every_batch_has_may_be_missing_unless_the_mapping_names_it(put):
    batch = put("batch.csv", "Input.left_id,Input.right_id,Answer.choice\n1,2,left\n")
    imported = checked(import_flat(batch, [read_mapping(put("m.toml", BATCH_MAPPING), base=MTURK)]))
    lacking = note(imported, "file_lacks")["lacking"]
    assert message("lacks_part", part="annotator", column="WorkerId") in lacking
    assert message("lacks_rows_to_drop", column="AssignmentStatus") in lacking
    named = put("n.toml", 'annotator = "WorkerId"\n' + BATCH_MAPPING)
    said = refused(import_flat, batch, [read_mapping(named, base=MTURK)])
    assert (said.code, said.fields["name"]) == ("missing_name", "WorkerId")
    assert said.fields["what"].code == "a_column"


def test_a_mapping_file_alone_describes_any_table(put):
    mapping = read_mapping(
        put(
            "m.toml",
            'item_a = "x"\nitem_b = "y"\noutcome = "o"\nweight = "w"\n[drop]\ntest = [true, 1]\n',
        )
    )
    lines = [
        {"x": 1, "y": 2, "o": "a", "w": 2, "test": False},
        {"x": 1, "y": 2, "o": "B", "w": 1, "test": None},
        {"x": 1, "y": 2, "o": "a", "w": 1, "test": True},
        {"x": 1, "y": 2, "o": "skip", "w": None, "test": "1.5"},
    ]
    path = put("v.jsonl", "\n".join(map(json.dumps, lines)))
    imported = checked(import_flat(path, [mapping]))
    assert rows(imported, "item_a", "outcome") == [(1, "a"), (1, "b"), (1, "skip")]
    assert reasons(imported) == {"column_says test true": 1}


def test_words_with_dots_and_columns_with_spaces_need_quotes_only(put):
    mapping = read_mapping(
        put(
            "m.toml",
            'item_a = "item 1"\nitem_b = "item 2"\noutcome = "o"\n'
            '[outcomes]\n"1.0" = "a"\n2 = "b"\n[drop]\n"Answer.ok" = "no"\n',
        )
    )
    content = "item 1,item 2,o,Answer.ok\np,q,1.0,yes\np,q,2,\np,q,2,NO\n"
    imported = checked(import_flat(put("v.csv", content), [mapping]))
    assert imported.votes["outcome"].tolist() == ["a", "b"]
    assert reasons(imported) == {"column_says Answer.ok no": 1}


@pytest.mark.parametrize(
    ("content", "code", "named"),
    [
        (f'{ITEMS}outcom = "o"', "unknown_mapping_key", "`outcom` .*`outcome`"),
        ('item_a = "x"\noutcome = "o"', "part_without_column", "item_b"),
        (ITEMS, "neither_outcome_nor_winner", ""),
        (f'{ITEMS}outcome = "o"\nwinner = "w"', "outcome_and_winner", ""),
        ('item_a = 3\nitem_b = "y"\noutcome = "o"', "not_a_column", "item_a .*3"),
        ('item_a = ""\nitem_b = "y"\noutcome = "o"', "not_a_column", "item_a .*''"),
        (f'{ITEMS}outcome = "o"\noutcomes = "a"', "not_a_toml_table", r"\[outcomes\]"),
        (f'{ITEMS}outcome = "o"\n[outcomes]\nl = "left"', "unknown_meaning", "`l` .*'left'"),
        (f'{ITEMS}outcome = "o"\n[outcomes]\nl.r = "a"', "unknown_meaning", "`l`"),
        (
            f'{ITEMS}outcome = "o"\n[outcomes]\nl = "a"\nL = "b"',
            "outcome_translated_twice",
            "`L`",
        ),
        (f'{ITEMS}outcome = "o"\n[drop]\nA.b = ["c"]', "not_words_to_drop", "`A`"),
        ('item_a = "x\nitem_b = "y"', "mapping_not_toml", ""),
        ("", "no_bytes_in_file", ""),
        ("\n", "no_text_in_file", ""),
    ],
)
def test_mapping_files_that_cannot_be_meant(content, code, named, put):
    said = refused(read_mapping, put("m.toml", content))
    assert said.code == code
    assert "m.toml" in said
    assert re.search(named, said)
