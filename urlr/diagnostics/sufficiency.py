"""Are there enough votes: how alike two halves of the crowd rank, and two crowds with more votes.

The halves are ranked as the ranking itself was, in its feature space and with its penalties, since
the question is how far another crowd would lead to another ranking. Every vote counts as it was
cast: those that were set aside contradict the others by choice, and without them halves would agree
more than two crowds do. For the same reason people are not weighed by how reliable they are. Only
groups that act together are no part of it, where their votes do not count. What both halves take
from the features alike is no error here: two crowds would share it too.

Of 48 simulated crowds, held against another crowd ranked on its own, the figure was right to 0.01
on average, by 0.002 to 0.008 too high with features, since each crowd chooses its own penalties;
41 of the 90 % intervals held what was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from urlr.arrays import Floats, Ints, Mask
from urlr.diagnostics.intervals import LEVEL, Interval
from urlr.diagnostics.rejudging import read_votes, sampled
from urlr.errors import ConvergenceError, FeatureError, VoteError
from urlr.graph.comparisons import graph_of
from urlr.ids import positions
from urlr.messages import message
from urlr.model.logistic import Penalties
from urlr.model.refit import refit
from urlr.model.robust import limit_for
from urlr.paper.ranking import ranking_coefficients
from urlr.ranker import Ranker
from urlr.sentence import Sentence, made
from urlr.space.feature_space import mapped
from urlr.space.table import FeatureTable, feature_table
from urlr.votes.ballots import Ballots, ballots_of
from urlr.votes.table import VoteTable, voted_ids

TIMES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Numbers of votes at which reliability is predicted, times those there are."""
ENOUGH = 0.95
"""Reliability to which the number of votes is told."""

_SPLITS = 6
_DRAWS = 400
_MOST_VOTES = 20_000
"""Halves of so many votes are ranked; what all votes would give follows from what these do."""
_FEWEST_ITEMS = 8
_FEWEST_VOTES = 40
_FEWEST_PEOPLE = 8
_NAMED = 0.9
"""Share of the votes that must have a name, for people to be split rather than votes."""
_SMALLER = 0.25
"""Share of the votes that the smaller half of the people must have."""
_ALL_VOTES = 100.0
"""Times as many votes as there are: beyond, the number needed is not worth telling."""


@dataclass(frozen=True, slots=True)
class Enough:
    """How alike the rankings of two crowds would be, with so many votes each."""

    reliability: Interval | None
    """Correlation with the scores by another crowd of the same size; None where halves cannot be
    ranked."""
    votes: Ints
    """(n_sizes,) numbers of votes, 1/2 to 8 times those there are; none without a reliability."""
    expected: Floats
    """(n_sizes,) reliability to be expected at each."""
    by_people: bool
    """Whether people were split; else votes."""
    words: Sentence
    """One plain sentence."""


