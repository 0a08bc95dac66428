"""The fitted ranker: scores for seen and unseen items, a verdict on every vote, plain words."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from urlr.arrays import Codes, Floats, Ints, Mask
from urlr.errors import ArgumentError, FeatureError, NotKept
from urlr.graph.comparisons import ComparisonGraph
from urlr.ids import positions, shown
from urlr.messages import message
from urlr.model.resampling import Intervals, ranks_of
from urlr.people.prediction import Voters, ends, known_people, taste_table
from urlr.settings import FitSettings
from urlr.space.maps import FeatureMap
from urlr.space.table import feature_table
from urlr.verdicts import Evidence


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a fit, small enough to travel with the model."""

    rows: dict[str, int]
    """read = used + ties + skipped + rejected."""
    reasons: dict[str, int]
    """Rows that do not count, by reason."""
    n_items: int
    """Items compared."""
    n_edges: int
    n_components: int
    """Groups of items never compared with each other."""
    rate: float
    """Share asked to be set aside, by the setting or by the rule: of the votes, or of the edges."""
    ridge: float
    """Ridge of the ranking function."""
    n_pruned_edges: int
    """Edges that lost all their votes."""
    n_pruned_votes: int
    """Votes that do not count as they were cast."""
    n_tied_at_cut: int
    """Kept edges (of the default: votes) exactly as suspicious as the last pruned one."""
    solver: str
    violation: float
    """Certificate: largest violation of the optimality conditions."""
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    n_replicates: int = 0
    """Times votes were drawn anew for the intervals."""
    tau_unseen: tuple[float, float, float] | None = None
    """Kendall tau with votes on items left out, low and high (-1 and 1 without replicates); None
    where that was not tried."""
    tau_people: tuple[float, float, float] | None = None
    """Kendall tau with votes of people left out (of pairs, where nobody has a name)."""
    item_spread: float | None = None
    """Standard deviation of what items differ by beyond their features, in log-odds."""
    lean: float | None = None
    """Log-odds for the item shown on the left; None where sides are not known."""
    typical_error: float | None = None
    """Error rate of a typical person."""
    n_turned_votes: int = 0
    """Pruned votes of people who are mostly wrong, which count the other way round."""
    n_annotators: int = 0
    """People with a name."""
    curved: bool | None = None
    """Whether kernel features stand beside the straight ones."""
    n_groups: int = 0
    """Groups of people who act together."""
    n_together: int = 0
    """People in these."""
    n_together_votes: int = 0
    """Votes of these; what becomes of them, `settings.coordination` says."""
    n_judged: int = 0
    """People with votes enough to be judged."""
    n_tastes: int = 0
    """Directions in which people's tastes differ."""
    first_rests_on: tuple[int | None, int | None] | None = None
    """Fewest votes, and fewest people, without which another item would be first, as far as found;
    None for none, or where it was not looked for."""
    ten_rest_on: tuple[int | None, int | None] | None = None
    """The same for the first ten items, as a set."""
    agreed: float | None = None
    """Share of what people say that they agree on, the rest being taste; None without names."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranker:
    """A ranking function with the items it ranked and the facts of its making."""

    settings: FitSettings
    feature_map: FeatureMap | None
    """From raw features to the space of the ranking function; None without features."""
    outlier_map: FeatureMap | None
    """From raw features to the space of the outlier search; None if that used no features."""
    coefficients: Floats
    """beta of the ranking function; the items' own scores without features."""
    outlier_coefficients: Floats
    """beta of the outlier search at its last penalty."""
    scores: pd.DataFrame
    """One row per item, best first: item, score with low and high (90 % interval), rank with
    rank_low and rank_high, n_votes, wins, losses, ties, pruned, and effect: how far the votes put
    the item above what its features say. Intervals are missing where none were asked for."""
    facts: Facts
    evidence: Evidence | None
    """What the verdicts rest on; None for a model read from a file."""
    people: pd.DataFrame | None = None
    """See `annotators`; None for a model read from a file, and with the paper's method."""
    voters: Voters | None = None
    """What predictions need of the people; None in the paper's method, and in older files."""

    def __repr__(self) -> str:
        first = ", ".join(shown(one) for one in self.scores["item"].head(3))
        features = "no features" if self.feature_map is None else "features"
        n_votes = self.facts.rows["used"] + self.facts.rows["ties"]
        return (
            f"Ranker({self.settings.method}, {len(self.scores):,} items, {features}, "
            f"{n_votes:,} votes; first: {first})"
        )

    def __eq__(self, other: object) -> bool:
        """Whether both are the same model: what a file of them would hold."""
        from urlr.model_file import model_bytes

        if not isinstance(other, Ranker):
            return NotImplemented
        return self is other or model_bytes(self) == model_bytes(other)

    def __hash__(self) -> int:
        return hash((len(self.scores), self.facts.rows["read"]))

    @property
    def verdicts(self) -> pd.DataFrame:
        """One row per input vote, in input order.

        vote_id (the row number if the votes have none), winner, loser (as given; for ties and
        skips the two items in their order), annotator; status: used, tie, skipped or rejected;
        pruned: does not count as it was cast; entry: penalty at which the vote, as it is read (in
        the paper: its edge), became an outlier, 0 if it did not before the path ended; order: its
        place from most suspicious, 1, to least; margin: score of the winner less that of the
        loser; suspicion: probability that it is wrong, given who cast it (missing in the paper's
        method); reason: why it was pruned or does not count.
        """
        if self.evidence is None:
            raise NotKept(message("no_verdicts_in_file"))
        return self.evidence.verdicts()

    @property
    def annotators(self) -> pd.DataFrame:
        """One row per person, worst first; see `urlr.people.verdicts.annotator_table`.

        No rows where the votes do not say who cast them.
        """
        if self.people is None:
            raise NotKept(
                message("no_annotators_in_file")
                if self.evidence is None
                else message("no_annotators_in_paper")
            )
        return self.people

    @property
    def not_heard(self) -> pd.Index[Any]:
        """People whose votes do not count, because they act together."""
        if self.people is None or self.settings.coordination != "drop":
            return pd.Index([])
        found: pd.Index[Any] = pd.Index(self.people["annotator"][self.people["group"] > 0])
        return found

    @property
    def tastes(self) -> pd.DataFrame:
        """Groups of people who differ from the consensus alike; see `taste_table`.

        No rows where all people are of one taste.
        """
        scores = self.scores["score"].to_numpy(np.float64)
        return taste_table(self._known_voters(), scores, pd.Index(self.scores["item"]))

    def score(
        self, features: pd.DataFrame, *, annotator: Any = None, taste: int | None = None
    ) -> pd.Series[Any]:
        """Score items by their features; an item that was compared keeps what votes add to that.

        By the consensus; or as an annotator, or the people of a taste (a number of `tastes`), would
        score them. An annotator the fit does not know is taken for the consensus.

        Raises
        ------
        FeatureError
            When the model has no features, or the table lacks columns it needs.
        """
        if self.feature_map is None:
            raise FeatureError(message("model_without_features", n_items=len(self.scores)))
        table = feature_table(features, known=self.scores["item"])
        mapped = self.feature_map.map(self.feature_map.select(table))
        known = positions(pd.Index(self.scores["item"]), table.items)
        effect = np.append(self.scores["effect"].to_numpy(np.float64), 0.0)[known]
        scores = mapped @ self.coefficients + effect
        if annotator is not None or taste is not None:
            voters, place = self._place(annotator, taste)
            own = np.concatenate([voters.effects, np.zeros((1, voters.n))])[known]
            scores = scores + (mapped @ voters.coefficients + own) @ place
        return pd.Series(scores, index=table.items.rename("item"), name="score")

    def probability(
        self,
        a: Any,
        b: Any,
        *,
        annotator: Any = None,
        taste: int | None = None,
        interval: bool = False,
    ) -> Any:
        """Chance that somebody would prefer item a to item b; arrays in, arrays out.

        For somebody new it is the mixture over the tastes of the people, each counted once; with
        `annotator` (one, or one for each pair) what that person would say, the mixture for those
        the fit does not know; with `taste` (a number of `tastes`) what its people would say.
        `interval=True` gives chance, low and high; nine in ten such intervals should hold the
        chance that endless votes would show. NaN for items the fit has not ranked.
        """
        voters = self._known_voters()
        single = np.ndim(a) == 0 and np.ndim(b) == 0
        sizes = {np.size(one) for one in (a, b, annotator) if np.ndim(one)}
        if len(sizes - {1}) > 1:
            raise ArgumentError(message("unlike_lengths", sizes=sorted(sizes)))
        first, second = np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b))
        items = pd.Index(self.scores["item"])
        at = [positions(items, pd.Index(one)) for one in (first, second)]
        known = (at[0] >= 0) & (at[1] >= 0)
        who = None
        if annotator is not None and taste is not None:
            raise ArgumentError(message("annotator_or_taste"))
        if taste is not None:
            self._place(None, taste)
        if annotator is not None:
            asked = np.resize(annotator, first.size) if np.size(annotator) == 1 else annotator
            who = known_people(voters.names, asked, first.size)[known]
        scores = self.scores["score"].to_numpy(np.float64)
        found = []
        for z in (0.0, *ends()) if interval else (0.0,):
            chance = np.full(first.size, np.nan)
            chance[known] = voters.chances(scores, at[0][known], at[1][known], who, taste, z)
            found.append(float(chance[0]) if single else chance)
        return tuple(found) if interval else found[0]

    def _known_voters(self) -> Voters:
        if self.voters is None:
            raise NotKept(message("no_voters_in_model"))
        return self.voters

    def _place(self, annotator: Any, taste: int | None) -> tuple[Voters, Floats]:
        """Where a person or a taste stands."""
        voters = self._known_voters()
        if annotator is not None and taste is not None:
            raise ArgumentError(message("annotator_or_taste"))
        if taste is not None:
            n_tastes = int(voters.taste.max(initial=0))
            if not 0 <= taste <= n_tastes:
                raise ArgumentError(message("unknown_taste", taste=taste, n_tastes=n_tastes))
            return voters, voters.centre(taste)
        place = int(known_people(voters.names, annotator, 1)[0])
        return voters, voters.place[place] if place >= 0 else np.zeros(voters.n)

    def behind(self, shared: FeatureMap) -> Ranker:
        """Return the same ranker for raw features, fitted on a table that `shared` reduced.

        It scores as reducing and scoring one after the other would, and needs nothing else.

        Raises
        ------
        FeatureError
            The model has no features, or was fitted on columns `shared` does not give.
        """
        if self.feature_map is None:
            raise FeatureError(message("no_features_to_transform"))
        outlier_map = None if self.outlier_map is None else shared.then(self.outlier_map)
        return replace(self, feature_map=shared.then(self.feature_map), outlier_map=outlier_map)

    def summary(self) -> str:
        """What was done and what to look at, in plain words."""
        from urlr.summary import summary_of

        return summary_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file (npz with a JSON manifest, no pickle); see `load`."""
        from urlr.model_file import write_model

        write_model(self, path)


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """Votes of each compared item, by what became of them."""

    n_votes: Floats
    wins: Floats
    losses: Floats
    ties: Floats
    pruned: Floats

    @staticmethod
    def of_edges(graph: ComparisonGraph, pruned: Mask) -> ItemCounts:
        """Count the votes of a graph's edges."""
        tie = graph.target == 0
        return ItemCounts.of(graph.winner, graph.loser, graph.n_votes, tie, pruned, graph.n_items)

    @staticmethod
    def of(
        winner: Codes, loser: Codes, votes: npt.NDArray[Any], tie: Mask, pruned: Mask, n_items: int
    ) -> ItemCounts:
        """Count rows that stand for so many votes each."""

        def ends(values: npt.NDArray[Any]) -> Floats:
            both = np.bincount(winner, values, n_items) + np.bincount(loser, values, n_items)
            return np.asarray(both, np.float64)

        return ItemCounts(
            ends(votes),
            np.asarray(np.bincount(winner, votes * ~tie, n_items), np.float64),
            np.asarray(np.bincount(loser, votes * ~tie, n_items), np.float64),
            ends(votes * tie),
            ends(votes * pruned),
        )


