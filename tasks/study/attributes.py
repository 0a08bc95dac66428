"""Relative attributes: how well images are classified by attributes that were learnt from votes.

Multi-class: every class has training images. Zero-shot: a class is held out, the votes on its
images too, and its model is placed by the order of the classes; each class in turn. Ridges are
tuned once per attribute and method on all votes, and kept for the fits without a class.
urlr's default is left out of zero-shot: its 88 fits would take four times as long as all else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from tasks.study import attribute_data
from tasks.study.attribute_data import AttributeSet, AttributeVotes, Likeness
from tasks.study.classes import class_models
from tasks.study.examples import EACH, pruned_examples
from tasks.study.learner import DEFAULT, FEATURELESS, MAJORITY_SVM, RAW, URLR, Learner
from tasks.study.records import (
    STAND_IN,
    Chart,
    Example,
    Experiment,
    Outcome,
    Row,
    Unit,
    chosen,
    curves,
)
from urlr.arrays import Floats, Ints
from urlr.baselines import majority
from urlr.metrics import outlier_auc
from urlr.paper.method import PAPER_RIDGE
from urlr.paper.path import outlier_path

COMPONENTS, TRIALS, RANDOM_VOTES = 100, 10, 150
ORIG, SYNTH, COST = "orig", "orig+synth", "running cost"
RATES = {ORIG: 0.07, SYNTH: 0.27}
PAPER = [RAW, MAJORITY_SVM, FEATURELESS, URLR]
METHODS = [*PAPER, DEFAULT]
MULTI, ZERO, UNSEEN = "multi-class accuracy", "zero-shot accuracy", "unseen-class accuracy"
QUICK_ATTRIBUTES, QUICK_CLASSES = 4, 2

COST_IMAGES, COST_VOTES, COST_RATE = 240, 10_722, 0.2
"""The paper's case of one minute."""


def run(unit: Unit, *, likeness: Likeness) -> Outcome:
    """All methods on one trial of one setting, or what pruning costs.

    On one thread, as `urlr.fit` is: matrices of 240 rows wait for each other's threads longer than
    they take (one unit took 6 s of a quiet core, and 76 s of two busy ones).
    """
    with threadpool_limits(limits=1):
        return _run(unit, likeness)


def _run(unit: Unit, likeness: Likeness) -> Outcome:
    evidence = STAND_IN if unit.data is None else "real votes and features"
    data = _data(unit, likeness)
    if unit.setting == COST:
        seconds = _cost_seconds(data, unit.rng("cost"))
        return Outcome(evidence, [Row("seconds", URLR, 0.0, seconds)])
    rate = RATES[unit.setting]
    if unit.quick:
        data = data.first_attributes(QUICK_ATTRIBUTES)
    if unit.setting == SYNTH:
        data = data.with_random_votes(RANDOM_VOTES, unit.rng("synth"))
    fits = [_Fit.of(data.values, votes, rate, unit.trial) for votes in data.votes]
    scores = {method: np.column_stack([fit.scores(method) for fit in fits]) for method in METHODS}
    rows = [Row(MULTI, method, 0.0, _multi_class(data, scores[method])) for method in METHODS]
    rows += _zero_shot(data, fits, n_classes=QUICK_CLASSES if unit.quick else len(data.classes))
    if data.truth is None:
        return Outcome(evidence, rows)
    rows += _against_truth(data, data.truth, fits, scores)
    return Outcome(evidence, rows, _examples(data, data.truth, fits) if unit.trial == 0 else [])


@dataclass(frozen=True)
class _Fit:
    """Votes on one attribute, the rate to prune and the ridges of the ranking functions."""

    learner: Learner
    rate: float
    ridges: Mapping[str, float]

    @staticmethod
    def of(values: Floats, votes: AttributeVotes, rate: float, seed: int) -> _Fit:
        learner = _learner(values, votes, seed)
        of_majority = learner.graph.keep(majority(learner.graph))
        ridges = dict.fromkeys((RAW, FEATURELESS, URLR), learner.ridge)
        return _Fit(learner, rate, ridges | {MAJORITY_SVM: learner.tuned(of_majority, "svm")})

    def without(self, votes: AttributeVotes) -> _Fit:
        """The same with fewer votes and the same ridges."""
        fewer = _learner(self.learner.values, votes, self.learner.seed)
        return _Fit(fewer, self.rate, self.ridges)

    def scores(self, method: str) -> Floats:
        """(n_items,) of all images, compared or not."""
        learner = self.learner
        if method == RAW:
            return learner.fitted(learner.graph, ridge=self.ridges[RAW])
        if method == MAJORITY_SVM:
            kept = learner.graph.keep(majority(learner.graph))
            return learner.fitted(kept, ranking="svm", ridge=self.ridges[MAJORITY_SVM])
        if method == DEFAULT:
            return learner.scores(DEFAULT)
        return learner.after_pruning(method, self.rate, ridge=self.ridges[method])


