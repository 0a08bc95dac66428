"""From a result to the registry: through the gate, registered, verified, and live in one step.

Runs in the flow's process, one attribute at a time. Until the alias moves nothing that is served
changes; a version that was registered by a run that died is found by its key and not made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import date

from tasks.discover import etags_of
from tasks.evaluate import Estimate, VoteTau
from tasks.gate import Earlier, Rule, Verdict, decide
from tasks.read import table_of
from tasks.registry import Publication, Registry, Verifier, Version
from tasks.registry.alias_history import last_done, withdrawn
from tasks.report.page_file import PAGE
from tasks.result_files import EXAMPLES, JUDGE, MODEL, is_the_one
from tasks.results import Entry, Order, Result, Rival, Trained
from tasks.shift import Shift, sudden_shift
from tasks.together import together
from urlr.errors import UrlrError
from urlr.ids import plural


class PublishError(UrlrError):
    """A version cannot be published; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What publishing needs, the same all night."""

    registry: Registry
    verifier: Verifier
    run: str
    night: date
    check: Callable[[], None]
    """Raises if this run may no longer change anything."""
    force: bool = False
    dry: bool = False


def rivals(order: Order, desk: Desk) -> tuple[Rival, ...]:
    """The champion, and champions of the last nights that were not rolled back."""
    model = desk.registry.look(order.inputs.attribute)
    if model is None:
        return ()
    gone = withdrawn(model.moves)
    found = desk.registry.rivals_of(model, nights=order.gate.nights, today=desk.night)
    known = order.known  # where the same results lie, if they were made again since
    return tuple(
        Rival(one.number, ago, one.number == model.champion, known.get(one.key, one.place))
        for one, ago in found
        if one.number not in gone
    )


def publish(trained: Trained, order: Order, desk: Desk) -> Entry:
    """Take a result through the gate and, if it passes, make it the champion."""
    attribute = order.inputs.attribute
    model = desk.registry.look(attribute)
    champion = desk.registry.champion_of(model)
    is_live = champion is not None and champion.key == trained.result.key
    move = last_done(model.moves) if model is not None and is_live else None
    if move is not None:  # by a run, or an attempt, that ended before it could say so
        verdict = Verdict(True, move.why, "not worse", move.forced, False)
        trained, replaced = replace(trained, champion=None), move.before
    else:
        compared = next((rival.version for rival in order.rivals if rival.champion), None)
        if (None if champion is None else champion.number) != compared:
            raise PublishError(
                f"the champion of {attribute} changed while it was worked on; run it again."
            )
        verdict = _verdict(trained, order, champion, desk)
        replaced = None if champion is None else champion.number
    entry = replace(
        entry_of(trained, order),
        outcome="published" if verdict.publish else "held",
        verdict="published" if verdict.publish else "held",
        reason=verdict.reason,
        replaced=replaced,
        frozen=verdict.rule == "frozen",
        gate=order.gate,
        rival_lost=verdict.rule == "rival lost" and not verdict.publish,
    )
    if desk.dry:
        return replace(entry, reason=f"dry run: {verdict.reason}")
    version = None
    if model is not None:
        version = desk.registry.with_key(attribute, trained.result.key)
    if version is None:
        described = _described(trained, champion, verdict)
        desk.check()
        publication = _publication(trained, order, desk, described)
        version = desk.registry.register(publication, to=model)
    if verdict.publish:
        desk.verifier.verify(version)
        desk.registry.move(
            attribute,
            version,
            run=desk.run,
            night=desk.night,
            why=verdict.reason,
            forced=verdict.forced,
            before=desk.check,
        )
    else:
        desk.check()
        desk.registry.hold(attribute, version, run=desk.run, reason=verdict.reason)
    return replace(entry, version=version.number)


def entry_of(trained: Trained, order: Order) -> Entry:
    """What a night's record says of a result, before the gate has spoken."""
    result = trained.result
    return Entry(
        attribute=result.attribute,
        run=order.run,
        outcome="held",
        reason="",
        key=result.key,
        place=result.place,
        dumps=result.dumps,
        features=etags_of(order.inputs.features),
        truths=etags_of(order.inputs.truth),
        settings=result.settings,
        shared=result.shared,
        rows=result.rows,
        n_pruned=result.n_pruned,
        n_turned=result.n_turned,
        tau=result.tau,
        held_out=_taus({one.method: one.held_out for one in result.methods}),
        unseen=_taus({one.method: one.unseen for one in result.methods}),
        difference=None if trained.champion is None else trained.champion.difference,
        tau_between=None if trained.change is None else trained.change.tau,
        truth=None if result.truth is None else result.truth.tau,
        newest=result.newest,
        seconds=0.0 if trained.reused else result.seconds,
        memory=result.memory,
        computed=not trained.reused,
        reasons=result.reasons,
        n_items=result.n_items,
        n_people=result.n_people,
        new_votes=trained.new_votes,
        new_people=trained.new_people,
        left_share=result.left_share,
        flagged=result.flagged,
        self_test=result.self_test,
        groups=result.groups,
        size=sum(dump.size for dump in order.inputs.dumps),
    )


