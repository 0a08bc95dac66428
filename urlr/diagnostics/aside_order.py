"""The order in which the votes of a fit are set aside as the share grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from urlr.arrays import Ints
from urlr.errors import UrlrError
from urlr.messages import message
from urlr.ranker import Ranker
from urlr.verdicts import LinkEvidence, PathEvidence


@dataclass(frozen=True, slots=True)
class AsideOrder:
    """The votes of a fit, the first to be set aside first."""

    rows: Ints
    """(n_votes,) votes that count, as rows of the votes given."""
    turned: Ints
    """Rows that the fit reads the other way round, the most suspicious as they were cast first."""
    share: float
    """What the fit chose: a share of the votes, or in the paper of the edges."""
    n_aside: int
    """Votes that the fit set aside: the first of `rows`."""
    last: Ints
    """(n_steps + 1,) votes set aside with the first 0, 1, 2 ... votes, or in the paper edges."""

    def count(self, share: float) -> int:
        """How many votes a share sets aside: the first of `rows`."""
        if share == self.share:
            return self.n_aside
        n_steps = self.last.size - 1
        return int(self.last[min(int(share * n_steps + 1e-9), n_steps)])


def aside_order(ranker: Ranker) -> AsideOrder:
    """In which order a fit would set its votes aside.

    The default sets aside the votes of groups that act together, where these do not count, and then
    votes by how suspicious they are as they are read; ties never are. The
    paper takes whole edges by their entry: beyond the share that its path was followed to, by what
    is left of them there, which is the order in which they would enter if nothing else moved.
    """
    evidence = ranker.evidence
    if evidence is None:
        raise UrlrError(message("no_votes_in_file"))
    if isinstance(evidence, PathEvidence):
        return _of_edges(evidence, ranker.facts.rate)
    return _of_votes(evidence, ranker.facts.rate)


def _of_votes(evidence: LinkEvidence, share: float) -> AsideOrder:
    place = evidence.ballots.place.astype(np.int64)
    as_read = np.where(evidence.turned, -1.0, 1.0) * evidence.suspicion
    order = evidence.order(as_read)
    n_able = np.count_nonzero(~evidence.ballots.tie | evidence.crowd.left_out)
    turned = np.flatnonzero(evidence.turned & ~evidence.set_aside)
    turned = turned[np.argsort(-evidence.suspicion[turned], kind="stable")]
    return AsideOrder(
        rows=place[order],
        turned=place[turned],
        share=share,
        n_aside=int(np.count_nonzero(evidence.set_aside)),
        last=np.minimum(np.arange(order.size + 1), n_able),
    )


def _of_edges(evidence: PathEvidence, share: float) -> AsideOrder:
    graph, order = evidence.graph, evidence.path.order
    step = np.empty(graph.n_edges, np.int64)
    step[order] = np.arange(graph.n_edges)
    rows = np.flatnonzero(graph.edge_of_row >= 0)
    rows = rows[np.argsort(step[graph.edge_of_row[rows]], kind="stable")]
    last = np.append(0, np.cumsum(graph.n_votes[order])).astype(np.int64)
    n_entered = evidence.path.n_entered
    if n_entered < int(share * graph.n_edges + 1e-9):  # no others can become outliers
        last = np.minimum(last, last[n_entered])
    return AsideOrder(
        rows=rows,
        turned=np.zeros(0, np.int64),
        share=share,
        n_aside=int(graph.n_votes[evidence.pruned].sum()),
        last=last,
    )
