"""Nights in this process, apart from Prefect.

A `Bench` is a `Place` (see `pipeline.py`) whose commands run here: the same command line, settings,
store, gate and registry, workers of the run's standing Dask cluster, and a real process that
verifies. Only what `flows/nightly.py` does by Prefect's task runs is done by threads.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pipeline import Place, PrefectApi, Ran, clean_environment
from waiting import until

from flows import cli, nightly_command
from flows.night import Asked, NightWork
from flows.night_start import night_work
from tasks.metrics import MetricsError
from tasks.registry import verifying
from tasks.results import Night
from tasks.runs import names_of, new_run
from tasks.settings import load_settings
from tasks.store import Store

THREADS = 4


def _without_prefect(store: str | None, asked: Asked, progress: nightly_command.Progress) -> Night:
    """What the flow does, by threads."""
    settings = load_settings(store=store)
    with night_work(settings, asked, say=lambda text: progress(text, 0.0)) as work:
        with ThreadPoolExecutor(THREADS) as threads:
            for done in [threads.submit(_worked_on, work, name) for name in work.todo]:
                done.result()
        night = work.finish()
        with suppress(MetricsError):
            work.tell_dashboards(night)
    return night


def _worked_on(work: NightWork, attribute: str) -> None:
    """Try an attribute as often as the flow would; a failure is in the record."""
    while True:
        try:
            work.work_on(attribute)
        except Exception as error:
            if work.may_try_again(attribute, error):
                continue
        return


class _Lent(verifying._Helper):
    """The process that verifies, shared by nights of this process: starting it takes seconds.

    It is told with each version in which registry to look, but not with which credentials.
    """

    def answer(self, order: bytes, seconds: float) -> bytes:
        try:
            return super().answer(order, seconds)
        except TimeoutError:
            self.process.kill()  # or the next would be given this one's answer
            self.process.wait()
            raise

    def end(self) -> None: ...


_LENT: dict[tuple[tuple[str, str], ...], _Lent] = {}
_started = verifying._Helper.started


def _lent() -> _Lent:
    access: tuple[tuple[str, str], ...] = ()
    if "URLR_ARTIFACTS" in os.environ:  # else it reads no bucket
        access = tuple(sorted(one for one in os.environ.items() if one[0].startswith("AWS_")))
    known = _LENT.get(access)
    if known is None or known.process.poll() is not None:
        made = _started()
        known = _LENT[access] = _Lent(made.process, made.line, made.said)
    return known


@pytest.fixture(scope="session")
def one_verifier() -> Iterator[None]:
    """Ends what nights of this process share."""
    yield
    while _LENT:
        verifying._Helper.end(_LENT.popitem()[1])


@contextmanager
def _as_started(directory: Path, environment: dict[str, str]) -> Iterator[None]:
    """This process, as one that was started in a directory with an environment."""
    with pytest.MonkeyPatch.context() as patch, chdir(directory):
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(nightly_command, "run_by_prefect", _without_prefect)
        patch.setattr(verifying._Helper, "started", _lent)
        yield


@dataclass(frozen=True)
class Bench(Place):
    """Where somebody works, in this process."""

    def urlr(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run the command here, with these variables set beside those of the place."""
        out, err = io.StringIO(), io.StringIO()
        with (
            _as_started(self.directory, self.environment | settings),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                code = cli.main(arguments)
            except SystemExit as end:  # of argparse
                code = end.code if isinstance(end.code, int) else 1
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    def night(self, *options: str, **settings: str) -> Ran:
        """The same, in another second than the one before: runs are in order by their names."""
        last = max(names_of(self.store), default="")
        until(lambda: new_run(datetime.now(UTC)).partition("-")[0] > last.partition("-")[0])
        return super().night(*options, **settings)

    def by_prefect(self, api: PrefectApi) -> Place:
        """The same place, where the command is a process and its nights are run by Prefect."""
        given = self.environment | {"PREFECT_API_URL": api.address}
        return Place(self.directory, self.store, given)


@pytest.fixture(scope="session")
def new_bench(
    tmp_path_factory: pytest.TempPathFactory, dask_address: str, tables: Path, one_verifier: None
) -> Callable[..., Bench]:
    """Makes a bench: its directory is empty but for a registry, and so is its store."""

    def make(store: Store | None = None, **settings: str) -> Bench:
        home = tmp_path_factory.mktemp("bench")
        directory = home / "work"
        (directory / "urlr-registry").mkdir(parents=True)
        shutil.copy(tables, directory / "urlr-registry")
        store = Store.at(home / "store") if store is None else store
        given = {"URLR_DASK_ADDRESS": dask_address, "URLR_STORE": store.url} | settings
        return Bench(directory, store, clean_environment(home) | given)

    return make
