"""Fit to the train votes alone, and be judged by the votes that were held out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

import urlr
from tasks.evaluate import Judged, VoteTau, baselines_of, judged, tau_with_votes
from tasks.split import Split
from urlr import FeatureError, FitSettings, Ranker, VoteError


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge, and how well it foretells votes that it has not seen."""

    judge: Ranker | None
    """None where the train votes cannot be ranked."""
    methods: tuple[Judged, ...]
    """Ours first, then what it is held against."""
    tau: VoteTau | None
    """With all votes it has not seen."""
    unjudged: str
    """Why there is no judge; empty if there is one."""


def judged_by(
    split: Split, features: pd.DataFrame | None, settings: FitSettings, *, level: float
) -> Judgement:
    """Fit the judge and its rivals from the books on the train votes; judge them by the others."""
    chosen = asdict(settings)
    if settings.method == "robust":
        chosen["replicates"] = 0  # nobody asks a judge for intervals
    try:
        judge = urlr.fit(split.train, features, **chosen)
    except (VoteError, FeatureError) as error:
        return Judgement(None, (), None, error.sentence)
    ours = judgement_of(judge, split, features, level=level)
    others = baselines_of(split, features, seed=settings.seed)
    return replace(ours, methods=(*ours.methods, *others))


def judgement_of(
    judge: Ranker, split: Split, features: pd.DataFrame | None, *, level: float
) -> Judgement:
    """Judge a fit to the train votes by the others, held against nothing else."""
    scores, seed = scores_of(judge, features), judge.settings.seed
    knows, rng = features is not None, np.random.default_rng(seed)
    ours = judged("urlr", scores, split, knows_features=knows, rng=rng)
    rng = np.random.default_rng(seed)
    tau = tau_with_votes(scores, unseen_votes(split), level=level, rng=rng)
    return Judgement(judge, (ours,), tau, "")


def unseen_votes(split: Split) -> pd.DataFrame:
    """All votes that a judge has not seen, on held-out pairs and on held-out items."""
    return pd.concat([split.held_out, split.unseen])


def scores_of(ranker: Ranker, features: pd.DataFrame | None) -> pd.Series[Any]:
    """Scores of all items with features, or of those it ranked."""
    if features is None or ranker.feature_map is None:
        return own_scores(ranker)
    return ranker.score(features)


def own_scores(ranker: Ranker) -> pd.Series[Any]:
    """Scores of the items it ranked."""
    return ranker.scores.set_index("item")["score"]
