"""The fitted ranker: scores for seen and unseen items, a verdict on every vote, plain words."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from urlr import kernels
from urlr.arrays import Floats, Ints, Mask
from urlr.errors import FeatureError, UrlrError
from urlr.features import feature_table
from urlr.graph import ComparisonGraph
from urlr.ids import plural, positions, shown
from urlr.path import OutlierPath
from urlr.preflight import Preflight, degree
from urlr.spaces import FeatureMap
from urlr.votes import REASONS, STATUSES, VoteTable

if TYPE_CHECKING:
    from urlr.fitting import FitSettings

VERDICT_REASONS = (
    "",
    "the ranking puts the loser ahead",
    "the ranking puts the winner ahead by far less than a vote claims, or not at all",
    "the ranking puts the winner ahead by far more than a vote claims",
    "called equal, but the ranking puts one well ahead",
    *REASONS[1:],
)
"""Every value of the `reason` column of the verdicts; the first for votes that are kept."""
_AGAINST, _WEAK, _STRONG, _UNEQUAL = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a fit, small enough to travel with the model."""

    rows: dict[str, int]
    """read = used + ties + skipped + rejected."""
    reasons: dict[str, int]
    """Rows that do not count, by reason."""
    n_items: int
    """Items compared."""
    n_edges: int
    n_components: int
    """Groups of items never compared with each other."""
    dimension: int
    """Dimension of the space in which outliers can show."""
    rate: float
    """Share of the edges asked to be pruned, by the setting or by the rule."""
    ridge: float
    """Ridge of the ranking function."""
    n_pruned_edges: int
    n_pruned_votes: int
    n_tied_at_cut: int
    """Kept edges exactly as suspicious as the last pruned one."""
    solver: str
    violation: float
    """Certificate of the path: largest violation of the optimality conditions."""
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @staticmethod
    def of(evidence: Evidence, checked: Preflight, *, rate: float, ridge: float) -> Facts:
        """Gather the facts of a fit."""
        return Facts(
            rows=evidence.votes.counts,
            reasons=evidence.votes.reasons,
            n_items=evidence.graph.n_items,
            n_edges=evidence.graph.n_edges,
            n_components=checked.n_components,
            dimension=checked.dimension,
            rate=rate,
            ridge=ridge,
            n_pruned_edges=int(np.count_nonzero(evidence.pruned)),
            n_pruned_votes=int(evidence.graph.n_votes[evidence.pruned].sum()),
            n_tied_at_cut=evidence.path.tied_at(rate),
            solver=evidence.path.solver,
            violation=evidence.path.violation,
            warnings=tuple(checked.warnings),
            notes=tuple(checked.notes),
        )


@dataclass(frozen=True, slots=True)
class Evidence:
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
        frame, graph, path = self.votes.frame, self.graph, self.path
        n = graph.edge_of_row.size
        place_of_edge = np.empty(graph.n_edges, np.int32)
        place_of_edge[path.order] = np.arange(1, graph.n_edges + 1, dtype=np.int32)
        entry, margin = np.empty(n), np.empty(n)
        place, pruned = np.empty(n, np.int32), np.empty(n, np.bool_)
        kernels.judge_rows(
            graph.edge_of_row,
            self.votes.winner,
            self.votes.loser,
            self.scores,
            path.entry,
            place_of_edge,
            self.pruned,
            entry,
            place,
            pruned,
            margin,
        )
        reason = self._reasons(margin, pruned)
        winner, loser = self.votes.names()
        row_numbers = pd.RangeIndex(n)
        nobody = pd.Categorical.from_codes(np.full(n, -1, np.int8), pd.Index([""]))
        return pd.DataFrame(
            {
                "vote_id": frame.get("vote_id", row_numbers),
                "winner": winner,
                "loser": loser,
                "annotator": frame.get("annotator", nobody),
                "status": pd.Categorical.from_codes(self.votes.status, pd.Index(STATUSES)),
                "pruned": pruned,
                "entry": entry,
                "order": pd.arrays.IntegerArray(place, place == 0),
                "margin": margin,
                "reason": pd.Categorical.from_codes(reason, pd.Index(VERDICT_REASONS)),
            },
            index=frame.index,
        )

    def _reasons(self, margin: Floats, pruned: Mask) -> npt.NDArray[np.int8]:
        offset = len(VERDICT_REASONS) - len(REASONS)
        reason = np.where(self.votes.reason > 0, self.votes.reason + offset, 0).astype(np.int8)
        rows = np.flatnonzero(pruned)
        edges = self.graph.edge_of_row[rows]
        less = self.path.side[edges] > 0
        why = np.where(margin[rows] < 0, _AGAINST, np.where(less, _WEAK, _STRONG))
        reason[rows] = np.where(self.graph.target[edges] == 0, _UNEQUAL, why)
        return reason


