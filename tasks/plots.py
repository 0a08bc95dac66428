"""Two small pictures of a result as SVG, for whoever opens a version in the registry.

Drawn by hand: a plotting library took a third of the time of a whole attribute. Names from outside
are escaped, so that they do nothing in a browser. The same picture is the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np
import pandas as pd

from urlr.arrays import Floats
from urlr.ids import shown

_MOST_ITEMS = 40
_PER_CENT = np.arange(0, 51)
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 640, 170, 20, 30, 13
_DARK, _PALE, _WARM = "#1f4e79", "#9bb7d4", "#b3541e"


def path_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The order of suspicion at every per cent of the votes, up to half of them.

    share, votes: how many votes come first at that share; entry: penalty at which the last of them
    became an outlier; suspicion: probability that it is wrong; pruned: how many of them were set
    aside.
    """
    ordered = verdicts[verdicts["status"].isin(["used", "tie"])]
    ordered = ordered.sort_values("order", kind="stable")
    count = _PER_CENT * len(ordered) // 100
    last = np.maximum(count - 1, 0)
    pruned = np.concatenate([[0], np.cumsum(ordered["pruned"].to_numpy(np.bool_))])
    table = pd.DataFrame({"share": _PER_CENT / 100, "votes": count, "pruned": pruned[count]})
    for name in ("entry", "suspicion"):
        values = ordered[name].to_numpy(np.float64, na_value=np.nan)
        table[name] = np.where(count > 0, values[last], np.nan) if len(values) else np.nan
    return table


def ranking_plot(scores: pd.DataFrame) -> bytes:
    """The best and the worst items with their intervals."""
    table = scores
    if len(table) > _MOST_ITEMS:
        half = _MOST_ITEMS // 2
        table = pd.concat([scores.head(half), scores.tail(half)])
    score = table["score"].to_numpy(np.float64)
    low, high = (table[name].to_numpy(np.float64, na_value=np.nan) for name in ("low", "high"))
    low, high = np.fmin(low, score), np.fmax(high, score)
    x = _scaled(np.concatenate([low, score, high]), _LEFT, _WIDTH - _RIGHT)
    left, middle, right = np.split(x, 3)
    y = _TOP + 10 + _ROW * np.arange(len(table))
    drawn = []
    for k, item in enumerate(table["item"]):
        drawn.append(_line([(left[k], y[k]), (right[k], y[k])], _PALE, 4))
        drawn.append(f'<circle cx="{middle[k]:.1f}" cy="{y[k]:.1f}" r="2.5" fill="{_DARK}"/>')
        drawn.append(_text(_LEFT - 8, y[k] + 3, shown(item, 26), anchor="end"))
    bottom = float(y[-1]) + 22 if len(y) else _TOP + 22.0
    for value, place in ((low.min(), _LEFT), (high.max(), _WIDTH - _RIGHT)) if len(y) else ():
        drawn.append(_text(place, bottom, f"{value:.2f}", anchor="middle"))
    what = "items" if len(table) == len(scores) else "best and worst items"
    title = f"{len(table)} {what} of {len(scores):,}: score with 90 % interval"
    return _svg(title, drawn, bottom + 10)


def path_plot(path: pd.DataFrame) -> bytes:
    """How suspicion falls along the order of votes, and how many of them were set aside."""
    measure = "suspicion" if path["suspicion"].notna().any() else "entry"
    table = path[path[measure].notna()]
    top, bottom, right = _TOP + 10, 220, _WIDTH - _RIGHT
    drawn = [_line([(60, top), (60, bottom), (right, bottom)], "#888", 1)]
    if len(table):
        x = _scaled(table["share"].to_numpy(np.float64), 60, right)
        values = table[measure].to_numpy(np.float64)
        y = _scaled(values, bottom, top)
        drawn.append(_line(zip(x, y, strict=True), _DARK, 2))
        votes = table["votes"].to_numpy(np.float64)
        cut = float(np.interp(path["pruned"].max(), votes, x))
        drawn.append(_line([(cut, top), (cut, bottom)], _WARM, 1))
        drawn.append(_text(cut + 4, top + 8, f"{path['pruned'].max():,} set aside", colour=_WARM))
        drawn.append(_text(56, top + 4, f"{values.max():.2f}", anchor="end"))
        drawn.append(_text(56, bottom, f"{values.min():.2f}", anchor="end"))
        drawn.append(_text(right, bottom + 16, f"{table['share'].max():.0%}", anchor="end"))
    drawn.append(_text(60, bottom + 16, "most suspicious votes, share of all"))
    return _svg(f"{measure} of votes, most suspicious first", drawn, bottom + 30)


def _scaled(values: Floats, start: float, end: float) -> Floats:
    """Values as places from start to end; all in the middle if they are the same."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    share = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    return np.asarray(start + share * (end - start), np.float64)


def _line(points: Iterable[tuple[float, float]], colour: str, width: float) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#333") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"


def _svg(title: str, drawn: Iterable[str], height: float) -> bytes:
    body = "\n".join([_text(10, 18, title), *drawn])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" '
        f'font-family="sans-serif" font-size="10">\n{body}\n</svg>\n'
    ).encode()
