"""This machine: free disk, and memory for the workers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tasks.doctor.examining import Known, NotLookedAt
from tasks.doctor.finding import Finding, ok, problem, warning
from tasks.doctor.storage import folder_of

LEAST_FREE = 2 * 2**30
"""Bytes that a disk should have free."""


def disk(known: Known) -> Iterator[Finding]:
    """How much is free where urlr writes."""
    from tasks.registry import RegistryError

    places = {"the working directory": Path.cwd(), "temporary files": Path(tempfile.gettempdir())}
    with suppress(NotLookedAt, RegistryError):  # another check tells
        places |= _kept_here(known)
    yield free_space(places)


def _kept_here(known: Known) -> dict[str, Path]:
    """Directories of store and registry, as far as they are on this machine."""
    from tasks.registry import Registry
    from tasks.store import Store

    settings = known.settings_with("store", "registry", "artifacts")
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    found = {"the store": folder_of(Store.at(settings.store).url)}
    if registry.artifacts is not None:
        found["the registry"] = folder_of(registry.artifacts)
    return {name: path for name, path in found.items() if path is not None}


def free_space(places: Mapping[str, Path], *, least: int = LEAST_FREE) -> Finding:
    """How much is free on the disks of these places."""
    from tasks.messages import message

    free: dict[int, int] = {}
    names: dict[int, list[str]] = {}
    for name, path in places.items():
        existing = next(one for one in (path, *path.parents) if one.exists())
        device = existing.stat().st_dev
        free[device] = shutil.disk_usage(existing).free
        names.setdefault(device, []).append(name)
    said = {device: f"{_gib(size)} for {', '.join(names[device])}" for device, size in free.items()}
    short = [text for device, text in said.items() if free[device] < least]
    if short:
        return warning(message("little_free", disks=" and ".join(short)), message("free_some"))
    return ok(message("free", disks=" and ".join(said.values())))


def memory(known: Known) -> Iterator[Finding]:
    """Whether the workers of this machine fit into its memory."""
    from distributed.system import MEMORY_LIMIT

    from tasks.messages import message

    settings = known.settings_with("workers", "worker_memory", "dask_address")
    if settings.dask_address is not None:
        yield ok(message("workers_elsewhere", memory=_gib(MEMORY_LIMIT)))
        return
    yield fitting(settings.workers, settings.worker_memory, machine=MEMORY_LIMIT)


def fitting(workers: int, limit: str | None, *, machine: int) -> Finding:
    """Whether so many workers fit, each with a limit, or with an even share if there is none."""
    from tasks.cluster.starting import LEAST_MEMORY, memory_limit
    from tasks.messages import message

    each = machine // workers if limit is None else memory_limit(limit, workers)
    found = message("workers_with_memory", count=workers, each=_gib(each), memory=_gib(machine))
    if limit is None and each < LEAST_MEMORY:
        fewer = max(machine // LEAST_MEMORY, 1)
        return problem(found, message("fewer_workers", count=fewer))
    if each * workers > machine:
        fewer = max(machine // each, 1)
        return warning(
            message("not_enough_if_all_use_it", workers=found),
            message("fewer_workers_or_less_memory", count=fewer),
        )
    return ok(found)


def _gib(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"
