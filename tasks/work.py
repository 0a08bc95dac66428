"""The work on one attribute as far as it does not matter how its votes are read.

What was read, whether it was done before, and how it compares with what is or was champion.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tasks.discover import etags_of
from tasks.evaluate import (
    Comparison,
    OrderTau,
    VoteTau,
    compare,
    tau_between,
    tau_with_truth,
    tau_with_votes,
)
from tasks.feature_changes import FeatureChange, feature_change, without_known
from tasks.gather import Gathered, digest_of, gather_features, gather_truth, rows_of
from tasks.judging import own_scores, scores_of, unseen_votes
from tasks.messages import message
from tasks.other_nights import OtherIds
from tasks.read import ReadError, table_of, with_one_type
from tasks.report.earlier import SCORES, Earlier
from tasks.result_files import EXAMPLES, JUDGE, is_the_one, known_result
from tasks.results import RESULT, RESULTS, Order, Result, ResultError, Rival, Trained
from tasks.split import SALT, TRAIN, UNSEEN, Split, SplitRule, split_votes
from tasks.store import NotThere, Store
from tasks.write import table_bytes
from urlr import FeatureError, ModelFileError, Ranker, VoteError
from urlr.arrays import Mask
from urlr.ids import positions, read_ids
from urlr.model_file import model_from_bytes
from urlr.sentence import Sentence
from urlr.space.maps import FeatureMap
from urlr.votes.ballots import ballots_of
from urlr.votes.table import REASONS, REPEATED, VOTED, VoteTable

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
        "dumps": sorted(etags_of(inputs.dumps).items()),
        "features": digest_of(features),
        "shared": order.shared and order.shared.rpartition("/")[2],  # its version, not its place
        "settings": settings_digest(order),
        "left_out": left_out,
        "as_of": order.as_of.isoformat() if order.as_of and left_out else None,
        "truth": sorted(etags_of(inputs.truth).items()),
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
        judged=rivals.judged,
        moved=rivals.moved,
        known=rivals.known,
        met=rivals.met,
        merged=rivals.merged,
        lost_file=rivals.lost_file,
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
    judged: VoteTau | None = None
    alike: OrderTau | None = None
    new_items: Comparison | None = None
    suspect: tuple[Sentence, ...] = ()
    moved: tuple[Sentence, ...] = ()
    known: int = 0
    met: int = 0
    merged: int = 0
    lost_file: str | None = None


def _compared(order: Order, work: Work, place: str) -> _Rivals:
    """Compare the judge with those of the rivals, on tonight's unseen votes.

    A rival's items have the scores that it gave them when it was fitted. Where enough votes are on
    these, they decide; where not, items that are new to it have the scores that it gives them by
    tonight's features, unless these are suspect.
    """
    if not order.rivals:
        return _Rivals()
    items = work.table.items
    rivals = {rival: _judge_of(order, rival, items) for rival in order.rivals}
    lost = {rival: judge for rival, judge in rivals.items() if isinstance(judge, str)}
    found, earlier = _Rivals(lost=tuple(rival.version for rival in lost)), []
    found = replace(found, lost_file=next((lost[one] for one in lost if one.champion), None))
    ours = _judge_at(order, place, work.table.items)
    if isinstance(ours, str):
        return found
    scores = scores_of(ours.ranker, work.features)
    for rival, judge in rivals.items():
        if isinstance(judge, str):
            continue
        against = _Against.of(order, work, rival, judge)
        comparison, judged = against.compared(scores)
        if not rival.champion:
            earlier.append((rival.version, rival.nights_ago, comparison))
            continue
        known = pd.Index(against.known.index)
        found = replace(
            found,
            champion=comparison,
            judged=judged,
            alike=tau_between(scores, against.known),
            new_items=against.on_new_items(scores),
            suspect=against.suspect,
            moved=against.moved,
            known=len(known),
            met=int(np.count_nonzero(positions(work.table.items, known) >= 0)),
            merged=int(np.count_nonzero(judge.ids.merged)),
        )
    return replace(found, earlier=tuple(earlier))


@dataclass(frozen=True, slots=True)
class _Against:
    """What one rival says of tonight's unseen votes."""

    order: Order
    on_known: pd.DataFrame
    """The votes on items that it knew."""
    on_new: pd.DataFrame
    """The others."""
    known: pd.Series[Any]
    """Its scores of the items that it knew, when it was fitted."""
    every: pd.Series[Any]
    """The same, and those that it gives new items by tonight's features, unless suspect."""
    suspect: tuple[Sentence, ...]
    moved: tuple[Sentence, ...]

    @staticmethod
    def of(order: Order, work: Work, rival: Rival, judge: _Judge) -> _Against:
        votes = _unseen_by_both(work, judge)
        known = own_scores(judge.ranker)
        is_known = _all_among(votes, pd.Index(known.index))
        on_known, on_new = (pd.DataFrame(votes[mask]) for mask in (is_known, ~is_known))
        by_table = _scores_by_table(order, work, judge, votes)
        change = _feature_change(order, work, rival, judge, known, by_table)
        suspect, every = change.suspicions(order.gate), known
        if by_table is not None:
            every = pd.concat([known, without_known(by_table, pd.Index(known.index))])
        if by_table is not None and rival.champion:
            own = judge.ranker.scores
            by_features = own["item"][(own["n_votes"] == 0).to_numpy(np.bool_)]
            unvoted = on_known[~_all_among(on_known, pd.Index(known.index).difference(by_features))]
            suspect += _not_predicted(order, every, [pd.DataFrame(unvoted), on_known], on_new)
        if suspect:
            every = known
        return _Against(order, on_known, on_new, known, every, suspect, change.moved)

    def compared(self, scores: pd.Series[Any]) -> tuple[Comparison, VoteTau | None]:
        """The comparison that decides; and, if it is on a part of the votes, that on all."""
        whole = self._on(scores, pd.concat([self.on_known, self.on_new]))
        if self.every is self.known or not len(self.on_new):
            return whole, None
        part = self._on(scores, self.on_known)
        if part.difference.n_votes < self.order.gate.fewest_votes:
            return whole, None
        return part, whole.difference

    def on_new_items(self, scores: pd.Series[Any]) -> Comparison | None:
        return self._on(scores, self.on_new) if len(self.on_new) else None

    def _on(self, scores: pd.Series[Any], votes: pd.DataFrame) -> Comparison:
        rng = np.random.default_rng(self.order.fit.seed)
        return compare(scores, self.every, votes, level=self.order.gate.confidence, rng=rng)


