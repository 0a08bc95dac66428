"""Importing Argilla: rankings as weighted pairs, items by record, every layout of an export."""

import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imported_votes import ANYTHING, attempt, checked, note, objects, reasons, refused, rows

from tasks.importing import import_argilla
from tasks.messages import message

EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
OPTIONS = ["response-1", "response-2"]


def ranking(*ranks: object, names: str = "response-") -> list[dict[str, object]]:
    return [{"rank": rank, "value": f"{names}{k}"} for k, rank in enumerate(ranks, start=1)]


def response(value: object, user: str = "u", status: str = "submitted", **more) -> dict:
    return {"user_id": user, "status": status, "values": {"best": {"value": value}}, **more}


def record(name: object, *responses: dict) -> dict:
    return {"id": name, "fields": {}, "responses": list(responses)}


def test_argilla_rankings_become_weighted_pairs(put):
    records = [
        record(
            "r1",
            response(ranking(1, 2, 2), inserted_at="2024-05-01T00:00:00"),
            response(ranking(1, 2, 3), "v", "draft"),
            {"user_id": "w", "status": "discarded", "values": None},
            {"user_id": "x", "status": "submitted", "values": {"why": {"value": "no idea"}}},
        ),
        record("r2", response(ranking(2, 1), "v")),
    ]
    path = put("records.jsonl", "\n".join(map(json.dumps, records)))
    imported = checked(import_argilla(path))
    assert rows(imported, "item_a", "item_b", "outcome", "annotator")[:3] == [
        ("r1:response-1", "r1:response-2", "a", "u"),
        ("r1:response-1", "r1:response-3", "a", "u"),
        ("r1:response-2", "r1:response-3", "tie", "u"),
    ]
    assert imported.votes["outcome"].tolist() == ["a", "a", "tie", "skip", "b"]
    assert imported.votes["weight"].fillna(0).tolist() == pytest.approx([2 / 3] * 3 + [0, 1])
    assert imported.votes["time"][0] == pd.Timestamp("2024-05-01", tz="UTC")
    assert reasons(imported) == {"column_says status draft": 1, "column_says status discarded": 1}
    assert note(imported, "rankings_as_pairs") == {"responses": 5, "rankings": 2, "pairs": 4}
    assert note(imported, "options_recur") == {"option": "response-1"}
    assert all(one in imported.summary() for one in imported.notes)


@pytest.mark.parametrize("k", range(2, 8))
def test_a_ranking_of_k_options_weighs_k_minus_one_votes(k, put):
    path = put("r.json", [record("r", response(ranking(*range(k))))])
    imported = checked(import_argilla(path))
    assert imported.counts["votes"] == k * (k - 1) / 2
    assert imported.votes["weight"].sum() == pytest.approx(k - 1)


def test_argilla_options_are_items_when_they_do_not_recur_or_when_told(put):
    once = [
        record("r1", response(ranking(1, 2, names="x"))),
        record("r2", response(ranking(1, 2, names="y"))),
    ]
    twice = [record("r1", response(ranking(1, 2))), record("r2", response(ranking(1, 2)))]
    assert checked(import_argilla(put("r.json", once))).votes["item_a"].tolist() == ["x1", "y1"]
    same = checked(import_argilla(put("r.json", twice), prefix_record=False))
    assert same.votes["item_a"].tolist() == ["response-1"] * 2
    assert [one.code for one in same.notes] == ["rankings_as_pairs"]
    told = checked(import_argilla(put("r.json", once), prefix_record=True))
    assert told.votes["item_a"].tolist() == ["r1:x1", "r2:y1"]
    nameless = [one | {"id": None} for one in twice]
    assert refused(import_argilla, put("r.json", nameless)).code == "records_without_id"


def options(*names: object) -> dict:
    """A response that ranks these options, the first best."""
    return response([{"rank": rank, "value": name} for rank, name in enumerate(names)])


def respelled(imported) -> list[int]:
    """In how many votes an id had another spelling."""
    return list(note(imported, "respelled_ids")["rows"].values())


def test_options_that_recur_in_another_spelling_are_prefixed(put):
    path = put("r.json", [record(1, options("a", "b")), record(2, options(" a", "b\u200b"))])
    imported = checked(import_argilla(path))
    assert rows(imported, "item_a", "item_b") == [("1:a", "1:b"), ("2:a", "2:b")]
    assert note(imported, "options_recur") == {"option": "a"}
    assert respelled(imported) == [1]


@pytest.mark.parametrize("prefix", [True, False])
def test_spellings_of_an_option_are_one_item(prefix, put):
    path = put("r.json", [record("r", options("a", "b"), options(" a", "b"), options("a", "a "))])
    imported = checked(import_argilla(path, prefix_record=prefix))
    start = "r:" if prefix else ""
    assert rows(imported, "item_a", "item_b") == [(f"{start}a", f"{start}b")] * 2
    assert reasons(imported) == {"self_comparison": 1}
    assert respelled(imported) == [1]


def test_spellings_of_a_record_are_one(put):
    records = [record("1", options("a", "b")), record("1 ", options("b", "a"))]
    once = checked(import_argilla(put("r.json", records)))
    assert rows(once, "item_a", "item_b") == [("a", "b"), ("b", "a")]
    prefixed = checked(import_argilla(put("r.json", records), prefix_record=True))
    assert rows(prefixed, "item_a", "item_b") == [("1:a", "1:b"), ("1:b", "1:a")]
    assert respelled(prefixed) == [1]


