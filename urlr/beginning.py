"""The default's beginning: the space, the penalties and whom to trust, before votes are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from urlr.arrays import Codes, Floats, Mask, Progress, no_progress
from urlr.ballots import Ballots
from urlr.prior import PriorSpace
from urlr.robust import Standing, standing_of
from urlr.settings import FitSettings
from urlr.spaces import FeatureMap, original_space
from urlr.suspicion import ErrorRates
from urlr.tuning import Tuned, tuned_ridge_of

RIDGE = 30.0
"""Where there are too few votes to tune: scores of standard deviation 0.2 in log-odds."""

_LITTLE = 0.1
"""Share of the kernel in the prior where items left out ask for little of it."""

_REVERSED = 0.8
"""Votes of people who are wrong more often than that are read the other way round.

In simulated crowds with one person in twenty reversed and a third careless, this caught 83 of 84
reversed people with 20 votes each, and 6 of 540 careless ones; 0.6 caught 93 of these, and people
of a campaign, who are wrong about some items and not about all.
"""
_TURNS = 2
"""How often people are looked at again after some were turned."""


def votes_of(ballots: Ballots, people: Mask) -> Mask:
    """(n_rows,) decided votes of these people; nameless votes are nobody's."""
    return np.append(people, False)[ballots.annotator] & ~ballots.tie


def is_half(ballots: Ballots, votes: Mask) -> bool:
    """Whether these are half of the decided votes or more, by weight."""
    return bool(ballots.weight[votes].sum() >= 0.5 * ballots.weight[~ballots.tie].sum())


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
    rates: ErrorRates
    """Of votes as they were cast."""
    turned: Mask
    """(n_rows,) votes that are read the other way round."""
    contradictory: bool = False
    """Whether half of the votes would have had to be read so, which was not done."""


def begin(
    ballots: Ballots,
    feature_map: FeatureMap | None,
    values: Floats,
    folds: Codes,
    settings: FitSettings,
    seed: int,
    *,
    ridge: float | None = None,
    progress: Progress = no_progress,
) -> Begun:
    """Tune, see whom to trust, and read the votes of people who are mostly wrong the other way.

    Parameters
    ----------
    values
        (n_items, n_columns) raw features of the compared items.
    folds
        (n_rows,) see `folds_of_people`.
    ridge
        The map and the ridge have been chosen before: take them as they are.
    """
    begun = _begin(ballots, feature_map, values, folds, settings, seed, ridge, progress)
    turned_people = np.zeros(len(ballots.names), np.bool_)
    for _ in range(_TURNS if settings.annotator_rates and settings.turn_reversed else 0):
        wrong = begun.rates.of_annotator > np.where(turned_people, 0.5, _REVERSED)
        if np.array_equal(wrong, turned_people):
            break
        turned = votes_of(ballots, wrong)
        if is_half(ballots, turned):
            return replace(begun, contradictory=True)
        turned_people = wrong
        as_read = ballots.turned(turned)
        begun = _begin(as_read, feature_map, values, folds, settings, seed, ridge, progress)
        begun = replace(begun, rates=begun.rates.turned(turned_people), turned=turned)
    return begun


def _begin(
    ballots: Ballots,
    feature_map: FeatureMap | None,
    values: Floats,
    folds: Codes,
    settings: FitSettings,
    seed: int,
    known: float | None,
    progress: Progress,
) -> Begun:
    """Tune on items left out, then see whom to trust."""
    features = mapped(feature_map, values)
    tuned = None
    if feature_map is not None and known is not None:
        rows = replace(ballots.rows, features=features)
        near = known if settings.ridge == "tuned" else None
        rng = np.random.default_rng(seed)
        tuned = tuned_ridge_of(rows, ballots.weight, rng=rng, near=near, within=0.1)
    elif feature_map is not None:
        feature_map, features, tuned = _chosen_space(feature_map, values, ballots, seed, progress)
    ridge = tuned.ridge if tuned is not None else RIDGE
    if settings.ridge != "tuned":
        ridge = float(settings.ridge)
    standing = standing_of(
        ballots,
        features,
        tuned,
        ridge=ridge,
        item_effects=settings.item_effects,
        annotator_rates=settings.annotator_rates,
        left_right=settings.left_right,
        people=folds,
        progress=progress,
    )
    nobody = np.zeros(ballots.rows.n_rows, np.bool_)
    return Begun(feature_map, features, tuned, ridge, standing, standing.rates, nobody)


def _chosen_space(
    feature_map: FeatureMap, values: Floats, ballots: Ballots, seed: int, progress: Progress
) -> tuple[FeatureMap, Floats, Tuned | None]:
    """Tune the ridge, and how much the kernel has of the prior variance, on items left out.

    Much or little of it, whichever foretells votes better: wherever that choice falls by chance,
    not much is lost. None of it only if clearly better, by two standard errors of the difference.
    """

    def tried(space: FeatureMap, near: float | None) -> tuple[FeatureMap, Floats, Tuned | None]:
        features = mapped(space, values)
        rows = replace(ballots.rows, features=features)
        rng = np.random.default_rng(seed)
        tuned = tuned_ridge_of(rows, ballots.weight, rng=rng, near=near, progress=progress)
        return space, features, tuned

    best = tried(feature_map, None)
    first = best[2]
    if first is None or not is_curved(feature_map):
        return best
    *before, prior = feature_map.steps
    assert isinstance(prior, PriorSpace)
    found = first
    little = tried(replace(feature_map, steps=(*before, prior.bending_less(_LITTLE))), first.ridge)
    if little[2] is not None and little[2].loss < found.loss:
        best, found = little, little[2]
    straight = tried(replace(feature_map, steps=(*before, prior.straight())), found.ridge)
    if straight[2] is not None:
        losses = [one.losses(ballots.rows, ballots.weight) for one in (found, straight[2])]
        gain = (losses[0] - losses[1])[found.judged]
        if float(gain.sum()) > 2.0 * float(gain.std()) * np.sqrt(gain.size):
            return straight
    return best
