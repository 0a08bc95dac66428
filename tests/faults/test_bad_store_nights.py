"""Nights on a store that fails, through a proxy that does wrong by method and key.

One whole night in which it fails at some attributes, and one that cannot begin; all others are
apart from Prefect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from bad_dumps import CSV, features, key_of
from cases import passed
from clusters import local_client
from commands import Done, Urlr
from judge import (
    Bytes,
    Seen,
    judge_again,
    judge_entry,
    judge_night,
    judge_unrecorded,
    nothing_left,
)
from nights_apart import Here
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from s3_proxy import FaultyS3, Rule, faulty
from sites import Site, site_at
from storage import S3Server
from test_bad_store import ATTRIBUTES, CALL, CASES, SHORT

from tasks.results import Night
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

HEALTHY = ("healthy-one", "healthy-two")
IN_A_NIGHT = (
    "a byte is flipped once",
    "503 on every read",
    "403 on every read",
    "a burst of 503 on writes",
    "a dump is replaced after it was listed",
)
"""What happens in the whole night, too."""


@dataclass(frozen=True)
class Family:
    """What is over."""

    site: Site
    """Behind the proxy; its nights are run in this process from now on."""
    whole: Urlr
    """The command by which a whole night is run there."""
    clean: Bytes
    done: Done
    night: Night
    struck: set[str]
    """Keys that something was done to."""


@pytest.fixture(scope="module")
def family(
    tmp_path_factory: pytest.TempPathFactory,
    s3_server: S3Server,
    new_bucket: Callable[[], str],
    prefect_api: PrefectApi,
    run_here: Callable[[Site], Site],
    proxy: FaultyS3,
) -> Iterator[Family]:
    """A whole night in which the store fails at some attributes, and the night after."""
    place = tmp_path_factory.mktemp("bad-store")
    spotless, site = (
        site_at(
            place / what,
            Store.at(f"s3://{new_bucket()}/some/where"),
            prefect_api,
            server=server,
            URLR_WORKERS="2",
            URLR_CALL_DEADLINE=str(CALL),
            URLR_LEASE="20",
            URLR_LEASE_GRACE="1",
        )
        for what, server in (("clean", s3_server), ("faulty", proxy.front))
    )
    whole = site.command
    try:
        for one in (spotless, site):
            one.put("features/all.csv", features())
            for attribute in (*HEALTHY, *map(ATTRIBUTES.get, IN_A_NIGHT)):
                one.put(key_of(attribute, "1.csv"), CSV)
        done = run_here(spotless).night()
        assert done.code == 0, done.out
        clean = spotless.results()
        proxy.log.clear()
        proxy.rules += [CASES[name].rule(ATTRIBUTES[name], site.put) for name in IN_A_NIGHT]
        done = site.night()
        good = [ATTRIBUTES[name] for name in IN_A_NIGHT if CASES[name].outcome == "published"]
        night = judge_night(site, done, clean, healthy=(*HEALTHY, *good))
        struck = {one.key for one in proxy.log if one.struck}
        proxy.mend()
        for name in IN_A_NIGHT:
            site.put(key_of(ATTRIBUTES[name], "1.csv"), CSV)
        judge_again(run_here(site), site.night(), clean)
        yield Family(site, whole, clean, done, night, struck)
    finally:
        whole.close()


@pytest.mark.parametrize("name", IN_A_NIGHT)
def test_a_night_says_of_an_attribute_what_its_worker_said(family, name):
    """What may pass is tried once more."""
    case, attribute = CASES[name], ATTRIBUTES[name]
    assert any(f"/{attribute}/" in key for key in family.struck), "the fault never struck"
    judge_entry(family.night, family.done, attribute, outcome=case.outcome, said=case.said)
    passing = case.outcome == "failed" and case.status == 503 and case.do == "refuse"
    assert family.night.entries[attribute].attempts == (2 if passing else 1)


WHOLE: dict[str, tuple[Rule, str]] = {
    "the store never answers": (
        Rule("hang"),
        rf"did not answer within {SHORT} seconds; check the network",
    ),
    "the store closes every connection": (
        Rule("close"),
        r"cannot reach the store at .*; check",
    ),
    "503 on everything": (Rule("refuse"), r"the store failed at .* \(503 .*; try again later"),
    "listing is denied": (
        Rule("refuse", method="GET", status=403),
        r"access to .* was denied; check AWS_ACCESS_KEY_ID",
    ),
    "conditional writes are ignored": (
        Rule("strip", method="PUT", header="If-None-Match"),
        r"conditional writes.*; ",
    ),
}


BY_PREFECT = "conditional writes are ignored"
"""Of these the one that is a whole night, whose end Prefect shows."""


@pytest.mark.parametrize("name", WHOLE)
def test_a_store_that_cannot_be_used_is_told_in_one_line(family, proxy, name):
    site, here = family.site, family.site.command
    rule, said = WHOLE[name]
    proxy.rules.append(rule)
    site.command = family.whole if name == BY_PREFECT else here
    try:
        done = site.night(URLR_CALL_DEADLINE=str(SHORT))
    finally:
        proxy.mend()
    line = judge_unrecorded(site, done)
    site.command = here
    assert re.search(said, line), line
    nothing_left(site)
    passed("the store fails altogether", name, Seen("the night does not begin", line))


def test_once_the_store_is_back_a_night_is_clean(family):
    judge_again(family.site, family.site.night(), family.clean)


def test_answers_to_all_writes_of_a_night_are_lost(
    tmp_path, s3_server, new_bucket, run_here, family
):
    """Lease, results, record, report: each is found to be ours; files of the registry once."""
    store, models = f"{new_bucket()}/some/where", f"{new_bucket()}/models"
    rules = (
        Rule("lose", method="PUT", key=f"{store}/*"),
        Rule("lose", method="PUT", key=f"{models}/*", times=1),
        Rule("refuse", method="PUT", key=f"{models}/*", status=409, after=2, times=2),
    )
    with (
        faulty(s3_server, *rules) as proxy,
        local_client(1, **proxy.front.environment) as client,
        client.cluster as cluster,
    ):
        site = run_here(
            site_at(
                tmp_path / "site",
                Store.at(f"s3://{store}"),
                None,
                server=proxy.front,
                URLR_ARTIFACTS=f"s3://{models}",
            )
        )
        site.command = Here.instead_of(site.command, cluster.scheduler_address)
        site.elsewhere = (Store.at(f"s3://{models}"),)
        site.put("features/all.csv", features())
        site.put(key_of("healthy-one", "1.csv"), CSV)
        done = site.night()
        lost = [one.key.removeprefix(f"{store}/") for one in proxy.log if one.struck == "lose"]
        proxy.mend()
        alone = {"healthy-one": family.clean["healthy-one"]}
        night = judge_again(site, done, alone)
        for part in ("lease/", "run.json", "tau.csv", "result.json", "report/latest.html"):
            assert any(part in key for key in lost), f"no write of {part} was lost: {lost}"
        assert any(models in key for key in lost)
        assert judge_again(site, site.night(), alone).entries["healthy-one"].version == 1
    said = f"{len(lost)} answers lost; {night.entries['healthy-one'].reason}"
    passed(
        "the store fails altogether",
        "the answer to every write of a night is lost",
        Seen("published", said),
    )
