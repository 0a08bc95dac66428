"""One set of votes on items with features, and what each method makes of it; shared steps once.

Every method tunes its penalty on items left out (`tuning.py`, `baselines.py`); none is favoured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import urlr
from tasks.study.baselines import bradley_terry_regression, share_regression
from tasks.study.tuning import tuned_ridge
from urlr.arrays import Floats, Ints, Mask
from urlr.baselines import bradley_terry, majority
from urlr.graph.comparisons import ComparisonGraph, comparison_graph
from urlr.metrics import outlier_auc
from urlr.paper.method import ITEM_RIDGE, PAPER_RIDGE, say_of
from urlr.paper.path import OutlierPath, outlier_path
from urlr.paper.ranking import Ranking, ranking_coefficients
from urlr.paper.rates import held_out_rate, information_choice
from urlr.space.maps import original_space, reduced_space
from urlr.votes.table import vote_table

DEEPEST = 0.6
"""Share of the edges to which paths are followed; beyond, edges are ordered by their residual."""

RAW, URLR, FEATURELESS = "Raw", "URLR", "Huber-LASSO-FL"
MAJORITY_SVM, MAJORITY_SHARE = "Maj-Vot-1", "Maj-Vot-2"
BRADLEY_TERRY, BRADLEY_TERRY_SVM = "Bradley-Terry", "Bradley-Terry-pruned RankSVM"
TO_THE_LETTER, AUTO, DEFAULT = "URLR, ridge 0.001", "URLR, auto rate", "urlr's default"


@dataclass(frozen=True)
class Learner:
    """Votes and features; methods by name from `scores`, parts of them from the rest."""

    values: Floats
    """(n_items, n_features) raw features of all items, compared or not."""
    winner: Ints
    """(n_votes,) rows of `values`."""
    loser: Ints
    components: int | None
    """Dimensions of the space outliers are looked for in, by kernel PCA as in the paper; None
    looks in the features themselves."""
    ranking: Ranking = "ridge"
    """Ranking function of Raw, URLR and Huber-LASSO-FL."""
    chi_square: int = 0
    seed: int = 0
    featureless_depth: float = DEEPEST
    """Share of the edges to which the path without features, the slow one, is followed."""
    annotator: Any = None
    """(n_votes,) who voted, for those who ask."""

    @cached_property
    def graph(self) -> ComparisonGraph:
        """The votes in the space of the ranking function."""
        bare = self._bare
        return bare.with_features(self._mapped[self.compared])

    @cached_property
    def compared(self) -> Ints:
        """(n_compared,) rows of `values` with votes."""
        return np.asarray(self._bare.items, np.int64)

    @cached_property
    def _bare(self) -> ComparisonGraph:
        return comparison_graph(self._votes)

    @cached_property
    def _space(self) -> Any:
        columns = [f"f{k}" for k in range(self.values.shape[1])]
        return original_space(self.values[self.compared], columns, chi_square=self.chi_square)

    @cached_property
    def _mapped(self) -> Floats:
        """(n_items, d) every item in the space of the ranking function.

        Coefficients never leave the span of the compared items, so where these are fewer than the
        features, their span is all that is needed: the same scores, sooner.
        """
        mapped: Floats = self._space.map(self.values)
        rows = mapped[self.compared]
        centred = rows - rows.mean(axis=0)
        if rows.shape[0] > rows.shape[1]:
            return mapped
        _, size, directions = np.linalg.svd(centred, full_matrices=False)
        kept = directions[size > 1e-9 * size[0]]
        return np.asarray((mapped - rows.mean(axis=0)) @ kept.T)

    @cached_property
    def search(self) -> ComparisonGraph:
        """The votes in the reduced space, where outliers are looked for."""
        if self.components is None:
            return self.graph
        rows = self.values[self.compared]
        reduced = reduced_space(
            self._space,
            rows,
            min(self.components, len(rows) - 1),
            kernel=True,
            rng=np.random.default_rng(self.seed),
        )
        return self._bare.with_features(reduced.map(rows))

    @cached_property
    def path(self) -> OutlierPath:
        """URLR's order of suspicion."""
        return outlier_path(self.search, rate=DEEPEST, ridge=PAPER_RIDGE)

    @cached_property
    def featureless_path(self) -> OutlierPath:
        """Huber-LASSO-FL's."""
        return outlier_path(self._bare, rate=self.featureless_depth, ridge=ITEM_RIDGE)

    def order_of(self, method: str) -> Ints:
        """(n_edges,) edges from most to least suspicious."""
        return (self.path if method == URLR else self.featureless_path).order

    def pruned(self, method: str, rate: float) -> Mask:
        """The share of the edges that this method would drop first."""
        mask = np.zeros(self.graph.n_edges, np.bool_)
        mask[self.order_of(method)[: int(rate * mask.size + 1e-9)]] = True
        return mask

    def auc(self, method: str, wrong: Mask) -> float:
        """How well a method's order finds wrong votes, given which votes are wrong."""
        place = np.empty(self.graph.n_edges)
        place[self.order_of(method)] = -np.arange(self.graph.n_edges)
        return outlier_auc(place[self.graph.edge_of_row], wrong)

    @cached_property
    def ridge(self) -> float:
        """Tuned on all votes: those that are kept were chosen to agree with each other."""
        return self.tuned(self.graph, self.ranking)

    def tuned(self, graph: ComparisonGraph, ranking: Ranking) -> float:
        """Ridge whose scores best foretell the order of votes on items left out."""
        return tuned_ridge(graph, ranking=ranking, rng=np.random.default_rng(self.seed))

    def fitted(
        self, graph: ComparisonGraph, *, ranking: Ranking | None = None, ridge: float | None = None
    ) -> Floats:
        """(n_items,) scores of all items by a ranking function of these edges."""
        ranking = ranking or self.ranking
        ridge = ridge or self.tuned(graph, ranking)
        return np.asarray(self._mapped @ ranking_coefficients(graph, ranking=ranking, ridge=ridge))

    def after_pruning(self, method: str, rate: float, *, ridge: float | None = None) -> Floats:
        """(n_items,) scores once a share of the edges is dropped, of URLR or Huber-LASSO-FL."""
        kept = self.graph.keep(~self.pruned(method, rate))
        return self.fitted(kept, ridge=ridge or self.ridge)

    def criterion_rate(self, criterion: Any) -> float:
        """Share of the edges that "bic" or "aic" would prune in URLR's path."""
        edges = self.search.n_edges
        rank = min(self.search.n_features, edges)
        count = information_choice(self.path, criterion, dimension=edges - rank)
        return count / edges

    def scores(self, method: str, *, rate: float = 0.2) -> Floats:
        """(n_items,) scores of all items by a method of the paper, by name."""
        if method == RAW:
            return self.fitted(self.graph, ridge=self.ridge)
        if method in (URLR, FEATURELESS):
            return self.after_pruning(method, rate)
        if method == TO_THE_LETTER:
            return self.after_pruning(URLR, rate, ridge=PAPER_RIDGE)
        if method == AUTO:
            return self.after_pruning(URLR, self.auto_rate)
        if method == MAJORITY_SVM:
            return self.fitted(self._majority, ranking="svm")
        if method == MAJORITY_SHARE:
            beta = share_regression(self._majority, rng=np.random.default_rng(self.seed))
            return np.asarray(self._mapped @ beta)
        if method == BRADLEY_TERRY:
            beta = bradley_terry_regression(self.graph, rng=np.random.default_rng(self.seed))
            return np.asarray(self._mapped @ beta)
        if method == BRADLEY_TERRY_SVM:
            return self.fitted(self.graph.keep(~self._against_bradley_terry), ranking="svm")
        if method == DEFAULT:
            return self.by_default()
        raise KeyError(method)

    @cached_property
    def auto_rate(self) -> float:
        """Share that best foretells held-out votes, if clearly better than none."""
        return held_out_rate(
            self.search,
            self.graph,
            say_of(vote_table(self._votes), self.graph),
            search_ridge=PAPER_RIDGE,
            ridge=self.ridge,
            rng=np.random.default_rng(self.seed),
        )

    @property
    def _votes(self) -> pd.DataFrame:
        votes = pd.DataFrame({"winner": self.winner, "loser": self.loser})
        return votes if self.annotator is None else votes.assign(annotator=self.annotator)

    @property
    def _majority(self) -> ComparisonGraph:
        return self.graph.keep(majority(self.graph))

    @cached_property
    def _against_bradley_terry(self) -> Mask:
        """Edges that Bradley-Terry strengths order the other way round."""
        strength = bradley_terry(self._votes, ridge=0.1).to_numpy()
        return np.asarray(self.graph.margins(strength) < 0)

    def by_default(self, **settings: Any) -> Floats:
        """(n_items,) scores by `urlr.fit` with its default, but for these settings."""
        columns = [f"f{k}" for k in range(self.values.shape[1])]
        items = pd.RangeIndex(len(self.values), name="item")
        features = pd.DataFrame(self.values, index=items, columns=columns)
        ranker = urlr.fit(
            self._votes,
            features,
            replicates=0,
            chi_square=self.chi_square,
            seed=self.seed,
            **settings,
        )
        return ranker.score(features).loc[items].to_numpy()
