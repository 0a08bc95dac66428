"""The default, from votes read to a ranker: a walk through the rooms of this package.

    votes        the votes that count (`votes`), and whether they can be ranked (`preflight_checks`)
    space        features as a prior (`space`), and how much of them to use (`model.tuning`)
    people       whom to trust: sides, errors, groups that act together, tastes (`people`)
    model        votes that are likely wrong, and the ranking by the others (`model.robust`)
    intervals    how sure, and what the top rests on (`model.resampling`, `model.top`)

Each stage takes what the stages before it returned; docs/default.md says what it does, and why.
"""

from __future__ import annotations

import numpy as np

from urlr.arrays import Floats, Ints, Mask, Progress
from urlr.assembly import RankedItems, Sureness, assembled_ranker
from urlr.graph.comparisons import ComparisonGraph, graph_of
from urlr.ids import positions
from urlr.model.resampling import HeldOutVotes, Tau, replicates_for, score_intervals
from urlr.model.robust import RobustFit, people_left_out, robust_fit
from urlr.model.top import rests_on
from urlr.model.tuning import tuned_space
from urlr.people.trust import Trust, judge_people
from urlr.preflight_checks import Preflight, preflight
from urlr.ranker import Ranker
from urlr.settings import FitSettings
from urlr.space.feature_space import Space, feature_space
from urlr.space.table import FeatureTable, column_problems
from urlr.votes.ballots import Ballots, ballots_of
from urlr.votes.table import VoteTable

_FEWEST = 20
"""Held-out votes below which their Kendall tau says nothing."""
_FEWEST_OF_ITEM = 4
"""Votes of an item below which drawing them anew hardly changes anything."""


def default_ranker(
    read: VoteTable, table: FeatureTable | None, settings: FitSettings, progress: Progress
) -> Ranker:
    """Fit the default: votes, space, people, model, intervals."""
    space_rng, fold_rng, draw_rng = np.random.default_rng(settings.seed).spawn(3)
    seed = int(fold_rng.integers(2**32))

    graph = graph_of(read)
    ballots = ballots_of(read, sides=settings.left_right)
    space = feature_space(graph.items, table, settings, rng=space_rng)
    progress("looking at the votes", 0.0)
    checked = _checked(read, graph, ballots, space, table, settings)

    tuned = tuned_space(space, ballots.rows, ballots.weight, settings.ridge, seed, progress)
    trust = judge_people(ballots, tuned, settings, progress)
    model = robust_fit(
        trust.votes,
        prune=settings.prune,  # type: ignore[arg-type]  # rules of the paper were refused before
        limit=settings.limit,
        progress=progress,
    )
    ranked = _ranked_items(model, tuned.space, table, graph, checked)
    sure = _how_sure(model, ranked, trust, settings, rng=draw_rng, progress=progress)
    return assembled_ranker(
        settings, read, ballots, graph, checked, tuned, trust, model, ranked, sure
    )


def _checked(
    read: VoteTable,
    graph: ComparisonGraph,
    ballots: Ballots,
    space: Space,
    table: FeatureTable | None,
    settings: FitSettings,
) -> Preflight:
    """Refuse votes that cannot be ranked; else what there is to remark on them."""
    checked = preflight(
        graph,
        votes=read,
        people=ballots.names,
        known=None if table is None else table.items,
        ranked=graph if table is None else graph.with_features(space.features),
        columns=None if table is None else column_problems(space.values, table.columns),
        ignored=() if table is None else table.ignored,
        penalised=True,
        parts=settings.parts,
    )
    checked.refuse()
    return checked


def _ranked_items(
    model: RobustFit,
    space: Space,
    table: FeatureTable | None,
    graph: ComparisonGraph,
    checked: Preflight,
) -> RankedItems:
    """Score every item of the feature table, or without one every compared item."""
    items = graph.items if table is None else table.items
    compared = positions(items, graph.items)
    features = space.of_items(table, compared)
    scores = features @ model.fit.coefficients
    scores[compared] += model.fit.effects
    n_votes = np.bincount(model.rows.winner, minlength=graph.n_items)
    n_votes += np.bincount(model.rows.loser, minlength=graph.n_items)
    few = np.zeros(len(items), np.bool_)
    few[compared] = n_votes < _FEWEST_OF_ITEM
    part = _parts(graph) if table is None and checked.n_components > 1 else None
    variance = model.variance(features, compared)
    return RankedItems(items, compared, features, scores, variance, few, part)


def _parts(graph: ComparisonGraph) -> Ints:
    """(n_items,) number of the group of each item, 1 for the largest."""
    labels = graph.components()
    order = np.argsort(-np.bincount(labels), kind="stable")
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(1, order.size + 1)
    return np.asarray(number[labels])


def _how_sure(
    model: RobustFit,
    ranked: RankedItems,
    trust: Trust,
    settings: FitSettings,
    *,
    rng: np.random.Generator,
    progress: Progress,
) -> Sureness:
    """Kendall tau with held-out votes, intervals by drawing votes anew, what the top rests on."""
    progress("whom to trust", 0.5)
    held_out = _held_out(model, trust)
    taus: dict[str, Tau] = {of: (votes.tau(), -1.0, 1.0) for of, votes in held_out.items()}
    n_replicates = settings.replicates
    if n_replicates is None:
        n_replicates = replicates_for(model.rows.n_rows)
    intervals = None
    if n_replicates:
        intervals = score_intervals(
            model,
            ranked.features,
            ranked.compared,
            ranked.scores,
            n_replicates,
            predicted=tuple(held_out.values()),
            part=ranked.part,
            variance=ranked.variance,
            few=ranked.few,
            rng=rng,
            progress=progress,
        )
        taus = dict(zip(held_out, intervals.taus, strict=True))
    progress("what the top rests on", 0.0)
    person = trust.crowd.ballots.annotator
    first, ten = (
        rests_on(model, ranked.features, ranked.compared, ranked.scores, person, size)
        if ranked.part is None
        else None
        for size in (1, 10)
    )
    return Sureness(n_replicates, intervals, taus.get("people"), taus.get("items"), first, ten)


def _held_out(model: RobustFit, trust: Trust) -> dict[str, HeldOutVotes]:
    """Votes with what fits that have not seen their people, or their items, say of them."""
    crowd, tuned, ballots = trust.crowd, trust.tuned, trust.crowd.ballots
    decided = ~ballots.tie & (ballots.weight > 0)
    found: dict[str, HeldOutVotes] = {}

    def add(of: str, margin: Floats, judged: Mask) -> None:
        if np.count_nonzero(decided & judged) >= _FEWEST:
            as_cast = np.where(crowd.is_turned, -margin, margin)
            found[of] = HeldOutVotes(as_cast, decided & judged, ballots.weight)

    margin, judged = people_left_out(model, crowd.fold)
    add("people", margin, judged & ~crowd.left_out)
    if tuned is not None:
        add("items", tuned.margin, tuned.judged)
    return found
