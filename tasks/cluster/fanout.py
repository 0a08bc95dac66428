"""The fan-out: one order, one Dask task, one thread of a worker process; no Prefect.

Each order is sent to a worker that has a free thread (see `seats.py`). What it raises comes back
as itself or in words, a worker that dies fails the order it ran and no other, and a worker that
does not end in time is started again, since a cancelled Dask task keeps its worker busy.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError, wait
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, TypeVar

from tasks.cluster.lending import given_up_once
from tasks.cluster.orders import (
    ClusterError,
    Stopped,
    TookTooLong,
    WorkerDied,
    died,
    opened,
    packed,
    work_error,
)
from tasks.cluster.preparing import codes_of, have_imported, import_no_more
from tasks.cluster.seats import Seat, Seats
from tasks.cluster.worker import Failure, carried_out
from tasks.messages import message
from urlr.errors import UrlrError

LONELY = 120.0
"""Seconds that orders wait for a worker when there is none; one that died is back after 3."""
READY = 120.0
"""Seconds in which every worker must have imported what it needs; it takes 3 to 10."""
GREETING = 30.0
"""Seconds in which a scheduler must have told who its workers are."""
FAREWELL = 10.0
"""Seconds that letting go of a cluster may take."""

_TICK = 0.25
"""Seconds after which whoever waits looks whether it should stop."""
_REREAD = 5.0
"""Seconds between two looks at who is there; news of it comes at once, but may be missed."""
_LOOK = 0.02
"""Seconds between two looks at whether all workers have told which urlr they have."""
_GRACE = 0.3
"""Seconds that word of a worker's memory may come after word of its death."""
_BATCH = 0.002
"""Seconds that messages to the scheduler are collected; with Dask's 0.010 an order that does
nothing takes 12.9 ms instead of 10.3."""
_ALIVE = {"init", "running"}

T = TypeVar("T")
R = TypeVar("R")


class _Left(Exception):  # noqa: N818
    """A worker left while it had an order."""


