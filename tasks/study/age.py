"""Human age from faces: the truth is known, so errors are made to measure and pruning is judged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from tasks.messages import message
from tasks.study import standins
from tasks.study.baselines import kernel_ridge_scores
from tasks.study.examples import pruned_examples
from tasks.study.learner import (
    BRADLEY_TERRY,
    DEFAULT,
    FEATURELESS,
    MAJORITY_SVM,
    RAW,
    TO_THE_LETTER,
    URLR,
    Learner,
)
from tasks.study.records import STAND_IN, Chart, Experiment, Outcome, Row, Unit, chosen, curves
from tasks.study.sources import check_named_once, finite, read_features, read_table, refuse
from tasks.study.standins import Faces
from urlr.arrays import Floats, Ints, Mask
from urlr.metrics import tau_b
from urlr.simulate import age_votes
from urlr.space.projections import PCA

FOLDER = "fgnet_age"
REAL = "FG-NET ages and features, simulated votes"
DIMENSIONS, TRAINED, TRIALS = 55, 300, 10
HONEST, SPOILED, RATE = 0.1, 0.25, 0.25
RATES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
ERRORS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
QUICK_RATES, QUICK_ERRORS = (0.0, 0.1, 0.25, 0.5), (0.1, 0.25, 0.35)
TRUTH, TRUTH_STRAIGHT = "GT (kernel ridge)", "GT (ridge)"
UNINTENTIONAL, INTENTIONAL = "unint., 600 votes", "unint.+int., 600 votes"
DENSER, FIVE = "unint.+int., 2,000 votes", "five votes a pair"
RATIOS, ORDER, FEWER_FEATURES = "error ratio", "order", "fewer features"


def units(quick: bool) -> list[tuple[str, int]]:
    """One per setting and split of the people."""
    settings = [UNINTENTIONAL, INTENTIONAL, DENSER, FIVE, RATIOS, ORDER, FEWER_FEATURES]
    return [(setting, trial) for trial in range(2 if quick else TRIALS) for setting in settings]


def run(unit: Unit) -> Outcome:
    """One setting on one split of the people."""
    split = _split(unit)
    evidence = STAND_IN if unit.data is None else REAL
    if unit.setting == UNINTENTIONAL:
        return Outcome(evidence, _along_rates(split, unit, 600, HONEST))
    if unit.setting == INTENTIONAL:
        return Outcome(evidence, _along_rates(split, unit, 600, SPOILED))
    if unit.setting == DENSER:
        return Outcome(evidence, _along_rates(split, unit, 2000, SPOILED))
    if unit.setting == FIVE:
        return Outcome(evidence, _along_rates(split, unit, 3000, SPOILED, votes_per_pair=5))
    if unit.setting == RATIOS:
        return Outcome(evidence, _along_errors(split, unit))
    if unit.setting == FEWER_FEATURES:
        return Outcome(evidence, _with_fewer_features(split, unit))
    return _order(split, unit, evidence)


@dataclass(frozen=True, slots=True)
class _Split:
    """300 pictures of 41 people to learn from, all pictures of the others to be judged by."""

    faces: Faces
    seen: Ints
    unseen: Ints

    def tau(self, scores: Floats) -> float:
        index = pd.Index(self.unseen, name="item")
        return tau_b(
            pd.Series(scores[self.unseen], index), pd.Series(self.faces.age[self.unseen], index)
        )


def _split(unit: Unit) -> _Split:
    faces = _faces(unit)
    rng = unit.rng("split")
    people = np.unique(faces.person)
    trained = np.isin(faces.person, rng.permutation(people)[: len(people) // 2])
    seen = rng.permutation(np.flatnonzero(trained))[:TRAINED]
    return _Split(faces, np.sort(seen), np.flatnonzero(~trained))


@dataclass(frozen=True, slots=True)
class _Drawn:
    learner: Learner
    wrong: Mask
    difference: Floats
    """(n_votes,) years between the two."""


def _drawn(
    split: _Split, unit: Unit, n_votes: int, errors: float, votes_per_pair: int = 1
) -> _Drawn:
    votes = age_votes(
        split.faces.age[split.seen],
        n_votes=n_votes,
        error_ratio=errors,
        unintentional_ratio=HONEST,
        votes_per_pair=votes_per_pair,
        rng=unit.rng(f"votes/{n_votes}/{errors}"),
    )
    learner = Learner(
        split.faces.features,
        split.seen[votes["winner"].to_numpy()],
        split.seen[votes["loser"].to_numpy()],
        components=None,
    )
    return _Drawn(learner, votes["wrong"].to_numpy(), votes["difference"].to_numpy())


def _along_rates(
    split: _Split, unit: Unit, n_votes: int, errors: float, *, votes_per_pair: int = 1
) -> list[Row]:
    drawn = _drawn(split, unit, n_votes, errors, votes_per_pair)
    learner = drawn.learner
    rows = [Row("wrong share", "votes", 0.0, float(np.mean(drawn.wrong)))]
    rates = QUICK_RATES if unit.quick else RATES
    for method in (URLR, FEATURELESS):
        rows.append(Row("auc", method, 0.0, learner.auc(method, drawn.wrong)))
        for rate in rates:
            rows.append(Row("tau", method, rate, split.tau(learner.after_pruning(method, rate))))
    level = {RAW: learner.scores(RAW), DEFAULT: learner.scores(DEFAULT)}
    level[BRADLEY_TERRY] = learner.scores(BRADLEY_TERRY)
    level[TO_THE_LETTER] = learner.scores(TO_THE_LETTER, rate=RATE)
    if votes_per_pair > 1:
        level[MAJORITY_SVM] = learner.scores(MAJORITY_SVM)
    true = _true_order(learner, drawn.wrong)
    level[TRUTH_STRAIGHT] = true.scores(RAW)
    level[TRUTH] = kernel_ridge_scores(
        (learner.values - learner.values[learner.compared].mean(axis=0))
        / learner.values[learner.compared].std(axis=0),
        true.graph,
        true.compared,
        rng=np.random.default_rng(0),
    )
    rows += [Row("tau", name, rate, split.tau(s)) for name, s in level.items() for rate in rates]
    edges = learner.search.n_edges
    rows.append(Row("outlier dimension", URLR, 0.0, edges - learner.search.n_features))
    rows.append(Row("outlier dimension", FEATURELESS, 0.0, edges - learner.graph.n_items + 1))
    return rows


def _true_order(learner: Learner, wrong: Mask) -> Learner:
    """The same pairs without error."""
    winner = np.where(wrong, learner.loser, learner.winner)
    loser = np.where(wrong, learner.winner, learner.loser)
    return Learner(learner.values, winner, loser, components=None)


def _along_errors(split: _Split, unit: Unit) -> list[Row]:
    rows = []
    for errors in QUICK_ERRORS if unit.quick else ERRORS:
        drawn = _drawn(split, unit, 2000, errors)
        for method in (URLR, FEATURELESS):
            rows.append(Row("auc", method, errors, drawn.learner.auc(method, drawn.wrong)))
        for method in (RAW, URLR, FEATURELESS, MAJORITY_SVM, BRADLEY_TERRY, DEFAULT):
            tau = split.tau(drawn.learner.scores(method, rate=RATE))
            rows.append(Row("tau", method, errors, tau))
    return rows


def _with_fewer_features(split: _Split, unit: Unit) -> list[Row]:
    """The features most correlated with age dropped: the check the paper made on images."""
    faces = split.faces
    tau = np.array([stats.kendalltau(c, faces.age).statistic for c in faces.features.T])
    strongest = np.abs(tau) >= np.sort(np.abs(tau))[-3]
    above = np.abs(tau) > 0.4
    dropped = above if above.any() else strongest
    rows = [
        Row("dropped features", "all", 0.0, float(dropped.sum())),
        Row("largest |tau|", "all", 0.0, float(np.abs(tau).max())),
    ]
    drawn = _drawn(split, unit, 2000, SPOILED)
    for name, kept in (("all features", ~np.zeros_like(dropped)), ("fewer features", ~dropped)):
        learner = Learner(
            faces.features[:, kept], drawn.learner.winner, drawn.learner.loser, components=None
        )
        for method in (RAW, URLR, FEATURELESS):
            rows.append(
                Row(f"tau, {name}", method, 0.0, split.tau(learner.scores(method, rate=RATE)))
            )
    return rows


def _order(split: _Split, unit: Unit, evidence: str) -> Outcome:
    """By how many years pruned votes were wrong, along the order of pruning."""
    drawn = _drawn(split, unit, 2000, SPOILED)
    learner = drawn.learner
    graph = learner.graph
    ages = split.faces.age[learner.compared]
    years = ages[graph.loser] - ages[graph.winner]  # above 0: the vote was wrong by so many
    order = learner.order_of(URLR)
    wrong_first = order[years[order] > 0]
    share = np.arange(order.size) / order.size
    rows = [
        Row(
            "order against years",
            URLR,
            0.0,
            float(stats.spearmanr(np.arange(wrong_first.size), years[wrong_first]).statistic),
        )
    ]
    for tenth in range(10):
        inside = order[(share >= tenth / 10) & (share < (tenth + 1) / 10)]
        wrong = years[inside] > 0
        rows.append(Row("wrong share", URLR, (tenth + 0.5) / 10, float(np.mean(wrong))))
        if wrong.any():
            value = float(np.mean(years[inside][wrong]))
            rows.append(Row("years wrong", URLR, (tenth + 0.5) / 10, value))
    if unit.trial == 0:
        for place, edge in enumerate(order):
            if years[edge] > 0:
                rows.append(Row("point", "wrong votes", place / order.size, float(years[edge])))
    names = [f"{age:.0f} years" for age in split.faces.age]
    return Outcome(
        evidence, rows, pruned_examples(learner, split.faces.age, attribute="older", names=names)
    )


def charts(measured: pd.DataFrame, evidence: str) -> list[Chart]:
    """The paper's figures on ages."""
    tau = "Kendall tau with age, unseen people"
    share = "share of the edges pruned"
    made = []
    for name, setting, what in (
        ("age-unintentional", UNINTENTIONAL, "10 % errors, 600 votes"),
        ("age-intentional", INTENTIONAL, "25 % errors, 600 votes"),
        ("age-denser", DENSER, "25 % errors, 2,000 votes"),
        ("age-majority", FIVE, "25 % errors, five votes a pair"),
    ):
        table = curves(chosen(measured, setting=setting, measure="tau"))
        marks = ((0.1 if setting == UNINTENTIONAL else 0.25, "errors"),)
        title = f"Age by pruning rate: {what}"
        made.append(Chart(name, title, "lines", share, tau, table, evidence, marks))
    ratio = chosen(measured, setting=RATIOS)
    made.append(
        Chart(
            "age-errors-auc",
            "Finding wrong votes by error ratio, 2,000 votes",
            "lines",
            "share of wrong votes",
            "area under ROC",
            curves(ratio, measure="auc"),
            evidence,
        )
    )
    made.append(
        Chart(
            "age-errors-tau",
            "Rank prediction by error ratio, 2,000 votes, a quarter pruned",
            "lines",
            "share of wrong votes",
            tau,
            curves(ratio, measure="tau"),
            evidence,
            marks=((0.35, "the paper's 35 %"),),
        )
    )
    points = curves(chosen(measured, setting=ORDER, measure="point"))
    made.append(
        Chart(
            "age-order",
            "Wrong votes in the order they are pruned",
            "points",
            "place in the order of pruning, share of all edges",
            "years between the two",
            points,
            evidence,
            caption="One trial; every point is a wrong vote.",
        )
    )
    years = curves(chosen(measured, setting=ORDER, measure="years wrong"))
    made.append(
        Chart(
            "age-years",
            "By how many years wrong votes are wrong, along the order of pruning",
            "lines",
            "place in the order of pruning, share of all edges",
            "mean years between the two",
            years,
            evidence,
        )
    )
    return made


