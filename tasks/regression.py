"""Which attributes got worse tonight, chance among many attributes taken into account.

Each attribute that went through the gate is one test: is its new model's tau below the champion's,
on the same held-out votes? Of a thousand such tests fifty fall below 0.05 though nothing changed.
So the bar is set by Benjamini and Hochberg: of the attributes named here, on average at most a
share of `level` is named by chance, where tests are independent or err in the same direction.
A comparison on fewer votes than the gate asks for shows nothing and is no test.
The gate asks another question, about one model at a time, and holds on its own terms.
"""

from __future__ import annotations

import math

from scipy import optimize, special

from tasks.evaluate import Estimate, VoteTau
from tasks.gate import GateSettings
from tasks.results import Entry, Night

LEVEL = 0.05
_MOST = 2.0
"""Largest difference of two taus; intervals are cut off there."""
_ENDLESS = 1e6
"""Degrees of freedom that are as good as any number of them."""
_ROUNDING = 1e-9
"""A standard error below this is none: sums of equal numbers differ in their last digits."""


def regressed(
    night: Night, *, level: float = LEVEL, fewest_votes: int = GateSettings().fewest_votes
) -> list[Entry]:
    """Attributes judged tonight that are worse than their champion, the surest first."""
    judged = [
        (_by_chance(entry.difference), entry)
        for entry in night.tonight()
        if entry.outcome in ("published", "held")
        if entry.difference is not None and entry.difference.deciding is not None
        if entry.difference.n_votes >= fewest_votes
    ]
    if not judged:
        return []
    from scipy.stats import false_discovery_control  # slow to load, for one line of a report

    adjusted = false_discovery_control([chance for chance, _ in judged], method="bh")
    worse = [pair for pair, share in zip(judged, adjusted, strict=True) if share <= level]
    return [entry for _, entry in sorted(worse, key=lambda pair: (pair[0], pair[1].attribute))]


def _by_chance(difference: VoteTau) -> float:
    """Probability of a difference this far below zero if the two were equally good."""
    found = difference.deciding
    if found is None or not math.isfinite(found.error):
        return 1.0
    if found.error < _ROUNDING:
        return _all_alike(found, difference)
    whole = [end for end in (found.low, found.high) if abs(end) < _MOST]
    if not whole:
        return 1.0  # the interval is all that is possible
    freedom = _freedom(abs(whole[0] - found.value) / found.error, difference.level)
    return float(special.stdtr(freedom, found.value / found.error))


def _all_alike(found: Estimate, difference: VoteTau) -> float:
    """The same where everybody says the same, so that nothing tells how far it varies.

    Were the two equally good, each would be as likely to say the opposite: a coin for everybody.
    Without names pairs were drawn, and of those no more is known than that there were two.
    """
    if found.value >= 0:
        return 1.0
    coins = 2
    if difference.by_person is not None:  # all without a name are one more
        coins = difference.n_people + (difference.n_nameless > 0)
    return 0.5**coins


def _freedom(reach: float, level: float) -> float:
    """Degrees of freedom of an interval that reaches so many standard errors to either side."""

    def excess(freedom: float) -> float:
        return float(special.stdtrit(freedom, 0.5 + level / 2)) - reach

    if excess(1.0) <= 0:
        return 1.0
    if excess(_ENDLESS) >= 0:
        return _ENDLESS
    return float(optimize.brentq(excess, 1.0, _ENDLESS))
