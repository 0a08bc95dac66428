"""Models made to do harm: whoever loads them executes nothing and says so in one plain line."""

import hashlib
import io
import json
import pickle
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import passed
from judge import Seen
from refusals import refused
from registries import MLFLOW_WARNS, NIGHT, kept, publication
from stored_votes import order_of, small

from flows import cli
from tasks.publish import Desk, PublishError, publish
from tasks.registry import Registry, RegistryError, Version
from tasks.registry.mlflow_client import Mlflow
from tasks.registry.served_model import EXAMPLES, MANIFEST, MODEL, Manifest, digest_of
from tasks.result_files import JUDGE
from tasks.results import Rival
from tasks.runs import place_of
from tasks.store import Store
from tasks.train import train
from urlr.errors import ModelFileError
from urlr.model_file import _manifest_digest, model_from_bytes

pytestmark = [MLFLOW_WARNS, pytest.mark.full]

OTHER = "20261102T020000Z-0a1b2c"
Members = dict[str, bytes]


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def repacked(data: bytes, change: Callable[[Members], None], packing=zipfile.ZIP_STORED) -> bytes:
    """The model with its members changed, and every digest in its manifest made to match."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    manifest = json.loads(members["manifest.json"])
    for name in manifest["arrays"]:
        manifest["arrays"][name] = hashlib.sha256(members[f"{name}.npy"]).hexdigest()
    manifest["digest"] = _manifest_digest(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, blob in members.items():
            archive.writestr(name, blob)
    return buffer.getvalue()


def with_array(data: bytes, blob: bytes, name: str = "score") -> bytes:
    return repacked(data, lambda members: members.update({f"{name}.npy": blob}))


def claiming(shape: tuple[int, ...]) -> bytes:
    """An array of a few bytes that says it is of another shape."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return head.getvalue() + bytes(80)


def listing(data: bytes, name: str) -> bytes:
    """The model with one more array, of this name, that its manifest lists."""

    def change(members: Members) -> None:
        manifest = json.loads(members["manifest.json"])
        manifest["arrays"][name] = ""
        members["manifest.json"] = json.dumps(manifest).encode()
        members[f"{name}.npy"] = npy(np.zeros(3))

    return repacked(data, change)


def member_claims(data: bytes, size: int) -> bytes:
    """The directory of the archive says that a member is larger than the archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        place = archive.start_dir
    at = data.index(b"score.npy", place) - 46
    wrong = size.to_bytes(4, "little")
    return data[: at + 20] + wrong + wrong + data[at + 28 :]


MODELS: dict[str, tuple[Callable[[bytes, Path], bytes], str, str]] = {
    "a pickle": (lambda data, trap: pickle.dumps(Touch(trap)).ljust(400), "not_a_model_file", ""),
    "objects": (
        lambda data, trap: with_array(data, npy(np.array([Touch(trap)] * 15, object))),
        "unreadable_array",
        "array_of_objects",
    ),
    "cut off": (lambda data, trap: data[: len(data) // 2], "truncated_model", ""),
    "packed zeros": (
        lambda data, trap: repacked(
            data,
            lambda members: members.update({"score.npy": npy(np.zeros(10**7))}),
            zipfile.ZIP_DEFLATED,
        ),
        "model_claims_too_much",
        "",
    ),
    "a member's claim": (
        lambda data, trap: member_claims(data, 3 << 30),
        "model_claims_too_much",
        "",
    ),
    "a shape's claim": (
        lambda data, trap: with_array(data, claiming((10**12,))),
        "unreadable_array",
        "array_claims_too_much",
    ),
    "another shape": (
        lambda data, trap: with_array(data, npy(np.zeros(3))),
        "damaged_model",
        "scores_of_other_shape",
    ),
    "no numbers": (
        lambda data, trap: with_array(data, npy(np.full(15, np.nan))),
        "damaged_model",
        "scores_not_finite",
    ),
    "no weights": (
        lambda data, trap: with_array(data, npy(np.full(3, np.inf)), "coefficients"),
        "damaged_model",
        "coefficients_do_not_fit",
    ),
    "a way out": (
        lambda data, trap: repacked(
            data, lambda members: members.update({f"../../../..{trap}": b"x"})
        ),
        "strange_member",
        "",
    ),
    "a way out that is listed": (
        lambda data, trap: listing(data, f"../../../..{trap}"),
        "strange_member",
        "",
    ),
}
"""By name: how it is made, the code of the refusal, and that of its cause if it has one."""


@pytest.fixture
def trap(tmp_path) -> Path:
    return tmp_path / "executed"


def harmful(name: str, trap: Path) -> bytes:
    return MODELS[name][0](publication("a").model, trap)


@pytest.mark.parametrize("name", MODELS)
def test_a_harmful_file_is_refused_in_one_line(name, trap):
    _, code, cause = MODELS[name]
    with refused(ModelFileError, code) as error:
        model_from_bytes(harmful(name, trap))
    assert getattr(error.value.fields.get("why"), "code", "") == cause
    assert str(error.value).isprintable()
    assert not trap.exists()
    passed("malicious models", name, Seen("refused, nothing executed", str(error.value)))


SIGNED = ("objects", "a shape's claim", "no numbers", "a way out")
"""Models that are tried also where every digest is right."""


def resigned(registry: Registry, version: Version, files: dict[str, bytes]) -> None:
    """Change files of a version and every digest, also the registry's: by somebody who may."""
    folder = kept(version)
    manifest = Manifest.from_bytes((folder / MANIFEST).read_bytes())
    for name, data in files.items():
        (folder / name).write_bytes(data)
        manifest.files[name] = digest_of(data)
    (folder / MANIFEST).write_bytes(manifest.to_bytes())
    retagged(registry, version, digest_of(manifest.to_bytes()))


