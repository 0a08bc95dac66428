"""What is published, and what a version in the registry says of itself."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd

from tasks.messages import message
from tasks.names import encoded
from tasks.registry.files import checked_name
from tasks.registry.mlflow_client import RegistryError
from urlr.ids import shown
from urlr.sentence import Sentence

RUN = "urlr.run"
"""The tag that tells the night."""

LONGEST_PARAM = 6000
LONGEST_DESCRIPTION = 5000
"""What MLflow takes; anything longer is shortened there and whole in the version's manifest."""

_KEY = re.compile(r"[A-Za-z0-9._-]{1,200}")
_SHORTENED = " … (whole in model/manifest.json)"


@dataclass(frozen=True, slots=True)
class Publication:
    """Everything a version is made of."""

    attribute: str
    key: str
    """Result key: the same votes, features, settings and method have the same."""
    run: str
    night: date
    place: str
    """Prefix of the results in the store."""
    method_version: str
    description: str
    """One plain sentence."""
    metrics: dict[str, float]
    params: dict[str, str]
    etags: dict[str, str]
    """Of the dumps that were read, by key in the store."""
    model: bytes = field(repr=False)
    """model.npz"""
    files: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Further files by name: the judge, tables, plots."""
    examples: pd.DataFrame | None = field(default=None, repr=False)
    """Rows of features to prove the version by; None for a model without features, which is proved
    by the items it ranks."""

    def __post_init__(self) -> None:
        encoded(self.attribute)
        if _KEY.fullmatch(self.key) is None:
            raise RegistryError(message("awkward_result_key", key=self.key))
        for name in self.files:
            checked_name(name)

    def about(self) -> dict[str, Any]:
        """What the manifest says, in full length."""
        return {
            "attribute": self.attribute,
            "key": self.key,
            "run": self.run,
            "night": self.night.isoformat(),
            "place": self.place,
            "method_version": self.method_version,
            "description": self.description,
            "metrics": _finite(self.metrics),
            "params": self.params,
            "etags": self.etags,
        }

    def tags(self, digest: str) -> dict[str, str]:
        """Tags of the version; it is one of ours only with all of them."""
        return {
            "urlr.attribute": shown(self.attribute, 500),
            "urlr.key": self.key,
            RUN: shown(self.run, 500),
            "urlr.night": self.night.isoformat(),
            "urlr.place": shown(self.place, 2000),
            "urlr.method_version": shown(self.method_version, 200),
            "urlr.metrics": json.dumps(_finite(self.metrics)),
            "urlr.digest": digest,
        }

    def finite_metrics(self) -> dict[str, float]:
        """The figures that there are."""
        return {name: value for name, value in self.metrics.items() if math.isfinite(value)}

    def shown_params(self) -> dict[str, str]:
        """The parameters as MLflow takes them."""
        return {shown(name, 250): shortened(said) for name, said in self.params.items()}

    def shown_description(self) -> str:
        """The description as MLflow takes it."""
        return shortened(shown(self.description, 10**6), LONGEST_DESCRIPTION)


@dataclass(frozen=True, slots=True)
class Version:
    """A version in the registry that is whole."""

    attribute: str
    number: int
    key: str
    run: str
    night: date
    place: str
    method_version: str
    metrics: dict[str, float]
    """As they were when it was registered; missing ones are NaN."""
    description: str
    created: datetime
    """In UTC."""
    digest: str
    """Of the manifest, which holds the digests of all files."""
    files: str
    """Address under which its files lie."""
    verdict: str = ""
    """`published`, `held` or `champion again`; empty before any."""
    reason: str = ""

    @property
    def shown(self) -> Sentence:
        """How people call it."""
        return message("a_version", number=self.number, attribute=self.attribute)


def version_of(attribute: str, registered: Any) -> Version | None:
    """A version as MLflow gives it, None if it is not whole or not one of ours."""
    tags: Mapping[str, str] = registered.tags
    source = str(registered.source or "")
    if str(registered.status) != "READY" or not source.endswith("/model"):
        return None
    try:
        metrics = json.loads(tags["urlr.metrics"])
        return Version(
            attribute,
            int(registered.version),
            tags["urlr.key"],
            tags[RUN],
            date.fromisoformat(tags["urlr.night"]),
            tags["urlr.place"],
            tags["urlr.method_version"],
            {name: math.nan if said is None else float(said) for name, said in metrics.items()},
            registered.description or "",
            datetime.fromtimestamp(int(registered.creation_timestamp) / 1000, UTC),
            tags["urlr.digest"],
            source.removesuffix("/model"),
            *_verdict_in(tags),
        )
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError):
        return None


def verdict_tag(verdict: str, reason: str) -> tuple[str, str]:
    """The tag that says what was decided on a version, and why."""
    return "urlr.verdict", f"{verdict}: {shown(reason, 2000)}"


def _verdict_in(tags: Mapping[str, str]) -> tuple[str, str]:
    verdict, _, reason = tags.get("urlr.verdict", "").partition(": ")
    return verdict, reason


def shortened(text: str, longest: int = LONGEST_PARAM) -> str:
    """The text as far as MLflow takes it, with a word on where the rest is."""
    if len(text) <= longest:
        return text
    return text[: longest - len(_SHORTENED)] + _SHORTENED


def _finite(metrics: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in metrics.items()}
