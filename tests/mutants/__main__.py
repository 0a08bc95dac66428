"""Plant defects one at a time and see which test notices each; the table is docs/mutants.md.

    python -m tests.mutants [--only PART] [--tier quick|test] [--out docs/mutants.md]

All is done in one copy of the tracked files, in which each defect takes the place of the one
before: the method's compiled kernels are kept beside it. The tests that should notice a defect must
pass without it. Where they also pass with it, the whole tier is run until a test fails. Results are
kept as they come; defects that have one are not planted again without --again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.mutants.defects import DEFECTS, Defect

ROOT = Path(__file__).parents[2]
BEFORE = Path(__file__).with_name("before.json")
TIERS = {"quick": "not full and not soak", "test": "not soak"}
FAREWELL = 60.0
"""Seconds that tests which are interrupted have to end what they started."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", re.MULTILINE)
_STATES = {"failed": "caught", "passed": "not caught", "broken": "broken"}
_HEAD = """\
# Planted defects

Each was planted alone, and the tests were run until one failed; `make mutants` writes this page.
*Before* is the suite that ran whole nights of the pipeline, *now* the present one. `quick` defects
must be noticed by tests that need no server, no browser and no whole night.

"""


@dataclass(frozen=True)
class Outcome:
    """What became of a run of tests."""

    state: str
    """"passed", "failed" or "broken": no test failed, yet not all passed."""
    test: str = ""
    """The first that failed."""
    said: str = ""
    """The end of what pytest said."""


@dataclass(frozen=True)
class Copy:
    """A copy of a tree, whose tests can be run."""

    tree: Path
    temporary: Path

    def run(self, tests: Sequence[str], *, marks: str, seconds: float, stop: bool) -> Outcome:
        """Run tests; whatever they started has ended afterwards."""
        options = ["-q", "-p", "no:cacheprovider", *(["-x"] if stop else [])]
        options += ["-m", marks] if marks else []
        command = [sys.executable, "-m", "pytest", *options, *tests]
        environment = os.environ | {"PYTHONPATH": str(self.tree), "TMPDIR": str(self.temporary)}
        log = self.temporary.with_name("log")
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=self.tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        finally:
            try:
                _end(process)
            finally:
                self._end_others()
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        said = log.read_text(errors="replace")
        failed = _FAILED.findall(said)
        if code == 1 and failed:
            return Outcome("failed", failed[0], "\n".join(failed))
        return Outcome(
            "passed" if code == 0 else "broken", said=f"exit code {code}: {said[-2000:]}"
        )

    def _end_others(self) -> None:
        """End what was started apart from the tests: it knows their directory, or works there."""
        for process in psutil.process_iter():
            try:
                places = (process.environ().get("TMPDIR", ""), process.cwd())
                if any(place.startswith(str(self.temporary)) for place in places):
                    process.kill()
            except psutil.Error:
                continue

    @contextmanager
    def with_defect(self, defect: Defect) -> Iterator[None]:
        """Have the defect in the copy; its file is older or newer than any compiled one."""
        path = self.tree / defect.file
        text, status = path.read_text(), path.stat()
        assert text.count(defect.old) == 1, f"{defect.file} does not have it once: {defect.name}"
        path.write_text(text.replace(defect.old, defect.new))
        try:
            yield
        finally:
            path.write_text(text)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End pytest as Ctrl-C does, so that it tidies up, and at last by force."""
    try:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(FAREWELL)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def copied(tree: Path) -> Iterator[Copy]:
    """A copy of the tracked files as they are now, with the reference data beside it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=tree, capture_output=True, check=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        Path(place).chmod(0o755)  # some tests look at files as somebody else
        for name in listed.stdout.decode().split("\0")[:-1]:
            if (tree / name).is_file():
                (Path(place) / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / name, Path(place) / "tree" / name)
        if (tree.parent / "shared").exists():
            (Path(place) / "shared").symlink_to((tree.parent / "shared").resolve())
        temporary = Path(place) / "tmp"
        temporary.mkdir()
        yield Copy(Path(place) / "tree", temporary)


def marks_of(tier: str, options: argparse.Namespace) -> str:
    """Which tests of a tier there are; an old tree has no tiers."""
    usual = "" if options.before else TIERS[tier]
    return usual if options.marks is None else options.marks


