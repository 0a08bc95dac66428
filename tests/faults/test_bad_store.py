"""A store that fails in every way it can, each at one attribute of one night.

The command talks to the real S3 server through a proxy that does wrong by method and key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bad_dumps import CSV, VOTES, features, key_of
from cases import passed
from commands import Done
from judge import Bytes, Seen, judge_again, judge_entry, judge_night, judge_unrecorded, nothing_left
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from s3_proxy import FaultyS3, Rule, faulty
from sites import Site, site_at
from storage import S3Server

from tasks.results import Night
from tasks.store import Store
from tasks.write import table_bytes

pytestmark = MLFLOW_WARNS

CALL = 6
"""Seconds that a call to the store may take."""
HEALTHY = ("healthy-one", "healthy-two")
PUBLISHED = ("published", "first model")
CHANGED = ("failed", r"/1\.csv changed after it was listed; run it again")
OTHER = table_bytes(VOTES.head(200), "1.csv")


@dataclass(frozen=True)
class Case:
    """What the store does, and what must become of the attribute it does it to."""

    do: str
    outcome: str
    said: str
    method: str = "GET"
    name: str = "*votes/{}/*"
    """Pattern of keys; {} is the attribute."""
    times: int | None = None
    status: int = 503
    after: int = 0
    """How many pass before; the first read of a dump is of its beginning, to count the rows."""

    def rule(self, attribute: str, site: Site) -> Rule:
        """As the proxy takes it; what is called replaces the dump."""
        return Rule(
            self.do,  # type: ignore[arg-type]
            key=self.name.format(attribute),
            method=self.method,
            times=self.times,
            status=self.status,
            after=self.after,
            seconds=2.0,
            call=lambda: site.put(key_of(attribute, "1.csv"), OTHER),
        )


RESULTS = "*/attributes/{}/*"
CASES: dict[str, Case] = {
    "a read is cut once": Case("cut", *PUBLISHED, times=1, after=1),
    "a read is always cut": Case(
        "cut", "failed", r"/1\.csv: cannot reach the store at .*; check AWS_ENDPOINT_URL"
    ),
    "a read is truncated once": Case("truncate", *PUBLISHED, times=1, after=1),
    "a read is always truncated": Case(
        "truncate", "failed", r"what came of .*/1\.csv is not what lies there .*; check the network"
    ),
    "a byte is flipped once": Case("flip", *PUBLISHED, times=1, after=1),
    "a byte is always flipped": Case(
        "flip", "failed", r"/1\.csv: the store at .* sent other bytes than it holds .*; check"
    ),
    "a burst of 503 on reads": Case("refuse", *PUBLISHED, times=2, after=1),
    "a burst of 500 on reads": Case("refuse", *PUBLISHED, times=2, status=500, after=1),
    "503 on every read": Case("refuse", "failed", r"the store failed at .*/1\.csv \(503 .*; try"),
    "403 on every read": Case(
        "refuse", "failed", r"access to .*/1\.csv was denied; check AWS_ACCESS_KEY_ID", status=403
    ),
    "slow reads": Case("delay", *PUBLISHED, times=2),
    "a read is never answered": Case(
        "hang",
        "failed",
        rf"/1\.csv: the store at .* did not answer within {CALL} seconds; check the network",
    ),
    "a burst of 503 on writes": Case("refuse", *PUBLISHED, "PUT", RESULTS, times=2),
    "a burst of 500 on writes": Case("refuse", *PUBLISHED, "PUT", RESULTS, times=2, status=500),
    "a burst of 409 on writes": Case("refuse", *PUBLISHED, "PUT", RESULTS, times=2, status=409),
    "409 on every write": Case(
        "refuse",
        "failed",
        r"will not create .* and shows nothing there; try",
        "PUT",
        RESULTS,
        status=409,
    ),
    "503 on every write": Case(
        "refuse", "failed", r"the store failed at .* \(503 .*; try", "PUT", RESULTS
    ),
    "a write is never answered": Case(
        "hang", "failed", rf"did not answer within {CALL} seconds; check", "PUT", RESULTS
    ),
    "the answer to a write is lost once": Case("lose", *PUBLISHED, "PUT", RESULTS, times=1),
    "the answer to every write is lost": Case("lose", *PUBLISHED, "PUT", RESULTS),
    "a write is done and never answered": Case(
        "swallow", *PUBLISHED, "PUT", "*/attributes/{}/model.npz", times=1
    ),
    "a dump is replaced after it was listed": Case("call", *CHANGED, times=1),
    "a dump is replaced after its rows were counted": Case("call", *CHANGED, times=1, after=1),
}
ATTRIBUTES = {case: case.replace(" ", "-") for case in CASES}
REPLACED = [ATTRIBUTES[name] for name, case in CASES.items() if case.do == "call"]


@dataclass(frozen=True)
class Nights:
    """What is over."""

    site: Site
    done: Done
    night: Night
    proxy: FaultyS3


@pytest.fixture(scope="module")
def sites(
    tmp_path_factory: pytest.TempPathFactory,
    s3_server: S3Server,
    new_bucket: Callable[[], str],
    prefect_api: PrefectApi,
) -> Iterator[tuple[Site, Site, FaultyS3]]:
    """A site that sees the server as it is, one behind the proxy, and the proxy."""
    place: Path = tmp_path_factory.mktemp("bad-store")
    with pytest.MonkeyPatch.context() as patched, faulty(s3_server) as proxy:
        for name, value in s3_server.environment.items():
            patched.setenv(name, value)
        made = [
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
        ]
        for site in made:
            site.put("features/all.csv", features())
            for attribute in (*HEALTHY, *ATTRIBUTES.values()):
                site.put(key_of(attribute, "1.csv"), CSV)
        try:
            yield made[0], made[1], proxy
        finally:
            for site in made:
                site.command.close()


@pytest.fixture(scope="module")
def clean(sites: tuple[Site, Site, FaultyS3]) -> Bytes:
    """What a store without fault comes to."""
    site = sites[0]
    done = site.night()
    assert done.code == 0, done.out
    return site.results()


@pytest.fixture(scope="module")
def nights(sites: tuple[Site, Site, FaultyS3], clean: Bytes) -> Nights:
    _, site, proxy = sites
    proxy.rules += [case.rule(ATTRIBUTES[name], site) for name, case in CASES.items()]
    done = site.night()
    unharmed = [ATTRIBUTES[name] for name, case in CASES.items() if case.outcome == "published"]
    night = judge_night(site, done, clean, healthy=(*HEALTHY, *unharmed))
    proxy.mend()
    for attribute in REPLACED:
        site.put(key_of(attribute, "1.csv"), CSV)
    judge_again(site, site.night(), clean)
    return Nights(site, done, night, proxy)


@pytest.mark.parametrize("name", CASES)
def test_a_store_that_fails_is_judged(nights, name):
    case = CASES[name]
    struck = [one for one in nights.proxy.log if one.struck == case.do]
    assert any(ATTRIBUTES[name] in one.key for one in struck), "the fault never struck"
    seen = judge_entry(
        nights.night, nights.done, ATTRIBUTES[name], outcome=case.outcome, said=case.said
    )
    passed("the store fails at one attribute", name, seen)


WHOLE: dict[str, tuple[Rule, str]] = {
    "the store never answers": (
        Rule("hang"),
        rf"did not answer within {CALL} seconds; check the network",
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


@pytest.mark.parametrize("name", WHOLE)
def test_a_store_that_cannot_be_used_is_told_in_one_line(sites, clean, nights, name):
    _, site, proxy = sites
    rule, said = WHOLE[name]
    proxy.rules.append(rule)
    try:
        done = site.night()
    finally:
        proxy.mend()
    line = judge_unrecorded(site, done)
    assert re.search(said, line), line
    nothing_left(site)
    passed("the store fails altogether", name, Seen("the night does not begin", line))


def test_once_the_store_is_back_a_night_is_clean(sites, clean, nights):
    _, site, proxy = sites
    proxy.mend()
    judge_again(site, site.night(), clean)


def test_answers_to_all_writes_of_a_night_are_lost(
    tmp_path, s3_server, new_bucket, prefect_api, monkeypatch, clean
):
    """Lease, results, record, report: each is found to be ours; files of the registry once."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    store, models = f"{new_bucket()}/some/where", f"{new_bucket()}/models"
    rules = (
        Rule("lose", method="PUT", key=f"{store}/*"),
        Rule("lose", method="PUT", key=f"{models}/*", times=1),
        Rule("refuse", method="PUT", key=f"{models}/*", status=409, after=2, times=2),
    )
    with faulty(s3_server, *rules) as proxy:
        site = site_at(
            tmp_path / "site",
            Store.at(f"s3://{store}"),
            prefect_api,
            server=proxy.front,
            URLR_ARTIFACTS=f"s3://{models}",
        )
        site.elsewhere = (Store.at(f"s3://{models}"),)
        site.put("features/all.csv", features())
        site.put(key_of("healthy-one", "1.csv"), CSV)
        try:
            done = site.night()
            lost = [one.key.removeprefix(f"{store}/") for one in proxy.log if one.struck == "lose"]
            proxy.mend()
            alone = {"healthy-one": clean["healthy-one"]}
            night = judge_again(site, done, alone)
            for part in ("lease/", "run.json", "tau.csv", "result.json", "report/latest.html"):
                assert any(part in key for key in lost), f"no write of {part} was lost: {lost}"
            assert any(models in key for key in lost)
            assert judge_again(site, site.night(), alone).entries["healthy-one"].version == 1
        finally:
            site.command.close()
    said = f"{len(lost)} answers lost; {night.entries['healthy-one'].reason}"
    passed(
        "the store fails altogether",
        "the answer to every write of a night is lost",
        Seen("published", said),
    )
