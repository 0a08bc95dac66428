"""How large what is read may be: one rule for all files, kept before memory is spent on them.

A few bytes can unpack to any size. What is packed with gzip is unpacked piece by piece and given up
as soon as it grows like no votes do; text of any kind has one ceiling, however it came here.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib

from tasks.formats import shown_path
from tasks.messages import message
from urlr.errors import UrlrError
from urlr.sentence import Sentence

LARGEST_TEXT = 1 << 28
"""Most bytes of a file of text, packed or not: 256 MB, so about 1 GB of memory, for reading 76 MB
of CSV took 220 MB and 107 MB of JSON lines 390."""
SMALL_TEXT = 1 << 20
"""Most bytes of what a person writes: a labelling config, a mapping."""
LONGEST_LINE = 1 << 22
"""Most bytes of a line; as JSON, lists of empty lists, it takes 25 times as much memory."""
MOST_COLUMNS = 20_000
"""Most columns of a table, and most numbers of an `embedding`."""

_RATIO = 100
"""Times its size that a gzip file may unpack to. Votes and features of people unpack to 2 to 12
times their size; simulated votes to 4 to 7, as JSON lines to 9 to 19, and to 35 if all are about
one pair. gzip can do 1,032."""
_UNJUDGED = 1 << 25
"""Bytes up to which nobody asks how well a file was packed."""
_PIECE = 1 << 20
_GZIP = b"\x1f\x8b"


class ReadError(UrlrError):
    """A file cannot be read; the text says which, what is wrong, and what to do."""


def check_text_size(
    size: int, path: str | os.PathLike[str], *, most: int = LARGEST_TEXT, packed: bool = False
) -> None:
    """Refuse a file of text that is too large, best before it is read."""
    if size <= most:
        return
    where, remedy = shown_path(path), _remedy(most)
    if packed:
        raise ReadError(
            message("packed_text_too_large", path=where, size=size, most=most, remedy=remedy)
        )
    raise ReadError(message("text_too_large", path=where, size=size, most=most, remedy=remedy))


def _remedy(most: int) -> Sentence:
    """What to do about a file of text that is larger than this."""
    return message("use_parquet") if most == LARGEST_TEXT else message("right_file")


def unpacked(data: bytes, path: str | os.PathLike[str], *, most: int = LARGEST_TEXT) -> bytes:
    """What a gzip file holds, as long as that is no more than `most` and it grows as text does."""
    where, source = shown_path(path), io.BytesIO(data)
    pieces: list[bytes] = []
    size = 0
    try:
        with gzip.GzipFile(fileobj=source) as file:
            while piece := file.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > _UNJUDGED and size > _RATIO * source.tell():
                    raise ReadError(
                        message("gzip_bomb", path=where, packed=len(data), size=size, times=_RATIO)
                    )
                if size > most:
                    raise ReadError(
                        message(
                            "unpacked_text_too_large",
                            path=where,
                            packed=len(data),
                            most=most,
                            remedy=_remedy(most),
                        )
                    )
    except (OSError, EOFError, zlib.error):
        if data[:2] == _GZIP:
            raise ReadError(message("damaged_gzip", path=where)) from None
        raise ReadError(message("not_gzip", path=where)) from None
    whole = b"".join(pieces)
    if whole[:2] == _GZIP:
        raise ReadError(message("gzip_twice", path=where))
    return whole


def check_lines(data: bytes, path: str | os.PathLike[str]) -> None:
    """Refuse text with a line that is too long to be a row."""
    start, line = 0, 1
    while len(data) - start > LONGEST_LINE:
        end = data.rfind(b"\n", start, start + LONGEST_LINE + 1)
        if end < 0:
            after = data.find(b"\n", start)
            size = (len(data) if after < 0 else after) - start
            raise ReadError(
                message(
                    "line_too_long",
                    path=shown_path(path),
                    size=size,
                    line=line,
                    most=LONGEST_LINE,
                )
            )
        line += data.count(b"\n", start, end + 1)
        start = end + 1


def check_columns(count: int, path: str | os.PathLike[str]) -> None:
    """Refuse a table with too many columns."""
    if count > MOST_COLUMNS:
        raise ReadError(
            message("too_many_columns", path=shown_path(path), count=count, most=MOST_COLUMNS)
        )