def retagged(registry: Registry, version: Version, digest: str) -> None:
    [model] = [one for one in registry._models() if one.attribute == version.attribute]
    Mlflow(registry.uri).tag_version(model.name, version.number, ("urlr.digest", digest))


def not_verified(registry, verifier, attribute, code, **fields) -> str:
    """What verification says, which refuses version 1."""
    version = registry.version(attribute, 1)
    with refused(RegistryError, code, **fields) as error:
        verifier.verify(version)
    text = str(error.value)
    assert text.startswith(version.shown)
    assert text.isprintable()
    return text.replace(attribute, "smiling")


def all_refuse(registry, verifier, attribute, here, code, **fields) -> Seen:
    """Verification, rollback and, once it is champion, `urlr score` refuse version 1 alike."""
    monkeypatch, tmp_path, capsys = here
    text = not_verified(registry, verifier, attribute, code, **fields)
    with pytest.raises(RegistryError) as error:
        registry.rollback(attribute, 1, run="by hand", why="test")
    assert str(error.value).replace(attribute, "smiling") == text
    assert registry.champion(attribute).number == 2
    version = registry.version(attribute, 1)
    registry.move(attribute, version, run="n", night=NIGHT, why="by somebody who may")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("URLR_REGISTRY", registry.uri)
    publication(attribute).examples.to_csv("features.csv", index=False)
    arguments = ["score", "--attribute", attribute, "features.csv", "--out", "scores.csv"]
    assert cli.main(arguments) == 1
    complaint = capsys.readouterr().err
    assert complaint.replace(attribute, "smiling") == f"urlr: {text}\n"
    assert not Path("scores.csv").exists()
    return Seen("refused by verification, rollback and scoring", text)


@pytest.fixture
def two(registry, attribute) -> Version:
    """The first of two versions; the second is champion."""
    first = registry.register(publication(attribute))
    second = registry.register(publication(attribute, "key-2", seed=1))
    registry.move(attribute, second, run="n", night=NIGHT, why="better")
    return first


@pytest.mark.parametrize("name", SIGNED)
def test_a_harmful_version_with_every_digest_right_is_refused_by_all(
    registry, verifier, attribute, two, name, trap, monkeypatch, tmp_path, capsys
):
    resigned(registry, two, {MODEL: harmful(name, trap)})
    here = monkeypatch, tmp_path, capsys
    seen = all_refuse(registry, verifier, attribute, here, MODELS[name][1])
    assert not trap.exists()
    passed("malicious models", f"{name}, with every digest right", seen)


def test_the_model_of_another_attribute_under_this_name_is_refused_by_all(
    registry, verifier, attribute, two, monkeypatch, tmp_path, capsys
):
    other = registry.register(publication(f"{attribute}-other", seed=1))
    shutil.rmtree(kept(two))
    shutil.copytree(kept(other), kept(two))
    retagged(registry, two, other.digest)
    here, wrong = (monkeypatch, tmp_path, capsys), "model_of_another_attribute"
    seen = all_refuse(registry, verifier, attribute, here, wrong, other=f"{attribute}-other")
    passed("malicious models", "weights of another attribute", seen)


def test_a_model_of_another_digest_is_refused_by_all(
    registry, verifier, attribute, two, monkeypatch, tmp_path, capsys
):
    (kept(two) / MODEL).write_bytes(publication(attribute, seed=1).model)
    here = monkeypatch, tmp_path, capsys
    seen = all_refuse(registry, verifier, attribute, here, "version_file_changed", name=MODEL)
    passed("malicious models", "wrong digest", seen)


@pytest.mark.parametrize("content", [b"[]", b"{}", b"[" * 10**5, b'{"scores": ["x"]}'])
@pytest.mark.parametrize("name", [MANIFEST, EXAMPLES])
def test_senseless_files_with_every_digest_right_are_refused(
    registry, verifier, attribute, two, name, content
):
    if name == MANIFEST:
        wrong = "other_version_schema"
        (kept(two) / MANIFEST).write_bytes(content)
        retagged(registry, two, digest_of(content))
    else:
        wrong = "senseless_examples"
        resigned(registry, two, {EXAMPLES: content})
    with pytest.raises(RegistryError) as error:
        verifier.verify(registry.version(attribute, 1))
    assert error.value.code == wrong
    assert str(error.value).isprintable()


