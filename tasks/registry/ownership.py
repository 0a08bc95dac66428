"""Which store a registered model belongs to: an id written once into the store, and its address.

Two stores that publish to one registry would overwrite each other's champions. So a model carries
the id and the address of the store whose nights made it, and nights of another store leave it
alone, as do those of a copy, which has the same id and another address.
"""

from __future__ import annotations

import json
import secrets
import shlex
from contextlib import suppress
from dataclasses import asdict, dataclass

from tasks.messages import message
from tasks.registry.mlflow_client import RegistryError
from tasks.store import Exists, NotThere, Store
from urlr.sentence import Sentence

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


def foreign(owner: Owner | None, ours: Owner | None, attribute: str, store: str) -> Sentence | None:
    """Why the model of an attribute is not this store's; None if it is, or nobody's."""
    if owner is None or owner == ours:
        return None
    adopt = _adopt(attribute, store)
    if ours is not None and owner.id == ours.id:
        return message("model_of_the_original", address=owner.address, adopt=adopt)
    if owner.address == store:
        path = f"{store}/{IDENTITY}"
        return message("store_id_lost", address=store, path=path, adopt=adopt)
    return message("model_of_another_store", address=owner.address, adopt=adopt)


def check_owner(owner: Owner | None, ours: Owner | None, attribute: str, store: str) -> None:
    """Raise RegistryError if the model of an attribute belongs to another store."""
    if why := foreign(owner, ours, attribute, store):
        raise RegistryError(why)


def _adopt(attribute: str, store: str) -> str:
    """The command that lets a model belong to a store."""
    words = [attribute, "--store", store]
    if attribute.startswith("-"):
        words = ["--store", store, "--", attribute]
    return shlex.join(["urlr", "adopt", *words])


def _identity(store: Store) -> str | None:
    try:
        known = json.loads(store.read(IDENTITY))["id"]
    except NotThere:
        return None
    except (ValueError, TypeError, KeyError):
        known = None
    if isinstance(known, str) and known:
        return known
    adopt = _adopt("ATTRIBUTE", store.url)
    raise RegistryError(message("store_id_damaged", path=store.address(IDENTITY), adopt=adopt))
