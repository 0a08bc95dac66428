"""May a challenger replace the champion? Rules on small records, and one sentence that says why.

Everything is decided on held-out votes that neither has seen, by the figure that counts everybody
the same where people are named (see `tasks.evaluate`). The rules, in this order:

1. Too few votes that can be judged show nothing, and neither does too small a share of them: hold.
2. Every model must beat chance: the lower end of its tau must be above zero.
3. A challenger must not be worse than the champion with confidence: hold if the upper end of the
   paired interval of their difference is below zero.
4. No slow way down by steps too small to be sure of: hold if its tau is more than `drop` below any
   version of the last nights, the champion always among them. Versions are judged anew by
   tonight's held-out votes, not by what was recorded on their day: votes get easier or harder over
   the weeks, and a recorded figure would blame or excuse the model for that.

Where features are suspect a challenger must order what the champion knew as the champion did, or be
better with confidence. What broke where the votes come from is looked for before (see
`tasks.shift`), and so is whether votes of people who act together count though they are to be set
aside: such a model is held, the first one too (see `tasks.coordinated`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import special

from tasks.evaluate import Comparison, Estimate, VoteTau
from tasks.messages import message
from urlr.errors import ArgumentError
from urlr.sentence import Sentence, made

Rule = Literal[
    "frozen",
    "newer champion",
    "rival lost",
    "taken back",
    "suspect features",
    "sudden shift",
    "coordinated votes",
    "too few votes",
    "one-sided votes",
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
    """How many standard errors of the paired difference it may lie below it in any case; 0: none.

    This many where there is one version to compare with. Of several one is above by luck more
    often, so that with k of them the chance that this many leave is divided by k (Bonferroni).
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
    least_mixed: float = 0.2
    """Items that both win and lose, of those that would if pairs were drawn at random, below which
    held-out votes show nothing; 0: never."""
    most_guessed: float = 0.8
    """Tau with the votes of a mere guess, that winners beat losers, above which held-out votes show
    nothing; 1: never. Where pairs are drawn at random it reaches 0.5."""
    least_judged: float = 0.4
    """Share of the held-out votes that both must be able to judge; 0: any."""
    least_same: float = 0.9
    """Tau between the champion's scores and those it would give by tonight's features, below which
    these are suspect; -1: never. See `tasks.feature_changes`."""
    least_kept: float = 0.92
    """With suspect features: tau between its order of the items that the champion knew and the
    champion's, below which it must be better with confidence; -1: never."""

    def __post_init__(self) -> None:
        if not 0.0 < self.confidence < 1.0:
            raise ArgumentError(
                message("not_between_0_and_1", name="confidence", value=self.confidence)
            )
        if not 0.0 <= self.drop <= 2.0:
            raise ArgumentError(message("drop_beyond_tau", value=self.drop))
        if not 0.0 <= self.drop_errors < math.inf:
            raise ArgumentError(message("below_0", name="drop_errors", value=self.drop_errors))
        if self.nights < 0:
            raise ArgumentError(message("below_0", name="nights", value=self.nights))
        if self.fewest_votes < 1:
            raise ArgumentError(message("no_votes_needed", value=self.fewest_votes))
        for name in ("most_lost", "most_by_one", "least_mixed", "least_judged"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ArgumentError(message("not_a_share", name=name, value=value))
        for name in ("least_alike", "least_same", "least_kept", "most_guessed"):
            value = getattr(self, name)
            if not -1.0 <= value <= 1.0:
                raise ArgumentError(message("not_a_tau", name=name, value=value))


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
    reason: Sentence
    """One plain sentence; its code and fields are those of what was found, held or forced or not.
    """
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
    judged: VoteTau | None = None,
    suspect: bool = False,
    alike: float | None = None,
    force: bool = False,
) -> Verdict:
    """Decide on a challenger, given how it compares with the champion (None: there is none yet).

    `judged` is its difference with the champion on all unseen votes, where the comparison is on
    some of them; `suspect`: the features look broken; `alike`: tau between its order of the items
    that the champion knew and the champion's.

    Raises
    ------
    ArgumentError
        If a comparison is of another level than the confidence asked for.
    """
    for one in [champion, *(other.comparison for other in earlier)]:
        if one is not None and one.difference.level != settings.confidence:
            raise ArgumentError(
                message(
                    "compared_at_another_level",
                    level=one.difference.level,
                    confidence=settings.confidence,
                )
            )
    if champion is None:
        votes, finding = challenger, _first(challenger, settings)
    else:
        votes = champion.difference
        found = [
            _not_first(challenger, champion, earlier, settings),
            _otherwise(champion, alike, settings) if suspect else None,
            _few_judged(judged or votes, settings),
        ]
        causes = [one for one in found if one is not None]
        finding = next((one for one in causes if not one.publish), causes[0])
    reason = finding.reason if finding.publish else held(finding.reason, force=force)
    sees_campaigns = votes.by_person is not None
    if votes.n_votes > 0 and not sees_campaigns:
        if votes.n_people == 0:
            said = message("nobody_named", finding=reason)
        else:
            said = message("one_person_named", finding=reason)
        reason = about(reason, said)
    return Verdict(finding.publish or force, reason, finding.rule, force, sees_campaigns)


