"""The nightly retraining as a Prefect flow: one task run per attribute, each with its state.

A task here is only the wrapper that Prefect shows: it runs in the flow's process, sends one order
to a Dask worker and waits for it. Workers need no Prefect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import cast
from uuid import UUID

from prefect import flow, task
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.night import ATTEMPTS, Asked, NightWork, night_work
from flows.night_report import summary_markdown, tau_rows
from flows.watching import tell
from tasks.results import Entry, Night
from tasks.settings import load_settings
from urlr.ids import shown

THREADS = 16
"""Attributes whose task runs are open at a time: those being fitted, and those being published."""
_NAMES = {"published": "Published", "held": "Held", "unchanged": "Unchanged"}
_TICK = 0.2
_UPDATE = 3.0
"""Seconds between two updates of the progress that Prefect shows: each is a call of 0.2 s."""


@flow(
    name="nightly",
    persist_result=False,
    validate_parameters=True,
    task_runner=ThreadPoolTaskRunner(max_workers=THREADS),  # type: ignore[arg-type]
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
    settings = load_settings(store=store)
    asked = Asked(tuple(only or ()), as_of, dry_run, force, refit_features)
    with night_work(settings, asked, say=lambda text: tell(text, 0.0)) as work:
        try:
            fan_out(work)
        except BaseException:
            work.stopping.set()  # wakes whoever waits for a worker
            raise
        tell("writing the record", 1.0)
        night = work.finish()
    _report(night)
    if night.state == "Failed":
        return Failed(message=night.reason, data=night)
    return Completed(name=night.state, message=night.reason, data=night)


def fan_out(work: NightWork) -> None:
    """One task run per attribute; those that are unchanged have nothing to run."""

    @task(
        name="attribute",
        task_run_name="{attribute}",
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=ATTEMPTS - 1,
    )
    def attribute_task(attribute: str) -> State[None]:
        try:
            entry = work.work_on(attribute)
        except Exception as error:
            if work.may_try_again(attribute, error):
                raise  # Prefect runs it once more
            return Failed(message=shown(error, 1000))
        return Completed(name=_NAMES[entry.outcome], message=entry.reason)

    futures = [attribute_task.submit(attribute) for attribute in work.todo]
    began = time.monotonic()
    ended: SimpleQueue[object] = SimpleQueue()  # asking a future for its state asks the API
    for future in futures:
        future.add_done_callback(ended.put)
    with _bar(bool(futures)) as show:
        done = 0
        while done < len(futures):
            with suppress(Empty):
                ended.get(timeout=_TICK)
                done += 1
            share = done / len(futures)
            tell(_doing(work, done, len(futures)), share)
            show(share)
    work.stages["attributes"] = time.monotonic() - began


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
