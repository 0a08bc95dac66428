"""Writing: cells exactly as they are, results whole or not at all."""

import errno
import json
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused

from tasks.read import read_table
from tasks.write import (
    WriteError,
    published_directory,
    published_file,
    write_result_table,
    write_table,
)

ENDINGS = ["csv", "csv.gz", "parquet", "pq", "jsonl", "ndjson.gz"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_numbers_survive_to_the_last_bit(ending, tmp_path):
    values = [0.1, 1 / 3, 1e-300, -1.7976931348623157e308, 2.0**-1074, 123456789.123456789]
    frame = pd.DataFrame({"item": list("abcdef"), "score": values, "rank": range(6)})
    write_table(frame, tmp_path / f"t.{ending}")
    read = read_table(tmp_path / f"t.{ending}")
    assert read["score"].tolist() == values
    assert read["rank"].tolist() == list(range(6))


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_table_gives_the_same_bytes(ending, tmp_path):
    frame = pd.DataFrame({"item": ["a", "b"], "score": [1.5, np.nan]})
    for name in ("one", "two"):
        write_table(frame, tmp_path / f"{name}.{ending}")
    one, two = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_moments_survive_with_their_zone(zone, ending, tmp_path):
    moments = pd.Series(pd.date_range("2024-01-01", periods=2, tz=zone).append(pd.Index([pd.NaT])))
    write_table(pd.DataFrame({"item": list("abc"), "time": moments}), tmp_path / f"t.{ending}")
    read = read_table(tmp_path / f"t.{ending}")["time"]
    assert (read.iloc[:2] == moments.iloc[:2]).all()
    assert read.isna().tolist() == [False, False, True]


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_formulas_in_data_are_left_as_they_are(cell, tmp_path):
    write_table(pd.DataFrame({"item": [cell], "score": [1.0]}), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv")["item"].tolist() == [cell]


@pytest.mark.parametrize("kind", [object, "str", "category"])
def test_formulas_in_a_csv_of_results_are_made_harmless_and_numbers_are_left(kind, tmp_path):
    cells = ["=1+1", "+1", "-7", "-x", "@x", "\tx", "\rx", "x=1", "007"]
    frame = pd.DataFrame({"item": pd.Series(cells, dtype=kind), "score": 1.0})
    for ending, expected in (
        ("csv", ["'=1+1", "+1", "-7", "'-x", "'@x", "'\tx", "'\rx", "x=1", "007"]),
        ("parquet", cells),
    ):
        write_result_table(frame, tmp_path / f"t.{ending}")
        assert read_table(tmp_path / f"t.{ending}")["item"].tolist() == expected


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_mixed_ids_become_text_where_a_column_has_one_type(ending, tmp_path):
    frame = pd.DataFrame({"item": pd.Series([7, "x", None], dtype=object)})
    frame["score"] = 0.0
    write_table(frame, tmp_path / f"t.{ending}")
    read = read_table(tmp_path / f"t.{ending}")["item"]
    assert read.tolist()[:2] == ["7", "x"]
    assert pd.isna(read.iloc[2])


def test_json_lines_keep_numbers_and_text_apart(tmp_path):
    frame = pd.DataFrame({"item": pd.Series([7, "7", None], dtype=object)})
    write_table(frame, tmp_path / "t.jsonl")
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert [json.loads(line)["item"] for line in lines] == [7, "7", None]


@pytest.mark.parametrize("ending", ENDINGS)
def test_things_without_a_common_type_are_written_somehow(ending, tmp_path):
    odd = [{"a": 1}, [1, "x"], b"bytes", 2**80, pd.Timestamp("2024-01-01")]
    frame = pd.DataFrame({"item": list("abcde"), "odd": pd.Series(odd, dtype=object)})
    write_table(frame, tmp_path / f"t.{ending}")
    assert len(read_table(tmp_path / f"t.{ending}")) == 5


def test_a_table_without_rows_keeps_its_header(tmp_path):
    write_table(pd.DataFrame({"item": [], "score": []}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "item,score\n"


# ---------------------------------------------------------------- whole or not at all


def result(directory: Path) -> Path:
    directory.mkdir()
    (directory / "model.npz").write_text("old")
    return directory


def test_a_directory_appears_when_all_is_written(tmp_path):
    with published_directory(tmp_path / "deep" / "out", overwrite=False) as workplace:
        (workplace / "model.npz").write_text("new")
        assert not (tmp_path / "deep" / "out").exists()
    assert (tmp_path / "deep" / "out" / "model.npz").read_text() == "new"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_nothing_new_and_the_old_as_it_was(failure, tmp_path):
    old = result(tmp_path / "old")

    def fail(target: Path) -> None:
        with published_directory(target, overwrite=True) as workplace:
            (workplace / "model.npz").write_text("half")
            raise failure

    for target in (old, tmp_path / "fresh"):
        with pytest.raises(failure):
            fail(target)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (old / "model.npz").read_text() == "old"


def test_an_empty_directory_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    with published_directory(tmp_path / "out", overwrite=False) as workplace:
        (workplace / "model.npz").write_text("new")
    assert (tmp_path / "out" / "model.npz").exists()


def check_refused(target: Path, code: str, *, overwrite: bool, **fields: object) -> None:
    with (
        refused(WriteError, code, **fields),
        published_directory(target, overwrite=overwrite),
    ):
        pytest.fail("work began")


def test_results_are_replaced_only_when_asked(tmp_path):
    old = result(tmp_path / "out")
    check_refused(old, "target_not_empty", overwrite=False, path=str(old))
    with published_directory(old, overwrite=True) as workplace:
        (workplace / "summary.txt").write_text("new")
    assert [path.name for path in old.iterdir()] == ["summary.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_overwrite_never_deletes_what_others_wrote(tmp_path):
    old = result(tmp_path / "out")
    (old / "thesis.tex").write_text("years of work")
    check_refused(old, "target_holds_other_files", overwrite=True, files=["thesis.tex"])
    assert (old / "thesis.tex").exists()


def test_files_current_directory_and_mount_points_are_no_target(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    check_refused(tmp_path / "file", "target_is_a_file", overwrite=True)
    monkeypatch.chdir(tmp_path)
    check_refused(Path(), "target_is_current_directory", overwrite=True)
    check_refused(Path("/"), "target_is_mount_point", overwrite=True)


def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path):
    target = tmp_path / "scores.csv"
    target.write_text("old")

    def fill_the_disk() -> None:
        with published_file(target, overwrite=True) as workplace:
            workplace.write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with refused(WriteError, "target_not_written", why="No space left on device") as caught:
        fill_the_disk()
    assert "\n" not in str(caught.value)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]


def test_a_file_is_replaced_only_when_asked(tmp_path):
    target = tmp_path / "scores.csv"
    target.write_text("old")
    with refused(WriteError, "target_exists"), published_file(target, overwrite=False):
        pytest.fail("work began")
    with published_file(target, overwrite=True) as workplace:
        workplace.write_text("new")
    assert target.read_text() == "new"


def test_a_file_of_unknown_ending_is_refused_before_work(tmp_path):
    target = tmp_path / "scores.xlsx"
    with refused(WriteError, "unknown_format") as caught, published_file(target, overwrite=False):
        pytest.fail("work began")
    assert ".jsonl" in caught.value.fields["endings"]


@pytest.mark.parametrize("published", [published_directory, published_file])
def test_what_was_killed_a_day_ago_is_removed_and_what_may_be_at_work_stays(published, tmp_path):
    day = 24 * 3600
    for age, sign in ((0, "0"), (day + 60, "a")):
        for name in ("out.csv", "out.csv.parts", "out.csv.bak", "other.csv"):
            left = tmp_path / f".new-{sign * 8}-{name}"
            left.mkdir() if name.endswith("parts") else left.write_text("half")
            os.utime(left, (time.time() - age,) * 2)
    with published(tmp_path / "out.csv", overwrite=False) as workplace:
        assert workplace.parent == tmp_path
        workplace.touch()
    found = sorted(path.name for path in tmp_path.iterdir())
    living = [f".new-00000000-{name}" for name in ("other.csv", "out.csv", "out.csv.bak")]
    others = [".new-00000000-out.csv.parts", ".new-aaaaaaaa-other.csv", ".new-aaaaaaaa-out.csv.bak"]
    assert found == sorted([*living, *others, "out.csv"])


def test_what_was_killed_as_the_new_took_the_place_of_the_old_stays_until_there_is_a_new_one(
    tmp_path,
):
    left = [tmp_path / f".{what}-{'a' * 8}-out" for what in ("new", "old")]
    for path in left:
        path.mkdir()
        os.utime(path, (time.time() - 48 * 3600,) * 2)
    with published_directory(tmp_path / "out", overwrite=False):
        assert all(path.is_dir() for path in left)
    with published_directory(tmp_path / "out", overwrite=True):
        assert not any(path.exists() for path in left)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("published", [published_directory, published_file])
def test_an_address_is_not_made_a_directory(published, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with (
        refused(WriteError, "not_a_local_path", path="s3:/bucket/scores.csv"),
        published(Path("s3://bucket/scores.csv"), overwrite=False),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
