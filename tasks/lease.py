"""One night at a time per store: a numbered lease that its holder renews and others respect.

Leases are objects `lease/00000001.json`, `lease/00000002.json`, ...; the newest rules. Whoever
creates the next number holds the store, and only one can. The holder renews its own object; a
holder that was killed renews it no more, and after it has run out the next number may be created.
A holder asks `check` before each step that others see, because it may have slept meanwhile.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta

from tasks.messages import message
from tasks.store import Exists, NotThere, Store, StoreError, Unreachable
from urlr.errors import UrlrError

SECONDS = 120.0
"""How long a lease lasts without being renewed; a killed night delays the next by this."""
GRACE = 30.0
"""Seconds past its end that a lease is still respected, since clocks of machines differ."""
KEPT = 5
"""Old leases that stay, to be read by people."""
BEATS = 4
"""Renewals in the time one lease lasts; all but one of them may fail."""
HASTE = 5.0
"""Seconds that a call to renew may take at least, however short the lease."""

LEASE = "lease"
"""Where leases lie."""

_KEY = re.compile(rf"{LEASE}/([0-9]{{8,}})\.json")
_ATTEMPTS = 5

_log = logging.getLogger(__name__)


class LeaseError(UrlrError):
    """The lease cannot be taken or kept; the text says why and what to do."""


class LeaseHeld(LeaseError):  # noqa: N818 - says what was found, as does the next
    """Another night holds the store."""


class LeaseLost(LeaseError):  # noqa: N818
    """The lease ran out or another night took the store; nothing more may be published."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease."""

    run: str
    host: str
    pid: int

    @classmethod
    def here(cls, run: str) -> Holder:
        """This process."""
        return cls(run, socket.gethostname(), os.getpid())


