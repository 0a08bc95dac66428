"""Dask's own client, lent for work that is not one order on one worker.

Whoever waits for Dask, also deep in another library, waits for ever if there is no worker. So what
the borrower waits for is cancelled as soon as a check says that it waits in vain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from urlr.errors import UrlrError


@contextmanager
def given_up_once(client: Any, check: Callable[[], None], *, tick: float) -> Iterator[None]:
    """Call `check` every `tick` seconds, in Dask's own thread; once it raises, so does the block.

    It does so when it next waits for Dask; all that the client has ordered is cancelled then.
    """
    wrong: list[UrlrError] = []

    async def watch() -> None:
        from distributed import Future

        while True:
            await asyncio.sleep(tick)
            try:
                check()
            except UrlrError as error:
                wrong.append(error)
            if wrong and client.status == "running":
                await client.cancel([Future(key, client) for key in list(client.futures)])

    watching = asyncio.run_coroutine_threadsafe(watch(), client.loop.asyncio_loop)
    try:
        yield
    except Exception as error:
        if wrong:
            raise wrong[0] from None
        if isinstance(error, CancelledError):
            check()  # a lost connection cancels too, and may be noticed here first
        raise
    finally:
        watching.cancel()
