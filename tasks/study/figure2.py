"""The paper's Figure 2: cycles of five items, which the majority of each pair cannot resolve.

Five items, truly A < B < C < D < E, compared along the chain and around the corner: E < A closes
the circle. The figure's numbers of votes are not in the paper's text, so several are tried.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tasks.study.learner import FEATURELESS
from tasks.study.records import Chart, Experiment, Outcome, Row, Unit
from urlr.baselines import majority
from urlr.graph.comparisons import ComparisonGraph, comparison_graph
from urlr.paper.method import ITEM_RIDGE
from urlr.paper.path import outlier_path

EVIDENCE = "graphs written down by hand"
MAJORITY = "majority"
Edges = list[tuple[str, str, int]]


def _chain(for_it: int, against: int) -> Edges:
    """B > A, C > B, D > C, E > D with so many votes, and so many against each."""
    steps = [("B", "A"), ("C", "B"), ("D", "C"), ("E", "D")]
    forward = [(more, less, for_it) for more, less in steps]
    return forward + [(less, more, against) for more, less in steps if against]


GRAPHS: dict[str, Edges] = {
    "balanced, 2:1 on all five pairs": [*_chain(2, 1), ("A", "E", 2), ("E", "A", 1)],
    "balanced, one vote a pair": [*_chain(1, 0), ("A", "E", 1)],
    "chain 3:0, E < A 2:1": [*_chain(3, 0), ("A", "E", 2), ("E", "A", 1)],
    "chain two votes each, E < A one": [*_chain(2, 0), ("A", "E", 1)],
    "one vote a pair, C > A and E > C besides": [
        *_chain(1, 0), ("A", "E", 1), ("C", "A", 1), ("E", "C", 1)
    ],
}  # fmt: skip
"""Winner, loser, votes; A > E is the vote that everything else contradicts."""


def units(quick: bool) -> list[tuple[str, int]]:
    """One per graph."""
    return [(setting, 0) for setting in GRAPHS]


def run(unit: Unit) -> Outcome:
    """Whether E < A is the first edge to be pruned, and whether the majority would drop it."""
    votes = pd.DataFrame(GRAPHS[unit.setting], columns=["winner", "loser", "weight"])
    graph = comparison_graph(votes)
    path = outlier_path(graph, rate=1.0, ridge=ITEM_RIDGE)
    bad = _edge(graph, "A", "E")
    resolvable = bool(np.ptp(path.residual) > 1e-6 or np.ptp(path.entry) > 1e-6)
    first = bool(path.entry[bad] > np.delete(path.entry, bad).max() + 1e-9)
    rows = [
        Row("resolvable", FEATURELESS, 0.0, float(resolvable)),
        Row("found first", FEATURELESS, 0.0, float(resolvable and first)),
        Row("dropped", MAJORITY, 0.0, float(not majority(graph)[bad])),
    ]
    return Outcome(EVIDENCE, rows)


def _edge(graph: ComparisonGraph, winner: str, loser: str) -> int:
    names = graph.items.to_numpy()
    found = (names[graph.winner] == winner) & (names[graph.loser] == loser)
    return int(np.flatnonzero(found)[0])


def charts(measured: pd.DataFrame, evidence: str) -> list[Chart]:
    """What was found, graph by graph."""
    table = pd.DataFrame(
        {
            "series": measured["measure"].map(
                {
                    "found first": "path: E < A found first",
                    "dropped": "majority: E < A dropped",
                    "resolvable": "resolvable at all",
                }
            ),
            "at": measured["setting"],
            "mean": measured["value"],
            "error": np.nan,
            "n": 1,
        }
    )
    title = "Cycles of five items: 1 is yes"
    return [Chart("figure2", title, "bars", "graph", "yes (1) or no (0)", table, evidence)]


FIGURE2 = Experiment(
    name="figure2",
    title="Cycles that a majority cannot resolve",
    about="Five items, truly A < B < C < D < E, and votes for E < A that close the circle. A cycle "
    "in which every item wins as often as it loses cannot be resolved by anybody.",
    units=units,
    run=run,
    charts=charts,
)
