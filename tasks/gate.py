"""May a challenger replace the champion? Rules on small records, and one sentence that says why.

Everything is decided on held-out votes that neither has seen, by the figure that counts everybody
the same where people are named (see `tasks.evaluate`). The rules, in this order:

1. Too few votes that can be judged show nothing: hold.
2. A first model must beat chance: the lower end of its tau must be above zero.
3. A challenger must not be worse than the champion with confidence: hold if the upper end of the
   paired interval of their difference is below zero.
4. No slow way down by steps too small to be sure of: hold if its tau is more than `drop` below any
   version of the last nights, the champion always among them. Versions are judged anew by
   tonight's held-out votes, not by what was recorded on their day: votes get easier or harder over
   the weeks, and a recorded figure would blame or excuse the model for that.

What broke where the votes come from is looked for before (see `tasks.shift`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tasks.evaluate import Comparison, Estimate, VoteTau
from urlr.ids import plural, shown

Rule = Literal[
    "frozen",
    "newer champion",
    "rival lost",
    "sudden shift",
    "too few votes",
    "no better than chance",
    "first model",
    "worse than the champion",
    "below the best",
    "not worse",
]
"""What a verdict rests on; a forced one says what would have been decided."""

_ROUNDING = 1e-9
"""0.8 - 0.81 is a little more than 0.01 in binary."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """How sure and how strict."""

    confidence: float = 0.99
    """Level of the two-sided interval of the difference; `compare` must be asked for the same."""
    drop: float = 0.01
    """How far tau may lie below that of the best version of the last nights."""
    drop_errors: float = 2.0
    """How many standard errors of the paired difference it may lie below it in any case.

    With few votes 0.01 is chance. Of four times 30 nights of honest votes that grew twofold, 77 %
    were held with 90 to 170 held-out votes; with one error allowed 60 %, with two 4 %. With 220 to
    450 votes it was 31, 23 and 2 %.
    """
    nights: int = 30
    """How many nights these are."""
    fewest_votes: int = 20
    """Votes that must have been judged. All of 20 votes right by luck: one in a million."""
    most_lost: float = 0.5
    """Share of the champion's votes that may be gone; 1: all. See `tasks.shift`."""
    most_by_one: float = 0.5
    """Share of the votes that may be one person's where it was nobody's before; 1: all."""
    least_alike: float = 0.0
    """Tau between its order and the champion's below which it is turned round; -1: never."""

    def __post_init__(self) -> None:
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence is {self.confidence}; it lies between 0 and 1.")
        if not 0.0 <= self.drop <= 2.0:
            raise ValueError(f"drop is {self.drop}; it lies between 0 and 2, tau's whole range.")
        if not 0.0 <= self.drop_errors < math.inf:
            raise ValueError(f"drop_errors is {self.drop_errors}; it must be 0 or more.")
        if self.nights < 0:
            raise ValueError(f"nights is {self.nights}; it must be 0 or more.")
        if self.fewest_votes < 1:
            raise ValueError(f"fewest_votes is {self.fewest_votes}; at least 1 is needed.")
        for name in ("most_lost", "most_by_one"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}; it is a share, 0 to 1.")
        if not -1.0 <= self.least_alike <= 1.0:
            raise ValueError(f"least_alike is {self.least_alike}; tau lies between -1 and 1.")


@dataclass(frozen=True, slots=True)
class Earlier:
    """A version that was champion before, and the challenger held against it."""

    version: str
    nights_ago: int
    """Nights since it was last champion."""
    comparison: Comparison
    """Of the challenger with it, on tonight's held-out votes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to publish, and why."""

    publish: bool
    reason: str
    """One plain sentence."""
    rule: Rule
    forced: bool
    """Whether publishing was asked for whatever the rules say."""
    sees_campaigns: bool
    """Whether two people or more are named in the votes, so that everybody counts the same."""


def decide(
    challenger: VoteTau,
    champion: Comparison | None,
    earlier: Sequence[Earlier] = (),
    *,
    settings: GateSettings = GateSettings(),  # noqa: B008  (frozen)
    force: bool = False,
) -> Verdict:
    """Decide on a challenger, given how it compares with the champion (None: there is none yet).

    Raises
    ------
    ValueError
        If a comparison is of another level than the confidence asked for.
    """
    for one in [champion, *(other.comparison for other in earlier)]:
        if one is not None and one.difference.level != settings.confidence:
            raise ValueError(
                f"a comparison is of level {one.difference.level:g} and the gate's confidence is "
                f"{settings.confidence:g}; compare at the same level."
            )
    if champion is None:
        judged, finding = challenger, _first(challenger, settings)
    else:
        judged = champion.difference
        finding = _not_first(champion, earlier, settings)
    reason = finding.text if finding.publish else f"held: {finding.text}"
    if force and not finding.publish:
        reason = f"published by force, else {reason}"
    sees_campaigns = judged.by_person is not None
    if judged.n_votes > 0 and not sees_campaigns:
        who = "nobody is" if judged.n_people == 0 else "only one person is"
        reason = f"{reason}; {who} named in them, so that a campaign cannot be seen"
    return Verdict(finding.publish or force, reason, finding.rule, force, sees_campaigns)


