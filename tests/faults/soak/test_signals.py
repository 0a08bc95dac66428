"""Ctrl-C and SIGTERM at moments nobody chose, and nights that all begin at once."""

import random
import re
import signal
import time
from collections.abc import Iterator

import pytest
from cases import passed
from judge import Bytes, Seen, champions_serve, judge_again, no_secret, nothing_left
from kills import deliver_first, deliver_second, new_site
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from sites import Site

pytestmark = MLFLOW_WARNS

SEED = 7
MOMENTS = 10
STOPPED = "urlr: stopped before the end."


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi) -> Iterator[Site]:
    made = new_site(tmp_path_factory.mktemp("signals"), prefect_api)
    deliver_first(made)
    assert made.night().code == 0
    deliver_second(made)
    yield made
    made.command.close()


def test_signals_at_random_moments(site: Site, two_clean_nights: Bytes) -> None:
    """Whenever it comes, the night ends, says so, and gives everything back; or it was done."""
    chance = random.Random(SEED)
    began = time.monotonic()
    assert site.command("nightly", "--store", site.store.url, "--dry-run").code == 0
    usual = time.monotonic() - began
    codes = []
    for number in range(MOMENTS):
        which = signal.SIGINT if number % 2 else signal.SIGTERM
        night = site.command.start("nightly", "--store", site.store.url)
        time.sleep(chance.uniform(0.3, usual))
        done = night.end(signal_sent=which, to_all=which == signal.SIGINT)
        codes.append(done.code)
        assert done.code in (130, 0, -which), done  # killed before Python could listen
        if done.code == 130:
            assert done.err.splitlines()[-1] == STOPPED, done
        champions_serve(site)
        nothing_left(site)
        no_secret(site, done)
        assert site.inputs() == site.given
    print(f"seed {SEED}: exit codes {codes}")  # noqa: T201 - shown by pytest -s
    assert 130 in codes
    judge_again(site, site.night(), two_clean_nights)
    passed(
        "signals",
        f"Ctrl-C and SIGTERM at {MOMENTS} random moments",
        Seen("stopped (130), then completed", STOPPED.removeprefix("urlr: ")),
    )


def test_eight_nights_at_once(site: Site, two_clean_nights: Bytes) -> None:
    """One works, the others are told who does; what comes of it is one night's."""
    site.started = []
    nights = [site.command.start("nightly", "--store", site.store.url) for _ in range(8)]
    ends = [night.end() for night in nights]
    done = [one for one in ends if one.code == 0]
    refused = [one for one in ends if one.code == 1]
    assert len(done) + len(refused) == 8, [one.code for one in ends]
    assert len(done) >= 1
    for one in refused:
        assert one.out == ""
        assert re.search(r"is held by run \S+ on \S+ \(process \d+\).*; wait", one.complaint)
    assert [one.number for one in site.registry.versions("smiling")] == [1, 2]
    nothing_left(site)
    judge_again(site, site.night(), two_clean_nights)
    line = refused[0].complaint.removeprefix("urlr: ") if refused else "each came after the other"
    passed("signals", "eight nights at once", Seen("one works, seven are refused", line))
