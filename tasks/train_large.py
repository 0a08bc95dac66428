"""The work on an attribute of more votes than memory holds: part by part, in three passes.

The first pass looks over the votes and takes a sample (`large_votes.survey`), the second gathers
them into one graph, from which both fits are made, and the third writes a verdict on every vote.
Model, scores and verdicts are those that all votes at once would give. What needs votes themselves
in memory rests on the sample: tau, the comparison with rivals, and most of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tasks.findings import Findings, files_of, page_parts, recorded
from tasks.gather import Gathered, gather_features
from tasks.judging import Judgement, judgement_of
from tasks.large_votes import LargeVotes
from tasks.messages import message
from tasks.read import ReadError
from tasks.report.earlier import Earlier
from tasks.result_files import free_place, write_files
from tasks.results import Order, Result
from tasks.split import TRAIN, SplitRule, pair_parts, split_votes
from tasks.store import Store
from tasks.work import (
    Work,
    all_rows,
    check_rejected,
    key_of,
    other_result,
    truth_of,
    unusable,
)
from tasks.write import table_bytes
from urlr import FeatureError, Ranker, UrlrError, VoteError
from urlr.arrays import no_progress
from urlr.graph.comparisons import ComparisonGraph, graph_of
from urlr.graph.edge_votes import EdgeVotes, GatheredVotes, accounts_of, edges_only
from urlr.ids import positions
from urlr.paper.method import PaperFit, paper_fit
from urlr.sentence import Sentence
from urlr.space.table import FeatureTable, feature_table
from urlr.verdicts import EdgeVerdicts, PathEvidence
from urlr.votes.table import REPEATED, VoteTable, vote_table, without_repeats


@dataclass(frozen=True, slots=True)
class LargeWork:
    """What was read for an attribute, and what of it is not in memory."""

    votes: LargeVotes
    numbers: bool
    """Whether ids that are text are to be whole numbers, as the features have them."""
    table: FeatureTable | None
    work: Work
    """Of the sample."""

    def pieces(self) -> Iterator[VoteTable]:
        """All votes, some at a time."""
        known = None if self.table is None else self.table.items
        for piece in self.votes.pieces(numbers=self.numbers):
            yield vote_table(piece, known_items=known)


def prepared_large(order: Order, votes: LargeVotes) -> LargeWork:
    """The sample with the features of all items, split, and the key of what comes of all votes."""
    store = order.store
    parts = order.reduced or order.inputs.features
    named = pd.DataFrame({"winner": votes.items, "loser": votes.items})
    matched, features = gather_features(store, parts, named)
    is_whole = pd.api.types.is_integer_dtype
    numbers = is_whole(matched["winner"].dtype) and not is_whole(named["winner"].dtype)
    try:
        table = None if features is None else feature_table(features)
    except UrlrError as error:
        raise ReadError(error.sentence.at(store.address(parts[0].key))) from None
    sample = votes.as_numbers(votes.sample) if numbers else votes.sample
    read = vote_table(sample, known_items=None if table is None else table.items)
    rule = SplitRule(features is not None, order.item_share, order.pair_share)
    split = split_votes(read, **asdict(rule))
    key = key_of(order, features, votes.left_out, by_parts=True)
    gathered = Gathered(sample, votes.rows, votes.left_out, votes.newest, votes.times)
    work = Work(gathered, sample, features, read, rule, split, key)
    return LargeWork(votes, numbers, table, work)


def computed_by_parts(
    order: Order, large: LargeWork, before: Earlier | None, used: float
) -> Result:
    """Fit, judge, and write everything; verdicts, and rejected rows, as one object for a piece."""
    store, work = order.store, large.work
    try:
        gathered, first = _gathered(large)
        rows, reasons = all_rows(
            gathered.accounts.counts, gathered.accounts.reasons, large.votes.left_out
        )
        check_rejected(order, rows, gathered.accounts.rejections, first)
        found = paper_fit(gathered.graph, gathered.accounts, large.table, order.fit, no_progress)
    except (VoteError, FeatureError) as error:
        raise unusable(order, error) from None
    ranker = found.ranker
    truth = truth_of(order, ranker)
    edges = EdgeVerdicts.of(gathered.graph, found.path, found.pruned)
    seen = _of_sample(large, gathered, found, edges)
    scores = pd.Series(found.scores, gathered.graph.items)
    del found
    place = free_place(order)
    if place is None:
        return other_result(order, work)
    names = _write_verdicts(store, place, large, gathered, edges, scores)
    del edges
    graph = gathered.graph
    del gathered
    train = pair_parts(graph.items, graph.winner, graph.loser, work.rule) == TRAIN
    graph = edges_only(graph, train)
    del train
    judgement = _judged(order, large, graph)
    del graph
    facts = replace(ranker.facts, warnings=(*ranker.facts.warnings, *_remarks(large)))
    findings = Findings(
        served=ranker,
        told=replace(ranker, facts=facts, evidence=seen.evidence),
        judgement=judgement,
        votes=seen.evidence.votes,
        verdicts=seen.verdicts,
        rows=rows,
        reasons=reasons,
        truth=truth,
    )
    page = page_parts(order, work, findings, before)
    files = files_of(order, work, findings, page, {"scores": ranker.scores})
    write_files(store, place, files)
    return recorded(
        order, work, findings, page, place=place, files=files, more=tuple(names), used=used
    )


def _gathered(large: LargeWork) -> tuple[GatheredVotes, tuple[str, int] | None]:
    """The graph of all votes, and where the first rejected row lies."""
    gathering = EdgeVotes(large.votes.items if large.table is None else large.table.items)
    first = None
    for votes in large.pieces():
        gathering.add(votes)
        if first is None and votes.counts["rejected"]:
            row = votes.rejected.iloc[0]
            first = (str(row["dump"]), int(row["row"]))
    return gathering.gathered(), first


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the fit of all votes says of the sample."""

    evidence: PathEvidence
    verdicts: pd.DataFrame


