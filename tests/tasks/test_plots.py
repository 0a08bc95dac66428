"""Pictures of a result: well-formed whatever is in it, and the same bytes every time."""

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from tasks.plots import path_plot, path_table, ranking_plot

NAMES = ["<script>alert(1)</script>", 'a"b&c', "]]>", "\x00\x1b[31m", "\ufffe\ud800", "中文", 7, ""]


def scores(n: int, **columns) -> pd.DataFrame:
    score = np.linspace(1, -1, n)
    table = pd.DataFrame(
        {"item": [f"i{k}" for k in range(n)], "score": score, "low": score - 1, "high": score + 1}
    )
    return table.assign(**columns)


def verdicts(n: int, **columns) -> pd.DataFrame:
    """Votes in the order of their suspicion, of which the first tenth was pruned."""
    table = pd.DataFrame(
        {
            "status": ["used"] * n,
            "order": pd.array(np.arange(1, n + 1), "Int64"),
            "pruned": np.arange(n) < n // 10,
            "entry": np.linspace(1, 0, n),
            "suspicion": np.linspace(0.9, 0.1, n),
        }
    )
    return table.assign(**columns)


def texts(picture: bytes) -> list[str]:
    assert b"nan" not in picture
    return [
        one.text or "" for one in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    ]


@pytest.mark.parametrize("n", [0, 1, 2, 40, 41, 10_000])
def test_a_ranking_of_any_size_is_drawn(n):
    picture = ranking_plot(scores(n))
    drawn = texts(picture)
    assert len(picture) < 20_000
    assert f"of {n:,}" in drawn[0]
    for item in ["i0", f"i{n - 1}"] if n else []:
        assert item in drawn


def test_a_ranking_without_intervals_is_drawn():
    assert "i1" in texts(ranking_plot(scores(3, low=np.nan, high=np.nan)))
    same = scores(3, score=0.0, low=np.nan, high=np.nan)
    assert "i1" in texts(ranking_plot(same))


def test_names_do_nothing_in_a_picture():
    drawn = texts(ranking_plot(scores(len(NAMES), item=pd.Series(NAMES, dtype=object))))
    assert "<script>alert(1)</script>" in drawn
    assert 'a"b&c' in drawn
    assert r"\x00\x1b[31m" in drawn
    assert b"<script" not in ranking_plot(scores(1, item=["<script>"]))


@pytest.mark.parametrize("n", [0, 1, 2, 99, 1000])
def test_a_path_of_any_length_is_drawn(n):
    table = path_table(verdicts(n))
    assert len(table) == 51
    *_, axis = texts(path_plot(table))
    assert "share of all" in axis


def test_every_per_cent_of_the_path_counts_exactly_that_share_of_the_votes():
    table = path_table(verdicts(100))
    assert table["votes"].tolist() == list(range(51))
    assert table["pruned"].tolist() == [min(k, 10) for k in range(51)]
    assert np.isnan(table["entry"][0])
    assert table["suspicion"][29] == verdicts(100)["suspicion"][28]


def test_the_path_does_not_mind_the_order_of_rows_and_leaves_out_what_does_not_count():
    ordered = verdicts(60)
    others = verdicts(40, status="rejected", order=pd.NA)
    mixed = pd.concat([others, ordered]).sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(path_table(mixed), path_table(ordered))


def test_a_path_without_suspicion_shows_its_entries():
    table = path_table(verdicts(50, suspicion=np.nan))
    drawn = texts(path_plot(table))
    assert drawn[0].startswith("entry of votes")
    assert "5 set aside" in drawn


def test_the_same_picture_is_the_same_bytes():
    assert ranking_plot(scores(100)) == ranking_plot(scores(100))
    assert path_plot(path_table(verdicts(90))) == path_plot(path_table(verdicts(90)))
