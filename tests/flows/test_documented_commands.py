"""What the documents tell people to type or to set is what `urlr` takes."""

import ast
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from flows.cli import _parser
from urlr.settings import FitSettings

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/**/*.md")])
AUTOMATIONS = {
    yaml.safe_load(path.read_text("utf-8"))["name"]
    for path in ROOT.glob("deploy/automations/*.yaml")
}
STANDS_FOR = {"VERSION": "7", "SOURCE": "arena"}
"""Words in capitals that only some values can take the place of."""
_BEFORE = r"(?:\$ |[A-Z_]+=\S+ |[A-Z][a-z ]+: |docker compose exec [\w-]+ )?(?:\.venv/bin/)?"
_LINE = re.compile(rf"^ {{4,}}{_BEFORE}urlr ([a-z-].*)$", re.MULTILINE)
_INLINE = re.compile(r"`(urlr [a-z-][^`]*)`")


def commands(text: str) -> Iterator[str]:
    """What follows `urlr` in a document: in lines of indented blocks, and between backticks.

    A command that is only named, like `urlr rollback`, is asked for its help; so are several of
    them, `urlr status | models`. The names of automations also begin with urlr.
    """
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for line in _LINE.findall(text):
        said = re.split(r"\s#", line)[0].strip()
        names = said.split(" | ")
        yield from (f"{name} --help" for name in names) if len(names) > 1 else [said]
    for said in _INLINE.findall(text):
        if said not in AUTOMATIONS:
            command = said.removeprefix("urlr ")
            yield command if " " in command else f"{command} --help"


def is_taken(command: str) -> bool:
    whole = re.sub(r"[][]", "", command)  # what may be left out is given
    words = [STANDS_FOR.get(word, word) for word in shlex.split(whole)]
    try:
        return _parser().parse_args(words).run is not None
    except SystemExit as end:
        return end.code in (None, 0)


FOUND = sorted(
    {
        (path.relative_to(ROOT).as_posix(), command)
        for path in DOCUMENTS
        for command in commands(path.read_text("utf-8"))
    }
)


@pytest.mark.parametrize(("document", "command"), FOUND)
def test_every_command_in_the_documents_is_one_of_ours(document, command):
    assert is_taken(command), f"{document} has: urlr {command}"


@pytest.mark.parametrize("wrong", ["night failed", "rollback", "nightly --as-off 2026-11-01"])
def test_what_the_command_does_not_take_is_found(wrong):
    assert not is_taken(wrong)


def test_commands_are_found_in_blocks_and_between_backticks_and_automations_are_none():
    text = (
        "Use `urlr rollback` or `urlr models A`, or wait for `urlr night failed`.\n\n"
        "    urlr status --store S   # how it went\n"
        "    A=b urlr nightly\n"
        "    urlr models | serve     # others\n"
        "    kubectl --namespace urlr create\n\n```\nurlr nothing `\n```\n"
    )
    assert "urlr night failed" in AUTOMATIONS
    assert list(commands(text)) == [
        "status --store S",
        "nightly",
        "models --help",
        "serve --help",
        "rollback --help",
        "models A",
    ]


def test_the_runbook_the_pipeline_and_the_first_page_all_have_commands():
    assert {"README.md", "docs/nightly.md", "docs/operations.md"} <= {name for name, _ in FOUND}


def test_the_settings_of_the_first_page_are_those_of_the_method():
    """Each name is a setting, none is left out, and defaults written as values are so."""
    page = (ROOT / "README.md").read_text()
    table = page[page.index("| setting | default |") : page.index("## On the command line")]
    told: set[str] = set()
    for row in table.splitlines()[2:]:
        if not row.startswith("| "):
            continue
        names, default = row.split(" | ")[:2]
        for name in re.findall(r"`(\w+)`", names):
            told.add(name)
            with suppress(ValueError, SyntaxError):  # else it is told in words
                assert getattr(FitSettings(), name) == ast.literal_eval(default.strip("`")), name
    assert told == {field.name for field in fields(FitSettings)}
