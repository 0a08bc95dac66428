"""Every file of deploy is what its own kind of checker takes for right, and they fit together."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from deploy_files import (
    COMPOSE,
    DEPLOY,
    MANIFESTS,
    PODS,
    ROOT,
    checked,
    containers,
    documents,
    pods,
)

from tasks.settings import PREFIX, Settings

SCRIPTS = sorted(DEPLOY.rglob("*.sh"))
DOCKERFILES = sorted(DEPLOY.rglob("*.Dockerfile"))
POLICIES = sorted((DEPLOY / "s3").glob("policy-*.json"))
ACTIONS = {
    "s3:GetObject",
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:ListBucket",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
}


def test_compose_fits_its_schema():
    checked("check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE))


def test_manifests_fit_the_schemas_of_kubernetes():
    checked("kubernetes-validate", "--strict", "--quiet", *map(str, MANIFESTS))


def test_the_kustomization_names_every_manifest_but_the_template():
    named = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text("utf-8"))
    assert set(named["resources"]) | {"secrets.template.yaml"} == {one.name for one in MANIFESTS}


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_hadolint_finds_nothing(path):
    checked("hadolint", "--no-color", str(path))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_finds_nothing(path):
    checked("shellcheck", str(path))
    assert os.access(path, os.X_OK)


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_a_policy_allows_known_actions_on_named_places_and_nothing_by_wildcard(path):
    document = json.loads(path.read_text("utf-8"))
    assert document["Version"] == "2012-10-17"
    names = [one["Sid"] for one in document["Statement"]]
    assert len(names) == len(set(names))
    for one in document["Statement"]:
        assert one["Effect"] == "Allow"
        assert set(one["Action"]) <= ACTIONS
        for resource in one["Resource"]:
            assert re.fullmatch(r"arn:aws:s3:::urlr(-models)?(/.+)?", resource)
            assert ("/" in resource) == (one["Action"] != ["s3:ListBucket"])


def test_every_service_has_limits_a_restart_rule_and_a_health_check_or_runs_once(services):
    for name, one in services.items():
        if one["restart"] == "no":
            assert "healthcheck" not in one, name
            continue
        assert one["healthcheck"]["test"][0] == "CMD", name
        assert {"limits", "reservations"} <= one["deploy"]["resources"].keys(), name


def test_conditions_of_compose_are_ones_that_can_come_true(services):
    conditions = [
        (services[name]["restart"] == "no", how["condition"])
        for one in services.values()
        for name, how in one.get("depends_on", {}).items()
    ]
    assert set(conditions) == {
        (True, "service_completed_successfully"),
        (False, "service_healthy"),
    }


@pytest.mark.parametrize(
    ("name", "volume", "place"),
    [("object-store", "objects", "/data"), ("postgres", "postgres", "/var/lib/postgresql/data")],
)
def test_objects_and_records_lie_on_volumes_that_are_kept(services, name, volume, place):
    """What the programs write to, in compose and in the pods."""
    assert f"{volume}:{place}" in services[name]["volumes"]
    assert volume in yaml.safe_load(COMPOSE.read_text("utf-8"))["volumes"]
    [made] = [one for one in documents() if one["metadata"]["name"] == name and one["kind"] in PODS]
    assert made["kind"] == "StatefulSet"
    [claim] = made["spec"]["volumeClaimTemplates"]
    [container] = made["spec"]["template"]["spec"]["containers"]
    mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    assert mounts[place] == claim["metadata"]["name"]
    if name == "object-store":
        assert f"-dir={place}" in services[name]["command"]
        assert f"-dir={place}" in container["args"]
    else:  # where the image of compose keeps it unless told otherwise
        assert "PGDATA" not in services[name]["environment"]
        [data] = [one["value"] for one in container["env"] if one["name"] == "PGDATA"]
        assert Path(data).is_relative_to(place)


def named_secrets() -> Iterator[tuple[str, str | None]]:
    """Secrets that manifests name, with the key where they name one."""
    for one in containers():
        for given in one.get("envFrom", []):
            if "secretRef" in given:
                yield given["secretRef"]["name"], None
        for variable in one.get("env", []):
            if "secretKeyRef" in variable.get("valueFrom", {}):
                wanted = variable["valueFrom"]["secretKeyRef"]
                yield wanted["name"], wanted["key"]
    for _, pod in pods():
        for volume in pod.get("volumes", []):
            if "secret" in volume:
                yield volume["secret"]["secretName"], None


def test_every_secret_that_manifests_name_is_in_the_template():
    """Alike ones are there once, and a comment names the others."""
    text = (DEPLOY / "kubernetes" / "secrets.template.yaml").read_text("utf-8")
    made = {one["metadata"]["name"]: one for one in documents() if one["kind"] == "Secret"}
    named = set(named_secrets())
    words = set(re.findall(r"[a-z][a-z-]*[a-z]", text))
    assert {name for name, _ in named} - words == set()
    assert set(made) - {name for name, _ in named} == set()
    for name, key in named:
        if key is not None:
            assert key in made[name]["stringData"]


def test_every_variable_of_compose_is_in_the_example_and_no_secret_has_a_value():
    example = dict(
        line.split("=", 1)
        for line in (DEPLOY / ".env.example").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    )
    used = dict(re.findall(r"\$\{(\w+)(:[-?])?", COMPOSE.read_text("utf-8")))
    assert set(example) == set(used)
    secret = {name for name in example if name.endswith(("PASSWORD", "SECRET"))}
    assert {name for name, value in example.items() if not value} == secret
    assert all(used[name] == ":?" for name in secret)


def test_the_template_of_secrets_has_no_values_and_manifests_name_secrets_alone():
    secrets = [one["stringData"] for one in documents() if one["kind"] == "Secret"]
    assert secrets
    assert not any(value for secret in secrets for value in secret.values())
    needed = [
        variable
        for one in containers()
        for variable in one.get("env", [])
        if variable["name"].endswith(("PASSWORD", "SECRET", "ACCESS_KEY"))
    ]
    assert needed
    assert [one["name"] for one in needed if "secretKeyRef" not in one["valueFrom"]] == []


def test_settings_of_urlr_are_known(services):
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    set_there = set(services["flow-worker"]["environment"])
    [settings] = [one for one in documents() if one["metadata"]["name"] == "urlr" and "data" in one]
    for names in (set_there, set(settings["data"])):
        ours = {name for name in names if name.startswith(PREFIX)}
        assert {"URLR_STORE", "URLR_REGISTRY", "URLR_DASK_ADDRESS"} <= ours <= known


def test_every_pod_is_locked_down_and_bounded():
    for name, pod in pods():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["automountServiceAccountToken"] is False, name
        # Else a service named mlflow sets MLFLOW_PORT, which MLflow takes for its own setting.
        assert pod["enableServiceLinks"] is False, name
    for one in containers():
        assert {"requests", "limits"} <= one["resources"].keys(), one["name"]
        assert one["securityContext"]["allowPrivilegeEscalation"] is False, one["name"]
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}, one["name"]
    for name, pod in pods():
        if pod.get("restartPolicy") != "OnFailure":
            assert all("readinessProbe" in one for one in pod["containers"]), name


BY_HAND = {"certificates", "identities"}
"""Services of compose that are commands of deploy/README.md on Kubernetes."""
LEFT_OUT = {"store-certificates"}
"""Not needed there: the network policy lets nobody reach the port that they guard."""
CALLED = {
    "seaweedfs": "object-store",
    "scheduler": "dask-scheduler",
    "worker": "dask-worker",
}
"""Containers that go by another name than the service of compose."""


def plain(words: list[str] | None) -> list[str] | None:
    """A command with the defaults of its variables, whatever its certificates are called."""
    if words is None:
        return None
    words = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in words]
    return [re.sub(r"/tls/\w+\.(pem|key)", "/tls", word) for word in words]


def test_kubernetes_runs_the_same_commands_as_compose(services):
    """All but what is done by hand; databases are made before each of the servers they are for."""
    theirs: dict[str, list[list[str] | None]] = {}
    for one in containers():
        name = CALLED.get(one["name"], one["name"])
        theirs.setdefault(name, []).append(plain(one.get("args")))
    assert set(theirs) | BY_HAND | LEFT_OUT == set(services)
    for name, found in theirs.items():
        ours = plain(services[name].get("command"))
        if name == "databases":
            first, second = found
            both = [word for word in (*first, *second) if "=" in word]
            assert first[:-1] == second[:-1] == ours[:-2]
            assert sorted(both) == sorted(ours[-2:])
        else:
            assert found == [ours], name


def test_what_compose_does_once_and_manifests_do_not_is_a_command_of_the_readme(services):
    readme = (DEPLOY / "README.md").read_text("utf-8")
    for name in BY_HAND:
        [script] = [word for word in services[name]["command"] if word.startswith("deploy/")]
        assert f" {script.removeprefix('deploy/')} " in readme


def test_what_the_prefect_server_keeps_in_files_outlives_it(services):
    """Places under its limits: a run that was at work goes on when its server is back."""
    ours = services["prefect"]
    [server] = [one for one in containers() if one["name"] == "prefect"]
    [pod] = [pod for name, pod in pods() if name == "prefect"]
    claims = {one["metadata"]["name"] for one in documents() if "Claim" in one["kind"]}
    set_there = {one["name"]: one.get("value") for one in server["env"]}
    for given in (ours["environment"], set_there):
        assert given["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"].endswith(".filesystem")
    volume, place = ours["volumes"][0].split(":")
    assert volume in yaml.safe_load(COMPOSE.read_text("utf-8"))["volumes"]
    assert place == ours["environment"]["PREFECT_HOME"]
    [mount] = server["volumeMounts"]
    [volume] = pod["volumes"]
    assert mount == {"name": volume["name"], "mountPath": set_there["PREFECT_HOME"]}
    assert volume["persistentVolumeClaim"]["claimName"] in claims
    assert mount["mountPath"] in ours_in_images()


def ours_in_images() -> list[str]:
    """Places in our images that belong to the user whom our containers run as."""
    made = (DEPLOY / "images" / "urlr.Dockerfile").read_text("utf-8")
    [places] = re.findall(r"chown urlr: (.+)", made)
    return places.split()


def test_what_our_containers_write_to_is_theirs(services):
    """A volume mounted where the image has nothing is root's, and root is nobody here."""
    mounted = {
        mount.split(":")[1]
        for one in services.values()
        if one["image"].startswith("urlr-")
        for mount in one.get("volumes", ())
        if not mount.endswith(":ro")
    }
    assert mounted >= {"/tls", "/store-tls", "/identities", "/metrics", "/var/lib/prefect"}
    assert sorted(mounted - set(ours_in_images())) == []


