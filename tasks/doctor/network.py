"""Sockets: ports of this machine, and the Dask cluster if one is named."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
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
    from tasks.messages import message

    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()
            with socket.create_connection(address, timeout=5) as caller:
                server.accept()[0].close()
                caller.recv(1)
    except OSError as error:
        why = error.strerror or str(error)
        yield problem(message("no_loopback", why=why), message("let_use_loopback"))
        return
    yield ok(message("loopback_works"))


def dask(known: Known) -> Iterator[Finding]:
    """Whether the Dask cluster answers, and its workers have the same urlr."""
    from tasks.messages import message

    settings = known.settings_with("dask_address", "dask_plain", "dask_ca", "dask_cert", "dask_key")
    if settings.dask_address is None:
        yield ok(message("no_dask_named"))
        return
    from tasks.cluster import existing_cluster
    from tasks.cluster.preparing import other_code

    named = existing_cluster(
        settings.dask_address,
        plain=settings.dask_plain,
        ca=settings.dask_ca,
        cert=settings.dask_cert,
        key=settings.dask_key,
        any_code=True,
    )
    with (
        warnings.catch_warnings(action="ignore"),  # of what is told below
        named as cluster,
        cluster.lent(message("asking_workers"), deadline=ASKING) as client,
    ):
        seen = client.get_versions()
        releases = client.run(metadata.version, "urlr", on_error="return")
        methods = client.run(resolve_name, _METHOD, on_error="return")
        without, others = other_code(client, seconds=ASKING)
    yield from differing(seen)
    if not releases:
        found = message("cluster_without_workers", address=settings.dask_address)
        yield warning(found, message("start_workers"))
        return
    own = metadata.version("urlr"), resolve_name(_METHOD)
    theirs = {address: (releases[address], methods.get(address)) for address in releases}
    yield from unlike(theirs, own, others, without)
    if not (without or others):
        yield ok(message("cluster_fits", address=settings.dask_address, count=len(theirs)))


def differing(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Packages that scheduler and workers have in another version than this machine."""
    from tasks.messages import message

    here = seen["client"]["packages"]
    found = set()
    for theirs in (seen["scheduler"], *seen["workers"].values()):
        for name in _PACKING:
            other = theirs["packages"].get(name)
            if other is not None and _release(name, other) != _release(name, here[name]):
                found.add(f"{name} {other}, here {here[name]}")
    if found:
        yield warning(
            message("other_versions_in_cluster", versions=sorted(found)),
            message("same_constraints"),
        )


def _release(name: str, version: str) -> str:
    return ".".join(version.split(".")[:2]) if name == "python" else version


def unlike(
    found: Mapping[str, tuple[Any, Any]],
    own: tuple[str, int],
    others: Sequence[str],
    without: Sequence[str],
) -> Iterator[Finding]:
    """Workers whose urlr is not the one here, or that have none: a night refuses both."""
    from tasks.messages import message

    if other := [*others, *without]:
        address = other[0]
        release, method = found.get(address, (None, None))
        if address in without:
            has = message("has_no_urlr")
        elif (release, method) == own:
            has = message("has_other_code")
        else:
            has = message("has_urlr", release=str(release), method=str(method))
        yield problem(
            message(
                "workers_with_other_urlr",
                count=len(other),
                total=len(found),
                release=own[0],
                method=own[1],
                address=address,
                has=has,
            ),
            message("same_urlr"),
        )
