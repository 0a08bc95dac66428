"""Importing flat tables: every row accounted for, the traps of every tool, mapping files."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imported_votes import LEAVES, attempt, checked, note, objects, reasons, refused, rows

from tasks.importing import PRESETS, Mapping, import_flat, import_table
from tasks.messages import message
from tasks.write import write_table
from urlr.messages import message as of_method

EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORDS = Mapping(
    item_a="one",
    item_b="two",
    outcome="said",
    outcomes={"left": "a", "right": "b", "same": "tie", "": "skip"},
    drop={"state": ("bad", "ugly")},
)


# ---------------------------------------------------------------- the mechanism

CELLS = st.sampled_from(["left", "RIGHT ", "same", "", None, "up", "down", "both"])


@EXAMPLES
@given(
    cells=st.lists(
        st.tuples(
            st.sampled_from(["p", "q", "", " ", None]),
            st.sampled_from(["p", "r", "é\n", None]),
            CELLS,
            st.sampled_from([None, "fine", "Bad", "ugly"]),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_rows_in_are_rows_accounted_for(cells):
    table = pd.DataFrame(cells, columns=["one", "two", "said", "state"], dtype="str")
    states = [state if state in ("Bad", "ugly") else None for *_, state in cells]
    known = {"left": "a", "RIGHT ": "b", "same": "tie", "": "skip", None: "skip"}
    said = [row[2] for row, state in zip(cells, states, strict=True) if state is None]
    n_unknown = sum(word not in known for word in said)
    imported = attempt(import_table, table, WORDS, where="t")
    if isinstance(imported, str):
        mostly = n_unknown > 0.5 * len(said)
        assert imported.code == ("mostly_unknown" if mostly else "no_vote_left")
        assert not mostly or imported.fields["count"] == n_unknown
        return
    assert imported.counts["read"] == len(cells)
    found = reasons(imported)
    assert found.get("column_says state bad", 0) == states.count("Bad")
    assert found.get("column_says state ugly", 0) == states.count("ugly")
    assert found.get("column_is_unknown said", 0) == n_unknown
    assert imported.counts["skipped"] == sum(known.get(word) == "skip" for word in said)


def test_unknown_values_are_shown_three_of_them():
    said = ["left"] * 5 + ["u", "v", "w", "x"]
    table = pd.DataFrame({"one": "p", "two": "q", "said": said, "state": ""})
    imported = checked(import_table(table, WORDS, where="t"))
    [dropped] = imported.dropped
    assert (dropped.count, dropped.examples) == (4, ("`u`", "`v`", "`w`"))
    assert dropped.reason.code == "column_is_unknown"
    assert f"  {dropped}\n" in f"{imported.summary()}\n"
    assert "`u`, `v`, `w`" in str(dropped)


def test_mostly_unknown_values_are_refused_with_what_was_seen():
    table = pd.DataFrame({"one": "p", "two": "q", "said": ["1", "2", "left"], "state": ""})
    said = refused(import_table, table, WORDS, where="votes.csv")
    assert (said.code, said.fields["where"]) == ("mostly_unknown", "votes.csv")
    assert said.fields["reason"].code == "column_is_unknown"
    assert said.fields["reason"].fields == {"column": "said"}
    assert (said.fields["count"], said.fields["total"]) == (2, 3)
    assert said.fields["seen"] == ["`1`", "`2`"]
    *known, empty = said.fields["known"]
    assert (known, empty.code) == (["left", "right", "same"], "an_empty_cell")


def test_rows_dropped_for_another_reason_do_not_hide_unknown_values():
    states = ["bad"] * 8 + [""] * 2
    table = pd.DataFrame({"one": "p", "two": "q", "said": "?", "state": states})
    said = refused(import_table, table, WORDS, where="t")
    assert (said.code, said.fields["count"], said.fields["total"]) == ("mostly_unknown", 2, 2)


def test_a_winner_is_told_by_its_id_and_other_words_are_translated():
    mapping = Mapping(item_a="one", item_b="two", winner="best", outcomes={"tie": "tie"})
    table = pd.DataFrame({"one": [7, 7, 7, 7], "two": [8, 8, 8, 8], "best": [7, 8, "Tie", "7"]})
    imported = checked(import_table(table, mapping, where="t"))
    assert imported.votes["outcome"].tolist() == ["a", "b", "tie"]
    assert reasons(imported) == {"column_names_neither best one two": 1}


def test_what_was_on_the_left_is_told_by_its_id_or_by_a_letter():
    mapping = Mapping(item_a="one", item_b="two", winner="item_a", left="shown")
    table = pd.DataFrame({"one": "p", "two": "q", "shown": ["q", "p", "A", "b", None, "z"]})
    imported = checked(import_table(table, mapping, where="t"))
    assert imported.votes["left"].fillna("").tolist() == ["b", "a", "a", "b", "", ""]
    assert note(imported, "cells_not_read") == {
        "column": "shown",
        "part": "left",
        "count": 1,
        "seen": ["`z`"],
    }


def test_times_of_every_kind_are_moments_in_utc():
    cells = [
        "1682351591.25",
        "1682351591250",
        "2023-04-24T15:53:11.25Z",
        "2023-04-24 17:53:11.250+02:00",
        "Mon Apr 24 08:53:11 PDT 2023",
        "Mon Apr 24 07:53:11 PST 2023",
        "last week",
        None,
    ]
    mapping = Mapping(item_a="one", item_b="two", winner="item_a", time="when")
    table = pd.DataFrame({"one": "p", "two": "q", "when": cells})
    imported = checked(import_table(table, mapping, where="t"))
    moment = pd.Timestamp("2023-04-24 15:53:11.25", tz="UTC")
    assert imported.votes["time"][:4].tolist() == [moment] * 4
    assert imported.votes["time"][4:6].tolist() == [moment.floor("s")] * 2
    assert imported.votes["time"][6:].isna().all()
    unread = note(imported, "cells_not_read")
    assert (unread["column"], unread["part"], unread["count"]) == ("when", "time", 1)
    assert unread["seen"] == ["`last week`"]


def test_moments_stay_moments():
    times = pd.to_datetime(["2024-01-01 12:00", None]).tz_localize("Europe/Berlin")
    mapping = Mapping(item_a="one", item_b="two", winner="item_a", time="when")
    for column in (times, times.tz_convert("UTC").tz_localize(None)):
        table = pd.DataFrame({"one": "p", "two": "q", "when": column})
        time = checked(import_table(table, mapping, where="t")).votes["time"]
        assert time[0] == pd.Timestamp("2024-01-01 11:00", tz="UTC")
        assert pd.isna(time[1])


def test_rows_that_the_method_would_reject_are_dropped_for_its_reasons():
    mapping = Mapping(item_a="one", item_b="two", winner="item_a", vote_id="id", weight="w")
    table = pd.DataFrame(
        {
            "one": ["p", "p", None, "p", "p", "p"],
            "two": ["q", "p", "q", " ", "q", "q"],
            "id": ["1", "2", "3", "4", "1", "5"],
            "w": ["2", "1", "1", "1", "1", "heavy"],
        }
    )
    imported = checked(import_table(table, mapping, where="t"))
    assert reasons(imported) == {
        "self_comparison": 1,
        "missing_item": 1,
        "empty_item_id": 1,
        "repeated_vote_id": 1,
        "unusable_weight": 1,
    }
    assert rows(imported, "vote_id", "weight") == [("1", 2.0)]


def test_names_that_are_lists_are_left_empty_and_told_of(put):
    mapping = Mapping(item_a="one", item_b="two", outcome="said", annotator="who")
    mapping = replace(mapping, outcomes={"left": "a", "": "skip"})
    lines = [
        {"one": "p", "two": "q", "said": "left", "who": ["me", "you"]},
        {"one": {"x": 1}, "two": "q", "said": None, "who": "me"},
    ]
    path = put("v.jsonl", "\n".join(map(json.dumps, lines)))
    imported = checked(import_flat(path, [mapping]))
    assert imported.votes["annotator"].isna().tolist() == [True, False]
    assert imported.votes["item_a"].isna().tolist() == [False, True]
    unread = {one.fields["column"]: one.fields for one in imported.notes}
    assert unread["who"]["part"] == "annotator"
    assert unread["who"]["seen"] == ["`['me', 'you']`"]
    assert (unread["one"]["part"], unread["one"]["count"]) == ("item_a", 1)
    assert all(one.code == "cells_not_read" and one in imported.summary() for one in imported.notes)


def test_columns_of_which_nothing_is_known_are_left_out():
    mapping = Mapping(item_a="one", item_b="two", winner="item_a", annotator="who", time="when")
    table = pd.DataFrame({"one": ["p"], "two": ["q"], "who": ["me"], "when": [None]})
    imported = checked(import_table(table, mapping, where="t"))
    assert imported.votes.columns.tolist() == ["item_a", "item_b", "outcome", "annotator"]


def test_several_attributes_are_kept_and_told_of():
    mapping = Mapping(item_a="one", item_b="two", winner="item_a", attribute="about")
    table = pd.DataFrame({"one": ["p", "p"], "two": ["q", "q"], "about": ["x", "y"]})
    imported = import_table(table, mapping, where="t")
    assert imported.counts["votes"] == 2
    assert note(imported, "several_attributes") == {"count": 2}


def test_ids_that_mix_text_and_numbers_are_told_of():
    table = pd.DataFrame({"chosen": [1, "x"], "rejected": ["y", "y"]}, dtype=object)
    imported = checked(import_table(table, PRESETS["preference"][1], where="t"))
    assert imported.votes["item_a"].tolist() == [1, "x"]
    assert note(imported, "mixed_items") == {}


def test_a_million_rows_take_seconds_not_minutes():
    """No assertion on the clock: a loop over the rows would be felt here."""
    n = 1_000_000
    rng = np.random.default_rng(0)
    names = np.array([f"m{k}" for k in range(1000)])
    table = pd.DataFrame(
        {
            "left": names[rng.integers(0, 500, n)],
            "right": names[rng.integers(500, 1000, n)],
            "worker": names[rng.integers(0, 1000, n)],
        }
    )
    table["label"] = np.where(rng.random(n) < 0.7, table["left"], table["right"])
    imported = checked(import_table(table, PRESETS["crowd-kit"][1], where="t"))
    assert imported.counts["votes"] == n
    assert ((imported.votes["outcome"] == "a") == (table["label"] == table["left"])).all()


# ---------------------------------------------------------------- names and spellings

VOTED = Mapping(item_a="one", item_b="two", winner="item_a")
BEST = replace(VOTED, winner="best", outcomes={"tie": "tie"})


def respelled(imported):
    """How many rows have an id that was read in another spelling, by what it names."""
    return {str(what): rows for what, rows in note(imported, "respelled_ids")["rows"].items()}


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_columns_with_names_near_to_ours_are_found_by_the_names_they_have(ending, tmp_path):
    table = pd.DataFrame(
        {
            "Item A": ["p", "q"],
            "Item B": ["q", "p"],
            "Winner": ["p", "p"],
            "Time": ["2024-01-01", "2024-01-02"],
            "Annotator": ["me", "you"],
        }
    )
    mapping = Mapping("Item A", "Item B", winner="Winner", annotator="Annotator", time="Time")
    write_table(table, tmp_path / f"v.{ending}")
    imported = checked(import_flat(tmp_path / f"v.{ending}", [mapping]))
    assert rows(imported, "item_a", "outcome", "annotator") == [("p", "a", "me"), ("q", "b", "you")]
    assert imported.votes["time"].dt.day.tolist() == [1, 2]
    assert imported.notes == ()


def test_a_refusal_lists_the_columns_of_the_file_alone(put):
    path = put("v.csv", "Item A,item_b,Winner\n a,b,a\n")
    said = refused(import_flat, path, [replace(VOTED, item_a="Item A", item_b="none")])
    assert said.fields["found"].fields["names"] == ["Item A", "item_b", "Winner"]


def test_what_was_respelled_is_counted_in_columns_with_our_names(put):
    mapping = Mapping(
        winner="winner", annotator="annotator", vote_id="vote_id", left="left", optional=frozenset()
    )
    path = put(
        "v.csv",
        "item_a,item_b,winner,annotator,vote_id,left\n"
        "a ,b,a,me,1,b\n"
        "a,b\u200b,b,me,2,b\n"
        "a,b,b ,\u200bme,3,b\n"
        "a,b,a,me,4\u200b,b \n"
        "a,b,a,me,5,b\n",
    )
    imported = checked(import_flat(path, [mapping]))
    assert rows(imported, "item_a", "item_b", "outcome", "annotator", "vote_id", "left") == [
        ("a", "b", said, "me", str(number), "b") for number, said in enumerate("abbaa", start=1)
    ]
    assert respelled(imported) == {
        of_method("respelled_item"): 4,
        of_method("respelled_annotator"): 1,
        of_method("respelled_vote_id"): 1,
    }


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_column_is_found_that_differs_from_the_mapping_by_case_and_signs(ending, put):
    names = ["Model A", "model-b", "\ufeffWINNER", "Judge", "TStamp"]
    cells = ["007", "8", "Model_A", "01", "1682351591"]
    content = f"{','.join(names)}\n{','.join(cells)}\n"
    if ending == "json":
        content = [dict(zip(names, cells, strict=True))]
    imported = checked(import_flat(put(f"v.{ending}", content), PRESETS["arena"]))
    assert rows(imported, "item_a", "item_b", "outcome", "annotator") == [("007", "8", "a", "01")]
    assert imported.votes["time"].notna().all()
    assert imported.notes == ()


@pytest.mark.parametrize(
    ("header", "judge"),
    [("Judge,judge", "second"), ("Judge,JUDGE", None), ("other,Judge", "second")],
)
def test_an_exact_name_goes_first_and_two_near_ones_are_none(header, judge, put):
    path = put("v.csv", f"model_a,model_b,winner,tstamp,{header}\np,q,tie,1,first,second\n")
    imported = checked(import_flat(path, PRESETS["arena"]))
    assert imported.votes.get("annotator", pd.Series([None])).tolist() == [judge]


def test_a_near_name_that_two_of_a_mapping_could_mean_is_neither():
    table = pd.DataFrame({"one": ["p"], "two": ["q"], "Who Am": ["me"]})
    mapping = replace(VOTED, annotator="who am", vote_id="who_am")
    assert refused(import_table, table, mapping, where="t").fields["name"] == "who am"


def test_the_layout_whose_columns_are_near_is_chosen(put):
    path = put("v.csv", "Chosen ID,Rejected ID,chosen,rejected\n01,2,x,y\n")
    imported = checked(import_flat(path, PRESETS["preference"]))
    assert rows(imported, "item_a", "item_b") == [("01", "2")]


@pytest.mark.parametrize("dirt", ["\u200b", "\ufeff", "\u00ad", " \t"])
def test_words_are_understood_whatever_nobody_sees_in_them(dirt):
    said = [f"left{dirt}", f"{dirt}RIGHT", f"sa{dirt.strip()}me", dirt, "left"]
    table = pd.DataFrame({"one": "p", "two": "q", "said": said, "state": [""] * 4 + [f"bad{dirt}"]})
    imported = checked(import_table(table, WORDS, where="t"))
    assert imported.votes["outcome"].tolist() == ["a", "b", "tie", "skip"]
    assert reasons(imported) == {"column_says state bad": 1}


def test_a_winner_is_found_in_whatever_spelling_it_is_named():
    table = pd.DataFrame({"one": ["7 ", "7", "7"], "two": "8", "best": ["7", "8\u200b", "tie "]})
    imported = checked(import_table(table, BEST, where="t"))
    assert rows(imported, "item_a", "outcome") == [("7", "a"), ("7", "b"), ("7", "tie")]
    assert respelled(imported) == {of_method("respelled_item"): 2}


@pytest.mark.parametrize("items", [("20", "30"), ("20.0", "30")])
def test_points_that_a_gap_gave_the_winners_are_needless(items):
    one, two = items
    table = pd.DataFrame({"one": one, "two": two, "best": ["20.0", "30", "20", "tie", None]})
    imported = checked(import_table(table, replace(BEST, left="best"), where="t"))
    assert rows(imported, "item_a", "item_b", "outcome") == [
        ("20", "30", said) for said in ("a", "b", "a", "tie")
    ]
    assert imported.votes["left"].fillna("").tolist() == ["a", "b", "a", ""]


def test_points_of_winners_are_kept_where_items_have_them():
    table = pd.DataFrame({"one": "20.0", "two": "3.5", "best": ["20.0", "3.5", "20.0", "20"]})
    imported = checked(import_table(table, BEST, where="t"))
    assert rows(imported, "item_a", "outcome") == [("20.0", "a"), ("20.0", "b"), ("20.0", "a")]
    assert reasons(imported) == {"column_names_neither best one two": 1}


@pytest.mark.parametrize("cells", [("x", "y"), ("7", "7"), ("", "")])
def test_a_column_with_the_name_of_ours_is_any_other(cells, put):
    path = put("v.csv", f"one,two,respelled_ids\na,b,{cells[0]}\na,b,{cells[1]}\n")
    imported = checked(import_flat(path, [VOTED]))
    assert imported.votes.columns.tolist() == ["item_a", "item_b", "outcome"]
    assert imported.notes == ()


def test_a_column_with_the_name_of_ours_can_be_mapped(tmp_path):
    bits = np.array([7, 1], np.uint8)
    write_table(
        pd.DataFrame({"one": " a", "two": "b", "respelled_ids": bits}), tmp_path / "v.parquet"
    )
    mapping = replace(VOTED, annotator="respelled_ids")
    imported = checked(import_flat(tmp_path / "v.parquet", [mapping]))
    assert rows(imported, "item_a", "annotator") == [("a", 7), ("a", 1)]
    assert respelled(imported) == {of_method("respelled_item"): 2}


# ---------------------------------------------------------------- flat presets


def test_arena(put):
    path = put(
        "battles.csv",
        "model_a,model_b,winner,judge,tstamp,turn\n"
        "007,b,model_a,j1,1682351591.5,1\n"
        "b,NA,model_b,j2,1682351592,2\n"
        "b,NA,tie,j2,,1\n"
        "007,NA,tie (bothbad),j3,1682351593,1\n"
        "007,NA,modelA,j3,1682351593,1\n"
        "007,NA,,j3,1682351593,1\n",
    )
    imported = checked(import_flat(path, PRESETS["arena"]))
    assert rows(imported, "item_a", "item_b", "outcome", "annotator") == [
        ("007", "b", "a", "j1"),
        ("b", "NA", "b", "j2"),
        ("b", "NA", "tie", "j2"),
        ("007", "NA", "tie", "j3"),
    ]
    assert imported.votes["time"][0] == pd.Timestamp("2023-04-24 15:53:11.5", tz="UTC")
    assert reasons(imported) == {"column_is_unknown winner": 2}
    assert imported.dropped[0].examples[0] == "`modelA`"
    assert imported.dropped[0].examples[1].code == "an_empty_cell"
    assert "left" not in imported.votes


def test_arena_as_one_json_list_keeps_types_and_does_without_names(put):
    battles = [
        {"model_a": 1, "model_b": 2, "winner": "model_a", "anony": True},
        {"model_a": 1, "model_b": "2", "winner": "model_b", "turn": [1]},
        {"model_a": None, "model_b": 2, "winner": "tie"},
    ]
    imported = checked(import_flat(put("battles.json", battles), PRESETS["arena"]))
    assert rows(imported, "item_a", "item_b") == [(1, 2), (1, "2")]
    lacking = [
        message("lacks_part", part="annotator", column="judge"),
        message("lacks_part", part="time", column="tstamp"),
    ]
    assert note(imported, "file_lacks") == {"lacking": ", ".join(lacking)}


def test_crowd_kit_labels_must_name_one_of_the_two(put):
    content = "worker,left,right,label\nw1,a,b,a\nw1,b,c,c\nw2,a,c,tie\nw2,a,c,\nw2,1,01,01\n"
    imported = checked(import_flat(put("v.csv", content), PRESETS["crowd-kit"]))
    assert rows(imported, "item_a", "item_b", "outcome", "left", "annotator") == [
        ("a", "b", "a", "a", "w1"),
        ("b", "c", "b", "a", "w1"),
        ("1", "01", "b", "a", "w2"),
    ]
    assert reasons(imported) == {"column_names_neither label left right": 2}
    assert imported.dropped[0].examples[0] == "`tie`"
    older = put("older.csv", content.replace("worker", "performer"))
    assert checked(import_flat(older, PRESETS["crowd-kit"])).votes.equals(imported.votes)


def test_crowd_kit_numbers_are_not_texts(put):
    lines = [
        {"worker": 1, "left": 7, "right": 8, "label": 7},
        {"worker": 1, "left": 7, "right": 8, "label": 8},
        {"worker": None, "left": 7, "right": 8, "label": "7"},
    ]
    path = put("v.jsonl", "\n".join(map(json.dumps, lines)))
    imported = checked(import_flat(path, PRESETS["crowd-kit"]))
    assert rows(imported, "item_a", "outcome") == [(7, "a"), (7, "b")]
    assert reasons(imported) == {"column_names_neither label left right": 1}


def test_evalica_and_its_enum(put):
    words = ["left", "Right", "tie", "X", "y", "Draw", "Winner.X", "winner.Draw", "1", "both", ""]
    content = "left,right,winner\n" + "".join(f"a,b,{word}\n" for word in words)
    imported = checked(import_flat(put("v.csv", content), PRESETS["evalica"]))
    expected = ["a", "b", "tie", "a", "b", "tie", "a", "tie"]
    assert imported.votes["outcome"].tolist() == expected
    assert reasons(imported) == {"column_is_unknown winner": 3}
    assert "left" not in imported.votes


def test_preference_pairs_are_named_by_ids_if_there_are_any(put):
    pairs = [
        {"prompt": "?", "chosen": "<b>yes</b>", "rejected": "no\n", "chosen_id": 1},
        {"prompt": "?", "chosen": "same", "rejected": "same", "chosen_id": 2},
    ]
    path = put("p.jsonl", "\n".join(map(json.dumps, pairs)))
    imported = checked(import_flat(path, PRESETS["preference"]))
    assert rows(imported, "item_a", "item_b", "outcome") == [("<b>yes</b>", "no", "a")]
    assert reasons(imported) == {"self_comparison": 1}
    # Chats, which are lists, do no harm beside ids.
    pairs = [one | {"rejected_id": "x", "chosen": [{"role": "user"}]} for one in pairs]
    path = put("p.jsonl", "\n".join(map(json.dumps, pairs)))
    imported = checked(import_flat(path, PRESETS["preference"]))
    assert rows(imported, "item_a", "item_b") == [(1, "x"), (2, "x")]


def test_chats_are_no_ids(put):
    line = json.dumps({"chosen": [{"role": "user"}], "rejected": "x"})
    said = refused(import_flat, put("p.jsonl", line), PRESETS["preference"])
    assert (said.code, said.fields["count"]) == ("no_vote_left", 1)
    assert of_method("unusable_item_id") in said.fields["dropped"]


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "jsonl"])
def test_every_format_of_a_flat_table_gives_the_same_votes(ending, tmp_path):
    table = pd.DataFrame(
        {
            "model_a": ["p", "q", "é"],
            "model_b": ["q", "p", "p"],
            "winner": ["model_a", "tie", None],
            "judge": ["j", None, "k"],
            "tstamp": [1682351591.5, 2.0, np.nan],
        }
    )
    write_table(table, tmp_path / f"v.{ending}")
    imported = checked(import_flat(tmp_path / f"v.{ending}", PRESETS["arena"]))
    assert rows(imported, "item_a", "outcome") == [("p", "a"), ("q", "tie")]
    assert (
        imported.votes["time"].tolist()
        == pd.to_datetime([1682351591.5, 2.0], unit="s", utc=True).tolist()
    )


@EXAMPLES
@given(
    lines=st.lists(
        objects("model_a", "model_b", "winner", "judge", "tstamp")
        | st.fixed_dictionaries(
            {"model_a": st.just("p"), "model_b": st.just("q"), "winner": st.just("tie")},
            optional={"judge": LEAVES, "tstamp": LEAVES},
        ),
        min_size=1,
        max_size=6,
    ),
    ending=st.sampled_from(["json", "jsonl"]),
)
def test_any_flat_records_are_imported_or_refused_in_one_line(lines, ending, put):
    content = lines if ending == "json" else "\n".join(map(json.dumps, lines))
    attempt(import_flat, put(f"v.{ending}", content), PRESETS["arena"])


@pytest.mark.parametrize(
    ("content", "code", "named"),
    [
        ("model_a,model_b,winer\np,q,tie\n", "missing_name", ("`winner`", "`winer`")),
        (
            "Model_A,MODEL-A,model_b,winner\np,p,q,tie\n",
            "missing_name",
            ("`model_a`", "Model_A, MODEL-A"),
        ),
        ("chosen,rejected\np,q\n", "missing_name", ("`model_a`", "chosen, rejected")),
        ("model_a,model_b,winner,winner\np,q,tie,tie\n", "repeated_column", ("`winner`",)),
        ("model_a,model_b,winner\np,q,?\n", "mostly_unknown", ("winner", "1 of 1")),
        ("model_a,model_b,winner\np,p,tie\n", "no_vote_left", (of_method("self_comparison"),)),
        ("model_a,model_b,winner\n", "no_votes_in_file", ()),
        ("model_a;model_b;winner\np;q;tie\n", "separated_otherwise", ()),
        ("", "no_bytes_in_file", ()),
    ],
)
def test_flat_files_that_cannot_be_used(content, code, named, put):
    said = refused(import_flat, put("v.csv", content), PRESETS["arena"])
    assert said.code == code
    assert all(name in said for name in ("v.csv", *named))
