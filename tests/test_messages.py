"""The catalogues of sentences: whatever is said is in them, with the fields its template needs."""

import ast
import pickle
import re
import string
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from sentences import like

from flows.messages import message as of_flows
from urlr.errors import VoteError
from urlr.sentence import messages_of

ROOT = Path(__file__).parents[1]


def said_in(package: str) -> Iterator[tuple[str, str, set[str]]]:
    """Place, code and fields of every call of the package's `message`."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "message":
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                first = node.args[0] if node.args else None
                assert isinstance(first, ast.Constant), f"{place}: the code is not spelled out"
                assert isinstance(first.value, str), place
                yield place, first.value, {str(one.arg) for one in node.keywords}


@pytest.mark.parametrize("package", ["urlr", "tasks", "flows"])
def test_every_sentence_is_in_the_catalogue_once_and_gets_its_fields(package):
    catalogue = import_module(f"{package}.messages").MESSAGES
    used = set()
    for place, code, fields in said_in(package):
        assert code in catalogue, f"{place}: no sentence for {code}"
        parsed = string.Formatter().parse(catalogue[code])
        wanted = {name.partition(".")[0].partition("[")[0] for _, name, _, _ in parsed if name}
        assert fields == wanted, f"{place}: {code}"
        used.add(code)
    assert sorted(set(catalogue) - used) == [], "nobody says these"


def test_a_sentence_keeps_its_code_and_fields_on_the_way_to_another_process():
    message = messages_of({"lost": "{n:# vote} of {who:some 1}; {why:shown 5} of {share:.0%}"})
    error = VoteError(
        message("lost", n=2, who=["a", "b"], why="x\ny and more", share=0.5).at("f.csv")
    )
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "f.csv: 2 votes of a and 1 more; x\\ny… of 50%"
    assert again.code == "lost"
    assert again.fields["place"] == "f.csv"
    assert again.fields["n"] == 2


def test_shares_and_counts_are_written_for_people():
    message = messages_of({"lost": "{share:percent}: {why:counts}"})
    assert message("lost", share=0.5, why={"late": 1200, "blank": 1}) == "50 %: 1,200 late; 1 blank"


def test_a_sentence_is_known_by_some_of_its_fields():
    said = of_flows("last_night", night="2026-11-16", run="r(1)", finished="then", ago="long")
    assert like("flows", "last_night", night="2026-11-16", run="r(1)").fullmatch(said)
    assert like("flows", "last_night", run=re.compile(r"r\(.\)")).fullmatch(said)
    assert not like("flows", "last_night", run="r(2)").search(said)
    with pytest.raises(AssertionError):
        like("flows", "last_night", nobody="r(1)")
