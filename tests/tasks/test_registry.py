"""What is registered is what is read back, and nothing else is ever used."""

import errno
import json
import logging
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from registries import MLFLOW_WARNS, fitted, kept, publication, registered
from sqlalchemy.exc import OperationalError

from tasks.messages import message
from tasks.names import encoded
from tasks.registry import (
    NotRegistered,
    Publication,
    Registry,
    RegistryError,
    RegistryUnreachable,
)
from tasks.registry.mlflow_client import Mlflow, asking
from tasks.registry.served_model import (
    EXAMPLES,
    MANIFEST,
    Manifest,
    digest_of,
    prove,
    version_files,
)
from tasks.store import Store
from urlr.model_file import model_bytes
from urlr.sentence import made

pytestmark = MLFLOW_WARNS

ROOT = Path(__file__).parents[2]
QUIET = """
import sys
from datetime import date
from pathlib import Path
from tasks.registry import Publication, Registry
place, data = sys.argv[1], Path(sys.argv[2]).read_bytes()
registry = Registry.at(place)
registry.prepare()
registry.prepare()
night = date(2026, 11, 15)
made = Publication("smiling", "k", "r", night, "results/k", "1", "Text.", {"t": 1}, {}, {}, data)
version = registry.register(made)
registry.move("smiling", version, run="night-1", night=made.night, why="first model")
assert registry.reconcile_all() == []
assert list(registry.champions()) == ["smiling"]
"""
SERVE = """
import sys
sys.modules |= {"tasks": None, "flows": None}  # neither can be imported
import mlflow
import pandas as pd
frame, *wanted = sys.argv[1:]
while wanted:
    uri, address, out, *wanted = wanted
    mlflow.set_tracking_uri(uri)
    mlflow.pyfunc.load_model(address).predict(pd.read_parquet(frame)).to_parquet(out)
"""


