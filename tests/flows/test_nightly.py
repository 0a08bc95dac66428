"""Two nights and a third in the life of a team, by the real command, on a real S3 server."""

import io
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import pytest
from in_process import Bench
from pipeline import Place, PrefectApi, Ran, only_progress
from registries import MLFLOW_WARNS
from sentences import like

from flows.messages import message
from tasks.coordinated import words_of
from tasks.messages import message as of_tasks
from tasks.names import encoded
from tasks.read import table_of
from tasks.registry import Move
from tasks.report.data import AttributePage
from tasks.report.page_file import PAGE, PAGES
from tasks.report.site import page_name
from tasks.results import Result
from tasks.store import Store
from tests.demo_store import PLANS, Planted, write_night_one, write_night_two
from urlr.messages import message as of_method
from urlr.metrics import tau_b

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

CAMPAIGN = "slogans"
REVERSED = "photos/natural"
DAMAGED = "photos/convincing"
FEW = "photos/formal"
WITHDRAWN = "photos/smiling"
"""The one that a test rolls back; others leave it alone."""


@dataclass(frozen=True)
class Life:
    """What was planted, what was found, and what was in the registry after each night."""

    place: Place
    planted: tuple[Planted, ...]
    nights: tuple[Ran, ...]
    versions: tuple[dict[str, list[int]], ...]
    moves: tuple[dict[str, list[Move]], ...]
    before: tuple[dict[str, str], ...]
    """ETags of all that lay in the store before each night, by key."""

    @property
    def here(self) -> Bench:
        """The same place, where commands run in this process."""
        return Bench(self.place.directory, self.place.store, self.place.environment)

    @property
    def inputs(self) -> dict[str, str]:
        """ETags of all that lay in the store before the last night."""
        return self.before[-1]

    def results(self, night: int) -> dict[str, Result]:
        """Of what was computed that night."""
        entries = self.nights[night].night.tonight()
        return {one.attribute: self.place.result(one) for one in entries if one.computed}


@pytest.fixture(scope="module")
def life(new_place, new_bucket, s3_server) -> Iterator[Life]:
    """Two nights as planted, and a third on which nothing is new."""
    bucket = new_bucket()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in s3_server.environment.items():
            patch.setenv(name, value)
        place: Place = new_place(
            Store.at(f"s3://{bucket}/team/votes", deadline=60),
            URLR_ARTIFACTS=f"s3://{bucket}/models",
            URLR_WORKERS="2",
            **s3_server.environment,
        )
        planted, nights, versions, moves, before = [], [], [], [], []
        for write in (write_night_one, write_night_two, None):
            if write is not None:
                planted.append(write(place.store))
            before.append(etags(place.store))
            nights.append(place.night())
            versions.append(place.versions())
            moves.append({name: place.registry.history(name) for name in versions[-1]})
        yield Life(
            place,
            (*planted, planted[-1]),
            tuple(nights),
            tuple(versions),
            tuple(moves),
            tuple(before),
        )


def etags(store: Store) -> dict[str, str]:
    return {one.key: one.etag for one in store.list()}


@pytest.mark.parametrize("night", [0, 1])
def test_every_attribute_comes_out_as_planted(life, night):
    assert life.nights[night].outcomes() == {
        name: one.expected for name, one in life.planted[night].attributes.items()
    }


@pytest.mark.parametrize("night", [0, 1, 2])
def test_one_damaged_file_makes_a_night_partial_and_exit_code_3(life, night):
    ran = life.nights[night]
    (damaged,) = life.planted[night].attributes[DAMAGED].damaged
    assert (ran.code, ran.night.state) == (3, "Partial")
    parts = (message("some_done", done=20, total=21), message("these_failed", names=[DAMAGED]))
    assert ran.night.reason == message("partly_done", parts="; ".join(parts))
    reason = ran.entry(DAMAGED).reason
    assert reason == of_tasks("parquet_cut_off", path=life.place.store.address(damaged))
    lines = ran.out.splitlines()
    why = message("what_failed_or_was_held", outcome="failed", attribute=DAMAGED, why=reason)
    assert why in lines
    again = shlex.join(["urlr", "nightly", "--store", life.place.store.url, "--only", DAMAGED])
    assert message("once_mended", command=again) in lines


