"""What a worker and the gate make of a night whose votes or features are not what they were.

Two nights of one attribute without a flow: a good one, and one with another table or other votes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from stored_votes import order_of, put, simulated

from tasks.gate import Verdict
from tasks.other_nights import OtherIds
from tasks.publish import _verdict, entry_of, metrics_of
from tasks.result_files import JUDGE
from tasks.results import RESULT, RESULTS, Order, Rival, Trained
from tasks.split import TRAIN, split_votes
from tasks.store import Store
from tasks.train import train
from urlr.model_file import model_bytes, model_from_bytes
from urlr.settings import FitSettings
from urlr.spelling import cleaned
from urlr.votes.table import vote_table

FIT = FitSettings(replicates=0)
N_ITEMS = 60


@dataclass
class Nights:
    """One attribute in a store; every call is a night."""

    store: Store
    number: int = 0
    champion: Trained | None = None

    def put(self, votes: pd.DataFrame, table: pd.DataFrame | None, form: str = "csv") -> None:
        for old in self.store.list("features"):
            self.store.remove(old.key)
        put(self.store, "votes/smiling/1.csv", votes)
        if table is not None:
            put(self.store, f"features/smiling/t.{form}", table)

    def __call__(self, **other: Any) -> tuple[Trained, Verdict, Order]:
        self.number += 1
        before, place = self.champion, None
        if before is not None:
            place = Rival(1, 1, True, before.result.place)
        order = order_of(
            self.store,
            run=f"2026110{self.number}T020000Z-0a1b2c",
            fit=FIT,
            rivals=() if place is None else (place,),
            **other,
        )
        done = train(order)
        live = None
        if before is not None:
            live = SimpleNamespace(number=1, night=date(2026, 11, 1), metrics=metrics_of(before))
        desk = SimpleNamespace(force=False, night=date(2026, 11, self.number))
        verdict = _verdict(done, order, live, desk)
        self.champion = before or done
        return done, verdict, order


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return Nights(Store.at(tmp_path))


def table_of_items(truth: pd.Series, seed: int) -> pd.DataFrame:
    """A column that nearly is the truth, and two of noise."""
    noise = np.random.default_rng(1000 + seed).normal(size=(len(truth), 3))
    main = truth.to_numpy() + 0.1 * truth.std() * noise[:, 0]
    return pd.DataFrame(
        {"item": truth.index, "main": main, "other": noise[:, 1], "third": noise[:, 2]}
    )


def good_night(nights: Nights, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A first night that is published; the votes of the second, and the table."""
    made = simulated(n_votes=760, n_items=N_ITEMS, seed=seed)
    table = table_of_items(made.truth, seed)
    nights.put(made.votes.head(700), table)
    _, verdict, _ = nights()
    assert verdict.publish
    return made.votes, table


def inverted(votes: pd.DataFrame) -> pd.DataFrame:
    return votes.assign(outcome=votes["outcome"].replace({"a": "b", "b": "a"}))


def codes(trained: Trained) -> set[str]:
    return {one.code for one in trained.suspect}


# Labels


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("column", ["other", "main"])
def test_inverted_labels_are_blocked_also_where_the_table_is_suspect(nights, seed, column):
    votes, table = good_night(nights, seed)
    broken = table.drop(columns="other") if column == "other" else table.assign(main=table.main * 9)
    nights.put(inverted(votes), broken)
    trained, verdict, _ = nights()
    assert trained.suspect
    assert (verdict.publish, verdict.rule) == (False, "sudden shift")
    both = verdict.reason.fields["cause"].fields
    assert [both[which].code for which in ("first", "second")] == [
        "order_turned_round",
        "suspect_features",
    ]


# Ids


