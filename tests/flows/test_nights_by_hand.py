"""Nights between which people step in: they freeze, thaw, roll back, and lose the registry.

Beside them lie attributes whose names mean harm, every night.
"""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from pipeline import Place, Ran
from registries import MLFLOW_WARNS
from sentences import like
from storage import free_ports
from stored_votes import put, simulated

from flows.messages import message
from tasks.messages import message as of_tasks
from tasks.names import encoded
from tasks.registry import Registry
from tasks.registry.served_model import MANIFEST
from urlr.settings import METHOD_VERSION

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

KEPT, BACK = "kept", "taken-back"
CLIMBING, MARKUP = "up\\..\\..\\x", "<img src<b>"
N_FIRST, N_MORE = 400, 150
NEW_REGISTRY = "new-registry"


@dataclass(frozen=True)
class Chain:
    place: Place
    nights: dict[str, Ran]
    etags: dict[str, str]
    """Of what was to be read in the second night, by key."""
    rolled_back: tuple[int, str, str]


@pytest.fixture(scope="module")
def chain(new_bench) -> Chain:
    """A night; one with KEPT frozen; BACK is rolled back; KEPT is thawed; new votes on BACK.

    It is rolled back again, and then the registry is lost: a night on KEPT alone, and one on all,
    where votes lie astray.
    """
    place: Place = new_bench(URLR_WORKERS="2", URLR_FIT__REPLICATES="0", URLR_FIT__CURVED="false")
    votes = simulated(n_votes=N_FIRST + 2 * N_MORE).votes
    first, second, third = (
        votes.iloc[start:stop]
        for start, stop in ((0, N_FIRST), (N_FIRST, N_FIRST + N_MORE), (N_FIRST + N_MORE, None))
    )
    put(place.store, f"features/{BACK}/t.csv", simulated().features.reset_index())
    for attribute in (KEPT, BACK, MARKUP):
        put(place.store, f"votes/{attribute}/1.csv", first)
    climbing = Path(place.store.url) / "votes" / CLIMBING  # our own store makes no such folder
    climbing.mkdir()
    (climbing / "1.csv").write_bytes(place.store.read(f"votes/{KEPT}/1.csv"))

    nights = {"first": place.night()}
    for attribute in (KEPT, BACK):
        put(place.store, f"votes/{attribute}/2.csv", second)
    etags = {one.key: one.etag for one in place.store.list("votes")}
    nights["frozen"] = place.night(URLR_FROZEN=f'["{KEPT}"]')
    away = f"http://127.0.0.1:{free_ports(1)[0]}"
    done = place.urlr("rollback", BACK, URLR_STORE="s3://nowhere", AWS_ENDPOINT_URL=away)
    nights["thawed"] = place.night()
    put(place.store, f"votes/{BACK}/3.csv", third)
    nights["new votes"] = place.night()
    again = place.urlr("rollback", BACK, "--to", "1")
    assert again.returncode == 0, again.stderr
    nights["back again"] = place.night()
    nights["lost, one"] = place.night("--only", KEPT, URLR_REGISTRY=NEW_REGISTRY)
    shutil.rmtree(climbing)
    put(place.store, "votes/astray.csv", first)
    nights["lost, all"] = place.night(URLR_REGISTRY=NEW_REGISTRY)
    return Chain(place, nights, etags, (done.returncode, done.stdout, done.stderr))


def test_a_frozen_attribute_is_computed_and_held(chain):
    entry = chain.nights["frozen"].entry(KEPT)
    assert (entry.outcome, entry.version, entry.live, entry.computed) == ("held", 2, 1, True)
    assert "URLR_FROZEN" in entry.reason


def test_a_thawed_attribute_goes_to_the_gate_again_and_nothing_is_computed_anew(chain):
    frozen, thawed = (chain.nights[name].entry(KEPT) for name in ("frozen", "thawed"))
    assert (thawed.outcome, thawed.version, thawed.live) == ("published", 2, 2)
    assert not thawed.computed
    assert (thawed.key, thawed.place) == (frozen.key, frozen.place)
    assert chain.place.registry.history(KEPT)[-1].run == chain.nights["thawed"].night.run


def test_a_rollback_works_without_the_store_of_votes(chain):
    code, out, err = chain.rolled_back
    assert (code, err) == (0, "")
    assert out == f"{message('rolled_back', attribute=BACK, to=1, before=2)}\n"


def test_a_rollback_stays_until_there_are_new_votes(chain):
    after = chain.nights["thawed"].entry(BACK)
    assert (after.outcome, after.live) == ("unchanged", 1)
    later = chain.nights["new votes"].entry(BACK)
    assert (later.computed, later.version, later.replaced) == (True, 3, 1)
    moves = chain.place.registry.history(BACK)
    assert [(one.before, one.to, one.rollback) for one in moves[:3]] == [
        (None, 1, False),
        (1, 2, False),
        (2, 1, True),
    ]


@pytest.mark.parametrize(("night", "version"), [("thawed", 2), ("back again", 3)])
def test_what_serves_is_told_where_it_is_not_what_was_published(chain, night, version):
    said = of_tasks("other_serves", attribute=BACK, version=version, live=1)
    ran = chain.nights[night]
    assert said in ran.out
    assert said in ran.overview(chain.place.store)
    [row] = [line for line in ran.out.splitlines() if line.startswith(f"{BACK} ")]
    assert "published" not in row


