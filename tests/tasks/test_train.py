"""The work on one attribute, from the dumps in a store to the files of a result."""

import io
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from stored_votes import QUICK, order_of, put, simulated, small, stored, written

from tasks.cluster.orders import opened, packed
from tasks.cluster.worker import carried_out
from tasks.messages import message
from tasks.read import ReadError
from tasks.result_files import JUDGE, MODEL
from tasks.results import RESULT, Rival, Trained
from tasks.runs import place_of
from tasks.split import TRAIN, split_votes
from tasks.store import Store
from tasks.train import UnusedVotes, train
from urlr import messages as method
from urlr.model_file import model_from_bytes
from urlr.settings import FitSettings
from urlr.spelling import cleaned
from urlr.votes.table import vote_table

OTHER = "20261102T020000Z-0a1b2c"
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


def table(data: bytes) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(data))


def adds_up(rows: dict[str, int]) -> bool:
    return rows["read"] == sum(rows.values()) - rows["read"]


def test_a_result_says_what_became_of_every_row(night):
    store, trained = night
    result = trained.result
    assert adds_up(result.rows)
    assert result.rows["read"] == sum(result.dump_rows.values()) == 500
    assert result.place == PLACE
    assert set(result.dumps) == {"votes/smiling/1.csv"}
    assert set(result.features) == {"features/all.csv"}
    assert result.tau.level == 0.99
    assert result.tau.n_votes > 50
    assert [one.method for one in result.methods] == ["urlr", "raw", "majority", "bradley-terry"]
    assert result.unjudged == ""
    assert result.n_people == 12
    assert (result.seconds, result.memory) > (0.0, 0)
    assert not trained.reused
    assert (trained.champion, trained.earlier, trained.lost, trained.change) == (None, (), (), None)
    assert set(written(store, PLACE)) == {*result.files, RESULT}


def test_files_hold_what_their_names_say(night):
    store, trained = night
    files = written(store, PLACE)
    verdicts = table(files["verdicts.parquet"])
    assert verdicts["row"].tolist() == list(range(1, 501))
    assert set(verdicts["dump"]) == {"votes/smiling/1.csv"}
    assert int(verdicts["pruned"].sum()) == trained.result.n_pruned
    scores = table(files["scores.parquet"])
    model = model_from_bytes(files[MODEL])
    assert model.scores["item"].tolist() == scores["item"].tolist()
    assert len(table(files["examples.parquet"])) == trained.result.n_items
    assert model.score(table(files["examples.parquet"])).notna().all()
    assert len(table(files["path.parquet"])) == 51
    for name in ("ranking.svg", "path.svg"):
        ET.fromstring(files[name])
    assert "annotators.parquet" in files
    assert "rejected.parquet" not in files


@pytest.mark.full
def test_a_bucket_holds_the_same_bytes_as_a_directory(night, s3_store):
    local, _ = night
    stored(s3_store)
    result = train(order_of(s3_store)).result
    files, others = written(local, PLACE), written(s3_store, PLACE)
    assert {name for name in files if files[name] != others[name]} == {RESULT}
    assert sorted(others) == sorted([*result.files, RESULT])


MESSY = st.lists(
    st.fixed_dictionaries(
        {
            "item_a": st.sampled_from(["item-0001", "item-0002", "", " ", None]),
            "item_b": st.sampled_from(["item-0001", "item-0003", "", None]),
            "outcome": st.sampled_from(["a", "b", "tie", "skip", "A ", "", None, "c"]),
            "weight": st.sampled_from([1.0, 0.0, -1.0, np.nan, np.inf, 1e300]),
            "vote_id": st.sampled_from(["v1", "v2", None]),
            "time": st.sampled_from(["2026-11-01", "2026-11-03", "", None]),
        }
    ),
    max_size=30,
)


@settings(max_examples=8)
@given(rows=MESSY, past=st.booleans())
def test_rows_of_dumps_are_all_accounted_for(tmp_path_factory, rows, past):
    """With a night of the past asked for, too."""
    store = Store.at(tmp_path_factory.mktemp("messy"))
    made = simulated(n_votes=80, n_items=6)
    put(store, "votes/smiling/1.csv", made.votes.assign(time="2026-11-01"))
    if rows:
        put(store, "votes/smiling/2.parquet", pd.DataFrame(rows))
    as_of = datetime(2026, 11, 2, tzinfo=UTC) if past else None
    result = train(order_of(store, as_of=as_of)).result
    assert adds_up(result.rows)
    assert result.rows["read"] == sum(result.dump_rows.values()) == 80 + len(rows)
    skipped_or_rejected = result.rows["skipped"] + result.rows["rejected"]
    assert sum(result.reasons.values()) == skipped_or_rejected


