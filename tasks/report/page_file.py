"""What an attribute's page shows, as it is kept beside the results."""

from __future__ import annotations

from tasks.report.data import AttributePage
from tasks.results import Record

PAGE = "page.json"
PAGES = Record(AttributePage, compact=True)
