"""What is refused on purpose, by the code and the fields of its sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from urlr.errors import UrlrError


@contextmanager
def refused(error_type: type[UrlrError], code: str, **fields: Any) -> Iterator[Any]:
    """The block raises an error of this type and code, with at least these fields."""
    with pytest.raises(error_type) as caught:
        yield caught
    found = caught.value
    assert found.code == code, found
    assert {name: found.fields[name] for name in fields} == fields
