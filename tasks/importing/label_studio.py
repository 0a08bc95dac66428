"""Label Studio's JSON export of pairwise tasks, as a flat table with one row per answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tasks.importing.documents import Record, flat_table, objects
from tasks.importing.mapping import ImportingError, refuse_missing
from urlr.ids import plural, shown, shown_some

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
        raise ImportingError(
            f"{where} has no <Pairwise> tag; give the labelling config of the project that was "
            "exported."
        )
    if question is None and len(asked) > 1:
        raise ImportingError(
            f"{where} asks {plural(len(asked), 'pairwise question')} "
            f"({shown_some(list(asked), limit=8)}); choose one with --question."
        )
    name = next(iter(asked)) if question is None else question
    if name not in asked:
        refuse_missing(
            "pairwise question", name, list(asked), where=where, remedy="check --question"
        )
    fields = id_fields or _fields(asked[name].get("toName", ""), tags, where)
    return Pairwise(name, fields, frozenset(asked) - {name})


def _fields(
    to_name: str, tags: Sequence[tuple[str, dict[str, str]]], where: str
) -> tuple[str, str]:
    """The data fields behind the two tags that `toName` names, left and right."""
    shown_objects = [one.strip() for one in to_name.split(",")]
    values = {attributes.get("name"): attributes.get("value", "") for _, attributes in tags}
    if len(shown_objects) != 2 or not all(one in values for one in shown_objects):
        raise ImportingError(
            f"{where}: toName of <Pairwise> is `{shown(to_name)}`; it must name two tags of the "
            'config, such as toName="left,right".'
        )
    left, right = (values[one] for one in shown_objects)
    if not (left.startswith("$") and right.startswith("$")):
        raise ImportingError(
            f"{where} shows `{shown(left)}` and `{shown(right)}`, not data; name the data fields "
            "that hold the two item ids with --id-fields LEFT,RIGHT."
        )
    return left[1:], right[1:]


def label_studio_table(
    tasks: Sequence[Record],
    question: Pairwise,
    *,
    where: str,
) -> tuple[pd.DataFrame, list[str]]:
    """One row per answer or skipped annotation, and what should be told."""
    if not any("annotations" in task for task in tasks):
        raise ImportingError(
            f"{where} has no annotations; export the project as JSON (not JSON-MIN, CSV or TSV)."
        )
    data = [task["data"] if isinstance(task.get("data"), dict) else {} for task in tasks]
    known = list(dict.fromkeys(name for held in data for name in held))
    for field in question.fields:
        if field not in known:
            remedy = "name the fields of the two item ids with --id-fields LEFT,RIGHT"
            refuse_missing("data field", field, known, where=where, remedy=remedy)
    rows: list[tuple[Any, ...]] = []
    n_untouched = 0
    for number, (task, held) in enumerate(zip(tasks, data, strict=True), start=1):
        what = f"{where}: the annotations of task {shown(task.get('id', number))}"
        annotations = objects(task.get("annotations"), what)
        n_untouched += not annotations
        items = tuple(held.get(field) for field in question.fields)
        rows += [(*items, *row) for one in annotations for row in _rows(one, question, what)]
    untouched = plural(n_untouched, "task has", "tasks have")
    notes = [f"{untouched} no annotation yet."] if n_untouched else []
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
            strange.append(f"an answer to {asked}, which the config does not ask")
    return answers or strange or [None]


def _selected(value: Any) -> str:
    selected = value.get("selected") if isinstance(value, dict) else None
    return selected if isinstance(selected, str) else json.dumps(value, ensure_ascii=False)
