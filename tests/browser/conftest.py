"""A real browser. Whatever it complains of, or fetches from elsewhere, fails the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from launching import launched
from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for a module: while it is open, no other event loop runs in this thread."""
    with launched() as opened:
        yield opened


@contextmanager
def watched(
    browser: Browser, *, width: int = 1280, height: int = 900, server: str = "file:"
) -> Iterator[Page]:
    """A page that may fetch from one place; what went wrong on it fails whoever used it."""
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: said.type in ("error", "warning") and wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on(
        "request",
        lambda request: (
            request.url.startswith((server, "data:", "blob:")) or wrong.append(request.url)
        ),
    )
    page.set_default_timeout(20_000)
    yield page
    context.close()
    assert not wrong, wrong


@pytest.fixture
def browser_page(browser: Browser) -> Iterator[Page]:
    with watched(browser) as page:
        yield page


@pytest.fixture
def phone_page(browser: Browser) -> Iterator[Page]:
    with watched(browser, width=390, height=844) as page:
        yield page


@pytest.fixture
def written(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    """Put files into a folder of their own."""

    def write(files: dict[str, bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path

    return write
