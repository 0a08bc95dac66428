"""One reversible name for an attribute: in object keys, file names, the registry and metric labels.

Small letters, digits and `-` stand for themselves, `.` for the slash between the parts of a nested
attribute, and `_hh` for every other byte of the text in UTF-8. `interestingness/food` becomes
`interestingness.food`, `Größe` becomes `_47r_c3_b6_c3_9fe`. Two attributes never share a name, also
where upper and lower case are the same; no name can climb out of its directory.
"""

from __future__ import annotations

import re
import unicodedata

from tasks.messages import message
from urlr.errors import UrlrError

LONGEST = 180
"""Most signs of a name; file systems and the registry take 255, and endings need room."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-")
_NAME = re.compile(r"(?:[a-z0-9-]|_[0-9a-f]{2})+(?:\.(?:[a-z0-9-]|_[0-9a-f]{2})+)*")


class AttributeNameError(UrlrError):
    """An attribute cannot be called that; the text says why and what to do."""


def encoded(attribute: str) -> str:
    """Name of an attribute wherever it is stored.

    Raises
    ------
    AttributeNameError
        A part is empty, `.` or `..`; a sign is not printable; or the name would be too long.
    """
    for part in attribute.split("/"):
        if not part:
            raise AttributeNameError(message("empty_name_part", attribute=attribute))
        if part in (".", ".."):
            raise AttributeNameError(message("odd_name_part", attribute=attribute, part=part))
        if part != part.strip() or any(unicodedata.category(sign) in _UNSEEN for sign in part):
            raise AttributeNameError(message("unseen_sign_in_name", attribute=attribute))
    name = ".".join(_encoded_part(part) for part in attribute.split("/"))
    if len(name) > LONGEST:
        raise AttributeNameError(
            message("name_too_long", attribute=attribute, signs=len(name), most=LONGEST)
        )
    return name


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control signs, invisible marks, halves of pairs, unassigned signs, separators of lines."""


def _encoded_part(part: str) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f"_{byte:02x}" for byte in part.encode("utf-8"))


def decoded(name: str) -> str:
    """Attribute that has this name; raises AttributeNameError for what `encoded` never gives."""
    try:
        if _NAME.fullmatch(name) is None:
            raise ValueError
        attribute = "/".join(_decoded_part(part) for part in name.split("."))
        if encoded(attribute) != name:
            raise ValueError
    except (ValueError, AttributeNameError):
        raise AttributeNameError(message("not_an_attribute", name=name)) from None
    return attribute


def _decoded_part(part: str) -> str:
    pieces = re.findall(r"_([0-9a-f]{2})|(.)", part)
    return bytes(int(code, 16) if code else ord(sign) for code, sign in pieces).decode("utf-8")
