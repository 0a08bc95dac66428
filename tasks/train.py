"""The work on one attribute, a plain function for a worker: read, judge, fit, write, compare.

Two fits. The *judge* learns from the train votes alone and is what the gate compares, on votes that
no judge has seen; the *ranker* learns from all votes and is what is served.
"""

from __future__ import annotations

import hashlib
import json
import resource
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import urlr
from tasks.discover import check_formats, etags_of
from tasks.evaluate import (
    Comparison,
    OrderTau,
    compare,
    tau_between,
    tau_with_truth,
)
from tasks.gather import (
    Gathered,
    digest_of,
    first_rows,
    gather_features,
    gather_truth,
    gather_votes,
)
from tasks.judging import judged_by, own_scores, scores_of, unseen_votes
from tasks.plots import path_plot, path_table, ranking_plot
from tasks.read import ReadError, table_of, with_one_type
from tasks.report.attribute_page import vote_parts
from tasks.report.columns import left_share
from tasks.report.earlier import SCORES, Earlier, earlier_results
from tasks.report.evidence import Fitted, page_of
from tasks.report.page_file import PAGE, PAGES
from tasks.results import RESULT, RESULTS, Order, Result, ResultError, Trained
from tasks.shift import busiest_of
from tasks.split import SALT, Split, SplitRule, split_votes
from tasks.store import Exists, NotThere, Store
from tasks.together import together
from tasks.write import result_tables, table_bytes
from urlr import FeatureError, ModelFileError, Ranker, UrlrError, VoteError
from urlr.ballots import ballots_of
from urlr.features import feature_table
from urlr.ids import plural
from urlr.model_file import model_bytes, model_from_bytes
from urlr.spaces import FeatureMap
from urlr.votes import VoteTable, vote_table

JUDGE, MODEL, EXAMPLES = "judge.npz", "model.npz", "examples.parquet"

_N_EXAMPLES = 20
_MOST_ATTEMPTS = 4
"""Twice as often as a night tries."""
_MOST_GROUPS = 5
"""Groups of people that the record of a night tells of; the page has all."""


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
        gathered = gather_votes(store, inputs.dumps, attribute=inputs.attribute, as_of=order.as_of)
        try:
            return _trained(order, gathered, used)
        except ReadError as error:
            unused = UnusedVotes(str(error))
    unused.n_rows = sum(gathered.rows.values())
    raise unused


class UnusedVotes(ReadError):  # noqa: N818 - says what became of them
    """All dumps were read, and no ranking comes of them; the text says why and what to do."""

    n_rows: int = 0
    """Rows in them."""


def _trained(order: Order, gathered: Gathered, used: float) -> Trained:
    work = _prepared(order, gathered)
    result = _known_result(order, work.key)
    reused = result is not None
    place = order.place if result is None else result.place
    before = earlier_results(order.store, order.before, but=place)
    if result is None:
        result = _computed(order, work, before, used)
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
    )


@dataclass(frozen=True, slots=True)
class _Work:
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


def _prepared(order: Order, gathered: Gathered) -> _Work:
    """The votes with their features, split, and the key of what comes of them."""
    store, inputs = order.store, order.inputs
    parts = order.reduced or inputs.features
    votes, features = gather_features(store, parts, gathered.votes)
    try:
        known = None if features is None else feature_table(features).items
    except UrlrError as error:
        raise ReadError(f"{store.address(parts[0].key)}: {error}") from None
    table = vote_table(votes, known_items=known, ties=order.fit.ties)
    rule = SplitRule(features is not None, order.item_share, order.pair_share)
    split = split_votes(table, **asdict(rule))
    plain = {
        "dumps": sorted((dump.key, dump.etag) for dump in inputs.dumps),
        "features": digest_of(features),
        "shared": order.shared and order.shared.rpartition("/")[2],  # its version, not its place
        "settings": settings_digest(order),
        "left_out": gathered.left_out,
        "as_of": order.as_of.isoformat() if order.as_of and gathered.left_out else None,
        "truth": sorted((part.key, part.etag) for part in inputs.truth),
    }
    key = hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    return _Work(gathered, votes, features, table, rule, split, key)


