"""What is measured. A workload takes `quick` and returns rows of the table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import urlr
from tests.bench import glmnet
from tests.bench.default import intervals, large, place_pulse, small
from tests.bench.measure import (
    MIB,
    Row,
    Stages,
    added_memory,
    forget_peak,
    medians,
    resident,
    timed,
)
from tests.bench.paint import paint
from tests.bench.scoring import scoring
from urlr.graph.comparisons import ComparisonGraph
from urlr.paper.path import outlier_path
from urlr.paper.ridge import ridge_coefficients
from urlr.ranker import Facts
from urlr.simulate import Crowd, crowd

RIDGE = 0.001
Rows = Iterator[Row]


def flipped_crowd(n_items: int, n_features: int, n_votes: int) -> Crowd:
    """Features that explain the truth, and 20 % of the votes turned around."""
    return crowd(
        rng=np.random.default_rng(1),
        n_items=n_items,
        n_features=n_features,
        n_votes=n_votes,
        n_annotators=500,
        error_ratio=0.0,
        flip=0.2,
    )


def flipped_graph(n_items: int, n_features: int, n_votes: int) -> ComparisonGraph:
    print(f"{n_votes:,} votes on {n_items:,} items, d {n_features}", flush=True)
    simulated = flipped_crowd(n_items, n_features, n_votes)
    return urlr.comparison_graph(simulated.decisive, simulated.features)


def size_of(graph: ComparisonGraph) -> str:
    return f"{graph.n_items:,} items, d {graph.n_features}, {graph.n_edges:,} edges"


def warm_up() -> None:
    """Compile, or read from the cache, everything the workloads call."""
    graph = flipped_graph(600, 5, 6_000)
    for solver in ("exact", "grid"):
        outlier_path(graph, solver=solver)
    simulated = flipped_crowd(600, 5, 6_000)
    for features in (simulated.features, None):
        _ = urlr.fit(
            simulated.decisive, features, method="paper", prune=0.2, solver="grid"
        ).verdicts
        _ = urlr.fit(simulated.votes, features, replicates=2).verdicts


def paper(quick: bool) -> Rows:
    """The paper's "1 minute": 240 items, d 100, 10,722 votes; glmnet in R on the same problem."""
    graph = flipped_graph(*((60, 20, 1_000) if quick else (240, 100, 10_722)))
    first = partial(outlier_path, graph, rate=0.2, ridge=RIDGE, solver="exact")
    whole = partial(outlier_path, graph, rate=1.0, ridge=RIDGE, solver="exact")
    paths = first(), whole()
    seconds = medians(first, whole, repeats=9)
    events, cut = paths[0].trace.penalty, paths[0].penalty
    grids = {
        "its own grid, pmax 21 %": {"most": int(0.21 * graph.n_edges)},
        "66 penalties to the cut": {"penalties": np.geomspace(events[0], cut, 66)},
        "our events as its grid": {"penalties": np.append(events, cut)},
        "its own grid, whole path": {},
    }
    measurable = glmnet.available()
    if not measurable:
        print(f"glmnet is not measured: Rscript or its package is missing ({glmnet.TO_INSTALL})")
    with tempfile.TemporaryDirectory() as name:
        if measurable:
            print("writing the |E| x |E| problem for R", flush=True)
            glmnet.write_problem(graph, ridge=RIDGE, folder=Path(name))
        for grid, options in grids.items():
            part, what = (0, "first 20 %") if options else (1, "whole order")
            row = Row(
                "paper",
                f"{size_of(graph)}, {what}",
                seconds[part],
                f"glmnet, {grid}",
                bar=1 / 100 if options else 1 / 30,
                violation=paths[part].violation,
            )
            if measurable:
                its = glmnet.glmnet_path(graph, Path(name), **options)
                row = replace(row, reference_seconds=its.seconds, timed_out=not its.finished)
                row = replace(row, note=f"{grid}: {its.compared_with(paths[part])}")
            yield row


def million(quick: bool) -> Rows:
    """A million edges: the path against one weighted ridge fit of the same data; its memory."""
    graph = flipped_graph(*((500, 20, 20_000) if quick else (10_000, 256, 1_007_000)))
    repeats = 3 if quick else 7
    follow = partial(outlier_path, graph, rate=0.2, ridge=RIDGE, solver="grid")
    fit = partial(ridge_coefficients, graph, ridge=RIDGE)
    path, coefficients = follow(), fit()
    print(f"path and ridge fit in turn, {repeats} times", flush=True)
    ours, ridge = medians(follow, fit, repeats=repeats)
    edges = (graph.winner, graph.loser, graph.weight, graph.target)
    inputs = sum(array.nbytes for array in (graph.features, *edges))
    traced, grown = added_memory(follow)
    yield Row(
        "million",
        size_of(graph),
        ours,
        "our own ridge fit",
        ridge,
        bar=4.0,
        violation=path.violation,
        memory=inputs + max(traced, grown),
        memory_bar=3.0 * inputs,
        note=f"{path.trace.penalty.size} penalties. Features and edges take "
        f"{inputs / MIB:.0f} MiB; beyond them tracemalloc saw {traced / MIB:.0f} MiB, the resident "
        f"size grew by {grown / MIB:.0f} MiB; the larger counts.",
    )
    print("an ordinary ridge fit on the explicit matrix", flush=True)
    from sklearn.linear_model import Ridge

    ordinary = Ridge(RIDGE, fit_intercept=False, solver="cholesky")
    X = graph.features[graph.winner]
    X -= graph.features[graph.loser]
    usual, _ = timed(lambda: ordinary.fit(X, graph.target, sample_weight=graph.weight))
    off = np.max(np.abs(ordinary.coef_ - coefficients)) / np.max(np.abs(coefficients))
    yield Row(
        "million",
        size_of(graph),
        ours,
        "sklearn Ridge",
        usual,
        violation=path.violation,
        note=f"for orientation; its coefficients differ from our ridge fit's by {off:.0e}.",
    )