def run(script: str, *given: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A script in a fresh interpreter that finds this project."""
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, given)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )


def test_a_version_is_found_by_its_key_and_read_back(any_registry, attribute):
    given = publication(attribute)
    version = any_registry.register(given)
    assert any_registry.with_key(attribute, "key-1") == version
    assert any_registry.versions(attribute) == [version]
    assert any_registry.version(attribute, 1) == version
    assert any_registry.with_key(attribute, "key-2") is None
    assert any_registry.champion(attribute) is None
    assert (version.attribute, version.number, version.key) == (attribute, 1, "key-1")
    assert (version.night, version.run, version.place) == (given.night, "night-1", "results/key-1")
    assert version.metrics["tau"] == 0.5
    assert np.isnan(version.metrics["tau_people"])
    assert model_bytes(any_registry.fetch(version)) == given.model
    assert model_bytes(any_registry.fetch(version, file="judge.npz")) == given.model
    assert any_registry.read(version, file="tables/scores.csv") == b"item,score\n"
    with refused(RegistryError, "no_such_version_file", name="files/other.csv"):
        any_registry.read(version, file="other.csv")


def test_the_same_result_is_registered_once(registry, attribute):
    first = registry.register(publication(attribute))
    assert registry.register(publication(attribute, run="night-2")) == first
    assert registry.register(publication(attribute, "key-2")).number == 2
    assert [version.number for version in registry.versions(attribute)] == [1, 2]


def test_a_version_becomes_champion_after_few_looks_at_its_model(registry, attribute, monkeypatch):
    """MLflow reads all versions of a model at each; its own client looks before every write."""
    from mlflow.store.model_registry.sqlalchemy_store import SqlAlchemyStore

    looks = []
    read = SqlAlchemyStore.get_registered_model

    def noted(self: SqlAlchemyStore, name: str) -> object:
        looks.append(name)
        return read(self, name)

    registry.register(publication(attribute))
    monkeypatch.setattr(SqlAlchemyStore, "get_registered_model", noted)
    version = registry.register(publication(attribute, "key-2"), to=registry.look(attribute))
    registry.move(attribute, version, run="night-2", night=version.night, why="better")
    assert looks == [encoded(attribute)] * 2


@pytest.mark.parametrize("features", [True, False])
def test_a_good_version_is_verified(registry, verifier, attribute, features):
    verifier.verify(registry.register(publication(attribute, features=features)))


@pytest.mark.full
def test_a_version_in_a_bucket_is_verified(registry_on_s3, s3, attribute):
    version = registry_on_s3.register(publication(attribute))
    with registry_on_s3.verifier() as verifier:
        verifier.verify(version)
        place = Store.at(version.files)
        data = place.read("model/model.npz")
        place.replace("model/model.npz", data[:-1] + bytes([data[-1] ^ 1]))
        with refused(RegistryError, "version_file_changed", name="model/model.npz"):
            verifier.verify(version)
        with refused(RegistryError, "version_file_changed", name="model/model.npz"):
            registry_on_s3.fetch(version)


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize(
    "name", ["model.npz", "examples.json", "served_ranker.py", "MLmodel", "manifest.json"]
)
def test_a_changed_file_is_refused_and_nothing_in_it_is_executed(
    registry, verifier, attribute, name, tmp_path
):
    version = registry.register(publication(attribute))
    trap = tmp_path / "executed"
    code = f"open({str(trap)!r}, 'w')".encode()
    data = pickle.dumps(Touch(trap)) if name == "model.npz" else code
    (kept(version) / "model" / name).write_bytes(data)
    with refused(RegistryError, "version_file_changed", name=f"model/{name}") as error:
        verifier.verify(version)
    assert "\n" not in str(error.value)
    if name in ("model.npz", "manifest.json"):
        with refused(RegistryError, "version_file_changed", name=f"model/{name}"):
            registry.fetch(version)
    assert not trap.exists()


def test_a_changed_further_file_is_refused(registry, verifier, attribute):
    version = registry.register(publication(attribute))
    (kept(version) / "files" / "judge.npz").write_bytes(b"other")
    with refused(RegistryError, "version_file_changed", name="files/judge.npz"):
        verifier.verify(version)
    with refused(RegistryError, "version_file_changed", name="files/judge.npz"):
        registry.fetch(version, file="judge.npz")
    registry.fetch(version)


def test_a_missing_file_is_told(registry, verifier, attribute):
    version = registry.register(publication(attribute))
    (kept(version) / "model" / "model.npz").unlink()
    with refused(RegistryError, "version_file_missing", name="model/model.npz"):
        verifier.verify(version)


def test_another_version_than_the_one_asked_for_is_refused(registry, verifier, attribute):
    version = registry.register(publication(attribute))
    with refused(RegistryError, "version_replaced", version=version.shown):
        verifier.verify(replace(version, digest="0" * 64))


@pytest.mark.parametrize("features", [True, False])
def test_scores_must_agree_to_the_last_bit_or_as_well_as_another_machine_can(features):
    given = publication("smiling", features=features)
    files = version_files(given.model, given.examples, given.files, given.about())

    def with_score(change):
        stored = json.loads(files[EXAMPLES])
        stored["scores"][0] = change(stored["scores"][0])
        changed = files | {EXAMPLES: json.dumps(stored).encode()}
        manifest = Manifest.from_bytes(files[MANIFEST])
        manifest.files[EXAMPLES] = digest_of(changed[EXAMPLES])
        changed[MANIFEST] = manifest.to_bytes()
        return changed

    def proved(changed, *, exact):
        digest = digest_of(changed[MANIFEST])
        prove(changed.__getitem__, digest, "version 1", attribute="smiling", exact=exact)

    proved(with_score(lambda score: score), exact=True)
    nearly = with_score(lambda score: float(np.nextafter(score, np.inf)))
    proved(nearly, exact=False)
    with refused(RegistryError, "examples_score_otherwise", count=1, total=8 if features else 15):
        proved(nearly, exact=True)
    with refused(RegistryError, "examples_score_otherwise", count=1):
        proved(with_score(lambda score: score + 1e-6), exact=False)


@pytest.mark.full
def test_a_verification_has_a_deadline_and_survives_the_death_of_its_process(registry, attribute):
    version = registry.register(publication(attribute))
    with (
        registry.verifier(deadline=0.01) as hasty,
        refused(RegistryUnreachable, "verifying_took_too_long", seconds=0.01),
    ):
        hasty.verify(version)
    with registry.verifier() as verifier:
        verifier._helper.process.kill()
        with refused(RegistryError, "verifying_process_died"):
            verifier.verify(version)
        verifier.verify(version)


@pytest.mark.full
def test_the_champion_is_served_where_only_mlflow_and_urlr_are(
    registry, registry_on_s3, s3, tmp_path
):
    """Also from a bucket, found by the address that the store has."""
    ranker, table = fitted(0, features=True)
    frame = pd.concat([table, table.head(1).assign(item="never seen")], ignore_index=True)
    frame.to_parquet(tmp_path / "frame.parquet")
    wanted: list[object] = []
    for k, (place, features) in enumerate(
        [(registry, True), (registry_on_s3, True), (registry, False)]
    ):
        name = f"served/{k}"
        version = place.register(publication(name, features=features))
        place.move(name, version, run="r", night=version.night, why="first model")
        wanted += [place.uri, f"models:/{encoded(name)}@champion", tmp_path / f"{k}.parquet"]
    done = run(SERVE, tmp_path / "frame.parquet", *wanted)
    assert done.returncode == 0, done.stderr
    for k in (0, 1):
        scored = pd.read_parquet(tmp_path / f"{k}.parquet")
        assert list(scored.columns) == ["item", "score"]
        assert list(scored["item"]) == list(frame["item"])
        assert scored["score"].to_numpy() == pytest.approx(
            ranker.score(frame).to_numpy(), abs=1e-12
        )
    looked_up = pd.read_parquet(tmp_path / "2.parquet").set_index("item")["score"]
    known = fitted(0, features=False)[0].scores.set_index("item")["score"]
    assert list(looked_up[known.index]) == list(known)
    assert np.isnan(looked_up["never seen"])
    pairs = frame[["item"]].rename(columns={"item": "item_a"}).assign(item_b=frame["item"].iloc[0])
    pairs.to_parquet(tmp_path / "pairs.parquet")
    done = run(SERVE, tmp_path / "pairs.parquet", *wanted[:3])
    assert done.returncode == 0, done.stderr
    chance = pd.read_parquet(tmp_path / "0.parquet")["probability"].to_numpy()
    np.testing.assert_array_equal(chance, ranker.probability(pairs["item_a"], pairs["item_b"]))
    assert (chance[0], np.isnan(chance[-1])) == (0.5, True)


@pytest.mark.full
def test_a_night_says_nothing_of_its_own(tmp_path):
    model = tmp_path / "model.npz"
    fitted(0, features=False)[0].save(model)
    done = run(QUIET, tmp_path / "new" / "registry", model)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_models_of_others_are_left_alone(registry, attribute):
    mlflow = Mlflow(registry.uri)
    for name in ("Churn <b>", "churn", "fraud.v2"):
        if mlflow.model(name) is None:
            mlflow.create_model(name, {}, "of others")
    [version] = registered(registry, attribute, 1)
    registry.move(attribute, version, run="r", night=version.night, why="first model")
    assert registry.champions()[attribute] == registry.champion(attribute)
    assert not {"churn", "fraud/v2"} & set(registry.champions())
    with refused(RegistryError, "model_not_ours", name="churn"):
        registry.register(publication("churn"))


def test_names_with_markup_and_twins_in_case_stay_apart(registry, verifier):
    names = ["<b>bold</b>", "Ümlaut & more", "twin", "Twin", "a.b", "a/b"]
    for k, name in enumerate(names):
        version = registry.register(publication(name, f"markup-{k}"))
        verifier.verify(version)
        registry.move(name, version, run="<i>", night=version.night, why="<script>\n")
    champions = registry.champions()
    assert [champions[name].key for name in names] == [f"markup-{k}" for k in range(len(names))]
    assert registry.history("<b>bold</b>")[0].why == "<script>\\n"


def test_long_texts_are_shortened_in_mlflow_and_whole_in_the_manifest(registry, attribute):
    params = {f"p{k}": "x" for k in range(250)} | {"long": "y" * 20_000}
    etags = {f"votes/{k}.csv": "e" * 40 for k in range(3000)}
    long = "A sentence. " * 1000
    version = registry.register(
        publication(attribute, params=params, etags=etags, description=long)
    )
    assert len(version.description) <= 5000
    assert version.description.endswith("(whole in model/manifest.json)")
    about = Manifest.from_bytes((kept(version) / MANIFEST).read_bytes()).about
    assert (about["params"], about["etags"], about["description"]) == (params, etags, long)
    registered_run = Mlflow(registry.uri).version(encoded(attribute), 1).run_id
    with asking(registry.uri) as client:
        told = client.get_run(registered_run).data
    assert len(told.params) == 251
    assert len(told.params["long"]) == 6000
    assert told.metrics == {"tau": 0.5}


NOT_LOADED = message("version_not_loaded", version=message("model_to_publish"))


@pytest.mark.parametrize(
    ("change", "code", "fields"),
    [
        ({"model": b"not a model"}, "not_a_model_file", {"place": NOT_LOADED}),
        ({"examples": None}, "no_examples", {}),
        (
            {"examples": pd.DataFrame({"item": ["a"], "other": [1.0]})},
            "lacking_columns",
            {"count": 10, "place": message("examples_not_scored")},
        ),
    ],
)
def test_what_cannot_be_loaded_or_scored_is_not_registered(
    registry, attribute, change, code, fields
):
    with refused(RegistryError, code, **fields) as error:
        registry.register(publication(attribute, **change))
    assert "\n" not in str(error.value)
    assert registry.versions(attribute) == []


@pytest.mark.parametrize(
    ("change", "code", "fields"),
    [
        ({"key": "a'b"}, "awkward_result_key", {"key": "a'b"}),
        ({"key": ""}, "awkward_result_key", {"key": ""}),
        ({"files": {"../x": b""}}, "awkward_file_name", {"name": "../x"}),
    ],
)
def test_awkward_keys_and_names_of_files_are_refused(change, code, fields):
    with refused(RegistryError, code, **fields):
        publication("smiling", **change)


def test_a_version_that_is_not_there_is_told_with_those_that_are(registry, attribute):
    registered(registry, attribute, 2)
    with refused(NotRegistered, "no_such_version", attribute=attribute, number=7) as error:
        registry.version(attribute, 7)
    assert error.value.fields["choice"].fields == {"versions": [2, 1]}


def test_a_registry_can_be_sent_elsewhere(registry):
    assert pickle.loads(pickle.dumps(registry)) == registry


def test_a_directory_holds_database_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = Registry.at("./urlr-registry")
    assert found.uri == f"sqlite:///{tmp_path}/urlr-registry/mlflow.db"
    assert found.artifacts == f"{tmp_path}/urlr-registry/artifacts"
    assert Registry.at(f"sqlite:///{tmp_path}/x.db").artifacts == f"{tmp_path}/artifacts"
    assert Registry.at("https://mlflow.example/").uri == "https://mlflow.example"
    assert Registry.at("http://h:5000", artifacts="s3://bucket/p/").artifacts == "s3://bucket/p"
    assert not (tmp_path / "urlr-registry").exists()


@pytest.mark.parametrize(
    ("place", "artifacts", "code"),
    [
        ("https://user:pass-1234@host", None, "registry_address_too_long"),
        ("https://host/?token=pass-1234", None, "registry_address_too_long"),
        ("postgresql://user:pass-1234@host/db", None, "unknown_kind_of_registry"),
        ("databricks:x", None, "unknown_kind_of_registry"),
        ("", None, "empty_registry_address"),
        ("some#where", None, "awkward_registry_path"),
        ("x", "s3://user:pass-1234@bucket", "address_with_password"),
    ],
)
def test_addresses_that_cannot_be_are_refused_without_their_secrets(place, artifacts, code):
    with refused(RegistryError, code) as error:
        Registry.at(place, artifacts=artifacts)
    assert "pass-1234" not in str(error.value)
    assert "pass-1234" not in str(error.value.fields)
    assert "\n" not in str(error.value)


def test_credentials_of_the_environment_are_never_told(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "pass-1234")
    error = RegistryError(made("it said pass-1234.", "leak", {"why": "pass-1234"}))
    assert str(error) == "it said ***."
    assert error.fields == {"why": "***"}


def test_a_registry_that_is_not_there_is_not_made_by_asking(tmp_path):
    with refused(RegistryError, "no_registry", path=tmp_path / "none" / "mlflow.db"):
        Registry.at(tmp_path / "none").champion("smiling")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_told_at_once(tmp_path):
    (tmp_path / "mlflow.db").write_text("hello, this is text")
    with refused(RegistryError, "not_an_mlflow_database", path=tmp_path / "mlflow.db"):
        Registry.at(tmp_path).prepare()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OperationalError("INSERT", {}, Exception("database or disk is full")), "registry_full"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "no_room_for_temporary_files"),
    ],
)
def test_a_full_disk_is_told_as_such(registry, error, code):
    with refused(RegistryError, code) as told, asking(registry.uri):
        raise error
    assert "\n" not in str(told.value)
    assert not logging.getLogger("mlflow.store.db.utils").isEnabledFor(logging.ERROR)


def test_a_registry_that_keeps_its_files_elsewhere_is_told(registry, tmp_path):
    with refused(RegistryError, "files_kept_elsewhere", wanted=str(tmp_path)):
        Registry(registry.uri, str(tmp_path)).prepare()


def test_an_id_that_is_a_number_is_proved_as_one():
    ranker, _ = fitted(0, features=False)
    numbered = replace(ranker, scores=ranker.scores.assign(item=range(len(ranker.scores))))
    given = Publication(
        "a", "k", "r", publication("a").night, "p", "1", "d", {}, {}, {}, model_bytes(numbered)
    )
    files = version_files(given.model, None, {}, given.about())
    assert json.loads(files[EXAMPLES])["items"][:2] == [0, 1]
    digest = digest_of(files[MANIFEST])
    prove(files.__getitem__, digest, "version 1", attribute="a", exact=True)
