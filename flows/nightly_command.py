"""The pipeline on the command line: `urlr nightly`, `status`, `models`, `rollback`, `serve`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.night import Asked
    from tasks.results import Night

Say = Callable[[str], None]
Progress = Callable[[str, float], None]

_LARGEST_VERSION = 2**31

CODES = {"Completed": 0, "Partial": 3, "Failed": 1}
"""Exit codes by how a night ended."""

_NIGHTLY = """\
Retrain every attribute that has new votes, hold each new model against the one
in use on votes that neither has seen, and publish it if it is not worse.

The store holds dumps of votes under votes/ATTRIBUTE/ (also nested: votes/
interestingness/food/), features under features/, and gets the results under
runs/. Settings come from options, URLR_... variables and urlr.toml; see README.
Exit code: 0 all done, 3 some attributes failed, 1 the night failed.
"""

_NIGHTLY_EXAMPLES = """\
examples:
  urlr nightly
  urlr nightly --store s3://team/urlr
  urlr nightly --only smiling,interestingness/food --as-of 2026-11-01 --dry-run
"""

_STATUS = """\
Is last night done, what failed and why, what is live since when, and the
command to try again. Exit code as of `urlr nightly`.
"""

_MODELS = """\
What is in the registry: the champion of every attribute, or all versions of
one, with their Kendall tau and the times at which they were champion.
"""

_ROLLBACK = """\
Make an earlier version the champion again: the one before the present one, or
the one named. It is read back and checked first. Works without the store of
votes. The next night leaves it in place unless there are new votes, and then
the new model is held against it.
"""

_SERVE = """\
Run `urlr nightly` on a schedule, in this process, until stopped. Without
PREFECT_API_URL a Prefect server is started on this machine for as long; its
pages show every night.
"""


_ADOPT = """\
Let the models of these attributes belong to a store, from now on. A model belongs
to the store whose nights made it, told by an id in the store and by its address:
nights of another store, or of a copy, leave it alone. Use this when a store has
moved, or when another one is to publish in its place; it must hold their votes.
"""


def add_nightly_commands(commands: Any, *, say: Say) -> None:
    """Add the commands of the pipeline to the parser's."""
    nightly = commands.add_parser(
        "nightly",
        help="retrain what has new votes and publish what is not worse",
        description=_NIGHTLY,
        epilog=_NIGHTLY_EXAMPLES,
    )
    nightly.set_defaults(run=lambda arguments: _nightly(arguments, say))
    add_store(nightly)
    nightly.add_argument(
        "--only",
        metavar="A,B",
        type=_names,
        help="work on these attributes alone",
    )
    nightly.add_argument(
        "--as-of",
        metavar="DAY",
        type=_moment,
        help="count votes cast up to the end of that day (or that moment, 2026-11-01T12:00Z) alone",
    )
    nightly.add_argument(
        "--dry-run", action="store_true", help="do everything but change the registry"
    )
    nightly.add_argument(
        "--force", action="store_true", help="publish whatever the gate says; it is recorded"
    )
    nightly.add_argument(
        "--refit-features",
        action="store_true",
        help="fit the reduction of shared features anew (URLR_SHARED_COMPONENTS)",
    )
    nightly.add_argument("--quiet", action="store_true", help="show no progress")

    status = commands.add_parser(
        "status", help="how the last night went and what is live", description=_STATUS
    )
    status.set_defaults(run=lambda arguments: _status(arguments, say))
    add_store(status)

    models = commands.add_parser("models", help="what is in the registry", description=_MODELS)
    models.set_defaults(run=lambda arguments: _models(arguments, say))
    models.add_argument("attribute", metavar="ATTRIBUTE", nargs="?", help="all versions of this")

    rollback = commands.add_parser(
        "rollback", help="make an earlier version the champion again", description=_ROLLBACK
    )
    rollback.set_defaults(run=lambda arguments: _rollback(arguments, say))
    rollback.add_argument("attribute", metavar="ATTRIBUTE")
    rollback.add_argument("--to", metavar="VERSION", type=_version, help="this version")
    rollback.add_argument(
        "--why", metavar="TEXT", default="asked for by hand", help="kept in the history"
    )

    adopt = commands.add_parser(
        "adopt", help="let models in the registry belong to this store", description=_ADOPT
    )
    adopt.set_defaults(run=lambda arguments: _adopt(arguments, say))
    adopt.add_argument("attributes", metavar="ATTRIBUTE", nargs="+")
    add_store(adopt)

    serve = commands.add_parser("serve", help="run nightly on a schedule", description=_SERVE)
    serve.set_defaults(run=lambda arguments: _serve(arguments, say))
    add_store(serve)
    serve.add_argument(
        "--cron", metavar="CRON", default="0 3 * * *", help='when (default: "0 3 * * *", at 3:00)'
    )
    serve.add_argument("--timezone", metavar="ZONE", default="UTC", help="of CRON (default: UTC)")


