"""MLflow as the registry uses it: the only module that imports mlflow.

It is imported when first used, without its telemetry and its talk, and with a deadline on every
call. What it raises comes out as a RegistryError of one line, without credentials.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from tasks.messages import message
from tasks.objects import FULL, no_room_apart, redacted
from urlr.errors import UrlrError
from urlr.sentence import Sentence

_DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""What the environment gets unless it says otherwise. MLflow's own 120 seconds and 7 retries keep a
call waiting for up to 20 minutes; with these one to a server that is away ends after 14 seconds."""
_TALKATIVE = ("mlflow.store.db.utils", "alembic")
"""Loggers that tell of the making of the schema line by line, and of what is raised in many."""
_SQLITE = b"SQLite format 3\0"
_PAGE = 500
_BATCH = 100
"""Parameters that MLflow takes at a time."""
_ATTEMPTS = 3
_COLLISION = re.compile(r"IntegrityError|UniqueViolation")
_CAUSE = re.compile(
    r"Connection refused|[Tt]imed out|Name or service not known|name resolution|error code 5\d\d|"
    r"database is locked"
)
_FULL = re.compile(r"database or disk is full|No space left on device|Disk quota exceeded")
_AWAY = re.compile(r"failed with exception|Max retries exceeded")
_DENIED = re.compile(r"error code 40[13]\b")


