"""An attribute worked on part by part, against the same votes all at once."""

import io
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from stored_votes import order_of, put, simulated, written

import tasks.large_votes
from tasks.gather import DELIVERED_TWICE, LATER, UNDATED
from tasks.large_votes import survey
from tasks.messages import message
from tasks.read import ReadError
from tasks.report.page_file import PAGE, PAGES
from tasks.results import RESULT, Rival, Trained
from tasks.runs import place_of
from tasks.store import Store
from tasks.train import UnusedVotes, train
from urlr.settings import FitSettings

FIXED = FitSettings(method="paper", prune=0.1)
ONE, OTHER = "20261101T020000Z-0a1b2c", "20261102T020000Z-0a1b2c"
SAME_BYTES = {"scores.parquet", "model.npz", "judge.npz", "examples.parquet", "ranking.svg"}


def table(data: bytes) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(data))


def awkward(store: Store, *, features: bool = True) -> pd.DataFrame:
    """Votes in three dumps of either format, some of which do not count."""
    made = simulated(n_votes=900, n_items=25, ties=0.1)
    votes = made.votes.astype({"item_a": "str", "item_b": "str", "outcome": "str"}).assign(
        vote_id=[f"v{k}" for k in range(900)],
        weight=np.where(np.arange(900) % 7, 1.0, 0.3),
        time="2026-11-01T10:00:00Z",
    )
    votes.loc[[5, 450, 700], "vote_id"] = "v3"
    votes.loc[[6, 460], "item_a"] = ["item-9999", None]
    votes.loc[[7, 470], "weight"] = [0.0, -1.0]
    votes.loc[8, "outcome"] = "skip"
    put(store, "votes/smiling/1.parquet", votes.iloc[:400])
    put(store, "votes/smiling/2.csv", votes.iloc[400:650])
    put(store, "votes/smiling/3.parquet", votes.iloc[650:])
    if features:
        put(store, "features/all.parquet", made.features.reset_index())
    truth = pd.DataFrame({"item": made.truth.index, "score": made.truth.to_numpy()})
    put(store, "truth/smiling/1.csv", truth)
    return votes


def of_two_types(store: Store) -> None:
    """Dumps of either layout, one with whole numbers as ids and one with text; so the features."""
    made = simulated(n_votes=600, n_items=20)
    number = {name: 1 + place for place, name in enumerate(made.features.index)}
    votes = made.votes.astype({"item_a": "str", "item_b": "str", "outcome": "str"})
    votes = votes.assign(item_a=votes["item_a"].map(number), item_b=votes["item_b"].map(number))
    votes = votes.drop(columns=["vote_id", "annotator"])
    votes["time"] = np.where(np.arange(600) % 5, "2026-11-01", "2026-11-03")
    votes.loc[17, "time"] = None
    put(store, "votes/smiling/1.csv", votes.iloc[:250])
    decided = votes.iloc[250:].query("outcome in ('a', 'b')")
    first_won = decided["outcome"] == "a"
    pairs = decided.drop(columns=["item_a", "item_b", "outcome"]).assign(
        winner=decided["item_a"].where(first_won, decided["item_b"]),
        loser=decided["item_b"].where(first_won, decided["item_a"]),
    )
    put(store, "votes/smiling/2.parquet", pairs)
    features = made.features.reset_index().assign(item=list(number.values()))
    put(store, "features/all.parquet", features)


def both_ways(store: Store, monkeypatch, fit: FitSettings = FIXED, **other) -> list[Trained]:
    """All at once, and part by part in pieces of 64 rows."""
    at_once = train(order_of(store, run=ONE, fit=fit, **other))
    monkeypatch.setattr(tasks.large_votes, "PIECE", 64)
    monkeypatch.setattr(tasks.large_votes, "_BATCH", 16)
    return [at_once, train(order_of(store, run=OTHER, fit=fit, large_attribute=100, **other))]


