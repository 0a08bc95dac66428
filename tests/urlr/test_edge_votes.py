"""Votes gathered piece by piece, against the same votes read at once."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from urlr import VoteError
from urlr.graph.comparisons import graph_of
from urlr.graph.edge_votes import EdgeVotes, accounts_of, edges_only
from urlr.simulate import crowd
from urlr.votes.table import VoteTable, vote_table, without_repeats


def in_pieces(votes: pd.DataFrame, size: int, known: pd.Index) -> EdgeVotes:
    gathering = EdgeVotes(known)
    for start in range(0, len(votes), size):
        gathering.add(vote_table(votes.iloc[start : start + size], known_items=known))
    return gathering


def assert_same_graph(one, other):
    assert one.items.tolist() == other.items.tolist()
    for name in ("winner", "loser", "weight", "target", "n_votes"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


ROW = st.fixed_dictionaries(
    {
        "item_a": st.sampled_from(["x", "y", "z", "nobody", "", None]),
        "item_b": st.sampled_from(["x", "y", "z", None]),
        "outcome": st.sampled_from(["a", "b", "tie", "skip", "?"]),
        "weight": st.sampled_from([1.0, 0.1, 0.3, 0.0, -1.0]),
        "vote_id": st.sampled_from(["1", "2", "3", "4", "5", None]),
    }
)
NUMBERED = ROW.map(lambda row: row | {"vote_id": int(row["vote_id"] or 7)})


@given(rows=st.lists(ROW, min_size=1, max_size=12) | st.lists(NUMBERED, min_size=1, max_size=12))
def test_pieces_give_the_graph_and_the_accounts_of_the_whole(rows):
    """Repeated ids too, whichever pieces they lie in; weights add up to the last bit."""
    votes = pd.DataFrame(rows)
    known = pd.Index(["z", "y", "x"])
    whole = vote_table(votes, known_items=known)
    found = in_pieces(votes, 3, known).gathered()
    if whole.counts["used"] + whole.counts["ties"] == 0:
        assert found.graph.n_edges == 0
    else:
        expected = graph_of(whole)
        assert_same_graph(found.graph, expected)
        assert found.edge_of_row.tolist() == expected.edge_of_row.tolist()
    assert found.reason.tolist() == whole.reason.tolist()
    accounts = found.accounts
    assert accounts.counts == whole.counts
    assert accounts.reasons == whole.reasons
    assert accounts.rejections == whole.rejections
    first = vote_table(votes.head(3), known_items=known)
    cut = without_repeats(first, found.repeated(0, 3))
    assert cut.status.tolist() == whole.status[:3].tolist()
    assert cut.reason.tolist() == whole.reason[:3].tolist()


def test_some_edges_give_the_graph_of_their_votes_alone():
    made = crowd(rng=np.random.default_rng(1), n_items=12, n_features=2, n_votes=300, ties=0.2)
    whole = vote_table(made.votes)
    graph = graph_of(whole)
    edges = graph.winner + graph.loser < 9
    alone = vote_table(pd.DataFrame(made.votes[edges[graph.edge_of_row]]))
    assert len(alone.items) < len(whole.items)
    assert_same_graph(edges_only(graph, edges), graph_of(alone))
    assert accounts_of(edges_only(graph, edges)).counts == alone.counts


def read(ids: list) -> VoteTable:
    return vote_table(pd.DataFrame({"winner": "x", "loser": "y", "vote_id": ids}))


def test_ids_of_two_types_are_refused():
    gathering = EdgeVotes(pd.Index(["x", "y"]))
    gathering.add(read([1, 2]))
    with refused(VoteError, "vote_ids_of_two_types"):
        gathering.add(read(["3", "4"]))