def held(finding: Sentence, *, force: bool) -> Sentence:
    """The reason of a verdict where there is cause to hold."""
    said = message("held", finding=finding)
    return about(finding, message("forced", finding=said) if force else said)


def about(finding: Sentence, said: Sentence) -> Sentence:
    """What is said of a finding, under its code and with its fields."""
    return made(said, finding.code, finding.fields)


@dataclass(frozen=True, slots=True)
class _Finding:
    publish: bool
    rule: Rule
    reason: Sentence


@dataclass(frozen=True, slots=True)
class _Rival:
    """The challenger held against one version, by the figures to decide by."""

    version: str | None
    """None: the champion."""
    votes: VoteTau
    challenger: Estimate
    rival: Estimate
    difference: Estimate


def _first(challenger: VoteTau, settings: GateSettings) -> _Finding:
    tau = challenger.deciding
    if tau is None or challenger.n_votes < settings.fewest_votes:
        return _too_few(challenger, settings)
    if tau.low <= 0:
        return _by_chance(tau, challenger)
    reason = message(
        "first_model",
        tau=tau.value,
        low=tau.low,
        high=tau.high,
        percent=100 * challenger.level,
        votes=_on_votes(challenger),
    )
    return _Finding(True, "first model", reason)


def _by_chance(tau: Estimate, votes: VoteTau) -> _Finding:
    reason = message(
        "no_better_than_chance",
        tau=tau.value,
        low=tau.low,
        high=tau.high,
        percent=100 * votes.level,
        votes=_on_votes(votes),
    )
    return _Finding(False, "no better than chance", reason)


def _not_first(
    challenger: VoteTau, champion: Comparison, earlier: Sequence[Earlier], settings: GateSettings
) -> _Finding:
    against = _rival(None, champion, settings)
    if against is None:
        return _too_few(champion.difference, settings, both=True)
    if against.difference.high < 0:
        return _Finding(False, "worse than the champion", _worse(against))
    if challenger.deciding is not None and challenger.deciding.low <= 0:
        return _by_chance(challenger.deciding, challenger)
    recent = [
        _rival(one.version, one.comparison, settings)
        for one in earlier
        if one.nights_ago <= settings.nights
    ]
    rivals = [against, *(one for one in recent if one is not None)]
    errors = _errors_allowed(settings.drop_errors, len(rivals))
    above = [one for one in rivals if _is_below(one.difference, settings.drop, errors)]
    if above:
        best = min(above, key=lambda one: one.difference.value)
        return _Finding(False, "below the best", _below(best, settings))
    reason = message(
        "not_worse",
        before=against.rival.value,
        tau=against.challenger.value,
        votes=_on_votes(against.votes),
    )
    return _Finding(True, "not worse", reason)


def _errors_allowed(errors: float, n_rivals: int) -> float:
    """Standard errors that leave the same chance of a false alarm among so many rivals."""
    return -float(special.ndtri(special.ndtr(-errors) / n_rivals)) if errors > 0 else 0.0


