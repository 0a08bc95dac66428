"""Further points at which the flow's process is killed, between the steps of publishing."""

import pytest
from cases import passed
from judge import Bytes, Seen, judge_again
from kills import NEW, OLD, Kill, killed_one_after_the_other
from pipeline import PrefectApi
from registries import MLFLOW_WARNS

pytestmark = MLFLOW_WARNS

POINTS = {
    "the lease taken, nothing begun": Kill("flows.night_start:discover"),
    "begun, no worker started": Kill("flows.night_start:_staff"),
    "the first result file written": Kill(
        "tasks.store:Store.create", f"*/attributes/{OLD}/*", of_flow=True, when="after"
    ),
    "files kept, version not registered": Kill(
        "tasks.registry.mlflow_client:Mlflow.create_version", OLD
    ),
    "version registered, not yet told of": Kill(
        "tasks.registry.mlflow_client:Mlflow.create_version", OLD, when="after"
    ),
    "verified": Kill("tasks.registry.verifying:Verifier.verify", OLD, when="after"),
    "move recorded": Kill("tasks.registry.mlflow_client:Mlflow.tag_model", OLD, when="after"),
    "alias moved, not noted as done": Kill(
        "tasks.registry.mlflow_client:Mlflow.set_alias", OLD, when="after", moved=True
    ),
    "the table of tau written": Kill(
        "tasks.store:Store.create", "*/tau.csv", when="after", moved=True
    ),
    "the overview written": Kill("flows.night:write_overview", when="after", moved=True),
    "the record not written": Kill("tasks.store:Store.create", "*/run.json", moved=True),
}


def test_kills_between_the_steps(
    tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    with killed_one_after_the_other(
        tmp_path_factory.mktemp("killed"), prefect_api, POINTS
    ) as story:
        night = judge_again(story.site, story.last, two_clean_nights)
        for point, kill in POINTS.items():
            found = story.kills[point]
            assert found.champion == (2 if kill.moved else 1), point
            assert found.scores == (story.scores if kill.moved else story.first), point
            assert found.n_records == 1, point
        registry = story.site.registry
        assert [one.number for one in registry.versions(OLD)] == [1, 2]
        assert [one.number for one in registry.versions(NEW)] == [1]
        for point, kill in POINTS.items():
            which = "new" if kill.moved else "old"
            said = f"the {which} champion serves; the next night: {night.entries[OLD].reason}"
            passed("the flow is killed by SIGKILL", point, Seen("killed, then completed", said))


def test_a_record_that_was_written_counts_though_nothing_points_to_it(
    tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi
) -> None:
    """Killed after the very last object but one: the night is done, and the next has no work."""
    point = {"the record written, report/latest.html not": Kill("flows.night:point_to", moved=True)}
    with killed_one_after_the_other(tmp_path_factory.mktemp("killed"), prefect_api, point) as story:
        site = story.site
        [(name, found)] = story.kills.items()
        assert (found.champion, found.n_records) == (2, 2)
        assert story.last.code == 0, story.last
        outcomes = {one.outcome for one in site.record.tonight()}
        assert outcomes == {"unchanged"}
        assert site.record.run.encode() in site.store.read("report/latest.html")
        seen = Seen("killed, then completed", "the new champion serves; the next night: unchanged")
        passed("the flow is killed by SIGKILL", name, seen)
