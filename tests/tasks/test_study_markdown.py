"""What a study says, in words and as Markdown."""

import re
from dataclasses import replace

import pytest
from study_contents import HOSTILE, REAL, bic_table, chart_of, content_of, table_of

from tasks.messages import message
from tasks.study.content import VERDICTS, means_table, verdict_counts
from tasks.study.learner import RAW, URLR
from tasks.study.markdown import bic_markdown, claims_markdown, study_markdown
from tasks.study.records import STAND_IN


def test_the_numbers_of_a_figure_have_a_row_per_place_and_a_column_per_series():
    chart = chart_of(table=table_of([URLR, RAW], [4, 1, 2]))
    table = means_table(chart)
    assert list(table.columns) == [chart.x, URLR, RAW]
    assert table[chart.x].tolist() == ["1", "2", "4"]


def test_verdicts_are_counted_in_words():
    claims = [content_of(verdict=verdict).claims[0] for verdict in ("holds", "does not hold")]
    both = f"2 {VERDICTS['holds'][2]} and 2 {VERDICTS['does not hold'][2]}"
    assert verdict_counts(claims * 2) == message("claims_judged", count=4, verdicts=both)
    assert verdict_counts(claims[:1]) == message("claims_judged", count=1, verdicts="1 holds")


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


def test_the_text_has_claims_bic_pictures_and_tables():
    content = replace(content_of(), bic=[("Both ways", bic_table())], kind="quick")
    text = study_markdown(content)
    title, _, about, *_ = text.splitlines()
    assert title == "# text"
    assert "`urlr study --quick`" in about
    assert verdict_counts(content.claims) in about
    assert re.search(r"\n## BIC.*: both ways\n\n\|  \| ONR = 4 \|", text)
    assert text.count("![text](figures/example.svg)\n\ntext. text\n") == 3
    assert text.endswith("text:\n\n| text | value |\n| --- | --- |\n| text | 0.5 |\n")


def test_every_section_says_that_it_rests_on_stand_ins():
    usual = content_of()
    [part] = usual.parts
    parts = [
        replace(part, title=f"Experiment {number}", evidence=evidence)
        for number, evidence in enumerate((STAND_IN, REAL, STAND_IN))
    ]
    _, *sections = study_markdown(replace(usual, parts=parts)).split("\n## Experiment ")
    assert [f" Data: {STAND_IN}.\n" in section for section in sections] == [True, False, True]
    assert f" Data: {REAL}.\n" in sections[1]


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_no_text_of_the_study_becomes_markup(text):
    usual, found = (study_markdown(content_of(words)).splitlines() for words in ("text", text))
    assert len(found) == len(usual)
    for line, other in zip(found, usual, strict=True):
        for sign in r"|[`":
            unescaped = rf"(?<!\\){re.escape(sign)}"
            assert len(re.findall(unescaped, line)) == len(re.findall(unescaped, other))
        assert not re.search("<|\u202e|\x1b", line)