def together(files: dict[str, bytes], kind: str) -> pd.DataFrame:
    names = sorted(name for name in files if name.startswith(f"{kind}/"))
    assert len(names) > 3
    return pd.concat([table(files[name]) for name in names], ignore_index=True)


@pytest.mark.full
@pytest.mark.parametrize("features", [True, False])
def test_part_by_part_gives_what_all_votes_at_once_give(tmp_path, monkeypatch, features):
    store = Store.at(tmp_path)
    awkward(store, features=features)
    at_once, by_parts = both_ways(store, monkeypatch)
    one, other = (written(store, place_of(run, "smiling")) for run in (ONE, OTHER))
    assert {name for name in SAME_BYTES if one[name] != other[name]} == set()
    verdicts, pieces = table(one["verdicts.parquet"]), together(other, "verdicts")
    pd.testing.assert_frame_equal(pieces, verdicts, check_categorical=False, check_dtype=False)
    # At once, times of several formats become text; a piece keeps those of its dump.
    rejected, expected = together(other, "rejected"), table(one["rejected.parquet"])
    for found in (rejected, expected):
        found["time"] = pd.to_datetime(found["time"].astype(str), format="ISO8601")
    pd.testing.assert_frame_equal(rejected, expected, check_dtype=False)
    first, second = at_once.result, by_parts.result
    for name in ("rows", "reasons", "dump_rows", "newest", "tau", "truth", "n_pruned", "n_items"):
        assert getattr(first, name) == getattr(second, name), name
    assert first.rows["read"] == 900
    assert (first.rows["skipped"], first.rows["rejected"]) == (2, 6 if features else 5)
    assert [one.method for one in second.methods] == ["urlr"]
    assert second.methods[0] == first.methods[0]
    assert second.warnings[-1].code == "read_by_parts"
    assert set(other) == {*second.files, RESULT}
    assert second.key != first.key


def test_types_layouts_and_nights_of_the_past_are_as_with_all_votes_at_once(tmp_path, monkeypatch):
    store = Store.at(tmp_path)
    of_two_types(store)
    past = datetime(2026, 11, 2, tzinfo=UTC)
    at_once, by_parts = both_ways(store, monkeypatch, as_of=past)
    one, other = (written(store, place_of(run, "smiling")) for run in (ONE, OTHER))
    assert {name for name in SAME_BYTES if one[name] != other[name]} == set()
    verdicts, pieces = table(one["verdicts.parquet"]), together(other, "verdicts")
    pd.testing.assert_frame_equal(pieces, verdicts, check_categorical=False, check_dtype=False)
    assert at_once.result.rows == by_parts.result.rows
    assert at_once.result.reasons == by_parts.result.reasons
    assert set(by_parts.result.reasons) >= {LATER, UNDATED}
    assert at_once.result.newest == by_parts.result.newest == datetime(2026, 11, 1, tzinfo=UTC)


def test_rejected_rows_of_parquet_come_without_columns_that_mean_nothing(tmp_path):
    store = Store.at(tmp_path)
    votes = simulated(n_votes=200, n_items=10).votes.astype({"item_a": "str"}).assign(mood="good")
    votes.loc[3, "item_a"] = None
    put(store, "votes/smiling/1.parquet", votes)
    at_once = order_of(store, run=ONE, fit=FIXED)
    by_parts = order_of(store, run=OTHER, fit=FIXED, large_attribute=100)
    for order in (at_once, by_parts):
        assert train(order).result.rows["rejected"] == 1
    whole = table(store.read(f"{at_once.place}/rejected.parquet"))
    part = table(store.read(f"{by_parts.place}/rejected/part-00001.parquet"))
    assert set(whole.columns) - set(part.columns) == {"mood"}
    pd.testing.assert_frame_equal(whole[part.columns], part, check_dtype=False)


