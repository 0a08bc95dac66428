"""Free threads of a cluster's workers: who may start an order, and on which worker.

An order gets a thread of one named worker before it is sent there, so that it starts at once, none
waits behind another, and a worker that dies takes no waiting order along.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Code = Literal["ours", "other", "none", "unknown"]
"""The urlr of a worker, compared with the one here."""


@dataclass(slots=True, eq=False)
class Seat:
    """A worker of which one thread was taken; two workers may have had the same address."""

    address: str
    threads: int
    memory: int
    """Bytes the worker may hold, 0 without a limit."""
    nanny: str | None
    """The address of Dask's process that starts it again when it ends, if there is one."""
    awake: bool = True
    """Whether it starts new work; short of memory it does not."""
    taken: int = 0
    stuck: int = 0
    """Of those taken, threads whose work was given up but goes on."""
    gone: bool = False
    condemned: bool = False
    """Ended on purpose, because work there was given up."""
    outgrown: int = 0
    """Bytes it held when it was ended because of that; 0 if it was not."""
    code: Code = "ours"
    """It gets orders only where it has our code."""

    @property
    def usable(self) -> int:
        """Threads that work, or could."""
        return self.threads - self.stuck if self._fit else 0

    @property
    def free(self) -> int:
        """Threads that could start work now."""
        return self.threads - self.taken if self._fit else 0

    @property
    def _fit(self) -> bool:
        return self.awake and not self.condemned and self.code == "ours"


class Seats:
    """The workers as they come and go; thread safe."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._workers: dict[str, Seat] = {}
        self._none_since: float | None = time.monotonic()

    @property
    def total(self) -> int:
        """Threads that work or could, over all workers."""
        with self._change:
            return sum(worker.usable for worker in self._workers.values())

    @property
    def addresses(self) -> set[str]:
        """Workers that are there, whatever they can do."""
        with self._change:
            return set(self._workers)

    @property
    def lonely(self) -> float:
        """Seconds since which no worker could do anything; 0 if one can."""
        since = self._none_since
        return 0.0 if since is None else time.monotonic() - since

    def at(self, address: str) -> Seat | None:
        """The worker that is at an address now."""
        with self._change:
            return self._workers.get(address)

    def joined(self, worker: Seat) -> None:
        """A worker came; nothing happens if it is known."""
        with self._change:
            self._workers.setdefault(worker.address, worker)
            self._changed()

    def of_code(self, code: Code) -> list[Seat]:
        """The workers there whose code is the one here, or is not."""
        with self._change:
            found = [worker for worker in self._workers.values() if worker.code == code]
        return sorted(found, key=lambda worker: worker.address)

    def has_code(self, worker: Seat, code: Code) -> None:
        """A worker's code was compared with the one here."""
        with self._change:
            worker.code = code
            self._changed()

    def left(self, address: str) -> Seat | None:
        """A worker is gone, with its threads, taken or not; None if it was not known."""
        with self._change:
            worker = self._workers.pop(address, None)
            if worker is not None:
                worker.gone = True
            self._changed()
            return worker

    def woke(self, address: str, *, awake: bool) -> None:
        """A worker starts new work again, or no more."""
        with self._change:
            if address in self._workers:
                self._workers[address].awake = awake
                self._changed()

    def take(self, tick: float, check: Callable[[float], None]) -> Seat:
        """Wait for a free thread and take it.

        `check` is called at least every `tick` seconds with the time since which no worker could
        do anything, and ends the waiting by raising.
        """
        with self._change:
            while True:
                check(self.lonely)
                freest = max(self._workers.values(), key=lambda worker: worker.free, default=None)
                if freest is not None and freest.free > 0:
                    freest.taken += 1
                    return freest
                self._change.wait(tick)

    def give_back(self, seat: Seat) -> None:
        """A thread is free again."""
        with self._change:
            seat.taken -= 1
            self._changed()

    def condemn(self, seat: Seat) -> None:
        """Its worker will be ended and takes no more orders."""
        with self._change:
            seat.condemned = True
            self._changed()

    def stuck(self, seat: Seat) -> None:
        """A taken thread goes on with work that was given up."""
        with self._change:
            seat.stuck += 1
            self._changed()

    def unstuck(self, seat: Seat) -> None:
        """That work has ended after all."""
        with self._change:
            seat.stuck -= 1
            seat.taken -= 1
            self._changed()

    def wake_all(self) -> None:
        """Let everybody who waits call its `check`."""
        with self._change:
            self._change.notify_all()

    def _changed(self) -> None:
        """Note when the last usable thread went, and wake those who wait for a free one."""
        if any(worker.usable for worker in self._workers.values()):
            self._none_since = None
        elif self._none_since is None:
            self._none_since = time.monotonic()
        self._change.notify(sum(max(worker.free, 0) for worker in self._workers.values()))
