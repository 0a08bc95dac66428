"""A flat table through a mapping: votes out, every row accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tasks.importing.cells import (
    as_ids,
    as_letters,
    as_numbers,
    as_times,
    distinct,
    same_ids,
    words_of,
)
from tasks.importing.mapping import PARTS, SIDES, ImportingError, Mapping, plain, refuse_missing
from tasks.messages import message
from urlr.arrays import Mask
from urlr.preflight_checks import spelling_remarks
from urlr.sentence import Sentence
from urlr.spelling import clean_column, known_name, needless_points, with_known_names
from urlr.votes.ballots import ballots_of
from urlr.votes.table import (
    OUTCOMES,
    REASONS,
    REJECTED,
    RESPELLED,
    SKIPPED,
    TIE,
    USED,
    Bytes,
    vote_table,
    with_clean_ids,
)

_MOSTLY = 0.5
_IDS = ("item_a", "item_b", "annotator", "vote_id", "attribute")
_NEEDED = ("item_a", "item_b", "outcome")
_ITEM = np.uint8(1)
"""The bit of `RESPELLED` for items."""
_WHOLE = pd.Series(["0.0"])
"""Beside texts that are whole numbers only, points are needless even if they have none."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows that are no votes, for one reason."""

    reason: str
    count: int
    examples: tuple[str, ...] = ()
    """Up to three of the values that were not understood."""

    def __str__(self) -> str:
        if not self.examples:
            return message("rows_dropped", count=self.count, reason=self.reason)
        seen = ", ".join(self.examples)
        return message("rows_dropped_such_as", count=self.count, reason=self.reason, examples=seen)


@dataclass(frozen=True, slots=True)
class Imported:
    """Votes of another tool, as `urlr.vote_table` takes them, and what became of every row."""

    source: str
    """Where they come from, as it may be shown."""
    votes: pd.DataFrame
    """`item_a, item_b, outcome` and what else is known of each vote."""
    counts: dict[str, int]
    """read = votes + ties + skipped + dropped."""
    dropped: tuple[Dropped, ...]
    notes: tuple[str, ...]

    def summary(self) -> str:
        """What was read and what became of it, in plain words."""
        counts = self.counts
        first = message(
            "rows_read",
            source=self.source,
            read=counts["read"],
            votes=counts["votes"],
            ties=counts["ties"],
            skipped=counts["skipped"],
            dropped=counts["dropped"],
        )
        lines = [first, *(f"  {dropped}" for dropped in self.dropped)]
        return "\n".join([*lines, *(message("a_note", note=note) for note in self.notes)])


class _Account:
    """Which rows were dropped and why; the first reason counts."""

    def __init__(self, n_rows: int) -> None:
        self.kept = np.ones(n_rows, np.bool_)
        self.dropped: list[Dropped] = []

    def drop(self, rows: Mask, reason: str, examples: Sequence[str] = ()) -> None:
        """Drop those of `rows` that are still there."""
        rows = rows & self.kept
        if rows.any():
            self.kept &= ~rows
            self.dropped.append(Dropped(reason, int(rows.sum()), tuple(examples)))


def import_table(
    table: pd.DataFrame,
    mapping: Mapping,
    *,
    where: str,
    notes: Sequence[str] = (),
    respelled: Mask | None = None,
) -> Imported:
    """Turn the rows of a flat table into votes.

    Parameters
    ----------
    where
        The source, as errors name it.
    notes
        What is known already and should be told.
    respelled
        Rows with an item that had another spelling before it came into the table.

    Raises
    ------
    ImportingError
        A column is missing, most outcomes are unknown, or no row is a vote.
    """
    if table.empty:
        raise ImportingError(message("nothing_to_import", where=where))
    found = [str(name) for name in table.columns]
    table = _with_near_names(table, mapping)
    absent = _check_columns(table, found, mapping, where)
    notes = [*notes, *_absent_parts(mapping, absent)]
    account = _Account(len(table))
    _drop_by_words(table, mapping, account)
    parts = {part: table[name] for part, name in mapping.sources.items() if name not in absent}
    ids = with_clean_ids(pd.DataFrame({part: parts[part] for part in _IDS if part in parts}))
    if respelled is not None:
        _mark(ids, respelled)
    outcome = _outcomes(parts, mapping, ids)
    _drop_unknown(table, mapping, outcome, account, where)
    votes = _canonical(parts, mapping, ids, outcome)
    counts = _drop_unusable(votes, account)
    if not account.kept.any():
        why = "; ".join(map(str, account.dropped))
        raise ImportingError(message("no_vote_left", count=len(table), where=where, dropped=why))
    votes = votes.loc[account.kept].reset_index(drop=True)
    notes += _spelling(votes)
    votes = votes.drop(columns=RESPELLED)
    votes = votes.assign(**{name: as_ids(votes[name]) for name in _IDS if name in votes})
    notes += _unread_cells(table.loc[account.kept], mapping, votes)
    notes += _oddities(votes)
    known = votes.columns[votes.notna().any() | votes.columns.isin(_NEEDED)]
    return Imported(where, votes[known], counts, tuple(account.dropped), tuple(notes))


