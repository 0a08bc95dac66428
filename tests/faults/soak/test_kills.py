"""The flow's process is killed at every step of a night, each time as if none had been before."""

from collections.abc import Iterator

import pytest
from cases import passed
from judge import Bytes, Seen, judge_again
from kills import NEW, OLD, Kept, Kill, kept_after_a_night
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from test_killed import STEPS

pytestmark = [pytest.mark.soak, MLFLOW_WARNS]

GROUP = "the flow is killed by SIGKILL"
POINTS = STEPS | {
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
FIRST_MODELS = {
    "first model: registered, not yet verified": Kill(
        "tasks.registry.verifying:Verifier.verify", NEW
    ),
    "first model: move recorded, alias not moved": Kill(
        "tasks.registry.mlflow_client:Mlflow.set_alias", NEW
    ),
}
RECORDED = {
    "the record written, report/latest.html not": Kill("flows.night:point_to"),
    "all written, the lease not given back": Kill("flows.night:point_to", when="after"),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi) -> Iterator[Kept]:
    with kept_after_a_night(tmp_path_factory.mktemp("killed") / "site", prefect_api) as found:
        yield found


@pytest.mark.parametrize("point", POINTS)
def test_after_a_kill_a_champion_serves_and_the_next_night_is_clean(
    kept: Kept, two_clean_nights: Bytes, point: str
) -> None:
    kept.put_back()
    kill, site = POINTS[point], kept.site
    found = kept.killed(kill)
    assert found.champion == (2 if kill.moved else 1)
    assert (found.scores == kept.scores) is not kill.moved
    assert found.n_records == 1
    night = judge_again(site, site.night(), two_clean_nights)
    for attribute, numbers in ((OLD, [1, 2]), (NEW, [1])):
        assert [one.number for one in site.registry.versions(attribute)] == numbers
    which = "new" if kill.moved else "old"
    said = f"the {which} champion serves; the next night: {night.entries[OLD].reason}"
    passed(GROUP, point, Seen("killed, then completed", said))


@pytest.mark.parametrize("point", FIRST_MODELS)
def test_a_first_model_serves_when_it_is_verified_and_not_before(
    kept: Kept, two_clean_nights: Bytes, point: str
) -> None:
    kept.put_back()
    site = kept.site
    kept.killed(FIRST_MODELS[point])
    assert site.registry.champion(NEW) is None
    night = judge_again(site, site.night(), two_clean_nights)
    assert [one.number for one in site.registry.versions(NEW)] == [1]
    said = f"nothing serves yet; the next night: {night.entries[NEW].reason}"
    passed(GROUP, point, Seen("killed, then completed", said))


@pytest.mark.parametrize("point", RECORDED)
def test_a_record_that_was_written_counts_whatever_was_left_to_do(
    kept: Kept, two_clean_nights: Bytes, point: str
) -> None:
    """The night is done, and the next has no work."""
    kept.put_back()
    site = kept.site
    found = kept.killed(RECORDED[point])
    assert (found.champion, found.n_records) == (2, 2)
    night = judge_again(site, site.night(), two_clean_nights)
    assert {one.outcome for one in night.tonight()} == {"unchanged"}
    assert night.run.encode() in site.store.read("report/latest.html")
    seen = Seen("killed, then completed", "the new champion serves; the next night: unchanged")
    passed(GROUP, point, seen)
