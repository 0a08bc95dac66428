"""Whether a run proved the promises of docs/promises.md.

A plugin of pytest: `--prove quick`, `--prove test` or `--prove soak` says which run this is, and it
fails unless every promise of that tier was proven in it: all its tests were run, and passed. Those
skipped, for want of reference data, are listed as unproven, and fail the run where
REQUIRE_PROOFS=1. Without the option nothing happens.

`python -m tests.promises` writes the column of tiers anew from the markers of the tests.
"""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = "docs/promises.md"
PROVEN = {"quick": {"quick"}, "test": {"quick", "test"}, "soak": {"soak"}}
"""Tiers whose promises a run must prove, by the run."""
MARKED = {"full": "test", "soak": "soak"}
"""Tiers by the marker that tests of theirs have; all others are quick."""
_ROW = re.compile(r"^\| (?P<text>[^|]+) \| (?P<tests>`[^|]+`) \| (?P<tier>\w+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Promise:
    text: str
    tests: tuple[str, ...]
    """`NAME` of the function test_NAME, or `FILE::NAME` where files share it."""
    tier: str


def promises_of(text: str) -> list[Promise]:
    """Rows of the page, or of a part of it."""
    rows = [row.groupdict() for row in _ROW.finditer(text)]
    return [
        Promise(row["text"], tuple(re.findall(r"`(.+?)`", row["tests"])), row["tier"])
        for row in rows
    ]


def places_of(test: str, places: Iterable[str]) -> list[str]:
    """Node ids, without parameters, of a test that a promise names."""
    file, _, name = test.rpartition("::")
    end = f"/{file}::test_{name}" if file else f"::test_{name}"
    return [place for place in places if place.endswith(end)]


def tiers() -> dict[str, str]:
    """Tier of every test by its markers, or those of its module."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        module = ast.parse(path.read_text())
        marks = [
            ast.unparse(node.value)
            for node in module.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        ]
        if "soak" in path.parts:
            marks.append("pytest.mark.soak")
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                own = " ".join([*marks, *map(ast.unparse, node.decorator_list)])
                # Those of single parameters leave the others in their tier.
                own = re.sub(r"marks=(\[.*?\]|\S+)", "", own)
                [*_, tier] = [
                    "quick",
                    *(tier for mark, tier in MARKED.items() if f"pytest.mark.{mark}" in own),
                ]
                found[f"{path.relative_to(ROOT)}::{node.name}"] = tier
    return found


def tier_of(promise: Promise, known: dict[str, str]) -> str:
    """The latest of its tests' tiers."""
    its = {known[place] for test in promise.tests for place in places_of(test, known)}
    return max(its, key=list(PROVEN).index, default="none")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--prove", choices=PROVEN, help="fail unless these promises are proven")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--prove") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Prover(config))


class Prover:
    """Sees what became of every test, also of those that other processes ran."""

    def __init__(self, config: pytest.Config) -> None:
        asked = PROVEN[config.getoption("--prove")]
        rows = promises_of((config.rootpath / PAGE).read_text())
        self.promises = [promise for promise in rows if promise.tier in asked]
        self.outcomes: defaultdict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid.partition("[")[0]].add(report.outcome)

    def unproven(self) -> Iterator[tuple[str, Promise, str]]:
        """What keeps a promise from being proven: that a test failed, was skipped or not run."""
        for promise in self.promises:
            for test in promise.tests:
                seen = set().union(*map(self.outcomes.get, places_of(test, self.outcomes)))
                if seen != {"passed"}:
                    [why, *_] = [one for one in ("failed", "skipped") if one in seen] or ["not run"]
                    yield why, promise, test

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        lenient = {"skipped"} if os.environ.get("REQUIRE_PROOFS") != "1" else set()
        if {why for why, *_ in self.unproven()} - lenient and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        unproven = list(self.unproven())
        count = len({promise for _, promise, _ in unproven})
        terminalreporter.section(f"{len(self.promises)} promises, {count} unproven")
        for why, promise, test in unproven:
            terminalreporter.line(f"unproven, {why}: {promise.text} ({test})")


def main() -> None:
    """Write the tiers of the page anew."""
    known, page = tiers(), ROOT / PAGE

    def anew(row: re.Match[str]) -> str:
        [promise] = promises_of(row[0])
        return f"| {row['text']} | {row['tests']} | {tier_of(promise, known)} |"

    page.write_text(_ROW.sub(anew, page.read_text()))


if __name__ == "__main__":
    main()
