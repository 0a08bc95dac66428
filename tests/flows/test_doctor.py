"""`urlr doctor` as people run it: on stores and registries that are well, and that are not."""

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from answering import answering
from pipeline import PATIENCE, ROOT, clean_environment
from registries import MLFLOW_WARNS, kept, moved, publication
from s3_proxy import Rule, faulty
from storage import free_ports

from flows.doctor_command import _IMPATIENT
from tasks.doctor.champions import MOST
from tasks.registry import Registry
from tasks.store import Store

pytestmark = MLFLOW_WARNS

EVERYTHING = [
    *("versions", "settings", "store", "votes", "lease", "clock", "registry"),
    *("sockets", "dask", "disk", "memory", "prefect"),
]
VOTES = b"winner,loser\na,b\nb,c\n"


class Doctor:
    """Runs the command, and keeps what it said by check."""

    def __init__(self, command):
        self._command = command
        self.text = ""
        self.findings: list[dict[str, str]] = []

    def __call__(self, *arguments: str) -> int:
        code = self._command("doctor", "--json", *arguments)
        self.text = self._command.out
        assert self._command.err == ""
        said = json.loads(self.text)
        self.findings = said["findings"]
        states = [one["state"] for one in self.findings]
        assert (said["problems"], said["warnings"]) == (
            states.count("problem"),
            states.count("warning"),
        )
        assert code == (1 if "problem" in states else 0)
        assert list(dict.fromkeys(one["check"] for one in self.findings)) == EVERYTHING
        assert all(one["do"] for one in self.findings if one["state"] != "ok")
        return code

    def states(self, check: str) -> list[str]:
        return [one["state"] for one in self.findings if one["check"] == check]

    def said(self, check: str, state: str) -> str:
        """What was found and what to do, of findings of one state."""
        of_state = [one for one in self.findings if one["check"] == check and one["state"] == state]
        return " | ".join(f"{one['found']}; {one['do']}" for one in of_state)

    @property
    def problems(self) -> list[str]:
        return [one["check"] for one in self.findings if one["state"] == "problem"]


@pytest.fixture
def doctor(command, monkeypatch) -> Doctor:
    """The command in an empty directory, with nothing set."""
    for name in list(os.environ):
        if name.upper().startswith("URLR_") or name in ("MLFLOW_TRACKING_URI", "PREFECT_API_URL"):
            monkeypatch.delenv(name)
    for name in _IMPATIENT:  # what the command would set stays in this process
        monkeypatch.setenv(name, "5")
    return Doctor(command)


def files() -> list[Path]:
    return sorted(Path().rglob("*"))


def test_in_an_empty_directory_nothing_is_wrong_and_nothing_is_left(doctor):
    assert doctor() == 0
    assert "holds no votes; put dumps under" in doctor.said("votes", "warning")
    assert "urlr-store is not there yet" in doctor.said("store", "ok")
    assert "there is none yet; the first night makes" in doctor.said("registry", "ok")
    assert files() == []


def test_a_directory_with_votes_is_well_and_stays_as_it_is(doctor):
    store = Store.at("store")
    for name in ("smiling", "food/sweet"):
        store.create(f"votes/{name}/1.csv", VOTES)
    store.create("features/food/table.csv", b"item,x\na,1\n")
    before = files()
    assert doctor("--store", "store") == 0
    assert "2 attributes in 2 dumps (42 bytes), 1 with features" in doctor.said("votes", "ok")
    assert "agree within a second" in doctor.said("clock", "ok")
    assert doctor.said("store", "warning") == ""
    assert files() == before


def test_lines_and_the_object_say_the_same_and_the_last_line_that_all_is_well(doctor, command):
    Store.at("store").create("votes/smiling/1.csv", VOTES)
    assert doctor("--store", "store") == 0
    assert command("doctor", "--store", "store") == 0
    *lines, last = command.out.splitlines()
    assert last == "All is well."
    assert [line.split()[:2] for line in lines] == [
        [one["state"], one["check"]] for one in doctor.findings
    ]
    for line, one in zip(lines, doctor.findings, strict=True):
        if one["check"] != "disk":  # on which somebody may write meanwhile
            assert line == f"{one['state']:<8} {one['check']:<9} {one['found']}."


