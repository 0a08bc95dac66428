"""Every dump and every name that goes wrong, in a night on a bucket; then the night after.

The first is apart from Prefect. A whole night finds the same again and some more; what it says is
what the first said. A night over what should have been delivered is what all are compared with.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bad_dumps import BAD_DUMPS, CSV, MARKUP, N_VOTES, NAMES, features, key_of
from cases import passed
from commands import Done
from judge import Bytes, Seen, judge_again, judge_entry, judge_night
from pipeline import PrefectApi
from registries import MLFLOW_WARNS
from sites import Site, site_at
from storage import S3Server

from flows.nightly_command import CODES
from tasks.results import Night
from tasks.store import Store
from urlr.ids import shown

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

HEALTHY = ("healthy-one", "healthy-two")
GOOD_NAMES = tuple(name for name, outcome, _ in NAMES.values() if outcome == "published")
REFUSED_NAMES = tuple(name for name, outcome, _ in NAMES.values() if outcome == "failed")
BY_MEMORY = "128 million rows in a small file"
"""What a worker may use decides on it; the workers of nights apart from Prefect may use all."""


def slug(case: str) -> str:
    return case.replace(" ", "-").replace("'", "").lower()


ATTRIBUTES = {case: slug(case) for case in BAD_DUMPS}


LATER = (HEALTHY[1], ATTRIBUTES[BY_MEMORY], ATTRIBUTES["some rows bad"], NAMES["a formula"][0])
"""What is delivered before the whole night."""
MENDED = (
    *("0 bytes", "broken gzip", "parquet damaged inside", "renamed column", "most rows bad"),
    *("only skips", "infinite features", "escapes in a file's name", "three votes"),
    *("byte order mark", "delivered twice", "some rows bad", BY_MEMORY),
)
"""Some of every kind, which are delivered again as they should have been."""


@dataclass(frozen=True)
class Nights:
    """What is over."""

    site: Site
    apart: tuple[Done, Night]
    """A night apart from Prefect."""
    done: Done
    """The whole night after it, on the same and more."""
    night: Night
    status: Done
    """What is said of it in the morning."""
    pages: dict[str, bytes]
    """Of its report, by name."""
    clean: Bytes

    def judged(self, attribute: str, outcome: str, said: str) -> Seen:
        """Judge what was said of an attribute in the night that found it first.

        The whole night says the same of what failed: in its record, on the console, in the morning
        and on a page.
        """
        done, night = (self.done, self.night) if attribute in LATER else self.apart
        seen = judge_entry(night, done, attribute, outcome=outcome, said=said)
        if outcome == "failed":
            again = judge_entry(self.night, self.done, attribute, outcome="failed", said=said)
            assert again == seen
            reason = night.entries[attribute].reason
            assert self.night.entries[attribute].reason == reason
            assert f"failed {shown(attribute, 80)}: {reason}" in self.status.out
            assert shown(reason, 1000) in troubles_on(self.pages["index.html"])
        return seen


def troubles_on(page: bytes) -> list[str]:
    """Why attributes failed or were held, as the overview shows it."""
    data = re.search(rb'id="page-data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    return [row["why"] for row in json.loads(data[1])["troubles"]["rows"]]


def pages_of(site: Site, night: Night) -> dict[str, bytes]:
    """The pages of a night's report."""
    folder = f"runs/{night.run}/report/"
    keys = [one.key for one in site.store.list(folder[:-1]) if one.key.endswith(".html")]
    return {key.removeprefix(folder): site.store.read(key) for key in keys}


def deliver_mended(site: Site, server: S3Server) -> None:
    """Put what should have been delivered, on some attributes alone."""
    site.put("features/all.csv", features())
    for attribute in (*HEALTHY, *(ATTRIBUTES[case] for case in MENDED)):
        site.put(key_of(attribute, "1.csv"), CSV)
    for attribute in GOOD_NAMES:
        site.put(key_of(attribute, "1.csv"), CSV, server)


def deliver_bad(site: Site, server: S3Server, *, later: bool) -> None:
    """Put what was delivered, but for what is delivered later, or that alone."""
    site.put("features/all.csv", features())
    for attribute in (*HEALTHY, *GOOD_NAMES, *REFUSED_NAMES):
        if (attribute in LATER) is later:
            site.put(key_of(attribute, "1.csv"), CSV, server)
    for case, attribute in ATTRIBUTES.items():
        if (attribute in LATER) is not later:
            continue
        for name, data in BAD_DUMPS[case].files.items():
            site.put(key_of(attribute, name), data, None if name.isprintable() else server)
        if BAD_DUMPS[case].features is not None:
            site.put(f"features/{attribute}/t.csv", BAD_DUMPS[case].features)


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
    run_here: Callable[[Site], Site],
) -> Iterator[Nights]:
    place: Path = tmp_path_factory.mktemp("bad-dumps")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in s3_server.environment.items():
            patched.setenv(name, value)
        spotless, site = (
            site_at(
                place / what,
                Store.at(f"s3://{new_bucket()}/some/where"),
                prefect_api,
                server=s3_server,
            )
            for what in ("clean", "bad")
        )
        whole = site.command
        try:
            deliver_mended(spotless, s3_server)
            done = run_here(spotless).night()
            assert done.code == 0, done.out
            clean = spotless.results()
            deliver_bad(site, s3_server, later=False)
            done = run_here(site).night()
            good = [name for name in (*HEALTHY, *GOOD_NAMES) if name not in LATER]
            apart = done, judge_night(site, done, clean, healthy=good)
            deliver_bad(site, s3_server, later=True)
            site.command = whole
            done = site.night()
            night = judge_night(site, done, clean, healthy=(*HEALTHY, *GOOD_NAMES))
            status = run_here(site).command("status", "--store", site.store.url)
            pages = pages_of(site, night)
            mend(site, s3_server)
            judge_again(site, site.night(), clean, but="page.json")
            yield Nights(site, apart, done, night, status, pages, clean)
        finally:
            whole.close()


@pytest.mark.parametrize("case", BAD_DUMPS)
def test_a_bad_dump_is_judged(nights, case):
    bad = BAD_DUMPS[case]
    passed("a delivery goes wrong", case, nights.judged(ATTRIBUTES[case], bad.outcome, bad.said))


@pytest.mark.parametrize("case", NAMES)
def test_an_odd_name_is_judged(nights, case):
    passed("names", case, nights.judged(*NAMES[case]))


def test_the_whole_night_says_that_some_failed(nights):
    failed = {one.attribute for one in nights.night.tonight() if one.outcome == "failed"}
    wanted = {ATTRIBUTES[case] for case, bad in BAD_DUMPS.items() if bad.outcome == "failed"}
    assert failed == wanted | set(REFUSED_NAMES)
    assert nights.done.code == nights.status.code == CODES["Partial"]
    published = {one.attribute for one in nights.night.tonight() if one.outcome == "published"}
    assert published == set(LATER) - failed


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
    site = nights.site
    assert not list(site.command.work.rglob("owned"))
    pages = [*nights.pages.values(), *pages_of(site, nights.apart[1]).values()]
    assert len(pages) > len(GOOD_NAMES)
    for page in pages:
        for name in (NAMES["markup"][0], NAMES["markup in an attribute"][0], MARKUP, "<img src=x"):
            assert name.encode() not in page
    table = site.store.read(f"runs/{nights.night.run}/tau.csv").decode()
    assert "\n+cmd" not in table
    assert "'+cmd" in table
    said = nights.done.out + nights.done.err + nights.status.out
    assert "\x1b" not in said
