"""The figures of a night: what they say, what they do not erase, and how they are written."""

import os
import stat
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from nights import NOON, entry, night, run_of, samples, self_test, value, vote_tau
from refusals import refused

from tasks.coordinated import Coordinated
from tasks.freshness import Earlier, earlier_nights, earlier_of, with_behind
from tasks.gather import DELIVERED_TWICE, LATER, UNDATED
from tasks.metrics import METRICS, MetricsError, night_metrics, write_textfile
from tasks.results import NIGHTS, RUN
from tasks.runs import RUNS
from tasks.store import Store
from urlr import messages as method
from urlr.votes.table import REASONS

SUCCESS = "urlr_last_success_timestamp_seconds"
COMPLETION = "urlr_last_completion_timestamp_seconds"
PUBLISHED = "urlr_published_night_timestamp_seconds"
NEWEST = "urlr_newest_vote_timestamp_seconds"


def at(day: int, hour: int = 12) -> float:
    return datetime(2026, 11, day, hour, tzinfo=UTC).timestamp()


def test_a_good_night_is_the_last_success_and_the_last_completion():
    text = night_metrics(night(entry("a"), state="Partial"))
    assert value(text, SUCCESS) == value(text, COMPLETION) == at(16)


def test_a_failed_night_does_not_erase_the_last_success():
    past = earlier_of([night(day=15, state="Failed"), night(entry("a", day=14), day=14)])
    text = night_metrics(night(state="Failed"), past=past)
    assert (value(text, SUCCESS), value(text, COMPLETION)) == (at(14), at(16))


@pytest.mark.parametrize(
    "otherwise", [{"dry": True}, {"only": ("a",)}, {"as_of": NOON - timedelta(days=9)}]
)
def test_a_dry_run_a_part_of_a_night_and_a_night_of_the_past_feign_no_freshness(otherwise):
    past = earlier_of([night(day=15, **otherwise), night(day=14, state="Failed"), night(day=13)])
    assert past == Earlier(NOON - timedelta(days=3), NOON - timedelta(days=2), run_of(14))
    text = night_metrics(night(entry("a"), **otherwise), past=past)
    assert (value(text, SUCCESS), value(text, COMPLETION)) == (at(13), at(14))


def test_a_night_without_a_past_that_failed_knows_of_no_success():
    text = night_metrics(night(state="Failed"))
    assert value(text, SUCCESS) is None
    assert value(text, COMPLETION) == at(16)


def test_the_past_is_read_from_the_records_before_a_run_and_damaged_ones_are_passed(tmp_path):
    store = Store.at(tmp_path)
    for one in (night(day=13), night(day=14), night(day=15, state="Failed"), night(day=17)):
        store.create(f"{RUNS}/{one.run}/{RUN}", NIGHTS.to_bytes(one))
    store.create(f"{RUNS}/{run_of(12)}/started.json", b"{}")
    store.replace(f"{RUNS}/{run_of(14)}/{RUN}", b"{}")
    past = earlier_nights(store, before=run_of(16))
    assert past == Earlier(NOON - timedelta(days=3), NOON - timedelta(days=1), run_of(15))
    assert earlier_nights(store, before=run_of(10)) == Earlier()


def test_the_published_night_is_the_newest_that_is_live_whenever_it_was_run():
    text = night_metrics(
        night(
            entry("new", live_night=date(2026, 11, 12)), entry("old", live_night=date(2026, 9, 1))
        )
    )
    assert value(text, PUBLISHED) == at(12, 0)
    oldest = value(text, "urlr_oldest_live_night_timestamp_seconds")
    assert oldest == datetime(2026, 9, 1, tzinfo=UTC).timestamp()
    assert value(night_metrics(night(entry("a", live=None, live_night=None))), PUBLISHED) is None


