"""The overview in a real browser: a thousand attributes, and a night whose names mean harm."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from example_nights import STORE, example_digests, example_night, run_of
from playwright.sync_api import Page, expect

from tasks.report.overview import latest_page, overview_page
from tasks.report.shell import library_files
from tasks.results import Entry, Night

pytestmark = pytest.mark.full

LARGEST = 5_000_000
HOSTILE = (
    "<script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 1'>",
    "{{7*7}}${7*7}",
    "$$\\href{javascript:window.harmed=1}{x}$$",
    "../../x",
    "\x1b[31mred\x1b[0m",
    "\u202egnp.exe",
    "</script><script>window.harmed = 1</script>",
    '=HYPERLINK("http://evil.example")',
)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The report of a night of 1,000 attributes, laid out as in a store."""
    night = example_night(1000)
    home = tmp_path_factory.mktemp("store")
    report = home / "runs" / night.run / "report"
    (report / "attributes").mkdir(parents=True)
    (report / "library").mkdir()
    for name, content in library_files().items():
        (report / "library" / name).write_bytes(content)
    links = {name: f"attributes/{k}.html" for k, name in enumerate(night.entries)}
    for name, address in links.items():
        (report / address).write_text(f"<!doctype html><title>{name}</title><h1>{name}</h1>")
    data = overview_page(
        night,
        example_digests(1000),
        store=STORE,
        library="library/",
        links=links,
        now=night.finished,
    )
    (report / "index.html").write_bytes(data)
    (home / "report").mkdir()
    (home / "report" / "latest.html").write_bytes(latest_page(night.run))
    return home


