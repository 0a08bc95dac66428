"""The pictures in README, taken by a real browser of what the demos made.

python -m tests.pictures demo demo-fit docs/pictures     after `make demo demo-fit`
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.launching import launched

WIDTH, HEIGHT = 1280, 900


def main() -> int:
    """Take the pictures of the demos in two directories and put them into a third."""
    if len(sys.argv) != 4:
        sys.stderr.write("usage: python -m tests.pictures DEMO DEMO_FIT DIRECTORY\n")
        return 2
    demo, fitted, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    with launched() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto((demo / "store/report/latest.html").resolve().as_uri())
        page.wait_for_url("**/index.html")
        page.wait_for_load_state("networkidle")
        page.screenshot(path=out / "overview.png")
        page.goto((fitted / "ranking/report.html").resolve().as_uri())
        _section(page, "#explorer", out / "explorer.png")
        _section(page, "#people", out / "annotators.png")
    return 0


def _section(page: Page, name: str, path: Path) -> None:
    """The part of a page, at most as high as a screen."""
    part = page.locator(name)
    part.scroll_into_view_if_needed()
    page.wait_for_timeout(1000)  # plots are drawn when they are seen
    box = part.bounding_box()
    assert box is not None, name
    height = min(box["height"], 1.2 * HEIGHT)
    top = page.evaluate("window.scrollY") + box["y"]
    clip = {"x": box["x"], "y": top, "width": box["width"], "height": height}
    page.screenshot(path=path, full_page=True, clip=clip)


if __name__ == "__main__":
    sys.exit(main())
