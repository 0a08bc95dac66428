"""What people read, written down as one page: docs/wording.md, made by `make wording`.

Help texts, consoles, summaries, pages and every sentence of the catalogues, so that prose is
reviewed as prose, in the diff of this page. Figures are all 0: they are for other tests.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import yaml

from tasks.results import Night

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "wording.md"
HEAD = """\
# What people read

Made by `make wording`; never edited by hand. Figures are all 0. Whoever changes a sentence reviews
it here, in the diff of this page.
"""
PACKAGES = ("urlr", "tasks", "flows")
COMMANDS = (
    "",
    *("fit", "score", "import", "import mapping", "import label-studio", "nightly", "status"),
    *("models", "rollback", "serve", "report", "doctor", "tidy", "study"),
)

Text = Callable[[], str]


def _run(*arguments: str) -> str:
    """What the command says, run here."""
    from flows import cli

    said = io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        contextlib.suppress(SystemExit),  # of argparse
    ):
        cli.main(arguments)
    return said.getvalue()


def without_figures(text: str) -> str:
    """The text with 0 for every figure, and single spaces."""
    text = re.sub(r"\d+(?:[.,:]\d+)*", "0", text)
    text = re.sub(r"[+-]0\b", "0", text)
    return re.sub(r"[ \t]+", " ", text).strip()


def _catalogue(package: str) -> str:
    messages: dict[str, str] = import_module(f"{package}.messages").MESSAGES
    return "\n".join(f"{code}: {sentence}" for code, sentence in messages.items())


def _fit() -> str:
    from urlr.simulate import AnnotatorShares, crowd

    made = crowd(
        rng=np.random.default_rng(0),
        n_items=40,
        n_votes=1500,
        n_annotators=20,
        shares=AnnotatorShares(careless=0.1, reversed=0.1),
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        made.votes.to_csv("votes.csv", index=False)
        made.features.rename_axis("item").to_csv("features.csv")
        said = _run("fit", "votes.csv", "features.csv", "--out", "ranking", "--replicates", "5")
        summary = Path("ranking/summary.txt").read_text()
    return f"{without_figures(said)}\n\nsummary.txt\n\n{without_figures(summary)}"


def _short_night() -> Night:
    """A night with one attribute for everything that can become of one."""
    from example_nights import example_night

    night = example_night(60)
    ends = {one.outcome: one for one in reversed(night.entries.values())}
    return replace(night, entries={one.attribute: one for one in ends.values()})


def _night() -> str:
    from example_nights import STORE

    from flows.night_report import night_text, summary_markdown

    night = _short_night()
    return without_figures(f"{night_text(night, store=STORE)}\n\n{summary_markdown(night)}")


def _alerts() -> str:
    """What alerts tell, from the files of deploy/."""
    said = []
    for path in sorted((ROOT / "deploy").rglob("*.y*ml")):
        for document in yaml.safe_load_all(path.read_text()):
            said += [f"{path.relative_to(ROOT)}: {text}" for text in _annotations(document)]
    return without_figures("\n".join(said))


def _annotations(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "alert" in node:
            yield from (f"{node['alert']}: {text}" for text in node.get("annotations", {}).values())
        for child in node.values():
            yield from _annotations(child)
    elif isinstance(node, list):
        for child in node:
            yield from _annotations(child)


SECTIONS: dict[str, Text] = {
    **{
        f"urlr {name} --help".replace("  ", " "): lambda name=name: _run(*name.split(), "--help")  # type: ignore[misc]
        for name in COMMANDS
    },
    "urlr fit": _fit,
    "urlr nightly": _night,
    "Alerts": _alerts,
    **{
        f"Sentences of {name}": lambda name=name: _catalogue(name)  # type: ignore[misc]
        for name in PACKAGES
    },
}
"""What can be made without a browser, by heading."""


def _visible(data: bytes, files: dict[str, bytes]) -> str:
    """The text of a page as a browser shows it."""
    from launching import launched

    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        for name, content in {"page.html": data, **files}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        page = browser.new_page()
        page.goto((Path(folder) / "page.html").as_uri())
        page.wait_for_selector("body[data-ready], body[data-drawn]")
        text = page.locator("body").inner_text()
    lines = [without_figures(line) for line in text.splitlines()]
    return "\n".join(dict.fromkeys(line for line in lines if line))  # rows of tables are alike


def _overview() -> str:
    from example_nights import STORE, example_digests

    from tasks.report.overview import overview_page
    from tasks.report.shell import library_files

    night = _short_night()
    data = overview_page(
        night, example_digests(60), store=STORE, library="", links={}, now=night.finished
    )
    return _visible(data, library_files())


def _attribute() -> str:
    from example_pages import example_head, example_page

    from tasks.report.attribute_page import single_page

    return _visible(single_page(example_page(30, 12, 600), example_head())["report.html"], {})


PAGES: dict[str, Text] = {"The overview of a night": _overview, "An attribute's page": _attribute}
"""What needs a browser."""


def section(heading: str, text: str) -> str:
    """A part of the page."""
    fence = "````"
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return f"## {heading}\n\n{fence}text\n{lines}\n{fence}\n"


def written() -> dict[str, str]:
    """The parts of the page as they are, by heading."""
    parts = re.split(r"^(?=## )", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part.rstrip("\n") + "\n" for part in parts}


def main() -> None:
    """Write the page anew."""
    parts = [section(heading, make()) for heading, make in (SECTIONS | PAGES).items()]
    PAGE.write_text("\n".join([HEAD, *parts]))


if __name__ == "__main__":
    for room in ("browser", "tasks", "."):
        sys.path.insert(0, str(ROOT / "tests" / room))
    main()
