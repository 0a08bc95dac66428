"""One trial: votes to learn from, spoiled in a known way, and clean votes to be judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from tests.quality.sets import VoteSet
from urlr.arrays import Ints
from urlr.metrics import kendall_tau, tau_b

Condition = Literal[
    "as is", "flips", "campaign, new names", "campaign, ordinary names", "reversed", "error-free"
]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
ERROR_FREE: Condition = "error-free"
"""All votes to learn from as the truth has it: for sets whose truth is known."""
DENSITIES = (1, 3, 10)
"""Votes to learn from, per item to learn from."""

SPOILED = 0.2
UNSEEN = 0.3
"""Share of the items (of the people, for faces) that the votes to learn from leave out."""
HELD_OUT = 0.2
"""Share of the pairs of seen items that are never drawn to learn from."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one method gets to see, and what it is judged by."""

    votes: pd.DataFrame
    """item_a, item_b, outcome (a, b, tie) and annotator."""
    features: pd.DataFrame
    unseen_votes: pd.DataFrame
    """Decided votes between items the votes to learn from leave out."""
    unseen_truth: pd.Series[Any] | None
    """True scores of unseen items, where there are any."""
    held_out: pd.DataFrame
    """Decided votes on held-out pairs of items to learn from."""
    wrong: np.ndarray[Any, np.dtype[np.bool_]]
    """(n_votes,) votes spoiled here (not those that were wrong before)."""

    def unseen_tau(self, scores: pd.Series[Any]) -> float:
        """Kendall tau on unseen items, with the truth if there is one and else with votes."""
        if self.unseen_truth is not None:
            return tau_b(scores, self.unseen_truth)
        return kendall_tau(scores, self.unseen_votes)

    def held_out_tau(self, scores: pd.Series[Any]) -> float:
        """Kendall tau with held-out votes on seen items."""
        return kendall_tau(scores, self.held_out)


def trial(data: VoteSet, *, density: int, condition: Condition, seed: int) -> Trial:
    """Deal items, pairs and votes; spoil the votes to learn from.

    The deal depends on the seed and the density alone, so that conditions are compared on the
    same items, pairs and votes.
    """
    rng = np.random.default_rng([seed, density])
    kin = pd.Series(data.kin.unique())
    kept_out = kin[rng.permutation(len(kin))[: round(UNSEEN * len(kin))]]
    unseen = data.kin.index[data.kin.isin(kept_out)]
    votes = data.votes
    n_unseen = votes["item_a"].isin(unseen).astype(int) + votes["item_b"].isin(unseen)
    among_unseen = votes[(n_unseen == 2) & (votes["outcome"] != "tie")]
    seen = votes[n_unseen == 0]
    pair = seen.groupby(["item_a", "item_b"], observed=True, sort=False).ngroup().to_numpy()
    is_held = rng.random(int(pair.max()) + 1)[pair] < HELD_OUT
    pool = seen[~is_held]
    n_items = pd.unique(pool[["item_a", "item_b"]].to_numpy().ravel()).size
    n_votes = min(density * n_items, len(pool))
    if "annotator" not in pool:
        pool = pool.assign(annotator=_dealt_names(len(pool), rng))
    rows = _whole_people(pool["annotator"], n_votes, rng)
    drawn = pool.iloc[rows].reset_index(drop=True)
    learned, wrong = _spoiled(drawn, data, condition, rng)
    # Votes on pairs not drawn are judged if both items were drawn.
    known = set(drawn["item_a"]) | set(drawn["item_b"])
    is_fresh = ~np.isin(pair, pair[~is_held][rows])
    fair = seen["item_a"].isin(known) & seen["item_b"].isin(known) & (seen["outcome"] != "tie")
    held = seen[fair.to_numpy() & is_fresh]
    truth = data.truth
    return Trial(
        votes=learned,
        features=data.features,
        unseen_votes=among_unseen,
        unseen_truth=None if truth is None else truth[truth.index.isin(unseen)],
        held_out=held,
        wrong=wrong,
    )


VOTES_A_PERSON = 20