def _is_below(difference: Estimate, drop: float, errors: float) -> bool:
    """Whether this is further below a rival than is allowed."""
    return -difference.value > max(drop, errors * difference.error) + _ROUNDING


def _rival(version: str | None, comparison: Comparison, settings: GateSettings) -> _Rival | None:
    """The figures of a comparison, or None where it rests on too few votes to show anything."""
    votes = comparison.difference
    ours, theirs = comparison.challenger.deciding, comparison.champion.deciding
    if ours is None or theirs is None or votes.deciding is None:
        return None
    if votes.n_votes < settings.fewest_votes:
        return None
    return _Rival(version, votes, ours, theirs, votes.deciding)


def _few_judged(votes: VoteTau, settings: GateSettings) -> _Finding | None:
    """Whether the comparison is on a remnant of the votes, though on enough of them."""
    every = votes.n_votes + votes.n_left_out
    if votes.n_votes < settings.fewest_votes or votes.n_votes >= settings.least_judged * every:
        return None
    reason = message("share_judged", judged=_judged(votes), needed=settings.least_judged)
    return _Finding(False, "too few votes", reason)


def _otherwise(
    champion: Comparison, alike: float | None, settings: GateSettings
) -> _Finding | None:
    """Whether what learnt from suspect features orders known items otherwise and is no gain.

    A difference of tau is too uncertain to tell: of half-broken features a third passed by luck.
    How alike the orders are is not. In simulated nights it was 0.92 to 0.99 where a column had
    another name or unit, was new or was one of noise that went, and 0.66 to 0.93, mostly below
    0.9, where the column that matters had been shuffled, rounded, cut off, emptied or scaled in
    some rows.
    """
    against = _rival(None, champion, settings)
    if against is None or against.difference.low > 0:
        return None
    if alike is not None and alike >= settings.least_kept:
        return None
    tau = "none" if alike is None else f"{alike:.2f}"
    reason = message("otherwise_by_suspect_features", tau=tau, needed=settings.least_kept)
    return _Finding(False, "suspect features", reason)


def _judged(votes: VoteTau) -> Sentence:
    if votes.n_left_out == 0:
        return message("judged_votes", count=votes.n_votes)
    every = votes.n_votes + votes.n_left_out
    return message("judged_of_votes", count=votes.n_votes, every=every)


def _too_few(votes: VoteTau, settings: GateSettings, *, both: bool = False) -> _Finding:
    judged = _judged(votes)
    needed = settings.fewest_votes
    if both:
        reason = message("too_few_judged_by_both", judged=judged, needed=needed)
    else:
        reason = message("too_few_judged", judged=judged, needed=needed)
    return _Finding(False, "too few votes", reason)


def _worse(against: _Rival) -> Sentence:
    return message(
        "worse_than_champion",
        drop=-against.difference.value,
        least=-against.difference.high,
        percent=100 * against.votes.level,
        votes=_on_votes(against.votes),
    )


def _below(best: _Rival, settings: GateSettings) -> Sentence:
    rival = message("the_champion")
    if best.version is not None:
        rival = message("the_version", version=best.version)
    return message(
        "below_the_best",
        tau=best.challenger.value,
        drop=-best.difference.value,
        best=best.rival.value,
        rival=rival,
        nights=settings.nights,
        votes=_on_votes(best.votes),
    )


def _on_votes(votes: VoteTau) -> Sentence:
    """Say on how many votes, of how many people, and what became of the others."""
    said = message("on_votes", count=votes.n_votes)
    asides = []
    if votes.by_person is not None:
        said = message("on_votes_of_people", count=votes.n_votes, people=votes.n_people)
        if votes.n_nameless > 0:
            asides.append(message("nameless_votes", count=votes.n_nameless))
    if votes.n_left_out > 0:
        asides.append(message("unscored_votes", count=votes.n_left_out))
    if not asides:
        return said
    return made(f"{said} ({'; '.join(asides)})", said.code, said.fields | {"asides": asides})
