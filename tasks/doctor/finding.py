"""What a check found, in one line: how bad it is, what it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from urlr.sentence import Sentence

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor."""

    state: State
    found: Sentence
    do: str = ""
    """What to do about it; empty if all is well."""

    @property
    def code(self) -> str:
        """What was found, in a word that no change of the sentence changes."""
        return self.found.code

    def sentence(self) -> str:
        """What was found, and what to do."""
        return f"{self.found}; {self.do}." if self.do else f"{self.found}."


def ok(found: Sentence) -> Finding:
    """All is well."""
    return Finding("ok", found)


def warning(found: Sentence, do: str) -> Finding:
    """Nights will run, but something is not as it should be."""
    return Finding("warning", found, do)


def problem(found: Sentence, do: str) -> Finding:
    """Nights will fail, or what they publish cannot be relied on."""
    return Finding("problem", found, do)


def of_error(said: Sentence, *, do: str, state: State = "problem") -> Finding:
    """What an error of ours says: it ends with what to do, after a semicolon, or else `do` is."""
    from urlr.sentence import made

    text = said.rstrip(".")
    found, _, advice = text.rpartition("; ")
    return Finding(state, made(found or text, said.code, said.fields), advice if found else do)
