"""Which settings of a fit are others than those of the champion: why results may differ."""

from __future__ import annotations

from dataclasses import asdict

from tasks.messages import message
from tasks.results import RESULT, RESULTS, Order, Result, ResultError
from tasks.store import StoreError
from urlr.sentence import Sentence


def settings_of(order: Order) -> dict[str, str]:
    """All settings that results depend on, by the names they are set by."""
    chosen = {f"fit.{name}": str(value) for name, value in asdict(order.fit).items()}
    return chosen | {
        "held_out_items": str(order.item_share),
        "held_out_pairs": str(order.pair_share),
        "gate.confidence": str(order.gate.confidence),
        "METHOD_VERSION": str(order.method_version),
    }


def other_settings(order: Order, result: Result) -> list[Sentence]:
    """Settings of a result that are not those of the champion's, each with both values."""
    place = next((rival.place for rival in order.rivals if rival.champion), None)
    if place is None:
        return []
    key = f"{place}/{RESULT}"
    try:
        before = RESULTS.from_bytes(order.store.read(key), order.store.address(key))
    except (StoreError, ResultError):  # what is lost or damaged is told elsewhere
        return []
    if before.settings == result.settings:
        return []
    if not (before.chosen and result.chosen):
        return [message("settings_not_recorded")]
    return [
        message("changed_setting", name=name, before=before.chosen.get(name, "?"), after=value)
        for name, value in result.chosen.items()
        if before.chosen.get(name) != value
    ]