class RegistryError(UrlrError):
    """The registry cannot do what was asked; the text says where, why, and what to do."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(redacted(sentence))


class NotRegistered(RegistryError):  # noqa: N818 - says what was found, as do the next two
    """The registry holds nothing of that name."""


class AlreadyThere(RegistryError):  # noqa: N818
    """The registry holds something of that name already."""


class RegistryUnreachable(RegistryError):  # noqa: N818
    """The registry gave no answer, or none in time; a later call may succeed."""


@dataclass(frozen=True, slots=True)
class Started:
    """A run of MLflow that holds the figures and files of a version."""

    run_id: str
    files: str
    """Address of its files."""


@dataclass(frozen=True, slots=True)
class Mlflow:
    """The calls the registry makes; nothing is opened before the first."""

    uri: str

    def prepare(self, experiment: str, artifacts: str | None) -> str:
        """Make the database, its tables and the experiment if missing; where its files go."""
        _make_place(self.uri)
        found = self._experiment(experiment)
        if found is None:
            try:
                with asking(self.uri) as client:
                    client.create_experiment(experiment, artifact_location=artifacts)
            except AlreadyThere:  # somebody was faster
                pass
            found = self._experiment(experiment)
        if found is None or found.lifecycle_stage != "active":
            raise RegistryError(message("experiment_deleted", experiment=experiment, uri=self.uri))
        return str(found.artifact_location)

    def start(self, experiment: str, name: str, tags: Mapping[str, str]) -> Started:
        """Start a run; one that is never ended is of a process that died."""
        place = (os.getpid(), self.uri, experiment)
        if place not in _EXPERIMENTS:
            found = self._experiment(experiment)
            if found is None:
                raise RegistryError(message("registry_not_prepared", uri=self.uri))
            _EXPERIMENTS[place] = str(found.experiment_id)
        with asking(self.uri) as client:
            run = client.create_run(_EXPERIMENTS[place], tags=dict(tags), run_name=name)
        return _started(run)

    def log(self, run_id: str, metrics: Mapping[str, float], params: Mapping[str, str]) -> None:
        """Write figures and parameters of a run, many at a time."""
        with asking(self.uri) as client:
            from mlflow.entities import Metric, Param

            moment = int(datetime.now().timestamp() * 1000)
            figures = [Metric(name, value, moment, 0) for name, value in metrics.items()]
            rest = iter(params.items())
            while True:
                batch = [Param(name, value) for name, value in islice(rest, _BATCH)]
                if figures or batch:
                    client.log_batch(run_id, metrics=figures[:_BATCH], params=batch)
                figures = figures[_BATCH:]
                if not figures and len(batch) < _BATCH:
                    return

    def end(self, run_id: str, *, killed: bool = False) -> None:
        """End a run; of a killed one nothing is shown any more."""
        with asking(self.uri) as client:
            client.set_terminated(run_id, "KILLED" if killed else "FINISHED")
            if killed:
                client.delete_run(run_id)

    def unended(
        self, experiment: str, before: datetime, *, tag: str = "", dead: Collection[str] = ()
    ) -> list[Started]:
        """Runs that never ended: started before a moment, or with one of the dead in their tag."""
        found = self._experiment(experiment)
        if found is None:
            return []
        with asking(self.uri) as client:
            runs = client.search_runs(
                [found.experiment_id], "attributes.status = 'RUNNING'", max_results=_PAGE
            )
        late = int(before.timestamp() * 1000)
        return [
            _started(run)
            for run in runs
            if run.info.start_time < late or run.data.tags.get(tag) in dead
        ]

    def create_model(self, name: str, tags: Mapping[str, str], description: str) -> None:
        """Make a registered model; AlreadyThere if there is one."""
        with asking(self.uri) as client:
            client.create_registered_model(name, tags=dict(tags), description=description)

    def model(self, name: str) -> Any | None:
        """A registered model, None if there is none."""
        try:
            with asking(self.uri) as client:
                return client.get_registered_model(name)
        except NotRegistered:
            return None

    def models(self) -> Iterator[Any]:
        """All registered models."""
        token = None
        while True:
            with asking(self.uri) as client:
                page = client.search_registered_models(max_results=_PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def create_version(
        self, name: str, source: str, run_id: str, tags: Mapping[str, str], description: str
    ) -> Any:
        """Make a version of a registered model, with all its tags in one step."""
        with asking(self.uri) as client:
            return client.create_model_version(
                name,
                source,
                run_id,
                tags=dict(tags),
                description=description,
                await_creation_for=0,
            )

    def version(self, name: str, number: int) -> Any | None:
        """A version of a registered model, None if there is none."""
        try:
            with asking(self.uri) as client:
                return client.get_model_version(name, str(number))
        except NotRegistered:
            return None

    def versions(self, wanted: str) -> Iterator[Any]:
        """All versions that MLflow's filter finds."""
        token = None
        while True:
            with asking(self.uri) as client:
                page = client.search_model_versions(wanted, max_results=_PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def tag_model(self, name: str, tag: tuple[str, str]) -> None:
        """Write one tag of a registered model."""
        self._write(lambda models: models.set_registered_model_tag(name, *tag))

    def tag_version(self, name: str, number: int, tag: tuple[str, str]) -> None:
        """Write one tag of a version."""
        self._write(lambda models: models.set_model_version_tag(name, str(number), *tag))

    def set_alias(self, name: str, alias: str, number: int) -> None:
        """Let an alias stand at a version; one step, whole or not at all."""
        self._write(lambda models: models.set_registered_model_alias(name, alias, str(number)))

    def delete_alias(self, name: str, alias: str) -> None:
        """Let an alias stand nowhere."""
        with asking(self.uri) as client:
            client.delete_registered_model_alias(name, alias)

    def _write(self, write: Callable[[Any], None]) -> None:
        """Write what may be there already: of two who are the first at once, MLflow refuses one.

        MLflow's client would first read the model with all its versions, each time, to see that it
        is no prompt; the models written to here were read before. Its part for models does not.
        """
        for _ in range(_ATTEMPTS):
            try:
                with asking(self.uri):
                    from mlflow.tracking._model_registry.client import ModelRegistryClient

                    models: Any = ModelRegistryClient
                    return write(models(self.uri, self.uri))
            except AlreadyThere as error:
                failure = error
        raise failure

    def _experiment(self, name: str) -> Any | None:
        with asking(self.uri) as client:
            return client.get_experiment_by_name(name)


@contextmanager
def asking_for_files(uri: str, root: str) -> Iterator[Any]:
    """MLflow's own way to files below an address; what goes wrong is a RegistryError."""
    with asking(uri):
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        yield get_artifact_repository(root, tracking_uri=uri, registry_uri=uri)


@contextmanager
def asking(uri: str) -> Iterator[Any]:
    """MLflow's client for an address; what goes wrong in the block is a RegistryError."""
    path = _sqlite_path(uri)
    if path is not None:
        _refuse_no_database(path)
    _set_defaults()
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield _client(uri)
        return
    except MlflowException as error:
        failure = _failure(uri, str(error.error_code), str(error.message))
    except SQLAlchemyError as error:
        failure = _failure(uri, "", str(error))
    except OSError as error:
        failure = _failure(uri, "", str(error))
        if error.errno in FULL:  # files on their way to a server and back lie there meanwhile
            failure = RegistryError(no_room_apart(error))
    raise failure from None


def _make_place(uri: str) -> None:
    """Make the file of a database, in which the first client makes the tables; a server has one."""
    path = _sqlite_path(uri)
    if path is None or path.exists():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        failure = RegistryError(message("registry_not_made", path=path, why=error.strerror))
    else:
        return
    raise failure


def _sqlite_path(uri: str) -> Path | None:
    """The file of a database, None for a server."""
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


def _refuse_no_database(path: Path) -> None:
    """MLflow would wait 100 seconds for a file that is none, and make one that is not there."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
    except FileNotFoundError:
        failure = RegistryError(message("no_registry", path=path))
    except OSError as error:
        failure = RegistryError(message("registry_not_readable", path=path, why=error.strerror))
    else:
        if start in (b"", _SQLITE):
            return
        failure = RegistryError(message("not_an_mlflow_database", path=path))
    raise failure


def _set_defaults() -> None:
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def load() -> None:
    """Import MLflow now, in a process that will need it: seconds that others can wait less."""
    _set_defaults()
    import mlflow  # noqa: F401


_CLIENTS: dict[tuple[int, str], Any] = {}
"""By process and address: opening one costs a second, and none may be shared with a fork."""
_EXPERIMENTS: dict[tuple[int, str, str], str] = {}
"""Ids by process, address and name: an id is given once and stays."""


def _client(uri: str) -> Any:
    place = (os.getpid(), uri)
    if place not in _CLIENTS:
        from mlflow import MlflowClient

        _CLIENTS[place] = MlflowClient(tracking_uri=uri, registry_uri=uri)
    return _CLIENTS[place]


def _failure(uri: str, code: str, said: str) -> RegistryError:
    why = redacted(said.splitlines()[0] if said else code)
    if code == "RESOURCE_DOES_NOT_EXIST":
        return NotRegistered(message("not_in_registry", uri=uri, why=why))
    if code == "RESOURCE_ALREADY_EXISTS" or _COLLISION.search(said):
        return AlreadyThere(message("already_in_registry", uri=uri, why=why))
    if code in ("PERMISSION_DENIED", "UNAUTHENTICATED") or _DENIED.search(said):
        return RegistryError(message("registry_denied", uri=uri))
    if full := _FULL.search(said):
        return RegistryError(message("registry_full", uri=uri, why=full[0]))
    cause = _CAUSE.search(said)
    if cause is not None or _AWAY.search(said) or code == "TEMPORARILY_UNAVAILABLE":
        found = "no connection" if cause is None else cause[0].lower()
        return RegistryUnreachable(message("registry_silent", uri=uri, why=found))
    return RegistryError(message("registry_refused", uri=uri, why=why))


def _started(run: Any) -> Started:
    return Started(run.info.run_id, str(run.info.artifact_uri).rstrip("/"))