def test_a_judge_has_not_seen_the_votes_it_is_judged_by(night, here):
    """Turning every one of them round changes what is served, and not one byte of the judge."""
    store, _ = night
    made = stored(here)
    votes = vote_table(made.votes, known_items=made.features.index)
    split = split_votes(votes, by_items=True)
    unseen = (split.part != TRAIN) & made.votes["outcome"].isin(["a", "b"]).to_numpy()
    assert unseen.sum() > 50
    turned = made.votes["outcome"].map({"a": "b", "b": "a"})
    put(
        here,
        "votes/smiling/1.csv",
        made.votes.assign(outcome=made.votes["outcome"].where(~unseen, turned)),
    )
    train(order_of(here))
    before, after = written(store, PLACE), written(here, PLACE)
    assert after[JUDGE] == before[JUDGE]
    assert after[MODEL] != before[MODEL]


# What is refused, and what cannot be judged


def refusal(store: Store, code: str, **other) -> ReadError:
    with refused(ReadError, code) as caught:
        train(order_of(store, **other))
    assert str(caught.value).isprintable()
    assert not store.list("runs")
    return caught.value


def test_too_many_rejected_rows_are_an_error_with_figures(here):
    good = "a,b\nb,c\nc,d\n"
    put(here, "votes/smiling/1.csv", f"winner,loser\n{good}")
    put(here, "votes/smiling/2.csv", f"winner,loser\n{good}a,\nb,\nc,c\nd,\n")
    assert refusal(here, "too_many_rejected", most_rejected=0.3).fields == {
        "rejected": 4,
        "rows": 10,
        "count": 3,
        "reason": method.message("missing_item"),
        "row": 4,
        "path": here.address("votes/smiling/2.csv"),
        "most": 0.3,
    }


def test_every_rejected_row_is_kept_with_its_dump_its_number_and_its_reason(here):
    stored(here, simulated(n_votes=120, n_items=8))
    bad = "item_a,item_b,outcome\nitem-0001,,a\nitem-0002,item-0002,b\nitem-0001,item-0002,a\n"
    put(here, "votes/smiling/2.csv", bad)
    result = train(order_of(here)).result
    rejected = table(written(here, PLACE)["rejected.parquet"])
    assert set(rejected["dump"]) == {"votes/smiling/2.csv"}
    assert dict(zip(rejected["row"], rejected["reason"], strict=True)) == {
        1: method.message("missing_item"),
        2: method.message("self_comparison"),
    }
    assert result.rows["rejected"] == len(rejected) == 2
    assert result.rows["read"] == 123


def test_rows_that_were_read_and_are_not_used_are_counted_on_the_way_back(here):
    put(here, "votes/smiling/1.csv", "winner,loser\na,b\nb,c\n")
    put(here, "votes/smiling/2.csv", "winner,loser\na,\nb,\nc,\n")
    order = order_of(here, most_rejected=0.3)
    with refused(UnusedVotes, "too_many_rejected", rejected=3, rows=5) as caught:
        opened(carried_out(packed(train, order)))
    assert caught.value.n_rows == 5
    put(here, "votes/smiling/2.parquet", b"PAR1 and no more")
    with pytest.raises(ReadError) as unread:
        opened(carried_out(packed(train, order_of(here))))
    assert type(unread.value) is ReadError


def test_no_votes_at_all_are_an_error_that_names_the_folder(here):
    stored(here)
    put(here, "votes/smiling/1.csv", "winner,loser\n")
    folder = message("dumps_of", path=here.address("votes/smiling"), count=1)
    assert refusal(here, "no_votes").fields["place"] == folder


def test_a_night_before_the_first_vote_is_an_error(here):
    made = stored(here)
    put(here, "votes/smiling/1.csv", made.votes.assign(time="2026-11-01"))
    past = datetime(2020, 1, 1, tzinfo=UTC)
    folder = message("dumps_of", path=here.address("votes/smiling"), count=1)
    assert refusal(here, "no_vote_so_early", as_of=past).fields["place"] == folder


def test_features_that_cannot_be_used_are_named(here):
    made = stored(here)
    put(here, "features/all.csv", made.features.reset_index().assign(more=np.inf))
    where = here.address("features/all.csv")
    assert refusal(here, "items_with_infinite").fields["place"] == where
    features = made.features.reset_index()
    put(here, "features/all.csv", pd.concat([features, features.head(1)]))
    error = refusal(here, "repeated_items")
    assert (error.fields["place"], error.fields["count"]) == (where, 1)


def test_settings_that_need_features_say_so_without(here):
    put(here, "votes/smiling/1.csv", simulated(n_votes=120, n_items=8).votes)
    error = refusal(here, "svm_without_features", fit=FitSettings(method="paper", ranking="svm"))
    assert error.fields["place"] == here.address("votes/smiling/1.csv")


def test_too_few_votes_to_judge_by_leave_a_result_without_a_judge(here):
    put(here, "votes/smiling/1.csv", "winner,loser\na,b\nb,c\na,c\n")
    trained = train(order_of(here, pair_share=0.99, rivals=(Rival(1, 0, True, "runs/gone"),)))
    assert trained.result.tau is None
    assert trained.result.unjudged != ""
    assert trained.result.methods == ()
    assert JUDGE not in trained.result.files
    assert JUDGE not in written(here, PLACE)
    assert MODEL in trained.result.files
    assert trained.champion is None


