"""How good is a ranking when nobody knows the truth: agreement with votes it has not seen.

Agreement is Kendall's tau with decisive votes: 1 - 2 x the weighted share of them that the scores
order wrongly, equal scores counting one half. It is measured twice. *Plain*: votes count by their
weight. *By person*: everybody's votes weigh the same in sum, so that nobody wins by voting often;
this is the figure that sees a campaign, whose many votes agree with each other. It does not see a
campaign under many names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

import urlr
from tasks.messages import message
from tasks.split import Split
from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.errors import ArgumentError, UrlrError, VoteError
from urlr.ids import positions
from urlr.metrics import scored_items, tau_b
from urlr.votes.ballots import ballots_of
from urlr.votes.table import vote_table

REPLICATES = 1000
FEWEST_SHOWN = 20
"""Judged votes from which on a figure is shown."""

_MOST_CLUSTERS = 1000
"""Standard errors from so many are right to 2 %."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval."""

    value: float
    low: float
    high: float
    error: float
    """Standard error; infinite where nothing could be drawn."""


@dataclass(frozen=True, slots=True)
class VoteTau:
    """Kendall's tau with votes, or the difference of two of them, measured both ways."""

    plain: Estimate | None
    """Votes count by their weight; None where no vote could be judged."""
    by_person: Estimate | None
    """Every person counts the same, all votes without a name together as one person; None where
    fewer than two people are named."""
    n_votes: int
    """Decisive votes judged."""
    n_people: int
    """People named in them."""
    n_nameless: int
    """Votes among them without a name."""
    n_left_out: int
    """Decisive votes that could not be judged, because an item has no score."""
    level: float
    """Nominal coverage of the intervals."""

    @property
    def deciding(self) -> Estimate | None:
        """The figure to decide by: by person where people are named, else plain."""
        return self.plain if self.by_person is None else self.by_person

    @property
    def shown(self) -> Estimate | None:
        """The figure to show: none of a handful of votes, which would say nothing."""
        return self.deciding if self.n_votes >= FEWEST_SHOWN else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rankings judged by the same votes: those on which both have an opinion."""

    challenger: VoteTau
    champion: VoteTau
    difference: VoteTau
    """Challenger less champion, its intervals from the same draws for both."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A method by its name, and how well it foretold the votes it had not seen."""

    method: str
    held_out: VoteTau | None
    """None where it could not be fitted."""
    unseen: VoteTau | None
    """None for a method that has nothing to say about items it has not seen."""
    failure: str = ""
    """Why it could not be fitted."""


@dataclass(frozen=True, slots=True)
class OrderTau:
    """Kendall's tau-b of two tables of scores."""

    tau: float | None
    """None where fewer than two items have both scores, or the other scores are all the same."""
    n_items: int
    """Items that have both."""


def tau_with_votes(
    scores: pd.Series[Any],
    votes: pd.DataFrame,
    *,
    level: float = 0.95,
    replicates: int = REPLICATES,
    rng: np.random.Generator,
) -> VoteTau:
    """Kendall's tau of scores by item with the decisive ones of these votes."""
    decisive = _Decisive.of(votes)
    signs = decisive.signs(scores)[:, None]
    return _taus(signs, np.ones(1), decisive, level, replicates, rng)[0]


def compare(
    challenger: pd.Series[Any],
    champion: pd.Series[Any],
    votes: pd.DataFrame,
    *,
    level: float = 0.99,
    replicates: int = REPLICATES,
    rng: np.random.Generator,
) -> Comparison:
    """Judge two tables of scores by the votes whose items both have scored."""
    decisive = _Decisive.of(votes)
    ours, theirs = decisive.signs(challenger), decisive.signs(champion)
    signs = np.column_stack([ours, theirs, ours - theirs])
    return Comparison(*_taus(signs, np.array([1.0, 1.0, 2.0]), decisive, level, replicates, rng))


