"""Preflight: what a careful person would check before trusting a ranking, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from urlr.arrays import Floats, Ints, Mask
from urlr.errors import VoteError
from urlr.features import ColumnProblems
from urlr.graph import ComparisonGraph
from urlr.ids import plural, shown_some
from urlr.votes import Accounts, VoteTable

Level = Literal["note", "warning", "refusal"]

FEW_VOTES = 3
"""Items with fewer votes than this are counted and reported."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found, and how much it matters."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Preflight:
    """Everything found before fitting."""

    findings: tuple[Finding, ...]
    n_components: int
    """Connected components of the comparison graph."""
    dimension: int
    """|E| - rank X: dimension of the space in which outliers can show."""

    @property
    def warnings(self) -> list[str]:
        """Texts of the warnings."""
        return [finding.text for finding in self.findings if finding.level == "warning"]

    @property
    def notes(self) -> list[str]:
        """Texts of the notes."""
        return [finding.text for finding in self.findings if finding.level == "note"]

    def refuse(self) -> None:
        """Raise VoteError if the answer would be meaningless; say what would make it possible."""
        reasons = [finding.text for finding in self.findings if finding.level == "refusal"]
        if reasons:
            raise VoteError(" ".join(reasons))


def preflight(
    graph: ComparisonGraph,
    *,
    votes: VoteTable | Accounts | None = None,
    ranked: ComparisonGraph | None = None,
    columns: ColumnProblems | None = None,
    ignored: tuple[str, ...] = (),
    penalised: bool = False,
    few_votes: int = FEW_VOTES,
) -> Preflight:
    """Look at a graph before fitting it.

    Parameters
    ----------
    graph
        Edges, with the features of the outlier search.
    votes
        The rows it was made of, for those that do not count.
    ranked
        The same edges with the features of the ranking function, if these are others.
    columns
        What is known of the columns of the ranking function; None if it has no features.
    ignored
        Columns of the feature table that are not numbers.
    penalised
        The fit holds its own against too many dimensions; say nothing of them.
    """
    findings: list[Finding] = []

    def say(level: Level, text: str) -> None:
        findings.append(Finding(level, text))

    n_components, split = _components(graph)
    dimension = outlier_dimension(graph, n_components)
    if votes is not None and votes.counts["rejected"]:
        counts = votes.counts
        why = "; ".join(f"{count:,} {reason}" for reason, count in votes.rejections.items())
        say("warning", f"{counts['rejected']:,} of {counts['read']:,} votes were rejected: {why}.")
    unresolvable = _unresolvable(graph if ranked is None else ranked)
    if unresolvable:
        say("refusal", unresolvable)
    if split and graph.features is None and columns is None:
        say(
            "refusal",
            f"{split} Without features nothing says how the groups compare. Collect votes between "
            "them, rank each on its own, or give item features.",
        )
    elif split:
        say("warning", f"{split} How the groups compare rests on the features alone.")
    for text in _items(graph, few_votes):
        say("note", text)
    carried = graph.n_edges - dimension
    if penalised:
        pass
    elif not unresolvable and _says_nothing(graph):
        dimension = 0
        say(
            "warning",
            "In the reduced features the votes cancel, so no vote can stand out. Nothing is pruned."
            " More components, or the features themselves, would change that.",
        )
    elif dimension <= 0:
        say(
            "warning",
            f"No vote can stand out: with {plural(graph.n_edges, 'edge')} and "
            f"{plural(carried, 'free score')} every vote can be fitted. Nothing is pruned. More "
            "votes, or fewer dimensions for the outlier search, would change that.",
        )
    elif dimension < carried:
        say(
            "warning",
            f"The outlier search has {carried:,} dimensions for {plural(graph.n_edges, 'edge')}; "
            f"outliers can show in only {dimension:,}. Fewer dimensions or more votes find more.",
        )
    if ignored:
        named = shown_some(list(ignored))
        say(
            "note",
            f"Features: {plural(len(ignored), 'column')} that hold no numbers, not used: {named}.",
        )
    if columns is not None:
        for text in columns.sentences():
            say("note", f"Features: {text}")
    return Preflight(tuple(findings), n_components, dimension)


def outlier_dimension(graph: ComparisonGraph, n_components: int) -> int:
    """|E| - rank X: |E| - N + components without features, |E| - rank of the Gram matrix with."""
    if graph.features is None:
        return graph.n_edges - graph.n_items + n_components
    gram = graph.gram(np.ones(graph.n_edges, np.bool_))
    values = np.linalg.eigvalsh(gram)
    threshold = float(values[-1]) * max(gram.shape) * 1e-13
    return graph.n_edges - min(int(np.count_nonzero(values > threshold)), graph.n_edges)


