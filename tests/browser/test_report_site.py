"""The files of a report, in a store and as a site: every page can be reached, and leads back."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest
from example_pages import example_page
from nights import NOON, entry, night, run_of
from playwright.sync_api import expect

from tasks.report.attribute_page import vote_parts
from tasks.report.page_file import PAGE, PAGES
from tasks.report.site import LATEST, point_to, report_key, whole_site, write_overview, write_page
from tasks.results import Entry, Night
from tasks.store import Store

pytestmark = pytest.mark.full

NAMES = ("index", "photos/smiling")
"""The first is called like the overview."""


@dataclass(frozen=True)
class Written:
    home: Path
    store: Store
    old: Night
    """Had results for both attributes ..."""
    new: Night
    """... and found both unchanged."""


def with_results(store: Store, attribute: str, day: int) -> Entry:
    """An attribute with what its page shows lying in the store."""
    cut = vote_parts(example_page(attribute=attribute, n_listed=500), n_per_part=200)
    place = f"runs/{run_of(day)}/attributes/{attribute}"
    store.create(f"{place}/{PAGE}", PAGES.to_bytes(cut.page))
    for name, data in cut.files.items():
        store.create(f"{place}/{name}", data)
    made = entry(attribute, day=day, place=place, key="k", live=1)
    page = write_page(store, made, run=run_of(day), night=date(2026, 11, day))
    return entry(attribute, day=day, place=place, key="k", live=1, page=page)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Written:
    home = tmp_path_factory.mktemp("store")
    store = Store.at(home)
    entries = [with_results(store, name, 15) for name in NAMES]
    old, new = night(*entries, day=15), night(*entries, day=16)
    for one in (old, new):
        write_overview(store, one, [], now=NOON, metrics=b"")
        point_to(store, one.run)
    return Written(home, store, old, new)


def test_an_attribute_called_index_has_a_page_beside_the_overview(written):
    pages = [written.store.read(one.page) for one in written.old.entries.values()]
    overview = written.store.read(report_key(written.old.run, "index.html"))
    assert len({overview, *pages}) == 3
    files = [file.name for file in whole_site(written.store, written.new, [], rebuilt=NOON)]
    assert len(files) == len(set(files))
    assert {"index.html", "of-index.html", "of-photos.smiling.html"} <= set(files)


def test_results_that_have_nothing_for_a_page_have_none_and_the_overview_is_made(tmp_path):
    """As those of a urlr that made no pages yet."""
    store = Store.at(tmp_path)
    older = entry("older", day=15, place=f"runs/{run_of(15)}/attributes/older", key="k")
    store.create(f"{older.place}/result.json", b"{}")
    assert write_page(store, older, run=older.run, night=date(2026, 11, 15)) is None
    last = night(older, with_results(store, "newer", 15), day=15)
    write_overview(store, last, [], now=NOON, metrics=b"")
    files = {file.name: file.data for file in whole_site(store, last, [], rebuilt=NOON)}
    assert {name for name in files if name.startswith("of-") and name.endswith(".html")} == {
        "of-newer.html"
    }
    for overview in (files["index.html"], store.read(report_key(last.run, "index.html"))):
        assert b'"older"' in overview
        assert b"of-older" not in overview
        assert b"of-newer.html" in overview


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_an_earlier_night_leads_to_the_newest_report(written, browser_page, name):
    browser_page.goto((written.home / LATEST).as_uri())
    expect(browser_page.locator("h1")).to_contain_text("Night of 2026-11-16")
    browser_page.locator("#attributes tbody").get_by_role("link", name=name, exact=True).click()
    expect(browser_page.locator("h1")).to_have_text(name)
    expect(browser_page.locator("header")).to_contain_text("Night of 2026-11-15")
    expect(browser_page.locator("#head")).to_contain_text(
        "After the night of 2026-11-15 version 1 was live"
    )
    browser_page.locator("#latest").click()
    expect(browser_page.locator("h1")).to_contain_text("Night of 2026-11-16")
    browser_page.go_back()
    expect(browser_page.locator("#overview")).to_have_text("‹ All attributes that night")
    browser_page.locator("#overview").click()
    expect(browser_page.locator("h1")).to_contain_text("Night of 2026-11-15")


@pytest.mark.parametrize("name", NAMES)
def test_a_site_leads_from_one_page_to_the_other_and_never_out(
    written, browser_page, tmp_path, name
):
    for file in whole_site(written.store, written.new, [], rebuilt=NOON):
        (tmp_path / file.name).write_bytes(file.data)
    browser_page.goto((tmp_path / "index.html").as_uri())
    browser_page.locator("#attributes tbody").get_by_role("link", name=name, exact=True).click()
    expect(browser_page.locator("h1")).to_have_text(name)
    browser_page.get_by_role("button", name="Load all 500").click()
    expect(browser_page.locator("#more-votes")).to_contain_text("All 500 suspicious votes")
    assert browser_page.locator("#latest").count() == 0
    browser_page.locator("#overview").click()
    expect(browser_page.locator("h1")).to_contain_text("Night of 2026-11-16")
    assert Path(browser_page.url.removeprefix("file://")).parent == tmp_path
