"""The table of docs/faults.md has a row for every case there is."""

import re
from pathlib import Path

import pytest
import test_bad_dumps
import test_bad_store
import test_killed
import test_shifts
import test_workers

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
CASES = [
    *test_bad_dumps.BAD_DUMPS,
    *test_bad_dumps.NAMES,
    *test_bad_store.CASES,
    *test_bad_store.WHOLE,
    *test_killed.STEPS,
    *test_shifts.CASES,
    *test_workers.CASES,
]


@pytest.mark.parametrize("case", CASES)
def test_a_case_has_its_row(case):
    rows = re.findall(r"^\| (.+?) \|", PAGE.read_text(), re.MULTILINE)
    assert case.replace("_", r"\_") in rows


def test_the_page_counts_its_rows():
    text = PAGE.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    n_heads = sum(line.startswith("| case |") for line in rows)
    assert f"{len(rows) - n_heads} cases, all passed." in text