def as_numbers(frame: pd.DataFrame, names: list[str], numbers: dict[str, int]) -> pd.DataFrame:
    return frame.drop(columns="left", errors="ignore").assign(
        **{name: frame[name].map(numbers) for name in names}
    )


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("fault", [None, "shuffled"])
def test_numbers_that_were_text_are_the_same_items(nights, seed, fault):
    made = simulated(n_votes=760, n_items=N_ITEMS, seed=seed)
    numbers = {item: 100 + place for place, item in enumerate(made.truth.index)}
    votes = as_numbers(made.votes, ["item_a", "item_b"], numbers)
    table = as_numbers(table_of_items(made.truth, seed), ["item"], numbers)
    nights.put(votes.head(700), table)
    nights()
    if fault is not None:
        table = table.assign(main=np.random.default_rng(seed).permutation(table["main"]))
    nights.put(votes, table, "parquet")
    trained, verdict, _ = nights()
    assert (trained.known, trained.met, trained.new_items) == (N_ITEMS, N_ITEMS, None)
    assert verdict.publish == (fault is None)
    assert bool(trained.suspect) == (fault is not None)
    # and neither judge has learnt from what they are compared by
    ids = ["item_a", "item_b"]
    read = [vote_table(votes), vote_table(votes.astype(dict.fromkeys(ids, "str")))]
    kept = [split_votes(one, by_items=True).part > TRAIN for one in read]
    decided = votes["outcome"].isin(["a", "b"]).to_numpy()
    assert trained.champion.difference.n_votes == np.count_nonzero(kept[0] & kept[1] & decided)


