"""Two sets of real votes: which picture looks better, and which argument convinces more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.messages import message
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
from tasks.study.records import (
    Chart,
    Experiment,
    Outcome,
    Row,
    Unit,
    chosen,
    curves,
    mean_of,
    paired,
)
from tasks.study.sources import (
    check_apart,
    check_named_once,
    check_values,
    compared,
    places,
    read_features,
    read_table,
    refuse,
)
from urlr.arrays import Floats, Ints, Mask
from urlr.errors import UrlrError
from urlr.metrics import held_out_agreement, tau_b

QUALITY_FOLDER, ARGUMENTS_FOLDER = "pc_iqa", "ukpconvarg_crowd"
RANK_SVM, NEVER = "RankSVM on all votes", "urlr's default, never pruned"
METHODS = [
    RAW, RANK_SVM, MAJORITY_SVM, MAJORITY_SHARE, FEATURELESS, URLR, AUTO, BRADLEY_TERRY,
    BRADLEY_TERRY_SVM, TO_THE_LETTER, NEVER, DEFAULT,
]  # fmt: skip
RATE, TRIALS, UNSEEN, HELD_OUT = 0.2, 10, 0.3, 0.2
DENSITIES = (1.0, 3.0, 10.0, 100.0)
TOPICS = 32
AGREEMENT, TAU = "held-out agreement", "held-out tau"
UNSEEN_AGREEMENT, UNSEEN_TAU = "unseen agreement", "unseen tau"
GOLD, PUBLISHED = "agreement with gold pairs", "tau with the published ranking"


@dataclass(frozen=True, slots=True)
class VoteSet:
    """Items with features and real votes on them; `truth` is what others made of the same votes."""

    features: Floats
    winner: Ints
    loser: Ints
    annotator: Any
    group: Ints
    """(n_items,) items of one group are unseen together, and only they are compared."""
    truth: Floats | None = None
    gold: tuple[Ints, Ints] | None = None


def _scores(learner: Learner, method: str) -> Floats:
    if method == RANK_SVM:
        return learner.fitted(learner.graph, ranking="svm")
    if method == NEVER:
        return learner.by_default(prune=0.0)
    return learner.scores(method, rate=RATE)


def _judged(
    data: VoteSet, rows: Ints, held: Mask, unseen: Mask, at: float, methods: list[str]
) -> list[Row]:
    """All methods learn from some votes; each is held against the votes it did not see."""
    learner = Learner(
        data.features,
        data.winner[rows],
        data.loser[rows],
        components=max(2, min(60, np.unique([data.winner[rows], data.loser[rows]]).size // 3)),
        annotator=None if data.annotator is None else data.annotator[rows],
    )
    fresh = held & np.isin(data.winner, learner.compared) & np.isin(data.loser, learner.compared)
    measured = []
    for method in methods:
        scores = pd.Series(_scores(learner, method), pd.RangeIndex(len(data.features), name="item"))
        for what, tau, some in (
            (AGREEMENT, TAU, fresh),
            (UNSEEN_AGREEMENT, UNSEEN_TAU, unseen),
        ):
            if not some.any():
                continue
            votes = pd.DataFrame({"winner": data.winner[some], "loser": data.loser[some]})
            agreement = held_out_agreement(scores, votes)
            measured.append(Row(what, method, at, agreement))
            measured.append(Row(tau, method, at, 2 * agreement - 1))
        if data.truth is not None:
            measured.append(
                Row(PUBLISHED, method, at, tau_b(scores, pd.Series(data.truth, scores.index)))
            )
        if data.gold is not None:
            known = pd.DataFrame({"winner": data.gold[0], "loser": data.gold[1]})
            trained = pd.MultiIndex.from_arrays(
                [np.append(learner.winner, learner.loser), np.append(learner.loser, learner.winner)]
            )
            new = known[~pd.MultiIndex.from_frame(known).isin(trained)]
            if len(new):
                measured.append(Row(GOLD, method, at, held_out_agreement(scores, new)))
    measured.append(Row("pruned share", AUTO, at, learner.auto_rate))
    return measured


def _held_pairs(data: VoteSet, share: float, rng: np.random.Generator) -> Mask:
    """Votes on a share of the pairs, whichever way they went."""
    n = len(data.features)
    low, high = np.minimum(data.winner, data.loser), np.maximum(data.winner, data.loser)
    pair = np.unique(low * n + high, return_inverse=True)[1]
    return np.asarray(rng.random(int(pair.max()) + 1)[pair] < share)


def _table(measured: pd.DataFrame, measures: list[str], over: str) -> pd.DataFrame:
    """Every method's means with standard errors, and how the auto rates compare with none."""
    columns = {}
    for what in measures:
        columns[what] = [
            mean_of(measured, measure=what, method=name, over=over).level for name in METHODS
        ]
    return pd.DataFrame({"method": METHODS, **columns})


