"""Two nights in the life of a team, run by the real `urlr` command on a simulated store.

`python -m tests.demo demo` writes a month of votes into `demo/store`, runs a night, adds a day of
votes, runs the next night, and shows what people ask in the morning. What was planted is held
against what was found at the end.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tasks.coordinated import words_of
from tasks.evaluate import Estimate
from tasks.report.page_file import PAGE, PAGES
from tasks.runs import past_of
from tasks.store import Store
from tests.demo_store import Planted, write_night_one, write_night_two

CAMPAIGN = "slogans"


def main() -> int:
    """Run the demo in the directory given."""
    if len(sys.argv) != 2:
        _say("usage: python -m tests.demo DIRECTORY")
        return 2
    home = Path(sys.argv[1]).resolve()
    for part in ("store", "urlr-registry", "prefect"):
        shutil.rmtree(home / part, ignore_errors=True)
    home.mkdir(parents=True, exist_ok=True)
    store = Store.at(home / "store")
    began = time.monotonic()

    first = write_night_one(store)
    rows = sum(one.n_rows for one in first.attributes.values())
    _say(
        f"A simulated month: {rows:,} votes on {len(first.attributes)} attributes, in "
        f"{len([key for key in first.keys if key.startswith('votes/')])} files of four formats. "
        "Among them: dirty rows, a file that is cut off, a person who votes the wrong way round, "
        "and an attribute with 12 votes."
    )
    if not _run(home, "nightly", "--store", "store", codes=(3,)):
        return 1
    second = write_night_two(store)
    _say(
        f"\nA day later there are new votes on {len(second.keys)} attributes. On {CAMPAIGN} three "
        "people cast four votes in ten, all for the same items."
    )
    if not (
        _run(home, "nightly", "--store", "store", codes=(3,))
        and _run(home, "models", CAMPAIGN)
        and _run(home, "status", "--store", "store", codes=(3,), lines=8)
    ):
        return 1
    return _compared(store, second, time.monotonic() - began, sys.argv[1])


def _compared(store: Store, planted: Planted, seconds: float, home: str) -> int:
    """Hold what the night found against what was planted; the exit code says whether it fits."""
    entries = past_of(store).entries
    found = {name: entry.outcome for name, entry in entries.items()}
    wanted = {name: one.expected for name, one in planted.attributes.items()}
    differing = sorted(name for name in wanted if found.get(name) != wanted[name])
    difference = entries[CAMPAIGN].difference
    assert difference is not None
    _say(
        f"\nThe campaign on {CAMPAIGN}, challenger less champion on the same held-out votes:\n"
        f"  every vote counting the same    {_shown(difference.plain)}\n"
        f"  every person counting the same  {_shown(difference.by_person)}"
    )
    if (found_together := entries[CAMPAIGN].coordinated) is not None:
        _say(f"There {words_of(found_together)}.")
    place = entries[CAMPAIGN].place
    page = PAGES.from_bytes(store.read(f"{place}/{PAGE}"), CAMPAIGN)
    named = {page.people.name[one] for group in page.concentration.groups for one in group.people}
    people = planted.attributes[CAMPAIGN].people
    is_named = named == set(people.index[people == "campaign"])
    for group in page.concentration.groups:
        _say(f"\nThe report names who is behind it: {group.words}.")
    _say(
        f"\n{len(wanted) - len(differing)} of {len(wanted)} attributes came out as planted, in "
        f"{seconds:.0f} s."
    )
    _say(
        "\nWhere to look next:\n"
        f"  open {shlex.quote(home)}/store/report/latest.html   # the report, in a browser\n"
        f"  cd {shlex.quote(home)}; export PATH=$PWD/../.venv/bin:$PATH PREFECT_HOME=$PWD/prefect\n"
        "  urlr status --store store; urlr models photos/smiling; urlr rollback photos/smiling\n"
        "  prefect server start                                              # the flow runs\n"
        "  mlflow ui --backend-store-uri sqlite:///urlr-registry/mlflow.db   # the models"
    )
    return 1 if differing or not is_named else 0


def _shown(estimate: Estimate | None) -> str:
    assert estimate is not None
    return f"{estimate.value:+.3f} ({estimate.low:+.3f} to {estimate.high:+.3f})"


def _run(home: Path, *arguments: str, codes: tuple[int, ...] = (0,), lines: int = 0) -> bool:
    """Show a command as a user would type it, and run it; True if it ended as it should."""
    _say(f"\n$ {shlex.join(['urlr', *arguments])}")
    environment = os.environ | {"PREFECT_HOME": str(home / "prefect"), "URLR_STORE": "store"}
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", *arguments],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE if lines else None,
        text=True,
    )
    if lines:
        said = done.stdout.splitlines()
        _say("\n".join([*said[:lines], "..."] if len(said) > lines else said))
    return done.returncode in codes


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
