"""The files of a version: the model, what serves it, examples that prove it, and their digests.

`mlflow.pyfunc.load_model("models:/<name>@champion").predict(frame)` runs the small program that
lies beside the model, which needs mlflow and urlr and nothing else of this project. That is a
convenience for people who trust the registry: pyfunc runs whatever lies there. Nothing here does;
models are read by `urlr.model_file`, after every byte was held against its digest. A version with
files that urlr never writes, or with another program than urlr's, is refused all the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

from tasks.messages import message
from tasks.registry.mlflow_client import RegistryError
from urlr.arrays import Floats
from urlr.errors import ModelFileError, UrlrError
from urlr.ids import positions
from urlr.model_file import model_from_bytes
from urlr.ranker import Ranker
from urlr.space.table import feature_table

MODEL = "model/model.npz"
MANIFEST = "model/manifest.json"
EXAMPLES = "model/examples.json"
FURTHER = "files/"
"""Where further files lie: beside the model, so that whoever serves it need not fetch them."""
MOST_EXAMPLES = 50
"""Items whose scores are stored with a version; a wrong model differs on the first already."""
FORMAT = "urlr-version"
SCHEMA = 1

_PROGRAM = "served_ranker.py"
_FOR_MLFLOW = {
    f"model/{_PROGRAM}": {
        "f858f4f2227af150d1355d709cf098cd6019bb3c05282b0972f4f8f87fa2cd4c",
        "77cecea0f5a36ccae98062b2235b848632a5e4a9b2867e0c5f4e75186402d951",
    },
    "model/MLmodel": {"b0ea1b4896194881abf4502937ec6e17ee8e553c8ef7b7b38b73293e5881b39b"},
    "model/requirements.txt": {"a04244bef166f2b5d7cb24f6c6e05012e9d592c06c253855cbfae55b5ea5eb0a"},
    "model/python_env.yaml": {"3d1ac31d0256adf1acbce1cd72585efbefeace4f9b592d14078805b423785b96"},
}
"""Files that MLflow acts on, with the digests of all that any urlr has written there, numbers left
out. Whoever changes what is written adds its digest; the others stay, or what earlier releases
registered is refused."""
_NUMBERS = re.compile(rb'(==|(?<=[" ]))(\d+\.[\w.+-]+|[0-9a-f]{32})')
"""Numbers of versions, and of the model."""
_RESULTS = re.compile(rf"{FURTHER}[\w./-]+\.(csv|json|npz|parquet|svg|txt)")
_LEFT_BY_MLFLOW = re.compile(r"model/(registered_model_meta|__pycache__/served_ranker\.[\w.-]+)")
"""What MLflow leaves beside a model that it has loaded from a directory."""
_TOLERANCE = 1e-9
"""How far scores may be off, relative to the largest, on another machine than the one that wrote
them: other processors add in another order. The bytes of the model are the same all the same."""

_SERVED = '''\
"""Serves a ranking of urlr: a table with a column `item`, and features, in; item and score out.

A model without features knows the items that were compared; any other item scores NaN. A table of
pairs, with columns `item_a` and `item_b`, gets the chance that somebody new prefers item_a; with a
column `annotator`, that this person does.
"""

from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

import urlr
from urlr.ids import positions, read_ids


class ServedRanker(PythonModel):
    """The ranker of model.npz, which is read without executing anything in it."""

    def load_context(self, context: Any) -> None:
        self.ranker = urlr.load(context.artifacts["model"])

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        if {"item_a", "item_b"} <= set(model_input):
            a, b = (model_input[name].to_numpy() for name in ("item_a", "item_b"))
            who = model_input["annotator"].to_numpy() if "annotator" in model_input else None
            chance = self.ranker.probability(a, b, annotator=who)
            return pd.DataFrame({"item_a": a, "item_b": b, "probability": chance})
        if self.ranker.feature_map is not None:
            return self.ranker.score(model_input).reset_index()
        if "item" not in model_input:
            raise urlr.FeatureError("the table has no column `item`; name the items to score.")
        known = self.ranker.scores.set_index("item")["score"]
        place = positions(known.index, read_ids(model_input["item"]).values)
        scores = known.reset_index(drop=True).reindex(place).to_numpy()
        return pd.DataFrame({"item": model_input["item"].to_numpy(), "score": scores})


set_model(ServedRanker())
'''


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a version consists of, and all that was said of it in full length."""

    about: dict[str, Any]
    files: dict[str, str]
    """Digest of every other file, by name."""

    def to_bytes(self) -> bytes:
        """The manifest as JSON; its digest stands for the whole version."""
        plain = {"format": FORMAT, "schema": SCHEMA, "about": self.about, "files": self.files}
        return json.dumps(plain, sort_keys=True, ensure_ascii=False, indent=1).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Manifest:
        """Read a manifest whose digest is right."""
        try:
            plain = json.loads(data)
        except (ValueError, RecursionError):
            plain = None
        plain = plain if isinstance(plain, dict) else {}
        if plain.get("format") != FORMAT or plain.get("schema") != SCHEMA:
            raise RegistryError(
                message("other_version_schema", schema=plain.get("schema"), ours=SCHEMA)
            )
        about, files = plain.get("about"), plain.get("files")
        if not (isinstance(about, dict) and isinstance(files, dict)):
            raise RegistryError(message("manifest_without_files"))
        return cls(about, files)