def _all_among(votes: pd.DataFrame, known: pd.Index[Any]) -> Mask:
    """Votes whose items are all among these."""
    names = [name for name in VOTED if name in votes]
    every = [positions(known, read_ids(votes[name]).values) >= 0 for name in names]
    return np.asarray(np.all(every, axis=0), np.bool_)


def _not_predicted(
    order: Order, scores: pd.Series[Any], known: list[pd.DataFrame], new: pd.DataFrame
) -> tuple[Sentence, ...]:
    """Whether a champion predicts votes on new items far worse than others, or against chance.

    It knows new items by their features alone, so that it is compared with itself on known items
    that it had no votes on; where these have too few votes tonight, on all that it knew.
    """
    rng, level = np.random.default_rng(order.fit.seed), order.gate.confidence
    enough = [votes for votes in (*known, new) if len(votes) >= order.gate.fewest_votes]
    if not enough or enough[-1] is not new:
        return ()
    tau, before = (
        tau_with_votes(scores, votes, level=level, rng=rng).deciding for votes in (new, enough[0])
    )
    if tau is None or before is None:
        return ()
    if len(enough) > 1 and before.value > 0 and tau.high < before.value / 2:
        said = message(
            "new_items_not_predicted", count=len(new), tau=tau.value, before=before.value
        )
        return (said,)
    if tau.high < 0:
        return (message("new_items_against_chance", count=len(new), tau=tau.value),)
    return ()


