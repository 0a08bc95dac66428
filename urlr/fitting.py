"""From votes and features to a ranker: validate, look, find outliers, prune, fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from urlr.arrays import Floats, Progress, no_progress
from urlr.errors import FeatureError, VoteError
from urlr.features import FeatureTable, column_problems, feature_table
from urlr.graph import ComparisonGraph, graph_of
from urlr.ids import plural, positions, shown_some
from urlr.path import Solver
from urlr.preflight import Finding, preflight
from urlr.ranker import Evidence, Facts, Ranker, item_table
from urlr.ranking import Ranking, ranking_coefficients, tuned_ridge
from urlr.rates import RateRule, path_and_rate
from urlr.spaces import FeatureMap, original_space, reduced_space
from urlr.votes import VoteTable, vote_table

OutlierSpace = Literal["pca", "kernel-pca", "features", "items"]

PAPER_RIDGE = 0.001
ITEM_RIDGE = 1e-6
"""Ridge where every item has a score of its own: 0.001 would flatten long chains of comparisons."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Everything that can be chosen about a fit; kept in the model."""

    prune: float | RateRule = 0.2
    """Share of the edges to prune, or a rule: "bic", "aic", "sigma"."""
    ridge: float | Literal["tuned"] = "tuned"
    """Ridge of the ranking function; "tuned" on items left out, 0.001 in the paper."""
    ranking: Ranking = "ridge"
    """Ranking function: "ridge" (Eq. beta_RP) or "svm" (RankSVM)."""
    outlier_space: OutlierSpace = "pca"
    """Where outliers are looked for: reduced features ("pca", "kernel-pca"), the "features"
    themselves, or the "items" alone (Huber-LASSO-FL)."""
    components: int | None = None
    """Dimensions of the reduced space; by default a tenth of the edges, at most 150."""
    outlier_ridge: float | None = None
    """Ridge of the outlier search; by default 0.001, and 1e-6 without features."""
    chi_square: int = 0
    """Steps of the additive chi-square map, for histogram features; 0 for none."""
    solver: Solver = "auto"
    """Path solver: "exact", "grid", or "auto" by size."""
    seed: int = 0
    """Seed of the folds of the tuned ridge and the landmarks of kernel PCA."""

    def __post_init__(self) -> None:
        for name in ("prune", "ridge", "outlier_ridge"):  # numpy's numbers are not JSON's
            value = getattr(self, name)
            if isinstance(value, np.number):
                object.__setattr__(self, name, float(value))
        for name in ("components", "chi_square", "seed"):
            value = getattr(self, name)
            if isinstance(value, np.integer):
                object.__setattr__(self, name, int(value))

    def check(self) -> None:
        """Raise ValueError naming the setting that makes no sense."""
        for name in ("prune", "ridge", "components", "outlier_ridge", "chi_square", "seed"):
            value = getattr(self, name)
            whole = name in ("components", "chi_square", "seed")
            may_lack = name in ("components", "outlier_ridge") and value is None
            kinds = (int,) if whole else (int, float, str)
            if not may_lack and (not isinstance(value, kinds) or isinstance(value, bool)):
                wanted = "a whole number" if whole else "a number or the name of a rule"
                raise ValueError(f"{name} is {value!r}; it must be {wanted}.")
        if isinstance(self.prune, str):
            _one_of("prune", self.prune, get_args(RateRule))
        elif not 0 <= self.prune < 1:
            raise ValueError(f"prune is {self.prune}; it is a share of the edges, 0 up to 1.")
        if isinstance(self.ridge, str):
            _one_of("ridge", self.ridge, ("tuned",))
        for name in ("ridge", "outlier_ridge"):
            value = getattr(self, name)
            if value is None or (isinstance(value, str) and name == "ridge"):
                continue
            if isinstance(value, str) or not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name} is {value}; it must be a positive number such as 0.001.")
        _one_of("ranking", self.ranking, get_args(Ranking))
        _one_of("outlier_space", self.outlier_space, get_args(OutlierSpace))
        _one_of("solver", self.solver, get_args(Solver))
        if self.components is not None and self.components < 1:
            raise ValueError(f"components is {self.components}; at least 1 is needed.")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}; it must be 0 or more.")
        if self.chi_square not in (0, 1, 2, 3):
            raise ValueError(f"chi_square is {self.chi_square}; give 1, 2 or 3 steps, or 0.")


def fit(
    votes: pd.DataFrame,
    features: pd.DataFrame | None = None,
    *,
    prune: float | RateRule = 0.2,
    ridge: float | Literal["tuned"] = "tuned",
    ranking: Ranking = "ridge",
    outlier_space: OutlierSpace = "pca",
    components: int | None = None,
    outlier_ridge: float | None = None,
    chi_square: int = 0,
    solver: Solver = "auto",
    seed: int = 0,
    progress: Progress = no_progress,
) -> Ranker:
    """Find the votes that contradict all others, and rank the items by the rest.

    Algorithm 1 of the paper: the regularisation path over the outlier variables in a reduced
    feature space, the first share of the edges pruned, the ranking function fitted on what is
    kept in the original space.

    Parameters
    ----------
    votes
        `winner, loser` or `item_a, item_b, outcome`, optionally weight, annotator, vote_id...
        Every row is accounted for in `Ranker.verdicts`.
    features
        Numeric columns by item (index or column `item`), or one list column `embedding`. None
        ranks the compared items alone (Huber-LASSO-FL).
    progress
        Called as progress(what, share) while working.

    The other parameters are those of `FitSettings`.

    Raises
    ------
    VoteError, FeatureError
        When the input cannot be used or the answer would be meaningless.
    ConvergenceError
        When a solver misses its tolerance.
    """
    settings = FitSettings(
        prune=prune,
        ridge=ridge,
        ranking=ranking,
        outlier_space=outlier_space,
        components=components,
        outlier_ridge=outlier_ridge,
        chi_square=chi_square,
        solver=solver,
        seed=seed,
    )
    settings.check()
    # One thread: the same bytes on every machine, and no fight between small matrix products.
    with threadpool_limits(limits=1):
        return _fit(votes, features, settings, progress)


