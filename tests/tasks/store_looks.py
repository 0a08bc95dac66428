"""What tests of stores look at."""

import pytest

from tasks.store import Store, StoreError


def keys(store: Store, prefix: str = "") -> list[str]:
    return [found.key for found in store.list(prefix)]


def said(error: pytest.ExceptionInfo[StoreError]) -> str:
    """The text of an error, which is one plain line and carries no other error."""
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert error.value.__context__ is None
    assert error.value.__cause__ is None
    return text
