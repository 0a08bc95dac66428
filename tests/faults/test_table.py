"""The page docs/faults.md has a row for every case there is, and none for a case that is gone.

Cases are found where tests say that they passed. One that is named there is taken as it is; where
a test has many, they are those of its module, told here.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import test_bad_dumps
import test_bad_store
import test_bad_store_nights
import test_bombs
import test_broken_features
import test_bucket_policy
import test_clocks
import test_existing_cluster
import test_killed
import test_malicious_models
import test_refusals
import test_runs
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
    ("test_bad_store_nights", "the store fails altogether"): test_bad_store_nights.WHOLE,
    ("test_bombs", "bombs"): test_bombs.BOMBS,
    ("test_broken_features", "features break overnight"): test_broken_features.FAULTS.values(),
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
    ("test_existing_cluster", "workers with another urlr"): test_existing_cluster.OTHERS,
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
    ("test_runs", test_runs.LIVE): [code.replace("_", " ") for code in test_runs.UNREADABLE],
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


def cases() -> dict[str, set[str]]:
    """Names of all cases as the page writes them, by the heading they belong under."""
    found = defaultdict(set)
    for path in sorted(TESTS.rglob("test_*.py")):
        for group, name in told(path):
            named = MANY[path.stem, group] if name is None else [name]
            found[heading(group)] |= set(map(cell, named))
    return dict(found)


def test_the_page_has_a_row_for_every_case_and_no_other():
    page = PAGE.read_text()
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    rows = [re.findall(r"^\| (.+?) \|", text, re.MULTILINE)[1:] for text in parts[2::2]]
    assert dict(zip(parts[1::2], map(set, rows), strict=True)) == cases()
    assert page.startswith(HEAD)
    assert f"\n{sum(map(len, rows))} cases, all passed.\n" in page
