"""Sentences of the catalogues of which a test does not know every field beforehand."""

import re
import string
from importlib import import_module
from typing import Any

from urlr.sentence import messages_of


def like(package: str, code: str, /, **known: Any) -> re.Pattern[str]:
    """The sentence with these fields, which may be patterns, and anything for the others."""
    template: str = import_module(f"{package}.messages").MESSAGES[code]
    parts, named = [], set()
    for text, field, spec, conversion in string.Formatter().parse(template):
        parts.append(re.escape(text))
        if field is None:
            continue
        name = re.split(r"[.\[]", field)[0]
        named.add(name)
        if name not in known:
            parts.append(".*")
        elif isinstance(known[name], re.Pattern):
            parts.append(known[name].pattern)
        else:
            alone = f"{{{field}{f'!{conversion}' if conversion else ''}:{spec}}}"
            parts.append(re.escape(messages_of({code: alone})(code, **{name: known[name]})))
    assert set(known) <= named, f"{code} has no such fields"
    return re.compile("".join(parts))
