"""The study as a Prefect flow: a task run and a Dask task per trial, then claims and figures."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.messages import message
from flows.watching import tell
from tasks.cluster import Cluster, WorkerDied, local_cluster
from tasks.study.results import Cost, StudySummary, write_results
from tasks.study.trials import Trial, carried_out, read_done, trials_of
from urlr.errors import UrlrError
from urlr.ids import shown

DEADLINE = 900.0
"""Seconds that one trial may take; the longest takes 40."""
ATTEMPTS = 2
"""Of a trial whose worker died."""
_TICK = 0.2


@flow(name="study", persist_result=False)
def study(
    experiments: list[str],
    folders: dict[str, Path | None],
    out: Path,
    quick: bool = False,
    workers: int = 2,
) -> State[StudySummary]:
    """Run what has no outcome yet, judge the claims, draw the figures."""
    trials = trials_of(experiments, folders, out, quick=quick)
    missing = [trial for trial in trials if read_done(trial) is None]
    busy, wall = [0.0], 0.0
    failures: dict[str, str] = {}
    if missing:
        tell("starting the workers", 0.0)
        with local_cluster(workers=workers) as cluster:
            cluster.prepare(("tasks.study.trials",))
            began = time.monotonic()
            failures = _fan_out(missing, cluster, busy, found=len(trials) - len(missing))
            wall = time.monotonic() - began
    done = [one for one in map(read_done, trials) if one is not None]
    cost = Cost(workers, wall, busy[0], len(missing) - len(failures))
    summary = write_results(
        done,
        out,
        when=f"{datetime.now(UTC):%Y-%m-%d}",
        quick=quick,
        cost=cost,
        failures=failures,
        progress=tell,
    )
    create_table_artifact(
        [
            {"claim": f"{one.number}. {one.claim}", "verdict": one.verdict, "on": one.evidence}
            for one in summary.claims
        ],
        key="study-claims",
        description="The paper's claims",
    )
    get_run_logger().info(summary.cost.sentence())
    if failures:
        failed = message("trials_failed", count=len(failures), total=len(trials))
        return Failed(message=failed, data=summary)
    return Completed(message=summary.cost.sentence(), data=summary)


def _fan_out(
    trials: Sequence[Trial], cluster: Cluster, busy: list[float], *, found: int
) -> dict[str, str]:
    """Run all trials; give what went wrong, by unit."""
    stopping = threading.Event()
    failures: dict[str, str] = {}
    attempts: dict[str, int] = {}

    @task(
        name="trial",
        task_run_name="{name}",
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=ATTEMPTS - 1,
        retry_condition_fn=lambda task, run, state: state.data is not None,  # raised, see below
    )
    def trial_task(name: str, trial: Trial) -> State[None]:
        attempts[name] = attempts.get(name, 0) + 1
        try:
            seconds = cluster.run(
                carried_out,
                trial,
                name=name,
                attempt=attempts[name],
                deadline=DEADLINE,
                stopping=stopping,
            )
        except WorkerDied as error:
            if attempts[name] < ATTEMPTS and not stopping.is_set():
                raise  # Prefect runs it once more
            failures[name] = shown(error, 300)
            return Failed(message=failures[name])
        except UrlrError as error:
            failures[name] = shown(error, 300)
            get_run_logger().error("%s: %s", name, failures[name])
            return Failed(message=failures[name])
        busy[0] += seconds
        return Completed(message=f"{seconds:.1f} s")

    ended: SimpleQueue[Any] = SimpleQueue()
    with ThreadPoolTaskRunner[Any](max_workers=cluster.n_slots + 2) as threads:
        for trial in trials:
            future = threads.submit(trial_task, {"name": trial.unit.name, "trial": trial})
            future.add_done_callback(ended.put)
        done = 0
        try:
            while done < len(trials):
                with suppress(Empty):
                    ended.get(timeout=_TICK)
                    done += 1
                failed = f", {len(failures)} failed" if failures else ""
                total = len(trials) + found
                tell(f"{done + found:,} of {total:,} trials{failed}", done / len(trials))
        except BaseException:
            stopping.set()  # wakes whoever waits for a worker
            raise
    return failures