@pytest.mark.parametrize("night", [0, 1])
def test_every_row_is_accounted_for_as_planted(life, night):
    results = life.results(night)
    planted = life.planted[night].attributes
    assert set(results) == {
        name for name, one in planted.items() if one.expected in ("published", "held")
    }
    for name, result in results.items():
        rows = result.rows
        assert rows["read"] == sum(result.dump_rows.values()) == planted[name].n_rows
        assert rows["read"] == rows["used"] + rows["ties"] + rows["skipped"] + rows["rejected"]
        assert rows["skipped"] == planted[name].n_skipped
        rejected = {
            why: count for why, count in result.reasons.items() if why in planted[name].rejected
        }
        assert rejected == planted[name].rejected
        assert rows["rejected"] == sum(planted[name].rejected.values())
        day = life.planted[night].night.isoformat()
        dumps = [key for key in life.inputs if key.startswith(f"votes/{name}/")]
        found = [key for key in dumps if key.removeprefix(f"votes/{name}/")[:10] <= day]
        assert result.dumps == {key: life.inputs[key] for key in found}
    assert f"Of {sum(_read(life, night)):,} rows" in life.nights[night].out


def _read(life: Life, night: int) -> list[int]:
    planted = life.planted[night].attributes
    return [one.n_rows for name, one in planted.items() if name != DAMAGED]


def page_of(life: Life, night: int, attribute: str) -> AttributePage:
    place = life.nights[night].entry(attribute).place
    return PAGES.from_bytes(life.place.store.read(f"{place}/{PAGE}"), attribute)


def test_the_report_names_the_campaign_and_nobody_else(life):
    people = life.planted[1].attributes[CAMPAIGN].people
    page = page_of(life, 1, CAMPAIGN)
    [group] = page.concentration.groups
    in_group = {
        page.people.name[place]
        for place, verdict in enumerate(page.people.verdict)
        if verdict == "coordinated"
    }
    assert in_group == set(people.index[people == "campaign"])
    assert {page.people.name[one] for one in group.people} == set(
        people.index[people == "campaign"]
    )
    pushed = {page.items.name[one] for one in group.items_up}
    assert pushed <= set(life.planted[1].attributes[CAMPAIGN].pushed)
    clusters = {one.name for one in page.concentration.clusters if one.kind == "person"}
    assert clusters == set(people.index[people == "campaign"])


@pytest.mark.parametrize("night", [0, 1])
def test_flipped_votes_are_found_in_clean_well_voted_attributes(life, night):
    tested = {
        name: result.self_test.auc.value
        for name, result in life.results(night).items()
        if result.self_test is not None
        and (life.planted[night].attributes[name].people == "good").all()
    }
    assert len(tested) >= 4
    assert min(tested.values()) >= 0.85, tested


@pytest.mark.parametrize("night", [0, 1, 2])
def test_every_night_has_its_report_and_the_pointer_leads_to_the_last(life, night):
    store, ran = life.place.store, life.nights[night].night
    report = f"runs/{ran.run}/report"
    names = {one.key.removeprefix(f"{report}/") for one in store.list(report)}
    computed = {one.attribute for one in ran.tonight() if one.computed}
    pages = {f"{page_name(name)}.html" for name in computed}
    assert names == {"index.html", "metrics.prom", "bokeh.min.js", "bokeh-api.min.js"} | pages
    for entry in ran.tonight():
        if entry.outcome != "failed":
            assert entry.page is not None
            assert store.read(entry.page).startswith(b"<!doctype html>")
    assert life.nights[-1].night.run in store.read("report/latest.html").decode()
    assert b"# EOF" in store.read(f"{report}/metrics.prom")


def test_the_record_says_what_is_new_and_what_serves(life):
    first, second = (life.nights[night].entry("photos/aesthetic") for night in (0, 1))
    votes = [one.rows["used"] + one.rows["ties"] for one in (first, second)]
    assert (first.new_votes, second.new_votes) == (None, votes[1] - votes[0])
    assert (first.live, second.live) == (1, 2)
    struck = life.nights[1].entry(CAMPAIGN)
    assert (struck.outcome, struck.live) == ("published", 2)
    assert struck.live_night == life.nights[1].night.night
    assert struck.new_people == 3


