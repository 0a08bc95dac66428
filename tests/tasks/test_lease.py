"""One night at a time holds a store, whatever happens to the one before."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from refusals import refused
from waiting import until

from tasks import lease as lease_module
from tasks.lease import (
    GRACE,
    KEPT,
    Holder,
    Lease,
    LeaseError,
    LeaseHeld,
    LeaseLost,
    Record,
    taken,
)
from tasks.messages import message
from tasks.store import Store, StoreError, Unreachable
from urlr.sentence import made

US = Holder("night-1", "here", 1)
THEM = Holder("night-2", "there", 2)
AWAY = made("it is away.", "away", {})
HOLD = """
import signal, sys, time
from tasks.lease import Holder, taken
from tasks.store import Store
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
with taken(Store.at(sys.argv[1]), Holder.here("child"), seconds=float(sys.argv[2]), grace=0):
    print("held", flush=True)
    time.sleep(60)
"""


def numbers(store: Store) -> list[str]:
    return [found.key for found in store.list("lease")]


def newest(store: Store) -> Record:
    return Record.from_bytes(store.read(numbers(store)[-1]))


def unrenewed(monkeypatch) -> None:
    """Holders that are as good as dead."""
    monkeypatch.setattr(Lease, "start", lambda self: None)


def renewed_often(monkeypatch) -> None:
    """Holders that renew long before a lease runs out, on a machine that stalls too."""
    monkeypatch.setattr(lease_module, "BEATS", 600)


def at_once(monkeypatch, seconds: float) -> None:
    """Let so much time go by."""
    later = timedelta(seconds=seconds)
    monkeypatch.setattr(lease_module, "_now", lambda: datetime.now(UTC) + later)


def renewing() -> list[threading.Thread]:
    """Threads that renew a lease."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("lease/")]


