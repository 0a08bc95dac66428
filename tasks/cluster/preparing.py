"""What every worker imports before its first order, whether it is there or joins later.

The scheduler asks all workers at once and waits for each, so one that hangs would make it wait for
ever; here it gets so many seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tasks.cluster.worker import warm_up


def have_imported(client: Any, modules: tuple[str, ...], *, name: str, seconds: float) -> None:
    """Import modules in every worker, and cap their threads at one, under a name to undo it by.

    Raises
    ------
    ImportError
        A worker cannot import them.
    TimeoutError
        A worker does not answer in time.
    """
    from distributed import WorkerPlugin

    class WarmUp(WorkerPlugin):
        """Travels by value, since Dask is not imported with this module."""

        def setup(self, worker: object) -> None:
            warm_up(modules)

    _asked(client, partial(client.register_plugin, WarmUp(), name=name), seconds)


def import_no_more(client: Any, *, name: str, seconds: float) -> None:
    """Let workers that join later import nothing.

    Raises
    ------
    OSError
        The scheduler is gone, or a worker does not answer in time.
    """
    _asked(client, partial(client.unregister_worker_plugin, name), seconds)


def _asked(client: Any, question: Callable[[], Any], seconds: float) -> None:
    async def asked() -> None:
        await question()

    client.sync(asked, callback_timeout=seconds)
