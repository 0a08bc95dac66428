"""`urlr tidy`: what earlier nights left that nothing needs any more."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from typing import Any

from flows.nightly_command import add_store

Say = Callable[[str], None]

_MOST_NIGHTS = 36_500
"""A hundred years."""

_TIDY = """\
Tell which runs in the store nothing needs any more, and with --remove take them
away. A run stays if it is one of the last N nights, if results, pages or shared
features of it are named by the record of such a night, if a champion, one of the
last N nights or the one before the present was made from it, or if it is the last
night, whole or ended well. Votes, features and the registry are never touched:
every version can still be rolled back to. With one whose run is gone no new model
can be compared; each is then held until `urlr nightly --force`.

Without --remove nothing is changed. With it the store is held meanwhile, so that
no night begins; a run whose removal is interrupted is removed the next time.
"""

_EXAMPLES = """\
examples:
  urlr tidy --store s3://team/urlr
  urlr tidy --store s3://team/urlr --remove
  urlr tidy --nights 365 --remove
"""


def add_tidy(commands: Any, *, say: Say) -> None:
    """Add the command to the parser's."""
    tidy = commands.add_parser(
        "tidy",
        help="remove what earlier nights left and nothing needs",
        description=_TIDY,
        epilog=_EXAMPLES,
    )
    tidy.set_defaults(run=lambda arguments: _tidy(arguments, say))
    add_store(tidy)
    tidy.add_argument(
        "--nights",
        metavar="N",
        type=int,
        help="nights that stay whole (default, and at least: those that gate and report look back)",
    )
    tidy.add_argument("--remove", action="store_true", help="remove them")
    tidy.add_argument("--quiet", action="store_true", help="show no progress")


def _tidy(arguments: argparse.Namespace, say: Say) -> None:
    from contextlib import ExitStack
    from datetime import UTC, datetime

    from flows.messages import message
    from flows.progress import ProgressLine
    from tasks.lease import Holder, taken
    from tasks.registry import Registry
    from tasks.report.digest import NIGHTS_SHOWN
    from tasks.settings import load_settings
    from tasks.store import Store
    from tasks.tidy import left_by, old_runs, remove_run
    from urlr.errors import UrlrError

    settings = load_settings(store=arguments.store)
    least = max(settings.gate.nights + 1, NIGHTS_SHOWN)  # and tonight, which also looks back
    nights = least if arguments.nights is None else arguments.nights
    if nights < least:
        raise UrlrError(message("too_few_nights", nights=nights, least=least, most=_MOST_NIGHTS))
    if nights > _MOST_NIGHTS:
        raise UrlrError(message("too_many_nights", nights=nights, least=least, most=_MOST_NIGHTS))
    store = Store.at(settings.store, deadline=settings.call_deadline)
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    with ProgressLine(quiet=arguments.quiet) as progress, ExitStack() as stack:
        check = _nothing
        if arguments.remove:
            holder = Holder.here("tidy")
            lease = stack.enter_context(
                taken(store, holder, seconds=settings.lease, grace=settings.lease_grace)
            )
            check = lease.check
        progress("looking at the runs", 0.0)
        found = old_runs(store, registry, nights=nights, now=datetime.now(UTC))
        sizes: dict[str, list[int]] = {}
        for place, run in enumerate(found.unneeded):
            progress(f"run {run}", place / len(found.unneeded))
            objects = left_by(store, run)
            if objects:
                sizes[run] = [one.size for one in objects]
            if arguments.remove:  # where nothing is left but folders, those too
                remove_run(store, run, check=check)
    recent, needed = len(found.recent), len(found.needed)
    stay = message("recent_runs_stay", runs=recent, nights=nights)
    if needed:
        stay = message("needed_runs_stay", runs=recent, nights=nights, needed=needed)
    if not sizes:
        say(message("no_run_can_go", store=store.url, stay=stay))
        return
    what = message(
        "old_runs",
        runs=len(sizes),
        first=min(sizes),
        last=max(sizes),
        size=sum(map(sum, sizes.values())) / 2**20,
        objects=sum(map(len, sizes.values())),
    )
    if arguments.remove:
        say(message("old_runs_removed", what=what, stay=stay))
    else:
        say(message("old_runs_found", what=what, stay=stay))
        given = "" if arguments.nights is None else f" --nights {nights}"
        say(message("to_remove_them", store=shlex.quote(settings.store), nights=given))


def _nothing() -> None:
    """No lease to check."""
