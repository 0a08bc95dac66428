"""Figures of the study, drawn by matplotlib: PNG and SVG to look at, CSV with every plotted number.

The same numbers give the same bytes. A method has one colour and one marker in all figures.
"""

from __future__ import annotations

import io
import textwrap
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from tasks.study.learner import URLR
from tasks.study.looks import Look, evidence_words, looks
from tasks.study.records import STAND_IN, Chart
from urlr.ids import shown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _PLOT_HEIGHT = 7.3, 3.7
"""Inches; the width is 700 pixels of a browser, in which letters of 10 points are 13 pixels."""
_RESOLUTION = 160
_INK, _SOFT = "#1b2530", "#5b6773"
_DASHED: Any = (0, (4, 3))
_ERRORS_ON_BARS: Any = (
    {"ecolor": "white", "elinewidth": 1.7, "capthick": 1.5, "capsize": 1.7},
    {"ecolor": "#222222", "elinewidth": 0.8, "capthick": 0.8, "capsize": 1.3},
)
"""Twice: dark on white can be seen on every colour."""
_MANY = 15
"""Places of a line from which on its errors are a band, and not every place has a marker."""
_TOO_MANY = 2000
"""Points from which on an SVG holds them as a picture: it would be megabytes."""
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "urlr",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": "#8a949e",
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": "#e4e8ec",
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
_LOCK = threading.Lock()
"""matplotlib's settings belong to the whole process."""


@dataclass(frozen=True, slots=True)
class _Words:
    """Where those of a mark stand: row above the plot, and points from its left side."""

    row: int
    line: float
    start: float
    end: float


def drawn(chart: Chart) -> dict[str, bytes]:
    """PNG, SVG and CSV of a chart, by these names in small letters."""
    with _matplotlib():
        figure = _figure(chart)
        svg = _svg(figure)  # first: drawing moves the layout a little, and `svg_of` draws it alone
        return {"png": _png(figure), "svg": svg, "csv": _csv(chart)}


def svg_of(chart: Chart) -> bytes:
    """The SVG alone."""
    with _matplotlib():
        return _svg(_figure(chart))


@contextmanager
def _matplotlib() -> Iterator[None]:
    """matplotlib with settings of ours alone, whatever the machine's or somebody else's are."""
    import matplotlib as mpl

    with _LOCK, mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def _png(figure: Figure) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=_RESOLUTION, metadata={"Software": None})
    return data.getvalue()


def _svg(figure: Figure) -> bytes:
    data = io.BytesIO()
    unsaid = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(data, format="svg", dpi=_RESOLUTION, metadata=unsaid)
    return data.getvalue()


def _csv(chart: Chart) -> bytes:
    """The chart's table, then its marks: rows with a place and no mean."""
    from tasks.write import for_spreadsheets, table_bytes

    table = chart.table[["series", "at", "mean", "error", "n"]].assign(evidence=chart.evidence)
    if chart.marks:
        marks = pd.DataFrame(
            {
                "series": [f"mark: {text}" for _, text in chart.marks],
                "at": [where for where, _ in chart.marks],
                "evidence": chart.evidence,
            }
        )
        table = pd.concat([table.astype({"n": "Int64"}), marks], ignore_index=True)
    return table_bytes(for_spreadsheets(table), "chart.csv")


