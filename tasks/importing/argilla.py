"""Argilla's ranking answers, as a flat table with one row per pair of options.

A ranking of k options says k(k-1)/2 pairs, which depend on each other: k - 1 of them imply most of
the rest. Every pair is written with weight 2/k, so that a ranking weighs k - 1 votes in sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from typing import Any

import pandas as pd

from tasks.importing.documents import Record, flat_table, objects
from tasks.importing.mapping import ImportingError, plain, refuse_missing
from tasks.importing.presets import ARGILLA
from tasks.messages import message
from urlr.sentence import Sentence
from urlr.spelling import cleaned, needless_points

_COLUMNS = (
    "first option",
    "second option",
    "ranking",
    "weight",
    "user_id",
    "time",
    "status",
    "respelled",
)

_NAMELESS = (None, "")
"""What names no option, whatever stands before it."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one person said to the ranking question of one record."""

    number: int
    """Place of the record in the file."""
    record: Any
    """The record's id, None if it has none."""
    response: Record
    value: Any
    options: list[tuple[Any, Any, bool]] | None = None
    """Options, their ranks, and whether they had another spelling; None if it is no ranking."""
    record_respelled: bool = False

    @property
    def finished(self) -> bool:
        return plain(self.response.get("status")) not in ARGILLA.drop["status"]


def argilla_table(
    records: Sequence[Record],
    *,
    question: str | None,
    prefix_record: bool | None,
    where: str,
) -> tuple[pd.DataFrame, list[Sentence]]:
    """One row per pair of options, or per answer without any, and what should be told.

    Options such as `response-1` name another item in every record, while `model-x` names the same
    one. Which is meant cannot be told, so where names recur across records the items are prefixed
    with their record's id unless `prefix_record` is false: items that should have been one leave
    the votes in pieces, which a fit refuses, while items that should have been many would be merged
    in silence.
    """
    answers = _in_one_spelling(list(_answers(records, question, where)))
    recurring = _recurring(answers)
    prefixed = bool(recurring) if prefix_record is None else prefix_record
    if prefixed and any(answer.record is None for answer in answers):
        raise ImportingError(message("records_without_id", where=where))
    rows = [row for answer in answers for row in _rows(answer, prefixed)]
    notes = _notes(answers, rows, recurring if prefix_record is None else [])
    return flat_table(rows, _COLUMNS), notes


def _notes(
    answers: Sequence[_Answer], rows: Sequence[tuple[Any, ...]], recurring: Sequence[str]
) -> list[Sentence]:
    n_rankings = sum(answer.finished and answer.options is not None for answer in answers)
    n_pairs = sum(row[_COLUMNS.index("weight")] is not None for row in rows)
    notes = [
        message("rankings_as_pairs", responses=len(answers), rankings=n_rankings, pairs=n_pairs)
    ]
    if recurring:
        notes.append(message("options_recur", option=recurring[0]))
    return notes


def _answers(records: Sequence[Record], question: str | None, where: str) -> Iterator[_Answer]:
    """Every answer to the one ranking question, or to the one named."""
    responses = [
        (number, record.get("id", record.get("external_id")), response, values)
        for number, record in enumerate(records, start=1)
        for response, values in _responses(
            record, message("the_responses", where=where, number=number)
        )
    ]
    if not responses:
        raise ImportingError(message("no_responses", where=where))
    answered = [values for *_, values in responses]
    asked = list(dict.fromkeys(name for values in answered for name in values))
    rankings = [name for name in asked if any(_ranking(one.get(name)) for one in answered)]
    if question is None and len(rankings) > 1:
        raise ImportingError(
            message("several_ranking_questions", where=where, count=len(rankings), names=rankings)
        )
    if question is not None and question not in asked:
        what, remedy = message("a_question"), message("check_question")
        refuse_missing(what, question, asked, where=where, remedy=remedy)
    if not rankings or (question is not None and question not in rankings):
        raise ImportingError(message("no_ranking", where=where))
    name = rankings[0] if question is None else question
    for number, record, response, values in responses:
        # A response to all questions that leaves this one out is an answer too: a skip.
        if name in values or "values" in response:
            yield _Answer(number, record, response, values.get(name))


def _in_one_spelling(answers: Sequence[_Answer]) -> list[_Answer]:
    """The answers, ids of records and options read before any is compared or put together."""
    rankings = [_ranking(answer.value) for answer in answers]
    options = _spellings(option for ranking in rankings for option, _ in ranking or [])
    records = _spellings(answer.record for answer in answers)
    read = []
    for answer, ranking in zip(answers, rankings, strict=True):
        record, respelled = _read(answer.record, records)
        record = None if record == "" else record
        ranked = None if ranking is None else [_ranked(*one, options) for one in ranking]
        read.append(replace(answer, record=record, record_respelled=respelled, options=ranked))
    return read


