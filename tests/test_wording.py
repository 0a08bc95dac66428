"""docs/wording.md shows what people read today."""

import pytest
from wording import PAGES, SECTIONS, section, written

NOT_SO = "people read something else now: run `make wording` and review the diff of docs/wording.md"


@pytest.mark.parametrize("heading", SECTIONS)
def test_what_people_read_is_what_was_reviewed(heading, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")  # help texts are as wide as the terminal
    assert section(heading, SECTIONS[heading]()) == written()[heading], NOT_SO


@pytest.mark.full
@pytest.mark.parametrize("heading", PAGES)
def test_what_people_read_on_pages_is_what_was_reviewed(heading):
    assert section(heading, PAGES[heading]()) == written()[heading], NOT_SO


def test_the_page_shows_nothing_that_is_gone():
    assert list(written()) == [*SECTIONS, *PAGES]
