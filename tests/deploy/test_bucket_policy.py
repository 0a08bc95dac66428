"""What each role may do in the buckets, tried at a real server that enforces the policies."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError
from cases import passed
from dask_programs import dask_cluster, papers
from in_process import Bench
from judge import Seen
from pipeline import Ran, only_progress
from refusals import refused
from registries import MLFLOW_WARNS
from sentences import like
from small_stores import BRIGHT, FEATURES, FEW, PLAIN, SMILING, write_small_store
from storage import S3Server, seaweedfs

from tasks.lease import KEPT, Holder, taken
from tasks.runs import Started, forget_start, new_run, note_start
from tasks.store import Store, StoreError

pytestmark = [MLFLOW_WARNS, pytest.mark.full]

ROOT = Path(__file__).parents[2]
POLICIES = ROOT / "deploy" / "s3"
STORE, MODELS = "team-votes", "team-models"
ADMIN = "store-admin"
ROLES = ("vote-writer", "nightly-flow", "dask-worker", "report-reader", "model-registry")
DELIVERED = {"votes/a/1.csv", "features/t.csv", "truth/a/t.csv"}
RUN = {
    "runs/r/started.json",
    "runs/r/attributes/a/result.json",
    "runs/r/attributes/a/verdicts.parquet",
    "runs/r/attributes/a/votes-1.js",
    "runs/r/report/index.html",
    "runs/scoring/x/scores.parquet",
}
REPORT = {"report/latest.html", "report/other.html"}
OWN = {"lease/00000001.json", "lease/.urlr-0123.tmp"}
KEYS = DELIVERED | RUN | REPORT | OWN | {"elsewhere.txt"}
FOLDERS = {"votes/", "features/", "truth/", "runs/", "lease/", "report/", ""}

ALLOWED: dict[str, dict[str, set[str]]] = {
    "vote-writer": {
        "get": DELIVERED,
        "put": DELIVERED,
        "delete": set(),
        "list": {"votes/", "features/", "truth/"},
    },
    "nightly-flow": {
        "get": {"features/t.csv"} | RUN | REPORT | OWN,
        "put": RUN | OWN | {"report/latest.html"},
        "delete": OWN | {"runs/r/started.json", "runs/scoring/x/scores.parquet"},
        "list": FOLDERS,
    },
    "dask-worker": {"get": DELIVERED | RUN, "put": RUN, "delete": set(), "list": FOLDERS},
    "report-reader": {
        "get": REPORT | {"runs/r/report/index.html", "runs/r/attributes/a/votes-1.js"},
        "put": set(),
        "delete": set(),
        "list": {"runs/", "report/"},
    },
    "model-registry": {"get": set(), "put": set(), "delete": set(), "list": set()},
}


@dataclass(frozen=True)
class Guarded:
    """A server, and who may do something there."""

    server: S3Server
    servers: dict[str, S3Server]

    def client(self, role: str) -> Any:
        who = self.servers[role]
        return boto3.client(
            "s3",
            endpoint_url=who.endpoint,
            aws_access_key_id=who.key,
            aws_secret_access_key=who.secret,
            region_name="us-east-1",
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with the identities that the program in deploy makes, and the two buckets."""
    place = tmp_path_factory.mktemp("guarded")
    keys = {role: (f"key-{role}", secrets.token_hex(24)) for role in (ADMIN, *ROLES)}
    environment = dict(os.environ)
    for role, (key, secret) in keys.items():
        name = role.upper().replace("-", "_")
        environment |= {f"{name}_KEY_ID": key, f"{name}_SECRET": secret}
    made = place / "s3.json"
    words = [str(made), f"--store={STORE}", f"--models={MODELS}"]
    subprocess.run(
        [sys.executable, str(POLICIES / "make_identities.py"), *words], env=environment, check=True
    )
    assert made.stat().st_mode & 0o077 == 0
    with seaweedfs(place, f"-s3.config={made}", "-s3.iam=false") as server:
        servers = {
            role: replace(server, key=key, secret=secret) for role, (key, secret) in keys.items()
        }
        for _ in range(2):  # a second time changes nothing
            subprocess.run(
                [sys.executable, str(POLICIES / "make_buckets.py"), STORE, MODELS],
                env=os.environ | servers[ADMIN].environment,
                check=True,
            )
        yield Guarded(server, servers)


