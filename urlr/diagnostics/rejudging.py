"""Votes judged as by a fit, without what only people look at: order of suspicion, and rankings.

What is asked of other votes than those of the fit (some turned around, some left out) needs neither
intervals nor a table of people; and where a fit is given, its feature space and its ridge are
taken as they are, which saves most of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from urlr.arrays import Floats, Ints, Mask
from urlr.errors import VoteError
from urlr.graph.comparisons import ComparisonGraph, graph_of
from urlr.ids import positions
from urlr.messages import message
from urlr.model.logistic import LogisticFit, logistic_fit
from urlr.model.refit import Refit, refit
from urlr.model.robust import Search, limit_for, search_of
from urlr.model.tuning import TunedSpace, tuned_space
from urlr.paper.method import ITEM_RIDGE, PAPER_RIDGE, ridge_of, say_of, spaces_of
from urlr.paper.path import OutlierPath, outlier_path
from urlr.paper.ranking import ranking_coefficients
from urlr.paper.rates import held_out_rate, path_and_rate
from urlr.people.trust import Trust, judge_people
from urlr.preflight_checks import outlier_dimension
from urlr.ranker import Ranker
from urlr.settings import FitSettings
from urlr.space.feature_space import Space, feature_space, mapped
from urlr.space.maps import FeatureMap
from urlr.space.table import FeatureTable
from urlr.votes.ballots import Ballots, ballots_of
from urlr.votes.table import VoteTable, vote_table

MOST_VOTES = 200_000
"""Beyond, so many drawn at random are judged, which say less than all would."""

_TOLERANCE = 1e-3
"""Of refits, as of those that intervals rest on."""
_CANCEL = 1e-9
"""Items whose wins less losses are below this share of their votes all have the same score."""


@dataclass(frozen=True, slots=True)
class LinkJudgement:
    """Votes judged by the default method."""

    ballots: Ballots
    """As they were cast."""
    items: pd.Index[Any]
    """(n_items,) the compared ones."""
    space: Space
    trust: Trust
    found: LogisticFit
    search: Search
    suspected: Floats
    """(n_rows,) logit P(wrong) of the votes as they are read."""

    @property
    def suspicion(self) -> Floats:
        """(n_rows,) how suspicious each vote is as it was cast; minus infinity for ties."""
        return np.where(self.trust.crowd.is_turned, -1.0, 1.0) * self.suspected

    @property
    def left_out(self) -> Mask:
        """(n_rows,) votes of groups that act together, where these do not count."""
        return self.trust.votes.left_out

    @property
    def not_heard(self) -> pd.Index[Any]:
        """Those whose votes these are."""
        crowd = self.trust.crowd
        return crowd.ballots.names[(crowd.group > 0) & (crowd.coordination == "drop")]

    @property
    def n_turned(self) -> int:
        """Votes that are read the other way round."""
        return int(np.count_nonzero(self.trust.crowd.is_turned))

    def set_aside(self, prune: float | None = None) -> Mask:
        """(n_rows,) votes that do not count as they were cast, at a share or as settings say."""
        return self._pruned(prune) | self.trust.crowd.is_turned

    def n_set_aside(self, share: float) -> int:
        """Votes that count in no way at this share."""
        return int(np.count_nonzero(self._pruned(share)))

    def rankings(
        self, shares: Iterable[float], items: pd.Index[Any], table: FeatureTable | None
    ) -> Iterator[Floats]:
        """Scores of the items at each share; NaN for those that nothing is known of."""
        votes = self.trust.votes
        feature_map = self.space.feature_map
        every = np.zeros((len(items), 0))
        if table is not None and feature_map is not None:
            every = mapped(feature_map, _values(feature_map, table, items))
        place = positions(self.items, items)
        fitted: Refit | LogisticFit = self.found
        for share in shares:
            fitted = refit(
                votes.rows,
                votes.weight * ~self._pruned(share),
                votes.ranking,
                limit=self.search.limit,
                start=fitted,
                tolerance=_TOLERANCE,
            )
            unknown = np.nan if table is None else 0.0
            yield every @ fitted.coefficients + np.append(fitted.effects, unknown)[place]

    def _pruned(self, prune: float | None) -> Mask:
        search = self.search if prune is None else replace(self.search, prune=prune)
        return search.pruned(self.suspected, self.ballots.weight)


@dataclass(frozen=True, slots=True)
class PathJudgement:
    """Votes judged by the method of the paper."""

    ballots: Ballots
    graph: ComparisonGraph
    """In the space of the ranking function."""
    ranking_map: FeatureMap | None
    settings: FitSettings
    path: OutlierPath
    rate: float
    """Share of the edges that settings, or the fit given, would prune."""
    ridge: float

    @property
    def suspicion(self) -> Floats:
        """(n_rows,) by the entry of the vote's edge, and below these by its residual."""
        entry, rest = self.path.entry, np.abs(self.path.residual)
        of_edge = np.where(entry > 0, 1.0 + entry / (1.0 + entry), rest / (1.0 + rest))
        return np.asarray(of_edge[self._edges], np.float64)

    @property
    def left_out(self) -> Mask:
        """The paper knows no people."""
        return np.zeros(self.ballots.rows.n_rows, np.bool_)

    @property
    def not_heard(self) -> pd.Index[Any]:
        """None, either."""
        return self.ballots.names[:0]

    @property
    def n_turned(self) -> int:
        """The paper reads every vote as it was cast."""
        return 0

    def set_aside(self, prune: float | None = None) -> Mask:
        """(n_rows,) votes of the edges that are pruned, at a share or as settings say."""
        pruned = self.path.pruned(self.rate if prune is None else prune)
        return np.asarray(pruned[self._edges], np.bool_)

    def n_set_aside(self, share: float) -> int:
        """Votes of the edges that are pruned at this share."""
        return int(self.graph.n_votes[self.path.pruned(share)].sum())

    def rankings(
        self, shares: Iterable[float], items: pd.Index[Any], table: FeatureTable | None
    ) -> Iterator[Floats]:
        """Scores of the items at each share; NaN for those that nothing is known of."""
        every = None
        if table is not None and self.ranking_map is not None:
            every = self.ranking_map.map(_values(self.ranking_map, table, items))
        place = positions(self.graph.items, items)
        for share in shares:
            kept = self.graph.keep(~self.path.pruned(share))
            beta = ranking_coefficients(kept, ranking=self.settings.ranking, ridge=self.ridge)
            yield np.append(beta, np.nan)[place] if every is None else every @ beta

    @property
    def _edges(self) -> Ints:
        return self.graph.edge_of_row[self.ballots.place].astype(np.int64)


