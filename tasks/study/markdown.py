"""A study as Markdown: for the documentation, with its pictures beside it.

Text is escaped: none of it can leave its cell or become markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from tasks.study.content import (
    VERDICTS,
    ClaimLine,
    StudyContent,
    bic_cells,
    bic_note,
    one_line,
    places,
    verdict_counts,
)
from tasks.study.looks import evidence_words

_SIGNS = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\`*_[]|$~"} | {"<": "&lt;", "&": "&amp;", ">": "&gt;"}
)


def study_markdown(content: StudyContent) -> str:
    """The study as a text with pictures beside it, for the documentation."""
    said = map(_escaped, [verdict_counts(content.claims), *content.lines])
    text = [
        f"# {_escaped(content.title)}",
        "",
        f"Made by `urlr study{' --quick' if content.kind == 'quick' else ''}` on "
        f"{_escaped(content.when)}. {' '.join(said)}",
        "",
        "## Claims",
        "",
        claims_markdown(content.claims),
    ]
    for heading, bic in content.bic:
        text += ["", f"## BIC's choice, beside the paper's table: {_escaped(heading.lower())}", ""]
        text.append(bic_markdown(bic))
    for part in content.parts:
        about = "\n\n".join(map(_escaped, part.about.split("\n\n")))
        text += ["", f"## {_escaped(part.title)}", "", f"{about} Data: {_escaped(part.evidence)}."]
        for chart in part.charts:
            title = _escaped(chart.title)
            caption = f" {_escaped(chart.caption)}" if chart.caption else ""
            text += ["", f"![{title}](figures/{chart.name}.svg)", "", f"{title}.{caption}"]
        for title, table in part.tables:
            text += ["", f"{_escaped(title)}:", "", _frame(table)]
    return "\n".join(text) + "\n"


def claims_markdown(claims: Sequence[ClaimLine]) -> str:
    """The claims as a pipe table, and below it how each was judged."""
    heads = ["#", "Claim", "Where", "Verdict", "Measured", "Evidence", "Why"]
    rows = [
        [
            str(one.number),
            _escaped(one.claim),
            _escaped(one.where),
            f"{VERDICTS.get(one.verdict, ('', '·'))[1]} **{_escaped(one.verdict)}**",
            *map(_escaped, (one.measured, evidence_words(one.evidence), one.why)),
        ]
        for one in claims
    ]
    table = _pipe_table(heads, rows)
    rules = "\n".join(f"- **{one.number}.** {_escaped(one.rule)}" for one in claims)
    return f"{table}\n\nHow each claim was judged:\n\n{rules}\n"


def bic_markdown(bic: pd.DataFrame) -> str:
    """The table of BIC's choices as a pipe table: ours, the paper's and the difference."""
    cells, columns = bic_cells(bic), places(bic, "onr")
    rows = [
        [f"**p = {p:g}**"]
        + ["<br>".join(cells[p, onr].lines()) if (p, onr) in cells else "" for onr in columns]
        for p in places(bic, "p")
    ]
    table = _pipe_table(["", *(f"ONR = {onr:g}" for onr in columns)], rows)
    return f"{table}\n\n{bic_note(bic)}\n"


def _frame(table: pd.DataFrame) -> str:
    rows = ([_escaped(str(cell)) for cell in row] for row in table.itertuples(index=False))
    return _pipe_table([_escaped(str(name)) for name in table.columns], rows)


def _pipe_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Of cells that are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    return one_line(text).translate(_SIGNS)