def enough_votes(
    votes: pd.DataFrame | VoteTable,
    features: pd.DataFrame | None,
    ranker: Ranker,
    *,
    rng: np.random.Generator,
) -> Enough:
    """Correlate the scores by two halves of the crowd, and step that up to all votes and more.

    With c the ratio of true variance to error variance per vote, n votes have reliability
    n c / (1 + n c) and two halves correlate by sqrt(n1 c / (1 + n1 c) n2 c / (1 + n2 c)): with
    equal halves the formula of Spearman (1910) and Brown (1910). c is that of the mean correlation
    over six random splits; the interval is from 400 draws of items, with replacement, each seen by
    one of the splits.

    Parameters
    ----------
    votes, features
        Those the ranker was fitted to.
    ranker
        The ranking; its feature space and penalties are taken.

    Returns
    -------
    Without a reliability where there are fewer than 40 decided votes or 8 items, or halves cannot
    be ranked.
    """
    with threadpool_limits(limits=1):
        try:
            table = None if features is None else feature_table(features, known=voted_ids(votes))
            n_rows = len(votes.frame if isinstance(votes, VoteTable) else votes)
            read = read_votes(sampled(votes, _MOST_VOTES, rng), table, ranker.settings)
            ballots = ballots_of(read).without(ranker.not_heard)
            n_items, n_decided = len(read.items), int(np.count_nonzero(~ballots.tie))
            if n_items < _FEWEST_ITEMS or n_decided < _FEWEST_VOTES:
                raise VoteError(
                    message(
                        "too_few_to_split",
                        n_decided=n_decided,
                        n_items=n_items,
                        fewest_votes=_FEWEST_VOTES,
                        fewest_items=_FEWEST_ITEMS,
                    )
                )
            halves = _halves(ballots, rng)
            n_votes = round(ballots.rows.n_rows * n_rows / len(read.status))
            part = float(halves.sizes.mean()) / n_votes
            score = _scorer(read, ballots, table, ranker, part=part)
            first, second = (
                np.stack([score(half == side) for half in halves.sides]) for side in (True, False)
            )
        except (VoteError, FeatureError, ConvergenceError) as error:
            why = made(error.sentence.rstrip("."), error.code, error.fields)
            words = message("halves_not_ranked", why=why)
            return Enough(None, np.empty(0, np.int64), np.empty(0), False, words)
    sizes = halves.sizes
    per_vote = per_vote_of(_correlation(first, second).mean(), *sizes.mean(axis=0))
    drawn = _drawn(first, second, sizes, n_votes, rng)
    tail = 0.5 - LEVEL / 2
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    value = reliability_at(per_vote, n_votes)
    counts = np.array([round(times * n_votes) for times in TIMES], np.int64)
    return Enough(
        reliability=Interval(value, min(float(low), value), max(float(high), value)),
        votes=counts,
        expected=np.array([reliability_at(per_vote, count) for count in counts.tolist()]),
        by_people=halves.by_people,
        words=_words(per_vote, n_votes, by_people=halves.by_people),
    )


def reliability_at(per_vote: float, n_votes: float) -> float:
    """Reliability n c / (1 + n c) of n votes."""
    return n_votes * per_vote / (1.0 + n_votes * per_vote)


@dataclass(frozen=True, slots=True)
class _Halves:
    sides: list[Mask]
    """(n_rows,) each: which votes are in the first half."""
    sizes: Floats
    """(n_splits, 2) votes in each half."""
    by_people: bool


def _halves(ballots: Ballots, rng: np.random.Generator) -> _Halves:
    """Split people at random, those who vote about as often apart; else votes."""
    n = ballots.rows.n_rows
    named = ballots.annotator >= 0
    n_of = np.bincount(ballots.annotator[named], minlength=len(ballots.names))
    by_people = len(ballots.names) >= _FEWEST_PEOPLE and named.mean() >= _NAMED
    sides = []
    for _ in range(_SPLITS):
        alone = _dealt(n, np.zeros(n), rng)
        if by_people:
            who = _dealt(n_of.size, np.log(n_of) + 0.3 * rng.standard_normal(n_of.size), rng)
            sides.append(np.where(named, np.append(who, False)[ballots.annotator], alone))
        else:
            sides.append(alone)
    sizes = np.array([(np.count_nonzero(half), np.count_nonzero(~half)) for half in sides], float)
    if by_people and sizes.min() < _SMALLER * n:  # one person casts most of the votes
        return _halves(replace(ballots, annotator=np.full_like(ballots.annotator, -1)), rng)
    return _Halves(sides, sizes, by_people)


