"""The model on disk: one npz file holding arrays and a JSON manifest, read without executing.

The only module of this package that opens a file. The manifest names format and schema version,
lists every array with its digest, and carries a digest of itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from urlr.errors import ArgumentError, ModelFileError, UrlrError
from urlr.messages import message
from urlr.model.resampling import ranks_of
from urlr.people.prediction import Voters
from urlr.ranker import Facts, Ranker
from urlr.settings import FitSettings
from urlr.space.maps import FeatureMap

FORMAT = "urlr-model"
FEATURES_FORMAT = "urlr-features"
SCHEMA = 4
_OLDEST = 3
"""The oldest version that is still read: without what is known of people."""
_MANIFEST = "manifest.json"
_DTYPES = ("float64", "int64", "int32", "int8", "bool")
_PLAIN = re.compile(r"\w+(?:[./]\w+)*", re.ASCII)
_COUNTS = ("n_votes", "wins", "losses", "ties", "pruned")
_RANKS = ("rank_low", "rank_high")
_NUMBERS = ("score", "low", "high", "effect")
_OF_VOTERS = (
    "place", "covariance", "trust", "counted", "taste", "n_votes",
    "coefficients", "effects", "items", "variance",
)  # fmt: skip
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed time: the same model is the same bytes

_UNREADABLE = (
    zipfile.BadZipFile,
    EOFError,
    NotImplementedError,  # another version of the format
    RuntimeError,  # an encrypted member
    OSError,  # a place before the beginning
    ValueError,  # a name in no alphabet
    struct.error,
)
"""All that zipfile says of damaged archives."""

_SENSELESS = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
"""What comes of a manifest whose digest is right and which makes no sense."""

Array = np.ndarray[Any, Any]


def write_model(ranker: Ranker, path: str | os.PathLike[str]) -> None:
    """Write a ranker to one file, whole or not at all."""
    target = Path(path)
    if target.is_dir():
        raise ModelFileError(message("model_path_is_directory", path=str(target)))
    data = model_bytes(ranker)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Ranker:
    """Read a ranker that `Ranker.save` wrote.

    Raises
    ------
    ModelFileError
        The file is truncated, foreign, tampered with, or from a future version.
    """
    source = Path(path)
    if not source.is_file():
        raise ModelFileError(message("no_model_file", path=str(source)))
    return model_from_bytes(source.read_bytes(), name=source.name)


def model_bytes(ranker: Ranker) -> bytes:
    """Serialise a ranker; the same model gives the same bytes."""
    arrays: dict[str, Array] = {
        "coefficients": ranker.coefficients,
        "outlier_coefficients": ranker.outlier_coefficients,
    }
    for name in _NUMBERS:
        arrays[name] = ranker.scores[name].to_numpy(np.float64)
    for name in (*_COUNTS, *_RANKS):  # a missing rank is written as 0
        arrays[name] = ranker.scores[name].fillna(0).to_numpy(np.int64)
    if "part" in ranker.scores:
        arrays["part"] = ranker.scores["part"].to_numpy(np.int64)
    maps: dict[str, Any] = {}
    for name in ("feature_map", "outlier_map"):
        feature_map: FeatureMap | None = getattr(ranker, name)
        if feature_map is None:
            maps[name] = None
            continue
        maps[name], parts = feature_map.to_state()
        arrays |= {f"{name}/{part}": array for part, array in parts.items()}
    voters = ranker.voters
    if voters is not None:
        for name in _OF_VOTERS:
            arrays[f"voters/{name}"] = getattr(voters, name)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "schema": SCHEMA,
        "settings": asdict(ranker.settings),
        "facts": asdict(ranker.facts),
        "items": _plain_ids(ranker.scores["item"]),
        "voters": None
        if voters is None
        else {"names": _plain_ids(voters.names), "trusted": voters.trusted},
        **maps,
    }
    return _archive(manifest, arrays)


def _plain_ids(ids: Iterable[Any]) -> list[str | int]:
    return [one if isinstance(one, str) else int(one) for one in ids]


def feature_map_bytes(feature_map: FeatureMap) -> bytes:
    """Serialise a feature map of its own, as a model is; the same map gives the same bytes."""
    described, arrays = feature_map.to_state()
    return _archive({"format": FEATURES_FORMAT, "schema": SCHEMA, "feature_map": described}, arrays)


def feature_map_from_bytes(data: bytes, *, name: str = "the transform") -> FeatureMap:
    """Rebuild a feature map that `feature_map_bytes` gave, checked as a model is; see `load`."""
    manifest, arrays = _parts(data, name, FEATURES_FORMAT)
    try:
        return FeatureMap.from_state(manifest["feature_map"], arrays)
    except _SENSELESS as error:
        raise ModelFileError(message("damaged_model", name=name, why=_why(error))) from error


def _archive(manifest: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    blobs = {name: _npy(array) for name, array in arrays.items()}
    manifest = manifest | {"arrays": {name: _digest(blob) for name, blob in blobs.items()}}
    manifest["digest"] = _manifest_digest(manifest)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_MANIFEST, _EPOCH), _canonical(manifest))
        for name, blob in blobs.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), blob)
    return buffer.getvalue()


def model_from_bytes(data: bytes, *, name: str = "the model") -> Ranker:
    """Rebuild a ranker, checking every part before using it; see `load`."""
    manifest, arrays = _parts(data, name, FORMAT)
    try:
        return _rebuild(manifest, arrays)
    except _SENSELESS as error:
        raise ModelFileError(message("damaged_model", name=name, why=_why(error))) from error


def _why(error: Exception) -> str:
    return error.sentence if isinstance(error, UrlrError) else str(error)


def _parts(data: bytes, name: str, form: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Manifest and arrays of an archive of the given format, digests checked."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _UNREADABLE:
        raise ModelFileError(
            message("truncated_model", name=name, size=len(data))
            if data[:2] == b"PK"
            else message("not_a_model_file", name=name, size=len(data))
        ) from None
    with archive:
        if sum(info.file_size for info in archive.infolist()) > len(data):
            raise ModelFileError(message("model_claims_too_much", name=name, size=len(data)))
        manifest = _read_manifest(archive, name, form)
        return manifest, _read_arrays(archive, manifest, name)


def _rebuild(manifest: dict[str, Any], arrays: dict[str, Array]) -> Ranker:
    maps: dict[str, FeatureMap | None] = {}
    for name in ("feature_map", "outlier_map"):
        parts = {
            key.removeprefix(f"{name}/"): array
            for key, array in arrays.items()
            if key.startswith(f"{name}/")
        }
        described = manifest[name]
        maps[name] = None if described is None else FeatureMap.from_state(described, parts)
    items = manifest["items"]
    index = _index_of(items)
    part = arrays.get("part")
    for name in (*_NUMBERS, *_COUNTS, *_RANKS, *(() if part is None else ("part",))):
        if arrays[name].shape != (len(items),):
            shape = arrays[name].shape
            raise ArgumentError(
                message("scores_of_other_shape", name=name, shape=shape, n_items=len(items))
            )
    mapped = maps["feature_map"]
    width = len(items) if mapped is None else mapped.n_out
    if arrays["coefficients"].shape != (width,):
        count = arrays["coefficients"].size
        raise ArgumentError(message("coefficients_do_not_fit", count=count, n_dimensions=width))
    if np.isfinite(arrays["low"]).all() != np.isfinite(arrays["high"]).all():
        raise ArgumentError(message("intervals_do_not_fit"))
    for name in ("coefficients", "outlier_coefficients", "score", "effect"):
        if arrays[name].dtype != np.float64 or not np.isfinite(arrays[name]).all():
            raise ArgumentError(message("scores_not_finite", name=name))
    older = manifest["schema"] < SCHEMA
    facts = dict(_only(manifest["facts"], Facts, older=older))
    of_several = ("warnings", "notes", "tau_unseen", "tau_people", "first_rests_on", "ten_rest_on")
    for name in of_several:
        if facts.get(name) is not None:
            facts[name] = tuple(facts[name])
    settings = FitSettings(**_only(manifest["settings"], FitSettings, older=older))
    settings.check()
    columns: dict[str, Any] = {"item": index}
    for name in ("score", "low", "high", "rank", *_RANKS, *_COUNTS, "effect"):
        if name == "rank":
            columns[name] = ranks_of(arrays["score"], part)
        elif name in _RANKS:
            columns[name] = pd.arrays.IntegerArray(arrays[name], arrays[name] == 0)
        else:
            columns[name] = arrays[name]
    if part is not None:
        columns["part"] = part
    table = pd.DataFrame(columns)
    return Ranker(
        settings=settings,
        feature_map=mapped,
        outlier_map=maps["outlier_map"],
        coefficients=arrays["coefficients"],
        outlier_coefficients=arrays["outlier_coefficients"],
        scores=table,
        facts=Facts(**facts),
        evidence=None,
        voters=None if older else _voters(manifest["voters"], arrays, len(items), width),
    )


def _index_of(ids: Any) -> pd.Index[Any]:
    """Whole numbers, text, or both."""
    if not all(isinstance(one, str) or type(one) is int for one in ids):
        raise ArgumentError(message("unusable_id_in_model"))
    if ids and all(isinstance(one, str) for one in ids):
        index: pd.Index[Any] = pd.Index(ids, dtype="str")
    elif any(isinstance(one, str) for one in ids):
        index = pd.Index(ids, dtype=object)
    else:
        index = pd.Index(ids)
    return index


def _voters(described: Any, arrays: dict[str, Array], n_items: int, width: int) -> Voters | None:
    """What predictions need of the people, its shapes checked."""
    if described is None:
        return None
    names = _index_of(described["names"])
    parts = {name: arrays[f"voters/{name}"] for name in _OF_VOTERS}
    n, k = len(names), parts["place"].shape[-1]
    n_features = parts["coefficients"].shape[0]
    shapes = {
        "place": (n, k), "covariance": (n, k, k), "trust": (n,), "counted": (n,), "taste": (n,),
        "n_votes": (n,),
        "coefficients": (n_features, k), "effects": (n_items, k), "items": (n_items, k),
        "variance": (n_items,),
    }  # fmt: skip
    for name, shape in shapes.items():
        if parts[name].shape != shape or not np.isfinite(parts[name]).all():
            raise ArgumentError(message("voters_do_not_fit", name=name))
    if n_features not in (0, width):
        raise ArgumentError(message("voters_do_not_fit", name="coefficients"))
    return Voters(names=names, trusted=float(described["trusted"]), **parts)


def _read_manifest(archive: zipfile.ZipFile, name: str, form: str) -> dict[str, Any]:
    try:
        manifest = json.loads(_member(archive, _MANIFEST, name))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ModelFileError(message("unreadable_manifest", name=name)) from None
    if not isinstance(manifest, dict) or manifest.get("format") != form:
        raise ModelFileError(
            message("foreign_model", name=name)
            if form == FORMAT
            else message("foreign_transform", name=name)
        )
    schema = manifest.get("schema")
    if type(schema) is not int or schema < 1:
        raise ModelFileError(message("no_schema", name=name))
    if schema < _OLDEST:
        raise ModelFileError(message("older_schema", name=name, schema=schema, known=SCHEMA))
    if schema > SCHEMA:
        raise ModelFileError(message("newer_schema", name=name, schema=schema, known=SCHEMA))
    if manifest.get("digest") != _manifest_digest(manifest):
        raise ModelFileError(message("changed_manifest", name=name))
    return manifest


def _read_arrays(archive: zipfile.ZipFile, manifest: dict[str, Any], name: str) -> dict[str, Array]:
    listed = manifest.get("arrays")
    if not isinstance(listed, dict):
        raise ModelFileError(message("no_arrays", name=name))
    strange = set(archive.namelist()) - {_MANIFEST, *(f"{key}.npy" for key in listed)}
    strange |= {key for key in listed if _PLAIN.fullmatch(key) is None}
    if strange:
        raise ModelFileError(message("strange_member", name=name, member=min(strange)))
    arrays: dict[str, Array] = {}
    for key, digest in listed.items():
        blob = _member(archive, f"{key}.npy", name)
        if _digest(blob) != digest:
            raise ModelFileError(message("changed_array", name=name, key=key))
        try:
            array = _array(blob)
        except (ValueError, EOFError, OverflowError, SyntaxError) as error:
            raise ModelFileError(
                message("unreadable_array", name=name, key=key, why=_why(error))
            ) from None
        if array.dtype.name not in _DTYPES:
            raise ModelFileError(
                message("array_of_no_numbers", name=name, key=key, dtype=array.dtype.name)
            )
        arrays[key] = array
    return arrays


def _array(blob: bytes) -> Array:
    """The array of a blob; numpy would make room for whatever shape it claims to have."""
    head = io.BytesIO(blob)
    if np.lib.format.read_magic(head) != (1, 0):
        raise ArgumentError(message("strange_array_version"))
    shape, _, dtype = np.lib.format.read_array_header_1_0(head)
    if dtype.hasobject:
        raise ArgumentError(message("array_of_objects"))
    if math.prod(shape) * dtype.itemsize != len(blob) - head.tell():
        raise ArgumentError(message("array_claims_too_much", shape=shape))
    return np.lib.format.read_array(io.BytesIO(blob), allow_pickle=False)


def _member(archive: zipfile.ZipFile, member: str, name: str) -> bytes:
    try:
        info = archive.getinfo(member)
    except KeyError:
        raise ModelFileError(
            message("foreign_model", name=name)
            if member == _MANIFEST
            else message("lacking_member", name=name, member=member)
        ) from None
    if info.compress_type != zipfile.ZIP_STORED:
        raise ModelFileError(message("packed_member", name=name, member=member))
    try:
        return archive.read(info)
    except _UNREADABLE:
        raise ModelFileError(message("damaged_member", name=name, member=member)) from None


def _only(described: dict[str, Any], record: type, *, older: bool = False) -> dict[str, Any]:
    """The fields of a record, all of them; older files may lack those that came later."""
    known = {one.name for one in fields(record)}
    lacking = known - set(described) if older else set()
    if set(described) != known - lacking:
        off = sorted(set(described) ^ known)
        raise ArgumentError(message("other_fields", record=record.__name__, names=off))
    return described


def _manifest_digest(manifest: dict[str, Any]) -> str:
    return _digest(_canonical({key: manifest[key] for key in manifest if key != "digest"}))


def _canonical(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()