def test_evidence_on_a_sample_is_said_to_be_so(tmp_path, monkeypatch):
    """Tau and the page rest on it; ranking, counts and verdicts on all votes."""
    store = Store.at(tmp_path)
    awkward(store)
    monkeypatch.setattr(tasks.large_votes, "SAMPLE", 450)
    order = order_of(store, fit=FIXED, large_attribute=100)
    trained = train(order)
    result = trained.result
    assert result.rows["read"] == 900
    assert 20 < result.tau.n_votes < 150
    n_seen = int(result.warnings[-1].split(" of them")[0].rpartition(" ")[2])
    assert 350 < n_seen < 550
    page = PAGES.from_bytes(store.read(f"{order.place}/{PAGE}"), PAGE)
    assert page.rows["read"] == 900
    assert page.diagnostics.warnings[-1] == result.warnings[-1]
    assert 0 < page.n_listed < n_seen
    again = train(replace(order, run=OTHER, known={result.key: order.place}))
    assert again.reused
    rival = Rival(1, 1, True, order.place)
    later = replace(order, run=OTHER, place=place_of(OTHER, "smiling"), rivals=(rival,))
    compared = train(later).champion
    assert compared.difference.plain.value == 0.0
    assert compared.champion.n_votes == result.tau.n_votes


def test_a_survey_takes_the_sample_from_the_very_rows(tmp_path):
    store = Store.at(tmp_path)
    votes = awkward(store)
    dumps = order_of(store).inputs.dumps
    seen = survey(store, dumps, attribute="smiling", as_of=None, n_rows=900, most=300)
    assert 220 < len(seen.sample) < 380
    assert seen.sample["vote_id"].tolist() == votes["vote_id"].take(seen.sample.index).tolist()
    assert seen.n_votes == sum(len(piece) for piece in seen.pieces(numbers=False)) == 900
    assert set(seen.items) == {*votes["item_a"].dropna(), *votes["item_b"]}


def test_votes_that_all_do_not_count_are_told_as_with_all_at_once(tmp_path):
    store = Store.at(tmp_path)
    put(store, "votes/smiling/1.parquet", pd.DataFrame({"winner": ["x"] * 9, "loser": ["x"] * 9}))
    order = order_of(store, fit=FIXED, most_rejected=1.0, large_attribute=3)
    folder = message("dumps_of", path=store.address("votes/smiling"), count=1)
    with refused(UnusedVotes, "no_usable_vote", n_rows=9, place=folder) as caught:
        train(order)
    assert list(caught.value.fields["reasons"].values()) == [9]
    where = store.address("votes/smiling/1.parquet")
    with refused(UnusedVotes, "too_many_rejected", rejected=9, rows=9, row=1, path=where):
        train(replace(order, most_rejected=0.5))


@pytest.mark.parametrize("name", ["vote_id", "annotator"])
def test_names_of_two_types_are_refused(tmp_path, name):
    store = Store.at(tmp_path)
    votes = pd.DataFrame({"winner": ["x", "y"], "loser": ["z", "z"], name: [1, 2]})
    put(store, "votes/smiling/1.parquet", votes)
    put(store, "votes/smiling/2.csv", votes)
    whole, other = (store.address(f"votes/smiling/{one}") for one in ("1.parquet", "2.csv"))
    with refused(ReadError, "names_of_two_types", column=name, whole=whole, other=other):
        train(order_of(store, fit=FIXED, large_attribute=3))


def test_a_dump_delivered_twice_counts_once(tmp_path, monkeypatch):
    store = Store.at(tmp_path)
    awkward(store)
    put(store, "votes/smiling/4.parquet", store.read("votes/smiling/1.parquet"))
    put(store, "votes/smiling/5.csv", "item_a,item_b,outcome,vote_id\n")
    at_once, by_parts = both_ways(store, monkeypatch)
    assert by_parts.result.rows == at_once.result.rows
    assert by_parts.result.reasons == at_once.result.reasons
    assert by_parts.result.reasons[DELIVERED_TWICE] == 400
    assert by_parts.result.dump_rows == at_once.result.dump_rows
    assert store.read(f"{place_of(ONE, 'smiling')}/scores.parquet") == store.read(
        f"{place_of(OTHER, 'smiling')}/scores.parquet"
    )
