"""Classes from attributes: where an unseen class is put, what is read, what a unit finds."""

import pickle

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from tasks.study import attribute_data, attributes
from tasks.study.attributes import COST, ORIG, PUBFIG, SCENE, SYNTH
from tasks.study.classes import class_models, placed_mean
from tasks.study.learner import DEFAULT, FEATURELESS, MAJORITY_SVM, RAW, URLR
from tasks.study.records import STAND_IN, Unit, measured_table
from tasks.study.sources import StudyDataError

COMPLETE = {
    "multi-class accuracy": {RAW, MAJORITY_SVM, FEATURELESS, URLR, DEFAULT},
    "zero-shot accuracy": {RAW, MAJORITY_SVM, FEATURELESS, URLR},
    "unseen-class accuracy": {RAW, MAJORITY_SVM, FEATURELESS, URLR},
    "auc": {MAJORITY_SVM, FEATURELESS, URLR},
    "tau": {RAW, MAJORITY_SVM, FEATURELESS, URLR, DEFAULT},
}
MEANS, RANKS = np.array([0.0, 1.0, 4.0, 6.0]), np.array([0, 1, 3, 4])


def test_class_between_two_lies_midway():
    assert placed_mean(MEANS, RANKS, 2) == pytest.approx(2.5)


def test_class_beyond_the_last_lies_one_average_step_further():
    """Steps of 1, 3 and 2 are 2 on average."""
    assert placed_mean(MEANS, RANKS, 5) == pytest.approx(8.0)
    assert placed_mean(MEANS, RANKS, -1) == pytest.approx(-2.0)


def test_class_that_equals_others_lies_at_their_average():
    assert placed_mean(MEANS, np.array([0, 2, 2, 3]), 2) == pytest.approx(2.5)


def test_neighbours_of_one_rank_count_once():
    """Between 0 and the average of 1 and 4."""
    assert placed_mean(MEANS, np.array([0, 2, 2, 3]), 1) == pytest.approx(1.25)


def test_neighbours_are_those_of_the_order_not_of_the_means():
    """Learnt means may contradict the order; the order says where a class belongs."""
    assert placed_mean(np.array([5.0, 1.0, 3.0]), np.array([0, 2, 3]), 1) == pytest.approx(3.0)


def test_unseen_class_has_the_average_covariance_of_the_others():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2], 40)
    scores = rng.standard_normal((120, 2)) + label[:, None]
    known = class_models(scores, label, [0, 2]).with_unseen(1, np.array([[0, 1, 2], [0, 1, 2]]))
    assert known.classes.tolist() == [0, 2, 1]
    assert known.means[2] == pytest.approx(known.means[:2].mean(axis=0))
    assert known.covariances[2] == pytest.approx(known.covariances[:2].mean(axis=0))


def test_class_models_beat_chance_on_separated_classes():
    rng = np.random.default_rng(1)
    label = np.arange(800) % 8
    scores = 3.0 * rng.standard_normal((8, 3))[label] + rng.standard_normal((800, 3))
    known = class_models(scores[:240], label[:240], range(8))
    assert np.mean(known.classified(scores[240:]) == label[240:]) > 0.5


def test_unseen_class_on_a_line_is_recognised():
    rng = np.random.default_rng(2)
    label = np.arange(800) % 8
    scores = 4.0 * label[:, None] + rng.standard_normal((800, 2))
    ranks = np.array([np.arange(8), np.arange(8)])
    for held in (0, 3, 7):
        seen = [one for one in range(8) if one != held]
        known = class_models(scores[:240], label[:240], seen).with_unseen(held, ranks)
        assert np.mean(known.classified(scores[240:]) == label[240:]) > 0.9


def test_scaling_an_attribute_changes_no_class():
    rng = np.random.default_rng(3)
    label = np.arange(160) % 8
    scores = rng.standard_normal((8, 4))[label] + rng.standard_normal((160, 4))
    scale = np.array([1e-3, 1.0, 50.0, 1e4])
    plain = class_models(scores, label, range(8)).classified(scores)
    scaled = class_models(scores * scale, label, range(8)).classified(scores * scale)
    assert (plain == scaled).all()


def test_fewer_images_than_attributes_still_have_a_likelihood():
    rng = np.random.default_rng(4)
    label = np.repeat(np.arange(8), 3)
    scores = rng.standard_normal((24, 11))
    scores[:, 10] = scores[:, 9]
    assert np.isfinite(class_models(scores, label, range(8)).likelihoods(scores)).all()


