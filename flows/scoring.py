"""Score a table of features by every champion of the registry, as a Prefect flow."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.night_report import as_markdown
from flows.night_start import started_workers
from flows.watching import tell
from tasks.names import encoded
from tasks.objects import no_room_apart
from tasks.partitions import features_at
from tasks.registry import Registry, Version
from tasks.score import Champion, ScoringError
from tasks.score_all import ScoringSummary, score_all
from tasks.score_table import champions_of
from tasks.scratch import remove_left, scratch_directory
from tasks.settings import Settings, load_settings
from tasks.store import Store


@flow(name="scoring", persist_result=False)
def scoring(
    features: str,
    out: str,
    attributes: list[str] | None = None,
    overwrite: bool = False,
) -> State[ScoringSummary]:
    """Score all items of a table by the champions, of these attributes or of all."""
    settings = load_settings()
    registry = Registry.at(settings.registry, artifacts=settings.artifacts)
    tell("asking the registry", 0.0)
    versions = champions_of(registry, attributes)
    table = features_at(features)
    with (
        _scratch(settings) as scratch,
        started_workers(settings, settings.workers) as cluster,
        cluster.lent("scoring", deadline=settings.night_deadline) as client,
    ):
        summary = score_all(
            table,
            list(_placed(registry, versions, scratch)),
            out,
            client,
            progress=tell,
            overwrite=overwrite,
            scratch=scratch if settings.dask_address is not None else None,
        )
    create_markdown_artifact(
        "\n".join(f"- {as_markdown(line)}" for line in summary.sentences()), key="scoring-summary"
    )
    return Completed(message=summary.sentences()[0], data=summary)


@contextmanager
def _scratch(settings: Settings) -> Iterator[Store]:
    """Where workers find the models: a directory, or for others a corner of the store."""
    remove_left()
    if settings.dask_address is None:
        with ExitStack() as stack:
            try:
                directory = stack.enter_context(scratch_directory())
            except OSError as error:
                raise ScoringError(no_room_apart(error)) from None
            yield Store.at(directory)
        return
    corner = Store.at(f"{settings.store.rstrip('/')}/runs/scoring/{secrets.token_hex(8)}")
    try:
        yield corner
    finally:
        for found in corner.list():
            corner.remove(found.key)


def _placed(registry: Registry, versions: Sequence[Version], scratch: Store) -> Iterator[Champion]:
    """Models as workers find them, read from the registry and checked on the way."""
    for version in versions:
        key = f"models/{encoded(version.attribute)}.npz"
        scratch.create(key, registry.read(version))
        found = next(one for one in scratch.list("models") if one.key == key)
        yield Champion(version.attribute, version.number, scratch, found)
