"""Figures and the page of the study, before anybody looks at them."""

import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from tasks.study.figures import METHODS, STAND_IN_WORDS, drawn, looks, svg_of
from tasks.study.learner import BRADLEY_TERRY_SVM, FEATURELESS, RAW, URLR
from tasks.study.page import (
    ClaimLine,
    CostLine,
    ExperimentPart,
    StudyContent,
    bic_markdown,
    claims_markdown,
    means_table,
    study_page,
    verdict_counts,
)
from tasks.study.records import STAND_IN, Chart, Example

REAL = "FG-NET ages and features, simulated votes"
HOSTILE = (
    "<script>window.harmed = 1</script>",
    "\"><img src=x onerror='window.harmed = 1'>",
    "</style></title></svg><script>window.harmed = 1</script>",
    "$\\frac{1}$ and $$x$",
    "_hidden",
    "\x1b[31mred\x1b[0m\x00",
    "\u202egnp.exe",
    '=HYPERLINK("http://evil.example")',
    "a | b\nc",
    "[x](javascript:window.harmed=1) ![y](http://evil.example/y.png) `code`",
    "字 🎈",
    "",
    "w" * 500,
)


def table_of(series, places, *, error=0.01) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [(name, at, rng.random(), error, 10) for name in series for at in places]
    return pd.DataFrame(rows, columns=["series", "at", "mean", "error", "n"])


def chart_of(kind="lines", *, text="Distance", evidence=STAND_IN, **changes) -> Chart:
    places = ["street", "open"] if kind == "bars" else [1.0, 2.0, 4.5]
    chart = Chart(
        name="example",
        title=text,
        kind=kind,
        x=text,
        y=text,
        table=table_of([URLR, RAW, text], places),
        evidence=evidence,
        marks=() if kind == "bars" else ((2.0, text), (2.1, text)),
        caption=text,
    )
    return replace(chart, **changes)


def content_of(text="text", *, verdict="holds") -> StudyContent:
    claim = ClaimLine(1, text, text, verdict, text, text, text, text)
    examples = [Example(text, text, text, confirmed, 0.25, 3) for confirmed in (True, False)]
    charts = [chart_of(kind, text=text) for kind in ("lines", "bars", "points")]
    tables = [(text, pd.DataFrame({text: [text], "value": [0.5]}))]
    part = ExperimentPart(text, text, text, text, charts, tables, examples)
    return StudyContent(
        text, text, text, [text], [claim], None, [part], [CostLine(text, 2, 3.0)], text
    )


def bic_table() -> pd.DataFrame:
    rows = [
        (p, onr, 0.5, 0.25, 0.01, -0.25, 0.02, 0.02, 0.001, 0.0, 20)
        for p in (0.1, 0.2)
        for onr in (4, 5, 6)
    ]
    names = "p onr paper_tpr tpr tpr_error tpr_difference paper_fpr fpr fpr_error fpr_difference n"
    return pd.DataFrame(rows, columns=names.split())


def svg_text(svg: bytes) -> str:
    return " ".join(" ".join(ElementTree.fromstring(svg).itertext()).split())


class Elements(HTMLParser):
    """Names of elements, their attributes, and the text outside of styles."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page.decode())

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


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


@pytest.fixture(scope="module")
def plain() -> Elements:
    return Elements(study_page(content_of()))


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_markup_in_any_text_of_the_page_is_text(text, plain):
    page = Elements(study_page(content_of(text)))
    assert [tag for tag, _ in page.found] == [tag for tag, _ in plain.found]
    for _, attributes in page.found:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href"):
            address = attributes.get(name) or "#"
            assert address.startswith(("#", "data:image/svg+xml;base64,")) or address == "data:,"
    assert not re.search("[\u202e\x1b\x00]", page.text)


def test_the_page_lets_nothing_run_or_load():
    page = study_page(content_of()).decode()
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:;" in page
    assert "<script" not in page
    assert "url(" not in page


def test_the_page_says_what_it_was_given():
    claim = ClaimLine(
        7, "A < B", "Fig. 7", "holds partly", "0.1 ± 0.2", REAL, "because", "if it is"
    )
    content = replace(
        content_of(), claims=[claim], bic=[("Both ways", bic_table())], cost_note="Two at a time."
    )
    said = " ".join(Elements(study_page(content)).text.split())
    for words in ("A < B", "Fig. 7", "◐ holds partly", "0.1 ± 0.2", REAL, "because", "if it is"):
        assert words in said
    for words in ("0.250 / 0.020", "0.500 / 0.020", "−0.250 / 0.000", "ONR = 5", "p = 0.2"):
        assert words in said
    assert "Two at a time." in said
    assert "confirms that the vote was wrong" in said
    assert "does not confirm that the vote was wrong" in said


def test_every_picture_has_words_for_who_cannot_see_it(plain):
    pictures = [rest for tag, rest in plain.found if tag == "img"]
    assert len(pictures) == 3
    for picture in pictures:
        assert URLR in (picture["alt"] or "")
        assert STAND_IN_WORDS in (picture["alt"] or "")


def test_an_empty_study_is_a_page():
    page = study_page(StudyContent("Study", "today", "quick", [], [], None, [], [], ""))
    assert "quick study" in Elements(page).text


def test_means_and_errors_are_one_column_with_the_decimals_they_deserve():
    table = pd.DataFrame({"method": [URLR], "mean": [0.123456], "error": [0.0123], "n": [1200]})
    part = replace(content_of().parts[0], tables=[("Means", table)])
    said = Elements(study_page(replace(content_of(), parts=[part]))).text
    assert "0.123 ± 0.012" in said
    assert "1,200" in said


def test_the_numbers_of_a_figure_have_a_row_per_place_and_a_column_per_series():
    chart = chart_of(table=table_of([URLR, RAW], [4, 1, 2]))
    table = means_table(chart)
    assert list(table.columns) == [chart.x, URLR, RAW]
    assert table[chart.x].tolist() == ["1", "2", "4"]


def test_verdicts_are_counted_in_words():
    claims = [content_of(verdict=verdict).claims[0] for verdict in ("holds", "does not hold")]
    assert verdict_counts(claims * 2) == "Of 4 claims, 2 hold and 2 do not hold."
    assert verdict_counts(claims[:1]) == "Of 1 claim, 1 holds."


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_out_of_its_cell_in_markdown(text):
    table, _, rules = claims_markdown(content_of(text).claims * 2).partition("\n\n")
    lines = table.splitlines()
    assert len(lines) == 4
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {8}
    assert not re.search(r"(?<!\\)[\[`]|<(?!br>)", table + rules)
    assert rules.count("\n- **1.**") == 2


def test_bic_in_markdown_has_ours_the_papers_and_the_difference():
    lines = bic_markdown(bic_table()).splitlines()
    assert lines[0] == "|  | ONR = 4 | ONR = 5 | ONR = 6 |"
    cell = "ours 0.250 / 0.020<br>paper 0.500 / 0.020<br>diff. −0.250 / 0.000"
    assert lines[2].startswith(f"| **p = 0.1** | {cell}")
    assert "20 trials" in lines[-1]


def test_long_names_fit_beside_each_other_in_no_legend_wider_than_the_figure():
    names = [BRADLEY_TERRY_SVM, *(f"a method with quite a long name, {k}" for k in range(9))]
    svg = ElementTree.fromstring(svg_of(chart_of(table=table_of(names, [1, 2]))))
    wide = float(svg.attrib["viewBox"].split()[2])
    texts = svg.iter("{http://www.w3.org/2000/svg}text")
    starts = [float(text.attrib.get("x") or 0) for text in texts]
    assert max(starts) < wide