Judgement = LinkJudgement | PathJudgement


def read_votes(
    votes: pd.DataFrame | VoteTable, table: FeatureTable | None, settings: FitSettings
) -> VoteTable:
    """Votes read as a fit would."""
    if isinstance(votes, VoteTable):
        return votes
    known = None if table is None else table.items
    return vote_table(votes, known_items=known, ties=settings.ties)


def sampled(
    votes: pd.DataFrame | VoteTable, most: int, rng: np.random.Generator
) -> pd.DataFrame | VoteTable:
    """At most so many of the votes, drawn at random, in their order."""
    frame = votes.frame if isinstance(votes, VoteTable) else votes
    if len(frame) <= most:
        return votes
    rows = np.sort(rng.choice(len(frame), most, replace=False))
    return pd.DataFrame(frame.iloc[rows])


def judgement_of(
    read: VoteTable,
    table: FeatureTable | None,
    settings: FitSettings,
    *,
    turned: Mask | None = None,
    furthest: float = 0.0,
    like: Ranker | None = None,
) -> Judgement:
    """Judge votes by the method that settings name.

    Parameters
    ----------
    turned
        (n_ballots,) votes to be read as if they had been cast the other way round.
    furthest
        Largest share that will be asked for.
    like
        A fit to nearly the same votes: its feature space and its ridge (in the paper also its
        share) are taken. None chooses them anew.

    Raises
    ------
    VoteError, FeatureError, ConvergenceError
        As a fit would.
    """
    ballots = ballots_of(read, sides=settings.left_right)
    if turned is not None:
        ballots = ballots.turned(turned)
    if not (~ballots.tie).any():
        raise VoteError(message("no_decided_vote"))
    if settings.method == "paper":
        return _by_path(read, ballots, table, settings, furthest, like)
    return _by_link(read, ballots, table, settings, like)


