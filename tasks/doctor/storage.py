"""The store: whether it answers, may be used as a night will use it, and keeps its promises.

A probe is an object of a random, hidden name that listings and nights pass over; it is removed at
once. It is put where the role of `deploy/s3/policy-nightly-flow.json` may remove it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.doctor.examining import Known, NotLookedAt, Stamp
from tasks.doctor.finding import Finding, of_error, ok, problem, warning

if TYPE_CHECKING:
    from tasks.discover import Discovery
    from tasks.store import Store

PATIENCE = 10.0
"""Seconds that one call to the store may take, where the settings do not say less."""
LISTING = 60.0
"""The same for a listing of all votes."""
PROBED = ("runs/scoring", "lease")
"""Folders that a night writes to, and may remove from."""
FAR, TOO_FAR = 30.0, 300.0
"""Seconds by which clocks may differ before it is a warning, a problem."""

_ANSWER = "check --store, the network, and AWS_ENDPOINT_URL"


def store(known: Known) -> Iterator[Finding]:
    """Whether the store answers and may be listed, written and read as a night does it."""
    from urlr.ids import shown

    store = _store(known, PATIENCE)
    store.list("lease")
    known.reached = True
    began = time.monotonic()
    store.list("lease")  # without the time that libraries take to load
    took = f"answers in {1000 * (time.monotonic() - began):.0f} ms"
    place = folder_of(store.url)
    if place is not None:
        took = "is there" if place.is_dir() else "is not there yet and is made when needed"
    with nothing_left(*([place / folder for folder in PROBED] if place is not None else [])):
        left = []
        for folder in PROBED:
            known.stamp, more = probed(store, folder)
            left += more
        can = "it can be listed, and written and read below runs/ and lease/"
        yield ok(f"{shown(store.url, 200)} {took}; {can}")
        yield from left
        honoured = store.probe_conditional_writes("lease")
    if honoured:
        yield ok("conditional writes are honoured, on which lease and publishing rest")
    else:
        yield problem(
            "conditional writes are ignored: a key that exists was created again, so that two "
            "nights could hold the store at once",
            "use a store that honours If-None-Match",
        )
    if place is None:
        yield from _on_writing_votes(store)


def _on_writing_votes(store: Store) -> Iterator[Finding]:
    """Nights only read votes; credentials that cannot write them can do no harm to them."""
    from tasks.objects import hidden_name
    from tasks.store import StoreError

    with suppress(StoreError):  # then it cannot be told
        if not store.may_write(f"votes/{hidden_name()}"):
            yield ok("votes/ cannot be written with these credentials, as it should be")
            return
        yield warning(
            "these credentials may also write votes/, which no night needs",
            "give nights a role of their own, such as deploy/s3/policy-nightly-flow.json",
        )


def votes(known: Known) -> Iterator[Finding]:
    """How many attributes and dumps there are, and whether a worker here could read one."""
    from tasks.discover import DiscoverError, discover
    from tasks.store import StoreError
    from urlr.ids import shown

    settings = known.settings_with("store", "dask_address")
    store = _reached(known, LISTING)
    try:
        found = discover(store)
    except DiscoverError as error:
        yield of_error(error, do="put dumps there", state="warning")
        return
    here = settings.dask_address is None  # else workers read, who may have other credentials
    if here and found.attributes:
        first = found.attributes[0].dumps[0]
        try:
            store.read_span(first.key, 0, min(first.size, 1), etag=first.etag)
        except StoreError as error:
            yield of_error(error, do="let this user read votes/")
            return
    yield ok(_counted(found))
    for one in found.refused[:3]:
        name = f"{shown(one.attribute)}: " if one.attribute else ""
        yield of_error(f"left aside: {name}{one.why}", do="rename or move it", state="warning")
    if len(found.refused) > 3:
        yield warning(f"{len(found.refused) - 3} more are left aside", "see `urlr nightly`")


def _counted(found: Discovery) -> str:
    from urlr.ids import plural

    dumps = [dump for one in found.attributes for dump in one.dumps]
    size = sum(dump.size for dump in dumps)
    shown = f"{size / 2**20:,.1f} MiB" if size >= 2**20 else f"{size:,} bytes"
    featured = sum(bool(one.features) for one in found.attributes)
    count = plural(len(found.attributes), "attribute")
    return f"{count} in {plural(len(dumps), 'dump')} ({shown}), {featured} with features"


def lease(known: Known) -> Iterator[Finding]:
    """Whether a night is at work."""
    from tasks.lease import held_by
    from urlr.ids import shown

    settings = known.settings_with("store", "lease_grace")
    held = held_by(_reached(known, PATIENCE), grace=settings.lease_grace)
    if held is None:
        yield ok("no night is at work")
    else:
        since = f"{held.started.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        where = f"on {shown(held.host)} (process {held.pid})"
        yield ok(f"run {shown(held.run)} is at work {where} since {since}")


def clock(known: Known) -> Iterator[Finding]:
    """Whether the clocks of this machine and of the store agree: leases run out by them."""
    if known.stamp is None:
        raise NotLookedAt("no object could be written to the store")
    yield difference(known.stamp)


def difference(stamp: Stamp) -> Finding:
    """How far the clocks are apart; the store's time may lack the part of a second."""
    ahead = (stamp.modified - stamp.after).total_seconds()
    behind = (stamp.before - stamp.modified - timedelta(seconds=1)).total_seconds()
    off = max(ahead, behind, 0.0)
    which = "behind" if ahead > behind else "ahead of"
    if off <= FAR:
        within = f"{off:.0f} seconds" if off >= 1 else "a second"
        return ok(f"this machine's clock and the store's agree within {within}")
    said = f"this machine's clock is {off:,.0f} seconds {which} the store's, and leases rest on it"
    do = "set the clocks by NTP"
    return problem(said, do) if off > TOO_FAR else warning(said, do)