def allowed(ask: Callable[[], Any]) -> bool:
    """Whether it was done; anything else than a plain refusal is no answer."""
    try:
        ask()
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 403:
            raise
        return False
    return True


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_do_what_it_needs_and_nothing_else(guarded, role):
    admin, client = guarded.client(ADMIN), guarded.client(role)
    for key in KEYS:
        admin.put_object(Bucket=STORE, Key=key, Body=b"1")
    tries: dict[str, Callable[[str], Any]] = {
        "get": lambda key: client.get_object(Bucket=STORE, Key=key),
        "put": lambda key: client.put_object(Bucket=STORE, Key=key, Body=b"2"),
        "delete": lambda key: client.delete_object(Bucket=STORE, Key=key),
        "list": lambda key: client.list_objects_v2(Bucket=STORE, Prefix=key),
    }
    denied = {}
    for what, ask in tries.items():
        asked = FOLDERS if what == "list" else KEYS
        may = {key for key in sorted(asked) if allowed(lambda key=key, ask=ask: ask(key))}
        assert may == ALLOWED[role][what], what
        denied[what] = f"{what} {len(asked) - len(may)} of {len(asked)}"
    client.close()
    admin.close()
    saw = f"AccessDenied for all that it does not need: {', '.join(denied.values())}"
    passed("attacks", f"{role} uses keys that are not its own", Seen("denied (403)", saw))


@pytest.mark.parametrize("role", ROLES)
def test_no_role_finds_a_way_around_its_policy(guarded, role):
    admin, client = guarded.client(ADMIN), guarded.client(role)
    for key in ("votes/a/1.csv", "elsewhere.txt", "runs/r/attributes/a/result.json"):
        admin.put_object(Bucket=STORE, Key=key, Body=b"1")
    tags = {"TagSet": [{"Key": "a", "Value": "b"}]}
    everybody = (
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*",'
        f'"Action":"s3:*","Resource":"arn:aws:s3:::{STORE}/*"}}]}}'
    )
    votes = {"Bucket": STORE, "Key": "votes/a/1.csv"}
    ways = {
        "tags": lambda: client.put_object_tagging(**votes, Tagging=tags),
        "acl": lambda: client.put_bucket_acl(Bucket=STORE, ACL="public-read"),
        "policy": lambda: client.put_bucket_policy(Bucket=STORE, Policy=everybody),
        "a bucket": lambda: client.create_bucket(Bucket=f"new-{role}"),
        "no bucket": lambda: client.delete_bucket(Bucket=STORE),
        "a copy out": lambda: client.copy_object(
            Bucket=STORE, Key="runs/r/copy", CopySource=f"{STORE}/elsewhere.txt"
        ),
        "versions": lambda: client.put_bucket_versioning(
            Bucket=STORE, VersioningConfiguration={"Status": "Suspended"}
        ),
    }
    if role != "vote-writer":
        ways |= {
            "parts": lambda: client.create_multipart_upload(**votes),
            "a copy in": lambda: client.copy_object(
                **votes, CopySource=f"{STORE}/runs/r/attributes/a/result.json"
            ),
        }
    assert [what for what, ask in ways.items() if allowed(ask)] == []
    many = client.delete_objects(Bucket=STORE, Delete={"Objects": [{"Key": "votes/a/1.csv"}]})
    assert [one["Code"] for one in many["Errors"]] == ["AccessDenied"]
    assert admin.get_object(**votes)["Body"].read() == b"1"
    client.close()
    admin.close()
    saw = f"AccessDenied: {', '.join(ways)}, many deletions at once"
    passed("attacks", f"{role} looks for a way around its policy", Seen("denied (403)", saw))


@pytest.mark.parametrize("role", ROLES)
def test_the_bucket_of_models_is_the_registrys_alone(guarded, role):
    admin, client = guarded.client(ADMIN), guarded.client(role)
    model = {"Bucket": MODELS, "Key": f"models/{role}"}
    admin.put_object(**model, Body=b"1")
    ways = {
        "list": lambda: client.list_objects_v2(Bucket=MODELS),
        "get": lambda: client.get_object(**model),
        "put": lambda: client.put_object(**model, Body=b"2"),
        "delete": lambda: client.delete_object(**model),
    }
    may = [what for what, ask in ways.items() if allowed(ask)]
    assert may == (list(ways) if role == "model-registry" else [])
    client.close()
    admin.close()


def test_nobody_without_a_key_reads_anything(guarded):
    anybody = boto3.client(
        "s3",
        endpoint_url=guarded.server.endpoint,
        region_name="us-east-1",
        config=Config(signature_version=UNSIGNED),
    )
    guarded.client(ADMIN).put_object(Bucket=STORE, Key="report/latest.html", Body=b"1")
    assert not allowed(lambda: anybody.get_object(Bucket=STORE, Key="report/latest.html"))
    assert not allowed(lambda: anybody.list_objects_v2(Bucket=STORE))
    anybody.close()