def item_table(
    items: pd.Index[Any],
    scores: Floats,
    compared: pd.Index[Any],
    counts: ItemCounts,
    *,
    intervals: Intervals | None = None,
    effects: Floats | None = None,
    part: Ints | None = None,
) -> pd.DataFrame:
    """One row per item, best first; items that score the same share a rank.

    Groups of items that are ranked each on its own come one after the other, by column `part`.
    """
    place = positions(compared, items)
    n = len(items)

    def of_items(per_item: Floats) -> Ints:
        return np.append(per_item, 0.0)[place].astype(np.int64)

    nothing = np.full(n, np.nan)
    no_rank = pd.arrays.IntegerArray(np.ones(n, np.int64), np.ones(n, np.bool_))
    own = np.zeros(n) if effects is None else np.append(effects, 0.0)[place]
    table = pd.DataFrame(
        {
            "item": items,
            "score": scores,
            "low": nothing if intervals is None else intervals.low,
            "high": nothing if intervals is None else intervals.high,
            "rank": ranks_of(scores, part),
            "rank_low": no_rank if intervals is None else intervals.rank_low,
            "rank_high": no_rank if intervals is None else intervals.rank_high,
            "n_votes": of_items(counts.n_votes),
            "wins": of_items(counts.wins),
            "losses": of_items(counts.losses),
            "ties": of_items(counts.ties),
            "pruned": of_items(counts.pruned),
            "effect": own,
        }
    ).astype({"rank_low": "Int64", "rank_high": "Int64"})
    if part is None:
        return table.sort_values("rank", kind="stable", ignore_index=True)
    table["part"] = part
    return table.sort_values(["part", "rank"], kind="stable", ignore_index=True)