def digest_of(data: bytes) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(data).hexdigest()


def version_files(
    model: bytes, examples: pd.DataFrame | None, further: dict[str, bytes], about: dict[str, Any]
) -> dict[str, bytes]:
    """All files of a version, the manifest last.

    Raises
    ------
    RegistryError
        The model cannot be read, or it needs features and there is no example of them.
    """
    files = {
        MODEL: model,
        EXAMPLES: _examples(model, examples),
        f"model/{_PROGRAM}": _SERVED.encode(),
        "model/MLmodel": _described(model),
        "model/requirements.txt": "".join(f"{line}\n" for line in _requirements()).encode(),
        "model/python_env.yaml": (
            f"python: {platform.python_version()}\ndependencies:\n- -r requirements.txt\n"
        ).encode(),
    }
    files |= {f"{FURTHER}{name}": data for name, data in further.items()}
    digests = {name: digest_of(data) for name, data in files.items()}
    return files | {MANIFEST: Manifest(about, digests).to_bytes()}


def read_manifest(
    read: Callable[[str], bytes], digest: str, what: str, *, attribute: str
) -> Manifest:
    """The manifest of a version, if it is the one that was registered, and of this attribute.

    It lists no file that urlr never writes, and no program that no urlr wrote.
    """
    manifest = Manifest.from_bytes(_checked(read(MANIFEST), digest, what, MANIFEST))
    told = manifest.about.get("attribute")
    if told != attribute:
        raise RegistryError(message("model_of_another_attribute", version=what, other=told))
    known = (MODEL, EXAMPLES, *_FOR_MLFLOW)
    for name in manifest.files:
        if name not in known and _RESULTS.fullmatch(name) is None:
            raise RegistryError(message("foreign_file", version=what, name=name))
    program = f"model/{_PROGRAM}"
    if str(manifest.files.get(program)) not in _FOR_MLFLOW[program]:
        raise RegistryError(message("not_as_written", version=what, name=program))
    return manifest


def read_file(read: Callable[[str], bytes], manifest: Manifest, name: str, what: str) -> bytes:
    """A file of a version, if it is the one that was registered."""
    if name not in manifest.files:
        raise RegistryError(message("no_such_version_file", version=what, name=name))
    return _checked(read(name), manifest.files[name], what, name)


def ranker_of(data: bytes, what: str) -> Ranker:
    """The model in a file; nothing in it is executed."""
    try:
        return model_from_bytes(data, name="the model")
    except ModelFileError as error:
        failure = RegistryError(error.sentence.at(message("version_not_loaded", version=what)))
    raise failure


