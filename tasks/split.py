"""Which votes a judge learns from and which it is judged by, the same every night.

Whether an item or a pair is held out is decided by a hash of the ids, never by the place of a row.
So the same pair is on the same side on every machine, whatever other votes there are, and a judge
fitted last month has not seen tonight's held-out votes either.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.messages import message
from urlr.arrays import Codes, Floats
from urlr.errors import ArgumentError
from urlr.votes.table import VoteTable

TRAIN, HELD_OUT, UNSEEN = range(3)
"""What becomes of a vote that counts; the codes in `Split.part`."""

SHARE = 0.1
"""Share of the items, and of the pairs of other items, that are held out."""
SALT = "urlr"

_AT_A_TIME = 1 << 22

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class SplitRule:
    """What decides which votes are held out."""

    by_items: bool
    item_share: float = SHARE
    pair_share: float = SHARE
    salt: str = SALT


@dataclass(frozen=True, slots=True)
class Split:
    """Which votes a judge learns from, and which it is judged by."""

    votes: VoteTable
    part: npt.NDArray[np.int8]
    """(n_rows,) TRAIN, HELD_OUT or UNSEEN; -1 for rows that do not count."""

    @property
    def train(self) -> pd.DataFrame:
        """Votes to learn from."""
        return self._rows(TRAIN)

    @property
    def held_out(self) -> pd.DataFrame:
        """Votes on held-out pairs of items that other votes may be learnt from."""
        return self._rows(HELD_OUT)

    @property
    def unseen(self) -> pd.DataFrame:
        """Votes on held-out items, none of whose votes are learnt from."""
        return self._rows(UNSEEN)

    def kept_from_both(self, other: Split) -> pd.DataFrame:
        """Votes that neither this split nor another one of the same votes learns from."""
        is_kept = (self.part > TRAIN) & (other.part > TRAIN)
        return pd.DataFrame(self.votes.frame.loc[is_kept])

    def _rows(self, part: int) -> pd.DataFrame:
        return pd.DataFrame(self.votes.frame.loc[self.part == part])


def split_votes(
    votes: VoteTable,
    *,
    by_items: bool,
    item_share: float = SHARE,
    pair_share: float = SHARE,
    salt: str = SALT,
) -> Split:
    """Hold out some items (`by_items`, for rankings by features), and some pairs of the others.

    A vote that counts, a tie too, is `unseen` if it touches a held-out item, `held_out` if it is
    on a held-out pair, and else `train`. Another salt, of at most 64 bytes, is another choice: a
    judge fitted under another salt or smaller shares has seen votes it would be judged by. With
    and without `by_items` the held-out pairs are the same.
    """
    for name, share in (("item_share", item_share), ("pair_share", pair_share)):
        if not 0.0 <= share < 1.0:
            raise ArgumentError(message("not_a_part", name=name, value=share))
    rule = SplitRule(by_items, item_share, pair_share, salt)
    counts = np.flatnonzero(votes.winner >= 0)
    part = np.full(len(votes.winner), -1, np.int8)
    part[counts] = pair_parts(votes.items, votes.winner[counts], votes.loser[counts], rule)
    return Split(votes, part)


def pair_parts(
    items: pd.Index[Any], winner: Codes, loser: Codes, rule: SplitRule
) -> npt.NDArray[np.int8]:
    """TRAIN, HELD_OUT or UNSEEN for pairs of items, given by their positions."""
    of_item, for_pairs = _hashes(items, rule.salt)
    held_item = _shares(of_item) < rule.item_share
    part = np.empty(len(winner), np.int8)
    for start in range(0, len(winner), _AT_A_TIME):
        rows = slice(start, start + _AT_A_TIME)
        held_pair = scattered(for_pairs[winner[rows]] + for_pairs[loser[rows]]) < rule.pair_share
        part[rows] = np.where(held_pair, HELD_OUT, TRAIN)
        if rule.by_items:
            part[rows][held_item[winner[rows]] | held_item[loser[rows]]] = UNSEEN
    return part


def scattered(numbers: Hashes) -> Floats:
    """Numbers from 0 up to 1, the same for the same number, that look drawn at random."""
    return _shares(_mixed(numbers))


def _hashes(items: pd.Index[Any], salt: str) -> tuple[Hashes, Hashes]:
    """Two numbers per id, the same everywhere and always; 7 and "7" differ."""
    digests = b"".join(
        hashlib.blake2b(_tagged(item), digest_size=16, key=salt.encode()).digest()
        for item in items.tolist()
    )
    both = np.frombuffer(digests, "<u8").astype(np.uint64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _tagged(item: Any) -> bytes:
    kind = "text" if isinstance(item, str) else "number"
    return f"{kind} {item}".encode("utf-8", "surrogatepass")


def _mixed(hashes: Hashes) -> Hashes:
    """Scramble sums of hashes (the finaliser of splitmix64).

    A sum does not mind the order of the two; scrambled, the pairs of one item have nothing to do
    with those of another.
    """
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _shares(hashes: Hashes) -> Floats:
    """Hashes as numbers from 0 up to 1."""
    return np.asarray((hashes >> np.uint64(11)) * 2.0**-53, np.float64)