def test_each_finding_is_one_line_that_begins_with_its_state(command, doctor):
    assert command("doctor") == 0
    *lines, last = command.out.splitlines()
    assert {line.split()[0] for line in lines} == {"ok", "warning"}
    assert list(dict.fromkeys(line.split()[1] for line in lines)) == EVERYTHING
    assert last == "No problem, 1 warning."


def test_a_bucket_that_honours_conditional_writes_is_well_and_stays_as_it_is(doctor, s3_store, s3):
    s3_store.create("votes/smiling/1.csv", VOTES)
    assert doctor("--store", s3_store.url) == 0
    assert "conditional writes are honoured" in doctor.said("store", "ok")
    assert "agree within a second" in doctor.said("clock", "ok")
    assert "1 attribute in 1 dump" in doctor.said("votes", "ok")
    assert "may also write votes/" in doctor.said("store", "warning")
    bucket, _, prefix = s3_store.url.removeprefix("s3://").partition("/")
    client = s3.client()
    listed = client.list_objects_v2(Bucket=bucket)["Contents"]
    client.close()
    assert [one["Key"] for one in listed] == [f"{prefix}/votes/smiling/1.csv"]
    assert s3.secret not in doctor.text


def test_a_store_that_ignores_conditional_writes_is_a_problem(doctor, s3_store, s3, monkeypatch):
    with faulty(s3, Rule("strip", header="If-None-Match")) as careless:
        monkeypatch.setenv("AWS_ENDPOINT_URL", careless.front.endpoint)
        assert doctor("--store", s3_store.url) == 1
    assert doctor.problems == ["store"]
    assert "conditional writes are ignored" in doctor.said("store", "problem")
    assert "use a store that honours If-None-Match" in doctor.said("store", "problem")


def test_what_cannot_be_removed_is_named_so_that_somebody_can(doctor, s3_store, s3, monkeypatch):
    with faulty(s3, Rule("refuse", method="DELETE", status=403)) as keeping:
        monkeypatch.setenv("AWS_ENDPOINT_URL", keeping.front.endpoint)
        assert doctor("--store", s3_store.url) == 1
    said = doctor.said("store", "warning")
    assert f"cannot be removed (access to {s3_store.url}/runs/scoring/.urlr-" in said
    assert f"cannot be removed (access to {s3_store.url}/lease/.urlr-" in said
    assert "was denied" in doctor.said("store", "problem")


@pytest.mark.parametrize(
    ("by", "state", "said"),
    [
        (timedelta(seconds=20), "ok", "agree within"),
        (timedelta(minutes=-2), "warning", "seconds ahead of the store's"),
        (timedelta(minutes=10), "problem", "seconds behind the store's"),
    ],
)
def test_a_clock_that_differs_from_the_stores_is_told(
    doctor, s3_store, s3, monkeypatch, by, state, said
):
    with faulty(s3, Rule("clock", shift=by)) as elsewhere:
        monkeypatch.setenv("AWS_ENDPOINT_URL", elsewhere.front.endpoint)
        doctor("--store", s3_store.url)
    assert doctor.states("clock") == [state]
    assert said in doctor.said("clock", state)


