"""The ranker of the default, assembled from what the stages of a fit returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

from urlr.arrays import Floats, Ints, Mask
from urlr.graph.comparisons import ComparisonGraph
from urlr.ids import positions
from urlr.messages import message
from urlr.model.resampling import Intervals, Tau
from urlr.model.robust import RobustFit
from urlr.model.tuning import RIDGE, TunedSpace
from urlr.people.crowd import able
from urlr.people.prediction import Voters, taste_groups
from urlr.people.trust import Trust
from urlr.people.verdicts import TOO_FEW, VERDICTS, differing, judged_people, people_table
from urlr.preflight_checks import Finding, Preflight, after_pruning
from urlr.ranker import Facts, ItemCounts, Ranker, item_table
from urlr.settings import FitSettings
from urlr.verdicts import LinkEvidence
from urlr.votes.ballots import Ballots
from urlr.votes.table import VoteTable

_NAMED = 5
"""Items that a warning names."""


@dataclass(frozen=True, slots=True)
class RankedItems:
    """All items that are ranked, with their scores."""

    items: pd.Index[Any]
    """(n_items,)"""
    compared: Ints
    """(n_compared,) places of the compared items among these."""
    features: Floats
    """(n_items, n_features) in the space of the fit."""
    scores: Floats
    """(n_items,)"""
    variance: Floats
    """(n_items,) how unsure the scores are by the model."""
    few: Mask
    """(n_items,) compared items with so few votes that draws of these say nothing."""
    part: Ints | None
    """(n_items,) groups of items that are ranked each on its own; None for one ranking."""


@dataclass(frozen=True, slots=True)
class Sureness:
    """How sure the ranking is."""

    n_replicates: int
    intervals: Intervals | None
    tau_people: Tau | None
    """Kendall tau with votes of people left out."""
    tau_unseen: Tau | None
    """Kendall tau with votes on items left out."""
    first: tuple[int | None, int | None] | None
    """Fewest votes, and people, that the first place rests on."""
    ten: tuple[int | None, int | None] | None


def assembled_ranker(
    settings: FitSettings,
    read: VoteTable,
    ballots: Ballots,
    graph: ComparisonGraph,
    checked: Preflight,
    tuned: TunedSpace,
    trust: Trust,
    model: RobustFit,
    ranked: RankedItems,
    sure: Sureness,
) -> Ranker:
    """Put the tables, the facts and the evidence of a fit together."""
    crowd, space = trust.crowd, tuned.space
    alone = space.feature_map is None
    turned = crowd.is_turned
    pruned = model.pruned | turned
    verdict = judged_people(crowd)
    taste = taste_groups(
        crowd.tastes.place, crowd.tastes.of_items(space.features), differing(crowd, verdict)
    )
    people = people_table(crowd, pruned, judged=verdict, taste=taste)
    counts = ItemCounts.of(
        ballots.rows.winner,
        ballots.rows.loser,
        np.ones(ballots.rows.n_rows),
        ballots.tie,
        pruned,
        graph.n_items,
    )
    edges = graph.edge_of_row[ballots.place]
    kept = np.bincount(edges, ~model.pruned, graph.n_edges) > 0
    findings = [
        *checked.findings,
        *_remarks(graph.items, ballots, tuned, trust, settings),
        *after_pruning(graph, kept, checked.n_components, alone=alone),
    ]
    scores = item_table(
        ranked.items,
        ranked.scores,
        graph.items,
        counts,
        intervals=sure.intervals,
        effects=None if alone else model.fit.effects,
        part=ranked.part,
    )
    return Ranker(
        settings=settings,
        feature_map=space.feature_map,
        outlier_map=space.feature_map,
        coefficients=ranked.scores if alone else model.fit.coefficients,
        outlier_coefficients=model.found.scores(space.features)
        if alone
        else model.found.coefficients,
        scores=scores,
        facts=Facts(
            rows=read.counts,
            reasons=read.reasons,
            n_items=graph.n_items,
            n_edges=graph.n_edges,
            n_components=checked.n_components,
            rate=float(model.pruned.mean()),
            ridge=model.search.penalties.features,
            n_pruned_edges=int(np.count_nonzero(~kept)),
            n_pruned_votes=int(np.count_nonzero(pruned)),
            n_turned_votes=int(np.count_nonzero(turned & ~model.pruned)),
            n_tied_at_cut=model.search.tied_at_cut(model.suspicion, model.pruned),
            solver="logistic",
            violation=model.fit.violation,
            warnings=tuple(one.text for one in findings if one.level == "warning"),
            notes=tuple(one.text for one in findings if one.level == "note"),
            n_replicates=sure.n_replicates,
            tau_people=sure.tau_people,
            tau_unseen=sure.tau_unseen,
            item_spread=float(np.sqrt(1.0 / model.penalties.items))
            if model.penalties.has_items
            else 0.0,
            lean=model.fit.lean if np.isfinite(model.penalties.lean) else None,
            typical_error=crowd.typical,
            n_annotators=len(ballots.names),
            curved=space.curved,
            n_groups=int(crowd.group.max(initial=0)),
            n_together=int(np.count_nonzero(crowd.group)),
            n_together_votes=int(np.count_nonzero(crowd.apart)),
            n_judged=int((people["verdict"] != VERDICTS[TOO_FEW]).sum()),
            n_tastes=crowd.tastes.n,
            first_rests_on=sure.first,
            ten_rest_on=sure.ten,
            agreed=crowd.agreed() if len(ballots.names) else None,
        ),
        evidence=_evidence(read, ballots, tuned, trust, model, ranked, pruned),
        people=people,
        voters=_voters(tuned, trust, ranked, taste, pd.Index(scores["item"])),
    )


def _remarks(
    items: pd.Index[Any], ballots: Ballots, tuned: TunedSpace, trust: Trust, settings: FitSettings
) -> list[Finding]:
    """What the stages have to say that is no fault of the votes' form."""
    texts = []
    if ballots.n_odd_names:
        texts.append(message("odd_annotators", count=ballots.n_odd_names))
    if ballots.n_odd_sides:
        texts.append(message("odd_sides", count=ballots.n_odd_sides))
    if trust.votes.counted.any() and not trust.votes.margin.any():
        held_out = message("of_people") if trust.tuned is None else message("on_items")
        texts.append(message("no_better_than_chance", held_out=held_out))
    if trust.pushed.any():
        rows, n = trust.crowd.rows, trust.crowd.rows.n_items
        of_item = np.bincount(rows.winner, trust.pushed, n)
        of_item = np.maximum(of_item, np.bincount(rows.loser, trust.pushed, n))
        most = items[np.argsort(-of_item, kind="stable")[:_NAMED]].tolist()
        texts.append(message("pushed_items", count=round(trust.pushed.sum()), names=most))
    if settings.ridge == "tuned" and trust.tuned is None and tuned.space.feature_map is not None:
        texts.append(message("ridge_not_tuned", ridge=RIDGE))
    return [Finding("warning", text) for text in texts]