def _ranked(option: Any, rank: Any, spellings: dict[str, str]) -> tuple[Any, Any, bool]:
    clean, respelled = _read(option, spellings)
    return clean, rank, respelled


def _spellings(ids: Iterable[Any]) -> dict[str, str]:
    """The one spelling of every text among the ids."""
    texts = list(dict.fromkeys(one for one in ids if isinstance(one, str)))
    points = needless_points([pd.Series(texts, dtype=object)])
    return dict(zip(texts, cleaned(texts, points=points), strict=True))


def _read(given: Any, spellings: dict[str, str]) -> tuple[Any, bool]:
    """An id in its one spelling, and whether it had another."""
    if not isinstance(given, str):
        return given, False
    return spellings[given], spellings[given] != given


def _responses(record: Record, what: str) -> Iterator[tuple[Record, Record]]:
    """Responses of a record with what they answer to each question, in any of Argilla's layouts."""
    given = record.get("responses")
    if given is None:  # datasets have a column for each question
        given = {name: held for name, held in record.items() if _are_answers(held)}
    if isinstance(given, dict):
        for name, answers in given.items():
            for answer in objects(answers, what):
                yield answer, {name: answer.get("value")}
        return
    for response in objects(given, what):
        if "values" in response:
            values = response["values"] if isinstance(response["values"], dict) else {}
            yield response, {name: _unwrapped(value) for name, value in values.items()}
        else:
            yield response, {str(response.get("question_name", "")): response.get("value")}


def _are_answers(held: Any) -> bool:
    return (
        isinstance(held, list)
        and bool(held)
        and all(isinstance(one, dict) and {"user_id", "value"} <= set(one) for one in held)
    )


def _unwrapped(value: Any) -> Any:
    return value["value"] if isinstance(value, dict) and set(value) == {"value"} else value


def _ranking(value: Any) -> list[tuple[Any, Any]] | None:
    """Options with their ranks, given side by side or as two lists; None if it is no ranking."""
    if isinstance(value, dict):
        options, ranks = value.get("value"), value.get("rank")
        if not isinstance(options, list) or not isinstance(ranks, list) or not options:
            return None
        return list(zip_longest(options, ranks))
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(one, dict) and "rank" in one and "value" in one for one in value):
        return None
    return [(one["value"], one["rank"]) for one in value]


def _recurring(answers: Sequence[_Answer]) -> list[str]:
    """Options that occur in more than one record."""
    seen: dict[str, set[str]] = {}
    for answer in answers:
        record = f"number {answer.number}" if answer.record is None else f"id {answer.record}"
        for option, *_ in answer.options or []:
            if option not in _NAMELESS:
                seen.setdefault(str(option), set()).add(record)
    return [option for option, records in seen.items() if len(records) > 1]


def _rows(answer: _Answer, prefixed: bool) -> Iterator[tuple[Any, ...]]:
    response, options = answer.response, answer.options
    time = response.get("updated_at", response.get("inserted_at"))
    person = (response.get("user_id"), time, response.get("status"))

    def item(option: Any) -> Any:
        return f"{answer.record}:{option}" if prefixed and option not in _NAMELESS else option

    def row(*cells: Any, respelled: bool = False) -> tuple[Any, ...]:
        return (*cells, *person, respelled or (prefixed and answer.record_respelled))

    if not answer.finished or answer.value in (None, [], {}):
        yield row(None, None, None, None)
        return
    if options is None:
        seen = json.dumps(answer.value, ensure_ascii=False)
        yield row(None, None, seen, None)
        return
    ranked = [one for one in options if _is_number(one[1])]
    if len(ranked) < 2:
        yield row(None, None, str(message("too_few_ranked_options")), None)
        return
    for option, rank, _ in options:
        if not _is_number(rank):
            yield row(item(option), None, str(message("option_without_rank")), None)
    for (first, rank, one_odd), (second, other, other_odd) in combinations(ranked, 2):
        said = "first" if rank < other else "second" if rank > other else "equal"
        pair = (item(first), item(second), said, 2 / len(ranked))
        yield row(*pair, respelled=one_odd or other_odd)


def _is_number(rank: Any) -> bool:
    return isinstance(rank, int | float) and not isinstance(rank, bool) and abs(rank) < math.inf
