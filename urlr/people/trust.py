"""Whom to trust: people are judged, then penalties are tuned on the votes that can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from urlr.arrays import Floats, Progress, no_progress
from urlr.model.item_effects import (
    item_variance,
    score_variance,
    tuned_variance,
    unsure_of_features,
)
from urlr.model.logistic import Comparisons, Penalties, logistic_fit
from urlr.model.pushed_items import pushes
from urlr.model.robust import WeighedVotes
from urlr.model.tuning import Tuned, TunedSpace, calibration, tuned_ridge_of
from urlr.people.crowd import Crowd, crowd_of, equal_say
from urlr.settings import FitSettings
from urlr.votes.ballots import Ballots

_SHRINK = 0.85
"""Share of the estimated variance that item effects get: more makes scores of items with many votes
better, and campaigns more costly."""
_LEAST_VARIANCE = 1e-3
_FIRST_VARIANCE = 2.0
"""Of scores without features, while people are judged."""
_LARGE = 5_000_000
"""Numbers in the features from which on people are judged by one column made of them."""
_MANY = 200_000
"""Votes from which on reversed people and groups are looked for once, though the ridge changes. Of
a million votes by 5,000 people, all verdicts were the same as if they had been judged twice."""
_ROUGHLY, _OF_COLUMN = 1e-3, 0.1
"""Tolerance of the fit that makes it, and the ridge on it."""
_OTHERWISE = 1.0
"""Change of the logarithm of the ridge from which on people are judged once more."""
_TRIES = 3
"""Times that pushes are looked for, as long as these show who acts together."""
_ENOUGH, _PEOPLE = 50, 5
"""Votes and people from which on the variance of scores is tuned on people left out."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What is known of everybody, and the votes weighed by it."""

    crowd: Crowd
    votes: WeighedVotes
    """As they are read: those of reversed people flipped."""
    tuned: Tuned | None
    """The ridge, and what it says of votes on items left out; None without features, and where too
    few votes are left out."""
    pushed: Floats
    """(n_rows,) chance that a vote pushes an item under any name; it counts so much less."""
    trusted: float = 1.0
    """How much of a margin people left out go by, all in all."""


def judge_people(
    ballots: Ballots,
    chosen: TunedSpace,
    settings: FitSettings,
    progress: Progress = no_progress,
) -> Trust:
    """Judge the people by the tuned space, then tune on the votes of those who can be trusted."""
    if not settings.annotator_rates:
        ballots = ballots.nameless()
    space, tuned, trusted = chosen.space, chosen.tuned, 1.0
    alone = space.feature_map is None
    lean = 1.0 if settings.left_right and ballots.has_sides else np.inf
    search = Penalties(chosen.ridge, np.inf, lean)
    rows = replace(ballots.rows, features=space.features)
    ranking = replace(search, items=1.0 / _FIRST_VARIANCE)
    if not alone:
        ranking = _with_items(search, rows, ballots.weight, settings, tuned)
    judged = partial(
        _crowd_by_features,
        features=space.features,
        sides=settings.left_right,
        turn=settings.turn_reversed,
        coordination=settings.coordination,
        progress=progress,
    )
    large = space.features.size > _LARGE or (not alone and len(ballots.tie) > _MANY)
    crowd = judged(ballots, penalties=ranking, tastes=settings.tastes and not large)
    if not alone and (crowd.apart.any() or crowd.reversed.any()):
        # What was tuned on their votes is tuned without; if that changes much, so may verdicts.
        before = search.features
        search, tuned = _tuned_again(crowd, search, chosen, None)
        if large or abs(np.log(search.features / before)) > _OTHERWISE:
            ranking = _with_items(search, crowd.as_read(), crowd.weight(), settings, tuned)
            crowd = crowd if large else judged(ballots, penalties=ranking, tastes=settings.tastes)
    if large and settings.tastes:
        crowd = judged(ballots, penalties=ranking, before=crowd)
    pushed = np.zeros(rows.n_rows)
    if settings.coordination == "drop":
        wide = replace(search, items=1.0 / _FIRST_VARIANCE)
        for _ in range(_TRIES):
            pushed = pushes(crowd.without_tastes(), crowd.judging(), wide)
            if not pushed.any():
                break
            less = replace(ballots, weight=ballots.weight * (1.0 - pushed))
            found = judged(less, penalties=ranking, tastes=settings.tastes)
            if np.array_equal(found.apart, crowd.apart):
                crowd = found
                break
            # Those who pushed are seen now: without them there may be no other pushes.
            crowd = judged(ballots, penalties=ranking, tastes=settings.tastes, before=found)
    rows, weight = crowd.as_read(), crowd.weight()
    progress("how much items differ", 0.0)
    if alone:
        variance, trusted = _variance_of_scores(crowd, rows, weight, lean)
        ranking = search = replace(search, items=1.0 / variance)
    else:
        search, tuned = _tuned_again(crowd, search, chosen, tuned)
        tuned = None if tuned is None else tuned.weighed(rows, weight)
        ranking = _with_items(search, rows, weight, settings, tuned)
    margin, counted = crowd.margin, (ballots.annotator >= 0) & ~crowd.apart
    counted = counted & ~ballots.tie & (ballots.weight > 0)
    if tuned is not None:
        counted = tuned.judged & ~ballots.tie & (weight > 0)
        said = calibration(tuned.margin, counted, weight)
        margin = tuned.margin * said
        if settings.ridge == "tuned":
            # On all votes, also ties, which count half each way, and slips: too cautious a scale.
            careful = max(1.0, said, calibration(tuned.margin, counted, weight, crowd.rate()))
            ranking, trusted = replace(ranking, stretch=careful), max(1.0, said) / careful
    votes = WeighedVotes(
        rows,
        ballots.weight,
        ranking,
        search,
        crowd.doubt(),
        weight,
        margin,
        counted,
        crowd.left_out,
    )
    return Trust(crowd, votes, tuned, pushed, trusted)


