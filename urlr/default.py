"""The default, from votes read to a ranker: space, tuning, robust fit, intervals, people."""

from __future__ import annotations

import numpy as np
from pandas import Index
from scipy.special import logit

from urlr.arrays import Floats, Ints, Mask, Progress
from urlr.beginning import RIDGE, begin, is_curved, mapped, prior_space
from urlr.graph.comparisons import ComparisonGraph, graph_of
from urlr.ids import positions
from urlr.messages import message
from urlr.model.resampling import Foretold, Tau, replicates_for, score_intervals
from urlr.model.robust import people_left_out, robust_fit
from urlr.model.top import rests_on
from urlr.people.crowd import able
from urlr.people.prediction import Voters, taste_groups
from urlr.people.verdicts import TOO_FEW, VERDICTS, differing, judged_people, people_table
from urlr.preflight_checks import Finding, after_pruning, preflight
from urlr.ranker import Facts, ItemCounts, Ranker, item_table
from urlr.settings import FitSettings
from urlr.space.table import FeatureTable, column_problems
from urlr.verdicts import LinkEvidence
from urlr.votes.ballots import ballots_of
from urlr.votes.table import VoteTable

_FEWEST = 20
"""Held-out votes below which their Kendall tau says nothing."""


_FEWEST_OF_ITEM = 4
"""Votes of an item below which drawing them anew hardly changes anything."""


