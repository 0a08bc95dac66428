"""Votes in: one validated, typed table in which every input row is accounted for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.errors import VoteError
from urlr.ids import CodedIds, positions, read_coded_ids, sorted_uniques
from urlr.messages import message
from urlr.sentence import Sentence
from urlr.spelling import clean_column, cleaned, needless_points, with_known_names

USED, TIE, SKIPPED, REJECTED = range(4)
STATUSES = ("used", "tie", "skipped", "rejected")

REASONS = (
    "",
    message("skipped_by_annotator"),
    message("zero_weight"),
    message("ties_left_out"),
    message("missing_item"),
    message("empty_item_id"),
    message("unusable_item_id"),
    message("unknown_outcome"),
    message("self_comparison"),
    message("unusable_weight"),
    message("weight_out_of_range"),
    message("item_without_features"),
    message("repeated_vote_id"),
    message("header_row"),
)
"""Why a row is not part of the graph; the position in this tuple is the code in `VoteTable`."""

_SKIP, _ZERO, _TIE, _MISSING, _EMPTY, _UNUSABLE, _OUTCOME = range(1, 8)
_SELF, _WEIGHT, _RANGE, _FEATURES, REPEATED, _HEADER = range(8, len(REASONS))

COLUMNS = (
    *("winner", "loser", "item_a", "item_b", "outcome", "weight", "annotator", "time", "vote_id"),
    *("left", "seconds", "attribute"),
)
"""Columns of votes that mean something, all but the items optional."""
VOTED = ("winner", "loser", "item_a", "item_b")
"""Columns of votes that name items."""
RESPELLED = "respelled_ids"
"""A column beside the votes, of bytes: their ids have been read. Its bits tell which ids of a row
had another spelling, and which rows repeat the names of the columns."""
_SPELLED = {1: (*VOTED, "left"), 2: ("annotator",), 4: ("vote_id",)}
_IS_HEADER = 8
_OURS = {*COLUMNS, RESPELLED, "dump", "row", "dump_given", "row_given"}
"""The columns that mean something, and those that tell where a vote comes from."""
_NAMED = {1: "item", 2: "annotator", 4: "vote_id"}

# Beside a vote 1e18 times as heavy nothing of a vote is left in 53 bits.
_WEIGHT_RANGE = (1e-9, 1e9)

Bytes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class VoteTable:
    """Votes in input order, each row with its status; rows that count have item codes."""

    items: pd.Index[Any]
    """(n_items,) distinct items among the rows that count, in an order the rows cannot change."""
    winner: Codes
    """(n_rows,) position in `items` of the winner (of `item_a` for a tie), -1 if it counts not."""
    loser: Codes
    """(n_rows,) position in `items` of the loser (of `item_b` for a tie), -1 if it counts not."""
    weight: Floats
    """(n_rows,) weight of each row, 0 where it does not count."""
    status: Bytes
    """(n_rows,) USED, TIE, SKIPPED or REJECTED."""
    reason: Bytes
    """(n_rows,) why the row does not count, as a position in `REASONS`."""
    frame: pd.DataFrame
    """The input, its ids in their one spelling."""

    @property
    def counts(self) -> dict[str, int]:
        """read = used + ties + skipped + rejected."""
        used, ties, skipped, rejected = np.bincount(self.status, minlength=4).tolist()
        return {
            "read": len(self.status),
            "used": used,
            "ties": ties,
            "skipped": skipped,
            "rejected": rejected,
        }

    @property
    def reasons(self) -> dict[str, int]:
        """How many rows do not count, by reason, skipped ones included."""
        return _by_reason(self.reason)

    @property
    def rejections(self) -> dict[str, int]:
        """How many rows were rejected, by reason."""
        return _by_reason(self.reason[self.status == REJECTED])

    @property
    def respelled(self) -> dict[str, int]:
        """How many rows have an id that was read without stray signs, by what it names."""
        return _respelled(self.frame)

    @property
    def unknown(self) -> list[str]:
        """Columns that mean nothing here."""
        return [str(name) for name in self.frame.columns if name not in _OURS]

    @property
    def without_features(self) -> pd.Index[Any]:
        """The distinct items of votes that were rejected because an item has no features."""
        rows = self.reason == _FEATURES
        every = [read_coded_ids(names[rows]) for names in self.names()] if rows.any() else []
        found = [ids.values.take(np.unique(ids.codes[ids.codes >= 0])) for ids in every]
        distinct: pd.Index[Any] = pd.Index(pd.unique(np.array([*chain(*found)], object)))
        return distinct

    @property
    def rejected(self) -> pd.DataFrame:
        """The rejected rows as they came, with a `reason`; one of their own is `reason_given`."""
        rows = self.status == REJECTED
        reason = pd.Series(np.asarray(REASONS, dtype=object)[self.reason[rows]], dtype="str")
        kept = pd.DataFrame(self.frame.loc[rows]).drop(columns=RESPELLED, errors="ignore")
        if "reason" in kept:  # the voters' own column of that name is not to be lost
            kept = kept.rename(columns={"reason": "reason_given"})
        return kept.assign(reason=reason.to_numpy())

    def place(self, position: int) -> Sentence:
        """Where a row comes from, counted from 1 below the header."""
        row = self.frame.iloc[position]
        if {"dump", "row"} <= set(self.frame.columns):
            return message("row_of_file", row=row["row"], path=row["dump"])
        return message("row_of_votes", row=int(position) + 1)

    def names(self) -> tuple[pd.Series[Any], pd.Series[Any]]:
        """Winner and loser of each row as they came (`item_a` and `item_b` of undecided rows)."""
        if "winner" in self.frame:
            return self.frame["winner"], self.frame["loser"]
        counts = self.winner >= 0
        swap = read_outcomes(self.frame["outcome"][~counts]) == OUTCOMES.index("b")
        first, second = (
            np.asarray(self.frame[name][~counts], object) for name in ("item_a", "item_b")
        )
        return (
            self._named(self.winner, np.where(swap, second, first)),
            self._named(self.loser, np.where(swap, first, second)),
        )

    def _named(self, codes: Codes, others: npt.NDArray[Any]) -> pd.Series[Any]:
        """Items by code, and what the rows without a code say."""
        if others.size == 0:
            return pd.Series(self.items.take(codes), self.frame.index)
        names = np.empty(len(codes), object)
        names[codes >= 0] = self.items.take(codes[codes >= 0])
        names[codes < 0] = others
        named = pd.Series(names, self.frame.index, dtype=object)
        text = pd.api.types.infer_dtype(named, skipna=True) == "string"
        return named.astype("str") if text else named


@dataclass(frozen=True, slots=True)
class Accounts:
    """What became of rows, counted; for votes that are not all in memory."""

    counts: dict[str, int]
    """read = used + ties + skipped + rejected."""
    reasons: dict[str, int]
    """How many rows do not count, by reason, skipped ones included."""
    rejections: dict[str, int]
    """How many rows were rejected, by reason."""
    respelled: dict[str, int]
    """How many rows have an id that was read without stray signs, by what it names."""

    @staticmethod
    def of(reason: Bytes, *, n_ties: int, respelled: dict[str, int]) -> Accounts:
        """Count rows by their reasons; of those that count so many are ties."""
        every = np.bincount(reason, minlength=len(REASONS))
        skipped = int(every[[_SKIP, _ZERO, _TIE]].sum())
        counts = {
            "read": len(reason),
            "used": int(every[0]) - n_ties,
            "ties": n_ties,
            "skipped": skipped,
            "rejected": len(reason) - int(every[0]) - skipped,
        }
        of_all = _named_reasons(every)
        every[[_SKIP, _ZERO, _TIE]] = 0
        return Accounts(counts, of_all, _named_reasons(every), respelled)


def without_repeats(votes: VoteTable, repeated: Mask) -> VoteTable:
    """The votes, some rows of which repeat the vote_id of a vote read before them."""
    if not repeated.any():
        return votes
    return replace(
        votes,
        winner=np.where(repeated, np.int32(-1), votes.winner),
        loser=np.where(repeated, np.int32(-1), votes.loser),
        weight=np.where(repeated, 0.0, votes.weight),
        status=np.where(repeated, np.int8(REJECTED), votes.status),
        reason=np.where(repeated, np.int8(REPEATED), votes.reason),
    )


def vote_table(
    votes: pd.DataFrame, *, known_items: pd.Index[Any] | None = None, ties: bool = True
) -> VoteTable:
    """Read votes, deciding for every row whether it counts and if not, why.

    Parameters
    ----------
    votes
        Either `winner, loser` or `item_a, item_b, outcome` (a | b | tie | skip), and optionally
        `weight`, `annotator`, `time`, `vote_id`, `left`, `seconds`, `attribute`, in any case and
        with spaces for dashes. Other columns are kept.
    known_items
        Items that have features. When given, votes on other items are rejected.
    ties
        Whether ties count; if not they are skipped.

    Raises
    ------
    VoteError
        When the columns cannot be read, or the votes belong to several attributes.
    """
    if isinstance(votes, pd.DataFrame):
        votes = with_known_names(votes, COLUMNS)
    _check_columns(votes)
    votes = with_clean_ids(votes, known=() if known_items is None else known_items)
    n = len(votes)
    reason = np.zeros(n, np.int8)

    def reject(rows: Mask, why: int) -> None:
        if rows.any():
            reason[rows & (reason == 0)] = why

    tie = np.zeros(n, np.bool_)
    swap = np.zeros(n, np.bool_)
    reject(header_rows(votes), _HEADER)
    decisive = "winner" in votes
    first = read_coded_ids(votes["winner" if decisive else "item_a"])
    second = read_coded_ids(votes["loser" if decisive else "item_b"])
    if not decisive:
        outcome = read_outcomes(votes["outcome"])
        reject(outcome == OUTCOMES.index("skip"), _SKIP)
        swap = outcome == OUTCOMES.index("b")
        tie = outcome == OUTCOMES.index("tie")
    for side in (first, second):
        reject(side.missing, _MISSING)
        reject(side.empty, _EMPTY)
        reject(side.unusable, _UNUSABLE)
    if not decisive:
        reject(outcome < 0, _OUTCOME)

    weight = np.ones(n)
    if "weight" in votes:
        weight = _weights(votes["weight"])
        with np.errstate(invalid="ignore"):
            reject(~np.isfinite(weight) | (weight < 0), _WEIGHT)
            reject(weight == 0, _ZERO)
            reject((weight < _WEIGHT_RANGE[0]) | (weight > _WEIGHT_RANGE[1]), _RANGE)

    items, head, tail = _codes(first, second, known_items)
    if known_items is not None:
        reject((head < 0) | (tail < 0), _FEATURES)
    reject(head == tail, _SELF)

    if "vote_id" in votes:
        reject(_repeated(votes["vote_id"], reason == 0), REPEATED)

    if not ties:
        reject(tie, _TIE)
    counts = reason == 0
    status = np.where(tie, np.int8(TIE), np.int8(USED))
    status[~counts] = REJECTED
    status[(reason == _SKIP) | (reason == _ZERO) | (reason == _TIE)] = SKIPPED
    used, items = _compress(items, head, tail, counts)
    winner, loser = used[np.where(swap, tail, head)], used[np.where(swap, head, tail)]
    if not counts.all():
        winner[~counts] = loser[~counts] = -1
        weight = np.where(counts, weight, 0.0)
    # A shallow copy: what the caller does to the frame afterwards must not reach the verdicts.
    return VoteTable(items, winner, loser, weight, status, reason, votes.copy(deep=False))


def with_clean_ids(
    votes: pd.DataFrame,
    *,
    known: Iterable[Any] = (),
    beside: Sequence[pd.Series[Any]] = (),
) -> pd.DataFrame:
    """The votes, their ids in one spelling, with a column that tells which had another.

    Votes that have the column are as they are: what is some of them was read among all.

    Parameters
    ----------
    known
        Items read before.
    beside
        Columns of other tables that name items and are yet to be read, in the same spelling.
    """
    if RESPELLED in votes:
        if votes[RESPELLED].dtype == np.uint8:
            return votes
        votes = votes.rename(columns={RESPELLED: f"{RESPELLED}_given"})
    headers = _headers(votes)
    bits = np.where(headers, np.uint8(_IS_HEADER), np.uint8(0))
    changed: dict[str, Any] = {}
    for bit, names in _SPELLED.items():
        there = {name: votes[name] for name in names if name in votes}
        deciding = [column for name, column in there.items() if name != "left"]  # it may say a or b
        if headers.any():
            deciding = [column[~headers] for column in deciding]
        if bit == 1:
            points = needless_points([*deciding, *beside], known)
        else:
            points = needless_points(deciding)
        for name, column in there.items():
            clean, rows = clean_column(_whole(column), points=points)
            if clean is not column:
                changed[name] = clean
                bits[rows] |= bit
    return votes.assign(**changed, **{RESPELLED: bits})


def voted_ids(votes: pd.DataFrame | VoteTable) -> Iterable[Any]:
    """The items that votes name, some of them more than once."""
    if isinstance(votes, VoteTable):
        return votes.items
    names = [name for name in VOTED if list(votes).count(name) == 1]
    return (one for name in names for one in votes[name].unique())


def header_rows(votes: pd.DataFrame) -> Mask:
    """Rows that repeat the names of the columns, of votes whose ids have been read."""
    found: Mask = (votes[RESPELLED].to_numpy(np.uint8) & _IS_HEADER) > 0
    return found


def _headers(votes: pd.DataFrame) -> Mask:
    """Rows that repeat the names of the columns, as in files that were put together."""
    names = [name for name in VOTED if name in votes]
    if not names or any(pd.api.types.is_numeric_dtype(votes[name].dtype) for name in names):
        return np.zeros(len(votes), np.bool_)
    found: Mask = np.logical_and.reduce(
        [votes[name].isin(_spellings(name)).to_numpy(np.bool_) for name in names]
    )
    return found


def _spellings(name: str) -> list[str]:
    """How people write the name of a column."""
    forms = [name.replace("_", sign) for sign in ("_", " ", "-", "")]
    return [way for form in forms for way in (form, form.upper(), form.title(), form.capitalize())]


def _whole(column: pd.Series[Any]) -> pd.Series[Any]:
    """Whole numbers that a gap made fractions of, as whole numbers."""
    if column.dtype.kind != "f" or not column.notna().any():
        return column
    numbers = column.to_numpy(np.float64, na_value=np.nan)
    whole = np.isnan(numbers) | ((np.trunc(numbers) == numbers) & (np.abs(numbers) < 2.0**53))
    return column.astype("Int64") if whole.all() else column


def _respelled(votes: pd.DataFrame) -> dict[str, int]:
    bits = votes[RESPELLED].to_numpy(np.uint8)
    counts = {named: int(np.count_nonzero(bits & bit)) for bit, named in _NAMED.items()}
    return {named: count for named, count in counts.items() if count}


def _weights(column: pd.Series[Any]) -> Floats:
    if getattr(column.dtype, "kind", "O") in "mMc":  # spans of time and the like are no weights
        return np.full(len(column), np.nan)
    return pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)


def _repeated(ids: pd.Series[Any], counts: Mask) -> Mask:
    """Rows that count and whose id an earlier row that counts has."""
    if pd.api.types.is_integer_dtype(ids.dtype) and not ids.hasnans:
        numbers = ids.to_numpy()
        if (numbers[1:] > numbers[:-1]).all():  # numbered by hand or by row: the common case
            return np.zeros(len(ids), np.bool_)
    if ids.dtype == object:  # anything at all may be in there, lists too
        ids = ids.map(lambda value: f"{type(value).__name__} {value}", na_action="ignore")
    repeated = np.zeros(len(ids), np.bool_)
    candidates = ids[counts]
    repeated[counts] = (candidates.duplicated() & candidates.notna()).to_numpy(np.bool_)
    return repeated


def _by_reason(codes: Bytes) -> dict[str, int]:
    return _named_reasons(np.bincount(codes, minlength=len(REASONS)))


def _named_reasons(counts: Ints) -> dict[str, int]:
    return {REASONS[k]: int(counts[k]) for k in range(1, len(REASONS)) if counts[k]}


OUTCOMES = ("a", "b", "tie", "skip")


def read_outcomes(column: pd.Series[Any]) -> Bytes:
    """Position of each outcome in `OUTCOMES`, -1 where missing or unknown."""
    if column.dtype == object:  # anything at all may be in there, lists too
        column = column.map(lambda value: value if isinstance(value, str) else None)
    codes, uniques = pd.factorize(column)
    words = [word.lower() for word in cleaned([str(value) for value in uniques])]
    known = [OUTCOMES.index(word) if word in OUTCOMES else -1 for word in words]
    return np.array([*known, -1], np.int8)[codes]


def _check_columns(votes: pd.DataFrame) -> None:
    if not isinstance(votes, pd.DataFrame):
        raise VoteError(message("votes_not_a_table", kind=type(votes).__name__))
    names = [str(name) for name in votes.columns if name != RESPELLED]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise VoteError(message("repeated_vote_columns", names=twice))
    paired = {"winner", "loser"} <= set(names)
    canonical = {"item_a", "item_b", "outcome"} <= set(names)
    if not paired and not canonical:
        raise VoteError(message("lacking_vote_columns", names=names or ["(none)"]))
    if paired and ("outcome" in names or "item_a" in names or "item_b" in names):
        raise VoteError(message("mixed_layouts"))
    attributes = pd.unique(votes["attribute"].astype(str)).tolist() if "attribute" in names else []
    if len(attributes) > 1:
        raise VoteError(message("several_attributes", count=len(attributes), names=attributes))


def _codes(
    first: CodedIds, second: CodedIds, known_items: pd.Index[Any] | None
) -> tuple[pd.Index[Any], Codes, Codes]:
    """All distinct items, and the position of every winner and loser; -1 if unusable."""
    if known_items is None:
        places, items = sorted_uniques(first.values.append(second.values))
        head, tail = places[: len(first.values)], places[len(first.values) :]
    else:
        items = known_items
        head, tail = positions(items, first.values), positions(items, second.values)
    heads, tails = (np.append(part, -1).astype(np.int32) for part in (head, tail))
    return items, heads[first.codes], tails[second.codes]


def _compress(
    items: pd.Index[Any], head: Codes, tail: Codes, counts: Mask
) -> tuple[Codes, pd.Index[Any]]:
    """Keep the items that occur in rows that count, in their fixed order."""
    occurs = np.zeros(len(items) + 1, np.bool_)
    for codes in (head, tail):
        occurs[codes if counts.all() else codes[counts]] = True
    kept = np.flatnonzero(occurs[:-1])
    place = np.full(len(items) + 1, -1, np.int32)
    place[kept], ordered = sorted_uniques(items.take(kept))
    return place, ordered
