"""The supplement: real-valued votes on all pairs of 30 items, and who finds the outliers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from tasks.study.outlier_searches import ipod_order, matching_pursuit_order, scaled_lasso
from tasks.study.records import Chart, Experiment, Outcome, Row, Unit, chosen, curves
from urlr.arrays import Floats, Ints, Mask
from urlr.graph.comparisons import ComparisonGraph
from urlr.metrics import outlier_auc
from urlr.paper.method import ITEM_RIDGE
from urlr.paper.path import outlier_path
from urlr.paper.rates import RateRule, path_and_rate

EVIDENCE = "simulated, as in the paper"
N_ITEMS, SIGMA, TRIALS = 30, 0.1, 50
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""p: chance of a pair to be an outlier."""
RATIOS = (4, 5, 6, 7, 8, 9)
"""ONR: how far an outlier is off, in standard deviations of the noise."""

PATH, IPOD, OMP = "Regularisation path", "IPOD-hard", "OMP"
RIVALS = (IPOD, OMP)
ROBUST_IPOD = "IPOD-hard, robust start"
BIC, AIC, SIGMAS, SCALED = "BIC", "AIC", "2.5 sigma", "Scaled LASSO"
SEARCHES = [PATH, IPOD, ROBUST_IPOD, OMP]
RULES = [BIC, AIC, SIGMAS, SCALED]

Signs = Literal["reversed", "random"]
SUFFIX: dict[Signs, str] = {"reversed": "", "random": ", random signs"}
"""Of measures. Reversed, as the paper's text has it: an outlier is shifted against the true
direction of its pair. Random, as its formula gamma = ±L allows: up or down with equal chance. It
is with these that the numbers of its table come out."""

PAPER_BIC: dict[float, list[tuple[float, float]]] = {
    0.1: [(0.002, 0.0), (0.494, 0.012), (1.0, 0.003), (1.0, 0.026), (1.0, 0.025), (1.0, 0.031)],
    0.2: [(0.0, 0.0), (0.0, 0.0), (0.3, 0.016), (0.9, 0.05), (1.0, 0.064), (1.0, 0.037)],
    0.3: [(0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.5, 0.06)],
    0.4: [(0.0, 0.0)] * 6,
    0.5: [(0.0, 0.0)] * 6,
    0.6: [(0.0, 0.0)] * 6,
}
"""The paper's table: p -> TPR and FPR of BIC, one pair for each of `RATIOS`."""


def units(quick: bool) -> list[tuple[str, int]]:
    """One per share of outliers."""
    shares = (0.1, 0.3, 0.5) if quick else SHARES
    return [(f"p {p:g}", trial) for trial in range(3 if quick else TRIALS) for p in shares]


def run(unit: Unit) -> Outcome:
    """All searches and all rules at every ratio, with outliers of both kinds."""
    p = share_of(unit.setting)
    rows = []
    for signs, suffix in SUFFIX.items():
        for ratio in RATIOS:
            graph, outlier = votes(unit.rng("votes"), p, ratio, signs=signs)
            for name, order in orders(graph).items():
                place = np.empty(order.size)
                place[order] = -np.arange(order.size)
                rows.append(Row(f"auc{suffix}", name, float(ratio), outlier_auc(place, outlier)))
            for name, found in choices(graph).items():
                for measure, among in ((f"tpr{suffix}", outlier), (f"fpr{suffix}", ~outlier)):
                    rows.append(Row(measure, name, float(ratio), float(np.mean(found[among]))))
    return Outcome(EVIDENCE, rows)


def share_of(setting: str) -> float:
    """The p of a setting."""
    return float(setting.removeprefix("p "))


def votes(
    rng: np.random.Generator, p: float, ratio: float, *, signs: Signs = "reversed"
) -> tuple[ComparisonGraph, Mask]:
    """y = theta_i - theta_j + gamma + noise for all pairs i < j, and which gamma are not 0.

    The same generator gives the same scores and noise whatever p, ratio and signs; the outliers
    of a small p are among those of a larger one.
    """
    theta = rng.uniform(-1.0, 1.0, N_ITEMS)
    first, second = np.triu_indices(N_ITEMS, 1)
    truth = theta[first] - theta[second]
    noise = SIGMA * rng.standard_normal(truth.size)
    outlier = rng.random(truth.size) < p
    chance = rng.choice([-1.0, 1.0], truth.size)
    side = chance if signs == "random" else -np.sign(truth)
    target = truth + noise + np.where(outlier, ratio * SIGMA * side, 0.0)
    return complete_graph(target, N_ITEMS), outlier


def complete_graph(target: Floats, n_items: int) -> ComparisonGraph:
    """One edge i -> j with a real-valued vote for each i < j; the path asks nothing of its sign."""
    first, second = np.triu_indices(n_items, 1)
    return ComparisonGraph(
        items=pd.RangeIndex(n_items),
        winner=first.astype(np.int32),
        loser=second.astype(np.int32),
        weight=np.ones(target.size),
        target=target,
        n_votes=np.ones(target.size, np.int32),
        edge_of_row=np.arange(target.size, dtype=np.int32),
        features=None,
    )


