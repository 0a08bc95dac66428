"""Every dump and every name that goes wrong, in one night on a bucket; then the night after.

A third night, over what was mended alone, is what both are held against.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bad_dumps import BAD_DUMPS, CSV, MARKUP, N_VOTES, NAMES, features, key_of
from cases import passed
from commands import Done
from judge import Bytes, judge_again, judge_entry, judge_night
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from sites import Site, site_at
from storage import S3Server

from tasks.results import Night
from tasks.store import Store

pytestmark = MLFLOW_WARNS

HEALTHY = ("healthy-one", "healthy-two")
GOOD_NAMES = tuple(name for name, outcome, _ in NAMES.values() if outcome == "published")
REFUSED_NAMES = tuple(name for name, outcome, _ in NAMES.values() if outcome == "failed")


def slug(case: str) -> str:
    return case.replace(" ", "-").replace("'", "").lower()


ATTRIBUTES = {case: slug(case) for case in BAD_DUMPS}


@dataclass(frozen=True)
class Nights:
    """What is over."""

    site: Site
    done: Done
    night: Night
    again: Night
    clean: Bytes


def deliver_mended(site: Site, server: S3Server) -> None:
    """Put what everybody should have delivered."""
    site.put("features/all.csv", features())
    for attribute in (*HEALTHY, *ATTRIBUTES.values()):
        site.put(key_of(attribute, "1.csv"), CSV)
    for attribute in GOOD_NAMES:
        site.put(key_of(attribute, "1.csv"), CSV, server)


def deliver_bad(site: Site, server: S3Server) -> None:
    """Put what was delivered."""
    site.put("features/all.csv", features())
    for attribute in HEALTHY:
        site.put(key_of(attribute, "1.csv"), CSV)
    for case, attribute in ATTRIBUTES.items():
        for name, data in BAD_DUMPS[case].files.items():
            site.put(key_of(attribute, name), data, None if name.isprintable() else server)
        if BAD_DUMPS[case].features is not None:
            site.put(f"features/{attribute}/t.csv", BAD_DUMPS[case].features)
    for attribute in (*GOOD_NAMES, *REFUSED_NAMES):
        site.put(key_of(attribute, "1.csv"), CSV, server)


def mend(site: Site, server: S3Server) -> None:
    """Take the bad away, and deliver again."""
    client = server.client()
    bucket, _, prefix = site.store.url.removeprefix("s3://").partition("/")
    for key in list(site.given):
        client.delete_object(Bucket=bucket, Key=f"{prefix}/{key}")
        del site.given[key]
    client.close()
    deliver_mended(site, server)


@pytest.fixture(scope="module")
def nights(
    tmp_path_factory: pytest.TempPathFactory,
    s3_server: S3Server,
    new_bucket: Callable[[], str],
    prefect_api: PrefectApi,
) -> Iterator[Nights]:
    place: Path = tmp_path_factory.mktemp("bad-dumps")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in s3_server.environment.items():
            patched.setenv(name, value)
        sites = [
            site_at(
                place / what,
                Store.at(f"s3://{new_bucket()}/some/where"),
                prefect_api,
                server=s3_server,
            )
            for what in ("clean", "bad")
        ]
        spotless, site = sites
        try:
            deliver_mended(spotless, s3_server)
            done = spotless.night()
            assert done.code == 0, done.out
            clean = spotless.results()
            deliver_bad(site, s3_server)
            done = site.night()
            night = judge_night(site, done, clean, healthy=(*HEALTHY, *GOOD_NAMES))
            mend(site, s3_server)
            again = judge_again(site, site.night(), clean, but="page.json")
            yield Nights(site, done, night, again, clean)
        finally:
            for one in sites:
                one.command.close()


@pytest.mark.parametrize("case", BAD_DUMPS)
def test_a_bad_dump_is_judged(nights, case):
    bad, attribute = BAD_DUMPS[case], ATTRIBUTES[case]
    seen = judge_entry(nights.night, nights.done, attribute, outcome=bad.outcome, said=bad.said)
    passed("a delivery goes wrong", case, seen)


@pytest.mark.parametrize("case", NAMES)
def test_an_odd_name_is_judged(nights, case):
    name, outcome, said = NAMES[case]
    seen = judge_entry(nights.night, nights.done, name, outcome=outcome, said=said)
    passed("names", case, seen)


def test_all_rows_of_what_was_read_are_accounted_for(nights):
    entries = nights.night.entries
    assert entries["delivered-twice"].rows["read"] == 2 * N_VOTES
    assert entries["delivered-twice"].rows["skipped"] == N_VOTES
    assert entries["some-rows-bad"].rows["rejected"] == 7
    assert {entries[name].rows["read"] for name in HEALTHY} == {N_VOTES}
    assert entries["most-rows-bad"].unused_rows == N_VOTES
    assert entries["broken-gzip"].unused_rows is None, "nobody knows how many there are"


def test_what_makes_no_difference_has_the_bytes_of_a_clean_run(nights):
    """A mark of byte order is no part of the votes, nor are they more for being delivered twice."""
    for case in ("byte order mark", "delivered twice"):
        files = nights.site.files(nights.night, ATTRIBUTES[case])
        clean = nights.clean[ATTRIBUTES[case]]
        for name in ("scores.parquet", "model.npz", "judge.npz", "annotators.parquet"):
            assert files[name] == clean[name], (case, name)


def test_no_name_is_run_or_drawn(nights):
    """Neither as a command, nor as a page's code, nor as a spreadsheet's formula."""
    site, run = nights.site, nights.night.run
    assert not list(site.command.work.rglob("owned"))
    pages = [one.key for one in site.store.list(f"runs/{run}") if one.key.endswith(".html")]
    assert f"runs/{run}/report/index.html" in pages
    for page in map(site.store.read, pages):
        for name in (NAMES["markup"][0], NAMES["markup in an attribute"][0], MARKUP, "<img src=x"):
            assert name.encode() not in page
    table = site.store.read(f"runs/{run}/tau.csv").decode()
    assert "\n+cmd" not in table
    assert "'+cmd" in table
    said = nights.done.out + nights.done.err
    assert "\x1b" not in said
