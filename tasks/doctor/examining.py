"""How a check is run: in a thread, left at its deadline; whatever it raises is a finding."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tasks.doctor.finding import Finding, of_error, problem, warning

if TYPE_CHECKING:
    from tasks.settings import Settings

_TICK = 0.1


@dataclass(frozen=True, slots=True)
class Stamp:
    """An object written to the store: this machine's time around it, and the store's time of it."""

    before: datetime
    after: datetime
    modified: datetime


@dataclass(slots=True)
class Known:
    """What is given, and what earlier checks found out."""

    store: str | None = None
    """The store that was asked for."""
    settings: Settings | None = None
    left_out: frozenset[str] = frozenset()
    """Settings that make no sense and were left out."""
    reached: bool = False
    """Whether the store answered."""
    stamp: Stamp | None = None

    def settings_with(self, *names: str) -> Settings:
        """The settings, if these make sense.

        Raises
        ------
        NotLookedAt
            They do not.
        """
        if self.settings is None or self.left_out & set(names):
            from tasks.messages import message

            raise NotLookedAt(message("settings_cannot_be_read"))
        return self.settings


class NotLookedAt(Exception):  # noqa: N818 - says what happened
    """A check needs what an earlier one could not give; the text says what."""


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at."""

    name: str
    work: Callable[[Known], Iterable[Finding]]
    seconds: float
    """How long it may take."""
    advice: str = field(default="run it again")
    """What to do if it takes longer."""


def examined(check: Check, known: Known, *, waiting: Callable[[], None]) -> list[Finding]:
    """What a check finds, in time; `waiting` is called now and then until it has.

    A check that does not end is left behind in its thread, which ends with the process.
    """
    found: list[Finding] = []

    def run() -> None:
        try:
            for finding in check.work(known):
                found.append(_safe(finding))
        except BaseException as error:  # also SystemExit: one check must not end the others
            found.append(_safe(_failure(error)))

    thread = threading.Thread(target=run, name=f"doctor-{check.name}", daemon=True)
    thread.start()
    end = time.monotonic() + check.seconds
    while thread.is_alive() and time.monotonic() < end:
        waiting()
        thread.join(_TICK)
    said = list(found)
    if thread.is_alive():
        from tasks.messages import message

        said.append(problem(message("check_too_slow", seconds=check.seconds), check.advice))
    return said


def _failure(error: BaseException) -> Finding:
    from tasks.messages import message

    if isinstance(error, NotLookedAt):
        return warning(message("not_looked_at", why=error.args[0]), message("first_things_first"))
    if isinstance(error, ImportError):
        found = message("import_fails", why=str(error))
        if error.name:
            found = message("import_of_package_fails", name=error.name, why=str(error))
        return problem(found, message("install_with_constraints"))
    ours = sys.modules.get("urlr.errors")  # not loaded: then it is none of ours
    if ours is not None and isinstance(error, ours.UrlrError):
        return of_error(error.sentence, do=message("see_documentation"))
    found = message("unexpected_error", kind=type(error).__name__, why=str(error))
    return problem(found, message("see_versions"))


def _safe(finding: Finding) -> Finding:
    """The finding on one line and without credentials."""
    try:
        from tasks.objects import redacted
        from urlr.ids import shown
        from urlr.sentence import made
    except Exception:
        return finding  # then nobody could be asked for anything that needs credentials
    said = redacted(finding.found)
    found = made(shown(said, 1000), said.code, said.fields)
    return replace(finding, found=found, do=shown(redacted(finding.do), 500))