def growth(quick: bool) -> Rows:
    """Ten times the votes: `fit` from the data frame to the verdicts, 10,000 items, d 64."""
    n_items, d = (500, 8) if quick else (10_000, 64)
    before = None
    for n_votes in (2_000, 20_000, 200_000) if quick else (100_000, 1_000_000, 10_000_000):
        simulated = flipped_crowd(n_items, d, n_votes)
        # Ids as text, as they come out of a file.
        votes = simulated.votes.astype({"item_a": "str", "item_b": "str"})
        features = simulated.features
        del simulated
        runs: list[tuple[float, Stages]] = []
        forget_peak()
        while len(runs) < 3 and sum(seconds for seconds, _ in runs) < 60:
            stages = Stages()
            seconds, facts = timed(partial(_fit_and_judge, votes, features, stages))
            runs.append((seconds, stages))
        seconds, stages = min(runs, key=lambda run: run[0])
        yield Row(
            "growth",
            f"{n_votes:,} votes, {facts.n_edges:,} edges, d {d}",
            seconds,
            "" if before is None else "a tenth of the votes",
            before,
            bar=None if before is None else 11.0,
            violation=facts.violation,
            memory=resident()[1],
            note=f"best of {len(runs)}; {stages}; the votes themselves take "
            f"{votes.memory_usage(deep=True).sum() / MIB:,.0f} MiB.",
        )
        before = seconds


def featureless(quick: bool) -> Rows:
    """Huber-LASSO-FL at 100,000 items: `fit` without features finishes, in bounded memory."""
    n_items, n_votes = (2_000, 20_000) if quick else (100_000, 1_000_000)
    votes = flipped_crowd(n_items, 10, n_votes).votes
    stages = Stages()
    forget_peak()
    seconds, facts = timed(partial(_fit_and_judge, votes, None, stages))
    yield Row(
        "featureless",
        f"{n_items:,} items, {facts.n_edges:,} edges",
        seconds,
        violation=facts.violation,
        memory=resident()[1],
        memory_bar=4096 * MIB,
        note=f"{stages}.",
    )


def _fit_and_judge(votes: pd.DataFrame, features: pd.DataFrame | None, stages: Stages) -> Facts:
    ranker = urlr.fit(votes, features, method="paper", prune=0.2, progress=stages)
    stages("verdicts", 0.0)
    _ = ranker.verdicts
    stages("end", 1.0)
    return ranker.facts


def solvers(quick: bool) -> Rows:
    """Both solvers on the same graph: time, and the edges on which their first 20 % differ."""
    sizes = [(300, 20, 3_000)] if quick else [(1_000, 150, 16_000), (2_000, 50, 51_000)]
    for n_items, n_features, n_votes in sizes:
        graph = flipped_graph(n_items, n_features, n_votes)
        exactly = partial(outlier_path, graph, rate=0.2, solver="exact")
        on_grid = partial(outlier_path, graph, rate=0.2, solver="grid")
        exact, grid = exactly(), on_grid()
        by_grid, by_exact = medians(on_grid, exactly, repeats=3)
        pruned = exact.pruned(0.2)
        cut = exact.entry[pruned].min()
        differ = pruned != grid.pruned(0.2)
        entry = np.where(exact.entry > 0, exact.entry, grid.entry)[differ]
        away = float(np.max(np.abs(entry / cut - 1.0), initial=0.0))
        yield Row(
            "solvers",
            size_of(graph),
            by_grid,
            "our exact path",
            by_exact,
            agrees=away <= 1e-6,
            violation=max(exact.violation, grid.violation),
            note=f"ours is the grid, {grid.trace.penalty.size} penalties for "
            f"{exact.trace.penalty.size:,} events; {np.count_nonzero(differ)} of "
            f"{np.count_nonzero(pruned):,} edges differ, entries within {away:.0e} of the cut.",
        )


WORKLOADS: dict[str, Callable[[bool], Rows]] = {
    workload.__name__: workload
    for workload in (
        *(paper, million, growth, featureless, solvers),
        *(small, intervals, large, place_pulse, scoring, paint),
    )
}