@pytest.mark.parametrize(
    ("likeness", "n_images", "n_features", "n_train", "n_attributes", "n_pairs"),
    [
        (attribute_data.PUBFIG, 772, 557, 241, 11, 418),
        (attribute_data.SCENE, 2688, 512, 240, 6, 426),
    ],
    ids=["pubfig", "scene"],
)
def test_stand_in_has_the_papers_sizes(
    likeness, n_images, n_features, n_train, n_attributes, n_pairs
):
    data = attribute_data.stand_in(likeness, np.random.default_rng(5))
    assert data.values.shape == (n_images, n_features)
    assert (data.values >= 0).all()
    assert len(data.classes) == 8
    assert np.count_nonzero(data.train) == n_train
    assert len(data.attributes) == len(data.votes) == n_attributes
    assert data.ranks.shape == (n_attributes, 8)
    for votes in data.votes:
        pairs = np.sort(np.column_stack([votes.winner, votes.loser]), axis=1)
        _, counts = np.unique(pairs, axis=0, return_counts=True)
        assert counts.tolist() == [5] * n_pairs
        assert data.train[pairs].all()


def test_class_levels_of_a_stand_in_follow_the_class_order():
    data = attribute_data.stand_in(attribute_data.SCENE, np.random.default_rng(6))
    means = pd.DataFrame(data.truth).groupby(data.label).mean().to_numpy().T
    for mean, order in zip(means, data.ranks, strict=True):
        higher = order[:, None] - order > 1
        assert ((mean[:, None] - mean)[higher] > 0).all()


def test_majority_of_a_scene_pair_is_wrong_more_often_than_of_a_face_pair():
    """The paper's reason why majority voting helps one and not the other."""
    share = {}
    for name, likeness in (("faces", attribute_data.PUBFIG), ("scenes", attribute_data.SCENE)):
        data = attribute_data.stand_in(likeness, np.random.default_rng(7))
        wrong = []
        for votes, true in zip(data.votes, data.truth.T, strict=True):
            against = (true[votes.winner] < true[votes.loser]).reshape(-1, 5)
            wrong.append(np.mean(against.sum(axis=1) > 2))
        share[name] = np.mean(wrong)
    assert share["scenes"] > 2 * share["faces"]


def test_random_votes_are_added_to_every_attribute_under_known_names():
    data = attribute_data.stand_in(attribute_data.PUBFIG, np.random.default_rng(8))
    more = data.with_random_votes(150, np.random.default_rng(9))
    for before, after in zip(data.votes, more.votes, strict=True):
        added = slice(len(before.winner), None)
        assert len(after.winner) == len(after.annotator) == len(before.winner) + 150
        assert (after.winner[added] != after.loser[added]).all()
        assert set(after.annotator[added]) <= set(before.annotator)


@pytest.mark.full
@pytest.mark.parametrize(
    ("experiment", "setting"), [(PUBFIG, SYNTH), (SCENE, ORIG)], ids=["pubfig", "scene"]
)
def test_quick_unit_is_complete_and_the_same_twice(experiment, setting):
    unit = Unit(experiment.name, setting, 0, quick=True)
    outcome = pickle.loads(pickle.dumps(experiment.run))(unit)
    assert outcome.evidence == STAND_IN
    found = {}
    for row in outcome.rows:
        found.setdefault(row.measure, set()).add(row.method)
        assert row.at == 0
        assert 0 <= row.value <= 1
    assert found == COMPLETE
    assert len(outcome.rows) == sum(len(methods) for methods in COMPLETE.values())
    accuracy = [row.value for row in outcome.rows if row.measure == "multi-class accuracy"]
    assert min(accuracy) > 1 / 8
    examples = outcome.examples
    assert [example.confirmed for example in examples] == [True] * 3 + [False] * 3
    assert all((example.gap > 0) == example.confirmed for example in examples)
    assert experiment.run(unit) == outcome

    (chart,) = experiment.charts(measured_table([(unit, outcome)]), STAND_IN)
    assert chart.name == f"{experiment.name}-classification"
    assert set(chart.table["at"]) == {f"multi-class, {setting}", f"zero-shot, {setting}"}
    assert set(chart.table["series"]) == COMPLETE["multi-class accuracy"]


