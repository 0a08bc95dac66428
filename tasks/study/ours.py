"""Our own questions: who spoils votes, how much to prune, which ranking function, how many."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import urlr
from tasks.study.learner import DEFAULT, FEATURELESS, RAW
from tasks.study.records import Chart, Experiment, Outcome, Row, Unit, chosen, curves
from urlr.metrics import outlier_auc, tau_b
from urlr.simulate import Crowd, crowd
from urlr.simulation.people import AnnotatorShares

EVIDENCE = "simulated crowd"
ITEMS, UNSEEN, TRIALS = 200, 50, 10
DENSITIES = (3, 10, 30)
"""Votes an item."""
CROWDS: dict[str, dict[str, Any]] = {
    "honest": {},
    "a fifth random": {"shares": AnnotatorShares(careless=0.2)},
    "a fifth reversed": {"shares": AnnotatorShares(reversed=0.2)},
    "campaign": {"shares": AnnotatorShares(campaign=0.2), "campaign_votes": 0.2},
    "campaign in disguise": {"campaign_votes": 0.2, "disguised": True},
    "minority taste": {"shares": AnnotatorShares(minority=0.25)},
}  # fmt: skip
NEVER = "urlr's default, never pruned"
AUTO = "URLR, auto rate"
RATES = {f"URLR, {rate:.0%} pruned": rate for rate in (0.1, 0.2, 0.3)}
RANK_SVM, LOGISTIC, KERNEL = "RankSVM", "logistic", "logistic with kernel"
_PLAIN: dict[str, Any] = {
    "prune": 0.0, "limit": 1.0, "item_effects": False, "annotator_rates": False,
    "turn_reversed": False, "left_right": False, "replicates": 0,
}  # fmt: skip
FITS = {
    RAW: partial(urlr.fit, method="paper", prune=0.0),
    RANK_SVM: partial(urlr.fit, method="paper", prune=0.0, ranking="svm"),
    LOGISTIC: partial(urlr.fit, curved=False, **_PLAIN),
    KERNEL: partial(urlr.fit, **_PLAIN),
    FEATURELESS: partial(urlr.fit, method="paper", prune=0.2, outlier_space="items"),
    **{name: partial(urlr.fit, method="paper", prune=rate) for name, rate in RATES.items()},
    AUTO: partial(urlr.fit, method="paper", prune="auto"),
    NEVER: partial(urlr.fit, prune=0.0, replicates=0),
    DEFAULT: partial(urlr.fit, replicates=0),
}


def units(quick: bool) -> list[tuple[str, int]]:
    """One per crowd and trial."""
    crowds = ["honest", "a fifth reversed", "campaign"] if quick else list(CROWDS)
    return [(name, trial) for trial in range(2 if quick else TRIALS) for name in crowds]


def run(unit: Unit) -> Outcome:
    """All methods on one crowd, from sparse to dense; judged on items nobody compared."""
    rows: list[Row] = []
    for density in (10,) if unit.quick else DENSITIES:
        made = drawn_crowd(unit.setting, density, unit.rng(f"crowd/{density}"))
        rows += _judged(made, unit, density)
    return Outcome(EVIDENCE, rows)


def drawn_crowd(setting: str, density: int, rng: np.random.Generator) -> Crowd:
    """A crowd with so many votes an item, spoiled as the setting says."""
    return crowd(
        rng=rng,
        n_items=ITEMS,
        n_features=20,
        n_votes=density * ITEMS,
        n_annotators=40,
        private=0.2,
        curvature=0.15,
        feature_noise=0.3,
        error_ratio=0.1,
        **CROWDS[setting],
    )


def _judged(made: Crowd, unit: Unit, density: int) -> list[Row]:
    items = made.truth.index
    unseen = items[unit.rng("unseen").permutation(len(items))[:UNSEEN]]
    votes = made.decisive
    seen = ~(votes["winner"].isin(unseen) | votes["loser"].isin(unseen))
    votes, wrong = votes[seen].astype(object), made.wrong[votes.index][seen.to_numpy()]
    rows = [Row("wrong share", "votes", density, float(np.mean(wrong)))]
    for name, fit in FITS.items():
        ranker = fit(votes, made.features, seed=0)
        scores = ranker.score(made.features)
        rows.append(Row("tau, unseen items", name, density, tau_b(scores, made.truth[unseen])))
        compared = made.truth[~made.truth.index.isin(unseen)]
        rows.append(Row("tau, compared items", name, density, tau_b(scores, compared)))
        if name in (DEFAULT, FEATURELESS, "URLR, 20% pruned") and wrong.any():
            order = ranker.verdicts["order"].to_numpy(np.float64, na_value=np.nan)
            order = np.where(np.isfinite(order), order, len(votes))
            rows.append(Row("auc", name, density, outlier_auc(-order, wrong)))
        rows.append(Row("pruned share", name, density, ranker.facts.rate))
    return rows


def charts(measured: pd.DataFrame, evidence: str) -> list[Chart]:
    """Per crowd at ten votes an item, and by density over all crowds."""
    tau = "Kendall tau with the truth, items nobody compared"
    ten = chosen(measured, measure="tau, unseen items", at=10.0)
    rules = [RAW, *RATES, AUTO, NEVER, DEFAULT]
    ranking = [RAW, RANK_SVM, LOGISTIC, KERNEL, DEFAULT]
    made = [
        Chart(
            "ours-crowds",
            "How much to prune, by who spoils the votes (10 votes an item)",
            "bars",
            "crowd",
            tau,
            curves(ten, along="setting", method=rules),
            evidence,
        ),
        Chart(
            "ours-ranking",
            "Which ranking function, nothing pruned (10 votes an item)",
            "bars",
            "crowd",
            tau,
            curves(ten, along="setting", method=ranking),
            evidence,
        ),
        Chart(
            "ours-density",
            "From sparse to dense, mean of all crowds",
            "lines",
            "votes an item",
            tau,
            curves(measured, measure="tau, unseen items"),
            evidence,
        ),
    ]
    finding = chosen(measured, measure="auc", at=10.0)
    made.append(
        Chart(
            "ours-finding",
            "Finding wrong votes (10 votes an item)",
            "bars",
            "crowd",
            "area under ROC",
            curves(finding, along="setting"),
            evidence,
        )
    )
    return made


OURS = Experiment(
    name="ours",
    title="Campaigns, reversed people, tastes, and how much to prune",
    about="A simulated crowd of 40 people on 200 items, 50 of which nobody compares; features tell "
    "65 % of the truth straight and 15 % through a curve.",
    units=units,
    run=run,
    charts=charts,
)