def _dealt(count: int, key: Floats, rng: np.random.Generator) -> Mask:
    """One of every two neighbours in the order of the key, at random; equal keys in any order."""
    order = np.lexsort((rng.random(count), key))
    side = np.empty(count, np.bool_)
    tossed = rng.random((count + 1) // 2) < 0.5
    side[order] = np.where(np.arange(count) % 2 == 0, np.repeat(tossed, 2)[:count], False)
    side[order] |= (np.arange(count) % 2 == 1) & ~np.repeat(tossed, 2)[:count]
    return side


def _scorer(
    read: VoteTable, ballots: Ballots, table: FeatureTable | None, ranker: Ranker, *, part: float
) -> Callable[[Mask], Floats]:
    """Scores of the compared items by a part of the votes, as the ranker would give them.

    Its penalties are taken by the same part. So scores of a half are drawn to the features, and to
    each other, as much as those by all votes; they differ from these by their error alone, which is
    what the step up from halves to all takes for granted.
    """
    feature_map, settings, facts = ranker.feature_map, ranker.settings, ranker.facts
    values = np.zeros((len(read.items), 0))
    if table is not None and feature_map is not None:
        values = feature_map.select(table)[positions(table.items, read.items)]
    if settings.method == "paper":
        graph = graph_of(read)
        if feature_map is not None:
            graph = graph.with_features(feature_map.map(values))
        edges = graph.edge_of_row[ballots.place]

        def by_edges(kept: Mask) -> Floats:
            weight = np.bincount(edges, ballots.weight * kept, graph.n_edges)
            half = replace(graph, weight=np.asarray(weight, np.float64)).keep(weight > 0)
            ridge = part * facts.ridge
            beta = ranking_coefficients(half, ranking=settings.ranking, ridge=ridge)
            return half.scores(beta)

        return by_edges
    rows = replace(ballots.rows, features=mapped(feature_map, values))
    spread = facts.item_spread or 0.0
    penalties = Penalties(
        part * facts.ridge,
        part / spread**2 if spread > 0 else np.inf,
        1.0 if facts.lean is not None else np.inf,
    )
    limit = limit_for(rows, settings.limit)
    start = refit(rows, ballots.weight, penalties, limit=limit, tolerance=_TOLERANCE)

    def by_link(kept: Mask) -> Floats:
        fitted = refit(
            rows, ballots.weight * kept, penalties, limit=limit, start=start, tolerance=_TOLERANCE
        )
        return fitted.scores(rows.features)

    return by_link


_TOLERANCE = 1e-3
"""Of the fits to halves, as of those that intervals rest on."""


def _correlation(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Floats:
    """Pearson correlation along the last axis; 0 where all values are the same."""
    first = first - first.mean(axis=-1, keepdims=True)
    second = second - second.mean(axis=-1, keepdims=True)
    size = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    product = (first * second).sum(axis=-1)
    return np.asarray(np.where(size > 0, product / np.where(size > 0, size, 1.0), 0.0))


def per_vote_of(correlation: float, first: float, second: float) -> float:
    """The ratio c that makes halves of these sizes correlate so; 0 for halves that do not."""
    r2 = min(max(float(correlation), 0.0), 1.0 - 1e-6) ** 2
    product, total = first * second, first + second
    root = np.sqrt((r2 * total) ** 2 + 4.0 * (1.0 - r2) * product * r2)
    return float((r2 * total + root) / (2.0 * (1.0 - r2) * product))


def _drawn(
    first: Floats, second: Floats, sizes: Floats, n_votes: int, rng: np.random.Generator
) -> Floats:
    """Reliability over items drawn anew, each draw seen by one of the splits."""
    n_splits, n_items = first.shape
    found = []
    for draw in range(_DRAWS):
        split = draw % n_splits
        items = rng.integers(0, n_items, n_items)
        correlation = float(_correlation(first[split, items], second[split, items]))
        found.append(reliability_at(per_vote_of(correlation, *sizes[split]), n_votes))
    return np.array(found)


def _words(per_vote: float, n_votes: int, *, by_people: bool) -> Sentence:
    reliabilities = [reliability_at(per_vote, times * n_votes) for times in (1, 2)]
    now, twice = (_rounded_down(one) for one in reliabilities)
    crowds = message("two_crowds") if by_people else message("two_sets_of_votes")
    if reliabilities[0] >= ENOUGH:
        return message("enough_votes", crowds=crowds, now=now, twice=twice)
    if reliabilities[0] <= 0.0:
        return message("halves_unlike")
    grows = message("with_twice_the_votes", crowds=crowds, twice=twice, now=now)
    needed = ENOUGH / (1.0 - ENOUGH) / per_vote
    if needed > _ALL_VOTES * n_votes:
        return message("enough_out_of_reach", grows=grows, enough=ENOUGH)
    return message("more_votes_needed", grows=grows, enough=ENOUGH, needed=_rounded(needed))


def _rounded_down(reliability: float) -> float:
    """Two decimals: 0.996 is not 1.00."""
    return float(np.floor(100.0 * reliability + 1e-9) / 100.0)


def _rounded(count: float) -> int:
    """Two leading digits."""
    unit = 10 ** max(int(np.floor(np.log10(count))) - 1, 0)
    return int(np.ceil(count / unit) * unit)
