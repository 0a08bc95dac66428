"""The fan-out on worker processes of this machine: real ones, that really die."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cluster_work as work
import psutil
import pytest
from distributed.nanny import Nanny, WorkerProcess
from refusals import refused

from tasks.cluster import (
    Cluster,
    ClusterError,
    Stopped,
    TookTooLong,
    WorkerDied,
    WorkError,
    fanout,
    local_cluster,
)
from tasks.cluster.seats import Seat, Seats
from urlr.errors import VoteError
from urlr.sentence import made

pytestmark = pytest.mark.full

PATIENCE = 60.0
ROOT = Path(__file__).parents[2]


def until(fact: Callable[[], object], what: str) -> None:
    """Wait for a fact, not for ever."""
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end, f"still not so: {what}"
        time.sleep(0.02)


def full(cluster: Cluster, slots: int = 2) -> None:
    until(lambda: cluster.n_slots == slots, f"{slots} slots, there are {cluster.n_slots}")


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "known-to-workers")
        patch.setenv("MLFLOW_TRACKING_PASSWORD", "not-for-workers")
        patch.setenv("PREFECT_API_KEY", "not-for-workers")
        patch.setenv("OPENBLAS_NUM_THREADS", "2")  # which is not theirs either
        patch.setenv("OPENBLAS_MAIN_FREE", "1")  # as all that its last bits may depend on
        with local_cluster(workers=2, memory="700MiB") as cluster:
            yield cluster


@pytest.fixture
def cluster(shared: Cluster) -> Cluster:
    """Two workers, both alive."""
    full(shared)
    return shared


def run(cluster: Cluster, function: Callable, order: object = None, **tuning: object) -> object:
    given = {"name": "smiling", "attempt": 1, "deadline": PATIENCE} | tuning
    return cluster.run(function, order, **given)


def test_results_come_back_to_the_thread_that_ordered_them(cluster):
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(partial(run, cluster, work.negative), range(60)))
    assert results == [-k for k in range(60)]


def test_both_workers_are_used(cluster, tmp_path):
    go = tmp_path / "go"
    with ThreadPoolExecutor(2) as pool:
        orders = [pool.submit(run, cluster, work.hang_until, go) for _ in range(2)]
        until(lambda: len(started(go)) == 2, "both orders began")
        go.touch()
        assert len({order.result() for order in orders}) == 2


def started(marker: Path) -> list[str]:
    """Processes that began to wait for a marker."""
    path = marker.with_suffix(".started")
    return path.read_text().split() if path.exists() else []


def test_the_same_name_and_attempt_may_be_ordered_again(cluster):
    assert [run(cluster, work.negative, k, name="one") for k in (1, 2)] == [-1, -2]


def test_an_error_of_ours_comes_back_as_itself(cluster):
    with refused(VoteError, "self_comparison", count=3):
        run(cluster, work.refuse, made("3 votes", "self_comparison", {"count": 3}))


@pytest.mark.parametrize(
    ("function", "order", "kind", "text"),
    [
        (work.divide, 0, "ZeroDivisionError", "division by zero"),
        (work.raise_in_two_parts, None, "TwoPartsError", "3 votes in smiling"),
        (work.raise_over_two_lines, None, "RuntimeError", r"first line\nsecond line"),
        (work.leave, None, "SystemExit", "3"),
    ],
)
def test_any_other_error_becomes_one_plain_line(cluster, function, order, kind, text):
    before = workers()
    with refused(WorkError, "work_raised", kind=kind, text=text) as caught:
        run(cluster, function, order)
    assert str(caught.value) == f"{kind}: {text}"
    assert "cluster_work.py" in caught.value.trace
    assert workers() == before, "the worker lives on"


def workers() -> set[int]:
    """Worker processes of this process."""
    children = psutil.Process().children(recursive=True)
    return {child.pid for child in children if not is_tracker(child)}


def is_tracker(process: psutil.Process) -> bool:
    """Python's own helper, which stays as long as the process that first started another."""
    try:
        return any("resource_tracker" in word for word in process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def test_what_cannot_be_sent_back_is_said(cluster):
    with refused(WorkError, "work_raised", kind="TypeError") as caught:
        run(cluster, work.unsendable)
    assert "_thread.lock" in str(caught.value)


def test_what_cannot_be_sent_there_is_said(cluster):
    with refused(WorkError, "order_not_sent", kind="TypeError"):
        run(cluster, work.negative, threading.Lock())


def test_a_worker_that_dies_fails_its_order_only_and_a_second_attempt_succeeds(cluster, tmp_path):
    go, marker, lost = tmp_path / "go", tmp_path / "died", cluster.workers_lost
    with ThreadPoolExecutor(1) as pool:
        sibling = pool.submit(run, cluster, work.hang_until, go, name="sibling")
        until(lambda: started(go), "the sibling began")
        with pytest.raises(WorkerDied):
            run(cluster, work.die_once, marker)
        assert run(cluster, work.die_once, marker, attempt=2) == "survived"
        go.touch()
        assert [str(sibling.result())] == started(go), "it ran once, undisturbed"
    assert cluster.workers_lost == lost + 1


def test_orders_that_wait_are_not_blamed_for_a_death(cluster):
    """Twelve orders want two workers, of which one dies under the first order."""

    def ordered(k: int) -> object:
        try:
            return run(cluster, work.negative if k else work.die, k, name=f"waits-{k}")
        except WorkerDied:
            return "died"

    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(ordered, range(12)))
    assert results == ["died", *(-k for k in range(1, 12))]


