"""Asking Prefect's API whether it is there: an answer in time, or a plain line."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from refusals import refused

from flows import prefect_api
from flows.messages import message
from flows.night import NightError

pytestmark = pytest.mark.full

GONE = """
import time
import httpx
from flows import prefect_api
prefect_api.FAREWELL = 1.0
prefect_api.check_api = lambda address: None
try:
    with prefect_api.with_prefect(lambda what, share: None):
        raise httpx.ReadTimeout("no answer")
except prefect_api.NightError as error:
    print(error, flush=True)
time.sleep(60)  # as Prefect waits for its API when a process ends
"""


def test_an_api_that_takes_connections_and_says_nothing_is_told_in_time(monkeypatch):
    monkeypatch.setattr(prefect_api, "ANSWER", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/api"
        monkeypatch.setenv("PREFECT_API_URL", address)
        where = message("prefect_at", address=address)
        with refused(NightError, "prefect_silent", prefect=where) as error:
            prefect_api.check_api(address)
    assert "\n" not in str(error.value)


def test_the_server_that_prefect_starts_is_tied_to_this_process(monkeypatch):
    """Prefect makes it by a method of its own that may be called otherwise one day."""
    from prefect.server.api.server import SubprocessASGIServer

    def started(self: SubprocessASGIServer) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    monkeypatch.setattr(SubprocessASGIServer, "_instances", {})
    monkeypatch.setattr(SubprocessASGIServer, "_run_uvicorn_command", started)
    prefect_api._tie_own_server()
    server = SubprocessASGIServer()
    with pytest.raises(RuntimeError, match="Timed out"):
        server.start(timeout=1)
    children = psutil.Process().children()
    assert server.server_process is not None
    assert server.server_process.pid in [one.pid for one in children]
    watchers = [one for one in children if str(server.server_process.pid) in one.cmdline()]
    assert len(watchers) == 1
    server.stop()
    assert not watchers[0].is_running()


def test_a_process_ends_soon_after_its_api_went_away():
    away = "http://127.0.0.1:9/api"
    done = subprocess.run(
        [sys.executable, "-c", GONE],
        env=os.environ | {"PREFECT_API_URL": away},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 1, done.stderr
    where = message("prefect_at", address=away)
    assert message("prefect_went_away", prefect=where, why="no answer") in done.stdout


@pytest.fixture
def unloaded(monkeypatch):
    """As before Prefect is loaded; what is to be done as Python exits is given."""
    at_exit = []
    monkeypatch.delitem(sys.modules, "prefect", raising=False)
    monkeypatch.delenv("PREFECT_HOME", raising=False)
    monkeypatch.setattr(prefect_api.atexit, "register", at_exit.append)
    return at_exit


def test_without_a_home_prefect_gets_one_until_python_exits(tmp_path, monkeypatch, unloaded):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "nobody"))
    monkeypatch.setenv("PREFECT_HOME", "")
    prefect_api.check_home()
    home = Path(os.environ["PREFECT_HOME"])
    (home / "profiles.toml").touch()
    [end] = unloaded
    end()
    assert not home.exists()


def test_a_home_of_prefect_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch, unloaded):
    (tmp_path / "file").touch()
    named = tmp_path / "file" / "prefect"
    monkeypatch.setenv("PREFECT_HOME", str(named))
    with refused(NightError, "prefect_home_unwritable", path=named):
        prefect_api.check_home()
    monkeypatch.delenv("PREFECT_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    prefect_api.check_home()
    assert (tmp_path / ".prefect").is_dir()
    assert (unloaded, os.environ.get("PREFECT_HOME")) == ([], None)
