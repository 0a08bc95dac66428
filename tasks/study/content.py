"""What a study says, before it is a page or a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.messages import message
from tasks.study.records import Chart, Example
from urlr.ids import shown

VERDICTS = {
    "holds": ("good", "✓", "hold", "holds"),
    "holds partly": ("warn", "◐", "hold partly", "holds partly"),
    "does not hold": ("bad", "✗", "do not hold", "does not hold"),
    "cannot be judged": ("calm", "?", "cannot be judged", "cannot be judged"),
}
"""Class of the badge, its sign, and the word in a count of several and of one."""

_LONGEST = 4000


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
    """What is shown of an experiment."""

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
    """All that a study says."""

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
    return message("claims_judged", count=len(claims), verdicts=listed)


def means_table(chart: Chart) -> pd.DataFrame:
    """The numbers of a chart as people read them: a row per place, a column per series."""
    at = list(dict.fromkeys(chart.table["at"]))
    if chart.kind != "bars":
        at.sort()
    cells = {
        (str(series), place): with_error(mean, error)
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


@dataclass(frozen=True, slots=True)
class BicCell:
    """True and false positive rates of one setting."""

    ours: str
    paper: str
    difference: str
    error: str
    largest: float
    """Difference, of either rate."""

    def lines(self) -> list[str]:
        """What the cell says: a word and numbers each."""
        return [
            f"ours {self.ours}",
            f"paper {self.paper}",
            f"diff. {self.difference}",
            *([f"± {self.error}"] if self.error else []),
        ]


def bic_cells(bic: pd.DataFrame) -> dict[tuple[float, float], BicCell]:
    """Of a table of BIC's choices, by p and ONR."""
    cells = {}
    for row in bic.to_dict("records"):
        both = [float(row["tpr_difference"]), float(row["fpr_difference"])]
        largest = float(np.nanmax(np.abs(both))) if np.isfinite(both).any() else 0.0
        errors = [float(row["tpr_error"]), float(row["fpr_error"])]
        cells[float(row["p"]), float(row["onr"])] = BicCell(
            ours=f"{_rate(row['tpr'])} / {_rate(row['fpr'])}",
            paper=f"{_rate(row['paper_tpr'])} / {_rate(row['paper_fpr'])}",
            difference=" / ".join(_rate(one, signed=True) for one in both),
            error=" / ".join(map(_rate, errors)) if np.isfinite(errors).all() else "",
            largest=round(largest, 9),
        )
    return cells


def bic_note(bic: pd.DataFrame) -> str:
    """How to read that table."""
    trials = sorted({int(n) for n in bic["n"]})
    over = " to ".join(str(n) for n in dict.fromkeys((trials[0], trials[-1])))
    return (
        "True / false positive rate of the votes that BIC calls outliers; difference: ours less "
        f"the paper's; ±: standard errors of ours, over {over} trials. "
        "p: probability of an outlier; ONR: outlier-to-noise ratio."
    )


def places(table: pd.DataFrame, column: str) -> list[float]:
    """Numbers of a column, each once, in order."""
    return sorted({float(one) for one in table[column]})


def with_error(mean: float, error: float) -> str:
    """As many decimals as the error deserves."""
    if not np.isfinite(mean):
        return ""
    if not np.isfinite(error):
        return with_minus(f"{mean:.4g}")
    decimals = int(np.clip(1 - np.floor(np.log10(error)), 0, 5)) if error > 0 else 4
    return with_minus(f"{mean:.{decimals}f} ± {error:.{decimals}f}")


def _rate(value: float, *, signed: bool = False) -> str:
    if not np.isfinite(value):
        return "–"
    value = round(value, 3) or 0.0
    return with_minus(f"{value:{'+' if signed and value else ''}.3f}")


def with_minus(text: str) -> str:
    """Numbers with the sign that print has for below zero."""
    return text.replace("-", "−")


def one_line(text: str) -> str:
    """Text without signs that would turn or hide what is around them."""
    return shown(" ".join(text.split()), _LONGEST)