def fitting(table: pd.DataFrame, layouts: Sequence[Mapping]) -> Mapping:
    """The first of the layouts whose columns are all there, else the last."""
    for mapping in layouts:
        if mapping.columns - mapping.optional <= set(_with_near_names(table, mapping).columns):
            return mapping
    return layouts[-1]


def _with_near_names(table: pd.DataFrame, mapping: Mapping) -> pd.DataFrame:
    """The table, columns renamed that can only be meant by one of the mapping's names."""
    wanted = sorted(mapping.columns)
    clear = [one for one in wanted if known_name(one, [x for x in wanted if x != one]) == one]
    return with_known_names(table, clear)


def _check_columns(
    table: pd.DataFrame, found: Sequence[str], mapping: Mapping, where: str
) -> frozenset[str]:
    """Columns that are not there and need not be; refuse a table that lacks another one."""
    names = [str(name) for name in table.columns]
    for column in (*mapping.sources.values(), *mapping.drop):
        if column not in names and column not in mapping.optional:
            remedy = message("describe_in_a_mapping")
            refuse_missing(message("a_column"), column, found, where=where, remedy=remedy)
        if names.count(column) > 1:
            raise ImportingError(message("repeated_column", where=where, name=column))
    return mapping.columns - set(names)


def _absent_parts(mapping: Mapping, absent: frozenset[str]) -> list[Sentence]:
    lacking = [
        message("lacks_part", part=part, column=column)
        for part, column in mapping.sources.items()
        if column in absent
    ]
    lacking += [
        message("lacks_rows_to_drop", column=column) for column in mapping.drop if column in absent
    ]
    return [message("file_lacks", lacking=", ".join(lacking))] if lacking else []


def _drop_by_words(table: pd.DataFrame, mapping: Mapping, account: _Account) -> None:
    for column, listed in mapping.drop.items():
        if column in table:
            cells = words_of(table[column])
            for word in listed:
                reason = message("column_is_empty", column=column)
                if plain(word):
                    reason = message("column_says", column=column, word=word)
                account.drop(cells.are(plain(word)), reason)


def _outcomes(parts: dict[str, pd.Series[Any]], mapping: Mapping, ids: pd.DataFrame) -> Bytes:
    """Position of each row's outcome in `OUTCOMES`, -1 where it is not known."""
    if mapping.winner in SIDES:
        return np.full(len(ids), OUTCOMES.index(SIDES[mapping.winner]), np.int8)
    meanings = {word: OUTCOMES.index(meaning) for word, meaning in mapping.outcomes.items()}
    if mapping.winner is not None:
        return _sides(parts["winner"], ids, meanings)
    return words_of(parts["outcome"]).looked_up(meanings)


def _sides(column: pd.Series[Any], ids: pd.DataFrame, meanings: dict[str, int]) -> Bytes:
    """Position in `OUTCOMES` of the item that each cell names, else what its word means, else -1.

    Rows that name an item in another spelling are marked among the ids.
    """
    items = [ids["item_a"], ids["item_b"]]
    clean, respelled = clean_column(column, points=needless_points([*items, _WHOLE]))
    sides = words_of(column).looked_up(meanings)
    for side in (1, 0):
        named = same_ids(items[side], clean)
        sides[named] = side
        _mark(ids, named & respelled)
    return sides


def _mark(ids: pd.DataFrame, rows: Mask) -> None:
    """Note that these rows have an item that had another spelling."""
    bits = ids[RESPELLED].to_numpy(np.uint8)
    ids[RESPELLED] = np.where(rows, bits | _ITEM, bits)


