"""The default's beginning: the space, the penalties and whom to trust, before votes are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from urlr.arrays import Floats, Mask, Progress, no_progress
from urlr.model.item_effects import item_variance, score_variance, tuned_variance
from urlr.model.logistic import Comparisons, Penalties, logistic_fit
from urlr.model.pushed_items import pushes
from urlr.model.robust import Standing
from urlr.model.tuning import Tuned, tuned_ridge_of
from urlr.people.crowd import Crowd, crowd_of, equal_say
from urlr.people.errors import calibration
from urlr.settings import FitSettings
from urlr.space.maps import FeatureMap, original_space
from urlr.space.prior import PriorSpace
from urlr.votes.ballots import Ballots

RIDGE = 1.0
"""Where there are too few votes to tune: scores of standard deviation 1 in log-odds, as what
features say before any vote has been seen."""

_LITTLE = 0.1
"""Share of the kernel in the prior where items left out ask for little of it."""
_SHRINK = 0.4
"""Share of the estimated variance that item effects get."""
_LEAST_VARIANCE = 1e-3
_FIRST_VARIANCE = 2.0
"""Of scores without features, while people are judged."""
_LARGE = 5_000_000
"""Numbers in the features from which on people are judged by one column made of them."""
_ROUGHLY, _OF_COLUMN = 1e-3, 0.1
"""Tolerance of the fit that makes it, and the ridge on it."""
_OTHERWISE = 1.0
"""Change of the logarithm of the ridge from which on people are judged once more."""
_ENOUGH, _PEOPLE = 50, 5
"""Votes and people from which on the variance of scores is tuned on people left out."""


def prior_space(
    values: Floats, columns: Sequence[str], settings: FitSettings, *, rng: np.random.Generator
) -> FeatureMap:
    """From raw features to the space of the prior; fitted on the compared items only."""
    original = original_space(values, columns, chi_square=settings.chi_square)
    prior = PriorSpace.fit(original.map(values), bent=settings.curved, rng=rng)
    return FeatureMap(original.columns, (*original.steps, prior))


def mapped(feature_map: FeatureMap | None, values: Floats) -> Floats:
    """(n_items, n_features) features in the space; no columns without one."""
    if feature_map is None:
        return np.zeros((len(values), 0))
    return np.ascontiguousarray(feature_map.map(values))


def is_curved(feature_map: FeatureMap | None) -> bool:
    """Whether kernel features stand beside the straight ones."""
    last = None if feature_map is None else feature_map.steps[-1]
    return isinstance(last, PriorSpace) and len(last.landmarks) > 0


@dataclass(frozen=True, slots=True)
class Begun:
    """All that is estimated before votes are judged one by one."""

    feature_map: FeatureMap | None
    features: Floats
    tuned: Tuned | None
    ridge: float
    standing: Standing
    """Of votes as they are read."""
    crowd: Crowd
    trusted: float = 1.0
    """How much of a margin people left out go by, all in all."""

    @property
    def turned(self) -> Mask:
        """(n_rows,) votes that are read the other way round."""
        return self.crowd.is_turned


def begin(
    ballots: Ballots,
    feature_map: FeatureMap | None,
    values: Floats,
    settings: FitSettings,
    seed: int,
    *,
    features: Floats | None = None,
    ridge: float | None = None,
    progress: Progress = no_progress,
) -> Begun:
    """Choose the space, judge the people, then tune on the votes of those who can be trusted.

    Parameters
    ----------
    values
        (n_items, n_columns) raw features of the compared items.
    features
        (n_items, n_features) what the map makes of them, if that is known.
    ridge
        The map and the ridge have been chosen before: take them as they are.
    """
    if not settings.annotator_rates:
        ballots = ballots.nameless()
    tuned, known, trusted = None, ridge, 1.0
    if features is None:
        features = mapped(feature_map, values)
    if feature_map is not None and known is None:
        feature_map, features, tuned = _chosen_space(feature_map, features, ballots, seed, progress)
        known = None if tuned is None else tuned.ridge
    if settings.ridge != "tuned":
        known = float(settings.ridge)
    fixed = ridge is not None or settings.ridge != "tuned"
    lean = 1.0 if settings.left_right and ballots.has_sides else np.inf
    search = Penalties(RIDGE if known is None else known, np.inf, lean)
    ranking = replace(search, items=1.0 / _FIRST_VARIANCE)
    rows = replace(ballots.rows, features=features)
    if feature_map is not None:
        ranking = _with_items(search, rows, ballots.weight, settings)
    judged = partial(
        _crowd_by_features,
        ballots=ballots,
        features=features,
        sides=settings.left_right,
        turn=settings.turn_reversed,
        tastes=settings.tastes,
        coordination=settings.coordination,
        progress=progress,
    )
    crowd = judged(penalties=ranking)
    if feature_map is not None and (crowd.apart.any() or crowd.reversed.any()):
        # What was tuned on their votes is tuned without; if that changes much, so may verdicts.
        before = search.features
        search, tuned = _tuned_again(crowd, search, fixed, seed)
        if abs(np.log(search.features / before)) > _OTHERWISE:
            ranking = _with_items(search, crowd.as_read(), crowd.weight(), settings)
            crowd = judged(penalties=ranking)
    alone = replace(crowd.rows.turned(crowd.is_turned), offset=crowd.own_side)
    wide = replace(search, items=1.0 / _FIRST_VARIANCE)
    pushed = pushes(alone, crowd.judging(), wide)
    if pushed.any():
        crowd = judged(
            penalties=ranking, ballots=replace(ballots, weight=ballots.weight * (1.0 - pushed))
        )
    rows, weight = crowd.as_read(), crowd.weight()
    progress("how much items differ", 0.0)
    if feature_map is None:
        variance, trusted = _variance_of_scores(crowd, rows, weight, lean)
        ranking = search = replace(search, items=1.0 / variance)
    else:
        search, tuned = _tuned_again(crowd, search, fixed, seed, tuned)
        ranking = _with_items(search, rows, weight, settings)
    margin, counted = crowd.margin, (ballots.annotator >= 0) & ~crowd.apart
    counted = counted & ~ballots.tie & (ballots.weight > 0)
    if tuned is not None:
        counted = tuned.judged & ~ballots.tie & (weight > 0)
        margin = tuned.margin * calibration(tuned.margin, counted, weight)
    standing = Standing(rows, ranking, search, crowd.doubt(), weight, margin, counted)
    return Begun(feature_map, features, tuned, search.features, standing, crowd, trusted)


def _crowd_by_features(
    ballots: Ballots, features: Floats, penalties: Penalties, **settings: Any
) -> Crowd:
    """Judge the people; by one column where features are many numbers: what all of them say.

    The many fits that people are judged by then take the time of fits without features. What the
    column does not say of an item, its votes do.
    """
    if features.size <= _LARGE:
        return crowd_of(ballots, features, penalties, **settings)
    rows = replace(ballots.rows, features=features)
    plain = logistic_fit(rows, equal_say(ballots), penalties, tolerance=_ROUGHLY)
    said = features @ plain.coefficients
    scale = max(float(said.std()), 1e-12)
    column = np.ascontiguousarray((said / scale)[:, None])
    crowd = crowd_of(ballots, column, replace(penalties, features=_OF_COLUMN), **settings)
    tastes = replace(
        crowd.tastes,
        coefficients=(plain.coefficients / scale)[:, None] @ crowd.tastes.coefficients,
    )
    return replace(crowd, rows=replace(crowd.rows, features=features), tastes=tastes, fit=None)


def _tuned_again(
    crowd: Crowd,
    search: Penalties,
    fixed: bool,
    seed: int,
    before: Tuned | None = None,
) -> tuple[Penalties, Tuned | None]:
    """Tune on the votes as they are read; next to the ridge before, if that is known.

    A ridge that is fixed stays; then this is about what it says of votes on items left out.
    """
    rows, weight = crowd.as_read(), crowd.weight()
    tuned = before
    if before is None or crowd.tastes.n:
        say = crowd.ballots.weight * ~crowd.left_out
        near = search.features if fixed or before is not None else None
        rng = np.random.default_rng(seed)
        tuned = tuned_ridge_of(rows, say, rng=rng, near=near, within=0.1 if fixed else 0.6)
    if tuned is None:
        return search, None
    tuned = tuned.weighed(rows, weight)
    return search if fixed else replace(search, features=tuned.ridge), tuned


def _with_items(
    search: Penalties, rows: Comparisons, weight: Floats, settings: FitSettings
) -> Penalties:
    """The same penalties, and one on what items have of their own beyond their features."""
    plain = logistic_fit(rows, weight, search, tolerance=1e-4)
    variance = item_variance(rows, weight, plain.scores(rows.features), plain.lean)
    own = settings.item_effects and variance * _SHRINK > _LEAST_VARIANCE
    return replace(search, items=1.0 / (_SHRINK * variance) if own else np.inf)


def _variance_of_scores(
    crowd: Crowd, rows: Comparisons, weight: Floats, lean: float
) -> tuple[float, float]:
    """Tuned on votes of people left out; by EM where there are too few people."""
    if np.count_nonzero(weight > 0) >= _ENOUGH and len(crowd.ballots.names) >= _PEOPLE:
        say = crowd.say * ~crowd.left_out
        return tuned_variance(rows, weight, say, crowd.fold, lean=lean)
    return score_variance(rows, weight, lean=lean), 1.0


def _chosen_space(
    feature_map: FeatureMap, features: Floats, ballots: Ballots, seed: int, progress: Progress
) -> tuple[FeatureMap, Floats, Tuned | None]:
    """Tune the ridge, and how much the kernel has of the prior variance, on items left out.

    Much or little of it, whichever foretells votes better: wherever that choice falls by chance,
    not much is lost. None of it only if clearly better, by two standard errors of the difference.
    """

    def tried(mapped: Floats, near: float | None) -> Tuned | None:
        rows = replace(ballots.rows, features=mapped)
        rng = np.random.default_rng(seed)
        return tuned_ridge_of(rows, ballots.weight, rng=rng, near=near, progress=progress)

    best = found = tried(features, None)
    *before, prior = feature_map.steps
    if best is None or found is None or not is_curved(feature_map):
        return feature_map, features, best
    assert isinstance(prior, PriorSpace)
    chosen, kept = feature_map, features
    little = prior.less_bent(features, _LITTLE)
    if (other := tried(little, best.ridge)) is not None and other.loss < best.loss:
        chosen = replace(feature_map, steps=(*before, prior.bending_less(_LITTLE)))
        kept, found = little, other
    plain = prior.less_bent(features, 0.0)
    if (other := tried(plain, found.ridge)) is not None:
        losses = [one.losses(ballots.rows, ballots.weight) for one in (found, other)]
        gain = (losses[0] - losses[1])[found.judged]
        if float(gain.sum()) > 2.0 * float(gain.std()) * np.sqrt(gain.size):
            return replace(feature_map, steps=(*before, prior.straight())), plain, other
    return chosen, kept, found
