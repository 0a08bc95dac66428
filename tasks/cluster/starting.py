"""Where the workers come from: processes of this machine, or a Dask cluster that runs elsewhere.

Whoever reaches a Dask scheduler runs code on it. Local workers listen on the loopback interface
only; a cluster elsewhere is reached by TLS with certificates on both sides, or not at all unless
somebody says that its network is trusted.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import re
import signal
import ssl
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tasks.cluster.fanout import FAREWELL, READY, Cluster
from tasks.cluster.orders import ClusterError
from tasks.cluster.worker import LOUD, ONE_THREAD
from tasks.messages import message
from tasks.objects import no_room_apart
from tasks.scratch import scratch_directory
from urlr.ids import shown

CONNECT = 15.0
"""Seconds that reaching a scheduler may take."""
LEAST_MEMORY = 512 * 2**20
"""Bytes; a worker that has loaded the method and done nothing yet holds 250 MiB."""

_ADDRESS = re.compile(r"(tls|tcp)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_WORKER_SETTINGS = {
    # Orders and results are small records: there is nothing to move to disk, and a worker that
    # holds too much is ended, not put to sleep.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.profile.enabled": False,
}
_SETTINGS = {
    # Dask gives a worker up for good if it is away for the second time 15 s after the first.
    "distributed.deploy.lost-worker-timeout": "365 days",
}


@contextmanager
def local_cluster(
    *, workers: int, memory: str | None = None, log: logging.Handler | None = None
) -> Iterator[Cluster]:
    """Processes of this machine, one thread each, that end with the block.

    `memory` is the limit of one worker ("2GiB"), without it an even share of the machine's. What
    Dask logs goes to `log`, or nowhere.

    Raises
    ------
    ClusterError
        The processes cannot be started.
    """
    if workers < 1:
        raise ClusterError(message("too_few_workers", count=workers))
    limit = memory_limit(memory, workers)
    from dask import config

    with ExitStack() as stack:
        stack.enter_context(_quiet(log))
        try:
            scratch = stack.enter_context(scratch_directory())
        except OSError as error:
            raise ClusterError(no_room_apart(error)) from None
        stack.enter_context(_put_back(scratch))
        stack.enter_context(config.set(_SETTINGS | {"temporary-directory": scratch}))
        processes = _started(workers, limit, scratch)
        stack.callback(_end, processes)
        where = message("own_workers")
        client = _client(processes, where=where)
        stack.callback(_let_go, client)

        def kill(address: str) -> None:
            for nanny in processes.workers.values():
                if nanny.address == address and nanny.pid:
                    _kill(nanny.pid)

        cluster = Cluster(client, where=where, advice=message("raise_memory"), kill=kill)
        stack.callback(cluster.close)
        yield cluster


@contextmanager
def existing_cluster(
    address: str,
    *,
    plain: bool = False,
    ca: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    log: logging.Handler | None = None,
    any_code: bool = False,
) -> Iterator[Cluster]:
    """A Dask cluster that runs already, at `tls://host:port`; it goes on after the block.

    Certificates are those given, or those of Dask's own configuration. `tcp://` is refused but for
    this machine, unless `plain` says that everybody in that network may run code. Workers whose
    urlr is not the one here are refused and, if they join later, get no work, but with `any_code`.

    Raises
    ------
    ClusterError
        The address is refused, nobody answers there in time, or a worker has another urlr.
    """
    where = _checked_address(address, plain=plain)
    security = _security(address, ca, cert, key)
    with ExitStack() as stack:
        stack.enter_context(_quiet(log))
        client = _client(address, where=where, security=security)
        stack.callback(_let_go, client)
        advice = message("see_workers")
        cluster = Cluster(client, where=where, advice=advice, kill=None, any_code=any_code)
        stack.callback(cluster.close)
        cluster.check_code()
        yield cluster


def _let_go(client: Any) -> None:
    """Close a client; one that does not close in time must not hide why we came to closing it."""
    with suppress(TimeoutError):
        client.close(timeout=FAREWELL)


def memory_limit(memory: str | None, workers: int) -> int:
    """Bytes that one worker may hold; ClusterError if that is no amount, or too little."""
    from dask.utils import parse_bytes
    from distributed.system import MEMORY_LIMIT

    if memory is None:
        return int(MEMORY_LIMIT // workers)
    try:
        limit = int(parse_bytes(memory))
    except ValueError:
        raise ClusterError(message("not_an_amount_of_memory", memory=memory)) from None
    if limit < LEAST_MEMORY:
        raise ClusterError(
            message("worker_memory_too_small", memory=memory, least=LEAST_MEMORY // 2**20)
        )
    return limit


def _started(workers: int, limit: int, scratch: str) -> Any:
    """The processes; started apart, since Ctrl-C amid that would leave some that nobody ends."""
    from multiprocessing import resource_tracker

    from distributed import LocalCluster

    started: Future[Any] = Future()

    def start() -> None:
        # Held back in this thread, in those it starts, and so in workers from their first moment:
        # Ctrl-C at a terminal reaches them too, and each would say so at length. (Python lets a
        # thread hear it again that starts the process which keeps track of what is shared.)
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            started.set_result(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    worker_class=_nanny(),
                    memory_limit=limit,
                    host="127.0.0.1",
                    protocol="tcp://",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL + 1,  # in workers, until they do so themselves
                    local_directory=scratch,
                    env=ONE_THREAD,
                    config=_WORKER_SETTINGS,
                    preload=["tasks.cluster.worker"],
                    # Dask's pages of a night's own workers, at a port that nobody is told, take a
                    # second of a processor to load; Prefect's pages and the report show more.
                    scheduler_kwargs={"allowed_failures": 0, "dashboard": False},
                )
            )
        except BaseException as error:  # raised by whoever waits
            started.set_exception(error)

    thread = threading.Thread(target=start, daemon=True)
    try:
        thread.start()
        return started.result()
    except (OSError, RuntimeError, TimeoutError) as error:
        why = str(error) or type(error).__name__
    except BaseException:  # a signal
        with suppress(Exception):  # that they did not start is no matter any more
            _end(started.result(READY if thread.ident is not None else 0.0))
        raise
    raise ClusterError(message("workers_not_started", count=workers, why=why))


def _nanny() -> Any:
    """Dask's process beside a worker, which starts it again."""
    from distributed import Nanny

    class Orderly(Nanny):
        """Starts one worker after the other.

        Dask's own, if a worker dies before it has heard that it came, takes the old worker's
        address for that of the next one, and then asks the wrong one to end.
        """

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self._one_at_a_time = asyncio.Lock()

        async def instantiate(self) -> Any:
            async with self._one_at_a_time:
                return await super().instantiate()

    return Orderly


