"""The work on one attribute as far as it does not matter how its votes are read.

What was read, whether it was done before, and how it compares with what is or was champion.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tasks.evaluate import Comparison, OrderTau, compare, tau_between, tau_with_truth
from tasks.feature_changes import FeatureChange, feature_change, without_known
from tasks.gather import Gathered, digest_of, first_rows, gather_features, gather_truth
from tasks.judging import own_scores, scores_of, unseen_votes
from tasks.messages import message
from tasks.read import VOTED, ReadError, table_of, with_one_type
from tasks.report.earlier import SCORES, Earlier
from tasks.result_files import EXAMPLES, JUDGE, is_the_one, known_result
from tasks.results import RESULT, RESULTS, Order, Result, ResultError, Rival, Trained
from tasks.split import SALT, Split, SplitRule, split_votes
from tasks.store import NotThere, Store
from tasks.write import table_bytes
from urlr import FeatureError, ModelFileError, Ranker, VoteError
from urlr.ballots import ballots_of
from urlr.ids import positions, read_ids
from urlr.model_file import model_from_bytes
from urlr.sentence import Sentence
from urlr.spaces import FeatureMap
from urlr.votes import REASONS, REPEATED, VoteTable

_N_EXAMPLES = 200


@dataclass(frozen=True, slots=True)
class Work:
    """What was read for an attribute."""

    gathered: Gathered
    votes: pd.DataFrame
    features: pd.DataFrame | None
    """What is fitted on: the features, reduced if they are shared."""
    table: VoteTable
    rule: SplitRule
    split: Split
    key: str


def settings_digest(order: Order) -> str:
    """Digest of all settings that results depend on."""
    plain = {
        "fit": asdict(order.fit),
        "item_share": order.item_share,
        "pair_share": order.pair_share,
        "salt": SALT,
        "confidence": order.gate.confidence,
        "method": order.method_version,
    }
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def key_of(
    order: Order, features: pd.DataFrame | None, left_out: dict[str, int], **further: bool
) -> str:
    """Same key, same results; features are those of the voted items."""
    inputs = order.inputs
    plain = {
        "dumps": sorted((dump.key, dump.etag) for dump in inputs.dumps),
        "features": digest_of(features),
        "shared": order.shared and order.shared.rpartition("/")[2],  # its version, not its place
        "settings": settings_digest(order),
        "left_out": left_out,
        "as_of": order.as_of.isoformat() if order.as_of and left_out else None,
        "truth": sorted((part.key, part.etag) for part in inputs.truth),
    }
    return hashlib.sha256(json.dumps(plain | further, sort_keys=True).encode()).hexdigest()


def trained(
    order: Order, work: Work, result: Result, before: Earlier | None, *, reused: bool
) -> Trained:
    """What is sent back about a result: how it compares with its rivals, and what is new."""
    rivals = _compared(order, work, result.place)
    return Trained(
        result,
        reused,
        rivals.champion,
        rivals.earlier,
        rivals.lost,
        change=_change(order.store, result.place, before),
        new_votes=None if before is None else _n_votes(result) - before.n_votes,
        new_people=_n_new_people(work.table, before),
        alike=rivals.alike,
        new_items=rivals.new_items,
        suspect=rivals.suspect,
    )


def other_result(order: Order, work: Work) -> Result:
    """The result of an attempt that was thought dead and has ended before this one."""
    found = known_result(order, work.key)
    if found is None:
        raise ReadError(message("other_results_there", path=order.store.address(order.place)))
    return found


def all_rows(
    counts: dict[str, int], reasons: dict[str, int], left_out: dict[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Every row of every dump by what became of it, and by why it does not count."""
    n_left_out = sum(left_out.values())
    rows = counts | {name: counts[name] + n_left_out for name in ("read", "skipped")}
    return rows, reasons | left_out


def check_rejected(
    order: Order,
    rows: dict[str, int],
    rejections: dict[str, int],
    first: tuple[str, int] | None,
) -> None:
    """Refuse where too many rows are rejected; the first lies in a dump, at a row."""
    most = order.most_rejected
    allowed, rejected = most * rows["read"], rows["rejected"]
    lost = rejected - rejections.get(REASONS[REPEATED], 0)  # what came twice counts once
    if first is None or most == 1.0 or (rejected <= allowed and lost < max(allowed, 1)):
        return
    worst = max(rejections, key=rejections.__getitem__)
    raise ReadError(
        message(
            "too_many_rejected",
            rejected=rows["rejected"],
            rows=rows["read"],
            reason=worst,
            count=rejections[worst],
            row=first[1],
            path=order.store.address(first[0]),
            most=most,
        )
    )


