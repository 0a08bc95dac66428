"""One reversible name for an attribute."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from tasks.names import LONGEST, AttributeNameError, decoded, encoded


@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        ("smiling", "smiling"),
        ("interestingness/food", "interestingness.food"),
        ("Größe", "_47r_c3_b6_c3_9fe"),
        ("more natural", "more_20natural"),
        ("a.b", "a_2eb"),
        ("a_b", "a_5fb"),
        ("<b>", "_3cb_3e"),
        ("..hidden", "_2e_2ehidden"),
        ("日本", "_e6_97_a5_e6_9c_ac"),
    ],
)
def test_names_can_be_read_and_turned_back(attribute, name):
    assert encoded(attribute) == name
    assert decoded(name) == attribute


@pytest.mark.parametrize(
    ("attribute", "code", "figures"),
    [
        ("", "empty_name_part", {}),
        ("a//b", "empty_name_part", {}),
        ("/a", "empty_name_part", {}),
        ("..", "odd_name_part", {"part": ".."}),
        ("../a", "odd_name_part", {"part": ".."}),
        ("a/./b", "odd_name_part", {"part": "."}),
        (" a", "unseen_sign_in_name", {}),
        ("a\n", "unseen_sign_in_name", {}),
        ("a\x00b", "unseen_sign_in_name", {}),
        ("a\u202eb", "unseen_sign_in_name", {}),
        ("\ud800", "unseen_sign_in_name", {}),
        ("x" * 300, "name_too_long", {"signs": 300, "most": LONGEST}),
        ("日" * 30, "name_too_long", {"signs": 270, "most": LONGEST}),
    ],
)
def test_what_cannot_be_a_name_is_said(attribute, code, figures):
    with refused(AttributeNameError, code, attribute=attribute, **figures) as raised:
        encoded(attribute)
    assert "\n" not in str(raised.value)
    assert "\x00" not in str(raised.value)


@pytest.mark.parametrize("name", ["", "A", "a..b", ".a", "a.", "a_", "a_2", "a_2E", "a_61", "_ff"])
def test_no_other_text_is_a_name(name):
    with refused(AttributeNameError, "not_an_attribute", name=name):
        decoded(name)


PRINTABLE = st.characters(exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


@given(st.text(PRINTABLE, min_size=1, max_size=40), st.text(PRINTABLE, min_size=1, max_size=40))
def test_two_attributes_never_share_a_name_whatever_the_case(first, second):
    names = []
    for attribute in (first, second):
        try:
            name = encoded(attribute)
        except AttributeNameError:
            return
        assert decoded(name) == attribute
        assert len(name) <= LONGEST
        assert name == name.lower()
        assert "/" not in name
        names.append(name)
    assert (names[0] == names[1]) == (first == second)
