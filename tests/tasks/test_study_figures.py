"""Figures of the study, before anybody looks at them."""

import io
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from study_contents import HOSTILE, REAL, chart_of, table_of

from tasks.study.figures import drawn, svg_of
from tasks.study.learner import BRADLEY_TERRY_SVM, FEATURELESS, URLR
from tasks.study.looks import METHODS, STAND_IN_WORDS, looks
from tasks.study.records import STAND_IN


def svg_text(svg: bytes) -> str:
    return " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())


@pytest.mark.parametrize("kind", ["lines", "bars", "points"])
def test_every_plotted_number_is_in_the_csv(kind):
    chart = chart_of(kind)
    read = pd.read_csv(io.BytesIO(drawn(chart)["csv"]))
    plotted = read[read["mean"].notna()]
    expected = chart.table.reset_index(drop=True)
    for name in ("mean", "error", "n"):
        assert plotted[name].tolist() == expected[name].tolist()
    assert plotted["at"].astype(str).tolist() == expected["at"].astype(str).tolist()
    assert plotted["series"].tolist() == expected["series"].tolist()
    assert set(read["evidence"]) == {STAND_IN}
    assert read.loc[read["mean"].isna(), "at"].tolist() == [where for where, _ in chart.marks]


@pytest.mark.parametrize("kind", ["lines", "bars", "points"])
def test_the_same_chart_is_the_same_bytes(kind):
    first, other, again = drawn(chart_of(kind)), drawn(chart_of("bars")), drawn(chart_of(kind))
    assert first == again
    assert first["png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert (first == other) == (kind == "bars")
    assert svg_of(chart_of(kind)) == first["svg"]


def test_settings_of_others_change_no_figure():
    import matplotlib as mpl

    usual = drawn(chart_of())
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "lines.linewidth": 9}):
        assert drawn(chart_of()) == usual
        assert mpl.rcParams["font.size"] == 30


@pytest.mark.parametrize("kind", ["lines", "bars", "points"])
def test_a_figure_says_what_it_rests_on(kind):
    assert STAND_IN_WORDS in svg_text(drawn(chart_of(kind))["svg"])
    real = svg_text(drawn(chart_of(kind, evidence=REAL))["svg"])
    assert REAL in real
    assert STAND_IN_WORDS not in real


def test_a_stand_in_that_says_more_is_still_called_one():
    said = svg_text(svg_of(chart_of(evidence="stand-in: sizes of the paper's Table 1")))
    assert f"{STAND_IN_WORDS}: sizes of the paper's Table 1" in said


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", ["lines", "bars", "points"])
def test_any_text_can_be_drawn_and_stays_text(kind, text):
    files = drawn(chart_of(kind, text=text, evidence=text))
    elements = {node.tag.rpartition("}")[2] for node in ElementTree.fromstring(files["svg"]).iter()}
    assert not elements & {"script", "img", "a", "foreignObject"}
    assert "=HYPERLINK" not in [cell[:10] for cell in files["csv"].decode().split(",")]


def test_series_whose_names_begin_with_an_underscore_are_in_the_legend():
    assert "_hidden" in svg_text(svg_of(chart_of(table=table_of(["_hidden"], [1, 2]))))


@pytest.mark.parametrize("kind", ["lines", "bars", "points"])
def test_odd_tables_are_drawn(kind):
    one = table_of([URLR], ["only"] if kind == "bars" else [3])
    gaps = one.assign(mean=np.nan)
    for table in (one, gaps, one.iloc[:0], one.assign(error=np.nan, n=1)):
        assert drawn(chart_of(kind, table=table))["svg"]


def test_marks_at_one_place_are_all_written():
    marks = tuple((2.0, f"mark {k}") for k in range(4))
    said = svg_text(svg_of(chart_of(marks=marks)))
    assert all(words in said for _, words in marks)


def test_thousands_of_points_stay_a_small_file():
    rng = np.random.default_rng(0)
    at = rng.random(20_000)
    table = pd.DataFrame(
        {"series": "votes", "at": at, "mean": rng.normal(size=at.size), "error": np.nan, "n": 1}
    )
    assert len(svg_of(chart_of("points", table=table))) < 1_000_000


def test_a_method_looks_the_same_in_all_figures():
    both = looks([URLR, "something else"]), looks(["another", FEATURELESS, URLR])
    assert both[0][URLR] == both[1][URLR] == METHODS[URLR]
    assert looks(["b", "a"]) == looks(["a", "b"])


def test_no_two_series_of_a_figure_look_alike():
    found = looks([*METHODS, *(f"other {k}" for k in range(20))]).values()
    for one, other in combinations(found, 2):
        assert (one.colour, one.marker, one.dash) != (other.colour, other.marker, other.dash)
    assert len({look.colour for look in METHODS.values()}) == len(METHODS)


def test_long_names_fit_beside_each_other_in_no_legend_wider_than_the_figure():
    names = [BRADLEY_TERRY_SVM, *(f"a method with quite a long name, {k}" for k in range(9))]
    svg = ElementTree.fromstring(svg_of(chart_of(table=table_of(names, [1, 2]))))
    wide = float(svg.attrib["viewBox"].split()[2])
    texts = svg.iter("{http://www.w3.org/2000/svg}text")
    starts = [float(text.attrib.get("x") or 0) for text in texts]
    assert max(starts) < wide


def test_errors_can_be_seen_on_bars_of_every_colour():
    from matplotlib.colors import to_rgb
    from matplotlib.image import imread

    table = table_of(METHODS, ["here"]).assign(mean=0.5, error=0.05)
    tall = table_of(["taller"], ["here"], error=np.nan).assign(mean=1.0)
    with_errors, without = (
        imread(io.BytesIO(drawn(chart_of("bars", table=pd.concat([rows, tall])))["png"])).mean(2)
        for rows in (table, table.assign(error=np.nan))
    )
    for look in METHODS.values():
        bar = np.isclose(without, (sum(to_rgb(look.colour)) + 1) / 4, atol=0.002)
        assert np.abs(with_errors - without)[bar].max() > 0.25
