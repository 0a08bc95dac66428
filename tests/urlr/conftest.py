"""Shared by the tests of the method: what every fit must do is asked of both methods."""

import pytest
from graphs import METHODS


@pytest.fixture(scope="module", params=list(METHODS))
def how(request):
    """Settings of a fit, by the default method and by the paper's."""
    return METHODS[request.param]
