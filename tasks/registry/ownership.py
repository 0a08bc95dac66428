"""Which store a registered model belongs to: an id written once into the store, and its address.

Two stores that publish to one registry would overwrite each other's champions. So a model carries
the id and the address of the store whose nights made it, and nights of another store leave it
alone, as do those of a copy, which has the same id and another address.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass

from tasks.messages import message
from tasks.registry.mlflow_client import RegistryError
from tasks.store import Exists, NotThere, Store

OWNER = "urlr.owner"
"""Tag of a registered model."""
IDENTITY = "runs/store.json"
"""Where the id of a store lies."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A store, as models name it."""

    id: str
    address: str

    def tag(self) -> tuple[str, str]:
        """What a model says of it."""
        return OWNER, json.dumps(asdict(self))

    @staticmethod
    def of(text: str | None) -> Owner | None:
        """Read from a model's tag; None where nobody owns it, or the tag says nothing."""
        try:
            known = json.loads(text or "null")
            return Owner(str(known["id"]), str(known["address"]))
        except (ValueError, TypeError, KeyError):
            return None


def owner_of(store: Store, *, create: bool) -> Owner | None:
    """The store as an owner; its id is written if it has none and that is asked for."""
    known = _identity(store)
    if known is None and create:
        with suppress(Exists):  # another was faster
            store.create(IDENTITY, json.dumps({"id": secrets.token_hex(16)}).encode())
        known = _identity(store)
    return None if known is None else Owner(known, store.url)


def _identity(store: Store) -> str | None:
    try:
        return str(json.loads(store.read(IDENTITY))["id"])
    except NotThere:
        return None
    except (ValueError, TypeError, KeyError):
        damaged = message("store_id_damaged", path=store.address(IDENTITY))
    raise RegistryError(damaged)
