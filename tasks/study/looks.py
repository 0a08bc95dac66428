"""How a method looks, in all figures alike, and what evidence is called."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from tasks.study.learner import (
    AUTO,
    BRADLEY_TERRY,
    BRADLEY_TERRY_SVM,
    DEFAULT,
    FEATURELESS,
    MAJORITY_SHARE,
    MAJORITY_SVM,
    RAW,
    TO_THE_LETTER,
    URLR,
)
from tasks.study.records import STAND_IN
from urlr.ids import shown

STAND_IN_WORDS = "stand-in data, not the paper's"


@dataclass(frozen=True, slots=True)
class Look:
    """How a series is drawn."""

    colour: str
    marker: str
    dash: str = "-"
    strong: bool = False
    hatch: str = ""
    """Of bars whose colour is another's, too."""

    @property
    def size(self) -> float:
        """Of the marker, in points: some shapes fill less of it."""
        return {"*": 9.0, "D": 5.2, "d": 6.5}.get(self.marker, 6.2) + 1.0 * self.strong


METHODS = {
    URLR: Look("#d55e00", "o", strong=True),
    RAW: Look("#7f7f7f", "s", "--"),
    FEATURELESS: Look("#0072b2", "D"),
    MAJORITY_SVM: Look("#009e73", "^"),
    MAJORITY_SHARE: Look("#56b4e9", "v"),
    BRADLEY_TERRY: Look("#cc79a7", "P"),
    BRADLEY_TERRY_SVM: Look("#882255", "X"),
    TO_THE_LETTER: Look("#e69f00", "o", "--"),
    AUTO: Look("#8c510a", "d", "-."),
    DEFAULT: Look("#000000", "*"),
}
"""Okabe and Ito's colours, which most colour-blind people can tell apart, but for their yellow:
on white it can hardly be seen."""
_OTHERS = ("#332288", "#44aa99", "#999933", "#aa4499", "#6b8fd6", "#117733", "#c9a400")
_OTHER_MARKERS = ("<", ">", "h", "p", "8", "H", "s")
_TURNS = (("-", ""), ("--", "////"), (":", "...."), ("-.", "xxxx"))
"""Dashes and hatches, a pair for each time that the colours are used up."""


def evidence_words(evidence: str) -> str:
    """What a figure rests on, such that nobody takes a stand-in for the paper's data."""
    if not evidence.startswith(STAND_IN):
        return shown(evidence, 300)
    more = evidence.removeprefix(STAND_IN).removeprefix(" data").strip(" :;,.-–—")
    return f"{STAND_IN_WORDS}{': ' if more else ''}{shown(more, 260)}"


def looks(series: Iterable[str]) -> dict[str, Look]:
    """How each series of a figure is drawn: a method as everywhere, others by their names."""
    names = list(dict.fromkeys(series))
    taken: set[int] = set()
    found: dict[str, Look] = {}
    for name in sorted(set(names) - METHODS.keys()):
        place = zlib.crc32(name.encode("utf-8", "replace")) % len(_OTHERS)
        while place in taken:
            place = place + 1 if len(taken) >= len(_OTHERS) else (place + 1) % len(_OTHERS)
        taken.add(place)
        turn, colour = divmod(place, len(_OTHERS))
        marker = _OTHER_MARKERS[(colour + turn) % len(_OTHER_MARKERS)]
        dash, hatch = _TURNS[turn % len(_TURNS)]
        found[name] = Look(_OTHERS[colour], marker, dash, hatch=hatch)
    return {name: METHODS.get(name) or found[name] for name in names}
