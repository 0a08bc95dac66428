"""The page of a study: one file with everything in it, without scripts; nothing loads from outside.

All text is escaped, and the page's policy lets nothing run even if some were not.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from tasks.report.shell import NO_ICON, asset
from tasks.study.figures import evidence_words, svg_of
from tasks.study.records import STAND_IN, Chart, Example
from urlr.ids import plural, shown

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
VERDICTS = {
    "holds": ("good", "✓", "hold", "holds"),
    "holds partly": ("warn", "◐", "hold partly", "holds partly"),
    "does not hold": ("bad", "✗", "do not hold", "does not hold"),
    "cannot be judged": ("calm", "?", "cannot be judged", "cannot be judged"),
}
"""Class of the badge, its sign, and the word in a count of several and of one."""

_LONG = 24
"""Rows from which on a table is folded."""
_LARGEST_NUMBERS = 1500
"""Numbers of a figure from which on they are in its CSV alone."""
_SHADES = ((0.02, "d0"), (0.1, "d1"), (0.3, "d2"), (float("inf"), "d3"))
"""Largest difference to the paper's, of either rate, and the class of the cell."""
_MARKDOWN = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\`*_[]|$~"} | {"<": "&lt;", "&": "&amp;", ">": "&gt;"}
)
_KINDS = {"lines": "Line chart", "bars": "Bar chart", "points": "Scatter plot"}
_MINUS = "−"
_NUMBER, _NAME = ' class="number"', ' class="name"'
_LONGEST = 4000
_NUMERIC = re.compile(r"([+−-]?[\d.,]+( ± [\d.,]+)?%?)?")
_STYLE = """
main, header.top { overflow-wrap: anywhere; }
h2 { margin-top: 44px; }
.state { white-space: normal; }
td .state { white-space: nowrap; }
.state.stand-in { color: #7a4700; background: #fff1d6; border-color: #b36b00; font-weight: 600; }
td.stand-in { color: #7a4700; font-weight: 600; }
.state.solid { color: #fff; border-color: transparent; font-weight: 600; }
.state.solid.good { background: var(--green); } .state.solid.bad { background: var(--red); }
.state.solid.warn { background: #94590a; } .state.solid.calm { background: var(--soft); }
nav.contents { border: 1px solid var(--line); border-radius: 8px; padding: 10px 16px;
  background: var(--pale); margin: 16px 0; columns: 2 320px; column-gap: 32px; }
nav.contents ol { margin: 0; padding-left: 1.6em; }
nav.contents li { padding: 2px 0; break-inside: avoid; }
ul.said { min-height: 0; padding-left: 1.3em; max-width: 78ch; }
ul.said li { padding: 2px 0; }
dl.rules { display: grid; grid-template-columns: 2.4em 1fr; gap: 4px 0;
  max-width: 96ch; margin: 8px 0; }
dl.rules dt { color: var(--soft); text-align: right; padding-right: 10px; }
dl.rules dd { margin: 0; overflow-wrap: anywhere; }
section.part { scroll-margin-top: 8px; }
.figures { display: grid; gap: 0 24px; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(560px, 100%), 1fr)); }
figure { margin: 14px 0 18px; max-width: 760px; min-width: 0; }
figure .picture { overflow-x: auto; border: 1px solid var(--line);
  border-radius: 8px; padding: 8px; }
figure img { display: block; width: 100%; height: auto; }
figcaption { margin-top: 6px; max-width: 78ch; color: var(--soft); font-size: 14px;
  overflow-wrap: anywhere; }
details { margin: 8px 0; }
summary { cursor: pointer; color: var(--blue); }
details .scroll { margin-top: 6px; max-height: 480px; overflow-y: auto; }
.scroll { margin: 6px 0 14px; }
.scroll > table { min-width: min-content; }
.fitting { width: fit-content; max-width: 100%; }
td, th { overflow-wrap: break-word; }
#claims td.why { min-width: 200px; max-width: none; }
table.bic td, table.bic th { text-align: center; padding: 5px 9px; }
table.bic th[scope=row] { background: var(--pale); white-space: nowrap; vertical-align: middle;
  position: sticky; left: 0; }
table.bic td { white-space: nowrap; border-left: 1px solid var(--line); line-height: 1.35; }
table.bic td span { display: grid; grid-template-columns: 2.9em 1fr; text-align: right; }
table.bic td i { font-style: normal; color: var(--soft); font-size: 12px; text-align: left; }
table.bic tr:hover { background: none; }
.d0 { background: #fff; } .d1 { background: #fdf1dc; } .d2 { background: #f8d9a8; }
.d3 { background: #f0b98a; }
.bic .d3 i { color: #4a4038; } .bic .d2 i { color: #4f555b; }
.shades { max-width: none; display: flex; flex-wrap: wrap; gap: 4px 16px; }
.shades b { display: inline-block; width: 1.6em; height: 1em; border: 1px solid var(--line);
  vertical-align: -2px; margin-right: 5px; }
.totalled tbody tr:last-child td { font-weight: 600; border-top: 2px solid var(--line); }
@media (max-width: 640px) {
  figure { margin-left: 0; margin-right: 0; }
  figure .picture { padding: 4px; }
  figure img { width: 600px; max-width: none; }
  #claims td.why { min-width: 0; }
  .stack td > * { min-width: 0; overflow-wrap: anywhere; }
}
@media print {
  @page { margin: 14mm; }
  .figures { display: block; }
  figure { break-inside: avoid; max-width: 165mm; }
  figure .picture { border: 0; padding: 0; overflow: visible; }
  figcaption { font-size: 10px; }
  .state.solid, .d0, .d1, .d2, .d3, .shades b { print-color-adjust: exact; }
  details:not([open]) { display: none; }
  details .scroll { max-height: none; overflow: visible; }
  #claims td.why { min-width: 0; }
  table.bic { font-size: 8.5px; } table.bic td, table.bic th { padding: 2px 4px; }
  table.bic td i { font-size: 8px; }
}
"""


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """A claim of the paper, and what became of it."""

    number: int
    claim: str
    where: str
    """In the paper."""
    verdict: str
    """One of `VERDICTS`."""
    measured: str
    evidence: str
    why: str
    rule: str
    """How the verdict follows from what was measured; said before anything was."""


@dataclass(frozen=True, slots=True)
class ExperimentPart:
    """What the page shows of an experiment."""

    name: str
    title: str
    about: str
    evidence: str
    charts: list[Chart]
    tables: list[tuple[str, pd.DataFrame]]
    """Headings and tables; columns named mean and error become one."""
    examples: list[Example]


@dataclass(frozen=True, slots=True)
class CostLine:
    """What an experiment took."""

    experiment: str
    units: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class StudyContent:
    """All that a page says."""

    title: str
    when: str
    kind: str
    """ "full" or "quick"."""
    lines: list[str]
    """Sentences of the summary."""
    claims: list[ClaimLine]
    bic: list[tuple[str, pd.DataFrame]]
    """Headings, and p, onr, paper_tpr, tpr, tpr_error, tpr_difference, the same of fpr; n."""
    parts: list[ExperimentPart]
    costs: list[CostLine]
    cost_note: str


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
        f"<style>\n{asset('page.css')}{_STYLE}</style>\n</head>\n<body>\n"
        f'<header class="top"><h1>{_text(content.title)}</h1>'
        f'<span class="soft">{_text(content.when)} {_badge(content.kind + " study", "calm")}'
        "</span></header>\n<main>\n"
        + (f'<p class="lead">{_text(counts)}</p>\n' if counts else "")
        + (f'<ul class="said">{lines}</ul>\n' if lines else "")
        + f'<nav class="contents" aria-label="Contents"><ol>{contents}</ol></nav>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    ).encode()


def verdict_counts(claims: Sequence[ClaimLine]) -> str:
    """'Of 19 claims, 12 hold, 3 hold partly, 1 does not hold and 3 cannot be judged.'"""
    if not claims:
        return ""
    counted = Counter(claim.verdict for claim in claims)
    said = []
    for verdict in [*VERDICTS, *sorted(counted.keys() - VERDICTS.keys())]:
        if count := counted[verdict]:
            several, one = VERDICTS.get(verdict, ("", "", verdict, verdict))[2:]
            said.append(f"{count} {one if count == 1 else several}")
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"Of {plural(len(claims), 'claim')}, {listed}."


def claims_markdown(claims: Sequence[ClaimLine]) -> str:
    """The claims as a pipe table, and below it how each was judged."""
    heads = ["#", "Claim", "Where", "Verdict", "Measured", "Evidence", "Why"]
    rows = [
        [
            str(one.number),
            _markdown(one.claim),
            _markdown(one.where),
            f"{VERDICTS.get(one.verdict, ('', '·'))[1]} **{_markdown(one.verdict)}**",
            *map(_markdown, (one.measured, evidence_words(one.evidence), one.why)),
        ]
        for one in claims
    ]
    table = _pipe_table(heads, rows)
    rules = "\n".join(f"- **{one.number}.** {_markdown(one.rule)}" for one in claims)
    return f"{table}\n\nHow each claim was judged:\n\n{rules}\n"


def bic_markdown(bic: pd.DataFrame) -> str:
    """The table of BIC's choices as a pipe table: ours, the paper's and the difference."""
    cells, columns = _bic_cells(bic), _places(bic, "onr")
    rows = [
        [f"**p = {p:g}**"]
        + ["<br>".join(cells[p, onr].lines()) if (p, onr) in cells else "" for onr in columns]
        for p in _places(bic, "p")
    ]
    table = _pipe_table(["", *(f"ONR = {onr:g}" for onr in columns)], rows)
    return f"{table}\n\n{_bic_note(bic)}\n"


def means_table(chart: Chart) -> pd.DataFrame:
    """The numbers of a chart as people read them: a row per place, a column per series."""
    at = list(dict.fromkeys(chart.table["at"]))
    if chart.kind != "bars":
        at.sort()
    cells = {
        (str(series), place): _with_error(mean, error)
        for series, place, mean, error in chart.table[["series", "at", "mean", "error"]].itertuples(
            index=False
        )
    }
    names = list(dict.fromkeys(chart.table["series"].astype(str)))
    rows = [
        [place if isinstance(place, str) else f"{place:g}"]
        + [cells.get((name, place), "") for name in names]
        for place in at
    ]
    return pd.DataFrame(rows, columns=[chart.x, *names])


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


@dataclass(frozen=True, slots=True)
class _BicCell:
    """True and false positive rates of one setting."""

    ours: str
    paper: str
    difference: str
    error: str
    shade: str

    def lines(self) -> list[str]:
        return [
            f"ours {self.ours}",
            f"paper {self.paper}",
            f"diff. {self.difference}",
            *([f"± {self.error}"] if self.error else []),
        ]


def _bic_cells(bic: pd.DataFrame) -> dict[tuple[float, float], _BicCell]:
    cells = {}
    for row in bic.to_dict("records"):
        both = [float(row["tpr_difference"]), float(row["fpr_difference"])]
        largest = float(np.nanmax(np.abs(both))) if np.isfinite(both).any() else 0.0
        errors = [float(row["tpr_error"]), float(row["fpr_error"])]
        cells[float(row["p"]), float(row["onr"])] = _BicCell(
            ours=f"{_rate(row['tpr'])} / {_rate(row['fpr'])}",
            paper=f"{_rate(row['paper_tpr'])} / {_rate(row['paper_fpr'])}",
            difference=" / ".join(_rate(one, signed=True) for one in both),
            error=" / ".join(map(_rate, errors)) if np.isfinite(errors).all() else "",
            shade=next(shade for limit, shade in _SHADES if round(largest, 9) <= limit),
        )
    return cells


def _bics(tables: Sequence[tuple[str, pd.DataFrame]]) -> str:
    return "\n".join(
        f"<h3>{_text(heading)}</h3>\n{_bic(bic)}" for heading, bic in tables if not bic.empty
    )


def _bic(bic: pd.DataFrame) -> str:
    cells, columns = _bic_cells(bic), _places(bic, "onr")
    rows = []
    for p in _places(bic, "p"):
        inside = []
        for onr in columns:
            cell = cells.get((p, onr))
            lines = [] if cell is None else [line.split(" ", 1) for line in cell.lines()]
            said = "".join(f"<span><i>{word}</i> {figures}</span>" for word, figures in lines)
            inside.append(f'<td class="{cell.shade if cell else ""}">{said}</td>')
        rows.append(f'<tr><th scope="row">p = {p:g}</th>{"".join(inside)}</tr>')
    heads = "".join(f'<th scope="col">ONR = {onr:g}</th>' for onr in columns)
    limits = [f"at most {limit:g}" for limit, _ in _SHADES[:-1]] + [f"above {_SHADES[-2][0]:g}"]
    shades = "".join(
        f'<span><b class="{shade}"></b>{words}</span>'
        for words, (_, shade) in zip(limits, _SHADES, strict=True)
    )
    return (
        f"<p>{_text(_bic_note(bic))}</p>\n"
        f'<p class="shades small"><span>Larger of the two differences:</span>{shades}</p>\n'
        f'<div class="scroll fitting"><table class="bic"><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _bic_note(bic: pd.DataFrame) -> str:
    trials = sorted({int(n) for n in bic["n"]})
    over = " to ".join(str(n) for n in dict.fromkeys((trials[0], trials[-1])))
    return (
        "True / false positive rate of the votes that BIC calls outliers; difference: ours less "
        f"the paper's; ±: standard errors of ours, over {over} trials. "
        "p: probability of an outlier; ONR: outlier-to-noise ratio."
    )


def _places(table: pd.DataFrame, column: str) -> list[float]:
    return sorted({float(one) for one in table[column]})


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
            "truth: less minus more": [_minus(f"{one.gap:+.3g}") for one in examples],
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
            yield _Column("mean ± standard error", [_with_error(*one) for one in both], True)
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
    texts = ["" if np.isnan(one) else _minus(format(one, form)) for one in values]
    return _Column(name, texts, True)


def _is_number(text: str) -> bool:
    return _NUMERIC.fullmatch(text) is not None


def _with_error(mean: float, error: float) -> str:
    """As many decimals as the error deserves."""
    if not np.isfinite(mean):
        return ""
    if not np.isfinite(error):
        return _minus(f"{mean:.4g}")
    decimals = int(np.clip(1 - np.floor(np.log10(error)), 0, 5)) if error > 0 else 4
    return _minus(f"{mean:.{decimals}f} ± {error:.{decimals}f}")


def _rate(value: float, *, signed: bool = False) -> str:
    if not np.isfinite(value):
        return "–"
    value = round(value, 3) or 0.0
    return _minus(f"{value:{'+' if signed and value else ''}.3f}")


def _minus(text: str) -> str:
    return text.replace("-", _MINUS)


def _badge(text: str, kind: str) -> str:
    return f'<span class="state {kind}">{_text(text)}</span>'


def _text(text: str) -> str:
    """Text of a page: without signs that would turn or hide what is around them."""
    return escape(shown(" ".join(text.split()), _LONGEST))


def _markdown(text: str) -> str:
    return shown(" ".join(text.split()), _LONGEST).translate(_MARKDOWN)


def _pipe_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