# Truth


def test_tau_with_the_truth_is_told(here):
    made = stored(here)
    truth = made.truth.rename("score").rename_axis("item").reset_index()
    put(here, "truth/smiling/order.csv", truth)
    found = train(order_of(here)).result.truth
    assert found.n_items == 30
    assert found.tau > 0.5
    put(here, "truth/smiling/order.csv", truth.assign(score=-truth["score"]))
    assert train(order_of(here, run=OTHER)).result.truth.tau == pytest.approx(-found.tau)


def test_the_truth_may_give_numbers_as_text(here):
    made = simulated(n_votes=120, n_items=8)
    numbers = {item: k for k, item in enumerate(made.truth.index)}
    votes = made.votes.assign(
        item_a=made.votes["item_a"].map(numbers), item_b=made.votes["item_b"].map(numbers)
    )
    put(here, "votes/smiling/1.parquet", votes)
    truth = "".join(f"{numbers[item]},{score}\n" for item, score in made.truth.items())
    put(here, "truth/smiling/order.csv", f"item,score\n{truth}")
    assert train(order_of(here)).result.truth.n_items == 8


def test_a_truth_that_cannot_be_used_is_named(here):
    small(here)
    put(here, "truth/smiling/order.csv", "item,score\na,1\na,2\n")
    error = refusal(here, "items_scored_twice")
    assert error.fields["place"] == here.address("truth/smiling/order.csv")
    assert error.fields["count"] == 1


# Other kinds of fits


def test_votes_without_features_are_ranked_alone(here):
    put(here, "votes/smiling/1.csv", simulated().votes)
    trained = train(order_of(here, rivals=(Rival(1, 0, True, PLACE),)))
    result = trained.result
    assert result.features == {}
    assert result.tau.n_votes > 0
    assert all(one.unseen is None for one in result.methods)
    assert trained.champion.difference.plain.value == 0.0
    examples = table(written(here, PLACE)["examples.parquet"])
    assert list(examples.columns) == ["item"]


@pytest.mark.parametrize(
    "fit",
    [
        FitSettings(method="paper", prune=0.2, ridge=0.001),
        FitSettings(
            method="paper", prune=0.2, ridge=0.001, ranking="svm", components=2, chi_square=1
        ),
        FitSettings(method="paper", prune="bic", outlier_space="items"),
    ],
)
def test_the_method_of_the_paper_goes_all_the_way(here, fit):
    made = simulated()
    stored(here, replace(made, features=made.features.abs()))
    trained = train(order_of(here, fit=fit, rivals=(Rival(1, 0, True, PLACE),)))
    files = written(here, PLACE)
    assert model_from_bytes(files[MODEL]).settings == fit
    assert model_from_bytes(files[JUDGE]).settings == fit
    assert trained.champion.difference.plain.value == 0.0
    assert trained.result.n_people == 0
    if fit.prune == 0.2:
        assert 0.1 < trained.result.n_pruned / trained.result.rows["used"] < 0.3
    ET.fromstring(files["path.svg"])


def test_ties_may_be_left_out(here):
    made = stored(here, simulated(ties=0.2))
    n_ties = int((made.votes["outcome"] == "tie").sum())
    assert n_ties > 20
    result = train(order_of(here, fit=replace(QUICK, ties=False))).result
    assert (result.rows["ties"], result.rows["skipped"]) == (0, n_ties)
    assert {why.code: count for why, count in result.reasons.items()} == {"ties_left_out": n_ties}
    assert adds_up(result.rows)


NAMES = ["<script>alert(1)</script>", 'a"b', "x" * 500, "中文", "tab\there", "../../etc", "&amp;"]


def test_names_of_items_do_nothing(here):
    made = simulated(n_votes=150, n_items=len(NAMES))
    names = dict(zip(made.truth.index, NAMES, strict=True))
    votes = made.votes.assign(
        item_a=made.votes["item_a"].map(names), item_b=made.votes["item_b"].map(names)
    )
    put(here, "votes/smiling/1.csv", votes)
    train(order_of(here))
    files = written(here, PLACE)
    assert b"<script" not in files["ranking.svg"]
    ET.fromstring(files["ranking.svg"])
    assert set(table(files["scores.parquet"])["item"]) == set(cleaned(NAMES))


def test_numbers_and_texts_may_name_items_side_by_side(here):
    made = simulated(n_votes=150, n_items=8)
    put(here, "votes/smiling/1.csv", made.votes)
    put(here, "votes/smiling/2.parquet", pd.DataFrame({"winner": [1, 2, 1], "loser": [2, 3, 3]}))
    bridge = "".join(f'{{"winner": {n}, "loser": "{made.truth.index[n]}"}}\n' for n in (1, 2, 3))
    put(here, "votes/smiling/3.jsonl", bridge + bridge)
    trained = train(order_of(here, rivals=(Rival(1, 0, True, PLACE),)))
    assert trained.result.n_items == 11
    assert trained.champion.difference.plain.value == 0.0