def _drop_unknown(
    table: pd.DataFrame, mapping: Mapping, outcome: Bytes, account: _Account, where: str
) -> None:
    """Drop rows whose outcome is not known; refuse if that is most of the rows left."""
    unknown = account.kept & (outcome < 0)
    if not unknown.any():
        return
    name = mapping.outcome or mapping.winner
    words = [word or message("an_empty_cell") for word in mapping.outcomes]
    reason = message("column_is_unknown", column=name)
    if mapping.winner is not None:
        item_a, item_b = mapping.item_a, mapping.item_b
        reason = message("column_names_neither", column=name, item_a=item_a, item_b=item_b)
        words = [message("items_in", item_a=item_a, item_b=item_b), *words]
    values = distinct(table.loc[unknown, name])
    count, left = int(unknown.sum()), int(account.kept.sum())
    if count > _MOSTLY * left:
        raise ImportingError(
            message(
                "mostly_unknown",
                where=where,
                reason=reason,
                count=count,
                total=left,
                seen=values,
                known=words,
            )
        )
    account.drop(unknown, reason, values[:3])


def _canonical(
    parts: dict[str, pd.Series[Any]], mapping: Mapping, ids: pd.DataFrame, outcome: Bytes
) -> pd.DataFrame:
    """All rows in the columns of `urlr.vote_table`; dropped ones hold anything."""
    columns: dict[str, Any] = {"outcome": as_letters(outcome, OUTCOMES)}
    if mapping.left in SIDES:
        side = OUTCOMES.index(SIDES[mapping.left])
        columns["left"] = as_letters(np.full(len(ids), side, np.int8), OUTCOMES)
    elif "left" in parts:
        columns["left"] = as_letters(_sides(parts["left"], ids, {"a": 0, "b": 1}), OUTCOMES)
    for part, read in (("seconds", as_numbers), ("time", as_times), ("weight", as_numbers)):
        if part in parts:
            columns[part] = read(parts[part])
    votes = ids.assign(**columns)
    return votes[[part for part in (*PARTS, RESPELLED) if part in votes]]


def _drop_unusable(votes: pd.DataFrame, account: _Account) -> dict[str, int]:
    """Drop what `urlr.vote_table` would reject, for its reasons; count the rest."""
    place = np.flatnonzero(account.kept)
    # Several attributes in one file are refused when they are fitted, not here.
    checked = vote_table(votes.loc[account.kept].drop(columns="attribute", errors="ignore"))
    rejected = checked.status == REJECTED
    for why in np.unique(checked.reason[rejected]):
        rows = np.zeros(len(votes), np.bool_)
        rows[place[rejected & (checked.reason == why)]] = True
        account.drop(rows, REASONS[why])
    kept = np.bincount(checked.status, minlength=4)
    return {
        "read": len(votes),
        "votes": int(kept[USED]),
        "ties": int(kept[TIE]),
        "skipped": int(kept[SKIPPED]),
        "dropped": sum(dropped.count for dropped in account.dropped),
    }


def _unread_cells(table: pd.DataFrame, mapping: Mapping, votes: pd.DataFrame) -> list[Sentence]:
    """Say which optional cells were filled and could not be read."""
    notes = []
    for part in (*_IDS, "left", "seconds", "time"):
        column = mapping.sources.get(part)
        if column is None or part not in votes:
            continue
        cells = table[column]
        unread = words_of(cells).filled & votes[part].isna().to_numpy()
        if unread.any():
            notes.append(
                message(
                    "cells_not_read",
                    column=column,
                    part=part,
                    count=int(unread.sum()),
                    seen=distinct(cells[unread]),
                )
            )
    return notes


def _spelling(votes: pd.DataFrame) -> list[Sentence]:
    """Say which ids were read without stray signs, and which look alike."""
    read = vote_table(votes.drop(columns="attribute", errors="ignore"))
    return spelling_remarks(read.respelled, read.items, ballots_of(read).names)


def _oddities(votes: pd.DataFrame) -> list[Sentence]:
    """What a reader of the result should know."""
    notes = []
    for mixed, names in (
        (message("mixed_items"), ("item_a", "item_b")),
        (message("mixed_annotators"), ("annotator",)),
    ):
        kinds = {pd.api.types.infer_dtype(votes[name]) for name in names if name in votes}
        if "mixed-integer" in kinds or {"integer", "string"} <= kinds:
            notes.append(mixed)
    attributes = votes["attribute"].nunique() if "attribute" in votes else 1
    if attributes > 1:
        notes.append(message("several_attributes", count=attributes))
    return notes