def check(folder: Path) -> None:
    """Raise if the folder lacks something."""
    load(folder)


def load(folder: Path) -> Faces:
    """Tables `items` (item_id, person, age) and `features` (item_id, numeric columns).

    More than 55 features are reduced to 55 by PCA, without a look at the ages.
    """
    items = read_table(folder, "items", ["item_id", "person", "age"]).set_index("item_id")
    check_named_once(items.index, f"{folder}/items")
    age = finite(items["age"], message("an_age"), f"{folder}/items")
    values = read_features(folder, items.index, by="item_id")
    if values.shape[1] > DIMENSIONS:
        values = PCA.fit(values, DIMENSIONS).apply(values)
    person = pd.factorize(items["person"])[0]
    if (count := len(np.unique(person))) < 4:
        refuse(message("too_few_people", where=f"{folder}/items", count=count))
    return Faces(values, np.asarray(person, np.int64), age)


@lru_cache(maxsize=1)
def _loaded(folder: Path) -> Faces:
    return load(folder)


def _faces(unit: Unit) -> Faces:
    return standins.faces(unit.rng("stand-in")) if unit.data is None else _loaded(unit.data)


AGE = Experiment(
    name="age",
    title="Human age from faces",
    about="Pictures of 41 people to learn from and of 41 others to be judged by; votes on who is "
    "older, with honest mistakes (about 10 %, falling with the square of the age difference) and "
    "with random votes besides (25 % wrong in all). GT learns from the same pairs without error.",
    units=units,
    run=run,
    charts=charts,
    folder=FOLDER,
    check=check,
)