def judged(
    method: str,
    scores: pd.Series[Any],
    split: Split,
    *,
    knows_features: bool,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Judged:
    """Judge scores learnt from the train votes by both kinds of votes they have not seen."""
    held_out = tau_with_votes(scores, split.held_out, level=level, rng=rng)
    unseen = None
    if knows_features:
        unseen = tau_with_votes(scores, split.unseen, level=level, rng=rng)
    return Judged(method, held_out, unseen)


def baselines_of(
    split: Split, features: pd.DataFrame | None, *, level: float = 0.95, seed: int = 0
) -> tuple[Judged, ...]:
    """Fit what ours is held against on the train votes, and judge it by the others.

    "raw": least squares on all votes, nothing pruned. "majority": the minority of every pair
    dropped; then RankSVM or, without features, the share of pairs won. "bradley-terry": the votes
    alone, features or not. One that cannot be fitted says why and does not stop the others.
    """
    train = split.train
    fits: dict[str, Callable[[], pd.Series[Any]]] = {
        "raw": partial(_raw, train, features, seed),
        "majority": partial(_majority, train, features, seed),
        "bradley-terry": partial(urlr.baselines.bradley_terry, train),
    }
    found = []
    for method, fit in fits.items():
        knows_features = features is not None and method != "bradley-terry"
        rng = np.random.default_rng(seed)
        try:
            scores = fit()
        except UrlrError as error:
            found.append(Judged(method, None, None, error.sentence))
            continue
        found.append(
            judged(method, scores, split, knows_features=knows_features, level=level, rng=rng)
        )
    return tuple(found)


def tau_between(tonight: pd.Series[Any], before: pd.Series[Any]) -> OrderTau:
    """How alike two nights order the items that both have scored."""
    common = positions(
        scored_items(tonight.dropna(), "score"), scored_items(before.dropna(), "score")
    )
    known = before.dropna()[common >= 0]
    tau = tau_b(tonight, before) if known.nunique() > 1 else None
    return OrderTau(tau, len(known))


def tau_with_truth(scores: pd.Series[Any], truth: pd.DataFrame) -> OrderTau:
    """How alike scores and a table of true scores, columns item and score, order the items."""
    if lacking := sorted({"item", "score"} - set(truth.columns)):
        raise VoteError(message("no_such_truth_column", columns=" and no ".join(lacking)))
    return tau_between(scores, truth.set_index("item")["score"])


@dataclass(frozen=True, slots=True)
class _Decisive:
    """The votes that count and are no ties."""

    items: pd.Index[Any]
    winner: Codes
    loser: Codes
    weight: Floats
    annotator: Codes
    """(n_votes,) number of whoever cast it, -1 where nobody is named."""

    @staticmethod
    def of(votes: pd.DataFrame) -> _Decisive:
        """Read votes as a fit would."""
        read = vote_table(votes)
        ballots = ballots_of(read)
        rows = ~ballots.tie
        return _Decisive(
            read.items,
            ballots.rows.winner[rows],
            ballots.rows.loser[rows],
            ballots.weight[rows],
            ballots.annotator[rows],
        )

    def take(self, rows: Mask) -> _Decisive:
        """Return some of the votes."""
        return _Decisive(
            self.items,
            self.winner[rows],
            self.loser[rows],
            self.weight[rows],
            self.annotator[rows],
        )

    def signs(self, scores: pd.Series[Any]) -> Floats:
        """1 where the scores order a vote rightly, -1 wrongly, 0 equal scores, NaN where none."""
        known = scores.dropna()
        place = positions(scored_items(known, "score"), self.items)
        value = np.append(known.to_numpy(np.float64), np.nan)[place]
        won, lost = value[self.winner], value[self.loser]
        sign = (won > lost).astype(np.float64) - (won < lost)
        return np.where(np.isnan(won) | np.isnan(lost), np.nan, sign)

    def pairs(self) -> Ints:
        """(n_votes,) a number for each pair of items, whichever won."""
        low, high = np.minimum(self.winner, self.loser), np.maximum(self.winner, self.loser)
        return low.astype(np.int64) * len(self.items) + high


def _taus(
    signs: Floats,
    most: Floats,
    votes: _Decisive,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> list[VoteTau]:
    """Weighted means of each column of signs (n_votes, n_figures), from the same draws for all.

    What is drawn anew for the intervals are people, because the votes of one person are alike;
    votes without a name are drawn by pair, and so are all where fewer than two people are named.
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(message("not_between_0_and_1", name="level", value=level))
    if replicates < 2:
        raise ArgumentError(message("too_few_replicates", value=replicates))
    judged_by_all: Mask = np.asarray(~np.isnan(signs).any(axis=1), np.bool_)
    n_left_out = int(np.count_nonzero(~judged_by_all))
    signs, votes = signs[judged_by_all], votes.take(judged_by_all)
    named = votes.annotator >= 0
    n_people = len(np.unique(votes.annotator[named]))
    pair = -1 - votes.pairs()  # below all numbers of people
    plain: list[Estimate | None] = [None] * len(most)
    by_person: list[Estimate | None] = [None] * len(most)
    bootstrap = partial(_estimates, most=most, level=level, replicates=replicates, rng=rng)
    if len(signs):
        drawn = np.where(named, votes.annotator, pair) if n_people > 1 else pair
        plain = bootstrap(_Clusters.of(signs, votes.weight, drawn))
    if n_people > 1:
        by_person = bootstrap(_Clusters.of(signs, votes.weight, votes.annotator).equal())
    n_nameless = int(np.count_nonzero(~named))
    return [
        VoteTau(plain[k], by_person[k], len(signs), n_people, n_nameless, n_left_out, level)
        for k in range(len(most))
    ]


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Sums over votes that are drawn together."""

    sums: Floats
    """(n_clusters, n_figures) weighted sums of the signs."""
    weight: Floats
    """(n_clusters,) sums of the weights."""

    @staticmethod
    def of(signs: Floats, weight: Floats, cluster: npt.NDArray[Any]) -> _Clusters:
        """Add up the votes of each cluster."""
        _, number = np.unique(cluster, return_inverse=True)
        sums = [np.bincount(number, weight * sign) for sign in signs.T]
        weights = np.asarray(np.bincount(number, weight), np.float64)
        return _Clusters(np.column_stack(sums), weights)

    def equal(self) -> _Clusters:
        """Give every cluster the weight 1."""
        return _Clusters(self.sums / self.weight[:, None], np.ones(len(self.weight)))

    def merged(self, rng: np.random.Generator) -> _Clusters:
        """Put clusters together at random, so that drawing costs the same for any number."""
        n = len(self.weight)
        if n <= _MOST_CLUSTERS:
            return self
        group = rng.permutation(n) % _MOST_CLUSTERS
        return _Clusters.of(self.sums / self.weight[:, None], self.weight, group)


def _estimates(
    clusters: _Clusters,
    *,
    most: Floats,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> list[Estimate | None]:
    """Weighted means with intervals: value +- t x standard deviation over draws of the clusters.

    In simulated crowds of 8 people 98 % of such intervals of nominal 99 % held the truth, and
    94 % of the usual ones by quantiles; of 4 people 99 % and 86 %; of 60 people 99 % of both. Where
    some were far busier than others: 97 % and 92 %, 95 % and 80 %, 98 % of both.
    With a single cluster nothing can be drawn and the interval is all that is possible.
    """
    value = clusters.sums.sum(axis=0) / clusters.weight.sum()
    error = reach = np.full(len(value), np.inf)
    clusters = clusters.merged(rng)
    n = len(clusters.weight)
    if n > 1:
        drawn = rng.multinomial(n, np.full(n, 1.0 / n), replicates)
        means = (drawn @ clusters.sums) / (drawn @ clusters.weight)[:, None]
        # Draws of n from n vary by (n - 1) / n as much as new clusters would.
        error = np.sqrt(n / (n - 1)) * means.std(axis=0)
        reach = stdtrit(n - 1, 0.5 + level / 2) * error
    low, high = np.maximum(value - reach, -most), np.minimum(value + reach, most)
    columns = (figure.tolist() for figure in (value, low, high, error))
    return [Estimate(*figures) for figures in zip(*columns, strict=True)]


def _raw(train: pd.DataFrame, features: pd.DataFrame | None, seed: int) -> pd.Series[Any]:
    if features is not None:
        return urlr.baselines.raw(train, features, seed=seed)
    ranker = urlr.fit(train, method="paper", prune=0.0, seed=seed)
    return ranker.scores.set_index("item")["score"]


def _majority(train: pd.DataFrame, features: pd.DataFrame | None, seed: int) -> pd.Series[Any]:
    if features is not None:
        return urlr.baselines.majority_vote_svm(train, features, seed=seed)
    graph = urlr.comparison_graph(train)
    won = urlr.baselines.majority(graph) & (graph.target > 0)
    wins = np.bincount(graph.winner[won], minlength=graph.n_items)
    decided = wins + np.bincount(graph.loser[won], minlength=graph.n_items)
    if not decided.any():
        raise VoteError(message("no_majority"))
    share = pd.Series(wins, graph.items.rename("item"), name="score") / decided
    return share.dropna()  # items without a decided pair have none
