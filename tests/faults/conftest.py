"""Shared by the fault cases: what two nights come to when nothing goes wrong."""

import pytest
from judge import Bytes
from kills import clean_nights, new_site
from pipeline import PrefectApi


@pytest.fixture(scope="session")
def two_clean_nights(tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi) -> Bytes:
    """Results on a local disk, with one worker."""
    return clean_nights(new_site(tmp_path_factory.mktemp("clean"), prefect_api))
