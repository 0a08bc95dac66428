"""The work on one attribute, a plain function for a worker: read, judge, fit, write, compare.

Two fits. The *judge* learns from the train votes alone and is what the gate compares, on votes that
no judge has seen; the *ranker* learns from all votes and is what is served.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from functools import partial

import pandas as pd
from threadpoolctl import threadpool_limits

import urlr
from tasks.discover import check_formats
from tasks.findings import Findings, files_of, page_parts, recorded
from tasks.gather import Gathered, gather_features, gather_votes
from tasks.judging import judged_by
from tasks.large_votes import LargeVotes, survey
from tasks.messages import message
from tasks.read import ReadError
from tasks.report.earlier import Earlier, earlier_results
from tasks.result_files import known_result, written
from tasks.results import Order, Result, Trained
from tasks.row_counts import counted_rows, is_by_parts
from tasks.split import SplitRule, split_votes
from tasks.train_large import computed_by_parts, prepared_large
from tasks.work import (
    Work,
    all_rows,
    check_rejected,
    key_of,
    other_result,
    trained,
    truth_of,
    unusable,
)
from tasks.write import result_tables
from urlr import FeatureError, Ranker, UrlrError, VoteError
from urlr.space.table import feature_table
from urlr.votes.table import vote_table


def train(order: Order) -> Trained:
    """Do all that one attribute needs, or find it done, and compare it with its rivals.

    Raises
    ------
    UrlrError
        The votes or features cannot be used; the text is one line that names the object.
    """
    used = time.process_time()
    store, inputs = order.store, order.inputs
    with threadpool_limits(limits=1):
        check_formats(inputs, store, error=ReadError)
        votes = _read(order, counted_rows(order))
        try:
            return _trained(order, votes, used)
        except ReadError as error:
            unused = UnusedVotes(error.sentence)
    unused.n_rows = sum(votes.rows.values())
    raise unused


class UnusedVotes(ReadError):  # noqa: N818 - says what became of them
    """All dumps were read, and no ranking comes of them; the text says why and what to do."""

    n_rows: int = 0
    """Rows in them."""


def _read(order: Order, n_rows: int) -> Gathered | LargeVotes:
    """All votes, or a look at them where they are too many to be had at once."""
    inputs = order.inputs
    name, as_of = inputs.attribute, order.as_of
    if is_by_parts(order, n_rows):
        return survey(order.store, inputs.dumps, attribute=name, as_of=as_of, n_rows=n_rows)
    return gather_votes(order.store, inputs.dumps, attribute=name, as_of=as_of)


def _trained(order: Order, votes: Gathered | LargeVotes, used: float) -> Trained:
    n_left_out = sum(votes.left_out.values())
    if order.as_of is not None and n_left_out == sum(votes.rows.values()) > 0:
        early = message("no_vote_so_early", as_of=order.as_of, reasons=votes.left_out)
        raise unusable(order, VoteError(early))
    if isinstance(votes, LargeVotes):
        large = prepared_large(order, votes)
        work, compute = large.work, partial(computed_by_parts, order, large)
    else:
        work = _prepared(order, votes)
        compute = partial(_computed, order, work)
    result = known_result(order, work.key)
    reused = result is not None
    place = order.place if result is None else result.place
    before = earlier_results(order.store, order.before, but=place)
    if before is not None and isinstance(votes, LargeVotes):
        before = replace(before, people=None)  # a sample would miss most of them
    if result is None:
        result = compute(before, used)
    return trained(order, work, result, before, reused=reused)


def _prepared(order: Order, gathered: Gathered) -> Work:
    """The votes with their features, split, and the key of what comes of them."""
    store, inputs = order.store, order.inputs
    parts = order.reduced or inputs.features
    votes, features = gather_features(store, parts, gathered.votes)
    try:
        known = None if features is None else feature_table(features).items
    except UrlrError as error:
        raise ReadError(error.sentence.at(store.address(parts[0].key))) from None
    table = vote_table(votes, known_items=known, ties=order.fit.ties)
    rule = SplitRule(features is not None, order.item_share, order.pair_share)
    split = split_votes(table, **asdict(rule))
    key = key_of(order, features, gathered.left_out)
    return Work(gathered, votes, features, table, rule, split, key)


def _computed(order: Order, work: Work, before: Earlier | None, used: float) -> Result:
    rows, reasons = _accounts(order, work)
    try:
        judgement = judged_by(work.split, work.features, order.fit, level=order.gate.confidence)
        ranker = urlr.fit(work.votes, work.features, **asdict(order.fit))
    except (VoteError, FeatureError) as error:
        raise unusable(order, error) from None
    found = Findings(
        served=ranker,
        told=ranker,
        judgement=judgement,
        votes=work.table,
        verdicts=_verdicts(work, ranker),
        rows=rows,
        reasons=reasons,
        truth=truth_of(order, ranker),
    )
    page = page_parts(order, work, found, before)
    tables = result_tables(ranker) | {"verdicts": found.verdicts}
    files = files_of(order, work, found, page, tables)
    place = written(order, files)
    if place is None:
        return other_result(order, work)
    return recorded(order, work, found, page, place=place, files=files, used=used)


def _accounts(order: Order, work: Work) -> tuple[dict[str, int], dict[str, int]]:
    """Every row of every dump by what became of it; refuses where too many are rejected."""
    table = work.table
    rows, reasons = all_rows(table.counts, table.reasons, work.gathered.left_out)
    first = table.rejected.head(1)
    where = None if first.empty else (str(first["dump"].iloc[0]), int(first["row"].iloc[0]))
    check_rejected(order, rows, table.rejections, where)
    return rows, reasons


def _verdicts(work: Work, ranker: Ranker) -> pd.DataFrame:
    """A verdict on every vote, and where the vote came from."""
    return ranker.verdicts.assign(dump=work.votes["dump"], row=work.votes["row"])
