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

from flows.ending import Ending, ended_by_signals, is_work_left
from flows.fit_command import FILES, add_fit

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
  urlr nightly --store s3://team/urlr
  urlr doctor --store s3://team/urlr
  urlr study --quick

`urlr COMMAND --help` tells more.
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
        return _guarded(arguments) if arguments.loads else _unloaded(arguments)
    except BrokenPipeError:  # whoever read our output has seen enough
        # Python flushes stdout once more at exit; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # help and version that cannot be shown
        return _complain(error.strerror or str(error))
    except KeyboardInterrupt:
        code = _stopped()
        if is_work_left():  # compiled code at work there aborts a process that Python takes down
            os._exit(code)
        return code


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
    ending = Ending()
    try:
        with ended_by_signals() as ending:
            return run(arguments) or 0
    except BrokenPipeError:
        raise
    except UrlrError as error:
        return _stopped() if ending.came else _complain(str(error))
    except Exception as error:
        return _stopped() if ending.explains(error) else _told(error)


def _told(error: Exception) -> int:
    """Say what went wrong outside of urlr's own care."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}")
    if isinstance(error, MemoryError):
        return _complain("not enough memory for this many votes and features.")
    return _unexpected(error)


def _unloaded(arguments: argparse.Namespace) -> int:
    """Run a command that is to say what cannot be loaded, and so loads what it needs itself."""
    run: Callable[[argparse.Namespace], int] = arguments.run
    ending = Ending()
    try:
        with ended_by_signals() as ending:
            return run(arguments)
    except OSError:
        raise
    except Exception as error:
        return _stopped() if ending.explains(error) else _unexpected(error)


@contextmanager
def _stopping_at_once() -> Iterator[None]:
    """End at Ctrl-C without ado: compiled modules being imported make errors of their own of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    import flows.messages  # noqa: F401  what the handler says, which must not be half imported

    before = signal.signal(signal.SIGINT, lambda *_: os._exit(_stopped()))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _score(arguments: argparse.Namespace) -> None:
    from flows.messages import message
    from tasks.write import WriteError

    out = Path(arguments.out)
    *model, features = arguments.files
    if len(model) > 1 or (model and arguments.attribute):
        raise WriteError(message("which_files_to_score"))
    for source in arguments.files:
        if out.is_file() and Path(source).exists() and out.samefile(source):
            raise WriteError(message("out_is_read", path=out))
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
    from flows.messages import message
    from tasks.read import read_features
    from tasks.score_table import ranked
    from tasks.write import WriteError, published_file, write_result_table

    if model.is_dir():
        model /= "model.npz"
    if out.exists() and model.exists() and out.samefile(model):
        raise WriteError(message("out_is_read", path=out))
    with published_file(out, overwrite=overwrite) as workplace:
        table = ranked(urlr.load(model).score(read_features(features)))
        write_result_table(table, workplace)
    best, path = table["item"].head(3).tolist(), shlex.quote(str(out))
    _say(message("scored", count=len(table), path=path, best=best))


def _parser() -> argparse.ArgumentParser:
    from flows.doctor_command import add_doctor
    from flows.import_command import add_import
    from flows.nightly_command import add_nightly_commands
    from flows.report_command import add_report
    from flows.study_command import add_study
    from flows.tidy_command import add_tidy

    parser = _Parser(prog="urlr", description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    parser.set_defaults(run=None, loads=True)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    add_fit(commands, say=_say)
    _add_score(commands)
    add_import(commands, say=_say)
    add_nightly_commands(commands, say=_say)
    add_report(commands, say=_say)
    add_doctor(commands, say=_say)
    add_tidy(commands, say=_say)
    add_study(commands, say=_say)
    return parser


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


def _clean(text: str) -> str:
    """One line without control signs: file names and ids are other people's."""
    signs = (sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return "".join(signs)


def _say(text: str) -> None:
    _write(sys.stdout, text.split("\n"))


def _complain(text: str, *, code: int = 1) -> int:
    if "://" in text:
        from tasks.objects import redacted

        text = redacted(text)
    _write(sys.stderr, [f"urlr: {text}"])
    return code


def _stopped() -> int:
    from flows.messages import message

    return _complain(message("stopped_early"), code=130)


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