def test_whole_numbers_are_prefixed_without_their_points(put):
    records = [record("7.0", options("20.0", "30")), record("8", options("20", "30"))]
    imported = checked(import_argilla(put("r.json", records)))
    assert rows(imported, "item_a", "item_b") == [("7:20", "7:30"), ("8:20", "8:30")]


@pytest.mark.parametrize("nobody", ["\u200b", " ", ""])
def test_a_record_or_option_whose_name_nobody_sees_has_none(nobody, put):
    records = [record(nobody, options("a", "b")), record("r", options("a", "b", nobody))]
    assert refused(import_argilla, put("r.json", records)).code == "records_without_id"
    imported = checked(import_argilla(put("r.json", records[1:]), prefix_record=True))
    assert rows(imported, "item_a", "item_b") == [("r:a", "r:b")]
    assert reasons(imported) == {"empty_item_id": 2}


@pytest.mark.parametrize(
    "laid_out",
    [
        {"responses": [{"user_id": "u", "value": ranking(2, 1), "status": "submitted"}]},
        {"responses": [response(ranking(2, 1))]},
        {"responses": {"best": [{"user_id": "u", "value": ranking(2, 1)}]}},
        {
            "best": [
                {"user_id": "u", "value": {"rank": [2, 1], "value": ["response-1", "response-2"]}}
            ]
        },
    ],
    ids=["answer", "values", "by question", "column"],
)
def test_every_layout_of_argilla_gives_the_same_votes(laid_out, put):
    odd = {"suggestions": [{"value": ranking(1, 2), "question_id": "q"}]}
    for content in ([{"id": 1} | odd | laid_out], {"items": [{"id": 1} | laid_out], "total": 1}):
        imported = checked(import_argilla(put("r.json", content)))
        assert rows(imported, "item_a", "item_b", "outcome", "annotator") == [
            ("response-1", "response-2", "b", "u")
        ]


def test_argilla_asks_which_of_several_questions(put):
    values = {"best": {"value": ranking(1, 2)}, "worst": {"value": ranking(2, 1)}}
    path = put("r.json", [record("r", {"user_id": "u", "values": values})])
    said = refused(import_argilla, path)
    assert (said.code, said.fields["names"]) == ("several_ranking_questions", ["best", "worst"])
    imported = checked(import_argilla(path, question="worst"))
    assert rows(imported, "outcome", "attribute") == [("b", "worst")]
    said = refused(import_argilla, path, question="wurst")
    assert (said.code, said.fields["name"]) == ("missing_name", "wurst")
    assert said.fields["nearest"].fields == {"name": "worst"}


def test_argilla_options_without_a_rank_are_counted(put):
    answers = [ranking(1, None, 2), ranking(3), ranking(None, True), [], ["a", "b"]]
    answers += [ranking(1, 2)] * 5
    path = put("r.json", [record("r", *(response(one, f"u{k}") for k, one in enumerate(answers)))])
    imported = checked(import_argilla(path))
    assert imported.counts == {"read": 11, "votes": 6, "ties": 0, "skipped": 1, "dropped": 4}
    assert imported.dropped[0].examples == (
        f"`{message('option_without_rank')}`",
        f"`{message('too_few_ranked_options')}`",
        '`["a", "b"]`',
    )
    assert imported.votes["weight"].tolist()[0] == 1.0


@pytest.mark.parametrize(
    ("records", "code"),
    [
        ([{"id": 1, "responses": {"best": [{"user_id": "u", "value": ["a"]}]}}], "no_ranking"),
        ([record("r", response("a text"))], "no_ranking"),
        ([record("r")], "no_responses"),
        ([{"id": "r", "suggestions": [{"value": ranking(1, 2)}]}], "no_responses"),
        ([{"id": "r", "responses": "none"}], "records_not_a_list"),
        ("[]", "no_responses"),
        ("nonsense", "not_json_at"),
    ],
)
def test_records_that_cannot_be_used(records, code, put):
    said = refused(import_argilla, put("r.json", records))
    assert said.code == code
    if code == "records_not_a_list":
        assert (said.fields["what"].code, said.fields["what"].fields["number"]) == (
            "the_responses",
            1,
        )


def test_broken_lines_are_named(put):
    said = refused(import_argilla, put("r.jsonl", '{"id": 1}\n\n{"id"\n'))
    assert (said.code, said.fields["where"].fields["line"]) == ("not_json_at", 3)
    assert "r.jsonl" in said
    said = refused(import_argilla, put("r.jsonl", "[1]"))
    assert said.code == "record_not_an_object"
    assert (said.fields["number"], said.fields["kind"]) == (1, "list")
    said = refused(import_argilla, put("r.csv", "id\n"))
    assert said.code == "unknown_record_format"
    assert said.fields["endings"].startswith(".json, .json.gz, .jsonl")


@pytest.mark.full
@EXAMPLES
@given(
    responses=st.lists(
        objects("user_id", "values", "value", "status", "updated_at")
        | st.builds(response, ANYTHING, ANYTHING, ANYTHING, updated_at=ANYTHING)
        | st.builds(lambda ranks: response(ranking(*ranks)), st.lists(ANYTHING, max_size=4)),
        max_size=4,
    ),
    name=ANYTHING,
    prefix=st.booleans() | st.none(),
)
def test_any_argilla_export_is_imported_or_refused_in_one_line(responses, name, prefix, put):
    records = [record(name, *responses, response(ranking(1, 2))), record("r2", *responses)]
    attempt(import_argilla, put("r.json", records), prefix_record=prefix)
