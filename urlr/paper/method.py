"""The method of the paper, to the letter: Algorithm 1 on edges, least squares or RankSVM."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from urlr.arrays import Floats, Mask, Progress
from urlr.errors import ArgumentError, FeatureError, VoteError
from urlr.graph.comparisons import ComparisonGraph, graph_of, nothing_counts
from urlr.ids import positions
from urlr.messages import message
from urlr.paper.path import OutlierPath
from urlr.paper.ranking import ranking_coefficients, tuned_ridge
from urlr.paper.rates import RateRule, held_out_rate, path_and_rate
from urlr.preflight_checks import Finding, after_pruning, preflight
from urlr.ranker import Facts, ItemCounts, Ranker, item_table
from urlr.settings import FitSettings
from urlr.space.maps import FeatureMap, original_space, reduced_space
from urlr.space.table import FeatureTable, column_problems
from urlr.verdicts import PathEvidence
from urlr.votes.ballots import ballots_of, names_of
from urlr.votes.table import Accounts, VoteTable

PAPER_RIDGE = 0.001
ITEM_RIDGE = 1e-6
"""Ridge where every item has a score of its own: 0.001 would flatten long chains of comparisons."""


def paper_ranker(
    read: VoteTable, table: FeatureTable | None, settings: FitSettings, progress: Progress
) -> Ranker:
    """Path over the outlier variables, the first share of edges pruned, the rest refitted."""
    graph = graph_of(read)
    found = paper_fit(graph, read, table, settings, progress)
    evidence = PathEvidence(read, graph, found.path, found.pruned, found.scores)
    return replace(found.ranker, evidence=evidence)


@dataclass(frozen=True, slots=True)
class PaperFit:
    """A ranker without its evidence, and what that would rest on."""

    ranker: Ranker
    path: OutlierPath
    pruned: Mask
    """(n_edges,) edges pruned."""
    scores: Floats
    """(n_items of the graph,) scores of the compared items."""


def paper_fit(
    graph: ComparisonGraph,
    rows: VoteTable | Accounts,
    table: FeatureTable | None,
    settings: FitSettings,
    progress: Progress,
) -> PaperFit:
    """The same from a graph; without the votes themselves, their accounts and a fixed rate do."""
    if graph.n_edges == 0:
        raise VoteError(nothing_counts(rows.counts["read"], rows.reasons))
    if table is None and settings.ranking == "svm":
        raise FeatureError(message("svm_without_features"))
    rng = np.random.default_rng(settings.seed)
    ranking_map, outlier_map, values = spaces_of(graph, table, settings, rng)
    search = graph if outlier_map is None else graph.with_features(outlier_map.map(values))
    fitted = graph if ranking_map is None else graph.with_features(ranking_map.map(values))
    progress("looking at the votes", 0.0)
    checked = preflight(
        search,
        votes=rows,
        ranked=fitted,
        people=names_of(rows) if isinstance(rows, VoteTable) else None,
        known=None if table is None else table.items,
        columns=None if ranking_map is None else column_problems(values, ranking_map.columns),
        ignored=() if table is None else table.ignored,
    )
    checked.refuse()

    # Tuned on all votes: those that are kept were chosen to agree, and folds of them would ask
    # for far too small a ridge.
    ridge, remarks = ridge_of(fitted, settings, rng)
    search_ridge = settings.outlier_ridge or (ITEM_RIDGE if outlier_map is None else PAPER_RIDGE)
    prune: float | RateRule
    if checked.dimension <= 0:
        prune = 0.0
    elif settings.prune == "auto":
        if isinstance(rows, Accounts):
            raise ArgumentError(message("auto_needs_votes"))
        prune = held_out_rate(
            search,
            fitted,
            say_of(rows, graph),
            search_ridge=search_ridge,
            ridge=ridge,
            solver=settings.solver,
            rng=rng,
            progress=progress,
        )
    else:
        prune = settings.prune
    path, rate = path_and_rate(
        search,
        prune,
        dimension=checked.dimension,
        ridge=search_ridge,
        solver=settings.solver,
        progress=progress,
    )
    pruned = path.pruned(rate)
    progress("fitting the ranking function", 0.0)
    # By a mask: a copy of what is kept would be as large as the graph.
    coefficients = ranking_coefficients(
        fitted, ranking=settings.ranking, ridge=ridge, edges=~pruned
    )
    remarks += after_pruning(graph, ~pruned, checked.n_components, alone=ranking_map is None)
    if table is None or ranking_map is None:
        items, scores = graph.items, coefficients
    else:
        items = table.items
        scores = ranking_map.map(ranking_map.select(table)) @ coefficients
    checked = replace(checked, findings=(*checked.findings, *remarks))
    counts = ItemCounts.of_edges(graph, pruned)
    ranker = Ranker(
        settings=settings,
        feature_map=ranking_map,
        outlier_map=outlier_map,
        coefficients=coefficients,
        outlier_coefficients=path.coefficients,
        scores=item_table(items, scores, graph.items, counts),
        facts=Facts(
            rows=rows.counts,
            reasons=rows.reasons,
            n_items=graph.n_items,
            n_edges=graph.n_edges,
            n_components=checked.n_components,
            rate=rate,
            ridge=ridge,
            n_pruned_edges=int(np.count_nonzero(pruned)),
            n_pruned_votes=int(graph.n_votes[pruned].sum()),
            n_tied_at_cut=path.tied_at(rate),
            solver=path.solver,
            violation=path.violation,
            warnings=tuple(checked.warnings),
            notes=tuple(checked.notes),
        ),
        evidence=None,
    )
    return PaperFit(ranker, path, pruned, scores[positions(items, graph.items)])


def say_of(read: VoteTable, graph: ComparisonGraph) -> Floats:
    """(n_edges,) total say of the votes of each edge, every annotator having the same in all."""
    ballots = ballots_of(read)
    of_person = np.bincount(ballots.annotator + 1, ballots.weight)
    say = ballots.weight
    if ballots.has_names:
        say = np.where(
            ballots.annotator >= 0,
            ballots.weight / of_person[ballots.annotator + 1],
            ballots.weight / of_person.mean(),
        )
    total = np.bincount(graph.edge_of_row[ballots.place], say, graph.n_edges)
    return np.asarray(total, np.float64)


def spaces_of(
    graph: ComparisonGraph,
    table: FeatureTable | None,
    settings: FitSettings,
    rng: np.random.Generator,
) -> tuple[FeatureMap | None, FeatureMap | None, Floats]:
    """Maps to the space of the ranking function and of the outlier search, and raw features.

    Both are fitted on the compared items only, so that items nobody voted on change nothing.
    """
    if table is None:
        return None, None, np.zeros((graph.n_items, 0))
    values = table.values[positions(table.items, graph.items)]
    original = original_space(values, table.columns, chi_square=settings.chi_square)
    if settings.outlier_space == "items":
        return original, None, values
    if settings.outlier_space == "features":
        return original, original, values
    components = settings.components or max(2, min(150, graph.n_edges // 10))
    reduced = reduced_space(
        original,
        values,
        components,
        kernel=settings.outlier_space == "kernel-pca",
        rng=rng,
    )
    return original, reduced, values


def ridge_of(
    graph: ComparisonGraph, settings: FitSettings, rng: np.random.Generator
) -> tuple[float, list[Finding]]:
    """Ridge of the ranking function, and what is to be said of it."""
    if settings.ridge != "tuned":
        return settings.ridge, []
    if graph.features is None:
        return ITEM_RIDGE, []
    try:
        return tuned_ridge(graph, rng=rng, ranking=settings.ranking), []
    except VoteError:
        return PAPER_RIDGE, [Finding("warning", message("ridge_not_tuned", ridge=PAPER_RIDGE))]