@dataclass(frozen=True, slots=True)
class _Finding:
    publish: bool
    rule: Rule
    text: str


@dataclass(frozen=True, slots=True)
class _Rival:
    """The challenger held against one version, by the figures to decide by."""

    name: str
    votes: VoteTau
    challenger: Estimate
    rival: Estimate
    difference: Estimate


def _first(challenger: VoteTau, settings: GateSettings) -> _Finding:
    tau = challenger.deciding
    if tau is None or challenger.n_votes < settings.fewest_votes:
        return _too_few(challenger, settings)
    figure = (
        f"tau {_number(tau.value)} ({_number(tau.low)} to {_number(tau.high)} with "
        f"{_percent(challenger.level)} confidence)"
    )
    if tau.low <= 0:
        text = f"{figure} is not surely better than chance {_on_votes(challenger)}"
        return _Finding(False, "no better than chance", text)
    return _Finding(True, "first model", f"first model, {figure} {_on_votes(challenger)}")


def _not_first(
    champion: Comparison, earlier: Sequence[Earlier], settings: GateSettings
) -> _Finding:
    against = _rival("the champion", champion, settings)
    if against is None:
        return _too_few(champion.difference, settings, by=" by both")
    if against.difference.high < 0:
        return _Finding(False, "worse than the champion", _worse(against))
    recent = [
        _rival(f"version {shown(one.version)}", one.comparison, settings)
        for one in earlier
        if one.nights_ago <= settings.nights
    ]
    rivals = [against, *(one for one in recent if one is not None)]
    above = [one for one in rivals if _is_below(one.difference, settings)]
    if above:
        best = min(above, key=lambda one: one.difference.value)
        return _Finding(False, "below the best", _below(best, settings))
    text = (
        f"tau {_number(against.rival.value)} -> {_number(against.challenger.value)} "
        f"{_on_votes(against.votes)}"
    )
    return _Finding(True, "not worse", text)


def _is_below(difference: Estimate, settings: GateSettings) -> bool:
    """Whether this is further below a rival than is allowed."""
    allowed = max(settings.drop, settings.drop_errors * difference.error)
    return -difference.value > allowed + _ROUNDING


def _rival(name: str, comparison: Comparison, settings: GateSettings) -> _Rival | None:
    """The figures of a comparison, or None where it rests on too few votes to show anything."""
    votes = comparison.difference
    ours, theirs = comparison.challenger.deciding, comparison.champion.deciding
    if ours is None or theirs is None or votes.deciding is None:
        return None
    if votes.n_votes < settings.fewest_votes:
        return None
    return _Rival(name, votes, ours, theirs, votes.deciding)


def _too_few(votes: VoteTau, settings: GateSettings, *, by: str = "") -> _Finding:
    judged = plural(votes.n_votes, "held-out vote")
    if votes.n_left_out > 0:
        every = plural(votes.n_votes + votes.n_left_out, "held-out vote")
        judged = f"{votes.n_votes:,} of {every}"
    text = f"only {judged} could be judged{by}, and {settings.fewest_votes:,} are needed"
    return _Finding(False, "too few votes", text)


def _worse(against: _Rival) -> str:
    return (
        f"worse than the champion by {_number(-against.difference.value)} (at least "
        f"{_number(-against.difference.high)} with {_percent(against.votes.level)} confidence) "
        f"{_on_votes(against.votes)}"
    )


def _below(best: _Rival, settings: GateSettings) -> str:
    return (
        f"tau {_number(best.challenger.value)} is {_number(-best.difference.value)} below "
        f"{_number(best.rival.value)} of {best.name}, the best of the last "
        f"{plural(settings.nights, 'night')}, {_on_votes(best.votes)}"
    )


def _on_votes(votes: VoteTau) -> str:
    """Say on how many votes, of how many people, and what became of the others."""
    text = f"on {plural(votes.n_votes, 'held-out vote')}"
    asides = []
    if votes.by_person is not None:
        text = f"{text} of {plural(votes.n_people, 'person', 'people')}"
        if votes.n_nameless > 0:
            asides.append(f"{votes.n_nameless:,} without a name count as one more")
    if votes.n_left_out > 0:
        asides.append(f"{votes.n_left_out:,} left out, on items without a score")
    return f"{text} ({'; '.join(asides)})" if asides else text


def _number(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}"  # no -0.000


def _percent(level: float) -> str:
    return f"{100 * level:g} %"
