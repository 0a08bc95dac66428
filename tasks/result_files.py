"""Where the results of an attribute lie, who wrote them, and whether they are the ones.

A second attempt may find what a first one left before it died. On the same machine it is the same
to the last byte; on another processor it can differ in the last digit, and goes beside.
"""

from __future__ import annotations

import hashlib

from tasks.results import RESULT, RESULTS, Order, Result, ResultError
from tasks.store import Exists, NotThere, Store
from tasks.together import together

JUDGE, MODEL, EXAMPLES = "judge.npz", "model.npz", "examples.parquet"

_MOST_ATTEMPTS = 4
"""Twice as often as a night tries."""


def places_of(order: Order) -> tuple[str, ...]:
    """Where results may lie: the place ordered, and one for each attempt that finds others."""
    return (order.place, *(f"{order.place}/attempt-{k}" for k in range(2, _MOST_ATTEMPTS + 1)))


def known_result(order: Order, key: str) -> Result | None:
    """The result of this key, if it was computed before."""
    known = order.known.get(key)
    for place in (known, *places_of(order)):  # the latter: an attempt that died at its end
        if place is None:
            continue
        where = f"{place}/{RESULT}"
        try:
            result = RESULTS.from_bytes(order.store.read(where), order.store.address(where))
        except (NotThere, ResultError):  # gone, or of another version of urlr
            continue
        if result.key == key:
            return result
    return None


def free_place(order: Order) -> str | None:
    """The first place that holds nothing yet; None if there is none."""
    for place in places_of(order):
        if not order.store.list(place):
            return place
    return None


def written(order: Order, files: dict[str, bytes]) -> str | None:
    """Write files to the first place that holds none but these, and give it.

    None where another attempt has ended meanwhile, or left something else everywhere.
    """
    for place in places_of(order):
        try:
            write_files(order.store, place, files)
            return place
        except Exists:
            if _is_there(order.store, f"{place}/{RESULT}"):
                return None
    return None


def write_files(store: Store, place: str, files: dict[str, bytes]) -> None:
    """Write all of them, side by side."""
    together(lambda one: store.create(f"{place}/{one[0]}", one[1]), files.items())


def digests_of(files: dict[str, bytes]) -> dict[str, str]:
    """Digests of the model and of the judge, by file."""
    return {name: _digest(files[name]) for name in (MODEL, JUDGE) if name in files}


def is_the_one(data: bytes, name: str, result: Result) -> bool:
    """Whether this is the model or the judge that was made with a result."""
    return name not in result.digests or result.digests[name] == _digest(data)


def _is_there(store: Store, key: str) -> bool:
    try:
        store.find(key)
    except NotThere:
        return False
    return True


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
