"""What a check found, in one line: how bad it is, what it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor."""

    state: State
    found: str
    do: str = ""
    """What to do about it; empty if all is well."""

    def sentence(self) -> str:
        """What was found, and what to do."""
        return f"{self.found}; {self.do}." if self.do else f"{self.found}."


def ok(found: str) -> Finding:
    """All is well."""
    return Finding("ok", found)


def warning(found: str, do: str) -> Finding:
    """Nights will run, but something is not as it should be."""
    return Finding("warning", found, do)


def problem(found: str, do: str) -> Finding:
    """Nights will fail, or what they publish cannot be relied on."""
    return Finding("problem", found, do)


def of_error(error: Exception | str, *, do: str, state: State = "problem") -> Finding:
    """What an error of ours says: it ends with what to do, after a semicolon, or else `do` is."""
    text = str(error).rstrip(".")
    found, _, advice = text.rpartition("; ")
    return Finding(state, found, advice) if found else Finding(state, text, do)
