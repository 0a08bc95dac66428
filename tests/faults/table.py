"""Makes docs/faults.md from what the judge passed.

python -m tests.faults.table CASES docs/faults.md

CASES is the directory that `FAULT_CASES` named when the tests were run; `make faults` does both.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

HEAD = """\
# What was tried to break it

Whole nights are run by the real command, with Dask workers, a Prefect server and an MLflow
registry, on an S3 server or a local disk. Nights apart from Prefect are the same command, store,
registry and Dask workers in the tests' own process, or in a fork that may be killed. Both end
before one judge, which asks that

a. state and exit code tell the truth;
b. one plain line says which attribute, which object, what is wrong and what to do;
c. every champion loads and predicts, the old one or the new one that was verified, never neither;
d. rows read = used + ties + skipped + rejected;
e. the inputs' bytes have not changed;
f. other attributes have the bytes of a clean run, but for names of runs, what the work cost and
   the versions of inputs that a disk gives;
g. running again without the fault gives these bytes too, but for what a page says of the night
   before where that was another;
h. no secret is in any log, state, parameter, report, database or error;
i. no process, port, lock or temporary file is left over.

Nights apart from Prefect are those of

- a delivery goes wrong, names: each case, and a whole night after it on all that failed and some
  more, which must say the same of it on the console, in `urlr status` and in the report;
- the flow is killed night after night: the steps but for the first, which is a whole night like
  the one after all of them; each step alone is a whole night of `make soak`;
- the store fails altogether: but for conditional writes that are ignored, a whole night;
- the votes shift, and votes cast in the hour that comes twice;
- features break overnight, ids are written in two ways, two stores have one registry, and records
  and aliases are not as a night left them (but for records that are read alone, without a night).

Workers in trouble, and all of `make soak`, are whole nights; what they are compared with, and the
night after workers were in trouble, need not be.

Other rows are less than that, and their own tests ask for what applies of it:

- the store fails at one attribute: the work of a worker on one attribute, called as a worker calls
  it, and some of the cases once more in a whole night;
- attacks: a night of the real command whose sockets are looked at, and calls to an S3 server that
  enforces the policies of `deploy/s3`, with the keys of each role, one whole night among them;
- bombs: a file read in a process of its own, whose processor time and memory are measured, as the
  commands read it or as a night's worker counts and gathers it, without Dask, Prefect and MLflow;
- clocks: the dates that Prefect's scheduler gives, but for the night said above;
- malicious models: bytes that are loaded, and versions in an MLflow registry on a local disk, but
  for one whole night;
- nights that cannot begin: the real command, up to its refusal;
- workers with another urlr: programs of Dask with another installation, and the connection to them;
- operator slips: commands in the tests' own process with such a registry, but for one whole night.

The table is made by `make faults`: the quick cases, which are part of `make test`, and the long
ones of `make soak`. Nothing in it is written by hand. Addresses, runs, times and processes in it
have names that do not change.
"""


def main() -> int:
    """Write the table; 1 if there is nothing to write."""
    folder, target = map(Path, sys.argv[1:])
    rows = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    if not rows:
        return 1
    target.write_text(table(rows))
    return 0


def table(rows: list[dict[str, str]]) -> str:
    """The page."""
    groups: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        groups[row["group"]].append(row)
    lines = [HEAD, f"{len(rows)} cases, all passed."]
    for group, cases in sorted(groups.items()):
        lines += ["", f"## {heading(group)}", ""]
        lines += ["| case | outcome | what the user saw |", "|---|---|---|"]
        for row in sorted(cases, key=lambda one: one["name"]):
            lines.append("| " + " | ".join(map(cell, list(row.values())[1:])) + " |")
    return "\n".join(lines) + "\n"


def heading(group: str) -> str:
    """What stands over a group."""
    return f"{group[0].upper()}{group[1:]}"


def cell(text: str) -> str:
    """Text in a cell of Markdown, none of its signs meaning anything."""
    for sign in ("\\", "|", "<", "`", "*", "_", "["):
        text = text.replace(sign, f"\\{sign}" if sign != "<" else "&lt;")
    return text.replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main())
