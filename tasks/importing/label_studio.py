"""Label Studio's JSON export of pairwise tasks, as a flat table with one row per answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tasks.importing.documents import Record, flat_table, objects
from tasks.importing.mapping import ImportingError, refuse_missing
from tasks.messages import message
from urlr.sentence import Sentence

_COLUMNS = (
    "left item",
    "right item",
    "selected",
    "completed_by",
    "lead_time",
    "created_at",
    "id",
    "annotation",
)


@dataclass(frozen=True, slots=True)
class Pairwise:
    """A pairwise question of a labelling config."""

    name: str
    fields: tuple[str, str]
    """The data fields that name the items on the left and on the right."""
    others: frozenset[str]
    """The config's other pairwise questions."""


def pairwise_question(
    tags: Sequence[tuple[str, dict[str, str]]],
    *,
    question: str | None,
    id_fields: tuple[str, str] | None,
    where: str,
) -> Pairwise:
    """Find the pairwise question of a labelling config, or the one named, and what it shows."""
    asked = {
        attributes.get("name", ""): attributes for tag, attributes in tags if tag == "Pairwise"
    }
    if not asked:
        raise ImportingError(message("no_pairwise_tag", where=where))
    if question is None and len(asked) > 1:
        raise ImportingError(
            message("several_pairwise_questions", where=where, count=len(asked), names=list(asked))
        )
    name = next(iter(asked)) if question is None else question
    if name not in asked:
        what, remedy = message("a_pairwise_question"), message("check_question")
        refuse_missing(what, name, list(asked), where=where, remedy=remedy)
    fields = id_fields or _fields(asked[name].get("toName", ""), tags, where)
    return Pairwise(name, fields, frozenset(asked) - {name})


def _fields(
    to_name: str, tags: Sequence[tuple[str, dict[str, str]]], where: str
) -> tuple[str, str]:
    """The data fields behind the two tags that `toName` names, left and right."""
    shown_objects = [one.strip() for one in to_name.split(",")]
    values = {attributes.get("name"): attributes.get("value", "") for _, attributes in tags}
    if len(shown_objects) != 2 or not all(one in values for one in shown_objects):
        raise ImportingError(message("not_two_tags", where=where, given=to_name))
    left, right = (values[one] for one in shown_objects)
    if not (left.startswith("$") and right.startswith("$")):
        raise ImportingError(message("shows_no_data", where=where, left=left, right=right))
    return left[1:], right[1:]


def label_studio_table(
    tasks: Sequence[Record],
    question: Pairwise,
    *,
    where: str,
) -> tuple[pd.DataFrame, list[Sentence]]:
    """One row per answer or skipped annotation, and what should be told."""
    if not any("annotations" in task for task in tasks):
        raise ImportingError(message("no_annotations", where=where))
    data = [task["data"] if isinstance(task.get("data"), dict) else {} for task in tasks]
    known = list(dict.fromkeys(name for held in data for name in held))
    for field in question.fields:
        if field not in known:
            remedy = message("name_id_fields")
            refuse_missing(message("a_data_field"), field, known, where=where, remedy=remedy)
    rows: list[tuple[Any, ...]] = []
    n_untouched = 0
    for number, (task, held) in enumerate(zip(tasks, data, strict=True), start=1):
        what = message("the_annotations", where=where, task=task.get("id", number))
        annotations = objects(task.get("annotations"), what)
        n_untouched += not annotations
        items = tuple(held.get(field) for field in question.fields)
        rows += [(*items, *row) for one in annotations for row in _rows(one, question, what)]
    notes = [message("tasks_without_annotation", count=n_untouched)] if n_untouched else []
    return flat_table(rows, _COLUMNS), notes


def _rows(annotation: Record, question: Pairwise, what: str) -> Iterator[tuple[Any, ...]]:
    person = annotation.get("completed_by")
    if isinstance(person, dict):
        person = person.get("id", person.get("email"))
    state = None
    if annotation.get("was_cancelled"):
        state = "cancelled"
    elif annotation.get("ground_truth"):
        state = "ground truth"
    for selected in _selections(objects(annotation.get("result"), what), question):
        yield (
            selected,
            person,
            annotation.get("lead_time"),
            annotation.get("created_at"),
            annotation.get("id"),
            state,
        )


def _selections(results: Sequence[Record], question: Pairwise) -> list[str | None]:
    """What was selected, None for nothing; an answer to a question the config lacks is named."""
    answers: list[str | None] = []
    strange: list[str | None] = []
    for result in results:
        asked = str(result.get("from_name", question.name))
        if asked == question.name:
            answers.append(_selected(result.get("value")))
        elif result.get("type") == "pairwise" and asked not in question.others:
            strange.append(str(message("answer_nobody_asked", question=asked)))
    return answers or strange or [None]


def _selected(value: Any) -> str:
    selected = value.get("selected") if isinstance(value, dict) else None
    return selected if isinstance(selected, str) else json.dumps(value, ensure_ascii=False)
