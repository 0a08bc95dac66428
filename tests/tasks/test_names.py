"""One reversible name for an attribute."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    ("attribute", "said"),
    [
        ("", "is empty"),
        ("a//b", "is empty"),
        ("/a", "is empty"),
        ("..", "'..'"),
        ("../a", "'..'"),
        ("a/./b", "'.'"),
        (" a", "begins or ends with a space"),
        ("a\n", "begins or ends with a space"),
        ("a\x00b", "cannot be seen"),
        ("a\u202eb", "cannot be seen"),
        ("\ud800", "cannot be seen"),
        ("x" * 300, "takes 300 signs when stored"),
        ("日" * 30, "takes 270 signs"),
    ],
)
def test_what_cannot_be_a_name_is_said(attribute, said):
    with pytest.raises(AttributeNameError, match=said) as raised:
        encoded(attribute)
    assert "\n" not in str(raised.value)
    assert "\x00" not in str(raised.value)


@pytest.mark.parametrize("name", ["", "A", "a..b", ".a", "a.", "a_", "a_2", "a_2E", "a_61", "_ff"])
def test_no_other_text_is_a_name(name):
    with pytest.raises(AttributeNameError, match="not the name of an attribute"):
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
