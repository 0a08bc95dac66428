"""`urlr import`: votes that other tools exported, turned into votes that `urlr fit` reads."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks.importing import Imported

_ABOUT = """\
Turn votes that another tool exported into votes that `urlr fit` reads: item_a,
item_b, outcome (a, b, tie or skip) and, where known, annotator, left, seconds,
time, vote_id, attribute and weight. Every row is accounted for: read = votes +
ties + skipped + dropped, and dropped ones are counted by reason.
"""

_EXAMPLES = """\
examples:
  urlr import arena battles.jsonl --out votes.parquet
  urlr import label-studio export.json --config config.xml --out votes.parquet
  urlr import mapping votes.csv --mapping mapping.toml --out votes.parquet

`urlr import SOURCE --help` tells what each source looks like.
"""

_ARENA = """\
The columns model_a, model_b and winner, which is model_a, model_b, tie or
tie (bothbad); judge becomes the annotator and tstamp, in seconds since 1970,
the time.
"""

_CROWD_KIT = """\
The columns left, right and label, which equals left or right; worker (in older
files performer) becomes the annotator. The item in the column left was shown on
the left.
"""

_EVALICA = """\
The columns left, right and winner, which is left, right or tie (or X, Y, Draw).
Where an item was shown is not taken from the names of the columns; if they do
tell, use `urlr import mapping` with left = "item_a".
"""

_PREFERENCE = """\
The columns chosen_id and rejected_id, or without those chosen and rejected,
whose texts then are the ids. Nobody's name is known.
"""

_LABEL_STUDIO = """\
A project exported as JSON, and its labelling config (Settings, Labeling
Interface, Code), whose <Pairwise toName="left,right"> tells what was shown on
the left and on the right. The items are named by the data fields shown, or
better by fields that hold ids: --id-fields. Cancelled and ground-truth
annotations are dropped; an annotation without an answer is a skip, not a tie.
"""

_ARGILLA = """\
Records with their responses to a ranking question, as .json or .jsonl, in the
layout of the server's API, of a FeedbackDataset or of its datasets. Equal ranks
are ties; drafts and discarded responses are dropped. A ranking of k options
becomes k(k-1)/2 pairs of weight 2/k each, so that it counts as k - 1 votes.

Options such as response-1 are other items in every record, options such as
model-x the same everywhere. If names recur across records, items are therefore
named RECORD:OPTION, unless --no-prefix-record is given: merging what is not the
same would go unnoticed, while items kept apart by mistake make `urlr fit` say
that they were never compared.
"""

_MTURK = """\
Results of a batch as CSV. WorkerId becomes the annotator, WorkTimeInSeconds the
seconds, SubmitTime the time, AssignmentId the vote_id, and rows whose
AssignmentStatus is Rejected are dropped. The columns Input.* and Answer.* are
your template's own, so that a mapping file must name them.
"""

_MAPPING = """\
Any table with one comparison in a row, described by a mapping file. Every
column that the mapping names must be there; others are not looked at.
"""

_MAPPING_FILE = """\
the mapping file (TOML) says which column is what:
  item_a = "Input.left_id"
  item_b = "Input.right_id"
  outcome = "Answer.choice"   # words, translated by [outcomes]; or instead
  # winner = "Answer.best"    # the id of the item that won
  annotator = "WorkerId"      # and seconds, time, vote_id, attribute, weight
  left = "item_a"             # always on the left; or a column with its id

  [outcomes]                  # case does not matter
  left = "a"
  right = "b"
  same = "tie"
  "" = "skip"                 # an empty cell

  [drop]                      # rows that are no votes
  AssignmentStatus = ["Rejected"]

