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
from flows.messages import message as of_flows
from flows.prefect_api import _named
from tasks.doctor.champions import MOST
from tasks.messages import message
from tasks.registry import Registry
from tasks.store import Store

pytestmark = MLFLOW_WARNS

EVERYTHING = [
    *("versions", "settings", "store", "votes", "lease", "clock", "registry"),
    *("sockets", "dask", "disk", "memory", "prefect"),
]
VOTES = b"winner,loser\na,b\nb,c\n"
HASTY = """
import sys
from flows import cli, prefect_api
prefect_api.ANSWER = 1.0
sys.exit(cli.main())
"""
"""The command, but that Prefect is not given half a minute to answer."""


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

    def codes(self, check: str, state: str) -> list[str]:
        """What was found, in codes, of findings of one state."""
        return [one["code"] for one in self._of(check, state)]

    def said(self, check: str, state: str) -> str:
        """What was found and what to do, of findings of one state."""
        return " | ".join(f"{one['found']}; {one['do']}" for one in self._of(check, state))

    def _of(self, check: str, state: str) -> list[dict[str, str]]:
        return [one for one in self.findings if one["check"] == check and one["state"] == state]

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
    assert doctor.codes("votes", "warning") == ["no_votes_in_store"]
    assert f"urlr-store {message('is_made_when_needed')}" in doctor.said("store", "ok")
    assert doctor.codes("registry", "ok") == ["no_registry_yet"]
    assert files() == []


def test_a_directory_with_votes_is_well_and_stays_as_it_is(doctor):
    store = Store.at("store")
    for name in ("smiling", "food/sweet"):
        store.create(f"votes/{name}/1.csv", VOTES)
    store.create("features/food/table.csv", b"item,x\na,1\n")
    before = files()
    assert doctor("--store", "store") == 0
    found = message("attributes_found", attributes=2, dumps=2, size="42 bytes", featured=1)
    assert found in doctor.said("votes", "ok")
    assert doctor.codes("clock", "ok") == ["clocks_agree_to_the_second"]
    assert doctor.said("store", "warning") == ""
    assert files() == before


def test_lines_and_the_object_say_the_same_and_the_last_line_that_all_is_well(doctor, command):
    Store.at("store").create("votes/smiling/1.csv", VOTES)
    assert doctor("--store", "store") == 0
    assert command("doctor", "--store", "store") == 0
    *lines, last = command.out.splitlines()
    assert last == of_flows("all_is_well")
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
    assert last == of_flows("warnings_found", counts="1 warning")


@pytest.mark.full
def test_a_bucket_that_honours_conditional_writes_is_well_and_stays_as_it_is(doctor, s3_store, s3):
    s3_store.create("votes/smiling/1.csv", VOTES)
    assert doctor("--store", s3_store.url) == 0
    assert doctor.codes("store", "ok") == ["store_usable", "writes_conditional"]
    assert doctor.codes("clock", "ok") == ["clocks_agree_to_the_second"]
    found = message("attributes_found", attributes=1, dumps=1, size="21 bytes", featured=0)
    assert found in doctor.said("votes", "ok")
    assert doctor.codes("store", "warning") == ["votes_writable"]
    bucket, _, prefix = s3_store.url.removeprefix("s3://").partition("/")
    client = s3.client()
    listed = client.list_objects_v2(Bucket=bucket)["Contents"]
    client.close()
    assert [one["Key"] for one in listed] == [f"{prefix}/votes/smiling/1.csv"]
    assert s3.secret not in doctor.text


@pytest.mark.full
def test_a_store_that_ignores_conditional_writes_is_a_problem(doctor, s3_store, s3, monkeypatch):
    with faulty(s3, Rule("strip", header="If-None-Match")) as careless:
        monkeypatch.setenv("AWS_ENDPOINT_URL", careless.front.endpoint)
        assert doctor("--store", s3_store.url) == 1
    assert doctor.problems == ["store"]
    assert doctor.codes("store", "problem") == ["writes_not_conditional"]
    assert message("use_another_store") in doctor.said("store", "problem")