def test_wrong_credentials_are_one_problem_and_not_shown(doctor, s3_store, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret-of-some-length")
    assert doctor("--store", s3_store.url) == 1
    assert doctor.problems == ["store"]
    assert "was denied; check AWS_ACCESS_KEY_ID" in doctor.said("store", "problem")
    for check in ("votes", "lease", "clock"):
        assert doctor.said(check, "warning").startswith("not looked at, because")
    assert "a-wrong-secret" not in doctor.text
    assert os.environ["AWS_ACCESS_KEY_ID"] not in doctor.text


def test_an_endpoint_where_nobody_listens_is_one_problem(doctor, s3_store, monkeypatch):
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", nobody)
    monkeypatch.setenv("URLR_CALL_DEADLINE", "2")
    assert doctor("--store", s3_store.url) == 1
    assert doctor.problems == ["store"]
    assert f"the store at {nobody}" in doctor.said("store", "problem")


def test_servers_that_never_answer_are_left_in_time_and_the_command_ends(tmp_path, s3_server, away):
    """A store, a registry and Prefect that take a connection and say nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        at = f"127.0.0.1:{silent.getsockname()[1]}"
        done = away(
            *("doctor", "--json", "--store", "s3://bucket/prefix"),
            **s3_server.environment | {"AWS_ENDPOINT_URL": f"http://{at}"},
            URLR_CALL_DEADLINE="1",
            URLR_REGISTRY=f"http://{at}",
            PREFECT_API_URL=f"http://{at}/api",
        )
    assert done.returncode == 1
    said = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    assert "did not answer within 1 seconds" in said["store"]["found"]
    assert "gave no answer" in said["registry"]["found"]
    assert "gives no answer" in said["prefect"]["found"]
    assert "Traceback" not in done.stderr


@pytest.fixture
def away(tmp_path):
    """The command as a process, with nothing set but what is given."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        retries = {name: "0" for name in _IMPATIENT if name.endswith("RETRIES")}
        impatient = dict.fromkeys(_IMPATIENT, "1") | retries
        return subprocess.run(
            [sys.executable, "-m", "flows.cli", *arguments],
            cwd=tmp_path,
            env=clean_environment(tmp_path) | impatient | environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    return run


def test_a_misspelt_variable_is_named_with_the_one_that_was_meant(doctor, monkeypatch):
    monkeypatch.setenv("URLR_WORKRES", "value-of-a-secret")
    monkeypatch.setenv("URLR_GAT__DROP", "0.1")
    monkeypatch.setenv("URLR_SOMETHING_ELSE_ENTIRELY", "1")
    assert doctor() == 1
    assert doctor.problems == ["settings"] * 3
    said = doctor.said("settings", "problem")
    assert "URLR_WORKRES is set and is no setting of urlr; set URLR_WORKERS instead" in said
    assert "set URLR_GATE__DROP instead" in said
    assert "URLR_SOMETHING_ELSE_ENTIRELY is set and is no setting of urlr; unset it" in said
    assert "value-of-a-secret" not in doctor.text
    assert doctor.states("store") == ["ok", "ok"]


def test_a_setting_that_makes_no_sense_leaves_out_only_what_rests_on_it(doctor, monkeypatch):
    monkeypatch.setenv("URLR_WORKERS", "many")
    assert doctor() == 1
    assert doctor.problems == ["settings"]
    assert "set it by URLR_WORKERS" in doctor.said("settings", "problem")
    assert doctor.said("memory", "warning").startswith("not looked at, because the settings")
    assert doctor.states("store") == ["ok", "ok"]


def test_a_store_with_a_password_in_its_address_is_refused_and_no_other_is_looked_at(doctor):
    assert doctor("--store", "s3://me:hunter22@bucket/prefix") == 1
    assert doctor.problems == ["settings"]
    assert "holds a user name or a password" in doctor.said("settings", "problem")
    assert doctor.said("store", "warning").startswith("not looked at")
    assert doctor.states("registry") == ["ok"]
    assert "hunter22" not in doctor.text


def test_a_registry_with_a_password_in_its_address_is_refused_and_it_is_not_shown(
    doctor, monkeypatch
):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:hunter22@127.0.0.1:1")
    assert doctor() == 1
    assert doctor.problems == ["registry"]
    assert "registry http://***@127.0.0.1:1" in doctor.said("settings", "ok")
    assert "hunter22" not in doctor.text


def test_a_file_of_settings_that_cannot_be_read_is_the_only_problem(doctor, command):
    command.put("urlr.toml", "workers = ")
    assert doctor() == 1
    assert doctor.problems == ["settings"]
    assert "urlr.toml cannot be read" in doctor.said("settings", "problem")
    assert doctor.said("store", "warning").startswith("not looked at")


@pytest.fixture
def champions(tables, doctor) -> Registry:
    """A registry in the directory of the command with two champions."""
    Path("urlr-registry").mkdir()
    shutil.copy(tables, "urlr-registry")
    registry = Registry.at("urlr-registry")
    registry.prepare()
    for name in ("smiling", "food/sweet"):
        moved(registry, [registry.register(publication(name))])
    return registry


def test_champions_that_load_are_counted_and_nothing_is_changed(doctor, champions):
    before = files()
    assert doctor() == 0
    assert "2 champions, which all load" in doctor.said("registry", "ok")
    assert "mlflow.db can be written" in doctor.said("registry", "ok")
    assert files() == before


def test_a_champion_whose_file_was_changed_is_a_problem_and_others_still_load(doctor, champions):
    version = champions.champion("smiling")
    (kept(version) / "model" / "model.npz").write_bytes(b"broken")
    assert doctor() == 1
    assert doctor.problems == ["registry"]
    said = doctor.said("registry", "problem")
    assert "champion of smiling: version 1 of smiling: model/model.npz was changed" in said
    assert "restore the file, or publish again" in said


def test_a_record_of_a_champion_that_cannot_be_read_is_a_warning(doctor, champions):
    champions._mlflow.tag_model("smiling", ("urlr.move.x", "no record"))
    assert doctor() == 0
    assert "smiling: 1 record of who was champion when" in doctor.said("registry", "warning")


def test_no_more_champions_are_loaded_than_it_says(doctor, champions, monkeypatch):
    assert MOST == 20
    monkeypatch.setattr("tasks.doctor.champions.MOST", 1)
    first, last = (champions.champion(name) for name in ("smiling", "food/sweet"))
    (kept(first) / "model" / "model.npz").write_bytes(b"broken")
    assert doctor() == 0
    said = doctor.said("registry", "ok")
    assert "2 champions, of which the 1 that moved last were loaded" in said
    (kept(last) / "model" / "model.npz").write_bytes(b"broken")
    assert doctor() == 1
    assert "champion of food/sweet: " in doctor.said("registry", "problem")
    assert "champion of smiling: " not in doctor.said("registry", "problem")


def test_a_file_that_is_no_registry_is_a_problem(doctor):
    Path("urlr-registry").mkdir()
    Path("urlr-registry/mlflow.db").write_text("no database")
    assert doctor() == 1
    assert "is not a database of MLflow" in doctor.said("registry", "problem")


def test_a_port_that_may_not_be_listened_on_is_a_problem_that_says_what_to_allow(
    doctor, monkeypatch
):
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(socket, "create_server", refused)
    assert doctor() == 1
    assert doctor.problems == ["sockets"]
    assert doctor.said("sockets", "problem") == (
        "a port on 127.0.0.1 cannot be used (Operation not permitted); let this user listen and "
        "connect on the loopback interface"
    )


class _Refuses(BaseHTTPRequestHandler):
    """A server that wants another password."""

    def do_GET(self) -> None:
        self.send_error(401, "Unauthorized")


def test_prefect_that_wants_another_password_is_a_problem_that_says_which(away):
    with answering(_Refuses) as place:
        done = away(
            "doctor",
            PREFECT_API_URL=f"http://{place}/api",
            PREFECT_API_AUTH_STRING="me:hunter22",
        )
    assert done.returncode == 1
    *_, said, last = done.stdout.splitlines()
    assert said.startswith("problem  prefect   Prefect's API at http://127.0.0.1:")
    assert said.endswith("refuses us; check PREFECT_API_AUTH_STRING or PREFECT_API_KEY.")
    assert last == "1 problem, 1 warning: do what the lines say, and run `urlr doctor` again."
    assert "hunter22" not in done.stdout + done.stderr


def test_a_package_that_cannot_be_loaded_is_told_and_what_can_be_is_looked_at(away, tmp_path):
    """An environment in disorder, in which no other command runs."""
    broken = tmp_path / "broken" / "pandas"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('not of this Python', name='pandas')\n")
    path = f"{broken.parent}{os.pathsep}{ROOT}"
    done = away("doctor", "--json", PYTHONPATH=path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    assert said["versions"]["state"] == "ok"
    assert "an import of pandas fails" in said["settings"]["found"]
    assert "constraints.txt" in said["settings"]["do"]
    assert said["sockets"]["state"] == "ok"
