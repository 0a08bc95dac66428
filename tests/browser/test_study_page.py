"""The page of the study in a real browser: as large as it gets, and with texts that mean harm."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page

from tasks.study.content import VERDICTS, ClaimLine, CostLine, ExperimentPart, StudyContent
from tasks.study.learner import FEATURELESS, MAJORITY_SVM, RAW, URLR
from tasks.study.looks import METHODS, STAND_IN_WORDS
from tasks.study.page import study_page
from tasks.study.records import STAND_IN, Chart, Example

pytestmark = pytest.mark.full

FG_NET = "FG-NET ages and features, simulated votes"
ATTRIBUTES = [
    "natural",
    "open",
    "perspective",
    "large-objects",
    "diagonal-plane",
    "close-depth",
    "Masculine-looking",
    "White",
    "Young",
    "Smiling",
    "Chubby",
    "VisibleForehead",
    "BushyEyebrows",
    "NarrowEyes",
]
NARROW = {"width": 400, "height": 800}
HOSTILE = "</style></td><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"
LONG_WORD = "a" * 300
MEASURED = (
    "URLR less Huber-LASSO-FL, Kendall tau distance averaged over all densities: -0.0121 ± 0.0034 "
    "over 10 trials; the sign is the same in 9 of 10 trials."
)
WHY = (
    "The difference is clear, more than two standard errors, on the complete graph and at every "
    "density above 0.3; below, the votes per pair are too few to tell the two apart."
)


def curve(methods, places, *, seed=0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (name, at, 0.3 + 0.02 * k + 0.3 / (1 + at) ** 0.5, 0.004 * (1 + rng.random()), 10)
        for k, name in enumerate(methods)
        for at in places
    ]
    return pd.DataFrame(rows, columns=["series", "at", "mean", "error", "n"])


def example_parts() -> list[ExperimentPart]:
    rng = np.random.default_rng(1)
    methods = [*METHODS, "urlr, rate chosen by itself"]
    density = Chart(
        "image-density",
        "Image interestingness: distance to the scores of memorability games, by density",
        "lines",
        "share of the votes of the training images",
        "Kendall tau distance",
        curve(methods, [0.1, 0.2, 0.4, 0.6, 0.8, 1.0]),
        STAND_IN,
        caption="Mean over 10 trials of the test images; bars are standard errors. Lower is "
        "better. The paper's Figure 4, left.",
    )
    pruning = Chart(
        "age-rates",
        "Rank prediction by pruning rate, 600 votes",
        "lines",
        "share of the edges pruned",
        "Kendall tau",
        curve([RAW, URLR, FEATURELESS, MAJORITY_SVM], np.arange(0, 0.61, 0.02)),
        FG_NET,
        marks=((0.2, "BIC's choice"), (0.25, "the paper's 25 %"), (0.45, "wrong votes")),
        caption="Bands are standard errors.",
    )
    bars = Chart(
        "attributes",
        "Relative attributes: how often unseen pairs are put in the right order",
        "bars",
        "attribute",
        "accuracy",
        curve(methods[:6], range(len(ATTRIBUTES))).assign(
            at=ATTRIBUTES * 6, mean=lambda table: 0.5 + 0.4 * rng.random(len(table))
        ),
        STAND_IN,
        caption="Mean over 10 splits.",
    )
    places = np.arange(500) / 500
    points = Chart(
        "age-order",
        "Wrong votes in the order they are pruned",
        "points",
        "place in the order of pruning, share of all edges",
        "years between the two",
        pd.concat(
            pd.DataFrame(
                {
                    "series": name,
                    "at": places,
                    "mean": np.abs(rng.normal(20 * (1 - places), 9)),
                    "error": np.nan,
                    "n": 1,
                }
            )
            for name in (URLR, FEATURELESS)
        ),
        FG_NET,
        caption="One trial; every point is a wrong vote.",
    )
    means = density.table.rename(columns={"series": "method", "at": "density"})
    examples = [
        Example(
            "older", f"face 0{k:02d}A{20 + k}", f"face 0{k:02d}A{31 + k}", k % 3 > 0, 11.0 - k, k
        )
        for k in range(12)
    ]
    return [
        ExperimentPart(
            "image",
            "Image interestingness",
            "2,222 images and 16,000 votes on which of two is more interesting; the truth are the "
            "scores of a memorability game.\n\nHalf of the images are for training.",
            STAND_IN,
            [density],
            [("Means on all votes", means[means["density"] == 1.0]), ("All means", means)],
            [],
        ),
        ExperimentPart(
            "age", "Age from faces", "Votes are simulated.", FG_NET, [pruning, points], [], examples
        ),
        ExperimentPart("attributes", "Relative attributes", "Scene.", STAND_IN, [bars], [], []),
    ]


def example_content(**changes) -> StudyContent:
    claims = [
        ClaimLine(
            k + 1,
            "URLR is better than Huber-LASSO-FL, Maj-Vot-1, Maj-Vot-2 and Raw when the graph of "
            "comparisons is sparse, and no worse when it is complete.",
            f"Sect. 4.{k % 5 + 1}, Fig. {k % 9 + 2} left",
            list(VERDICTS)[(k * k) % 4 if k % 3 else 0],
            MEASURED,
            FG_NET if k % 2 else STAND_IN,
            WHY,
            "Holds if the mean paired difference is below zero by more than two standard errors "
            "at every density; partly, if at more than half of them.",
        )
        for k in range(19)
    ]
    rng = np.random.default_rng(2)
    bic = pd.DataFrame(
        [(p, onr) for p in np.arange(1, 7) / 10 for onr in range(4, 10)], columns=["p", "onr"]
    )
    for rate in ("tpr", "fpr"):
        paper = np.round(rng.random(36) * (bic["onr"] > 5) * (0.06 if rate == "fpr" else 1), 3)
        bic[f"paper_{rate}"] = paper
        bic[rate] = np.clip(paper + 0.1 * rng.normal(size=36) * (rng.random(36) < 0.5), 0, 1)
        bic[f"{rate}_error"] = 0.004
        bic[f"{rate}_difference"] = bic[rate] - paper
    fields = {
        "title": "The paper's experiments, rerun",
        "when": "2026-11-17 14:05 UTC",
        "kind": "full",
        "lines": [
            "URLR is ahead of Huber-LASSO-FL wherever features say something of the truth.",
            "Two of the five data sets are not to be had; stand-ins with their sizes take their "
            "place, and what rests on them says so.",
        ],
        "claims": claims,
        "bic": [("Outliers of random sign", bic.assign(n=20))],
        "parts": example_parts(),
        "costs": [CostLine("image", 420, 5231.4), CostLine("age", 1260, 812.7)],
        "cost_note": "812 seconds by the clock with 8 workers: 93 % of their time was used.",
    }
    return StudyContent(**(fields | changes))


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.html"
    path.write_bytes(study_page(example_content()))
    return path


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_all_pictures_are_shown(browser_page, place):
    browser_page.goto(place.as_uri())
    widths = browser_page.evaluate("[...document.images].map(one => one.naturalWidth)")
    assert len(widths) == 4
    assert min(widths) > 0
    assert sideways(browser_page) <= 0


def test_a_phone_scrolls_tables_and_pictures_but_never_the_page(phone_page, place):
    phone_page.set_viewport_size(NARROW)
    phone_page.goto(place.as_uri())
    assert sideways(phone_page) <= 0
    phone_page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert sideways(phone_page) <= 0
    assert phone_page.locator("#bic .scroll").first.evaluate(
        "box => box.scrollWidth > box.clientWidth"
    )
    assert phone_page.locator("#claims td").first.is_visible()


def test_the_contents_lead_to_every_section(browser_page, place):
    browser_page.goto(place.as_uri())
    links = browser_page.locator("nav.contents a")
    assert links.count() == browser_page.locator("section.part").count() == 6
    links.last.click()
    assert browser_page.locator("#cost h2").is_visible()
    assert browser_page.evaluate("scrollY") > 1000


def test_verdicts_and_stand_ins_are_said_in_words(browser_page, place):
    browser_page.goto(place.as_uri())
    badges = browser_page.locator("#claims .state").all_inner_texts()
    assert len(badges) == 19
    assert {text.split(" ", 1)[1] for text in badges} <= set(VERDICTS)
    said = browser_page.locator("#experiment-1 .state").first.inner_text()
    assert said == STAND_IN_WORDS


@pytest.mark.parametrize("text", [HOSTILE, LONG_WORD])
def test_texts_that_mean_harm_do_none(phone_page, written, text):
    parts = [
        ExperimentPart(
            text,
            text,
            text,
            text,
            [
                Chart(
                    text, text, "lines", text, text, curve([text], [1, 2]), text, ((1, text),), text
                )
            ],
            [(text, pd.DataFrame({text: [text]}))],
            [Example(text, text, text, True, 1.0, 0)],
        )
    ]
    content = example_content(
        title=text,
        when=text,
        kind=text,
        lines=[text],
        claims=[ClaimLine(1, text, text, text, text, text, text, text)],
        parts=parts,
        costs=[CostLine(text, 1, 1.0)],
        cost_note=text,
    )
    folder = written({"study.html": study_page(content)})
    phone_page.set_viewport_size(NARROW)
    phone_page.goto((folder / "study.html").as_uri())
    assert phone_page.evaluate("window.harmed") is None
    assert phone_page.evaluate("[...document.images].map(one => one.naturalWidth > 0)") == [True]
    assert sideways(phone_page) <= 0
