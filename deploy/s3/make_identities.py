"""Write the identities of SeaweedFS from the policy documents beside this file.

    python deploy/s3/make_identities.py OUT --store BUCKET --models BUCKET

SeaweedFS enforces the same documents as AWS does; only the names of the buckets are put in. Keys
come from the environment, `VOTE_WRITER_KEY_ID` and `VOTE_WRITER_SECRET` for the role `vote-writer`,
and so on; `STORE_ADMIN_...` makes the buckets and is used for nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ADMIN = "store-admin"
STORE, MODELS = "urlr", "urlr-models"
"""Names of the buckets as the documents have them."""


class IdentityError(ValueError):
    """Identities cannot be made; the text says what is missing."""


def roles() -> list[str]:
    """Every role that has a policy."""
    return sorted(path.stem.removeprefix("policy-") for path in HERE.glob("policy-*.json"))


def policy_of(role: str, *, store: str = STORE, models: str = MODELS) -> dict[str, Any]:
    """The policy of a role, for buckets of these names."""
    document: dict[str, Any] = json.loads((HERE / f"policy-{role}.json").read_text("utf-8"))
    named = {STORE: store, MODELS: models}
    for statement in document["Statement"]:
        statement["Resource"] = [_renamed(one, named) for one in statement["Resource"]]
    return document


def identities(
    environment: Mapping[str, str], *, store: str = STORE, models: str = MODELS
) -> dict[str, Any]:
    """What SeaweedFS reads by `-s3.config`.

    Raises
    ------
    IdentityError
        The environment lacks a key.
    """
    known = roles()
    return {
        "identities": [
            {"name": ADMIN, "credentials": [_keys(ADMIN, environment)], "actions": ["Admin"]},
            *(
                {
                    "name": role,
                    "credentials": [_keys(role, environment)],
                    "actions": [],
                    "policyNames": [role],
                }
                for role in known
            ),
        ],
        "policies": [
            {"name": role, "content": json.dumps(policy_of(role, store=store, models=models))}
            for role in known
        ],
    }


def _renamed(resource: str, named: Mapping[str, str]) -> str:
    start, _, rest = resource.rpartition(":")
    bucket, slash, key = rest.partition("/")
    return f"{start}:{named[bucket]}{slash}{key}"


def _keys(role: str, environment: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for field, suffix in (("accessKey", "KEY_ID"), ("secretKey", "SECRET")):
        name = f"{role.upper().replace('-', '_')}_{suffix}"
        if not environment.get(name):
            raise IdentityError(f"{name} is not set; give the role {role} a key of its own.")
        found[field] = environment[name]
    return found


def main(arguments: Sequence[str]) -> int:
    """Write the file, readable by its owner alone."""
    parser = argparse.ArgumentParser(description="Identities of SeaweedFS from the policies.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--store", default=STORE, help="bucket of votes and runs")
    parser.add_argument("--models", default=MODELS, help="bucket of models")
    given = parser.parse_args(arguments)
    try:
        made = identities(os.environ, store=given.store, models=given.models)
    except IdentityError as error:
        print(f"make_identities: {error}", file=sys.stderr)
        return 1
    given.out.touch(mode=0o600)
    given.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{len(made['identities'])} identities in {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