def _fit(
    votes: pd.DataFrame, features: pd.DataFrame | None, settings: FitSettings, progress: Progress
) -> Ranker:
    progress("reading votes", 0.0)
    table = None if features is None else feature_table(features)
    if table is None and settings.ranking == "svm":
        raise FeatureError("RankSVM needs item features; without them use ranking='ridge'.")
    read = vote_table(votes, known_items=None if table is None else table.items)
    _check_any_features(read, table)
    graph = graph_of(read)
    rng = np.random.default_rng(settings.seed)
    ranking_map, outlier_map, values = _spaces(graph, table, settings, rng)
    search = graph if outlier_map is None else graph.with_features(outlier_map.map(values))
    fitted = graph if ranking_map is None else graph.with_features(ranking_map.map(values))
    progress("looking at the votes", 0.0)
    checked = preflight(
        search,
        votes=read,
        ranked=fitted,
        columns=None if ranking_map is None else column_problems(values, ranking_map.columns),
        ignored=() if table is None else table.ignored,
    )
    checked.refuse()

    prune = settings.prune if checked.dimension > 0 else 0.0
    path, rate = path_and_rate(
        search,
        prune,
        dimension=checked.dimension,
        ridge=settings.outlier_ridge or (ITEM_RIDGE if outlier_map is None else PAPER_RIDGE),
        solver=settings.solver,
        progress=progress,
    )
    pruned = path.pruned(rate)
    progress("fitting the ranking function", 0.0)
    kept = fitted.keep(~pruned)
    ridge, remarks = _ridge(kept, settings, rng)
    coefficients = ranking_coefficients(kept, ranking=settings.ranking, ridge=ridge)
    remarks += _after_pruning(graph, kept, checked.n_components)
    if table is None or ranking_map is None:
        items, scores = graph.items, coefficients
    else:
        items = table.items
        scores = ranking_map.map(ranking_map.select(table)) @ coefficients
    evidence = Evidence(read, graph, path, pruned, scores[positions(items, graph.items)])
    checked = replace(checked, findings=(*checked.findings, *remarks))
    progress("done", 1.0)
    return Ranker(
        settings=settings,
        feature_map=ranking_map,
        outlier_map=outlier_map,
        coefficients=coefficients,
        outlier_coefficients=path.coefficients,
        scores=item_table(graph, pruned, items, scores),
        facts=Facts.of(evidence, checked, rate=rate, ridge=ridge),
        evidence=evidence,
    )


def _spaces(
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


def _ridge(
    kept: ComparisonGraph, settings: FitSettings, rng: np.random.Generator
) -> tuple[float, list[Finding]]:
    if settings.ridge != "tuned":
        return settings.ridge, []
    if kept.features is None:
        return ITEM_RIDGE, []
    try:
        return tuned_ridge(kept, rng=rng, ranking=settings.ranking), []
    except VoteError:
        return PAPER_RIDGE, [
            Finding(
                "warning",
                f"Too few votes to tune the ridge on items left out; {PAPER_RIDGE} was used.",
            )
        ]


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; choose one of {', '.join(allowed)}.")


def _check_any_features(read: VoteTable, table: FeatureTable | None) -> None:
    """Say why no voted item has features, which is nearly always a matter of id types."""
    if table is None or read.counts["used"] + read.counts["ties"] > 0:
        return
    lacking = read.reasons.get("item has no features", 0)
    if lacking < read.counts["read"] / 2:
        return
    voted, known = _examples(pd.concat([*read.names()])), _examples(pd.Series(table.items))
    types = " Ids must be of one type, text or whole numbers." if voted[1] != known[1] else ""
    raise VoteError(
        f"no vote is left: {plural(lacking, 'vote is', 'votes are')} about items without features. "
        f"Votes name items like {voted[0]} ({voted[1]}), features like {known[0]} ({known[1]})."
        f"{types}"
    )


def _examples(ids: pd.Series[Any]) -> tuple[str, str]:
    """A few ids and what kind they are."""
    some = ids.dropna().unique()[:3].tolist()
    kinds = sorted({"text" if isinstance(value, str) else "number" for value in some})
    return shown_some(some), " and ".join(kinds)


def _after_pruning(
    graph: ComparisonGraph, kept: ComparisonGraph, n_components: int
) -> list[Finding]:
    """Report what pruning cost the graph."""
    if not kept.target.any():
        raise VoteError("pruning left no decided vote; prune less.")
    left = np.zeros(graph.n_items, np.bool_)
    left[kept.winner] = left[kept.loser] = True
    lost = np.flatnonzero(~left)
    alone = kept.features is None
    groups = np.unique(kept.components()[left]).size if alone else 0
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
