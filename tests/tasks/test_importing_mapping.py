"""Importing by a mapping file: Mechanical Turk, any other table, and files that cannot be meant."""

import json

import pandas as pd
import pytest
from imported_votes import checked, reasons, refused, rows

from tasks.importing import MTURK, import_flat, read_mapping

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
    assert reasons(imported) == {"AssignmentStatus is Rejected": 1, "Answer.choice is unknown": 1}
    assert "WorkTimeInSeconds could not be read as seconds in 1 row (`soon`)" in imported.summary()


def test_what_every_batch_has_may_be_missing_unless_the_mapping_names_it(put):
    batch = put("batch.csv", "Input.left_id,Input.right_id,Answer.choice\n1,2,left\n")
    imported = checked(import_flat(batch, [read_mapping(put("m.toml", BATCH_MAPPING), base=MTURK)]))
    assert "no annotator (no column WorkerId)" in imported.summary()
    assert "no rows dropped by AssignmentStatus" in imported.summary()
    named = put("n.toml", 'annotator = "WorkerId"\n' + BATCH_MAPPING)
    text = refused(import_flat, batch, [read_mapping(named, base=MTURK)])
    assert "has no column `WorkerId`" in text


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
    assert reasons(imported) == {"test is true": 1}


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
    assert reasons(imported) == {"Answer.ok is no": 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('item_a = "x"\nitem_b = "y"\noutcom = "o"', "`outcom` (the nearest is `outcome`)"),
        ('item_a = "x"\noutcome = "o"', "which column is item_b"),
        ('item_a = "x"\nitem_b = "y"', "neither outcome nor winner"),
        ('item_a = "x"\nitem_b = "y"\noutcome = "o"\nwinner = "w"', "both outcome and winner"),
        ('item_a = 3\nitem_b = "y"\noutcome = "o"', "gives item_a as 3"),
        ('item_a = ""\nitem_b = "y"\noutcome = "o"', "name of a column in quotes"),
        ('item_a = "x"\nitem_b = "y"\noutcome = "o"\noutcomes = "a"', "as a table [outcomes]"),
        ('item_a = "x"\nitem_b = "y"\noutcome = "o"\n[outcomes]\nl = "left"', "to 'left'"),
        ('item_a = "x"\nitem_b = "y"\noutcome = "o"\n[outcomes]\nl.r = "a"', "needs quotes"),
        ('item_a = "x"\nitem_b = "y"\noutcome = "o"\n[outcomes]\nl = "a"\nL = "b"', "twice"),
        ('item_a = "x"\nitem_b = "y"\noutcome = "o"\n[drop]\nA.b = ["c"]', "column in quotes"),
        ('item_a = "x\nitem_b = "y"', "not valid TOML"),
        ("", "is empty"),
        ("\n", "is empty"),
    ],
)
def test_mapping_files_that_cannot_be_meant(content, said, put):
    text = refused(read_mapping, put("m.toml", content))
    assert "m.toml" in text
    assert said in text