def truth_of(order: Order, ranker: Ranker) -> OrderTau | None:
    """How well the scores served order the items as the truth does."""
    truth = gather_truth(order.store, order.inputs.truth)
    if truth is None:
        return None
    scores, truth = with_one_type([(ranker.scores, ["item"]), (truth, ["item"])])
    try:
        return tau_with_truth(scores.set_index("item")["score"], truth)
    except VoteError as error:
        where = order.store.address(order.inputs.truth[0].key)
        raise ReadError(error.sentence.at(where)) from None


@dataclass(frozen=True, slots=True)
class _Rivals:
    """How the judge compares with those of the rivals; fields as in `Trained`."""

    champion: Comparison | None = None
    earlier: tuple[tuple[int, int, Comparison], ...] = ()
    lost: tuple[int, ...] = ()
    alike: OrderTau | None = None
    new_items: Comparison | None = None
    suspect: tuple[Sentence, ...] = ()


def _compared(order: Order, work: Work, place: str) -> _Rivals:
    """Hold the judge against those of the rivals, on tonight's unseen votes.

    A rival's items have the scores that it gave them when it was fitted. Items that are new to it
    have those of tonight's features, unless these are suspect.
    """
    if not order.rivals:
        return _Rivals()
    rivals = {rival: _judge_of(order, rival) for rival in order.rivals}
    lost = tuple(rival.version for rival, judge in rivals.items() if judge is None)
    ours = _judge_at(order, place)
    if ours is None:
        return _Rivals(lost=lost)
    scores = scores_of(ours.ranker, work.features)
    found, earlier = _Rivals(lost=lost), []
    compared = partial(compare, level=order.gate.confidence)
    for rival, judge in rivals.items():
        if judge is None:
            continue
        votes = _unseen_by_both(work, judge)
        known = own_scores(judge.ranker)
        by_table = _scores_by_table(order, work, judge, votes)
        suspect = _suspicions(order, work, rival, judge, known, by_table)
        theirs = known
        if by_table is not None and not suspect:
            theirs = pd.concat([known, without_known(by_table, pd.Index(known.index))])
        comparison = compared(scores, theirs, votes, rng=np.random.default_rng(order.fit.seed))
        if not rival.champion:
            earlier.append((rival.version, rival.nights_ago, comparison))
            continue
        new = _on_others(votes, pd.Index(known.index))
        rng = np.random.default_rng(order.fit.seed)
        found = replace(
            found,
            champion=comparison,
            alike=None if suspect else tau_between(scores, theirs),
            new_items=compared(scores, theirs, new, rng=rng) if len(new) else None,
            suspect=suspect,
        )
    return replace(found, earlier=tuple(earlier))


def _on_others(votes: pd.DataFrame, known: pd.Index[Any]) -> pd.DataFrame:
    """Votes on items that are not all known."""
    names = [name for name in VOTED if name in votes]
    every = [positions(known, read_ids(votes[name]).values) >= 0 for name in names]
    return pd.DataFrame(votes[~np.all(every, axis=0)])


def _suspicions(
    order: Order,
    work: Work,
    rival: Rival,
    judge: _Judge,
    known: pd.Series[Any],
    by_table: pd.Series[Any] | None,
) -> tuple[Sentence, ...]:
    """Why tonight's features cannot be used to score what a rival does not know; else nothing."""
    if judge.ranker.feature_map is None:
        return ()
    if work.features is None:
        return (message("features_gone"),)
    same = None if by_table is None else tau_between(by_table, known)
    if not rival.champion:  # the columns are held against the champion's alone: tables are large
        return FeatureChange((), (), same).suspicions(order.gate)
    store, key = order.store, f"{rival.place}/{EXAMPLES}"
    try:
        before = table_of(store.read(key), store.address(key))
    except (NotThere, ReadError):
        return FeatureChange((), (), same).suspicions(order.gate)
    tonight = _raw_features(order, work)
    before, tonight = with_one_type([(before, ["item"]), (tonight, ["item"])])
    return feature_change(before, tonight, same).suspicions(order.gate)


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge from the store, and the transform its features go through first."""

    ranker: Ranker
    shared: str | None
    other: FeatureMap | None
    """That transform, where it is not tonight's."""
    rule: SplitRule
    """By which votes were kept from it."""


