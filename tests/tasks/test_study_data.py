"""Real data of the experiments: found, refused in words where it is not right, or stood in for."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from tasks.study import age, image, sources, standins
from tasks.study.experiments import EXPERIMENTS, found_data
from tasks.study.real_votes import TOPICS
from tasks.study.sources import StudyDataError
from tasks.study.standins import CATEGORIES


def written(folder, ending=".csv", **tables):
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        path = folder / f"{name}{ending}"
        table.to_parquet(path) if ending == ".parquet" else table.to_csv(path, index=False)
    return folder


def images(**changed):
    tables = {
        "items": pd.DataFrame({"item": list("abcd"), "truth": [1.0, 2.0, 3.0, 4.0]}),
        "features": pd.DataFrame({"item": list("abcd"), "x": [0.1, 0.2, 0.5, 0.4]}),
        "votes": pd.DataFrame({"winner": ["b", "c", "d"], "loser": ["a", "b", "c"]}),
    }
    return {name: table for name, table in (tables | changed).items() if table is not None}


def looked_at(data):
    return found_data(["image"], data, named=True, given=True)


def test_real_files_are_found_in_their_folder_or_named_directly(tmp_path):
    folder = written(tmp_path / "image", **images())
    assert looked_at(tmp_path) == {"image": folder}
    assert looked_at(folder) == {"image": folder}


@pytest.mark.parametrize(
    ("tables", "place", "code", "fields"),
    [
        (
            images(votes=None),
            "",
            "no_such_table",
            {
                "table": "votes",
                "names": "votes.parquet, votes.csv, votes.csv.gz",
                "columns": "winner, loser",
            },
        ),
        (
            images(items=pd.DataFrame({"item": ["a"]})),
            "/items",
            "lacking_columns",
            {"count": 1, "names": ["truth"]},
        ),
        (
            images(votes=pd.DataFrame({"winner": ["b", "x"], "loser": ["a", "a"]})),
            "/votes",
            "items_not_in_table",
            {"count": 1, "total": 2, "items": ["x"]},
        ),
        (
            images(features=pd.DataFrame({"item": ["a", "b"], "x": [1.0, 2.0]})),
            "/features",
            "items_without_features",
            {"count": 2, "total": 4, "items": ["c", "d"]},
        ),
        (
            images(features=pd.DataFrame({"item": list("abcd"), "x": [1, 2, np.inf, 4]})),
            "/features",
            "values_not_finite",
            {"count": 1},
        ),
        (images(votes=pd.DataFrame({"winner": [], "loser": []})), "/votes", "no_rows", {}),
        (
            images(votes=pd.DataFrame({"winner": ["b", "c"], "loser": ["a", "c"]})),
            "/votes",
            "items_compared_with_themselves",
            {"count": 1, "total": 2},
        ),
        (
            images(votes=pd.DataFrame({"winner": ["b", None], "loser": ["a", "a"]})),
            "/votes",
            "empty_cells",
            {"count": 1, "total": 2, "column": "winner"},
        ),
        (
            images(features=pd.DataFrame({"item": list("aabcd"), "x": range(5)})),
            "/features",
            "items_named_twice",
            {"count": 1, "items": ["a"]},
        ),
        (
            images(items=pd.DataFrame({"item": list("abcdda"), "truth": range(6)})),
            "/items",
            "items_named_twice",
            {"count": 2, "items": ["d", "a"]},
        ),
        (
            images(items=pd.DataFrame({"item": list("abcd"), "truth": ["1", "two", "inf", 4]})),
            "/items",
            "not_finite_numbers",
            {"count": 2, "total": 4, "values": ["two", "inf"]},
        ),
    ],
)
def test_real_files_that_are_not_right_are_refused_in_words(tmp_path, tables, place, code, fields):
    folder = written(tmp_path / "image", **tables)
    with refused(StudyDataError, code, **fields) as caught:
        looked_at(tmp_path)
    assert str(caught.value).startswith(f"{folder}{place}")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz"])
def test_further_columns_do_no_harm(tmp_path, ending):
    plain = image.load(written(tmp_path / "plain" / "image", **images()))
    more = {name: table.assign(note="by hand") for name, table in images().items()}
    noted = image.load(written(tmp_path / "noted" / "image", ending, **more))
    for name in ("features", "truth", "winner", "loser"):
        np.testing.assert_array_equal(getattr(noted, name), getattr(plain, name))


def test_many_features_of_ages_are_reduced_without_a_look_at_the_ages(tmp_path):
    rng = np.random.default_rng(0)
    item = np.arange(80)
    items = pd.DataFrame({"item_id": item, "person": item % 8, "age": rng.integers(1, 70, 80)})

    def loaded(n_features, items=items):
        columns = {f"f{k}": rng.standard_normal(80) for k in range(n_features)}
        folder = tmp_path / str(n_features)
        if not folder.exists():
            written(folder, features=pd.DataFrame({"item_id": item} | columns))
        return age.load(written(folder, items=items)).features

    assert loaded(55).shape == (80, 55)
    assert loaded(60).shape == (80, 55)
    older = items.assign(age=items["age"][::-1].to_numpy())
    np.testing.assert_array_equal(loaded(60), loaded(60, older))


def videos(**changed):
    names = [f"{category} {k}" for category in CATEGORIES for k in range(21)]
    items = pd.DataFrame({"item": names, "category": [name.rpartition(" ")[0] for name in names]})
    return {
        "items": items.assign(truth=np.arange(len(items))).assign(**changed),
        "features": pd.DataFrame({"item": names, "x": 0.5}),
        "votes": pd.DataFrame({"winner": names[1:], "loser": names[:-1]}),
    }


@pytest.mark.parametrize(
    ("changed", "category", "code", "fields"),
    [
        (
            {"item": lambda table: table["item"].replace("food 1", "food 0")},
            "food",
            "items_named_twice",
            {"count": 1, "items": ["food 0"]},
        ),
        (
            {"truth": lambda table: table["item"].where(table["category"] == "phone", "1")},
            "phone",
            "not_finite_numbers",
            {"count": 21, "total": 21},
        ),
    ],
)
def test_items_of_a_category_that_are_not_right_are_refused(
    tmp_path, changed, category, code, fields
):
    folder = written(tmp_path / "video", **videos())
    assert found_data(["video"], tmp_path, named=True, given=True) == {"video": folder}
    written(tmp_path / "video", **videos(**changed))
    with refused(StudyDataError, code, where=f"{folder}/items, {category}", **fields):
        found_data(["video"], tmp_path, named=True, given=True)


def test_bags_of_words_hold_nothing_below_0(tmp_path):
    tables = videos()
    tables["features"] = tables["features"].assign(y=-0.1)
    folder = written(tmp_path / "video", **tables)
    with refused(StudyDataError, "negative_words", where=f"{folder}/features"):
        found_data(["video"], tmp_path, named=True, given=True)


def ages():
    item = np.arange(8)
    return {
        "items": pd.DataFrame({"item_id": item, "person": item // 2, "age": item + 20}),
        "features": pd.DataFrame({"item_id": item, "x": item / 8}),
    }


def qualities():
    pictures = pd.DataFrame({"ref": list("aaabbb"), "item": [1, 2, 3] * 2})
    return {
        "item_features": pictures.assign(x=np.arange(6.0)),
        "votes": pd.DataFrame({"ref": ["a", "b"], "winner": [1, 3], "loser": [2, 1]}),
    }


def arguments():
    item = np.arange(2 * TOPICS)
    pairs = pd.DataFrame({"item_i": item[::2], "item_j": item[1::2]})
    return {
        "items": pd.DataFrame({"item_id": item, "topic_id": item // 2}),
        "features": pd.DataFrame({"item_id": item, "x": item / 8}),
        "votes": pairs.assign(label=1, annotator="ann"),
        "gold_pairs": pairs.assign(gold_label=-1),
    }


REAL_DATA = {"age": ages, "quality": qualities, "arguments": arguments}


def with_cell(row, column, value):
    """A table with one cell changed."""

    def change(table):
        changed = table.astype({column: object})
        changed.loc[row, column] = value
        return changed

    return change


def again(table):
    """A table that has its first row twice."""
    return pd.concat([table, table.head(1)])


@pytest.mark.parametrize(
    ("name", "stem", "change", "code", "fields"),
    [
        ("age", "items", again, "items_named_twice", {"count": 1, "items": [0]}),
        ("age", "features", again, "items_named_twice", {"count": 1, "items": [0]}),
        (
            "age",
            "items",
            with_cell(3, "age", "forty"),
            "not_finite_numbers",
            {"count": 1, "total": 8, "values": ["forty"]},
        ),
        (
            "age",
            "features",
            lambda table: table.iloc[1:],
            "items_without_features",
            {"count": 1, "total": 8, "items": [0]},
        ),
        ("age", "features", lambda table: table[["item_id"]], "features_without_numbers", {}),
        (
            "age",
            "features",
            lambda table: table.replace({"x": {0.5: np.inf}}),
            "values_not_finite",
            {"count": 1},
        ),
        (
            "quality",
            "item_features",
            lambda table: table.replace({"x": {4.0: np.nan}}),
            "values_not_finite",
            {"count": 1},
        ),
        (
            "quality",
            "item_features",
            lambda table: table.replace({"x": {4.0: np.inf}}),
            "values_not_finite",
            {"count": 1},
        ),
        ("quality", "item_features", again, "items_named_twice", {"count": 1}),
        (
            "quality",
            "item_features",
            lambda table: table.drop(columns="x"),
            "features_without_numbers",
            {},
        ),
        ("quality", "item_features", lambda table: table.head(3), "one_picture", {}),
        (
            "quality",
            "votes",
            lambda table: table.assign(winner=9),
            "unknown_items",
            {"count": 2},
        ),
        (
            "quality",
            "votes",
            lambda table: table.assign(loser=table["winner"]),
            "items_compared_with_themselves",
            {"count": 2, "total": 2},
        ),
        (
            "arguments",
            "gold_pairs",
            with_cell(0, "item_j", 0),
            "items_compared_with_themselves",
            {"count": 1, "total": 32},
        ),
        (
            "arguments",
            "votes",
            with_cell(0, "item_i", 99),
            "items_not_in_table",
            {"count": 1, "total": 32, "items": [99]},
        ),
        (
            "arguments",
            "gold_pairs",
            with_cell(0, "item_j", 99),
            "items_not_in_table",
            {"count": 1, "total": 32, "items": [99]},
        ),
        (
            "arguments",
            "votes",
            with_cell(0, "item_j", 2),
            "items_of_two_topics",
            {"count": 1, "total": 32},
        ),
        ("arguments", "votes", with_cell(0, "label", "i won"), "labels_not_numbers", {}),
        (
            "arguments",
            "features",
            lambda table: table.iloc[3:],
            "items_without_features",
            {"count": 3, "total": 64},
        ),
        ("arguments", "features", again, "items_named_twice", {"count": 1, "items": [0]}),
        (
            "arguments",
            "features",
            lambda table: table.replace({"x": {1.0: np.nan}}),
            "values_not_finite",
            {"count": 1},
        ),
        ("arguments", "items", again, "items_named_twice", {"count": 1, "items": [0]}),
        (
            "arguments",
            "items",
            lambda table: table.assign(topic_id=table["topic_id"] // 2),
            "too_few_topics",
            {"count": 16, "needed": 32},
        ),
    ],
)
def test_flaws_of_ages_quality_and_arguments_are_refused_before_a_run(
    tmp_path, name, stem, change, code, fields
):
    tables = REAL_DATA[name]()
    good, bad = (tmp_path / one / EXPERIMENTS[name].folder for one in ("good", "bad"))
    written(good, **tables)
    assert found_data([name], good.parent, named=True, given=True) == {name: good}
    written(bad, **tables | {stem: change(tables[stem])})
    with refused(StudyDataError, code, where=f"{bad}/{stem}", **fields):
        found_data([name], bad.parent, named=True, given=True)


def test_stand_ins_have_the_sizes_and_noise_of_the_paper():
    made = standins.images(np.random.default_rng(0))
    assert made.features.shape == (2222, 915)
    assert len(made.winner) == len(made.loser) == 16_000
    agree = np.mean(made.truth[made.winner] > made.truth[made.loser])
    assert agree == pytest.approx(0.8, abs=0.02)
    pairs = {tuple(sorted(pair)) for pair in zip(made.winner, made.loser, strict=True)}
    assert 2 * len(pairs) / 2222 == pytest.approx(11.9, abs=0.01)

    for seed in range(6):
        clips = standins.videos(np.random.default_rng(seed))
        assert clips.features.shape == (30, 1000)
        people = np.unique(clips.annotator)
        assert 10 <= len(people) <= 15
        for person in people:
            mine = clips.annotator == person
            voted = np.sort(np.column_stack([clips.winner[mine], clips.loser[mine]]), axis=1)
            assert len(voted) == len(np.unique(voted, axis=0)) == 435

    pictures = standins.faces(np.random.default_rng(0))
    assert pictures.features.shape == (1002, 55)
    assert len(np.unique(pictures.person)) == 82
    assert (pictures.age.min(), pictures.age.max()) == (0, 69)


def test_data_that_is_asked_for_and_missing_is_an_error_else_a_stand_in(tmp_path):
    with refused(StudyDataError, "data_is_no_folder", path=tmp_path / "nowhere"):
        looked_at(tmp_path / "nowhere")
    with refused(StudyDataError, "no_such_table", table="items"):
        looked_at(tmp_path)
    found = found_data(["image", "video"], tmp_path, named=False, given=True)
    assert found == {"image": None, "video": None}


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "items.parquet").write_bytes(b"not parquet")
    with refused(StudyDataError, "unreadable_table", path=tmp_path / "items.parquet"):
        sources.read_table(tmp_path, "items", ["item"])
