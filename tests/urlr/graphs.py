"""Graphs, crowds and matrices that the tests of the method share."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from urlr.graph.comparisons import ComparisonGraph, graph_of
from urlr.simulate import Crowd
from urlr.votes.table import vote_table

WITH_GAPS = st.floats(allow_nan=True, allow_infinity=False)

METHODS = {"robust": {"method": "robust", "replicates": 0}, "paper": {"method": "paper"}}
"""Settings of the cheapest fit by each method: intervals take most of the default's time."""


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def names(d):
    return tuple(f"f{k}" for k in range(d))


def matrices(elements, *, min_rows=2, columns=(1, 5)):
    shapes = st.tuples(st.integers(min_rows, 12), st.integers(*columns))
    return hnp.arrays(np.float64, shapes, elements=elements)


def codes(simulated: Crowd) -> tuple[np.ndarray, np.ndarray]:
    a, b = (simulated.votes[name].cat.codes.to_numpy() for name in ("item_a", "item_b"))
    return a.astype(int), b.astype(int)


def n_components(simulated: Crowd) -> int:
    a, b = codes(simulated)
    n = len(simulated.truth)
    return connected_components(sparse.coo_array((np.ones(len(a)), (a, b)), (n, n)))[0]


def votes_frame(triples):
    """Votes from (winner, loser, count), each vote a row."""
    rows = [(winner, loser) for winner, loser, count in triples for _ in range(count)]
    return pd.DataFrame(rows, columns=["winner", "loser"])


def random_votes(
    seed, n_items=20, n_votes=120, n_features=4, ties=0.1, wrong=0.2, weighted=False, groups=1
):
    """Votes on items with a true linear score, some wrong, some tied; and the features."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_items, n_features))
    truth = features @ rng.normal(size=n_features)
    group = np.arange(n_items) % groups
    first = rng.integers(0, n_items, n_votes)
    step = rng.integers(1, n_items // groups, n_votes) * groups
    second = (first + step) % (n_items - n_items % groups)
    first, second = first[group[first] == group[second]], second[group[first] == group[second]]
    first, second = first[first != second], second[first != second]
    wins = (truth[first] > truth[second]) ^ (rng.random(first.size) < wrong)
    outcome = np.where(rng.random(first.size) < ties, "tie", np.where(wins, "a", "b"))
    votes = pd.DataFrame({"item_a": first, "item_b": second, "outcome": outcome})
    if weighted:
        votes["weight"] = rng.uniform(0.1, 5.0, first.size)
    return votes, pd.DataFrame(features).rename_axis("item")


def random_graph(seed, *, featureless=False, **kwargs) -> ComparisonGraph:
    votes, features = random_votes(seed, **kwargs)
    graph = graph_of(vote_table(votes))
    return graph if featureless else graph.with_features(features.loc[graph.items].to_numpy())


def rank_deficient_graph(seed) -> ComparisonGraph:
    graph = random_graph(seed)
    rng = np.random.default_rng(seed)
    features = graph.features
    return graph.with_features(np.hstack([features, features @ rng.normal(size=(4, 3))]))


def repeated_graph(seed) -> ComparisonGraph:
    """Few distinct feature rows and few distinct edges: everything ties with something."""
    graph = random_graph(seed, n_items=24, n_votes=200)
    rows = np.random.default_rng(seed).integers(0, 2, size=(graph.n_items, 2)).astype(float)
    return graph.with_features(rows)


FIXTURES = {
    "plain": lambda seed: random_graph(seed),
    "weighted": lambda seed: random_graph(seed, weighted=True),
    "featureless": lambda seed: random_graph(seed, featureless=True, n_votes=200),
    "disconnected": lambda seed: random_graph(seed, groups=3, n_items=30),
    "disconnected featureless": lambda seed: random_graph(
        seed, groups=3, n_items=30, n_votes=200, featureless=True
    ),
    "rank deficient": rank_deficient_graph,
    "tied": repeated_graph,
    "all ties": lambda seed: random_graph(seed, ties=1.0),
    "dense": lambda seed: random_graph(seed, n_items=40, n_votes=3000, n_features=15),
    "more features than edges": lambda seed: random_graph(
        seed, n_items=30, n_votes=15, n_features=25
    ),
    "one edge": lambda seed: random_graph(seed, n_votes=1, ties=0.0),
}
