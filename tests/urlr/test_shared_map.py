"""A transform shared by models: facts gathered by pieces, maps one behind the other, its file."""

import numpy as np
import pandas as pd
import pytest
from graphs import METHODS, WITH_GAPS, matrices, names, random_votes, seeded
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import urlr
from urlr.errors import FeatureError, ModelFileError
from urlr.model_file import (
    feature_map_bytes,
    feature_map_from_bytes,
    model_bytes,
    model_from_bytes,
)
from urlr.space.column_facts import ColumnFacts, impute_of
from urlr.space.maps import FeatureMap, component_names, original_space, reduced_space
from urlr.space.steps import Impute

RAW = 6
KEPT = 3


def shared_and_table() -> tuple[FeatureMap, pd.DataFrame, pd.DataFrame]:
    """A transform, a raw table with gaps, and the table reduced by the transform."""
    values = seeded(1).normal(size=(20, RAW)) * 10.0 ** np.arange(RAW)
    values[::7, 2] = np.nan
    original = original_space(values, names(RAW))
    shared = reduced_space(original, values, KEPT, rng=seeded())
    raw = pd.DataFrame(values, columns=names(RAW))
    raw.insert(0, "item", np.arange(20))
    reduced = pd.DataFrame(shared.map(values), columns=component_names(KEPT))
    reduced.insert(0, "item", np.arange(20))
    return shared, raw, reduced


@pytest.fixture(scope="module", params=list(METHODS))
def fitted(request):
    shared, raw, reduced = shared_and_table()
    votes, _ = random_votes(3)
    return shared, raw, reduced, urlr.fit(votes, reduced, **METHODS[request.param])


@given(matrices(WITH_GAPS), st.data())
def test_gaps_seen_by_pieces_are_filled_as_gaps_seen_at_once(values, data):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(values) - 1))))
    whole = Impute.fit(values)
    pieces = [ColumnFacts.of(piece) for piece in np.split(values, cuts)]
    merged = impute_of(pieces)
    np.testing.assert_array_equal(merged.kept, whole.kept)
    np.testing.assert_array_equal(merged.flagged, whole.flagged)
    size = np.nanmax(np.abs(values[:, whole.kept]), axis=0, initial=0.0)
    scale = np.where(size > 0, size, 1.0)
    np.testing.assert_allclose(merged.means / scale, whole.means / scale, rtol=0, atol=1e-14)
    assert merged.flaw() == ""


def test_the_mean_of_equal_pieces_is_their_value_however_large():
    most = np.full((5, 1), np.finfo(np.float64).max)
    merged = impute_of(
        [ColumnFacts.of(most[:1]), ColumnFacts.of(most[1:3]), ColumnFacts.of(most[3:])]
    )
    assert merged.means == most[0]


def test_columns_missing_together_share_an_indicator_over_pieces():
    values = seeded().random((9, 4))
    values[[1, 5], 0] = values[[1, 5], 2] = np.nan
    values[[1, 6], 3] = np.nan  # the same as the others in the first piece only
    merged = impute_of([ColumnFacts.of(values[:4]), ColumnFacts.of(values[4:])])
    assert merged.flagged.tolist() == [0, 3]


def test_a_ranker_behind_the_transform_scores_as_the_two_steps(fitted):
    shared, raw, reduced, ranker = fitted
    composed = ranker.behind(shared)
    assert composed.feature_map.columns == names(RAW)
    pd.testing.assert_series_equal(composed.score(raw), ranker.score(reduced), check_exact=True)


def test_a_ranker_behind_the_transform_survives_its_file(fitted):
    shared, raw, _, ranker = fitted
    composed = ranker.behind(shared)
    read = model_from_bytes(model_bytes(composed))
    pd.testing.assert_series_equal(read.score(raw), composed.score(raw), check_exact=True)
    assert read.outlier_map.columns == names(RAW)


def test_a_transform_of_other_columns_is_refused(fitted):
    shared, _, _, ranker = fitted
    fewer = FeatureMap(shared.columns, shared.steps[:-1])
    wanted = ("pc000", "pc001", "pc002")
    with refused(FeatureError, "transform_of_other_columns", n_wanted=3, wanted=wanted):
        ranker.behind(fewer)


def test_a_model_without_features_has_nothing_to_stand_behind():
    shared, _, _ = shared_and_table()
    votes, _ = random_votes(3)
    ranker = urlr.fit(votes, replicates=0)
    with refused(FeatureError, "no_features_to_transform"):
        ranker.behind(shared)


def test_a_transform_is_read_back_to_the_bit():
    shared, raw, _ = shared_and_table()
    data = feature_map_bytes(shared)
    read = feature_map_from_bytes(data)
    values = raw.drop(columns="item").to_numpy()
    np.testing.assert_array_equal(read.map(values), shared.map(values))
    assert feature_map_bytes(read) == data


def test_a_transform_and_a_model_are_not_taken_for_each_other(fitted):
    shared, _, _, ranker = fitted
    with refused(ModelFileError, "foreign_transform", name="it"):
        feature_map_from_bytes(model_bytes(ranker), name="it")
    with refused(ModelFileError, "foreign_model", name="it"):
        model_from_bytes(feature_map_bytes(shared), name="it")


def test_a_damaged_transform_is_refused():
    data = bytearray(feature_map_bytes(shared_and_table()[0]))
    data[len(data) // 2] ^= 1
    with pytest.raises(ModelFileError, match=r"\.npy is damaged"):
        feature_map_from_bytes(bytes(data))
