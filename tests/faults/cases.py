"""What became of every case, kept to make the table of docs/faults.md.

With `FAULT_CASES` naming a directory, each case that the judge passed is written there; see
`python -m tests.faults.table`.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from judge import Seen

_VARYING = (
    (r"\(\.\./\S*…\)", "(../../../../some/where…)"),
    (r"artifacts/[0-9a-f]{32}/", "artifacts/0a1b2c/"),
    (r"/test-[0-9a-f]+/some/where", "/team/urlr"),
    (r", smiling/[0-9a-f]{8}", ""),
    (r"/[^\s;:,`']*?/(store|work)(?=[/\s;:,`'\)]|$)", r"\1"),
    (r"/\S*?/pytest-of-[^/\s]+/(?:[^/\s]+/)+(?=[^/\s]*)", ""),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:9000"),
    (r"\d{8}T\d{6}Z-[0-9a-f]{6}", "20261101T020000Z-0a1b2c"),
    (r"process \d+", "process 4711"),
    (r" on [\w.-]+ \(process", " on this-machine (process"),
    (r"item-\d+", "item-000"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "2026-11-01 02:00:00 UTC"),
    (r"\.urlr-[0-9a-f]{8,}\.tmp", ".urlr-0a1b2c.tmp"),
)


def passed(group: str, name: str, seen: Seen) -> None:
    """Note that the judge passed a case."""
    folder = os.environ.get("FAULT_CASES")
    if not folder:
        return
    text = seen.saw
    for pattern, words in _VARYING:
        text = re.sub(pattern, words, text)
    file = Path(folder) / f"{re.sub(r'[^a-z0-9]+', '-', f'{group} {name}'.lower())[:120]}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    row = {"group": group, "name": name, "outcome": seen.outcome, "saw": text}
    file.write_text(json.dumps(row, ensure_ascii=False) + "\n")
