"""The simulated store is as promised; what a pipeline makes of it is in `test_nightly.py`."""

from collections import Counter
from pathlib import PurePosixPath

import pandas as pd
import pytest

from tasks.discover import discover
from tasks.formats import table_format
from tasks.gather import gather_votes
from tasks.names import decoded, encoded
from tasks.read import ReadError, table_of
from tasks.store import Store
from tests.demo_store import NIGHT_ONE, NIGHT_TWO, PLANS, write_night_one, write_night_two

CAMPAIGN = "slogans"
REVERSED = "photos/natural"
DAMAGED = "photos/convincing"


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """A store after both nights, and what each planted."""
    store = Store.at(tmp_path_factory.mktemp("life"))
    return store, write_night_one(store), write_night_two(store)


def votes_of(store: Store, attribute: str) -> pd.DataFrame:
    (inputs,) = discover(store).only([attribute]).attributes
    return gather_votes(store, inputs.dumps, attribute=attribute).votes


def features_of(store: Store, attribute: str) -> pd.DataFrame:
    """All rows of the table that counts for an attribute, whether voted on or not."""
    (inputs,) = discover(store).only([attribute]).attributes
    return pd.concat([table_at(store, part.key) for part in inputs.features])


def table_at(store: Store, key: str) -> pd.DataFrame:
    return table_of(store.read(key), store.address(key))


def keys_of(store: Store, prefix: str = "") -> dict[str, str]:
    return {found.key: found.etag for found in store.list(prefix)}


def test_night_two_adds_dumps_and_changes_nothing(store):
    first = write_night_one(store)
    before = keys_of(store)
    assert set(before) == set(first.keys)
    second = write_night_two(store)
    after = keys_of(store)
    assert set(after) - set(before) == set(second.keys)
    assert {key: after[key] for key in before} == before
    assert all(key.startswith("votes/") for key in second.keys)
    write_night_one(store)
    assert keys_of(store) == after


def test_another_seed_is_another_life(tmp_path):
    one, other = (Store.at(tmp_path / str(seed)) for seed in (0, 1))
    written = [set(write_night_one(store, seed=k).keys) for k, store in enumerate((one, other))]
    both = written[0] & written[1]
    assert len(both) > 90
    assert all(one.read(key) != other.read(key) for key in both)


def test_every_attribute_has_a_name_and_several_dumps_in_several_formats(life):
    store, *_ = life
    dumps = Counter(str(PurePosixPath(key).parent) for key in keys_of(store, "votes"))
    assert set(dumps) == {f"votes/{plan.attribute}" for plan in PLANS}
    assert min(dumps.values()) >= 2
    assert all(decoded(encoded(plan.attribute)) == plan.attribute for plan in PLANS)
    assert len([plan for plan in PLANS if plan.attribute.startswith("interestingness/")]) == 14
    forms = {table_format(key, error=ReadError) for key in keys_of(store, "votes")}
    assert {(form.layout, form.gzipped) for form in forms} == {
        ("csv", False),
        ("csv", True),
        ("jsonl", False),
        ("parquet", False),
    }


def test_one_dump_is_cut_off(life):
    store, first, second = life
    (key,) = first.attributes[DAMAGED].damaged
    assert second.attributes[DAMAGED].damaged == (key,)
    with pytest.raises(ReadError, match="is cut off"):
        table_at(store, key)
    others = [one.damaged for one in first.attributes.values() if one.attribute != DAMAGED]
    assert not any(others)


def test_votes_were_cast_before_the_night_that_finds_them(life):
    store, first, second = life
    for night, start, stop in (
        (first, NIGHT_ONE - pd.Timedelta(days=30), NIGHT_ONE),
        (second, NIGHT_ONE, NIGHT_TWO),
    ):
        days = []
        for key in night.keys:
            if key.startswith("votes/") and key not in night.attributes[DAMAGED].damaged:
                frame = table_at(store, key)
                if "time" in frame:
                    days.append(pd.to_datetime(frame["time"], utc=True).dt.date)
        every = pd.concat(days)
        assert every.min() == start
        assert every.max() < stop
        assert every.nunique() == (stop - start).days


def test_features_are_those_of_the_nearest_folder(life):
    store, *_ = life
    videos, photos = (features_of(store, name) for name in ("interestingness/food", REVERSED))
    assert len(videos) == 14 * 30
    for word in ("sift", "mfcc"):
        assert videos.filter(like=word).sum(axis=1).to_numpy() == pytest.approx(1)
    assert len(photos) == 300
    assert photos["embedding"].map(len).unique().tolist() == [24]
    assert len(features_of(store, "headlines")) == 120
    (campaign,) = discover(store).only([CAMPAIGN]).attributes
    assert campaign.features == ()


def test_true_scores_in_the_store_are_those_planted(life):
    store, first, _ = life
    keys = keys_of(store, "truth")
    assert len(keys) >= 3
    for key in keys:
        stored = table_at(store, key).set_index("item")["score"]
        attribute = key.removeprefix("truth/").removesuffix("/scores.csv")
        pd.testing.assert_series_equal(stored, first.attributes[attribute].truth)


def test_a_vote_is_wrong_where_it_contradicts_the_truth(life):
    store, _, second = life
    for attribute in ("photos/smiling", CAMPAIGN):
        planted = second.attributes[attribute]
        votes = votes_of(store, attribute)
        votes = votes.drop_duplicates("vote_id").set_index("vote_id").loc[planted.wrong.index]
        lead = votes["item_a"].map(planted.truth) - votes["item_b"].map(planted.truth)
        wrong = (lead > 0) != (votes["outcome"] == "a")
        assert (wrong == planted.wrong).all()


def test_the_campaign_votes_on_the_last_day_only(life):
    store, _, second = life
    planted = second.attributes[CAMPAIGN]
    votes = votes_of(store, CAMPAIGN)
    pushers = planted.people.index[planted.people == "campaign"]
    assert len(pushers) == 3
    pushes = votes[votes["annotator"].isin(pushers) & votes["outcome"].isin(["a", "b"])]
    days = pd.to_datetime(pushes["time"], utc=True, format="ISO8601").dt.date
    assert days.unique().tolist() == [NIGHT_ONE]
    assert (
        pushes["item_a"]
        .where(pushes["outcome"] == "a", pushes["item_b"])
        .isin(planted.pushed)
        .mean()
        > 0.99
    )
