"""The id of a store, and what is said where a model is not its own."""

import shlex

import pytest
from refusals import refused
from stored_votes import put

from flows.cli import _parser
from tasks.registry import Owner, RegistryError, foreign, owner_of
from tasks.registry.ownership import IDENTITY
from tasks.store import Store

HERE = "/tmp/my copy"


@pytest.mark.parametrize("held", ["", "{", "[]", "{}", '{"id": null}', '{"id": ""}', '{"id": 7}'])
def test_a_damaged_id_is_told_and_a_removed_one_is_made_anew(tmp_path, held):
    store = Store.at(tmp_path)
    put(store, IDENTITY, held)
    for create in (True, False):
        with refused(RegistryError, "store_id_damaged", path=store.address(IDENTITY)) as error:
            owner_of(store, create=create)
    adopt = ["urlr", "adopt", "ATTRIBUTE", "--store", store.url]
    assert shlex.split(error.value.fields["adopt"]) == adopt
    store.remove(IDENTITY)
    made = owner_of(store, create=True)
    assert made is not None
    assert made == owner_of(store, create=False)


@pytest.mark.parametrize(
    ("owner", "code"),
    [
        (Owner("other", "/elsewhere"), "model_of_another_store"),
        (Owner("ours", "/elsewhere"), "model_of_the_original"),
        (Owner("other", HERE), "store_id_lost"),
    ],
)
@pytest.mark.parametrize("attribute", ["smiling", "-bright", "a b"])
def test_the_command_that_takes_a_model_over_can_be_pasted(owner, code, attribute):
    said = foreign(owner, Owner("ours", HERE), attribute, HERE)
    assert said is not None
    assert said.code == code
    given = _parser().parse_args(shlex.split(said.fields["adopt"])[1:])
    assert (given.attributes, given.store) == ([attribute], HERE)


def test_a_model_of_nobody_and_its_own_are_not_foreign():
    ours = Owner("ours", HERE)
    assert foreign(None, ours, "smiling", HERE) is None
    assert foreign(ours, ours, "smiling", HERE) is None
    assert foreign(ours, None, "smiling", "/new") is not None