def _dealt_names(n_votes: int, rng: np.random.Generator) -> Ints:
    """Names for votes that came without: about 20 votes a person, as in the real crowd."""
    return rng.integers(0, n_votes // VOTES_A_PERSON, n_votes)


def _whole_people(annotator: pd.Series[Any], n_votes: int, rng: np.random.Generator) -> Ints:
    """Rows of random people, all of a person's votes, the last person's as far as needed.

    Drawn vote by vote, sparse sets would have one vote a person, which no real crowd has.
    """
    person, _ = pd.factorize(annotator)
    place = rng.permutation(int(person.max()) + 1)[person]
    return np.sort(np.argsort(place, kind="stable")[:n_votes])


def _spoiled(
    votes: pd.DataFrame, data: VoteSet, condition: Condition, rng: np.random.Generator
) -> tuple[pd.DataFrame, np.ndarray[Any, np.dtype[np.bool_]]]:
    votes = votes.copy()
    n = len(votes)
    wrong = np.zeros(n, np.bool_)
    if condition == "as is":
        return votes, wrong
    if condition == ERROR_FREE:
        assert data.truth is not None
        ahead = data.truth[votes["item_a"]].to_numpy() - data.truth[votes["item_b"]].to_numpy()
        votes["outcome"] = np.select([ahead > 0, ahead < 0], ["a", "b"], "tie")
        return votes, wrong
    if condition == "flips":
        wrong[rng.permutation(n)[: round(SPOILED * n)]] = True
    elif condition == "reversed":
        names = votes["annotator"].unique()
        bad = rng.permutation(names)[: round(SPOILED * len(names))]
        wrong = votes["annotator"].isin(bad).to_numpy()
    else:
        return _with_campaign(votes, data, condition == "campaign, new names", rng)
    turned = votes["outcome"].map({"a": "b", "b": "a", "tie": "tie"})
    votes["outcome"] = votes["outcome"].where(~wrong, turned)
    return votes, wrong & (votes["outcome"] != "tie").to_numpy()


def _with_campaign(
    votes: pd.DataFrame, data: VoteSet, new_names: bool, rng: np.random.Generator
) -> tuple[pd.DataFrame, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Replace a fifth of the votes by pushes of a tenth of the items within their groups."""
    n = len(votes)
    n_push = round(SPOILED * n)
    items = pd.unique(votes[["item_a", "item_b"]].to_numpy().ravel())
    group = data.group[items].to_numpy()
    is_pushed = np.zeros(len(items), np.bool_)
    is_pushed[rng.permutation(len(items))[: max(1, len(items) // 10)]] = True
    rivals = {g: items[(group == g) & ~is_pushed] for g in np.unique(group)}
    able = items[is_pushed & np.array([rivals[g].size > 0 for g in group])]
    liked = rng.choice(able, n_push)
    rival = np.array([rng.choice(rivals[g]) for g in data.group[liked]])
    own = rng.spawn(1)[0]  # names apart, so that both campaigns push alike
    if new_names:
        per_person = max(2, round(n / votes["annotator"].nunique()))
        people = [f"pusher-{k}" for k in range(max(1, n_push // per_person))]
        who = own.choice(np.array(people, object), n_push)
    else:
        who = own.choice(votes["annotator"].to_numpy(object), n_push)
    pushes = pd.DataFrame({"item_a": liked, "item_b": rival, "outcome": "a", "annotator": who})
    swap = rng.random(n_push) < 0.5
    pushes.loc[swap, ["item_a", "item_b"]] = pushes.loc[swap, ["item_b", "item_a"]].to_numpy()
    pushes.loc[swap, "outcome"] = "b"
    replaced = np.zeros(n, np.bool_)
    replaced[rng.permutation(n)[:n_push]] = True
    kept = votes[~replaced].astype({"annotator": object})
    mixed = pd.concat([kept, pushes], ignore_index=True)
    order = rng.permutation(n)
    wrong = np.arange(n)[order] >= n - n_push
    return mixed.iloc[order].reset_index(drop=True), wrong
