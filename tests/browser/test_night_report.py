"""The report of a real night, opened as people open it; every name in its store means harm."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from in_process import Bench
from pipeline import Ran
from playwright.sync_api import Page, expect
from registries import MLFLOW_WARNS

from tasks.names import encoded
from tasks.report.site import LATEST
from tasks.store import Store
from tasks.write import table_bytes

pytestmark = [MLFLOW_WARNS, pytest.mark.full]

ATTRIBUTE = "<script>window.harmed++<!--"
"""A folder's name, which has no `=`: that would be a partition."""
SUM = "@SUM(1+1)*cmd"
FORMULA = '=HYPERLINK("http://evil.example")'
MARKUP, BRACES, ESCAPE = "<script>window.harmed = 1</script>", "{{7*7}}", "\x1b[31mred\x1b[0m"
LONG = "a" * 10_000
LINK = "javascript:window.harmed=1"


@dataclass(frozen=True)
class Hostile:
    place: Bench
    ran: Ran
    site: Path
    """Where `urlr report` put the whole of it."""

    def page_of(self, attribute: str) -> str:
        return (self.site / f"of-{encoded(attribute)}.html").as_uri()


@pytest.fixture(scope="module")
def hostile(new_bench, tmp_path_factory) -> Iterator[Hostile]:
    """A night on two attributes, one with features, and its report as a folder."""
    store = Store.at(tmp_path_factory.mktemp("hostile"))
    place: Bench = new_bench(store, URLR_FIT__REPLICATES="20")
    rng = np.random.default_rng(0)
    items = [MARKUP, BRACES, ESCAPE, FORMULA, "\u202egnp", *(f"item-{k}" for k in range(25))]
    people = [LONG, MARKUP, "=1+1", *(f"person-{k}" for k in range(9))]
    truth = rng.normal(size=len(items))
    for attribute in (ATTRIBUTE, SUM):
        pairs = np.array([rng.choice(len(items), 2, replace=False) for _ in range(900)])
        wins = rng.random(900) < 1 / (1 + np.exp(3 * (truth[pairs[:, 1]] - truth[pairs[:, 0]])))
        first, second = np.where(wins[:, None], pairs, pairs[:, ::-1]).T
        votes = pd.DataFrame(
            {
                "winner": np.array(items, object)[first],
                "loser": np.array(items, object)[second],
                "annotator": np.array(people, object)[rng.integers(len(people), size=900)],
                "time": "2026-11-15T12:00:00Z",
            }
        )
        store.create(f"votes/{attribute}/1.parquet", table_bytes(votes, "1.parquet"))
    features = pd.DataFrame({"item": items, "x": truth, "y": rng.normal(size=len(items))})
    features["url"] = LINK
    store.create(f"features/{ATTRIBUTE}/1.parquet", table_bytes(features, "1.parquet"))
    ran = place.night()
    assert ran.code == 0, ran.out
    site = place.directory / "site"
    made = place.urlr("report", "--store", store.url, "--out", str(site))
    assert made.returncode == 0, made.stderr
    return Hostile(place, ran, site)


def unharmed(page: Page) -> None:
    assert page.evaluate("window.harmed") is None
    assert page.locator("script[src^='http'], img[src='x'], a[href^='javascript']").count() == 0


def test_the_overview_leads_to_the_pages_and_back(hostile, browser_page):
    browser_page.goto((hostile.site / "index.html").as_uri())
    browser_page.wait_for_selector("body[data-ready]")
    browser_page.get_by_role("link", name="<script>window").first.click()
    expect(browser_page.locator("h1")).to_contain_text(ATTRIBUTE)
    unharmed(browser_page)
    browser_page.go_back()
    expect(browser_page.locator("h1")).to_contain_text("Night of")
    unharmed(browser_page)


@pytest.mark.parametrize("attribute", [ATTRIBUTE, SUM])
def test_names_are_shown_and_run_nowhere(hostile, browser_page, attribute):
    browser_page.goto(hostile.page_of(attribute))
    text = browser_page.locator("body")
    expect(text).to_contain_text(MARKUP)
    expect(text).to_contain_text(BRACES)
    expect(text).to_contain_text("[31mred[0m")
    assert "49" not in browser_page.locator("td", has_text=BRACES).first.inner_text()
    browser_page.wait_for_timeout(500)
    unharmed(browser_page)


def test_the_report_in_the_store_opens_too_and_the_pointer_leads_there(hostile, browser_page):
    store = Path(hostile.place.store.url)
    browser_page.goto((store / LATEST).as_uri())
    expect(browser_page.locator("h1")).to_contain_text("Night of")
    assert hostile.ran.night.run in browser_page.url
    browser_page.get_by_role("link", name="<script>window").first.click()
    expect(browser_page.locator("h1")).to_contain_text(ATTRIBUTE)
    unharmed(browser_page)


def test_no_page_is_large_for_a_name_of_ten_thousand_signs(hostile):
    sizes = [path.stat().st_size for path in hostile.site.glob("*.html")]
    assert len(sizes) == 3
    assert max(sizes) < 1_000_000


def test_the_terminal_gets_no_escapes(hostile):
    assert "\x1b" not in hostile.ran.out
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f]",
        hostile.place.urlr("status", "--store", hostile.place.store.url).stdout,
    )


def test_a_spreadsheet_gets_no_formulas(hostile):
    table = hostile.place.store.read(f"runs/{hostile.ran.night.run}/tau.csv").decode()
    cells = [line.partition(",")[0] for line in table.splitlines()]
    assert any(cell.lstrip('"').startswith("'@SUM") for cell in cells)
    assert not any(cell.lstrip('"').startswith("@") for cell in cells)