@pytest.mark.full
def test_what_cannot_be_removed_is_named_so_that_somebody_can(doctor, s3_store, s3, monkeypatch):
    with faulty(s3, Rule("refuse", method="DELETE", status=403)) as keeping:
        monkeypatch.setenv("AWS_ENDPOINT_URL", keeping.front.endpoint)
        assert doctor("--store", s3_store.url) == 1
    said = doctor.said("store", "warning")
    assert doctor.codes("store", "warning")[:2] == ["probe_left_behind"] * 2
    assert f"{s3_store.url}/runs/scoring/.urlr-" in said
    assert f"{s3_store.url}/lease/.urlr-" in said
    assert doctor.codes("store", "problem") == ["access_denied"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("by", "state", "code"),
    [
        (timedelta(seconds=20), "ok", "clocks_agree"),
        (timedelta(minutes=-2), "warning", "clock_ahead"),
        (timedelta(minutes=10), "problem", "clock_behind"),
    ],
)
def test_a_clock_that_differs_from_the_stores_is_told(
    doctor, s3_store, s3, monkeypatch, by, state, code
):
    with faulty(s3, Rule("clock", shift=by)) as elsewhere:
        monkeypatch.setenv("AWS_ENDPOINT_URL", elsewhere.front.endpoint)
        doctor("--store", s3_store.url)
    assert doctor.states("clock") == [state]
    assert doctor.codes("clock", state) == [code]