def test_a_night_of_the_past_makes_no_vote_younger_and_no_newest_vote_older():
    then = NOON - timedelta(days=9)
    past = earlier_of([night(entry("a", day=15, newest=NOON - timedelta(days=1)), day=15)])
    text = night_metrics(night(entry("a", newest=then), as_of=then), past=past)
    assert value(text, NEWEST) == at(15)


def test_a_vote_from_the_future_counts_as_cast_when_the_night_ended():
    text = night_metrics(night(entry("a", newest=datetime(2099, 1, 1, tzinfo=UTC))))
    assert value(text, NEWEST) == at(16)


def test_a_vote_from_the_future_that_serves_counts_as_cast_when_its_model_was_made():
    """Else every quiet night would have votes newer than the newest night published."""
    bogus = datetime(2099, 1, 1, tzinfo=UTC)
    quiet = entry("a", outcome="unchanged", newest=bogus, live_night=date(2026, 11, 5))
    text = night_metrics(night(quiet))
    assert at(5) < value(text, NEWEST) < at(6, 0)
    held = entry("a", verdict="held", version=2, newest=bogus, live_night=date(2026, 11, 5))
    assert value(night_metrics(night(held)), NEWEST) == at(16)


def test_a_run_of_one_attribute_tells_of_all_that_are_still_there():
    gone = entry("gone", day=10, outcome="failed")
    mended, other = entry("mended", day=16), entry("other", day=15, outcome="failed")
    text = night_metrics(
        night(gone, mended, other, only=("mended",)), past=earlier_of([night(day=15)])
    )
    counts = {"published": 1, "failed": 1, "held": 0, "unchanged": 0}
    assert samples(text)["urlr_attributes"] == {(name,): n for name, n in counts.items()}


def test_a_whole_night_does_not_count_attributes_that_are_gone():
    text = night_metrics(night(entry("here"), entry("gone", day=10, outcome="failed")))
    assert samples(text)["urlr_attributes"][("failed",)] == 0


def test_a_run_of_one_attribute_hides_no_regression_of_another():
    worse = entry("worse", day=15, outcome="held", verdict="held", difference=vote_tau(-0.3))
    text = night_metrics(
        night(worse, entry("a"), only=("a",)), past=earlier_of([night(worse, day=15)])
    )
    assert value(text, "urlr_regressed_attributes") == 1
    assert samples(text)["urlr_regressed_tau_change"] == {("worse",): -0.3}


def test_rows_by_fate_and_reason_leave_out_what_nobody_counted():
    rows = {"read": 100, "used": 80, "ties": 10, "skipped": 4, "rejected": 6}
    reasons = {"missing item": 5, "repeated vote_id": 1, method.message("zero_weight"): 3, LATER: 1}
    text = night_metrics(
        night(
            entry("a", rows=rows, reasons=reasons),
            entry("b", rows=rows, reasons=reasons, outcome="unchanged"),
            entry("c", rows=rows, reasons=reasons, outcome="failed"),
        )
    )
    fates = {"used": 160, "ties": 20, "skipped": 8, "rejected": 12}
    assert samples(text)["urlr_rows"] == {(fate,): n for fate, n in fates.items()}
    assert samples(text)["urlr_rejected_rows"] == {("missing item",): 10, ("repeated vote_id",): 2}


def test_every_reason_either_skips_or_rejects_and_rare_ones_go_together():
    every = {why: 10 - k for k, why in enumerate(REASONS[4:])}
    every |= dict.fromkeys((*REASONS[1:4], UNDATED, LATER, DELIVERED_TWICE), 100)
    text = night_metrics(night(entry("a", reasons=every)), reasons=3)
    found = samples(text)["urlr_rejected_rows"]
    assert found == {(why,): 10 - k for k, why in enumerate(REASONS[4:7])} | {
        ("other",): sum(10 - k for k in range(3, len(REASONS) - 4))
    }


