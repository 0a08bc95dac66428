"""`urlr fit`: two files in, a directory of results out."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

Say = Callable[[str], None]

FILES = ".csv, .csv.gz, .parquet, .pq, .jsonl, .jsonl.gz, .ndjson or .ndjson.gz"

_ABOUT = """\
Find the votes that contradict all others, set them aside, and rank the items
by the rest.

VOTES has the columns winner and loser, or item_a, item_b and outcome (a, b,
tie or skip), and optionally weight, annotator, vote_id, left (which item was
shown on the left) and seconds (how long the vote took). FEATURES has a column
item and columns of numbers, or one list column embedding (in Parquet or JSON
lines); without FEATURES the compared items alone are ranked. Ids in CSV files
are text: 007 stays 007.
"""

_EXAMPLES = """\
examples:
  urlr fit votes.csv --out ranking
  urlr fit votes.csv features.parquet --out ranking --prune 0.1
  urlr fit votes.jsonl features.csv --out ranking --method paper --prune 0.2

written into DIR, whole or not at all:
  model.npz       the ranking function, for `urlr score`
  scores.csv      one row per item, best first, with 90 % intervals
  verdicts.csv    one row per vote, in the order of VOTES: whether it was used or
                  set aside, how suspicious it is, and why
  annotators.csv  one row per person, worst first, if the votes have names
  rejected.csv    votes that cannot be used, each with its reason, if any
  summary.txt     what was done and what to look at
  report.html     all of this as a page, with the path explorer and every pruned
                  vote explained; opens offline
"""


def add_fit(commands: Any, *, say: Say) -> None:
    """Add the command to the parser's."""
    fit = commands.add_parser(
        "fit",
        help="rank items by votes, setting bad votes aside",
        description=_ABOUT,
        epilog=_EXAMPLES,
    )
    fit.set_defaults(run=lambda arguments: _fit(arguments, say))
    fit.add_argument("votes", metavar="VOTES", help=f"file of votes: {FILES}")
    fit.add_argument("features", metavar="FEATURES", nargs="?", help="file of item features")
    fit.add_argument("--out", metavar="DIR", required=True, help="directory for the results")
    fit.add_argument(
        "--format",
        choices=("csv", "parquet"),
        default="csv",
        help="format of the tables in DIR (default: csv)",
    )
    fit.add_argument(
        "--overwrite", action="store_true", help="replace the results of an earlier fit in DIR"
    )
    fit.add_argument(
        "--no-report",
        dest="report",
        action="store_false",
        help="write no report.html, which takes about as long as the fit",
    )
    fit.add_argument("--quiet", action="store_true", help="show no progress")
    method = fit.add_argument_group("the method")
    method.add_argument(
        "--method",
        choices=("robust", "paper"),
        default="robust",
        help="the default, or the method of the paper to the letter (default: robust)",
    )
    method.add_argument(
        "--prune",
        metavar="SHARE|auto|bic|aic|sigma",
        type=_number_or("auto", "bic", "aic", "sigma"),
        default="auto",
        help="share of the votes to set aside (of the edges in the paper; an edge: all votes for "
        "one item over another), 0 up to 1, or a rule that chooses it: auto sets aside votes that "
        "are more likely wrong than right; bic, aic and sigma are the paper's (default: auto)",
    )
    method.add_argument(
        "--ridge",
        metavar="NUMBER|tuned",
        type=_number_or("tuned"),
        default="tuned",
        help="how strongly the ranking function is smoothed, or tuned on items left out "
        "(default: tuned; the paper: 0.001)",
    )
    method.add_argument(
        "--chi-square",
        metavar="STEPS",
        type=int,
        default=0,
        help="steps of the additive chi-square map, 1 to 3, for histogram features (default: 0, "
        "none)",
    )
    method.add_argument(
        "--seed",
        metavar="N",
        type=_seed,
        default=0,
        help="seed of all that is random; same files, settings and seed give the same results "
        "(default: 0)",
    )
    _add_robust(fit.add_argument_group("parts of --method robust"))
    _add_paper(fit.add_argument_group("parts of --method paper"))


