"""Why a vote was set aside: the shortest contradiction with the votes that are kept.

"A beat B 5:0, B beat C 4:1, yet this vote says C beats A": a path from the loser of the vote to its
winner, over pairs of items in which the majority of the kept votes says so. Of all such paths the
one of fewest steps is given, and of these the one whose weakest majority is strongest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from numba import njit
from scipy.special import expit

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.errors import VoteError
from urlr.ids import positions
from urlr.messages import message
from urlr.sentence import Sentence

LONGEST = 4
"""Steps of the longest path looked for; nobody follows a longer one."""

Because = Literal["nothing", "path", "features", "ranking"]
NOTHING, PATH, FEATURES, RANKING = range(4)
"""path: kept votes contradict it; features, ranking: the scores put its loser ahead."""


@dataclass(frozen=True, slots=True)
class Contradictions:
    """What each vote listed contradicts; items are positions in the table of scores."""

    row: Ints
    """(n_listed,) position of the vote in the verdicts."""
    winner: Codes
    """(n_listed,) of the vote; of a tie, the item that everything else puts behind."""
    loser: Codes
    """(n_listed,) its loser; of a tie, the other one."""
    tie: Mask
    """(n_listed,) votes that call their items equal."""
    because: npt.NDArray[np.int8]
    """(n_listed,) NOTHING, PATH, FEATURES or RANKING."""
    n_steps: Codes
    """(n_listed,) steps of the path, 0 without one."""
    path: Codes
    """(n_listed, longest + 1) items from the loser of the vote to its winner; -1 after the end."""
    won: Codes
    """(n_listed, longest) kept votes for the former of two neighbours on the path."""
    lost: Codes
    """(n_listed, longest) kept votes for the latter."""
    margin: Floats
    """(n_listed,) how far the loser is ahead, by features or by the ranking; NaN otherwise."""
    log_odds: bool
    """Whether margins are log-odds of winning a vote."""

    def sentence(self, listed: int, names: Sequence[object]) -> Sentence | None:
        """Say it in words; None where nothing is contradicted.

        Parameters
        ----------
        listed
            Which of the votes listed.
        names
            (n_items,) of the items, in the order of the scores; they go in as they are.
        """
        kind = int(self.because[listed])
        if kind == NOTHING:
            return None
        winner, loser = names[self.winner[listed]], names[self.loser[listed]]
        if kind == PATH:
            items = [names[item] for item in self.path[listed, : self.n_steps[listed] + 1]]
            steps = zip(items, items[1:], self.won[listed], self.lost[listed], strict=False)
            said = ", ".join(
                message("beat", first=a, second=b, won=won, lost=lost) for a, b, won, lost in steps
            )
        else:
            by = message("by_features") if kind == FEATURES else message("by_all_votes")
            margin = float(self.margin[listed])
            shown = _shown_margin(margin)
            said = message("ahead", by=by, first=loser, second=winner, margin=shown)
            if self.log_odds:
                said = message("ahead_in_odds", ahead=said, share=float(expit(margin)))
        if self.tie[listed]:
            return message("yet_called_equal", said=said, first=loser, second=winner)
        return message("yet_beats", said=said, first=winner, second=loser)

    def sentences(self, names: Sequence[object]) -> tuple[Sentence | None, ...]:
        """Say all of them in words, see `sentence`."""
        return tuple(self.sentence(listed, names) for listed in range(self.row.size))


def contradictions(
    verdicts: pd.DataFrame,
    scores: pd.DataFrame,
    *,
    rows: Ints | None = None,
    by_features: bool = False,
    log_odds: bool = True,
    longest: int = LONGEST,
) -> Contradictions:
    """Find what each pruned vote contradicts among the votes that are kept.

    Where items are ranked by the votes alone: a path; if there is none, the scores. Where they are
    ranked by features: a majority on the pair itself, then the features, then a longer path, then
    the scores, which know more than the features. What goes with all of these contradicts nothing;
    its reason is who cast it.

    Parameters
    ----------
    verdicts
        As `Ranker.verdicts`: winner, loser, status, pruned.
    scores
        As `Ranker.scores`: item, score, effect.
    rows
        Positions of the votes to be listed; all pruned ones if None. None of them speaks for or
        against another.
    by_features
        Whether features were given.
    log_odds
        Whether scores are log-odds, as those of the default method are.
    longest
        Steps of the longest path.

    Raises
    ------
    VoteError
        When a vote listed is about an item that is not among the scores, or does not count.
    """
    items = pd.Index(scores["item"])
    winner, loser = (_places(items, verdicts[name]) for name in ("winner", "loser"))
    status = verdicts["status"].astype("str").to_numpy(dtype=object)
    counts = ((status == "used") | (status == "tie")) & (winner >= 0) & (loser >= 0)
    pruned = verdicts["pruned"].to_numpy(np.bool_)
    listed = np.flatnonzero(pruned & counts) if rows is None else np.asarray(rows, np.int64)
    if unusable := int(np.count_nonzero(~counts[listed])):
        raise VoteError(message("inexplicable_votes", count=unusable, n_listed=listed.size))
    kept = counts & ~pruned & (status == "used")
    kept[listed] = False
    score = scores["score"].to_numpy(np.float64)
    own = scores["effect"].to_numpy(np.float64) if "effect" in scores else np.zeros(score.size)
    tie = status[listed] == "tie"
    won, beaten = winner[listed], loser[listed]
    turn = tie & (score[won] > score[beaten])  # a tie contradicts that its better item is better
    won, beaten = np.where(turn, beaten, won), np.where(turn, won, beaten)

    found = _paths(winner[kept], loser[kept], won, beaten, score.size, longest)
    by_score = score[beaten] - score[won]
    by_feature = by_score - (own[beaten] - own[won])
    direct, any_path = found.n_steps == 1, found.n_steps > 0
    features_say = (by_feature > 0) & by_features
    because = np.select(
        [direct, features_say, any_path, by_score > 0], [PATH, FEATURES, PATH, RANKING], NOTHING
    ).astype(np.int8)
    margin = np.select([because == FEATURES, because == RANKING], [by_feature, by_score], np.nan)
    is_path = because == PATH
    return Contradictions(
        listed,
        won,
        beaten,
        tie,
        because,
        np.where(is_path, found.n_steps, 0).astype(np.int32),
        np.where(is_path[:, None], found.path, -1).astype(np.int32),
        np.where(is_path[:, None], found.won, 0).astype(np.int32),
        np.where(is_path[:, None], found.lost, 0).astype(np.int32),
        margin,
        log_odds,
    )


def _shown_margin(margin: float) -> str:
    if margin < 0.01:
        return message("less_than_a_hundredth")
    return f"{margin:.2g}" if margin < 10 else f"{margin:,.0f}"


def _places(items: pd.Index[Any], column: pd.Series[Any]) -> Codes:
    """Position of each item of a column; -1 for what is no item."""
    codes, names = pd.factorize(column)
    place = np.append(positions(items, pd.Index(names)), -1)
    return place[codes].astype(np.int32)


@dataclass(frozen=True, slots=True)
class _Paths:
    n_steps: Codes
    path: Codes
    won: Codes
    lost: Codes


def _paths(
    winner: Codes, loser: Codes, to: Codes, source: Codes, n_items: int, longest: int
) -> _Paths:
    """Paths over the majorities of the kept votes, from `source` to `to`, one for each asked."""
    code = winner.astype(np.int64) * n_items + loser
    pairs, wins = np.unique(code, return_counts=True)
    ahead, behind = pairs // n_items, pairs % n_items
    back = np.searchsorted(pairs, behind * n_items + ahead)
    back = np.minimum(back, max(pairs.size - 1, 0))
    losses = np.where(pairs[back] == behind * n_items + ahead, wins[back], 0)
    edge = np.flatnonzero(wins > losses)  # sorted by the item ahead, then the one behind
    ahead, behind, wins, losses = ahead[edge], behind[edge], wins[edge], losses[edge]
    start = np.searchsorted(ahead, np.arange(n_items + 1)).astype(np.int64)

    asked, which = np.unique(source.astype(np.int64) * n_items + to, return_inverse=True)
    sources, targets = asked // n_items, asked % n_items
    edges = np.full((asked.size, longest), -1, np.int64)
    n_steps = np.zeros(asked.size, np.int32)
    _widest_shortest(start, behind, wins - losses, sources, targets, longest, edges, n_steps)

    edges, n_steps = edges[which], n_steps[which]
    on = edges >= 0
    path = np.full((to.size, longest + 1), -1, np.int64)
    path[:, 0] = np.where(n_steps > 0, source, -1)
    path[:, 1:][on] = behind[edges[on]]
    won, lost = np.zeros(edges.shape, np.int64), np.zeros(edges.shape, np.int64)
    won[on], lost[on] = wins[edges[on]], losses[edges[on]]
    return _Paths(*(part.astype(np.int32) for part in (n_steps, path, won, lost)))


@njit(cache=True)
def _widest_shortest(
    start: Ints,
    behind: Ints,
    strength: Ints,
    sources: Ints,
    targets: Ints,
    longest: int,
    edges: Ints,
    n_steps: Codes,
) -> None:
    """Fill in the edges of the best path for each (source, target), which come sorted.

    Layer by layer from each source: what is reached in k steps, by the strongest weakest edge,
    equal ones by the first item. It ends with the layer in which the last target is reached.
    """
    n_items = start.size - 1
    depth = np.full(n_items, -1, np.int64)
    width = np.zeros(n_items, np.int64)
    by_edge = np.full(n_items, -1, np.int64)
    before = np.full(n_items, -1, np.int64)
    reached = np.empty(n_items, np.int64)
    wanted = np.zeros(n_items, np.bool_)
    first = 0
    while first < sources.size:
        source = sources[first]
        last = first
        while last < sources.size and sources[last] == source:
            wanted[targets[last]] = True
            last += 1
        missing = last - first
        reached[0], n_reached = source, 1
        depth[source], width[source] = 0, np.iinfo(np.int64).max
        begin, step = 0, 0
        while step < longest and missing > 0 and begin < n_reached:
            end = n_reached
            step += 1
            # In the order of the items, so that equally good paths do not depend on chance.
            layer = np.sort(reached[begin:end])
            for item in layer:
                for e in range(start[item], start[item + 1]):
                    other = behind[e]
                    if depth[other] >= 0 and depth[other] < step:
                        continue
                    weakest = min(width[item], strength[e])
                    if depth[other] < 0:
                        depth[other] = step
                        reached[n_reached] = other
                        n_reached += 1
                        if wanted[other]:
                            missing -= 1
                    elif weakest <= width[other]:
                        continue
                    width[other], by_edge[other], before[other] = weakest, e, item
            begin = end
        for k in range(first, last):
            target = targets[k]
            wanted[target] = False
            if depth[target] <= 0:
                continue
            n_steps[k] = depth[target]
            item = target
            for place in range(depth[target] - 1, -1, -1):
                edges[k, place] = by_edge[item]
                item = before[item]
        for k in range(n_reached):
            depth[reached[k]] = -1
        first = last
