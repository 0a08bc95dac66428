"""A night in progress, apart from Prefect: doing one attribute, and the record of all.

with night_work(settings, asked) as work:   see `night_start.py`
    entry = work.work_on(attribute)         for each of work.todo, from any number of threads
    night = work.finish()                   the record is written, last
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

from flows.messages import message
from flows.night_report import tau_table
from tasks.cluster import Cluster, WorkerDied, WorkError
from tasks.contents import Content, contents_of
from tasks.discover import Discovery, etags_of
from tasks.freshness import earlier_nights, is_current, is_whole, with_behind
from tasks.lease import Lease
from tasks.metrics import MetricsError, night_metrics, write_textfile
from tasks.objects import redacted
from tasks.publish import Desk, publish, rivals
from tasks.registry import Owner, Registry, RegistryError, RegistryUnreachable, Standing
from tasks.report.digest import DIGEST, DIGESTS, digest_of, recent_digests
from tasks.report.site import LATEST, METRICS, point_to, report_key, write_overview, write_page
from tasks.results import (
    NIGHTS,
    RUN,
    Entry,
    Night,
    Order,
    SharedTable,
    State,
    Trained,
)
from tasks.runs import RUNS, Past
from tasks.settings import Settings
from tasks.store import NotThere, Store, StoreError, Unreachable
from tasks.train import UnusedVotes, train
from tasks.write import for_spreadsheets, table_bytes
from urlr.errors import UrlrError
from urlr.sentence import Sentence

TAU = "tau.csv"
ATTEMPTS = 2
"""Times an attribute is tried when its worker dies: one that merely stood beside is blamed too."""
_MOST_REMARKED = 5
"""Attributes whose odd votes are told one by one."""
_PASSING = (WorkerDied, Unreachable, RegistryUnreachable)
"""What may be over when the attribute is tried again."""


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
            raise NightError(message("as_of_in_the_future", day=self.as_of))
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
    owner: Owner | None
    """This store, as the models that belong to it name it; None in a dry run of a new store."""
    owners: dict[str, Owner | None]
    """Which store the models in the registry belong to."""
    entries: dict[str, Entry] = field(default_factory=dict)
    """Of the attributes done so far."""
    todo: dict[str, Order] = field(default_factory=dict)
    """What is to be worked on, by attribute."""
    stopping: threading.Event = field(default_factory=threading.Event)
    stages: dict[str, float] = field(default_factory=dict)
    cluster: Cluster | None = None
    shared: dict[str, SharedTable] = field(default_factory=dict)
    standing: dict[str, Standing] = field(default_factory=dict)
    """The champions when the night began."""
    unshared: dict[str, Sentence] = field(default_factory=dict)
    """Why features could not be reduced, by folder."""
    contents: dict[str, Content] = field(default_factory=dict)
    """What files are known to hold, by key."""
    pageless: list[str] = field(default_factory=list)
    """Attributes whose page could not be written."""
    desk: Desk | None = None
    publisher: ThreadPoolExecutor | None = None
    _attempts: Counter[str] = field(default_factory=Counter)
    _first: float | None = None
    """When the first order was sent, by the clock of stages."""
    _computed: dict[str, dict[str, str]] = field(default_factory=dict)
    """Places of tonight's results by key, by attribute."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work_on(self, attribute: str) -> Entry:
        """Do one attribute, wait until it is published or held, and note it.

        Raises
        ------
        WorkerDied, Unreachable, RegistryUnreachable
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
        except _PASSING as error:
            if not self.may_try_again(attribute, error):
                self._note(self.failure(attribute, error.sentence))
            raise
        except UrlrError as error:
            is_foreign = isinstance(error, WorkError) and error.trace
            said = error.sentence
            text = message("unexpected_in_worker", error=said) if is_foreign else said
            unused = error.n_rows if isinstance(error, UnusedVotes) else None
            self._note(replace(self.failure(attribute, text), unused_rows=unused))
            raise
        except Exception as error:
            text = message("unexpected_error", kind=type(error).__name__, why=redacted(str(error)))
            self._note(self.failure(attribute, text))
            raise
        self._note(replace(entry, attempts=attempt))
        return self.entries[attribute]

    def may_try_again(self, attribute: str, error: BaseException | None) -> bool:
        """Whether calling `work_on` once more makes sense after this error."""
        again = isinstance(error, _PASSING) and not self.stopping.is_set()
        return again and self._attempts[attribute] < ATTEMPTS

    def finish(self) -> Night:
        """Write the record of the night, its last object, and give it."""
        for attribute in self.todo:
            if attribute not in self.entries:
                self.entries[attribute] = self.failure(attribute, message("not_reached"))
        kept = {
            name: one
            for name, one in self.past.entries.items()
            if name not in self.entries and (self.asked.only or not _is_nothing(one))
        }
        entries = self._live(dict(sorted((kept | self.entries).items())))
        entries = with_behind(entries, self.past.entries, now=self.started)
        self.notes += _from_the_future(self.entries.values(), self.started)
        self.notes += _remarks(self.entries.values())
        if self.cluster is not None and (left_out := self.cluster.left_out):
            where = self.settings.dask_address
            self.notes.append(message("workers_left_out", where=where, workers=left_out))
        state, reason = self._state()
        self.stages["all"] = (_now() - self.started).total_seconds()
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
            contents=self.contents | self._new_contents(),
        )
        self.lease.check()
        if night.tonight():
            table = table_bytes(for_spreadsheets(tau_table(night)), TAU)
            self.store.create(f"{RUNS}/{self.run}/{TAU}", table)
        if trouble := self._report(night):
            if state == "Completed":
                state, reason = "Partial", message("no_report", done=reason)
            notes = (*night.notes, *trouble)
            night = replace(night, state=state, reason=reason, notes=notes, reported=False)
        self.store.create(f"{RUNS}/{self.run}/{RUN}", NIGHTS.to_bytes(night))
        if is_whole(night) and not trouble:
            night = self._pointed_to(night)
        return night

    def _new_contents(self) -> dict[str, Content]:
        """What files hold that could be used tonight, and were not known."""
        if self.asked.dry:
            return {}
        used = [
            one
            for one in self.discovery.attributes
            if self.entries[one.attribute].outcome != "failed"
        ]
        return contents_of(self.store, used, self.contents)

    def tell_dashboards(self, night: Night) -> None:
        """Put the figures where Prometheus looks, if the settings say where.

        Raises
        ------
        MetricsError
            They cannot be written there; the night is done all the same.
        """
        if self.settings.metrics_dir is not None and is_current(night):
            try:
                metrics = self.store.read(report_key(self.run, METRICS))
            except NotThere as error:
                lacking = error.sentence.at(message("no_figures_for_dashboards"))
                raise MetricsError(lacking) from None
            write_textfile(metrics, self.settings.metrics_dir)

    def _report(self, night: Night) -> list[str]:
        """Write what people open in the morning, and the figures that dashboards show.

        Gives what went wrong: the record of what was done must not depend on how it is shown.
        """
        try:
            earlier = recent_digests(self.store, before=self.run)
            metrics = night_metrics(night, past=earlier_nights(self.store, before=self.run))
            write_overview(self.store, night, earlier, now=_now(), metrics=metrics)
            self.store.create(f"{RUNS}/{self.run}/{DIGEST}", DIGESTS.to_bytes(digest_of(night)))
        except Exception as error:
            return [self._not_made(message("the_report"), error)]
        return []

    def _pointed_to(self, night: Night) -> Night:
        """Let the pointer lead to the report; the record stays, `urlr status` looks at both."""
        try:
            point_to(self.store, self.run)
        except StoreError as error:
            note = message("pointer_not_moved", path=LATEST, why=error.sentence)
            night = replace(night, notes=(*night.notes, note))
            if night.state == "Completed":
                reason = message("not_latest", done=night.reason)
                night = replace(night, state="Partial", reason=reason)
        return night

    def _not_made(self, what: str, error: Exception) -> str:
        kind = type(error).__name__
        return message("not_made", what=what, kind=kind, why=redacted(str(error)), run=self.run)

    def _live(self, entries: dict[str, Entry]) -> dict[str, Entry]:
        """The entries with what serves now, which anybody may have rolled back meanwhile."""
        try:
            standing = self.registry.standing()
        except RegistryError as error:
            self.notes.append(error.sentence.at(message("live_not_known")))
            return entries
        ours = {name: one for name, one in standing.items() if one.owner in (None, self.owner)}
        return {name: with_live(one, ours.get(name)) for name, one in entries.items()}

    def _state(self) -> tuple[State, str]:
        failed = sorted(name for name, one in self.entries.items() if one.outcome == "failed")
        n, refused = len(self.entries), [one for one in self.discovery.refused if not one.attribute]
        done = n - len(failed)
        if done == 0 or done < self.settings.fewest_done * n:
            fewest = self.settings.fewest_done
            if done:
                return "Failed", message("too_few_done", done=done, total=n, fewest=fewest)
            return "Failed", message("some_done", done=done, total=n)
        if not (failed or refused):
            all_done = message("all_done", total=n)
            if pageless := sorted(self.pageless):
                return "Partial", message("no_pages", done=all_done, attributes=pageless)
            return "Completed", all_done
        said = [message("some_done", done=done, total=n)]
        if failed:
            said.append(message("these_failed", names=failed))
        if refused:
            said.append(message("objects_outside", count=len(refused)))
        return "Partial", message("partly_done", parts="; ".join(said))

    def _done(self, order: Order, attempt: int) -> Entry:
        assert self.cluster is not None
        if self.stopping.is_set():
            raise NightError(message("not_begun"))
        if order.inputs.attribute in self.standing:
            assert self.desk is not None
            order = replace(order, rivals=rivals(order, self.desk))
        elif has_lost_another(self.past.entries.get(order.inputs.attribute)):
            order = replace(order, champion_lost=True)
        with self._lock:
            began = self._first = self._first or time.monotonic()
        trained = self.cluster.run(
            train,
            order,
            name=order.inputs.attribute,
            attempt=attempt,
            deadline=self.settings.attribute_deadline,
            stopping=self.stopping,
        )
        attribute, result = order.inputs.attribute, trained.result
        with self._lock:
            self._computed[attribute] = {result.key: result.place}
            self.stages["fits"] = time.monotonic() - began
        before = self.past.entries.get(attribute)
        if before is not None and before.key == result.key and self.settled(before):
            return replace(unchanged(before, self.run), features=etags_of(order.inputs.features))
        return self._with_page(self._published(trained, order))

    def _with_page(self, entry: Entry) -> Entry:
        """Write the attribute's page; what serves is told as it stands now.

        What was decided stands, whatever becomes of the page: without one, a note says so.
        """
        live = self.standing.get(entry.attribute)
        if entry.outcome == "published" and entry.version is not None:
            live = Standing(entry.version, _now(), self.night)
        entry = with_live(entry, live)
        as_of = self.asked.as_of
        try:
            page = write_page(self.store, entry, run=self.run, night=self.night, as_of=as_of)
        except Exception as error:
            page_of = message("the_page_of", attribute=entry.attribute)
            self.notes.append(self._not_made(page_of, error))
            self.pageless.append(entry.attribute)
            return entry
        return replace(entry, page=page)

    def _published(self, trained: Trained, order: Order) -> Entry:
        """Through the one thread that publishes."""
        assert self.publisher is not None
        assert self.desk is not None
        work: Future[Entry] = self.publisher.submit(self._at_desk, trained, order, self.desk)
        while not work.done():
            if self.stopping.wait(0.0) and work.cancel():
                raise NightError(message("not_published"))
            wait([work], timeout=0.5)
        return work.result()

    def _at_desk(self, trained: Trained, order: Order, desk: Desk) -> Entry:
        """Publish, in the thread that does, and add to the seconds it was at work."""
        began = time.monotonic()
        try:
            return publish(trained, order, desk)
        finally:
            spent = self.stages.get("publishing", 0.0)
            self.stages["publishing"] = spent + time.monotonic() - began

    def settled(self, entry: Entry) -> bool:
        """Whether the gate has spoken on these results, and nothing asks to hear it again."""
        if not entry.verdict or entry.key is None:
            return False
        was_live = entry.live is not None or entry.verdict == "published"
        if was_live and entry.attribute not in self.standing:
            return False  # the registry has lost it
        if entry.verdict == "held":
            thawed = entry.frozen and not self.settings.is_frozen(entry.attribute)
            other_rules = entry.gate != self.settings.gate.rules()
            live = self.standing.get(entry.attribute)
            promoted = live is not None and live.number == entry.version  # by hand
            return not (promoted or self.asked.force or thawed or other_rules or entry.rival_lost)
        return True

    def failure(self, attribute: str, text: str) -> Entry:
        """What the record says of an attribute that failed: all that was known of it stays."""
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
            waiting=self._computed.get(attribute, known.waiting),
            unused_rows=None,
        )

    def _note(self, entry: Entry) -> None:
        with self._lock:
            self.entries[entry.attribute] = entry


def _is_nothing(entry: Entry) -> bool:
    """Whether an attribute that has no votes any more never had results either."""
    return entry.key is None and not entry.waiting and entry.live is None


def _from_the_future(entries: Iterable[Entry], now: datetime) -> list[str]:
    """A note on votes that claim to be cast after tomorrow; they count all the same."""
    late = {one.attribute: one.newest for one in entries if one.newest is not None}
    late = {name: newest for name, newest in late.items() if newest > now + timedelta(days=1)}
    if not late:
        return []
    last = max(late.values())
    return [message("votes_from_the_future", last=last, attributes=sorted(late))]


def _remarks(entries: Iterable[Entry]) -> list[str]:
    """What is odd about the votes of some attributes; of many, where to read on."""
    odd = sorted((one for one in entries if one.remarks), key=lambda one: one.attribute)
    said = [
        message("remark_on", attribute=one.attribute, remark=remark)
        for one in odd[:_MOST_REMARKED]
        for remark in one.remarks
    ]
    if more := [one.attribute for one in odd[_MOST_REMARKED:]]:
        said.append(message("more_remarks", count=len(more), attributes=more))
    return [*said]


def unchanged(before: Entry, run: str) -> Entry:
    """What the record says of an attribute that needs no work."""
    reason = before.reason
    if before.outcome != "unchanged":
        was = "published" if before.verdict == "published" else "held"
        number = ""
        if before.version is not None:
            number = message("as_version", version=before.version)
        reason = nothing_new = message("nothing_new", verdict=was, version=number)
        if before.outcome == "held":  # still to be known the night after
            held = before.reason.removeprefix("held: ")
            reason = message("nothing_new_since_held", nothing_new=nothing_new, why=held)
    return replace(
        before,
        run=run,
        outcome="unchanged",
        reason=reason,
        seconds=0.0,
        attempts=0,
        computed=False,
        unused_rows=None,
    )


def with_live(entry: Entry, standing: Standing | None) -> Entry:
    """The entry with what serves now; that another version did, and is lost, stays known."""
    if standing is None:
        lost = has_lost_another(entry)
        return replace(entry, rival_lost=lost, live=None, live_since=None, live_night=None)
    return replace(
        entry,
        rival_lost=entry.rival_lost and entry.verdict == "held",
        live=standing.number,
        live_since=standing.since,
        live_night=standing.night,
    )


def has_lost_another(before: Entry | None) -> bool:
    """Whether, if nothing serves now, another version did than that of the last results.

    These were held or rolled back then, and are no first model.
    """
    if before is None or before.live is None:
        return before is not None and before.rival_lost
    return before.live != before.version


def _now() -> datetime:
    return datetime.now(UTC)
