"""Importing Label Studio: left and right by the config, skips that are no ties, odd exports."""

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imported_votes import ANYTHING, attempt, checked, note, objects, reasons, refused, rows

from tasks.importing import Imported, import_label_studio
from tasks.messages import message
from urlr.messages import message as of_method

EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

CONFIG = """
<View>
  <Header value="Which is better?"/>
  <!-- the left one comes first -->
  <Pairwise name="pw" toName="a,b"/>
  <View><Text name="a" value="$text_a"/><Text name="b" value="$text_b"/></View>
  <TextArea name="why" toName="a"/>
</View>
"""


def annotation(number: int, selected: object = "left", **more: object) -> dict[str, object]:
    answer = {"from_name": "pw", "type": "pairwise", "value": {"selected": selected}}
    return {"id": number, "result": [] if selected is None else [answer], **more}


def task(*annotations: dict[str, object], **data: object) -> dict[str, object]:
    shown = {"text_a": "<b>A</b>", "text_b": "B", **data}
    return {"id": 5, "data": shown, "annotations": list(annotations), "predictions": []}


def studio(put, tasks: object, config: str = CONFIG, **options) -> Imported:
    exported = put("export.json", tasks)
    return import_label_studio(exported, put("config.xml", config), **options)


def test_label_studio(put):
    person = {"id": 4, "email": "m@example.org"}
    why = {"from_name": "why", "type": "textarea", "value": {"text": ["hm"]}}
    tasks = [
        task(
            annotation(1, completed_by=3, lead_time=4.2, created_at="2021-03-09T22:16:08.5Z"),
            annotation(2, "right", completed_by=person),
            annotation(3, None, completed_by=person),
            annotation(4, None, was_cancelled=True),
            annotation(5, ground_truth=True),
            annotation(6, "up"),
            {"id": 7, "result": [why]},
            annotation(8, completed_by={"email": "n@example.org"}) | {"result": [why]},
        ),
        task(annotation(9), text_a="C", text_b=None),
        task(),
    ]
    imported = checked(studio(put, tasks))
    assert rows(imported, "item_a", "item_b", "outcome", "left", "vote_id") == [
        ("<b>A</b>", "B", "a", "a", 1),
        ("<b>A</b>", "B", "b", "a", 2),
        ("<b>A</b>", "B", "skip", "a", 3),
        ("<b>A</b>", "B", "skip", "a", 7),
        ("<b>A</b>", "B", "skip", "a", 8),
    ]
    assert imported.votes["annotator"].fillna("").tolist() == [3, 4, 4, "", "n@example.org"]
    assert imported.votes["seconds"][0] == 4.2
    assert imported.votes["time"][0] == pd.Timestamp("2021-03-09 22:16:08.5", tz="UTC")
    assert reasons(imported) == {
        "column_says annotation cancelled": 1,
        "column_says annotation ground truth": 1,
        "column_is_unknown selected": 1,
        "missing_item": 1,
    }
    assert note(imported, "tasks_without_annotation") == {"count": 1}


def test_label_studio_items_are_named_by_id_fields(put):
    tasks = [task(annotation(1, "right"), left_id=7, right_id=8)]
    imported = checked(studio(put, tasks, id_fields=("left_id", "right_id")))
    assert rows(imported, "item_a", "item_b", "outcome") == [(7, 8, "b")]
    twins = [*tasks, task(annotation(2, "right\u200b"), left_id="x\u200b", right_id=" y")]
    imported = checked(studio(put, twins, id_fields=("left_id", "right_id")))
    assert rows(imported, "item_a", "item_b", "outcome") == [(7, 8, "b"), ("x", "y", "b")]
    assert list(note(imported, "respelled_ids")["rows"].values()) == [1]
    said = refused(studio, put, tasks, id_fields=("left_id", "rihgt_id"))
    assert (said.code, said.fields["name"]) == ("missing_name", "rihgt_id")
    assert said.fields["what"].code == "a_data_field"
    assert said.fields["nearest"].fields == {"name": "right_id"}
    assert "export.json" in said


def test_label_studio_left_and_right_follow_the_config(put):
    turned = CONFIG.replace('toName="a,b"', 'toName=" b , a "')
    imported = checked(studio(put, [task(annotation(1))], turned))
    assert rows(imported, "item_a", "item_b", "outcome") == [("B", "<b>A</b>", "a")]


def test_label_studio_asks_which_of_several_questions(put):
    two = CONFIG.replace("<Header", '<Pairwise name="funny" toName="b,a"/><Header')
    tasks = [task(annotation(1))]
    said = refused(studio, put, tasks, two)
    assert (said.code, said.fields["names"]) == ("several_pairwise_questions", ["funny", "pw"])
    imported = checked(studio(put, tasks, two, question="pw"))
    assert rows(imported, "item_a", "attribute") == [("<b>A</b>", "pw")]
    other = checked(studio(put, tasks, two, question="funny"))
    assert other.votes["outcome"].tolist() == ["skip"]
    said = refused(studio, put, tasks, two, question="fumny")
    assert (said.code, said.fields["name"]) == ("missing_name", "fumny")
    assert said.fields["what"].code == "a_pairwise_question"
    assert said.fields["nearest"].fields == {"name": "funny"}


