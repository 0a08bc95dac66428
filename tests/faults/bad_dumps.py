"""Dumps as they should not be, each with what must become of its attribute and what is said."""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from bombs import gzip_of_zeros, parquet, repeated, with_groups_again
from stored_votes import simulated

from tasks.write import table_bytes

N_VOTES = 300
GOOD = simulated(n_votes=N_VOTES, n_items=12)
VOTES: pd.DataFrame = GOOD.votes.astype(
    dict.fromkeys(("item_a", "item_b", "outcome", "annotator"), str)
)
CSV = table_bytes(VOTES, "1.csv")
PARQUET = table_bytes(VOTES, "1.parquet")
N_BAD = 7
MARKUP = "=cmd|'calc'!A0 <img src=x onerror=alert(1)>"
"""A formula and a page's code; as the name of a file or of a column it is neither."""
RED = "red\x1b[31m"


@dataclass(frozen=True)
class BadDump:
    """One way in which a delivery goes wrong."""

    files: dict[str, bytes]
    """Dumps of the attribute, by name."""
    said: str
    """Pattern of what the user must be told."""
    outcome: str = "failed"
    features: bytes | None = None
    """A table of its own, which lies beside."""


def _csv(change: Callable[[pd.DataFrame], pd.DataFrame]) -> dict[str, bytes]:
    return {"1.csv": table_bytes(change(VOTES), "1.csv")}


def _one(name: str, data: bytes) -> dict[str, bytes]:
    return {name: data}


def _lines(change: Callable[[list[bytes]], list[bytes]]) -> dict[str, bytes]:
    return {"1.csv": b"\n".join(change(CSV.splitlines())) + b"\n"}


def _some_unknown(votes: pd.DataFrame) -> pd.DataFrame:
    votes = votes.copy()
    votes.loc[: N_BAD - 1, "outcome"] = "maybe"
    return votes


def _zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("1.csv", data)
    return buffer.getvalue()


def _nested(depth: int) -> bytes:
    return b'{"winner": "a", "loser": ' + b"[" * depth + b"]" * depth + b"}\n"


def _features(value: float) -> bytes:
    """The table with something else in three cells."""
    table = GOOD.features.reset_index()
    column = table["feature-01"].where(table.index > 2, value)
    return table_bytes(table.assign(**{"feature-01": column}), "t.csv")


def _rows(count: int) -> bytes:
    """A great many votes that say the same."""
    return parquet(pa.table({name: pa.array(np.full(count, name)) for name in ("winner", "loser")}))


def _exploding() -> bytes:
    """A text of a million signs in each of a million rows."""
    cells = {"winner": repeated(1), "loser": repeated(2), "note": repeated()}
    return parquet(pa.table(cells))


