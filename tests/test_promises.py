"""Every promise of README and docs/ names a test, and every test that is named is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "promises.md"
WRITTEN_BY_COMMANDS = {"promises.md", "faults.md"}
PROMISING = [
    "README.md",
    "deploy/README.md",
    *sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "docs").glob("*.md")
        if path.name not in WRITTEN_BY_COMMANDS
    ),
]
ROW = re.compile(r"^\| (?P<promise>.+?) \| (?P<proof>`.+`) \|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py::test_\w+)`")


def all_tests() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.add(f"{path.relative_to(ROOT / 'tests')}::{node.name}")
    return found


def sections() -> dict[str, str]:
    """The rows of every document, by its path."""
    parts = re.split(r"^## \[(.+?)\]\(.+?\)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_test_that_a_promise_names_is_there():
    named = set(NAMED.findall(PAGE.read_text()))
    assert len(named) > 150
    assert sorted(named - all_tests()) == []


def test_every_promise_names_a_test():
    for document, text in sections().items():
        rows = [line for line in text.split("## ")[0].splitlines() if line.startswith("| ")]
        unproven = [row for row in rows[1:] if not NAMED.search(row)]
        assert unproven == [], document


def test_every_page_that_promises_has_its_rows():
    found = sections()
    assert sorted(set(PROMISING) - set(found)) == []
    assert all(ROW.search(text) for text in found.values())