def _figure(chart: Chart) -> Figure:
    """Title and evidence above, legend below, and the plot in what is left: nothing is hidden."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    table = chart.table[np.isfinite(chart.table["mean"].to_numpy(np.float64))]
    table = table.assign(series=table["series"].astype(str))
    names = list(dict.fromkeys(table["series"]))
    styles = looks(names)
    title = _wrapped(shown(chart.title, 300), 12.5, bold=True)
    said = _wrapped(evidence_words(chart.evidence), 9.5, bold=True)
    rows, columns = _legend_shape(names)
    above = 0.12 + 0.235 * (title.count("\n") + 1) + 0.185 * (said.count("\n") + 1) + 0.14
    below = 0.16 + 0.18 * rows if rows else 0.06
    height = above + _PLOT_HEIGHT + below
    figure = Figure(figsize=(_WIDTH, height))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if table.empty:
        axes.text(0.5, 0.5, "nothing was measured", ha="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
    draw = {"lines": _lines, "bars": _bars, "points": _points}[chart.kind]
    handles = draw(axes, table, styles)
    axes.set_xlabel(textwrap.fill(shown(chart.x, 160), 80))
    axes.set_ylabel(textwrap.fill(shown(chart.y, 90), 44))
    axes.tick_params(labelsize=9.5)
    plot_height = _PLOT_HEIGHT + figure.get_figheight() - height - _marks(axes, chart.marks)
    height = figure.get_figheight()
    rect = (0.008, below / height, 0.984, plot_height / height)
    figure.set_layout_engine("constrained", rect=rect, w_pad=0.02, h_pad=0.03)
    _headings(figure, title, said, stand_in=chart.evidence.startswith(STAND_IN))
    if rows:
        _legend(figure, names, handles, columns)
    return figure


def _headings(figure: Figure, title: str, said: str, *, stand_in: bool) -> None:
    height = figure.get_figheight()
    top = 1 - 0.1 / height
    figure.text(
        0.012, top, title, fontsize=12.5, fontweight="bold", va="top", linespacing=1.25
    ).set_in_layout(False)
    under = top - (0.235 * (title.count("\n") + 1) + 0.05) / height
    box = {"facecolor": "#fff1d6", "edgecolor": "#b36b00", "linewidth": 0.8, "pad": 2.4}
    text = figure.text(
        0.012 if not stand_in else 0.018,
        under,
        said,
        fontsize=9.5,
        fontweight="bold" if stand_in else "normal",
        color="#7a4700" if stand_in else _SOFT,
        va="top",
        linespacing=1.25,
        bbox=box if stand_in else None,
    )
    text.set_in_layout(False)


def _lines(axes: Axes, table: pd.DataFrame, styles: dict[str, Look]) -> list[Artist]:
    handles: list[Artist] = []
    axes.grid(axis="y")
    for k, (name, look) in enumerate(styles.items()):
        rows = table[table["series"] == name]
        rows = rows.assign(at=pd.to_numeric(rows["at"])).sort_values("at", kind="stable")
        at, mean, error = (rows[c].to_numpy(np.float64) for c in ("at", "mean", "error"))
        many = at.size > _MANY
        order = 4 if look.strong else 3
        level = at.size > 1 and np.ptp(mean) == 0
        if level:  # a method that the axis does not concern: one error is all there is to show
            error = np.where(np.arange(at.size) == at.size - 1, error, np.nan)
        if many:
            axes.fill_between(
                at, mean - error, mean + error, color=look.colour, alpha=0.15, lw=0, zorder=2
            )
        else:
            axes.errorbar(
                *(at, mean, error),
                fmt="none",
                ecolor=look.colour,
                elinewidth=1.1,
                capsize=2.5,
                alpha=0.75,
                zorder=order - 0.5,
            )
        every = max(1, at.size // 8)
        (line,) = axes.plot(
            at,
            mean,
            color=look.colour,
            linestyle=look.dash,
            linewidth=2.8 if look.strong else 1.5,
            marker=look.marker,
            markersize=look.size,
            markeredgecolor="white",
            markeredgewidth=0.6,
            markevery=[-1] if level else (k % every, every) if many else None,
            zorder=order,
        )
        handles.append(line)
    _ticks_at_places(axes, np.unique(pd.to_numeric(table["at"]).to_numpy(np.float64)))
    return handles


def _bars(axes: Axes, table: pd.DataFrame, styles: dict[str, Look]) -> list[Artist]:
    from matplotlib.patches import Patch

    groups = list(dict.fromkeys(table["at"].astype(str)))
    place = {group: k for k, group in enumerate(groups)}
    width = 0.84 / max(len(styles), 1)
    handles: list[Artist] = []
    axes.grid(axis="y")
    for k, (name, look) in enumerate(styles.items()):
        rows = table[table["series"] == name]
        mean, error = (rows[c].to_numpy(np.float64) for c in ("mean", "error"))
        at = rows["at"].astype(str).map(place).to_numpy(np.float64) - 0.42 + width * (k + 0.5)
        edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0}
        if look.strong:
            edge = {"edgecolor": "black", "linewidth": 0.9}
        elif look.hatch:
            edge["hatch"] = look.hatch
        axes.bar(at, mean, 0.92 * width, color=look.colour, **edge)
        for drawing in _ERRORS_ON_BARS:
            axes.errorbar(at, mean, error, fmt="none", zorder=4, **drawing)
        handles.append(Patch(facecolor=look.colour, **edge))
    labels = [shown(group, 24) for group in groups]
    longest = max((_length(label, 9.5) for label in labels), default=0)
    crowded = len(labels) * (longest + 8) > _WIDTH * 72 * 0.88
    turned: dict[str, Any] = {"rotation": 38, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(labels)), labels, **(turned if crowded else {}))
    figure = axes.get_figure(root=True)
    if crowded and figure is not None:  # turned labels take room that the plot had
        figure.set_figheight(figure.get_figheight() + 0.62 * longest / 72)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, max(len(labels), 1) - 0.4)
    axes.axhline(0, color="#8a949e", linewidth=0.8)
    return handles


def _points(axes: Axes, table: pd.DataFrame, styles: dict[str, Look]) -> list[Artist]:
    from matplotlib.lines import Line2D

    many = len(table) > _TOO_MANY
    handles: list[Artist] = []
    axes.grid()
    for name, look in styles.items():
        rows = table[table["series"] == name]
        at, mean, error = (
            pd.to_numeric(rows[c]).to_numpy(np.float64) for c in ("at", "mean", "error")
        )
        if np.isfinite(error).any():
            axes.errorbar(at, mean, error, fmt="none", ecolor=look.colour, alpha=0.3, zorder=2)
        axes.scatter(
            at,
            mean,
            s=9 if many else 20,
            color=look.colour,
            marker=look.marker,
            alpha=0.3 if many else 0.5,
            linewidths=0,
            rasterized=many,
            zorder=3,
        )
        shape = {"marker": look.marker, "markersize": look.size + 1}
        handles.append(Line2D([], [], color=look.colour, linestyle="none", **cast(Any, shape)))
    return handles


def _ticks_at_places(axes: Axes, places: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Ticks where something was measured, if they have room."""
    labels = [f"{place:g}" for place in places]
    if not 2 <= len(labels) <= 16:
        return
    apart = float(np.diff(places).min() / np.ptp(places)) * (_WIDTH - 1) * 72
    if apart >= max(_length(label, 9.5) for label in labels) + 8:
        axes.set_xticks(places, labels)


