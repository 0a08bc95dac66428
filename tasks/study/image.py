"""Image interestingness: sparse votes on many items, by density and by pruning rate."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from tasks.study import standins
from tasks.study.examples import pruned_examples
from tasks.study.learner import (
    AUTO,
    BRADLEY_TERRY,
    BRADLEY_TERRY_SVM,
    DEFAULT,
    FEATURELESS,
    MAJORITY_SHARE,
    MAJORITY_SVM,
    RAW,
    TO_THE_LETTER,
    URLR,
    Learner,
)
from tasks.study.records import STAND_IN, Chart, Experiment, Outcome, Row, Unit, chosen, curves
from tasks.study.sources import compared, read_features, read_table, truths
from tasks.study.standins import Votes
from urlr.arrays import Floats, Ints
from urlr.metrics import tau_distance

FOLDER = "image"
COMPONENTS, TRAINED, TRIALS, RATE = 150, 1000, 10, 0.2
DENSITIES = (0.1, 0.25, 0.5, 0.75, 1.0)
RATES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)
QUICK_SCALE = 1 / 3
"""A quick study has a third of the items, votes, features and dimensions."""
PAPER = [RAW, MAJORITY_SVM, MAJORITY_SHARE, FEATURELESS, URLR]
METHODS = [*PAPER, BRADLEY_TERRY, BRADLEY_TERRY_SVM, TO_THE_LETTER, AUTO, DEFAULT]
RATES_SETTING, TELLING_SETTING = "pruning rates", "telling features"
CORRELATED = 0.4
"""Features whose Kendall tau with the truth is further from 0 are dropped, as in the paper."""


def units(quick: bool) -> list[tuple[str, int]]:
    """One per density, and one for the pruning rates and the features that tell too much."""
    densities = (0.25, 1.0) if quick else DENSITIES
    settings = [*(f"density {one:g}" for one in densities), RATES_SETTING, TELLING_SETTING]
    return [(setting, trial) for trial in range(2 if quick else TRIALS) for setting in settings]


def run(unit: Unit) -> Outcome:
    """All methods at one density, or one method pair along the pruning rates."""
    data = _data(unit)
    evidence = STAND_IN if unit.data is None else "real votes and features"
    scale = QUICK_SCALE if unit.quick and unit.data is None else 1.0
    rng = unit.rng("split")
    n = len(data.truth)
    seen = rng.permutation(n)[: min(round(scale * TRAINED), n // 2)]
    inside = np.isin(data.winner, seen) & np.isin(data.loser, seen)
    rows_inside = rng.permutation(np.flatnonzero(inside))
    unseen = np.setdiff1d(np.arange(n), seen)
    components = round(scale * COMPONENTS)
    if unit.setting == RATES_SETTING:
        learner = _learner(data, rows_inside, components)
        return Outcome(
            evidence,
            _along_rates(learner, data, unseen),
            pruned_examples(learner, data.truth, attribute="interesting"),
        )
    if unit.setting == TELLING_SETTING:
        return Outcome(evidence, _without_telling(unit, data, rows_inside, unseen, components))
    density = float(unit.setting.split()[1])
    some = rows_inside[: round(density * rows_inside.size)]
    learner = _learner(data, some, components, featureless_depth=RATE)
    rows = [
        Row("distance", name, density, _distance(learner.scores(name, rate=RATE), data, unseen))
        for name in METHODS
    ]
    rows += [Row("pruned share", name, density, learner.criterion_rate(name)) for name in _CRITERIA]
    rows.append(Row("pruned share", AUTO, density, learner.auto_rate))
    wrong = data.truth[learner.winner] < data.truth[learner.loser]
    rows += [Row("auc", name, density, learner.auc(name, wrong)) for name in (URLR, FEATURELESS)]
    rows.append(Row("wrong share", "votes", density, float(np.mean(wrong))))
    return Outcome(evidence, rows)


_CRITERIA = ("bic", "aic")


def charts(measured: pd.DataFrame, evidence: str) -> list[Chart]:
    """Distance by density and by pruning rate, and Bradley-Terry's apart, as the paper has them."""
    density = measured[measured["setting"].str.startswith("density")]
    distance = "Kendall tau distance on unseen images"

    def by_density(name: str, title: str, methods: list[str]) -> Chart:
        table = curves(density, measure="distance", method=methods)
        share = "share of the training votes"
        return Chart(name, title, "lines", share, distance, table, evidence)

    rates = curves(chosen(measured, setting=RATES_SETTING, measure="distance"))
    wrong = curves(chosen(measured, setting=RATES_SETTING, measure="wrong among pruned"))
    return [
        by_density("image-density", "Image interestingness by density", PAPER),
        by_density(
            "image-others",
            "Image interestingness: Bradley-Terry, the letter of the paper, and urlr's default",
            [URLR, BRADLEY_TERRY, BRADLEY_TERRY_SVM, TO_THE_LETTER, AUTO, DEFAULT],
        ),
        Chart(
            "image-rates",
            "Image interestingness by pruning rate, all training votes",
            "lines",
            "share of the edges pruned",
            distance,
            rates,
            evidence,
            marks=((0.55, "the paper's best"),),
        ),
        Chart(
            "image-pruned",
            "How many of the pruned votes were wrong",
            "lines",
            "share of the edges pruned",
            "wrong votes among the pruned",
            wrong,
            evidence,
        ),
    ]


