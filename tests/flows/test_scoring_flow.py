"""`urlr score` by the champions of a registry: all at once on workers, or one."""

import shutil
import signal
from pathlib import Path

import pandas as pd
import pytest
from commands import Fault, Urlr
from in_process import Bench
from pipeline import PATIENCE, Place, PrefectApi, only_progress
from registries import MLFLOW_WARNS, fitted, moved, registered
from waiting import until

from flows.messages import message
from tasks.messages import message as of_tasks

pytestmark = [MLFLOW_WARNS, pytest.mark.full]

ATTRIBUTES = {"smiling": 1, "interestingness/food": 3}
"""How many versions of each there are; the last is champion."""
LIVE = {"smiling": 1, "interestingness/food": 2}
"""After a rollback."""


@pytest.fixture(scope="module")
def place(new_place, tables) -> Place:
    """A registry with champions, one of them not the last version, and a table of features."""
    made: Place = new_place(URLR_WORKERS="2")
    kept = made.directory / "urlr-registry"
    kept.mkdir()
    shutil.copy(tables, kept)
    registry = made.registry
    registry.prepare()
    for attribute, count in ATTRIBUTES.items():
        moved(registry, registered(registry, attribute, count))
    registry.rollback("interestingness/food", run="by hand", why="for tests")
    assert made.champions() == LIVE
    fitted(0, features=True)[1].to_parquet(made.directory / "features.parquet")
    return made


def test_all_champions_score_as_each_does_alone(place, prefect_api: PrefectApi):
    def alone(attribute: str, out: str):
        here = Bench(place.directory, place.store, place.environment)
        return here.urlr("score", "--attribute", attribute, "features.parquet", "--out", out)

    every = place.urlr("score", "features.parquet", "--out", "every.parquet")
    smiling = alone("smiling", "smiling.parquet")
    food = alone("interestingness/food", "food.parquet")
    assert [every.returncode, smiling.returncode, food.returncode] == [0, 0, 0], every.stderr
    assert only_progress(every.stderr), every.stderr
    items = pd.read_parquet(place.directory / "features.parquet")["item"]
    scores = pd.read_parquet(place.directory / "every.parquet")
    assert list(scores.columns) == ["item", "attribute", "version", "score"]
    assert len(scores) == len(items) * len(LIVE)
    for attribute, out in (("smiling", "smiling"), ("interestingness/food", "food")):
        ours = scores[scores["attribute"] == attribute].set_index("item")
        one = pd.read_parquet(place.directory / f"{out}.parquet").set_index("item")
        assert (ours["version"] == LIVE[attribute]).all()
        assert (one["version"] == LIVE[attribute]).all()
        assert set(ours.index) == set(one.index) == set(items)
        pd.testing.assert_series_equal(
            ours["score"].sort_index(), one["score"].sort_index(), check_index_type=False
        )
    assert every.stdout.splitlines()[0] == of_tasks(
        "scored", items=len(items), able=2, models=2, path="every.parquet", scores=len(scores)
    )
    runs = prefect_api.ask("flow_runs", flows={"name": {"any_": ["scoring"]}})
    (run,) = (run for run in runs if run["parameters"]["out"] == "every.parquet")
    assert run["state_name"] == "Completed"
    assert "scoring-summary" in prefect_api.artifacts(run)


def test_a_misspelt_attribute_is_told_the_nearest(place):
    here = Bench(place.directory, place.store, place.environment)
    done = here.urlr("score", "--attribute", "smilling", "features.parquet", "--out", "no.csv")
    assert done.returncode == 1
    wanted = of_tasks("no_champion_but_near", names=["smilling"], near=["smiling"])
    assert (done.stdout, done.stderr) == ("", f"urlr: {wanted}\n")
    assert not (place.directory / "no.csv").exists()


@pytest.mark.parametrize(
    ("sent", "to_all"), [(signal.SIGTERM, False), (signal.SIGINT, True)], ids=["SIGTERM", "Ctrl-C"]
)
@pytest.mark.parametrize("options", [(), ("--attribute", "smiling")], ids=["all", "one"])
def test_a_scoring_that_is_stopped_leaves_no_output_and_no_process(
    place, urlr: Urlr, tmp_path: Path, sent, to_all, options
):
    hung = "tasks.score_table:ranked" if options else "tasks.score:_scores"
    hang = Fault(hung, "hang", tmp_path / "marks")
    features, registry = (place.directory / name for name in ("features.parquet", "urlr-registry"))
    running = urlr.start(
        *("score", *options, str(features), "--out", "scores.parquet"),
        faults=(hang,),
        URLR_REGISTRY=str(registry),
    )
    until(lambda: hang.struck or running.process.poll() is not None, seconds=PATIENCE)
    done = running.end(signal_sent=sent, to_all=to_all)
    assert (done.code, done.out) == (130, ""), done
    assert done.complaint == f"urlr: {message('stopped_early')}"
    assert list(urlr.work.iterdir()) == []


def test_a_scoring_that_takes_longer_than_a_night_may_is_given_up(place, urlr: Urlr, tmp_path):
    hang = Fault("tasks.score:_scores", "hang", tmp_path / "marks")
    features, registry = (place.directory / name for name in ("features.parquet", "urlr-registry"))
    done = urlr(
        *("score", str(features), "--out", "scores.parquet", "--quiet"),
        faults=(hang,),
        URLR_REGISTRY=str(registry),
        URLR_NIGHT_DEADLINE="1",
    )
    assert (done.code, done.out) == (1, ""), done
    assert done.complaint == f"urlr: {of_tasks('took_too_long', what='scoring', seconds=1.0)}"
    assert list(urlr.work.iterdir()) == []
