"""Who votes in a simulated crowd: kinds of annotators, and which of them makes which vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from urlr.arrays import Codes, Ints, Mask
from urlr.errors import ArgumentError
from urlr.messages import message

Kind = Literal["good", "careless", "reversed", "campaign", "minority"]
"""good: honest mistakes only; careless: votes at random; reversed: the opposite of the truth;
campaign: for the pushed items; minority: by a taste of its own."""

KINDS: tuple[Kind, ...] = get_args(Kind)
GOOD, CARELESS, REVERSED, CAMPAIGN, MINORITY = range(len(KINDS))


@dataclass(frozen=True, slots=True)
class AnnotatorShares:
    """Share of the annotators of each kind; the rest are good."""

    careless: float = 0.0
    reversed: float = 0.0
    campaign: float = 0.0
    minority: float = 0.0

    def __post_init__(self) -> None:
        for kind in KINDS[1:]:
            check_share(f"shares.{kind}", getattr(self, kind))
        if self.good < -1e-9:
            raise ArgumentError(message("shares_above_one", total=1.0 - self.good))

    @property
    def good(self) -> float:
        """Share of the annotators who make honest mistakes only."""
        return 1.0 - self.careless - self.reversed - self.campaign - self.minority


def annotator_kinds(shares: AnnotatorShares, n_annotators: int, rng: np.random.Generator) -> Codes:
    """Kind of each annotator, as a code: GOOD, CARELESS and so on."""
    wanted = [getattr(shares, kind) for kind in KINDS[1:]]
    ends = np.rint(np.cumsum(wanted) * n_annotators).astype(np.int64)
    counts = np.diff(ends, prepend=0)
    for kind, share, count in zip(KINDS[1:], wanted, counts, strict=True):
        if share > 0 and count == 0:
            raise ArgumentError(
                message("share_of_nobody", kind=kind, share=share, n_annotators=n_annotators)
            )
    counts = np.append(n_annotators - ends[-1], counts)
    return rng.permutation(np.repeat(np.arange(len(KINDS), dtype=np.int32), counts))


def voters(kinds: Codes, push: Mask, *, own_names: bool, rng: np.random.Generator) -> Ints:
    """Annotator of each vote; with `own_names`, pushes and only pushes are the campaigners'."""
    if not own_names:
        return rng.integers(len(kinds), size=len(push))
    annotator = np.empty(len(push), np.int64)
    for votes, people in ((push, kinds == CAMPAIGN), (~push, kinds != CAMPAIGN)):
        n_votes = int(np.count_nonzero(votes))
        if n_votes > 0 and not people.any():
            raise ArgumentError(message("nobody_votes", count=n_votes, n_votes=len(push)))
        if n_votes > 0:
            annotator[votes] = rng.choice(np.flatnonzero(people), n_votes)
    return annotator


def check_share(name: str, share: float) -> None:
    """Raise an ArgumentError unless this is a share."""
    if not 0 <= share <= 1:
        raise ArgumentError(message("not_between_0_and_1", name=name, value=share))