def _unseen_by_both(work: Work, judge: _Judge) -> pd.DataFrame:
    """Tonight's votes that neither judge has learnt from; they may have been split otherwise."""
    if judge.rule == work.rule:
        return unseen_votes(work.split)
    return work.split.kept_from_both(split_votes(work.table, **asdict(judge.rule)))


def _judge_of(order: Order, rival: Rival) -> _Judge | None:
    """The judge of a rival, None if it is gone or damaged.

    Raises
    ------
    ReadError
        The champion's record cannot be read.
    """
    try:
        return _judge_at(order, rival.place)
    except ResultError as error:
        if not rival.champion:
            return None
        damaged = message("champion_record_damaged", version=rival.version, why=error.sentence)
    raise ReadError(damaged)


def _judge_at(order: Order, place: str) -> _Judge | None:
    store = order.store
    where, about = f"{place}/{JUDGE}", f"{place}/{RESULT}"
    try:
        data = store.read(where)
        result = RESULTS.from_bytes(store.read(about), store.address(about))
        if not is_the_one(data, JUDGE, result):
            return None
        ranker = model_from_bytes(data, name=store.address(where))
        other = None if result.shared == order.shared else shared_map(store, result.shared)
    except (NotThere, ModelFileError):  # gone, damaged, or of another urlr
        return None
    return _Judge(ranker, result.shared, other, result.split)


def _scores_by_table(
    order: Order, work: Work, judge: _Judge, votes: pd.DataFrame
) -> pd.Series[Any] | None:
    """What a judge says by tonight's features; None where it has none, or they lack its columns."""
    if judge.ranker.feature_map is None or work.features is None:
        return None
    try:
        if judge.shared == order.shared:
            return scores_of(judge.ranker, work.features)
        # It was made when features were reduced otherwise, or not: it needs them raw.
        _, raw = gather_features(order.store, order.inputs.features, votes)
        return scores_of(behind(judge.ranker, judge.other), raw)
    except FeatureError:
        return None


def _change(store: Store, place: str, before: Earlier | None) -> OrderTau | None:
    """How alike the scores order the items as those of the last results did."""
    if before is None:
        return None
    key = f"{place}/{SCORES}"
    tonight = table_of(store.read(key), store.address(key)).set_index("item")["score"]
    return tau_between(tonight, before.scores.set_index("item")["score"])


def _n_new_people(votes: VoteTable, before: Earlier | None) -> int | None:
    if before is None or before.people is None:
        return None
    return len({str(name) for name in ballots_of(votes).names} - before.people)


def _n_votes(result: Result) -> int:
    return result.rows["used"] + result.rows["ties"]


def example_rows(order: Order, work: Work, ranker: Ranker) -> bytes:
    """A few items, with raw features if it has any, to be scored when a version is read back."""
    items = pd.DataFrame({"item": ranker.scores["item"].head(_N_EXAMPLES)})
    if work.features is None:
        return table_bytes(items, EXAMPLES)
    return table_bytes(_raw_features(order, work).head(_N_EXAMPLES), EXAMPLES)


def _raw_features(order: Order, work: Work) -> pd.DataFrame:
    """The features as they came; of a table that is reduced for all attributes the first rows."""
    assert work.features is not None
    if order.reduced:
        return first_rows(order.store, order.inputs.features[0], _N_EXAMPLES)
    return work.features


def shared_map(store: Store, key: str | None) -> FeatureMap | None:
    """The transform that all features were reduced by, if they were."""
    if key is None:
        return None
    from tasks.shared_features import read_shared

    return read_shared(store, key)


def behind(ranker: Ranker, shared: FeatureMap | None) -> Ranker:
    """The ranker for features as they are before such a transform."""
    return ranker if shared is None else ranker.behind(shared)


def unusable(order: Order, error: VoteError | FeatureError) -> ReadError:
    """What is wrong with the votes or the features, and where they lie."""
    store, inputs = order.store, order.inputs
    if isinstance(error, VoteError):
        folder = inputs.dumps[0].key.rpartition("/")[0]
        where = message("dumps_of", path=store.address(folder), count=len(inputs.dumps))
        return ReadError(error.sentence.at(where))
    table = (*inputs.features, *inputs.dumps)[0]  # some settings need features there are not
    return ReadError(error.sentence.at(store.address(table.key)))
