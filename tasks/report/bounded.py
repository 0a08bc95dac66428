"""No more of an attribute than a page can hold, counted in bytes.

Tables are cut at their end: items come best first, people those not to trust first. Whatever the
rest of the page points to beyond that end keeps its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime
from typing import Any, TypeVar

from tasks.report.data import AttributePage, Beyond, Concentration, Items, Moves, People, Votes
from tasks.report.shell import json_inside

MOST_ITEMS, MOST_PEOPLE = 10_000, 5_000
"""Rows of the ranking and of the table of people that a page holds ..."""
_ITEM_BYTES, _PEOPLE_BYTES, _CLUSTER_BYTES = 1_300_000, 900_000, 200_000
"""... and bytes. With a part of the votes and Bokeh, 1.4 MB, a page stays below 5 MB."""
PART_BYTES = 700_000
"""Of a part of the votes, with the names that it brings along."""
_MOST_MOVES = 200
_NAMES = 1_000_000
"""Signs that the names of all rows of a table may take together."""
_LONGEST_NAME, _SHORTEST_CUT = 500, 40
_LONGEST_ELSEWHERE = 60
"""Signs of a name beyond the table: no place of the page shows more."""
_LONGEST_ADDRESS = 2_000
"""Signs of an item's address; a longer one is left out, because half of it leads nowhere."""
_LONGEST_ROW, _LONGEST_TIME, _LONGEST_TEXT = 80, 40, 600
_DIGITS = 5
"""Significant digits of a number; the page shows four at most."""


T = TypeVar("T", Items, People)


@dataclass(frozen=True, slots=True)
class Tables:
    """The two tables that everything else points to, as far as a page holds them."""

    items: dict[str, Any]
    people: dict[str, Any]
    data: AttributePage

    @staticmethod
    def of(data: AttributePage) -> Tables:
        """Cut the tables of a page."""
        full = _beyond(data)
        items = _first_rows(data.items, MOST_ITEMS, _ITEM_BYTES)
        people = _first_rows(data.people, MOST_PEOPLE, _PEOPLE_BYTES)
        return Tables(items | {"n_all": full.n_items}, people | {"n_all": full.n_people}, data)

    def votes(self, votes: Votes) -> dict[str, Any]:
        """A part of the votes, with the names that the tables do not have."""
        rows = replace(
            votes,
            row=tuple(_cut(row, _LONGEST_ROW) for row in votes.row),
            time=tuple(time and _cut(time, _LONGEST_TIME) for time in votes.time),
        )
        columns = {column.name: plain(getattr(rows, column.name)) for column in fields(rows)}
        return columns | self.names([*votes.winner, *votes.loser], votes.person)

    def names(self, items: Iterable[int], people: Iterable[int]) -> dict[str, dict[str, str]]:
        """Names of items and people beyond the tables, by place."""
        n_items, n_people = len(self.items["name"]), len(self.people["name"])
        further = _beyond(self.data)
        return {
            "items": _names_beyond(self.data.items.name, further.items, n_items, items),
            "people": _names_beyond(self.data.people.name, further.people, n_people, people),
        }

    def pointed_to(self) -> tuple[list[int], list[int]]:
        """Items and people that the page names outside of its lists of votes."""
        data, groups = self.data, self.data.concentration.groups
        items = [place for one in groups for place in (*one.items_up, *one.items_down)]
        items += [place for one in data.tastes for place in one.top]
        items += [] if data.moves is None else data.moves.item[:_MOST_MOVES]
        items += [] if data.explorer is None else [k for row in data.explorer.top for k in row]
        return items, [place for one in groups for place in one.people]


def page_content(data: AttributePage) -> dict[str, Any]:
    """All that a page holds, with the part of the votes that it is given."""
    tables = Tables.of(data)
    moves = None if data.moves is None else _first_moves(data.moves)
    cut = {
        "items": tables.items,
        "people": tables.people,
        "votes": None if data.votes is None else tables.votes(data.votes),
        "moves": plain(moves),
        "n_moved": _beyond(data).n_moved,
        "concentration": plain(_first_clusters(data.concentration)),
        "n_clusters": _beyond(data).n_clusters,
    }
    rest = (column.name for column in fields(data) if column.name not in {*cut, "beyond"})
    content = cut | {name: plain(getattr(data, name)) for name in rest}
    content["names"] = tables.names(*tables.pointed_to())
    return content