def _crowd_by_features(
    ballots: Ballots,
    features: Floats,
    penalties: Penalties,
    *,
    before: Crowd | None = None,
    **settings: Any,
) -> Crowd:
    """Judge the people; by one column where features are many numbers: what all of them say.

    The many fits that people are judged by then take the time of fits without features. What the
    column does not say of an item, its votes do.

    Parameters
    ----------
    before
        Who is reversed and who acts together, if that is known: then this is about the others.
    """
    if features.size <= _LARGE:
        return crowd_of(ballots, features, penalties, before=before, **settings)
    rows, weight = replace(ballots.rows, features=features), equal_say(ballots)
    if before is not None:
        rows, weight = before.as_read(), before.judging()
    plain = logistic_fit(rows, weight, penalties, tolerance=_ROUGHLY)
    said = features @ plain.coefficients
    scale = max(float(said.std()), 1e-12)
    column = np.ascontiguousarray((said / scale)[:, None])
    by_column = replace(penalties, features=_OF_COLUMN)
    crowd = crowd_of(ballots, column, by_column, before=before, **settings)
    tastes = replace(
        crowd.tastes,
        coefficients=(plain.coefficients / scale)[:, None] @ crowd.tastes.coefficients,
    )
    return replace(crowd, rows=replace(crowd.rows, features=features), tastes=tastes, fit=None)


def _tuned_again(
    crowd: Crowd, search: Penalties, chosen: TunedSpace, before: Tuned | None
) -> tuple[Penalties, Tuned | None]:
    """Tune on the votes as they are read; next to the ridge before, if that is known.

    A ridge that is fixed stays; then this is about what it says of votes on items left out.
    """
    fixed, tuned = chosen.fixed, before
    if before is None or crowd.tastes.n:
        rows = crowd.as_read()
        say = crowd.ballots.weight * ~crowd.left_out
        near = search.features if fixed or before is not None else None
        rng = np.random.default_rng(chosen.seed)
        tuned = tuned_ridge_of(rows, say, rng=rng, near=near, within=0.1 if fixed else 0.6)
    if tuned is None:
        return search, None
    return search if fixed else replace(search, features=tuned.ridge), tuned


def _with_items(
    search: Penalties,
    rows: Comparisons,
    weight: Floats,
    settings: FitSettings,
    tuned: Tuned | None,
) -> Penalties:
    """The same penalties, and one on what items have of their own beyond their features.

    By how far their votes are from what features say of them where the fit has not seen them, less
    what is unsure of that: a kernel can say of every item it has seen what its votes say.
    """
    plain = logistic_fit(rows, weight, search, tolerance=1e-4)
    scores = plain.scores(rows.features) if tuned is None else tuned.scores
    variance = _SHRINK * item_variance(rows, weight, scores, plain.lean)
    if tuned is not None:
        variance -= _SHRINK * unsure_of_features(rows, weight, search, plain)
    own = settings.item_effects and variance > _LEAST_VARIANCE
    return replace(search, items=1.0 / variance if own else np.inf)


def _variance_of_scores(
    crowd: Crowd, rows: Comparisons, weight: Floats, lean: float
) -> tuple[float, float]:
    """Tuned on votes of people left out; by EM where there are too few people."""
    if np.count_nonzero(weight > 0) >= _ENOUGH and len(crowd.ballots.names) >= _PEOPLE:
        say = crowd.say * ~crowd.left_out
        return tuned_variance(rows, weight, say, crowd.fold, lean=lean)
    return score_variance(rows, weight, lean=lean), 1.0