def _evidence(
    read: VoteTable,
    ballots: Ballots,
    tuned: TunedSpace,
    trust: Trust,
    model: RobustFit,
    ranked: RankedItems,
    pruned: Mask,
) -> LinkEvidence:
    """What verdicts on votes rest on, of votes as they were cast."""
    crowd, features = trust.crowd, tuned.space.features
    way = np.where(crowd.is_turned, -1.0, 1.0)
    support = model.rows.margins(model.found.scores(features), model.found.lean)
    return LinkEvidence(
        votes=read,
        ballots=ballots,
        entry=model.entry,
        suspicion=way * model.suspicion,
        support=way * model.search.damping * support,
        person=way * model.search.person - logit(crowd.typical),
        has_features=tuned.space.feature_map is not None,
        pruned=pruned,
        turned=crowd.is_turned,
        set_aside=model.pruned,
        scores=ranked.scores[ranked.compared],
        crowd=crowd,
    )


def _voters(
    tuned: TunedSpace, trust: Trust, ranked: RankedItems, taste: Ints, order: pd.Index[Any]
) -> Voters:
    """What predictions need of the people, items in the order of the table of scores."""
    crowd = trust.crowd
    own = np.zeros((len(ranked.items), crowd.tastes.n))
    own[ranked.compared] = crowd.tastes.effects
    return Voters.of(
        crowd,
        taste,
        able(crowd),
        items=ranked.features @ crowd.tastes.coefficients + own,
        effects=own,
        stretch=trust.votes.ranking.stretch,
        variance=ranked.variance,
        trusted=trust.trusted,
    ).in_order(positions(ranked.items, order))