def kept_page(data: AttributePage) -> AttributePage:
    """A page with the first part of its votes, and of all else no more than it shows."""
    tables, full = Tables.of(data), _beyond(data)
    items, people = tables.pointed_to()
    votes = data.votes
    if votes is not None:
        items, people = [*items, *votes.winner, *votes.loser], [*people, *votes.person]
        votes = replace(
            votes,
            row=tuple(_cut(row, _LONGEST_ROW) for row in votes.row),
            time=tuple(time and _cut(time, _LONGEST_TIME) for time in votes.time),
            why=tuple(why and _cut(why, _LONGEST_TEXT) for why in votes.why),
        )
    names = tables.names(items, people)
    found = _first_clusters(data.concentration)
    clusters = tuple(replace(one, name=_cut(one.name, _LONGEST_TEXT)) for one in found.clusters)
    return replace(
        data,
        items=_as_shown(data.items, tables.items),
        people=_as_shown(data.people, tables.people),
        votes=votes,
        moves=None if data.moves is None else _first_moves(data.moves),
        concentration=replace(found, clusters=clusters),
        beyond=replace(
            full,
            items={int(place): name for place, name in names["items"].items()},
            people={int(place): name for place, name in names["people"].items()},
        ),
    )


def size(content: Any) -> int:
    """Bytes that something takes inside of a page."""
    return len(json_inside(content).encode())


def plain(value: Any) -> Any:
    """What JSON knows: long texts cut, numbers with few digits, None for what is no number."""
    if isinstance(value, str):
        return _cut(value, _LONGEST_TEXT)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {_cut(str(name), _LONGEST_TEXT): plain(entry) for name, entry in value.items()}
    if isinstance(value, date | datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {column.name: plain(getattr(value, column.name)) for column in fields(value)}
    raise TypeError(f"a page cannot hold a {type(value).__name__}.")


def _first_rows(table: Items | People, most: int, most_bytes: int) -> dict[str, Any]:
    """As many rows as fit, and how many there are."""
    n = min(len(table.name), most)
    longest = max(_SHORTEST_CUT, min(_LONGEST_NAME, _NAMES // max(n, 1)))
    columns: dict[str, Any] = {}
    for column in fields(table):
        values = getattr(table, column.name)
        if column.name == "name":
            columns["name"] = [_cut(name, longest) for name in values[:n]]
        elif column.name == "url":
            columns["url"] = values and [_address(one) for one in values[:n]]
        else:
            columns[column.name] = plain(values[:n])
    while n > 1 and (taken := size(columns)) > most_bytes:
        n = _fewer(n, taken, most_bytes)
        columns = {name: values and values[:n] for name, values in columns.items()}
    return columns


def _as_shown(table: T, columns: dict[str, Any]) -> T:
    """The rows of a table that a page shows, texts cut as there and numbers as they are."""
    n, cut = len(columns["name"]), {}
    for column in fields(table):
        values = getattr(table, column.name)
        as_there = column.name in ("name", "url", "evidence")
        cut[column.name] = values and tuple((columns[column.name] if as_there else values)[:n])
    return replace(table, **cut)


def _beyond(data: AttributePage) -> Beyond:
    """What the page says of the whole tables, which may be the ones it has."""
    n_moved = 0 if data.moves is None else len(data.moves.item)
    n_clusters = len(data.concentration.clusters)
    whole = Beyond(len(data.items.name), len(data.people.name), n_moved, n_clusters, {}, {})
    return data.beyond or whole


def _first_moves(moves: Moves) -> Moves:
    cut = {
        column.name: getattr(moves, column.name)[:_MOST_MOVES]
        for column in fields(Moves)
        if isinstance(getattr(moves, column.name), tuple)
    }
    return replace(moves, **cut)


def _first_clusters(found: Concentration) -> Concentration:
    n = len(found.clusters)
    while n > 1 and (taken := size(plain(found.clusters[:n]))) > _CLUSTER_BYTES:
        n = _fewer(n, taken, _CLUSTER_BYTES)
    return replace(found, clusters=found.clusters[:n])


def _fewer(n: int, taken: int, most_bytes: int) -> int:
    """Rows to try next, where n take too many bytes."""
    return max(1, min(n * most_bytes // taken, n * 19 // 20))


def _names_beyond(
    names: Sequence[str], further: dict[int, str], n_held: int, places: Iterable[int]
) -> dict[str, str]:
    beyond = sorted({place for place in places if place >= n_held})
    named = {place: names[place] if place < len(names) else further[place] for place in beyond}
    return {str(place): _cut(name, _LONGEST_ELSEWHERE) for place, name in named.items()}


def _address(url: str | None) -> str | None:
    return url if url is not None and len(url) <= _LONGEST_ADDRESS else None


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
