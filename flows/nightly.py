"""The nightly retraining as a Prefect flow: one task run per attribute, each with its state.

A task here is only the wrapper that Prefect shows: it runs in the flow's process, sends one order
to a Dask worker and waits for it. Workers need no Prefect.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Any, cast
from uuid import UUID

from prefect import flow, get_run_logger, task
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, TaskRunFilter
from prefect.client.schemas.objects import State, StateType
from prefect.runtime import flow_run
from prefect.states import Completed, Crashed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.messages import message
from flows.night import ATTEMPTS, Asked, NightWork
from flows.night_events import emit_night_events
from flows.night_report import summary_markdown, tau_rows
from flows.night_start import night_work
from flows.tied import end_with_parent
from flows.watching import tell
from tasks.cluster import WorkError
from tasks.metrics import MetricsError
from tasks.report.wording import sentence
from tasks.results import Entry, Night
from tasks.runs import read_start
from tasks.settings import load_settings
from urlr.errors import UrlrError
from urlr.ids import shown

PUBLISHING = 14
"""Task runs open beyond those that workers have room for: being published, or next."""
_NAMES = {"published": "Published", "held": "Held", "unchanged": "Unchanged"}
_TICK = 0.2
_UPDATE = 3.0
"""Seconds between two updates of the progress that Prefect shows: each is a call of 0.2 s."""


@flow(
    name="nightly",
    flow_run_name=lambda: f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    persist_result=False,
    validate_parameters=True,
)
def nightly(
    store: str | None = None,
    only: list[str] | None = None,
    as_of: datetime | None = None,
    dry_run: bool = False,
    force: bool = False,
    refit_features: bool = False,
) -> State[Night]:
    """Retrain what has new votes, publish what passes the gate, and report."""
    end_with_parent()
    settings = load_settings(store=store)
    asked = Asked(tuple(only or ()), as_of, dry_run, force, refit_features)
    say: Callable[[str], None] = lambda text: tell(text, 0.0)  # noqa: E731
    with night_work(settings, asked, say=say, flow_run=flow_run.id) as work:
        _bury(work)
        fan_out(work)
        tell("writing the record", 1.0)
        night = work.finish()
        try:
            work.tell_dashboards(night)
        except MetricsError as error:
            get_run_logger().error("%s", error)
    _report(night)
    emit_night_events(night, store=work.store)
    get_run_logger().info(sentence(night))
    if night.state == "Failed":
        return Failed(message=night.reason, data=night)
    return Completed(name=night.state, message=night.reason, data=night)


def _bury(work: NightWork) -> None:
    """Tell Prefect that runs which died without a word are not running: we hold their store."""
    started = [read_start(work.store, run) for run in work.past.unfinished]
    dead = [UUID(one.flow_run) for one in started if one is not None and one.flow_run]
    if not dead:
        return
    gone = message("process_gone")
    with get_client(sync_client=True) as client:
        running = {"any_": [StateType.RUNNING]}
        chosen = FlowRunFilter.model_validate({"id": {"any_": dead}, "state": {"type": running}})
        for run in client.read_flow_runs(flow_run_filter=chosen):
            tasks = TaskRunFilter.model_validate(
                {"flow_run_id": {"any_": [run.id]}, "state": {"type": running}}
            )
            for one in client.read_task_runs(task_run_filter=tasks):
                client.set_task_run_state(one.id, Crashed(message=gone), force=True)
            client.set_flow_run_state(run.id, Crashed(message=gone), force=True)


def fan_out(work: NightWork) -> None:
    """One task run per attribute; those that are unchanged have nothing to run."""

    @task(
        name="attribute",
        task_run_name="{attribute}",
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=ATTEMPTS - 1,
        retry_condition_fn=lambda task, run, state: state.data is not None,  # raised, see below
    )
    def attribute_task(attribute: str) -> State[None]:
        try:
            entry = work.work_on(attribute)
        except Exception as error:
            if work.may_try_again(attribute, error):
                raise  # Prefect runs it once more
            if trace := _trace(error):
                get_run_logger().error("%s\n%s", shown(error, 1000), trace)
            return Failed(message=shown(error, 1000))
        return Completed(name=_NAMES[entry.outcome], message=entry.reason)

    began = time.monotonic()
    ended: SimpleQueue[object] = SimpleQueue()  # asking a future for its state asks the API
    with _bar(bool(work.todo)) as show, _threads(work) as threads:
        for attribute in work.todo:
            future = threads.submit(attribute_task, {"attribute": attribute})
            future.add_done_callback(ended.put)
        done = 0
        try:
            while done < len(work.todo):
                with suppress(Empty):
                    ended.get(timeout=_TICK)
                    done += 1
                share = done / len(work.todo)
                tell(_doing(work, done, len(work.todo)), share)
                show(share)
        except BaseException:
            work.stopping.set()  # wakes whoever waits for a worker
            raise
    work.stages["attributes"] = time.monotonic() - began


def _trace(error: Exception) -> str:
    """Where an error arose that nobody expected; empty for those that say what is wrong."""
    if isinstance(error, WorkError):
        return error.trace
    if isinstance(error, UrlrError):
        return ""
    return "".join(traceback.format_tb(error.__traceback__))


def _threads(work: NightWork) -> ThreadPoolTaskRunner[Any]:
    slots = 0 if work.cluster is None else work.cluster.n_slots
    return ThreadPoolTaskRunner(max_workers=slots + PUBLISHING)


@contextmanager
def _bar(wanted: bool) -> Iterator[Callable[[float], None]]:
    """A bar on Prefect's page of the run, brought up to date now and then."""
    if not wanted:
        yield lambda share: None
        return
    bar = cast(UUID, create_progress_artifact(0.0, key="nightly-progress"))
    last = time.monotonic()

    def show(share: float) -> None:
        nonlocal last
        if time.monotonic() - last > _UPDATE:
            last = time.monotonic()
            update_progress_artifact(bar, progress=100.0 * share)

    yield show
    update_progress_artifact(bar, progress=100.0)


def _doing(work: NightWork, done: int, total: int) -> str:
    entries: list[Entry] = list(work.entries.values())
    failed = sum(entry.outcome == "failed" for entry in entries)
    failures = f", {failed} failed" if failed else ""
    return f"{done} of {total} attributes{failures}"


def _report(night: Night) -> None:
    """What Prefect's pages show of a night."""
    create_table_artifact(
        tau_rows(night), key="kendall-tau", description="Kendall tau by attribute"
    )
    create_markdown_artifact(summary_markdown(night), key="nightly-summary")