def test_what_served_when_the_registry_was_lost_serves_again(chain):
    """Also if a night before, which was on other attributes, found nothing that serves."""
    one, every = (chain.nights[name] for name in ("lost, one", "lost, all"))
    assert one.outcomes() == {KEPT: "published"}
    assert one.entry(MARKUP).live is None
    assert every.entry(KEPT).outcome == "unchanged"
    assert (every.entry(MARKUP).outcome, every.entry(MARKUP).live) == ("published", 1)
    assert not any(entry.computed for entry in (*one.night.tonight(), *every.night.tonight()))
    champions = Registry.at(chain.place.directory / NEW_REGISTRY).champions()
    assert {name: version.number for name, version in champions.items()} == {KEPT: 1, MARKUP: 1}


def test_what_was_rolled_back_when_the_registry_was_lost_is_held(chain):
    before, lost = (chain.nights[name].entry(BACK) for name in ("back again", "lost, all"))
    assert (before.live, before.version) == (1, 3)
    assert (lost.outcome, lost.rival_lost, lost.live) == ("held", True, None)
    assert lost.key == before.key
    assert lost.reason == of_tasks("held", finding=of_tasks("champion_lost"))


def test_votes_of_no_attribute_make_a_night_partial_and_are_told(chain):
    ran = chain.nights["lost, all"]
    assert (ran.code, ran.night.state) == (3, "Partial")
    parts = (message("some_done", done=3, total=3), message("objects_outside", count=1))
    assert ran.night.reason == message("partly_done", parts="; ".join(parts))
    [why] = ran.night.refused
    assert why == of_tasks("of_no_attribute", files=["votes/astray.csv"])
    assert message("left_aside", what=why) in ran.out
    assert not like("flows", "once_mended").search(ran.out), "there is nothing to run again"


def test_a_version_in_the_registry_says_what_it_is_made_of(chain):
    """Asked as anybody asks MLflow."""
    import mlflow

    ran = chain.nights["frozen"]
    entry = ran.entry(BACK)
    assert entry.outcome == "published"
    place = chain.place
    where = f"sqlite:///{place.directory / 'urlr-registry' / 'mlflow.db'}"
    client = mlflow.MlflowClient(tracking_uri=where, registry_uri=where)
    version = client.get_model_version(encoded(BACK), "2")
    used = [place.result(chain.nights[name].entry(BACK)).rows for name in ("first", "frozen")]
    more = sum(used[1][kind] - used[0][kind] for kind in ("used", "ties"))
    tau = re.compile(r"(\d\.\d{3})")
    said = like(
        "tasks",
        "replaces_version",
        version=1,
        step=like("tasks", "tau_step", before=tau, after=tau),
        votes=of_tasks("new_votes", count=more),
    ).fullmatch(version.description)
    before, after = map(float, said.groups())
    assert after - before == pytest.approx(entry.difference.deciding.value, abs=0.0011)
    assert version.tags["urlr.method_version"] == str(METHOD_VERSION)
    assert version.tags["urlr.place"] == entry.place
    logged = client.get_run(version.run_id).data
    assert logged.params["fit.curved"] == "False"
    assert logged.params["dumps"] == "2"
    assert logged.metrics["votes"] == used[1]["used"] + used[1]["ties"]
    registry = place.registry
    whole = next(one for one in registry.versions(BACK) if one.number == 2)
    kept = Path(whole.files.removeprefix("file://"))
    about = json.loads((kept / MANIFEST).read_bytes())["about"]
    assert about["etags"] == {
        key: chain.etags[key] for key in (f"votes/{BACK}/1.csv", f"votes/{BACK}/2.csv")
    }
    for name in ("annotators.parquet", "path.parquet", "path.svg", "ranking.svg", "judge.npz"):
        assert registry.read(whole, file=name) == place.file(entry, name), name


@pytest.mark.parametrize("name", ["first", "frozen", "thawed", "new votes"])
def test_names_that_mean_harm_concern_nobody_else(chain, name):
    ran = chain.nights[name]
    assert (ran.code, ran.night.state) == (3, "Partial")
    assert {one for one, said in ran.outcomes().items() if said == "failed"} == {CLIMBING}
    assert of_tasks("key_with_backslash") in ran.entry(CLIMBING).reason
    assert ran.entry(MARKUP).live == 1


def test_what_never_had_results_is_forgotten_with_its_votes(chain):
    """Nobody can mend it any more; a night of other attributes has not looked for it."""
    assert CLIMBING in chain.nights["lost, one"].night.entries
    assert CLIMBING not in chain.nights["lost, all"].night.entries
    assert KEPT in chain.nights["lost, all"].night.entries


def test_nothing_lies_outside_of_store_and_registry(chain):
    home = chain.place.directory.parent
    assert {path.name for path in home.iterdir()} <= {"work", "store", ".prefect", ".cache"}
    found = {path.name for path in chain.place.directory.iterdir()}
    assert found == {"urlr-registry", NEW_REGISTRY}
    page = chain.nights["first"].entry(MARKUP).page
    assert page is not None
    assert page.endswith(f"/report/of-{encoded(MARKUP)}.html")
    overview = chain.place.store.read("/".join([*page.split("/")[:-1], "index.html"])).decode()
    assert MARKUP not in overview
