"""Has something broken where the votes come from? What changed since the champion's, in one go.

Held-out votes do not tell: where all labels were inverted, those held out were too, and a model
that learnt the inverted order foretells them best. So what comes in is held against what the
champion was made from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from tasks.evaluate import OrderTau
from tasks.gate import GateSettings
from tasks.messages import message
from urlr.ids import shown
from urlr.sentence import Sentence
from urlr.votes.ballots import ballots_of
from urlr.votes.table import VoteTable

FEWEST_ITEMS = 10
"""Items that both must have scored; the order of fewer turns round by chance."""
_LEAST_MET = 0.2
"""Share of the champion's items that tonight's votes must name."""


@dataclass(frozen=True, slots=True)
class Busiest:
    """Who cast the most votes."""

    name: str
    share: float
    """Of the votes that count."""


@dataclass(frozen=True, slots=True)
class Shift:
    """Tonight's votes beside the champion's; what is not known of the latter is None."""

    votes: int
    votes_before: int | None
    busiest: Busiest | None
    busiest_before: float | None
    """Share of whoever was the busiest then."""
    alike: OrderTau | None
    """How alike tonight's judge and the champion's order the items."""
    known: int = 0
    """Items that the champion knew."""
    met: int = 0
    """Those of them that tonight's votes name."""


def busiest_of(votes: VoteTable) -> Busiest | None:
    """Who cast the most votes; None where nobody is named."""
    ballots = ballots_of(votes)
    if not ballots.has_names:
        return None
    counts = np.bincount(ballots.annotator[ballots.annotator >= 0], minlength=len(ballots.names))
    most = int(np.argmax(counts))
    return Busiest(shown(ballots.names[most], 80), float(counts[most] / len(ballots.annotator)))


def sudden_shift(shift: Shift, settings: GateSettings) -> Sentence | None:
    """What changed too much to go on unseen, and what to look at; None if nothing did."""
    found = (
        _lost_votes(shift, settings),
        _one_person(shift, settings),
        _turned(shift, settings),
        _ids_changed(shift),
    )
    causes = [cause for cause in found if cause is not None]
    if not causes:
        return None
    return reduce(lambda first, second: message("two_causes", first=first, second=second), causes)


def _lost_votes(shift: Shift, settings: GateSettings) -> Sentence | None:
    before = shift.votes_before
    if not before or before - shift.votes <= settings.most_lost * before:
        return None
    return message("votes_lost", votes=shift.votes, before=before, share=1 - shift.votes / before)


def _one_person(shift: Shift, settings: GateSettings) -> Sentence | None:
    busiest, before = shift.busiest, shift.busiest_before
    if busiest is None or before is None:
        return None
    if busiest.share <= settings.most_by_one or before > settings.most_by_one:
        return None
    return message("votes_by_one_person", share=busiest.share, name=busiest.name, before=before)


def _turned(shift: Shift, settings: GateSettings) -> Sentence | None:
    alike = shift.alike
    if alike is None or alike.tau is None or alike.n_items < FEWEST_ITEMS:
        return None
    if alike.tau >= settings.least_alike:
        return None
    return message("order_turned_round", items=alike.n_items, tau=alike.tau)


def _ids_changed(shift: Shift) -> Sentence | None:
    if shift.known < FEWEST_ITEMS or shift.met >= _LEAST_MET * shift.known:
        return None
    return message("ids_changed", known=shift.known, met=shift.met)