def test_running_cost_is_measured_once_and_for_faces_only():
    assert [unit for unit in PUBFIG.units(False) if unit[0] == COST] == [(COST, 0)]
    assert all(setting != COST for setting, _ in SCENE.units(False))
    (row,) = PUBFIG.run(Unit("pubfig", COST, 0, quick=True)).rows
    assert (row.measure, row.method) == ("seconds", URLR)
    assert row.value > 0


def test_full_study_has_ten_trials_of_both_settings():
    assert len(SCENE.units(False)) == 20
    assert SCENE.units(True) == [(ORIG, 0), (SYNTH, 0)]


@pytest.fixture
def folder(tmp_path):
    """A small folder in the layout of real files."""
    rng = np.random.default_rng(10)
    names = [f"image {k}" for k in range(60)]
    label = np.arange(60) % 3
    true = label + 0.3 * rng.standard_normal(60)
    train = np.arange(60) < 40
    first, second = rng.integers(0, 40, (2, 400))
    first, second = first[first != second], second[first != second]
    wins = true[first] > true[second]
    tables = {
        "items": {
            "item": names,
            "class": [f"class {k}" for k in label],
            "split": np.where(train, "train", "test"),
        },
        "features": {"item": names, "a": true, "b": rng.random(60), "c": rng.random(60)},
        "votes": {
            "attribute": np.where(np.arange(first.size) % 2, "open", "natural"),
            "winner": [names[k] for k in np.where(wins, first, second)],
            "loser": [names[k] for k in np.where(wins, second, first)],
        },
        "class_order": {
            "attribute": ["open"] * 3 + ["natural"] * 3,
            "class": ["class 0", "class 1", "class 2"] * 2,
            "rank": [1, 2, 3] * 2,
        },
    }
    for stem, columns in tables.items():
        pd.DataFrame(columns).to_csv(tmp_path / f"{stem}.csv", index=False)
    return tmp_path


def test_real_files_give_accuracies_and_no_truth(folder):
    SCENE.check(folder)
    outcome = SCENE.run(Unit("scene", SYNTH, 0, quick=True, data=folder))
    measures = {row.measure for row in outcome.rows}
    assert measures == {"multi-class accuracy", "zero-shot accuracy", "unseen-class accuracy"}
    assert outcome.evidence != STAND_IN
    assert outcome.examples == []
    best = max(row.value for row in outcome.rows if row.measure == "multi-class accuracy")
    assert best > 0.6


@pytest.mark.parametrize("stem", ["items", "features", "votes", "class_order"])
def test_missing_table_is_named(folder, stem):
    (folder / f"{stem}.csv").unlink()
    with refused(StudyDataError, "no_such_table", table=stem):
        SCENE.check(folder)


@pytest.mark.parametrize(
    ("stem", "change", "code", "fields"),
    [
        ("items", lambda t: t.drop(columns="split"), "lacking_columns", {"names": ["split"]}),
        (
            "items",
            lambda t: t.replace({"split": {"test": "later"}}),
            "unknown_split",
            {"found": ["later"]},
        ),
        (
            "items",
            lambda t: pd.concat([t, t.head(1)]),
            "items_named_twice",
            {"items": ["image 0"]},
        ),
        ("items", lambda t: t.assign(split="train"), "small_classes", {"split": "test"}),
        ("items", lambda t: t.assign(**{"class": "one"}), "too_few_classes", {"count": 1}),
        ("votes", lambda t: t.assign(winner="image 50"), "votes_on_test_items", {}),
        (
            "votes",
            lambda t: t.assign(winner=t["loser"]),
            "items_compared_with_themselves",
            {},
        ),
        ("votes", lambda t: t.assign(winner="nobody"), "items_not_in_table", {"items": ["nobody"]}),
        ("class_order", lambda t: t.iloc[1:], "ranks_missing", {"pairs": ["open, class 0"]}),
        (
            "class_order",
            lambda t: pd.concat([t, t.head(1)]),
            "several_ranks",
            {"pairs": ["open, class 0"]},
        ),
        ("class_order", lambda t: t.assign(rank="high"), "ranks_not_numbers", {}),
        ("features", lambda t: t.iloc[1:], "items_without_features", {"items": ["image 0"]}),
    ],
)
def test_flaw_of_a_table_is_named(folder, stem, change, code, fields):
    path = folder / f"{stem}.csv"
    change(pd.read_csv(path)).to_csv(path, index=False)
    with refused(StudyDataError, code, **fields):
        attributes.attribute_data.load(folder)
