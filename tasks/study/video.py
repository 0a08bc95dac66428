"""Video interestingness: few items, complete annotators, one task per category; RankSVM ranks."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.messages import message
from tasks.study import standins
from tasks.study.examples import pruned_examples
from tasks.study.learner import (
    BRADLEY_TERRY,
    BRADLEY_TERRY_SVM,
    DEFAULT,
    FEATURELESS,
    MAJORITY_SHARE,
    MAJORITY_SVM,
    RAW,
    URLR,
    Learner,
)
from tasks.study.records import STAND_IN, Chart, Experiment, Outcome, Row, Unit, chosen, curves
from tasks.study.sources import compared, read_features, read_table, refuse, truths
from tasks.study.standins import CATEGORIES, Votes
from urlr.arrays import Ints
from urlr.metrics import tau_distance

FOLDER = "video"
COMPONENTS, TRAINED, ROUNDS, RATE = 60, 20, 10, 0.2
FEWER = 8
"""Dimensions that leave outliers more room than 20 items do; the paper's 60 do not."""
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
FEWER_DIMENSIONS = f"URLR, {FEWER} dimensions"
PAPER = [RAW, MAJORITY_SVM, MAJORITY_SHARE, FEATURELESS, URLR]
METHODS = [*PAPER, FEWER_DIMENSIONS, BRADLEY_TERRY, BRADLEY_TERRY_SVM]


def units(quick: bool) -> list[tuple[str, int]]:
    """One per category and round."""
    categories = CATEGORIES[:3] if quick else CATEGORIES
    return [(name, trial) for trial in range(2 if quick else ROUNDS) for name in categories]


def run(unit: Unit) -> Outcome:
    """All methods on one category, at every share of the votes."""
    data = _data(unit)
    evidence = STAND_IN if unit.data is None else "real votes and features"
    rng = unit.rng(f"split/{unit.setting}")
    n = len(data.truth)
    seen = rng.permutation(n)[:TRAINED]
    unseen = pd.Index(np.setdiff1d(np.arange(n), seen), name="item")
    inside = rng.permutation(np.flatnonzero(np.isin(data.winner, seen) & np.isin(data.loser, seen)))
    truth = pd.Series(data.truth[unseen], unseen)
    rows: list[Row] = []
    learner = None
    for share in (0.05, 0.25, 1.0) if unit.quick else SHARES:
        some = inside[: max(10, round(share * inside.size))]
        learner = _learner(data, some, COMPONENTS)
        for name in [*METHODS, DEFAULT] if share in (0.1, 1.0) else METHODS:
            if name == FEWER_DIMENSIONS:
                scores = _learner(data, some, FEWER).scores(URLR, rate=RATE)
            else:
                scores = learner.scores(name, rate=RATE)
            distance = tau_distance(pd.Series(scores[unseen], unseen), truth)
            rows.append(Row("distance", name, share, distance))
        for criterion in ("bic", "aic"):
            rows.append(Row("pruned share", criterion, share, learner.criterion_rate(criterion)))
        same = learner.pruned(URLR, RATE) == learner.pruned(FEATURELESS, RATE)
        rows.append(Row("same verdicts", URLR, share, float(np.mean(same))))
        wrong = data.truth[learner.winner] < data.truth[learner.loser]
        if wrong.any() and not wrong.all():
            for name in (URLR, FEATURELESS):
                rows.append(Row("auc", name, share, learner.auc(name, wrong)))
    examples = []
    if learner is not None and unit.trial == 0:
        examples = pruned_examples(learner, data.truth, attribute=unit.setting)
    return Outcome(evidence, rows, examples)


def _learner(data: Votes, rows: Ints, components: int) -> Learner:
    return Learner(
        data.features,
        data.winner[rows],
        data.loser[rows],
        components,
        ranking="svm",
        chi_square=2,
        annotator=None if data.annotator is None else data.annotator[rows],
    )


def charts(measured: pd.DataFrame, evidence: str) -> list[Chart]:
    """Distance by sparsity over all categories, and per category with all votes."""
    distance = "Kendall tau distance on unseen videos"
    complete = chosen(measured, measure="distance", at=1.0, method=PAPER)
    return [
        Chart(
            "video-density",
            "Video interestingness by sparsity, mean of the categories",
            "lines",
            "share of the votes of the training videos",
            distance,
            curves(measured, measure="distance", method=METHODS),
            evidence,
        ),
        Chart(
            "video-categories",
            "Video interestingness per category, all votes",
            "bars",
            "category",
            distance,
            curves(complete, along="setting"),
            evidence,
        ),
    ]


def check(folder: Path) -> None:
    """Raise if the folder lacks something."""
    for category in CATEGORIES:
        load(folder, category)


def load(folder: Path, category: str) -> Votes:
    """Tables `items` (item, category, truth), `features` (item, words), `votes` (winner, loser)."""
    items = read_table(folder, "items", ["item", "category", "truth"])
    mine = truths(items[items["category"] == category], f"{folder}/items, {category}")
    if len(mine) <= TRAINED:
        refuse(
            message(
                "too_few_items_of_category",
                where=f"{folder}/items",
                count=len(mine),
                category=category,
                needed=TRAINED,
                categories=", ".join(CATEGORIES),
            )
        )
    votes = read_table(folder, "votes", ["winner", "loser"])
    votes = votes[votes["winner"].isin(mine.index) & votes["loser"].isin(mine.index)]
    features = read_features(folder, mine.index)
    if (features < 0).any():
        refuse(message("negative_words", where=f"{folder}/features"))
    who = votes["annotator"].to_numpy() if "annotator" in votes else None
    return Votes(
        features,
        mine.to_numpy(),
        *compared(mine.index, votes, f"{folder}/votes"),
        who,
    )


@lru_cache(maxsize=32)
def _loaded(folder: Path, category: str) -> Votes:
    return load(folder, category)


def _data(unit: Unit) -> Votes:
    if unit.data is not None:
        return _loaded(unit.data, unit.setting)
    return standins.videos(unit.rng(f"stand-in/{unit.setting}"))


VIDEO = Experiment(
    name="video",
    title="Video interestingness",
    about="14 categories of 30 advertisements, 20 to learn from and 10 to be judged by; 10 to 15 "
    "people compared all pairs. Words of sight and sound through the additive chi-square map, "
    "RankSVM as ranking function. Ten rounds, one task per category.",
    units=units,
    run=run,
    charts=charts,
    folder=FOLDER,
    check=check,
)
