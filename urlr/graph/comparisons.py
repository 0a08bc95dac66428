"""The comparison graph: votes gathered into directed weighted edges, and its products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from urlr import kernels
from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.errors import FeatureError, VoteError
from urlr.ids import positions
from urlr.messages import message
from urlr.sentence import Sentence
from urlr.space.maps import original_space
from urlr.space.table import feature_table
from urlr.votes.table import REJECTED, SKIPPED, TIE, VoteTable, vote_table, voted_ids


@dataclass(frozen=True, slots=True)
class ComparisonGraph:
    """Directed edges winner -> loser between items, with weights, targets and item features.

    All votes for one item over another are one edge with target 1; ties between two items are
    one edge with target 0. Edges are sorted by winner, then loser.
    """

    items: pd.Index[Any]
    """(n_items,) the compared items."""
    winner: Codes
    """(n_edges,) position of the winner; of the first item for a tie."""
    loser: Codes
    """(n_edges,) position of the loser; of the second item for a tie."""
    weight: Floats
    """(n_edges,) w: total weight of the edge's votes."""
    target: Floats
    """(n_edges,) y: 1, or 0 for a tie."""
    n_votes: Codes
    """(n_edges,) how many votes, not how much weight, each edge holds."""
    edge_of_row: Codes
    """(n_rows,) edge of each input vote, -1 for rows that do not count."""
    features: Floats | None
    """(n_items, n_features) Phi; None ranks the items alone (Phi = I)."""

    @property
    def n_items(self) -> int:
        """Number of compared items."""
        return len(self.items)

    @property
    def n_edges(self) -> int:
        """Number of directed edges."""
        return self.winner.size

    @property
    def n_features(self) -> int:
        """Number of coefficients of the scores: columns of Phi, or items without features."""
        return self.n_items if self.features is None else self.features.shape[1]

    def with_features(self, features: Floats | None) -> ComparisonGraph:
        """Return the same edges in another feature space, centred (which no edge sees)."""
        if features is None:
            return replace(self, features=None)
        if features.ndim != 2 or features.shape[0] != self.n_items:
            raise FeatureError(
                message("features_of_other_shape", shape=features.shape, n_items=self.n_items)
            )
        if not np.isfinite(features).all():
            count = int(np.count_nonzero(~np.isfinite(features)))
            raise FeatureError(message("features_not_finite", count=count))
        centred = np.ascontiguousarray(features - features.mean(axis=0), dtype=np.float64)
        return replace(self, features=centred)

    def keep(self, edges: Mask) -> ComparisonGraph:
        """Return the graph of these edges alone; items stay, votes of other edges get -1."""
        place = np.full(self.n_edges + 1, -1, np.int32)
        place[:-1][edges] = np.arange(np.count_nonzero(edges), dtype=np.int32)
        return replace(
            self,
            winner=self.winner[edges],
            loser=self.loser[edges],
            weight=self.weight[edges],
            target=self.target[edges],
            n_votes=self.n_votes[edges],
            edge_of_row=place[self.edge_of_row],
        )

    def scores(self, coefficients: Floats) -> Floats:
        """Phi beta, one score per item."""
        return coefficients if self.features is None else self.features @ coefficients

    def margins(self, scores: Floats) -> Floats:
        """C theta: score of the winner less score of the loser, per edge."""
        return scores[self.winner] - scores[self.loser]

    def pull(self, values: Floats) -> Floats:
        """C'v per item, for values per edge."""
        return np.asarray(kernels.net_pull(self.winner, self.loser, values, self.n_items))

    def project(self, per_item: Floats) -> Floats:
        """Phi'g: values per item, in the space of the coefficients."""
        return per_item if self.features is None else self.features.T @ per_item

    def gram(self, edges: Mask, weight: Floats | None = None) -> Floats:
        """X'FX over the given edges, by way of the graph Laplacian: |E| d + N d^2 work."""
        features = np.eye(self.n_items) if self.features is None else self.features
        half = kernels.half_laplacian(
            self.winner,
            self.loser,
            self.weight if weight is None else weight,
            edges,
            features,
        )
        product = features.T @ half
        return np.asarray(product + product.T)

    def components(self) -> Ints:
        """(n_items,) number of the connected component of each item."""
        labels = kernels.component_labels(self.winner, self.loser, self.n_items)
        return np.asarray(labels, np.int64)


def comparison_graph(
    votes: pd.DataFrame | VoteTable, features: pd.DataFrame | None = None
) -> ComparisonGraph:
    """Gather votes into the directed weighted edges of the comparison graph.

    Parameters
    ----------
    votes
        A table of votes (see `vote_table`), or one already read.
    features
        Numeric columns by item; imputed and standardised here. None for no features.

    Raises
    ------
    VoteError
        When no row counts.
    """
    if features is None:
        return graph_of(votes if isinstance(votes, VoteTable) else vote_table(votes))
    table = feature_table(features, known=voted_ids(votes))
    read = votes if isinstance(votes, VoteTable) else vote_table(votes, known_items=table.items)
    graph = graph_of(read)
    values = table.values[positions(table.items, graph.items)]
    return graph.with_features(original_space(values, table.columns).map(values))


def graph_of(votes: VoteTable) -> ComparisonGraph:
    """Gather the rows that count into edges; no features yet."""
    counts = (votes.status != REJECTED) & (votes.status != SKIPPED)
    if not counts.any():
        raise VoteError(nothing_counts(len(votes.status), votes.reasons))
    rows = slice(None) if counts.all() else np.flatnonzero(counts)
    tie = votes.status[rows] == TIE
    graph = gathered_graph(
        votes.items, votes.winner[rows], votes.loser[rows], tie, votes.weight[rows]
    )
    edge_of_row = np.full(len(votes.status), -1, np.int32)
    edge_of_row[rows] = graph.edge_of_row
    return replace(graph, edge_of_row=edge_of_row)


def gathered_graph(
    items: pd.Index[Any], head: Codes, tail: Codes, tie: Mask, weight: Floats
) -> ComparisonGraph:
    """Gather rows that all count, given by the positions of their items; no features yet."""
    swap = tie & (head > tail)
    if swap.any():
        head, tail = np.where(swap, tail, head), np.where(swap, head, tail)
    edge = np.empty(head.size, np.int32)
    order = kernels.sorted_rows(head, tail, tie, len(items))
    heads, total, n_votes = kernels.gathered_rows(head, tail, tie, weight, order, edge)
    del order  # before the edges are copied: as long as all rows
    return ComparisonGraph(
        items=items,
        winner=head[heads],
        loser=tail[heads],
        weight=total,
        target=np.where(tie[heads], 0.0, 1.0),
        n_votes=n_votes,
        edge_of_row=edge,
        features=None,
    )


def nothing_counts(n_rows: int, reasons: dict[str, int]) -> Sentence:
    """Why there is nothing to gather, in words."""
    if n_rows == 0:
        return message("no_votes")
    return message("no_usable_vote", n_rows=n_rows, reasons=reasons)