def check(folder: Path) -> None:
    """Raise if the folder lacks something."""
    load(folder)


def load(folder: Path) -> Votes:
    """Tables `items` (item, truth), `features` (item, numeric columns), `votes` (winner, loser)."""
    truth = truths(read_table(folder, "items", ["item", "truth"]), f"{folder}/items")
    votes = read_table(folder, "votes", ["winner", "loser"])
    return Votes(
        read_features(folder, truth.index),
        truth.to_numpy(),
        *compared(truth.index, votes, f"{folder}/votes"),
    )


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> Votes:
    return load(folder)


def _data(unit: Unit) -> Votes:
    if unit.data is not None:
        return _loaded(unit.data)
    scale = QUICK_SCALE if unit.quick else 1.0
    telling = standins.TELLING if unit.setting == TELLING_SETTING else 0
    return standins.images(unit.rng("stand-in"), scale=scale, telling=telling)


def _learner(
    data: Votes, rows: Ints, components: int, *, featureless_depth: float = 0.6
) -> Learner:
    return Learner(
        data.features,
        data.winner[rows],
        data.loser[rows],
        components,
        featureless_depth=featureless_depth,
    )


def _distance(scores: Floats, data: Votes, items: Ints) -> float:
    index = pd.Index(items, name="item")
    return tau_distance(pd.Series(scores[items], index), pd.Series(data.truth[items], index))


def _along_rates(learner: Learner, data: Votes, unseen: Ints) -> list[Row]:
    wrong = data.truth[learner.winner] < data.truth[learner.loser]
    rows = []
    for method in (URLR, FEATURELESS):
        for rate in RATES:
            scores = learner.after_pruning(method, rate)
            rows.append(Row("distance", method, rate, _distance(scores, data, unseen)))
            pruned = learner.pruned(method, rate)[learner.graph.edge_of_row]
            if pruned.any():
                share = float(np.mean(wrong[pruned]))
                rows.append(Row("wrong among pruned", method, rate, share))
    return rows


def _without_telling(
    unit: Unit, data: Votes, rows_inside: Ints, unseen: Ints, components: int
) -> list[Row]:
    """Distances with all features, and without those that tell nearly the truth."""
    tau = np.array([stats.kendalltau(column, data.truth).statistic for column in data.features.T])
    dropped = np.abs(np.nan_to_num(tau)) > CORRELATED
    rows = [Row("dropped features", "all", 0.0, float(dropped.sum()))]
    for name, kept in (("all features", ~np.zeros_like(dropped)), ("fewer features", ~dropped)):
        some = replace(data, features=data.features[:, kept])
        learner = _learner(some, rows_inside, components, featureless_depth=RATE)
        for method in (RAW, URLR, FEATURELESS):
            distance = _distance(learner.scores(method, rate=RATE), some, unseen)
            rows.append(Row(f"distance, {name}", method, 0.0, distance))
    return rows


IMAGE = Experiment(
    name="image",
    title="Image interestingness",
    about="2,222 images, 1,000 of them to learn from, 16,000 votes of which those between two "
    "training images are used; judged by the order of the others. Ten random splits.",
    units=units,
    run=run,
    charts=charts,
    folder=FOLDER,
    check=check,
)
