"""Ctrl-C and SIGTERM at moments nobody chose, and nights that all begin at once."""

import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from cases import passed
from commands import Done, Fault
from judge import (
    STOPPED,
    Bytes,
    Seen,
    champions_serve,
    inputs_as_given,
    judge_again,
    judge_night,
    judge_unrecorded,
    no_secret,
    nothing_left,
    plain,
)
from kills import MADE, OLD, deliver_first, deliver_second, new_site
from pipeline import PATIENCE, PrefectApi
from registries import MLFLOW_WARNS
from sites import Site
from waiting import until

from flows.messages import message
from tasks.runs import names_of
from tasks.write import table_bytes

pytestmark = [pytest.mark.soak, MLFLOW_WARNS]

SEED = 7
MOMENTS = 10
FEWEST = 6
"""Moments that must have stopped a night; at others it has not begun, or is done."""
SAID = f"urlr: {message('stopped_early')}"
STOP = f"stopped ({STOPPED})"
NIGHTS = 8
GROWING = "growing"
"""An attribute that gets votes before every moment: each night has a fit to do and to publish."""


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi) -> Iterator[Site]:
    made = new_site(tmp_path_factory.mktemp("signals"), prefect_api)
    deliver_first(made)
    assert made.night().code == 0
    yield made
    made.command.close()


def test_signals_at_random_moments(site: Site, two_clean_nights: Bytes) -> None:
    """Whenever it comes, the night ends, says so, and gives everything back; or it was done."""
    grow(site, 0)
    began = time.monotonic()
    assert site.night().code == 0
    usual = time.monotonic() - began
    deliver_second(site)
    chance = random.Random(SEED)
    ends: Counter[str] = Counter()
    # A moment in each part of a night, in any order.
    for number, part in enumerate(chance.sample(range(MOMENTS), MOMENTS), start=1):
        grow(site, number)
        which = signal.SIGINT if number % 2 else signal.SIGTERM
        site.started = names_of(site.store)
        night = site.command.start("nightly", "--store", site.store.url)
        time.sleep(usual * (part + chance.random()) / MOMENTS)
        done = night.end(signal_sent=which, to_all=which == signal.SIGINT)
        ends[ending(site, done, which, two_clean_nights)] += 1
    counted = ", ".join(f"{count} {how}" for how, count in ends.most_common())
    print(f"seed {SEED}, a night takes {usual:.0f} s: {counted}")  # noqa: T201 - by pytest -s
    assert ends[STOP] >= FEWEST, counted
    site.forget(f"votes/{GROWING}/1.csv")
    judge_again(site, site.night(), two_clean_nights)
    passed(
        "signals",
        f"Ctrl-C and SIGTERM at {MOMENTS} random moments",
        Seen(f"{counted}, then completed", SAID.removeprefix("urlr: ")),
    )


def grow(site: Site, number: int) -> None:
    """Deliver more votes than the last time."""
    votes = MADE.votes.head(400 + 50 * number)
    site.put(f"votes/{GROWING}/1.csv", table_bytes(votes, "1.csv"))


def ending(site: Site, done: Done, which: int, clean: Bytes) -> str:
    """Judge a night that a signal met; gives how it ended."""
    if done.code == 0:
        entry = judge_night(site, done, clean).entries[GROWING]
        assert entry.computed, entry
        assert entry.outcome in ("published", "held"), entry
        return "done (0)"
    nothing_left(site)
    if done.code == STOPPED and site.record is None:
        assert done.complaint == SAID
        judge_unrecorded(site, done, code=STOPPED)
        return STOP
    champions_serve(site)
    inputs_as_given(site)
    no_secret(site, done)
    if done.code == STOPPED:  # while Prefect was told of what is recorded
        assert done.complaint == SAID
        return f"recorded, then {STOP}"
    assert done.code == -which, done
    if site.record is not None:
        return "recorded, then ended by the signal"
    assert names_of(site.store) == site.started, done
    return "ended by the signal before it began"


def test_eight_nights_at_once(site: Site, two_clean_nights: Bytes, tmp_path: Path) -> None:
    """One works, the others are told who does; what comes of it is one night's."""
    deliver_second(site)
    hold = Fault("tasks.train:_computed", "freeze", tmp_path / "marks", attribute=OLD, times=1)
    site.started = names_of(site.store)
    wanted = ("nightly", "--store", site.store.url)
    nights = [site.command.start(*wanted, faults=(hold,)) for _ in range(NIGHTS)]

    def n_over() -> int:
        return sum(night.process.poll() is not None for night in nights)

    until(lambda: n_over() >= NIGHTS - hold.struck, seconds=PATIENCE)
    assert hold.struck == 1, [night.end() for night in nights]
    worker = psutil.Process(int((hold.marks / "0").read_text()))
    until(lambda: worker.status() == psutil.STATUS_STOPPED, seconds=PATIENCE)
    assert n_over() == NIGHTS - 1, "the store was held meanwhile"
    worker.resume()
    ends = [night.end() for night in nights]
    done, refused = ([one for one in ends if one.code == code] for code in (0, 1))
    assert (len(done), len(refused)) == (1, NIGHTS - 1), [one.code for one in ends]
    [run] = set(names_of(site.store)) - set(site.started)
    for one in refused:
        assert one.out == ""
        assert plain(one.complaint)
        said = rf"is held by run {run} on \S+ \(process \d+\).*; wait"
        assert re.search(said, one.complaint), one
    assert [one.number for one in site.registry.versions(OLD)] == [1, 2]
    no_secret(site, *ends)
    nothing_left(site)
    after = judge_again(site, site.night(), two_clean_nights)
    assert {one.outcome for one in after.tonight()} == {"unchanged"}
    line = refused[0].complaint.removeprefix("urlr: ")
    counted = f"{len(done)} works, {len(refused)} are refused"
    passed("signals", "eight nights at once", Seen(counted, line))