def default_ranker(
    read: VoteTable, table: FeatureTable | None, settings: FitSettings, progress: Progress
) -> Ranker:
    """Fit the default; see `urlr.model.robust` for the method."""
    graph = graph_of(read)
    ballots = ballots_of(read)
    if not settings.left_right:
        ballots = ballots.without_sides()
    values = np.zeros((graph.n_items, 0))
    if table is not None:
        values = table.values[positions(table.items, graph.items)]
    space_rng, fold_rng, draw_rng = np.random.default_rng(settings.seed).spawn(3)
    feature_map = None
    if table is not None:
        feature_map = prior_space(values, table.columns, settings, rng=space_rng)
    features = mapped(feature_map, values)
    progress("looking at the votes", 0.0)
    checked = preflight(
        graph,
        votes=read,
        people=ballots.names,
        known=None if table is None else table.items,
        ranked=graph if table is None else graph.with_features(features),
        columns=None if table is None else column_problems(values, table.columns),
        ignored=() if table is None else table.ignored,
        penalised=True,
        parts=settings.parts,
    )
    checked.refuse()

    remarks: list[Finding] = []
    if ballots.n_odd_names:
        remarks.append(Finding("warning", message("odd_annotators", count=ballots.n_odd_names)))
    if ballots.n_odd_sides:
        remarks.append(Finding("warning", message("odd_sides", count=ballots.n_odd_sides)))
    seed = int(fold_rng.integers(2**32))
    begun = begin(
        ballots, feature_map, values, settings, seed, features=features, progress=progress
    )
    crowd, turned = begun.crowd, begun.turned
    feature_map, features, tuned = begun.feature_map, begun.features, begun.tuned
    if begun.standing.counted.any() and not begun.standing.margin.any():
        held_out = message("of_people") if tuned is None else message("on_items")
        remarks.append(Finding("warning", message("no_better_than_chance", held_out=held_out)))
    if settings.ridge == "tuned" and tuned is None and feature_map is not None:
        remarks.append(Finding("warning", message("ridge_not_tuned", ridge=RIDGE)))
    model = robust_fit(
        ballots.weight,
        begun.standing,
        prune=settings.prune,  # type: ignore[arg-type]  # rules of the paper were refused before
        limit=settings.limit,
        progress=progress,
    )
    # From here on, of votes as they were cast.
    way = np.where(turned, -1.0, 1.0)
    pruned = model.pruned | turned | crowd.left_out
    items, every = graph.items, features
    if table is not None and feature_map is not None:
        items = table.items
    compared = positions(items, graph.items)
    if table is not None and feature_map is not None:
        if len(items) == graph.n_items:
            every = np.empty_like(features)
            every[compared] = features
        else:
            every = mapped(feature_map, feature_map.select(table))
    scores = every @ model.fit.coefficients
    scores[compared] += model.fit.effects
    n_replicates = settings.replicates
    if n_replicates is None:
        n_replicates = replicates_for(ballots.rows.n_rows)
    progress("whom to trust", 0.5)
    margin, judged = people_left_out(model, crowd.fold)
    margin = way * margin
    verdict = judged_people(crowd)
    taste = taste_groups(
        crowd.tastes.place, crowd.tastes.of_items(features), differing(crowd, verdict)
    )
    people = people_table(crowd, pruned, judged=verdict, taste=taste)
    decided = ~ballots.tie & (ballots.weight > 0)
    foretold = {}
    judged &= ~crowd.left_out
    if np.count_nonzero(decided & judged) >= _FEWEST:
        foretold["people"] = Foretold(margin, decided & judged, ballots.weight)
    if tuned is not None and np.count_nonzero(decided & tuned.judged) >= _FEWEST:
        foretold["items"] = Foretold(way * tuned.margin, decided & tuned.judged, ballots.weight)
    part = _parts(graph) if table is None and checked.n_components > 1 else None
    counts = ItemCounts.of(
        ballots.rows.winner,
        ballots.rows.loser,
        np.ones(ballots.rows.n_rows),
        ballots.tie,
        pruned,
        graph.n_items,
    )
    variance = model.variance(every, compared)
    intervals = None
    taus: dict[str, Tau] = {of: (one.tau(), -1.0, 1.0) for of, one in foretold.items()}
    if n_replicates:
        intervals = score_intervals(
            model,
            every,
            compared,
            scores,
            n_replicates,
            foretold=tuple(foretold.values()),
            part=part,
            variance=variance,
            few=_few(counts.n_votes, compared, len(items)),
            rng=draw_rng,
            progress=progress,
        )
        taus = dict(zip(foretold, intervals.taus, strict=True))
    edges = graph.edge_of_row[ballots.place]
    kept = np.bincount(edges, ~(model.pruned | crowd.left_out), graph.n_edges) > 0
    remarks += after_pruning(graph, kept, checked.n_components, alone=table is None)
    alone = table is None
    evidence = LinkEvidence(
        votes=read,
        ballots=ballots,
        entry=model.entry,
        suspicion=way * model.suspicion,
        support=way
        * model.search.damping
        * model.rows.margins(model.found.scores(features), model.found.lean),
        person=way * model.search.person - logit(crowd.typical),
        has_features=not alone,
        pruned=pruned,
        turned=turned,
        set_aside=model.pruned | crowd.left_out,
        scores=scores[compared],
        crowd=crowd,
    )
    progress("what the top rests on", 0.0)
    first, ten = (
        rests_on(model, every, compared, scores, crowd.ballots.annotator, size) for size in (1, 10)
    )
    findings = [*checked.findings, *remarks]
    own = np.zeros((len(items), crowd.tastes.n))
    own[compared] = crowd.tastes.effects
    table_of_items = item_table(
        items,
        scores,
        graph.items,
        counts,
        intervals=intervals,
        effects=None if alone else model.fit.effects,
        part=part,
    )
    voters = Voters.of(
        crowd,
        taste,
        able(crowd),
        items=every @ crowd.tastes.coefficients + own,
        effects=own,
        stretch=model.penalties.stretch,
        variance=variance,
        trusted=begun.trusted,
    ).in_order(positions(items, Index(table_of_items["item"])))
    return Ranker(
        settings=settings,
        feature_map=feature_map,
        outlier_map=feature_map,
        coefficients=scores if alone else model.fit.coefficients,
        outlier_coefficients=model.found.scores(features) if alone else model.found.coefficients,
        scores=table_of_items,
        facts=Facts(
            rows=read.counts,
            reasons=read.reasons,
            n_items=graph.n_items,
            n_edges=graph.n_edges,
            n_components=checked.n_components,
            rate=float(model.pruned.mean()),
            ridge=begun.ridge,
            n_pruned_edges=int(np.count_nonzero(~kept)),
            n_pruned_votes=int(np.count_nonzero(pruned)),
            n_turned_votes=int(np.count_nonzero(turned & ~model.pruned)),
            n_tied_at_cut=model.search.tied_at_cut(model.suspicion, model.pruned),
            solver="logistic",
            violation=model.fit.violation,
            warnings=tuple(one.text for one in findings if one.level == "warning"),
            notes=tuple(one.text for one in findings if one.level == "note"),
            n_replicates=n_replicates,
            tau_people=taus.get("people"),
            tau_unseen=taus.get("items"),
            item_spread=float(np.sqrt(1.0 / model.penalties.items))
            if model.penalties.has_items
            else 0.0,
            lean=model.fit.lean if np.isfinite(model.penalties.lean) else None,
            typical_error=crowd.typical,
            n_annotators=len(ballots.names),
            curved=None if alone else is_curved(feature_map),
            n_groups=int(crowd.group.max(initial=0)),
            n_together=int(np.count_nonzero(crowd.group)),
            n_together_votes=int(np.count_nonzero(crowd.apart)),
            n_judged=int((people["verdict"] != VERDICTS[TOO_FEW]).sum()),
            n_tastes=crowd.tastes.n,
            first_rests_on=None if part is not None else first,
            ten_rest_on=None if part is not None else ten,
            agreed=crowd.agreed() if len(ballots.names) else None,
        ),
        evidence=evidence,
        people=people,
        voters=voters,
    )


def _parts(graph: ComparisonGraph) -> Ints:
    """(n_items,) number of the group of each item, 1 for the largest."""
    labels = graph.components()
    order = np.argsort(-np.bincount(labels), kind="stable")
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(1, order.size + 1)
    return np.asarray(number[labels])


def _few(n_votes: Floats, compared: Ints, n_items: int) -> Mask:
    """(n_items,) compared items with so few votes that draws of these say nothing."""
    few = np.zeros(n_items, np.bool_)
    few[compared] = n_votes < _FEWEST_OF_ITEM
    return few