def test_a_worker_that_always_dies_says_how_often_and_the_limit(cluster):
    deaths = []
    for attempt in (1, 2, 3):
        with refused(WorkerDied, "worker_died") as caught:
            run(cluster, work.die, name="deadly", attempt=attempt)
        deaths.append(caught.value.fields)
    assert all(died["limit"].fields == {"amount": "700 MiB"} for died in deaths)
    assert deaths[0]["often"] == ""
    assert deaths[1]["often"].code == "died_twice"
    assert deaths[2]["often"].fields == {"times": 3}
    assert deaths[1]["advice"].code == "raise_memory"


def test_too_much_memory_is_named_as_the_cause(cluster, tmp_path, monkeypatch):
    """Also of a worker that follows one which died before Dask's nanny knew its address."""
    monkeypatch.setattr(WorkerProcess, "_init_msg_interval", 1.0)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(run, cluster, work.hang_until, tmp_path / "go")
        until(lambda: started(tmp_path / "go"), "the other worker is busy")
        for _ in range(2):
            with pytest.raises(WorkerDied):
                run(cluster, work.die)
        with refused(WorkerDied, "worker_out_of_memory") as caught:
            run(cluster, work.devour, 3000)
        (tmp_path / "go").touch()
        assert other.result()
    assert caught.value.fields["limit"].fields == {"amount": "700 MiB"}
    assert caught.value.fields["held"].endswith(" MiB")


def test_past_its_deadline_an_order_is_given_up_and_its_worker_is_free(
    cluster, tmp_path, monkeypatch
):
    """Also where Dask's nanny is wrong about the address of its worker.

    It takes an old address for the new one if a worker dies before the nanny heard that it came.
    """
    monkeypatch.setattr(Nanny, "worker_address", "tcp://127.0.0.1:1")
    lost = cluster.workers_lost
    with refused(TookTooLong, "order_took_too_long", seconds=4.0):
        run(cluster, work.hang_until, tmp_path / "never", deadline=4.0)
    assert run(cluster, work.negative, 2) == -2
    full(cluster)
    (hung,) = started(tmp_path / "never")
    assert int(hung) not in workers()
    assert cluster.workers_lost == lost


def test_waiting_for_a_free_worker_does_not_count_as_work(cluster, tmp_path, monkeypatch):
    """An hour of waiting, and a minute for the work."""
    go, passed, waits = tmp_path / "go", [0.0], threading.Event()
    monkeypatch.setattr(
        fanout, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])
    )
    take = Seats.take

    def seen_to_wait(seats: Seats, *given: Any) -> Seat:
        waits.set()
        return take(seats, *given)

    with ThreadPoolExecutor(3) as pool:
        busy = [pool.submit(run, cluster, work.hang_until, go, deadline=7200.0) for _ in range(2)]
        until(lambda: len(started(go)) == 2, "both workers are busy")
        monkeypatch.setattr(Seats, "take", seen_to_wait)
        patient = pool.submit(run, cluster, work.negative, 1, deadline=PATIENCE)
        assert waits.wait(PATIENCE)
        passed[0] = 3600.0
        go.touch()
        assert patient.result() == -1
        assert all(order.result() for order in busy)


