"""What lies under deploy/ for Prefect, put to work on a real server by a real worker.

One server for all tests here. In order: everything is deployed; the cron of the night is changed to
every ten seconds in a copy, and a night starts by itself; somebody asks for one attribute, and for
scores; people look at Prefect's pages; a night dies.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from commands import Fault, Running, command_in
from deploying import OVER, Alerts, Team, listening, working
from launching import launched
from pipeline import PATIENCE, ROOT, clean_environment, prefect_server
from registries import MLFLOW_WARNS
from sentences import like
from stored_votes import put, simulated
from waiting import until

from tasks.lease import Holder, held_by, taken
from tasks.runs import past_of
from tasks.store import Store

pytestmark = [MLFLOW_WARNS, pytest.mark.full]

DEPLOY = ROOT / "deploy"
AUTOMATIONS = sorted((DEPLOY / "automations").glob("*.yaml"))
PLACEHOLDER = "00000000-0000-0000-0000-000000000000"
EVERY_TEN_SECONDS = "* * * * * */10"
SOON = 10
"""Seconds that the server waits at least before it misses anything."""
EAGER = {"PREFECT_SERVER_SERVICES_SCHEDULER_RECENT_DEPLOYMENTS_LOOP_SECONDS": "1"}
QUICK = {"URLR_WORKERS": "1", "URLR_FIT__REPLICATES": "0", "URLR_FIT__CURVED": "false"}
MAKE_BLOCK = """\
import os
from prefect.blocks.notifications import CustomWebhookNotificationBlock as Block
block = Block(
    name="urlr",
    url="{{address}}",
    secrets={"address": os.environ["ALERT_URL"]},
    json_data={"text": "{{subject}}\\n{{body}}"},
)
print(block.save("urlr-alerts", overwrite=True))
"""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, prefect_tables: Path) -> Iterator[Team]:
    place = tmp_path_factory.mktemp("deployment")
    (place / "server").mkdir()
    store = Store.at(place / "store")
    put(store, "votes/good/1.csv", simulated().votes)
    put(store, "votes/few/1.csv", simulated(n_items=4).votes.head(12))
    with prefect_server(place / "server", prefect_tables, **EAGER) as api:
        environment = clean_environment(place) | {
            "PREFECT_HOME": str(place / "client"),
            "PREFECT_API_URL": api.address,
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "URLR_STORE": store.url,
            "URLR_REGISTRY": str(place / "registry"),
            "OPENBLAS_NUM_THREADS": "1",
        }
        yield Team(api, store, environment | QUICK, place)


@pytest.fixture(scope="module")
def deployed(team: Team) -> dict[str, dict[str, Any]]:
    """All deployments as the file says, read back."""
    team.prefect(
        "work-pool create urlr --type process",
        "--no-prompt deploy --prefect-file deploy/prefect.yaml --all",
    )
    return team.deployments()


def copied(path: Path, to: Path, *, block: str) -> Path:
    """A copy of an automation that names a block; the deadline of a night comes soon."""
    made = yaml.safe_load(path.read_text().replace(PLACEHOLDER, block))
    if path.stem == "no-night":
        made["trigger"]["within"] = SOON
    to.write_text(yaml.safe_dump(made))
    return to


@pytest.fixture(scope="module")
def alerts(team: Team, deployed: dict[str, Any]) -> Iterator[Alerts]:
    """Every automation from its file, by Prefect's command; the deadline of a night comes soon."""
    texts: list[str] = []
    with listening(texts) as address:
        block = team.python("-c", MAKE_BLOCK, ALERT_URL=address).strip()
        (team.home / "automations").mkdir()
        copies = [
            copied(path, team.home / "automations" / path.name, block=block) for path in AUTOMATIONS
        ]
        team.prefect(*(f"automation create --from-file {copy}" for copy in copies))
        yield Alerts(block, texts)


@dataclass(frozen=True)
class Worked:
    """Runs that a worker did, each with its end; the others are ids."""

    scheduled: str
    second: str
    one: str
    scoring: str


