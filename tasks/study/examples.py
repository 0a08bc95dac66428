"""Pruned votes to look at: those the truth confirms, and those it does not."""

from __future__ import annotations

from tasks.study.learner import URLR, Learner
from tasks.study.records import Example
from urlr.arrays import Floats

EACH = 3


def pruned_examples(
    learner: Learner, truth: Floats, *, attribute: str = "", names: list[str] | None = None
) -> list[Example]:
    """The votes URLR would prune first that were wrong, and the first that were right."""
    graph, items = learner.graph, learner.compared
    found: dict[bool, list[Example]] = {True: [], False: []}
    for place, edge in enumerate(learner.order_of(URLR)[: graph.n_edges // 5]):
        more, less = int(items[graph.winner[edge]]), int(items[graph.loser[edge]])
        gap = float(truth[less] - truth[more])
        kind = found[gap > 0]
        if len(kind) < EACH and gap != 0:
            called = [names[k] if names else f"item {k}" for k in (more, less)]
            kind.append(Example(attribute, called[0], called[1], gap > 0, gap, place))
    return [*found[True], *found[False]]
