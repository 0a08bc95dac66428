"""Importing Argilla: rankings as weighted pairs, items by record, every layout of an export."""

import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imported_votes import ANYTHING, attempt, checked, objects, reasons, refused, rows

from tasks.importing import import_argilla

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
    assert reasons(imported) == {"status is draft": 1, "status is discarded": 1}
    assert "5 responses gave 2 rankings, that is 4 pairs" in imported.summary()
    assert "counts as k - 1 votes" in imported.summary()
    assert "--no-prefix-record" in imported.summary()


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
    assert "RECORD:OPTION" not in same.summary()
    told = checked(import_argilla(put("r.json", once), prefix_record=True))
    assert told.votes["item_a"].tolist() == ["r1:x1", "r2:y1"]
    nameless = [one | {"id": None} for one in twice]
    assert "without an id" in refused(import_argilla, put("r.json", nameless))


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
    assert "2 ranking questions (best, worst); choose one" in refused(import_argilla, path)
    imported = checked(import_argilla(path, question="worst"))
    assert rows(imported, "outcome", "attribute") == [("b", "worst")]
    text = refused(import_argilla, path, question="wurst")
    assert "no question `wurst` (the nearest is `worst`)" in text


def test_argilla_options_without_a_rank_are_counted(put):
    answers = [ranking(1, None, 2), ranking(3), ranking(None, True), [], ["a", "b"]]
    answers += [ranking(1, 2)] * 5
    path = put("r.json", [record("r", *(response(one, f"u{k}") for k, one in enumerate(answers)))])
    imported = checked(import_argilla(path))
    assert imported.counts == {"read": 11, "votes": 6, "ties": 0, "skipped": 1, "dropped": 4}
    assert imported.dropped[0].examples == (
        "`an option without a rank`",
        "`fewer than two ranked options`",
        '`["a", "b"]`',
    )
    assert imported.votes["weight"].tolist()[0] == 1.0


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([{"id": 1, "responses": {"best": [{"user_id": "u", "value": ["a"]}]}}], "leaves the rank"),
        ([record("r", response("a text"))], "no ranking with ranks"),
        ([record("r")], "no responses"),
        ([{"id": "r", "suggestions": [{"value": ranking(1, 2)}]}], "no responses"),
        ([{"id": "r", "responses": "none"}], "responses of record 1 are not a list"),
        ("[]", "no responses"),
        ("nonsense", "not valid JSON"),
    ],
)
def test_records_that_cannot_be_used(records, said, put):
    assert said in refused(import_argilla, put("r.json", records))


def test_broken_lines_are_named(put):
    assert "r.jsonl, line 3, is not valid JSON" in refused(
        import_argilla, put("r.jsonl", '{"id": 1}\n\n{"id"\n')
    )
    assert "number 1 is list" in refused(import_argilla, put("r.jsonl", "[1]"))
    assert ".json, .json.gz, .jsonl" in refused(import_argilla, put("r.csv", "id\n"))


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