def noticed(
    copy: Copy, defect: Defect, tests: Sequence[str], options: argparse.Namespace
) -> Outcome:
    """The first test that notices a defect: one of these, or else any of its tier."""
    marks = marks_of(defect.tier, options)
    with copy.with_defect(defect):
        found = copy.run(tests, marks=marks, seconds=options.timeout, stop=True)
        if found.state != "passed" or options.before:
            return found
        every = ["tests", "--ignore=tests/test_mutants.py"]  # which looks at the code itself
        found = copy.run(every, marks=marks, seconds=options.timeout, stop=True)
    if found.state == "failed":
        alone = found.test.partition("[")[0]
        anyway = copy.run([alone], marks="", seconds=options.timeout, stop=True)
        if anyway.state != "passed":
            return Outcome("broken", said=f"{alone} fails anyway")
    return found


def failing_anyway(copy: Copy, chosen: Sequence[Defect], options: argparse.Namespace) -> set[str]:
    """Defects whose tests do not pass without them."""
    wrong = set()
    for tier in TIERS:
        defects = [one for one in chosen if one.tier == tier]
        tests = sorted({test for one in defects for test in one.tests})
        if not tests:
            continue
        marks = marks_of(tier, options)
        found = copy.run(tests, marks=marks, seconds=4 * options.timeout, stop=False)
        failed = found.said.splitlines() if found.state == "failed" else [""]
        if found.state != "passed":
            print(f"without any defect: {found.said}", flush=True)
            wrong |= {
                one.name
                for one in defects
                if any(
                    test.startswith(expected) or not test
                    for test in failed
                    for expected in one.tests
                )
            }
    return wrong


def table(results: dict[str, dict[str, str]], before: dict[str, str | None]) -> str:
    """The page, of all defects with a result."""
    rows = []
    for one in (defect for defect in DEFECTS if defect.name in results):
        now = results[one.name]
        found = f"`{now['test']}`" if now["state"] == "caught" else f"**{now['state']}**"
        then = before.get(one.name, "")
        earlier = "not caught before" if then is None else f"`{then}`" if then else "not run"
        rows.append(f"| {one.name} | {one.room} | {earlier} | {found} | {one.tier} |")
    caught = sum("**" not in row for row in rows)
    lines = ["| defect | room | caught before by | caught now by | tier |", "|---|---|---|---|---|"]
    return _HEAD + "\n".join([f"{caught} of {len(rows)} are caught.", "", *lines, *rows]) + "\n"


def kept(path: Path) -> dict:
    """What a file of results holds."""
    return json.loads(path.read_text()) if path.exists() else {}


def keep(path: Path, results: dict) -> None:
    """Write results, whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    new.replace(path)


def main() -> int:
    """Plant what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", metavar="PART", default="", help="of the name of a defect")
    parser.add_argument("--tier", choices=tuple(TIERS), help="defects of this tier alone")
    parser.add_argument("--marks", help="which tests, as pytest's -m (default: those of the tier)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument("--results", type=Path, default=ROOT / "mutants-results.json")
    parser.add_argument("--again", action="store_true", help="also those that have a result")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds of a run of tests")
    parser.add_argument("--before", type=Path, metavar="TREE", help="an old tree, by its own tests")
    options = parser.parse_args()
    path = BEFORE if options.before else options.results
    results = kept(path)
    done = {name for name, one in results.items() if options.before or one["state"] != "broken"}
    chosen = [
        one
        for one in DEFECTS
        if options.only in one.name
        and options.tier in (None, one.tier)
        and (options.again or one.name not in done)
    ]
    with copied(options.before or ROOT) as copy:
        wrong = set() if options.before else failing_anyway(copy, chosen, options)
        for one in chosen:
            began = time.monotonic()
            tests = (one.before or one.tests) if options.before else one.tests
            found = Outcome("broken", said="its tests fail anyway")
            if one.name not in wrong:
                found = noticed(copy, one, tests, options)
            state = _STATES[found.state]
            if not options.before:
                results[one.name] = {"state": state, "test": found.test}
            elif state != "broken":
                results[one.name] = found.test or None
            keep(path, results)
            seconds = time.monotonic() - began
            said = found.test or (found.said if found.state == "broken" else "")
            print(f"{state:10} {seconds:4.0f} s  {one.name}: {said}", flush=True)
    if options.out:
        options.out.write_text(table(results, kept(BEFORE)))
    if options.before:
        return 0
    return int(any(results[one.name]["state"] != "caught" for one in chosen))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
