"""Careful tastes are no campaign, and what is asked of a fit rests on the votes that count."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from graphs import seeded

import urlr
from tests.quality.attacks import Size, attacked, honest
from urlr.diagnostics.aside_order import aside_order
from urlr.diagnostics.explorer import explore
from urlr.diagnostics.self_test import self_test
from urlr.diagnostics.sufficiency import enough_votes
from urlr.people.verdicts import ACCUSATIONS

SIZE = Size(items=40, people=40, votes=4000)


def tastes(seed, n_tastes, n_each, n_votes, n_items):
    """People who never slip, each of one of some tastes that have nothing to do with each other."""
    draw = seeded(seed)
    better = draw.standard_normal((n_tastes, n_items))
    rows = []
    for person in range(n_tastes * n_each):
        first = draw.integers(0, n_items, n_votes)
        second = (first + draw.integers(1, n_items, n_votes)) % n_items
        wins = better[person % n_tastes, first] > better[person % n_tastes, second]
        pairs = {"winner": np.where(wins, first, second), "loser": np.where(wins, second, first)}
        rows.append(pd.DataFrame(pairs).assign(annotator=f"w{person:03d}"))
    return pd.concat(rows, ignore_index=True)


@pytest.mark.parametrize(
    ("seed", "sizes"),
    [
        (6, (2, 30, 60, 40)),
        (10, (2, 30, 60, 40)),
        (6, (4, 5, 100, 20)),
        (10, (4, 5, 100, 20)),
        (7, (5, 2, 100, 20)),
        (9, (5, 2, 100, 20)),
    ],
)
def test_several_tastes_of_people_who_never_slip_accuse_nobody(seed, sizes):
    """They are as much of one mind as a campaign, and so is everybody else with their like."""
    verdict = urlr.fit(tastes(seed, *sizes), None, replicates=0).annotators["verdict"]
    assert not verdict.isin(ACCUSATIONS).any(), verdict.value_counts()


@cache
def pushed():
    made = attacked(honest(0, SIZE), "pushing", 0.4, 0)
    return made, urlr.fit(made.votes, None, replicates=0)


def test_votes_of_a_group_come_first_in_every_order():
    made, ranker = pushed()
    theirs = made.votes["annotator"].isin(made.attackers).to_numpy()
    n = int(theirs.sum())
    verdicts = ranker.verdicts
    assert theirs[verdicts["order"].to_numpy(np.int64) <= n].all()
    order = aside_order(ranker)
    assert theirs[order.rows[:n]].all()
    assert order.n_aside >= n
    assert ranker.facts.rate >= theirs.mean()


@pytest.mark.parametrize("prune", [0.05, 0.5])
def test_a_share_to_set_aside_begins_with_the_group(prune):
    made, _ = pushed()
    verdicts = urlr.fit(made.votes, None, replicates=0, prune=prune).verdicts
    theirs = made.votes["annotator"].isin(made.attackers).to_numpy()
    aside = verdicts["pruned"].to_numpy()
    assert aside[theirs].all()
    assert aside.mean() == pytest.approx(max(prune, theirs.mean()), abs=0.01)


def test_the_slider_starts_at_the_votes_of_the_group_and_asks_the_others():
    made, _ = pushed()
    votes = made.votes
    held_out = np.arange(len(votes)) % 5 == 0
    train = votes[~held_out]
    judge = urlr.fit(train, None, replicates=0)
    found = explore(
        train, votes[held_out], None, judge.settings, chosen=judge.facts.rate, like=judge
    )
    theirs = votes["annotator"].isin(made.attackers).to_numpy()
    assert found.share[0] == pytest.approx(theirs[~held_out].mean())
    assert found.n_pruned[0] == theirs[~held_out].sum()
    assert found.n_held_out == (held_out & ~theirs).sum()
    assert found.agreement[found.share.tolist().index(found.chosen)] > 0.7


def test_enough_votes_and_the_self_test_rest_on_the_votes_that_count():
    made, ranker = pushed()
    plain = honest(0, SIZE).votes
    alone = urlr.fit(plain, None, replicates=0)
    beside, without = (
        enough_votes(votes, None, fit, rng=seeded(0)).reliability.value
        for votes, fit in ((made.votes, ranker), (plain, alone))
    )
    assert beside == pytest.approx(without, abs=0.02)
    tested = self_test(made.votes, None, ranker.settings, like=ranker, rng=seeded(0))
    assert tested.n_votes == len(plain)
    other = self_test(plain, None, alone.settings, like=alone, rng=seeded(0))
    assert tested.auc.value == pytest.approx(other.auc.value, abs=0.05)


def test_a_group_that_counts_is_part_of_all_that_is_asked():
    made, _ = pushed()
    kept = urlr.fit(made.votes, None, replicates=0, coordination="keep")
    assert len(kept.not_heard) == 0
    tested = self_test(made.votes, None, kept.settings, like=kept, rng=seeded(0))
    assert tested.n_votes == len(made.votes)
