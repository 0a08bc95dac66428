"""Lines of the table of sizes on workers: one against two, and four machines in a network.

A machine here is a network namespace with one worker of one thread, joined by a bridge to the
scheduler; they share the cores of this machine, so that what is seen is the cost of the network and
of TLS, and not four times the speed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tasks.store import Store
from tests.bench.nights import Ran, Shape, fill, run_night
from tests.bench.size_lines import Line

N_MACHINES = 4
_ROOT = Path(__file__).parents[2]
_NAME = f"urlr{os.getpid() % 10_000}"
_NET = f"10.213.{os.getpid() % 250}"
_PATIENCE = 60.0


def machines(home: Path, scale: float) -> Iterator[Line]:
    """The same night by one worker, by two, and by four that are reached over a network."""
    n_attributes, n_votes = max(4, round(40 * scale)), 5_000
    what = f"{n_attributes} attributes x {n_votes:,} votes"
    votes = Store.at(home / "votes")
    fill(votes, n_attributes, Shape(n_votes))
    alone: Ran | None = None
    for n_workers in (1, 2):
        ran = _night(home, votes, f"workers-{n_workers}", URLR_WORKERS=str(n_workers))
        alone = ran if alone is None else alone
        yield _line(f"{what}, {n_workers} of this machine", ran, alone)
    assert alone is not None
    trouble = missing()
    if trouble:
        yield Line(f"{what}, {N_MACHINES} machines", f"not measured: {trouble}")
        return
    with elsewhere(home / "elsewhere") as settings:
        ran = _night(home, votes, "machines", **settings)
    yield _line(f"{what}, {N_MACHINES} machines by TLS, 2 cores", ran, alone)


def _night(home: Path, votes: Store, name: str, **settings: str) -> Ran:
    """The night on a store of its own with the same votes."""
    place = home / name
    shutil.copytree(votes.url, place / "store")
    return run_night(place, place / "store", **settings)


def _line(what: str, ran: Ran, alone: Ran) -> Line:
    fits, first = ran.night.stages["fits"], alone.night.stages["fits"]
    return Line(
        f"workers: {what}",
        f"fits {fits:.0f} s wall, {ran.compute:.0f} s compute, ratio {fits / ran.compute:.2f}; "
        f"{first / fits:.2f} times as fast as one; others {ran.others:.2f} cores meanwhile",
    )


def missing() -> str:
    """Why there can be no machines here; empty if there can."""
    if shutil.which("ip") is None or shutil.which("openssl") is None:
        return "ip and openssl are needed"
    tried = subprocess.run(["ip", "netns", "add", f"{_NAME}-try"], capture_output=True, text=True)
    if tried.returncode != 0:
        return f"no network namespaces ({tried.stderr.strip()})"
    _ip("netns", "del", f"{_NAME}-try")
    return ""


@contextmanager
def elsewhere(place: Path) -> Iterator[dict[str, str]]:
    """A scheduler and four workers, each in a network namespace; settings by which it is used."""
    place.mkdir(parents=True)
    papers = place / "tls"
    subprocess.run(
        [_ROOT / "deploy/tls/make-certificates.sh", papers], check=True, capture_output=True
    )
    address = f"tls://{_NET}.1:8786"
    with ExitStack() as stack:
        stack.enter_context(_bridge())
        for number in range(1, N_MACHINES + 1):
            stack.enter_context(_joined(number))
        scheduler = ["scheduler", f"--host={_NET}.1", "--port=8786", "--no-dashboard"]
        stack.enter_context(_program(place, "scheduler", papers, scheduler))
        for number in range(1, N_MACHINES + 1):
            within = ["ip", "netns", "exec", f"{_NAME}-{number}"]
            worker = ["worker", address, f"--host={_NET}.{number + 1}", "--nthreads=1"]
            worker += ["--no-dashboard", f"--local-directory={place}/{number}"]
            stack.enter_context(_program(place, "worker", papers, worker, within=within))
        _wait_for_workers(place)
        yield {
            "URLR_DASK_ADDRESS": address,
            "URLR_DASK_CA": str(papers / "ca.pem"),
            "URLR_DASK_CERT": str(papers / "flow.pem"),
            "URLR_DASK_KEY": str(papers / "flow.key"),
        }


def _wait_for_workers(place: Path) -> None:
    """Wait until the scheduler's log tells of every worker."""
    end = time.monotonic() + _PATIENCE
    while (place / "scheduler.log").read_text().count("Register worker") < N_MACHINES:
        if time.monotonic() > end:
            raise SystemExit((place / "worker.log").read_text()[-3000:])
        time.sleep(0.3)


@contextmanager
def _bridge() -> Iterator[None]:
    _ip("link", "add", _NAME, "type", "bridge")
    try:
        _ip("addr", "add", f"{_NET}.1/24", "dev", _NAME)
        _ip("link", "set", _NAME, "up")
        yield
    finally:
        _ip("link", "del", _NAME)


@contextmanager
def _joined(number: int) -> Iterator[None]:
    """A namespace with a network card of its own, the other end of which is in the bridge."""
    space, ours, theirs = f"{_NAME}-{number}", f"{_NAME}v{number}", f"{_NAME}w{number}"
    _ip("netns", "add", space)
    try:
        _ip("link", "add", ours, "type", "veth", "peer", "name", theirs)
        _ip("link", "set", ours, "master", _NAME, "up")
        _ip("link", "set", theirs, "netns", space)
        _ip("-n", space, "addr", "add", f"{_NET}.{number + 1}/24", "dev", theirs)
        _ip("-n", space, "link", "set", theirs, "up")
        _ip("-n", space, "link", "set", "lo", "up")
        yield
    finally:
        _ip("netns", "del", space)  # the card goes with it


@contextmanager
def _program(
    place: Path, role: str, papers: Path, words: list[str], *, within: list[str] | None = None
) -> Iterator[None]:
    """A program of Dask's that ends with the block."""
    files = {"ca-file": "ca.pem", "cert": f"{role}.pem", "key": f"{role}.key"}
    tls = ["--protocol=tls", *(f"--tls-{name}={papers / file}" for name, file in files.items())]
    with (place / f"{role}.log").open("ab") as log:
        process = subprocess.Popen(
            [*(within or []), sys.executable, "-m", "dask", *words, *tls],
            env=os.environ | {"PYTHONPATH": str(_ROOT)},
            stdout=log,
            stderr=log,
        )
    try:
        yield
    finally:
        process.terminate()  # a nanny ends its worker too
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
