"""A place where nights are run under faults: votes in a store, the command, and what it knows."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

import pandas as pd
from commands import Done, Fault, Urlr, command_in
from nights_apart import Forked, Here
from pipeline import PrefectApi
from predicting import predicted
from storage import S3Server

from tasks.names import encoded
from tasks.registry import Registry
from tasks.results import RESULT, Night
from tasks.runs import names_of, read_night
from tasks.store import Store, StoreError

INPUTS = ("votes", "features", "truth")
SECRETS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "MLFLOW_TRACKING_PASSWORD",
    "MLFLOW_TRACKING_TOKEN",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_API_KEY",
)
"""Variables whose values nobody may ever see; each has one, whether it is asked for or not."""
OF_THE_RUN = {"seconds": 0.0, "memory": 0, "key": "", "dumps": {}, "features": {}}
"""In the record of a result: what it cost, and the ETags of inputs, which a disk gives anew."""
_RUN = re.compile(rb"\d{8}T\d{6}Z-[0-9a-f]{6}")


@dataclass
class Site:
    """A store with votes and the command that works on it."""

    command: Urlr | Here | Forked
    """May be replaced by another one at the same place, for nights that are run otherwise."""
    store: Store
    """Looked at past any proxy."""
    prefect: PrefectApi | None
    """None: no night here is run by Prefect."""
    secrets: tuple[str, ...] = ()
    """What must not be seen anywhere."""
    given: dict[str, str] = field(default_factory=dict)
    """Digests of all inputs, as they were put."""
    started: list[str] = field(default_factory=list)
    """Runs there were before the last night."""
    served: dict[str, int] = field(default_factory=dict)
    """The version of each attribute that was live when it was last looked at."""
    elsewhere: tuple[Path | Store, ...] = ()
    """Where else something of a night is written: what an MLflow server keeps, a bucket."""

    def put(self, key: str, data: bytes, server: S3Server | None = None) -> None:
        """Deliver an object; with a server past our own store, which refuses some keys."""
        if server is None:
            self.store.replace(key, data)
        else:
            bucket, _, prefix = self.store.url.removeprefix("s3://").partition("/")
            client = server.client()
            client.put_object(Bucket=bucket, Key=f"{prefix}/{key}", Body=data)
            client.close()
        self.given[key] = _digest(data)

    def forget(self, key: str) -> None:
        """Take an object that was delivered away again."""
        self.store.remove(key)
        del self.given[key]

    def night(self, *options: str, faults: tuple[Fault, ...] = (), **environment: str) -> Done:
        """Run `urlr nightly` to its end."""
        self.started = names_of(self.store)
        done = self.command(
            "nightly", "--store", self.store.url, *options, faults=faults, **environment
        )
        known = () if self.record is None else self.record.entries.values()
        self.served |= {one.attribute: one.live for one in known if one.live is not None}
        return done

    @property
    def record(self) -> Night | None:
        """What the last night wrote down; None if it did not."""
        new = [run for run in names_of(self.store) if run not in self.started]
        return read_night(self.store, new[0]) if new else None

    @property
    def registry(self) -> Registry:
        """Where the command has it: a server, or by default a directory."""
        return Registry.at(self._server or self.command.work / "urlr-registry")

    @property
    def has_registry(self) -> bool:
        """Whether any night has come so far as to open it."""
        return bool(self._server) or (self.command.work / "urlr-registry").exists()

    @property
    def _server(self) -> str:
        return self.command.environment.get("MLFLOW_TRACKING_URI", "")

    @property
    def by_prefect(self) -> bool:
        """Whether nights are run by Prefect, by the command as it is now."""
        return isinstance(self.command, Urlr)

    def flow_runs(self) -> list[dict[str, Any]]:
        """Nights on the store that have begun, as Prefect shows them, in order."""
        assert self.prefect is not None
        runs = self.prefect.flow_runs(self.store)
        return [run for run in runs if run["state_name"] != "Late"]

    def inputs(self) -> dict[str, str]:
        """Digests of what lies where votes, features and truth are delivered."""
        found = {}
        for prefix in INPUTS:
            for one in self.store.list(prefix):
                try:
                    found[one.key] = _digest(self.store.read(one.key))
                except StoreError:  # a key that no part of urlr can read or write
                    found[one.key] = self.given[one.key]
        return found

    def files(self, night: Night, attribute: str) -> dict[str, str]:
        """Digests of the results of an attribute, but for what differs from run to run."""
        place = night.entries[attribute].place
        assert place is not None, night.entries[attribute]
        return result_digests(self.store, place)

    def results(self) -> dict[str, dict[str, str]]:
        """The same of all attributes, after the last night."""
        night = self.record
        assert night is not None
        return {name: self.files(night, name) for name in night.entries}

    def predicted(self) -> dict[str, int]:
        """How many items each champion scores for somebody who only has mlflow and urlr."""
        champions = sorted(self.registry.champions())
        if not champions:
            return {}
        table = self.command.place / "to-score.json"
        some = {"item": [f"item-{k:03d}" for k in range(3)]}
        features = [one.key for one in self.store.list("features")]
        if features:
            read = pd.read_csv(io.BytesIO(self.store.read(features[0])), dtype={"item": str})
            read.to_json(table, orient="records")
        else:
            pd.DataFrame(some).to_json(table, orient="records")
        return predicted(self.registry.uri, table, [encoded(name) for name in champions])

    def everything_written(self) -> Mapping[str, bytes]:
        """All that a night leaves anywhere: objects, registry, Prefect's server, its own home."""
        found = {
            one.key: self.store.read(one.key)
            for one in self.store.list()
            if not one.key.startswith(INPUTS)
        }
        folders = [self.command.work, self.command.place / "home"]
        folders += [place for place in self.elsewhere if isinstance(place, Path)]
        for path in (path for folder in folders for path in (folder, *folder.rglob("*"))):
            if path.is_file() and Path(self.store.url) not in path.parents:
                found[str(path)] = path.read_bytes()
        for store in (place for place in self.elsewhere if isinstance(place, Store)):
            found |= {store.address(one.key): store.read(one.key) for one in store.list()}
        if self.prefect is not None:
            found["Prefect's server"] = self.prefect.written()
        return found


def site_at(
    place: Path,
    store: Store,
    prefect: PrefectApi | None,
    *,
    server: S3Server | None = None,
    **environment: str,
) -> Site:
    """A site with an empty home; `server` is the S3 server that the command is to use."""
    (place / "tmp").mkdir(parents=True)
    secrets = {name: f"secret-{token_hex(8)}" for name in SECRETS}
    given = secrets | ({} if server is None else server.environment)
    given |= {"TMPDIR": str(place / "tmp"), "MLFLOW_TRACKING_USERNAME": "urlr"}
    api = "" if prefect is None else prefect.address
    command = command_in(place / "urlr", api, **given, **environment)
    return Site(command, store, prefect, tuple(given[name] for name in SECRETS))


def result_digests(store: Store, place: str) -> dict[str, str]:
    """Digests of the results at a place, but for what differs from run to run."""
    found = {}
    for one in store.list(place):
        name, data = one.key.removeprefix(f"{place}/"), store.read(one.key)
        if name == RESULT:
            data = json.dumps(json.loads(data) | OF_THE_RUN, sort_keys=True).encode()
        found[name] = _digest(_RUN.sub(b"run", data))
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
