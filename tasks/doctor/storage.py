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
    from urlr.sentence import Sentence

PATIENCE = 10.0
"""Seconds that one call to the store may take, where the settings do not say less."""
LISTING = 60.0
"""The same for a listing of all votes."""
PROBED = ("runs/scoring", "lease")
"""Folders that a night writes to, and may remove from."""
FAR, TOO_FAR = 30.0, 300.0
"""Seconds by which clocks may differ before it is a warning, a problem."""


def store(known: Known) -> Iterator[Finding]:
    """Whether the store answers and may be listed, written and read as a night does it."""
    from tasks.messages import message

    store = _store(known, PATIENCE)
    store.list("lease")
    known.reached = True
    began = time.monotonic()
    store.list("lease")  # without the time that libraries take to load
    state = message("answers_in", milliseconds=1000 * (time.monotonic() - began))
    place = folder_of(store.url)
    if place is not None:
        state = message("is_there") if place.is_dir() else message("is_made_when_needed")
    with nothing_left(*([place / folder for folder in PROBED] if place is not None else [])):
        left = []
        for folder in PROBED:
            known.stamp, more = probed(store, folder)
            left += more
        yield ok(message("store_usable", store=store.url, state=state))
        yield from left
        honoured = store.probe_conditional_writes("lease")
    if honoured:
        yield ok(message("writes_conditional"))
    else:
        yield problem(message("writes_not_conditional"), message("use_another_store"))
    if place is None:
        yield from _on_writing_votes(store)


def _on_writing_votes(store: Store) -> Iterator[Finding]:
    """Nights only read votes; credentials that cannot write them can do no harm to them."""
    from tasks.messages import message
    from tasks.objects import hidden_name
    from tasks.store import StoreError

    with suppress(StoreError):  # then it cannot be told
        if not store.may_write(f"votes/{hidden_name()}"):
            yield ok(message("votes_not_writable"))
            return
        yield warning(message("votes_writable"), message("use_a_role"))


def votes(known: Known) -> Iterator[Finding]:
    """How many attributes and dumps there are, and whether a worker here could read one."""
    from tasks.discover import DiscoverError, discover
    from tasks.messages import message
    from tasks.store import StoreError

    settings = known.settings_with("store", "dask_address")
    store = _reached(known, LISTING)
    try:
        found = discover(store)
    except DiscoverError as error:
        yield of_error(error.sentence, do=message("put_dumps"), state="warning")
        return
    here = settings.dask_address is None  # else workers read, who may have other credentials
    if here and found.attributes:
        first = found.attributes[0].dumps[0]
        try:
            store.read_span(first.key, 0, min(first.size, 1), etag=first.etag)
        except StoreError as error:
            yield of_error(error.sentence, do=message("let_read_votes"))
            return
    yield ok(_counted(found))
    for one in found.refused[:3]:
        said = message("left_aside", why=one.why)
        if one.attribute:
            said = message("attribute_left_aside", attribute=one.attribute, why=one.why)
        yield of_error(said, do=message("rename_or_move"), state="warning")
    if len(found.refused) > 3:
        more = message("more_left_aside", count=len(found.refused) - 3)
        yield warning(more, message("see_nightly"))


def _counted(found: Discovery) -> Sentence:
    from tasks.messages import message

    dumps = [dump for one in found.attributes for dump in one.dumps]
    size = sum(dump.size for dump in dumps)
    return message(
        "attributes_found",
        attributes=len(found.attributes),
        dumps=len(dumps),
        size=f"{size / 2**20:,.1f} MiB" if size >= 2**20 else f"{size:,} bytes",
        featured=sum(bool(one.features) for one in found.attributes),
    )


def lease(known: Known) -> Iterator[Finding]:
    """Whether a night is at work."""
    from tasks.lease import held_by
    from tasks.messages import message

    settings = known.settings_with("store", "lease_grace")
    held = held_by(_reached(known, PATIENCE), grace=settings.lease_grace)
    if held is None:
        yield ok(message("no_night_at_work"))
    else:
        yield ok(
            message(
                "night_at_work",
                run=held.run,
                host=held.host,
                process=held.pid,
                since=held.started.astimezone(UTC),
            )
        )


def clock(known: Known) -> Iterator[Finding]:
    """Whether the clocks of this machine and of the store agree: leases run out by them."""
    if known.stamp is None:
        from tasks.messages import message

        raise NotLookedAt(message("no_object_written"))
    yield difference(known.stamp)


def difference(stamp: Stamp) -> Finding:
    """How far the clocks are apart; the store's time may lack the part of a second."""
    from tasks.messages import message

    ahead = (stamp.modified - stamp.after).total_seconds()
    behind = (stamp.before - stamp.modified - timedelta(seconds=1)).total_seconds()
    off = max(ahead, behind, 0.0)
    if off < 1:
        return ok(message("clocks_agree_to_the_second"))
    if off <= FAR:
        return ok(message("clocks_agree", seconds=off))
    said = message("clock_ahead", seconds=off)
    if ahead > behind:
        said = message("clock_behind", seconds=off)
    do = message("set_clocks")
    return problem(said, do) if off > TOO_FAR else warning(said, do)


def probed(store: Store, folder: str) -> tuple[Stamp, list[Finding]]:
    """Write, read and remove an object, and what was found if it cannot be removed.

    Raises
    ------
    StoreError
        It cannot be written or read.
    """
    from tasks.messages import message
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
            raise StoreError(message("store_does_not_hold", address=store.address(key)))
    except BaseException:
        with suppress(StoreError):  # the first error is the one to tell
            store.remove(key)
        raise
    left = []
    try:
        store.remove(key)
    except StoreError as error:
        why = str(error).rpartition("; ")[0] or str(error)
        left.append(warning(message("probe_left_behind", why=why), message("let_remove")))
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
        from tasks.messages import message

        raise NotLookedAt(message("store_does_not_answer"))
    return _store(known, seconds)


def _store(known: Known, seconds: float) -> Store:
    from tasks.store import Store

    settings = known.settings_with("store")
    return Store.at(settings.store, deadline=min(settings.call_deadline, seconds))
