"""The page docs/faults.md has a row for every case there is, and none for a case that is gone.

Cases are found where tests say that they passed. One that is named there is taken as it is; where
a test has many, they are those of its module, told here.
"""

import ast
import re
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import test_bad_dumps
import test_bad_store
import test_bombs
import test_bucket_policy
import test_clocks
import test_killed
import test_malicious_models
import test_refusals
import test_shifts
import test_slips
import test_workers
from soak import test_alone, test_disks, test_kills, test_signals
from table import HEAD, cell, heading

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "faults.md"
ROLES = test_bucket_policy.ROLES
MANY = {
    ("test_bad_dumps", "a delivery goes wrong"): test_bad_dumps.BAD_DUMPS,
    ("test_bad_dumps", "names"): test_bad_dumps.NAMES,
    ("test_bad_store", "the store fails at one attribute"): test_bad_store.CASES,
    ("test_bad_store", "the store fails altogether"): test_bad_store.WHOLE,
    ("test_bombs", "bombs"): test_bombs.BOMBS,
    ("test_bucket_policy", "attacks"): [
        *(f"{role} uses keys that are not its own" for role in ROLES),
        *(f"{role} looks for a way around its policy" for role in ROLES),
    ],
    ("test_clocks", "clocks"): test_clocks.SCHEDULES,
    ("test_disks", "disks"): [
        *test_disks.UNRECORDED,
        *test_disks.FAILED,
        *test_disks.COMPLETED,
    ],
    ("test_killed", "the flow is killed night after night"): test_killed.STEPS,
    ("test_alone", "killed with all that it started"): test_alone.CASES,
    ("test_kills", "the flow is killed by SIGKILL"): [
        *test_kills.POINTS,
        *test_kills.FIRST_MODELS,
        *test_kills.RECORDED,
    ],
    ("test_malicious_models", "malicious models"): [
        *test_malicious_models.MODELS,
        *(f"{name}, with every digest right" for name in test_malicious_models.SIGNED),
        *test_malicious_models.CODE,
        *test_malicious_models.ACTED_ON,
    ],
    ("test_refusals", "nights that cannot begin"): test_refusals.NAMES,
    ("test_shifts", "the votes shift"): test_shifts.CASES,
    ("test_signals", "signals"): [
        f"Ctrl-C and SIGTERM at {test_signals.MOMENTS} random moments",
    ],
    ("test_slips", "operator slips"): [*test_slips.SLIPS, *test_slips.SETTINGS],
    ("test_workers", "workers in trouble"): test_workers.CASES,
}
"""Names of cases by module and group, where a test has many."""


def told(path: Path) -> list[tuple[str, str | None]]:
    """Group and name of every case that a module says passed; no name where it has many."""
    module = ast.parse(path.read_text())
    constants = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def text(node: ast.expr) -> str | None:
        node = constants.get(node.id, node) if isinstance(node, ast.Name) else node
        return node.value if isinstance(node, ast.Constant) else None

    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    found = [call.args for call in calls if getattr(call.func, "id", "") == "passed"]
    return [(text(group), text(name)) for group, name, _ in found]


TOLD = [(path, *case) for path in sorted(TESTS.rglob("test_*.py")) for case in told(path)]
CASES: dict[str, list[str]] = defaultdict(list)
for _, _group, _name in TOLD:
    CASES[_group] += [] if _name is None else [_name]
for (_, _group), _names in MANY.items():
    CASES[_group] += _names


def rows() -> dict[str, list[str]]:
    """Names in the page, by the heading they stand under."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    named = [re.findall(r"^\| (.+?) \|", text, re.MULTILINE)[1:] for text in parts[2::2]]
    return dict(zip(parts[1::2], named, strict=True))


@pytest.mark.parametrize("group", CASES)
def test_a_group_has_a_row_for_every_case_and_no_other(group):
    found, cases = set(rows().get(heading(group), [])), set(map(cell, CASES[group]))
    assert (cases - found, found - cases) == (set(), set())


def test_the_page_has_no_other_groups():
    assert sorted(rows()) == sorted(map(heading, CASES))


def test_wherever_a_test_has_many_cases_their_names_are_told_here():
    assert {(path.stem, group) for path, group, name in TOLD if name is None} == set(MANY)


def test_make_faults_runs_every_module_that_has_cases():
    """As pytest understands the recipe: it leaves out folders, and some of what it is told."""
    told = ["make", "--dry-run", "--assume-old=env", "faults"]
    recipe = subprocess.run(told, cwd=TESTS.parent, capture_output=True, text=True, check=True)
    [command] = [
        line for line in recipe.stdout.replace("\\\n", " ").splitlines() if "pytest" in line
    ]
    options = shlex.split(command.partition(" -m pytest ")[2])
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *options],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )
    assert collected.returncode == 0, collected.stdout + collected.stderr
    found = Counter(line for line in collected.stdout.splitlines() if "::" in line)
    assert [test for test, times in found.items() if times > 1] == []
    modules = {TESTS.parent / test.partition("::")[0] for test in found}
    assert {path for path, _, _ in TOLD} - modules == set()


def test_no_two_cases_share_a_row():
    names = [(group, name) for group, cases in CASES.items() for name in cases]
    assert len(set(names)) == len(names)


def test_the_page_begins_as_it_would_now_and_counts_its_rows():
    assert PAGE.read_text().startswith(HEAD)
    assert f"\n{sum(map(len, rows().values()))} cases, all passed.\n" in PAGE.read_text()
