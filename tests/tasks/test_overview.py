"""What the overview of a night says, before a browser draws it."""

import json
import re
import shlex
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from example_nights import LAST, STORE, example_digests, example_night

from flows.night_report import night_text
from tasks.evaluate import Estimate
from tasks.gather import LATER
from tasks.messages import message
from tasks.regression import regressed
from tasks.report.freshness_cards import freshness
from tasks.report.overview import latest_page, overview_page
from tasks.report.overview_rows import rows_of_attributes
from tasks.report.shell import asset
from tasks.report.wording import plain_sentence, retry
from tasks.results import Night

NOW = datetime(LAST.year, LAST.month, LAST.day, 6, tzinfo=UTC)


def data_of(night: Night, earlier=(), *, links=None, now=NOW, store=STORE):
    page = overview_page(
        night, earlier, store=store, library="lib/", links=links or {}, now=now
    ).decode()
    found = re.search(r'id="page-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def with_entries(night: Night, **changes) -> Night:
    return replace(
        night, entries={name: replace(one, **changes) for name, one in night.entries.items()}
    )


@pytest.fixture(scope="module")
def night() -> Night:
    return example_night(200)


def test_the_sentence_counts_every_attribute_once(night):
    said = plain_sentence(night)
    counts = Counter(entry.outcome for entry in night.tonight())
    first, *others = (int(one.replace(",", "")) for one in re.findall(r"[\d,]*\d", said))
    assert first == len(night.entries) == sum(others)
    assert sorted(others) == sorted(counts.values())


def test_the_worst_attributes_come_first(night):
    rows = rows_of_attributes(night, example_digests(200, nights=3))
    states = [row.state for row in rows]
    order = ["failed", "held back", "got worse"]
    assert [state for k, state in enumerate(states) if state not in states[:k]][:3] == order
    others = [row.tau for row in rows if row.state not in order]
    assert others == sorted(others)


def test_only_what_is_worse_than_its_champion_beyond_chance_among_all_got_worse(night):
    """Held-out votes change from night to night, and so does a tau of the same ranking."""
    digests = example_digests(200, nights=1)
    good = {name: one for name, one in night.entries.items() if one.outcome == "published"}
    worse = {entry.attribute for entry in regressed(night)}
    assert worse & set(good)
    rows = {row.entry.attribute: row for row in rows_of_attributes(night, digests)}
    assert {name for name, row in rows.items() if row.state == "got worse"} == worse & set(good)
    fallen = {
        name: replace(one, tau=replace(one.tau, by_person=Estimate(0.0, -0.01, 0.01, 0.004)))
        for name, one in good.items()
    }
    rows = {
        row.entry.attribute: row
        for row in rows_of_attributes(replace(night, entries=night.entries | fallen), digests)
    }
    assert min(rows[name].change for name in good) < -0.5
    assert {name for name, row in rows.items() if row.state == "got worse"} == worse & set(good)


def test_change_since_last_night_is_against_the_last_digest_that_has_it(night):
    old, new = example_digests(200, nights=2)
    name = new.attributes[0]
    new = replace(new, attributes=new.attributes[1:], tau=new.tau[1:], votes=new.votes[1:])
    rows = {row.entry.attribute: row for row in rows_of_attributes(night, [old, new])}
    tau = night.entries[name].tau.deciding.value
    assert rows[name].change == pytest.approx(tau - old.tau_by_attribute()[name], abs=1e-4)
    other = new.attributes[0]
    tau = night.entries[other].tau.deciding.value
    assert rows[other].change == pytest.approx(tau - new.tau_by_attribute()[other], abs=1e-4)


def test_dry_runs_and_nights_of_the_past_are_no_last_night(night):
    (last,) = example_digests(200, nights=1)
    others = [replace(last, dry=True), replace(last, as_of=NOW)]
    assert all(row.change is None for row in rows_of_attributes(night, others))


def test_distance_is_half_of_what_tau_lacks_and_its_interval_turns_around(night):
    columns = data_of(night)["attributes"]
    for name, (value, low, high) in zip(columns["name"], columns["distance"], strict=True):
        tau = night.entries[name].tau.deciding
        assert value == pytest.approx((1 - tau.value) / 2, abs=1e-4)
        assert (low, high) == pytest.approx(((1 - tau.high) / 2, (1 - tau.low) / 2), abs=1e-4)
        assert low <= value <= high


def test_what_failed_or_was_held_comes_with_its_reason_and_its_command(night):
    troubles = data_of(night)["troubles"]
    wrong = {name: one for name, one in night.entries.items() if one.outcome in ("failed", "held")}
    assert {row["name"] for row in troubles["rows"]} == set(wrong)
    for row in troubles["rows"]:
        entry = wrong[row["name"]]
        assert row["why"] == entry.reason.removeprefix("held: ")
        command = shlex.split(row["command"])
        assert command[:6] == ["urlr", "nightly", "--store", STORE, "--only", row["name"]]
        assert ("--force" in command) == (entry.outcome == "held")


def test_a_retry_of_a_past_night_asks_for_the_same_night():
    day = datetime(2026, 11, 1, 23, 59, 59, 999999, tzinfo=UTC)
    assert retry(["a"], "s", as_of=day).endswith("--only a --as-of 2026-11-01")
    noon = datetime(2026, 11, 1, 12, tzinfo=UTC)
    assert retry(["a"], "s", as_of=noon).endswith("--as-of 2026-11-01T12:00:00+00:00")


def test_a_command_survives_every_name():
    assert shlex.split(retry(["it's $(rm -r x)"], "s"))[-1] == "it's $(rm -r x)"
    assert shlex.split(retry(["-x", "y"], "s"))[-1] == "--only=-x,y"
    assert "--only" not in retry(["../../x"], "s")
    assert "--only" not in retry([], "s")


def test_the_terminal_and_the_report_name_the_same_command():
    night = example_night(120)
    [told] = data_of(night)["troubles"]["commands"]
    said = night_text(night, store=STORE).rpartition("Once mended: ")[2].strip()
    names = [set(shlex.split(text)[-1].split(",")) for text in (told, said)]
    assert names[0] == names[1]


def test_what_failed_in_an_earlier_run_is_not_asked_for_as_of_the_past():
    night = example_night(120)
    first, second, *_ = (name for name, one in night.entries.items() if one.outcome == "failed")
    earlier = replace(night.entries[second], run="20261101T030000-00000000")
    entries = {first: night.entries[first], second: earlier}
    moment = datetime(2026, 11, 1, 23, 59, 59, 999999, tzinfo=UTC)
    night = replace(night, entries=entries, as_of=moment)
    commands = data_of(night)["troubles"]["commands"]
    assert sorted(shlex.split(one)[4:] for one in commands) == sorted(
        [["--only", first, "--as-of", "2026-11-01"], ["--only", second]]
    )


def test_a_fresh_night_is_green(night):
    published = freshness(night, now=NOW)[0]
    assert (published.figure, published.word, published.kind) == (str(LAST), "up to date", "good")


def serving(night: Night, day: date, **changes) -> Night:
    """A night on which nothing failed or was held: all serves, made of the votes of a day."""
    changes = {"outcome": "unchanged", "verdict": "published", "version": 3, "live": 3} | changes
    return with_entries(replace(night, state="Completed"), live_night=day, **changes)


def test_a_run_over_an_old_night_turns_nothing_green(night):
    """Done today, finished without a flaw, and made of votes of two weeks ago."""
    old = LAST - timedelta(days=14)
    past = serving(
        replace(night, night=old, as_of=NOW - timedelta(days=14)),
        old,
        live_since=NOW,
        newest=NOW - timedelta(days=14),
        outcome="published",
        reasons={LATER: 7},
    )
    published, waiting, newest = freshness(past, now=NOW)
    assert published.figure == str(old)
    assert (published.word, published.kind) == ("14 days behind", "bad")
    assert waiting.figure == f"{7 * len(past.entries):,}"
    waits = message("waiting_in", count=len(past.entries), kind="not published")
    assert waiting.note.fields == {"where": waits.capitalize()}
    assert newest.kind == "warn"
    as_of = f"{past.as_of:%Y-%m-%d %H:%M} UTC"
    assert data_of(past)["warnings"] == [message("went_back_in_time", as_of=as_of)]


def test_one_vote_dated_in_the_future_is_not_newer_than_what_serves(night):
    """On the night it is published, and on every quiet night after."""
    for day in (LAST, LAST - timedelta(days=1), LAST - timedelta(days=10)):
        quiet = serving(night, day, newest=datetime(2099, 1, 1, tzinfo=UTC))
        published, waiting, newest = freshness(quiet, now=NOW)
        assert newest.figure.startswith(str(day))
        assert newest.word in ("up to date", "quiet")
        assert published.word in ("up to date", "nothing newer")
        assert waiting.figure == "0"


def test_votes_of_what_was_rolled_back_wait_and_are_not_called_held(night):
    back = serving(night, LAST - timedelta(days=2), version=4, new_votes=5)
    _, waiting, _ = freshness(back, now=NOW)
    assert waiting.figure == f"{5 * len(back.entries):,}"
    waits = message("waiting_in", count=len(back.entries), kind="rolled back")
    assert waiting.note.fields == {"where": waits.capitalize()}


def test_an_old_night_is_no_fault_where_no_vote_is_newer(night):
    before = LAST - timedelta(days=5)
    newest = datetime(before.year, before.month, before.day, tzinfo=UTC)
    quiet = serving(night, before, newest=newest)
    published, waiting, _ = freshness(quiet, now=NOW)
    assert (published.word, published.kind) == ("nothing newer", "calm")
    assert (waiting.figure, waiting.kind) == ("0", "good")


def test_votes_of_what_was_held_wait_and_those_of_what_failed_are_not_known(night):
    entries = night.entries.values()
    held = [one for one in entries if one.outcome == "held"]
    failed = [one for one in entries if one.outcome == "failed"]
    _, waiting, _ = freshness(night, now=NOW)
    assert waiting.figure == f"{sum(one.new_votes for one in held):,}"
    waits = message("waiting_in", count=len(held), kind="held back").capitalize()
    more = message("more_waiting_in_failed", count=len(failed))
    assert waiting.note.fields == {"where": f"{waits}; {more}"}
    assert waiting.kind == "bad"


def test_all_votes_of_what_never_served_wait():
    night = with_entries(
        example_night(1), outcome="held", verdict="held", live=None, live_night=None
    )
    published, waiting, _ = freshness(night, now=NOW)
    (entry,) = night.entries.values()
    assert published.kind == "bad"
    assert waiting.figure == f"{entry.rows['used'] + entry.rows['ties']:,}"


def test_rows_are_told_for_tonight_and_the_last_seven_nights(night):
    nights = data_of(night, example_digests(200, nights=12))["accounting"]["nights"]
    assert [one["night"] for one in nights] == [str(LAST - timedelta(days=k)) for k in range(8)]
    for one in nights:
        assert one["read"] == one["used"] + one["ties"] + one["skipped"] + one["rejected"]


def test_only_what_jumped_is_called_so(night):
    panels = data_of(night, example_digests(200, nights=8))["drift"]["panels"]
    words = {panel["title"]: panel["word"] for panel in panels}
    assert words["New annotators"] == "jumped up"
    assert set(words.values()) == {"jumped up", "as usual"}
    calm = example_night(200, jump=False)
    panels = data_of(calm, example_digests(200, nights=8))["drift"]["panels"]
    assert {panel["word"] for panel in panels} == {"as usual"}


def test_the_trend_has_every_attribute_on_every_night(night):
    trend = data_of(night, example_digests(200, nights=6))["trend"]
    assert len(trend["times"]) == 7
    assert trend["names"] == sorted(night.entries)
    low, middle, high = trend["quartiles"][-1]
    assert low < middle < high
    last = [one[-1] for one in trend["attributes"]]
    assert sorted(last)[0] <= low <= high <= sorted(last)[-1]


def test_what_serves_longest_comes_first(night):
    days = [row[4] for row in data_of(night)["live"]]
    assert days == sorted(days, reverse=True)
    assert len(days) == len(night.entries)


@pytest.mark.parametrize(
    "changes",
    [
        {"entries": {}},
        {"entries": {}, "state": "Failed", "reason": "0 of 0 attributes done"},
        {"dry": True, "only": ("a", "b"), "force": True},
    ],
)
def test_a_night_without_anything_usual_has_a_page(night, changes):
    data = data_of(replace(night, **changes))
    assert data["sentence"]
    assert data["cards"]


def test_figures_that_are_not_filled_leave_a_page(night):
    """A record written before these figures were known."""
    bare = with_entries(
        night,
        tau=None,
        difference=None,
        self_test=None,
        new_votes=None,
        new_people=None,
        left_share=None,
        newest=None,
        live=None,
        live_since=None,
        live_night=None,
        n_items=0,
        flagged={},
        reasons={},
    )
    data = data_of(bare, example_digests(200, nights=2))
    assert data["attributes"]["distance"][0] == [None, None, None]
    assert data["trend"]["quartiles"][-1] is None


@pytest.mark.full
def test_five_thousand_attributes_and_a_month_stay_below_five_megabytes():
    night = example_night(5000)
    month = example_digests(5000, nights=1) * 29
    page = overview_page(night, month, store=STORE, library="l/", links={}, now=NOW)
    assert len(page) < 5_000_000


def test_nothing_from_outside_ends_the_data(night):
    (name, entry), *_ = night.entries.items()
    bad = "</script><script>alert(1)</script>"
    hostile = replace(entry, attribute=bad, reason=bad, outcome="failed")
    page = overview_page(
        replace(night, entries={bad: hostile}, notes=(bad,), refused=(bad,), reason=bad),
        (),
        store=bad,
        library="lib/",
        links={bad: bad},
        now=NOW,
    )
    assert page.count(b"</script>") == 2  # the data's own end, and that of the page's script
    assert name not in page.decode()


def test_the_script_makes_no_markup_and_runs_no_text():
    made = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|CustomJS"
    )
    assert not made.search(asset("overview.js"))


def test_the_pointer_leads_to_the_report_of_its_run():
    page = latest_page("20261116T020000Z-0a1b2c").decode()
    address = "../runs/20261116T020000Z-0a1b2c/report/index.html"
    assert f'content="0; url={address}"' in page
    assert f'href="{address}"' in page


def test_the_pointer_of_a_strange_run_stays_an_address():
    page = latest_page('"><script>alert(1)</script>').decode()
    assert "<script" not in page
    assert page.count("<a ") == 1


def test_two_runs_of_one_day_are_told_apart(night):
    (last,) = example_digests(200, nights=1)
    earlier = replace(last, night=LAST, started=night.started - timedelta(hours=1))
    nights = data_of(night, [earlier])["accounting"]["nights"]
    assert [one["night"] for one in nights] == [f"{LAST}, 02:00", f"{LAST}, 01:00"]
