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

Every row was run against the real thing (S3 server, Dask workers, Prefect, MLflow). Whole nights
end before one judge, which asks that

a. state and exit code tell the truth;
b. one plain line says which attribute, which object, what is wrong and what to do;
c. every champion loads and predicts, the old one or the new one that was verified, never neither;
d. rows read = used + ties + skipped + rejected;
e. the inputs' bytes have not changed;
f. other attributes have the bytes of a clean run;
g. running again without the fault gives the bytes of a clean run;
h. no secret is in any log, state, parameter, report, database or error;
i. no process, port, lock or temporary file is left over.

Bombs by themselves, clocks, models that are loaded, slips at the keyboard, sockets and nights that
cannot begin are no whole nights: their own tests ask for what applies of this.

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
        lines += ["", f"## {group[0].upper()}{group[1:]}", ""]
        lines += ["| case | outcome | what the user saw |", "|---|---|---|"]
        for row in sorted(cases, key=lambda one: one["name"]):
            lines.append("| " + " | ".join(map(cell, list(row.values())[1:])) + " |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Text in a cell of Markdown, none of its signs meaning anything."""
    for sign in ("\\", "|", "<", "`", "*", "_", "["):
        text = text.replace(sign, f"\\{sign}" if sign != "<" else "&lt;")
    return text.replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main())
