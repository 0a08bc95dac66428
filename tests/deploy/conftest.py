"""Shared by the tests of deploy: what compose.yaml starts."""

from typing import Any

import pytest
import yaml
from deploy_files import COMPOSE


@pytest.fixture(scope="session")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    return found
