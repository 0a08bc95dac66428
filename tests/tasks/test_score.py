"""Scores of a piece are those of the models themselves; a model that cannot score says why."""

import io

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from refusals import refused
from scored_models import COLUMNS, behind_transform, champion, features, ranker

from tasks import score as score_module
from tasks.objects import Directory
from tasks.partitions import features_at, part_shape, partitions_of
from tasks.score import Champion, Order, score_partition, scoring_model
from tasks.store import Store
from urlr.errors import FeatureError
from urlr.space.table import feature_table


@pytest.fixture(scope="module")
def rankers():
    table = features()
    return {
        "robust": ranker(1, table),
        "paper": ranker(2, table, method="paper"),
        "first": (two := behind_transform(table))[0],
        "second": two[1],
    }


def order_of(tmp_path, frame, champions, **more) -> Order:
    frame.to_parquet(tmp_path / "features.parquet", index=False)
    found = features_at(tmp_path / "features.parquet")
    shape = part_shape(found.store, found.parts[0])
    [piece] = partitions_of(shape)
    out = Store.at(tmp_path / "out")
    return Order(piece, tuple(champions), out, "part-00000", shape.text_ids, **more)


def written(order, scored) -> pd.DataFrame:
    frames = [pd.read_parquet(io.BytesIO(order.store.read(key))) for key in scored.parts]
    return pd.concat([frame.astype({"attribute": str}) for frame in frames], ignore_index=True)


def scores_of(frame: pd.DataFrame, attribute: str) -> pd.Series:
    return frame[frame["attribute"] == attribute].set_index("item")["score"]


def test_every_model_scores_as_it_does_alone(rankers, tmp_path):
    table = features()
    order = order_of(tmp_path, table, [champion(r, tmp_path, a, 7) for a, r in rankers.items()])
    scored = score_partition(order)
    rows = written(order, scored)
    assert rows.columns.tolist() == ["item", "attribute", "version", "score"]
    assert rows["version"].eq(7).all()
    for attribute, made in rankers.items():
        pd.testing.assert_series_equal(scores_of(rows, attribute), made.score(table))
    assert [(one.scored, one.reason) for one in scored.outcomes] == [(50, None)] * 4


def test_striding_through_the_rows_changes_no_score(rankers, tmp_path, monkeypatch):
    order = order_of(tmp_path, features(), [champion(r, tmp_path, a) for a, r in rankers.items()])
    whole = written(order, score_partition(order))
    for found in order.store.list():
        order.store.remove(found.key)
    monkeypatch.setattr(score_module, "STRIDE", 7)
    strided = written(order, score_partition(order))
    pd.testing.assert_frame_equal(whole, strided)


def test_a_piece_of_many_models_becomes_several_files_of_a_row_group_each(rankers, tmp_path):
    champions = [champion(r, tmp_path, a) for a, r in rankers.items()]
    order = order_of(tmp_path, features(), champions, part_rows=100)
    scored = score_partition(order)
    assert scored.parts == ("part-00000-000.parquet", "part-00000-001.parquet")
    groups = [
        pyarrow.parquet.ParquetFile(tmp_path / "out" / key).num_row_groups for key in scored.parts
    ]
    assert groups == [2, 2]
    assert written(order, scored)["attribute"].unique().tolist() == list(rankers)


def test_a_model_that_lacks_a_column_is_passed_over_with_its_reason(rankers, tmp_path):
    table = features()
    narrow = table.drop(columns="f3")
    champions = [
        champion(rankers["robust"], tmp_path, "wide"),
        champion(ranker(6, narrow), tmp_path, "narrow"),
    ]
    scored = score_partition(order := order_of(tmp_path, narrow, champions))
    wide, ok = scored.outcomes
    assert (wide.scored, wide.unscored, ok.reason) == (0, 50, None)
    assert wide.reason.code == "lacking_columns"
    assert wide.reason.fields["names"] == ["f3"]
    assert written(order, scored)["attribute"].unique().tolist() == ["narrow"]


def test_a_damaged_or_missing_model_is_passed_over(rankers, tmp_path):
    good = champion(rankers["robust"], tmp_path, "good")
    gone = champion(rankers["paper"], tmp_path, "gone")
    (tmp_path / "gone-1.npz").unlink()
    path = tmp_path / "bad-1.npz"
    path.write_bytes((tmp_path / "good-1.npz").read_bytes()[:-100])
    bad = Champion("bad", 1, Store.at(tmp_path), Directory(tmp_path).find("bad-1.npz"))
    scored = score_partition(order_of(tmp_path, features(), [gone, bad, good]))
    reasons = [one.reason for one in scored.outcomes]
    assert [one and one.code for one in reasons] == ["no_such_object", "truncated_model", None]
    assert "bad-1.npz" in reasons[1]


def test_a_model_that_was_replaced_is_not_taken_for_the_one_asked_for(rankers, tmp_path):
    asked = champion(rankers["robust"], tmp_path, "a")
    rankers["paper"].save(tmp_path / "a-1.npz")
    scored = score_partition(order_of(tmp_path, features(), [asked]))
    assert scored.outcomes[0].reason.code == "changed_after_listing"
    assert scored.parts == ()


def test_a_worker_reads_a_model_once(rankers, tmp_path):
    asked = champion(rankers["robust"], tmp_path, "once")
    assert scoring_model(asked) is scoring_model(asked)


def test_a_model_without_features_scores_the_compared_items_alone(tmp_path):
    made = ranker(8, None)
    order = order_of(tmp_path, features(), [champion(made, tmp_path, "bare")])
    scored = score_partition(order)
    [outcome] = scored.outcomes
    expected = made.scores.set_index("item")["score"].sort_index()
    assert (outcome.scored, outcome.unscored) == (len(expected), 50 - len(expected))
    assert outcome.reason.code == "model_without_features"
    rows = scores_of(written(order, scored), "bare")
    pd.testing.assert_series_equal(rows, expected)


def test_ids_keep_their_type(rankers, tmp_path):
    champions = [champion(rankers["robust"], tmp_path, "a")]
    order = order_of(tmp_path, features(text=True), champions)
    assert written(order, score_partition(order))["item"].tolist()[:2] == ["i0", "i1"]
    (tmp_path / "n").mkdir()
    order = order_of(tmp_path / "n", features(), champions)
    assert written(order, score_partition(order))["item"].tolist()[:2] == [0, 1]


def test_an_id_beyond_64_bits_is_refused(rankers, tmp_path):
    table = features(2)
    table["item"] = np.array([1, 2**63 + 1], np.uint64)
    with refused(FeatureError, "id_beyond_64_bits"):
        score_partition(order_of(tmp_path, table, [champion(rankers["robust"], tmp_path, "a")]))


def test_shared_steps_are_done_once(rankers, tmp_path):
    table = features()
    first, second = (
        scoring_model(champion(rankers[name], tmp_path, name)) for name in ("first", "second")
    )
    assert first.marks[:3] == second.marks[:3]
    assert first.marks[3:] != second.marks[3:]
    steps = score_module._Steps(feature_table(table))
    steps.mapped(first.feature_map, first.marks)
    before = steps._done[2]
    mapped = steps.mapped(second.feature_map, second.marks)
    assert steps._done[2] is before
    np.testing.assert_array_equal(mapped, second.feature_map.map(table[COLUMNS].to_numpy()))