def _known_result(order: Order, key: str) -> Result | None:
    """The result of this key, if it was computed before."""
    known = order.known.get(key)
    for place in (known, *_places(order)):  # the latter: an attempt that died at its end
        if place is None:
            continue
        where = f"{place}/{RESULT}"
        try:
            result = RESULTS.from_bytes(order.store.read(where), order.store.address(where))
        except (NotThere, ResultError):  # gone, or of another version of urlr
            continue
        if result.key == key:
            return result
    return None


def _computed(order: Order, work: _Work, before: Earlier | None, used: float) -> Result:
    store, inputs = order.store, order.inputs
    rows, reasons = _accounts(order, work)
    try:
        judgement = judged_by(work.split, work.features, order.fit, level=order.gate.confidence)
        ranker = urlr.fit(work.votes, work.features, **asdict(order.fit))
    except VoteError as error:
        folder = inputs.dumps[0].key.rpartition("/")[0]
        dumps = plural(len(inputs.dumps), "dump")
        raise ReadError(f"{store.address(folder)} ({dumps}): {error}") from None
    except FeatureError as error:
        table = (*inputs.features, *inputs.dumps)[0]  # some settings need features there are not
        raise ReadError(f"{store.address(table.key)}: {error}") from None
    shared = _shared(store, order.shared)
    truth = _truth(order, ranker)
    verdicts = _verdicts(work, ranker)
    fitted = Fitted(
        attribute=inputs.attribute,
        votes=work.table,
        features=work.features,
        split=work.split,
        ranker=ranker,
        judge=judgement.judge,
        verdicts=verdicts,
        rows=rows,
        reasons=reasons,
        unjudged=judgement.unjudged,
        methods=judgement.methods,
        times=work.gathered.times,
        before=before,
    )
    page = vote_parts(page_of(fitted))
    files = _files(ranker, verdicts) | {EXAMPLES: _examples(order, work, ranker)}
    files |= page.files | {PAGE: PAGES.to_bytes(page.page)}
    files[MODEL] = model_bytes(_behind(ranker, shared))
    if judgement.judge is not None:
        files[JUDGE] = model_bytes(judgement.judge)
    place = _written(order, files)
    if place is None:
        written = _known_result(order, work.key)
        if written is not None:
            return written
        raise ReadError(
            f"{store.address(order.place)}: {len(_places(order))} attempts left other results than "
            "this one; run it again by another night."
        )
    people = ranker.people if ranker.people is not None else pd.DataFrame({"verdict": []})
    result = Result(
        attribute=inputs.attribute,
        key=work.key,
        place=place,
        run=order.run,
        dumps=etags_of(inputs.dumps),
        features=etags_of(inputs.features),
        settings=settings_digest(order),
        shared=order.shared,
        split=work.rule,
        rows=rows,
        reasons=reasons,
        dump_rows=work.gathered.rows,
        newest=work.gathered.newest,
        n_items=ranker.facts.n_items,
        n_pruned=ranker.facts.n_pruned_votes,
        n_turned=ranker.facts.n_turned_votes,
        n_people=len(people),
        flagged={
            str(name): int(count)
            for name, count in people["verdict"].value_counts().items()
            if name not in ("fine", "too few votes")
        },
        tau=judgement.tau,
        methods=judgement.methods,
        unjudged=judgement.unjudged,
        truth=truth,
        warnings=ranker.facts.warnings,
        files=tuple(sorted(files)),
        seconds=time.process_time() - used,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        left_share=left_share(work.table),
        self_test=page.page.self_test,
        groups=tuple(one.words for one in page.page.concentration.groups[:_MOST_GROUPS]),
        busiest=busiest_of(work.table),
        digests={name: _digest(files[name]) for name in (MODEL, JUDGE) if name in files},
    )
    try:
        store.create(f"{place}/{RESULT}", RESULTS.to_bytes(result))
    except Exists:  # by an attempt that was thought dead: the same but for its cost
        written = _known_result(order, work.key)
        if written is None:
            raise
        return written
    return result


