"""Sentences for people, made from a code and fields by the catalogue of a package.

Each package has one catalogue, `messages.py`, from codes to templates. Program code writes
`message("self_comparison", count=3)`; what people read is written in the catalogue alone, and tests
look at codes and fields.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any


class Sentence(str):
    """What people read, with the code and the fields that it was made from."""

    code: str
    fields: dict[str, Any]

    def at(self, place: str) -> Sentence:
        """The same, said of something in a place: a file, a folder."""
        return made(f"{place}: {self}", self.code, self.fields | {"place": place})


def made(text: str, code: str, fields: Mapping[str, Any]) -> Sentence:
    """A sentence whose text is known."""
    sentence = Sentence(text)
    sentence.code = code
    sentence.fields = dict(fields)
    return sentence


def messages_of(catalogue: Mapping[str, str]) -> Callable[..., Sentence]:
    """The function `message` of a package: its sentences by code and fields.

    Beside those of Python, templates know the formats `{n:# vote}` or `{n:# person|people}` for
    "1 vote" and "2 people", `{ids:some}` for the first few (`some 10`: ten) of a list and how many
    more there are, `{name:shown}` for text that somebody else wrote (`shown 80`: at most 80
    characters), `{reasons:counts}` for how often each key of a dict was counted, and
    `{share:percent}` for "50 %".
    """

    def message(code: str, /, **fields: Any) -> Sentence:
        return made(_FORMATTER.vformat(catalogue[code], (), fields), code, fields)

    return message


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        kind, _, rest = format_spec.partition(" ")
        if kind in ("#", "some", "shown"):  # loads pandas, which others do without
            from urlr.ids import plural, shown, shown_some
        if kind == "#":
            return plural(value, *rest.split("|"))
        if kind == "some":
            return shown_some(list(value), int(rest or 3))
        if kind == "shown":
            return shown(value, int(rest or 40))
        if kind == "counts":
            return "; ".join(f"{count:,} {what}" for what, count in value.items())
        if kind == "percent":
            return f"{value:.0%}".replace("%", " %")
        return format(value, format_spec)


_FORMATTER = _Formatter()
