"""Feature tables that break overnight, and honest ones that only change."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from cases import passed
from judge import Seen
from pipeline import Place, Ran
from registries import MLFLOW_WARNS
from sentences import like
from stored_votes import put, simulated

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

N_ITEMS, N_VOTES = 60, 700
RNG = np.random.default_rng(7)


def zeroed(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(main=0.0)


def emptied(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(main=np.nan)


def shuffled(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(main=RNG.permutation(table["main"]))


def half_zero(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(main=np.where(RNG.random(len(table)) < 0.5, 0.0, table["main"]))


def permuted(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(item=RNG.permutation(table["item"]))


def as_words(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(main=[f"v{value:.3f}" for value in table["main"]])


def dropped(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns="main")


def reversed_sign(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(main=-table["main"])


BROKEN = {
    "zeroed": (zeroed, "columns_constant_now"),
    "emptied": (emptied, "columns_empty_now"),
    "shuffled": (shuffled, "values_changed"),
    "half-zero": (half_zero, "values_changed"),
    "permuted": (permuted, "values_changed"),
    "as-words": (as_words, "columns_no_numbers"),
    "dropped": (dropped, "feature_columns_gone"),
}
FAULTS = {
    "zeroed": "the main column is all zero",
    "emptied": "the main column is empty",
    "shuffled": "the main column is shuffled",
    "half-zero": "half of the main column is zero",
    "permuted": "the ids of the items are permuted",
    "as-words": "the main column became text",
    "dropped": "the main column is gone",
    "taken-away": "the table is gone",
}


def with_new_column(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(more=RNG.normal(size=len(table)))


def drifted(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(main=table["main"] + RNG.normal(0, 0.02, len(table)))


def with_new_items(table: pd.DataFrame) -> pd.DataFrame:
    new = table.head(20).assign(item=[f"new-{k}" for k in range(20)])
    return pd.concat([table, new])


HONEST = {
    "reversed-sign": reversed_sign,
    "new-column": with_new_column,
    "drifted": drifted,
    "new-items": with_new_items,
}


@dataclass(frozen=True)
class Chain:
    place: Place
    first: Ran
    second: Ran


@pytest.fixture(scope="module")
def chain(new_bench) -> Chain:
    """A good night; then every attribute has another table and 50 more votes."""
    place: Place = new_bench(URLR_WORKERS="2", URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false")
    tables = {}
    for k, attribute in enumerate((*BROKEN, *HONEST, "taken-away")):
        made = simulated(n_votes=N_VOTES, n_items=N_ITEMS, seed=k)
        truth = made.truth
        noise = np.random.default_rng(k).normal(size=(N_ITEMS, 3))
        tables[attribute] = pd.DataFrame(
            {
                "item": truth.index,
                "main": truth.to_numpy() + 0.1 * truth.std() * noise[:, 0],
                "other": noise[:, 1],
                "third": noise[:, 2],
            }
        )
        put(place.store, f"votes/{attribute}/1.csv", made.votes)
        put(place.store, f"features/{attribute}/t.csv", tables[attribute])
    first = place.night()
    for attribute, (fault, _) in BROKEN.items():
        put(place.store, f"features/{attribute}/t.csv", fault(tables[attribute]))
    for attribute, change in HONEST.items():
        put(place.store, f"features/{attribute}/t.csv", change(tables[attribute]))
    place.store.remove("features/taken-away/t.csv")
    return Chain(place, first, place.night())


def test_all_were_published_while_their_tables_were_good(chain):
    assert set(chain.first.outcomes().values()) == {"published"}


@pytest.mark.parametrize("attribute", FAULTS)
def test_no_broken_table_replaces_the_champion(chain, attribute):
    entry = chain.second.entry(attribute)
    assert (entry.outcome, entry.live) == ("held", 1), entry.reason
    passed("features break overnight", FAULTS[attribute], Seen(entry.outcome, entry.reason))


@pytest.mark.parametrize("attribute", BROKEN)
def test_the_table_and_what_is_wrong_with_it_are_named(chain, attribute):
    _, code = BROKEN[attribute]
    [remark] = chain.second.entry(attribute).remarks
    assert chain.place.store.address(f"features/{attribute}/t.csv") in remark
    assert like("tasks", code).search(remark)
    assert like("tasks", "order_turned_round").search(chain.second.out) is None


@pytest.mark.parametrize("attribute", HONEST)
def test_an_honest_change_is_published_or_needs_no_work(chain, attribute):
    entry = chain.second.entry(attribute)
    expected = "unchanged" if attribute == "new-items" else "published"
    assert entry.outcome == expected, entry.reason