def rewritten(nights: Nights, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Give the champion's judge other items, as an earlier urlr would have read them."""
    place = nights.champion.result.place
    store = nights.store
    ranker = model_from_bytes(store.read(f"{place}/{JUDGE}"), name=JUDGE)
    data = model_bytes(replace(ranker, scores=change(ranker.scores), voters=None))
    result = RESULTS.from_bytes(store.read(f"{place}/{RESULT}"), RESULT)
    digests = result.digests | {JUDGE: sha256(data).hexdigest()}
    store.replace(f"{place}/{JUDGE}", data)
    store.replace(f"{place}/{RESULT}", RESULTS.to_bytes(replace(result, digests=digests)))


def test_a_champion_of_before_ids_had_one_spelling_is_compared_by_them(nights):
    votes, table = good_night(nights, 1)

    def split_in_two(scores: pd.DataFrame) -> pd.DataFrame:
        twin = scores.head(1).assign(item=[f"{scores['item'].iloc[0]} "])
        spaced = scores.assign(item=[scores["item"].iloc[0], *(" " + scores["item"].iloc[1:])])
        return pd.concat([spaced, twin], ignore_index=True)

    rewritten(nights, split_in_two)
    nights.put(votes, table)
    trained, verdict, order = nights()
    assert (trained.known, trained.met, trained.merged) == (N_ITEMS, N_ITEMS, 2)
    assert verdict.publish
    assert trained.alike.n_items == N_ITEMS - 1
    assert "merged_items" in {one.code for one in entry_of(trained, order).remarks}


@pytest.mark.parametrize("with_features", [True, False])
def test_other_ids_for_all_items_are_blocked(nights, with_features):
    made = simulated(n_votes=760, n_items=N_ITEMS, seed=1)
    table = table_of_items(made.truth, 1)
    nights.put(made.votes.head(700), table if with_features else None)
    nights()
    votes = made.votes.drop(columns="left", errors="ignore")
    votes = votes.assign(
        **{name: "new-" + votes[name].astype("str") for name in ("item_a", "item_b")}
    )
    renamed = table.assign(item="new-" + table["item"].astype("str"))
    nights.put(votes, renamed if with_features else None)
    trained, verdict, _ = nights()
    assert (trained.known, trained.met) == (N_ITEMS, 0)
    assert verdict.rule == "sudden shift"
    cause = verdict.reason.fields["cause"]
    assert (cause.code, cause.fields) == ("ids_changed", {"known": N_ITEMS, "met": 0})


@pytest.mark.parametrize(
    ("then", "tonight", "expected"),
    [
        (["7", "8"], [7, 8], [7, 8]),
        ([7, 8], ["7", "8"], ["7", "8"]),
        (["007", "8"], [7, 8], ["007", 8]),
        ([" 7", "20.0"], ["7", "20"], ["7", "20"]),
        ([" 7", "20.0"], [7, 20], [7, 20]),
        (["20.0", "x"], ["20.0", "x"], ["20.0", "x"]),
        (["e\u0301", "a"], ["\u00e9", "a"], ["\u00e9", "a"]),
        ([7, "7"], [7, "7"], [7, "7"]),
        (["gone"], ["a"], ["gone"]),
    ],
)
def test_ids_of_another_night_are_found_among_tonights(then, tonight, expected):
    ids = OtherIds.of(pd.Index(then), pd.Index(tonight))
    assert ids.as_tonight.tolist() == expected
    met = [one for one in tonight if one in expected]
    then_of = dict(zip(expected, then, strict=True))
    assert ids.names(pd.Index(met)).tolist() == [then_of[one] for one in met]


def test_ids_that_became_one_are_found():
    ids = OtherIds.of(pd.Index(["7", " 7", "8"]), pd.Index(["7", "8"]))
    assert ids.merged.tolist() == [True, True, False]
    assert cleaned([" 7"]) == ["7"]


# New items


def growing(nights: Nights, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """40 items on a first night; votes and table of a second with 40 more, and which these are."""
    made = simulated(n_votes=2600, n_items=80, seed=seed)
    known = made.truth.index[:40]
    old = made.votes["item_a"].isin(known) & made.votes["item_b"].isin(known)
    first = made.votes[old].head(500)
    table = table_of_items(made.truth, seed)
    is_new = ~table["item"].isin(known)
    nights.put(first, table[~is_new])
    nights()
    return pd.concat([first, made.votes.drop(first.index).head(600)]), table, is_new


def test_known_items_decide_and_new_ones_are_reported_apart(nights):
    votes, table, is_new = growing(nights, 1)
    nights.put(votes, table)
    trained, verdict, _ = nights()
    new = set(table["item"][is_new])
    split = split_votes(vote_table(votes), by_items=True)
    unseen = votes[(split.part > TRAIN) & votes["outcome"].isin(["a", "b"]).to_numpy()]
    touches_new = unseen["item_a"].isin(new) | unseen["item_b"].isin(new)
    assert trained.champion.difference.n_votes == np.count_nonzero(~touches_new)
    assert trained.new_items.difference.n_votes == np.count_nonzero(touches_new)
    assert verdict.publish
    assert not trained.suspect


ODD_ROWS = {
    "zero": (lambda values, new: np.where(new, 0.0, values), "new_rows_odd"),
    "empty": (lambda values, new: np.where(new, np.nan, values), "new_rows_odd"),
    "scaled": (lambda values, new: np.where(new, 1000 * values, values), "new_rows_odd"),
    "negated": (lambda values, new: np.where(new, -values, values), "new_items_"),
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("fault", ODD_ROWS)
def test_rows_of_new_items_that_are_broken_are_no_gain(nights, seed, fault):
    votes, table, is_new = growing(nights, seed)
    change, code = ODD_ROWS[fault]
    every = {name: change(table[name], is_new) for name in ("main", "other", "third")}
    nights.put(votes, table.assign(**every))
    trained, verdict, _ = nights()
    assert not verdict.publish
    assert any(one.startswith(code) for one in codes(trained))


def test_a_remnant_of_the_votes_does_not_decide(nights):
    """12 items become 40, and the column that matters is shuffled."""
    made = simulated(n_votes=3000, n_items=40, seed=1)
    known = made.truth.index[:12]
    old = made.votes["item_a"].isin(known) & made.votes["item_b"].isin(known)
    first = made.votes[old].head(400)
    table = table_of_items(made.truth, 1)
    nights.put(first, table[table["item"].isin(known)])
    nights()
    shuffled = table.assign(main=np.random.default_rng(78).permutation(table["main"]))
    nights.put(pd.concat([first, made.votes[~old].head(800)]), shuffled)
    trained, verdict, _ = nights()
    assert trained.suspect
    assert not verdict.publish
    assert verdict.reason.code == "share_judged"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("with_features", [True, False])
def test_items_may_grow_by_a_third_a_night(nights, seed, with_features):
    """All votes of the second night are new ones, too."""
    made = simulated(n_votes=3000, n_items=N_ITEMS, seed=seed)
    table = table_of_items(made.truth, seed)
    known = made.truth.index[: 3 * N_ITEMS // 4]
    old = made.votes["item_a"].isin(known) & made.votes["item_b"].isin(known)
    nights.put(
        made.votes[old].head(700), table[table["item"].isin(known)] if with_features else None
    )
    nights()
    nights.put(made.votes.tail(900), table if with_features else None)
    trained, verdict, _ = nights()
    assert not trained.suspect
    assert verdict.publish, verdict.reason


# Tables that changed


SAME_ORDER = {
    "renamed": lambda table: table.rename(columns={"main": "length"}),
    "unit": lambda table: table.assign(main=1000 * table["main"]),
    "noise-dropped": lambda table: table.drop(columns="other"),
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("change", SAME_ORDER)
def test_a_change_that_leaves_the_order_is_published_and_said(nights, seed, change):
    votes, table = good_night(nights, seed)
    nights.put(votes, SAME_ORDER[change](table))
    trained, verdict, order = nights()
    assert trained.suspect
    assert verdict.publish, verdict.reason
    assert "suspect_features" in {one.code for one in entry_of(trained, order).remarks}


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_half_of_a_column_in_another_unit_is_blocked(nights, seed):
    votes, table = good_night(nights, seed)
    half = np.random.default_rng(77 + seed).random(len(table)) < 0.5
    nights.put(votes, table.assign(main=np.where(half, 2.54 * table["main"], table["main"])))
    trained, verdict, _ = nights()
    assert trained.suspect
    assert not verdict.publish


def test_columns_with_other_values_are_remarked_also_where_the_table_is_not_suspect(nights):
    votes, table = good_night(nights, 1)
    drift = 0.02 * table["main"].std() * np.random.default_rng(0).normal(size=len(table))
    nights.put(votes, table.assign(main=table["main"] + drift))
    trained, verdict, order = nights()
    assert not trained.suspect
    assert verdict.publish
    assert [one.code for one in trained.moved] == ["values_changed"]
    assert "changed_features" in {one.code for one in entry_of(trained, order).remarks}


def test_rows_of_a_reduced_table_in_another_order_are_no_change(nights):
    """A column that says something of two items alone, and rows nobody voted on."""
    made = simulated(n_votes=760, n_items=N_ITEMS, seed=1)
    table = table_of_items(made.truth, 1).assign(rare=np.arange(N_ITEMS) < 2)
    others = {
        name: np.random.default_rng(0).normal(size=400) for name in ("main", "other", "third")
    }
    others |= {"item": [f"z{k}" for k in range(400)], "rare": False}
    for votes, order in ((made.votes.head(700), 1), (made.votes, -1)):
        nights.put(votes, pd.concat([table, pd.DataFrame(others)])[::order])
        parts = order_of(nights.store).inputs.features
        trained, verdict, _ = nights(reduced=parts)
    assert codes(trained) == set()
    assert trained.moved == ()
    assert verdict.publish


# Graphs that show nothing


def judged_alone(nights: Nights, pairs: list[tuple[str, str]], n_items: int) -> Verdict:
    rng = np.random.default_rng(1)
    votes = pd.DataFrame(pairs, columns=["winner", "loser"])
    votes["annotator"] = [f"p{k}" for k in rng.integers(12, size=len(votes))]
    items = sorted(set(votes["winner"]) | set(votes["loser"]))
    features = rng.normal(size=(len(items), 2))
    table = pd.DataFrame({"item": items, "x": features[:, 0], "y": features[:, 1]})
    nights.put(votes, table)
    assert len(items) == n_items
    return nights()[1]


def test_a_star_of_one_vote_an_item_is_blocked(nights):
    verdict = judged_alone(nights, [("c", f"i{k}") for k in range(300)], 301)
    assert (verdict.rule, verdict.reason.code) == ("one-sided votes", "guessed_votes")


@pytest.mark.parametrize("seed", [1, 2])
def test_good_against_bad_items_are_blocked_also_with_errors(nights, seed):
    rng = np.random.default_rng(seed)
    pairs = [(f"g{a}", f"b{b}") for a, b in rng.integers(30, size=(600, 2))]
    pairs = [(a, b) if rng.random() > 0.05 else (b, a) for a, b in pairs]
    verdict = judged_alone(nights, pairs, 60)
    assert (verdict.rule, verdict.reason.code) == ("one-sided votes", "guessed_votes")