@pytest.fixture(scope="module")
def worked(team: Team, deployed: dict[str, Any]) -> Iterator[Worked]:
    """A night that started by itself, another that came too early, one attribute, and scores."""
    copy = team.home / "prefect.yaml"
    text = (DEPLOY / "prefect.yaml").read_text()
    assert '"0 3 * * *"' in text
    copy.write_text(text.replace('"0 3 * * *"', f'"{EVERY_TEN_SECONDS}"'))
    with working(team):
        team.prefect(f"--no-prompt deploy --prefect-file {copy} -n nightly")
        nightly = team.deployments()["nightly"]
        yield from _worked(team, nightly)


def _worked(team: Team, nightly: dict[str, Any]) -> Iterator[Worked]:
    def at_work() -> list[dict[str, Any]]:
        # One that comes while another is at work is cancelled.
        busy = {"state": {"type": {"any_": ["RUNNING", *(set(OVER) - {"CANCELLED"})]}}}
        return team.api.ask("flow_runs", flow_runs=busy, sort="START_TIME_ASC")

    until(at_work, "a night began by itself", seconds=PATIENCE)
    scheduled = at_work()[0]
    assert scheduled["deployment_id"] == nightly["id"]
    second = team.run(nightly)
    for one in nightly["schedules"]:
        path = f"deployments/{nightly['id']}/schedules/{one['id']}"
        team.ask(path, {"active": False}, method="PATCH")
    team.ended(scheduled["id"])
    team.ended(second)
    put(team.store, "votes/good/2.csv", simulated(seed=1).votes)
    one = team.run(
        team.deployments()["one-attribute"], store=team.store.url, only=["good"], force=True
    )
    team.ended(one)
    simulated().features.to_csv(team.home / "features.csv")
    scoring = team.run(
        team.deployments()["scoring"],
        features=str(team.home / "features.csv"),
        out=str(team.home / "scores.parquet"),
    )
    team.ended(scoring)
    yield Worked(scheduled["id"], second, one, scoring)


@pytest.mark.parametrize(
    "what", ["flows", "flow_runs", "task_runs", "deployments", "work_pools", "artifacts"]
)
def test_filters_that_say_nothing_are_answered(team, what):
    """Some versions of the server's libraries refuse them, and so every `prefect ... ls`."""
    nothing = dict.fromkeys(("flows", "flow_runs", "task_runs", "deployments", "work_pools"))
    assert isinstance(team.api.ask(what, **nothing), list)


def test_all_deployments_are_there_and_do_one_thing_at_a_time(deployed):
    assert set(deployed) == {"nightly", "one-attribute", "scoring"}
    for one in deployed.values():
        assert one["global_concurrency_limit"]["limit"] == 1
        assert one["work_pool_name"] == "urlr"
    strategies = {name: one["concurrency_options"] for name, one in deployed.items()}
    assert {name: one["collision_strategy"] for name, one in strategies.items()} == {
        "nightly": "CANCEL_NEW",
        "one-attribute": "ENQUEUE",
        "scoring": "ENQUEUE",
    }


def test_only_the_night_has_a_schedule_and_it_names_its_time_zone(deployed):
    schedules = {
        name: [(one["schedule"]["cron"], one["schedule"]["timezone"]) for one in each["schedules"]]
        for name, each in deployed.items()
    }
    assert schedules == {"nightly": [("0 3 * * *", "UTC")], "one-attribute": [], "scoring": []}


def test_one_attribute_without_a_name_is_no_night_of_all(deployed):
    assert deployed["one-attribute"]["parameters"]["only"] == ["name/an-attribute"]


def test_automations_are_created_from_their_files(team, alerts):
    made = {one["name"]: one for one in team.api.ask("automations")}
    for path in AUTOMATIONS:
        wanted = yaml.safe_load(path.read_text())
        found = made[wanted["name"]]
        assert found["enabled"]
        for part in ("posture", "threshold"):
            assert found["trigger"][part] == wanted["trigger"][part]
        for part in ("expect", "after", "for_each"):
            assert set(found["trigger"][part]) == set(wanted["trigger"].get(part, ()))
        for part in ("match", "match_related"):
            assert found["trigger"][part] == wanted["trigger"].get(part, {})
        waits = SOON if path.stem == "no-night" else wanted["trigger"]["within"]
        assert found["trigger"]["within"] == waits
        kinds = [action["type"] for action in found["actions"]]
        assert kinds == [action["type"] for action in wanted["actions"]]
        assert {one["block_document_id"] for one in found["actions"] if "subject" in one} <= {
            alerts.block
        }
    assert len(made) == len(AUTOMATIONS) == 4


