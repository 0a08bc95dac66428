"""`urlr score` by champions of the registry."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

Say = Callable[[str], None]


def score_by_champions(
    features: str, out: str, attribute: str | None, *, overwrite: bool, quiet: bool, say: Say
) -> None:
    """Score a table by one champion, or by all of them on workers."""
    if attribute is None:
        _by_all(features, out, overwrite=overwrite, quiet=quiet, say=say)
    else:
        _by_one(features, Path(out), attribute, overwrite=overwrite, say=say)


def _by_one(features: str, out: Path, attribute: str, *, overwrite: bool, say: Say) -> None:
    from flows.messages import message
    from tasks.read import read_features
    from tasks.registry import Registry
    from tasks.score_table import champions_of, ranked
    from tasks.settings import load_settings
    from tasks.write import published_file, write_result_table

    settings = load_settings()
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    [version] = champions_of(registry, [attribute])
    with published_file(out, overwrite=overwrite) as workplace:
        scores = registry.fetch(version).score(read_features(features))
        table = ranked(scores).assign(version=version.number)
        write_result_table(table, workplace)
    say(
        message(
            "scored_by_champion",
            count=len(table),
            version=version.number,
            attribute=attribute,
            path=shlex.quote(str(out)),
            best=table["item"].head(3).tolist(),
        )
    )


def _by_all(features: str, out: str, *, overwrite: bool, quiet: bool, say: Say) -> None:
    from flows.progress import ProgressLine
    from tasks.objects import checked_address

    for address in (features, out):
        checked_address(address)
    with ProgressLine(quiet=quiet) as progress:
        progress("starting", 0.0)
        from flows.prefect_api import outcome_of, with_prefect

        with with_prefect(progress):
            from flows.scoring import scoring
            from flows.watching import watched_by
            from tasks.score_all import ScoringSummary

            watched_by(progress)
            state = scoring(features, out, overwrite=overwrite, return_state=True)
            summary = outcome_of(state, ScoringSummary)
    say("\n".join(summary.sentences()))
