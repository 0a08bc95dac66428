"""What the ending of a file's name says about what is inside."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tasks.messages import message
from urlr.errors import UrlrError
from urlr.ids import shown

Layout = Literal["csv", "jsonl", "parquet"]


@dataclass(frozen=True, slots=True)
class TableFormat:
    """How a table lies in its file."""

    layout: Layout
    gzipped: bool


_ENDINGS = {
    ".csv": TableFormat("csv", False),
    ".csv.gz": TableFormat("csv", True),
    ".parquet": TableFormat("parquet", False),
    ".pq": TableFormat("parquet", False),
    ".jsonl": TableFormat("jsonl", False),
    ".jsonl.gz": TableFormat("jsonl", True),
    ".ndjson": TableFormat("jsonl", False),
    ".ndjson.gz": TableFormat("jsonl", True),
}
ENDINGS = ", ".join(_ENDINGS)

_TEXT = "; charset=utf-8"
_MEDIA = {
    ".html": f"text/html{_TEXT}",
    ".js": f"text/javascript{_TEXT}",
    ".css": f"text/css{_TEXT}",
    ".csv": f"text/csv{_TEXT}",
    ".txt": f"text/plain{_TEXT}",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}

_LONGEST, _HALF, _ANY_LENGTH = 300, 149, 1 << 20


def table_format(path: str | os.PathLike[str], *, error: type[UrlrError]) -> TableFormat:
    """Tell the format by the ending of the name; raise `error` if it is none of ours."""
    name = Path(path).name.lower()
    for ending, found in _ENDINGS.items():
        if name.endswith(ending):
            return found
    raise error(message("unknown_format", path=shown_path(path), endings=ENDINGS))


def media_type(key: str) -> str:
    """What a browser is told an object is; without it a report is downloaded, not shown."""
    return _MEDIA.get(Path(key).suffix.lower(), "application/octet-stream")


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as it may be shown to people: control signs escaped, long ones without their middle.

    The ending is kept: it tells the format.
    """
    text = shown(os.fspath(path), limit=_ANY_LENGTH)
    return text if len(text) <= _LONGEST else f"{text[:_HALF]}…{text[-_HALF:]}"