def _taus(found: dict[str, VoteTau | None]) -> dict[str, float]:
    return {
        name: tau.deciding.value
        for name, tau in found.items()
        if tau is not None and tau.deciding is not None
    }


def _verdict(trained: Trained, order: Order, champion: Version | None, desk: Desk) -> Verdict:
    result = trained.result
    if order.frozen:  # by the settings, which --force does not override
        reason = "held: the settings freeze this attribute (URLR_FROZEN); it stays as it is"
        return Verdict(False, reason, "frozen", False, False)
    if order.champion_lost:
        return _held(
            "held: the registry has lost the champion, and the results after it were held or "
            "rolled back; put the registry back, or publish by --force",
            "rival lost",
            desk,
        )
    if champion is not None and order.as_of is not None and desk.night < champion.night:
        return _held(
            f"held: the champion, version {champion.number}, is of {champion.night}, newer than "
            f"the night asked for",
            "newer champion",
            desk,
        )
    if champion is not None and (cause := sudden_shift(_shift(trained, champion), order.gate)):
        remedy = "look at the votes, or publish by --force"
        return _held(f"held: sudden shift: {cause} ({remedy})", "sudden shift", desk)
    if result.tau is None:
        return _held(f"held: could not be judged: {result.unjudged}", "too few votes", desk)
    if champion is not None and trained.champion is None:
        place = next(rival.place for rival in order.rivals if rival.champion)
        return _held(
            f"held: the judge of the champion, version {champion.number}, is gone, damaged or "
            f"replaced ({order.store.address(f'{place}/{JUDGE}')}); put it back, or publish by "
            "--force",
            "rival lost",
            desk,
        )
    verdict = decide(
        result.tau,
        trained.champion,
        [Earlier(str(number), ago, one) for number, ago, one in trained.earlier],
        settings=order.gate,
        force=desk.force,
    )
    if not trained.lost:
        return verdict
    lost = plural(len(trained.lost), "earlier version")
    return replace(verdict, reason=f"{verdict.reason}; the judges of {lost} are gone or damaged")


def _shift(trained: Trained, champion: Version) -> Shift:
    """Tonight's votes beside the champion's."""
    rows, before = trained.result.rows, champion.metrics.get("votes")
    return Shift(
        votes=rows["used"] + rows["ties"],
        votes_before=None if before is None else int(before),
        busiest=trained.result.busiest,
        busiest_before=champion.metrics.get("busiest_share"),
        alike=trained.alike,
    )


def _held(reason: str, rule: Rule, desk: Desk) -> Verdict:
    if desk.force:
        reason = f"published by force, else {reason}"
    return Verdict(desk.force, reason, rule, desk.force, False)