CODE = {
    "a program of somebody else": ("model/served_ranker.py", "not_as_written"),
    "code beside the model": ("model/sitecustomize.py", "foreign_file"),
    "code among the results": ("files/plots.py", "foreign_file"),
}
"""Where code is put that is listed with its digest, and the code of the refusal."""


@pytest.mark.parametrize("name", CODE)
def test_code_put_beside_a_model_is_not_run(
    registry, verifier, attribute, two, name, trap, monkeypatch, tmp_path, capsys
):
    """A version that holds it is refused, though every digest is right."""
    file, code = CODE[name]
    resigned(registry, two, {file: f"open({str(trap)!r}, 'w')".encode()})
    here = monkeypatch, tmp_path, capsys
    seen = all_refuse(registry, verifier, attribute, here, code, name=file)
    assert not trap.exists()
    passed("malicious models", name, seen)


ACTED_ON: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a description that names other code": (
        "model/MLmodel",
        lambda data: data.replace(b'"code": null', b'"code": "code"'),
    ),
    "requirements that name another package": (
        "model/requirements.txt",
        lambda data: data + b"urlr-extras==1.0\n",
    ),
    "a package of nearly the same name": (
        "model/requirements.txt",
        lambda data: data.replace(b"urlr==", b"urlr1.0=="),
    ),
    "an environment with another package": (
        "model/python_env.yaml",
        lambda data: data + b"- urlr-extras\n",
    ),
}
"""What MLflow acts on, by the file and its change; our own reading of a model does without it."""


@pytest.mark.parametrize("name", ACTED_ON)
def test_what_mlflow_would_act_on_must_be_as_urlr_writes_it(
    registry, verifier, attribute, two, name
):
    file, change = ACTED_ON[name]
    resigned(registry, two, {file: change((kept(two) / file).read_bytes())})
    text = not_verified(registry, verifier, attribute, "not_as_written", name=file)
    registry.fetch(registry.version(attribute, 1))
    seen = Seen("refused by verification; scoring reads the numbers alone", text)
    passed("malicious models", name, seen)


def test_code_that_no_manifest_lists_is_refused(registry, verifier, attribute, two, trap):
    code = kept(two) / "model" / "code" / "urlr.py"
    code.parent.mkdir()
    code.write_text(f"open({str(trap)!r}, 'w')")
    text = not_verified(registry, verifier, attribute, "foreign_file", name="model/code/urlr.py")
    registry.fetch(registry.version(attribute, 1))
    assert not trap.exists()
    seen = Seen("refused by verification; scoring reads the numbers alone", text)
    passed("malicious models", "code that no manifest lists", seen)


def test_versions_of_other_releases_and_what_mlflow_leaves_beside_them_are_accepted(
    registry, verifier, attribute, two
):
    """Other versions of Python and packages wrote it, and somebody has served it since."""
    folder = kept(two) / "model"
    described = json.loads((folder / "MLmodel").read_bytes())
    described["mlflow_version"] = "4.0.1.dev2"
    described["flavors"]["python_function"]["python_version"] = "3.14.0rc1"
    files = {
        "model/MLmodel": json.dumps(described, indent=1).encode(),
        "model/requirements.txt": b"urlr\nmlflow==4.0.1.dev2\nnumpy==3.0.0\npandas==4.1\n",
    }
    resigned(registry, two, files)
    (folder / "registered_model_meta").write_text("model_name: smiling\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "served_ranker.cpython-314.pyc").write_bytes(b"")
    verifier.verify(registry.version(attribute, 1))


# What the store keeps: the gate's judge, and the model on its way to the registry.


def test_a_rival_with_another_judge_is_no_rival(tmp_path):
    store = Store.at(tmp_path)
    small(store)
    first = train(order_of(store)).result
    rivals = (Rival(1, 0, True, first.place),)
    assert train(order_of(store, run=OTHER, rivals=rivals)).lost == ()
    other = publication("other", features=False).model
    store.replace(f"{first.place}/{JUDGE}", other)
    trained = train(order_of(store, run="20261103T020000Z-0a1b2c", rivals=rivals))
    assert (trained.lost, trained.champion) == ((1,), None)


@pytest.mark.parametrize("name", ["model.npz", "judge.npz"])
def test_a_model_changed_after_it_was_made_is_not_published(registry, verifier, tmp_path, name):
    store = Store.at(tmp_path)
    small(store)
    order = order_of(store, place=place_of("20261104T020000Z-0a1b2c", "smiling"))
    trained = train(order)
    other = publication("other", seed=1).model
    store.replace(f"{trained.result.place}/{name}", other)
    desk = Desk(registry, verifier, "run", NIGHT, lambda: None, force=True)
    attribute = f"smiling/{tmp_path.name.replace('_', '-')}"
    trained = replace(trained, result=replace(trained.result, attribute=attribute))
    order = replace(order, inputs=replace(order.inputs, attribute=attribute))
    with refused(PublishError, "not_of_this_result") as error:
        publish(trained, order, desk)
    assert name in str(error.value)
    assert registry.versions(attribute) == []