def _by_link(
    read: VoteTable,
    ballots: Ballots,
    table: FeatureTable | None,
    settings: FitSettings,
    like: Ranker | None,
) -> LinkJudgement:
    _refuse_parts(graph_of(_as_read(read, ballots)), table)
    space_rng, fold_rng, _ = np.random.default_rng(settings.seed).spawn(3)
    seed = int(fold_rng.integers(2**32))
    if like is None:
        space = feature_space(read.items, table, settings, rng=space_rng)
        tuned = tuned_space(space, ballots.rows, ballots.weight, settings.ridge, seed)
    else:
        feature_map = like.feature_map
        values = np.zeros((len(read.items), 0))
        if table is not None and feature_map is not None:
            values = _values(feature_map, table, read.items)
        space = Space(feature_map, values, mapped(feature_map, values))
        tuned = TunedSpace(space, None, like.facts.ridge, fixed=True, seed=seed)
    trust = judge_people(ballots, tuned, settings)
    read_as = trust.votes
    limit = limit_for(read_as.rows, settings.limit)
    found = logistic_fit(read_as.rows, read_as.weight, read_as.search, limit=limit, tolerance=1e-4)
    prune: float | Literal["auto"] = "auto" if isinstance(settings.prune, str) else settings.prune
    search = search_of(read_as, found, limit=limit, prune=prune)
    suspected = search.suspicion(read_as.rows, found)
    return LinkJudgement(ballots, read.items, tuned.space, trust, found, search, suspected)


def _by_path(
    read: VoteTable,
    ballots: Ballots,
    table: FeatureTable | None,
    settings: FitSettings,
    furthest: float,
    like: Ranker | None,
) -> PathJudgement:
    read = _as_read(read, ballots)
    graph = graph_of(read)
    _refuse_parts(graph, table)
    rng = np.random.default_rng(settings.seed)
    if like is None:
        ranking_map, outlier_map, values = spaces_of(graph, table, settings, rng)
    else:
        ranking_map, outlier_map = like.feature_map, like.outlier_map
        values = np.zeros((graph.n_items, 0))
        if table is not None and ranking_map is not None:
            values = _values(ranking_map, table, graph.items)
    search = graph if outlier_map is None else graph.with_features(outlier_map.map(values))
    fitted = graph if ranking_map is None else graph.with_features(ranking_map.map(values))
    n_components = int(graph.components().max()) + 1
    dimension = outlier_dimension(search, n_components)
    if dimension <= 0:
        raise VoteError(message("every_vote_fits"))
    search_ridge = settings.outlier_ridge or (ITEM_RIDGE if outlier_map is None else PAPER_RIDGE)
    ridge = ridge_of(fitted, settings, rng)[0] if like is None else like.facts.ridge
    prune = settings.prune if like is None else like.facts.rate
    if prune == "auto":
        prune = held_out_rate(
            search,
            fitted,
            say_of(read, graph),
            search_ridge=search_ridge,
            ridge=ridge,
            solver=settings.solver,
            rng=rng,
        )
    if isinstance(prune, str):
        _, prune = path_and_rate(
            search, prune, dimension=dimension, ridge=search_ridge, solver=settings.solver
        )
    path = outlier_path(
        search, rate=max(prune, furthest), ridge=search_ridge, solver=settings.solver
    )
    return PathJudgement(ballots, fitted, ranking_map, settings, path, prune, ridge)


def _as_read(read: VoteTable, ballots: Ballots) -> VoteTable:
    """The table of votes with winners and losers as the ballots have them."""
    winner, loser = read.winner.copy(), read.loser.copy()
    winner[ballots.place], loser[ballots.place] = ballots.rows.winner, ballots.rows.loser
    return replace(read, winner=winner, loser=loser)


def _refuse_parts(graph: ComparisonGraph, table: FeatureTable | None) -> None:
    """Refuse what a fit would: groups that nothing compares, votes that cancel."""
    if table is None and graph.components().any():
        raise VoteError(message("parts_never_compared"))
    pull = np.abs(graph.pull(graph.weight * graph.target))
    if pull.max() <= _CANCEL * float(graph.weight.sum()):
        raise VoteError(message("votes_cancel"))


def _values(feature_map: FeatureMap, table: FeatureTable, items: pd.Index[Any]) -> Floats:
    """(n_items, n_columns) raw features of items, in the order a map expects."""
    return np.asarray(feature_map.select(table)[positions(table.items, items)], np.float64)
