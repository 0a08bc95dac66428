"""Shared by the tests of the method: what every fit must do is asked of both methods."""

import pytest
from crowds import crowd_of
from graphs import METHODS

import urlr
from urlr.simulate import AnnotatorShares


@pytest.fixture(scope="module", params=list(METHODS))
def how(request):
    """Settings of a fit, by the default method and by the paper's."""
    return METHODS[request.param]


@pytest.fixture(scope="session")
def mixed():
    """A crowd with reversed and careless people, and its fit."""
    made = crowd_of(shares=AnnotatorShares(reversed=0.1, careless=0.1), left_bias=0.1)
    return made, urlr.fit(made.votes, made.features, replicates=40)