@contextmanager
def as_role(guarded: Guarded, role: str) -> Iterator[None]:
    """This process, and those it starts, act as a role while the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in guarded.servers[role].environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def store(guarded: Guarded) -> Iterator[Store]:
    """Votes delivered by the role that may; this process looks at them as the administrator."""
    admin = guarded.client(ADMIN)
    for page in admin.get_paginator("list_objects_v2").paginate(Bucket=STORE):
        for one in page.get("Contents", []):
            admin.delete_object(Bucket=STORE, Key=one["Key"])
    admin.close()
    made = Store.at(f"s3://{STORE}", deadline=60)
    with as_role(guarded, "vote-writer"):
        write_small_store(made)
    with as_role(guarded, ADMIN):
        yield made


@pytest.fixture(scope="module")
def place(
    guarded: Guarded, store: Store, new_bench, prefect_address: str, tmp_path_factory
) -> Iterator[Bench]:
    """Where the flow works, as its role; the workers are elsewhere, and have another."""
    trusted = papers(tmp_path_factory.mktemp("trusted"))
    folder = tmp_path_factory.mktemp("dask")
    with as_role(guarded, "dask-worker"):
        cluster = dask_cluster(folder, ["--nanny"], *trusted.options)
        address = cluster.__enter__().address
    try:
        yield new_bench(
            store,
            PREFECT_API_URL=prefect_address,
            **guarded.servers["nightly-flow"].environment,
            URLR_DASK_ADDRESS=address,
            URLR_DASK_CA=str(trusted.ca),
            URLR_DASK_CERT=str(trusted.cert),
            URLR_DASK_KEY=str(trusted.key),
            URLR_SHARED_COMPONENTS="3",
            URLR_FIT__REPLICATES="10",
        )
    finally:
        cluster.__exit__(None, None, None)


@pytest.fixture(scope="module")
def ran(place: Bench) -> Ran:
    return place.night()


def test_the_doctor_finds_nothing_wrong_with_these_roles_and_leaves_nothing(ran, place, guarded):
    admin = guarded.client(ADMIN)

    def kept() -> list[str]:
        pages = admin.get_paginator("list_objects_v2").paginate(Bucket=STORE)
        return [one["Key"] for page in pages for one in page["Contents"]]

    before = kept()
    done = place.urlr("doctor", "--json")
    said = json.loads(done.stdout)
    assert (done.returncode, said["problems"], said["warnings"]) == (0, 0, 0), done.stdout
    found = {one["code"]: one["found"] for one in said["findings"]}
    assert {"votes_not_writable", "champions_load"} <= set(found)
    assert like("tasks", "cluster_fits", count=1).fullmatch(found["cluster_fits"])
    assert kept() == before
    admin.close()


def test_a_night_needs_no_more_than_the_roles_of_flow_and_worker(ran):
    assert (ran.code, ran.night.state) == (0, "Completed"), ran.out
    assert only_progress(ran.err), ran.err
    assert ran.outcomes() == {
        BRIGHT: "published",
        PLAIN: "published",
        SMILING: "published",
        FEW: "held",
    }
    assert ran.night.shared  # a transform of features was fitted, and kept
    saw = f"{len(ran.outcomes())} attributes, flow and worker each with its own role"
    passed("attacks", "a night with the least privilege", Seen("completed", saw))


def test_a_night_leaves_nothing_but_runs_its_lease_and_the_pointer(store, ran):
    folders = {one.key.partition("/")[0] for one in store.list()}
    assert folders - {"report"} == {"votes", "features", "runs", "lease"}


def test_the_flow_can_take_back_the_start_of_a_run_and_keep_leases_few(guarded, store, ran):
    assert ran.code == 0
    with as_role(guarded, "nightly-flow"):
        run = new_run(datetime.now(UTC))
        note_start(store, Started(run, "here", 1, datetime.now(UTC), None))
        forget_start(store, run)
        for _ in range(KEPT + 2):
            with taken(store, Holder.here(run)):
                pass
        assert len(store.list("lease")) == KEPT + 1
    assert store.list(f"runs/{run}") == []


def test_scoring_on_the_cluster_needs_no_more_either(place, store, ran):
    assert ran.code == 0
    table = place.directory / "table.csv"
    table.write_bytes(store.read(FEATURES))
    done = place.urlr("score", str(table), "--out", "scores.parquet")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (place.directory / "scores.parquet").is_file()
    assert store.list("runs/scoring") == []


@pytest.mark.parametrize("role", ["report-reader", "dask-worker", "vote-writer"])
def test_nobody_but_the_flow_can_hold_the_store(guarded, store, role):
    with (
        as_role(guarded, role),
        refused(StoreError, "access_denied"),
        taken(store, Holder.here("r")),
    ):
        pass


def test_a_worker_cannot_write_votes_by_the_store(guarded, store):
    with as_role(guarded, "dask-worker"), refused(StoreError, "access_denied"):
        store.replace("votes/plain/2024-02.csv", b"item_a,item_b,outcome\n")