def _of_sample(
    large: LargeWork, gathered: GatheredVotes, found: PaperFit, edges: EdgeVerdicts
) -> _Seen:
    """Evidence as of a fit of the sample alone, but that its edges stand where all votes put them.

    The order of the verdicts is that among all edges.
    """
    place = large.work.votes.index.to_numpy(np.int64)
    votes = without_repeats(large.work.table, gathered.reason[place] == REPEATED)
    edge_of_row = gathered.edge_of_row[place]
    graph = graph_of(votes)
    counts = graph.edge_of_row >= 0
    whole = np.empty(graph.n_edges, np.int64)
    whole[graph.edge_of_row[counts]] = edge_of_row[counts]
    path = replace(
        found.path,
        entry=found.path.entry[whole],
        side=found.path.side[whole],
        residual=found.path.residual[whole],
    )
    scores = found.scores[positions(gathered.graph.items, votes.items)]
    table = edges.table(votes, edge_of_row, scores, numbers=votes.frame.index)
    return _Seen(
        PathEvidence(votes, graph, path, found.pruned[whole], scores), _with_origin(table, votes)
    )


def _write_verdicts(
    store: Store,
    place: str,
    large: LargeWork,
    gathered: GatheredVotes,
    edges: EdgeVerdicts,
    scores: pd.Series[Any],
) -> list[str]:
    """Write a verdict on every vote, and the rows that were rejected; name the objects."""
    names = []
    start = 0
    by_item = scores.to_numpy(np.float64)
    items = pd.Index(scores.index)
    for number, read in enumerate(large.pieces(), start=1):
        stop = start + len(read.status)
        votes = without_repeats(read, gathered.repeated(start, stop))
        own = np.append(by_item, np.nan)[positions(items, votes.items)]
        index = votes.frame.index
        table = edges.table(votes, gathered.edge_of_row[start:stop], own, numbers=index)
        tables = {"verdicts": _with_origin(table, votes)}
        if votes.counts["rejected"]:
            rejected = votes.rejected
            if "vote_id" not in rejected:  # the row number, as in the verdicts
                rejected.insert(0, "vote_id", rejected.index)
            tables["rejected"] = rejected
        for kind, rows in tables.items():
            name = f"{kind}/part-{number:05}.parquet"
            store.create(f"{place}/{name}", table_bytes(rows, name))
            names.append(name)
        start = stop
    return names


def _with_origin(verdicts: pd.DataFrame, votes: VoteTable) -> pd.DataFrame:
    return verdicts.assign(dump=votes.frame["dump"], row=votes.frame["row"])


def _judged(order: Order, large: LargeWork, graph: ComparisonGraph) -> Judgement:
    """Fit the judge to the graph of the train votes; judge it by the sample of the others."""
    work = large.work
    try:
        judge: Ranker = paper_fit(
            graph, accounts_of(graph), large.table, order.fit, no_progress
        ).ranker
    except (VoteError, FeatureError) as error:
        return Judgement(None, (), None, error.sentence)
    return judgement_of(judge, work.split, work.features, level=order.gate.confidence)


def _remarks(large: LargeWork) -> list[Sentence]:
    """What was done otherwise than with all votes in memory, in plain words."""
    n_votes, n_seen = large.votes.n_votes, len(large.work.votes)
    said = [message("read_by_parts", votes=n_votes)]
    if n_seen < n_votes:
        said.append(message("judged_by_sample", seen=n_seen))
    return said