def _add_robust(method: Any) -> None:
    method.add_argument(
        "--limit",
        metavar="PULL",
        type=float,
        default=0.4,
        help="the most a vote may pull, 0.05 to 1; 1 for no limit (default: 0.4)",
    )
    for option, what in (
        ("curved", "kernel features beside the straight ones"),
        ("item-effects", "an effect of its own for every compared item"),
        ("annotator-rates", "weighing votes by the error rate of whoever cast them"),
        ("turn-reversed", "reading the votes of people who are mostly wrong the other way round"),
        ("tastes", "allowing for people who differ in taste"),
        ("ties", "ties, each half a vote either way"),
        ("left-right", "allowing for a lean to the item shown on the left"),
    ):
        method.add_argument(
            f"--no-{option}",
            dest=option.replace("-", "_"),
            action="store_false",
            help=f"without {what}",
        )
    method.add_argument(
        "--coordination",
        choices=("drop", "once", "keep"),
        default="drop",
        help="what becomes of people who act together: drop sets their votes aside, once counts "
        "each group as one person, keep counts them in full (default: drop)",
    )
    method.add_argument(
        "--parts",
        choices=("auto", "each", "refuse"),
        default="auto",
        help="what becomes of groups of items that nothing compares, without features: each ranks "
        "them on their own, refuse refuses, auto refuses where a group has few votes (default: "
        "auto)",
    )
    method.add_argument(
        "--replicates",
        metavar="N",
        type=int,
        help="how often votes are drawn anew for the intervals; 0 for none (default: 200 up to "
        "200,000 votes, 50 up to two million, 20 beyond)",
    )


def _add_paper(method: Any) -> None:
    method.add_argument(
        "--ranking",
        choices=("ridge", "svm"),
        default="ridge",
        help="ranking function: least squares with a ridge, or RankSVM (default: ridge)",
    )
    method.add_argument(
        "--outlier-space",
        choices=("pca", "kernel-pca", "features", "items"),
        default="pca",
        help="where bad votes are looked for: features reduced by PCA or kernel PCA, the features "
        "themselves, or the items alone (default: pca)",
    )
    method.add_argument(
        "--components",
        metavar="N",
        type=int,
        help="dimensions of the reduced features (default: a tenth of the edges, at most 150)",
    )
    method.add_argument(
        "--solver",
        choices=("auto", "exact", "grid"),
        default="auto",
        help="how the order of suspicion is computed (default: auto, by size)",
    )


def _fit(arguments: argparse.Namespace, say: Say) -> None:
    from flows.progress import ProgressLine

    progress = ProgressLine(quiet=arguments.quiet)
    with progress:
        progress("starting", 0.0)
        from dataclasses import asdict

        import urlr
        from flows.messages import message
        from tasks.read import match_ids, read_features, read_votes
        from tasks.write import WriteError, published_directory, write_results
        from urlr.errors import ArgumentError
        from urlr.sentence import made

        settings = urlr.FitSettings(
            method=arguments.method,
            prune=arguments.prune,
            ridge=arguments.ridge,
            limit=arguments.limit,
            curved=arguments.curved,
            item_effects=arguments.item_effects,
            annotator_rates=arguments.annotator_rates,
            turn_reversed=arguments.turn_reversed,
            tastes=arguments.tastes,
            coordination=arguments.coordination,
            parts=arguments.parts,
            ties=arguments.ties,
            left_right=arguments.left_right,
            replicates=arguments.replicates,
            ranking=arguments.ranking,
            outlier_space=arguments.outlier_space,
            components=arguments.components,
            chi_square=arguments.chi_square,
            solver=arguments.solver,
            seed=arguments.seed,
        )
        try:
            settings.check()
        except ArgumentError as error:
            said = message("see_fit_help", wrong=error.sentence)
            raise urlr.UrlrError(made(said, error.code, error.fields)) from None
        out = Path(arguments.out)
        for source in (arguments.votes, arguments.features):
            if source is not None and out.resolve() in Path(source).resolve().parents:
                raise WriteError(message("lies_in_out", path=source, out=out))
        with published_directory(out, overwrite=arguments.overwrite) as workplace:
            progress("reading the files", 0.0)
            votes = read_votes(arguments.votes)
            features = None
            if arguments.features is not None:
                features = read_features(arguments.features)
                votes, features = match_ids(votes, features)
            ranker = urlr.fit(votes, features, progress=progress, **asdict(settings))
            pages = {}
            if arguments.report:
                progress("making the report", 0.0)
                from tasks.report.fit_page import fit_page

                pages = fit_page(ranker, features, name=Path(arguments.votes).name)
            progress("writing the results", 0.0)
            written = write_results(ranker, workplace, form=arguments.format, report=pages)
    shown_out = shlex.quote(arguments.out)
    say(ranker.summary())
    say(message("results_written", files=", ".join(written), path=shown_out))
    if features is None:
        look = "report.html" if arguments.report else f"scores.{arguments.format}"
        say(message("look_at_ranking", path=shown_out, file=look))
    else:
        model = shlex.quote(str(out / "model.npz"))
        say(message("score_next", model=model))


def _number_or(*words: str) -> Callable[[str], float | str]:
    def parse(text: str) -> float | str:
        if text in words:
            return text
        try:
            return float(text)
        except ValueError:
            choices = " or ".join(("a number", *words))
            raise argparse.ArgumentTypeError(f"{text!r} is not {choices}") from None

    return parse


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)
