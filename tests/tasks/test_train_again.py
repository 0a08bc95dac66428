"""The work on one attribute done before: what is found again, what is not, and what changed."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pytest
from cases import passed
from judge import Seen
from refusals import refused
from stored_votes import QUICK, order_of, put, simulated, small, stored, written

from tasks.gate import GateSettings
from tasks.gather import LATER, UNDATED, gather_votes
from tasks.read import ReadError
from tasks.result_files import JUDGE, MODEL
from tasks.results import RESULT, RESULTS, Rival, Trained
from tasks.runs import past_of, place_of
from tasks.store import Store
from tasks.train import UnusedVotes, _computed, _prepared, train
from tasks.work import key_of as result_key
from tasks.work import settings_digest

OTHER = "20261102T020000Z-0a1b2c"
LIVE = "records and aliases are not as a night left them"
PLACE = place_of("20261101T020000Z-0a1b2c", "smiling")


@pytest.fixture
def here(tmp_path) -> Store:
    return Store.at(tmp_path / "store")


@pytest.fixture(scope="module")
def night(tmp_path_factory) -> tuple[Store, Trained]:
    """A store with one result in it, which tests only look at."""
    store = Store.at(tmp_path_factory.mktemp("night"))
    stored(store)
    return store, train(order_of(store))


def key_of(store: Store, **other) -> str:
    return train(order_of(store, run=OTHER, **other)).result.key


def test_a_new_item_that_nobody_voted_on_does_not_change_the_key(here):
    small(here)
    first = train(order_of(here)).result
    features = pd.read_csv(io.BytesIO(here.read("features/all.csv")))
    new = features.tail(1).assign(item="new")
    put(here, "features/all.csv", pd.concat([new, features.sample(frac=1, random_state=0)]))
    again = train(order_of(here, run=OTHER, known={first.key: first.place}))
    assert again.reused
    assert again.result == first


CHANGES = {
    "a setting of the fit": {"fit": replace(QUICK, limit=0.5)},
    "the share of items held out": {"item_share": 0.2},
    "the share of pairs held out": {"pair_share": 0.2},
    "the confidence of the gate": {"gate": GateSettings(confidence=0.95)},
    "the version of the method": {"method_version": 2},
}


def test_the_key_changes_with_every_setting_that_results_depend_on(here):
    put(here, "votes/smiling/1.csv", simulated(n_votes=80, n_items=6).votes)
    runs = [f"2026110{k}T020000Z-0a1b2c" for k in range(1, len(CHANGES) + 2)]
    orders = [
        order_of(here, run=run, **change)
        for run, change in zip(runs, [{}, *CHANGES.values()], strict=True)
    ]
    results = [train(order).result for order in orders]
    assert len({result.key for result in results}) == len(orders)
    assert [result.settings for result in results] == [settings_digest(one) for one in orders]


def test_the_key_changes_with_a_dump_and_with_the_features_of_a_voted_item(here):
    small(here)
    first = train(order_of(here)).result.key
    features = pd.read_csv(io.BytesIO(here.read("features/all.csv")))
    features.iloc[0, 1] += 0.5
    put(here, "features/all.csv", features)
    second = key_of(here)
    put(here, "votes/smiling/1.csv", here.read("votes/smiling/1.csv"))  # the same, written anew
    third = train(order_of(here, run="20261103T020000Z-0a1b2c")).result.key
    assert len({first, second, third}) == 3


def test_the_key_has_the_version_of_a_shared_transform_and_not_its_place(night):
    """So a store that was moved, or a transform found again, does not fit everything anew."""
    store, _ = night
    one, same, other = (
        result_key(order_of(store, shared=shared), None, {})
        for shared in ("runs/a/shared/f/v1", "runs/b/shared/f/v1", "runs/b/shared/f/v2")
    )
    assert one == same
    assert len({one, other, result_key(order_of(store), None, {})}) == 3


def test_the_key_changes_with_the_truth(here):
    small(here)
    keys = [result_key(order_of(here), None, {})]
    for score in (1, 2):
        put(here, "truth/smiling/1.csv", f"item,score\na,{score}\n")
        keys.append(result_key(order_of(here), None, {}))
    assert len(set(keys)) == 3


def test_the_key_has_the_moment_of_a_night_of_the_past_only_where_votes_come_after_it(night):
    store, _ = night
    moments = (None, *(datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2)))
    orders = [order_of(store, as_of=moment) for moment in moments]
    assert len({result_key(order, None, {}) for order in orders}) == 1
    assert len({result_key(order, None, {LATER: 3}) for order in orders}) == 3


def test_what_the_gate_does_with_a_result_is_not_in_its_key(night):
    store, trained = night
    lax = order_of(store, run=OTHER, gate=GateSettings(drop=0.5), most_rejected=0.9)
    known = {trained.result.key: trained.result.place}
    assert train(replace(lax, known=known)).reused


def test_a_known_result_is_found_and_nothing_is_written(night):
    store, trained = night
    before = store.list()
    order = order_of(store, run="20261120T020000Z-0a1b2c")
    again = train(replace(order, known={trained.result.key: PLACE}))
    assert again.reused
    assert again.result == trained.result
    assert store.list() == before


def test_a_known_result_that_is_gone_or_of_another_urlr_is_computed_again(here):
    small(here)
    first = train(order_of(here)).result
    here.replace(f"{first.place}/{RESULT}", b"{}")
    again = train(order_of(here, run=OTHER, known={first.key: first.place}))
    assert not again.reused
    assert again.result.key == first.key
    gone = order_of(here, run="20261103T020000Z-0a1b2c", known={first.key: "runs/gone"})
    assert not train(gone).reused


def test_a_rerun_gives_the_same_bytes(night):
    store, trained = night
    again = train(order_of(store, run="20261121T020000Z-0a1b2c")).result
    first, second = written(store, PLACE), written(store, again.place)
    assert {name for name in first if first[name] != second[name]} == {RESULT}
    assert again == replace(trained.result, place=again.place, run=again.run)


def test_an_attempt_after_a_death_before_the_last_object_ends_it(here):
    """All files but the record are there: they are written again, and are the same."""
    small(here)
    first = train(order_of(here)).result
    before = written(here, PLACE)
    here.remove(f"{PLACE}/{RESULT}")
    here.remove(f"{PLACE}/{MODEL}")
    second = train(order_of(here))
    assert not second.reused
    assert second.result == first
    after = written(here, PLACE)
    assert {name for name in before if before[name] != after.get(name)} <= {RESULT}
    third = train(order_of(here))
    assert third.reused


def test_an_attempt_that_finds_other_bytes_of_a_dead_one_writes_beside_them(here):
    """Another processor can differ in the last digit; what has no record counts for nothing."""
    small(here)
    order = order_of(here)
    here.create(f"{PLACE}/scores.parquet", b"of another machine")
    result = train(order).result
    assert result.place == f"{PLACE}/attempt-2"
    assert here.read(f"{PLACE}/scores.parquet") == b"of another machine"
    assert f"{PLACE}/{RESULT}" not in {found.key for found in here.list(PLACE)}
    assert train(order).result == result
    past = past_of(here)
    assert past.known_by_name() == {"smiling": {result.key: result.place}}


def test_an_attempt_that_finds_a_finished_one_with_other_bytes_gives_its_result(here):
    """The first was thought dead and ended while the second was at work."""
    small(here)
    order = order_of(here)
    first = train(order).result
    here.replace(f"{PLACE}/scores.parquet", b"of another machine")
    votes = gather_votes(here, order.inputs.dumps, attribute="smiling")
    assert _computed(order, _prepared(order, votes), None, 0.0) == first


def test_two_attempts_at_once_end_with_one_result(here):
    small(here)
    order = order_of(here)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(train, [order, order])
    assert first.result == second.result
    assert first.result.seconds == second.result.seconds
    assert first.result.files == second.result.files


# Against rivals


def test_held_against_itself_the_difference_is_exactly_nothing(night):
    store, _ = night
    order = order_of(
        store, rivals=(Rival(7, 0, True, PLACE), Rival(6, 3, False, PLACE)), before=PLACE
    )
    trained = train(order)
    assert trained.reused
    assert trained.change is None
    (version, ago, earlier) = trained.earlier[0]
    assert (version, ago, trained.lost) == (6, 3, ())
    for one in (trained.champion, earlier):
        assert one.difference.plain.value == one.difference.by_person.value == 0.0
        assert one.difference.plain.low == one.difference.plain.high == 0.0
        assert one.challenger == one.champion
        assert one.difference.level == 0.99
        assert one.challenger.n_votes == trained.result.tau.n_votes


def test_rivals_are_judged_by_votes_that_neither_has_seen(here):
    """The champion learnt from pairs that are held out tonight; they say nothing of it."""
    stored(here)
    champion = train(order_of(here)).result
    rivals = (Rival(1, 0, True, PLACE),)
    wider = order_of(here, run=OTHER, rivals=rivals, pair_share=0.5, item_share=0.3)
    trained = train(wider)
    assert trained.result.split == replace(champion.split, pair_share=0.5, item_share=0.3)
    assert trained.result.tau.n_votes > champion.tau.n_votes
    assert trained.champion.difference.n_votes == champion.tau.n_votes


def test_a_champion_without_features_is_not_judged_by_items_it_learnt_from(here):
    made = stored(here)
    features = here.read("features/all.csv")
    here.remove("features/all.csv")
    champion = train(order_of(here)).result
    put(here, "features/all.csv", features)
    rivals = (Rival(1, 0, True, PLACE),)
    trained = train(order_of(here, run=OTHER, rivals=rivals))
    assert (champion.split.by_items, trained.result.split.by_items) == (False, True)
    assert len(made.votes) > trained.result.tau.n_votes > champion.tau.n_votes
    assert trained.champion.difference.n_votes == champion.tau.n_votes


def test_a_judge_that_is_lost_damaged_or_of_another_urlr_is_reported(night, here):
    store, _ = night
    small(here)
    here.create(f"runs/cut/{JUDGE}", store.read(f"{PLACE}/{JUDGE}")[:-100])
    here.create(f"runs/cut/{RESULT}", store.read(f"{PLACE}/{RESULT}"))
    here.create(f"runs/bare/{JUDGE}", store.read(f"{PLACE}/{JUDGE}"))
    result = RESULTS.from_bytes(store.read(f"{PLACE}/{RESULT}"), "here")
    reduced = replace(result, shared="runs/gone/shared/features/0a1b")
    here.create(f"runs/reduced/{JUDGE}", store.read(f"{PLACE}/{JUDGE}"))
    here.create(f"runs/reduced/{RESULT}", RESULTS.to_bytes(reduced))
    rivals = (
        Rival(4, 0, True, "runs/gone"),
        Rival(3, 1, False, "runs/cut"),
        Rival(2, 2, False, "runs/bare"),
        Rival(1, 3, False, "runs/reduced"),  # by a transform that is gone
    )
    trained = train(order_of(here, rivals=rivals))
    assert trained.lost == (4, 3, 2, 1)
    assert trained.champion is None
    assert trained.earlier == ()


@pytest.mark.parametrize("gone", [JUDGE, RESULT, "transform.npz"])
def test_the_file_for_want_of_which_a_champion_is_not_compared_with_is_named(night, here, gone):
    store, _ = night
    small(here)
    result = RESULTS.from_bytes(store.read(f"{PLACE}/{RESULT}"), "here")
    shared = "runs/gone/shared/features/0a1b" if gone == "transform.npz" else None
    for name, data in (
        (JUDGE, store.read(f"{PLACE}/{JUDGE}")),
        (RESULT, RESULTS.to_bytes(replace(result, shared=shared))),
    ):
        if name != gone:
            here.create(f"runs/old/{name}", data)
    trained = train(order_of(here, rivals=(Rival(3, 0, True, "runs/old"),)))
    assert (trained.champion, trained.lost) == (None, (3,))
    assert trained.lost_file == f"{shared or 'runs/old'}/{gone}"


@pytest.mark.parametrize("large", [10_000, 1])
def test_times_that_nobody_can_read_are_told_as_such(here, large):
    made = simulated()
    put(here, "votes/smiling/1.csv", made.votes.assign(time="17th of May"))
    past = datetime(2026, 11, 1, tzinfo=UTC)
    fit = replace(QUICK, method="paper", prune=0.1) if large == 1 else QUICK
    with refused(UnusedVotes, "no_vote_so_early", reasons={UNDATED: 500}) as error:
        train(order_of(here, as_of=past, fit=fit, large_attribute=large))
    assert error.value.n_rows == 500


def test_half_of_the_votes_lost_is_too_many(here):
    made = stored(here)
    even = made.votes.index % 2 == 0
    votes = made.votes.assign(item_b=made.votes["item_b"].astype("str").where(even, "gone"))
    put(here, "votes/smiling/1.csv", votes)
    with refused(UnusedVotes, "too_many_rejected", rejected=250, rows=500):
        train(order_of(here))


def test_a_champion_whose_record_is_damaged_fails_its_attribute_by_the_right_name(night, here):
    store, _ = night
    small(here)
    about = json.loads(store.read(f"{PLACE}/{RESULT}"))
    del about["rows"]
    here.create(f"runs/old/{JUDGE}", store.read(f"{PLACE}/{JUDGE}"))
    here.create(f"runs/old/{RESULT}", json.dumps(about).encode())
    with refused(ReadError, "champion_record_damaged", version=3) as error:
        train(order_of(here, rivals=(Rival(3, 0, True, "runs/old"),)))
    assert here.address(f"runs/old/{RESULT}") in str(error.value)
    passed(LIVE, "the champion's record lacks a field", Seen("failed", str(error.value)))
    earlier = train(order_of(here, rivals=(Rival(3, 1, False, "runs/old"),)))
    assert earlier.lost == (3,)


def test_a_champion_of_other_features_is_held_to_the_items_it_knows(here):
    """New columns, or none at all any more, must not stop the night."""
    made = stored(here)
    train(order_of(here))
    features = made.features.reset_index()
    renamed = features.rename(columns={name: f"new_{name}" for name in features.columns[1:]})
    put(here, "features/all.csv", renamed)
    rivals = (Rival(1, 0, True, PLACE),)
    trained = train(order_of(here, run=OTHER, rivals=rivals, before=PLACE))
    assert trained.champion.difference.n_votes == trained.result.tau.n_votes
    assert trained.change.n_items == 30
    here.remove("features/all.csv")
    without = train(order_of(here, run="20261103T020000Z-0a1b2c", rivals=rivals))
    assert without.champion.difference.n_votes > 0


def test_change_is_held_against_the_last_scores(here):
    made = stored(here)
    first = train(order_of(here)).result
    put(here, "votes/smiling/2.csv", simulated(seed=1).votes.drop(columns="vote_id"))
    second = train(order_of(here, run=OTHER, before=PLACE))
    assert second.result.key != first.key
    assert second.change.n_items == len(made.features)
    assert 0.0 < second.change.tau < 1.0
    gone = train(order_of(here, run=OTHER, before="runs/gone"))
    assert gone.change is None