def test_answers_to_a_question_the_config_lacks_are_no_skips(put):
    renamed = CONFIG.replace('name="pw"', 'name="other"')
    said = refused(studio, put, [task(annotation(1))], renamed)
    assert said.code == "mostly_unknown"
    assert said.fields["reason"].fields == {"column": "selected"}
    assert (said.fields["count"], said.fields["total"]) == (1, 1)
    assert said.fields["seen"][0].startswith(
        f"`{message('answer_nobody_asked', question='pw')[:20]}"
    )


@pytest.mark.parametrize("value", [None, {}, {"selected": ["left"]}, {"selected": 3}, 5])
def test_label_studio_results_without_a_selection_are_unknown(value, put):
    odd = {"id": 1, "result": [{"from_name": "pw", "value": value}]}
    imported = checked(studio(put, [task(odd, annotation(2), annotation(3))]))
    assert reasons(imported) == {"column_is_unknown selected": 1}


@pytest.mark.parametrize(
    ("config", "code", "fields"),
    [
        ("<View>", "not_xml", {}),
        ("View", "not_xml", {}),
        ("<View/>", "no_pairwise_tag", {}),
        ('<View><Pairwise name="p" toName="a,b"/></View>', "not_two_tags", {"given": "a,b"}),
        (
            '<View><Pairwise name="p" toName="a"/><Text name="a"/></View>',
            "not_two_tags",
            {"given": "a"},
        ),
        (
            CONFIG.replace("$text_a", "fixed"),
            "shows_no_data",
            {"left": "fixed", "right": "$text_b"},
        ),
        (CONFIG.replace("$text_a", "$text_x"), "missing_name", {"name": "text_x"}),
        ("<!DOCTYPE View>" + CONFIG.strip(), "document_type_declared", {}),
        ('<!DOCTYPE V [<!ENTITY e "x">]><View a="&e;"/>', "document_type_declared", {}),
        ('<!DOCTYPE V SYSTEM "file:///etc/passwd"><V/>', "document_type_declared", {}),
        ("", "no_bytes_in_file", {}),
    ],
)
def test_configs_that_cannot_be_used(config, code, fields, put):
    said = refused(studio, put, [task(annotation(1))], config)
    assert said.code == code
    assert said.fields.items() >= fields.items()


def test_fixed_texts_do_no_harm_beside_id_fields(put):
    config = CONFIG.replace("$text_a", "fixed")
    imported = checked(studio(put, [task(annotation(1))], config, id_fields=("text_a", "text_b")))
    assert imported.counts["votes"] == 1


@pytest.mark.parametrize(
    ("tasks", "code", "named"),
    [
        ('[{"id": 1', "not_json_at", "line 1, sign 10"),
        ("[" * 99_999, "not_json", ""),
        ('["\\ud800"]', "not_json", ""),
        ("{}", "no_list_of_records", ""),
        ("[1]", "record_not_an_object", "number 1 is int"),
        ("[]", "no_annotations", ""),
        ([{"id": 1, "text_a": "x", "pw": "left"}], "no_annotations", ""),
        ([task()], "nothing_to_import", ""),
        ([task() | {"annotations": {}}], "records_not_a_list", "task 5"),
        ([task({"id": 1, "result": "left"})], "records_not_a_list", "task 5"),
        (
            [task(annotation(1)) | {"data": None}],
            "missing_name",
            f"`text_a`, found are {message('no_names_found')}",
        ),
        ([task(annotation(1), text_a=["x"])], "no_vote_left", of_method("unusable_item_id")),
        (
            [task(annotation(1, was_cancelled=True))],
            "no_vote_left",
            message("column_says", column="annotation", word="cancelled"),
        ),
        ("", "no_bytes_in_file", ""),
    ],
)
def test_exports_that_cannot_be_used(tasks, code, named, put):
    said = refused(studio, put, tasks)
    assert said.code == code
    assert named in said


@EXAMPLES
@given(
    data=objects("text_a", "text_b"),
    annotations=st.lists(
        objects("id", "result", "completed_by", "lead_time", "created_at", "was_cancelled")
        | st.builds(annotation, st.integers(), ANYTHING, lead_time=ANYTHING, created_at=ANYTHING),
        max_size=4,
    ),
)
def test_any_label_studio_export_is_imported_or_refused_in_one_line(data, annotations, put):
    tasks = [task(*annotations, annotation(-1)), task(annotation(-2)) | {"data": data}]
    attempt(studio, put, tasks)