def _auto_table(measured: pd.DataFrame, measures: list[str], over: str) -> pd.DataFrame:
    rows = []
    for auto, none in ((AUTO, RAW), (DEFAULT, NEVER)):
        gains = [paired(measured, auto, none, measure=what, over=over) for what in measures]
        rows.append([f"{auto} less {none}", *map(str, gains)])
    return pd.DataFrame(rows, columns=["difference", *measures])


def _tables(
    measured: pd.DataFrame, measures: list[str], over: str
) -> list[tuple[str, pd.DataFrame]]:
    draws = "topics" if over == "setting" else "splits"
    return [
        (f"Every method, mean and standard error over {draws}", _table(measured, measures, over)),
        ("The auto rates against never pruning, paired", _auto_table(measured, measures, over)),
    ]


# Pictures


def quality_units(quick: bool) -> list[tuple[str, int]]:
    """One per density and split of the pictures."""
    densities = (3.0,) if quick else DENSITIES
    return [
        (f"{one:g} votes an item", trial)
        for trial in range(2 if quick else TRIALS)
        for one in densities
    ]


def run_quality(unit: Unit) -> Outcome:
    """3 of the 15 pictures unseen, a fifth of the other pairs held out."""
    data = load_quality(_folder(unit))
    rng = unit.rng("split")
    groups = np.unique(data.group)
    kept_out = rng.permutation(groups)[: max(1, round(0.2 * len(groups)))]
    unseen = np.isin(data.group[data.winner], kept_out)
    held = ~unseen & _held_pairs(data, HELD_OUT, rng)
    pool = rng.permutation(np.flatnonzero(~unseen & ~held))
    density = float(unit.setting.split()[0])
    n_items = np.unique(data.winner[~unseen]).size
    rows = np.sort(pool[: round(density * n_items)])
    return Outcome("real votes", _judged(data, rows, held, unseen, density, METHODS))


def quality_charts(measured: pd.DataFrame, evidence: str) -> list[Chart]:
    """Agreement by density."""
    titles = {
        AGREEMENT: "Picture quality: votes on held-out pairs",
        UNSEEN_AGREEMENT: "Picture quality: votes on pictures nobody compared",
    }
    return [
        Chart(
            f"quality-{what.split()[0]}",
            title,
            "lines",
            "votes an item",
            "share of votes agreed with",
            curves(measured, measure=what),
            evidence,
        )
        for what, title in titles.items()
    ]