def test_a_night_is_missed_after_26_hours_and_dead_after_ten_minutes_of_silence():
    within = {
        path.stem: yaml.safe_load(path.read_text())["trigger"]["within"] for path in AUTOMATIONS
    }
    assert within == {
        "no-night": 26 * 3600,
        "night-died": 600,
        "night-failed": 0,
        "attention": 0,
    }


def test_the_schedule_starts_a_night_by_itself(team, alerts, worked):
    run = team.ask(f"flow_runs/{worked.scheduled}")
    assert run["auto_scheduled"]
    assert run["state_name"] == "Completed"
    assert run["state"]["message"] == "2 attributes done"
    assert team.api.task_states(run) == [("few", "Held"), ("good", "Published")]


def test_a_night_that_comes_while_another_is_at_work_is_cancelled(team, alerts, worked):
    assert team.state(worked.second) == (
        "CANCELLED",
        "Cancelled",
        "Deployment concurrency limit reached.",
    )


def test_one_attribute_is_worked_on_when_asked_for(team, alerts, worked):
    run = team.ask(f"flow_runs/{worked.one}")
    assert run["state_name"] == "Completed"
    assert team.api.task_states(run) == [("good", "Published")]
    artifacts = team.api.artifacts(run)
    assert set(artifacts) == {"nightly-progress", "kendall-tau", "nightly-summary"}
    assert "good" in artifacts["kendall-tau"]
    night = past_of(team.store).last
    assert night is not None
    assert night.only == ("good",)


def test_a_table_is_scored_when_asked_for(team, alerts, worked):
    run = team.ask(f"flow_runs/{worked.scoring}")
    assert run["state_name"] == "Completed", run["state"]["message"]
    assert set(team.api.artifacts(run)) == {"scoring-summary"}
    scores = pd.read_parquet(team.home / "scores.parquet")
    assert set(scores["attribute"]) == {"good"}
    assert (scores["version"] == 2).all()
    assert set(scores["item"]) == set(simulated().features.index)


def test_people_see_attributes_and_their_tau_on_prefects_pages(team, alerts, worked, tmp_path):
    """Pictures of them are kept where PICTURES_OF_TESTS says."""
    pictures = Path(os.environ.get("PICTURES_OF_TESTS", tmp_path))
    run = team.ask(f"flow_runs/{worked.scheduled}")
    team.api.task_states(run)
    within = {"id": {"any_": [run["id"]]}}
    [tau] = [
        one for one in team.api.ask("artifacts", flow_runs=within) if one["key"] == "kendall-tau"
    ]
    server = team.api.address.removesuffix("/api")
    with launched() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(60_000)
        page.route(lambda url: not url.startswith(f"{server}/"), lambda route: route.abort())
        page.goto(f"{server}/v2/runs/flow-run/{run['id']}")
        page.get_by_role("tab", name="Task Runs").click()
        for attribute, state in (("few", "Held"), ("good", "Published")):
            named = page.get_by_role("link", name=attribute, exact=True)
            card = page.get_by_role("listitem").filter(has=named).filter(has_text=state)
            card.first.wait_for()
        page.screenshot(path=pictures / "prefect-night.png")
        page.get_by_role("tab", name="Artifacts").click()
        page.get_by_text("kendall-tau", exact=True).wait_for()
        page.goto(f"{server}/v2/artifacts/artifact/{tau['id']}")
        page.get_by_role("cell", name="good", exact=True).wait_for()
        page.screenshot(path=pictures / "prefect-tau.png")


def test_a_whole_night_is_told_as_published_and_one_attribute_is_not(team, alerts, worked):
    until(lambda: team.events("urlr.night.attention"), "the night is told of")
    [published] = team.events("urlr.night.published")
    run = published["payload"]["run"]
    assert published["resource"]["prefect.resource.id"] == f"urlr.night.{run}"
    assert published["resource"]["urlr.store"] == team.store.url
    counts = {name: published["payload"][name] for name in ("published", "held", "failed")}
    assert counts == {"published": 1, "held": 1, "failed": 0}
    related = {one["prefect.resource.id"] for one in published["related"]}
    assert f"prefect.flow-run.{worked.scheduled}" in related