def orders(graph: ComparisonGraph) -> dict[str, Ints]:
    """Per search, edges from most to least suspicious; each goes to the end of its path."""
    path = outlier_path(graph, rate=1.0, ridge=ITEM_RIDGE)
    return {
        PATH: path.order,
        IPOD: ipod_order(graph),
        # At the end of the path the penalty is all but 0 and the fit one of least absolute values.
        ROBUST_IPOD: ipod_order(graph, robust=path.residual),
        OMP: matching_pursuit_order(graph),
    }


def choices(graph: ComparisonGraph) -> dict[str, Mask]:
    """Per rule, the edges it calls outliers.

    Rules look at the first 60 % of the path (`urlr.paper.rates.LARGEST_RATE`). Near its end the RSS
    goes to 0 and its logarithm outweighs any count: followed to the end, BIC would call over 400 of
    the 435 edges outliers at every p. AIC does so much sooner and mostly takes all it is shown.
    """
    dimension = graph.n_edges - graph.n_items + 1
    rules: list[tuple[str, RateRule]] = [(BIC, "bic"), (AIC, "aic"), (SIGMAS, "sigma")]
    found = {}
    for name, rule in rules:
        path, rate = path_and_rate(graph, rule, dimension=dimension, ridge=ITEM_RIDGE)
        found[name] = path.pruned(rate)
    found[SCALED] = scaled_lasso(graph).outliers
    return found


def bic_table(measured: pd.DataFrame, *, signs: Signs = "reversed") -> pd.DataFrame:
    """BIC beside the paper's table, a row per cell that was measured.

    Columns p, onr; paper_tpr, tpr, tpr_error (standard error), tpr_difference (ours less the
    paper's); the same of fpr; and n, the trials.
    """
    table = pd.DataFrame(
        [
            (f"p {p:g}", p, ratio, *pair)
            for p, cells in PAPER_BIC.items()
            for ratio, pair in zip(RATIOS, cells, strict=True)
        ],
        columns=["series", "p", "onr", "paper_tpr", "paper_fpr"],
    )
    table["at"] = table["onr"].astype(np.float64)
    mine = chosen(measured, experiment="supplement", method=BIC)
    for name in ("tpr", "fpr"):
        ours = curves(mine, by="setting", measure=name + SUFFIX[signs])
        ours = ours.rename(columns={"mean": name, "error": f"{name}_error"})
        table = table.merge(ours if name == "tpr" else ours.drop(columns="n"), on=["series", "at"])
        table[f"{name}_difference"] = table[name] - table[f"paper_{name}"]
    of_rates = [
        column.format(name)
        for name in ("tpr", "fpr")
        for column in ("paper_{}", "{}", "{}_error", "{}_difference")
    ]
    return table[["p", "onr", *of_rates, "n"]]


def charts(measured: pd.DataFrame, evidence: str) -> list[Chart]:
    """AUC of the searches, and what the rules find and wrongly accuse, along p."""
    along = measured.assign(p=[share_of(setting) for setting in measured["setting"]])
    x = "share of the pairs that are outliers"
    made = []
    for signs, suffix in SUFFIX.items():
        start = "supplement" if signs == "reversed" else "supplement-random"
        kind = "against the true order" if signs == "reversed" else "up or down by chance"
        for ratio in (4, 6, 9):
            table = curves(along, along="p", measure=f"auc{suffix}", at=ratio, method=SEARCHES)
            title = f"Finding outliers of {ratio} sigma, {kind}"
            made.append(
                Chart(f"{start}-auc-onr-{ratio}", title, "lines", x, "AUC", table, evidence)
            )
        for name, measure, what, y in (
            ("rules", "tpr", "find", "share of the outliers found (TPR)"),
            ("rules-fpr", "fpr", "wrongly accuse", "share of the other pairs accused (FPR)"),
        ):
            table = curves(along, along="p", measure=measure + suffix, at=9, method=RULES)
            title = f"What rules that stop by themselves {what}: outliers of 9 sigma, {kind}"
            made.append(Chart(f"{start}-{name}", title, "lines", x, y, table, evidence))
    return made


SUPPLEMENT = Experiment(
    name="supplement",
    title="Outliers among real-valued votes",
    about="All 435 pairs of 30 items, scores from -1 to 1, noise of 0.1. A pair is an outlier with "
    "probability p: its vote is shifted by 4 to 9 times the noise, against the true order as the "
    "paper's text says, or up or down by chance as its formula says. The path, IPOD with hard "
    "threshold and orthogonal matching pursuit are judged by AUC; BIC, AIC, lambda = 2.5 sigma and "
    "the scaled LASSO, which stop by themselves, by the outliers they find and the others they "
    "accuse.",
    units=units,
    run=run,
    charts=charts,
)
