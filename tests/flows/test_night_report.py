"""What the terminal, Prefect's pages and `urlr status` say of a night, from its record alone."""

import shlex
from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pytest
from example_nights import STORE, example_night
from nights import entry, night, run_of, vote_tau
from recorded_nights import kept
from registries import MLFLOW_WARNS, moved, registered
from sentences import like

from flows.messages import message
from flows.night_report import night_text, summary_markdown, tau_rows, tau_table
from flows.status import models_text, status_of
from tasks.coordinated import Coordinated, words_of
from tasks.lease import Holder, taken
from tasks.messages import message as of_tasks
from tasks.report.overview import latest_page
from tasks.report.site import LATEST, head_of
from tasks.results import RUN, Night
from tasks.runs import Started, note_start, past_of
from tasks.settings import Settings
from tasks.store import Store

pytestmark = MLFLOW_WARNS

AS_OF = datetime(2026, 11, 1, 23, 59, 59, 999999, tzinfo=UTC)
ROWS = {"read": 100, "used": 80, "ties": 10, "skipped": 4, "rejected": 6}
KNOWN = {"key": "k", "rows": ROWS, "n_pruned": 9, "tau": vote_tau(0.5), "truth": 0.25}


@pytest.fixture
def mixed() -> Night:
    """One attribute went well; one failed, of which the record keeps what was known before."""
    failed = entry("broken", outcome="failed", reason="it is cut off", difference=vote_tau(0.1))
    return night(replace(failed, **KNOWN), entry("well", **KNOWN), state="Partial")


def last_line(text: str) -> list[str]:
    return shlex.split(text.rpartition("Once mended: ")[2].splitlines()[0])


def test_what_failed_has_no_figures_of_earlier_nights_in_the_tables(mixed):
    broken, well = tau_rows(mixed)
    assert (broken.pop("attribute"), broken.pop("verdict")) == ("broken", "failed")
    assert set(broken.values()) == {""}
    assert (well["votes"], well["pruned"], well["tau"]) == ("90", "10%", "0.500")
    lines = night_text(mixed, store=STORE).splitlines()
    assert lines[1].split() == ["broken", "failed"]
    assert lines[2].split()[:4] == ["well", "90", "10%", "0.500"]


def test_what_failed_has_no_figures_of_earlier_nights_in_the_spreadsheet(mixed):
    table = tau_table(mixed).set_index("attribute")
    known = table.loc["broken"].dropna()
    assert known.to_dict() == {"outcome": "failed", "reason": "it is cut off"}
    assert table.loc["well", ["votes", "pruned", "tau"]].tolist() == [90, 9, 0.5]
    assert table[["version", "votes", "pruned"]].dtypes.map(str).unique().tolist() == ["Int64"]
    assert tau_table(night(entry("well", **KNOWN))).columns.tolist() == ["attribute", *table]


def test_a_night_of_nothing_has_an_empty_spreadsheet():
    pd.testing.assert_frame_equal(tau_table(night()), pd.DataFrame())


def test_the_sentence_says_whose_rows_are_not_in_it(mixed):
    not_counted = of_tasks("failed_rows_not_counted", attributes=1)
    said = night_text(mixed, store=STORE)
    assert of_tasks("night_rows", **ROWS, failed=not_counted) in said
    good = night_text(night(entry("well", **KNOWN)), store=STORE)
    assert good.endswith(of_tasks("night_rows", **ROWS, failed=""))
    unused = entry("unused", outcome="failed", unused_rows=1234)
    more = night_text(night(*mixed.entries.values(), unused), store=STORE)
    failed = of_tasks("rows_that_failed", rows=1234, attributes=1)
    assert of_tasks("night_rows", **ROWS, failed=f"{failed}{not_counted}") in more


def test_the_terminal_asks_for_the_same_night_again():
    past = replace(example_night(120), as_of=AS_OF)
    words = last_line(night_text(past, store=STORE))
    assert words[words.index("--as-of") + 1] == "2026-11-01"
    assert "--as-of" not in last_line(night_text(example_night(120), store=STORE))


@pytest.mark.parametrize("outcome", ["held", "failed"])
def test_the_page_of_an_attribute_asks_for_the_same_night_again(outcome):
    one = entry("a", outcome=outcome)
    head = head_of(one, run=one.run, night=AS_OF.date(), store=STORE, as_of=AS_OF)
    [(_, command)] = head.commands
    assert "--only a --as-of 2026-11-01" in command


def test_status_asks_for_the_same_night_again_and_others_for_tonight(tmp_path):
    store = Store.at(tmp_path / "store")
    failed = [entry("then", outcome="failed"), entry("before", day=15, outcome="failed")]
    kept(store, night(*failed, as_of=AS_OF, state="Partial"))
    settings = Settings(store=store.url, registry=str(tmp_path / "registry"))
    commands = [
        shlex.split(line.removeprefix("Once mended: "))
        for line in status_of(settings).text.splitlines()
        if line.startswith("Once mended: ")
    ]
    usual = ["urlr", "nightly", "--store", store.url, "--only"]
    assert sorted(commands) == [[*usual, "before"], [*usual, "then", "--as-of", "2026-11-01"]]
    assert run_of(16) in status_of(settings).text


