"""The report of a real night, opened over http from its bucket, with the rights of its readers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser.conftest import watched
from in_process import Bench
from pipeline import Ran
from playwright.sync_api import Browser, expect
from registries import MLFLOW_WARNS
from storage import S3Server, seaweedfs
from stored_votes import put, simulated

from tasks.report.site import LATEST
from tasks.store import Store

pytestmark = [MLFLOW_WARNS, pytest.mark.full]

POLICY = Path(__file__).parents[2] / "deploy" / "s3" / "policy-report-reader.json"
BUCKET = "urlr"
"""As the policy has it."""
MANY = "faces/many"


@dataclass(frozen=True)
class Served:
    """A night, and the server that anybody may read its report from."""

    ran: Ran
    server: S3Server

    def address(self, key: str) -> str:
        return f"{self.server.endpoint}/{BUCKET}/{key}"


@pytest.fixture(scope="module")
def served(new_bench, tmp_path_factory) -> Iterator[Served]:
    """A night on enough votes that its page lists them in several files."""
    folder = tmp_path_factory.mktemp("served")
    known = S3Server("")
    keys = {"accessKey": known.key, "secretKey": known.secret}
    who = {
        "identities": [
            {"name": "flow", "credentials": [keys], "actions": ["Admin"]},
            {"name": "anonymous", "actions": [], "policyNames": ["report-reader"]},
        ],
        "policies": [{"name": "report-reader", "content": POLICY.read_text()}],
    }
    (folder / "s3.json").write_text(json.dumps(who))
    with (
        seaweedfs(folder, f"-s3.config={folder / 's3.json'}", "-s3.iam=false") as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in server.environment.items():
            patch.setenv(name, value)
        server.client().create_bucket(Bucket=BUCKET)
        store = Store.at(f"s3://{BUCKET}", deadline=60)
        put(store, f"votes/{MANY}/1.parquet", simulated(n_votes=12_000, n_items=60).votes)
        place: Bench = new_bench(
            store, URLR_WORKERS="1", URLR_FIT__REPLICATES="0", **server.environment
        )
        del place.environment["URLR_DASK_ADDRESS"]  # its workers know another server
        ran = place.night()
        assert ran.outcomes() == {MANY: "published"}, ran.out + ran.err
        yield Served(ran, server)


def test_a_reader_follows_the_report_from_its_pointer_to_the_last_vote(served, browser: Browser):
    with watched(browser, server=served.server.endpoint) as page:
        page.goto(served.address(LATEST))
        expect(page.locator("h1")).to_contain_text("Night of")
        page.wait_for_selector("body[data-ready]")
        assert page.url == served.address(f"runs/{served.ran.night.run}/report/index.html")
        page.get_by_role("link", name=MANY).first.click()
        expect(page.locator("h1")).to_contain_text(MANY)
        page.wait_for_selector("body[data-drawn]")
        page.locator("#vote-table").get_by_role("searchbox").fill("no vote is called so")
        expect(page.locator("#more-votes")).to_contain_text("suspicious votes")
        expect(page.locator("#more-votes")).to_contain_text("All ")
        assert page.locator("script[src*='votes-']").count() > 1


def test_a_reader_is_given_nothing_but_the_report(served, browser: Browser):
    place = served.ran.entry(MANY).place
    asked = browser.new_context().request
    may = [LATEST, f"runs/{served.ran.night.run}/report/bokeh.min.js", f"{place}/votes-1.js"]
    may_not = [f"{place}/verdicts.parquet", f"{place}/result.json", f"votes/{MANY}/1.parquet"]
    assert [asked.get(served.address(key)).status for key in may] == [200] * 3
    assert [asked.get(served.address(key)).status for key in may_not] == [403] * 3