def test_a_held_model_is_told_of_by_name_and_once_a_night(team, alerts, worked):
    until(lambda: team.events("urlr.night.attention"), "the night is told of")
    [held] = team.events("urlr.gate.held")
    assert held["resource"]["prefect.resource.id"] == "urlr.attribute.few"
    assert held["payload"]["reason"].startswith("held: only ")
    text = alerts.wait_for("1 held, 0 worse")
    assert "Held: few" in text


def test_people_are_told_when_no_night_was_published_in_time(team, alerts, worked):
    text = alerts.wait_for("no night published for 26 hours")
    [published] = team.events("urlr.night.published")
    assert published["payload"]["run"] in text
    assert team.store.url in text


def test_a_night_that_is_refused_ends_as_failed_and_is_told_of(team, alerts, tmp_path):
    store = Store.at(tmp_path / "store")
    put(store, "votes/good/1.csv", simulated().votes)
    command = command_in(tmp_path / "urlr", team.api.address)
    with taken(store, Holder.here("another")):
        lease = held_by(store)
        done = command("nightly", "--store", store.url)
    command.close()
    assert lease.run == "another"
    assert done.code == 1, done
    [run] = team.api.flow_runs(store)
    assert run["state_type"] == "FAILED"
    [held] = like("tasks", "store_held", store=store.url, holder=lease).findall(
        run["state"]["message"]
    )
    assert run["name"] in alerts.wait_for("ended as Failed", held)


@pytest.fixture
def dying(team: Team, alerts: Alerts, worked: Worked, tmp_path: Path) -> Iterator[Running]:
    """A night at work, whose deadline for a sign of life comes soon."""
    name = yaml.safe_load((DEPLOY / "automations" / "night-died.yaml").read_text())["name"]
    [died] = [one for one in team.api.ask("automations") if one["name"] == name]
    died["trigger"]["within"] = SOON
    kept = ("name", "description", "enabled", "tags", "trigger", "actions")
    changed = {part: died[part] for part in kept}
    team.ask(f"automations/{died['id']}", changed, method="PUT")
    store = Store.at(tmp_path / "store")
    put(store, "votes/slow/1.csv", simulated().votes)
    command = command_in(tmp_path / "urlr", team.api.address)
    slow = Fault("tasks.train:_computed", "hang", tmp_path / "marks", attribute="slow")
    yield command.start("nightly", "--store", store.url, faults=(slow,))
    command.close()


def test_a_night_that_dies_without_a_word_is_marked_crashed_and_told_of(team, alerts, dying):
    def running() -> list[dict[str, Any]]:
        busy = {"state": {"type": {"any_": ["RUNNING"]}}}
        return team.api.ask("flow_runs", flow_runs=busy)

    until(running, "the night is at work", seconds=PATIENCE)
    [run] = running()

    def beats() -> list[dict[str, Any]]:
        found = team.events("prefect.flow-run.heartbeat")
        own = f"prefect.flow-run.{run['id']}"
        return [one for one in found if one["resource"]["prefect.resource.id"] == own]

    until(beats, "the night gave a sign of life", seconds=PATIENCE)
    os.killpg(dying.process.pid, signal.SIGKILL)
    died = yaml.safe_load((DEPLOY / "automations" / "night-died.yaml").read_text())
    [action] = died["actions"]
    assert team.ended(run["id"]) == ("CRASHED", "Crashed", action["message"])
    text = alerts.wait_for("ended as Crashed")
    assert run["name"] in text
    assert "no sign of life" in text


def test_a_served_night_has_its_time_zone_and_one_place(team, deployed, tmp_path):
    command = command_in(tmp_path / "urlr", team.api.address)
    words = ("--store", team.store.url, "--timezone", "Europe/Berlin", "--cron", "30 2 * * *")
    serving = command.start("serve", *words)

    def served() -> dict[str, Any]:
        return team.deployments().get("served", {})

    until(lambda: served() or serving.process.poll() is not None, "served", seconds=PATIENCE)
    found = served()
    done = serving.end(signal_sent=signal.SIGTERM)
    command.close()
    assert (done.code, done.err) == (0, "")
    assert [one["schedule"]["cron"] for one in found["schedules"] if one["active"]] == [
        "30 2 * * *"
    ]
    assert {one["schedule"]["timezone"] for one in found["schedules"]} == {"Europe/Berlin"}
    assert found["global_concurrency_limit"]["limit"] == 1
    assert found["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    assert found["parameters"] == {"store": team.store.url}
