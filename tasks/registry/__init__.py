"""The model registry: versions of every attribute, which one is live, and how that came about.

`registry.py` is the way in. `mlflow_client.py` is the only module that knows MLflow.
"""

from tasks.registry.alias_history import Move
from tasks.registry.mlflow_client import NotRegistered, RegistryError, RegistryUnreachable
from tasks.registry.ownership import OWNER, Owner, check_owner, foreign, owner_of
from tasks.registry.publication import Publication, Version
from tasks.registry.registry import Registry, Standing
from tasks.registry.verifying import Verifier

__all__ = [
    "OWNER",
    "Move",
    "NotRegistered",
    "Owner",
    "Publication",
    "Registry",
    "RegistryError",
    "RegistryUnreachable",
    "Standing",
    "Verifier",
    "Version",
    "check_owner",
    "foreign",
    "owner_of",
]
