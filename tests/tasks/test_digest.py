"""A night in brief: small, readable later, and true to the night."""

import json
from dataclasses import replace

import pytest
from example_nights import LAST, example_digests, example_night, run_of

from tasks.evaluate import Estimate
from tasks.messages import message
from tasks.report.digest import (
    DIGEST,
    DIGESTS,
    OTHER,
    REASONS,
    digest_of,
    recent_digests,
)
from tasks.report.usual import against, whole_nights
from tasks.results import Entry, ResultError
from tasks.runs import RUNS
from tasks.store import Store

LARGEST = 100_000


def put(store: Store, *digests, name: str = DIGEST) -> None:
    for digest in digests:
        store.create(f"{RUNS}/{digest.run}/{name}", DIGESTS.to_bytes(digest))


def test_a_digest_comes_back_as_it_was_written():
    digest = digest_of(example_night(30))
    assert DIGESTS.from_bytes(DIGESTS.to_bytes(digest), "here") == digest


def test_a_thousand_attributes_take_less_than_100_kb():
    assert len(DIGESTS.to_bytes(digest_of(example_night(1000)))) < LARGEST


def test_rows_of_all_fates_add_up_to_those_read():
    rows = digest_of(example_night(200)).rows
    assert rows["read"] == rows["used"] + rows["ties"] + rows["skipped"] + rows["rejected"] > 0


def test_what_was_not_worked_on_keeps_its_tau_but_not_its_rows():
    night = example_night(10)
    first, *others = night.entries.values()
    idle = {one.attribute: replace(one, run="20261101T020000Z-0a1b2c") for one in others}
    digest = digest_of(replace(night, entries={first.attribute: first, **idle}))
    assert len(digest.tau_by_attribute()) == 10
    assert digest.rows == first.rows
    assert sum(digest.outcomes.values()) == 1


def test_what_failed_counts_no_rows_and_no_drift():
    night = example_night(4)
    failed = {name: replace(one, outcome="failed") for name, one in night.entries.items()}
    digest = digest_of(replace(night, entries=failed))
    assert set(digest.rows.values()) == {0}
    assert digest.drift.tie_share is None
    assert digest.drift.votes_per_item is None
    assert digest.reasons == {}


def test_votes_counted_on_an_earlier_night_are_not_new_again():
    night = example_night(20)
    still = {name: replace(one, outcome="unchanged") for name, one in night.entries.items()}
    assert digest_of(night).drift.new_votes > 0
    assert digest_of(replace(night, entries=still)).drift.new_votes == 0


def test_an_attribute_without_a_finite_tau_has_none():
    night = example_night(2)
    one = next(iter(night.entries.values()))
    figure = Estimate(float("nan"), -1.0, 1.0, float("inf"))
    broken = replace(one, tau=replace(one.tau, plain=figure, by_person=figure))
    digest = digest_of(replace(night, entries=night.entries | {one.attribute: broken}))
    assert one.attribute in digest.attributes
    assert one.attribute not in digest.tau_by_attribute()


def test_rare_reasons_are_counted_together():
    night = example_night(1)
    one = next(iter(night.entries.values()))
    many = {f"reason {k}": k + 1 for k in range(REASONS + 3)}
    digest = digest_of(replace(night, entries={one.attribute: replace(one, reasons=many)}))
    assert len(digest.reasons) == REASONS + 1
    assert digest.reasons[OTHER] == 1 + 2 + 3
    assert sum(digest.reasons.values()) == sum(many.values())


def test_a_night_of_nothing_has_a_digest():
    digest = digest_of(replace(example_night(0), entries={}))
    assert DIGESTS.from_bytes(DIGESTS.to_bytes(digest), "here") == digest
    assert digest.newest_vote is None
    assert digest.published_night is None


def test_an_entry_without_results_is_not_among_the_attributes():
    night = example_night(0)
    entry = Entry("../../x", night.run, "failed", "no such name")
    digest = digest_of(replace(night, entries={"../../x": entry}))
    assert digest.attributes == ()
    assert digest.outcomes == {"failed": 1}


def test_the_last_digests_before_a_run_come_oldest_first(store):
    put(store, *example_digests(2, nights=6), digest_of(example_night(2)))
    found = recent_digests(store, before=run_of(LAST), most=4)
    assert [one.night.day for one in found] == [12, 13, 14, 15]


def test_missing_and_unreadable_digests_are_left_out(store):
    digests = example_digests(2, nights=5)
    put(store, digests[0], digests[2])
    cut_short = json.loads(DIGESTS.to_bytes(digests[1]))
    cut_short["tau"].pop()
    store.create(f"{RUNS}/{digests[1].run}/{DIGEST}", json.dumps(cut_short).encode())
    store.create(f"{RUNS}/{digests[3].run}/{DIGEST}", b"{}")
    store.create(f"{RUNS}/{digests[4].run}/run.json", b"not read")
    assert recent_digests(store, before=run_of(LAST)) == [digests[0], digests[2]]


def test_a_digest_whose_columns_do_not_belong_together_is_refused():
    digest = json.loads(DIGESTS.to_bytes(digest_of(example_night(3))))
    digest["votes"].append(1)
    with pytest.raises(ResultError) as error:
        DIGESTS.from_bytes(json.dumps(digest).encode(), "runs/x/digest.json")
    wrong = message("columns_of_other_lengths", attributes=3, tau=3, votes=4)
    assert wrong in str(error.value)


@pytest.mark.parametrize(
    ("tonight", "last", "word"),
    [
        (10.0, [9.0, 10.0, 11.0], "as usual"),
        (12.9, [9.0, 10.0, 11.0], "as usual"),
        (13.1, [9.0, 10.0, 11.0], "jumped up"),
        (6.9, [9.0, 10.0, 11.0], "jumped down"),
        (5.05, [5.0] * 7, "as usual"),
        (5.2, [5.0] * 7, "jumped up"),
        (1.0, [0.0] * 7, "jumped up"),
        (0.0, [0.0] * 7, "as usual"),
        (100.0, [1.0, 1.0], "too few nights to tell"),
        (100.0, [], "too few nights to tell"),
        (None, [1.0, 1.0, 1.0], "not known"),
        (float("nan"), [1.0, 1.0, 1.0], "not known"),
        (1.0, [None, float("nan"), None], "too few nights to tell"),
    ],
)
def test_a_jump_lies_beyond_the_range_by_more_than_its_width(tonight, last, word):
    assert against(tonight, last).word == word


def test_only_nights_like_every_other_are_compared_with():
    plain, dry, some, past = example_digests(2, nights=4)
    some, dry = replace(some, only=("a",)), replace(dry, dry=True)
    past = replace(past, as_of=past.finished)
    assert whole_nights([plain, dry, some, past]) == [plain]
