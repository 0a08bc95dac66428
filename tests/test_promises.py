"""Every promise of README and docs/ names tests that there are, in the tier that they are in."""

import difflib
import re
from pathlib import Path

import promises
import pytest
from promises import PAGE, ROOT, places_of, promises_of, tier_of, tiers

pytest_plugins = ["pytester"]

WRITTEN_BY_COMMANDS = {"promises.md", "faults.md", "mutants.md", "wording.md"}
KNOWN = tiers()
TEXT = (ROOT / PAGE).read_text()
ROWS = promises_of(TEXT)


def test_every_test_that_a_promise_names_is_there_once():
    """For one that is gone, the failure names those whose names come nearest."""
    assert len(ROWS) > 300
    names = {place.rpartition("::test_")[2]: place for place in KNOWN}
    wrong = {}
    for test in {test for promise in ROWS for test in promise.tests}:
        found = places_of(test, KNOWN)
        if len(found) != 1:
            near = difflib.get_close_matches(test.rpartition("::")[2], names, 2, 0.5)
            wrong[test] = found or [names[name] for name in near]
    assert wrong == {}


def test_every_row_of_a_table_is_a_promise_with_its_tests_and_its_tier():
    tables = TEXT.partition("\n## Figures\n")[0]
    rows = [line for line in tables.splitlines() if re.match(r"\| (?!promise )", line)]
    assert [line for line in rows if not promises_of(line)] == []


def test_every_page_that_promises_has_its_rows():
    parts = re.split(r"^## \[(.+?)\]\(.+?\)$", TEXT, flags=re.MULTILINE)
    sections = zip(parts[1::2], parts[2::2], strict=True)
    docs = {path.name for path in (ROOT / "docs").glob("*.md")} - WRITTEN_BY_COMMANDS
    assert {page for page, text in sections if promises_of(text)} == {
        *("README.md", "deploy/README.md"),
        *(f"docs/{name}" for name in docs),
    }


def test_tiers_are_those_of_the_markers_and_soak_is_mixed_with_no_other():
    """`python -m tests.promises` writes them anew."""
    assert [one for one in ROWS if one.tier != tier_of(one, KNOWN)] == []
    long = [one for one in ROWS if one.tier == "soak"]
    assert {
        KNOWN[place] for one in long for test in one.tests for place in places_of(test, KNOWN)
    } == {"soak"}


SUITE = """
import pytest

@pytest.mark.parametrize("k", [1, 2])
def test_good(k):
    pass

@pytest.mark.full
def test_long():
    pass

def test_bare():
    pytest.skip("no data")
"""


@pytest.fixture
def ran(pytester, monkeypatch):
    """Exit code and last lines of a run that must prove rows: their tests and tiers."""
    monkeypatch.delenv("REQUIRE_PROOFS", raising=False)
    pytester.makeini("[pytest]\nmarkers =\n    full\n    soak\n")
    pytester.makeconftest(Path(promises.__file__).read_text())
    (pytester.path / "docs").mkdir()

    def run(rows: str, *options: str) -> tuple[int, str]:
        named = map(str.split, rows.split(","))
        table = [f"| {name} works | `{name}` | {tier} |" for name, tier in named]
        (pytester.path / PAGE).write_text("\n".join(table))
        pytester.makepyfile(test_it=SUITE)
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)
        return done.ret, done.stdout.str().partition(" promises, ")[2]

    return run


def test_a_run_that_proves_less_than_it_should_fails_whoever_ran_the_tests(ran):
    apart = ("-n", "1", "-m", "not full")
    assert ran("good quick, long test", "--prove", "test")[0] == 0
    code, said = ran("good quick, long test", "--prove", "test", *apart)
    assert (code, "unproven, not run: long works (long)" in said) == (1, True)
    assert ran("good quick, long test", "--prove", "quick", *apart)[0] == 0


def test_what_is_skipped_is_listed_and_fails_where_proofs_are_required(ran, monkeypatch):
    code, said = ran("good quick, bare quick", "--prove", "quick")
    assert (code, "unproven, skipped: bare works (bare)" in said) == (0, True)
    monkeypatch.setenv("REQUIRE_PROOFS", "1")
    assert ran("good quick, bare quick", "--prove", "quick")[0] == 1
    assert ran("good quick, bare quick") == (0, "")
