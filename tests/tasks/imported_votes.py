"""What the tests of importing share: what must hold of every import, and of every refusal."""

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

import urlr
from tasks.importing import Imported
from urlr.sentence import Sentence

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANYTHING = st.recursive(
    LEAVES | st.just(10**400) | st.sampled_from(["left", "right", "pairwise", "2024-01-01"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "value", "rank", "selected", "user_id", "from_name", "type"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
"""Any JSON, made of the names that exports are made of."""


def objects(*names: str) -> st.SearchStrategy[dict[str, object]]:
    """Objects that have some of these names, with anything under them."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, ANYTHING))


def checked(imported: Imported) -> Imported:
    """Whatever was imported adds up, and the method takes every row of it."""
    counts = imported.counts
    parts = counts["votes"] + counts["ties"] + counts["skipped"] + counts["dropped"]
    assert counts["read"] == parts
    assert counts["dropped"] == sum(dropped.count for dropped in imported.dropped)
    taken = urlr.vote_table(imported.votes).counts
    assert taken["read"] == len(imported.votes) == counts["read"] - counts["dropped"]
    assert taken["rejected"] == 0
    assert (taken["used"], taken["ties"], taken["skipped"]) == tuple(
        counts[part] for part in ("votes", "ties", "skipped")
    )
    return imported


def reasons(imported: Imported) -> dict[str, int]:
    """How many rows were dropped for each reason, by its code and fields."""
    return {
        " ".join([one.reason.code, *map(str, one.reason.fields.values())]): one.count
        for one in imported.dropped
    }


def rows(imported: Imported, *columns: str) -> list[tuple[object, ...]]:
    return list(imported.votes[list(columns)].itertuples(index=False, name=None))


def refused(run: Callable[..., object], *arguments: object, **options: object) -> Sentence:
    """The sentence of the refusal, which is one plain line."""
    with pytest.raises(urlr.UrlrError) as caught:
        run(*arguments, **options)
    said = caught.value.sentence
    assert said.isprintable()
    assert said.endswith(".")
    return said


def attempt(
    run: Callable[..., Imported], *arguments: object, **options: object
) -> Imported | Sentence:
    """What was imported, or the plain line of a refusal."""
    try:
        imported = run(*arguments, **options)
    except urlr.UrlrError as error:
        refusal = error.sentence
    else:
        return checked(imported)
    assert refusal.isprintable()
    return refusal


def note(imported: Imported, code: str) -> dict[str, object]:
    """The fields of the only note of a code."""
    [found] = [one for one in imported.notes if one.code == code]
    return found.fields