def test_stopping_ends_what_runs_and_what_waits(cluster, tmp_path):
    stopping = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        ordered = partial(run, cluster, work.hang_until, tmp_path / "never", stopping=stopping)
        orders = [pool.submit(ordered) for _ in range(4)]
        until(lambda: len(started(tmp_path / "never")) == 2, "two began")
        stopping.set()
        for order in orders:
            with pytest.raises(Stopped):
                order.result(PATIENCE)
    assert run(cluster, work.negative, 1) == -1


def test_workers_never_hear_ctrl_c(cluster):
    """Held back from before they could ignore it, also in one that was started anew."""
    bit = 1 << (signal.SIGINT - 1)
    assert run(cluster, work.signals_held_back) & bit
    for _ in range(2):
        with pytest.raises(WorkerDied):
            run(cluster, work.die)
        full(cluster)
    assert run(cluster, work.signals_held_back) & bit


def test_workers_know_what_they_need_and_no_more(cluster):
    known = run(cluster, work.environment)
    assert known["AWS_ACCESS_KEY_ID"] == "known-to-workers"
    assert "not-for-workers" not in known.values()
    assert known["OPENBLAS_MAIN_FREE"] == "1"
    assert known["OPENBLAS_NUM_THREADS"] == known["NUMBA_NUM_THREADS"] == "1"
    assert run(cluster, work.blas_threads) == {1}


def test_preparing_imports_modules_in_workers_that_come_later_too(cluster):
    assert not run(cluster, work.loaded, "xml.dom.minidom")
    cluster.prepare(("xml.dom.minidom",))
    with pytest.raises(WorkerDied):
        run(cluster, work.die)
    full(cluster)
    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(partial(run, cluster, work.loaded), ["xml.dom.minidom"] * 4))


def test_what_workers_cannot_import_is_said(cluster):
    with refused(ClusterError, "worker_cannot_import") as caught:
        cluster.prepare(("no_such_module",))
    assert "no_such_module" in caught.value.fields["why"]
    cluster.prepare(())


def test_only_loopback_listens(cluster):
    here = psutil.Process()
    listening = {
        connection.laddr.ip
        for process in [here, *here.children(recursive=True)]
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}
    assert dashboard_of(cluster).startswith("http://127.0.0.1:")


def dashboard_of(cluster: Cluster) -> str:
    with cluster.lent("a look", deadline=PATIENCE) as client:
        return str(client.dashboard_link)


def test_after_closing_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    handlers = list(logging.getLogger("distributed").handlers)
    environment, path, before = dict(os.environ), list(sys.path), workers()
    log = logging.FileHandler(tmp_path / "dask.log")
    with ThreadPoolExecutor(1) as pool:
        with local_cluster(workers=1, log=log) as cluster:
            with pytest.raises(WorkerDied):
                run(cluster, work.die)
            hung = pool.submit(run, cluster, work.hang_until, tmp_path / "never")
            until(lambda: started(tmp_path / "never"), "it hangs")
            port = int(dashboard_of(cluster).split(":")[2].split("/")[0])
        with pytest.raises(Stopped):
            hung.result(PATIENCE)
    log.close()
    assert workers() == before
    assert port not in {c.laddr.port for c in psutil.Process().net_connections()}
    assert {path.name for path in tmp_path.iterdir()} == {"dask.log", "never.started"}
    assert "Restarting worker" in (tmp_path / "dask.log").read_text()
    assert (dict(os.environ), sys.path) == (environment, path)
    assert logging.getLogger("distributed").handlers == handlers