def _learner(values: Floats, votes: AttributeVotes, seed: int) -> Learner:
    return Learner(
        values, votes.winner, votes.loser, COMPONENTS, seed=seed, annotator=votes.annotator
    )


def _multi_class(data: AttributeSet, scores: Floats) -> float:
    """Share of the test images that are given to their class."""
    known = class_models(scores[data.train], data.label[data.train], range(len(data.classes)))
    return float(np.mean(known.classified(scores[~data.train]) == data.label[~data.train]))


def _zero_shot(data: AttributeSet, fits: list[_Fit], *, n_classes: int) -> list[Row]:
    """Means over the held-out classes: accuracy on all test images, and on those of the class."""
    held_out = np.arange(len(data.classes))[:: len(data.classes) // n_classes][:n_classes]
    overall: dict[str, list[float]] = {method: [] for method in PAPER}
    unseen: dict[str, list[float]] = {method: [] for method in PAPER}
    for held in (int(one) for one in held_out):
        others = data.label != held
        fewer = [
            fit.without(votes.between(others)) for fit, votes in zip(fits, data.votes, strict=True)
        ]
        seen = [one for one in range(len(data.classes)) if one != held]
        for method in PAPER:
            scores = np.column_stack([fit.scores(method) for fit in fewer])
            known = class_models(scores[data.train & others], data.label[data.train & others], seen)
            given = known.with_unseen(held, data.ranks).classified(scores[~data.train])
            right = given == data.label[~data.train]
            overall[method].append(float(np.mean(right)))
            unseen[method].append(float(np.mean(right[~others[~data.train]])))
    return [
        Row(measure, method, 0.0, float(np.mean(found[method])))
        for measure, found in ((ZERO, overall), (UNSEEN, unseen))
        for method in PAPER
    ]


def _against_truth(
    data: AttributeSet, truth: Floats, fits: list[_Fit], scores: Mapping[str, Floats]
) -> list[Row]:
    """What explains the accuracies: finding wrong votes, and order of the test images."""
    found: dict[str, list[float]] = {method: [] for method in (MAJORITY_SVM, FEATURELESS, URLR)}
    for fit, true in zip(fits, truth.T, strict=True):
        learner = fit.learner
        wrong = true[learner.winner] < true[learner.loser]
        outvoted = ~majority(learner.graph)[learner.graph.edge_of_row]
        found[MAJORITY_SVM].append(outlier_auc(outvoted.astype(np.float64), wrong))
        for method in (FEATURELESS, URLR):
            found[method].append(learner.auc(method, wrong))
    rows = [Row("auc", method, 0.0, float(np.mean(each))) for method, each in found.items()]
    test = ~data.train
    for method, predicted in scores.items():
        tau = [
            stats.kendalltau(column, true).statistic
            for column, true in zip(predicted[test].T, truth[test].T, strict=True)
        ]
        rows.append(Row("tau", method, 0.0, float(np.mean(tau))))
    return rows


def _examples(data: AttributeSet, truth: Floats, fits: list[_Fit]) -> list[Example]:
    """Of all attributes, the votes pruned first that were wrong, and those that were right."""
    found = [
        example
        for fit, attribute, true in zip(fits, data.attributes, truth.T, strict=True)
        for example in pruned_examples(fit.learner, true, attribute=attribute, names=data.names)
        if example.place < int(np.count_nonzero(fit.learner.pruned(URLR, fit.rate)))
    ]
    found.sort(key=lambda example: example.place)
    return [
        *[example for example in found if example.confirmed][:EACH],
        *[example for example in found if not example.confirmed][:EACH],
    ]


def _cost_seconds(data: AttributeSet, rng: np.random.Generator) -> float:
    """From votes to scores: both spaces, path and ridge fit; what is compiled is compiled before.

    Votes follow one feature direction through noise; none of that changes the work much.
    """
    images = rng.permutation(np.flatnonzero(data.train))[:COST_IMAGES]
    values = data.values[images]
    liking = stats.zscore(stats.zscore(values) @ rng.standard_normal(values.shape[1]))

    def votes(count: int) -> tuple[Ints, Ints]:
        first = rng.integers(0, len(images), count)
        second = (first + rng.integers(1, len(images), count)) % len(images)
        wins = liking[first] - liking[second] + rng.standard_normal(count) > 0
        return np.where(wins, first, second), np.where(wins, second, first)

    _scores_after_path(values, *votes(COST_VOTES // 10))
    winner, loser = votes(COST_VOTES)
    start = time.perf_counter()
    _scores_after_path(values, winner, loser)
    return time.perf_counter() - start


def _scores_after_path(values: Floats, winner: Ints, loser: Ints) -> Floats:
    learner = Learner(values, winner, loser, COMPONENTS)
    path = outlier_path(learner.search, rate=COST_RATE, ridge=PAPER_RIDGE)
    return learner.fitted(learner.graph.keep(~path.pruned(COST_RATE)), ridge=PAPER_RIDGE)


@lru_cache(maxsize=2)
def _loaded(folder: Path) -> AttributeSet:
    return attribute_data.load(folder)


def _data(unit: Unit, likeness: Likeness) -> AttributeSet:
    if unit.data is not None:
        return _loaded(unit.data)
    return attribute_data.stand_in(likeness, unit.rng("stand-in"))


def _units(quick: bool, *, cost: bool) -> list[tuple[str, int]]:
    trials = 1 if quick else TRIALS
    found = [(setting, trial) for trial in range(trials) for setting in RATES]
    return [*found, (COST, 0)] if cost else found


def _charts(measured: pd.DataFrame, evidence: str, *, name: str, title: str) -> list[Chart]:
    """Bars of accuracy, by task and setting."""
    rows = chosen(measured, measure=[MULTI, ZERO], setting=list(RATES))
    task = rows["measure"].str.removesuffix(" accuracy")
    rows = rows.assign(task=task + ", " + rows["setting"])
    table = curves(rows, along="task")
    bars = [f"{one}, {setting}" for setting in RATES for one in ("multi-class", "zero-shot")]
    places = {label: place for place, label in enumerate(bars)}
    methods = {method: place for place, method in enumerate(METHODS)}
    order = np.lexsort((table["at"].map(places), table["series"].map(methods)))
    return [
        Chart(
            f"{name}-classification",
            f"{title}: images classified by learnt attributes",
            "bars",
            "task and votes",
            "accuracy (chance 0.125)",
            table.iloc[order].reset_index(drop=True),
            evidence,
            caption="Zero-shot: one class is known by its place in the order of the classes alone.",
        )
    ]


def _check(folder: Path) -> None:
    attribute_data.load(folder)


def _experiment(name: str, title: str, about: str, likeness: Likeness, *, cost: bool) -> Experiment:
    units: Callable[[bool], list[tuple[str, int]]] = partial(_units, cost=cost)
    return Experiment(
        name=name,
        title=title,
        about=about,
        units=units,
        run=partial(run, likeness=likeness),
        charts=partial(_charts, name=name, title=title),
        folder=name,
        check=_check,
    )


PUBFIG = _experiment(
    "pubfig",
    "PubFig",
    "772 images of 8 people, 11 attributes, 418 pairs each judged by five workers; with and "
    "without 150 random votes per attribute. Judged by the class of images not trained on, and "
    "by what one class known by its order alone does to that.",
    attribute_data.PUBFIG,
    cost=True,
)
SCENE = _experiment(
    "scene",
    "Scene",
    "2,688 images of 8 kinds of place, 6 attributes, 426 pairs each judged by five workers, who "
    "go by a taste of their own more often than with faces; otherwise as PubFig.",
    attribute_data.SCENE,
    cost=False,
)