def _components(graph: ComparisonGraph) -> tuple[int, str]:
    labels = graph.components()
    sizes = np.bincount(labels)
    if sizes.size == 1:
        return 1, ""
    largest = np.sort(sizes)[::-1]
    example = list(graph.items[labels == int(np.argmin(sizes))])
    counts = ", ".join(f"{size:,}" for size in largest[:5].tolist())
    more = f" and {sizes.size - 5:,} more" if sizes.size > 5 else ""
    return int(sizes.size), (
        f"The votes split the items into {sizes.size:,} groups that were never compared with each "
        f"other (sizes {counts}{more}; a smallest one holds {shown_some(example)})."
    )


def _unresolvable(graph: ComparisonGraph) -> str:
    if not graph.target.any():
        return (
            "Every compared pair is a tie: there is no order to learn. At least one decided vote "
            "is needed."
        )
    pull = graph.pull(graph.weight * graph.target)
    load = degree(graph, graph.weight)
    if np.all(np.abs(pull) <= 1e-9 * load):
        return (
            "The votes cancel: every item wins exactly as often as it loses (a balanced cycle), so "
            "no ranking is better than another. One more vote on any pair would break the balance."
        )
    if _says_nothing(graph):
        return (
            "The features say nothing about who wins: their sum over winners equals that over "
            "losers. Other features, or a ranking without features, are needed."
        )
    return ""


def _says_nothing(graph: ComparisonGraph) -> bool:
    """Whether the features of winners and losers cancel, so that every score is 0."""
    if graph.features is None:
        return False
    pull = graph.pull(graph.weight * graph.target)
    projected = np.abs(graph.project(pull))
    bound = np.abs(graph.features).T @ np.abs(pull)
    return bool(np.all(projected <= 1e-12 * np.maximum(bound, 1e-300)))


def _items(graph: ComparisonGraph, few_votes: int) -> list[str]:
    decided = graph.target > 0
    wins = np.bincount(graph.winner[decided], graph.weight[decided], graph.n_items)
    losses = np.bincount(graph.loser[decided], graph.weight[decided], graph.n_items)
    counts = degree(graph, graph.n_votes).astype(np.int64)
    said = [
        f"Votes per item: {_quantiles(counts)} over {plural(graph.n_items, 'item')}.",
    ]
    few = np.flatnonzero(counts < few_votes)
    for which, what in (
        (few, f"fewer than {few_votes} votes"),
        (np.flatnonzero((wins == 0) & (losses > 0)), "never a win"),
        (np.flatnonzero((losses == 0) & (wins > 0)), "never a loss"),
    ):
        if which.size:
            named = shown_some(list(graph.items.take(which)))
            said.append(f"{plural(which.size, 'item')} with {what}: {named}.")
    return said


def degree(graph: ComparisonGraph, per_edge: npt.NDArray[Any]) -> Floats:
    """(n_items,) sum over the edges of each item."""
    n = graph.n_items
    return np.asarray(
        np.bincount(graph.winner, per_edge, n) + np.bincount(graph.loser, per_edge, n)
    )


def _quantiles(counts: Ints) -> str:
    low, middle, high = np.quantile(counts, [0, 0.5, 1]).astype(int).tolist()
    return f"{middle:,} in the middle, {low:,} to {high:,}"


def after_pruning(
    graph: ComparisonGraph, kept: Mask, n_components: int, *, alone: bool
) -> list[Finding]:
    """Report what keeping these edges cost; `alone` if no features hold the parts together.

    Raises
    ------
    VoteError
        When no decided vote is left.
    """
    if not np.any(graph.target, where=kept):
        raise VoteError("pruning left no decided vote; prune less.")
    left = np.zeros(graph.n_items, np.bool_)
    left[graph.winner[kept]] = left[graph.loser[kept]] = True
    lost = np.flatnonzero(~left)
    groups = np.unique(graph.keep(kept).components()[left]).size if alone else 0
    found = []
    if lost.size:
        rest = "their score is 0, the middle" if alone else "their score rests on features alone"
        named = shown_some(list(graph.items.take(lost)))
        found.append(f"{plural(lost.size, 'item')} lost all votes to pruning ({named}); {rest}.")
    if groups > n_components:
        found.append(
            f"Pruning split the items into {groups:,} groups with no vote between them; how the "
            "groups compare is not known. Prune less, or give features."
        )
    return [Finding("warning", text) for text in found]