def test_thousands_of_attributes_make_no_more_series_than_the_worst_and_quantiles():
    rng = np.random.default_rng(0)
    taus = np.sort(rng.uniform(0.2, 0.9, 3000))
    many = night_metrics(
        night(
            *(
                entry(
                    f"a{k:04d}",
                    tau=vote_tau(tau),
                    outcome="held",
                    verdict="held",
                    difference=vote_tau(-0.5),
                    self_test=self_test(tau),
                    left_share=0.5,
                )
                for k, tau in enumerate(taus.tolist())
            )
        )
    )
    found = samples(many)
    assert sum(map(len, found.values())) < 100
    assert found["urlr_regressed_attributes"] == {(): 3000}
    worst = {(f"a{k:04d}",): tau for k, tau in enumerate(taus[:10].tolist())}
    assert found["urlr_worst_tau"] == found["urlr_worst_self_test_auc"] == worst
    assert found["urlr_tau_quantile"] == {
        (q,): pytest.approx(np.quantile(taus, float(q)))
        for q in ("0", "0.1", "0.25", "0.5", "0.75", "0.9", "1")
    }


def test_a_tau_of_too_few_votes_is_not_the_worst():
    text = night_metrics(
        night(entry("few", tau=vote_tau(-1.0, n_votes=3)), entry("many", tau=vote_tau(0.5)))
    )
    assert samples(text)["urlr_worst_tau"] == {("many",): 0.5}
    assert samples(text)["urlr_tau_quantile"][("0",)] == 0.5


def test_what_does_not_serve_is_told_and_what_has_nothing_new_is_not_behind():
    old = date(2026, 11, 1)
    text = night_metrics(
        night(
            entry("quiet", outcome="unchanged", live_night=date(2026, 1, 1), new_votes=7),
            entry("held", outcome="held", verdict="held", version=2, live_night=old, new_votes=30),
            entry("rolled back", outcome="unchanged", version=3, live_night=old, new_votes=9),
            entry("fails", outcome="failed", live_night=date(2026, 11, 3), new_votes=80),
            entry("never", verdict="held", live=None, live_night=None, rows={"used": 5, "ties": 1}),
        )
    )
    assert value(text, "urlr_unpublished_votes") == 30 + 9 + 6
    assert value(text, "urlr_unpublished_attributes") == 4
    assert value(text, "urlr_live_attributes") == 4


def test_an_attribute_is_behind_since_its_first_results_that_do_not_serve_not_since_its_model():
    """A model of last year, quiet ever since, whose first new results are held tonight."""
    last_year = date(2025, 11, 1)
    quiet = entry("a", day=15, outcome="unchanged", live_night=last_year)
    held = entry("a", outcome="held", verdict="held", version=2, live_night=last_year)
    never = entry("never", outcome="failed", live=None, live_night=None)
    noted = with_behind({"a": held, "never": never}, {"a": quiet}, now=NOON)
    text = night_metrics(night(*noted.values()))
    assert samples(text)["urlr_behind_since_timestamp_seconds"] == {("a",): at(16)}
    oldest = value(text, "urlr_oldest_live_night_timestamp_seconds")
    assert oldest == datetime(2025, 11, 1, tzinfo=UTC).timestamp()


def test_what_the_run_cost_is_of_this_run_alone():
    text = night_metrics(
        night(
            entry("a", attempts=2, seconds=3.0, memory=500),
            entry("b", attempts=0, seconds=0.0, memory=900, computed=False, outcome="unchanged"),
            entry("c", day=15, attempts=2, seconds=50.0, memory=5000),
            workers_lost=1,
            only=("a", "b"),
        )
    )
    names = ("retries", "compute_seconds", "peak_memory_bytes", "workers_lost")
    assert [value(text, f"urlr_{name}") for name in names] == [1, 3, 500, 1]
    assert samples(text)["urlr_stage_duration_seconds"] == {("discover",): 1, ("attributes",): 30}
    assert value(text, "urlr_night_duration_seconds") == 32