def quality_tables(measured: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Mean of all densities."""
    return _tables(measured, [AGREEMENT, TAU, UNSEEN_AGREEMENT, UNSEEN_TAU], "trial")


@lru_cache(maxsize=1)
def load_quality(folder: Path) -> VoteSet:
    """Tables `item_features` (ref, item, numeric columns) and `votes` (ref, winner, loser)."""
    table = read_table(folder, "item_features", ["ref", "item"])
    votes = read_table(folder, "votes", ["ref", "winner", "loser"])
    ids = pd.MultiIndex.from_frame(table[["ref", "item"]])
    check_named_once(ids, f"{folder}/item_features")
    features = table.drop(columns=["ref", "item"]).select_dtypes("number")
    check_values(features, f"{folder}/item_features")
    features = features - features.groupby(table["ref"]).transform("mean")

    def place(column: str) -> Ints:
        found = ids.get_indexer(pd.MultiIndex.from_frame(votes[["ref", column]]))
        if (found < 0).any():
            count = int(np.count_nonzero(found < 0))
            refuse(message("unknown_items", where=f"{folder}/votes", count=count))
        return np.asarray(found, np.int64)

    group = pd.factorize(table["ref"])[0]
    if group.max() < 1:
        refuse(message("one_picture", where=f"{folder}/item_features"))
    winner, loser = place("winner"), place("loser")
    check_apart(winner, loser, f"{folder}/votes")
    return VoteSet(
        features.to_numpy(np.float64),
        winner,
        loser,
        None,
        np.asarray(group, np.int64),
    )


def check_quality(folder: Path) -> None:
    """Raise if the folder lacks something."""
    load_quality(folder)


# Arguments


def arguments_units(quick: bool) -> list[tuple[str, int]]:
    """One per topic and split of its arguments."""
    topics = range(0, TOPICS, 8) if quick else range(TOPICS)
    return [(f"topic {one}", trial) for trial in range(1 if quick else TRIALS) for one in topics]


def run_arguments(unit: Unit) -> Outcome:
    """Three tenths of a topic's arguments unseen, a fifth of the other pairs held out."""
    data = _topic(_folder(unit), int(unit.setting.split()[1]))
    rng = unit.rng(f"split/{unit.setting}")
    n = len(data.features)
    kept_out = rng.permutation(n)[: round(UNSEEN * n)]
    unseen = np.isin(data.winner, kept_out) | np.isin(data.loser, kept_out)
    held = ~unseen & _held_pairs(data, HELD_OUT, rng)
    rows = np.flatnonzero(~unseen & ~held)
    return Outcome("real votes", _judged(data, rows, held, unseen, 0.0, METHODS))


def arguments_charts(measured: pd.DataFrame, evidence: str) -> list[Chart]:
    """Each method's agreement, over topics."""
    names = {
        AGREEMENT: "held-out pairs",
        UNSEEN_AGREEMENT: "arguments nobody compared",
        GOLD: "gold pairs",
    }
    parts = []
    for what, name in names.items():
        table = curves(chosen(measured, measure=what), over="setting")
        parts.append(table.assign(at=name))
    return [
        Chart(
            "arguments-agreement",
            "Convincing arguments: agreement with votes not learned from, mean of 32 topics",
            "bars",
            "",
            "share agreed with",
            pd.concat(parts, ignore_index=True),
            evidence,
        )
    ]


def arguments_tables(measured: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Mean of all topics."""
    measures = [AGREEMENT, TAU, UNSEEN_AGREEMENT, UNSEEN_TAU, GOLD, PUBLISHED]
    return _tables(measured, measures, "setting")


@lru_cache(maxsize=1)
def load_arguments(folder: Path) -> dict[str, pd.DataFrame]:
    """Tables `items` (item_id, topic_id, rank_score), `features` (item_id, numeric columns),
    `votes` (item_i, item_j, label, annotator) and `gold_pairs` (item_i, item_j, gold_label).
    """
    items = read_table(folder, "items", ["item_id", "topic_id"])
    features = read_table(folder, "features", ["item_id"]).rename(columns={"item_id": "item"})
    votes = read_table(folder, "votes", ["item_i", "item_j", "label", "annotator"])
    gold = read_table(folder, "gold_pairs", ["item_i", "item_j", "gold_label"])
    gold = gold.rename(columns={"gold_label": "label"})
    return {"items": items, "features": features, "votes": votes, "gold": gold}


def check_arguments(folder: Path) -> None:
    """Raise if the folder lacks something, or its tables do not fit together."""
    tables = load_arguments(folder)
    items = tables["items"]
    known = pd.Index(items["item_id"])
    check_named_once(known, f"{folder}/items")
    if (count := items["topic_id"].nunique()) < TOPICS:
        refuse(message("too_few_topics", where=f"{folder}/items", count=count, needed=TOPICS))
    read_features(folder, known, by="item_id")
    topic = items["topic_id"].to_numpy()
    for name, what in (("votes", "votes"), ("gold", "gold_pairs")):
        table, where = tables[name], f"{folder}/{what}"
        first, second = compared(known, table, where, columns=("item_i", "item_j"))
        if (apart := int(np.count_nonzero(topic[first] != topic[second]))) > 0:
            refuse(message("items_of_two_topics", where=where, count=apart, total=len(table)))
        if not pd.api.types.is_numeric_dtype(table["label"]):
            refuse(message("labels_not_numbers", where=where))


def _topic(folder: Path, number: int) -> VoteSet:
    tables = load_arguments(folder)
    topics = sorted(tables["items"]["topic_id"].unique())
    items = tables["items"][tables["items"]["topic_id"] == topics[number]].set_index("item_id")
    features = tables["features"].set_index("item").loc[items.index].select_dtypes("number")

    def decided(name: str) -> tuple[pd.DataFrame, Ints, Ints]:
        table = tables[name]
        table = table[table["item_i"].isin(items.index) & (table["label"] != 0)]
        first = places(items.index, table["item_i"], name)
        second = places(items.index, table["item_j"], name)
        ahead = (table["label"] > 0).to_numpy()
        return table, np.where(ahead, first, second), np.where(ahead, second, first)

    votes, winner, loser = decided("votes")
    _, gold_winner, gold_loser = decided("gold")
    return VoteSet(
        features.to_numpy(np.float64),
        winner,
        loser,
        votes["annotator"].to_numpy(),
        np.zeros(len(items), np.int64),
        # The published ranking is a share of being beaten: gold winners have the lower number.
        truth=-items["rank_score"].to_numpy(np.float64) if "rank_score" in items else None,
        gold=(gold_winner, gold_loser),
    )


def _folder(unit: Unit) -> Path:
    if unit.data is None:
        raise UrlrError(message("real_votes_only", experiment=unit.experiment))
    return unit.data


QUALITY = Experiment(
    name="quality",
    title="Picture quality (real votes)",
    about="PC-IQA: 15 pictures in 16 versions each, 43,265 votes from the internet. Three pictures "
    "are never shown, a fifth of the pairs of the others held out; votes are drawn to a density.",
    units=quality_units,
    run=run_quality,
    charts=quality_charts,
    folder=QUALITY_FOLDER,
    check=check_quality,
    only_real=True,
    tables=quality_tables,
)

ARGUMENTS = Experiment(
    name="arguments",
    title="Convincing arguments (real votes)",
    about="UKPConvArg: 84,445 votes by 3,815 people on 1,052 arguments in 32 topics, each topic an "
    "attribute of its own. Ties are left out for all methods. Gold pairs and the published ranking "
    "were made by others from the same votes; errors are over topics.",
    units=arguments_units,
    run=run_arguments,
    charts=arguments_charts,
    folder=ARGUMENTS_FOLDER,
    check=check_arguments,
    only_real=True,
    tables=arguments_tables,
)