def _publication(trained: Trained, order: Order, desk: Desk, description: str) -> Publication:
    result, store = trained.result, order.store
    names = [name for name in result.files if not _stays(name)]
    contents = together(lambda name: store.read(f"{result.place}/{name}"), names)
    files = dict(zip(names, contents, strict=True))
    model, examples = files.pop(MODEL), files.pop(EXAMPLES)
    for name, data in ((MODEL, model), (JUDGE, files.get(JUDGE))):
        if data is not None and not is_the_one(data, name, result):
            raise PublishError(
                f"{store.address(f'{result.place}/{name}')} is not the one that was made with this "
                "result; see who may write there, and run it again."
            )
    return Publication(
        attribute=result.attribute,
        key=result.key,
        run=desk.run,
        night=desk.night,
        place=result.place,
        method_version=str(order.method_version),
        description=description,
        metrics=metrics_of(trained),
        params=_params(order, result),
        etags=result.dumps,
        model=model,
        files=files,
        examples=table_of(examples, store.address(f"{result.place}/{EXAMPLES}")),
    )


def _stays(name: str) -> bool:
    """Whether a file stays in the store: what is on single votes, and what the page shows."""
    return name == PAGE or name.startswith(("verdicts", "rejected")) or name.endswith(".js")


def metrics_of(trained: Trained) -> dict[str, float]:
    """Figures by which versions can be compared in the registry."""
    result = trained.result
    found: dict[str, float | None] = {
        "votes": result.rows["used"] + result.rows["ties"],
        "pruned": result.n_pruned,
        "turned": result.n_turned,
        "rejected": result.rows["rejected"],
        "items": result.n_items,
        "people": result.n_people,
        "busiest_share": None if result.busiest is None else result.busiest.share,
        "truth_tau": None if result.truth is None else result.truth.tau,
        "last_scores_tau": None if trained.change is None else trained.change.tau,
        **_figures("tau", result.tau),
    }
    for method in result.methods:
        name = method.method.replace("-", "_")
        found |= _figures(f"{name}_held_out", method.held_out)
        found |= _figures(f"{name}_unseen", method.unseen)
    if trained.champion is not None:
        found |= _figures("gain", trained.champion.difference)
    return {name: float(value) for name, value in found.items() if value is not None}


def _figures(name: str, tau: VoteTau | None) -> dict[str, float | None]:
    if tau is None:
        return {}
    found: dict[str, float | None] = {f"{name}_votes": float(tau.n_votes)}
    for suffix, estimate in (("", tau.deciding), ("_plain", tau.plain)):
        if estimate is None:
            continue
        found[f"{name}{suffix}"] = estimate.value
        found[f"{name}{suffix}_low"] = estimate.low
        found[f"{name}{suffix}_high"] = estimate.high
        found[f"{name}{suffix}_distance"] = (1.0 - estimate.value) / 2.0
    return found


def _params(order: Order, result: Result) -> dict[str, str]:
    chosen = {f"fit.{name}": str(value) for name, value in asdict(order.fit).items()}
    return chosen | {
        "held_out_items": str(order.item_share),
        "held_out_pairs": str(order.pair_share),
        "as_of": str(order.as_of),
        "dumps": str(len(result.dumps)),
        "shared": str(result.shared),
    }


def _described(trained: Trained, champion: Version | None, verdict: Verdict) -> str:
    """One sentence for the registry: what it replaces, and by what figures."""
    result = trained.result
    votes = result.rows["used"] + result.rows["ties"]
    if champion is None:
        tau = None if result.tau is None else result.tau.deciding
        figure = "not judged" if tau is None else f"tau {tau.value:.3f}"
        sentence = f"first model: {figure}, {plural(votes, 'vote')}"
    else:
        sentence = (
            f"{'replaces' if verdict.publish else 'held against'} v{champion.number}: "
            f"{_step(trained)}, {_new_votes(votes, champion)}"
        )
    return sentence if verdict.publish else f"{sentence}; {verdict.reason}"


def _step(trained: Trained) -> str:
    if trained.champion is None:
        return "tau not compared"
    before, after = trained.champion.champion.deciding, trained.champion.challenger.deciding
    return f"tau {_shown(before)} -> {_shown(after)}"


def _shown(estimate: Estimate | None) -> str:
    return "?" if estimate is None else f"{estimate.value:.3f}"


def _new_votes(votes: int, champion: Version) -> str:
    before = champion.metrics.get("votes")
    if before is None:
        return plural(votes, "vote")
    more = votes - int(before)
    return plural(more, "new vote") if more >= 0 else f"{plural(-more, 'vote')} fewer"
