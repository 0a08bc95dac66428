"""`urlr report`: the whole report of a night as a folder that opens anywhere."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows.nightly_command import add_store

Say = Callable[[str], None]

_REPORT = """\
Build the report of a night again, from what the store keeps: the overview and a
page of every attribute, as a folder that opens from a disk, a web server or a
bucket, offline. RUN is the name of a run, or its beginning; by default the last
night of all attributes, not a dry run and not one with --only or --as-of.
Everything is told as it stood when that run finished.

What people open each morning is in the store: report/latest.html leads to it.
"""

_EXAMPLES = """\
examples:
  urlr report
  urlr report 20261116T0300 --store s3://team/urlr --out report-of-monday
"""


def add_report(commands: Any, *, say: Say) -> None:
    """Add the command to the parser's."""
    report = commands.add_parser(
        "report",
        help="build the report of a night again",
        description=_REPORT,
        epilog=_EXAMPLES,
    )
    report.set_defaults(run=lambda arguments: _report(arguments, say))
    report.add_argument("name", metavar="RUN", nargs="?", help="a run, or how its name begins")
    add_store(report)
    report.add_argument(
        "--out", metavar="DIR", help="folder for the pages (default: urlr-report-RUN)"
    )
    report.add_argument("--overwrite", action="store_true", help="replace an earlier report in DIR")
    report.add_argument("--quiet", action="store_true", help="show no progress")


def _report(arguments: argparse.Namespace, say: Say) -> None:
    from datetime import UTC, datetime

    from flows.messages import message
    from flows.progress import ProgressLine
    from tasks.freshness import last_night
    from tasks.report.digest import recent_digests
    from tasks.report.site import OVERVIEW, whole_site
    from tasks.runs import chosen_night
    from tasks.settings import load_settings
    from tasks.store import Store
    from tasks.write import published_directory

    settings = load_settings(store=arguments.store)
    store = Store.at(settings.store, deadline=settings.call_deadline)
    with ProgressLine(quiet=arguments.quiet) as progress:
        progress("looking up the night", 0.0)
        name = arguments.name
        night = last_night(store) if name is None else chosen_night(store, name)
        out = Path(arguments.out or f"urlr-report-{night.run}")
        known = [one for one in night.entries.values() if one.place is not None]
        pages = 0
        with published_directory(
            out, overwrite=arguments.overwrite, ours=_is_ours, command="urlr report"
        ) as workplace:
            earlier = recent_digests(store, before=night.run)
            for file in whole_site(store, night, earlier, rebuilt=datetime.now(UTC)):
                (workplace / file.name).write_bytes(file.data)
                if file.name.endswith(".html") and file.name != OVERVIEW:
                    pages += 1
                    progress(f"{pages} pages", pages / max(len(known), 1))
    say(message("report_built", night=night.night, run=night.run, pages=pages))
    if pages < len(known):
        say(message("results_without_page", count=len(known) - pages, total=len(known)))
    say(message("open_report", path=shlex.quote(str(out / OVERVIEW))))


def _is_ours(name: str) -> bool:
    """Whether a file may lie in the folder of a report."""
    return name.endswith((".html", ".js"))