def prove(
    read: Callable[[str], bytes],
    digest: str,
    what: str,
    *,
    attribute: str,
    exact: bool,
    beside: Iterable[str] = (),
) -> None:
    """Read back every file of a version and score its examples.

    `exact`: to the last bit; else as well as another machine can. `beside` names what lies where
    the model does.

    Raises
    ------
    RegistryError
        A file is missing, changed or not of urlr, the model is of another attribute or cannot be
        loaded, or scores differ.
    """
    manifest = read_manifest(read, digest, what, attribute=attribute)
    for name in beside:
        if name not in (MANIFEST, *manifest.files) and _LEFT_BY_MLFLOW.fullmatch(name) is None:
            raise RegistryError(message("foreign_file", version=what, name=name))
    names = dict.fromkeys((MODEL, EXAMPLES, *_FOR_MLFLOW, *manifest.files))
    files = {name: read_file(read, manifest, name, what) for name in names}
    for name, written in _FOR_MLFLOW.items():
        if digest_of(_NUMBERS.sub(b"", files[name])) not in written:
            raise RegistryError(message("not_as_written", version=what, name=name))
    ranker = ranker_of(files[MODEL], what)
    try:
        stored = json.loads(files[EXAMPLES])
        expected = np.array(stored["scores"], np.float64)
        scores = _scores(ranker, stored)
        np.broadcast_shapes(scores.shape, expected.shape)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        raise RegistryError(message("senseless_examples", version=what)) from None
    scale = float(np.max(np.abs(expected), initial=1.0))
    off = np.abs(scores - expected) > (0.0 if exact else _TOLERANCE * scale)
    if off.any():
        raise RegistryError(
            message(
                "examples_score_otherwise",
                version=what,
                count=int(off.sum()),
                total=len(off),
                worst=float(np.max(np.abs(scores - expected))),
            )
        )


def _checked(data: bytes, digest: str, what: str, name: str) -> bytes:
    if digest_of(data) != digest:
        raise RegistryError(message("version_file_changed", version=what, name=name))
    return data


def _examples(model: bytes, examples: pd.DataFrame | None) -> bytes:
    """Examples and the scores they have now, through the same text as when they are read back."""
    ranker = ranker_of(model, message("model_to_publish"))
    if ranker.feature_map is None:
        items = ranker.scores["item"].iloc[:MOST_EXAMPLES]
        stored: dict[str, Any] = {"items": [_plain(item) for item in items]}
    elif examples is None:
        raise RegistryError(message("no_examples"))
    else:
        table = feature_table(examples.iloc[:MOST_EXAMPLES])
        rows = [[None if math.isnan(x) else x for x in row] for row in table.values.tolist()]
        stored = {
            "items": [_plain(item) for item in table.items],
            "columns": list(table.columns),
            "values": rows,
        }
    stored = json.loads(json.dumps(stored))
    stored["scores"] = _scores(ranker, stored).tolist()
    return json.dumps(stored, ensure_ascii=False).encode()


def _scores(ranker: Ranker, stored: dict[str, Any]) -> Floats:
    """Scores of examples, with one thread: several may add in another order."""
    from threadpoolctl import threadpool_limits

    items = pd.Index(stored["items"], dtype=object)
    if ranker.feature_map is None:
        place = positions(pd.Index(ranker.scores["item"]), items)
        return np.asarray(ranker.scores["score"].to_numpy(np.float64)[place], np.float64)
    frame = pd.DataFrame(
        np.array(stored["values"], np.float64), columns=stored["columns"], index=items
    )
    try:
        with threadpool_limits(1):
            return np.asarray(ranker.score(frame).to_numpy(), np.float64)
    except UrlrError as error:
        failure = RegistryError(error.sentence.at(message("examples_not_scored")))
    raise failure


def _plain(item: Any) -> str | int:
    return item if isinstance(item, str) else int(item)


def _described(model: bytes) -> bytes:
    """The file MLmodel; JSON is YAML. MLflow's own writer takes a second and notes local paths."""
    served = {
        "artifacts": {"model": {"path": "model.npz", "uri": "model.npz"}},
        "code": None,
        "env": {"virtualenv": "python_env.yaml"},
        "loader_module": "mlflow.pyfunc.loaders.code_model",
        "model_code_path": _PROGRAM,
        "python_version": platform.python_version(),
        "streamable": False,
    }
    plain = {
        "flavors": {"python_function": served},
        "mlflow_version": _mlflow_version(),
        "model_uuid": uuid.UUID(digest_of(model)[:32]).hex,
    }
    return json.dumps(plain, indent=1).encode()


@cache
def _mlflow_version() -> str:
    return version("mlflow")


@cache
def _requirements() -> list[str]:
    """Given, not inferred: inferring would load the model in yet another process."""
    found = []
    for name in ("urlr", "mlflow", "numpy", "pandas"):
        try:
            found.append(f"{name}=={version(name)}")
        except PackageNotFoundError:  # a checkout that was not installed
            found.append(name)
    return found
