"""What Prefect's automations are told of a night, as events they can wait for.

urlr.night.published   a whole night is done: published, held or found unchanged. Not for a dry
                       run, some attributes alone, or a night of the past (`--as-of`)
urlr.night.failed      its record says Failed
urlr.gate.held         of an attribute: its new model was held
urlr.tau.regressed     of an attribute: its new model is worse than the champion
urlr.people.coordinated
                       of an attribute: people act together in the votes of its new model
urlr.night.attention   once a night, if any of the last three

A run that died, or was refused before it began, tells nothing: its state in Prefect does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks.coordinated import words_of
from tasks.freshness import is_whole
from tasks.names import encoded
from tasks.regression import regressed
from tasks.results import Entry, Night
from tasks.store import Store
from urlr.ids import shown, shown_some

PUBLISHED, FAILED = "urlr.night.published", "urlr.night.failed"
HELD, REGRESSED = "urlr.gate.held", "urlr.tau.regressed"
COORDINATED = "urlr.people.coordinated"
ATTENTION = "urlr.night.attention"
MOST = 50
"""Events of one kind about attributes in one night; `urlr.night.attention` counts all."""
_NAMED = 10


def emit_night_events(night: Night, *, store: Store) -> None:
    """Tell Prefect what became of a night; nothing of a dry run."""
    if night.dry:
        return
    about = {"run": night.run, "night": night.night.isoformat(), "store": shown(store.url, 200)}
    if night.state == "Failed":
        _emit(FAILED, about, payload={"reason": shown(night.reason, 500)})
    elif is_whole(night):
        _emit(PUBLISHED, about, payload=_counts(night))
    held = [entry for entry in night.tonight() if entry.outcome == "held"]
    worse = regressed(night)
    for event, entries in ((HELD, held), (REGRESSED, worse)):
        for entry in entries[:MOST]:
            _emit(event, about, attribute=entry.attribute, payload=_figures(entry))
    together = [one for one in night.tonight() if one.outcome in ("published", "held")]
    together = [one for one in together if one.coordinated is not None]
    for entry in together[:MOST]:
        _emit(COORDINATED, about, attribute=entry.attribute, payload=_coordinated(entry))
    if held or worse or together:
        _emit(ATTENTION, about, payload=_attention(held, worse, together))


def _counts(night: Night) -> dict[str, Any]:
    outcomes = [entry.outcome for entry in night.tonight()]
    return {
        "state": night.state,
        "published": outcomes.count("published"),
        "held": outcomes.count("held"),
        "unchanged": outcomes.count("unchanged"),
        "failed": outcomes.count("failed"),
    }


def _figures(entry: Entry) -> dict[str, Any]:
    difference = None if entry.difference is None else entry.difference.deciding
    return {
        "attribute": shown(entry.attribute, 80),
        "version": entry.version,
        "reason": shown(entry.reason, 500),
        "difference": None if difference is None else round(difference.value, 4),
    }


def _coordinated(entry: Entry) -> dict[str, Any]:
    found = entry.coordinated
    assert found is not None
    return {
        "attribute": shown(entry.attribute, 80),
        "version": entry.version,
        "groups": found.groups,
        "people": found.people,
        "votes": found.votes,
        "counting": found.counting,
        "coordination": found.coordination,
        "words": words_of(found),
    }


def _attention(
    held: Sequence[Entry], worse: Sequence[Entry], together: Sequence[Entry]
) -> dict[str, Any]:
    return {
        "held": len(held),
        "held_names": shown_some([entry.attribute for entry in held], _NAMED),
        "regressed": len(worse),
        "regressed_names": shown_some([entry.attribute for entry in worse], _NAMED),
        "coordinated": len(together),
        "coordinated_names": shown_some([entry.attribute for entry in together], _NAMED),
    }


def _emit(
    event: str, about: dict[str, str], *, payload: dict[str, Any], attribute: str | None = None
) -> None:
    """Send one event, about the night or about an attribute of it."""
    from prefect.events import emit_event

    night = {
        "prefect.resource.id": f"urlr.night.{about['run']}",
        "prefect.resource.name": f"night of {about['night']}",
        "urlr.store": about["store"],
    }
    if attribute is None:
        emit_event(event, night, payload=about | payload)
        return
    resource = {
        "prefect.resource.id": f"urlr.attribute.{encoded(attribute)}",
        "prefect.resource.name": shown(attribute, 80),
        "urlr.store": about["store"],
    }
    emit_event(
        event,
        resource,
        related=[night | {"prefect.resource.role": "night"}],
        payload=about | payload,
    )
