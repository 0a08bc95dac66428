"""On the demo's first night flipped votes are found, also among careless and reversed people."""

from pathlib import Path

import numpy as np
import pytest

import urlr
from tasks.discover import discover
from tasks.gather import gather_features, gather_votes
from tasks.store import Store
from tests.demo_store import write_night_one
from urlr.diagnostics.self_test import self_test
from urlr.settings import FitSettings

CLEAN = (
    "headlines",
    "interestingness/insurance",
    "interestingness/medicine",
    "interestingness/phones",
    "interestingness/transport",
    "photos/natural",
    "slogans",
)
"""With all there is: names and none, features and none, one person in 12 careless, one reversed."""


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """Votes and features."""
    store = Store.at(Path(tmp_path_factory.mktemp("demo")))
    write_night_one(store)
    found = {}
    for inputs in discover(store).attributes:
        if inputs.attribute in CLEAN:
            gathered = gather_votes(store, inputs.dumps, attribute=inputs.attribute)
            found[inputs.attribute] = gather_features(store, inputs.features, gathered.votes)
    return found


@pytest.mark.parametrize("attribute", CLEAN)
def test_flipped_votes_are_found_on_well_voted_attributes(night, attribute):
    votes, features = night[attribute]
    ranker = urlr.fit(votes, features, replicates=0)
    found = self_test(
        votes, features, FitSettings(), like=ranker, rng=np.random.default_rng(ranker.settings.seed)
    )
    assert found.auc.value >= 0.85
    assert found.recall >= 0.7
