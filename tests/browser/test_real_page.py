"""The page of a real fit to 100,000 votes on 1,000 items, opened from a folder."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import urlr
from tasks.report.fit_page import fit_page
from urlr import Ranker
from urlr.simulate import AnnotatorShares, crowd

pytestmark = pytest.mark.full

LARGEST = 5_000_000


@dataclass(frozen=True)
class Made:
    ranker: Ranker
    folder: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    """A fifth of 200 people is careless or reversed; some 10 s of work."""
    shares = AnnotatorShares(careless=0.1, reversed=0.05)
    drawn = crowd(
        rng=np.random.default_rng(0),
        n_items=1_000,
        n_features=10,
        n_votes=100_000,
        n_annotators=200,
        private=0.05,
        ties=0.02,
        shares=shares,
    )
    ranker = urlr.fit(drawn.votes, drawn.features, replicates=20)
    folder = tmp_path_factory.mktemp("real")
    for name, data in fit_page(ranker, drawn.features.reset_index(), name="votes.csv").items():
        (folder / name).write_bytes(data)
    return Made(ranker, folder)


@pytest.fixture
def opened(made, browser_page) -> Page:
    browser_page.goto((made.folder / "report.html").as_uri())
    browser_page.wait_for_selector("body[data-drawn]")
    return browser_page


def test_no_file_is_large(made):
    sizes = {path.name: path.stat().st_size for path in made.folder.iterdir()}
    assert len(sizes) == 24
    assert max(sizes.values()) < LARGEST


def test_the_page_gives_the_numbers_of_the_fit(made, opened):
    facts = made.ranker.facts
    n_aside = facts.n_pruned_votes - facts.n_turned_votes
    assert facts.n_turned_votes > 1_000
    expect(opened.locator("#head .card", has_text="set aside")).to_contain_text(f"{n_aside:,}")
    expect(opened.locator("#head .card", has_text="set aside")).to_contain_text(
        f"{facts.rate:.1%}".replace("%", " %")
    )
    said = opened.locator("#explorer-said")
    expect(said).to_contain_text(f"set aside (chosen): {n_aside:,} votes.")
    opened.locator("#share").focus()
    opened.keyboard.press("Home")
    expect(said).to_contain_text("0.0 % set aside: 0 votes.")
    expect(said).to_contain_text(
        f"stay read the other way round ({facts.n_turned_votes:,} at the chosen one)"
    )


def test_the_slider_goes_past_the_first_part(made, opened):
    said, votes = opened.locator("#explorer-said"), opened.locator("#explorer-votes")
    opened.locator("#share").focus()
    while "20.0 % set aside: 20,000 votes" not in said.inner_text():
        before = said.inner_text()
        opened.keyboard.press("ArrowRight")
        expect(said).not_to_have_text(before)
    expect(votes.locator("tbody tr").first).to_contain_text("20,000")
    assert opened.locator("script[src$='report-votes-9.js']").count() == 1
    opened.keyboard.press("End")
    expect(votes).to_contain_text(re.compile(r"No\. 4\d,\d{3} to .* \(of 50,000; the list ends"))


def test_a_search_reaches_votes_of_every_part(made, opened):
    facts = made.ranker.facts
    votes = opened.locator("#vote-table")
    status = votes.get_by_role("status")
    opened.get_by_role("button", name="Load all").click()
    expect(opened.locator("#more-votes")).to_contain_text("suspicious votes are in the list below")
    n_aside = facts.n_pruned_votes - facts.n_turned_votes
    expect(status).to_contain_text(f"1 to 15 of {n_aside:,} (of ")
    votes.get_by_label("Set aside or kept").select_option("read the other way round")
    expect(status).to_contain_text(f"1 to 15 of {facts.n_turned_votes:,} (of ")
    reversed_ = set(made.ranker.annotators.query("verdict == 'reversed'")["annotator"])
    names = votes.locator("tbody td:nth-child(3)").all_inner_texts()
    assert set(names) <= reversed_
    votes.get_by_role("searchbox").fill(names[0])
    expect(votes.locator("tbody tr").first).to_contain_text(names[0])
