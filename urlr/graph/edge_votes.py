"""Votes read piece by piece and gathered into one graph, as small as a graph needs them.

A piece is read by `vote_table` like any votes, then all that is kept of a row is its reason and,
if it counts, the positions of its two items: 10 bytes a row, 18 where votes have weights.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from urlr.arrays import Codes, Floats, Mask
from urlr.graph.comparisons import ComparisonGraph, gathered_graph
from urlr.ids import positions, sorted_uniques
from urlr.votes.repeated_ids import VoteIds
from urlr.votes.table import REJECTED, REPEATED, SKIPPED, TIE, Accounts, Bytes, VoteTable


@dataclass(frozen=True, slots=True)
class GatheredVotes:
    """A graph, and what became of every row it was gathered from."""

    graph: ComparisonGraph
    """Without the edges of the rows: copies of the graph would copy them too."""
    edge_of_row: Codes
    """(n_rows,) edge of each row, -1 for rows that do not count."""
    reason: Bytes
    """(n_rows,) why the row does not count, as a position in `REASONS`."""
    accounts: Accounts

    def repeated(self, start: int, stop: int) -> Mask:
        """Which of these rows have the vote_id of an earlier one."""
        return np.asarray(self.reason[start:stop] == REPEATED, np.bool_)


class EdgeVotes:
    """Takes pieces of votes, and gathers them once all are there."""

    def __init__(self, items: pd.Index[Any]) -> None:
        """`items` are all that votes may be about."""
        self._items = sorted_uniques(items)[1]
        self._winner: list[Codes] = []
        self._loser: list[Codes] = []
        self._tie: list[Mask] = []
        self._weight: list[Floats | float] = []
        """One number for a piece whose votes all weigh the same."""
        self._reason: list[Bytes] = []
        self._ids = VoteIds()
        self._respelled: Counter[str] = Counter()

    def add(self, votes: VoteTable) -> None:
        """Take the next rows."""
        counts = (votes.status != REJECTED) & (votes.status != SKIPPED)
        place = positions(self._items, votes.items).astype(np.int32)
        self._winner.append(place[votes.winner[counts]])
        self._loser.append(place[votes.loser[counts]])
        self._tie.append(votes.status[counts] == TIE)
        weight = votes.weight[counts]
        self._weight.append(1.0 if (weight == 1.0).all() else weight)
        self._reason.append(votes.reason)
        self._ids.add(votes.frame.get("vote_id"), counts)
        self._respelled.update(votes.respelled)

    def gathered(self) -> GatheredVotes:
        """Gather all rows, which are forgotten here; no edges where no row counts."""
        reason = _together(self._reason)
        repeated = self._ids.repeated()
        self._ids = VoteIds()
        counting = np.flatnonzero(reason == 0) if (reason != 0).any() or repeated.size else None
        kept = None
        if counting is not None and repeated.size:
            reason[counting[repeated]] = REPEATED
            kept = np.ones(counting.size, np.bool_)
            kept[repeated] = False
            counting = counting[kept]
        n_rows = reason.size
        weight = _weights(self._weight, [piece.size for piece in self._winner])
        columns = [_together(self._winner), _together(self._loser), _together(self._tie), weight]
        if kept is not None:
            columns = [column[kept] for column in columns]
        head, tail, tie, weight = columns
        del columns
        n_ties = int(np.count_nonzero(tie))
        accounts = Accounts.of(reason, n_ties=n_ties, respelled=dict(self._respelled))
        items, head, tail = _occurring(self._items, head, tail)
        graph = gathered_graph(items, head, tail, tie, weight)
        edge = graph.edge_of_row
        if counting is not None:
            edge = np.full(n_rows, -1, np.int32)
            edge[counting] = graph.edge_of_row
        graph = replace(graph, edge_of_row=np.zeros(0, np.int32))
        return GatheredVotes(graph, edge, reason, accounts)


def edges_only(graph: ComparisonGraph, edges: Mask) -> ComparisonGraph:
    """The graph of some edges and of the items they touch, without features."""
    items, winner, loser = _occurring(graph.items, graph.winner[edges], graph.loser[edges])
    return ComparisonGraph(
        items=items,
        winner=winner,
        loser=loser,
        weight=graph.weight[edges],
        target=graph.target[edges],
        n_votes=graph.n_votes[edges],
        edge_of_row=np.zeros(0, np.int32),
        features=None,
    )


def accounts_of(graph: ComparisonGraph) -> Accounts:
    """The accounts of the votes of a graph, all of which count."""
    n_ties = int(graph.n_votes[graph.target == 0].sum())
    n_used = int(graph.n_votes.sum(dtype=np.int64)) - n_ties
    counts = {"read": n_used + n_ties, "used": n_used, "ties": n_ties, "skipped": 0, "rejected": 0}
    return Accounts(counts, {}, {}, {})


def _occurring(
    items: pd.Index[Any], winner: Codes, loser: Codes
) -> tuple[pd.Index[Any], Codes, Codes]:
    """The items that occur, in their order, and the positions among them."""
    occurs = np.zeros(len(items), np.bool_)
    occurs[winner] = occurs[loser] = True
    if occurs.all():
        return items, winner, loser
    place = (np.cumsum(occurs) - 1).astype(np.int32)
    return items[occurs], place[winner], place[loser]


def _weights(pieces: list[Floats | float], sizes: list[int]) -> Floats:
    weight = np.ones(sum(sizes))
    start = 0
    for piece, size in zip(pieces, sizes, strict=True):
        weight[start : start + size] = piece
        start += size
    pieces.clear()
    return weight


def _together(pieces: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """One array of the pieces, which are let go."""
    whole = np.concatenate(pieces) if pieces else np.zeros(0, np.int8)
    pieces.clear()
    return whole
