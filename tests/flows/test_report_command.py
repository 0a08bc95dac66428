"""`urlr report` on records of nights that nobody ran: which night it takes, and as of when."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from nights import entry
from recorded_nights import backfill, kept, recorded
from sentences import like

from tasks.messages import message
from tasks.results import Night
from tasks.store import Store


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.at(tmp_path / "store")


def green(finished: datetime) -> Night:
    """A night on which everything was published, with votes up to the evening before."""
    run, day = f"{finished:%Y%m%dT%H%M%SZ}-0a1b2c", finished.date()
    votes = {"newest": finished - timedelta(hours=8), "rows": {"read": 50, "used": 50}}
    serves = {"live_night": day, "live_since": finished}
    entries = {name: replace(entry(name, **votes, **serves), run=run) for name in "abc"}
    return replace(
        recorded(1), run=run, night=day, started=finished, finished=finished, entries=entries
    )


def overview(folder: str) -> dict[str, Any]:
    text = (Path(folder) / "index.html").read_text("utf-8")
    found = re.search(r'id="page-data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def test_a_green_night_of_long_ago_is_green_as_of_its_end_and_said_to_be_past(command, store):
    night = green(datetime(2024, 3, 1, 4, tzinfo=UTC))
    kept(store, night)
    before = datetime.now(UTC)
    assert command("report", night.run, "--store", store.url, "--out", "site", "--quiet") == 0
    data = overview("site")
    assert [card["word"] for card in data["cards"]] == ["up to date", "none waiting", "up to date"]
    assert [row[4] for row in data["live"]] == [0, 0, 0]
    [said] = data["warnings"]
    days = (before - night.finished).days
    assert like("tasks", "built_again_later", count=days).fullmatch(said)
    assert data["written"] >= int(before.timestamp() * 1000)


def test_without_a_name_the_newest_night_of_all_attributes_is_taken(command, store):
    others = [
        recorded(3, dry=True),
        recorded(4, only=("a",)),
        backfill(5, of=1),
    ]
    for night in (recorded(1), recorded(2, state="Failed"), *others):
        kept(store, night)
    assert command("report", "--store", store.url, "--out", "site", "--quiet") == 0
    assert overview("site")["run"] == recorded(2).run
    for night in others:
        assert command("report", night.run, "--store", store.url, "--out", night.run) == 0
        assert overview(night.run)["run"] == night.run


def test_a_run_is_named_by_how_its_name_begins_unless_two_begin_so(command, store):
    for night in (recorded(1), recorded(2), recorded(12)):
        kept(store, night)
    begins = recorded(2).run[:8]
    assert begins == "20261102"
    assert command("report", begins, "--store", store.url, "--out", "site", "--quiet") == 0
    assert overview("site")["run"] == recorded(2).run
    said = command.refusal("report", "2026110", "--store", store.url, "--quiet")
    assert like("tasks", "several_runs", count=2, name="2026110", store=store.url).search(said)
    assert recorded(1).run in said
    assert recorded(12).run not in said


def test_where_there_is_no_night_of_all_attributes_that_is_said(command, store):
    kept(store, recorded(3, only=("a",)))
    said = command.refusal("report", "--store", store.url, "--quiet")
    assert message("no_whole_night", store=store.url) in said
