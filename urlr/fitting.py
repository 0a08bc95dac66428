"""From votes and features to a ranker: read, then the default method or the paper's."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd
from threadpoolctl import threadpool_limits

from urlr.arrays import Progress, no_progress
from urlr.default import default_ranker
from urlr.errors import VoteError
from urlr.messages import message
from urlr.paper.method import paper_ranker
from urlr.paper.path import Solver
from urlr.paper.ranking import Ranking
from urlr.ranker import Ranker
from urlr.settings import Coordination, FitSettings, Method, OutlierSpace, Parts, Prune
from urlr.space.table import FeatureTable, feature_table, item_column
from urlr.spelling import with_known_names
from urlr.votes.table import COLUMNS, VoteTable, vote_table, voted_ids, with_clean_ids


def fit(
    votes: pd.DataFrame,
    features: pd.DataFrame | None = None,
    *,
    method: Method = "robust",
    prune: Prune = "auto",
    ridge: float | Literal["tuned"] = "tuned",
    limit: float = 0.4,
    curved: bool = True,
    item_effects: bool = True,
    annotator_rates: bool = True,
    turn_reversed: bool = True,
    tastes: bool = True,
    coordination: Coordination = "drop",
    parts: Parts = "auto",
    ties: bool = True,
    left_right: bool = True,
    replicates: int | None = None,
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

    The default is explained in docs/default.md; method="paper" is Algorithm 1 of the paper: the
    regularisation path over the outlier variables in a reduced feature space, the first share of
    the edges pruned, the ranking function fitted on what is kept in the original space.

    Parameters
    ----------
    votes
        `winner, loser` or `item_a, item_b, outcome`, optionally weight, annotator, vote_id, left
        (which was shown on the left: a or b, or the item) and seconds (how long the vote took).
        Every row is accounted for in `Ranker.verdicts`.
    features
        Numeric columns by item (index or column `item`), or one list column `embedding`. None
        ranks the compared items alone.
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
        method=method,
        prune=prune,
        ridge=ridge,
        limit=limit,
        curved=curved,
        item_effects=item_effects,
        annotator_rates=annotator_rates,
        turn_reversed=turn_reversed,
        tastes=tastes,
        coordination=coordination,
        parts=parts,
        ties=ties,
        left_right=left_right,
        replicates=replicates,
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
        progress("reading votes", 0.0)
        table, known = None, None
        if features is not None:
            votes = _in_one_spelling(votes, features)
            table = feature_table(features, known=voted_ids(votes))
            known = table.items
        read = vote_table(votes, known_items=known, ties=settings.ties)
        _check_any_features(read, table)
        make = default_ranker if method == "robust" else paper_ranker
        ranker = make(read, table, settings, progress)
        progress("done", 1.0)
        return ranker


def _in_one_spelling(votes: Any, features: Any) -> Any:
    """The votes with their ids read as those of the features will be."""
    for table in (votes, features):
        if not isinstance(table, pd.DataFrame) or not table.columns.is_unique:
            return votes  # refused soon
    return with_clean_ids(with_known_names(votes, COLUMNS), beside=[item_column(features)])


def _check_any_features(read: VoteTable, table: FeatureTable | None) -> None:
    """Say why no voted item has features, which is nearly always a matter of id types."""
    counts = read.counts
    if table is None or counts["read"] == 0 or counts["used"] + counts["ties"] > 0:
        return
    lacking = read.reasons.get(message("item_without_features"), 0)
    if lacking < counts["read"] / 2:
        return
    voted, known = _examples(pd.concat([*read.names()])), _examples(pd.Series(table.items))
    names = message(
        "unlike_names",
        voted=voted[0],
        voted_kinds=voted[1],
        known=known[0],
        known_kinds=known[1],
    )
    if voted[1] != known[1]:
        raise VoteError(message("no_features_by_type", count=lacking, names=names))
    raise VoteError(message("no_features", count=lacking, names=names))


def _examples(ids: pd.Series[Any]) -> tuple[list[Any], str]:
    """A few ids and what kind they are."""
    some = ids.dropna().unique()[:3].tolist()
    kinds = sorted({"text" if isinstance(value, str) else "number" for value in some})
    return some, " and ".join(kinds)
