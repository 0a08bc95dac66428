"""The page of the study, before anybody looks at it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest
from study_contents import HOSTILE, REAL, bic_table, content_of

from tasks.study.content import ClaimLine, StudyContent
from tasks.study.learner import URLR
from tasks.study.looks import STAND_IN_WORDS
from tasks.study.page import study_page


class Elements(HTMLParser):
    """Names of elements, their attributes, and the text outside of styles."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page.decode())

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def plain() -> Elements:
    return Elements(study_page(content_of()))


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_markup_in_any_text_of_the_page_is_text(text, plain):
    page = Elements(study_page(content_of(text)))
    assert [tag for tag, _ in page.found] == [tag for tag, _ in plain.found]
    for _, attributes in page.found:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href"):
            address = attributes.get(name) or "#"
            assert address.startswith(("#", "data:image/svg+xml;base64,")) or address == "data:,"
    assert not re.search("[\u202e\x1b\x00]", page.text)


def test_the_page_lets_nothing_run_or_load():
    page = study_page(content_of()).decode()
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:;" in page
    assert "<script" not in page
    assert "url(" not in page


def test_the_page_says_what_it_was_given():
    claim = ClaimLine(
        7, "A < B", "Fig. 7", "holds partly", "0.1 ± 0.2", REAL, "because", "if it is"
    )
    content = replace(
        content_of(), claims=[claim], bic=[("Both ways", bic_table())], cost_note="Two at a time."
    )
    said = " ".join(Elements(study_page(content)).text.split())
    for words in ("A < B", "Fig. 7", "◐ holds partly", "0.1 ± 0.2", REAL, "because", "if it is"):
        assert words in said
    for words in ("0.250 / 0.020", "0.500 / 0.020", "−0.250 / 0.000", "ONR = 5", "p = 0.2"):
        assert words in said
    assert "Two at a time." in said
    assert "the truth confirms" in said
    assert "does not confirm" in said


def test_every_picture_has_words_for_who_cannot_see_it(plain):
    pictures = [rest for tag, rest in plain.found if tag == "img"]
    assert len(pictures) == 3
    for picture in pictures:
        assert URLR in (picture["alt"] or "")
        assert STAND_IN_WORDS in (picture["alt"] or "")


def test_an_empty_study_is_a_page():
    page = study_page(StudyContent("Study", "today", "quick", [], [], [], [], [], ""))
    assert "quick study" in Elements(page).text


def test_means_and_errors_are_one_column_with_the_decimals_they_deserve():
    table = pd.DataFrame({"method": [URLR], "mean": [0.123456], "error": [0.0123], "n": [1200]})
    part = replace(content_of().parts[0], tables=[("Means", table)])
    said = Elements(study_page(replace(content_of(), parts=[part]))).text
    assert "0.123 ± 0.012" in said
    assert "1,200" in said
