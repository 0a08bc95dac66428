"""Versions: of Python, of what urlr asks for, and of what those ask for in turn."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from tasks.doctor.examining import Known
from tasks.doctor.finding import Finding, ok, problem, warning

if TYPE_CHECKING:
    from packaging.requirements import Requirement

OURS = "urlr"
WHY = {
    "boto3": "it comes with its own botocore",
    "botocore": "s3fs cannot be imported with another",
    "fastapi": "Prefect's API breaks with others",
    "mlflow": "later ones cannot be installed whole",
    "prefect": "later ones cannot be installed whole",
    "pyarrow": "mlflow does not take later ones",
    "sqlalchemy": "Prefect's scheduler fails with 2.1, and no night starts by itself",
}
"""Bounds that were set because something broke, and what."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Misfit:
    """A package that is not as another asks for it."""

    asked_by: str
    name: str
    wanted: str
    installed: str | None

    def __str__(self) -> str:
        have = self.installed or "missing"
        why = f", as {WHY[self.name.lower()]}" if self.name.lower() in WHY else ""
        if self.asked_by == OURS:
            return f"{self.name} {have} (wanted {self.wanted or 'any'}{why})"
        return f"{self.name} {have} ({self.asked_by} wants {self.wanted or 'any'}{why})"


def versions(known: Known) -> Iterator[Finding]:
    """Whether all that is installed fits together."""
    from packaging.specifiers import SpecifierSet

    from tasks.messages import message

    again = message("install_again")
    python = platform.python_version()
    try:
        about = metadata.metadata(OURS)
    except metadata.PackageNotFoundError:
        yield warning(message("urlr_not_installed", python=python), again)
        return
    asked = "".join(about.get_all("Requires-Python") or [])
    if not SpecifierSet(asked).contains(python, prereleases=True):
        yield problem(
            message("python_does_not_fit", python=python, wanted=asked),
            message("use_that_python"),
        )
    own, others, count = _misfits()
    version = about["Version"]
    if own:
        yield problem(
            message(
                "own_packages_do_not_fit",
                packages=_counted(own),
                version=version,
                misfits=_some(own),
            ),
            again,
        )
    if others:
        yield warning(
            message("other_packages_do_not_fit", packages=_counted(others), misfits=_some(others)),
            again,
        )
    if not own and not others:
        yield ok(message("versions_fit", python=python, version=version, count=count))


def _misfits() -> tuple[list[Misfit], list[Misfit], int]:
    """What does not fit urlr, what does not fit others, and how many packages were looked at."""
    from packaging.utils import canonicalize_name

    seen: set[tuple[str, str]] = set()
    found: list[Misfit] = []
    waiting = [(OURS, "")]
    while waiting:
        name, extra = waiting.pop()
        if (canonicalize_name(name), extra) in seen:
            continue
        seen.add((canonicalize_name(name), extra))
        for wanted in _wanted_by(name, extra):
            installed = _installed(wanted.name)
            if installed is None or not wanted.specifier.contains(installed, prereleases=True):
                misfit = Misfit(name, wanted.name, str(wanted.specifier), installed)
                found += [] if misfit in found else [misfit]
            if installed is not None:
                waiting += [(wanted.name, one) for one in ("", *wanted.extras)]
    own = [one for one in found if one.asked_by == OURS]
    others = [one for one in found if one.asked_by != OURS]
    return own, others, len({name for name, _ in seen}) - 1


def _wanted_by(name: str, extra: str) -> Iterator[Requirement]:
    """What a package asks for on this machine."""
    from packaging.requirements import InvalidRequirement, Requirement

    for line in metadata.requires(name) or []:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:  # of somebody else's, and very old
            continue
        if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
            yield wanted


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _counted(misfits: list[Misfit]) -> str:
    from tasks.messages import message

    count = len(misfits)
    return message("one_package") if count == 1 else message("several_packages", count=count)


def _some(misfits: list[Misfit]) -> str:
    more = f" and {len(misfits) - _SHOWN} more" if len(misfits) > _SHOWN else ""
    return ", ".join(map(str, misfits[:_SHOWN])) + more