@dataclass(frozen=True, slots=True)
class Record:
    """What a lease object holds."""

    run: str
    host: str
    pid: int
    token: str
    """Told apart from every other taking, also by the same process."""
    started: datetime
    expires: datetime
    released: bool = False

    def to_bytes(self) -> bytes:
        """The record as JSON."""
        plain = asdict(self) | {
            "started": self.started.isoformat(),
            "expires": self.expires.isoformat(),
        }
        return (json.dumps(plain, ensure_ascii=False, indent=1) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Record:
        """Read a record; ValueError if it is none."""
        try:
            plain = json.loads(data)
            started, expires = (
                datetime.fromisoformat(plain[name]).astimezone(UTC)
                for name in ("started", "expires")
            )
            return cls(
                str(plain["run"]),
                str(plain["host"]),
                int(plain["pid"]),
                str(plain["token"]),
                started,
                expires,
                plain["released"] is True,
            )
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None

    def is_free(self, now: datetime, grace: float) -> bool:
        """Whether the next lease may be taken."""
        return self.released or now > self.expires + timedelta(seconds=grace)


class Lease:
    """A lease this process holds; made by `taken`."""

    def __init__(self, store: Store, number: int, record: Record, seconds: float) -> None:
        self.number = number
        self.key = _key(number)
        self._store = replace(store, deadline=min(store.deadline, max(seconds / BEATS, HASTE)))
        self._record = record
        self._seconds = seconds
        self._ends = time.monotonic() + (record.expires - _now()).total_seconds()
        self._trouble = ""
        """Why it was not renewed when it was last due."""
        self._over = threading.Event()
        self._beats = threading.Thread(target=self._keep, name=self.key, daemon=True)

    @property
    def expires(self) -> datetime:
        """When it runs out unless it is renewed."""
        return self._record.expires

    def check(self) -> None:
        """Return if the store is still ours.

        Raises
        ------
        LeaseLost
            A newer lease exists, ours ran out, or somebody removed it.
        StoreError
            The store cannot be asked, so nobody knows.
        """
        if self._has_run_out():
            raise self._ran_out()
        newest = max(_numbers(self._store), default=0)
        if newest > self.number:
            raise LeaseLost(
                message("lease_followed", path=self._store.address(self.key), next=_key(newest))
            )
        held = _record(self._store, self.number)
        if held is None or held.token != self._record.token:
            raise LeaseLost(message("lease_removed", path=self._store.address(self.key)))
        if self._has_run_out():  # while the store was asked
            raise self._ran_out()

    def _has_run_out(self) -> bool:
        """By either clock: one may be set, the other may stand still while a machine sleeps."""
        return time.monotonic() > self._ends or _now() > self._record.expires

    def _ran_out(self) -> LeaseLost:
        where, expires = self._store.address(self.key), self.expires
        if not self._trouble:
            return LeaseLost(message("lease_ran_out", path=where, expires=expires))
        return LeaseLost(
            message("lease_not_renewed", path=where, expires=expires, why=self._trouble)
        )

    def start(self) -> None:
        """Begin to renew it in the background."""
        self._beats.start()

    def release(self) -> None:
        """Stop renewing and say that the store is free; if that fails, the lease runs out.

        Where nothing can be written, as on a full disk, it is removed: nobody else has the number.
        """
        self._over.set()
        if self._beats.ident is not None:
            self._beats.join(self._seconds)
        try:
            if self._is_ours():
                self._free()
        except (StoreError, LeaseError) as error:
            _log.warning(message("lease_not_released", why=error.sentence))

    def _free(self) -> None:
        try:
            self._store.replace(self.key, replace(self._record, released=True).to_bytes())
        except Unreachable:
            raise
        except StoreError:
            self._store.remove(self.key)

    def _keep(self) -> None:
        pause = self._seconds / BEATS
        while not self._over.wait(pause):
            try:
                if self._has_run_out() or not self._is_ours():
                    return  # `check` tells
                self._renew()
                self._trouble = ""
            except (StoreError, LeaseError) as error:
                self._trouble = str(error).partition("; ")[0].rstrip(".")
                _log.warning(message("renewing_failed", why=error.sentence))

    def _is_ours(self) -> bool:
        held = _record(self._store, self.number)
        return held is not None and held.token == self._record.token

    def _renew(self) -> None:
        ends = time.monotonic() + self._seconds
        renewed = replace(self._record, expires=_now() + timedelta(seconds=self._seconds))
        self._store.replace(self.key, renewed.to_bytes())
        self._record, self._ends = renewed, ends


@contextmanager
def taken(
    store: Store, holder: Holder, *, seconds: float = SECONDS, grace: float = GRACE
) -> Iterator[Lease]:
    """Hold the store while the block runs, renewing the lease; release it however the block ends.

    A signal ends the block only where it raises an exception, as Ctrl-C does. A killed process
    releases nothing: its lease runs out.

    Raises
    ------
    LeaseHeld
        Another night holds the store.
    LeaseError
        The store ignores conditional writes, or a lease in it cannot be read.
    """
    if not seconds > 0 or not grace >= 0:
        raise LeaseError(message("lease_too_short", seconds=seconds, grace=grace))
    if not store.probe_conditional_writes(LEASE):
        raise LeaseError(message("conditional_writes_ignored", store=store.url))
    lease = _take(store, holder, seconds, grace)
    try:
        lease.start()
        _prune(store, lease.number)
        yield lease
    finally:
        lease.release()


def held_by(store: Store, *, grace: float = GRACE) -> Record | None:
    """The lease that holds the store now, None if it is free."""
    held = _record(store, max(_numbers(store), default=0))
    return None if held is None or held.is_free(_now(), grace) else held


def _take(store: Store, holder: Holder, seconds: float, grace: float) -> Lease:
    for _ in range(_ATTEMPTS):
        newest = max(_numbers(store), default=0)
        held = _record(store, newest)
        if held is not None and not held.is_free(_now(), grace):
            raise _held(store, held, grace)
        now = _now()
        expires = now + timedelta(seconds=seconds)
        token = secrets.token_hex(8)
        record = Record(holder.run, holder.host, holder.pid, token, now, expires)
        lease = Lease(store, newest + 1, record, seconds)
        try:
            store.create(lease.key, record.to_bytes())
        except Exists:
            continue  # somebody was faster
        try:
            lease.check()  # a number may be free because it is so old that it was removed
        except LeaseLost:
            store.remove(lease.key)
            continue
        except BaseException:
            lease.release()
            raise
        return lease
    raise LeaseHeld(message("store_wanted_by_many", store=store.url))


def _held(store: Store, record: Record, grace: float) -> LeaseHeld:
    until = record.expires + timedelta(seconds=grace)
    return LeaseHeld(message("store_held", store=store.url, holder=record, until=until))


def _prune(store: Store, newest: int) -> None:
    try:
        for number in _numbers(store):
            if number < newest - KEPT:
                store.remove(_key(number))
    except StoreError as error:
        _log.warning(message("old_leases_not_removed", why=error.sentence))


def _key(number: int) -> str:
    return f"{LEASE}/{number:08d}.json"


def _numbers(store: Store) -> list[int]:
    keys = (_KEY.fullmatch(found.key) for found in store.list(LEASE))
    return [int(key[1]) for key in keys if key]


def _record(store: Store, number: int) -> Record | None:
    """The lease of a number, None if there is none."""
    try:
        return Record.from_bytes(store.read(_key(number)))
    except NotThere:
        return None
    except ValueError:
        pass
    raise LeaseError(message("not_a_lease", path=store.address(_key(number))))


def _now() -> datetime:
    return datetime.now(UTC)