def test_votes_of_people_who_act_together_are_told_by_whether_they_count():
    text = night_metrics(
        night(
            entry("few", coordinated=Coordinated(1, 3, 40, 0, "drop")),
            entry("many", outcome="unchanged", coordinated=Coordinated(2, 5, 300, 290, "once")),
            entry("gone", outcome="failed", coordinated=Coordinated(1, 9, 900, 0, "drop")),
            entry("none"),
        ),
        worst=1,
    )
    assert value(text, "urlr_coordinated_people") == 8
    found = samples(text)
    assert found["urlr_coordinated_votes"] == {("set aside",): 50, ("counted",): 290}
    assert found["urlr_most_coordinated_votes"] == {("many",): 300}
    quiet = night_metrics(night(entry("none")))
    assert value(quiet, "urlr_coordinated_people") == 0
    assert samples(quiet)["urlr_most_coordinated_votes"] == {}


def test_names_from_outside_stay_short_printable_and_on_one_line():
    hostile = ['"} 1\nurlr_retries 99', "\x1b[2Jx", "x" * 10_000, "a\\", "\u202eabc", "{{7*7}}"]
    text = night_metrics(
        night(*(entry(name, tau=vote_tau(0.1 * k)) for k, name in enumerate(hostile)))
    )
    found = samples(text)
    assert found["urlr_retries"] == {(): 0}
    names = [name for (name,) in found["urlr_worst_tau"]]
    assert len(names) == len(hostile)
    assert all(name.isprintable() and len(name) <= 80 for name in names)
    assert {"a\\", "{{7*7}}", '"} 1\\nurlr_retries 99'} <= set(names)


def test_every_metric_is_declared_a_gauge_and_known_by_name():
    full = entry(
        "a",
        tau=vote_tau(0.5),
        self_test=self_test(0.9),
        outcome="held",
        verdict="held",
        difference=vote_tau(-0.5),
        newest=NOON,
        behind_since=NOON,
        left_share=0.5,
        reasons={"missing item": 1},
        flagged={"careless": 2},
        coordinated=Coordinated(1, 5, 320, 0, "drop"),
    )
    text = night_metrics(night(full))
    found = samples(text)
    assert list(found) == list(METRICS)
    assert all(found.values())
    kinds = [line.split()[-1] for line in text.decode().splitlines() if line.startswith("# TYPE")]
    assert set(kinds) == {"gauge"}
    for name, metric in METRICS.items():
        assert {len(values) for values in found[name]} == {len(metric.labels)}
        assert '"' not in metric.help  # escaped by one format and not by the other
        assert "\\" not in metric.help


def test_the_textfile_is_replaced_in_one_step_and_anybody_may_read_it(tmp_path):
    """The collector reads while we write: it must see one text or the other, whole."""
    texts = [night_metrics(night(entry(name * 70, tau=vote_tau(0.1)))) for name in "ab"]
    path = write_textfile(texts[0], tmp_path)
    done, seen = threading.Event(), set()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())
            assert [one.name for one in tmp_path.glob("*.prom")] == ["urlr.prom"]

    reader = threading.Thread(target=read)
    reader.start()
    before = os.umask(0o077)
    try:
        for k in range(200):
            write_textfile(texts[k % 2], tmp_path)
    finally:
        os.umask(before)
        done.set()
        reader.join()
    assert seen == set(texts)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_a_textfile_that_cannot_be_written_is_said_in_a_line_and_leaves_the_old_one(tmp_path):
    with refused(MetricsError, "metrics_not_written") as caught:
        write_textfile(b"", tmp_path / "not there")
    assert "\n" not in str(caught.value)
    assert "metrics_dir" in str(caught.value)
    (tmp_path / "urlr.prom").mkdir()
    with refused(MetricsError, "metrics_not_written", path=str(tmp_path / "urlr.prom")):
        write_textfile(b"", tmp_path)
    assert list(tmp_path.iterdir()) == [Path(tmp_path / "urlr.prom")]