"""


def _label_studio(arguments: argparse.Namespace) -> Imported:
    from tasks.importing import import_label_studio

    return import_label_studio(
        arguments.file,
        arguments.config,
        id_fields=arguments.id_fields,
        question=arguments.question,
    )


def _argilla(arguments: argparse.Namespace) -> Imported:
    from tasks.importing import import_argilla

    return import_argilla(
        arguments.file, prefix_record=arguments.prefix_record, question=arguments.question
    )


def _preset(arguments: argparse.Namespace) -> Imported:
    from tasks.importing import PRESETS, import_flat

    return import_flat(arguments.file, PRESETS[arguments.source])


def _mapped(arguments: argparse.Namespace) -> Imported:
    from tasks.importing import MTURK, import_flat, read_mapping

    base = MTURK if arguments.source == "mturk" else None
    return import_flat(arguments.file, [read_mapping(arguments.mapping, base=base)])


@dataclass(frozen=True, slots=True)
class _Source:
    """A tool whose votes can be imported."""

    name: str
    summary: str
    about: str
    file: str
    example: str
    read: Callable[[argparse.Namespace], Imported]


_SOURCES = (
    _Source(
        "label-studio",
        "Label Studio: a project with a Pairwise tag, exported as JSON",
        _LABEL_STUDIO,
        "EXPORT.json",
        "export.json --config config.xml",
        _label_studio,
    ),
    _Source(
        "argilla",
        "Argilla: records with responses to a ranking question",
        _ARGILLA,
        "EXPORT.jsonl",
        "records.jsonl",
        _argilla,
    ),
    _Source(
        "arena",
        "Chatbot Arena: model_a, model_b, winner, judge, tstamp",
        _ARENA,
        "FILE",
        "battles.jsonl",
        _preset,
    ),
    _Source(
        "crowd-kit",
        "crowd-kit, Toloka: worker, left, right, label",
        _CROWD_KIT,
        "FILE",
        "votes.csv",
        _preset,
    ),
    _Source("evalica", "evalica: left, right, winner", _EVALICA, "FILE", "votes.csv", _preset),
    _Source(
        "preference",
        "preference sets: chosen, rejected",
        _PREFERENCE,
        "FILE",
        "pairs.parquet",
        _preset,
    ),
    _Source(
        "mturk",
        "Mechanical Turk: a batch of results, and a mapping file",
        _MTURK,
        "BATCH.csv",
        "batch.csv --mapping mapping.toml",
        _mapped,
    ),
    _Source(
        "mapping",
        "any flat table, and a mapping file",
        _MAPPING,
        "FILE",
        "votes.csv --mapping mapping.toml",
        _mapped,
    ),
)


def add_import(commands: Any, *, say: Callable[[str], None]) -> None:
    """Add `import` to the commands; `say` shows lines to whoever called it."""
    about = commands.add_parser(
        "import",
        help="turn the votes of other tools into votes for `urlr fit`",
        description=_ABOUT,
        epilog=_EXAMPLES,
    )
    sources = about.add_subparsers(title="sources", metavar="SOURCE", required=True)
    for source in _SOURCES:
        mapped = source.read is _mapped
        parser = sources.add_parser(
            source.name,
            help=source.summary,
            description=source.about,
            epilog=f"{_MAPPING_FILE if mapped else ''}examples:\n"
            f"  urlr import {source.name} {source.example} --out votes.parquet\n",
        )
        parser.set_defaults(run=partial(_run, read=source.read, say=say), source=source.name)
        nested = source.read in (_label_studio, _argilla)
        endings = ".json or .jsonl" if nested else ".csv, .parquet, .jsonl or .json"
        parser.add_argument("file", metavar=source.file, help=f"what the tool exported: {endings}")
        parser.add_argument(
            "--out", metavar="FILE", required=True, help="file for the votes; its ending says how"
        )
        parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
        if source.read is _label_studio:
            _add_label_studio(parser)
        if source.read is _argilla:
            _add_argilla(parser)
        if mapped:
            parser.add_argument(
                "--mapping", metavar="MAPPING.toml", required=True, help="which column is what"
            )


def _add_label_studio(parser: Any) -> None:
    parser.add_argument(
        "--config", metavar="CONFIG.xml", required=True, help="the project's labelling config"
    )
    parser.add_argument(
        "--id-fields",
        metavar="LEFT,RIGHT",
        type=_two_names,
        help="data fields that hold the ids of the two items (default: the fields shown)",
    )
    _add_question(parser)


def _add_argilla(parser: Any) -> None:
    parser.add_argument(
        "--prefix-record",
        action=argparse.BooleanOptionalAction,
        help="name items RECORD:OPTION, or by the option alone (default: with the record's id if "
        "option names recur across records)",
    )
    _add_question(parser)


def _add_question(parser: Any) -> None:
    parser.add_argument(
        "--question",
        metavar="NAME",
        help="which question, if there are several; it becomes the attribute of the votes",
    )


def _run(
    arguments: argparse.Namespace,
    *,
    read: Callable[[argparse.Namespace], Imported],
    say: Callable[[str], None],
) -> None:
    from flows.messages import message
    from tasks.write import WriteError, published_file, write_table

    out = Path(arguments.out)
    given = [vars(arguments).get(name) for name in ("file", "config", "mapping")]
    for source in (Path(path) for path in given if path is not None):
        if out.exists() and source.exists() and out.samefile(source):
            raise WriteError(message("out_is_read", path=out))
    with published_file(out, overwrite=arguments.overwrite) as workplace:
        imported = read(arguments)
        write_table(imported.votes, workplace)
    shown_out = shlex.quote(arguments.out)
    columns = ", ".join(imported.votes.columns)
    say(imported.summary())
    count = len(imported.votes)
    say(message("votes_written", count=count, path=shown_out, columns=columns))
    say(message("fit_next", path=shown_out))


def _two_names(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not two names with a comma between them")
    return names[0], names[1]
