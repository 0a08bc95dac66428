"""Sockets: ports of this machine, and the Dask cluster if one is named."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from pkgutil import resolve_name
from typing import Any

from tasks.doctor.examining import Known
from tasks.doctor.finding import Finding, ok, problem, warning

ASKING = 20.0
"""Seconds in which workers must say which urlr they have; the first time they load it for that."""
_PACKING = ("python", "dask", "distributed", "numpy", "pandas")
"""Packages by which things are packed that travel."""
_METHOD = "urlr.settings:METHOD_VERSION"


def sockets(known: Known) -> Iterator[Finding]:
    """Whether processes of this machine can talk to each other, as workers and Prefect do."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()
            with socket.create_connection(address, timeout=5) as caller:
                server.accept()[0].close()
                caller.recv(1)
    except OSError as error:
        yield problem(
            f"a port on 127.0.0.1 cannot be used ({error.strerror or error})",
            "let this user listen and connect on the loopback interface",
        )
        return
    yield ok("a port on 127.0.0.1 can be listened on and reached")


def dask(known: Known) -> Iterator[Finding]:
    """Whether the Dask cluster answers, and its workers have the same urlr."""
    settings = known.settings_with("dask_address", "dask_plain", "dask_ca", "dask_cert", "dask_key")
    if settings.dask_address is None:
        yield ok("URLR_DASK_ADDRESS is not set: workers are processes of this machine")
        return
    from tasks.cluster import existing_cluster
    from urlr.ids import plural

    named = existing_cluster(
        settings.dask_address,
        plain=settings.dask_plain,
        ca=settings.dask_ca,
        cert=settings.dask_cert,
        key=settings.dask_key,
    )
    with (
        warnings.catch_warnings(action="ignore"),  # of what is told below
        named as cluster,
        cluster.lent("asking workers", deadline=ASKING) as client,
    ):
        seen = client.get_versions()
        releases = client.run(metadata.version, "urlr", on_error="return")
        methods = client.run(resolve_name, _METHOD, on_error="return")
    yield from differing(seen)
    if not releases:
        yield warning(
            f"{settings.dask_address} answers and has no worker",
            "start some; a night waits two minutes for the first",
        )
        return
    own = metadata.version("urlr"), resolve_name(_METHOD)
    found = {address: (releases[address], methods.get(address)) for address in releases}
    workers = plural(len(found), "worker")
    yield from unlike(found, own)
    if all(theirs == own for theirs in found.values()):
        yield ok(f"{settings.dask_address} answers; {workers}, with the same urlr as here")


def differing(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Packages that scheduler and workers have in another version than this machine."""
    from urlr.ids import shown_some

    here = seen["client"]["packages"]
    found = set()
    for theirs in (seen["scheduler"], *seen["workers"].values()):
        for name in _PACKING:
            other = theirs["packages"].get(name)
            if other is not None and _release(name, other) != _release(name, here[name]):
                found.add(f"{name} {other}, here {here[name]}")
    if found:
        yield warning(
            f"the cluster has other versions ({shown_some(sorted(found))})",
            "install from the same constraints.txt on all machines",
        )


def _release(name: str, version: str) -> str:
    return ".".join(version.split(".")[:2]) if name == "python" else version


def unlike(found: Mapping[str, tuple[Any, Any]], own: tuple[str, int]) -> Iterator[Finding]:
    """Workers whose urlr computes other results, or that have none."""
    from urlr.ids import plural, shown

    other = {address: theirs for address, theirs in found.items() if theirs != own}
    if other:
        address, (release, method) = next(iter(other.items()))
        has = "no urlr that can be loaded"
        if not isinstance(release, Exception) and not isinstance(method, Exception):
            has = f"urlr {shown(release)} (method {shown(method)})"
        yield problem(
            f"{len(other)} of {plural(len(found), 'worker')} not as here (urlr {own[0]}, method "
            f"{own[1]}), such as {shown(address)}, which has {has}",
            "install the same release of urlr on all workers",
        )
