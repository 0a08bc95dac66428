"""Every defect can be planted, and the tests that should notice it are there."""

from pathlib import Path

import pytest

from tests.mutants.__main__ import Copy
from tests.mutants.defects import DEFECTS

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda one: one.name)
def test_a_defect_is_one_change_that_existing_tests_should_notice(defect):
    assert defect.old != defect.new
    assert (ROOT / defect.file).read_text().count(defect.old) == 1
    assert defect.tests
    for test in defect.tests:
        module, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / module).read_text(), test


def test_names_of_defects_differ():
    assert len({one.name for one in DEFECTS}) == len(DEFECTS)


def test_a_planted_defect_is_taken_back(tmp_path):
    [defect, *_] = DEFECTS
    path = tmp_path / "tree" / defect.file
    path.parent.mkdir(parents=True)
    path.write_text((ROOT / defect.file).read_text())
    before = path.read_text(), path.stat().st_mtime_ns
    with Copy(tmp_path / "tree", tmp_path / "tmp").with_defect(defect):
        assert defect.new in path.read_text()
        assert defect.old not in path.read_text()
    assert (path.read_text(), path.stat().st_mtime_ns) == before
