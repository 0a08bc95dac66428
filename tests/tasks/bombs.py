"""Small files that decode to more than any memory, made cheaply, and processes that read them.

Run as a program it reads every file given, each in a copy of itself, and tells what each did to it.
"""

import gzip
import io
import json
import multiprocessing
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from stored_votes import order_of

from tasks import row_counts
from tasks.importing.documents import read_records, xml_tags
from tasks.importing.mapping import read_mapping
from tasks.partitions import features_at, part_shape, partitions_of, read_partition
from tasks.read import read_features, read_votes
from tasks.store import Store
from tasks.train import train
from urlr.errors import UrlrError

ROOT = Path(__file__).parents[2]
MILLION = 1_000_000
WORKER = 4 << 30
"""Bytes that a worker of a night may use."""
PROCESSOR = 5
"""Seconds of the processor after which the kernel ends a reading; 0.3 were seen at most."""


@dataclass(frozen=True)
class Read:
    """What reading one file came to."""

    said: str
    """The refusal; nothing if it was read."""
    code: str
    growth: int
    """Bytes of memory at the peak, beyond those before."""


def read_elsewhere(orders: dict[str, tuple[str, Path]]) -> dict[str, Read]:
    """Read files, each in the way named and in a process of its own."""
    told = json.dumps({name: [by, str(path)] for name, (by, path) in orders.items()})
    done = subprocess.run(
        [sys.executable, __file__],
        input=told,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: Read(**one) for name, one in json.loads(done.stdout).items()}


def gzip_of_zeros(size: int) -> bytes:
    """So many zeros, in members of 64 MB that are one and the same."""
    member = gzip.compress(bytes(64 << 20), mtime=0)
    return member * (size // (64 << 20))


def parquet(table: pa.Table, **options) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, store_schema=False, **options)
    return buffer.getvalue()


def repeated(size: int = MILLION, rows: int = MILLION, *, empty: int = 0) -> pa.DictionaryArray:
    """One text of `size` signs in every row but the first few."""
    codes = pa.array(np.zeros(rows, np.int32), mask=np.arange(rows) < empty)
    return pa.DictionaryArray.from_arrays(codes, pa.array(["x" * size]))


def with_groups_again(data: bytes, doublings: int) -> bytes:
    """The file with every row group listed 2**doublings times, all of them the same pages."""
    footer = pq.read_metadata(io.BytesIO(data))
    pages = data[: -8 - int.from_bytes(data[-8:-4], "little")]
    for _ in range(doublings):
        footer.append_row_groups(footer)
    written = io.BytesIO()
    footer.write_metadata_file(written)
    return pages + written.getvalue()[4:]


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def _measured(read: Callable[[str], object], path: str) -> Read:
    before, said, code = _peak(), "", ""
    try:
        read(path)
    except UrlrError as error:
        said, code = str(error), error.code
    return Read(said, code, _peak() - before)


def _read_in_a_copy(read: Callable[[str], object], path: str) -> Read:
    """What a file does to a copy of this process: no memory is kept from the one before."""
    copies = multiprocessing.get_context("fork")
    ours, theirs = copies.Pipe(duplex=False)

    def reading() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
        theirs.send(_measured(read, path))

    copy = copies.Process(target=reading)
    copy.start()
    theirs.close()
    try:
        found: Read = ours.recv()
    except EOFError:
        found = Read(f"ended by the kernel, {PROCESSOR} s of the processor are over", "", 0)
    copy.join()
    return found


def _in_pieces(path: str) -> None:
    features = features_at(path)
    for piece in partitions_of(part_shape(features.store, features.parts[0])):
        read_partition(piece)


def _in_a_night(path: str) -> None:
    """As a worker does: rows counted against the memory it may use, then gathered."""
    row_counts.memory_limit = lambda: WORKER
    train(order_of(Store.at(Path(path).parents[2])))


def main() -> None:
    """Read what is asked for on standard input."""
    ways = {
        "votes": read_votes,
        "features": read_features,
        "pieces": _in_pieces,
        "records": read_records,
        "config": xml_tags,
        "mapping": read_mapping,
        "night": _in_a_night,
    }
    orders = json.loads(sys.stdin.read())
    found = {name: vars(_read_in_a_copy(ways[by], path)) for name, (by, path) in orders.items()}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
