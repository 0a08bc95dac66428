"""A verdict on every vote: whether it counts, whether it was set aside, how suspicious, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit

from urlr import kernels
from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.graph.comparisons import ComparisonGraph
from urlr.messages import message
from urlr.paper.path import OutlierPath
from urlr.people.crowd import Crowd
from urlr.votes.ballots import Ballots
from urlr.votes.table import REASONS, STATUSES, VoteTable

VERDICT_REASONS = (
    "",
    message("against_ranking"),
    message("ranking_says_less"),
    message("ranking_says_more"),
    message("ranking_says_unequal"),
    message("against_features"),
    message("careless_voter"),
    message("reversed_voter"),
    message("wrong_either_way"),
    message("hardly_supported"),
    message("least_supported"),
    message("cast_together"),
    *REASONS[1:],
)
"""Every value of the `reason` column of the verdicts; the first for votes that are kept."""
_AGAINST, _WEAK, _STRONG, _UNEQUAL, _FEATURES, _PERSON = range(1, 7)
_TURNED, _NEITHER, _HARDLY, _LEAST, _TOGETHER = range(7, 12)


@dataclass(frozen=True, slots=True)
class EdgeVerdicts:
    """What a path says of every edge, as far as verdicts on votes need it."""

    entry: Floats
    """(n_edges,) penalty at which it became an outlier."""
    place: Codes
    """(n_edges,) place in the order of suspicion, from 1."""
    pruned: Mask
    """(n_edges,)"""
    less: Mask
    """(n_edges,) whether the ranking said less than the votes when it became an outlier."""
    tie: Mask
    """(n_edges,)"""

    @staticmethod
    def of(graph: ComparisonGraph, path: OutlierPath, pruned: Mask) -> EdgeVerdicts:
        """Put the edges of a path in order."""
        place = np.empty(graph.n_edges, np.int32)
        place[path.order] = np.arange(1, graph.n_edges + 1, dtype=np.int32)
        return EdgeVerdicts(path.entry, place, pruned, path.side > 0, graph.target == 0)

    def table(
        self,
        votes: VoteTable,
        edge_of_row: Codes,
        scores: Floats,
        *,
        numbers: pd.Index[Any] | None = None,
    ) -> pd.DataFrame:
        """Verdicts on votes with these edges (-1: none) and scores of the items of these votes.

        `numbers` are those of the rows, from 0 unless given.
        """
        n = edge_of_row.size
        entry, margin = np.empty(n), np.empty(n)
        place, pruned = np.empty(n, np.int32), np.empty(n, np.bool_)
        kernels.judge_rows(
            edge_of_row,
            votes.winner,
            votes.loser,
            scores,
            self.entry,
            self.place,
            self.pruned,
            entry,
            place,
            pruned,
            margin,
        )
        rows = np.flatnonzero(pruned)
        edges = edge_of_row[rows]
        why = np.where(margin[rows] < 0, _AGAINST, np.where(self.less[edges], _WEAK, _STRONG))
        why = np.where(self.tie[edges], _UNEQUAL, why)
        nothing = np.full(n, np.nan)
        return _table(votes, pruned, entry, place, margin, nothing, rows, why, numbers=numbers)


@dataclass(frozen=True, slots=True)
class PathEvidence:
    """What a verdict on every vote rests on; stays with the fit, is not saved with the model."""

    votes: VoteTable
    graph: ComparisonGraph
    path: OutlierPath
    pruned: Mask
    """(n_edges,) edges pruned."""
    scores: Floats
    """(n_items of the graph,) scores of the compared items."""

    def verdicts(self) -> pd.DataFrame:
        """One row per input vote, in input order; see `Ranker.verdicts`."""
        edges = EdgeVerdicts.of(self.graph, self.path, self.pruned)
        return edges.table(self.votes, self.graph.edge_of_row, self.scores)


@dataclass(frozen=True, slots=True)
class LinkEvidence:
    """The same for the default method, vote by vote."""

    votes: VoteTable
    ballots: Ballots
    entry: Floats
    """(n_ballots,)"""
    suspicion: Floats
    """(n_ballots,) logit P(wrong), minus infinity for ties."""
    support: Floats
    """(n_ballots,) log-odds of the vote by the features, or without them by the other votes."""
    person: Floats
    """(n_ballots,) log-odds of being wrong of whoever cast it, over those of a typical person."""
    has_features: bool
    pruned: Mask
    """(n_ballots,) votes that do not count as they were cast."""
    turned: Mask
    """(n_ballots,) those by people whose votes are read the other way round."""
    set_aside: Mask
    """(n_ballots,) those that count in no way."""
    scores: Floats
    """(n_items compared,)"""
    crowd: Crowd
    """What is known of the people."""

    def order(self, suspicion: Floats) -> Ints:
        """(n_ballots,) positions of the votes, groups that act together first, then by this."""
        return np.lexsort((-suspicion, ~self.crowd.left_out)).astype(np.int64)

    def verdicts(self) -> pd.DataFrame:
        """One row per input vote, in input order; see `Ranker.verdicts`."""
        ballots = self.ballots
        n = len(self.votes.status)
        rows = ballots.rows

        def spread(values: npt.NDArray[Any], rest: Any) -> npt.NDArray[Any]:
            out = np.full(n, rest, values.dtype)
            out[ballots.place] = values
            return out

        order = self.order(self.suspicion)
        place = np.empty(rows.n_rows, np.int32)
        place[order] = np.arange(1, rows.n_rows + 1, dtype=np.int32)
        cut = np.flatnonzero(self.pruned)
        against = -self.support[cut]
        margin = rows.margins(self.scores)
        if self.has_features:
            why = np.where(against > 0, _FEATURES, _HARDLY)
        else:
            why = np.where(margin[cut] < 0, _AGAINST, _LEAST)
        why = np.where(self.person[cut] > np.maximum(against, 0.0), _PERSON, why)
        turned = np.where(self.set_aside[cut], _NEITHER, _TURNED)
        why = np.where(self.turned[cut], turned, why)
        why = np.where(self.crowd.left_out[cut], _TOGETHER, why)
        return _table(
            self.votes,
            spread(self.pruned, False),
            spread(self.entry, np.nan),
            spread(place, 0),
            spread(margin, np.nan),
            spread(expit(self.suspicion), np.nan),
            ballots.place[cut],
            why,
        )


Evidence = PathEvidence | LinkEvidence


def _table(
    votes: VoteTable,
    pruned: Mask,
    entry: Floats,
    place: Codes,
    margin: Floats,
    suspicion: Floats,
    rows: npt.NDArray[Any],
    why: npt.NDArray[Any],
    *,
    numbers: pd.Index[Any] | None = None,
) -> pd.DataFrame:
    frame = votes.frame
    n = len(votes.status)
    offset = len(VERDICT_REASONS) - len(REASONS)
    reason = np.where(votes.reason > 0, votes.reason + offset, 0).astype(np.int8)
    reason[rows] = why
    winner, loser = votes.names()
    nobody = pd.Categorical.from_codes(np.full(n, -1, np.int8), pd.Index([""]))
    return pd.DataFrame(
        {
            "vote_id": frame.get("vote_id", pd.RangeIndex(n) if numbers is None else numbers),
            "winner": winner,
            "loser": loser,
            "annotator": frame.get("annotator", nobody),
            "status": pd.Categorical.from_codes(votes.status, pd.Index(STATUSES)),
            "pruned": pruned,
            "entry": entry,
            "order": pd.arrays.IntegerArray(place, place == 0),
            "margin": margin,
            "suspicion": suspicion,
            "reason": pd.Categorical.from_codes(reason, pd.Index(VERDICT_REASONS)),
        },
        index=frame.index,
    )