class Cluster:
    """Workers that carry out orders; made by `local_cluster` and `existing_cluster`."""

    def __init__(
        self,
        client: Any,
        *,
        where: str,
        advice: str,
        kill: Callable[[str], None] | None,
        any_code: bool = False,
    ) -> None:
        """`kill` ends the worker of a nanny; without it, the nanny is asked to.

        Workers elsewhere get work only if their urlr is the one here, unless `any_code` is allowed.
        """
        self._client = client
        self._comm = client.scheduler_comm
        self._comm.interval = _BATCH
        self._where = where
        self._advice = advice
        self._kill = kill
        self._token = secrets.token_hex(4)
        self._preparation = f"urlr-prepare-{self._token}"
        self._serial = count()
        self._seats = Seats()
        self._news = threading.Condition()
        self._answers: dict[Future[bytes], Seat] = {}
        self._deaths: Counter[str] = Counter()
        self._departed: dict[str, Seat] = {}
        """The worker that was last at each address."""
        self._restarts: list[Future[None]] = []
        self._any_code = any_code or kill is not None
        self._left_out: list[str] = []
        self._examinations: dict[Seat, asyncio.Task[None]] = {}
        self._departures = 0
        self._lost = 0
        self._prepared = False
        self._closing = False
        self._reading = asyncio.Lock()
        self._rereading: Any = None
        client.subscribe_topic("all", self._heard)
        client.subscribe_topic("worker-restart-memory", self._heard_of_memory)
        try:
            client.sync(self._begin, callback_timeout=GREETING)
        except TimeoutError:
            raise ClusterError(message("scheduler_silent", where=where, seconds=GREETING)) from None

    @property
    def n_slots(self) -> int:
        """Threads over all workers, as of now: how many orders run at a time."""
        return self._seats.total

    @property
    def workers_lost(self) -> int:
        """Workers that died so far, not counting those ended on purpose."""
        return self._lost

    @property
    def left_out(self) -> list[str]:
        """Workers that joined and got no work, since their urlr is not the one here."""
        return list(self._left_out)

    def run(
        self,
        work: Callable[[T], R],
        order: T,
        *,
        name: str,
        attempt: int = 1,
        deadline: float,
        stopping: threading.Event | None = None,
    ) -> R:
        """Have a worker do `work(order)` and wait for the result; may be called by many threads.

        The deadline, in seconds, begins when a worker's thread was free and the order is sent.

        Raises
        ------
        UrlrError
            Whatever error of ours the work raised, as itself.
        WorkError
            It raised another error, or it or its result cannot be sent.
        WorkerDied, TookTooLong, Stopped
            It did not end by itself.
        ClusterError
            There are no workers, or the scheduler cannot be reached.
        """
        letter = packed(work, order)
        label = f"{getattr(work, '__name__', 'work')}-{self._token}"
        answer: Future[bytes] = Future()
        seat = self._seat(answer, stopping)
        try:
            # A key is used once: Dask would answer a second attempt with the end of the first.
            task = self._client.submit(
                carried_out,
                letter,
                key=(label, name, attempt, next(self._serial)),
                pure=False,
                workers=[seat.address],
                allow_other_workers=False,
            )
            self._client.loop.add_callback(self._fetch, task, answer, seat)
            try:
                self._await(answer, seat, deadline, stopping)
            except BaseException as error:  # also Ctrl-C
                if _is_settled(answer, error=error):
                    self._give_up(task, seat)
                raise
            if isinstance(answer.exception(), _Left) and self._is_connected():
                task.cancel()  # else the next worker at this address would be given it
        finally:
            with self._news:
                del self._answers[answer]
        result: R = self._result(answer, name, seat)
        return result

    @contextmanager
    def lent(
        self, what: str, *, deadline: float, stopping: threading.Event | None = None
    ) -> Iterator[Any]:
        """Dask's own client, for work that is not one order on one worker; no order runs meanwhile.

        The deadline, in seconds, begins at once; past it, errors tell `what` did not end. All that
        is unfinished when the block is given up is cancelled.

        Raises
        ------
        TookTooLong, Stopped
            The block did not end by itself.
        ClusterError
            There are no workers, or the scheduler cannot be reached; or a worker's urlr is not the
            one here, also of one that joined meanwhile: Dask may have sent it work.
        """
        end = time.monotonic() + deadline
        self.check_code()
        known = len(self._left_out)

        def check() -> None:
            self._check(stopping)
            if joined := self._left_out[known:]:
                raise self._of_other_code(joined)
            self._check_company(self._seats.lonely)
            if time.monotonic() > end:
                raise TookTooLong(message("took_too_long", what=what, seconds=deadline))

        with given_up_once(self._client, check, tick=_TICK):
            yield self._client
        self.check_code()
        if joined := self._left_out[known:]:
            raise self._of_other_code(joined)

    def prepare(self, modules: tuple[str, ...]) -> None:
        """Import modules in every worker, now and whenever one joins; cap their threads at one.

        Raises
        ------
        ClusterError
            A worker has no urlr or another one, cannot import the modules, or does not say in time
            that it has.
        """
        self.check_code()
        self._prepared = True
        try:
            have_imported(self._client, modules, name=self._preparation, seconds=READY)
        except ImportError as error:
            wrong = message("worker_cannot_import", where=self._where, why=str(error))
        except TimeoutError:
            wrong = message(
                "worker_imports_too_long", where=self._where, seconds=READY, advice=self._advice
            )
        else:
            return
        raise ClusterError(wrong)

    def check_code(self) -> None:
        """Wait until the code of all workers is known.

        Raises
        ------
        ClusterError
            A worker has no urlr or another one than this, or does not say in time.
        """
        end = time.monotonic() + READY
        while self._seats.of_code("unknown") and self._is_connected():
            if time.monotonic() > end:
                wrong = message(
                    "worker_imports_too_long", where=self._where, seconds=READY, advice=self._advice
                )
                raise ClusterError(wrong)
            time.sleep(_LOOK)
        self._refuse_others()

    def _refuse_others(self) -> None:
        """Raise if a worker's urlr is not the one here."""
        if without := [seat.address for seat in self._seats.of_code("none")]:
            raise ClusterError(message("workers_without_urlr", where=self._where, workers=without))
        if others := [seat.address for seat in self._seats.of_code("other")]:
            raise self._of_other_code(others)

    def _of_other_code(self, workers: list[str]) -> ClusterError:
        return ClusterError(message("workers_of_other_code", where=self._where, workers=workers))

    async def _examine(self, seat: Seat) -> None:
        """Find out whose code a worker has that joined; it is asked again if it cannot be asked."""
        try:
            with suppress(OSError, TimeoutError):
                found = await asyncio.wait_for(codes_of(self._client, [seat.address]), READY)
                code = found.get(seat.address, "unknown")
                if code in ("none", "other"):
                    self._left_out.append(seat.address)
                self._seats.has_code(seat, code)
        finally:
            del self._examinations[seat]

    def _examine_no_more(self) -> None:
        for task in self._examinations.values():
            task.cancel()

    def close(self) -> None:
        """Give up what runs and let go of the cluster; whoever waits gets `Stopped`."""
        with self._news:
            self._closing = True
            running = dict(self._answers)
        self._seats.wake_all()
        for answer, seat in running.items():
            settled = _is_settled(answer, error=Stopped(message("stopped")))
            if settled and self._kill is None and self._is_connected():
                self._end(seat)
        if self._is_connected():
            self._client.loop.add_callback(self._rereading.stop)
            self._client.loop.add_callback(self._examine_no_more)
            for topic in ("all", "worker-restart-memory", *self._seats.addresses):
                self._client.unsubscribe_topic(topic)
            if self._kill is None:
                wait(self._restarts, timeout=FAREWELL)
                if self._prepared:
                    with suppress(OSError):  # the scheduler may end too
                        import_no_more(self._client, name=self._preparation, seconds=FAREWELL)
        with suppress(TimeoutError):  # it must not hide why we came to closing it
            self._client.close(timeout=FAREWELL)

    def _seat(self, answer: Future[bytes], stopping: threading.Event | None) -> Seat:
        """Wait for a free thread; from then on the answer learns if its worker leaves."""

        def may_wait(lonely: float) -> None:
            self._check(stopping)
            self._check_company(lonely)

        while True:
            seat = self._seats.take(_TICK, may_wait)
            with self._news:
                self._answers[answer] = seat
            if not seat.gone:
                return seat

    def _await(
        self, answer: Future[bytes], seat: Seat, deadline: float, stopping: threading.Event | None
    ) -> None:
        """Return when there is an answer, of whatever kind."""
        end = time.monotonic() + deadline
        while True:
            left = end - time.monotonic()
            wait([answer], timeout=max(min(_TICK, left), 0.0))
            if answer.done():
                return
            self._check(stopping)
            if left <= 0:
                if seat.nanny:
                    raise TookTooLong(message("order_took_too_long", seconds=deadline))
                raise TookTooLong(message("order_took_too_long_and_goes_on", seconds=deadline))

    def _check(self, stopping: threading.Event | None) -> None:
        """Raise if nothing more should or can be done."""
        if self._closing or (stopping is not None and stopping.is_set()):
            raise Stopped(message("stopped"))
        if not self._is_connected():
            raise self._unreachable()

    def _check_company(self, lonely: float) -> None:
        """Raise if there was no worker for too long."""
        if lonely > LONELY:
            self._refuse_others()
            raise ClusterError(
                message(
                    "no_worker_takes_orders",
                    count=len(self._seats.addresses),
                    where=self._where,
                    seconds=lonely,
                    advice=self._advice,
                )
            )

    def _is_connected(self) -> bool:
        """Whether Dask's connection is still the first; a second would know no order of ours."""
        return self._client.status == "running" and self._client.scheduler_comm is self._comm

    def _unreachable(self) -> ClusterError:
        return ClusterError(message("connection_lost", where=self._where))

    def _result(self, answer: Future[bytes], name: str, seat: Seat) -> Any:
        """What the answer holds, or the error it tells of."""
        from distributed.scheduler import KilledWorker

        error = answer.exception()
        if isinstance(error, _Left | KilledWorker):
            raise self._died(name, seat)
        if isinstance(error, CancelledError):
            raise Stopped(message("stopped")) if self._closing else self._unreachable()
        if isinstance(error, UrlrError):
            raise error
        if error is not None:
            raise work_error(Failure.of(error))
        return opened(answer.result())

    def _died(self, name: str, seat: Seat) -> WorkerDied:
        """The error of an order whose worker ended under it."""
        if seat.condemned:
            return WorkerDied(message("worker_started_again"))
        with self._news:
            self._deaths[name] += 1
            times = self._deaths[name]
            held = self._news.wait_for(lambda: seat.outgrown, _GRACE)
        return died(times, held=held, limit=seat.memory, advice=self._advice)

    def _give_up(self, task: Any, seat: Seat) -> None:
        """Forget an order and free its worker of it."""
        if self._is_connected():
            task.cancel()
            self._end(seat)

    def _end(self, seat: Seat) -> None:
        """End what a worker does: with the worker, or if nobody would start it again, wait."""
        loop = self._client.loop
        if seat.nanny and self._kill is not None:
            self._seats.condemn(seat)
            self._kill(seat.nanny)
        elif seat.nanny:
            self._seats.condemn(seat)
            restart = _restart(self._client, seat.address)
            self._restarts.append(asyncio.run_coroutine_threadsafe(restart, loop.asyncio_loop))
        else:
            self._seats.stuck(seat)
            key = (f"after-{self._token}", next(self._serial))
            free = self._client.submit(int, key=key, pure=False, workers=[seat.address])
            free.add_done_callback(lambda _: self._seats.unstuck(seat))

    async def _fetch(self, task: Any, answer: Future[bytes], seat: Seat) -> None:
        """Give the answer what the task ends with, and its thread to whoever waits for one."""
        try:
            found = await self._client.gather(task)
        except asyncio.CancelledError:
            _is_settled(answer, error=CancelledError())
            raise
        except Exception as error:  # handed on
            settled = _is_settled(answer, error=error)
        else:
            settled = _is_settled(answer, result=found)
        if settled:
            self._seats.give_back(seat)

    async def _begin(self) -> None:
        from tornado.ioloop import PeriodicCallback

        await self._read()
        self._rereading = PeriodicCallback(self._read, 1000 * _REREAD)
        self._rereading.start()

    async def _read(self) -> None:
        """Ask the scheduler who is there; asked again if somebody left meanwhile."""
        async with self._reading:
            while True:
                departures = self._departures
                identity = await self._client.scheduler.identity(n_workers=-1)
                if departures == self._departures:
                    break
            known = self._seats.addresses
            for address, facts in identity["workers"].items():
                if address not in known:
                    self._client.subscribe_topic(address, partial(self._heard_of, address))
                    memory = facts["memory_limit"] or 0
                    seat = Seat(address, facts["nthreads"], memory, facts["nanny"])
                    seat.code = "ours" if self._any_code else "unknown"
                    self._seats.joined(seat)
                self._seats.woke(address, awake=facts["status"] in _ALIVE)
            for address in known - set(identity["workers"]):
                self._left(address, expected=False)
            for seat in self._seats.of_code("unknown"):
                if seat not in self._examinations:
                    self._examinations[seat] = asyncio.ensure_future(self._examine(seat))

    async def _heard(self, event: tuple[float, dict[str, Any]]) -> None:
        """Workers come and go."""
        _, news = event
        if news["action"] == "add-worker":
            await self._read()
        elif news["action"] == "remove-worker":
            self._left(news["worker"], expected=news["expected"])

    def _heard_of(self, address: str, event: tuple[float, dict[str, Any]]) -> None:
        """One worker takes no more orders, or does again."""
        _, news = event
        if news["action"] == "worker-status-change":
            self._seats.woke(address, awake=news["status"] in _ALIVE)

    def _heard_of_memory(self, event: tuple[float, dict[str, Any]]) -> None:
        """A nanny ends a worker that holds too much; word of it may come after its death."""
        _, news = event
        address = news["worker"]
        seat = self._seats.at(address) or self._departed.get(address)
        if seat is not None:
            with self._news:
                seat.outgrown = news["rss"]
                self._news.notify_all()

    def _left(self, address: str, *, expected: bool) -> None:
        self._departures += 1
        seat = self._seats.left(address)
        self._client.unsubscribe_topic(address)
        if seat is not None:
            self._departed[address] = seat
        with self._news:
            bereft = [answer for answer, own in self._answers.items() if own is seat]
            if seat is not None and not (expected or seat.condemned or self._closing):
                self._lost += 1
        for answer in bereft:
            _is_settled(answer, error=_Left())


async def _restart(client: Any, address: str) -> None:
    """Ask the nanny of a worker to start it again; the worker waits for none of its orders."""
    await client.restart_workers([address], timeout=30, raise_for_error=False)


def _is_settled(
    answer: Future[bytes], *, result: bytes = b"", error: BaseException | None = None
) -> bool:
    """Answer; False if somebody was faster."""
    try:
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)
    except InvalidStateError:
        return False
    return True
