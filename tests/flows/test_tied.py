"""Processes that end with the one that tied them."""

import signal
import subprocess
import sys

import psutil
import pytest
from waiting import until

from flows.tied import Tie

CHILD = "import signal, time; signal.signal(15, {}); print(1, flush=True); time.sleep(600)"
OWNER = """
import subprocess, sys, time
from flows import tied
tied.GRACE = 2.0
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
child.stdout.readline()
tie = tied.Tie(child)
if sys.argv[2] == "release":
    tie.release()
print(child.pid, flush=True)
time.sleep(600)
"""


def tied(*, released: bool = False, deaf: bool = False) -> tuple[subprocess.Popen, psutil.Process]:
    """A process, and the one that it has tied to itself."""
    heard = "signal.SIG_IGN" if deaf else "signal.SIG_DFL"
    words = [CHILD.format(heard), "release" if released else "keep"]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *words], stdout=subprocess.PIPE, text=True
    )
    return owner, psutil.Process(int(owner.stdout.readline()))


def is_over(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_process_ends_with_the_one_that_tied_it_however_that_ends(number):
    owner, child = tied()
    assert not is_over(child)
    owner.send_signal(number)
    owner.communicate()
    until(lambda: is_over(child), seconds=20)


def test_a_process_that_cannot_be_tied_is_ended(monkeypatch):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with pytest.raises(FileNotFoundError):
        Tie(child)
    assert child.returncode == -signal.SIGKILL


PARENT = """
import multiprocessing, os, time
from flows.tied import end_with_parent


def child():
    end_with_parent()
    print(os.getpid(), flush=True)
    time.sleep(600)


multiprocessing.get_context("fork").Process(target=child).start()
time.sleep(600)
"""


def test_a_process_that_runs_a_flow_ends_with_the_one_that_made_it():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    child = psutil.Process(int(parent.stdout.readline()))
    assert not is_over(child)
    parent.kill()
    parent.communicate()
    until(lambda: is_over(child), seconds=20)


def test_a_process_that_was_released_lives_on():
    owner, child = tied(released=True)
    try:
        owner.kill()
        owner.communicate()
        with pytest.raises(psutil.TimeoutExpired):
            child.wait(1)
        assert not is_over(child)
    finally:
        child.kill()


def test_a_process_that_will_not_end_is_killed():
    owner, child = tied(deaf=True)
    owner.kill()
    owner.communicate()
    until(lambda: is_over(child), seconds=60)
