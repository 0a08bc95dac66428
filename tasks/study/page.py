"""The page of a study: one file with everything in it, without scripts; nothing loads from outside.

All text is escaped, and the page's policy lets nothing run even if some were not.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from tasks.report.shell import NO_ICON, asset
from tasks.study.content import (
    VERDICTS,
    BicCell,
    ClaimLine,
    CostLine,
    ExperimentPart,
    StudyContent,
    bic_cells,
    bic_note,
    means_table,
    one_line,
    places,
    verdict_counts,
    with_error,
    with_minus,
)
from tasks.study.figures import svg_of
from tasks.study.looks import evidence_words
from tasks.study.records import STAND_IN, Chart, Example
from urlr.ids import plural, shown

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_LONG = 24
"""Rows from which on a table is folded."""
_LARGEST_NUMBERS = 1500
"""Numbers of a figure from which on they are in its CSV alone."""
_SHADES = ((0.02, "d0"), (0.1, "d1"), (0.3, "d2"), (float("inf"), "d3"))
"""Largest difference to the paper's, of either rate, and the class of the cell."""
_KINDS = {"lines": "Line chart", "bars": "Bar chart", "points": "Scatter plot"}
_NUMBER, _NAME = ' class="number"', ' class="name"'
_NUMERIC = re.compile(r"([+−-]?[\d.,]+( ± [\d.,]+)?%?)?")


def study_page(content: StudyContent) -> bytes:
    """The whole page."""
    sections = [
        ("claims", "Claims of the paper", _claims(content.claims)),
        ("bic", "BIC's choice, beside the paper's table", _bics(content.bic)),
        *(
            (f"experiment-{k}", part.title, _part(part))
            for k, part in enumerate(content.parts, start=1)
        ),
        ("cost", "What it cost", _costs(content.costs, content.cost_note)),
    ]
    sections = [section for section in sections if section[2]]
    contents = "".join(
        f'<li><a href="#{place}">{_text(heading)}</a></li>' for place, heading, _ in sections
    )
    body = "\n".join(
        f'<section class="part" id="{place}">\n<h2>{_text(heading)}</h2>\n{inside}\n</section>'
        for place, heading, inside in sections
    )
    lines = "".join(f"<li>{_text(line)}</li>" for line in content.lines)
    counts = verdict_counts(content.claims)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n{NO_ICON}\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{_text(shown(content.title, 200))}</title>\n"
        f"<style>\n{asset('page.css')}\n{_style()}</style>\n</head>\n<body>\n"
        f'<header class="top"><h1>{_text(content.title)}</h1>'
        f'<span class="soft">{_text(content.when)} {_badge(content.kind + " study", "calm")}'
        "</span></header>\n<main>\n"
        + (f'<p class="lead">{_text(counts)}</p>\n' if counts else "")
        + (f'<ul class="said">{lines}</ul>\n' if lines else "")
        + f'<nav class="contents" aria-label="Contents"><ol>{contents}</ol></nav>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    ).encode()


