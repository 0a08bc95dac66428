"""`urlr doctor`: is everything there that a night needs, and what to do about what is not."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from flows.nightly_command import add_store

Say = Callable[[str], None]

_DOCTOR = """\
Look at everything a night needs, before the first one or when something is odd:
versions, settings, the store (reached, listed, written, read, conditional
writes, its clock), votes, the registry and its champions, sockets, Dask and
Prefect, disk and memory. One line for each: ok, warning or problem, what was
found, and what to do. Nothing is changed: what it writes to try, it removes.

No secret is shown. Every check has a deadline; all of them take some ten
seconds, a minute or two where something does not answer.
Exit code: 0 no problem, 1 at least one.
"""

_EXAMPLES = """\
examples:
  urlr doctor
  urlr doctor --store s3://team/urlr
  urlr doctor --json > doctor.json
"""

_IMPATIENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "PREFECT_API_REQUEST_TIMEOUT": "10",
    "PREFECT_CLIENT_MAX_RETRIES": "1",
}
"""What the environment gets unless it says otherwise: a server that is away is told soon."""


def add_doctor(commands: Any, *, say: Say) -> None:
    """Add the command to the parser's."""
    doctor = commands.add_parser(
        "doctor",
        help="look at everything a night needs, and say what to do",
        description=_DOCTOR,
        epilog=_EXAMPLES,
    )
    doctor.set_defaults(run=lambda arguments: _doctor(arguments, say), loads=False)
    add_store(doctor)
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead")


def _doctor(arguments: argparse.Namespace, say: Say) -> int:
    from flows.nightly_command import quiet_environment
    from flows.progress import ProgressLine
    from tasks.doctor import CHECKS, Check, Known, examined

    quiet_environment()
    for name, value in _IMPATIENT.items():
        os.environ.setdefault(name, value)
    known = Known(store=arguments.store)
    said: list[tuple[str, Any]] = []
    prefect = Check("prefect", _prefect, 60, "check PREFECT_API_URL, and that its server runs")
    for check in (*CHECKS, prefect):
        with ProgressLine() as progress:
            waiting = partial(progress, f"looking at {check.name}", 0.0)
            found = examined(check, known, waiting=waiting)
        said += [(check.name, one) for one in found]
        if not arguments.json:
            for one in found:
                say(f"{one.state:<8} {check.name:<9} {one.sentence()}")
    problems = sum(one.state == "problem" for _, one in said)
    warnings = sum(one.state == "warning" for _, one in said)
    if arguments.json:
        say(_as_json(said, problems, warnings))
    else:
        say(_summary(problems, warnings))
    return 1 if problems else 0


def _prefect(known: object) -> Iterator[Any]:
    """Whether Prefect's API answers, where one is named."""
    from flows.messages import message
    from tasks.doctor import ok

    address = os.environ.get("PREFECT_API_URL")
    if not address:
        yield ok(message("no_prefect_named"))
        return
    from flows.prefect_api import check_api, check_home

    check_home()
    check_api(address)
    yield ok(message("prefect_answers", address=address))


def _summary(problems: int, warnings: int) -> str:
    from flows.messages import message

    counts = [
        f"{count} {name}{'' if count == 1 else 's'}"
        for count, name in ((problems, "problem"), (warnings, "warning"))
        if count
    ]
    text = ", ".join(counts)
    if problems:
        return message("problems_found", counts=text)
    return message("warnings_found", counts=text) if counts else message("all_is_well")


def _as_json(said: list[tuple[str, Any]], problems: int, warnings: int) -> str:
    found = [
        {"check": name, "state": one.state, "code": one.code, "found": one.found, "do": one.do}
        for name, one in said
    ]
    return json.dumps({"problems": problems, "warnings": warnings, "findings": found}, indent=1)
