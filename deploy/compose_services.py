"""The services of a compose file as they run on this machine without containers.

Their own commands, with names of services and ports mapped to free ones on loopback, paths of
containers to directories, and variables to values as `docker compose` would fill them in.
"""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")
_PORT = re.compile(r"(?<![\w.])\d{4,5}(?![\w.])")
_PORT_OPTION = re.compile(r"-[\w.]*port[\w.-]*=(\d{4,5})")
LOOPBACK = "127.0.0.1"


class ComposeError(ValueError):
    """The file cannot be run here; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a service: what is started, and how it is known to be well."""

    service: str
    name: str
    """Name of the service, with a number where there are several."""
    words: tuple[str, ...]
    """Empty where the file leaves the command to the image."""
    environment: Mapping[str, str] = field(repr=False)
    health: tuple[str, ...]
    patience: float
    """Seconds until it must be healthy."""
    needs: tuple[str, ...]
    """Services that must be healthy, or must have ended well, before."""
    once: bool
    stop_signal: str
    directories: Mapping[str, Path]
    """Here, by path in the container."""


def values_of(example: Path) -> dict[str, str]:
    """Values of variables: those in the example, and new secrets where it has none."""
    found = {}
    for line in example.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name] = value or secrets.token_hex(24)
    return found


def filled(text: str, values: Mapping[str, str]) -> str:
    """Text with its variables replaced by their values."""

    def value(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        if values.get(name):
            return values[name]
        if kind != "-":
            raise ComposeError(f"{name} has no value; set it in .env.")
        return str(rest)

    return _VARIABLE.sub(value, text)


def processes_of(compose: Path, values: Mapping[str, str], *, volumes: Path) -> list[Process]:
    """All processes of a compose file; its volumes become directories."""
    document = yaml.safe_load(compose.read_text("utf-8"))
    services = {name: _filled_in(service, values) for name, service in document["services"].items()}
    own = {name: _ports_of(service) for name, service in services.items()}
    count = {name: int(one.get("deploy", {}).get("replicas", 1)) for name, one in services.items()}
    free = iter(free_ports(sum(len(own[name]) * count[name] for name in own)))
    ports = {
        (name, number): {port: next(free) for port in own[name]}
        for name in own
        for number in range(count[name])
    }
    all_ports: dict[str, int] = {}
    for name in own:
        if shared := sorted(all_ports.keys() & ports[name, 0].keys()):
            raise ComposeError(f"{name} uses port {shared[0]} as another service does; change it.")
        all_ports |= ports[name, 0]
    found = []
    for name, service in services.items():
        folders = _directories(service, volumes, compose.parent)
        for number in range(count[name]):
            here = _Here(tuple(services), all_ports | ports[name, number], folders)
            found.append(_process(name, number, count[name], service, here))
    return found


@dataclass(frozen=True, slots=True)
class _Here:
    """How what a container sees is called on this machine."""

    services: tuple[str, ...]
    ports: Mapping[str, int]
    folders: Mapping[str, Path]

    def text(self, text: str) -> str:
        names = "|".join(map(re.escape, self.services))
        known = "|".join(self.ports)
        text = re.sub(rf"(?<![\w.-])(?:{names})(?=:(?:{known})\b)", LOOPBACK, text)
        text = _PORT.sub(lambda found: str(self.ports.get(found[0], found[0])), text)
        for inside, outside in self.folders.items():
            text = re.sub(rf"(?<![\w.:/-]){re.escape(inside)}(?=/|$)", str(outside), text)
        return text.replace("0.0.0.0", LOOPBACK)

    def value(self, name: str, text: str) -> str:
        if name.endswith("HOST") and text in self.services:
            return LOOPBACK
        return self.text(text)


def _process(
    name: str, number: int, count: int, service: Mapping[str, Any], here: _Here
) -> Process:
    words = [*service.get("entrypoint", []), *service.get("command", [])]
    check = service.get("healthcheck", {})
    test = check.get("test", [])
    if test and test[0] != "CMD":
        raise ComposeError(f"the health check of {name} is no CMD with words; make it one.")
    seconds = _seconds(check.get("start_period", "0s"))
    seconds += _seconds(check.get("interval", "30s")) * int(check.get("retries", 3))
    return Process(
        service=name,
        name=name if count == 1 else f"{name}-{number + 1}",
        words=tuple(map(here.text, words)),
        environment={
            variable: here.value(variable, str(value))
            for variable, value in service.get("environment", {}).items()
        },
        health=tuple(map(here.text, test[1:])),
        patience=seconds,
        needs=tuple(service.get("depends_on", {})),
        once=service.get("restart") == "no",
        stop_signal=service.get("stop_signal", "SIGTERM"),
        directories=here.folders,
    )


def _filled_in(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return filled(value, values)
    if isinstance(value, list):
        return [_filled_in(one, values) for one in value]
    if isinstance(value, dict):
        return {name: _filled_in(one, values) for name, one in value.items()}
    return value


def _ports_of(service: Mapping[str, Any]) -> list[str]:
    """Ports a service listens on: those it shows, and those its own options name."""
    shown = [str(one) for one in service.get("expose", [])]
    shown += [str(one).rpartition(":")[2] for one in service.get("ports", [])]
    options = (_PORT_OPTION.fullmatch(word) for word in service.get("command", []))
    return list(dict.fromkeys([*shown, *(found[1] for found in options if found)]))


def _directories(service: Mapping[str, Any], volumes: Path, beside: Path) -> dict[str, Path]:
    found = {}
    for mount in service.get("volumes", []):
        source, inside, *_ = mount.split(":")
        found[inside] = beside / source if source.startswith(".") else volumes / source
    return found


def _seconds(text: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()  # type: ignore[union-attr]
    return float(number) * (60.0 if unit == "m" else 1.0)


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on, all different.

    Some are taken a minute later, by services that wait for others; they lie below those that the
    system meanwhile hands out to whoever asks for any.
    """
    found: set[int] = set()
    while len(found) < count:
        port = secrets.choice(range(10_000, 32_768))
        with socket.socket() as tried, suppress(OSError):
            tried.bind((LOOPBACK, port))
            found.add(port)
    return list(found)
