"""A small part of the study, rerun: orderings and ranges that the full one established.

If a change makes the method worse, these fail; if it makes it other but not worse, they do not.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tasks.study import age, learner, ours, supplement, video
from tasks.study.experiments import EXPERIMENTS
from tasks.study.learner import DEFAULT, FEATURELESS, RAW, TO_THE_LETTER, URLR
from tasks.study.records import Unit

pytestmark = pytest.mark.full

REAL = Path(__file__).parents[3] / "shared" / "data"


def means(experiment: str, setting: str, trials: int, *, data: Path | None = None):
    """Mean of every measure and method over the quick units of some trials, places together."""
    found = defaultdict(list)
    with threadpool_limits(1):
        for trial in range(trials):
            unit = Unit(experiment, setting, trial, quick=True, data=data)
            for row in EXPERIMENTS[experiment].run(unit).rows:
                found[row.measure, row.method].append(row.value)
                found[row.measure, row.method, row.at].append(row.value)
    return {key: float(np.mean(values)) for key, values in found.items()}


@pytest.fixture(scope="module", params=["stand-in", "real"])
def faces(request):
    folder = REAL / age.FOLDER if request.param == "real" else None
    if folder is not None and not folder.is_dir():
        pytest.skip(f"no {folder}")
    return means("age", age.INTENTIONAL, 4, data=folder)


def test_features_find_wrong_votes_that_votes_alone_do_not(faces):
    assert 0.78 < faces["auc", URLR] < 0.95
    assert faces["auc", URLR] > faces["auc", FEATURELESS] + 0.08
    assert faces["outlier dimension", URLR] == pytest.approx(545, abs=2)


def test_pruning_a_quarter_costs_nothing_when_a_quarter_is_wrong(faces):
    assert faces["tau", URLR, 0.25] > faces["tau", RAW] - 0.01
    assert faces["tau", URLR, 0.25] > faces["tau", FEATURELESS, 0.25]


def test_error_free_pairs_are_the_upper_bound(faces):
    bound = max(faces["tau", age.TRUTH], faces["tau", age.TRUTH_STRAIGHT])
    for name in (RAW, URLR, FEATURELESS, DEFAULT):
        assert bound > faces["tau", name]


def test_the_paper_s_ridge_loses_more_than_pruning_gains():
    images = means("image", "density 1", 2)
    assert images["distance", TO_THE_LETTER] > images["distance", RAW] + 0.05
    assert images["distance", DEFAULT] < images["distance", RAW]
    assert 0.7 < images["auc", URLR] < 0.9
    assert images["pruned share", "bic"] < 0.01


def test_with_twenty_items_sixty_dimensions_find_what_none_find():
    food = means("video", "food", 1)
    assert food["same verdicts", URLR] > 0.99
    assert video.COMPONENTS > video.TRAINED


def test_the_path_wins_with_many_outliers_and_all_win_with_few():
    few, many = means("supplement", "p 0.1", 2), means("supplement", "p 0.5", 2)
    for name in supplement.SEARCHES:
        assert few["auc", name] > 0.98
    for name in supplement.RIVALS:
        assert many["auc", supplement.PATH] > many["auc", name]
    assert few["tpr, random signs", supplement.BIC, 9.0] > 0.9
    assert many["tpr, random signs", supplement.BIC, 9.0] < 0.1


SPOILERS = {
    "honest": set(),
    "a fifth random": {"careless"},
    "a fifth reversed": {"reversed"},
    "campaign": {"campaign"},
    "campaign in disguise": {"campaign"},
    "minority taste": {"minority"},
}


@pytest.mark.parametrize("setting", ours.CROWDS)
def test_every_crowd_is_spoiled_as_it_says(setting):
    made = ours.drawn_crowd(setting, 10, np.random.default_rng(0))
    assert set(made.planted[made.wrong]) == {"good"} | SPOILERS[setting]


def test_a_campaign_is_withstood_by_the_default():
    found = means("ours", "campaign", 2)
    tau = "tau, compared items"
    assert found[tau, DEFAULT] > found[tau, ours.NEVER] - 0.01
    assert found[tau, DEFAULT] > found[tau, RAW] + 0.05
    assert found["auc", DEFAULT] > 0.8


def test_the_auto_rate_is_no_worse_than_raw_on_real_votes():
    folder = REAL / "ukpconvarg_crowd"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    topics = [means("arguments", f"topic {k}", 1, data=folder) for k in (0, 11, 22)]
    for what in ("held-out agreement", "unseen agreement"):
        gain = np.mean([one[what, learner.AUTO] - one[what, RAW] for one in topics])
        assert gain > -0.005
