"""The page of an attribute as bytes: bounded, whole, and safe before a browser sees it."""

import json
import re
from dataclasses import fields, replace
from importlib.resources import files

import pytest
from example_pages import HOSTILE, example_head, example_page, hostile_page
from refusals import refused

from tasks.report.attribute_page import PageHead, attribute_page, single_page, vote_parts
from tasks.report.data import AttributePage, Votes
from tasks.report.page_file import PAGE, PAGES
from urlr.errors import ArgumentError
from urlr.people.verdicts import ACCUSATIONS, VERDICTS

MOST = 5_000_000
INSIDE = re.compile(rb'<script type="application/json" id="page-data">(.*?)</script>', re.DOTALL)
PART = re.compile(rb"urlrPart\((\"votes-\d+\"),(.*)\);\n", re.DOTALL)
MARKUP = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")


def content(page: bytes) -> dict:
    found = INSIDE.findall(page)
    assert len(found) == 1
    return json.loads(found[0])


def column(data: Votes | dict, name: str) -> list:
    return list(data[name] if isinstance(data, dict) else getattr(data, name))


def test_the_parts_of_a_list_are_the_list():
    data = example_page(n_listed=2_345)
    cut = vote_parts(data, n_per_part=500)
    assert list(cut.files) == [f"votes-{k}.js" for k in range(1, 5)]
    page = content(attribute_page(cut.page, PageHead(), library="", parts=""))["data"]
    assert (page["n_listed"], page["n_per_part"]) == (2_345, 500)
    pieces = [page["votes"]]
    for name, file in cut.files.items():
        found = PART.fullmatch(file)
        assert found is not None
        assert f"{json.loads(found[1])}.js" == name
        pieces.append(json.loads(found[2]))
    assert [len(piece["row"]) for piece in pieces] == [500, 500, 500, 500, 345]
    for one in ("row", "winner", "loser", "person", "pruned", "reason", "why", "time"):
        together = [value for piece in pieces for value in column(piece, one)]
        assert together == column(data.votes, one)
    assert {one.name for one in fields(Votes)} | {"items", "people"} == set(pieces[-1])


def test_a_list_that_fits_one_part_has_no_files():
    cut = vote_parts(example_page(n_listed=500), n_per_part=500)
    assert cut.files == {}
    assert len(cut.page.votes.row) == 500


def test_a_page_without_votes_has_no_parts():
    cut = vote_parts(replace(example_page(), votes=None, n_listed=0))
    assert cut.files == {}
    page = attribute_page(cut.page, PageHead(), library="", parts="")
    assert content(page)["data"]["n_listed"] == 0


def test_votes_that_were_not_cut_are_refused():
    data = replace(example_page(n_listed=700), n_per_part=500)
    with refused(ArgumentError, "votes_not_cut", given=700, listed=700, per_part=500):
        attribute_page(data, PageHead(), library="", parts="")


def test_a_page_of_100_000_votes_takes_less_than_a_megabyte():
    cut = vote_parts(example_page(1_000, 300, 100_000))
    assert len(cut.files) == 24
    assert len(attribute_page(cut.page, example_head(), library="", parts="")) < MOST / 5
    assert max(map(len, cut.files.values())) < MOST / 5


def long_names() -> AttributePage:
    data = example_page(12_000, 6_000, 20_000)
    return replace(
        data,
        items=replace(data.items, name=tuple(f"{k}{'x' * 10_000}" for k in range(12_000))),
        people=replace(data.people, name=tuple(f"{k}{'y' * 10_000}" for k in range(6_000))),
    )


def names_of(sign: str) -> AttributePage:
    data = example_page(10_000, 50, 20_000)
    return replace(
        data, items=replace(data.items, name=tuple(f"{k:05}{sign * 95}" for k in range(10_000)))
    )


def long_addresses() -> AttributePage:
    url = tuple(f"https://pictures.example/{'x' * 470}{k}.png" for k in range(10_000))
    return example_page(10_000, 50, 20_000, url=url)


def long_reasons() -> AttributePage:
    data = example_page(2_000, 50, 20_000)
    return replace(data, votes=replace(data.votes, why=("ж" * 600,) * len(data.votes.row)))


def many_people() -> AttributePage:
    data = example_page(2_000, 100_000, 20_000)
    found = data.concentration
    return replace(data, concentration=replace(found, clusters=found.clusters * 3_000))


LARGE = {
    "names of 10,000 signs": long_names,
    "Cyrillic names": lambda: names_of("ж"),
    "names that are escaped": lambda: names_of("<"),
    "addresses of 500 signs": long_addresses,
    "reasons of 600 Cyrillic signs": long_reasons,
    "400,000 items": lambda: example_page(400_000, 50, 20_000),
    "100,000 people and 6,000 places that stand out": many_people,
}


@pytest.mark.parametrize("kind", LARGE)
def test_no_attribute_makes_a_page_or_a_part_of_5_megabytes(kind):
    data = LARGE[kind]()
    cut = vote_parts(data)
    page = attribute_page(cut.page, PageHead(), library="", parts="")
    assert len(page) < MOST
    assert max(map(len, cut.files.values())) < MOST / 5
    assert max(map(len, single_page(data, PageHead()).values())) < MOST
    kept = PAGES.to_bytes(cut.page)
    assert len(kept) < 2 * MOST  # as it is kept, numbers have all their digits
    again = attribute_page(PAGES.from_bytes(kept, PAGE), PageHead(), library="", parts="")
    assert content(again) == content(page)
    whole = replace(data, votes=cut.page.votes, n_per_part=cut.page.n_per_part)
    whole = replace(whole, n_listed=cut.page.n_listed)
    assert attribute_page(whole, PageHead(), library="", parts="") == page
    shown = content(page)["data"]
    assert shown["items"]["n_all"] == len(data.items.name)
    assert len(shown["items"]["name"]) == len(shown["items"]["score"]) > 1_000
    assert shown["people"]["n_all"] == len(data.people.name)
    assert len(shown["people"]["verdict"]) >= min(1_000, len(data.people.name))