def test_the_record_says_how_long_every_stage_took(life):
    always = {"discover", "registry", "workers", "attributes", "all"}
    first, second, third = (ran.night.stages for ran in life.nights)
    assert set(first) == set(second) == always | {"fits", "publishing"}
    assert set(third) == always, "nothing was fitted"
    for stages in (first, second, third):
        apart = {name: stages[name] for name in always - {"all"}}
        assert all(seconds >= 0 for seconds in stages.values())
        assert sum(apart.values()) <= stages["all"]
        assert max(stages.get("fits", 0.0), stages.get("publishing", 0.0)) <= apart["attributes"]


def test_the_record_says_since_which_night_something_is_behind(life):
    first, second, third = (ran.night for ran in life.nights)
    for night in (first, second, third):
        assert night.entries[CAMPAIGN].behind_since is None
        assert night.entries[DAMAGED].behind_since == first.started
        assert night.entries["photos/aesthetic"].behind_since is None


def test_a_report_is_rebuilt_from_the_bucket_whole(life, tmp_path):
    run = life.nights[0].night.run
    out = tmp_path / "site"
    done = life.here.urlr("report", run, "--store", life.place.store.url, "--out", str(out))
    assert done.returncode == 0, done.stderr
    pages = {path.stem for path in out.glob("*.html")} - {"index"}
    assert pages == {page_name(one) for one in life.nights[0].outcomes() if one != DAMAGED}
    assert like("flows", "report_built", run=run, pages=20).search(done.stdout)
    again = life.here.urlr("report", run, "--store", life.place.store.url, "--out", str(out))
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    unknown = life.here.urlr("report", "1999", "--store", life.place.store.url)
    said = like("tasks", "no_such_run", name="1999", store=life.place.store.url)
    assert said.search(unknown.stderr)


def test_every_kind_of_dirty_row_was_met(life):
    met = {why for result in life.results(0).values() for why in result.reasons}
    assert met >= {
        of_method("unknown_outcome"),
        of_method("missing_item"),
        of_method("self_comparison"),
        of_method("repeated_vote_id"),
        of_method("item_without_features"),
    }


def test_the_campaign_changes_nothing_and_the_other_votes_are_published(life):
    """Its three people cast four votes in ten."""
    entry = life.nights[1].entry(CAMPAIGN)
    assert (entry.outcome, entry.version, entry.replaced) == ("published", 2, 1)
    assert entry.reason.startswith("tau ")
    assert abs(entry.difference.plain.value) < 0.02
    assert abs(entry.difference.by_person.value) < 0.02
    assert life.place.registry.look(CAMPAIGN).aliases["champion"] == 2


def test_the_people_of_the_campaign_act_together_and_their_votes_are_set_aside(life):
    ran = life.nights[1]
    found = ran.entry(CAMPAIGN).coordinated
    assert (found.groups, found.people, found.counting) == (1, 3, 0)
    said = of_tasks("coordinated_in", attribute=CAMPAIGN, what=words_of(found))
    assert message("a_note", note=said) in ran.out.splitlines()


def test_too_few_votes_are_held_and_never_champion(life):
    entry = life.nights[0].entry(FEW)
    assert entry.rows["read"] == 12
    assert entry.reason.startswith("held: only ")
    assert FEW not in life.place.champions()


def test_the_reversed_person_is_named(life):
    people = life.planted[0].attributes[REVERSED].people
    table = table_at(life.place, life.nights[0], REVERSED, "annotators.parquet")
    verdicts = table.set_index("annotator")["verdict"]
    assert set(verdicts[verdicts == "reversed"].index) == set(people.index[people == "reversed"])


def table_at(place: Place, ran: Ran, attribute: str, name: str) -> pd.DataFrame:
    return table_of(place.file(ran.entry(attribute), name), name)


