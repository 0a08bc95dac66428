"""Crowds whose truth and whose planted errors are known: for tests, demo, study and benchmarks.

`crowd` simulates items, people and votes; `age_votes` is the paper's experiment on ages, with the
same model of honest mistakes, `unintentional_error`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from urlr.arrays import Floats, Mask
from urlr.errors import ArgumentError
from urlr.messages import message
from urlr.simulation.mistakes import reach_for, unintentional_error
from urlr.simulation.pairs import Pattern, distinct_pairs, voted_pairs
from urlr.simulation.people import (
    CAMPAIGN,
    CARELESS,
    KINDS,
    MINORITY,
    REVERSED,
    AnnotatorShares,
    annotator_kinds,
    check_share,
    voters,
)

Errors = Literal["falling", "flat"]
"""Whether honest mistakes get rarer as the true difference grows, or are equally likely."""

_FIRST_VOTE = np.datetime64("2024-01-01T00:00:00", "us")
_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Crowd:
    """Votes, and everything that is true about them."""

    votes: pd.DataFrame
    """vote_id, item_a, item_b, outcome (a, b, tie), annotator, time (UTC, increasing), and left:
    which of the two was shown on the left (a, b)."""
    features: pd.DataFrame
    """Features by item."""
    truth: pd.Series[Any]
    """True score by item, mean 0 and variance 1."""
    wrong: Mask
    """(n_votes,) whether a decisive vote contradicts the truth."""
    planted: pd.Categorical[str]
    """(n_votes,) kind of person who really made the vote."""
    annotators: pd.DataFrame
    """annotator and kind."""
    pushed: pd.Index[Any]
    """Items pushed by the campaign, empty if there is none."""

    @property
    def decisive(self) -> pd.DataFrame:
        """The votes that are no ties as winner, loser and annotator, under their old row labels."""
        a_won = (self.votes["outcome"] == "a").to_numpy(np.bool_)
        items = self.votes["item_a"].cat.categories
        a, b = (self.votes[name].cat.codes.to_numpy() for name in ("item_a", "item_b"))
        both = {
            "winner": pd.Categorical.from_codes(np.where(a_won, a, b), categories=items),
            "loser": pd.Categorical.from_codes(np.where(a_won, b, a), categories=items),
            "annotator": self.votes["annotator"],
        }
        return pd.DataFrame(both, index=self.votes.index)[self.votes["outcome"] != "tie"]


def crowd(
    *,
    rng: np.random.Generator,
    n_items: int = 200,
    n_features: int = 10,
    n_votes: int | None = None,
    n_annotators: int = 50,
    private: float = 0.0,
    curvature: float = 0.0,
    feature_noise: float = 0.0,
    pairs: Pattern = "random",
    components: int = 2,
    votes_per_pair: int = 1,
    shares: AnnotatorShares = AnnotatorShares(),  # noqa: B008  (frozen)
    carelessness: float = 1.0,
    errors: Errors = "falling",
    error_ratio: float = 0.1,
    flip: float = 0.0,
    ties: float = 0.0,
    left_bias: float = 0.0,
    pushed: float = 0.1,
    campaign_votes: float = 0.0,
    disguised: bool = False,
) -> Crowd:
    """Simulate a crowd; the same seed gives the same votes.

    Items, pairs, people and mistakes are drawn from four streams, so that a change in how people
    vote leaves the items and their features as they were.

    Parameters
    ----------
    n_votes
        2,000 if None; for the pairs "complete" and "chain", `votes_per_pair` for every pair.
    private, curvature
        Shares of the truth's variance that no feature explains, and that a square of a linear
        function explains. The rest is linear in the features.
    feature_noise
        Standard deviation of the noise on the features shown; their own is 1.
    components
        Number of groups for the pairs "components".
    votes_per_pair
        Each pair drawn is voted on this often, at different times.
    carelessness
        Probability with which a careless annotator votes at random, and else as a good one.
    errors, error_ratio
        Honest mistakes, and their mean probability over the pairs voted on.
    flip
        Share of all votes turned around, whoever made them.
    ties
        Share of all votes that are ties, mostly on close pairs; never of a push.
    left_bias
        Share of the votes that simply go to the item shown on the left.
    pushed
        Share of the items pushed by campaigners, who vote for such an item against any other and
        else as good annotators.
    campaign_votes
        Share of the votes that are pushes: one pushed item against one that is not, made by the
        campaigners (this share of the annotators, unless `shares` says otherwise), who make no
        others. If 0, campaigners get the same pairs as everybody.
    disguised
        Let the `campaign_votes` come under the names of ordinary annotators.

    Raises
    ------
    ArgumentError
        If an argument is out of range or contradicts another.
    """
    for name, least, count in (
        ("n_items", 2, n_items),
        ("n_features", 1, n_features),
        ("n_annotators", 1, n_annotators),
        ("votes_per_pair", 1, votes_per_pair),
        ("components", 1, components),
        ("n_votes", 1, 1 if n_votes is None else n_votes),
    ):
        if count < least:
            raise ArgumentError(message("too_small", name=name, least=least, value=count))
    for name, share in (
        ("private", private),
        ("curvature", curvature),
        ("carelessness", carelessness),
        ("flip", flip),
        ("ties", ties),
        ("left_bias", left_bias),
        ("pushed", pushed),
        ("campaign_votes", campaign_votes),
    ):
        check_share(name, share)
    if private + curvature > 1:
        raise ArgumentError(message("private_and_curved", total=private + curvature))
    if not 0 <= feature_noise < np.inf:
        raise ArgumentError(message("feature_noise_out_of_range", value=feature_noise))
    if not 0 <= error_ratio < 0.5:
        raise ArgumentError(message("not_below_half", name="error_ratio", value=error_ratio))
    if errors not in get_args(Errors):
        allowed = ", ".join(get_args(Errors))
        raise ArgumentError(message("not_one_of", name="errors", allowed=allowed, value=errors))
    if disguised and (shares.campaign > 0 or campaign_votes == 0):
        raise ArgumentError(
            message("disguised_by_name", campaign_votes=campaign_votes, share=shares.campaign)
        )
    if campaign_votes > 0 and shares.campaign == 0 and not disguised:
        shares = replace(shares, campaign=campaign_votes)
    item_rng, pair_rng, people_rng, vote_rng = rng.spawn(4)

    items = _items(n_items, n_features, private, curvature, feature_noise, item_rng)
    is_pushed = np.zeros(n_items, np.bool_)
    if shares.campaign > 0 or campaign_votes > 0:
        n_pushed = round(pushed * n_items)
        if not 0 < n_pushed < n_items:
            raise ArgumentError(message("pushed_out_of_range", pushed=pushed, n_items=n_items))
        is_pushed[item_rng.permutation(n_items)[:n_pushed]] = True
    kinds = annotator_kinds(shares, n_annotators, people_rng)

    voted = voted_pairs(
        pairs,
        is_pushed,
        n_votes=n_votes,
        votes_per_pair=votes_per_pair,
        components=components,
        campaign_votes=campaign_votes,
        rng=pair_rng,
    )
    a, b, push = voted.a, voted.b, voted.push.copy()
    n = len(a)
    own_names = campaign_votes > 0 and not disguised
    annotator = voters(kinds, push, own_names=own_names, rng=people_rng)
    planted = np.where(push, np.int32(CAMPAIGN), kinds[annotator])
    push |= (planted == CAMPAIGN) & (is_pushed[a] != is_pushed[b])

    difference = items.truth[a] - items.truth[b]
    seen = difference.copy()
    own = planted == MINORITY
    seen[own] = items.taste[a[own]] - items.taste[b[own]]
    a_wins = seen > 0
    if error_ratio > 0:
        chance: Floats | float = error_ratio
        if errors == "falling":
            reach = reach_for(np.abs(difference), error_ratio)
            chance = unintentional_error(np.abs(seen), reach=reach)
        a_wins ^= vote_rng.random(n) < chance
    a_wins ^= planted == REVERSED
    careless = np.flatnonzero(planted == CARELESS)
    careless = careless[vote_rng.random(len(careless)) < carelessness]
    a_wins[careless] = vote_rng.random(len(careless)) < 0.5
    a_wins[push] = is_pushed[a[push]]
    a_left = vote_rng.random(n) < 0.5
    if left_bias > 0:
        a_wins = np.where(vote_rng.random(n) < left_bias, a_left, a_wins)
    if flip > 0:
        a_wins[vote_rng.permutation(n)[: round(flip * n)]] ^= True
    tied = _ties(round(ties * n), np.abs(seen), push, vote_rng)

    gaps = vote_rng.exponential(_DAYS * 86_400e6 / n, n).astype(np.int64) + 1
    names = pd.Index([f"person-{number:04d}" for number in range(n_annotators)])
    index = pd.Index([f"item-{number:04d}" for number in range(n_items)], name="item")
    votes = pd.DataFrame(
        {
            "vote_id": np.arange(n),
            "item_a": pd.Categorical.from_codes(a, categories=index),
            "item_b": pd.Categorical.from_codes(b, categories=index),
            "outcome": pd.Categorical.from_codes(
                np.where(tied, 2, ~a_wins), categories=pd.Index(["a", "b", "tie"])
            ),
            "annotator": pd.Categorical.from_codes(annotator, categories=names),
            "time": pd.DatetimeIndex(_FIRST_VOTE + gaps.cumsum().astype("m8[us]"), tz="UTC"),
            "left": pd.Categorical.from_codes(
                np.where(a_left, 0, 1), categories=pd.Index(["a", "b"])
            ),
        },
        copy=False,
    )
    columns = [f"feature-{number:02d}" for number in range(n_features)]
    who = pd.Categorical.from_codes(kinds, categories=pd.Index(KINDS))
    return Crowd(
        votes,
        pd.DataFrame(items.features, index, columns),
        pd.Series(items.truth, index, name="truth"),
        ~tied & (difference != 0) & (a_wins != (difference > 0)),
        pd.Categorical.from_codes(planted, categories=pd.Index(KINDS)),
        pd.DataFrame({"annotator": names, "kind": who}),
        index[is_pushed],
    )


def age_votes(
    ages: Floats,
    *,
    n_votes: int,
    error_ratio: float,
    unintentional_ratio: float = 0.1,
    votes_per_pair: int = 1,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Votes on who is older with honest mistakes and random votes: the paper's "Unint.+Int.".

    A random vote is wrong half of the time, so the share of random votes among all is
    `(error_ratio - unintentional_ratio) / (1/2 - unintentional_ratio)`: 37.5 % for 25 % wrong.

    Parameters
    ----------
    ages
        (n_items,) true ages.
    n_votes
        Number of votes, on `n_votes / votes_per_pair` distinct random pairs of different age.
    error_ratio
        Expected share of wrong votes, at least `unintentional_ratio` and at most one half.
    unintentional_ratio
        Expected share of honest mistakes among votes that are not random.

    Returns
    -------
    pandas.DataFrame
        `winner` and `loser` (positions in `ages`), `wrong`, and `difference` in age.
    """
    ages = np.asarray(ages, np.float64)
    if len(ages) < 2 or not np.isfinite(ages).all():
        raise ArgumentError(message("too_few_ages", count=len(ages)))
    if not 0 <= unintentional_ratio < 0.5:
        raise ArgumentError(
            message("not_below_half", name="unintentional_ratio", value=unintentional_ratio)
        )
    if not unintentional_ratio <= error_ratio <= 0.5:
        raise ArgumentError(
            message("error_ratio_out_of_range", least=unintentional_ratio, value=error_ratio)
        )
    if votes_per_pair < 1 or n_votes < 1 or n_votes % votes_per_pair != 0:
        raise ArgumentError(
            message("votes_not_a_multiple", n_votes=n_votes, votes_per_pair=votes_per_pair)
        )
    younger, older = distinct_pairs(ages, n_votes // votes_per_pair, rng=rng)
    younger, older = np.repeat(younger, votes_per_pair), np.repeat(older, votes_per_pair)
    difference = ages[older] - ages[younger]
    wrong = np.zeros(n_votes, np.bool_)
    if unintentional_ratio > 0:
        reach = reach_for(difference, unintentional_ratio)
        wrong = rng.random(n_votes) < unintentional_error(difference, reach=reach)
    share = (error_ratio - unintentional_ratio) / (0.5 - unintentional_ratio)
    at_random = rng.permutation(n_votes)[: round(share * n_votes)]
    wrong[at_random] = rng.random(len(at_random)) < 0.5
    return pd.DataFrame(
        {
            "winner": np.where(wrong, younger, older),
            "loser": np.where(wrong, older, younger),
            "wrong": wrong,
            "difference": difference,
        }
    )


@dataclass(frozen=True, slots=True)
class _Items:
    features: Floats
    truth: Floats
    taste: Floats
    """What the minority likes: another linear function of the features."""


def _items(
    n_items: int,
    n_features: int,
    private: float,
    curvature: float,
    feature_noise: float,
    rng: np.random.Generator,
) -> _Items:
    latent = rng.standard_normal((n_items, n_features))
    liked, bent, taste = (_standard(latent @ w) for w in rng.standard_normal((3, n_features)))
    own = _standard(rng.standard_normal(n_items))
    truth = np.sqrt(max(0.0, 1.0 - private - curvature)) * liked + np.sqrt(private) * own
    if curvature > 0:
        truth += np.sqrt(curvature) * _standard(bent**2)
    noise = rng.standard_normal(latent.shape)
    return _Items(latent + feature_noise * noise, _standard(truth), taste)


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std(), np.float64)


def _ties(count: int, difference: Floats, push: Mask, rng: np.random.Generator) -> Mask:
    """Mark so many votes as ties, the closer the likelier, and never a push."""
    tied = np.zeros(len(push), np.bool_)
    if count == 0:
        return tied
    if count > (open_votes := int(np.count_nonzero(~push))):
        raise ArgumentError(message("too_many_ties", count=count, n_open=open_votes))
    distance = np.where(push, np.inf, difference * rng.random(len(push)))
    tied[np.argpartition(distance, count - 1)[:count]] = True
    return tied