BAD_DUMPS: dict[str, BadDump] = {
    "0 bytes": BadDump(_one("1.csv", b""), r"1\.csv is empty \(0 bytes\); check the export"),
    "header only": BadDump(
        _one("1.csv", CSV.splitlines()[0] + b"\n"),
        r"only \(1 dump\): there are no votes: the table has 0 rows; check",
    ),
    "broken gzip": BadDump(
        _one("1.csv.gz", gzip.compress(CSV)[:-100]), r"1\.csv\.gz is cut off or damaged; copy"
    ),
    "gzip that is none": BadDump(_one("1.csv.gz", CSV), r"1\.csv\.gz is not gzip; "),
    "gzip named csv": BadDump(_one("1.csv", gzip.compress(CSV)), r"is compressed with gzip; let"),
    "parquet without footer": BadDump(
        _one("1.parquet", PARQUET[:-200]), r"1\.parquet is cut off: the footer .* is missing; copy"
    ),
    "parquet damaged inside": BadDump(
        _one("1.parquet", PARQUET[:8] + b"\xff" * 400 + PARQUET[408:]),
        r"1\.parquet is a damaged Parquet file .*; copy it again",
    ),
    "csv named parquet": BadDump(_one("1.parquet", CSV), r"1\.parquet is not Parquet .*; name it"),
    "parquet named csv": BadDump(_one("1.csv", PARQUET), r"1\.csv is Parquet; let its name end"),
    "spreadsheet": BadDump(_one("1.csv", _zipped(CSV)), r"is a zip archive or a spreadsheet; "),
    "unknown ending": BadDump(_one("1.txt", CSV), r"1\.txt: cannot tell the format .*; use one of"),
    "UTF-16": BadDump(
        _one("1.csv", codecs.BOM_UTF16_LE + CSV.decode().encode("utf-16-le")),
        r"1\.csv .* in line 1; save it as UTF-8",
    ),
    "NUL bytes": BadDump(
        _one("1.csv", CSV[:2000] + b"\0\0" + CSV[2000:]), r"holds a NUL byte at byte 2,001 in line"
    ),
    "another encoding": BadDump(
        _one("1.csv", CSV.replace(b"item-000", "Zähne".encode("latin-1"))),
        r"is not UTF-8 \(0xe4\) at byte .*; save it as UTF-8",
    ),
    "renamed column": BadDump(
        _csv(lambda votes: votes.rename(columns={"outcome": "choice"})),
        r"1\.csv: the votes have columns .*choice.*; needed are winner and loser, or",
    ),
    "missing column": BadDump(
        _csv(lambda votes: votes.drop(columns="item_b")), r"1\.csv: the votes have .*; needed are"
    ),
    "two columns of one name": BadDump(
        _lines(lambda lines: [lines[0].replace(b"item_b", b"item_a"), *lines[1:]]),
        r"1\.csv: the votes have two columns named item_a; rename one",
    ),
    "outcomes as numbers": BadDump(
        _csv(lambda votes: votes.assign(outcome=range(len(votes)))),
        r"300 of 300 rows would be rejected.*outcome.*the first is row 1 of .*; mend the export",
    ),
    "weights as words": BadDump(
        _csv(lambda votes: votes.assign(weight="heavy")),
        r"300 of 300 rows would be rejected.*weight.*; mend the export",
    ),
    "ids as fractions": BadDump(
        _one(
            "1.parquet",
            table_bytes(VOTES.assign(item_a=0.5, item_b=1.5), "1.parquet"),
        ),
        r"300 of 300 rows would be rejected.*neither text nor a whole number.*; mend",
    ),
    "most rows bad": BadDump(
        _csv(lambda votes: votes.assign(item_b=votes["item_b"].where(votes.index < 100, ""))),
        r"200 of 300 rows would be rejected.*missing item.*; mend the export",
    ),
    "an unpaired quote": BadDump(
        _lines(lambda lines: [*lines[:50], b'"' + lines[50], *lines[51:]]),
        r"1\.csv has an unpaired quote in the row of line",
    ),
    "a row too long": BadDump(
        _lines(lambda lines: [*lines[:50], lines[50] + b",1,2,3", *lines[51:]]),
        r"1\.csv has \d+ cells in line 51, the header \d+; mend the line",
    ),
    "broken JSON": BadDump(
        _one("1.jsonl", b'{"winner": "a", "loser": "b"}\n{"winner": "a", \n'),
        r"1\.jsonl has no valid JSON in line 2 .*; put one JSON object on each line",
    ),
    "JSON nested too deep": BadDump(
        _one("1.jsonl", _nested(100_000)), r"1\.jsonl has no valid JSON in line 1; put one"
    ),
    "votes of another attribute": BadDump(
        _csv(lambda votes: votes.assign(attribute="else")),
        r"1\.csv: 300 rows are about else, not .*; move them to their own folder",
    ),
    "items without features": BadDump(
        _csv(lambda votes: votes.assign(item_a="nobody", item_b="knows")),
        r"has features of none of the 2 items voted on, such as .*; ids must be the same",
    ),
    "only skips": BadDump(
        _csv(lambda votes: votes.assign(outcome="skip")),
        r"none of 300 votes can be used: 300 skipped by the annotator",
    ),
    "a gzip bomb": BadDump(
        _one("1.csv.gz", gzip_of_zeros(1 << 30)),
        r"1\.csv\.gz is .* bytes of gzip that unpack to .*; see who",
    ),
    "cells that explode": BadDump(
        _one("1.parquet", _exploding()), r"1\.parquet decodes to more than .*column note; drop"
    ),
    "128 million rows in a small file": BadDump(
        _one("1.parquet", with_groups_again(_rows(1_000_000), 7)),
        r"128,000,000 votes need about .* GiB and a worker may use .* GiB; raise URLR_WORKER",
    ),
    "infinite features": BadDump(
        _one("1.csv", CSV),
        r"features/infinite-features/t\.csv.*infinite.*; replace them",
        features=_features(float("inf")),
    ),
    "features with gaps": BadDump(
        _one("1.csv", CSV), "first model", "published", features=_features(float("nan"))
    ),
    "byte order mark": BadDump(_one("1.csv", codecs.BOM_UTF8 + CSV), "first model", "published"),
    "extra column": BadDump(
        _csv(lambda votes: votes.assign(mood="good")), "first model", "published"
    ),
    "markup in a file's name": BadDump(_one(f"{MARKUP}.csv", CSV), "first model", "published"),
    "escapes in a file's name": BadDump(
        _one(f"{RED}.csv", CSV), r"the key `votes/.*/red\\x1b\[31m\.csv` holds a control sign"
    ),
    "markup in columns' names": BadDump(
        _csv(lambda votes: votes.assign(**{MARKUP: MARKUP, RED: RED, "=1+1": "=1+1"})),
        "first model",
        "published",
    ),
    "markup in all columns' names": BadDump(
        _one("1.csv", f"{MARKUP},{RED},=1+1\na,b,c\n".encode()),
        r"1\.csv: the votes have columns =cmd.*<img.*red\\x1b\[31m, =1\+1; needed are winner and",
    ),
    "some rows bad": BadDump(
        _csv(_some_unknown), rf"{N_BAD} rows missing or unknown outcome", "published"
    ),
    "delivered twice": BadDump(
        {"1.csv": CSV, "2.csv": CSV}, r"300 rows in a dump that holds the same bytes", "published"
    ),
    "votes from the future": BadDump(
        _csv(lambda votes: votes.assign(time="2999-01-01T00:00:00Z")),
        r"votes dated in the future, the last 2999-01-01, on ",
        "published",
    ),
    "three votes": BadDump(
        _csv(lambda votes: votes.head(3)), r"could not be judged|only .* could be judged", "held"
    ),
}

NAMES: dict[str, tuple[str, str, str]] = {
    "path traversal in escapes": ("a/b..%2f..%2fetc%2fpasswd", "published", "first model"),
    "escapes of a terminal": ("red\x1b[31m", "failed", r"cannot be seen.*; rename"),
    "a line break": ("two\nlines", "failed", r"cannot be seen.*; rename"),
    "too long a name": ("x" * 300, "failed", r"takes 300 signs.*; .*shorter name"),
    "markup": ("<script>alert(1)</script>", "published", "first model"),
    "markup in an attribute": ('"><img src onerror alert(1)>', "published", "first model"),
    "a formula": ("+cmd|'calc'!A0", "published", "first model"),
    "a command": ("$(touch owned)`touch owned`", "published", "first model"),
    "other scripts": ("Größe/Zähne 😀", "published", "first model"),
    "dots and percents": ("od..d%2e%2e", "published", "first model"),
}
"""Names of attributes by what is odd about them, with outcome and what is said."""


def features() -> bytes:
    """One table for all."""
    return table_bytes(GOOD.features.reset_index(), "all.csv")


def key_of(attribute: str, name: str) -> str:
    """Where a dump lies."""
    return f"votes/{attribute}/{name}"
