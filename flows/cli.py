"""The `urlr` command; imports nothing heavy before a command runs, so that help comes at once."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

from flows.ending import ended_by_signals

FILES = ".csv, .csv.gz, .parquet, .pq, .jsonl, .jsonl.gz, .ndjson or .ndjson.gz"

_ABOUT = f"""\
Turns noisy pairwise votes into rankings people can trust: finds the votes that
contradict all others, sets them aside, and ranks the items by the rest.

Files are {FILES}.
"""

_EXAMPLES = """\
examples:
  urlr fit votes.csv --out ranking
  urlr fit votes.csv features.csv --out ranking
  urlr score ranking new_features.csv --out scores.csv
  urlr import arena battles.jsonl --out votes.parquet

`urlr fit --help`, `urlr score --help` and `urlr import --help` tell more.
"""

_FIT_ABOUT = """\
Find the votes that contradict all others, set them aside, and rank the items
by the rest.

VOTES has the columns winner and loser, or item_a, item_b and outcome (a, b,
tie or skip), and optionally weight, annotator, vote_id, left (which item was
shown on the left) and seconds (how long the vote took). FEATURES has a column
item and columns of numbers, or one list column embedding (in Parquet or JSON
lines); without FEATURES the compared items alone are ranked. Ids in CSV files
are text: 007 stays 007.
"""

_FIT_EXAMPLES = """\
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

_SCORE_ABOUT = """\
Score items by their features, whether anybody voted on them or not: by a model
that `urlr fit` wrote, or by the champions that `urlr nightly` published.

By one model FILE gets the columns item, score and rank, best first, and with
--attribute the version. By all champions it is a Parquet file (or, ending in /,
a directory of such) with item, attribute, version and score; the features may
be larger than memory.
"""

