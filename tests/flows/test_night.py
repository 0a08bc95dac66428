"""What a night remembers of champions that the registry no longer has."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from flows.night import has_lost_another, with_live
from tasks.registry import Standing
from tasks.results import Entry

HELD = Entry("smiling", "run", "held", "", key="k", verdict="held", version=3, live=2)
ROLLED_BACK = replace(HELD, outcome="published", verdict="published")
SERVES = replace(ROLLED_BACK, live=3)
NEVER = replace(HELD, version=1, live=None)


@pytest.mark.parametrize(
    ("before", "lost"),
    [(HELD, True), (ROLLED_BACK, True), (SERVES, False), (NEVER, False), (None, False)],
)
def test_results_that_did_not_serve_are_no_first_model_once_the_champion_is_lost(before, lost):
    assert has_lost_another(before) == lost
    if before is not None:
        after = with_live(before, None)
        assert after.live is None
        assert has_lost_another(after) == lost, "also in the night after one that left it out"
        assert has_lost_another(with_live(after, None)) == lost


def test_it_is_forgotten_when_a_champion_is_back():
    since = Standing(3, datetime(2026, 11, 1, tzinfo=UTC), date(2026, 11, 1))
    back = with_live(with_live(ROLLED_BACK, None), since)
    assert (back.live, back.rival_lost) == (3, False)
    assert not has_lost_another(back)
    assert with_live(replace(HELD, rival_lost=True), since).rival_lost, "its judge may be gone"
