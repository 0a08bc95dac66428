"""How many rows an attribute has and what memory they will need, told before any is read.

Parquet tells its rows in its footer; of text, the lines at its beginning tell about how many the
whole has. Nothing is decoded, so a file that holds a billion rows in a megabyte costs nothing.
"""

from __future__ import annotations

import zlib
from contextlib import suppress

from tasks.cluster.worker import memory_limit
from tasks.discover import Source
from tasks.formats import table_format
from tasks.messages import message
from tasks.partitions import stored_parquet
from tasks.read import ReadError
from tasks.results import Order
from tasks.store import Store
from urlr.settings import FitSettings

_LOOKED_AT = 1 << 20
"""Bytes of a file of text that are looked at."""
_GIB = 2.0**30

_LOADED = 0.45e9
_ROBUST, _PAPER, _BY_PARTS = 820.0, 715.0, 81.0
"""Bytes of a worker before the first row, and those that its peak grows by with every row. With
2,000 items, 32 features and 200 people, 0.3, 1 and 2 million votes took 676, 1,161 and 1,891 MB by
the paper's method at a fixed share, 1 million 1,134 MB at the share it chose; 0.3 and 1 million 682
and 1,257 MB by the default. Part by part, 100 million on 20,000 items with 64 features took 8.5 GB.
"""


def counted_rows(order: Order) -> int:
    """Rows of all dumps of an attribute.

    Raises
    ------
    ReadError
        A dump has more than may be, or all need more memory than this worker may use.
    """
    store = order.store
    total = 0
    for dump in order.inputs.dumps:
        n_rows = rows_in(store, dump)
        total += n_rows
        if total > order.most_rows:
            raise ReadError(
                message(
                    "too_many_rows",
                    path=store.address(dump.key),
                    rows=n_rows,
                    total=total,
                    most=order.most_rows,
                )
            )
    _check_memory(order, total)
    return total


def is_by_parts(order: Order, n_rows: int) -> bool:
    """Whether an attribute of so many rows is worked on part by part."""
    return n_rows > order.large_attribute and can_be_by_parts(order.fit)


def can_be_by_parts(fit: FitSettings) -> bool:
    """Whether a fit can do without all votes in memory: the paper's, at a fixed rate, by ridge."""
    return fit.method == "paper" and not isinstance(fit.prune, str) and fit.ranking == "ridge"


def memory_needed(fit: FitSettings, n_rows: int, *, by_parts: bool) -> float:
    """Bytes of memory that a fit of so many rows takes at its peak, about."""
    if by_parts:
        return _LOADED + _BY_PARTS * n_rows
    return _LOADED + (_PAPER if fit.method == "paper" else _ROBUST) * n_rows


def rows_in(store: Store, dump: Source) -> int:
    """Rows of a dump: exactly those of Parquet, about those of text."""
    form = table_format(dump.key, error=ReadError)
    if form.layout == "parquet":
        with suppress(ReadError), stored_parquet(store, dump, store.address(dump.key)) as file:
            return int(file.metadata.num_rows)
        return 0  # reading it will say what is wrong
    looked_at = min(dump.size, _LOOKED_AT)
    beginning = store.read_span(dump.key, 0, looked_at, etag=dump.etag) if looked_at else b""
    if form.gzipped:
        with suppress(zlib.error):  # reading it will say what is wrong
            beginning = zlib.decompressobj(wbits=31).decompress(beginning, 64 * _LOOKED_AT)
    return round(beginning.count(b"\n") * dump.size / max(1, looked_at))


def _check_memory(order: Order, n_rows: int) -> None:
    limit = memory_limit()
    by_parts = is_by_parts(order, n_rows)
    needed = memory_needed(order.fit, n_rows, by_parts=by_parts)
    if limit is None or needed <= limit:
        return
    folder = order.store.address(order.inputs.dumps[0].key.rpartition("/")[0])
    if by_parts:
        remedy = message("more_memory")
    elif can_be_by_parts(order.fit):
        remedy = message("more_memory_or_by_parts")
    else:
        remedy = message("more_memory_or_another_method")
    raise ReadError(
        message(
            "too_little_memory",
            path=folder,
            votes=n_rows,
            needed=needed / _GIB,
            limit=limit / _GIB,
            remedy=remedy,
        )
    )