_SCORE_EXAMPLES = """\
examples:
  urlr score ranking new_features.csv --out scores.csv
  urlr score --attribute smiling features.parquet --out scores.parquet
  urlr score features.parquet --out scores.parquet
  urlr score ranking/model.npz new.parquet --out scores.parquet --overwrite
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a sign gets its code instead
            stream.reconfigure(errors="backslashreplace")
    try:
        parser = _parser()
        arguments = parser.parse_args(argv)
        if arguments.run is None:
            parser.print_help(sys.stderr)
            return 2
        return _guarded(arguments)
    except BrokenPipeError:  # whoever read our output has seen enough
        # Python flushes stdout once more at exit; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # help and version that cannot be shown
        return _complain(error.strerror or str(error))
    except KeyboardInterrupt:
        return _complain("stopped before the end.", code=130)


def _guarded(arguments: argparse.Namespace) -> int:
    """Run the command chosen, turning every error into one line."""
    try:
        with _stopping_at_once():
            import tasks.read
            import tasks.write  # noqa: F401  everything heavy
            from urlr.errors import UrlrError
    except ImportError as error:
        return _unexpected(error)
    run: Callable[[argparse.Namespace], int | None] = arguments.run
    try:
        with ended_by_signals():
            return run(arguments) or 0
    except UrlrError as error:
        return _complain(str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}")
    except MemoryError:
        return _complain("not enough memory for this many votes and features.")
    except Exception as error:
        return _unexpected(error)


@contextmanager
def _stopping_at_once() -> Iterator[None]:
    """End at Ctrl-C without ado: compiled modules being imported make errors of their own of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(
        signal.SIGINT, lambda *_: os._exit(_complain("stopped before the end.", code=130))
    )
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _fit(arguments: argparse.Namespace) -> None:
    from flows.progress import ProgressLine

    progress = ProgressLine(quiet=arguments.quiet)
    with progress:
        progress("starting", 0.0)
        from dataclasses import asdict

        import urlr
        from tasks.read import match_ids, read_features, read_votes
        from tasks.write import WriteError, published_directory, write_results

        settings = urlr.FitSettings(
            method=arguments.method,
            prune=arguments.prune,
            ridge=arguments.ridge,
            limit=arguments.limit,
            curved=arguments.curved,
            item_effects=arguments.item_effects,
            annotator_rates=arguments.annotator_rates,
            turn_reversed=arguments.turn_reversed,
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
        except ValueError as error:
            raise urlr.UrlrError(f"{error} See `urlr fit --help`.") from None
        out = Path(arguments.out)
        for source in (arguments.votes, arguments.features):
            if source is not None and out.resolve() in Path(source).resolve().parents:
                raise WriteError(f"{source} lies in {out}, which is to be replaced; move it away.")
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
    _say(ranker.summary())
    _say(f"\nWrote {', '.join(written)} to {shown_out}.")
    if features is None:
        look = "report.html" if arguments.report else f"scores.{arguments.format}"
        _say(f"Look at {shown_out}/{look}; features would let it score others.")
    else:
        model = shlex.quote(str(out / "model.npz"))
        _say(f"Next: urlr score {model} NEW_FEATURES.csv --out scores.csv")


def _score(arguments: argparse.Namespace) -> None:
    from tasks.write import WriteError

    out = Path(arguments.out)
    *model, features = arguments.files
    if len(model) > 1 or (model and arguments.attribute):
        raise WriteError("give MODEL FEATURES, or FEATURES alone; see `urlr score --help`.")
    for source in arguments.files:
        if out.is_file() and Path(source).exists() and out.samefile(source):
            raise WriteError(f"--out {out} is a file to be read; give another name.")
    if model:
        _score_by_file(Path(model[0]), features, out, overwrite=arguments.overwrite)
    else:
        from flows.scoring_command import score_by_champions

        score_by_champions(
            features,
            arguments.out,
            arguments.attribute,
            overwrite=arguments.overwrite,
            quiet=arguments.quiet,
            say=_say,
        )


def _score_by_file(model: Path, features: str, out: Path, *, overwrite: bool) -> None:
    import urlr
    from tasks.read import read_features
    from tasks.score_table import ranked
    from tasks.write import WriteError, published_file, write_result_table
    from urlr.ids import plural, shown_some

    if model.is_dir():
        model /= "model.npz"
    if out.exists() and model.exists() and out.samefile(model):
        raise WriteError(f"--out {out} is a file to be read; give another name.")
    with published_file(out, overwrite=overwrite) as workplace:
        table = ranked(urlr.load(model).score(read_features(features)))
        write_result_table(table, workplace)
    best = shown_some(table["item"].head(3).tolist())
    _say(f"Scored {plural(len(table), 'item')} into {shlex.quote(str(out))}. Top: {best}.")


def _parser() -> argparse.ArgumentParser:
    from flows.import_command import add_import
    from flows.nightly_command import add_nightly_commands
    from flows.report_command import add_report

    parser = _Parser(prog="urlr", description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_fit(commands)
    _add_score(commands)
    add_import(commands, say=_say)
    add_nightly_commands(commands, say=_say)
    add_report(commands, say=_say)
    return parser


def _add_fit(commands: Any) -> None:
    fit = commands.add_parser(
        "fit",
        help="rank items by votes, setting bad votes aside",
        description=_FIT_ABOUT,
        epilog=_FIT_EXAMPLES,
    )
    fit.set_defaults(run=_fit)
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


def _add_score(commands: Any) -> None:
    score = commands.add_parser(
        "score",
        help="score items by their features with a fitted model",
        description=_SCORE_ABOUT,
        epilog=_SCORE_EXAMPLES,
    )
    score.set_defaults(run=_score)
    score.add_argument(
        "files",
        metavar="[MODEL] FEATURES",
        nargs="+",
        help="a model.npz or the directory that `urlr fit` wrote; without it the champions of the "
        f"registry score. FEATURES: a file of item features, {FILES}; for champions also a "
        "directory of them, or s3://bucket/...",
    )
    score.add_argument(
        "--attribute", metavar="A", help="score by the champion of this attribute alone"
    )
    score.add_argument("--quiet", action="store_true", help="show no progress")
    score.add_argument(
        "--out", metavar="FILE", required=True, help="file for the scores; its ending says how"
    )
    score.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")


class _Parser(argparse.ArgumentParser):
    """Keeps the lines of the texts, and takes no abbreviated options."""

    def __init__(self, **settings: Any) -> None:
        settings["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(allow_abbrev=False, **settings)


class _Version(argparse.Action):
    """Shows the version, looking it up only when asked."""

    def __init__(self, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **settings)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        _say(f"urlr {version('urlr')}")
        parser.exit()


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


def _clean(text: str) -> str:
    """One line without control signs: file names and ids are other people's."""
    signs = (sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return "".join(signs)


def _say(text: str) -> None:
    _write(sys.stdout, text.split("\n"))


def _complain(text: str, *, code: int = 1) -> int:
    _write(sys.stderr, [f"urlr: {text}"])
    return code


def _unexpected(error: Exception) -> int:
    if os.environ.get("URLR_DEBUG"):
        raise error
    from tasks.objects import redacted

    kind, text = type(error).__name__, redacted(str(error))
    return _complain(f"{kind}: {text} (run again with URLR_DEBUG=1 for the traceback)")


def _write(stream: TextIO, lines: list[str]) -> None:
    stream.write("".join(f"{_clean(line)}\n" for line in lines))
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
