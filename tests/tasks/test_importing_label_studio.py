"""Importing Label Studio: left and right by the config, skips that are no ties, odd exports."""

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imported_votes import ANYTHING, attempt, checked, objects, reasons, refused, rows

from tasks.importing import Imported, import_label_studio

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
        "annotation is cancelled": 1,
        "annotation is ground truth": 1,
        "selected is unknown": 1,
        "missing item": 1,
    }
    assert "1 task has no annotation yet." in imported.notes


def test_label_studio_items_are_named_by_id_fields(put):
    tasks = [task(annotation(1, "right"), left_id=7, right_id=8)]
    imported = checked(studio(put, tasks, id_fields=("left_id", "right_id")))
    assert rows(imported, "item_a", "item_b", "outcome") == [(7, 8, "b")]
    text = refused(studio, put, tasks, id_fields=("left_id", "rihgt_id"))
    assert "export.json has no data field `rihgt_id` (the nearest is `right_id`)" in text


def test_label_studio_left_and_right_follow_the_config(put):
    turned = CONFIG.replace('toName="a,b"', 'toName=" b , a "')
    imported = checked(studio(put, [task(annotation(1))], turned))
    assert rows(imported, "item_a", "item_b", "outcome") == [("B", "<b>A</b>", "a")]


def test_label_studio_asks_which_of_several_questions(put):
    two = CONFIG.replace("<Header", '<Pairwise name="funny" toName="b,a"/><Header')
    tasks = [task(annotation(1))]
    assert "2 pairwise questions (funny, pw); choose one" in refused(studio, put, tasks, two)
    imported = checked(studio(put, tasks, two, question="pw"))
    assert rows(imported, "item_a", "attribute") == [("<b>A</b>", "pw")]
    other = checked(studio(put, tasks, two, question="funny"))
    assert other.votes["outcome"].tolist() == ["skip"]
    text = refused(studio, put, tasks, two, question="fumny")
    assert "no pairwise question `fumny` (the nearest is `funny`)" in text


def test_answers_to_a_question_the_config_lacks_are_no_skips(put):
    renamed = CONFIG.replace('name="pw"', 'name="other"')
    text = refused(studio, put, [task(annotation(1))], renamed)
    assert "selected is unknown in 1 of 1 row" in text
    assert "an answer to pw" in text


@pytest.mark.parametrize("value", [None, {}, {"selected": ["left"]}, {"selected": 3}, 5])
def test_label_studio_results_without_a_selection_are_unknown(value, put):
    odd = {"id": 1, "result": [{"from_name": "pw", "value": value}]}
    imported = checked(studio(put, [task(odd, annotation(2), annotation(3))]))
    assert reasons(imported) == {"selected is unknown": 1}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("<View>", "not valid XML"),
        ("View", "not valid XML"),
        ("<View/>", "no <Pairwise> tag"),
        ('<View><Pairwise name="p" toName="a,b"/></View>', "must name two tags"),
        ('<View><Pairwise name="p" toName="a"/><Text name="a"/></View>', "must name two tags"),
        (CONFIG.replace("$text_a", "fixed"), "shows `fixed` and `$text_b`, not data"),
        (CONFIG.replace("$text_a", "$text_x"), "no data field `text_x` (the nearest is `text_"),
        ("<!DOCTYPE View>" + CONFIG.strip(), "declares a document type"),
        ('<!DOCTYPE V [<!ENTITY e "x">]><View a="&e;"/>', "declares a document type"),
        ('<!DOCTYPE V SYSTEM "file:///etc/passwd"><V/>', "declares a document type"),
        ("", "is empty"),
    ],
)
def test_configs_that_cannot_be_used(config, said, put):
    assert said in refused(studio, put, [task(annotation(1))], config)


def test_fixed_texts_do_no_harm_beside_id_fields(put):
    config = CONFIG.replace("$text_a", "fixed")
    imported = checked(studio(put, [task(annotation(1))], config, id_fields=("text_a", "text_b")))
    assert imported.counts["votes"] == 1


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ('[{"id": 1', "not valid JSON (line 1, sign 10)"),
        ("[" * 99_999, "not valid JSON"),
        ('["\\ud800"]', "not valid JSON"),
        ("{}", "no list of records"),
        ("[1]", "number 1 is int"),
        ("[]", "no annotations"),
        ([{"id": 1, "text_a": "x", "pw": "left"}], "not JSON-MIN"),
        ([task()], "holds no votes"),
        ([task() | {"annotations": {}}], "annotations of task 5 are not a list"),
        ([task({"id": 1, "result": "left"})], "annotations of task 5 are not a list"),
        ([task(annotation(1)) | {"data": None}], "no data field `text_a`, found are none"),
        ([task(annotation(1), text_a=["x"])], "item id is neither text nor a whole number"),
        ([task(annotation(1, was_cancelled=True))], "1 dropped: annotation is cancelled"),
        ("", "is empty"),
    ],
)
def test_exports_that_cannot_be_used(tasks, said, put):
    assert said in refused(studio, put, tasks)


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