def test_where_the_truth_is_known_tau_with_it_is_recorded(life):
    known = [plan.attribute for plan in PLANS if plan.has_truth]
    assert {one.attribute for one in life.nights[1].night.tonight() if one.truth} == set(known)
    for attribute in known:
        scores = table_at(life.place, life.nights[1], attribute, "scores.parquet")
        truth = life.planted[1].attributes[attribute].truth
        tau = tau_b(scores.set_index("item")["score"], truth[scores["item"]])
        assert life.nights[1].entry(attribute).truth == pytest.approx(tau)


def test_a_version_a_publication_or_a_hold_and_a_move_a_publication(life):
    """So registry and record tell the same story."""
    for night in (0, 1):
        entries = life.nights[night].night.tonight()
        assert any(entry.outcome == "published" for entry in entries)
        for entry in entries:
            if entry.outcome == "published":
                assert life.versions[night][entry.attribute][-1] == entry.version
                move = life.moves[night][entry.attribute][-1]
                assert (move.before, move.to) == (entry.replaced, entry.version)
                assert (move.run, move.why) == (life.nights[night].night.run, entry.reason)
                assert move.done is not None
                assert not move.forced


def test_nothing_new_publishes_nothing(life):
    third = life.nights[2]
    wanted = dict.fromkeys(third.night.entries, "unchanged") | {DAMAGED: "failed"}
    assert third.outcomes() == wanted
    assert life.versions[2] == life.versions[1]
    assert life.moves[2] == life.moves[1]
    assert not any(one.computed for one in third.night.tonight())
    assert not life.place.store.list(f"runs/{third.night.run}/attributes")


@pytest.mark.parametrize("night", [0, 1, 2])
def test_prefect_has_one_task_run_per_attribute_worked_on(life, prefect_api: PrefectApi, night):
    flow_run = prefect_api.flow_runs(life.place.store)[night]
    assert flow_run["state_name"] == "Partial"
    assert flow_run["state"]["message"] == life.nights[night].night.reason
    outcomes = life.nights[night].outcomes().items()
    worked_on = [(name, said.title()) for name, said in outcomes if said != "unchanged"]
    assert prefect_api.task_states(flow_run) == sorted(worked_on)


@pytest.mark.parametrize("night", [0, 1, 2])
def test_prefect_shows_the_table_the_summary_and_how_far_it_is(
    life, prefect_api: PrefectApi, night
):
    ran = life.nights[night]
    shown = prefect_api.artifacts(prefect_api.flow_runs(life.place.store)[night])
    assert set(shown) == {"kendall-tau", "nightly-summary", "nightly-progress"}
    assert shown["nightly-progress"] == 100
    title, _, _ = shown["nightly-summary"].partition("\n")
    assert re.fullmatch(rf"# .*\b{ran.night.night}: Partial", title)
    rows = {row["attribute"]: row for row in json.loads(shown["kendall-tau"])}
    assert set(rows) == set(ran.outcomes())
    tau = ran.entry(CAMPAIGN).tau.deciding.value
    assert float(rows[CAMPAIGN]["tau"]) == pytest.approx(tau, abs=0.0006)


def test_status_and_models_say_what_is_live_and_why_something_is_held(life):
    place = life.here
    status, models, versions = (
        place.urlr(*words) for words in (["status"], ["models"], ["models", CAMPAIGN])
    )
    assert (status.returncode, models.returncode, versions.returncode) == (3, 0, 0)
    assert status.stderr + models.stderr + versions.stderr == ""
    lines = status.stdout.splitlines()
    third = life.nights[2].night
    last_night = like("flows", "last_night", night=third.night, run=third.run)
    assert last_night.fullmatch(lines[0])
    assert like("tasks", "night_summary", state="Partial", attributes=21).fullmatch(lines[1])
    assert f"  failed {DAMAGED}: {third.entries[DAMAGED].reason}" in lines
    first = life.nights[0].entry(FEW)
    number = message("as_version", version=first.version)
    nothing_new = message("nothing_new", verdict="held", version=number)
    why = message(
        "nothing_new_since_held",
        nothing_new=nothing_new,
        why=first.reason.removeprefix(of_tasks("held", finding="")),
    )
    assert f"  held {FEW} (v{first.version}): {why}" in lines
    for said in (status.stdout, models.stdout):
        live = dict(line.split()[:2] for line in said.partition("live ")[2].splitlines()[1:])
        champions = place.champions()
        assert set(live) == set(champions)
        assert all(
            live[name] == f"v{number}" for name, number in champions.items() if name != WITHDRAWN
        )
    rows = versions.stdout.splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["v2", "v1"]
    assert " to now " in rows[0]
    assert like("tasks", "replaces_version", version=1).search(rows[0])
    assert " to now " not in rows[1]


