"""Prometheus and its tools as real processes on loopback, and the words of its query language."""

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml
from answering import answering
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from storage import free_ports
from waiting import until

ROOT = Path(__file__).parents[2]
DASHBOARDS = ROOT / "deploy" / "dashboards"
_WORDS = {
    *("time", "absent", "sort", "sort_desc", "topk", "bottomk", "changes", "sum", "min", "max"),
    *("by", "without", "ignoring", "on", "and", "or", "unless", "bool"),
}


def program(name: str) -> str:
    """Where a program is; without it there is nothing to test with, which is a failure."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed: apt-get install prometheus prometheus-node-exporter")
    return found


def promtool(*words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run promtool where the rules lie."""
    return subprocess.run(
        [program("promtool"), *words], input=given, cwd=DASHBOARDS, capture_output=True, timeout=60
    )


def metrics_in(expression: str) -> dict[str, set[str]]:
    """The metrics that an expression names, each with the labels it is asked by.

    All that is neither a text, a number, a duration nor a word of the language is a metric.
    """
    found: dict[str, set[str]] = {}
    plain = re.sub(r'"[^"]*"', '""', expression)
    plain = re.sub(r"\b(without|by|ignoring|on)\s*\([^)]*\)", " ", plain)
    plain = re.sub(r"\[[^\]]*\]", " ", plain)
    for name, labels in re.findall(r"([A-Za-z_:][\w:]*)\s*(\{[^}]*\})?", plain):
        if labels or name not in _WORDS:
            found.setdefault(name, set()).update(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels))
        plain = plain.replace(labels, " ") if labels else plain
    return {name: labels for name, labels in found.items() if not _is_within(name, expression)}


def _is_within(name: str, expression: str) -> bool:
    """Whether a word stands between braces only: it is a label, not a metric."""
    return re.search(rf"\b{name}\b", re.sub(r"\{[^}]*\}", " ", expression)) is None


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus, asked over its HTTP API."""

    address: str

    def ask(self, what: str, **words: str) -> Any:
        """The data of an answer."""
        url = f"{self.address}/api/v1/{what}?{urllib.parse.urlencode(words)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            read = json.load(answer)
        assert read["status"] == "success"
        return read["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression gives now."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def ready(self) -> bool:
        """Whether it is up."""
        return _answers(f"{self.address}/-/ready")


@contextmanager
def served(text: bytes) -> Iterator[str]:
    """Serve a text as OpenMetrics from a thread; gives host and port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE_LATEST)
            self.end_headers()
            self.wfile.write(text)

    with answering(Page) as place:
        yield place


@contextmanager
def collected(directory: Path) -> Iterator[str]:
    """node_exporter with its textfile collector alone on a directory; gives host and port."""
    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    words = ["--collector.disable-defaults", "--collector.textfile"]
    words += [f"--collector.textfile.directory={directory}", f"--web.listen-address={address}"]
    with _running(["prometheus-node-exporter", *words], directory.parent / "exporter.log"):
        until(lambda: _answers(f"http://{address}/metrics"), "node_exporter answers")
        yield address


@contextmanager
def prometheus(place: Path, targets: dict[str, str]) -> Iterator[Prometheus]:
    """Prometheus with our rules, which looks at these targets every 5 seconds; gives it, ready."""
    [port] = free_ports(1)
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [address]}]}
        for name, address in targets.items()
    ]
    config = place / "prometheus.yml"
    config.write_text(
        yaml.safe_dump(
            {
                "global": {"scrape_interval": "5s", "evaluation_interval": "1s"},
                "rule_files": [str(DASHBOARDS / "urlr-alerts.yml")],
                "scrape_configs": jobs,
            }
        )
    )
    words = [f"--config.file={config}", f"--storage.tsdb.path={place / 'data'}"]
    words += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
    server = Prometheus(f"http://127.0.0.1:{port}")
    with _running(["prometheus", *words], place / "prometheus.log"):
        until(server.ready, "Prometheus is ready")
        yield server


@contextmanager
def _running(command: list[str], log: Path) -> Iterator[None]:
    """A program for as long as the block takes."""
    with ExitStack() as stack:
        out = stack.enter_context(log.open("wb"))
        process = subprocess.Popen([program(command[0]), *command[1:]], stdout=out, stderr=out)
        try:
            yield
            assert process.poll() is None, log.read_text()[-2000:]
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except OSError:
        return False
    return True
