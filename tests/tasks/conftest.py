"""Shared by the tests of importing: a way to put files before it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def put(tmp_path) -> Callable[[str, object], Path]:
    """Write a file and give its path; what is not text is written as JSON."""

    def write(name: str, content: object) -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write
