"""Preflight: what a careful person would check before trusting a ranking, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from urlr.arrays import Floats, Mask
from urlr.errors import VoteError
from urlr.graph.comparisons import ComparisonGraph
from urlr.ids import shown
from urlr.messages import message
from urlr.sentence import Sentence, made
from urlr.settings import Parts
from urlr.space.table import ColumnProblems
from urlr.spelling import alike
from urlr.votes.table import Accounts, VoteTable

Level = Literal["note", "warning", "refusal"]

FEW_VOTES = 3
"""Items with fewer votes than this are counted and reported."""
LEAST_MIXED = 0.2
"""Items that both win and lose, of those that would, below which held-out votes show nothing."""
MOST_STRAY = 0.1
_ENOUGH_APART = 50
"""Votes from which on a group of items apart from the others is no mistake."""
"""Share of the votes up to which those apart from the largest group are named by their rows."""
_MOST_PLACES = 3
_FEWEST_MIXED = 5.0
"""Items that should both win and lose for their lack to mean anything."""
MOST_GUESSED = 0.8
"""Tau of a mere guess with the votes above which held-out votes show nothing; see `guessed_tau`."""
_FEWEST_PAIRS = 20
"""Pairs below which a guess may be right by luck."""
_ENOUGH_EDGES = 1 << 20
"""Edges that a guess is tried on, about, where there are more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found, and how much it matters."""

    level: Level
    text: Sentence


@dataclass(frozen=True, slots=True)
class Preflight:
    """Everything found before fitting."""

    findings: tuple[Finding, ...]
    n_components: int
    """Connected components of the comparison graph."""
    dimension: int
    """|E| - rank X: dimension of the space in which outliers can show."""

    @property
    def warnings(self) -> list[Sentence]:
        """Texts of the warnings."""
        return [finding.text for finding in self.findings if finding.level == "warning"]

    @property
    def notes(self) -> list[Sentence]:
        """Texts of the notes."""
        return [finding.text for finding in self.findings if finding.level == "note"]

    def refuse(self) -> None:
        """Raise VoteError if the answer would be meaningless; say what would make it possible."""
        reasons = [finding.text for finding in self.findings if finding.level == "refusal"]
        if reasons:
            first = reasons[0]
            raise VoteError(made(" ".join(reasons), first.code, first.fields))


def preflight(
    graph: ComparisonGraph,
    *,
    votes: VoteTable | Accounts | None = None,
    people: pd.Index[Any] | None = None,
    known: pd.Index[Any] | None = None,
    ranked: ComparisonGraph | None = None,
    columns: ColumnProblems | None = None,
    ignored: tuple[str, ...] = (),
    penalised: bool = False,
    parts: Parts = "refuse",
    few_votes: int = FEW_VOTES,
) -> Preflight:
    """Look at a graph before fitting it.

    Parameters
    ----------
    graph
        Edges, with the features of the outlier search.
    votes
        The rows it was made of, for those that do not count.
    people
        Who cast them, if that is known.
    known
        Items with features.
    ranked
        The same edges with the features of the ranking function, if these are others.
    columns
        What is known of the columns of the ranking function; None if it has no features.
    ignored
        Columns of the feature table that are not numbers.
    parts
        What becomes of groups of items that nothing compares, see `FitSettings`.
    penalised
        The fit holds its own against too many dimensions; say nothing of them.
    """
    findings: list[Finding] = []

    def say(level: Level, text: Sentence) -> None:
        findings.append(Finding(level, text))

    n_components, split = _components(graph)
    dimension = outlier_dimension(graph, n_components)
    if votes is not None and votes.counts["rejected"]:
        say("warning", message("rejected_votes", rows=votes.counts, reasons=votes.rejections))
    unresolvable = _unresolvable(graph if ranked is None else ranked)
    if unresolvable:
        say("refusal", unresolvable)
    if split and graph.features is None and columns is None:
        if parts == "each" or (parts == "auto" and _fewest_votes(graph) >= _ENOUGH_APART):
            say("warning", message("groups_ranked_each", split=split))
        else:
            say("refusal", message("groups_never_compared", split=split))
    elif split:
        say("warning", message("groups_by_features", split=split))
    if split and isinstance(votes, VoteTable) and (stray := _stray_rows(graph, votes)):
        say("refusal" if findings[-1].level == "refusal" else "warning", stray)
    level: Level = "refusal" if any(one.level == "refusal" for one in findings) else "warning"
    respelled = {} if votes is None else votes.respelled
    names = pd.Index([]) if people is None else people
    for text in spelling_remarks(respelled, graph.items, names):
        say(level, text)
    without = votes.without_features if isinstance(votes, VoteTable) else pd.Index([])
    if known is not None and (sets := _alike(without, known)):
        say("warning", message("alike_features", count=len(sets), sets=sets))
    if isinstance(votes, VoteTable) and (unknown := votes.unknown):
        say("note", message("unknown_columns", count=len(unknown), names=unknown))
    if one_sided := _one_sided(graph):
        say("warning", one_sided)
    for text in _items(graph, few_votes):
        say("note", text)
    carried = graph.n_edges - dimension
    if penalised:
        pass
    elif not unresolvable and _says_nothing(graph):
        dimension = 0
        say("warning", message("reduced_features_cancel"))
    elif dimension <= 0:
        say("warning", message("no_outlier_dimension", n_edges=graph.n_edges, carried=carried))
    elif dimension < carried:
        say(
            "warning",
            message(
                "few_outlier_dimensions",
                carried=carried,
                n_edges=graph.n_edges,
                dimension=dimension,
            ),
        )
    if ignored:
        say("note", message("ignored_columns", count=len(ignored), names=ignored).at("Features"))
    if columns is not None:
        for text in columns.sentences():
            say("note", text.at("Features"))
    return Preflight(tuple(findings), n_components, dimension)


def spelling_remarks(
    respelled: dict[str, int], items: pd.Index[Any], people: pd.Index[Any]
) -> list[Sentence]:
    """How many ids were read without stray signs, and which ones look alike."""
    said = []
    if respelled:
        rows = {_RESPELLED[what]: count for what, count in respelled.items()}
        said.append(message("respelled_ids", rows=rows))
    if sets := _alike(items):
        said.append(message("alike_items", count=len(sets), sets=sets))
    if sets := _alike(people):
        said.append(message("alike_annotators", count=len(sets), sets=sets))
    return said


_RESPELLED = {
    "item": message("respelled_item"),
    "annotator": message("respelled_annotator"),
    "vote_id": message("respelled_vote_id"),
}


def _alike(ids: pd.Index[Any], others: pd.Index[Any] | None = None) -> list[str]:
    """Ids that look alike, set by set, text in quotes so that the difference is seen.

    Where there are others, only sets of both.
    """
    if others is not None and not len(ids):
        return []
    groups = alike(ids if others is None else [*ids, *others])
    if others is not None:
        own = set(ids)
        groups = [group for group in groups if own & {*group} and not own >= {*group}]
    return [
        " and ".join(f'"{shown(one)}"' if isinstance(one, str) else str(one) for one in group)
        for group in groups
    ]


def outlier_dimension(graph: ComparisonGraph, n_components: int) -> int:
    """|E| - rank X: |E| - N + components without features, |E| - rank of the Gram matrix with."""
    if graph.features is None:
        return graph.n_edges - graph.n_items + n_components
    gram = graph.gram(np.ones(graph.n_edges, np.bool_))
    values = np.linalg.eigvalsh(gram)
    threshold = float(values[-1]) * max(gram.shape) * 1e-13
    return graph.n_edges - min(int(np.count_nonzero(values > threshold)), graph.n_edges)


def _components(graph: ComparisonGraph) -> tuple[int, Sentence | None]:
    labels = graph.components()
    sizes = np.bincount(labels)
    if sizes.size == 1:
        return 1, None
    return sizes.size, message(
        "split_items",
        count=sizes.size,
        sizes=[f"{size:,}" for size in sorted(sizes.tolist(), reverse=True)],
        smallest=graph.items[labels == int(np.argmin(sizes))].tolist(),
    )


def _fewest_votes(graph: ComparisonGraph) -> float:
    """Votes of the group of items that has fewest."""
    labels = graph.components()[graph.winner]
    return float(np.bincount(labels, graph.n_votes).min())


def _stray_rows(graph: ComparisonGraph, votes: VoteTable) -> Sentence | None:
    """Which few votes, such as totals below a table, are on items apart from the largest group."""
    labels = graph.components()
    largest = int(np.argmax(np.bincount(labels)))
    edge = graph.edge_of_row
    rows = np.flatnonzero((edge >= 0) & (labels[graph.winner[edge]] != largest))
    if not 0 < rows.size <= MOST_STRAY * np.count_nonzero(edge >= 0):
        return None
    places = [votes.place(row) for row in rows[:_MOST_PLACES]]
    more = ", ..." if rows.size > len(places) else ""
    return message("stray_votes", count=rows.size, rows=", ".join(places), more=more)


def _unresolvable(graph: ComparisonGraph) -> Sentence | None:
    if not graph.target.any():
        return message("only_ties")
    pull = graph.pull(graph.weight * graph.target)
    load = degree(graph, graph.weight)
    if np.all(np.abs(pull) <= 1e-9 * load):
        return message("balanced_cycle")
    if _says_nothing(graph):
        return message("features_cancel")
    return None


def _says_nothing(graph: ComparisonGraph) -> bool:
    """Whether the features of winners and losers cancel, so that every score is 0."""
    if graph.features is None:
        return False
    pull = graph.pull(graph.weight * graph.target)
    projected = np.abs(graph.project(pull))
    bound = np.abs(graph.features).T @ np.abs(pull)
    return bool(np.all(projected <= 1e-12 * np.maximum(bound, 1e-300)))


def _items(graph: ComparisonGraph, few_votes: int) -> list[Sentence]:
    decided = graph.target > 0
    wins = np.bincount(graph.winner[decided], graph.weight[decided], graph.n_items)
    losses = np.bincount(graph.loser[decided], graph.weight[decided], graph.n_items)
    counts = degree(graph, graph.n_votes).astype(np.int64)
    low, middle, high = np.quantile(counts, [0, 0.5, 1]).astype(int).tolist()
    said = [message("votes_per_item", middle=middle, low=low, high=high, n_items=graph.n_items)]
    few = np.flatnonzero(counts < few_votes)
    for which, what in (
        (few, message("few_votes", fewer_than=few_votes)),
        (np.flatnonzero((wins == 0) & (losses > 0)), message("never_a_win")),
        (np.flatnonzero((losses == 0) & (wins > 0)), message("never_a_loss")),
    ):
        if which.size:
            items = graph.items.take(which).tolist()
            said.append(message("items_with", count=which.size, what=what, items=items))
    return said


def mixed_share(wins: npt.NDArray[Any], losses: npt.NDArray[Any]) -> float | None:
    """How many items both win and lose, of those that would if pairs were drawn at random.

    In a strict order without any error, an item with k decided votes does both with the chance
    (k - 1) / (k + 1). Nearly none do where ids are split in two, or where only winners are compared
    with losers: then whatever orders the two sides predicts every vote. None where too few would.
    """
    decided = wins + losses
    expected = float(np.sum((decided - 1) / (decided + 1), where=decided > 0))
    if expected < _FEWEST_MIXED:
        return None
    return float(np.count_nonzero((wins > 0) & (losses > 0)) / expected)


def guessed_tau(
    winner: npt.NDArray[Any], loser: npt.NDArray[Any], n_votes: npt.NDArray[Any] | None = None
) -> float | None:
    """Kendall's tau with decided votes of a mere guess: winners beat losers.

    For each pair both items are looked up in their votes on other pairs: what mostly wins there
    beats what does not, and that beats what mostly loses. Where pairs are drawn at random this
    reaches 0.5, however good the votes are, because half of them are between two items of a kind.
    It comes near the 1 of a perfect ranking where good items are compared with bad ones alone, or
    all with one that always wins: then hardly a vote could surprise. None with too few pairs.
    """
    if n_votes is None:
        n_votes = np.ones(len(winner))
    low, high = np.minimum(winner, loser), np.maximum(winner, loser)
    n_items = int(high.max(initial=-1)) + 1
    pairs, pair = np.unique(low.astype(np.int64) * n_items + high, return_inverse=True)
    if len(pairs) < _FEWEST_PAIRS:
        return None
    for_low = np.where(winner == low, n_votes, -n_votes)
    net = np.bincount(low, for_low, n_items) - np.bincount(high, for_low, n_items)
    own = np.bincount(pair, for_low)[pair]
    guess = np.sign(np.sign(net[low] - own) - np.sign(net[high] + own))
    return float((guess @ for_low) / n_votes.sum())


def _one_sided(graph: ComparisonGraph) -> Sentence | None:
    decided = graph.target > 0
    wins, losses = (
        np.bincount(side[decided], graph.n_votes[decided], graph.n_items)
        for side in (graph.winner, graph.loser)
    )
    share = mixed_share(wins, losses)
    if share is None or share >= LEAST_MIXED:
        some = slice(None, None, max(1, graph.n_edges // _ENOUGH_EDGES))
        sides = (graph.winner, graph.loser, graph.n_votes)
        tau = guessed_tau(*(side[some][decided[some]] for side in sides))
        if tau is None or tau <= MOST_GUESSED:
            return None
        return message("guessed_votes", tau=tau)
    n_mixed = int(np.count_nonzero((wins > 0) & (losses > 0)))
    return message("one_sided_items", count=n_mixed, n_items=graph.n_items)


def degree(graph: ComparisonGraph, per_edge: npt.NDArray[Any]) -> Floats:
    """(n_items,) sum over the edges of each item."""
    n = graph.n_items
    return np.asarray(
        np.bincount(graph.winner, per_edge, n) + np.bincount(graph.loser, per_edge, n)
    )


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
        raise VoteError(message("pruned_everything"))
    left = np.zeros(graph.n_items, np.bool_)
    left[graph.winner[kept]] = left[graph.loser[kept]] = True
    lost = np.flatnonzero(~left)
    groups = np.unique(graph.keep(kept).components()[left]).size if alone else 0
    found = []
    if lost.size:
        rest = message("score_is_middle") if alone else message("score_by_features")
        items = graph.items.take(lost).tolist()
        found.append(message("items_lost_votes", count=lost.size, items=items, rest=rest))
    if groups > n_components:
        found.append(message("pruning_split_items", groups=groups))
    return [Finding("warning", text) for text in found]