def test_status_asks_for_nothing_again_that_has_no_votes_any_more(tmp_path):
    store = Store.at(tmp_path / "store")
    gone = entry("gone", day=15, outcome="failed")
    settings = Settings(store=store.url, registry=str(tmp_path / "registry"))
    kept(store, night(entry("well"), gone, only=("well",)))
    assert last_line(status_of(settings).text)[-1] == "gone", "nobody looked whether it has any"
    kept(store, night(entry("well", day=17), gone, day=17))
    assert "gone" not in status_of(settings).text


def test_status_says_that_the_pointer_leads_to_another_night(tmp_path):
    """Also where the record does not: the night was killed, or its disk was full by then."""
    store = Store.at(tmp_path / "store")
    settings = Settings(store=store.url, registry=str(tmp_path / "registry"))
    last = night(entry("well"))
    kept(store, last)
    note = message("a_note", note=message("other_latest", path=store.address(LATEST)))
    store.replace(LATEST, latest_page(last.run))
    good = status_of(settings)
    store.replace(LATEST, latest_page(run_of(1)))
    other = status_of(settings)
    assert (note in good.text, note in other.text) == (False, True)


def test_status_says_first_that_the_newest_record_is_damaged_and_guesses_no_move(
    tmp_path, registry, attribute
):
    """The night whose record it is may have published what is live."""
    store = Store.at(tmp_path / "store")
    published = entry(attribute, verdict="published", version=1, live=1)
    kept(store, night(published))
    moved(registry, registered(registry, attribute, 2))
    settings = Settings(store=store.url, registry=registry.uri)
    before = status_of(settings)
    other = of_tasks("other_serves", attribute=attribute, version=1, live=2)
    assert (before.code, other in before.text) == (0, True)
    store.create(f"runs/{run_of(17)}/{RUN}", b"{")
    after = status_of(settings)
    [damaged] = past_of(store).damaged
    assert after.text.splitlines()[:2] == [message("newest_record_damaged"), damaged]
    assert (after.code, other in after.text) == (3, False)
    [row] = [line.split() for line in after.text.splitlines() if line.startswith(attribute)]
    assert row[1] == "v2"


def test_a_group_set_aside_is_a_line_of_the_night_and_of_the_status(tmp_path):
    """Also of an attribute that was not looked at tonight, and not of one that failed."""
    store = Store.at(tmp_path / "store")
    settings = Settings(store=store.url, registry=str(tmp_path / "registry"))
    aside, kept_in = Coordinated(1, 5, 320, 0, "drop"), Coordinated(2, 7, 90, 88, "keep")
    tonight = night(
        entry("faces", coordinated=aside),
        entry("earlier", day=15, coordinated=kept_in),
        entry("broken", outcome="failed", coordinated=aside),
        entry("well"),
        only=("faces", "broken", "well"),
        state="Partial",
    )
    kept(store, tonight)
    notes = {
        name: message("a_note", note=of_tasks("coordinated_in", attribute=name, what=words_of(one)))
        for name, one in (("faces", aside), ("earlier", kept_in))
    }
    assert "5 people act together" in notes["faces"]
    assert "320 votes are set aside" in notes["faces"]
    assert "warning: 7 people" in notes["earlier"]
    said = night_text(tonight, store=STORE).splitlines()
    assert [line for line in said if "together" in line] == [notes["faces"]]
    page = summary_markdown(tonight).splitlines()
    assert [line for line in page if "together" in line] == [
        f"- {notes['faces'].removeprefix('note: ')}"
    ]
    status = status_of(settings).text.splitlines()
    assert [line.strip() for line in status if "together" in line] == [
        notes["earlier"],
        notes["faces"],
    ]


def test_of_many_attributes_with_groups_those_with_most_votes_are_named(tmp_path):
    many = [entry(f"a{k:02d}", coordinated=Coordinated(1, 3, k, 0, "drop")) for k in range(30)]
    said = [
        line for line in night_text(night(*many), store=STORE).splitlines() if "act tog" in line
    ]
    assert len(said) == 21
    assert "a29" in said[0]
    assert (
        of_tasks("more_coordinated", count=10, attributes=[f"a{k:02d}" for k in range(9, -1, -1)])
        in said[-1]
    )


def test_models_shows_versions_of_which_none_was_ever_champion(registry, attribute):
    registered(registry, attribute, 1)
    rows = models_text(Settings(registry=registry.uri), attribute).splitlines()
    assert rows[0] == attribute
    assert rows[2].split()[0] == "v1"
    assert " never " in rows[2]


def test_status_tells_a_run_at_work_from_one_that_ended_without_a_word(tmp_path):
    store = Store.at(tmp_path / "store")
    settings = Settings(store=store.url, registry=str(tmp_path / "registry"))
    run = run_of(17)
    note_start(store, Started(run, "here", 1, AS_OF, None))
    with taken(store, Holder.here(run)):
        at_work = status_of(settings).text
    dead = message("runs_ended_without_a_word", count=1, runs=[run])
    running, *_ = at_work.splitlines()
    here = Holder.here(run)
    assert like("flows", "night_running", run=run, host=here.host, process=here.pid).fullmatch(
        running
    )
    assert dead not in at_work
    assert status_of(settings).text.splitlines()[:2] == [dead, message("no_night_finished")]
    kept(store, night(entry("well"), day=16))
    after = status_of(settings).text.splitlines()
    assert after[0] == dead
    assert like("flows", "last_night", night="2026-11-16", run=run_of(16)).fullmatch(after[1])
