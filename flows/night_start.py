"""The beginning of a night: the store is held, and what is to be done is known and staffed."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from flows.messages import message
from flows.night import Asked, NightWork, unchanged
from flows.night_shared import SharedFeaturesError, folder_of, shared_tables
from tasks.cluster import Cluster, existing_cluster, local_cluster
from tasks.contents import Content, recognised, sources_of
from tasks.discover import Discovery, Inputs, discover, etags_of
from tasks.lease import LEASE, Holder, taken
from tasks.names import encoded
from tasks.publish import Desk
from tasks.registry import Owner, Registry, foreign, owner_of
from tasks.report.site import LATEST
from tasks.results import Entry, Order
from tasks.runs import RUNS, Past, Started, forget_start, new_run, note_start, past_of, place_of
from tasks.scratch import remove_left
from tasks.settings import Settings, SettingsError
from tasks.store import Store
from tasks.work import settings_digest
from urlr.errors import UrlrError
from urlr.ids import plural
from urlr.settings import METHOD_VERSION

Say = Callable[[str], None]


@contextmanager
def night_work(
    settings: Settings, asked: Asked, *, say: Say, flow_run: str | None = None
) -> Iterator[NightWork]:
    """Hold the store, find out what is to be done, and get ready to do it.

    `say` is told in a few words what is being waited for; `flow_run` is Prefect's id of the run.
    """
    started = datetime.now(UTC)
    night = asked.night(started)
    store = Store.at(settings.store, deadline=settings.call_deadline)
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    run = new_run(started)
    with ExitStack() as stack:
        say("taking the store")
        held = taken(store, Holder.here(run), seconds=settings.lease, grace=settings.lease_grace)
        lease = stack.enter_context(held)
        clock = _Clock()
        say("looking for votes")
        found = discover(store)
        discovery = found.only(asked.only) if asked.only else found
        past = past_of(store, day=None if asked.as_of is None else night)
        known = _known_contents(past, found)
        discovery, read = recognised(store, discovery, known, _recorded(past))
        notes = _notes(past, found)
        _sweep(store, past.unfinished, timedelta(seconds=settings.lease + settings.lease_grace))
        clock.lap("discover")
        say("opening the registry")
        registry.prepare()
        owner = owner_of(store, create=not asked.dry)
        if not asked.dry:
            notes += registry.reconcile_all(owner=owner, before=lease.check, dead=past.unfinished)
        owners = registry.owners()
        if owner is not None and not asked.dry:
            notes += _taken_over(registry, owner, owners, discovery)
        holder = Holder.here(run)
        note_start(store, Started(run, holder.host, holder.pid, started, flow_run))
        work = NightWork(
            *(settings, asked, store, run, night, started, lease, registry, past, discovery),
            *(notes, owner, owners),
            contents=known | read,
        )
        work.standing = registry.standing()
        timer = threading.Timer(settings.night_deadline, _out_of_time, [work])
        timer.daemon = True
        timer.start()
        stack.callback(timer.cancel)
        clock.lap("registry")
        try:
            _prepare(work, stack, clock, say)
        except UrlrError:
            forget_start(store, run)
            raise
        work.stages = clock.laps
        yield work


def _prepare(work: NightWork, stack: ExitStack, clock: _Clock, say: Say) -> None:
    """Find out what is to be done, and start whoever does it."""
    if work.settings.shared_components:
        _share(work, stack, say)
        clock.lap("features")
    _plan(work)
    if work.todo:
        say(f"starting workers for {plural(len(work.todo), 'attribute')}")
        _staff(work, stack, workers=min(work.settings.workers, len(work.todo)))
    clock.lap("workers")


def _plan(work: NightWork) -> None:
    """Sort the attributes into unchanged ones and those to be worked on."""
    for one in work.discovery.refused:
        if one.attribute:
            work.entries[one.attribute] = work.failure(one.attribute, one.why)
    known = work.past.known_by_name()
    for inputs in work.discovery.attributes:
        owner = work.owners.get(inputs.attribute)
        if why := foreign(owner, work.owner, inputs.attribute, work.store.url):
            work.entries[inputs.attribute] = work.failure(inputs.attribute, why)
            continue
        try:
            order = _order(work, inputs, known.get(encoded(inputs.attribute), {}))
        except (SettingsError, SharedFeaturesError) as error:
            work.entries[inputs.attribute] = work.failure(inputs.attribute, error.sentence)
            continue
        before = work.past.entries.get(inputs.attribute)
        if before is not None and _is_the_same(work, order, before):
            work.entries[inputs.attribute] = unchanged(before, work.run)
        else:
            work.todo[inputs.attribute] = order


def _order(work: NightWork, inputs: Inputs, known: dict[str, str]) -> Order:
    settings = work.settings
    before = work.past.entries.get(inputs.attribute)
    if inputs.features and folder_of(inputs) in work.unshared:
        raise SharedFeaturesError(work.unshared[folder_of(inputs)])
    shared = work.shared.get(folder_of(inputs)) if inputs.features else None
    return Order(
        store=work.store,
        run=work.run,
        place=place_of(work.run, encoded(inputs.attribute)),
        inputs=inputs,
        fit=settings.fit_of(inputs.attribute),
        gate=settings.gate.rules(),
        item_share=settings.held_out_items,
        pair_share=settings.held_out_pairs,
        most_rejected=settings.most_rejected,
        method_version=METHOD_VERSION,
        as_of=work.asked.as_of,
        shared=None if shared is None else shared.transform,
        reduced=() if shared is None else shared.reduced,
        known=known,
        before=None if before is None else before.place,
        frozen=settings.is_frozen(inputs.attribute),
        large_attribute=settings.large_attribute,
        most_rows=settings.most_rows,
    )


def _is_the_same(work: NightWork, order: Order, before: Entry) -> bool:
    """Whether last time's results are tonight's, told without reading a vote."""
    if not work.settled(before) or work.asked.as_of is not None:
        return False
    return (
        before.dumps == etags_of(order.inputs.dumps)
        and before.features == etags_of(order.inputs.features)
        and before.truths == etags_of(order.inputs.truth)
        and before.settings == settings_digest(order)
        and before.shared == order.shared
    )


def _share(work: NightWork, stack: ExitStack, say: Say) -> None:
    """Reduce the tables of features that attributes share."""
    tables = {folder_of(one): one.features for one in work.discovery.attributes if one.features}
    before = {} if work.past.last is None else work.past.last.shared

    def lent() -> AbstractContextManager[Any]:
        workers, deadline = (
            _workers(work, stack, work.settings.workers),
            work.settings.night_deadline,
        )
        return workers.lent(message("reducing_features"), deadline=deadline, stopping=work.stopping)

    found = shared_tables(
        tables,
        before,
        store=work.store,
        run=work.run,
        components=work.settings.shared_components,
        refit=work.asked.refit,
        lent=lent,
        say=say,
    )
    work.shared = before | found.tables
    work.unshared = found.failures


def started_workers(settings: Settings, count: int) -> AbstractContextManager[Cluster]:
    """Workers of this machine, or the cluster that the settings name."""
    if settings.dask_address is None:
        return local_cluster(workers=count, memory=settings.worker_memory)
    return existing_cluster(
        settings.dask_address,
        plain=settings.dask_plain,
        ca=settings.dask_ca,
        cert=settings.dask_cert,
        key=settings.dask_key,
    )


def _workers(work: NightWork, stack: ExitStack, count: int) -> Cluster:
    """The workers, started when first needed."""
    if work.cluster is None:
        work.cluster = stack.enter_context(started_workers(work.settings, count))
    return work.cluster


def _staff(work: NightWork, stack: ExitStack, *, workers: int) -> None:
    """Start the workers, the process that verifies, and the thread that publishes."""
    checker = stack.enter_context(work.registry.verifier())
    _workers(work, stack, workers).prepare(("tasks.train",))
    work.publisher = ThreadPoolExecutor(1, "publisher")
    stack.callback(work.publisher.shutdown, wait=True, cancel_futures=True)
    work.desk = Desk(
        work.registry,
        checker,
        work.run,
        work.night,
        work.lease.check,
        force=work.asked.force,
        dry=work.asked.dry,
        owner=work.owner,
    )


def _taken_over(
    registry: Registry, owner: Owner, owners: dict[str, Owner | None], found: Discovery
) -> list[str]:
    """Take over the models that belong to nobody, as those of the first urlr do."""
    free = [
        one.attribute
        for one in found.attributes
        if one.attribute in owners and owners[one.attribute] is None
    ]
    for attribute in free:
        registry.own(attribute, owner)
        owners[attribute] = owner
    if not free:
        return []
    return [message("models_taken_over", count=len(free), attributes=free)]


def _known_contents(past: Past, found: Discovery) -> dict[str, Content]:
    """What files held that are still there."""
    before = {} if past.last is None else past.last.contents
    there = sources_of(found.attributes)
    return {key: content for key, content in before.items() if key in there}


def _recorded(past: Past) -> dict[str, list[str]]:
    """ETags by key that the night before names, for files of which it has no content."""
    found: dict[str, list[str]] = defaultdict(list)
    for entry in past.entries.values():
        for key, etag in (*entry.dumps.items(), *entry.features.items(), *entry.truths.items()):
            found[key].append(etag)
    return found


def _notes(past: Past, found: Discovery) -> list[str]:
    notes: list[str] = []
    if past.damaged:
        since = message("no_earlier_night")
        if past.last is not None:
            since = message("earlier_night", run=past.last.run, night=past.last.night)
        notes += [message("record_passed", why=why, since=since) for why in past.damaged]
    if past.unfinished:
        dead = list(past.unfinished)
        notes.append(message("runs_did_not_finish", count=len(dead), runs=dead))
    here = {one.attribute for one in found.attributes} | {one.attribute for one in found.refused}
    if gone := sorted(set(past.entries) - here):
        notes.append(message("no_votes_any_more", attributes=gone))
    return notes


def _sweep(store: Store, dead: tuple[str, ...], lease: timedelta) -> None:
    """Remove what nights that were killed left halfway, here and there; whole objects stay."""
    remove_left()  # also where tonight needs no workers, which would do it
    now = datetime.now(UTC)
    for run in dead:  # the store is held, so that none of them is at work
        store.sweep(f"{RUNS}/{run}", before=now)
    for place in (LEASE, LATEST.partition("/")[0]):  # others may be trying to hold it just now
        store.sweep(place, before=now - lease)


def _out_of_time(work: NightWork) -> None:
    work.notes.append(message("night_took_too_long", seconds=work.settings.night_deadline))
    work.stopping.set()


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.monotonic()

    def lap(self, stage: str) -> None:
        """The stage that ends now."""
        now = time.monotonic()
        self.laps[stage] = now - self._last
        self._last = now