@dataclass(frozen=True, slots=True)
class Ranker:
    """A ranking function with the items it ranked and the facts of its making."""

    settings: FitSettings
    feature_map: FeatureMap | None
    """From raw features to the space of the ranking function; None without features."""
    outlier_map: FeatureMap | None
    """From raw features to the space of the outlier search; None if that used no features."""
    coefficients: Floats
    """beta of the ranking function; the items' own scores without features."""
    outlier_coefficients: Floats
    """beta of the outlier search at its last penalty."""
    scores: pd.DataFrame
    """One row per item, best first: item, score, rank, n_votes, wins, losses, ties, pruned."""
    facts: Facts
    evidence: Evidence | None
    """What the verdicts rest on; None for a model read from a file."""

    @property
    def verdicts(self) -> pd.DataFrame:
        """One row per input vote, in input order.

        vote_id (the row number if the votes have none), winner, loser (as given; for ties and
        skips the two items in their order), annotator; status: used, tie, skipped or rejected;
        pruned; entry: penalty at which the vote's edge became an outlier, 0 if it did not before
        the path ended; order: its place from most suspicious, 1, to least; margin: score of the
        winner less that of the loser; reason: why it was pruned or does not count.
        """
        if self.evidence is None:
            raise UrlrError(
                "this model was read from a file, which does not carry the votes; verdicts come "
                "with the fit (`urlr fit` writes them beside the model)."
            )
        return self.evidence.verdicts()

    def score(self, features: pd.DataFrame) -> pd.Series[Any]:
        """Score items by their features, compared or not.

        Raises
        ------
        FeatureError
            When the model has no features, or the table lacks columns it needs.
        """
        if self.feature_map is None:
            raise FeatureError(
                f"this model was fitted without features: it ranks the {len(self.scores):,} items "
                "that were compared (see `scores`) and cannot score others."
            )
        table = feature_table(features)
        scores = self.feature_map.map(self.feature_map.select(table)) @ self.coefficients
        return pd.Series(scores, index=table.items.rename("item"), name="score")

    def summary(self) -> str:
        """What was done and what to look at, in plain words."""
        facts = self.facts
        rows = facts.rows
        lines = [
            f"Ranked {plural(len(self.scores), 'item')} from {plural(rows['read'], 'vote')}: "
            f"{rows['used']:,} used, {plural(rows['ties'], 'tie')}, {rows['skipped']:,} skipped, "
            f"{rows['rejected']:,} rejected.",
            self._pruning(),
        ]
        if self.feature_map is not None:
            unseen = int((self.scores["n_votes"] == 0).sum())
            also = f", {plural(unseen, 'item')} nobody compared included" if unseen else ""
            lines.append(
                f"Scores rest on the features (smoothed by a ridge of {facts.ridge:.3g}){also}."
            )
        best = self.scores.head(3)
        named = ", ".join(
            f"{shown(item)} ({round(score, 3) + 0.0:+.3f})"
            for item, score in zip(best["item"], best["score"], strict=True)
        )
        lines.append(f"Top: {named}.")
        lines += [f"Warning: {text}" for text in facts.warnings]
        lines += [f"Note: {text}" for text in facts.notes]
        return "\n".join(lines)

    def _pruning(self) -> str:
        facts = self.facts
        counted = facts.rows["used"] + facts.rows["ties"]
        if facts.n_pruned_edges == 0:
            return "Pruned nothing."
        text = (
            f"Pruned {facts.n_pruned_votes:,} of {plural(counted, 'vote')} "
            f"({facts.n_pruned_votes / counted:.1%}), those that contradict the rest most: "
            f"{facts.n_pruned_edges:,} of {plural(facts.n_edges, 'edge')} "
            f"({facts.n_pruned_edges / facts.n_edges:.1%}), an edge being all votes for one item "
            f"over another. Their order is "
            f"{'exact' if facts.solver == 'exact' else 'interpolated on a grid'}, solved to "
            f"{facts.violation:.0e}."
        )
        if facts.n_tied_at_cut:
            tied = plural(facts.n_tied_at_cut, "kept edge is", "kept edges are")
            text += f" {tied} just as suspicious as the last pruned: there the cut is arbitrary."
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file (npz with a JSON manifest, no pickle); see `load`."""
        from urlr.model_file import write_model

        write_model(self, path)


def item_table(
    graph: ComparisonGraph, pruned: Mask, items: pd.Index[Any], scores: Floats
) -> pd.DataFrame:
    """One row per item, best first; items that score the same share a rank."""
    per_edge = graph.n_votes
    tie = graph.target == 0
    place = positions(graph.items, items)

    def of_items(per_item: npt.NDArray[Any]) -> Ints:
        return np.append(per_item, 0.0)[place].astype(np.int64)

    won = np.bincount(graph.winner, per_edge * ~tie, graph.n_items)
    lost = np.bincount(graph.loser, per_edge * ~tie, graph.n_items)
    table = pd.DataFrame(
        {
            "item": items,
            "score": scores,
            "rank": pd.Series(scores).rank(ascending=False, method="min").astype(np.int64),
            "n_votes": of_items(degree(graph, per_edge)),
            "wins": of_items(won),
            "losses": of_items(lost),
            "ties": of_items(degree(graph, per_edge * tie)),
            "pruned": of_items(degree(graph, per_edge * pruned)),
        }
    )
    return table.sort_values("rank", kind="stable", ignore_index=True)
