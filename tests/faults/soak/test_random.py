"""Nights under random faults for a given time: kills, cuts and corruption at 10 % of the requests.

SOAK_MINUTES tells how long (default 10), SOAK_SEED where to begin. Every round prints its seed
before it begins; a round is repeated by giving its seed and no minutes.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil
import pytest
from cases import passed
from commands import Done, Running, processes_of
from judge import (
    Bytes,
    Seen,
    champions_serve,
    inputs_as_given,
    judge_again,
    judge_entry,
    judge_night,
    judge_unrecorded,
    no_secret,
    nothing_left,
)
from kills import FRESH, GRACE, LEASE, deliver_first, deliver_second
from pipeline import PATIENCE, PrefectApi
from registries import MLFLOW_WARNS
from s3_proxy import Do, FaultyS3, Rule, faulty
from sites import Site, site_at
from storage import S3Server
from waiting import until

from tasks.lease import held_by
from tasks.runs import names_of
from tasks.store import Store
from tasks.write import table_bytes

pytestmark = [pytest.mark.soak, MLFLOW_WARNS]

MINUTES = float(os.environ.get("SOAK_MINUTES", "10"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
SHARE = 0.1
NIGHTS = 4
"""Nights under faults in a round, before the one without."""
ENOUGH = 8
"""Nights among which some process was killed: at seven of ten one is, if it still runs."""
ANY: tuple[Do, ...] = ("lose", "close", "refuse")
KINDS: dict[str, tuple[Do, ...]] = {
    "GET": (*ANY, "cut", "truncate", "flip"),  # answers to others have no body to harm
    "PUT": ANY,
    "HEAD": ANY,
    "DELETE": ANY,
}
# A listing has no digest: with a byte flipped it tells of another key, which nobody can know.
RULES = [
    Rule(kind, "*/*" if kind == "flip" else "*", method, share=SHARE / len(kinds))
    for method, kinds in KINDS.items()
    for kind in kinds
]

Victim = Literal["flow", "child", "nobody"]


@dataclass(frozen=True)
class Round:
    """What was done in a round, and what came of it."""

    seed: int
    codes: list[int]
    n_requests: int
    n_struck: int
    killed: list[Victim]


@pytest.fixture(scope="module")
def s3_here(s3_server: S3Server) -> Iterator[S3Server]:
    with pytest.MonkeyPatch.context() as patched:
        for name, value in s3_server.environment.items():
            patched.setenv(name, value)
        yield s3_server


def new_site(place: Path, server: S3Server, bucket: str, api: PrefectApi) -> Site:
    return site_at(
        place,
        Store.at(f"s3://{bucket}/some/where"),
        api,
        server=server,
        URLR_CALL_DEADLINE="20",
        URLR_LEASE=str(LEASE),
        URLR_LEASE_GRACE=str(GRACE),
    )


def deliver_more(site: Site, number: int) -> None:
    """Votes on one more attribute, so that no night is without work."""
    votes = FRESH.votes.head(300 + 20 * number)
    site.put(f"votes/more-{number}/1.csv", table_bytes(votes, "1.csv"))


@pytest.fixture(scope="module")
def clean(tmp_path_factory, s3_here, new_bucket, prefect_api: PrefectApi) -> Bytes:
    """What a round comes to when nothing goes wrong."""
    site = new_site(tmp_path_factory.mktemp("clean"), s3_here, new_bucket(), prefect_api)
    try:
        _first_night(site)
        for number in range(NIGHTS + 1):
            deliver_more(site, number)
        done = site.night()
        assert done.code == 0, done
        return site.results()
    finally:
        site.command.close()


def test_random_faults(tmp_path_factory, s3_here, new_bucket, prefect_api, clean, capsys) -> None:
    end = time.monotonic() + 60 * MINUTES
    seed, rounds = SEED, []
    while not rounds or time.monotonic() < end:
        with capsys.disabled():
            print(f"\nseed {seed} begins", flush=True)  # noqa: T201
        place = tmp_path_factory.mktemp(f"seed-{seed}")
        with faulty(s3_here, seed=seed) as proxy:
            site = new_site(place, proxy.front, new_bucket(), prefect_api)
            try:
                rounds.append(_round(seed, site, proxy, clean))
            finally:
                site.command.close()
        with capsys.disabled():
            print(rounds[-1], flush=True)  # noqa: T201
        seed += 1
    nights = sum(len(one.codes) for one in rounds)
    requests, struck = sum(one.n_requests for one in rounds), sum(one.n_struck for one in rounds)
    killed = sum(victim != "nobody" for one in rounds for victim in one.killed)
    assert struck > requests * SHARE / 2, (struck, requests)
    assert killed or nights < ENOUGH, "nobody was killed"
    passed(
        "random soak",
        "kill, cut, corrupt at 10 %",
        Seen(
            "every round ends as a clean run",
            f"{len(rounds)} rounds, {nights} nights under faults, {struck:,} of {requests:,} "
            f"requests struck, {killed} processes killed, seeds {SEED} to {seed - 1}",
        ),
    )


def _first_night(site: Site) -> float:
    """A night without faults, with votes for the next; gives the seconds it took."""
    deliver_first(site)
    began = time.monotonic()
    done = site.night()
    assert done.code == 0, done
    deliver_second(site)
    return time.monotonic() - began


def _round(seed: int, site: Site, proxy: FaultyS3, clean: Bytes) -> Round:
    """A clean night, some under faults, and one that must end as if there had been none."""
    chance = random.Random(seed)
    usual = _first_night(site)
    codes, killed = [], []
    n_passed = len(proxy.log)
    for number in range(NIGHTS):
        deliver_more(site, number)
        site.started = names_of(site.store)
        proxy.rules += RULES
        running = site.command.start("nightly", "--store", site.store.url)
        victim = _killed_meanwhile(running, chance, usual)
        done = running.end()
        proxy.mend()
        _judge(site, done, clean, victim)
        until(lambda: held_by(site.store, grace=GRACE) is None, seconds=PATIENCE)
        codes.append(done.code)
        killed.append(victim)
    asked = proxy.log[n_passed:]
    deliver_more(site, NIGHTS)
    judge_again(site, site.night(), clean)
    return Round(seed, codes, len(asked), sum(bool(one.struck) for one in asked), killed)


def _judge(site: Site, done: Done, clean: Bytes, victim: Victim) -> None:
    """Ask for all that holds amid faults: (a) to (e), (h), and (i) of whoever ended by itself.

    Not for (f): there are no other attributes, all are struck alike. Nor for (g), before the end.
    """
    assert "Traceback" not in done.out + done.err, done
    if done.code == -signal.SIGKILL:
        assert victim == "flow", done
        champions_serve(site)
        inputs_as_given(site)
        no_secret(site, done)
    elif site.record is None:
        line = judge_unrecorded(site, done)
        assert "URLR_DEBUG" not in line, f"nobody expected this: {line}"
        until(
            lambda: held_by(site.store) is None, seconds=PATIENCE
        )  # whose release was struck, runs out
        nothing_left(site)
    else:
        until(lambda: held_by(site.store) is None, seconds=PATIENCE)
        night = judge_night(site, done, clean)
        for entry in night.tonight():
            if entry.outcome == "failed":
                judge_entry(night, done, entry.attribute, outcome="failed", said="^(?!unexpected)")


def _killed_meanwhile(running: Running, chance: random.Random, usual: float) -> Victim:
    """Kill the flow or one of its children at a random moment, or nobody."""
    time.sleep(chance.uniform(1, usual))
    if chance.random() < 0.3 or running.process.poll() is not None:
        return "nobody"
    flow = psutil.Process(running.process.pid)
    children = [one for one in processes_of(running.mark) if one != flow]
    victim = flow if not children or chance.random() < 0.5 else chance.choice(children)
    try:
        if any("resource_tracker" in word for word in victim.cmdline()):
            # A night needs it for nothing, and Python tells at length that it starts another.
            return "nobody"
        victim.kill()
    except psutil.NoSuchProcess:
        return "nobody"
    return "flow" if victim == flow else "child"
