"""From the tables of a fit to the columns of a page, with no more digits than a reader needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.report.data import Items, Numbers, People, Positions, Votes
from urlr import Ranker
from urlr.diagnostics.aside_order import AsideOrder
from urlr.ids import positions
from urlr.votes.ballots import ballots_of
from urlr.votes.table import VoteTable

_DIGITS = 5
_SHARE = 0.5
"""Share up to which a page lists votes: the slider goes no further."""
_MOST, _MOST_TURNED = 50_000, 10_000
"""Votes a page lists at most, and how many of these places are kept for votes read the other way
round; all others are in verdicts.parquet."""


def numbers(values: Iterable[Any]) -> Numbers:
    """A column of figures, rounded; what is not finite is not known."""
    column = np.asarray(values, np.float64)
    return tuple(float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None for value in column)


def counts(values: Iterable[Any]) -> Positions:
    """A column of whole numbers."""
    return tuple(np.asarray(values, np.int64).tolist())


def items_of(ranker: Ranker, features: pd.DataFrame | None) -> Items:
    """The ranking."""
    table = ranker.scores
    return Items(
        name=tuple(map(str, table["item"])),
        url=_urls(table["item"], features),
        score=numbers(table["score"]),
        low=numbers(table["low"]),
        high=numbers(table["high"]),
        rank=counts(table["rank"]),
        rank_low=_ranks(table["rank_low"]),
        rank_high=_ranks(table["rank_high"]),
        n_votes=counts(table["n_votes"]),
        wins=counts(table["wins"]),
        losses=counts(table["losses"]),
        ties=counts(table["ties"]),
        pruned=counts(table["pruned"]),
    )


def people_of(
    ranker: Ranker,
    verdicts: pd.DataFrame,
    earlier: frozenset[str] | None,
) -> People:
    """Everybody who voted, as `Ranker.annotators` has them; in the paper's method their counts."""
    table = ranker.people
    if table is None:
        table = _counted_people(verdicts)
    n = len(table)
    name = tuple(map(str, table["annotator"]))

    def column(wanted: str) -> Numbers:
        return numbers(table[wanted]) if wanted in table else (None,) * n

    return People(
        name=name,
        n_votes=counts(table["n_votes"]),
        agreement=column("agreement"),
        beyond_chance=column("beyond_chance"),
        low=column("low"),
        high=column("high"),
        expected=column("expected"),
        pruned=column("pruned"),
        left=column("left"),
        seconds=column("seconds"),
        verdict=tuple(map(str, table["verdict"])) if "verdict" in table else ("",) * n,
        q_value=column("q_value"),
        evidence=tuple(map(str, table["evidence"])) if "evidence" in table else ("",) * n,
        is_new=tuple(earlier is not None and one not in earlier for one in name),
    )


@dataclass(frozen=True, slots=True)
class Listed:
    """The votes that a page lists."""

    votes: pd.DataFrame
    """Rows of the verdicts, with `turned` beside their own columns: first those that are set aside
    first; then votes read the other way round that are not among these."""
    n_in_order: int
    """How many stand in the order in which they are set aside."""


def listed_votes(verdicts: pd.DataFrame, order: AsideOrder) -> Listed:
    """What the slider may set aside, and what is read the other way round; not more than fits."""
    most = _MOST - min(order.turned.size, _MOST_TURNED)
    first = order.rows[: min(max(order.count(_SHARE), order.n_aside, 1), most)]
    rest = order.turned[~np.isin(order.turned, first)][: _MOST - first.size]
    chosen = np.concatenate([first, rest])
    found = verdicts.iloc[chosen].assign(turned=np.isin(chosen, order.turned))
    return Listed(found, first.size)


def votes_of(
    listed: pd.DataFrame,
    why: Sequence[str | None],
    *,
    items: pd.Series[Any],
    people: Sequence[str],
    reasons: Sequence[str],
    times: pd.Series[Any] | None,
) -> Votes:
    """The listed votes as columns."""
    known = pd.Index(items)
    person_at = {name: place for place, name in enumerate(people)}
    reason_at = {text: place for place, text in enumerate(reasons)}
    who = listed["annotator"]
    return Votes(
        row=tuple(map(str, _rows(listed))),
        winner=_places(known, listed["winner"]),
        loser=_places(known, listed["loser"]),
        person=tuple(-1 if gone else person_at.get(str(one), -1) for one, gone in _cells(who)),
        suspicion=numbers(listed["suspicion"]),
        entry=numbers(listed["entry"]),
        margin=numbers(listed["margin"]),
        time=_moments(times, listed.index),
        pruned=tuple(listed["pruned"].astype(bool).tolist()),
        reason=tuple(reason_at[str(one)] for one in listed["reason"]),
        why=tuple(why),
        turned=tuple(listed["turned"].tolist()),
    )


def left_share(votes: VoteTable) -> float | None:
    """Share of the decided votes that went to what was shown on the left; None if not known."""
    ballots = ballots_of(votes)
    side = ballots.rows.side[~ballots.tie] if ballots.has_sides else np.zeros(0)
    known = np.count_nonzero(side)
    return None if known == 0 else float(np.count_nonzero(side > 0) / known)


def _counted_people(verdicts: pd.DataFrame) -> pd.DataFrame:
    counted = verdicts[verdicts["status"].isin(["used", "tie"])]
    named = counted[counted["annotator"].notna()]
    by_person = named.groupby(named["annotator"].astype(object), sort=False)["pruned"]
    table = by_person.agg(["size", "mean"]).reset_index()
    table.columns = pd.Index(["annotator", "n_votes", "pruned"])
    return table.sort_values(["pruned", "n_votes"], ascending=False, ignore_index=True)


def _urls(items: pd.Series[Any], features: pd.DataFrame | None) -> tuple[str | None, ...] | None:
    if features is None or "url" not in features or "item" not in features:
        return None
    given = features.drop_duplicates("item")
    place = positions(pd.Index(given["item"]), pd.Index(items))
    cells = [*given["url"].astype(object), None]
    return tuple(cells[one] if isinstance(cells[one], str) else None for one in place)


def _ranks(column: pd.Series[Any]) -> tuple[int | None, ...]:
    return tuple(None if one is pd.NA or one is None else int(one) for one in column)


def _rows(listed: pd.DataFrame) -> npt.NDArray[Any]:
    """Votes by their own id, else by file and row."""
    own = listed["vote_id"].astype(object).to_numpy()
    if "dump" not in listed:
        return np.asarray(own, object)
    return np.array(
        [
            f"{str(dump).rpartition('/')[2]} row {row}" if number == place else str(number)
            for number, dump, row, place in zip(
                own, listed["dump"], listed["row"], listed.index, strict=True
            )
        ],
        object,
    )


def _places(known: pd.Index[Any], named: pd.Series[Any]) -> Positions:
    return tuple(positions(known, pd.Index(named)).tolist())


def _cells(column: pd.Series[Any]) -> Iterable[tuple[Any, bool]]:
    return zip(column.astype(object), column.isna(), strict=True)


def _moments(times: pd.Series[Any] | None, rows: pd.Index[Any]) -> tuple[str | None, ...]:
    if times is None:
        return (None,) * len(rows)
    chosen = times.loc[rows]
    return tuple(
        None if text is None or gone else text
        for text, gone in zip(chosen.dt.strftime("%Y-%m-%d %H:%M"), chosen.isna(), strict=True)
    )
