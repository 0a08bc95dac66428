"""The words of the study: a unit is a Dask task, its outcome is rows, all else is made of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

STAND_IN = "stand-in"
"""Evidence of generated data that has the sizes and the noise of the paper's."""

KEY = ["experiment", "setting", "trial", "measure", "method", "at"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One trial of one setting of one experiment: one Dask task."""

    experiment: str
    setting: str
    trial: int
    quick: bool = False
    data: Path | None = None
    """Folder of the real files; None for a stand-in."""

    @property
    def name(self) -> str:
        """What people see of it, on a dashboard too."""
        return f"{self.experiment}/{self.setting}/{self.trial}"

    def rng(self, salt: str = "") -> np.random.Generator:
        """Random numbers of this trial; the same in all settings, which are compared in pairs."""
        return np.random.default_rng([self.trial, zlib.crc32(f"{self.experiment}/{salt}".encode())])


@dataclass(frozen=True, slots=True)
class Row:
    """One number."""

    measure: str
    """Such as "distance", "auc"."""
    method: str
    at: float
    """Where on the axis: density, pruning rate, error ratio; 0 where there is none."""
    value: float


@dataclass(frozen=True, slots=True)
class Example:
    """A vote that was pruned, and whether the truth confirms that it was wrong."""

    attribute: str
    said_more: str
    said_less: str
    confirmed: bool
    gap: float
    """True score of what was said to be less, less that of what was said to be more."""
    place: int
    """Place in the order of pruning, 0 first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a unit found."""

    evidence: str
    """What it rests on: `STAND_IN`, or the name of real data."""
    rows: list[Row]
    examples: list[Example] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure before it is drawn: every plotted number is in its table."""

    name: str
    """Of its files, such as "image-density"."""
    title: str
    kind: Literal["lines", "bars", "points"]
    x: str
    y: str
    table: pd.DataFrame
    """series, at (a number; for bars text), mean, error (standard error, NaN for none), n."""
    evidence: str
    marks: tuple[tuple[float, str], ...] = ()
    """Upright lines: where, and what they say."""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the paper, or of ours."""

    name: str
    title: str
    about: str
    units: Callable[[bool], Sequence[tuple[str, int]]]
    """Settings and trials; fewer if quick."""
    run: Callable[[Unit], Outcome]
    charts: Callable[[pd.DataFrame, str], list[Chart]]
    """Of the rows of this experiment, and its evidence."""
    folder: str | None = None
    """Of the real files below the data folder; None if there are none to be had."""
    check: Callable[[Path], None] | None = None
    """Raises if that folder does not hold what is needed."""
    only_real: bool = False
    """Whether there is no stand-in."""
    tables: Callable[[pd.DataFrame], list[tuple[str, pd.DataFrame]]] | None = None
    """Headings and tables beyond the numbers of the charts."""


def measured_table(outcomes: Sequence[tuple[Unit, Outcome]]) -> pd.DataFrame:
    """All rows of all units: the columns of `KEY` and value."""
    rows = [
        (unit.experiment, unit.setting, unit.trial, row.measure, row.method, row.at, row.value)
        for unit, outcome in outcomes
        for row in outcome.rows
    ]
    return pd.DataFrame(rows, columns=[*KEY, "value"])


def chosen(measured: pd.DataFrame, **only: Any) -> pd.DataFrame:
    """Rows whose columns have these values; a list allows any of its own."""
    for column, wanted in only.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        measured = measured[measured[column].isin(values)]
    return measured


def curves(
    measured: pd.DataFrame,
    *,
    by: str = "method",
    along: str = "at",
    over: str = "trial",
    **only: Any,
) -> pd.DataFrame:
    """Mean and standard error over trials, per series and place: the table of a chart.

    What one trial measured in several settings is averaged first: settings share its votes and are
    no draws of their own. Where it is the settings that are draws, as topics are, `over` says so.
    """
    rows = chosen(measured, **only)
    per_trial = rows.groupby([by, along, over], sort=False)["value"].mean()
    grouped = per_trial.groupby(level=[0, 1], sort=False)
    table = grouped.agg(["mean", "sem", "count"]).reset_index()
    table.columns = pd.Index(["series", "at", "mean", "error", "n"])
    return table


@dataclass(frozen=True, slots=True)
class Paired:
    """A mean over trials, mostly of a difference between two methods on the same ones."""

    mean: float
    error: float
    """Standard error; NaN with fewer than two trials."""
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}" if self.n > 1 else f"{self.mean:+.4f}"

    @property
    def level(self) -> str:
        """As a mean with its error, not as a difference."""
        return f"{self.mean:.4f} ± {self.error:.4f}" if self.n > 1 else f"{self.mean:.4f}"

    @property
    def clear(self) -> bool:
        """Whether it is further from nothing than two standard errors."""
        return bool(abs(self.mean) > 2 * self.error) if self.n > 1 else False


def paired(
    measured: pd.DataFrame, first: str, second: str, *, over: str = "trial", **only: Any
) -> Paired:
    """First less second, trial by trial, averaged over whatever else differs."""
    rows = chosen(measured, **only)
    each = [
        rows[rows["method"] == name].groupby(["trial", "setting", "at"])["value"].mean()
        for name in (first, second)
    ]
    difference = (each[0] - each[1]).dropna().groupby(level=over).mean()
    if difference.empty:
        raise KeyError(f"no trial has both {first!r} and {second!r} with {only}")
    n = len(difference)
    error = float(difference.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return Paired(float(difference.mean()), error, n)


def mean_of(measured: pd.DataFrame, *, over: str = "trial", **only: Any) -> Paired:
    """Mean over trials, and its standard error."""
    per_trial = chosen(measured, **only).groupby(over)["value"].mean()
    if per_trial.empty:
        raise KeyError(f"nothing was measured with {only}")
    n = len(per_trial)
    error = float(per_trial.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return Paired(float(per_trial.mean()), error, n)
