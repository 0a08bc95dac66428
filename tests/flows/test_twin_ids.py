"""Ids and columns that are written otherwise from one delivery to the next."""

from dataclasses import dataclass

import pandas as pd
import pytest
from cases import passed
from judge import Seen
from pipeline import Place, Ran
from registries import MLFLOW_WARNS
from sentences import like
from stored_votes import put, simulated

from flows import messages as flows
from urlr.messages import message

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

N_ITEMS, N_FIRST, N_MORE, N_AGAIN = 20, 500, 200, 100
IDS = "ids are written in two ways"


@dataclass(frozen=True)
class Chain:
    place: Place
    first: Ran
    second: Ran


@pytest.fixture(scope="module")
def chain(new_bench) -> Chain:
    """A clean night, and one after a delivery with spaces, `.0`, other headers and repeats."""
    place: Place = new_bench(URLR_WORKERS="2", URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false")
    made = simulated(n_votes=N_FIRST + N_MORE, n_items=N_ITEMS)
    number = {item: k for k, item in enumerate(made.truth.index)}
    votes = made.votes.assign(
        item_a=made.votes["item_a"].map(number), item_b=made.votes["item_b"].map(number)
    )
    features = made.features.set_axis(made.features.index.map(number)).rename_axis("item")
    put(place.store, "features/spaced/all.parquet", features.reset_index())
    put(place.store, "votes/spaced/1.csv", votes.iloc[:N_FIRST])
    shouted = made.votes[made.votes["outcome"].isin(["a", "b"])]
    won = shouted["outcome"] == "a"
    winner = shouted["item_a"].where(won, shouted["item_b"])
    loser = shouted["item_b"].where(won, shouted["item_a"]).str.upper()
    put(place.store, "votes/shouted/1.csv", pd.DataFrame({"winner": winner, "loser": loser}))
    first = place.night()
    late = votes.iloc[N_FIRST - N_AGAIN :]
    late = late.assign(
        item_a=" " + late["item_a"].astype("str"),
        item_b=late["item_b"].astype("str") + ".0",
        annotator=late["annotator"].astype("str") + "\u200b",
        batch="b7",
    )
    late = late.rename(columns={"annotator": "Annotator", "vote_id": " Vote-ID"})
    put(place.store, "votes/spaced/2.csv", late.to_csv(index=False))
    return Chain(place, first, place.night())


def test_no_item_and_no_person_is_split_and_no_vote_counts_twice(chain):
    before, after = chain.first.entry("spaced"), chain.second.entry("spaced")
    assert after.n_items == before.n_items == N_ITEMS
    assert (after.n_people, after.new_people) == (before.n_people, 0)
    assert after.rows["read"] == N_FIRST + N_MORE + N_AGAIN
    assert after.reasons == {message("repeated_vote_id"): N_AGAIN}
    assert after.rows["used"] + after.rows["ties"] == N_FIRST + N_MORE
    assert after.outcome == "published"
    [remark, _] = after.remarks
    passed(IDS, "spaces, .0, unseen characters and other headers", Seen(after.outcome, remark))


def test_where_no_item_both_wins_and_loses_nothing_is_published(chain):
    """Tau is 1 then, and means nothing."""
    entry = chain.first.entry("shouted")
    assert (entry.outcome, entry.live) == ("held", None)
    assert like("tasks", "one_sided_votes").search(entry.reason)
    assert entry.tau.deciding.value == 1.0
    assert len(entry.remarks) == 2, "items look alike, and are one-sided"
    passed(IDS, "losers in capitals", Seen(entry.outcome, entry.reason))
    for remark in entry.remarks:
        assert flows.message("remark_on", attribute="shouted", remark=remark) in chain.first.out


def test_everything_says_what_was_read_otherwise(chain):
    place, night = chain.place, chain.second.night
    n_late = N_MORE + N_AGAIN
    rows = {
        message("respelled_item"): n_late,
        message("respelled_annotator"): n_late,
    }
    remarks = (
        message("respelled_ids", rows=rows),
        message("unknown_columns", count=1, names=["batch"]),
    )
    assert night.entries["spaced"].remarks == remarks
    assert chain.first.entry("spaced").remarks == ()
    status = place.urlr("status").stdout
    overview = chain.second.overview(place.store)
    for remark in remarks:
        said = flows.message("remark_on", attribute="spaced", remark=remark)
        assert said in night.notes
        assert said in chain.second.out
        assert said in status
        assert said in overview


def test_the_same_by_hand_says_the_same(chain, tmp_path):
    for key in ("votes/spaced/2.csv", "features/spaced/all.parquet"):
        (tmp_path / key.rpartition("/")[2]).write_bytes(chain.place.store.read(key))
    done = chain.place.urlr(
        *("fit", str(tmp_path / "2.csv"), str(tmp_path / "all.parquet")),
        *("--out", str(tmp_path / "out"), "--replicates", "0"),
    )
    assert done.returncode == 0, done.stderr
    n_late = N_MORE + N_AGAIN
    rows = {message("respelled_item"): n_late, message("respelled_annotator"): n_late}
    assert message("respelled_ids", rows=rows) in done.stdout
    assert len(pd.read_csv(tmp_path / "out" / "scores.csv")) == N_ITEMS