def test_every_item_and_person_that_is_pointed_to_has_a_name():
    data = example_page(400_000, 20_000, 20_000)
    cut = vote_parts(data)
    page = content(attribute_page(cut.page, PageHead(), library="", parts=""))["data"]
    pieces = [page["votes"]]
    pieces += [json.loads(PART.fullmatch(file)[2]) for file in cut.files.values()]
    for kind, columns in (("items", ("winner", "loser")), ("people", ("person",))):
        names = getattr(data, kind).name
        held = page[kind]["name"]
        assert len(held) < len(names)
        for piece in pieces:
            known = dict(enumerate(held)) | {int(k): name for k, name in piece[kind].items()}
            assert all(known[k] == names[k] for one in columns for k in piece[one])
    (group,) = page["concentration"]["groups"]
    known = {int(k): name for k, name in page["names"]["items"].items()}
    assert [known[k] for k in group["items_down"]] == list(data.items.name[-2:])


def test_an_address_is_whole_or_left_out():
    url = (f"https://pictures.example/a.png?signed={'x' * 1_900}", "y" * 2_001, None)
    page = attribute_page(
        vote_parts(example_page(3, 4, 50, url=url)).page, PageHead(), library="", parts=""
    )
    assert content(page)["data"]["items"]["url"] == [url[0], None, None]


@pytest.mark.parametrize(
    "name", ["Größe ж 漢字 🙂", "\ud800 half a sign", "a\u2028b\u2029c\u202ed\x7f"]
)
def test_a_name_comes_through_as_it_is(name):
    data = example_page(3, 4, 50)
    odd = replace(data, items=replace(data.items, name=(name, "b", "c")))
    page = attribute_page(vote_parts(odd).page, PageHead(), library="", parts="")
    assert content(page)["data"]["items"]["name"][0] == name


def test_the_page_knows_every_verdict_and_accuses_whom_the_method_accuses():
    """A verdict that it did not know would have no colour, and pass for an accusation."""
    script = files("tasks.report").joinpath("assets/people.js").read_text()
    known = re.findall(r'^  "([\w -]+)": {[^}]*accused: (true|false) },$', script, re.M)
    assert [name for name, _ in known] == list(VERDICTS)
    assert tuple(name for name, accused in known if accused == "true") == ACCUSATIONS


def test_a_small_page_stands_alone():
    made = single_page(example_page(), PageHead())
    assert list(made) == ["report.html"]
    assert len(made["report.html"]) < MOST
    assert len(content(made["report.html"])["data"]["votes"]["row"]) == 2_500


def test_a_large_page_has_its_votes_beside_it():
    made = single_page(example_page(300, 100, 80_000), PageHead())
    assert next(iter(made)) == "report.html"
    assert [*made][1:] == [f"report-votes-{k}.js" for k in range(1, 20)]
    assert len(made["report.html"]) < MOST
    assert content(made["report.html"])["parts"] == "report-"


def test_what_is_no_number_is_unknown():
    data = example_page(5, 4, 50)
    odd = replace(
        data,
        items=replace(data.items, score=(float("nan"), float("inf"), 1 / 3, None, -0.0)),
    )
    page = attribute_page(vote_parts(odd).page, PageHead(), library="", parts="")
    assert content(page)["data"]["items"]["score"] == [None, None, 0.33333, None, -0.0]


def test_no_name_ends_the_element_it_lies_in():
    cut = vote_parts(hostile_page(), n_per_part=300)
    page = attribute_page(cut.page, example_head(reason=HOSTILE[4]), library="", parts="")
    assert page.count(b"<script") == page.count(b"</script") == 2
    assert content(page)["data"]["attribute"] == HOSTILE[0]
    inside = INSIDE.findall(page)[0]
    for made in (inside, *cut.files.values()):
        assert not re.search("[<>&\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", made.decode())
    title = re.search(rb"<title>(.*?)</title>", page)
    assert title is not None
    assert title[1].startswith(b"&lt;script&gt;")


@pytest.mark.parametrize("library", ["", None])
def test_the_policy_allows_no_other_script_inside(library):
    page = attribute_page(
        vote_parts(example_page()).page, PageHead(), library=library, parts=""
    ).decode()
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy is not None
    assert policy[1].count("'sha256-") == (1 if library is not None else 3)
    scripts = policy[1].split("script-src")[1].split(";")[0]
    assert "unsafe" not in scripts


def test_no_asset_makes_markup_of_texts():
    assets = files("tasks.report") / "assets"
    scripts = {one.name: one.read_text() for one in assets.iterdir() if one.name.endswith(".js")}
    assert {"common.js", "table.js", "attribute.js", "explorer.js"} <= set(scripts)
    found = [(name, word) for name, text in scripts.items() for word in MARKUP if word in text]
    assert found == []


def test_same_data_same_bytes():
    pages = [
        attribute_page(vote_parts(example_page()).page, example_head(), library="", parts="")
        for _ in range(2)
    ]
    assert pages[0] == pages[1]