def add_store(command: Any) -> None:
    """Add the option that names the store to a command's."""
    command.add_argument(
        "--store",
        metavar="URL",
        help="a directory or s3://bucket/prefix (default: URLR_STORE, else ./urlr-store)",
    )


def _nightly(arguments: argparse.Namespace, say: Say) -> int:
    from flows.progress import ProgressLine

    with ProgressLine(quiet=arguments.quiet) as progress:
        progress("starting", 0.0)
        from flows.messages import message
        from flows.night_report import night_text
        from tasks.settings import load_settings

        settings = load_settings(store=arguments.store)
        from flows.night import Asked

        asked = Asked(
            only=tuple(arguments.only or ()),
            as_of=arguments.as_of,
            dry=arguments.dry_run,
            force=arguments.force,
            refit=arguments.refit_features,
        )
        asked.night(datetime.now(UTC))  # before Prefect is waited for
        night = run_by_prefect(arguments.store, asked, progress)
    say(night_text(night, store=settings.store))
    if night.reported:
        say(message("report_at", store=settings.store.rstrip("/"), run=night.run))
    say(message("registry_at", registry=settings.registry))
    return CODES[night.state]


def run_by_prefect(store: str | None, asked: Asked, progress: Progress) -> Night:
    """Run a night as a Prefect flow, to its end."""
    from flows.prefect_api import outcome_of, with_prefect

    with with_prefect(progress):
        from flows.nightly import nightly
        from flows.watching import watched_by
        from tasks.results import Night

        watched_by(progress)
        state = nightly(
            store=store,
            only=list(asked.only) or None,
            as_of=asked.as_of,
            dry_run=asked.dry,
            force=asked.force,
            refit_features=asked.refit,
            return_state=True,
        )
        return outcome_of(state, Night)


def _status(arguments: argparse.Namespace, say: Say) -> int:
    from flows.status import status_of
    from tasks.settings import load_settings

    status = status_of(load_settings(store=arguments.store))
    say(status.text)
    return status.code


def _models(arguments: argparse.Namespace, say: Say) -> None:
    from flows.status import models_text
    from tasks.settings import load_settings

    say(models_text(load_settings(), arguments.attribute))


def _rollback(arguments: argparse.Namespace, say: Say) -> None:
    import getpass

    from flows.messages import message
    from tasks.registry import Registry
    from tasks.settings import load_settings

    settings = load_settings()
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    move = registry.rollback(
        arguments.attribute, arguments.to, run=f"by {getpass.getuser()}", why=arguments.why
    )
    name = arguments.attribute
    if move.before is None:  # nothing was live
        say(message("champion_again", attribute=name, to=move.to))
    else:
        say(message("rolled_back", attribute=name, to=move.to, before=move.before))


def _adopt(arguments: argparse.Namespace, say: Say) -> None:
    from flows.messages import message
    from tasks.discover import discover
    from tasks.registry import Registry, owner_of
    from tasks.settings import load_settings
    from tasks.store import Store

    settings = load_settings(store=arguments.store)
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    owners = registry.owners()
    for attribute in arguments.attributes:
        registry.check_known(attribute)
    store = Store.at(settings.store, deadline=settings.call_deadline)
    discover(store).only(arguments.attributes)  # or a slip in --store would give the models away
    owner = owner_of(store, create=True)
    assert owner is not None
    for attribute in arguments.attributes:
        before = owners[attribute]
        registry.own(attribute, owner)
        was = message("nobody") if before is None else before.address
        say(message("adopted", attribute=attribute, store=owner.address, before=was))


def _serve(arguments: argparse.Namespace, say: Say) -> int:
    from flows.ending import done_apart

    def load(told: object) -> None:
        import flows.serving  # noqa: F401
        import tasks.settings  # noqa: F401

    done_apart(load, patience=60.0)
    from flows.serving import serve_nightly
    from tasks.settings import load_settings

    settings = load_settings(store=arguments.store)
    serve_nightly(settings, cron=arguments.cron, timezone=arguments.timezone, say=say)
    return 0


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("no attribute is named")
    return names


def _moment(text: str) -> datetime:
    """The end of a day in UTC, or the moment given."""
    try:
        moment = datetime.fromisoformat(text)
        if len(text) <= len("2026-11-01"):
            moment += timedelta(days=1, microseconds=-1)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2026-11-01") from None


def _version(text: str) -> int:
    number = text.removeprefix("v")
    if not number.isdecimal() or not 1 <= int(number) < _LARGEST_VERSION:
        raise argparse.ArgumentTypeError(f"{text!r} is no version such as 7")
    return int(number)


def quiet_environment() -> None:
    """Defaults for libraries that would else be loud or tell others that they are used."""
    for name, value in {
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
        # With Prefect's 60 s and 5 retries a call to a silent API takes 7 minutes, so it takes 3.
        "PREFECT_API_REQUEST_TIMEOUT": "20",
        # The first start of Prefect's own API takes 10 to 25 s, and it gives up after 20.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    }.items():
        os.environ.setdefault(name, value)
