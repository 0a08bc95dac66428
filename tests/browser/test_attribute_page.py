"""The page of an attribute in a real browser, opened as a file."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path

import pytest
from example_pages import HOSTILE, example_head, example_page, hostile_page
from playwright.sync_api import Page, expect
from waiting import until

from tasks.report.attribute_page import PageHead, attribute_page, single_page, vote_parts
from tasks.report.shell import library_files
from urlr.messages import message

pytestmark = pytest.mark.full

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
AGAINST = message("against_ranking")
RTL = "\\u202etxt.exe"
"""How a sign that turns the text around it is shown."""


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """1,000 items, 300 people, 100,000 votes, half of them listed in 25 parts."""
    folder = tmp_path_factory.mktemp("large")
    cut = vote_parts(example_page(1_000, 300, 100_000))
    page = attribute_page(cut.page, example_head(), library="library/", parts="smiling/")
    files = {"page.html": page, "index.html": b"<!doctype html><title>overview</title><p>all</p>"}
    files |= {f"smiling/{name}": content for name, content in cut.files.items()}
    files |= {f"library/{name}": content for name, content in library_files().items()}
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def opened(page: Page, path: Path) -> Page:
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-drawn]")
    return page


def texts(page: Page, selector: str) -> list[str]:
    return page.locator(selector).all_inner_texts()


def loaded_parts(page: Page) -> set[str]:
    """Parts that came as files."""
    names = page.locator("script[src*='votes-']").evaluate_all("all => all.map(one => one.src)")
    return {name.rsplit("/", 1)[1] for name in names}


def test_every_section_is_there_and_drawn(large, browser_page):
    page = opened(browser_page, large / "page.html")
    assert len(texts(page, "h2")) == 8
    titled = page.locator("section:has(> h2)").evaluate_all("all => all.map(one => one.id)")
    assert titled[:2] == ["trust", "explorer"]
    assert page.locator(".plot").count() == 7
    assert page.locator(".plot canvas").count() >= 7
    expect(page.locator("#verdict")).to_contain_text("held back tau 0.412 is below")
    expect(page.locator("#rows")).to_contain_text(
        "102,007 read = 95,000 used + 5,000 ties + 7 skipped + 2,000 rejected"
    )
    expect(page.locator(".notice.group").first).to_contain_text("12 people act together")
    assert (large / "page.html").stat().st_size < 5_000_000


def test_the_slider_tells_what_would_come_of_each_share(large, browser_page):
    page = opened(browser_page, large / "page.html")
    said, top = page.locator("#explorer-said"), "#explorer-top li"
    expect(said).to_contain_text("10.0 % set aside (chosen): 10,000 votes.")
    expect(said).to_contain_text("79.9 % (78.7 % to 81.1 %) of 20,000 votes kept back")
    expect(page.locator("#chosen-share")).to_be_disabled()
    expect(page.locator("#explorer-votes tbody tr").first).to_contain_text("10,000")
    chosen_top = texts(page, top)
    assert all(line.endswith("=") for line in chosen_top)

    page.locator("#share").focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("15.0 % set aside: 15,000 votes.")
    expect(page.locator("#explorer-cards")).to_contain_text("5,000 more than at 10.0 %")
    expect(page.locator("#explorer-votes tbody tr").first).to_contain_text("15,000")
    assert page.locator("#explorer-votes tr.fresh").count() == 10
    assert loaded_parts(page) == {"votes-4.js", "votes-7.js"}, "only what is shown"

    page.keyboard.press("End")
    expect(said).to_contain_text("50.0 % set aside: 50,000 votes.")
    expect(said).to_contain_text("74.0 %")
    expect(page.locator("#explorer-votes tbody tr").first).to_contain_text("50,000")
    assert "votes-24.js" in loaded_parts(page)
    assert texts(page, top) != chosen_top
    assert any("▲" in line or "▼" in line for line in texts(page, top))
    expect(page.locator("#explorer-gone")).to_contain_text("No longer in the top")
    assert page.locator("#share").get_attribute("aria-valuetext") == "50.0 % set aside"

    page.keyboard.press("Home")
    expect(said).to_contain_text("0.0 % set aside: 0 votes.")
    expect(page.locator("#explorer-votes")).to_have_text("None.")

    page.locator("#chosen-share").click()
    expect(said).to_contain_text("(chosen)")
    assert texts(page, top) == chosen_top


def test_the_ring_in_the_plot_moves_with_the_slider(large, browser_page):
    page = opened(browser_page, large / "page.html")
    curve = page.locator("#explorer .plot")
    before = curve.screenshot()
    page.locator("#share").focus()
    page.keyboard.press("End")
    until(lambda: curve.screenshot() != before, "the ring has moved")


def test_the_list_under_the_slider_turns_its_pages(large, browser_page):
    page = opened(browser_page, large / "page.html")
    votes = page.locator("#explorer-votes")
    expect(votes.locator("tbody tr").first).to_contain_text("10,000")
    votes.get_by_role("button", name="Next").click()
    expect(votes).to_contain_text("No. 9,990 to 9,981 of 10,000")
    votes.get_by_role("button", name="Back").click()
    expect(votes).to_contain_text("No. 10,000 to 9,991 of 10,000")


def test_the_ranking_sorts_searches_and_turns_its_pages(large, browser_page):
    page = opened(browser_page, large / "page.html")
    items = page.locator("#item-table")
    ranks = "#item-table tbody td:first-child"
    assert texts(page, ranks)[0].split()[0].startswith("1")
    items.get_by_role("button", name="Next").click()
    assert texts(page, ranks)[0].startswith("26")
    items.get_by_role("button", name="Score").click()
    items.get_by_role("button", name="Score").click()
    assert texts(page, ranks)[0].startswith("1,000")
    items.get_by_role("button", name="Votes").click()
    counts = [int(text) for text in texts(page, "#item-table tbody td:nth-child(4)")]
    assert counts == sorted(counts, reverse=True)
    assert items.locator("th[aria-sort=descending]").inner_text().startswith("Votes")
    items.get_by_role("searchbox").fill("smile_0123")
    expect(items.locator("tbody tr")).to_have_count(1)
    expect(items.get_by_role("status")).to_have_text("1 row (of 1,000)")
    page.locator("#ranking select").select_option("last")
    expect(page.locator("#ranking .plot canvas").first).to_be_visible()


def test_a_search_finds_votes_that_lie_in_other_files(large, browser_page):
    page = opened(browser_page, large / "page.html")
    votes = page.locator("#vote-table")
    expect(votes.get_by_role("status")).to_have_text("1 to 15 of 2,000")
    expect(page.locator("#more-votes")).to_contain_text("2,000 most suspicious of 50,000")
    assert loaded_parts(page) == {"votes-4.js"}, "only what the explorer shows"
    votes.get_by_role("searchbox").fill("parquet:9998")
    expect(votes.locator("tbody tr")).to_have_count(1)
    expect(votes.locator("tbody tr")).to_contain_text("9999")
    expect(page.locator("#more-votes")).to_contain_text("All 50,000 suspicious votes")
    assert len(loaded_parts(page)) == 24


def test_votes_are_filtered_by_fate_reason_and_person(large, browser_page):
    page = opened(browser_page, large / "page.html")
    votes = page.locator("#vote-table")
    page.get_by_role("button", name="Load all 50,000").click()
    expect(votes.get_by_role("status")).to_have_text("1 to 15 of 10,000 (of 50,000)")
    votes.get_by_label("Any reason").select_option(AGAINST)
    expect(votes.get_by_role("status")).to_have_text("1 to 15 of 3,334 (of 50,000)")
    person = votes.get_by_label("Anybody")
    person.select_option("w123")
    shown = texts(page, "#vote-table tbody tr")
    assert shown
    assert all("w123" in row and AGAINST in row for row in shown)
    votes.get_by_label("Set aside or kept").select_option("kept")
    expect(votes.locator("tbody")).to_have_text("No such vote among those listed.")


def test_people_are_chosen_by_verdict(large, browser_page):
    page = opened(browser_page, large / "page.html")
    people = page.locator("#people-table")
    people.get_by_label("Any verdict").select_option("reversed")
    expect(people.get_by_role("status")).to_have_text("12 rows (of 300)")
    people.get_by_role("button", name="Beyond chance").click()
    figures = texts(page, "#people-table tbody td:nth-child(4)")
    values = [float(text.split()[0].replace("−", "-")) for text in figures]
    assert values == sorted(values, reverse=True)
    assert max(values) < 0


def test_links_lead_to_the_overview_and_back(large, browser_page):
    page = opened(browser_page, large / "page.html")
    page.get_by_role("link", name="People", exact=True).click()
    assert page.url.endswith("#people")
    page.locator("#overview").click()
    expect(page).to_have_title("overview")
    page.go_back()
    expect(page.locator("h1")).to_have_text("photos/smiling")


def test_a_page_fits_a_phone(large, phone_page):
    page = opened(phone_page, large / "page.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    widths = page.locator(".plot canvas").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().right)"
    )
    assert max(widths) <= 390
    why = page.locator("#vote-table tbody td.why").first.bounding_box()
    assert why is not None
    assert why["x"] + why["width"] <= 390


def test_a_printed_page_is_not_shrunk(large, browser_page):
    """Whatever is wider than the paper would make the browser print everything smaller."""
    page = opened(browser_page, large / "page.html")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})
    # Plots follow the new width a moment later.
    until(lambda: page.evaluate("document.documentElement.scrollWidth") <= 718, "it fits the paper")


def test_a_page_alone_needs_no_file_beside_it(browser_page, written):
    folder = written(single_page(example_page(), PageHead()))
    asked: list[str] = []
    browser_page.on("request", lambda request: asked.append(request.url))
    page = opened(browser_page, folder / "report.html")
    assert [url for url in asked if url.startswith("file:")] == [page.url]
    assert page.locator("#verdict").count() == 0
    expect(page.locator("#more-votes")).to_contain_text("All 2,500 suspicious votes")


def test_a_page_of_very_little_opens(browser_page, written):
    data = example_page(2, 1, 40)
    bare = replace(
        data,
        explorer=None,
        no_explorer="the votes cancel: every item wins exactly as often as it loses.",
        self_test=None,
        no_self_test="the solver missed its tolerance.",
        moves=None,
        votes=None,
        n_listed=0,
        people=replace(data.people, **dict.fromkeys(data.people.__dataclass_fields__, ())),
        concentration=replace(data.concentration, clusters=(), groups=(), n_tests=0),
        diagnostics=replace(
            data.diagnostics,
            methods=(),
            votes_per_item=(),
            residuals=(),
            enough=replace(data.diagnostics.enough, reliability=None, votes=(), expected=()),
        ),
    )
    page = opened(browser_page, written(single_page(bare, PageHead())) / "report.html")
    expect(page.locator("#explorer")).to_contain_text("Not known here: the votes cancel")
    expect(page.locator("#self-test")).to_contain_text("Not done: the solver missed its tolerance.")
    expect(page.locator("#people")).to_contain_text("do not say who cast them")
    assert page.locator("#trust").count() == 0


def test_a_part_that_holds_nothing_is_told(browser_page, written):
    made = single_page(example_page(), PageHead(), most_inside=0, n_per_part=1_000)
    folder = written(made | {"report-votes-1.js": b"\n"})
    page = opened(browser_page, folder / "report.html")
    page.get_by_role("button", name="Load all 2,500").click()
    expect(page.locator("#more-votes")).to_contain_text("votes-1.js holds no votes")


def test_a_page_of_too_many_items_says_so_and_names_all_that_votes_are_about(browser_page, written):
    """In other letters than ASCII, which the parts must bring along unharmed."""
    data = example_page(20_000, 40, 8_000)
    names = tuple(f"{k:05} жёлтый цветок" for k in range(20_000))
    data = replace(data, items=replace(data.items, name=names))
    made = single_page(data, PageHead(), most_inside=0, n_per_part=1_000)
    page = opened(browser_page, written(made) / "report.html")
    expect(page.locator("#ranking")).to_contain_text(
        re.compile(r"the best \d+,\d{3} of 20,000 items: all would make the page too large\. "
                   r"All are in scores\.csv or scores\.parquet beside this page\.")
    )  # fmt: skip
    expect(page.locator("#head")).to_contain_text("20,000 items")
    page.get_by_role("button", name="Load all 4,000").click()
    votes = page.locator("#vote-table")
    votes.get_by_label("Set aside or kept").select_option("kept")
    votes.get_by_role("button", name="No.").click()
    for _ in range(3):
        cells = texts(page, "#vote-table tbody td:nth-child(2)")
        assert len(cells) == 15
        assert all(cell.count("жёлтый цветок") == 2 for cell in cells), cells
        votes.get_by_role("button", name="Next").click()


def test_items_show_their_image_or_a_link(browser_page, written):
    url = ("a.png", "https://pages.example/b", None, *["a.png?size=2"] * 7)
    folder = written(single_page(example_page(10, 5, 200, url=url), PageHead()) | {"a.png": PIXEL})
    page = opened(browser_page, folder / "report.html")
    page.locator("#item-table").scroll_into_view_if_needed()
    images = page.locator("#item-table img.thumb")
    expect(images).to_have_count(8)
    assert images.first.get_attribute("loading") == "lazy"
    assert images.first.get_attribute("referrerpolicy") == "no-referrer"
    expect(page.locator("#item-table a").nth(1)).to_have_attribute("href", url[1])
    assert page.locator("#item-table tbody tr").nth(2).locator("a").count() == 0


@pytest.mark.parametrize("alone", [True, False])
def test_a_hostile_page_runs_nothing_and_shows_its_names(alone, browser_page, written):
    made = single_page(
        hostile_page(), example_head(reason=HOSTILE[0], commands=((HOSTILE[1], HOSTILE[4]),),
                             run=HOSTILE[1], overview="java\tscript:alert(1)"),
        most_inside=5_000_000 if alone else 0, n_per_part=300,
    )  # fmt: skip
    page = opened(browser_page, written(made) / "report.html")
    page.locator("#share").focus()
    page.keyboard.press("End")
    page.locator("#vote-table").get_by_role("searchbox").fill("{{7*7}}")
    expect(page.locator("#more-votes")).to_contain_text("All 1,000 suspicious votes")
    _point_at_every_item(page)

    assert page.evaluate("window.hit") is None
    assert page.locator("main img, main script, header img, header script, main b").count() == 0
    n_own = page.locator("body script").count()
    assert n_own == 4, "the data, Bokeh's two and ours"
    addresses = page.locator("a").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    assert addresses
    assert all(re.fullmatch(r"#[a-z-]+", address) for address in addresses)
    names = texts(page, "#item-table tbody td:nth-child(2)")
    assert HOSTILE[0] in names
    assert HOSTILE[1] in names
    assert HOSTILE[2] in names
    assert any(RTL in name and "\\u001b[31m" in name for name in names)
    assert max(map(len, names)) < 100
    expect(page.locator("h1")).to_have_text(HOSTILE[0])
    expect(page.locator("footer")).to_contain_text(HOSTILE[1])
    assert "\u202e" not in page.locator("body").inner_text()
    assert page.locator("main").inner_text().count("{{7*7}}") > 10


POINTS = """() => {
  const host = document.querySelector("#ranking .plot");
  const view = window.Bokeh.index.roots.find((one) => host.contains(one.el));
  const drawn = [...view.renderer_views.values()]
    .find((one) => one.glyph?.model.type === "Scatter");
  return Array.from(drawn.glyph.sx, (x, k) => [x, drawn.glyph.sy[k]]);
}"""
"""Where the plot of scores has its points."""


def _point_at_every_item(page: Page) -> None:
    """The plot must tell each name, as text."""
    plot = page.locator("#ranking .plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    points = page.evaluate(POINTS)
    assert len(points) == len(HOSTILE)
    for name, (x, y) in zip(HOSTILE[:7], points, strict=False):
        page.mouse.move(box["x"] + x, box["y"] + y)
        expect(page.locator(".bk-Tooltip").get_by_text(name, exact=True)).to_be_visible()
