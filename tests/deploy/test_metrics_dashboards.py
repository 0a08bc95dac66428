"""Dashboards and alerts on the figures of a real night, by Prometheus' own programs."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from monitoring import (
    DASHBOARDS,
    ROOT,
    Prometheus,
    collected,
    metrics_in,
    prometheus,
    promtool,
    served,
)
from nights import samples
from pipeline import Ran
from registries import MLFLOW_WARNS
from small_stores import SETTINGS, write_small_store
from waiting import until

from tasks.freshness import earlier_nights
from tasks.metrics import METRICS, night_metrics, write_textfile
from urlr.messages import message as of_method

pytestmark = MLFLOW_WARNS

BROKEN = "broken"
REJECTED = 3
RULES = yaml.safe_load((DASHBOARDS / "urlr-alerts.yml").read_text())["groups"][0]["rules"]
RULE_TESTS = yaml.safe_load((DASHBOARDS / "urlr-alerts.test.yml").read_text())["tests"]
BOARD = json.loads((DASHBOARDS / "grafana-urlr.json").read_text())
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
RUNBOOK = (ROOT / "docs" / "operations.md").read_text()


def expressions() -> dict[str, str]:
    """Every expression of rules, of queries in their texts, and of the dashboard, by its place."""
    found = {}
    for rule in RULES:
        found[f"{rule['alert']}"] = rule["expr"]
        for k, text in enumerate(
            re.findall(r"printf `([^`]*)`", rule["annotations"]["description"])
        ):
            found[f"{rule['alert']} text {k}"] = text.replace("=%q", '=~".*"')
    for panel in PANELS:
        for target in panel["targets"]:
            found[f"{panel['title']} {target['refId']}"] = target["expr"]
    found |= {one["name"]: one["expr"] for one in BOARD["annotations"]["list"]}
    return found


EXPRESSIONS = expressions()


@dataclass(frozen=True)
class Watched:
    """A real night, its figures, and a Prometheus that reads them in two ways."""

    ran: Ran
    text: bytes
    server: Prometheus

    def series(self, job: str) -> dict[str, dict[tuple[str, ...], float]]:
        """All that Prometheus has of ours by one way, in the shape of `samples`."""
        found: dict[str, dict[tuple[str, ...], float]] = {}
        for one in self.server.query(f'{{__name__=~"urlr_.+",job="{job}"}}'):
            labels = dict(one["metric"])
            name = labels.pop("__name__")
            del labels["job"], labels["instance"]
            values = tuple(labels[key] for key in sorted(labels))
            found.setdefault(name, {})[values] = float(one["value"][1])
        return found


@pytest.fixture(scope="module")
def watched(new_bench, tmp_path_factory) -> Iterator[Watched]:
    """A night with a damaged dump and some rows that are no votes."""
    place = new_bench()
    write_small_store(place.store)
    for one in [*place.store.list("votes/faces"), *place.store.list("features")]:
        place.store.remove(one.key)  # two attributes are enough here
    place.store.create(f"votes/{BROKEN}/2024-01.parquet", b"PAR1, cut off")
    rows = ["item_a,item_b,outcome", *["p01,p01,a"] * REJECTED, "p01,p02,b"]
    place.store.create("votes/plain/2024-02.csv", "\n".join(rows).encode())
    (place.directory / "urlr.toml").write_text(SETTINGS)
    ran = place.night()
    text = night_metrics(ran.night, past=earlier_nights(place.store, before=ran.night.run))
    home = tmp_path_factory.mktemp("prometheus")
    (home / "textfiles").mkdir()
    write_textfile(text, home / "textfiles")
    with (
        served(text) as direct,
        collected(home / "textfiles") as exporter,
        prometheus(home, {"direct": direct, "textfile": exporter}) as server,
    ):
        watched = Watched(ran, text, server)
        until(
            lambda: watched.series("direct") and watched.series("textfile"),
            "both ways have been read",
        )
        yield watched


@pytest.mark.full
@pytest.mark.parametrize("job", ["direct", "textfile"])
def test_prometheus_reads_every_figure_of_a_real_night_as_written(watched, job):
    written = {name: values for name, values in samples(watched.text).items() if values}
    assert watched.series(job) == written
    assert set(written) <= set(METRICS)


@pytest.mark.full
def test_the_figures_are_those_of_the_record(watched):
    night = watched.ran.night
    states = watched.series("direct")["urlr_attributes"]
    outcomes = list(watched.ran.outcomes().values())
    assert states == {(name,): outcomes.count(name) for (name,) in states}
    assert states[("failed",)] == 1
    [rejected] = watched.server.query('urlr_rows{fate="rejected",job="direct"}')
    assert float(rejected["value"][1]) == REJECTED
    reasons = watched.series("direct")["urlr_rejected_rows"]
    assert reasons == {(of_method("self_comparison"),): REJECTED}
    [success] = watched.server.query('urlr_last_success_timestamp_seconds{job="direct"}')
    assert float(success["value"][1]) == pytest.approx(night.finished.timestamp(), abs=1e-3)
    [info] = watched.server.query('urlr_night_info{job="direct"}')
    assert (info["metric"]["run"], info["metric"]["state"]) == (night.run, "Partial")


@pytest.mark.full
def test_the_text_of_a_real_night_has_nothing_for_promtool_to_complain_of(watched):
    done = promtool("check", "metrics", given=watched.text)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


@pytest.mark.full
def test_an_alert_fires_in_prometheus_with_its_words_and_others_do_not(watched):
    def firing() -> dict[str, dict[str, Any]]:
        found = watched.server.ask("alerts")["alerts"]
        return {one["labels"]["alertname"]: one for one in found if one["state"] == "firing"}

    until(firing, "an alert fires")
    fired = firing()
    assert set(fired) == {"AttributesFailed"}
    assert fired["AttributesFailed"]["annotations"]["summary"] == "Attributes that failed: 1"
    assert [group["name"] for group in watched.server.ask("rules")["groups"]] == ["urlr"]


@pytest.mark.full
def test_every_expression_runs_and_finds_what_there_is(watched):
    sampled = {name for name, values in samples(watched.text).items() if values}
    found, expected = set(), set()
    for where, expression in EXPRESSIONS.items():
        if watched.server.query(expression.replace("$instance", ".+")):
            found.add(where)
        if metrics_in(expression).keys() <= sampled and not re.search("[<>]|==|absent", expression):
            expected.add(where)
    assert len(expected) > len(EXPRESSIONS) / 2
    assert sorted(expected - found) == []


@pytest.mark.parametrize("where", EXPRESSIONS)
def test_every_expression_names_metrics_and_labels_that_are_exported(where):
    found = metrics_in(EXPRESSIONS[where])
    assert found
    for name, labels in found.items():
        assert labels <= {"instance", *METRICS[name].labels}


def test_every_metric_is_shown_or_watched():
    named = {name for expression in EXPRESSIONS.values() for name in metrics_in(expression)}
    assert named == set(METRICS)


def test_promtool_finds_the_rules_valid():
    done = promtool("check", "rules", "urlr-alerts.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_fire_when_they_must_and_only_then():
    done = promtool("test", "rules", "urlr-alerts.test.yml")
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_rule_is_tested_both_ways_and_says_what_to_do(rule):
    name, said = rule["alert"], rule["annotations"]
    cases = [
        bool(case.get("exp_alerts"))
        for test in RULE_TESTS
        for case in test["alert_rule_test"]
        if case["alertname"] == name
    ]
    assert set(cases) == {True, False}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert set(said) == {"summary", "description", "runbook_url"}
    assert said["runbook_url"] == f"docs/operations.md#{name.lower()}"


def test_every_alert_has_a_heading_in_the_runbook_and_every_heading_an_alert():
    section = re.split(r"^## ", RUNBOOK.partition("\n## Alerts\n")[2], flags=re.M)[0]
    assert re.findall(r"^### (\w+)$", section, re.M) == [rule["alert"] for rule in RULES]


def test_the_dashboard_is_whole():
    assert (BOARD["uid"], BOARD["schemaVersion"]) == ("urlr-nights", 39)
    numbers = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    kinds = {one["name"]: one["type"] for one in BOARD["templating"]["list"]}
    assert kinds == {"datasource": "datasource", "instance": "query"}
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not taken & cells, panel["title"]
        taken |= cells
    height = 1 + max(y for _, y in taken)
    assert len(taken) == 24 * height  # no holes


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_panel_says_what_it_shows_in_which_unit_from_the_chosen_source(panel):
    assert panel["description"]
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults["unit"]
    first, *others = defaults["thresholds"]["steps"]
    assert first["value"] is None
    assert [one["value"] for one in others] == sorted(one["value"] for one in others)
    references = [target["refId"] for target in panel["targets"]]
    assert len(set(references)) == len(references) > 0
    for one in (panel, *panel["targets"]):
        assert one["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    for target in panel["targets"]:
        assert 'instance=~"$instance"' in target["expr"]
        labels = {label for name in metrics_in(target["expr"]) for label in METRICS[name].labels}
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= labels
