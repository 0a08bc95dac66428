"""A team that deploys to a Prefect server from a checkout: its commands, a worker, its alerts."""

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import psutil
from answering import answering
from pipeline import PATIENCE, ROOT, PrefectApi
from waiting import until

from tasks.store import Store

_ASKED = 10
"""How often the server is asked before a test takes its 503 for an answer."""
OVER = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
COMMANDS = """\
import shlex, sys
from prefect.cli import app
for command in sys.argv[1:]:
    sys.argv[1:] = shlex.split(command)
    try:
        app()
    except SystemExit as end:
        if end.code:
            sys.exit(f"{command}: {end.code}")
"""


@dataclass(frozen=True)
class Team:
    """A server, a store, and whoever deploys from a checkout."""

    api: PrefectApi
    store: Store
    environment: dict[str, str]
    home: Path

    def prefect(self, *commands: str) -> None:
        """Give Prefect these commands in the checkout, from one process since each takes 3 s."""
        self.python("-c", COMMANDS, *commands)

    def python(self, *words: str, **settings: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            env=self.environment | settings,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, where: str, body: object = None, *, method: str | None = None) -> Any:
        """What the server's API answers."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.api.address}/{where}",
            data,
            {"Content-Type": "application/json"},
            method=method,
        )
        for left in reversed(range(_ASKED)):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    said = answer.read()
                break
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.SERVICE_UNAVAILABLE or not left:
                    raise
                time.sleep(1)  # the server's database is locked; Prefect's own client asks again
        return json.loads(said) if said else None

    def deployments(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: one for one in self.api.ask("deployments")}

    def events(self, *names: str) -> list[dict[str, Any]]:
        """Events by name, the oldest first."""
        wanted = {"filter": {"event": {"name": list(names)}, "order": "ASC"}, "limit": 50}
        found: list[dict[str, Any]] = self.ask("events/filter", wanted)["events"]
        return found

    def run(self, deployment: dict[str, Any], **parameters: Any) -> str:
        """Ask for a run of a deployment now; gives its id."""
        made = self.ask(
            f"deployments/{deployment['id']}/create_flow_run", {"parameters": parameters}
        )
        return str(made["id"])

    def state(self, run: str) -> tuple[str, str, str]:
        """Type, name and message of the state of a run."""
        found = self.ask(f"flow_runs/{run}")
        return found["state_type"], found["state_name"], found["state"]["message"] or ""

    def ended(self, run: str) -> tuple[str, str, str]:
        """The same, once it is over."""
        until(lambda: self.state(run)[0] in OVER, f"run {run} is over", seconds=PATIENCE)
        return self.state(run)


@contextmanager
def working(team: Team) -> Iterator[None]:
    """A worker of the pool, as somebody starts it."""
    words = ["-m", "prefect", "worker", "start", "--pool", "urlr", "--name", "one"]
    with (team.home / "worker.log").open("wb") as out:
        worker = subprocess.Popen(
            [sys.executable, *words], cwd=team.home, env=team.environment, stdout=out, stderr=out
        )
    try:
        yield
    finally:
        family = psutil.Process(worker.pid).children(recursive=True)
        worker.send_signal(signal.SIGINT)
        try:
            worker.wait(30)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        for one in psutil.wait_procs(family, timeout=20)[1]:
            one.kill()


@dataclass(frozen=True)
class Alerts:
    """The automations, and what they told people."""

    block: str
    texts: list[str]

    def wait_for(self, *words: str) -> str:
        """A message that holds these words."""

        def found() -> list[str]:
            return [text for text in self.texts if all(word in text for word in words)]

        until(found, f"told of {words}; so far: {self.texts}", seconds=PATIENCE)
        return found()[0]


@contextmanager
def listening(texts: list[str]) -> Iterator[str]:
    """An address that takes messages as a chat does."""

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            texts.append(json.loads(body)["text"])
            self.send_response(200)
            self.end_headers()

    with answering(Taker) as place:
        yield f"http://{place}/"