def test_no_order_that_killed_a_worker_is_given_to_another(services):
    """As Dask itself reads the variable of the scheduler."""
    from dask.config import collect_env, get

    [ours] = [one for one in containers() if one["name"] == "scheduler"]
    for given in (
        services["dask-scheduler"]["environment"],
        {one["name"]: one["value"] for one in ours["env"]},
    ):
        read = collect_env(given)
        assert get("distributed.scheduler.allowed-failures", config=read) == 0


def test_images_hold_what_the_commands_name(services):
    """The ignore file lets in what the image file copies, and copied are the scripts."""
    let_in = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }
    text = (DEPLOY / "images" / "urlr.Dockerfile").read_text("utf-8")
    lines = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY ")]
    copied = {word for words in lines for word in words if not word.startswith(("--", "/"))}
    assert copied == let_in
    for path in copied:
        assert (ROOT / path).exists(), path
    named = {
        word
        for one in services.values()
        for word in one.get("command", [])
        if word.startswith("deploy/")
    }
    assert named
    for path in named:
        assert (ROOT / path).is_file(), path


def test_certificates_are_made_once_and_no_authority_key_stays(tmp_path):
    script = str(DEPLOY / "tls" / "make-certificates.sh")
    made = subprocess.run(["sh", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "for 365 days" in made.stdout
    names = {one.name for one in tmp_path.iterdir()}
    roles = ("scheduler", "worker", "flow")
    assert names == {"ca.pem", *(f"{role}.{kind}" for role in roles for kind in ("pem", "key"))}
    assert all(one.stat().st_mode & 0o077 == 0 for one in tmp_path.iterdir())
    for role in roles:
        checked("openssl", "verify", "-CAfile", f"{tmp_path}/ca.pem", f"{tmp_path}/{role}.pem")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    subprocess.run(["sh", script, str(tmp_path)], capture_output=True, check=True)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_certificates_that_end_within_30_days_are_made_anew_by_another_authority(tmp_path):
    script = str(DEPLOY / "tls" / "make-certificates.sh")
    kept = []
    for days in (["20"], []):
        subprocess.run(["sh", script, str(tmp_path), *days], capture_output=True, check=True)
        kept.append({one.name: one.read_bytes() for one in tmp_path.iterdir()})
    before, after = kept
    assert before.keys() == after.keys()
    assert [name for name in before if after[name] == before[name]] == []
    for role in ("scheduler", "worker", "flow"):
        checked("openssl", "verify", "-CAfile", f"{tmp_path}/ca.pem", f"{tmp_path}/{role}.pem")
