"""The registry: a registered model per attribute, a version per publication, and who is champion.

A version is registered last of all, when its files lie where they belong, and with all its tags in
one step: what a dead run leaves behind is a run of MLflow without a version, and nobody looks at
those. The champion alias moves after a record of the move was written (see `alias_moves.py`), so
that the next run can finish what a dead one began.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

from tasks.messages import message
from tasks.names import AttributeNameError, decoded, encoded
from tasks.registry import alias_history, alias_moves
from tasks.registry.address import addresses
from tasks.registry.alias_history import Move, last_done
from tasks.registry.alias_moves import CHALLENGER, Model, make_champion, nothing
from tasks.registry.files import Files
from tasks.registry.mlflow_client import (
    AlreadyThere,
    Mlflow,
    NotRegistered,
    RegistryError,
)
from tasks.registry.ownership import OWNER, Owner, check_owner
from tasks.registry.publication import RUN, Publication, Version, version_of
from tasks.registry.served_model import (
    FURTHER,
    MANIFEST,
    MODEL,
    digest_of,
    prove,
    ranker_of,
    read_file,
    read_manifest,
    version_files,
)
from tasks.registry.verifying import DEADLINE, Verifier
from urlr.errors import ArgumentError
from urlr.ids import shown
from urlr.ranker import Ranker
from urlr.sentence import Sentence

EXPERIMENT = "urlr"
FOLDERS = (MODEL.partition("/")[0], FURTHER.rstrip("/"))
"""Where files of a version lie."""
LEFT_BEHIND = timedelta(hours=1)
"""A run of MLflow that has not ended by then is of a process that died; it ends within a second."""

_OURS = "urlr.attribute"


@dataclass(frozen=True, slots=True)
class Standing:
    """Which version is champion."""

    number: int
    since: datetime | None
    """None where somebody moved the alias by hand and no run has noted it yet."""
    night: date | None = None
    """The night it was made in; None where no move by a night tells."""
    owner: Owner | None = None
    """The store that its model belongs to; None: to nobody."""


@dataclass(frozen=True, slots=True)
class Registry:
    """MLflow's registry at an address. It holds no connection and can be sent elsewhere."""

    uri: str
    """Address of MLflow: a database in a file, or a server."""
    artifacts: str | None = None
    """Where files of versions go: a path or `s3://bucket/prefix`; None: where the server says."""

    @classmethod
    def at(cls, place: str | os.PathLike[str], *, artifacts: str | None = None) -> Registry:
        """The registry in a directory, in `sqlite:///file`, or of a server at `http(s)://...`.

        Raises
        ------
        RegistryError
            The address holds a user or a password, or is of a kind unknown here.
        """
        return cls(*addresses(os.fspath(place), artifacts))

    def prepare(self) -> None:
        """Make what is missing: the database, its tables, the experiment; again is no harm."""
        kept = self._mlflow.prepare(EXPERIMENT, self.artifacts)
        if kept.startswith("file://"):
            kept = unquote(urlsplit(kept).path)
        if self.artifacts is not None and kept.rstrip("/") != self.artifacts:
            raise RegistryError(
                message("files_kept_elsewhere", uri=self.uri, kept=kept, wanted=self.artifacts)
            )

    def look(self, attribute: str) -> Model | None:
        """An attribute as it stands at this moment: aliases and moves; None if it has no model."""
        return self._model(attribute)

    def champion(self, attribute: str) -> Version | None:
        """The version that is live, None if there is none."""
        return self.champion_of(self._model(attribute))

    def champion_of(self, model: Model | None) -> Version | None:
        """The version that was live when somebody looked."""
        if model is None or model.champion is None:
            return None
        return self.version(model.attribute, model.champion)

    def check_known(self, attribute: str) -> None:
        """Raise NotRegistered, with the names nearest to it, if there is no such attribute."""
        self._known(attribute)

    def champions(self) -> dict[str, Version]:
        """All versions that are live, by attribute.

        A champion that was not registered by urlr is left out; `reconcile_all` tells of it.
        """
        standing = {one.attribute: one.champion for one in self._models()}
        found = {
            attribute: self.found(attribute, number)
            for attribute, number in standing.items()
            if number is not None
        }
        return {attribute: version for attribute, version in found.items() if version is not None}

    def standing(self) -> dict[str, Standing]:
        """Where every champion alias stands and since when, in one look; versions are not read."""
        found = {}
        for one in self._models():
            if one.champion is not None:
                moves = [move for move in one.moves if move.done and move.to == one.champion]
                nights = [move.night for move in moves if not move.rollback]
                found[one.attribute] = Standing(
                    one.champion,
                    moves[-1].done if moves else None,
                    nights[0] if nights else None,
                    _owner(one),
                )
        return found

    def owners(self) -> dict[str, Owner | None]:
        """Which store every model belongs to; None: to nobody."""
        return {one.attribute: _owner(one) for one in self._models()}

    def own(self, attribute: str, owner: Owner) -> None:
        """Let a model belong to a store."""
        self._mlflow.tag_model(self._known(attribute).name, owner.tag())

    def version(self, attribute: str, number: int) -> Version:
        """A version by its number; NotRegistered if there is none that is whole."""
        version = self.found(attribute, number)
        if version is None:
            choice = self._choice(attribute)
            raise NotRegistered(
                message("no_such_version", attribute=attribute, number=number, choice=choice)
            )
        return version

    def found(self, attribute: str, number: int) -> Version | None:
        """A version by its number, None if there is none that is whole."""
        found = self._mlflow.version(encoded(attribute), number)
        return None if found is None else version_of(attribute, found)

    def versions(self, attribute: str) -> list[Version]:
        """All whole versions of an attribute, oldest first."""
        return self._found(attribute, f"name='{encoded(attribute)}'")

    def with_key(self, attribute: str, key: str) -> Version | None:
        """The first version that was made from the same votes, settings and method."""
        wanted = f"name='{encoded(attribute)}' and tags.`urlr.key` = '{key}'"
        return next(iter(self._found(attribute, wanted)), None)

    def register(
        self, publication: Publication, *, to: Model | None = None, owner: Owner | None = None
    ) -> Version:
        """Make a version, or give the one that has the same result key.

        `to` is given by whoever has just looked and found the attribute without one of that key.
        The first version of an attribute makes a model, which belongs to `owner`.

        Raises
        ------
        RegistryError
            The model cannot be read, its examples cannot be scored, or the registry fails.
        """
        attribute, name = publication.attribute, encoded(publication.attribute)
        known = self._model(attribute) if to is None else to
        made = None
        if to is None and known is not None:
            made = self.with_key(attribute, publication.key)
        if made is not None:
            return made
        files = version_files(
            publication.model, publication.examples, publication.files, publication.about()
        )
        tags = publication.tags(digest_of(files[MANIFEST]))
        if known is None:
            self._create_model(attribute, name, owner)
        mlflow = self._mlflow
        title = f"{shown(attribute, 200)} {publication.night}"
        run = mlflow.start(EXPERIMENT, title, tags)
        mlflow.log(run.run_id, publication.finite_metrics(), publication.shown_params())
        Files(self.uri, run.files).write(files)
        mlflow.end(run.run_id)
        registered = mlflow.create_version(
            name, f"{run.files}/model", run.run_id, tags, publication.shown_description()
        )
        version = version_of(attribute, registered)
        return version or self.version(attribute, int(registered.version))

    def verify(self, version: Version, *, exact: bool = True, deadline: float = DEADLINE) -> None:
        """Load a version in a fresh process and score its examples; see `Verifier.verify`.

        For many versions use `verifier`, which pays for the process once.
        """
        with self.verifier(deadline=deadline) as verifier:
            verifier.verify(version, exact=exact)

    def verifier(self, *, deadline: float = DEADLINE) -> Verifier:
        """A process that verifies versions until its block ends."""
        return Verifier(self.uri, self.artifacts, deadline=deadline)

    def prove(self, attribute: str, number: int, digest: str, *, exact: bool) -> None:
        """What a verifier does in its process: ask the registry, read back, score, compare."""
        version = self.version(attribute, number)
        if version.digest != digest:
            raise RegistryError(message("version_replaced", version=version.shown))
        files = Files(self.uri, version.files)
        prove(
            files.read,
            digest,
            version.shown,
            attribute=attribute,
            exact=exact,
            beside=files.names("model"),
        )

    def fetch(self, version: Version, *, file: str | None = None) -> Ranker:
        """The ranker of a version, or the one in a further file of it; nothing is executed."""
        return ranker_of(self.read(version, file=file), version.shown)

    def read(self, version: Version, *, file: str | None = None) -> bytes:
        """The model of a version, or a further file of it; RegistryError if it was changed."""
        read = Files(self.uri, version.files).read
        manifest = read_manifest(read, version.digest, version.shown, attribute=version.attribute)
        name = MODEL if file is None else FURTHER + file
        return read_file(read, manifest, name, version.shown)

    def move(
        self,
        attribute: str,
        version: Version,
        *,
        run: str,
        night: date,
        why: str,
        forced: bool = False,
        before: Callable[[], None] = nothing,
    ) -> Move:
        """Make a verified version champion: a record, then `before`, then the alias.

        If `before` raises, the alias stays. Where it is champion already, nothing is written.
        """
        model = self._known(attribute)
        if model.champion == version.number:
            alias_moves.reconcile(model, before)
            done = last_done(self.history(attribute))
            if done is not None:
                return done
        return make_champion(
            model,
            version.number,
            run=run,
            night=night,
            why=why,
            forced=forced,
            rollback=False,
            before=before,
        )

    def hold(self, attribute: str, version: Version, *, run: str, reason: str) -> None:
        """Make a version the challenger: what the gate held, and why."""
        model = self._known(attribute)
        if model.champion == version.number:
            raise RegistryError(message("champion_cannot_be_held", version=version.shown))
        why = message("held_by_run", reason=reason, run=run)
        alias_moves.judge(model, version.number, "held", why)
        self._mlflow.set_alias(model.name, CHALLENGER, version.number)

    def rollback(self, attribute: str, to: int | None = None, *, run: str, why: str) -> Move:
        """Make the version before the champion champion again, or the one of a number.

        Raises
        ------
        RegistryError
            There is no such attribute, version or earlier champion; it is champion already; or it
            cannot be loaded any more.
        """
        model = self._known(attribute)
        version = self.version(attribute, self._earlier(model) if to is None else to)
        if version.number == model.champion:
            raise RegistryError(message("champion_already", version=version.shown))
        self.verify(version, exact=False)
        return make_champion(
            model,
            version.number,
            run=run,
            night=None,
            why=why,
            forced=False,
            rollback=True,
            before=nothing,
        )

    def history(self, attribute: str) -> list[Move]:
        """All moves of the champion alias, in order, also those that were dropped."""
        model = self._model(attribute)
        return [] if model is None else model.moves

    def live_on(self, attribute: str, moment: datetime) -> int | None:
        """Number of the version that was champion at a moment; None if there was none."""
        if moment.tzinfo is None:
            raise ArgumentError(message("moment_without_zone"))
        return alias_history.live_on(self.history(attribute), moment)

    def withdrawn(self, attribute: str) -> frozenset[int]:
        """Numbers of versions that a rollback left and nobody put back."""
        return alias_history.withdrawn(self.history(attribute))

    def rivals(self, attribute: str, *, nights: int, today: date) -> list[tuple[Version, int]]:
        """Versions that were champion in the last nights and how many ago; the champion first."""
        model = self._model(attribute)
        return [] if model is None else self.rivals_of(model, nights=nights, today=today)

    def rivals_of(self, model: Model, *, nights: int, today: date) -> list[tuple[Version, int]]:
        """The same of an attribute that somebody has looked at."""
        reigns = alias_history.reigns(model.moves, model.champion, today)
        recent = {number: ago for number, ago in reigns.items() if ago <= nights}
        versions = {one.number: one for one in self._numbered(model, recent)}
        return [(versions[number], ago) for number, ago in recent.items() if number in versions]

    def in_reach(self, *, nights: int, today: date) -> dict[str, list[Version]]:
        """Versions, by attribute, that nights to come may hold theirs against.

        Champions of the last nights, the present ones, and those that a rollback leads to.
        """
        found = {}
        for model in self._models():
            wanted = model.in_reach(nights=nights, today=today)
            found[model.attribute] = self._numbered(model, wanted)
        return found

    def unreadable_records(self) -> dict[str, list[str]]:
        """Records of moves that were changed by hand and say nothing, by attribute."""
        found = {one.attribute: alias_history.unreadable(one.tags) for one in self._models()}
        return {attribute: records for attribute, records in found.items() if records}

    def reconcile(self, attribute: str, *, before: Callable[[], None] = nothing) -> list[Sentence]:
        """Bring alias and records of an attribute together; plain sentences say what was done."""
        model = self._model(attribute)
        return [] if model is None else alias_moves.reconcile(model, before)

    def reconcile_all(
        self,
        *,
        owner: Owner | None = None,
        before: Callable[[], None] = nothing,
        dead: Collection[str] = (),
    ) -> list[Sentence]:
        """The same for every attribute of a store or of nobody; clear what is half registered.

        By the dead, nights of which somebody knows that they are over, at once; by others, which
        may be at work on another store, when nobody can be any more.
        """
        ours = [model for model in self._models() if _owner(model) in (None, owner)]
        said = [text for model in ours for text in alias_moves.reconcile(model, before)]
        long_ago = alias_history.now() - LEFT_BEHIND
        left = self._mlflow.unended(EXPERIMENT, long_ago, tag=RUN, dead=dead)
        for one in left:
            Files(self.uri, one.files).sweep(*FOLDERS)
            self._mlflow.end(one.run_id, killed=True)
        if left:
            said.append(message("publications_cleared", count=len(left)))
        return said

    @property
    def _mlflow(self) -> Mlflow:
        return Mlflow(self.uri)

    def _earlier(self, model: Model) -> int:
        if model.earlier:
            return model.earlier[-1]
        present = message("it_has_none")
        if model.champion is not None:
            present = message("version_number", version=model.champion)
        attribute = model.attribute
        raise RegistryError(
            message(
                "no_earlier_champion",
                attribute=attribute,
                present=present,
                choice=self._choice(attribute),
            )
        )

    def _choice(self, attribute: str) -> Sentence:
        held = [one.number for one in self.versions(attribute)]
        if not held:
            return message("no_versions_there")
        return message("versions_there", versions=held[::-1])

    def _known(self, attribute: str) -> Model:
        """The registered model, or an error that names those that are nearly called so."""
        model = self._model(attribute)
        if model is not None:
            return model
        names = [one.attribute for one in self._models()]
        near = difflib.get_close_matches(attribute, names, n=3, cutoff=0.5)
        if near:
            hint = message("attributes_nearly_called_so", names=near)
        elif names:
            hint = message("attributes_there", names=names)
        else:
            hint = message("no_attributes_yet")
        raise NotRegistered(
            message("no_such_attribute", uri=self.uri, attribute=attribute, hint=hint)
        )

    def _model(self, attribute: str) -> Model | None:
        found = self._mlflow.model(encoded(attribute))
        if found is None:
            return None
        if _OURS not in found.tags:
            raise RegistryError(message("model_not_ours", uri=self.uri, name=found.name))
        return self._ours(attribute, found)

    def _models(self) -> Iterator[Model]:
        """All registered models of ours; others are nobody's business here."""
        for found in self._mlflow.models():
            try:
                attribute = decoded(found.name)
            except AttributeNameError:
                continue
            if _OURS in found.tags:
                yield self._ours(attribute, found)

    def _ours(self, attribute: str, found: Any) -> Model:
        aliases = {alias: int(number) for alias, number in found.aliases.items()}
        return Model(self._mlflow, attribute, found.name, found.tags, aliases)

    def _create_model(self, attribute: str, name: str, owner: Owner | None) -> None:
        described = message("ranking_by", attribute=attribute)
        tags = {_OURS: shown(attribute, 500)} | dict([] if owner is None else [owner.tag()])
        try:
            self._mlflow.create_model(name, tags, described)
        except AlreadyThere:  # another run was faster
            known = self._known(attribute)
            if owner is not None:
                check_owner(_owner(known), owner, attribute, owner.address)

    def _numbered(self, model: Model, numbers: Collection[int]) -> list[Version]:
        """Whole versions of these numbers, in one call: one by one, thirty took 175 ms."""
        if not numbers:
            return []
        wanted = f"name='{model.name}' and version_number >= {min(numbers)}"
        return [one for one in self._found(model.attribute, wanted) if one.number in numbers]

    def _found(self, attribute: str, wanted: str) -> list[Version]:
        found = (version_of(attribute, one) for one in self._mlflow.versions(wanted))
        return sorted((one for one in found if one is not None), key=lambda one: one.number)


def _owner(model: Model) -> Owner | None:
    return Owner.of(model.tags.get(OWNER))
