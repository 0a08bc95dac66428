"""What every worker imports before its first order, whether it is there or joins later.

A worker elsewhere may lack urlr, or have another one, whose results would carry the number of this
one's method: its code is compared, by a digest, when it joins, before it is sent any work.

The scheduler asks all workers at once and waits for each, so one that hangs would make it wait for
ever; here it gets so many seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tasks.cluster.seats import Code
from tasks.cluster.worker import warm_up


def other_code(client: Any, *, seconds: float) -> tuple[list[str], list[str]]:
    """Workers without urlr, and workers whose urlr is not the one here, by their addresses.

    Raises
    ------
    TimeoutError
        A worker does not answer in time.
    """
    found: dict[str, Code] = {}

    async def asked() -> None:
        found.update(await codes_of(client, None))

    client.sync(asked, callback_timeout=seconds)
    without, others = (
        sorted(worker for worker, code in found.items() if code == other)
        for other in ("none", "other")
    )
    return without, others


async def codes_of(client: Any, workers: list[str] | None) -> dict[str, Code]:
    """Whose code workers have, of all or of these; it is unknown of one that cannot be reached."""
    digest = _digest_of_code()
    found = await client.run(digest, workers=workers, on_error="return")
    own = digest()
    return {worker: _code(seen, own) for worker, seen in found.items()}


def _code(seen: object, own: str | None) -> Code:
    if isinstance(seen, OSError):
        return "unknown"
    if not isinstance(seen, str):
        return "none"
    return "ours" if seen == own else "other"


def _digest_of_code() -> Callable[[], str | None]:
    """A function that travels by value, since there may be no urlr where it arrives."""

    def digest() -> str | None:
        import hashlib
        import importlib.util
        import pathlib

        total = hashlib.sha256()
        for package in ("urlr", "tasks"):
            spec = importlib.util.find_spec(package)
            if spec is None or not spec.submodule_search_locations:
                return None
            place = pathlib.Path(next(iter(spec.submodule_search_locations)))
            for path in sorted(place.rglob("*.py")):
                total.update(path.relative_to(place).as_posix().encode())
                total.update(path.read_bytes())
        return total.hexdigest()

    return digest


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