def holding(store: Store, seconds: float) -> subprocess.Popen[str]:
    """Another process that holds the store."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, store.url, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_lease_is_taken_and_released(store):
    with taken(store, US) as lease:
        lease.check()
        assert lease.number == 1
        held = newest(store)
        assert (held.run, held.host, held.pid, held.released) == ("night-1", "here", 1, False)
        assert held.expires - held.started == timedelta(seconds=120)
    assert newest(store).released
    with taken(store, THEM) as lease:
        assert lease.number == 2
    assert numbers(store) == ["lease/00000001.json", "lease/00000002.json"]


def test_a_second_taker_is_told_who_holds_it(store):
    with taken(store, US) as lease:
        with refused(LeaseHeld, "store_held", holder=newest(store)) as error, taken(store, THEM):
            pytest.fail("two hold it")
        text = str(error.value)
        assert "\n" not in text
        assert error.value.fields["until"] == lease.expires + timedelta(seconds=GRACE)
        started = f"{newest(store).started:%Y-%m-%d %H:%M:%S UTC}"
        assert all(word in text for word in ("night-1", "here", started))
        lease.check()
    assert numbers(store) == ["lease/00000001.json"]


def test_of_eight_takers_at_once_one_holds_it(store):
    start = threading.Barrier(8)
    tried = threading.Barrier(8)

    def attempt(number: int) -> bool:
        start.wait()
        try:
            with taken(store, Holder(f"run-{number}", "here", number)) as lease:
                tried.wait()
                lease.check()
                return True
        except LeaseHeld:
            tried.wait()
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1


@pytest.mark.full
def test_the_holder_keeps_it_alive(s3_store, monkeypatch):
    renewed_often(monkeypatch)
    with taken(s3_store, US, seconds=60, grace=0) as lease:
        first = lease.expires
        until(lambda: newest(s3_store).expires > first, "it was renewed")
        lease.check()
        until(lambda: lease.expires > first, "its holder knows")
        until(lambda: newest(s3_store).expires == lease.expires, "the two agree")
        with pytest.raises(LeaseHeld), taken(s3_store, THEM, grace=0):
            pass


def test_a_lease_that_ran_out_is_taken_over_and_its_holder_told(store, monkeypatch):
    unrenewed(monkeypatch)
    with taken(store, US, seconds=60, grace=0) as ours:
        at_once(monkeypatch, 61)
        with taken(store, THEM, grace=0) as theirs:
            assert theirs.number == 2
            theirs.check()
            with refused(LeaseLost, "lease_ran_out", expires=ours.expires):
                ours.check()
    assert newest(store).run == "night-2"


def test_a_holder_whose_clock_is_slow_is_told_of_the_newer_lease(store):
    with taken(store, US) as ours:
        store.create("lease/00000002.json", newest(store).to_bytes())
        with refused(LeaseLost, "lease_followed", next="lease/00000002.json") as error:
            ours.check()
        assert "\n" not in str(error.value)


def test_a_holder_whose_lease_was_removed_is_told_and_spoils_nothing(tmp_path, monkeypatch):
    store = Store.at(tmp_path)
    renewed_often(monkeypatch)
    begin_to_renew = Lease.start
    unrenewed(monkeypatch)
    with taken(store, US, seconds=60, grace=0) as ours:
        store.remove("lease/00000001.json")
        with refused(LeaseLost, "lease_removed", path=store.address(ours.key)):
            ours.check()
        with taken(store, THEM) as theirs:
            assert theirs.number == ours.number
            begin_to_renew(ours)
            until(lambda: not renewing(), "the first gave up")
            theirs.check()
            with pytest.raises(LeaseLost):
                ours.check()


def test_a_lease_just_past_its_end_is_respected_because_clocks_differ(tmp_path, monkeypatch):
    store = Store.at(tmp_path)
    unrenewed(monkeypatch)
    with taken(store, US, seconds=60):
        at_once(monkeypatch, 61)
        with pytest.raises(LeaseHeld), taken(store, THEM, grace=30):
            pass
        at_once(monkeypatch, 91)
        with taken(store, THEM, grace=30) as theirs:
            assert theirs.number == 2


@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt, SystemExit])
def test_it_is_released_however_the_block_ends(store, end):
    with pytest.raises(end), taken(store, US):
        raise end
    assert newest(store).released
    assert not renewing()


@pytest.mark.full
def test_a_killed_holder_delays_the_next_only_until_its_lease_runs_out(s3_store, monkeypatch):
    child = holding(s3_store, 60)
    with child:
        with refused(LeaseHeld, "store_held") as error, taken(s3_store, THEM, grace=0):
            pass
        assert error.value.fields["holder"].run == "child"
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not newest(s3_store).released
    with refused(LeaseHeld, "store_held") as error, taken(s3_store, THEM, grace=0):
        pass
    assert error.value.fields["holder"].run == "child"
    at_once(monkeypatch, 61)
    with taken(s3_store, THEM, grace=0) as lease:
        assert lease.number == 2


@pytest.mark.full
def test_a_terminated_holder_releases_it(s3_store):
    with holding(s3_store, 60) as child:
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 143
    assert newest(s3_store).released


def test_a_lease_that_cannot_be_checked_after_it_was_made_is_released(tmp_path, monkeypatch):
    def fail(self):
        raise Unreachable(AWAY)

    monkeypatch.setattr(Lease, "check", fail)
    with pytest.raises(Unreachable), taken(Store.at(tmp_path), US):
        pass
    assert newest(Store.at(tmp_path)).released


def test_renewing_survives_a_store_that_fails_for_a_while(tmp_path, monkeypatch, caplog):
    store = Store.at(tmp_path)
    real = Store.replace
    fails = iter([True, True])

    def flaky(self, key, data):
        if next(fails, False):
            raise Unreachable(AWAY)
        real(self, key, data)

    monkeypatch.setattr(Store, "replace", flaky)
    renewed_often(monkeypatch)
    with taken(store, US, seconds=60, grace=0) as lease:
        first = lease.expires
        until(lambda: lease.expires > first, "it was renewed after all")
        lease.check()
    assert newest(store).released
    assert caplog.messages == [message("renewing_failed", why=AWAY)] * 2


def test_a_release_that_fails_does_not_fail_the_night(tmp_path, monkeypatch, caplog):
    def fail(self, key, data):
        raise Unreachable(AWAY)

    monkeypatch.setattr(Store, "replace", fail)
    with taken(Store.at(tmp_path), US):
        pass
    assert caplog.messages == [message("lease_not_released", why=AWAY)]


def test_where_nothing_can_be_written_a_release_removes_the_lease(tmp_path, monkeypatch):
    def fail(self, key, data):
        what = message("cannot_write")
        raise StoreError(message("disk_full", path=key, what=what, why="No space left on device"))

    store = Store.at(tmp_path)
    with monkeypatch.context() as full, taken(store, US):
        full.setattr(Store, "replace", fail)
    assert numbers(store) == []
    with taken(store, THEM) as lease:
        assert lease.number == 1


def test_a_lease_that_could_not_be_renewed_says_why(tmp_path, monkeypatch, caplog):
    def fail(self, key, data):
        raise Unreachable(made(f"{key}: no answer; check the network.", "no_answer", {}))

    monkeypatch.setattr(Store, "replace", fail)
    renewed_often(monkeypatch)
    with taken(Store.at(tmp_path), US, seconds=60) as lease:
        until(lambda: bool(caplog.messages), "it was tried")
        at_once(monkeypatch, 61)
        with refused(LeaseLost, "lease_not_renewed", why="lease/00000001.json: no answer"):
            lease.check()


def test_a_check_that_cannot_ask_says_so(tmp_path, monkeypatch):
    def fail(self, prefix=""):
        raise Unreachable(AWAY)

    with taken(Store.at(tmp_path), US) as lease:
        monkeypatch.setattr(Store, "list", fail)
        with refused(StoreError, "away"):
            lease.check()


def test_a_store_that_ignores_conditional_writes_gets_no_lease(store, monkeypatch):
    monkeypatch.setattr(Store, "create", Store.replace)
    with refused(LeaseError, "conditional_writes_ignored") as error, taken(store, US):
        pass
    assert "\n" not in str(error.value)
    assert numbers(store) == []


def test_old_leases_are_removed_and_the_last_stay(tmp_path):
    store = Store.at(tmp_path)
    for _ in range(KEPT + 4):
        with taken(store, US):
            pass
    assert numbers(store) == [f"lease/{number:08d}.json" for number in range(4, KEPT + 5)]


def test_a_number_free_only_because_it_is_old_is_not_a_lease(tmp_path, monkeypatch):
    """A taker slept after listing, until the number it would create had come and gone."""
    store = Store.at(tmp_path)
    real = lease_module._numbers
    stale = iter([[]])
    with taken(store, US):
        store.create("lease/00000009.json", newest(store).to_bytes())
        store.remove("lease/00000001.json")
        monkeypatch.setattr(lease_module, "_numbers", lambda s: next(stale, real(s)))
        with pytest.raises(LeaseHeld), taken(store, THEM):
            pass
    assert numbers(store) == ["lease/00000009.json"]


def test_other_files_beside_the_leases_are_no_leases(tmp_path):
    store = Store.at(tmp_path)
    store.create("lease/README.txt", b"hello")
    with taken(store, US) as lease:
        assert lease.number == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"run": 1}', b"\xff"])
def test_a_damaged_lease_is_told(tmp_path, content):
    store = Store.at(tmp_path)
    store.create("lease/00000001.json", content)
    where = store.address("lease/00000001.json")
    with refused(LeaseError, "not_a_lease", path=where) as error, taken(store, US):
        pass
    assert "\n" not in str(error.value)


def test_a_record_is_read_back():
    now = datetime.now(UTC)
    record = Record("Nächte", "host", 7, "abc", now, now + timedelta(seconds=5), True)
    assert Record.from_bytes(record.to_bytes()) == record


@pytest.mark.parametrize(("seconds", "grace"), [(0, 1), (-1, 1), (1, -1), (float("nan"), 1)])
def test_a_lease_of_no_time_is_refused(tmp_path, seconds, grace):
    with (
        refused(LeaseError, "lease_too_short", grace=grace),
        taken(Store.at(tmp_path), US, seconds=seconds, grace=grace),
    ):
        pass