def _claims(claims: Sequence[ClaimLine]) -> str:
    if not claims:
        return ""
    heads = ("#", "Claim", "Where", "Verdict", "What was measured", "Evidence", "Why")
    rows = []
    for one in claims:
        tone, sign = VERDICTS.get(one.verdict, ("calm", "·"))[:2]
        cells = (
            ("number", str(one.number)),
            ("why", _text(one.claim)),
            ("", _text(one.where)),
            ("", _badge(f"{sign} {one.verdict}", f"solid {tone}")),
            ("why", _text(one.measured)),
            (
                "stand-in" if one.evidence.startswith(STAND_IN) else "",
                _text(evidence_words(one.evidence)),
            ),
            ("why", _text(one.why)),
        )
        rows.append(
            "<tr>"
            + "".join(
                f'<td class="{kind}" data-title="{head}"><span>{inside}</span></td>'
                for head, (kind, inside) in zip(heads, cells, strict=True)
            )
            + "</tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    rules = "".join(f"<dt>{one.number}</dt><dd>{_text(one.rule)}</dd>" for one in claims)
    return (
        f'<div class="scroll stack"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>\n"
        f'<h3>How each claim was judged</h3>\n<dl class="rules">{rules}</dl>'
    )


def _bics(tables: Sequence[tuple[str, pd.DataFrame]]) -> str:
    return "\n".join(
        f"<h3>{_text(heading)}</h3>\n{_bic(bic)}" for heading, bic in tables if not bic.empty
    )


def _bic(bic: pd.DataFrame) -> str:
    cells, columns = bic_cells(bic), places(bic, "onr")
    rows = []
    for p in places(bic, "p"):
        inside = []
        for onr in columns:
            cell = cells.get((p, onr))
            lines = [] if cell is None else [line.split(" ", 1) for line in cell.lines()]
            said = "".join(f"<span><i>{word}</i> {figures}</span>" for word, figures in lines)
            inside.append(f'<td class="{_shade(cell)}">{said}</td>')
        rows.append(f'<tr><th scope="row">p = {p:g}</th>{"".join(inside)}</tr>')
    heads = "".join(f'<th scope="col">ONR = {onr:g}</th>' for onr in columns)
    limits = [f"at most {limit:g}" for limit, _ in _SHADES[:-1]] + [f"above {_SHADES[-2][0]:g}"]
    shades = "".join(
        f'<span><b class="{shade}"></b>{words}</span>'
        for words, (_, shade) in zip(limits, _SHADES, strict=True)
    )
    return (
        f"<p>{_text(bic_note(bic))}</p>\n"
        f'<p class="shades small"><span>Larger of the two differences:</span>{shades}</p>\n'
        f'<div class="scroll fitting"><table class="bic"><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _shade(cell: BicCell | None) -> str:
    return next(shade for limit, shade in _SHADES if cell.largest <= limit) if cell else ""


def _part(part: ExperimentPart) -> str:
    tone = "stand-in" if part.evidence.startswith(STAND_IN) else "good"
    name = f'<span class="soft small">experiment "{_text(part.name)}"</span>'
    said = [f"<p>{_badge(evidence_words(part.evidence), tone)} {name}</p>"]
    said += [f"<p>{_text(one)}</p>" for one in part.about.split("\n\n") if one.strip()]
    if part.charts:
        said.append(f'<div class="figures">{"".join(map(_figure, part.charts))}</div>')
    said += [_titled(title, table) for title, table in part.tables]
    for confirmed, words in (
        (True, "Pruned, and the truth confirms that the vote was wrong"),
        (False, "Pruned, but the truth does not confirm that the vote was wrong"),
    ):
        examples = [one for one in part.examples if one.confirmed == confirmed]
        if examples:
            said.append(_titled(words, _examples(examples)))
    return "\n".join(said)


def _figure(chart: Chart) -> str:
    picture = base64.b64encode(svg_of(chart)).decode()
    series = ", ".join(dict.fromkeys(chart.table["series"].astype(str)))
    alt = (
        f"{_KINDS[chart.kind]}: {chart.title}. {chart.y} against {chart.x}, for {series}. "
        f"Evidence: {evidence_words(chart.evidence)}."
    )
    numbers = ""
    if chart.kind != "points" and 0 < len(chart.table) <= _LARGEST_NUMBERS:
        words = "Numbers of this figure: mean ± standard error"
        numbers = f"<details><summary>{words}</summary>{_table(means_table(chart))}</details>"
    return (
        f'<figure><div class="picture" tabindex="0" role="group" aria-label="{_text(chart.title)}">'
        f'<img src="data:image/svg+xml;base64,{picture}" alt="{_text(alt)}"></div>'
        + (f"<figcaption>{_text(chart.caption)}</figcaption>" if chart.caption else "")
        + f"{numbers}</figure>"
    )


def _examples(examples: Sequence[Example]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "pruned as number": [one.place + 1 for one in examples],
            "attribute": [one.attribute for one in examples],
            "said to be more": [one.said_more for one in examples],
            "said to be less": [one.said_less for one in examples],
            "truth: less minus more": [with_minus(f"{one.gap:+.3g}") for one in examples],
        }
    )


def _costs(costs: Sequence[CostLine], note: str) -> str:
    if not costs and not note:
        return ""
    total = sum(one.cpu_seconds for one in costs)
    lines = [*costs, CostLine("All", sum(one.units for one in costs), total)]
    table = pd.DataFrame(
        {
            "experiment": [line.experiment for line in lines],
            "tasks": [line.units for line in lines],
            "CPU seconds": [f"{line.cpu_seconds:,.1f}" for line in lines],
            "CPU seconds per task": [
                f"{line.cpu_seconds / line.units:,.2f}" if line.units else "" for line in lines
            ],
            "share of all": [f"{line.cpu_seconds / total:.0%}" if total else "" for line in lines],
        }
    )
    said = "".join(f"<p>{_text(one)}</p>" for one in note.split("\n\n") if one.strip())
    return (f'<div class="totalled">{_table(table)}</div>' if costs else "") + said


def _titled(title: str, table: pd.DataFrame) -> str:
    inside = _table(table)
    if len(table) <= _LONG:
        return f"<h3>{_text(title)}</h3>{inside}"
    rows = plural(len(table), "row")
    return f"<details><summary>{_text(title)} ({rows})</summary>{inside}</details>"


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as it is shown."""

    name: str
    cells: list[str]
    number: bool


def _table(table: pd.DataFrame) -> str:
    """A table with its numbers made readable; an index that says something comes first."""
    columns = list(_columns(table))
    kinds = [_NUMBER if column.number else _NAME for column in columns]
    rows = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{_text(one)}</td>" for kind, one in zip(kinds, row, strict=True))
        + "</tr>"
        for row in zip(*(column.cells for column in columns), strict=True)
    )
    heads = "".join(
        f'<th scope="col"{_NUMBER if column.number else ""}>{_text(column.name)}</th>'
        for column in columns
    )
    return (
        f'<div class="scroll fitting"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _columns(table: pd.DataFrame) -> Iterator[_Column]:
    if not isinstance(table.index, pd.RangeIndex):
        for k, name in enumerate(table.index.names):
            values = pd.Series(table.index.get_level_values(k))
            yield _shown_column("" if name is None else str(name), values)
    names = [str(name) for name in table.columns]
    together = "mean" in names and "error" in names
    for k, name in enumerate(names):
        if together and name == "mean":
            both = zip(table["mean"], table["error"], strict=True)
            yield _Column("mean ± standard error", [with_error(*one) for one in both], True)
        elif not (together and name == "error"):
            yield _shown_column(name, table.iloc[:, k])


def _shown_column(name: str, column: pd.Series[Any]) -> _Column:
    """Numbers of a column have the same decimals, unless they are of very different size."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        texts = ["" if pd.isna(one) else str(one) for one in column]
        return _Column(name, texts, all(map(_is_number, texts)) and any(texts))
    values = column.to_numpy(np.float64, na_value=np.nan)
    size = np.abs(values[np.isfinite(values) & (values != 0)])
    if not size.size or (size == np.round(size)).all():
        form = ",.0f"
    elif size.max() / size.min() > 1e5 or size.max() < 1e-3:
        form = ".3g"
    else:
        form = f",.{int(np.clip(3 - np.floor(np.log10(size.max())), 0, 4))}f"
    texts = ["" if np.isnan(one) else with_minus(format(one, form)) for one in values]
    return _Column(name, texts, True)


def _is_number(text: str) -> bool:
    return _NUMERIC.fullmatch(text) is not None


def _badge(text: str, kind: str) -> str:
    return f'<span class="state {kind}">{_text(text)}</span>'


def _text(text: str) -> str:
    return escape(one_line(text))


@cache
def _style() -> str:
    return (files("tasks.study") / "study.css").read_text(encoding="utf-8")