def _marks(axes: Axes, marks: Sequence[tuple[float, str]]) -> float:
    """Draw upright lines that reach up to what they say; give the inches this needs above the plot.

    Texts that would meet, or that another's line would cross, stand in rows.
    """
    if not marks:
        return 0.0
    for where, _ in marks:
        axes.axvline(where, color=_SOFT, linestyle=_DASHED, linewidth=1.2, zorder=1.5)
    axes.autoscale_view()
    low, high = axes.get_xlim()
    axes.set_xlim(low, high)
    wide = (_WIDTH - 0.8) * 72
    taken: list[_Words] = []
    for where, words in sorted(marks, reverse=True):
        text = shown(words, 60)
        place = (where - low) / (high - low) * wide
        length = _length(text, 9) + 8
        left = place + length > wide and place > wide / 2
        start = place - length if left else place
        row = _row(place, start, start + length, taken)
        taken.append(_Words(row, place, start, start + length))
        above: dict[str, Any] = {
            "xycoords": ("data", "axes fraction"),
            "textcoords": "offset points",
            "annotation_clip": False,
            "in_layout": False,
        }
        axes.annotate(
            text,
            (where, 1),
            xytext=(-4 if left else 4, 2 + 13 * row),
            ha="right" if left else "left",
            va="bottom",
            fontsize=9,
            color=_SOFT,
            **above,
        )
        arrow = {"arrowstyle": "-", "color": _SOFT, "linestyle": _DASHED, "linewidth": 1.2}
        arrow |= {"shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (where, 1), xytext=(0, 12 + 13 * row), arrowprops=arrow, **above)
    return (13 * (1 + max(one.row for one in taken))) / 72


def _row(line: float, start: float, end: float, taken: Sequence[_Words]) -> int:
    """Lowest row in which words meet no others and no line crosses words; else, the former."""
    rows = range(len(taken) + 1)
    apart = [
        row
        for row in rows
        if not any(o.row == row and start < o.end and o.start < end for o in taken)
    ]
    clear = [
        row
        for row in apart
        if not any(
            (row < o.row and start <= o.line <= end) or (row > o.row and o.start <= line <= o.end)
            for o in taken
        )
    ]
    return (clear or apart)[0]


def _legend_shape(names: Sequence[str]) -> tuple[int, int]:
    """Rows and columns, as many columns as fit."""
    if not names or names == [""]:
        return 0, 0
    wide = np.array([_length(shown(name, 60), 9.5) + 50 for name in names])
    columns = len(names)
    while columns > 1 and sum(map(max, np.array_split(wide, columns))) > _WIDTH * 72:
        columns -= 1
    rows = -(-len(names) // columns)
    return rows, -(-len(names) // rows)


def _legend(figure: Figure, names: Sequence[str], handles: list[Artist], columns: int) -> None:
    """Below the plot; labels are put in afterwards, for matplotlib leaves out those with `_`."""
    legend = figure.legend(
        handles,
        ["-"] * len(names),
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=columns,
        fontsize=9.5,
        frameon=False,
        handlelength=2.4,
        columnspacing=1.6,
        labelspacing=0.35,
        borderaxespad=0.3,
    )
    legend.set_in_layout(False)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(shown(name, 60))
        if name == URLR:
            text.set_fontweight("bold")


def _wrapped(text: str, size: float, *, bold: bool = False) -> str:
    lines = [" "]
    for letters in range(130, 10, -3):
        lines = textwrap.wrap(text, letters) or [" "]
        if max(_length(line, size, bold=bold) for line in lines) < 0.97 * _WIDTH * 72:
            break
    return "\n".join(lines)


def _length(text: str, size: float, *, bold: bool = False) -> float:
    """Points that a text takes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(weight="bold" if bold else "normal", size=size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])