def opened(page: Page, site: Path) -> Page:
    page.goto((site / "runs" / run_of(example_night(0).night) / "report" / "index.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    return page


def names(page: Page) -> list[str]:
    return page.locator("#attributes tbody tr td:first-child").all_inner_texts()


def states(page: Page) -> list[str]:
    return page.locator("#attributes tbody .state").all_inner_texts()


def numbers(page: Page, column: int) -> list[float]:
    cells = page.locator(f"#attributes tbody tr td:nth-child({column})").all_inner_texts()
    return [float(cell.split()[0].replace(",", "")) for cell in cells if cell]


def test_of_a_thousand_attributes_only_what_is_shown_is_drawn(browser_page, site):
    """So that it is painted at once; `make bench` measures how soon."""
    opened(browser_page, site)
    assert browser_page.evaluate("document.querySelectorAll('*').length") < 2000
    assert browser_page.locator("#attributes tbody tr").count() == 50
    expect(browser_page.locator("#attributes [role=status]")).to_have_text("1 to 50 of 1,000")


def test_the_page_is_small_and_whole_with_the_library_inside():
    night = example_night(1000)
    digests = example_digests(1000)
    data = overview_page(night, digests, store=STORE, library=None, links={}, now=night.finished)
    assert len(data) < LARGEST


def test_the_worst_come_first(browser_page, site):
    opened(browser_page, site)
    order = ["failed", "held back", "got worse"]
    found = states(browser_page)
    assert found[0] == "failed"
    places = [order.index(state) for state in found if state in order]
    assert places == sorted(places)
    assert set(order) <= set(found)


def test_a_click_on_a_head_sorts_and_another_turns_it_around(browser_page, site):
    opened(browser_page, site)
    head = browser_page.locator("#attributes th button", has_text="Votes")
    head.click()
    falling = numbers(browser_page, 3)
    assert falling == sorted(falling, reverse=True)
    head.click()
    rising = numbers(browser_page, 3)
    assert rising == sorted(rising)
    assert rising[0] < falling[-1]
    browser_page.locator("#attributes th button", has_text="State").click()
    assert states(browser_page)[0] == "failed"


def test_a_search_and_a_state_narrow_the_table(browser_page, site):
    opened(browser_page, site)
    browser_page.get_by_placeholder("Find an attribute", exact=True).first.fill("smiling/food")
    found = names(browser_page)
    assert found
    assert all("smiling/food" in name for name in found)
    browser_page.get_by_placeholder("Find an attribute", exact=True).first.fill("")
    browser_page.locator("#attributes select").select_option("held back")
    expect(browser_page.locator("#attributes [role=status]")).to_have_text("20 rows (of 1,000)")
    assert set(states(browser_page)) == {"held back"}


def test_the_table_turns_its_pages(browser_page, site):
    opened(browser_page, site)
    first = names(browser_page)
    browser_page.locator("#attributes button", has_text="Next").click()
    assert not set(first) & set(names(browser_page))
    expect(browser_page.locator("#attributes [role=status]")).to_have_text("51 to 100 of 1,000")


def test_a_link_leads_to_the_page_of_an_attribute_and_back(browser_page, site):
    opened(browser_page, site)
    link = browser_page.locator("#attributes tbody a").first
    name = link.inner_text()
    link.click()
    expect(browser_page.locator("h1")).to_have_text(name)
    browser_page.go_back()
    expect(browser_page.locator("h1")).to_contain_text("Night of 2026-11-16")


def test_the_latest_report_is_found_from_its_pointer(browser_page, site):
    browser_page.goto((site / "report" / "latest.html").as_uri())
    browser_page.wait_for_url("**/report/index.html")
    expect(browser_page.locator("h1")).to_contain_text("Night of 2026-11-16")


def test_one_attribute_can_be_followed_over_the_nights(browser_page, site):
    opened(browser_page, site)
    assert browser_page.locator("#trend-plot canvas").count() > 0
    chooser = browser_page.get_by_placeholder("Show one attribute")
    chooser.fill("smiling/food")
    chooser.blur()
    said = browser_page.locator("#trend [role=status]")
    expect(said).to_contain_text("smiling/food: 0.")
    expect(said).to_contain_text("of 30 nights")
    chooser.fill("no such thing")
    chooser.blur()
    expect(said).to_have_text("No attribute is called no such thing.")


def test_every_plot_is_drawn_and_a_jump_has_its_word(browser_page, site):
    opened(browser_page, site)
    assert browser_page.locator("#drift .plot canvas").count() >= 4
    panel = browser_page.locator("#drift .panel", has_text="New annotators")
    expect(panel.locator(".state")).to_have_text("jumped up")


def test_the_command_to_retry_can_be_copied(browser_page, site):
    opened(browser_page, site)
    command = browser_page.locator("#troubles tbody .command").first
    command.locator("button").click()
    expect(command.locator("button")).to_have_text("Copied")
    assert browser_page.evaluate("getSelection().toString()").startswith(
        "urlr nightly --store s3://team/urlr --only "
    )


def test_a_page_that_nothing_newer_followed_says_its_age(browser_page, site):
    night = example_night(0)
    browser_page.clock.set_fixed_time(night.finished + timedelta(hours=5))
    opened(browser_page, site)
    expect(browser_page.locator("#age")).to_have_count(0)
    browser_page.clock.set_fixed_time(night.finished + timedelta(days=6, hours=5))
    opened(browser_page, site)
    expect(browser_page.locator("#age")).to_contain_text("6 days ago")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_but_tables_is_wider_than_the_window(browser_page, site, width):
    browser_page.set_viewport_size({"width": width, "height": 800})
    opened(browser_page, site)
    assert browser_page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_overview_prints_with_its_table(browser_page, site):
    opened(browser_page, site)
    browser_page.emulate_media(media="print")
    browser_page.set_viewport_size({"width": 718, "height": 1000})
    table = browser_page.locator("#attributes table")
    expect(table).to_be_visible()
    assert table.locator("tbody tr").count() == 50
    expect(table.locator("tbody tr").last).to_be_visible()
    expect(browser_page.locator("#attributes .tools").first).to_be_hidden()
    assert browser_page.evaluate("document.documentElement.scrollWidth") <= 718
    paper = browser_page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert paper.count(b"/Type /Page\n") > 1


def hostile_night() -> Night:
    night = example_night(6)
    entries: dict[str, Entry] = {}
    for k, (name, entry) in enumerate(zip(HOSTILE, night.entries.values(), strict=False)):
        outcome = "failed" if k % 2 else "held"
        entries[name] = replace(
            entry,
            attribute=name,
            outcome=outcome,
            verdict="held",
            reason=f"held: {HOSTILE[0]} \x1b]0;title\x07 {name}",
            reasons={HOSTILE[1]: 3, HOSTILE[2]: 1},
        )
    for name in HOSTILE[len(entries) :]:
        entries[name] = Entry(name, night.run, "failed", f"cannot be called {name}")
    return replace(
        night,
        entries=entries,
        notes=HOSTILE,
        refused=HOSTILE,
        reason=HOSTILE[0],
        state="Failed",
        stages={HOSTILE[0]: 1.0},
    )


def test_names_and_reasons_that_mean_harm_are_only_text(browser_page, tmp_path):
    night = hostile_night()
    links = dict.fromkeys(HOSTILE, "javascript:window.harmed=1")
    links[HOSTILE[2]] = "java\nscript:window.harmed=1"
    data = overview_page(
        night, example_digests(6), store=STORE, library=None, links=links, now=night.finished
    )
    path = tmp_path / "index.html"
    path.write_bytes(data)
    browser_page.goto(path.as_uri())
    browser_page.wait_for_selector("body[data-ready]")
    for name in HOSTILE:
        chooser = browser_page.get_by_placeholder("Show one attribute")
        chooser.focus()
        chooser.fill(name)
        chooser.blur()
    for box in browser_page.locator("#attributes tbody .name").all():
        box.click()
    assert browser_page.evaluate("window.harmed") is None
    assert browser_page.locator("main script, main img, main iframe").count() == 0
    assert browser_page.locator("#attributes tbody a").count() == 0
    text = browser_page.locator("main").inner_text()
    for seen in (*HOSTILE[:5], HOSTILE[7], HOSTILE[8], "\\x1b[31mred", "\\u202egnp.exe"):
        assert seen in text
    assert "49" not in browser_page.locator("#attributes tbody").inner_text().split()
    assert "\x1b" not in text
    assert "\u202e" not in text
