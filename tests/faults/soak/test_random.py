"""Nights under random faults for a given time: kills, cuts and corruption at 10 % of the requests.

SOAK_MINUTES tells how long (default 10), SOAK_SEED where to begin. Every round prints its
seed; a round is repeated by giving its seed and no minutes.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from cases import passed
from commands import Running, processes_of, until
from judge import Bytes, Seen, champions_serve, judge_again, no_secret
from kills import GRACE, LEASE, clean_nights, deliver_first, deliver_second
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from s3_proxy import FaultyS3, Rule, faulty
from sites import Site, site_at
from storage import S3Server

from tasks.lease import held_by
from tasks.store import Store

pytestmark = MLFLOW_WARNS

MINUTES = float(os.environ.get("SOAK_MINUTES", "10"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
SHARE = 0.1
NIGHTS = 4
"""Nights under faults in a round, before the one without."""
KINDS = ("cut", "truncate", "flip", "lose", "close", "refuse")


@dataclass(frozen=True)
class Round:
    """What was done in a round, and what came of it."""

    seed: int
    codes: list[int]
    n_struck: int
    n_killed: int


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


@pytest.fixture(scope="module")
def clean(tmp_path_factory, s3_here, new_bucket, prefect_api: PrefectApi) -> Bytes:
    place = tmp_path_factory.mktemp("clean")
    return clean_nights(new_site(place, s3_here, new_bucket(), prefect_api))


def test_random_faults(tmp_path_factory, s3_here, new_bucket, prefect_api, clean, capsys) -> None:
    end = time.monotonic() + 60 * MINUTES
    seed, rounds = SEED, []
    while not rounds or time.monotonic() < end:
        place = tmp_path_factory.mktemp(f"seed-{seed}")
        with faulty(s3_here, seed=seed) as proxy:
            site = new_site(place, proxy.front, new_bucket(), prefect_api)
            try:
                rounds.append(_round(seed, site, proxy, clean))
            finally:
                site.command.close()
        with capsys.disabled():
            print(f"\n{rounds[-1]}", flush=True)  # noqa: T201
        seed += 1
    struck, killed = sum(one.n_struck for one in rounds), sum(one.n_killed for one in rounds)
    nights = sum(len(one.codes) for one in rounds)
    passed(
        "random soak",
        "kill, cut, corrupt at 10 %",
        Seen(
            "every round ends as a clean run",
            f"{len(rounds)} rounds, {nights} nights under faults, {struck:,} requests struck, "
            f"{killed} processes killed, seeds {SEED} to {seed - 1}",
        ),
    )


def _round(seed: int, site: Site, proxy: FaultyS3, clean: Bytes) -> Round:
    """A clean night, some under faults, and one that must end as if there had been none."""
    chance = random.Random(seed)
    deliver_first(site)
    done = site.night()
    assert done.code == 0, (seed, done)
    deliver_second(site)
    codes, n_killed = [], 0
    for _ in range(NIGHTS):
        proxy.rules += [Rule(kind, share=SHARE / len(KINDS)) for kind in KINDS]  # type: ignore[arg-type]
        running = site.command.start("nightly", "--store", site.store.url)
        n_killed += _killed_meanwhile(running, chance)
        done = running.end()
        proxy.mend()
        codes.append(done.code)
        assert done.code in (0, 1, 3, -signal.SIGKILL), (seed, done)
        assert "Traceback" not in done.out + done.err, (seed, done)
        champions_serve(site)
        no_secret(site, done)
        assert site.inputs() == site.given, seed
        _free_at_last(site)
    n_struck = sum(bool(one.struck) for one in proxy.log)
    judge_again(site, site.night(), clean)
    return Round(seed, codes, n_struck, n_killed)


def _free_at_last(site: Site) -> None:
    until(lambda: held_by(site.store, grace=GRACE) is None)


def _killed_meanwhile(running: Running, chance: random.Random) -> int:
    """Kill the flow or one of its children at a random moment, or nobody."""
    wait: Callable[[float], object] = time.sleep
    wait(chance.uniform(1, 25))
    if running.process.poll() is not None or chance.random() < 0.3:
        return 0
    others = [one for one in processes_of(running.mark) if one.pid != running.process.pid]
    victim = chance.choice([psutil.Process(running.process.pid), *others])
    try:
        victim.kill()
    except psutil.NoSuchProcess:
        return 0
    return 1
