"""The model on disk: same model, same bytes; anything else is refused with its reason."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from graphs import METHODS, random_votes, votes_frame
from hypothesis import given, settings
from hypothesis import strategies as st

import urlr
from urlr import ModelFileError, UrlrError
from urlr.model_file import SCHEMA, _manifest_digest, model_bytes, model_from_bytes


@pytest.fixture(scope="module")
def fitted(how):
    """A fit, by the default with intervals and effects, and its features."""
    votes, features = random_votes(0)
    features.iloc[::5, 0] = np.nan
    options = how | ({"replicates": 5} if how["method"] == "robust" else {"prune": 0.2})
    return urlr.fit(votes, features, **options), features


@pytest.fixture(scope="module")
def data(fitted):
    return model_bytes(fitted[0])


def rewrite(data, change):
    """The archive with its members changed, digests of the manifest left as they were."""
    members = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, blob in members.items():
            archive.writestr(name, blob)
    return buffer.getvalue()


def edit_manifest(data, **changes):
    def change(members):
        manifest = json.loads(members["manifest.json"])
        members["manifest.json"] = json.dumps(manifest | changes).encode()

    return rewrite(data, change)


PAPER = METHODS["paper"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"replicates": 0, "prune": 0.2, "curved": False},
        {"replicates": 3, "item_effects": False, "limit": 1.0, "ridge": 3},
        PAPER,
        PAPER | {"outlier_space": "kernel-pca", "components": 3, "prune": 0.2},
        PAPER | {"outlier_space": "items", "ranking": "svm", "prune": 0.2},
        PAPER | {"prune": "bic", "ridge": 0.001},
    ],
)
def test_loaded_model_is_the_model(tmp_path, options):
    votes, features = random_votes(1)
    ranker = urlr.fit(votes, features, **options)
    ranker.save(tmp_path / "model.npz")
    loaded = urlr.load(tmp_path / "model.npz")
    pd.testing.assert_series_equal(loaded.score(features), ranker.score(features), check_exact=True)
    pd.testing.assert_frame_equal(loaded.scores, ranker.scores, check_exact=True)
    assert loaded.summary() == ranker.summary()
    assert loaded.settings == ranker.settings
    assert loaded.facts == ranker.facts


@pytest.mark.parametrize("ids", [["b", "a", "007"], [7, "7", "007"], [3, 1, 2], [2**70, 1, 2]])
def test_ids_come_back_as_they_were(tmp_path, ids, how):
    first, second, third = ids
    votes = pd.DataFrame(
        [(first, second), (second, third)], columns=["winner", "loser"], dtype=object
    )
    ranker = urlr.fit(votes, **how)
    ranker.save(tmp_path / "model.npz")
    loaded = urlr.load(tmp_path / "model.npz").scores["item"].tolist()
    assert loaded == ids
    assert [type(item) for item in loaded] == [type(item) for item in ids]


def test_same_model_is_the_same_bytes(fitted, data):
    assert model_bytes(fitted[0]) == data
    assert model_bytes(model_from_bytes(data)) == data


def test_model_is_an_npz_that_numpy_reads_without_pickle(data):
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        assert np.isfinite(archive["coefficients"]).all()


def test_verdicts_and_annotators_stay_with_the_fit(data):
    ranker = model_from_bytes(data)
    for table in ("verdicts", "annotators"):
        with pytest.raises(UrlrError, match="does not carry the votes"):
            getattr(ranker, table)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_file_is_refused(tmp_path, data, share):
    path = tmp_path / "model.npz"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ModelFileError, match=r"model\.npz is (truncated|not a model file)"):
        urlr.load(path)


def test_foreign_files_are_refused():
    with pytest.raises(ModelFileError, match="not a model file"):
        model_from_bytes(b"winner,loser\na,b\n")
    foreign = io.BytesIO()
    np.savez(foreign, coefficients=np.ones(3))
    with pytest.raises(ModelFileError, match="not a urlr model"):
        model_from_bytes(foreign.getvalue())
    with pytest.raises(ModelFileError, match="not a urlr model"):
        model_from_bytes(rewrite(foreign.getvalue(), lambda m: m.update({"manifest.json": b"[]"})))


def test_future_version_asks_for_an_upgrade(data):
    with pytest.raises(ModelFileError, match=f"schema {SCHEMA + 1}.*upgrade"):
        model_from_bytes(edit_manifest(data, schema=SCHEMA + 1))


def test_model_of_an_older_schema_asks_for_a_new_fit(data):
    with pytest.raises(ModelFileError, match=f"schema {SCHEMA - 1}.*fit it again"):
        model_from_bytes(edit_manifest(data, schema=SCHEMA - 1))


def test_changed_manifest_is_refused(data):
    with pytest.raises(ModelFileError, match="changed after it was written"):
        model_from_bytes(edit_manifest(data, items=["x"]))


def test_changed_array_is_refused(data):
    def change(members):
        blob = bytearray(members["coefficients.npy"])
        blob[-1] ^= 1
        members["coefficients.npy"] = bytes(blob)

    with pytest.raises(ModelFileError, match="coefficients does not match its digest"):
        model_from_bytes(rewrite(data, change))


def resigned(data, name, value):
    """The model with an array replaced and every digest made to match."""

    def change(members):
        blob = io.BytesIO()
        np.lib.format.write_array(blob, value)
        members[f"{name}.npy"] = blob.getvalue()
        manifest = json.loads(members["manifest.json"])
        manifest["arrays"][name] = hashlib.sha256(blob.getvalue()).hexdigest()
        manifest["digest"] = _manifest_digest(manifest)
        members["manifest.json"] = json.dumps(manifest).encode()

    return rewrite(data, change)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("score", np.full(20, np.nan), "score holds values that are not finite"),
        ("effect", np.full(20, np.inf), "effect holds values that are not finite"),
        ("effect", np.zeros(19), r"effect has shape \(19,\) for 20 items"),
        ("low", np.zeros(3), r"low has shape \(3,\) for 20 items"),
        ("rank_high", np.ones((20, 1), np.int64), r"rank_high has shape \(20, 1\)"),
        ("n_votes", np.ones(2, np.int64), "n_votes has shape"),
        ("coefficients", np.ones(1), "1 coefficients for"),
        ("coefficients", np.ones(1, np.float32), "holds float32"),
    ],
)
def test_senseless_array_is_refused_even_with_matching_digests(data, name, value, said):
    with pytest.raises(ModelFileError, match=said):
        model_from_bytes(resigned(data, name, value))


def test_missing_array_is_refused(data):
    with pytest.raises(ModelFileError, match=r"lacks coefficients\.npy"):
        model_from_bytes(rewrite(data, lambda members: members.pop("coefficients.npy")))


def test_missing_file_and_directory_are_said(tmp_path, fitted):
    with pytest.raises(ModelFileError, match="no model file"):
        urlr.load(tmp_path / "nowhere.npz")
    with pytest.raises(ModelFileError, match="directory"):
        fitted[0].save(tmp_path)


def test_failed_write_leaves_the_old_file(tmp_path, fitted, monkeypatch):
    path = tmp_path / "model.npz"
    path.write_bytes(b"old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        fitted[0].save(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_model_without_features_round_trips(how):
    options = how | ({"replicates": 3} if how["method"] == "robust" else {})
    ranker = urlr.fit(votes_frame([("a", "b", 3), ("b", "c", 2), ("c", "a", 1)]), **options)
    again = model_from_bytes(model_bytes(ranker))
    pd.testing.assert_frame_equal(again.scores, ranker.scores, check_exact=True)
    assert again.facts == ranker.facts
    assert again.summary() == ranker.summary()


@settings(max_examples=150)
@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_any_flipped_byte_is_refused_or_harmless(data, fitted, where, flip):
    damaged = bytearray(data)
    damaged[int(where * len(damaged))] ^= flip
    try:
        ranker = model_from_bytes(bytes(damaged))
    except ModelFileError:
        return
    pd.testing.assert_series_equal(
        ranker.score(fitted[1]), fitted[0].score(fitted[1]), check_exact=True
    )
