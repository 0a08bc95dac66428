"""Charts and contents of a study for tests, with any text in every place."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tasks.study.content import ClaimLine, CostLine, ExperimentPart, StudyContent
from tasks.study.learner import RAW, URLR
from tasks.study.records import STAND_IN, Chart, Example

REAL = "FG-NET ages and features, simulated votes"
HOSTILE = (
    "<script>window.harmed = 1</script>",
    "\"><img src=x onerror='window.harmed = 1'>",
    "</style></title></svg><script>window.harmed = 1</script>",
    "$\\frac{1}$ and $$x$",
    "_hidden",
    "\x1b[31mred\x1b[0m\x00",
    "\u202egnp.exe",
    '=HYPERLINK("http://evil.example")',
    "a | b\nc",
    "[x](javascript:window.harmed=1) ![y](http://evil.example/y.png) `code`",
    "字 🎈",
    "",
    "w" * 500,
)


def table_of(series, places, *, error=0.01) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(name, at, rng.random(), error, 10) for name in series for at in places]
    return pd.DataFrame(rows, columns=["series", "at", "mean", "error", "n"])


def chart_of(kind="lines", *, text="Distance", evidence=STAND_IN, **changes) -> Chart:
    places = ["street", "open"] if kind == "bars" else [1.0, 2.0, 4.5]
    chart = Chart(
        name="example",
        title=text,
        kind=kind,
        x=text,
        y=text,
        table=table_of([URLR, RAW, text], places),
        evidence=evidence,
        marks=() if kind == "bars" else ((2.0, text), (2.1, text)),
        caption=text,
    )
    return replace(chart, **changes)


def content_of(text="text", *, verdict="holds") -> StudyContent:
    claim = ClaimLine(1, text, text, verdict, text, text, text, text)
    examples = [Example(text, text, text, confirmed, 0.25, 3) for confirmed in (True, False)]
    charts = [chart_of(kind, text=text) for kind in ("lines", "bars", "points")]
    tables = [(text, pd.DataFrame({text: [text], "value": [0.5]}))]
    part = ExperimentPart(text, text, text, text, charts, tables, examples)
    return StudyContent(
        text, text, text, [text], [claim], [], [part], [CostLine(text, 2, 3.0)], text
    )


def bic_table() -> pd.DataFrame:
    rows = [
        (p, onr, 0.5, 0.25, 0.01, -0.25, 0.02, 0.02, 0.001, 0.0, 20)
        for p in (0.1, 0.2)
        for onr in (4, 5, 6)
    ]
    names = "p onr paper_tpr tpr tpr_error tpr_difference paper_fpr fpr fpr_error fpr_difference n"
    return pd.DataFrame(rows, columns=names.split())
