"""Settings of a fit: what each method takes, what is refused by name, what the model keeps."""

import numpy as np
import pytest
from graphs import METHODS, random_votes
from refusals import refused

import urlr
from urlr.errors import ArgumentError


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    return urlr.simulate.crowd(rng=rng, n_items=120, n_features=6, n_votes=1500, ties=0.05)


PAPER = METHODS["paper"] | {"prune": 0.2}
ROBUST = METHODS["robust"]


@pytest.mark.parametrize(
    "options",
    [
        PAPER | {"prune": 0.0},
        PAPER | {"prune": "auto"},
        PAPER | {"prune": "bic"},
        PAPER | {"prune": "aic"},
        PAPER | {"prune": "sigma"},
        PAPER | {"ridge": 0.001},
        PAPER | {"ranking": "svm"},
        PAPER | {"outlier_space": "kernel-pca", "components": 5},
        PAPER | {"outlier_space": "features"},
        PAPER | {"outlier_space": "items"},
        PAPER | {"outlier_ridge": 0.1},
        PAPER | {"solver": "grid"},
        ROBUST | {"prune": 0.0},
        ROBUST | {"prune": 0.2},
        ROBUST | {"ridge": 1.0},
        ROBUST | {"limit": 0.2},
        ROBUST | {"limit": 1},
        ROBUST | {"curved": False, "item_effects": False},
        ROBUST | {"annotator_rates": False, "left_right": False},
        ROBUST | {"turn_reversed": False, "ties": False},
        ROBUST | {"replicates": 2, "seed": 3},
    ],
    ids=lambda options: " ".join(f"{name}={value}" for name, value in options.items()),
)
def test_every_setting_ranks_well_and_is_kept(crowd, options):
    ranker = urlr.fit(crowd.votes, crowd.features, **options)
    assert urlr.metrics.tau_b(ranker.score(crowd.features), crowd.truth) > 0.8
    assert ranker.settings == urlr.FitSettings(**options)


OF_OTHER_METHOD = ("setting_of_other_method", "rule_of_paper")


@pytest.mark.parametrize(
    "options",
    [
        {"prune": 1.0},
        {"prune": -0.1},
        {"prune": "some"},
        {"prune": float("nan")},
        {"prune": None},
        {"ridge": 0},
        {"ridge": "auto"},
        {"ridge": float("inf")},
        {"chi_square": 7},
        {"seed": -1},
        {"seed": None},
    ],
)
def test_senseless_setting_is_refused_by_name(options, how):
    (name,) = options
    votes, features = random_votes(0)
    with pytest.raises(ArgumentError) as caught:
        urlr.fit(votes, features, **how, **options)
    assert str(caught.value).startswith(f"{name} is ")
    assert caught.value.fields["value"] is options[name]


@pytest.mark.parametrize(
    "options",
    [
        {"ranking": "boost"},
        {"outlier_space": "umap"},
        {"components": 0},
        {"components": 2.5},
        {"outlier_ridge": "tuned"},
        {"outlier_ridge": -1.0},
        {"solver": "fast"},
    ],
)
def test_senseless_setting_of_the_paper_is_refused_by_name(options):
    (name,) = options
    votes, features = random_votes(0)
    with pytest.raises(ArgumentError) as caught:
        urlr.fit(votes, features, method="paper", **options)
    assert str(caught.value).startswith(f"{name} is ")
    assert caught.value.code not in OF_OTHER_METHOD


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0.01},
        {"limit": float("nan")},
        {"limit": "none"},
        {"curved": 1},
        {"item_effects": None},
        {"annotator_rates": "no"},
        {"left_right": 0},
        {"turn_reversed": None},
        {"ties": "half"},
        {"replicates": 1},
        {"replicates": -2},
        {"replicates": 2.5},
        {"replicates": True},
    ],
)
def test_senseless_setting_of_the_default_is_refused_by_name(options):
    (name,) = options
    votes, features = random_votes(0)
    with pytest.raises(ArgumentError) as caught:
        urlr.fit(votes, features, **options)
    assert str(caught.value).startswith(f"{name} is ")
    assert caught.value.code not in OF_OTHER_METHOD


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("robust", {"ranking": "svm"}),
        ("robust", {"outlier_space": "items"}),
        ("robust", {"components": 5}),
        ("robust", {"outlier_ridge": 0.1}),
        ("robust", {"solver": "grid"}),
        ("robust", {"prune": "bic"}),
        ("robust", {"prune": "aic"}),
        ("robust", {"prune": "sigma"}),
        ("paper", {"limit": 0.3}),
        ("paper", {"curved": False}),
        ("paper", {"item_effects": False}),
        ("paper", {"annotator_rates": False}),
        ("paper", {"left_right": False}),
        ("paper", {"turn_reversed": False}),
        ("paper", {"ties": False}),
        ("paper", {"replicates": 5}),
    ],
)
def test_setting_of_the_other_method_is_refused_with_its_owner(method, options):
    ((name, value),) = options.items()
    votes, features = random_votes(0)
    owner = "paper" if method == "robust" else "robust"
    expected = {"name": name, "value": value, "method": owner}
    if name == "prune":
        with refused(ArgumentError, "rule_of_paper", value=value):
            urlr.fit(votes, features, method=method, **options)
    else:
        with refused(ArgumentError, "setting_of_other_method", **expected):
            urlr.fit(votes, features, method=method, **options)


@pytest.mark.parametrize(
    "options",
    [
        METHODS["paper"] | {"components": np.int64(2), "prune": np.float32(0.125)},
        {"replicates": np.int64(2), "limit": np.float64(0.5), "curved": np.bool_(False)},
    ],
    ids=["paper", "robust"],
)
def test_numpy_numbers_as_settings_are_saved(tmp_path, options):
    votes, features = random_votes(5)
    ranker = urlr.fit(votes, features, seed=np.int32(1), **options)
    ranker.save(tmp_path / "model.npz")
    assert urlr.load(tmp_path / "model.npz").settings == ranker.settings


def test_a_ridge_that_is_given_is_the_one_used(how):
    votes, features = random_votes(5)
    assert urlr.fit(votes, features, ridge=3.0, **how).facts.ridge == 3.0
