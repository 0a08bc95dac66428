"""The overview of a thousand attributes, opened in Chromium from a disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tasks.report.overview import overview_page
from tests.bench.measure import Row
from tests.browser.example_nights import STORE, example_digests, example_night
from tests.browser.launching import launched

_BAR = 2.0
"""Seconds until something is seen."""
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"


def paint(quick: bool) -> Iterator[Row]:
    """The first paint of the overview of 1,000 attributes, the best of three openings."""
    count = 50 if quick else 1000
    night = example_night(count)
    data = overview_page(
        night, example_digests(count), store=STORE, library=None, links={}, now=night.finished
    )
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        path = Path(folder) / "index.html"
        path.write_bytes(data)
        seconds = []
        for _ in range(3):
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("body[data-ready]")
            seconds.append(page.evaluate(_PAINT))
            page.close()
    yield Row(
        "first paint",
        f"{count:,} attributes",
        min(seconds),
        reference="the bar",
        reference_seconds=_BAR,
        bar=1.0,
        note=f"{len(data) / 1e6:.1f} MB with the library inside",
    )
