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
from refusals import refused

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
        with refused(UrlrError, f"no_{table}_in_file"):
            getattr(ranker, table)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_file_is_refused(tmp_path, data, share):
    path = tmp_path / "model.npz"
    path.write_bytes(data[: int(share * len(data))])
    code = "truncated_model" if share else "not_a_model_file"
    with refused(ModelFileError, code, name="model.npz", size=int(share * len(data))):
        urlr.load(path)


def test_foreign_files_are_refused():
    with refused(ModelFileError, "not_a_model_file"):
        model_from_bytes(b"winner,loser\na,b\n")
    foreign = io.BytesIO()
    np.savez(foreign, coefficients=np.ones(3))
    with refused(ModelFileError, "foreign_model"):
        model_from_bytes(foreign.getvalue())
    with refused(ModelFileError, "foreign_model"):
        model_from_bytes(rewrite(foreign.getvalue(), lambda m: m.update({"manifest.json": b"[]"})))


def test_future_version_asks_for_an_upgrade(data):
    with refused(ModelFileError, "newer_schema", schema=SCHEMA + 1, known=SCHEMA):
        model_from_bytes(edit_manifest(data, schema=SCHEMA + 1))


def test_model_of_a_schema_that_is_too_old_asks_for_a_new_fit(data):
    with refused(ModelFileError, "older_schema", schema=2, known=SCHEMA):
        model_from_bytes(edit_manifest(data, schema=2))


OF_SCHEMA_4 = {
    "facts": {
        *("n_groups", "n_together", "n_together_votes", "n_judged", "n_tastes", "agreed"),
    },
    "settings": {"tastes", "coordination"},
}


def of_schema_3(data):
    """The model as it was written before models knew of people, every digest matching."""

    def change(members):
        manifest = json.loads(members["manifest.json"])
        for part, names in OF_SCHEMA_4.items():
            assert names <= set(manifest[part])
            manifest[part] = {k: v for k, v in manifest[part].items() if k not in names}
        del manifest["voters"]
        for name in [name for name in manifest["arrays"] if name.startswith("voters/")]:
            del manifest["arrays"][name]
            del members[f"{name}.npy"]
        manifest["schema"] = 3
        manifest["digest"] = _manifest_digest(manifest)
        members["manifest.json"] = json.dumps(manifest).encode()

    return rewrite(data, change)


def test_a_model_of_schema_3_ranks_as_it_did_and_knows_nobody(data, fitted):
    ranker, features = fitted
    older = model_from_bytes(of_schema_3(data))
    pd.testing.assert_frame_equal(older.scores, ranker.scores, check_exact=True)
    pd.testing.assert_series_equal(older.score(features), ranker.score(features), check_exact=True)
    assert older.settings == ranker.settings
    assert (older.facts.n_groups, older.facts.agreed) == (0, None)
    with refused(UrlrError, "no_voters_in_model"):
        older.probability("a", "b")
    again = model_from_bytes(model_bytes(older))
    pd.testing.assert_frame_equal(again.scores, ranker.scores, check_exact=True)


def test_a_model_of_this_schema_lacks_no_field(data):
    def change(members):
        manifest = json.loads(members["manifest.json"])
        del manifest["facts"]["n_tastes"]
        manifest["digest"] = _manifest_digest(manifest)
        members["manifest.json"] = json.dumps(manifest).encode()

    with refused(ModelFileError, "damaged_model") as caught:
        model_from_bytes(rewrite(data, change))
    assert caught.value.fields["why"].code == "other_fields"


def test_changed_manifest_is_refused(data):
    with refused(ModelFileError, "changed_manifest"):
        model_from_bytes(edit_manifest(data, items=["x"]))


def test_changed_array_is_refused(data):
    def change(members):
        blob = bytearray(members["coefficients.npy"])
        blob[-1] ^= 1
        members["coefficients.npy"] = bytes(blob)

    with refused(ModelFileError, "changed_array", key="coefficients"):
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
    ("name", "value", "code"),
    [
        ("score", np.full(20, np.nan), "scores_not_finite"),
        ("effect", np.full(20, np.inf), "scores_not_finite"),
        ("effect", np.zeros(19), "scores_of_other_shape"),
        ("low", np.zeros(3), "scores_of_other_shape"),
        ("rank_high", np.ones((20, 1), np.int64), "scores_of_other_shape"),
        ("n_votes", np.ones(2, np.int64), "scores_of_other_shape"),
    ],
)
def test_senseless_array_is_refused_even_with_matching_digests(data, name, value, code):
    with refused(ModelFileError, "damaged_model") as caught:
        model_from_bytes(resigned(data, name, value))
    why = caught.value.fields["why"]
    assert why.code == code
    assert why.fields["name"] == name
    if code == "scores_of_other_shape":
        assert (why.fields["shape"], why.fields["n_items"]) == (value.shape, 20)


def test_senseless_coefficients_are_refused_even_with_matching_digests(data):
    with refused(ModelFileError, "damaged_model") as caught:
        model_from_bytes(resigned(data, "coefficients", np.ones(1)))
    assert caught.value.fields["why"].code == "coefficients_do_not_fit"
    assert caught.value.fields["why"].fields["count"] == 1
    with refused(ModelFileError, "array_of_no_numbers", key="coefficients", dtype="float32"):
        model_from_bytes(resigned(data, "coefficients", np.ones(1, np.float32)))


def test_missing_array_is_refused(data):
    with refused(ModelFileError, "lacking_member", member="coefficients.npy"):
        model_from_bytes(rewrite(data, lambda members: members.pop("coefficients.npy")))


def test_missing_file_and_directory_are_said(tmp_path, fitted):
    with refused(ModelFileError, "no_model_file", path=str(tmp_path / "nowhere.npz")):
        urlr.load(tmp_path / "nowhere.npz")
    with refused(ModelFileError, "model_path_is_directory", path=str(tmp_path)):
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