def _places(order: Order) -> tuple[str, ...]:
    """Where results may lie: the place ordered, and one for each attempt that finds others there.

    An attempt on another processor can differ in the last digit from one that died, or was thought
    dead, before its record was written.
    """
    return (order.place, *(f"{order.place}/attempt-{k}" for k in range(2, _MOST_ATTEMPTS + 1)))


def _written(order: Order, files: dict[str, bytes]) -> str | None:
    """Write files to the first place that holds none but these, and give it.

    None where another attempt has ended meanwhile, or left something else everywhere.
    """
    for place in _places(order):
        try:
            _write(order.store, place, files)
            return place
        except Exists:
            if _is_there(order.store, f"{place}/{RESULT}"):
                return None
    return None


def _write(store: Store, place: str, files: dict[str, bytes]) -> None:
    together(lambda one: store.create(f"{place}/{one[0]}", one[1]), files.items())


def _is_there(store: Store, key: str) -> bool:
    try:
        store.find(key)
    except NotThere:
        return False
    return True


def _truth(order: Order, ranker: Ranker) -> OrderTau | None:
    """How well the scores served order the items as the truth does."""
    truth = gather_truth(order.store, order.inputs.truth)
    if truth is None:
        return None
    scores, truth = with_one_type([(ranker.scores, ["item"]), (truth, ["item"])])
    try:
        return tau_with_truth(scores.set_index("item")["score"], truth)
    except VoteError as error:
        where = order.store.address(order.inputs.truth[0].key)
        raise ReadError(f"{where}: {error}") from None


def _accounts(order: Order, work: _Work) -> tuple[dict[str, int], dict[str, int]]:
    """Every row of every dump by what became of it; refuses where too many are rejected."""
    rows, reasons = dict(work.table.counts), dict(work.table.reasons)
    n_left_out = sum(work.gathered.left_out.values())
    rows["read"] += n_left_out
    rows["skipped"] += n_left_out
    reasons |= work.gathered.left_out
    if rows["rejected"] > order.most_rejected * rows["read"]:
        worst = max(work.table.rejections.items(), key=lambda one: one[1])
        first = work.table.rejected.iloc[0]
        address = order.store.address(str(first["dump"]))
        raise ReadError(
            f"{rows['rejected']:,} of {plural(rows['read'], 'row')} would be rejected, most "
            f"({worst[1]:,}) because: {worst[0]}; the first is row {first['row']:,} of {address}; "
            f"mend the export (at most {order.most_rejected:.0%} may be, by URLR_MOST_REJECTED)."
        )
    return rows, reasons


@dataclass(frozen=True, slots=True)
class _Rivals:
    """How the judge compares with those of the rivals; fields as in `Trained`."""

    champion: Comparison | None = None
    earlier: tuple[tuple[int, int, Comparison], ...] = ()
    lost: tuple[int, ...] = ()
    alike: OrderTau | None = None