def _end(processes: Any) -> None:
    """End the workers at once: they hold nothing worth a farewell."""
    for nanny in list(processes.workers.values()):
        nanny.close_gracefully()  # it will not start its worker again
        if nanny.pid:
            _kill(nanny.pid)
    with suppress(TimeoutError):
        processes.close(timeout=FAREWELL)


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _checked_address(address: str, *, plain: bool) -> str:
    """The address as it may be shown."""
    if "@" in address:
        raise ClusterError(message("credentials_in_dask_address"))
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ClusterError(message("not_a_dask_address", address=address))
    if found[1] == "tcp" and not plain and not _is_this_machine(found[2].strip("[]")):
        raise ClusterError(message("not_encrypted", address=address))
    return shown(address, 200)


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name that somebody else resolves


def _security(address: str, ca: Path | None, cert: Path | None, key: Path | None) -> Any:
    """Certificates for a connection to `address`."""
    from distributed import Security

    given = {"tls_ca_file": ca, "tls_client_cert": cert, "tls_client_key": key}
    for path in (path for path in given.values() if path is not None):
        if not path.is_file():
            raise ClusterError(message("no_certificate_file", path=path))
    if address.startswith("tcp://"):
        return Security()
    files = {name: str(path) for name, path in given.items() if path is not None}
    try:
        security = Security(require_encryption=True, **files)
        context = security.get_connection_args("client").get("ssl_context")
    except (ssl.SSLError, OSError) as error:
        raise ClusterError(
            message("unreadable_certificates", address=address, why=str(error))
        ) from None
    if context is None:
        raise ClusterError(message("no_certificate", address=address))
    return security


def _client(to: Any, *, where: str, security: Any = None) -> Any:
    """Connect to a scheduler."""
    from distributed import Client

    class Hasty(Client):
        """Dask waits for ever for the greeting of whoever took the connection."""

        async def _ensure_connected(self, timeout: float | None = None) -> None:
            connected: Any = super()._ensure_connected
            await asyncio.wait_for(connected(timeout=timeout), timeout)

    hasty: Any = Hasty
    try:
        return hasty(to, security=security, timeout=CONNECT, set_as_default=False)
    except (OSError, TimeoutError) as error:
        why = str(error) or message("says_nothing")
    raise ClusterError(message("no_scheduler", where=where, seconds=CONNECT, why=why))


@contextmanager
def _quiet(log: logging.Handler | None) -> Iterator[None]:
    """Keep what Dask logs off stderr, give it to `log`, and put all back afterwards."""
    import distributed  # noqa: F401  its loggers are set up by this

    loggers = [logging.getLogger(name) for name in LOUD]
    before = [list(logger.handlers) for logger in loggers]
    for logger, handlers in zip(loggers, before, strict=True):
        kept = [own for own in handlers if type(own) is not logging.StreamHandler]
        logger.handlers = [*kept, logging.NullHandler() if log is None else _Passed(log)]
    try:
        yield
    finally:
        for logger, handlers in zip(loggers, before, strict=True):
            logger.handlers = handlers


class _Passed(logging.Handler):
    """Hands records on; Dask turns down any handler that writes to a stream or a file."""

    def __init__(self, to: logging.Handler) -> None:
        super().__init__()
        self._to = to

    def emit(self, record: logging.LogRecord) -> None:
        """Hand one on."""
        if record.levelno >= self._to.level:
            self._to.handle(record)


@contextmanager
def _put_back(scratch: str) -> Iterator[None]:
    """Undo what Dask writes into this process for its workers: environment and import path."""
    from dask import config

    written = {*config.get("distributed.nanny.pre-spawn-environ"), "PYTHONHASHSEED"}
    before = {name: os.environ.get(name) for name in {*written, "__DASK_PARENT_PID"}}
    try:
        yield
    finally:
        sys.path[:] = [path for path in sys.path if not path.startswith(scratch)]
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
