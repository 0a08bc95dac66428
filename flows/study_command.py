"""`urlr study`: the paper's experiments and claims, rerun by one command."""

from __future__ import annotations

import argparse
import os
import textwrap
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.study.content import ClaimLine
    from tasks.study.results import StudySummary

Say = Callable[[str], None]

USUAL_DATA = Path("../shared/data")

_ABOUT = """\
Rerun the experiments of the paper (Fu et al., "Robust Subjective Visual Property
Prediction from Crowdsourced Pairwise Labels") and some of our own, judge each of
its claims by a rule fixed beforehand, and draw its figures.

The paper's data cannot be shipped: without --data, experiments run on generated
stand-ins of the same sizes, and say so everywhere. Trials are kept as they end;
running the command again goes on where it stopped.
"""

_EXPERIMENTS = """\
experiments:
  figure2      cycles that a majority cannot resolve
  image        image interestingness, by density and pruning rate
  video        video interestingness, 14 categories
  attributes   relative attributes (pubfig, scene): classification from attributes
  age          human age from faces, with made errors
  supplement   the path against IPOD and OMP, BIC's table
  quality      real votes on picture quality (needs --data)
  arguments    real votes on arguments, 32 topics (needs --data)
  ours         campaigns, reversed people, tastes, how much to prune

examples:
  urlr study                     # all, full size: about {full}
  urlr study --quick             # all, few trials: about {quick}
  urlr study age --quick
  urlr study image --data DIR    # real data: docs/study-data.md has the layout
"""
FULL_TIME, QUICK_TIME = "40 minutes on two cores", "three minutes"


def add_study(commands: Any, *, say: Say) -> None:
    """Add the command."""
    command = commands.add_parser(
        "study",
        help="rerun the paper's experiments and judge its claims",
        description=_ABOUT,
        epilog=_EXPERIMENTS.format(full=FULL_TIME, quick=QUICK_TIME),
    )
    command.set_defaults(run=partial(_study, say=say))
    add = command.add_argument
    add("experiments", metavar="EXPERIMENT", nargs="*", help="those named; without any, all")
    add("--quick", action="store_true", help="few trials; a rehearsal, not evidence")
    add(
        "--data",
        metavar="DIR",
        help=f"folder with one folder per data set; without it {USUAL_DATA}, if there is one",
    )
    add(
        "--out",
        metavar="DIR",
        help="folder for the results, and for going on later; without it study/<date>",
    )
    add("--workers", type=int, metavar="N", help="worker processes; without it one per core")
    add("--quiet", action="store_true", help="show no progress")


def _study(arguments: argparse.Namespace, *, say: Say) -> int:
    from flows.messages import message
    from tasks.study.experiments import EXPERIMENTS, chosen_names, found_data
    from tasks.study.sources import refuse

    names = chosen_names(arguments.experiments)
    given = arguments.data is not None
    data = Path(arguments.data) if given else USUAL_DATA if USUAL_DATA.is_dir() else None
    folders = found_data(names, data, named=bool(arguments.experiments), given=given)
    lacking = [name for name in names if EXPERIMENTS[name].only_real and folders[name] is None]
    names = [name for name in names if name not in lacking]
    if not names:
        refuse(message("only_real_votes", names=", ".join(lacking)))
    if arguments.workers is not None and arguments.workers < 1:
        refuse(message("too_few_workers", count=arguments.workers))
    quick = "-quick" if arguments.quick else ""
    out = Path(arguments.out or f"study/{date.today():%Y-%m-%d}{quick}").resolve()
    real = [name for name in names if folders[name] is not None]
    made = [n for n in names if folders[n] is None and EXPERIMENTS[n].folder is not None]
    if real:
        say(message("on_real_data", path=data, names=", ".join(real)))
    if made:
        say(message("on_stand_ins", names=", ".join(made)))
    if lacking:
        say(message("experiments_left_out", names=", ".join(lacking)))
    summary = _run(names, folders, out, arguments)
    say("")
    for line in _told(summary):
        say(line)
    return 1 if summary.failures else 0


def _run(
    names: list[str], folders: dict[str, Path | None], out: Path, arguments: argparse.Namespace
) -> StudySummary:
    from flows.progress import ProgressLine

    out.mkdir(parents=True, exist_ok=True)
    with ProgressLine(quiet=arguments.quiet) as progress:
        progress("starting", 0.0)
        from flows.prefect_api import outcome_of, with_prefect

        with with_prefect(progress):
            from flows.study import study
            from flows.watching import watched_by
            from tasks.study.results import StudySummary

            watched_by(progress)
            state = study(
                names,
                {name: folder and folder.resolve() for name, folder in folders.items()},
                out,
                quick=arguments.quick,
                workers=arguments.workers or os.cpu_count() or 1,
                return_state=True,
            )
            return outcome_of(state, StudySummary)


_WIDTH = 100


def _told(summary: StudySummary) -> list[str]:
    """The claims table, what it cost, and where to look."""
    from flows.messages import message

    lines: list[str] = []
    for one in summary.claims:
        if one.evidence:
            lines += _claim(one)
    if others := sum(not one.evidence for one in summary.claims):
        lines.append(message("claims_not_judged", count=others, total=len(summary.claims)))
    lines += ["", summary.cost.sentence()]
    lines += [message("trial_failed", name=name, why=why) for name, why in summary.failures.items()]
    near = Path(os.path.relpath(summary.out))
    page, figures = near / "index.html", near / "figures"
    lines.append(message("study_at", page=page, folder=near, figures=figures))
    return lines


def _claim(one: ClaimLine) -> list[str]:
    head = textwrap.wrap(f"{one.claim} [{one.evidence}]", _WIDTH - 23, break_long_words=False)
    lines = [f"{one.number:>2}  {one.verdict:<16}   {head[0]}"]
    lines += [f"{'':23}{more}" for more in head[1:]]
    for text in (one.measured, f"Why: {one.why}" if one.why else ""):
        lines += [f"{'':23}  {more}" for more in textwrap.wrap(text, _WIDTH - 25)]
    return lines
