"""Which pairs a simulated crowd votes on: the patterns of sparsity, and the pairs of a campaign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from urlr.arrays import Floats, Ints, Mask
from urlr.errors import ArgumentError
from urlr.messages import message

Pattern = Literal["random", "skewed", "components", "complete", "chain"]
"""random: uniform pairs; skewed: an item's votes fall as 1/rank of its popularity; components:
groups never compared with each other; complete: every pair equally often; chain: only neighbours
in a random order, equally often."""

_USUAL_VOTES = 2000
_Draw = Callable[[int, np.random.Generator], tuple[Ints, Ints]]


@dataclass(frozen=True, slots=True)
class VotedPairs:
    """The pair of every vote, in order of time."""

    a: Ints
    """(n_votes,) one item."""
    b: Ints
    """(n_votes,) another item; which of the two is called a is left to chance."""
    push: Mask
    """(n_votes,) whether the pair was chosen by a campaign: one pushed item, one that is not."""


def voted_pairs(
    pattern: Pattern,
    pushed: Mask,
    *,
    n_votes: int | None,
    votes_per_pair: int,
    components: int,
    campaign_votes: float,
    rng: np.random.Generator,
) -> VotedPairs:
    """Draw the pairs to vote on.

    Parameters
    ----------
    pushed
        (n_items,) items that the campaign pushes.
    n_votes
        None is 2,000, or `votes_per_pair` for each pair of a complete graph or a chain.
    votes_per_pair
        Votes on every pair drawn.
    components
        Number of groups of the pattern "components".
    campaign_votes
        Share of the votes whose pair a campaign chooses.
    """
    if pattern not in get_args(Pattern):
        allowed = ", ".join(get_args(Pattern))
        raise ArgumentError(message("not_one_of", name="pairs", allowed=allowed, value=pattern))
    if pattern == "complete" or pattern == "chain":
        if campaign_votes > 0:
            raise ArgumentError(message("no_pairs_to_push", pattern=pattern))
        a, b = _listed(pattern, len(pushed), n_votes, votes_per_pair, rng)
        push = np.zeros(len(a), np.bool_)
    else:
        n = _USUAL_VOTES if n_votes is None else n_votes
        push = np.zeros(n, np.bool_)
        if (n_push := round(campaign_votes * n)) > 0:
            push[rng.permutation(n)[:n_push]] = True
        n_groups = components if pattern == "components" else 1
        source = _source(pushed, n_groups=n_groups, skewed=pattern == "skewed", rng=rng)
        a, b = np.empty(n, np.int64), np.empty(n, np.int64)
        a[~push], b[~push] = _repeated(source.any_pairs, n - n_push, votes_per_pair, rng)
        if n_push > 0:
            a[push], b[push] = _repeated(source.push_pairs, n_push, votes_per_pair, rng)
    swap = rng.random(len(a)) < 0.5
    return VotedPairs(np.where(swap, b, a), np.where(swap, a, b), push)


def distinct_pairs(values: Floats, n_pairs: int, *, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Positions (lower, higher) of `n_pairs` distinct random pairs whose values differ."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    n_lower = np.searchsorted(ascending, ascending)
    upto = np.cumsum(n_lower)
    total = int(upto[-1])
    if n_pairs > total:
        raise ArgumentError(message("too_few_distinct_pairs", n_pairs=n_pairs, total=total))
    # Pair k is item `higher` with one of the `n_lower` items before it: every pair has one k.
    k = rng.choice(total, n_pairs, replace=False)
    higher = np.searchsorted(upto, k, side="right")
    lower = k - (upto - n_lower)[higher]
    return order[lower], order[higher]


@dataclass(frozen=True, slots=True)
class _Source:
    """Items in a row, group after group, the pushed ones of each group first."""

    item: Ints
    group: Ints
    weight: Floats
    split: Ints
    """Place of the first item of each group that is not pushed."""
    ends: Ints
    """Place of the first item of each group, and the number of items."""

    def any_pairs(self, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Two items of one group, each drawn by weight."""
        upto = np.concatenate([[0.0], np.cumsum(self.weight)])
        first = _drawn(upto, np.zeros(n, np.int64), np.full(n, len(self.item)), rng)
        group = self.group[first]
        start, stop = self.ends[group], self.ends[group + 1]
        # Drawn from the row without the first item, so that nothing need be drawn again.
        own = self.weight[first]
        at = upto[start] + (upto[stop] - upto[start] - own) * rng.random(n)
        second = np.searchsorted(upto, at + own * (at >= upto[first]), side="right") - 1
        second = np.clip(second, start, stop - 1)
        beside = np.where(first + 1 < stop, first + 1, first - 1)
        second = np.where(second == first, beside, second)  # a matter of rounding
        return self.item[first], self.item[second]

    def push_pairs(self, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """A pushed item, and one of its group that is not, each drawn by weight."""
        place = np.arange(len(self.item))
        able = (place < self.split[self.group]) & (self.split < self.ends[1:])[self.group]
        row = np.flatnonzero(able)
        if len(row) == 0:
            raise ArgumentError(message("nothing_to_push_against"))
        upto = np.concatenate([[0.0], np.cumsum(self.weight[row])])
        first = row[_drawn(upto, np.zeros(n, np.int64), np.full(n, len(row)), rng)]
        group = self.group[first]
        upto = np.concatenate([[0.0], np.cumsum(self.weight)])
        second = _drawn(upto, self.split[group], self.ends[group + 1], rng)
        return self.item[first], self.item[second]


def _source(pushed: Mask, *, n_groups: int, skewed: bool, rng: np.random.Generator) -> _Source:
    n_items = len(pushed)
    if n_items < 2 * n_groups:
        raise ArgumentError(message("too_many_groups", n_groups=n_groups, n_items=n_items))
    group = rng.permutation(np.arange(n_items) % n_groups)
    weight = np.ones(n_items)
    if skewed:
        weight /= 1 + rng.permutation(n_items)
    item = np.lexsort((~pushed, group))
    ends = np.concatenate([[0], np.cumsum(np.bincount(group))])
    split = ends[:-1] + np.bincount(group[pushed], minlength=n_groups)
    return _Source(item, group[item], weight[item], split, ends)


def _drawn(upto: Floats, start: Ints, stop: Ints, rng: np.random.Generator) -> Ints:
    """One place per draw from start to before stop, by the weights summed in `upto`."""
    at = upto[start] + (upto[stop] - upto[start]) * rng.random(len(start))
    return np.clip(np.searchsorted(upto, at, side="right") - 1, start, stop - 1)


def _repeated(
    draw: _Draw, n_votes: int, votes_per_pair: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Pairs for so many votes, each pair `votes_per_pair` times (the last maybe fewer)."""
    if votes_per_pair == 1:
        return draw(n_votes, rng)
    first, second = draw(-(-n_votes // votes_per_pair), rng)
    which = rng.permutation(np.arange(n_votes) // votes_per_pair)
    return first[which], second[which]


def _listed(
    pattern: Literal["complete", "chain"],
    n_items: int,
    n_votes: int | None,
    votes_per_pair: int,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Every pair of the pattern, equally often up to one vote."""
    if pattern == "complete":
        first, second = np.triu_indices(n_items, 1)
    else:
        row = rng.permutation(n_items)
        first, second = row[:-1], row[1:]
    n_pairs = len(first)
    if n_votes is None:
        n_votes = n_pairs * votes_per_pair
    if n_votes < n_pairs:
        raise ArgumentError(
            message("too_few_votes_for_pairs", n_votes=n_votes, n_pairs=n_pairs, pattern=pattern)
        )
    which = rng.permutation(np.resize(rng.permutation(n_pairs), n_votes))
    return first[which], second[which]
