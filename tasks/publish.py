"""From a result to the registry: through the gate, registered, verified, and live in one step.

Runs in the flow's process, one attribute at a time. Until the alias moves nothing that is served
changes; a version that was registered by a run that died is found by its key and not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import date

from tasks.coordinated import words_of
from tasks.discover import etags_of
from tasks.evaluate import Estimate, VoteTau
from tasks.gate import Earlier, Rule, Verdict, about, decide, held
from tasks.messages import message
from tasks.other_settings import other_settings
from tasks.read import table_of
from tasks.registry import OWNER, Owner, Publication, Registry, Verifier, Version, check_owner
from tasks.registry.alias_history import last_champion, last_done, withdrawn
from tasks.registry.alias_moves import Model
from tasks.report.page_file import PAGE
from tasks.result_files import EXAMPLES, JUDGE, MODEL, is_the_one
from tasks.results import Entry, Order, Result, Rival, Trained
from tasks.shift import Shift, sudden_shift
from tasks.together import together
from urlr.errors import UrlrError
from urlr.sentence import Sentence


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
    owner: Owner | None = None
    """The store that new models belong to."""


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
    model, version = desk.registry.look(attribute), None
    if model is not None:  # as it is now: somebody may have moved ownership in the night
        owner = Owner.of(model.tags.get(OWNER))
        check_owner(owner, desk.owner, attribute, order.store.url)
        version = desk.registry.with_key(attribute, trained.result.key)
    champion = desk.registry.champion_of(model)
    is_live = champion is not None and champion.key == trained.result.key
    move = last_done(model.moves) if model is not None and is_live else None
    changes: list[Sentence] = []
    if move is not None:  # by a run, or an attempt, that ended before it could say so
        reason = message("published_before", why=move.why)
        verdict = Verdict(True, reason, "not worse", move.forced, False)
        trained, replaced = replace(trained, champion=None), move.before
    else:
        compared = next((rival.version for rival in order.rivals if rival.champion), None)
        if (None if champion is None else champion.number) != compared:
            raise PublishError(message("champion_changed", attribute=attribute))
        back = None if order.frozen or model is None else _taken_back(model, version)
        verdict = _held(*back, desk) if back else _verdict(trained, order, champion, desk)
        changes = other_settings(order, trained.result)
        if changes:
            said = message("with_other_settings", finding=verdict.reason, changes=changes)
            verdict = replace(verdict, reason=about(verdict.reason, said))
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
        said = message("dry_run", finding=verdict.reason)
        return replace(entry, reason=about(verdict.reason, said))
    if version is None:
        before = champion
        if model is not None and champion is None and (last := last_champion(model.moves)):
            before = desk.registry.found(attribute, last)  # removed by hand; this is no first model
        described = _described(trained, before, verdict)
        if verdict.publish and changes:
            described = message("with_other_settings", finding=described, changes=changes)
        desk.check()
        publication = _publication(trained, order, desk, described)
        version = desk.registry.register(publication, to=model, owner=desk.owner)
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
        coordinated=result.coordinated,
        size=sum(dump.size for dump in order.inputs.dumps),
        remarks=(
            *result.remarks,
            *_on_features(trained, order),
            *_on_champion(trained, order),
        ),
    )


def _on_features(trained: Trained, order: Order) -> list[Sentence]:
    """That the feature table is suspect, if there is one and it is."""
    if not trained.suspect or not order.inputs.features:
        return []
    path = order.store.address(order.inputs.features[0].key)
    return [message("suspect_features", path=path, changes="; ".join(trained.suspect))]


def _on_champion(trained: Trained, order: Order) -> list[Sentence]:
    """What else is odd beside the champion: columns with other values, items that became one."""
    said = []
    if trained.moved and not trained.suspect and order.inputs.features:
        path = order.store.address(order.inputs.features[0].key)
        said.append(message("changed_features", path=path, changes="; ".join(trained.moved)))
    if trained.merged:
        said.append(message("merged_items", count=trained.merged))
    return said


def _taus(found: dict[str, VoteTau | None]) -> dict[str, float]:
    return {
        name: tau.shown.value
        for name, tau in found.items()
        if tau is not None and tau.shown is not None
    }


def _taken_back(model: Model, version: Version | None) -> tuple[Sentence, Rule] | None:
    """That somebody removed the champion, or took back the version of the same results."""
    moves = model.moves
    if model.champion is None and (last := last_champion(moves)) is not None:
        return message("champion_removed", version=last), "rival lost"
    if version is not None and version.number in withdrawn(moves):
        return message("version_taken_back", version=version.number), "taken back"
    return None


def _verdict(trained: Trained, order: Order, champion: Version | None, desk: Desk) -> Verdict:
    result = trained.result
    if order.frozen:  # by the settings, which --force does not override
        reason = held(message("frozen_by_settings"), force=False)
        return Verdict(False, reason, "frozen", False, False)
    if order.champion_lost:
        return _held(message("champion_lost"), "rival lost", desk)
    if champion is not None and order.as_of is not None and desk.night < champion.night:
        newer = message("newer_champion", version=champion.number, night=champion.night)
        return _held(newer, "newer champion", desk)
    if champion is not None and (cause := sudden_shift(_shift(trained, champion), order.gate)):
        missing = [one for one in trained.suspect if one.code == "features_gone"]
        for other in missing or _on_features(trained, order):
            cause = message("two_causes", first=cause, second=other)
        return _held(message("sudden_shift", cause=cause), "sudden shift", desk)
    if any(one.code == "features_gone" for one in trained.suspect):
        return _held(message("sudden_shift", cause=trained.suspect[0]), "sudden shift", desk)
    if result.coordinated is not None and result.coordinated.is_left_in:
        return _held(words_of(result.coordinated), "coordinated votes", desk)
    if result.tau is None:
        return _held(message("not_judged", why=result.unjudged), "too few votes", desk)
    if champion is not None and trained.champion is None:
        place = next(rival.place for rival in order.rivals if rival.champion)
        where = order.store.address(trained.lost_file or f"{place}/{JUDGE}")
        gone = message("judge_lost", version=champion.number, path=where)
        return _held(gone, "rival lost", desk)
    if result.mixed is not None and result.mixed < order.gate.least_mixed:
        return _held(message("one_sided_votes", share=result.mixed), "one-sided votes", desk)
    if result.guessed is not None and result.guessed > order.gate.most_guessed:
        return _held(message("guessed_votes", tau=result.guessed), "one-sided votes", desk)
    verdict = decide(
        result.tau,
        trained.champion,
        [Earlier(str(number), ago, one) for number, ago, one in trained.earlier],
        settings=order.gate,
        judged=trained.judged,
        suspect=bool(trained.suspect),
        alike=None if trained.alike is None else trained.alike.tau,
        force=desk.force,
    )
    for said in _asides(trained, order, verdict.reason):
        verdict = replace(verdict, reason=about(verdict.reason, said))
    return verdict


def _asides(trained: Trained, order: Order, finding: Sentence) -> Iterator[Sentence]:
    """What else is to be said, each time after all before it."""
    found = trained.result.coordinated
    if found is not None and found.counting:
        finding = message("with_warning", finding=finding, warning=words_of(found))
        yield finding
    new = trained.new_items
    if new is not None and (count := new.difference.n_votes):
        before, tau = _shown(new.champion.shown), _shown(new.challenger.shown)
        finding = message("on_new_items", finding=finding, count=count, before=before, tau=tau)
        yield finding
    if trained.suspect:
        [suspect] = _on_features(trained, order)
        finding = message("features_suspect", finding=finding, suspect=suspect)
        yield finding
    if trained.lost:
        yield message("earlier_judges_lost", finding=finding, count=len(trained.lost))


def _shift(trained: Trained, champion: Version) -> Shift:
    """Tonight's votes beside the champion's."""
    rows, before = trained.result.rows, champion.metrics.get("votes")
    return Shift(
        votes=rows["used"] + rows["ties"],
        votes_before=None if before is None else int(before),
        busiest=trained.result.busiest,
        busiest_before=champion.metrics.get("busiest_share"),
        alike=trained.alike,
        known=trained.known,
        met=trained.met,
    )


def _held(finding: Sentence, rule: Rule, desk: Desk) -> Verdict:
    return Verdict(desk.force, held(finding, force=desk.force), rule, desk.force, False)


def _publication(trained: Trained, order: Order, desk: Desk, description: str) -> Publication:
    result, store = trained.result, order.store
    names = [name for name in result.files if not _stays(name)]
    contents = together(lambda name: store.read(f"{result.place}/{name}"), names)
    files = dict(zip(names, contents, strict=True))
    model, examples = files.pop(MODEL), files.pop(EXAMPLES)
    for name, data in ((MODEL, model), (JUDGE, files.get(JUDGE))):
        if data is not None and not is_the_one(data, name, result):
            where = store.address(f"{result.place}/{name}")
            raise PublishError(message("not_of_this_result", path=where))
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
        "people_not_to_trust": sum(result.flagged.values()),
        "coordinated_people": 0 if result.coordinated is None else result.coordinated.people,
        "coordinated_votes": 0 if result.coordinated is None else result.coordinated.votes,
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
    for suffix, estimate in (("", tau.shown), ("_plain", tau.plain)):
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
        tau = None if result.tau is None else result.tau.shown
        if tau is None:
            said = message("first_version_not_judged", votes=votes)
        else:
            said = message("first_version", tau=tau.value, votes=votes)
        if verdict.publish:
            return said
        return message("first_version_held", said=said, reason=verdict.reason)
    step, more = _step(trained), _new_votes(votes, champion)
    if verdict.publish:
        return message("replaces_version", version=champion.number, step=step, votes=more)
    return message(
        "held_against_version",
        version=champion.number,
        step=step,
        votes=more,
        reason=verdict.reason,
    )


def _step(trained: Trained) -> Sentence:
    if trained.champion is None:
        return message("tau_not_compared")
    before, after = trained.champion.champion.shown, trained.champion.challenger.shown
    return message("tau_step", before=_shown(before), after=_shown(after))


def _shown(estimate: Estimate | None) -> str:
    return "?" if estimate is None else f"{estimate.value:.3f}"


def _new_votes(votes: int, champion: Version) -> Sentence:
    before = champion.metrics.get("votes")
    if before is None:
        return message("all_votes", count=votes)
    more = votes - int(before)
    return message("new_votes", count=more) if more >= 0 else message("fewer_votes", count=-more)
