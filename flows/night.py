"""One night's work, apart from Prefect: what is to be done, doing one attribute, and the record.

with night_work(settings, asked) as work:   the store is held, and what changed is known
    entry = work.work_on(attribute)         for each of work.todo, from any number of threads
    night = work.finish()                   the record is written, last
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from flows.night_report import tau_table
from flows.night_shared import SharedFeaturesError, folder_of, shared_tables
from tasks.cluster import Cluster, WorkerDied, WorkError, existing_cluster, local_cluster
from tasks.discover import Discovery, Inputs, discover
from tasks.lease import Holder, Lease, taken
from tasks.names import encoded
from tasks.publish import Desk, publish
from tasks.registry import Registry, Standing
from tasks.results import (
    NIGHTS,
    RUN,
    Entry,
    Night,
    Order,
    Rival,
    SharedTable,
    State,
    Trained,
)
from tasks.runs import RUNS, Past, Started, new_run, note_start, past_of, place_of
from tasks.settings import Settings, SettingsError
from tasks.store import Store, Unreachable
from tasks.train import settings_digest, train
from tasks.write import table_bytes
from urlr.errors import UrlrError
from urlr.ids import plural, shown, shown_some
from urlr.settings import METHOD_VERSION

TAU = "tau.csv"
ATTEMPTS = 2
"""Times an attribute is tried when its worker dies: one that merely stood beside is blamed too."""
_REPORT = "report it, with what Prefect's log says of this attribute."

Say = Callable[[str], None]


class NightError(UrlrError):
    """The night cannot be run as asked; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller wants of a night."""

    only: tuple[str, ...] = ()
    """Attributes to work on; none: all."""
    as_of: datetime | None = None
    """Votes cast later do not count."""
    dry: bool = False
    """Change nothing in the registry."""
    force: bool = False
    """Publish whatever the gate says."""
    refit: bool = False
    """Fit the transform of shared features anew."""

    def __post_init__(self) -> None:
        if self.as_of is not None and self.as_of.tzinfo is None:
            object.__setattr__(self, "as_of", self.as_of.replace(tzinfo=UTC))

    def night(self, now: datetime) -> date:
        """The night this is."""
        if self.as_of is not None and self.as_of > now + timedelta(days=1):
            raise NightError(f"--as-of {self.as_of:%Y-%m-%d} lies in the future; give a past day.")
        return (now if self.as_of is None else self.as_of).date()


@dataclass
class NightWork:
    """A night in progress; made by `night_work`."""

    settings: Settings
    asked: Asked
    store: Store
    run: str
    night: date
    started: datetime
    lease: Lease
    registry: Registry
    past: Past
    discovery: Discovery
    notes: list[str]
    entries: dict[str, Entry] = field(default_factory=dict)
    """Of the attributes done so far."""
    todo: dict[str, Order] = field(default_factory=dict)
    """What is to be worked on, by attribute."""
    stopping: threading.Event = field(default_factory=threading.Event)
    stages: dict[str, float] = field(default_factory=dict)
    cluster: Cluster | None = None
    shared: dict[str, SharedTable] = field(default_factory=dict)
    unshared: dict[str, str] = field(default_factory=dict)
    """Why features could not be reduced, by folder."""
    _desk: Desk | None = None
    _publisher: ThreadPoolExecutor | None = None
    _attempts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work_on(self, attribute: str) -> Entry:
        """Do one attribute, wait until it is published or held, and note it.

        Raises
        ------
        WorkerDied, Unreachable
            It may be tried again, by calling once more.
        UrlrError
            It has failed; the failure is noted.
        """
        order = self.todo[attribute]
        with self._lock:
            self._attempts[attribute] += 1
            attempt = self._attempts[attribute]
        try:
            entry = self._done(order, attempt)
        except (WorkerDied, Unreachable) as error:
            if attempt < ATTEMPTS and not self.stopping.is_set():
                raise
            self._note(self._failure(attribute, str(error)))
            raise
        except UrlrError as error:
            is_foreign = isinstance(error, WorkError) and error.trace
            text = f"unexpected {error}; {_REPORT}" if is_foreign else str(error)
            self._note(self._failure(attribute, text))
            raise
        except Exception as error:
            text = f"unexpected {type(error).__name__}: {shown(error, 300)}; {_REPORT}"
            self._note(self._failure(attribute, text))
            raise
        self._note(replace(entry, attempts=attempt))
        return self.entries[attribute]

    def may_try_again(self, attribute: str, error: BaseException | None) -> bool:
        """Whether calling `work_on` once more makes sense after this error."""
        again = isinstance(error, WorkerDied | Unreachable) and not self.stopping.is_set()
        return again and self._attempts[attribute] < ATTEMPTS

    def finish(self) -> Night:
        """Write the record of the night, its last object, and give it."""
        for attribute in self.todo:
            if attribute not in self.entries:
                self.entries[attribute] = self._failure(attribute, "not reached before the end")
        self.stages["all"] = (_now() - self.started).total_seconds()
        kept = {name: one for name, one in self.past.entries.items() if name not in self.entries}
        entries = dict(sorted((kept | self.entries).items()))
        state, reason = self._state()
        night = Night(
            run=self.run,
            night=self.night,
            started=self.started,
            finished=_now(),
            state=state,
            reason=reason,
            dry=self.asked.dry,
            force=self.asked.force,
            only=self.asked.only,
            as_of=self.asked.as_of,
            entries=entries,
            refused=tuple(one.why for one in self.discovery.refused if not one.attribute),
            notes=tuple(self.notes),
            workers_lost=0 if self.cluster is None else self.cluster.workers_lost,
            stages=self.stages,
            shared=self.shared,
        )
        self.lease.check()
        if night.tonight():
            table = table_bytes(tau_table(night), TAU)
            self.store.create(f"{RUNS}/{self.run}/{TAU}", table)
        self.store.create(f"{RUNS}/{self.run}/{RUN}", NIGHTS.to_bytes(night))
        return night

    def _state(self) -> tuple[State, str]:
        failed = sorted(name for name, one in self.entries.items() if one.outcome == "failed")
        n, refused = len(self.entries), [one for one in self.discovery.refused if not one.attribute]
        done = n - len(failed)
        if done == 0 or done < self.settings.fewest_done * n:
            wanted = ""
            if done:
                wanted = f", and at least {self.settings.fewest_done:.0%} must be"
            return "Failed", f"{done} of {plural(n, 'attribute')} done{wanted}"
        if failed or refused:
            text = f"{done} of {plural(n, 'attribute')} done; failed: {shown_some(failed, 10)}"
            if refused:
                text = f"{text}; {plural(len(refused), 'object')} outside of any attribute"
            return "Partial", text.replace("; failed: ;", ";")
        return "Completed", f"{plural(n, 'attribute')} done"

    def _done(self, order: Order, attempt: int) -> Entry:
        assert self.cluster is not None
        if self.stopping.is_set():
            raise NightError("not begun: the night was stopped.")
        trained = self.cluster.run(
            train,
            order,
            name=order.inputs.attribute,
            attempt=attempt,
            deadline=self.settings.attribute_deadline,
            stopping=self.stopping,
        )
        before = self.past.entries.get(order.inputs.attribute)
        if before is not None and before.key == trained.result.key and self._settled(before):
            features = {source.key: source.etag for source in order.inputs.features}
            return replace(_unchanged(before, self.run), features=features)
        return self._published(trained, order)

    def _published(self, trained: Trained, order: Order) -> Entry:
        """Through the one thread that publishes."""
        assert self._publisher is not None
        assert self._desk is not None
        work: Future[Entry] = self._publisher.submit(publish, trained, order, self._desk)
        while not work.done():
            if self.stopping.wait(0.0) and work.cancel():
                raise NightError("not published: the night was stopped.")
            wait([work], timeout=0.5)
        return work.result()

    def _settled(self, entry: Entry) -> bool:
        """Whether the gate has spoken on these results, and nothing asks to hear it again."""
        if not entry.verdict or entry.key is None:
            return False
        if entry.verdict == "held":
            return not self.asked.force
        return True

    def _failure(self, attribute: str, text: str) -> Entry:
        known = self.past.entries.get(attribute)
        known = Entry(attribute, self.run, "failed", text) if known is None else known
        return replace(
            known,
            run=self.run,
            outcome="failed",
            reason=text,
            attempts=self._attempts[attribute],
            seconds=0.0,
            computed=False,
        )

    def _note(self, entry: Entry) -> None:
        with self._lock:
            self.entries[entry.attribute] = entry


@contextmanager
def night_work(
    settings: Settings, asked: Asked, *, say: Say, flow_run: str | None = None
) -> Iterator[NightWork]:
    """Hold the store, find out what is to be done, and get ready to do it.

    `say` is told in a few words what is being waited for; `flow_run` is Prefect's id of the run.
    """
    started = _now()
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
        past = past_of(store)
        notes = _notes(past, found)
        clock.lap("discover")
        say("opening the registry")
        registry.prepare()
        if not asked.dry:
            notes += registry.reconcile_all(before=lease.check)
        standing = registry.standing()
        holder = Holder.here(run)  # noted when nothing refuses to begin any more
        note_start(store, Started(run, holder.host, holder.pid, started, flow_run))
        work = NightWork(
            settings, asked, store, run, night, started, lease, registry, past, discovery, notes
        )
        clock.lap("registry")
        if settings.shared_components:
            _share(work, stack, say)
            clock.lap("features")
        _plan(work, standing)
        if work.todo:
            say(f"starting workers for {plural(len(work.todo), 'attribute')}")
            _staff(work, stack, workers=min(settings.workers, len(work.todo)))
        clock.lap("workers")
        work.stages = clock.laps
        timer = threading.Timer(settings.night_deadline, _out_of_time, [work])
        timer.daemon = True
        timer.start()
        stack.callback(timer.cancel)
        yield work


def _plan(work: NightWork, standing: dict[str, Standing]) -> None:
    """Sort the attributes into unchanged ones and those to be worked on."""
    for one in work.discovery.refused:
        if one.attribute:
            work.entries[one.attribute] = work._failure(one.attribute, one.why)
    known = work.past.known_by_name()
    for inputs in work.discovery.attributes:
        try:
            order = _order(work, inputs, known.get(encoded(inputs.attribute), {}))
        except (SettingsError, SharedFeaturesError) as error:
            work.entries[inputs.attribute] = work._failure(inputs.attribute, str(error))
            continue
        before = work.past.entries.get(inputs.attribute)
        if before is not None and _is_unchanged(work, order, before, standing):
            work.entries[inputs.attribute] = _unchanged(before, work.run)
        else:
            work.todo[inputs.attribute] = order
    for attribute, order in work.todo.items():
        if attribute in standing:
            rivals = _rivals(work, attribute, standing[attribute].number)
            work.todo[attribute] = replace(order, rivals=rivals)


def _rivals(work: NightWork, attribute: str, champion: int) -> tuple[Rival, ...]:
    """The champion, and champions of the last nights that were not rolled back."""
    withdrawn = work.registry.withdrawn(attribute)
    nights = work.settings.gate.nights
    return tuple(
        Rival(one.number, ago, one.number == champion, one.place)
        for one, ago in work.registry.rivals(attribute, nights=nights, today=work.night)
        if one.number not in withdrawn
    )


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
    )


def _is_unchanged(
    work: NightWork, order: Order, before: Entry, standing: dict[str, Standing]
) -> bool:
    """Whether last time's results are tonight's, told without reading a vote."""
    if not work._settled(before) or work.asked.as_of is not None:
        return False
    if before.verdict == "published" and before.attribute not in standing:
        return False  # the registry has lost it
    return (
        before.dumps == {source.key: source.etag for source in order.inputs.dumps}
        and before.features == {source.key: source.etag for source in order.inputs.features}
        and before.settings == settings_digest(order)
        and before.shared == order.shared
    )


def _unchanged(before: Entry, run: str) -> Entry:
    reason = before.reason
    if before.outcome != "unchanged":
        was = "published" if before.verdict == "published" else "held"
        number = "" if before.version is None else f" as version {before.version}"
        reason = f"nothing new since it was {was}{number}"
        if before.outcome == "held":  # still to be known the night after
            reason = f"{reason}: {before.reason.removeprefix('held: ')}"
    return replace(
        before,
        run=run,
        outcome="unchanged",
        reason=reason,
        seconds=0.0,
        attempts=0,
        computed=False,
    )


def _share(work: NightWork, stack: ExitStack, say: Say) -> None:
    """Reduce the tables of features that attributes share."""
    tables = {folder_of(one): one.features for one in work.discovery.attributes if one.features}
    before = {} if work.past.last is None else work.past.last.shared

    def client() -> Any:
        return _workers(work, stack, work.settings.workers).client

    found = shared_tables(
        tables,
        before,
        store=work.store,
        run=work.run,
        components=work.settings.shared_components,
        refit=work.asked.refit,
        client=client,
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
    work._publisher = ThreadPoolExecutor(1, "publisher")
    stack.callback(work._publisher.shutdown, wait=True, cancel_futures=True)
    work._desk = Desk(
        work.registry,
        checker,
        work.run,
        work.night,
        work.lease.check,
        force=work.asked.force,
        dry=work.asked.dry,
    )


def _notes(past: Past, found: Discovery) -> list[str]:
    notes = []
    if past.unfinished:
        notes.append(
            f"{plural(len(past.unfinished), 'run')} before this did not finish "
            f"({shown_some(list(past.unfinished))}); what they computed is used"
        )
    here = {one.attribute for one in found.attributes} | {one.attribute for one in found.refused}
    if gone := sorted(set(past.entries) - here):
        notes.append(f"no votes any more on {shown_some(gone)}; what is live stays live")
    return notes


def _out_of_time(work: NightWork) -> None:
    work.notes.append(f"stopped: the night took longer than {work.settings.night_deadline:g} s")
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


def _now() -> datetime:
    return datetime.now(UTC)