SCRIPT = """
import sys, threading, time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
import cluster_work as work
from tasks.cluster import local_cluster
from urlr.errors import UrlrError

def tried(function, order, deadline=60.0):
    try:
        return cluster.run(function, order, name="a", attempt=1, deadline=deadline)
    except UrlrError as error:
        return type(error).__name__

if __name__ == "__main__":
    with local_cluster(workers=1) as cluster:
        if len(sys.argv) > 1:
            cluster.run(work.hang_until, Path("hung"), name="a", attempt=1, deadline=60.0)
        print(tried(work.negative, 1), tried(work.refuse, "no"), tried(work.divide, 0))
        print(tried(work.die, None), tried(work.hang_until, Path("never"), 0.5))
        hung = threading.Thread(target=tried, args=(work.hang_until, Path("hung")))
        hung.start()
        while not Path("hung.started").exists():
            time.sleep(0.02)
    hung.join()
    print("closed")
"""


def script(tmp_path: Path, *words: str) -> subprocess.Popen[str]:
    """A program that uses a cluster and leaves work hanging, in a group of its own."""
    (tmp_path / "script.py").write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "tasks")])
    return subprocess.Popen(
        [sys.executable, "script.py", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_nothing_is_written_to_stderr(tmp_path):
    process = script(tmp_path)
    out, err = process.communicate(timeout=PATIENCE)
    lines = out.splitlines()
    assert lines[:2] == ["-1 VoteError WorkError", "WorkerDied TookTooLong"]
    assert lines[-1] == "closed"
    assert err == ""
    assert not {p.name for p in tmp_path.iterdir()} - {
        *("script.py", "never.started", "hung.started", "__pycache__")
    }


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_is_interrupted_or_killed_leaves_no_worker(tmp_path, how):
    process = script(tmp_path, "stay")
    try:
        until(lambda: started(tmp_path / "hung"), "its worker hangs")
        family = psutil.Process(process.pid).children(recursive=True)
        assert len([one for one in family if not is_tracker(one)]) == 1
        if how is signal.SIGINT:
            os.killpg(process.pid, how)  # as a terminal does: to the workers too
        else:
            process.kill()
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    _, alive = psutil.wait_procs(family, timeout=PATIENCE)
    assert not alive
    if how is signal.SIGINT:
        assert err.splitlines()[-1] == "KeyboardInterrupt"
        assert err.count("Traceback") == 1, err


@pytest.mark.parametrize(
    ("asked", "code", "fields"),
    [
        ({"workers": 0}, "too_few_workers", {"count": 0}),
        ({"workers": 1, "memory": "plenty"}, "not_an_amount_of_memory", {"memory": "plenty"}),
        ({"workers": 1, "memory": "10MiB"}, "worker_memory_too_small", {"memory": "10MiB"}),
    ],
)
def test_impossible_workers_are_refused(asked, code, fields):
    with refused(ClusterError, code, **fields), local_cluster(**asked):
        pass


def no_check(_: float) -> None:
    pass


def test_a_worker_that_comes_back_under_its_old_address_has_all_its_threads():
    seats = Seats()
    seats.joined(Seat("tls://here:1", 1, 0, True))
    taken = seats.take(0.01, no_check)
    seats.left("tls://here:1")
    seats.joined(Seat("tls://here:1", 1, 0, True))
    assert seats.take(0.01, no_check) is not taken
    seats.give_back(taken)
    assert seats.total == 1
    with pytest.raises(InterruptedError):
        seats.take(0.01, interrupts(3))


def interrupts(after: int) -> Callable[[float], None]:
    """A check that allows so many looks."""
    looks = iter(range(after))

    def check(_: float) -> None:
        if next(looks, None) is None:
            raise InterruptedError

    return check


def test_without_any_worker_the_wait_is_told_how_long():
    seats, told = Seats(), []

    def check(lonely: float) -> None:
        told.append(lonely)
        if lonely > 0.05:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        seats.take(0.01, check)
    assert told == sorted(told)


def test_a_worker_short_of_memory_gets_no_order_until_it_wakes():
    seats = Seats()
    seats.joined(Seat("a", 2, 0, True))
    seats.woke("a", awake=False)
    assert seats.total == 0
    with pytest.raises(InterruptedError):
        seats.take(0.01, interrupts(3))
    seats.woke("a", awake=True)
    assert seats.take(0.01, no_check).address == "a"
