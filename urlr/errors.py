"""Every error this package raises on purpose, each with one meaning."""

from __future__ import annotations

from typing import Any

from urlr.sentence import Sentence


class UrlrError(Exception):
    """Base of all errors raised on purpose; its sentence says what, how many, and what to do."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)

    @property
    def sentence(self) -> Sentence:
        """What it says, as it was made."""
        return self.args[0]  # type: ignore[no-any-return]

    @property
    def code(self) -> str:
        """What went wrong, in a word that no change of the sentence changes."""
        return self.sentence.code

    @property
    def fields(self) -> dict[str, Any]:
        """The numbers and names that the sentence gives."""
        return self.sentence.fields


class NotKept(UrlrError, AttributeError):  # noqa: N818 (what it says, not that it is an error)
    """A model has no such thing: it is from a file, or of the paper's method; see `hasattr`."""


class VoteError(UrlrError):
    """The votes cannot be used, or the answer they would give is meaningless."""


class FeatureError(UrlrError):
    """The feature table cannot be used as it is."""


class ArgumentError(UrlrError, ValueError):
    """A function was called with an argument, or a setting was given, that makes no sense."""


class ConvergenceError(UrlrError):
    """A solver missed its tolerance; the sentence gives violation, tolerance and iterations."""


class ModelFileError(UrlrError):
    """A model file is truncated, foreign, tampered with, or from a future version."""