def _feature_change(
    order: Order,
    work: Work,
    rival: Rival,
    judge: _Judge,
    known: pd.Series[Any],
    by_table: pd.Series[Any] | None,
) -> FeatureChange:
    """How tonight's features differ from those that a rival was fitted on."""
    if judge.ranker.feature_map is None:
        return FeatureChange((), (), None)
    if work.features is None:
        return FeatureChange((message("features_gone"),), (), None)
    same = None if by_table is None else tau_between(by_table, known)
    if not rival.champion:  # columns are compared with the champion's alone: tables are large
        return FeatureChange((), (), same)
    store, key = order.store, f"{rival.place}/{EXAMPLES}"
    try:
        before = table_of(store.read(key), store.address(key))
    except (NotThere, ReadError):
        return FeatureChange((), (), same)
    tonight, every = work.features, pd.Index(known.index)
    if order.reduced:
        tonight = rows_of(store, order.inputs.features, pd.Index(before["item"]), len(before))
        every = None
    if tonight.empty:
        return FeatureChange((), (), same)
    before = OtherIds.of(pd.Index(before["item"]), read_ids(tonight["item"]).values).renamed(before)
    return feature_change(before, tonight, same, every)


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge from the store, and the transform its features go through first."""

    ranker: Ranker
    shared: str | None
    other: FeatureMap | None
    """That transform, where it is not tonight's."""
    rule: SplitRule
    """By which votes were kept from it."""
    ids: OtherIds
    """Its items, which have tonight's names in the ranker."""


def _unseen_by_both(work: Work, judge: _Judge) -> pd.DataFrame:
    """Tonight's votes that neither judge has learnt from; they may have been split otherwise."""
    items = work.table.items
    then = judge.ids.names(items)
    if judge.rule == work.rule and (then == items).all():
        return unseen_votes(work.split)
    split = split_votes(replace(work.table, items=then), **asdict(judge.rule))
    unknown = positions(judge.ids.as_tonight.unique(), items) < 0
    is_new = unknown[work.table.winner] | unknown[work.table.loser]  # it has no votes on them
    part = np.where(is_new & (split.part == TRAIN), np.int8(UNSEEN), split.part)
    return work.split.kept_from_both(replace(split, part=part))


def _judge_of(order: Order, rival: Rival, items: pd.Index[Any]) -> _Judge | str:
    """The judge of a rival with tonight's ids, or the key of the file that is gone or damaged.

    Raises
    ------
    ReadError
        The champion's record cannot be read.
    """
    try:
        return _judge_at(order, rival.place, items)
    except ResultError as error:
        if not rival.champion:
            return f"{rival.place}/{RESULT}"
        damaged = message("champion_record_damaged", version=rival.version, why=error.sentence)
    raise ReadError(damaged)


def _judge_at(order: Order, place: str, items: pd.Index[Any]) -> _Judge | str:
    """The judge of results, with tonight's ids, or the key of the file that it lacks."""
    store = order.store
    where, about = f"{place}/{JUDGE}", f"{place}/{RESULT}"
    looked_at = where
    try:
        data = store.read(where)
        looked_at = about
        result = RESULTS.from_bytes(store.read(about), store.address(about))
        looked_at = where
        if not is_the_one(data, JUDGE, result):
            return where
        ranker = model_from_bytes(data, name=store.address(where))
        looked_at = f"{result.shared}/transform.npz"
        other = None if result.shared == order.shared else shared_map(store, result.shared)
    except (NotThere, ModelFileError):  # gone, damaged, or of another urlr
        return looked_at
    ids = OtherIds.of(pd.Index(ranker.scores["item"]), items)
    ranker = replace(ranker, scores=ids.renamed(ranker.scores, ["score", "effect"]))
    return _Judge(ranker, result.shared, other, result.split, ids)


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
    ids = OtherIds.of(pd.Index(before.scores["item"]), pd.Index(tonight.index))
    earlier = ids.renamed(before.scores, ["score"])
    return tau_between(tonight, earlier.set_index("item")["score"])


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
    rows = work.features
    if order.reduced:
        rows = rows_of(order.store, order.inputs.features, work.table.items, _N_EXAMPLES)
    return table_bytes(rows.head(_N_EXAMPLES), EXAMPLES)


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