@pytest.mark.full
def test_wrong_credentials_are_one_problem_and_not_shown(doctor, s3_store, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret-of-some-length")
    assert doctor("--store", s3_store.url) == 1
    assert doctor.problems == ["store"]
    assert doctor.codes("store", "problem") == ["access_denied"]
    for check in ("votes", "lease", "clock"):
        assert doctor.codes(check, "warning") == ["not_looked_at"]
    assert "a-wrong-secret" not in doctor.text
    assert os.environ["AWS_ACCESS_KEY_ID"] not in doctor.text


@pytest.mark.full
def test_an_endpoint_where_nobody_listens_is_one_problem(doctor, s3_store, monkeypatch):
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", nobody)
    monkeypatch.setenv("URLR_CALL_DEADLINE", "2")
    assert doctor("--store", s3_store.url) == 1
    assert doctor.problems == ["store"]
    assert doctor.codes("store", "problem") == ["store_unreachable"]
    assert nobody in doctor.said("store", "problem")


@pytest.mark.full
def test_servers_that_never_answer_are_left_in_time_and_the_command_ends(tmp_path, s3_server, away):
    """A store, a registry and Prefect that take a connection and say nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        at = f"127.0.0.1:{silent.getsockname()[1]}"
        done = away(
            *("doctor", "--json", "--store", "s3://bucket/prefix"),
            program=("-c", HASTY),
            **s3_server.environment | {"AWS_ENDPOINT_URL": f"http://{at}"},
            URLR_CALL_DEADLINE="1",
            URLR_REGISTRY=f"http://{at}",
            PREFECT_API_URL=f"http://{at}/api",
        )
    assert done.returncode == 1
    said = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    assert said["store"]["code"] == "no_answer_in_time"
    assert said["registry"]["code"] == "registry_silent"
    assert said["prefect"]["code"] == "prefect_silent"
    assert "Traceback" not in done.stderr


@pytest.fixture
def away(tmp_path):
    """The command as a process, with nothing set but what is given."""

    def run(
        *arguments: str, program: tuple[str, ...] = ("-m", "flows.cli"), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        retries = {name: "0" for name in _IMPATIENT if name.endswith("RETRIES")}
        impatient = dict.fromkeys(_IMPATIENT, "1") | retries
        return subprocess.run(
            [sys.executable, *program, *arguments],
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
    assert doctor.codes("settings", "problem") == ["not_a_setting"] * 3
    told = {one["found"]: one["do"] for one in doctor.findings if one["check"] == "settings"}
    for name, instead in (
        ("URLR_WORKRES", message("set_that_instead", name="URLR_WORKERS")),
        ("URLR_GAT__DROP", message("set_that_instead", name="URLR_GATE__DROP")),
        ("URLR_SOMETHING_ELSE_ENTIRELY", message("unset_it")),
    ):
        assert told[message("not_a_setting", name=name)] == instead
    assert "value-of-a-secret" not in doctor.text
    assert doctor.states("store") == ["ok", "ok"]


def test_a_setting_that_makes_no_sense_leaves_out_only_what_rests_on_it(doctor, monkeypatch):
    monkeypatch.setenv("URLR_WORKERS", "many")
    assert doctor() == 1
    assert doctor.problems == ["settings"]
    assert doctor.codes("settings", "problem") == ["setting_refused"]
    assert "URLR_WORKERS" in doctor.said("settings", "problem")
    why = message("settings_cannot_be_read")
    assert doctor.said("memory", "warning").startswith(message("not_looked_at", why=why))
    assert doctor.states("store") == ["ok", "ok"]


def test_a_store_with_a_password_in_its_address_is_refused_and_no_other_is_looked_at(doctor):
    assert doctor("--store", "s3://me:hunter22@bucket/prefix") == 1
    assert doctor.problems == ["settings"]
    assert doctor.codes("settings", "problem") == ["address_with_password"]
    assert doctor.codes("store", "warning") == ["not_looked_at"]
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
    assert doctor.codes("settings", "problem") == ["unreadable_settings_file"]
    assert "urlr.toml" in doctor.said("settings", "problem")
    assert doctor.codes("store", "warning") == ["not_looked_at"]


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


@pytest.mark.full
def test_champions_that_load_are_counted_and_nothing_is_changed(doctor, champions):
    before = files()
    assert doctor() == 0
    assert doctor.codes("registry", "ok") == ["champions_load", "registry_writable"]
    assert "2 champions" in doctor.said("registry", "ok")
    assert "mlflow.db" in doctor.said("registry", "ok")
    assert files() == before


@pytest.mark.full
def test_a_champion_whose_file_was_changed_is_a_problem_and_others_still_load(doctor, champions):
    version = champions.champion("smiling")
    (kept(version) / "model" / "model.npz").write_bytes(b"broken")
    assert doctor() == 1
    assert doctor.problems == ["registry"]
    assert doctor.codes("registry", "problem") == ["version_file_changed"]
    said = doctor.said("registry", "problem")
    assert said.startswith(f"{message('champion_of', attribute='smiling')}: {version.shown}: ")
    assert "model/model.npz" in said
    changed = message("version_file_changed", version=version.shown, name="model/model.npz")
    assert said.endswith(changed.rpartition("; ")[2].rstrip("."))


@pytest.mark.full
def test_a_record_of_a_champion_that_cannot_be_read_is_a_warning(doctor, champions):
    champions._mlflow.tag_model("smiling", ("urlr.move.x", "no record"))
    assert doctor() == 0
    assert doctor.codes("registry", "warning") == ["unreadable_records"]
    assert "smiling: 1 record" in doctor.said("registry", "warning")


@pytest.mark.full
def test_no_more_champions_are_loaded_than_it_says(doctor, champions, monkeypatch):
    assert MOST == 20
    monkeypatch.setattr("tasks.doctor.champions.MOST", 1)
    first, last = (champions.champion(name) for name in ("smiling", "food/sweet"))
    (kept(first) / "model" / "model.npz").write_bytes(b"broken")
    assert doctor() == 0
    assert doctor.codes("registry", "ok") == ["newest_champions_load", "registry_writable"]
    where = champions.uri.removeprefix("sqlite:///")
    loaded = message("newest_champions_load", registry=where, count=2, loaded=1)
    assert loaded in doctor.said("registry", "ok")
    (kept(last) / "model" / "model.npz").write_bytes(b"broken")
    assert doctor() == 1
    said = doctor.said("registry", "problem")
    assert f"{message('champion_of', attribute='food/sweet')}: " in said
    assert f"{message('champion_of', attribute='smiling')}: " not in said


def test_a_file_that_is_no_registry_is_a_problem(doctor):
    Path("urlr-registry").mkdir()
    Path("urlr-registry/mlflow.db").write_text("no database")
    assert doctor() == 1
    assert doctor.codes("registry", "problem") == ["not_an_mlflow_database"]


def test_a_port_that_may_not_be_listened_on_is_a_problem_that_says_what_to_allow(
    doctor, monkeypatch
):
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(socket, "create_server", refused)
    assert doctor() == 1
    assert doctor.problems == ["sockets"]
    found = message("no_loopback", why=os.strerror(errno.EPERM))
    assert doctor.said("sockets", "problem") == f"{found}; {message('let_use_loopback')}"


class _Refuses(BaseHTTPRequestHandler):
    """A server that wants another password."""

    def do_GET(self) -> None:
        self.send_error(401, "Unauthorized")


@pytest.mark.full
def test_prefect_that_wants_another_password_is_a_problem_that_says_which(away):
    with answering(_Refuses) as place:
        done = away(
            "doctor",
            PREFECT_API_URL=f"http://{place}/api",
            PREFECT_API_AUTH_STRING="me:hunter22",
        )
    assert done.returncode == 1
    *_, said, last = done.stdout.splitlines()
    refuses = of_flows("prefect_refuses", prefect=_named(f"http://{place}/api"))
    assert said == f"problem  prefect   {refuses}"
    assert last == of_flows("problems_found", counts="1 problem, 1 warning")
    assert "hunter22" not in done.stdout + done.stderr


@pytest.mark.full
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
    assert said["settings"]["code"] == "import_of_package_fails"
    assert "pandas" in said["settings"]["found"]
    assert said["settings"]["do"] == message("install_with_constraints")
    assert said["sockets"]["state"] == "ok"