def test_a_rollback_makes_the_version_before_champion_at_once(life):
    place = life.here
    assert life.versions[2][WITHDRAWN] == [1, 2]
    done = place.urlr("rollback", WITHDRAWN, "--why", "people complained")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{message('rolled_back', attribute=WITHDRAWN, to=1, before=2)}\n"
    last = place.registry.history(WITHDRAWN)[-1]
    assert (last.before, last.to, last.rollback, last.why) == (2, 1, True, "people complained")
    status = place.urlr("status")
    (line,) = (line for line in status.stdout.splitlines() if line.startswith(WITHDRAWN))
    assert line.split()[1] == "v1"


def test_the_champion_serves_people_who_never_heard_of_urlr(life):
    """Loaded by MLflow alone, it scores as `urlr score` does."""
    place = life.here
    features = place.store.read("features/photos/embeddings.parquet")
    (place.directory / "photos.parquet").write_bytes(features)
    script = (
        "import mlflow, pandas, sys\n"
        "mlflow.set_tracking_uri('sqlite:///urlr-registry/mlflow.db')\n"
        f"model = mlflow.pyfunc.load_model('models:/{encoded(REVERSED)}@champion')\n"
        "model.predict(pandas.read_parquet('photos.parquet')).to_csv(sys.stdout, index=False)\n"
    )
    options = ["--attribute", REVERSED, "photos.parquet", "--out", "photos.csv"]
    served, done = place.python(script), place.urlr("score", *options)
    assert done.returncode == 0, done.stderr
    ours = pd.read_csv(place.directory / "photos.csv").set_index("item")
    theirs = pd.read_csv(io.StringIO(served)).set_index("item")
    assert len(ours) == len(theirs) == 300
    assert (ours["version"] == 1).all()
    pd.testing.assert_series_equal(ours["score"].sort_index(), theirs["score"].sort_index())


def test_models_lie_where_the_settings_say(life):
    place = life.place
    where = f"{place.environment['URLR_ARTIFACTS']}/"
    assert where.startswith("s3://")
    champions = place.registry.champions()
    assert len(champions) > 15
    assert [name for name, one in champions.items() if not one.files.startswith(where)] == []


def test_a_night_writes_results_and_its_lease_and_touches_no_input(life):
    now = etags(life.place.store)
    ours = {key for key in now if key.startswith(("runs/", "lease/"))} | {"report/latest.html"}
    theirs = {key for key in life.inputs if not key.startswith(("runs/", "lease/", "report/"))}
    assert set(now) - ours == theirs == {key for one in life.planted for key in one.keys}
    for before in life.before:
        earlier = {key for key in before if not key.startswith(("lease/", "report/"))}
        assert {key: now[key] for key in earlier} == {key: before[key] for key in earlier}


def test_only_our_own_lines_are_on_standard_error(life):
    for ran in life.nights:
        assert only_progress(ran.err), ran.err


def test_no_credential_is_kept_or_shown_anywhere(life, prefect_api: PrefectApi, s3_server):
    place = life.place
    objects = {one.key: place.store.read(one.key) for one in place.store.list("runs")}
    assert len(objects) > 200
    files = [path for path in place.directory.parent.rglob("*") if path.is_file()]
    assert any(path.name == "mlflow.db" for path in files)
    kept = objects | {str(path): path.read_bytes() for path in files}
    kept["Prefect's server"] = prefect_api.written()
    assert REVERSED.encode() in kept["Prefect's server"]
    for number, ran in enumerate(life.nights):
        kept[f"output of night {number}"] = f"{ran.out}{ran.err}".encode()
    for credential in (s3_server.secret, s3_server.key):
        assert [name for name, data in kept.items() if credential.encode() in data] == []