def probed(store: Store, folder: str) -> tuple[Stamp, list[Finding]]:
    """Write, read and remove an object, and what was found if it cannot be removed.

    Raises
    ------
    StoreError
        It cannot be written or read.
    """
    from tasks.objects import hidden_name
    from tasks.store import StoreError

    key = f"{folder}/{hidden_name()}" if folder else hidden_name()
    data = secrets.token_hex(16).encode()
    before = datetime.now(UTC)
    store.create(key, data)
    after = datetime.now(UTC)
    try:
        held, found = store.read(key), store.find(key)
        if held != data:
            raise StoreError(f"{store.address(key)} does not hold what was written; {_ANSWER}.")
    except BaseException:
        with suppress(StoreError):  # the first error is the one to tell
            store.remove(key)
        raise
    left = []
    try:
        store.remove(key)
    except StoreError as error:
        why = str(error).rpartition("; ")[0] or str(error)
        do = "remove it, and let nights remove from lease/ and runs/scoring/"
        left.append(warning(f"an object that was written cannot be removed ({why})", do))
    return Stamp(before, after, found.modified), left


@contextmanager
def nothing_left(*folders: Path) -> Iterator[None]:
    """Remove the folders that the block makes on the way to these, as far as they are empty."""
    missing = {above for path in folders for above in (path, *path.parents) if not above.is_dir()}
    try:
        yield
    finally:
        for path in sorted(missing, key=lambda path: len(path.parts), reverse=True):
            with suppress(OSError):  # it was never made, or somebody uses it now
                path.rmdir()


def folder_of(address: str) -> Path | None:
    """The directory of a store, None if it is a bucket."""
    return None if address.startswith("s3://") else Path(address)


def _reached(known: Known, seconds: float) -> Store:
    if not known.reached:
        raise NotLookedAt("the store does not answer as it should")
    return _store(known, seconds)


def _store(known: Known, seconds: float) -> Store:
    from tasks.store import Store

    settings = known.settings_with("store")
    return Store.at(settings.store, deadline=min(settings.call_deadline, seconds))