def _compared(order: Order, work: _Work, place: str) -> _Rivals:
    """Hold the judge against those of the rivals, on tonight's unseen votes."""
    if not order.rivals:
        return _Rivals()
    rivals = {rival: _judge_at(order.store, rival.place) for rival in order.rivals}
    lost = tuple(rival.version for rival, judge in rivals.items() if judge is None)
    ours = _judge_at(order.store, place)
    if ours is None:
        return _Rivals(lost=lost)
    scores = scores_of(ours.ranker, work.features)
    champion, alike, earlier = None, None, []
    for rival, judge in rivals.items():
        if judge is None:
            continue
        votes = _unseen_by_both(work, judge)
        theirs = _rival_scores(order, work, judge, votes)
        comparison = compare(
            scores,
            theirs,
            votes,
            level=order.gate.confidence,
            rng=np.random.default_rng(order.fit.seed),
        )
        if rival.champion:
            champion, alike = comparison, tau_between(scores, theirs)
        else:
            earlier.append((rival.version, rival.nights_ago, comparison))
    return _Rivals(champion, tuple(earlier), lost, alike)


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge from the store, and the transform its features go through first."""

    ranker: Ranker
    shared: str | None
    rule: SplitRule
    """By which votes were kept from it."""


def _unseen_by_both(work: _Work, judge: _Judge) -> pd.DataFrame:
    """Tonight's votes that neither judge has learnt from; they may have been split otherwise."""
    if judge.rule == work.rule:
        return unseen_votes(work.split)
    return work.split.kept_from_both(split_votes(work.table, **asdict(judge.rule)))


def _judge_at(store: Store, place: str) -> _Judge | None:
    where, about = f"{place}/{JUDGE}", f"{place}/{RESULT}"
    try:
        data = store.read(where)
        result = RESULTS.from_bytes(store.read(about), store.address(about))
        if not is_the_one(data, JUDGE, result):
            return None
        ranker = model_from_bytes(data, name=store.address(where))
    except (NotThere, ModelFileError, ResultError):  # gone, damaged, or of another urlr
        return None
    return _Judge(ranker, result.shared, result.split)


def is_the_one(data: bytes, name: str, result: Result) -> bool:
    """Whether this is the model or the judge that was made with a result."""
    return name not in result.digests or result.digests[name] == _digest(data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _rival_scores(order: Order, work: _Work, judge: _Judge, votes: pd.DataFrame) -> pd.Series[Any]:
    try:
        if judge.shared == order.shared:
            return scores_of(judge.ranker, work.features)
        # It was made when features were reduced otherwise, or not: it needs them raw.
        _, raw = gather_features(order.store, order.inputs.features, votes)
        return scores_of(_behind(judge.ranker, _shared(order.store, judge.shared)), raw)
    except FeatureError:  # the table has other columns now: it knows only what it has scored
        return own_scores(judge.ranker)


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


def _verdicts(work: _Work, ranker: Ranker) -> pd.DataFrame:
    """A verdict on every vote, and where the vote came from."""
    return ranker.verdicts.assign(dump=work.votes["dump"], row=work.votes["row"])


def _files(ranker: Ranker, verdicts: pd.DataFrame) -> dict[str, bytes]:
    tables = result_tables(ranker) | {"verdicts": verdicts, "path": path_table(verdicts)}
    files = {
        f"{name}.parquet": table_bytes(table, f"{name}.parquet") for name, table in tables.items()
    }
    files["summary.txt"] = (ranker.summary() + "\n").encode()
    files["ranking.svg"] = ranking_plot(ranker.scores)
    files["path.svg"] = path_plot(tables["path"])
    return files


def _examples(order: Order, work: _Work, ranker: Ranker) -> bytes:
    """A few items, with raw features if it has any, to be scored when a version is read back."""
    items = pd.DataFrame({"item": ranker.scores["item"].head(_N_EXAMPLES)})
    if work.features is None:
        return table_bytes(items, EXAMPLES)
    if order.reduced:
        examples = first_rows(order.store, order.inputs.features[0], _N_EXAMPLES)
        return table_bytes(examples, EXAMPLES)
    return table_bytes(work.features.head(_N_EXAMPLES), EXAMPLES)


def _shared(store: Store, key: str | None) -> FeatureMap | None:
    if key is None:
        return None
    from tasks.shared_features import read_shared

    return read_shared(store, key)


def _behind(ranker: Ranker, shared: FeatureMap | None) -> Ranker:
    return ranker if shared is None else ranker.behind(shared)
