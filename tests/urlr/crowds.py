"""A crowd of the size that tests of the default use."""

import numpy as np

from urlr.simulate import crowd


def crowd_of(seed=0, **options):
    usual = {
        "n_items": 80,
        "n_features": 6,
        "n_votes": 1600,
        "n_annotators": 40,
        "private": 0.3,
        "error_ratio": 0.1,
        "ties": 0.03,
    }
    return crowd(rng=np.random.default_rng(seed), **(usual | options))
